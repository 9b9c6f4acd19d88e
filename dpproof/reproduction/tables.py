"""Tables of experiments: rows that are mappings from the names of columns, stored as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Table = Sequence[Row]


def write_rows(file: Path, table: Table, digits: int | None = None) -> None:
    """Write rows as a CSV file. A missing number is an empty cell.

    Args:
        file: the file to write.
        table: rows with the same keys, at least one.
        digits: significant digits of numbers; None for all.
    """
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(table[0]), lineterminator="\n")
        writer.writeheader()
        for row in table:
            writer.writerow({name: _written(value, digits) for name, value in row.items()})


def _written(value: object, digits: int | None) -> object:
    return f"{value:.{digits}g}" if digits is not None and isinstance(value, float) else value


def read_rows(file: Path, text: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a table that `write_rows` wrote. Numbers are parsed, and an empty cell is None.

    Args:
        file: the CSV file.
        text: columns that are read as text, even if they look like numbers.
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


def where(table: Table, **values: object) -> list[Row]:
    """Return the rows of a table that have these values in the named columns.

    >>> where([{"a": 1, "b": 2}, {"a": 1, "b": 3}], a=1, b=3)
    [{'a': 1, 'b': 3}]
    """
    return [row for row in table if all(row[name] == value for name, value in values.items())]


def different(table: Table, *names: str) -> list[Any]:
    """Return the distinct values in a column, in the order of their first occurrence.

    For several columns, return the distinct tuples of their values.

    >>> different([{"a": 1, "b": 2}, {"a": 1, "b": 3}], "a")
    [1]
    """
    return list(
        dict.fromkeys(row[names[0]] if len(names) == 1 else tuple(map(row.get, names)) for row in table)
    )
