"""What an agent asks of a learning algorithm: a policy now, and a place for one user's episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Path:
    """One user's episode of n steps, with n at most the horizon H.

    Attributes:
        states: int64 (n + 1,), the numbers of the observations. The last one is S if the episode ended there.
        actions: int64 (n,), the numbers of the actions.
        gains: float64 (n,), the rewards as numbers in [0, 1].
    """

    states: Ints
    actions: Ints
    gains: Floats


class Learner(Protocol):
    """Interface of a learning algorithm that real users drive, one episode each."""

    @property
    def users(self) -> int:
        """The number of users so far, counted or skipped."""
        ...

    @property
    def weights(self) -> Weights:
        """The present policy: probabilities (H, S, A) of actions. A new array is made when the policy changes."""
        ...

    def check(self, path: Path) -> None:
        """Raise a ValueError if the learner cannot count this path. Nothing changes."""
        ...

    def see(self, path: Path) -> None:
        """Count the next user, who has this path."""
        ...

    def skip(self) -> None:
        """Pass over the next user, who is absent. The user's place is used up, so that releases keep their times."""
        ...
