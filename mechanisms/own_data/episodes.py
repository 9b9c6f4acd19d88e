"""Reading episodes from the user's own data, and writing episodes to files.

Each row is one step. The columns ``state`` and ``reward`` are required, and either ``episode`` or the ends of
episodes (``terminated``, ``truncated``). The columns ``action`` (default 0), ``user`` (default: the episode)
and ``step`` (default: the order of the rows) are optional. Other columns are ignored, and the result lists
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms.own_data.rewards import RULE, RewardMap
from dpproof.mechanisms.own_data.tables import (
    USED,
    Table,
    checked,
    episodes_of,
    first_seen,
    integers,
    renamed,
    table_of,
)


@dataclass(frozen=True, eq=False)
class OwnEpisodes(Episodes):
    """Episodes that were read from data, and how they relate to that data.

    Attributes:
        users: the user for each number in ``user``; empty if users are already numbers in the data.
        reward_map: the map of rewards to [0, 1]; ``reward_map.back`` maps values back.
        ignored: the columns that were not used.
    """

    users: tuple[Any, ...] = ()
    reward_map: RewardMap = field(default_factory=RewardMap)
    ignored: tuple[str, ...] = ()

    def __repr__(self) -> str:
        low, high = self.reward_map.low, self.reward_map.high
        unused = f", ignored columns: {', '.join(self.ignored)}" if self.ignored else ""
        return (
            f"OwnEpisodes({self.count} episodes of {len(set(self.user.tolist()))} users, {len(self.states)} steps, "
            f"rewards [{low:g}, {high:g}] moved to [0, 1]{unused})"
        )


def read_episodes(
    source: object,
    *,
    reward_range: tuple[float, float] | None = None,
    columns: Mapping[str, str] | None = None,
) -> OwnEpisodes:
    """Return the episodes in a file, a data frame, a mapping of columns or a recording.

    Args:
        source: a path (CSV, JSON lines, Parquet, or NPZ of this project, Minari or D4RL), a data frame (pandas, polars,
            pyarrow), a mapping from names to arrays, or recorded episodes: lists of steps
            (observation, action, reward, terminated, truncated) as Gymnasium gives them.
        reward_range: the public range of rewards. Without it they must lie in [0, 1]. It is never taken from the data,
            because the extreme rewards may be one user's.
        columns: names used here -> names in the data, such as ``{"state": "cell"}``.

    >>> log = {"episode": ["a", "a", "b"], "user": ["u1", "u1", "u2"], "state": [0, 1, 0], "reward": [-1, 0, -1]}
    >>> found = read_episodes(log, reward_range=(-1, 0))
    >>> found.rewards.tolist(), found.users
    ([0.0, 1.0, 0.0], ('u1', 'u2'))

    Raises:
        ValueError: naming the data, the row and the rule it breaks.
        OSError: for a file that cannot be read.
    """
    if isinstance(source, str | Path) and Path(source).suffix == ".npz" and _is_own(Path(source)):
        found = Episodes.load(Path(source))
        return OwnEpisodes(**vars(found))
    table = checked(renamed(table_of(source), columns or {}))
    numbers, order = episodes_of(table)
    map_ = RewardMap() if reward_range is None else RewardMap(*map(float, reward_range))
    user, users = _user_of(table, order, numbers)
    firsts = np.append(0, np.flatnonzero(np.diff(numbers)) + 1)
    lengths = np.diff(np.append(firsts, len(numbers)))
    moved = np.flatnonzero(user != np.repeat(user[firsts], lengths))
    if len(moved):
        raise table.error("user must be the same in all rows of an episode", int(order[moved[0]]))
    return OwnEpisodes(
        _counted(table, "state")[order],
        _counted(table, "action")[order],
        map_.forward(_rewards(table, map_))[order],
        lengths.astype(np.int64),
        user[firsts],
        users,
        map_,
        tuple(name for name in table.columns if name not in USED),
    )


def _is_own(path: Path) -> bool:
    """Return whether an archive has the fields that `Episodes.save` writes."""
    path.stat()  # a missing file says so itself
    try:
        with np.load(path, allow_pickle=False) as stored:
            return "lengths" in stored.files
    except ValueError:
        return True  # the reader says what is wrong


def _user_of(
    table: Table, order: NDArray[Any], numbers: NDArray[Any]
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Return the user of each step as a number, and the names that the numbers stand for.

    Nonnegative integers are kept, and then there are no names.
    """
    column = table.columns.get("user", table.columns.get("episode", numbers))
    given = column[order] if "user" in table.columns or "episode" in table.columns else numbers
    if given.dtype.kind in "iu" and int(given.min()) >= 0:
        return given.astype(np.int64), ()
    return first_seen(given)


def _counted(table: Table, name: str) -> NDArray[np.int64]:
    """Return states or actions, which are integers at least 0. Missing actions are 0."""
    if name not in table.columns:
        return np.zeros(table.rows, np.int64)
    found = integers(table, name)
    below = np.flatnonzero(found < 0)
    if len(below):
        raise table.error(f"{name}s ({found[below[0]]}) must be at least 0", int(below[0]))
    return found


def _rewards(table: Table, map_: RewardMap) -> NDArray[np.float64]:
    try:
        found = np.asarray(table.columns["reward"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise table.error(f"reward must hold numbers. {error}") from error
    if found.ndim != 1:
        raise table.error(f"reward (shape {found.shape}) must be one number for each step")
    outside = np.flatnonzero(~((found >= map_.low) & (found <= map_.high)))
    if len(outside):
        row = int(outside[0])
        rule = f"rewards ({float(found[row])!r}) must be in [{map_.low:g}, {map_.high:g}]"
        raise table.error(rule if np.isnan(found[row]) else f"{rule}. {RULE}", row)
    return found


def write_episodes(path: str | Path, episodes: Episodes) -> None:
    """Write a batch as NPZ, CSV, JSON lines or Parquet, chosen by the suffix of ``path``.

    Rewards are written as they are, in [0, 1].

    Raises:
        ValueError: for another ending.
    """
    path = Path(path)
    writers = {".npz": _npz, ".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
    if path.suffix not in writers:
        raise ValueError(f"file ({path.name!r}) must end in one of: {', '.join(writers)}")
    writers[path.suffix](path, episodes)


def _npz(path: Path, episodes: Episodes) -> None:
    episodes.save(path)


def _columns(episodes: Episodes) -> dict[str, NDArray[Any]]:
    return {
        "episode": np.repeat(np.arange(episodes.count), episodes.lengths),
        "user": np.repeat(episodes.user, episodes.lengths),
        "state": episodes.states,
        "action": episodes.actions,
        "reward": episodes.rewards,
    }


def _csv(path: Path, episodes: Episodes) -> None:
    columns = _columns(episodes)
    formats = ["%.17g" if name == "reward" else "%d" for name in columns]
    table = np.column_stack([column.astype(object) for column in columns.values()])
    np.savetxt(path, table, fmt=formats, delimiter=",", header=",".join(columns), comments="")


def _json_lines(path: Path, episodes: Episodes) -> None:
    columns = {name: column.tolist() for name, column in _columns(episodes).items()}
    rows = zip(*columns.values(), strict=True)
    text = "".join(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def _parquet(path: Path, episodes: Episodes) -> None:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ValueError(
            f"{path.name}: writing Parquet needs pyarrow. Run: pip install 'dpproof[interop]'"
        ) from error
    parquet.write_table(pyarrow.table(_columns(episodes)), path)
