"""Files of own data as columns. Text is kept as it is written, so that no id is rounded or dropped."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpproof.accountant.rl.policy_evaluation.visits import read_columns, text_of
from dpproof.mechanisms.own_data.columns import Column, column

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,99}")
"""Integers that have only this notation. 007, 1e2 and -0 stay texts."""


def columns_of_file(path: Path) -> Mapping[str, Column]:
    """Return the columns of a CSV, JSON lines, Parquet or NPZ file.

    Raises:
        ValueError: naming the file, the row and the rule that it breaks.
        OSError: for a file that cannot be read.
    """
    readers = {".csv": _csv, ".jsonl": _json_lines}
    return readers.get(path.suffix, read_columns)(path)


def _csv(path: Path) -> Mapping[str, Column]:
    rows = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    names: list[str] = []
    columns: list[list[str]] = []
    known: dict[str, str] = {}  # equal cells share memory
    number = 0
    try:
        for cells in filter(None, rows):
            if not names:
                names = [name.strip() for name in cells]
                columns = [[] for _ in names]
                continue
            number += 1
            if len(cells) != len(names):
                rule = f"the row has {len(cells)} cells, but there are {len(names)} columns"
                raise ValueError(f"{path.name}: row {number}: {rule}")
            for place, cell in zip(columns, cells, strict=True):
                place.append(known.setdefault(cell, cell))
    except csv.Error as error:
        raise ValueError(f"{path.name}: row {number + 1}: the row is not CSV: {error}") from error
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{path.name}: the first line must name the columns, each once")
    return {name: _typed(cells) for name, cells in zip(names, columns, strict=True)}


def _typed(cells: Sequence[str]) -> Column:
    """Return the cells as integers if all are written as integers are, and otherwise as texts.

    White space around cells is removed unless two cells differ in nothing else.
    """
    distinct = set(cells)
    bare = {cell: cell.strip() for cell in distinct}
    if len(set(bare.values())) < len(distinct):
        return column(cells)
    if all(map(_WHOLE.fullmatch, bare.values())):
        whole = {cell: int(cell) for cell in distinct}
        kind = np.int64 if all(-(2**63) <= value < 2**63 for value in whole.values()) else object
        return np.fromiter((whole[cell] for cell in cells), dtype=kind)
    return column([bare[cell] for cell in cells])


def _json_lines(path: Path) -> Mapping[str, Column]:
    rows: list[dict[str, Any]] = []
    lines = (line for line in text_of(path).split("\n") if line.strip())
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line, object_pairs_hook=_unique)
        except ValueError as error:
            raise ValueError(f"{path.name}: row {number}: the line is not JSON: {error}") from error
        if not isinstance(row, dict) or (rows and row.keys() != rows[0].keys()):
            raise ValueError(
                f"{path.name}: row {number}: the line must be a JSON object with the keys of the first line"
            )
        rows.append(row)
    return {name: column([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the keys ({', '.join(name for name, _ in pairs)}) must be different")
    return found
