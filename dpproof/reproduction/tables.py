"""Tables of the experiments as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_rows(file: Path, table: Sequence[Mapping[str, object]], digits: int | None = None) -> None:
    """Write rows as CSV; nothing where there is no number.

    Args:
        file: where to.
        table: rows with the same keys, one at least.
        digits: significant digits of numbers, so that other machines write the same; None for all.
    """
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(table[0]), lineterminator="\n")
        writer.writeheader()
        for row in table:
            writer.writerow({name: _shown(value, digits) for name, value in row.items()})


def _shown(value: object, digits: int | None) -> object:
    return f"{value:.{digits}g}" if digits is not None and isinstance(value, float) else value
