"""Reading episodes from the user's own data, and writing episodes to files.

Each row is one step. The columns ``state`` and ``reward`` are required, and either ``episode`` or the ends of
episodes (``terminated``, ``truncated``). A column ``user`` is required unless the caller states that a guarantee
protects single episodes. The columns ``action`` (default 0) and ``step`` (default: the order of the rows) are
optional. Other columns are ignored, and the result lists them.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.numbers.written import replacing, write_whole
from dpproof.mechanisms.own_data.columns import Table, integers, plain, reals
from dpproof.mechanisms.own_data.rewards import RULE, RewardMap
from dpproof.mechanisms.own_data.units import Unit, described, ignored_columns, owners, starts, steps_of


@dataclass(frozen=True, eq=False)
class OwnEpisodes(Episodes):
    """Episodes that were read from data, and how they relate to that data.

    Attributes:
        users: the ids of the users in the data. The number i in the field ``user`` stands for the id ``users[i]``. If
            ``users`` is empty, the numbers are the ids.
        reward_map: the map of rewards to [0, 1]; ``reward_map.back`` maps values back.
        ignored: the columns that were not used.
        unit: whose data a guarantee protects: ``"user"`` for all data of a user, ``"episode"`` for single episodes.
    """

    users: tuple[Any, ...] = ()
    reward_map: RewardMap = field(default_factory=RewardMap)
    ignored: tuple[str, ...] = ()
    unit: Unit = "user"

    def __repr__(self) -> str:
        rewards = f"rewards [{self.reward_map.low:g}, {self.reward_map.high:g}] moved to [0, 1]"
        return described("OwnEpisodes", self, self.unit, rewards, self.ignored)

    def fields(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for an NPZ file: the episodes, users' ids, unit and reward range."""
        own = {
            "users": np.array(json.dumps([_written(user) for user in self.users])),
            "unit": np.array(self.unit),
            "reward_range": np.array([self.reward_map.low, self.reward_map.high]),
        }
        return super().fields() | own


def read_episodes(
    source: object,
    *,
    reward_range: tuple[float, float] | None = None,
    columns: Mapping[str, str] | None = None,
    unit: Unit | None = None,
) -> OwnEpisodes:
    """Return the episodes in a file, a data frame, a mapping of columns or a recording.

    Args:
        source: a path (CSV, JSON lines, Parquet, or NPZ of this project, Minari or D4RL), a data frame (pandas, polars,
            pyarrow), a mapping from names to arrays, or recorded episodes: lists of steps
            (observation, action, reward, terminated, truncated) as Gymnasium gives them.
        reward_range: the public range of rewards, by default [0, 1]. The function never takes the range from the data,
            because the extreme rewards may be one user's.
        columns: names used here -> names in the data, such as ``{"state": "cell"}``.
        unit: ``"episode"`` if a guarantee is to protect single episodes. Required if there is no column of users.

    >>> log = {"episode": ["a", "a", "b"], "user": ["u1", "u1", "u2"], "state": [0, 1, 0], "reward": [-1, 0, -1]}
    >>> found = read_episodes(log, reward_range=(-1, 0))
    >>> found
    OwnEpisodes(2 episodes of 2 users, 3 steps, unit: user, rewards [-1, 0] moved to [0, 1])
    >>> found.rewards.tolist(), found.users
    ([0.0, 1.0, 0.0], ('u1', 'u2'))

    Raises:
        ValueError: naming the data, the row and the rule it breaks.
        OSError: for a file that cannot be read.
    """
    columns = columns or {}
    if isinstance(source, str | Path) and _is_own(Path(source)):
        return _of_archive(Path(source), reward_range, columns, unit)
    table, unit, numbers, order = steps_of(source, columns, unit)
    map_, rewards = _rewards(table, reward_range)
    user, users = owners(table, numbers, order, unit)
    if all(isinstance(name, int) and 0 <= name < 2**63 for name in users):
        user, users = np.array(users, dtype=np.int64)[user], ()
    return OwnEpisodes(
        _counted(table, "state")[order],
        _counted(table, "action")[order],
        rewards[order],
        np.diff(np.append(starts(numbers), len(numbers))).astype(np.int64),
        user,
        users,
        map_,
        tuple(name for name in ignored_columns(table, unit) if name not in _RANGE),
        unit,
    )


def _is_own(path: Path) -> bool:
    """Return whether an archive has the fields that `Episodes.save` writes."""
    if path.suffix != ".npz" or not zipfile.is_zipfile(path):
        return False
    with np.load(path, allow_pickle=False) as stored:
        return {"format", "lengths", "user"} <= set(stored.files)


def _of_archive(
    path: Path, reward_range: object, columns: Mapping[str, str], unit: Unit | None
) -> OwnEpisodes:
    """Return the episodes in an archive of this project. What a caller says of them must agree with the archive."""
    if columns:
        raise ValueError(
            f"{path.name}: columns must be left out, because dpproof wrote this archive and knows its columns"
        )
    found = OwnEpisodes(**vars(Episodes.load(path)))
    with np.load(path, allow_pickle=False) as stored:
        if "users" in stored.files:
            users = tuple(json.loads(str(stored["users"])))
            map_ = RewardMap.of(stored["reward_range"].tolist())
            own: Unit = "episode" if str(stored["unit"]) == "episode" else "user"
            found = replace(found, users=users, reward_map=map_, unit=own)
    if reward_range is not None and RewardMap.of(reward_range) != found.reward_map:
        raise ValueError(f"{path.name}: {_moved(reward_range, found.reward_map)}")
    if unit not in (None, found.unit):
        rule = f"unit ({unit!r}) must be {found.unit!r}, which the archive states"
        raise ValueError(f"{path.name}: {rule}")
    return found


