"""What an agent asks of a learning algorithm: a policy now, and a place for one user's episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Weights = NDArray[np.float32]


class Chances(Protocol):
    """Interface of a policy: probabilities of actions for each step and observation.

    It is an array (H, S, A), or a network that computes one row of such an array when it is asked for.
    """

    def __len__(self) -> int:
        """Return the number of steps H."""
        ...

    def __getitem__(self, place: tuple[int, Any], /) -> Any:
        """Return the probabilities of the actions at a step for an observation, as its space numbers it."""
        ...


@dataclass(frozen=True, eq=False)
class Path:
    """One user's episode of n steps, with n at most the horizon H.

    Attributes:
        states: int64 (n + 1,), the numbers of the observations. The last one is S if the episode ended there. If
            observations are vectors of d real numbers: float64 (n + 1, d), and the last row is NaN if it ended there.
        actions: int64 (n,), the numbers of the actions.
        gains: float64 (n,), the rewards as numbers in [0, 1].
    """

    states: NDArray[Any]
    actions: Ints
    gains: Floats

    def record(self) -> Record:
        """Return the path as named arrays."""
        return {"states": self.states, "actions": self.actions, "gains": self.gains}


@dataclass(frozen=True, eq=False)
class Paths:
    """The episodes of n users, in the order in which they end, of at most H steps each.

    Attributes:
        states: int64 (n, H + 1), the numbers of the observations. S stands for the end of an episode.
        actions: int64 (n, H), the numbers of the actions; -1 after the last step of an episode.
        gains: float64 (n, H), the rewards as numbers in [0, 1].

    >>> one = Path(np.array([0, 1]), np.array([2]), np.array([0.5]))
    >>> [path.actions.tolist() for path in Paths.of(one)]
    [[2]]
    """

    states: Ints
    actions: Ints
    gains: Floats

    @classmethod
    def of(cls, path: Path) -> Paths:
        """Return the episode of a single user."""
        return cls(path.states[None], path.actions[None], path.gains[None])

    def __iter__(self) -> Iterator[Path]:
        for states, actions, gains in zip(self.states, self.actions, self.gains, strict=True):
            n = int((actions >= 0).sum())
            yield Path(states[: n + 1], actions[:n], gains[:n])


Record = Mapping[str, NDArray[Any]]
"""What the server gets of one user: named arrays, such as those of a path."""


class Learner(Protocol):
    """Interface of a learning algorithm that real users drive, one episode each."""

    overlapping: bool
    """Whether a user may begin before another one has ended.

    Releases must not depend on when a user ends, because that may depend on the user's data.
    """

    @property
    def weights(self) -> Chances:
        """The present policy: probabilities of actions. A new object is made when the policy changes."""
        ...

    def begin(self) -> None:
        """Note that a user begins an episode. Counts are released at such moments only, before the user's policy."""
        ...

    def for_user(self) -> Chances:
        """Return the policy of a user who begins an episode now. It is the present one unless the learner explores."""
        ...

    def sent(self, path: Path) -> Record:
        """Return what the server gets of a user with this path. In the local model the user adds noise here.

        Raises:
            ValueError: the learner cannot count this path. Nothing changes.
        """
        ...

    def absent(self) -> Record | None:
        """Return what the server gets of an absent user: None, or noise alone in the local model."""
        ...

    def see(self, record: Record) -> None:
        """Count a user who has ended, of whom the server got this record."""
        ...

    def skip(self) -> None:
        """Pass over a user who has ended and is absent."""
        ...

    @property
    def together(self) -> int:
        """The number of users who can begin now before the first of them ends, without any effect on their policies.

        It is at least 1.
        """
        return 1

    def see_all(self, paths: Paths) -> None:
        """Count users who have ended. The result is that of `see` for one user after another."""
        for path in paths:
            self.see(self.sent(path))
