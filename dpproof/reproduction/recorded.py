"""What a run of an experiment leaves in its folder, and how it is read back.

A page is written from these files alone, so that a recorded page can be written again without a new run.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S")
NAME = "run.json"


@dataclass(frozen=True)
class Recorded(Generic[S]):
    """What was run: the size, the root seed, and what else the page needs."""

    size: S
    seed: int
    more: Mapping[str, Any]


def write_run(folder: Path, size: DataclassInstance, seed: int, **more: object) -> None:
    """Write the size (a dataclass), the seed and what else the page needs into the folder."""
    text = json.dumps({"size": asdict(size), "seed": seed, **more}, indent=1)
    (folder / NAME).write_text(f"{text}\n", encoding="utf-8")


def read_run(folder: Path, kind: type[S]) -> Recorded[S]:
    """Return what `write_run` wrote; `kind` is the class of the size."""
    found = json.loads((folder / NAME).read_text(encoding="utf-8"))
    size = {key: tuple(x) if isinstance(x, list) else x for key, x in found.pop("size").items()}
    return Recorded(kind(**size), found.pop("seed"), found)


def read_rows(file: Path, text: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a table that `write_rows` wrote: numbers as numbers, an empty cell as None.

    Args:
        file: the CSV file.
        text: columns that are read as text, also where they look like numbers.
    """
    with file.open(encoding="utf-8", newline="") as stream:
        return [
            {key: cell if key in text else _value(cell) for key, cell in row.items()}
            for row in csv.DictReader(stream)
        ]


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None
