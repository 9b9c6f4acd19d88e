"""Own data as a table: named columns of equal length and one row for each step, whatever its source.

No data frame library is imported here. An object of pandas, polars or pyarrow is recognised by its columns,
each of which can be read as an array.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.policy_evaluation.visits import read_columns

Column = NDArray[Any]
STEP = ("state", "action", "reward", "terminated", "truncated")
"""Fields of a recorded step, in this order."""
ALIASES: Mapping[str, str] = {
    "observations": "state",
    "next_observations": "following",
    "actions": "action",
    "rewards": "reward",
    "terminals": "terminated",
    "terminations": "terminated",
    "timeouts": "truncated",
    "truncations": "truncated",
}
"""Column names in archives of Minari and D4RL, with the names used here."""


USED = ("episode", "step", "user", "state", "action", "reward", "terminated", "truncated", "following")
"""Names of the columns that are used."""


@dataclass(frozen=True)
class Table:
    """Columns of equal length, and the name of the data in error messages."""

    source: str
    columns: Mapping[str, Column]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns["reward"])

    def error(self, rule: str, row: int | None = None) -> ValueError:
        """Return an error that states the data, the row (counted from 1, without a header) and the rule."""
        return ValueError(f"{self.source}: {'' if row is None else f'row {row + 1}: '}{rule}")


def table_of(source: object) -> Table:
    """Return the table in a path, a data frame, a mapping of columns or a recording.

    >>> table_of([[(0, 1, 0.5, False, False), (1, 0, 1.0, True, False)]]).columns["state"].tolist()
    [0, 1]

    Raises:
        ValueError: for an object of another kind, or a file that cannot be read as what its ending says.
        OSError: for a file that cannot be read.
    """
    name = type(source).__name__
    if isinstance(source, str | Path):
        path = Path(source)
        return _named(path.name, _of_file(path))
    if isinstance(source, Mapping):
        return _named(name, {str(key): np.asarray(value) for key, value in source.items()})
    names = getattr(source, "column_names", getattr(source, "columns", None))
    if names is not None:
        frame: Any = source
        return _named(name, {str(key): np.asarray(frame[key].to_numpy()) for key in names})
    if isinstance(source, Sequence):
        return _named(name, _of_recording(source))
    kinds = "a path, a data frame, a mapping of columns or a list of recorded steps"
    raise ValueError(f"data (of type {name}) must be {kinds}")


def _named(source: str, columns: Mapping[str, Column]) -> Table:
    """Return the table with each alias replaced by its name here, unless that name is already a column."""
    names = {name: ALIASES.get(name, name) for name in columns}
    return Table(source, {name if names[name] in columns else names[name]: x for name, x in columns.items()})


def renamed(table: Table, columns: Mapping[str, str]) -> Table:
    """Return the table after replacing the user's own names (name used here -> name in the data).

    Raises:
        ValueError: for a name that is not used here, or not in the data.
    """
    for name, given in columns.items():
        if name not in USED:
            raise table.error(f"columns: the key {name!r} must be one of {', '.join(USED)}")
        if given not in table.columns:
            raise table.error(f"columns: the value {given!r} must be one of {', '.join(table.columns)}")
    kept = {name: values for name, values in table.columns.items() if name not in columns}
    named = {name: table.columns[given] for name, given in columns.items()}
    return Table(table.source, {name: x for name, x in kept.items() if name not in columns.values()} | named)


def checked(table: Table) -> Table:
    """Return the table after checking its columns.

    It must have the required columns, at least one row, and equal lengths of the columns that are used.

    Raises:
        ValueError: naming the columns.
    """
    lacking = {"state", "reward"} - table.columns.keys()
    if lacking:
        raise table.error(f"columns ({', '.join(table.columns)}) must include {', '.join(sorted(lacking))}")
    lengths = {name: len(np.atleast_1d(column)) for name, column in table.columns.items() if name in USED}
    if not lengths["reward"]:
        raise table.error("the data must hold at least one step")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise table.error(f"columns ({shown}) must have equal lengths")
    for name in {"episode", "user"} & table.columns.keys():
        for row, value in enumerate(table.columns[name].tolist()):
            if value is None or value == "" or value != value:
                raise table.error(f"{name} ({value!r}) must have a value in every row", row)
    return table


def _of_file(path: Path) -> Mapping[str, Column]:
    if path.suffix == ".jsonl":
        return _json_lines(path)
    if path.suffix != ".csv":
        return read_columns(path)
    try:
        return read_columns(path)
    except ValueError:
        return _csv_with_words(path)


def _csv_with_words(path: Path) -> Mapping[str, Column]:
    """Return the columns of a CSV file, some of which contain words such as names of users."""
    with path.open(newline="", encoding="utf-8") as stream:
        names, *rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if row] or [[]]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{path.name}: the first line must name the columns, each once")
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise ValueError(
                f"{path.name}: row {number}: the row has {len(row)} cells, but there are {len(names)} columns"
            )
    return {name: _typed([row[place] for row in rows]) for place, name in enumerate(names)}


def _typed(cells: Sequence[str]) -> Column:
    """Return the cells as integers or numbers if all of them are, and otherwise as words."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(cells, dtype=np.str_).astype(kind)
        except (ValueError, OverflowError):
            continue
    return np.array(cells, dtype=object)


