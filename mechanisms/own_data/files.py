"""Files of the user's own data as columns. Text is kept as written, so that no id is rounded or dropped."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dpproof.accountant.rl.policy_evaluation.visits import read_columns, text_of
from dpproof.mechanisms.own_data.columns import Column, column

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,99}")
"""Matches an integer of at most 100 digits. Texts such as 007, 1e2 and -0 do not match, and stay texts."""


def columns_of_file(path: Path) -> Mapping[str, Column]:
    """Return the columns of a CSV, JSON lines, Parquet or NPZ file.

    Raises:
        ValueError: naming the file, the row and the rule that it breaks.
        OSError: for a file that cannot be read.
    """
    readers = {".csv": _csv, ".jsonl": _json_lines, ".npz": read_columns, ".parquet": read_columns}
    if path.suffix not in readers:
        raise ValueError(f"file ({path.name!r}) must end in one of: {', '.join(readers)}")
    return readers[path.suffix](path)


def _csv(path: Path) -> Mapping[str, Column]:
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    rows = filter(None, reader)
    try:
        names = [name.strip() for name in next(rows, [])]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"{path.name}: the first line must name the columns, each once")
        columns: list[list[str]] = [[] for _ in names]
        known: dict[str, str] = {}  # equal cells share memory
        while chunk := list(islice(rows, 1_000)):
            _check_widths(path, chunk, len(columns[0]), len(names))
            for column_, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                column_.extend(map(known.setdefault, cells, cells))
    except csv.Error as error:
        raise ValueError(f"{path.name}: line {reader.line_num} is not CSV: {error}") from error
    return {name: _typed(cells) for name, cells in zip(names, columns, strict=True)}


def _check_widths(path: Path, chunk: list[list[str]], before: int, width: int) -> None:
    for number, cells in enumerate(chunk, before + 1):
        if len(cells) != width:
            rule = f"the row has {len(cells)} cells, but there are {width} columns"
            raise ValueError(f"{path.name}: row {number}: {rule}")


def _typed(cells: Sequence[str]) -> Column:
    """Return the cells as integers if all are written as integers are, and otherwise as texts.

    White space around cells is removed unless two cells differ in nothing else.
    """
    distinct = set(cells)
    bare = set(map(str.strip, distinct))
    if len(bare) < len(distinct):
        return column(cells)
    if all(map(_WHOLE.fullmatch, bare)):
        whole = {cell: int(cell) for cell in distinct}
        kind = np.int64 if all(-(2**63) <= value < 2**63 for value in whole.values()) else object
        return np.fromiter(map(whole.__getitem__, cells), dtype=kind)
    return column(map(str.strip, cells))


def _json_lines(path: Path) -> Mapping[str, Column]:
    rows: list[dict[str, Any]] = []
    read = json.JSONDecoder(object_pairs_hook=_unique).decode
    lines = (line for line in text_of(path).split("\n") if line.strip())
    for number, line in enumerate(lines, 1):
        try:
            row = read(line)
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
