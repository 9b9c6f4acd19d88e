"""``Episodes``: a batch of trajectories of different lengths, in flat arrays.

All reinforcement learning algorithms of dpproof use this format.

The steps of all episodes are stored one after another, and ``lengths`` holds the number of steps of each.
Files are NPZ archives with a version number, which is checked on reading.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpproof.accountant.numbers.written import replacing

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
_FORMAT = 1
_STEPS = ("states", "actions", "rewards")
_KINDS = dict.fromkeys(("states", "actions", "lengths", "user"), "int64") | {"rewards": "float64"}


@dataclass(frozen=True, eq=False)
class Episodes:
    """A batch of trajectories.

    Attributes:
        states, actions: int64, one entry for each step, at least 0.
        rewards: float64, one entry for each step, in [0, 1].
        lengths: int64, the number of steps of each episode, at least 1. Their sum is the number of all steps.
        user: int64, the number of the user who contributed each episode.

    >>> batch = Episodes.rectangular([[0, 1]], [[1, 0]], [[0.5, 1.0]])
    >>> batch.count, batch.rewards.tolist()
    (1, [0.5, 1.0])

    Raises:
        ValueError: for invalid arrays. The message names the field and the rule that it breaks.
    """

    states: Integers
    actions: Integers
    rewards: Reals
    lengths: Integers
    user: Integers

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            given = getattr(self, name).dtype
            if given != kind:
                raise ValueError(f"{name} (dtype {given}) must have dtype {kind}")
        if len(self.lengths) == 0:
            raise ValueError("lengths ([]) must hold at least one episode")
        if int(self.lengths.min()) < 1:
            raise ValueError(f"lengths ({int(self.lengths.min())}) must be at least 1")
        steps = int(self.lengths.sum())
        for name in _STEPS:
            if getattr(self, name).shape != (steps,):
                raise ValueError(
                    f"{name} (shape {getattr(self, name).shape}) must have shape ({steps},), one entry for each step"
                )
        if self.user.shape != self.lengths.shape:
            raise ValueError(
                f"user (shape {self.user.shape}) must have shape {self.lengths.shape}, one entry for each episode"
            )
        for name in ("states", "actions"):
            if int(getattr(self, name).min()) < 0:
                raise ValueError(f"{name} ({int(getattr(self, name).min())}) must be at least 0")
        outside = ~((self.rewards >= 0) & (self.rewards <= 1))
        if outside.any():
            raise ValueError(f"rewards ({float(self.rewards[outside][0])!r}) must be in [0, 1]")

    @classmethod
    def rectangular(cls, states: Any, actions: Any, rewards: Any) -> Episodes:
        """Return episodes of equal length from arrays of shape (episodes, steps). Each episode gets its own user."""
        tables = {
            "states": np.asarray(states),
            "actions": np.asarray(actions),
            "rewards": np.asarray(rewards),
        }
        shape = tables["states"].shape
        if len(shape) != 2:
            raise ValueError(f"states (shape {shape}) must have shape (episodes, steps)")
        for name, table in tables.items():
            if table.shape != shape:
                raise ValueError(f"{name} (shape {table.shape}) must have shape {shape}")
            if name != "rewards" and not np.issubdtype(table.dtype, np.integer):
                raise ValueError(f"{name} (dtype {table.dtype}) must be integers")
        count, horizon = shape
        return cls(
            tables["states"].astype(np.int64).ravel(),
            tables["actions"].astype(np.int64).ravel(),
            tables["rewards"].astype(np.float64).ravel(),
            np.full(count, horizon, dtype=np.int64),
            np.arange(count, dtype=np.int64),
        )

    @property
    def count(self) -> int:
        """The number of episodes."""
        return len(self.lengths)

    def table(self, name: str) -> npt.NDArray[Any]:
        """Return the field ``name`` as an array of shape (episodes, steps), for episodes of equal length."""
        if (self.lengths != self.lengths[0]).any():
            raise ValueError(
                "lengths must all be equal, because a table has the same number of steps in each row."
            )
        found: npt.NDArray[Any] = getattr(self, name).reshape(self.count, -1)
        return found

    def save(self, path: Path) -> None:
        """Write the batch to an NPZ file. An existing file is replaced completely or not at all."""
        with replacing(path) as stream:
            arrays: dict[str, Any] = {"format": _FORMAT} | self.fields()
            np.savez_compressed(stream, **arrays)

    def fields(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that ``save`` writes, by name."""
        return {name: getattr(self, name) for name in Episodes.__dataclass_fields__}

    @staticmethod
    def load(path: Path) -> Episodes:
        """Read a batch written by ``save``. Other arrays in the archive are not read.

        Raises:
            ValueError: for a file that is no NPZ archive, another format version or missing fields.
        """
        if not zipfile.is_zipfile(path):
            path.stat()  # a missing file says so itself
            raise ValueError(f"{path.name}: the file is not an NPZ archive")
        with np.load(path, allow_pickle=False) as stored:
            fields = Episodes.__dataclass_fields__
            if not {"format", *fields} <= set(stored.files):
                raise ValueError(
                    f"{path.name}: the archive must hold {sorted(['format', *fields])}, not {sorted(stored.files)}"
                )
            if int(stored["format"]) != _FORMAT:
                found = int(stored["format"])
                raise ValueError(
                    f"{path.name}: the file has format {found}, but this dpproof reads format {_FORMAT}"
                )
            return Episodes(**{name: stored[name] for name in fields})


def _one_user_apart(first: Episodes, second: Episodes, fields: tuple[str, ...]) -> bool:
    """Whether the batches have equal lengths and users and differ only in the steps of one user."""
    if not (np.array_equal(first.user, second.user) and np.array_equal(first.lengths, second.lengths)):
        return False
    owner = np.repeat(first.user, first.lengths)
    apart = np.zeros(len(owner), dtype=bool)
    for name in fields:
        apart |= getattr(first, name) != getattr(second, name)
    return len(np.unique(owner[apart])) <= 1


def differ_only_in_rewards(first: Episodes, second: Episodes) -> bool:
    """Return whether two batches are neighbours under ``rewards-only``: they differ in one user's rewards only."""
    same = all(np.array_equal(getattr(first, name), getattr(second, name)) for name in ("states", "actions"))
    return same and _one_user_apart(first, second, ("rewards",))


def replaces_one_user(first: Episodes, second: Episodes) -> bool:
    """Return whether two batches are neighbours under ``replace``: they differ in one user's steps only.

    The function returns False for batches that differ in ``lengths`` or in ``user``.
    """
    return _one_user_apart(first, second, _STEPS)
