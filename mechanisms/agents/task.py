"""What a private agent knows in advance: spaces, horizon, number of users, range of rewards, possible transitions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.agents.boxes import Observations
from dpproof.mechanisms.agents.spaces import FiniteSpace

Ints = NDArray[np.int64]
Support = "Mapping[tuple[Any, Any], Iterable[Any]] | Callable[[Any, Any], Iterable[Any]] | None"
END = "end"
"""The name of the end of an episode in a declared support."""
FOUND = "found"
"""The support of a task whose possible transitions are found from users' data, privately."""
_DENSE = 200_000_000


@dataclass(frozen=True, eq=False)
class Task:
    """The public facts about a learning problem. They must not depend on any user's data.

    Attributes:
        observations: the set of observations (states). The agent treats an observation as the state.
        actions: the finite set of actions.
        horizon: the largest number of steps H of an episode.
        episodes: the number of episodes K. Each is one user.
        low, high: the smallest and the largest possible reward of a step.
        most_gain: the largest sum of gains of an episode; None if there is no limit below the horizon. What is beyond
            is cut.
        starts: the numbers of the observations in which an episode may begin; empty if every one may. Only SDP-PE asks.
        successors: int64 array (S A, b): the possible next states of state s and action a in row s A + a. The number S
            stands for the end of the episode, and -1 fills up a row. It is None if every state may follow.
        found: whether the transitions that occur are found from users' data. ``successors`` is None then.

    Raises:
        ValueError: a number below 1, or a range of rewards that is empty or not finite.
    """

    observations: Observations
    actions: FiniteSpace
    horizon: int
    episodes: int
    low: float
    high: float
    successors: Ints | None = None
    most_gain: float | None = None
    starts: tuple[int, ...] = ()
    found: bool = False

    def __post_init__(self) -> None:
        for name in ("horizon", "episodes"):
            object.__setattr__(self, name, _checks.at_least(name, getattr(self, name), 1))
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise ValueError(
                f"reward_range ({self.low!r}, {self.high!r}) must be two finite numbers with a finite difference, the "
                "lower one first"
            )
        if self.most_gain is not None and not 0 < self.most_gain < math.inf:
            raise ValueError(f"most_gain ({self.most_gain!r}) must be a finite number above 0")

    @property
    def states(self) -> int:
        """Number S of states, without the end of the episode. It has no meaning for observations in a box."""
        return self.observations.size

    @property
    def branches(self) -> int:
        """The largest number of possible next states of a state and an action, with the end of the episode."""
        return self.states + 1 if self.successors is None else self.successors.shape[1]

    def rows(self) -> Ints:
        """Return the possible next states (S A, b) of each state and action, as ``successors`` describes.

        Raises:
            ValueError: every state may follow, and the table would be too large. The message says what to declare.
        """
        if self.successors is not None:
            return self.successors
        cells, width = self.states * self.actions.size, self.states + 1
        if cells * width > _DENSE:
            raise ValueError(
                f"support (None) must be declared for {self.states} states and {self.actions.size} actions, because "
                f"{cells * width} transitions would need noise. Give the possible next observations of every "
                "observation and action, if they are public. Or use support='found'."
            )
        return np.broadcast_to(np.arange(width), (cells, width))

    def gain(self, reward: Any) -> float:
        """Return a reward as a number in [0, 1]: 0 for ``low``, 1 for ``high``.

        Raises:
            ValueError: the reward is not a number in the declared range.
        """
        value = _number(reward)
        if not self.low <= value <= self.high:
            raise ValueError(
                f"reward ({value!r}) must be in the declared range [{self.low!r}, {self.high!r}]. Declare a wider "
                "reward_range, or clip rewards before the agent sees them."
            )
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def zero_gain(self) -> float:
        """The gain of a step without reward, clipped to [0, 1]: what each step after the end of an episode is worth."""
        return min(max(-self.low / (self.high - self.low), 0.0), 1.0)


def _number(reward: Any) -> float:
    """Return a reward as a double. Texts, arrays with several entries and other objects are no rewards."""
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError("it is a text")
        return float(reward)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"reward ({reward!r:.80}) must be a real number: {error}") from error


def successors_of(observations: FiniteSpace, actions: FiniteSpace, support: Any) -> Ints | None:
    """Return the table of possible next states that a declared support describes; None if none is declared.

    Args:
        observations: the set of observations.
        actions: the set of actions.
        support: a mapping from (observation, action) to the possible next observations, or a function with these two
            arguments. ``"end"`` stands for the end of the episode. The text ``"found"`` declares nothing.

    Raises:
        ValueError: a pair is missing, an observation is unknown, or a text is given that is not ``found``.

    >>> two, one = FiniteSpace.of("observation", 2), FiniteSpace.of("action", 1)
    >>> successors_of(two, one, {(0, 0): [0, 1], (1, 0): ["end"]}).tolist()
    [[0, 1], [2, -1]]
    """
    if isinstance(support, str) and support != FOUND:
        raise ValueError(f"support ({support!r}) must be 'found', a mapping, a function or None")
    if support is None or isinstance(support, str):
        return None
    rows = [
        sorted({_next(observations, value) for value in _declared(support, s, a)})
        for s in observations.values
        for a in actions.values
    ]
    found = np.full((len(rows), max(1, *map(len, rows))), -1, np.int64)
    for row, places in zip(found, rows, strict=True):
        row[: len(places)] = places
    return found


def _declared(support: Any, observation: Any, action: Any) -> Iterable[Any]:
    if callable(support):
        return support(observation, action)  # type: ignore[no-any-return] # the caller's function
    try:
        return support[observation, action]  # type: ignore[no-any-return] # the caller's mapping
    except KeyError:
        raise ValueError(
            f"support has no entry for observation {observation!r} and action {action!r}. Give every pair."
        ) from None


def _next(observations: FiniteSpace, value: Any) -> int:
    return observations.size if isinstance(value, str) and value == END else observations.number(value)


def toy_text_support(env: Any) -> dict[tuple[int, int], list[Any]]:
    """Return the possible transitions of a Gymnasium environment with a table ``P``, such as FrozenLake or Taxi.

    Use it only if these transitions are public. The probabilities are not read.
    """
    table = env.unwrapped.P
    return {
        (s, a): [END if ended else after for chance, after, _, ended in moves if chance > 0]
        for s, row in table.items()
        for a, moves in row.items()
    }