def _moved(given: object, map_: RewardMap) -> str:
    return (
        f"reward_range ({given!r}) differs from the range [{map_.low:g}, {map_.high:g}] that the file states for its"
        " rewards. Leave it out"
    )


def _counted(table: Table, name: str) -> NDArray[np.int64]:
    """Return states or actions, which are integers at least 0. Missing actions are 0."""
    if name not in table.columns:
        return np.zeros(table.rows, np.int64)
    found = integers(table, name)
    below = np.flatnonzero(found < 0)
    if len(below):
        raise table.error(f"{name}s ({found[below[0]]}) must be at least 0", int(below[0]))
    return found


_RANGE = ("reward_low", "reward_high")
"""Columns of a file that `write_episodes` wrote: the range that its rewards were moved from."""


def _rewards(table: Table, reward_range: object) -> tuple[RewardMap, NDArray[np.float64]]:
    """Return the map of the rewards to [0, 1], and the rewards after it."""
    if not set(_RANGE) <= table.columns.keys():
        map_ = RewardMap() if reward_range is None else RewardMap.of(reward_range)
        return map_, map_.forward(_in_range(table, map_))
    low, high = (reals(table, name, np.float64) for name in _RANGE)
    map_ = RewardMap.of([low[0], high[0]])
    other = np.flatnonzero((low != map_.low) | (high != map_.high))
    if len(other):
        raise table.error("reward_low and reward_high must be the same in all rows", int(other[0]))
    if reward_range is not None and RewardMap.of(reward_range) != map_:
        raise table.error(_moved(reward_range, map_))
    return map_, _in_range(table, RewardMap())


def _in_range(table: Table, map_: RewardMap) -> NDArray[np.float64]:
    found = reals(table, "reward", np.float64)
    if found.ndim != 1:
        raise table.error(f"reward (shape {found.shape}) must be one number for each step")
    outside = np.flatnonzero(~((found >= map_.low) & (found <= map_.high)))
    if len(outside):
        row = int(outside[0])
        rule = f"rewards ({plain(found[row])!r}) must be in [{map_.low:g}, {map_.high:g}]"
        raise table.error(rule if np.isnan(found[row]) else f"{rule}. {RULE}", row)
    return found


def write_episodes(path: str | Path, episodes: Episodes) -> None:
    """Write episodes to a file: NPZ, CSV, JSON lines or Parquet, chosen by the suffix of ``path``.

    Rewards are written in [0, 1]. If they were mapped from another range, this range is written, too. Users are
    written with their ids in the data. If the unit is ``"episode"``, the ids of the episodes are written instead.

    Raises:
        ValueError: the suffix is another one, or a Parquet file needs pyarrow, which is not installed.
    """
    path = Path(path)
    writers = {".npz": _npz, ".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
    if path.suffix not in writers:
        raise ValueError(f"file ({path.name!r}) must end in one of: {', '.join(writers)}")
    writers[path.suffix](path, episodes)


def _npz(path: Path, episodes: Episodes) -> None:
    episodes.save(path)


def _columns(episodes: Episodes) -> dict[str, list[Any]]:
    own = episodes if isinstance(episodes, OwnEpisodes) else OwnEpisodes(**vars(episodes))
    ids: dict[str, list[Any]] = {"episode": list(range(own.count))} if own.unit == "user" else {}
    ids[own.unit] = [_written(own.users[user]) if own.users else user for user in own.user.tolist()]
    place = np.repeat(np.arange(own.count), own.lengths).tolist()
    found = {name: [given[episode] for episode in place] for name, given in ids.items()}
    found |= {"state": own.states.tolist(), "action": own.actions.tolist(), "reward": own.rewards.tolist()}
    if own.reward_map != RewardMap():
        ends = (own.reward_map.low, own.reward_map.high)
        found |= {name: [end] * len(place) for name, end in zip(_RANGE, ends, strict=True)}
    return found


def _written(user: Any) -> str | int:
    """Return an id as files hold it: a text or an integer. Different ids of one kind are written differently."""
    if isinstance(user, str | int):
        return user
    return json.dumps(user, default=str) if isinstance(user, tuple) else str(user)


def _csv(path: Path, episodes: Episodes) -> None:
    columns = _columns(episodes)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_whole(path, text.getvalue())


def _json_lines(path: Path, episodes: Episodes) -> None:
    columns = _columns(episodes)
    rows = zip(*columns.values(), strict=True)
    write_whole(path, "".join(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n" for row in rows))


def _parquet(path: Path, episodes: Episodes) -> None:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ValueError(
            f"{path.name}: writing Parquet needs pyarrow. Run: pip install 'dpproof[interop]'"
        ) from error
    columns = _columns(episodes)
    for name in {"user", "episode"} & columns.keys():
        if not all(isinstance(one, str) or -(2**63) <= one < 2**63 for one in columns[name]):
            columns[name] = list(map(str, columns[name]))
    with replacing(path) as stream:
        parquet.write_table(pyarrow.table(columns), stream)