def _json_lines(path: Path) -> Mapping[str, Column]:
    rows: list[dict[str, Any]] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate((line for line in lines if line.strip()), 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path.name}: row {number}: the line is not JSON: {error}") from error
        if not isinstance(row, dict) or (rows and row.keys() != rows[0].keys()):
            raise ValueError(
                f"{path.name}: row {number}: the line must be a JSON object with the keys of the first line"
            )
        rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def _of_recording(source: Sequence[Any]) -> Mapping[str, Column]:
    """Return the steps (observation, action, reward, terminated, truncated) of all episodes, concatenated."""
    if source and isinstance(source[0], Mapping):
        held = ", ".join(map(str, source[0]))
        raise ValueError(f"recording (dictionaries with {held}) must be a list of steps ({', '.join(STEP)})")
    nested = not all(
        isinstance(one, Sequence) and len(one) == len(STEP) and _is_flag(one[3]) for one in source
    )
    episodes = source if nested else [source]
    if not all(isinstance(episode, Sequence) for episode in episodes):
        raise ValueError(f"recording must be a list of episodes, each a list of steps ({', '.join(STEP)})")
    for number, step in enumerate(step for episode in episodes for step in episode):
        if not isinstance(step, Sequence) or len(step) != len(STEP):
            raise ValueError(f"recording: step {number + 1} ({step!r}) must be ({', '.join(STEP)})")
    steps = [step for episode in episodes for step in episode]
    found = {name: np.array([step[place] for step in steps]) for place, name in enumerate(STEP)}
    if nested:
        found["episode"] = np.repeat(np.arange(len(episodes)), [len(episode) for episode in episodes])
    return found


def _is_flag(value: object) -> bool:
    return isinstance(value, bool | np.bool_ | int)


def episodes_of(table: Table) -> tuple[Column, Column]:
    """Return the episode of each row as 0, 1, ..., and the order in which the rows are read.

    Raises:
        ValueError: naming the row and the rule: a step that is missing or occurs twice, rows of an episode that do
            not stand together where no column ``step`` says their order, or neither episodes nor ends of episodes.
    """
    if "episode" in table.columns:
        numbers = first_seen(table.columns["episode"])[0]
    elif {"terminated", "truncated"} & table.columns.keys():
        ends = np.zeros(table.rows, dtype=bool)
        for name in ("terminated", "truncated"):
            ends |= flags(table, name)
        numbers = np.concatenate([[0], np.cumsum(ends)[:-1]])
    else:
        raise table.error(
            "columns must include episode, or else terminated or truncated, which mark where episodes end"
        )
    if "step" in table.columns:
        return _in_order(table, numbers)
    back = np.flatnonzero(np.diff(numbers) < 0)
    if len(back):
        rule = "the rows of an episode must be adjacent, unless a column step numbers them"
        raise table.error(rule, int(back[0]) + 1)
    return numbers, np.arange(table.rows)


def _in_order(table: Table, numbers: Column) -> tuple[Column, Column]:
    steps = integers(table, "step")
    order = np.lexsort((steps, numbers))
    numbers, steps = numbers[order], steps[order]
    same, moved = np.diff(numbers) == 0, np.diff(steps)
    wrong = np.flatnonzero(same & (moved != 1))
    if len(wrong):
        place = int(wrong[0])
        row = int(order[place + 1])
        if moved[place] == 0:
            raise table.error(f"step {steps[place]} must occur only once in an episode", row)
        raise table.error(f"step {steps[place] + 1} is missing after step {steps[place]}", row)
    firsts = np.append(0, np.flatnonzero(~same) + 1)
    late = np.flatnonzero(steps[firsts] != steps[firsts].min())
    if len(late) or steps[0] not in (0, 1):
        place = int(firsts[late[0]]) if len(late) else 0
        raise table.error(
            f"step {steps[place]} is the first of its episode. All episodes must begin at 0, or all at 1.",
            int(order[place]),
        )
    return numbers, order


def first_seen(values: Column) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number the values 0, 1, ... by first occurrence. Return the numbers, and the value of each number.

    >>> first_seen(np.array(["u7", "u1", "u7"], dtype=object))
    (array([0, 1, 0]), ('u7', 'u1'))
    """
    known: dict[Any, int] = {}
    numbers = [known.setdefault(value, len(known)) for value in values.tolist()]
    return np.array(numbers, dtype=np.int64), tuple(known)


def flags(table: Table, name: str) -> NDArray[np.bool_]:
    """Return a column of truth values, also written 0, 1, true or false. A missing column is false.

    Raises:
        ValueError: naming the first row that holds another value.
    """
    values = table.columns[name].tolist() if name in table.columns else [False] * table.rows
    words = [str(value).strip().lower() for value in values]
    for row, word in enumerate(words):
        if word not in _TRUTH:
            raise table.error(f"{name} ({values[row]!r}) must be true or false, or 1 or 0", row)
    return np.array([_TRUTH[word] for word in words], dtype=bool)


_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def integers(table: Table, name: str) -> NDArray[np.int64]:
    """Return a column of integers.

    Raises:
        ValueError: naming the first row that holds another value.
    """
    column = table.columns[name]
    if column.ndim != 1:
        raise table.error(
            f"{name} (shape {column.shape}) must be one integer for each step. Map observations to states first."
        )
    if column.dtype.kind not in "iu":
        bad = [row for row, value in enumerate(column.tolist()) if not _is_whole(value)]
        if bad:
            raise table.error(f"{name} ({column.tolist()[bad[0]]!r}) must be an integer", bad[0])
    return column.astype(np.int64)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
