"""The public range of returns, and the sums of first-visit returns after moving this range to [0, 1].

The return of a state in a trajectory is the discounted sum of rewards from the first visit on. It is computed in
doubles from this trajectory alone, clipped to the range, and rounded to a multiple of 2^-30 of the range. The sums are
integers, so they do not depend on the order of the trajectories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms import _checks
from dpproof.mechanisms.compiled import njit
from dpproof.mechanisms.own_data.episodes import OwnEpisodes
from dpproof.mechanisms.own_data.rewards import RULE, RewardMap
from dpproof.mechanisms.release.grid import REWARD_BITS

_GRAINS = float(1 << REWARD_BITS)


@dataclass(frozen=True)
class ReturnRange:
    """The public range of returns of trajectories, and the discount.

    >>> ReturnRange.of(0.5, (-1, 0), max_length=2)
    ReturnRange(discount=0.5, low=-1.5, high=0.0)

    Attributes:
        discount: the discount of later rewards, in (0, 1].
        low, high: the smallest and the largest possible return, in the units of the rewards.
    """

    discount: float
    low: float
    high: float

    @classmethod
    def of(
        cls,
        discount: float,
        reward_range: tuple[float, float],
        max_length: int | None = None,
        return_range: tuple[float, float] | None = None,
    ) -> ReturnRange:
        """Return the range that follows from the range of rewards, and from a narrower range if one is given.

        Raises:
            ValueError: the discount is outside (0, 1], or it is 1 without `max_length`. Or a range is not two finite
                numbers, the smaller one first. Or the two ranges of returns have no interior in common.
        """
        if isinstance(discount, bool) or not isinstance(discount, (int, float)) or not 0 < discount <= 1:
            raise ValueError(f"discount ({discount!r}) must be in (0, 1]")
        if discount == 1 and max_length is None:
            raise ValueError(
                "max_length must be given if discount is 1, because returns are unlimited without it"
            )
        rewards = RewardMap.of(reward_range)
        longest = _weight(float(discount), max_length)
        low, high = min(rewards.low, rewards.low * longest), max(rewards.high, rewards.high * longest)
        if return_range is not None:
            given = _two("return_range", return_range)
            if not max(low, given[0]) < min(high, given[1]):
                rule = f"must overlap the possible returns [{low:g}, {high:g}]"
                raise ValueError(f"return_range ({return_range!r}) {rule}. Check discount and reward_range.")
            low, high = max(low, given[0]), min(high, given[1])
        if not math.isfinite(high - low):
            raise ValueError(f"returns in [{low:g}, {high:g}] are too large. Give a narrower return_range.")
        return cls(float(discount), low, high)

    @property
    def width(self) -> float:
        """The difference of the largest and the smallest possible return."""
        return self.high - self.low

    def back(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values in [0, 1] in the units of the rewards, inside the range."""
        return np.clip(self.low + values * self.width, self.low, self.high)


def _weight(discount: float, length: int | None) -> float:
    if length is None:
        return 1 / (1 - discount)
    return float(length) if discount == 1 else -math.expm1(length * math.log(discount)) / (1 - discount)


def _two(name: str, given: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} ({given!r}) must be two numbers, the smaller one first") from error
    if not low < high or not math.isfinite(high - low):
        raise ValueError(f"{name} ({given!r}) must be two finite numbers, the smaller one first")
    return low, high


@dataclass(frozen=True, eq=False)
class Log:
    """Checked logged trajectories, with rewards in the units of `reward_range`.

    Attributes:
        episodes: the trajectories, with rewards in [0, 1].
        rewards: the rewards in their own units, one for each step.
        reward_range: the public range of the rewards.
        own: the map of the rewards in `episodes` to their own units.
    """

    episodes: Episodes
    rewards: NDArray[np.float64]
    reward_range: tuple[float, float]
    own: RewardMap

    @classmethod
    def of(
        cls,
        episodes: Episodes,
        states: int,
        max_length: int | None = None,
        reward_range: tuple[float, float] | None = None,
    ) -> Log:
        """Return the checked trajectories.

        The rewards of `OwnEpisodes` have the units of the data from which they were read. The rewards of other
        `Episodes` are taken as they are.

        Raises:
            ValueError: a state, a length or a reward is outside its domain, or a user has two trajectories. The
                message names the value, the rule and the remedy.
        """
        sizes = _checks.at_least("states", states, 1)
        longest = None if max_length is None else _checks.at_least("max_length", max_length, 1)
        _checks.log(episodes, sizes, longest, "max_length", 1, "Keep one trajectory of each user")
        own = episodes.reward_map if isinstance(episodes, OwnEpisodes) else RewardMap()
        limits = own if reward_range is None else RewardMap.of(reward_range)
        rewards = np.clip(own.back(episodes.rewards), own.low, own.high)  # only rounding is clipped
        outside = ~((rewards >= limits.low) & (rewards <= limits.high))
        if outside.any():
            given = float(rewards[outside][0])
            raise ValueError(f"rewards ({given!r}) must be in [{limits.low:g}, {limits.high:g}]. {RULE}.")
        return cls(episodes, rewards, (limits.low, limits.high), own)

    def sums(self, states: int, returns: ReturnRange) -> tuple[list[int], list[Fraction]]:
        """Return how many trajectories visit each state, and the sum of their centred returns, exactly.

        A centred return is the return, moved from its range to [0, 1], minus 1/2.
        """
        starts = np.append(0, np.cumsum(self.episodes.lengths))
        visits, grains = np.zeros(states, np.int64), np.zeros(states, np.int64)
        _add(
            self.episodes.states,
            self.rewards,
            starts,
            returns.discount,
            returns.low,
            returns.width,
            visits,
            grains,
        )
        pairs = zip(visits.tolist(), grains.tolist(), strict=True)
        return visits.tolist(), [
            Fraction(total, 1 << REWARD_BITS) - Fraction(count, 2) for count, total in pairs
        ]


@njit
def _add(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    low: float,
    width: float,
    visits: Any,
    grains: Any,
) -> None:  # pragma: no cover - compiled
    """Add the first visits of all trajectories, and their returns in grains of the range."""
    count = len(visits)
    seen, value, order = np.full(count, -1, np.int64), np.zeros(count), np.empty(count, np.int64)
    for i in range(len(starts) - 1):
        following, found = 0.0, 0
        for t in range(starts[i + 1] - 1, starts[i] - 1, -1):
            state = states[t]
            following = rewards[t] + discount * following
            if seen[state] != i:
                seen[state] = i
                order[found] = state
                found += 1
            value[state] = following
        for j in range(found):
            state = order[j]
            visits[state] += 1
            grains[state] += np.int64(np.rint(min(max((value[state] - low) / width, 0.0), 1.0) * _GRAINS))
