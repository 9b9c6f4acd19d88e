"""The unit: whose data a guarantee protects, a user's or an episode's. The data or the caller must state it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms.own_data.columns import USED, Column, Table, first_seen, ids
from dpproof.mechanisms.own_data.tables import checked, episodes_of, renamed, table_of

Unit = Literal["user", "episode"]
"""Whose data a guarantee protects: all episodes of a user, or a single episode."""

_PERSONS = (
    "user|patient|person|people|subject|participant|customer|client|member|expert|pilot|individual|account|player|"
    "student|employee|driver|owner|respondent|device|household|citizen|visitor|learner|worker"
)
_USER = re.compile(
    rf"(hashed|anon|anonymous|pseudo)?({_PERSONS})s?(id|ids|name|no|nr|num|number|key|code|hash|index)?"
    r"|id|ids|uid|uuid|guid|name|email"
)


def steps_of(
    source: object, columns: Mapping[str, str], unit: Unit | None
) -> tuple[Table, Unit, Column, Column]:
    """Read a source of the user's data. ``columns`` and ``unit`` are those that the caller states.

    Return four things: the table, the unit, the episode's number for each step, and the row of each step. The steps
    are sorted by episode and then by time.

    Raises:
        ValueError: naming the data, the row and the rule it breaks.
    """
    table = checked(renamed(table_of(source), columns))
    return table, unit_of(table, unit, columns), *episodes_of(table)


def unit_of(table: Table, unit: Unit | None, columns: Mapping[str, str]) -> Unit:
    """Return the unit (whose data a guarantee protects) that the columns or the caller state.

    Args:
        table: the data, with renamed columns.
        unit: the unit that the caller states, if any.
        columns: the column names that the caller gave.

    Raises:
        ValueError: neither the columns nor the caller state the unit, or both do and contradict each other. Or a
            column would be ignored, but its name looks like the name of a needed column.
    """
    if unit not in (None, "user", "episode"):
        raise ValueError(f"unit ({unit!r}) must be 'user' or 'episode'")
    ignored = [name for name in table.columns if name not in USED]
    for name in ignored:
        if (meant := _folded(name)) in set(USED) - {"user"} - table.columns.keys():
            raise table.error(f"column {name!r} would be ignored. Give columns={{{meant!r}: {name!r}}}")
    if unit == "episode":
        if "user" in columns:
            raise table.error("unit='episode' contradicts columns={'user': ...}. Give one of them")
        return unit
    alike = [name for name in ignored if _USER.fullmatch(_folded(name))]
    if alike and "user" not in columns:
        rule = f"column {alike[0]!r} looks like the user of a step, but it would be ignored"
        raise table.error(f"{rule}. {_remedy(alike[0], table)}")
    if "user" not in table.columns:
        raise table.error(f"columns ({', '.join(table.columns)}) name no user. {_remedy('NAME', table)}")
    return "user"


def _folded(name: str) -> str:
    """Return a name in lower case, with letters and digits only."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in text if letter.isalnum())


def _remedy(name: str, table: Table) -> str:
    kept = ", columns={'user': 'user'} for the column user" if "user" in table.columns else ""
    return (
        f"Give columns={{'user': {name!r}}} for the column of users{kept}, or unit='episode' if a guarantee is to"
        " protect single episodes"
    )


def owners(
    table: Table, numbers: Column, order: Column, unit: Unit
) -> tuple[NDArray[np.int64], tuple[object, ...]]:
    """Return the user's number for each episode, and the ids of the users in the data.

    Users have the numbers 0, 1, ... in the order of their first occurrence. If ``unit`` is ``"episode"``, each
    episode counts as a user. Its id is in the column ``episode``, or is its number if there is no such column.

    Args:
        table: the data.
        numbers: the episode of each step, in the order of reading.
        order: the rows in the order of reading.
        unit: whose data a guarantee protects.

    Raises:
        ValueError: for a user who changes within an episode, naming the row.
    """
    if unit == "episode" and "user" in table.columns:
        users, _ = first_seen(map(repr, table.columns["user"].tolist()))
        _check_same("user", table, users[order], numbers, order)
    if unit not in table.columns:
        known = tuple(range(int(numbers[-1]) + 1))
        return np.array(known, dtype=np.int64), known
    rows, given = ids(table, unit)
    found, kept = first_seen(rows[order])
    _check_same(unit, table, found, numbers, order)
    return found[starts(numbers)], tuple(given[row] for row in kept)


def _check_same(name: str, table: Table, found: Column, numbers: Column, order: Column) -> None:
    """Raise an error if a value changes within an episode. Two episodes with one id are one example."""
    firsts = starts(numbers)
    moved = np.flatnonzero(found != np.repeat(found[firsts], np.diff(np.append(firsts, len(found)))))
    if len(moved):
        raise table.error(f"{name} must be the same in all rows of an episode", int(order[moved[0]]))


def starts(numbers: Column) -> NDArray[np.int64]:
    """Return the index of the first step of each episode. ``numbers`` are the episodes' numbers, step by step."""
    return np.append(0, np.flatnonzero(np.diff(numbers)) + 1)


def ignored_columns(table: Table, unit: Unit) -> tuple[str, ...]:
    """Return the names of the unused columns. If the unit is an episode, the column of users is one of them."""
    unused = {"user"} if unit == "episode" else set()
    return tuple(name for name in table.columns if name not in USED or name in unused)


def described(name: str, episodes: Episodes, unit: Unit, rewards: str, ignored: Sequence[str]) -> str:
    """Return a text on the data that were read: how many episodes, users and steps, and how they were read."""
    users = len(np.unique(episodes.user))
    of = f" of {users} user{'s' * (users != 1)}" if unit == "user" else ""
    unused = f", ignored columns: {', '.join(ignored)}" if ignored else ""
    steps = f"{len(episodes.states)} step{'s' * (len(episodes.states) != 1)}"
    count = f"{episodes.count} episode{'s' * (episodes.count != 1)}"
    return f"{name}({count}{of}, {steps}, unit: {unit}, {rewards}{unused})"
