"""The user's own data as a table: named columns, with one row for each step.

No data frame library is imported here. An object of pandas, polars or pyarrow is recognised by its columns,
each of which can be read as an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpproof.mechanisms.own_data.columns import USED, Column, Table, column, flags, ids, integers
from dpproof.mechanisms.own_data.files import columns_of_file

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
"""Column names in archives of Minari and D4RL, each with the column name used here."""


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
        return _named(path.name, columns_of_file(path))
    frame: Any = source
    names = source if isinstance(source, Mapping) else _names_of_frame(source)
    if names is not None:
        texts = list(map(str, names))
        if len(set(texts)) < len(texts):
            raise ValueError(f"{name}: columns ({', '.join(texts)}) must have different names")
        return _named(name, {str(key): column(frame[key]) for key in names})
    if isinstance(source, Sequence):
        return _named(name, _of_recording(source))
    kinds = "a path, a data frame (not a lazy one), a mapping of columns or a list of recorded steps"
    raise ValueError(f"data (of type {name}) must be {kinds}")


def _names_of_frame(source: object) -> Sequence[Any] | None:
    if hasattr(source, "collect"):  # a lazy frame of polars holds no data yet
        return None
    names = getattr(source, "column_names", getattr(source, "columns", None))
    return None if names is None else list(names)


def _named(source: str, columns: Mapping[str, Column]) -> Table:
    """Return the table with each alias replaced by its name here, unless that name is already a column."""
    names = {name: ALIASES.get(name, name) for name in columns}
    taken: dict[str, str] = {}
    for name, meant in names.items():
        if meant not in columns and taken.setdefault(meant, name) != name:
            raise ValueError(
                f"{source}: columns {taken[meant]!r} and {name!r} both hold {meant}. Give one of them"
            )
    return Table(source, {name if names[name] in columns else names[name]: x for name, x in columns.items()})


def renamed(table: Table, columns: Mapping[str, str]) -> Table:
    """Return the table with renamed columns. ``columns`` maps names used here to names in the data.

    Raises:
        ValueError: for a name that is not used here, or not in the data.
    """
    if not isinstance(columns, Mapping):
        raise table.error(f"columns ({columns!r}) must be a mapping such as {{'user': 'patient'}}")
    for name, given in columns.items():
        if name not in USED:
            raise table.error(f"columns: the key {name!r} must be one of {', '.join(USED)}")
        if given not in table.columns:
            raise table.error(f"columns: the value {given!r} must be one of {', '.join(table.columns)}")
    kept = {
        f"{name} (in the data)" if name in columns and name not in columns.values() else name: values
        for name, values in table.columns.items()
    }
    named = {name: table.columns[given] for name, given in columns.items()}
    return Table(table.source, {name: x for name, x in kept.items() if name not in columns.values()} | named)


def checked(table: Table) -> Table:
    """Return the table after checking its columns.

    The table must have the required columns and at least one row. The columns that are used must have equal lengths.

    Raises:
        ValueError: naming the columns.
    """
    lacking = {"state", "reward"} - table.columns.keys()
    if lacking:
        raise table.error(f"columns ({', '.join(table.columns)}) must include {', '.join(sorted(lacking))}")
    used = {name: column for name, column in table.columns.items() if name in USED}
    for name, given in used.items():
        if not given.ndim:
            raise table.error(f"{name} ({given.item()!r}) must hold one value for each step")
    lengths = {name: len(given) for name, given in used.items()}
    if not lengths["reward"]:
        raise table.error("the data must hold at least one step")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise table.error(f"columns ({shown}) must have equal lengths")
    return table


def _of_recording(source: Sequence[Any]) -> Mapping[str, Column]:
    """Return the steps (observation, action, reward, terminated, truncated) of all episodes, concatenated."""
    if source and isinstance(source[0], Mapping):
        held = ", ".join(map(str, source[0]))
        raise ValueError(
            f"recording must hold each step as ({', '.join(STEP)}), not as a dictionary with the keys {held}"
        )
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
    found = {name: column([step[place] for step in steps]) for place, name in enumerate(STEP)}
    if nested:
        found["episode"] = np.repeat(np.arange(len(episodes)), [len(episode) for episode in episodes])
    return found


def _is_flag(value: object) -> bool:
    return isinstance(value, bool | np.bool_ | int)


def episodes_of(table: Table) -> tuple[Column, Column]:
    """Sort the rows by episode and step. Return the episode's number of each sorted row, and the row indices.

    The numbers are 0, 1, .... Without a column ``step``, the rows keep their order.

    Raises:
        ValueError: a step is missing or occurs twice, or the episodes do not all begin at step 0 or all at step 1.
            Or there is no column ``step``, and the rows of an episode are not adjacent. Or no column says where
            episodes end. The message names the rule, and the row if there is one.
    """
    if "episode" in table.columns:
        numbers = ids(table, "episode")[0]
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
