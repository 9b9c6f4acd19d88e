"""Files of trajectories: NPZ as `Episodes.save` writes it, CSV and Parquet with one row a step.

Columns of CSV and Parquet: `episode`, `state`, `reward`, and if wanted `action` (0 without it) and `user`
(the episode without it). The rows of an episode stand together, in the order of its steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.rl.policy_evaluation.visits import read_columns

_REQUIRED = ("episode", "state", "reward")
_ALLOWED = {*_REQUIRED, "action", "user"}


def read_episodes(path: Path) -> Episodes:
    """The batch in a file.

    Raises:
        ValueError: naming the file, the column and the rule it breaks.
        OSError: for a file that cannot be read.
    """
    if path.suffix == ".npz":
        return Episodes.load(path)
    columns = read_columns(path)
    if not set(_REQUIRED) <= columns.keys() or not columns.keys() <= _ALLOWED:
        rule = f"must be {', '.join(_REQUIRED)}, and maybe action, user"
        raise ValueError(f"{path.name}: columns ({', '.join(columns)}) {rule}")
    for name, column in columns.items():
        if name != "reward" and column.dtype.kind not in "iu":
            raise ValueError(f"{path.name}: {name} must be integers")
    firsts = _firsts(path, columns["episode"])
    steps = len(columns["episode"])
    users = columns.get("user", columns["episode"])
    if (users != np.repeat(users[firsts], np.diff(np.append(firsts, steps)))).any():
        raise ValueError(f"{path.name}: user must be the same at all steps of an episode")
    return Episodes(
        columns["state"].astype(np.int64),
        columns.get("action", np.zeros(steps, np.int64)).astype(np.int64),
        columns["reward"].astype(np.float64),
        np.diff(np.append(firsts, steps)),
        users[firsts].astype(np.int64),
    )


def _firsts(path: Path, episode: NDArray[Any]) -> NDArray[np.int64]:
    """Where each episode begins."""
    if len(episode) == 0:
        raise ValueError(f"{path.name}: rows (none) must hold at least one step")
    firsts = np.append(0, np.flatnonzero(np.diff(episode)) + 1)
    if len(np.unique(episode[firsts])) < len(firsts):
        raise ValueError(f"{path.name}: the rows of an episode must stand together")
    return firsts.astype(np.int64)


def write_episodes(path: Path, episodes: Episodes) -> None:
    """Write a batch as NPZ, CSV or Parquet, by the ending of `path`.

    Raises:
        ValueError: for another ending.
    """
    writers = {".npz": _npz, ".csv": _csv, ".parquet": _parquet}
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


def _parquet(path: Path, episodes: Episodes) -> None:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ValueError(f"{path.name}: writing Parquet needs the extra dpproof[interop]") from error
    parquet.write_table(pyarrow.table(_columns(episodes)), path)
