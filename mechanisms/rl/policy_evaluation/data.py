"""First-visit statistics of a batch: how many trajectories visit each state, and the sum of their returns.

The return of a state in a trajectory is the discounted sum of the rewards from the first visit on. One compiled
backward pass over each trajectory computes the returns in doubles, clips them, and rounds them to multiples of a
small unit. The numbers of units are added as integers, so the sums are exact and do not depend on the order of the
trajectories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms import _checks

LOW_BITS = 26
"""Number of low bits of a 53-bit return that are added separately. So sums of 2^36 returns fit into 64 bits."""
CHUNKS = 32
"""Number of parts into which a batch is split. Because it is fixed, results do not depend on the threads."""
FEW = 200_000
"""Largest number of steps for which one thread is used, because more threads cost more time than they save."""


def first_visit_sums(
    states: Any, rewards: Any, starts: Any, count: int, discount: float, top: float, units: float
) -> tuple[Any, Any, Any]:
    """Return how many trajectories visit each of N = `count` states, and the sums of their returns.

    A return is clipped at `top` and rounded to the nearest multiple of 1/`units`, where `units` is a power of two. The
    results are three arrays with one entry for each state: visits, high parts and low parts. The sum of the returns is
    (low + high 2^`LOW_BITS`)/`units`. `starts` has m + 1 entries for m trajectories. Entry i is the index in `states`
    and `rewards` at which trajectory i begins, and the last entry is the number of all steps.
    """
    added = _alone if len(states) <= FEW else _together
    visits, high, low = (np.zeros((CHUNKS, count), np.int64) for _ in range(3))
    added(states, rewards, starts, discount, top, units, visits, high, low)
    return visits.sum(axis=0), high.sum(axis=0), low.sum(axis=0)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _chunk(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    top: float,
    units: float,
    visits: Any,
    high: Any,
    low: Any,
    chunk: int,
) -> None:  # pragma: no cover - compiled
    """Add the trajectories of one part to its rows."""
    trajectories, count = len(starts) - 1, visits.shape[1]
    seen = np.full(count, -1, np.int64)
    value = np.zeros(count)
    order = np.empty(count, np.int64)
    for i in range(chunk * trajectories // CHUNKS, (chunk + 1) * trajectories // CHUNKS):
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
            visits[chunk, state] += 1
            whole = np.int64(np.rint(min(value[state], top) * units))
            high[chunk, state] += whole >> LOW_BITS
            low[chunk, state] += whole & ((1 << LOW_BITS) - 1)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _alone(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    top: float,
    units: float,
    visits: Any,
    high: Any,
    low: Any,
) -> None:  # pragma: no cover - compiled
    for chunk in range(CHUNKS):
        _chunk(states, rewards, starts, discount, top, units, visits, high, low, chunk)


@numba.njit(cache=True, parallel=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _together(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    top: float,
    units: float,
    visits: Any,
    high: Any,
    low: Any,
) -> None:  # pragma: no cover - compiled
    for chunk in numba.prange(CHUNKS):
        _chunk(states, rewards, starts, discount, top, units, visits, high, low, chunk)


_LEAST_BOUND = 2.0**-900


@dataclass(frozen=True, eq=False)
class FirstVisits:
    """How often m trajectories visit each state, and the sums of their returns from the first visit on.

    The statistics of two batches can be added with +.

    Attributes:
        visits: int64 (N,): number of trajectories that visit each of the N states.
        sums: float64 (N,): sum over these trajectories of their returns from the first visit on.
        trajectories: the number m of trajectories.
        bound: the largest possible return. Each return is in [0, bound].
        rest: float64 (N,): the exact sums minus `sums`. If `rest` is None, the sums may have been rounded. A private
            release does not accept rounded sums.

    Raises:
        ValueError: a number of visits is outside [0, m], or no returns in [0, bound] have these sums.
    """

    visits: NDArray[np.int64]
    sums: NDArray[np.float64]
    trajectories: int
    bound: float
    rest: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        _checks.at_least("trajectories", self.trajectories, 1)
        _above_zero("bound", self.bound)
        visits, sums = self.visits, self.sums
        if not _is_array(visits, "iu") or visits.ndim != 1:
            raise ValueError(f"visits ({visits!r}) must be an array of integers, one for each state")
        if not _is_array(sums, "f") or sums.shape != visits.shape:
            raise ValueError(f"sums ({sums!r}) must be an array of real numbers, one for each state")
        wrong = (visits < 0) | (visits > self.trajectories)
        if wrong.any():
            raise ValueError(f"visits ({visits[wrong][0]}) must be in [0, {self.trajectories}]")
        most = visits * self.bound * (1 + 2.0**-51 * np.maximum(visits, 1))  # a sum of so many may round up
        wrong = ~((sums >= 0) & (sums <= most))
        if wrong.any():
            rule = f"must be in [0, visits * {self.bound!r}]"
            raise ValueError(f"sums ({float(sums[wrong][0])!r}) {rule}")
        if self.rest is not None and not (self.rest.shape == sums.shape and np.isfinite(self.rest).all()):
            raise ValueError(f"rest ({self.rest!r}) must be an array of finite numbers, one for each state")
        self._check_exact()

    def _check_exact(self) -> None:
        """Refuse exact sums that returns in [0, Fmax] cannot have, because the sensitivity depends on it."""
        if self.rest is None:
            return
        for total, count in zip(self.exact_sums, self.visits.tolist(), strict=True):
            if not 0 <= total <= count * Fraction(self.bound):
                raise ValueError(
                    f"sums + rest ({float(total)!r}) must be in [0, visits * bound], here [0, {count} * {self.bound!r}]"
                )

    @property
    def exact_sums(self) -> list[Fraction]:
        """The exact sums, `sums` plus `rest`, as rationals."""
        rest = np.zeros(self.states) if self.rest is None else self.rest
        pairs = zip(self.sums.tolist(), rest.tolist(), strict=True)
        return [Fraction(one) + Fraction(other) for one, other in pairs]

    @property
    def means(self) -> NDArray[np.float64]:
        """The average return of each state, an array of N numbers. It is 0 for a state without visits."""
        return self.sums / np.maximum(self.visits, 1)

    @property
    def states(self) -> int:
        """Number N of states."""
        return len(self.visits)

    def __add__(self, other: FirstVisits) -> FirstVisits:
        """Return the statistics of two batches of different trajectories together.

        Raises:
            ValueError: for other states or another bound.
        """
        if (self.states, self.bound) != (other.states, other.bound):
            one, two = (self.states, self.bound), (other.states, other.bound)
            raise ValueError(f"(states, bound) must be equal in both batches, not {one} and {two}")
        visits, count = self.visits + other.visits, self.trajectories + other.trajectories
        if self.rest is None or other.rest is None:
            return FirstVisits(visits, self.sums + other.sums, count, self.bound)
        both = zip(self.exact_sums, other.exact_sums, strict=True)
        added = _two_doubles([one + two for one, two in both])
        return FirstVisits(visits=visits, trajectories=count, bound=self.bound, **added)


def _two_doubles(totals: Sequence[Fraction]) -> dict[str, NDArray[np.float64]]:
    """Return each total as the nearest double and the rest.

    Raises:
        ValueError: for a rest that is no double.
    """
    sums = [float(total) for total in totals]
    rest = [total - Fraction(near) for total, near in zip(totals, sums, strict=True)]
    if any(Fraction(float(left)) != left for left in rest):
        raise ValueError(
            "A sum of these two batches cannot be stored exactly in two doubles. Make both batches with first_visits."
        )
    return {"sums": np.array(sums), "rest": np.array([float(left) for left in rest])}


def first_visits(
    episodes: Episodes,
    states: int,
    discount: float,
    *,
    reward_bound: float = 1.0,
    return_bound: float | None = None,
) -> FirstVisits:
    """Return how many trajectories visit each state, and the sums of their returns from the first visit on.

    A return is the discounted sum of rewards. It is computed in doubles, clipped at a public bound B, and rounded to
    a multiple of about B/2^53. So a return is in [0, B] and depends on one trajectory only. The sums are exact, so
    they do not depend on the order of the trajectories.

    Args:
        episodes: the trajectories, one for each user.
        states: the number N of states. Every state in the batch is one of 0, ..., N - 1.
        discount: the discount of later rewards, in (0, 1).
        reward_bound: the largest possible reward, in (0, 1]. Rescale larger rewards.
        return_bound: the public bound B, above 0. The default is reward_bound/(1 - discount).

    Raises:
        ValueError: an argument is outside its domain, or a user has two trajectories. The message names the argument.

    >>> batch = Episodes.rectangular([[0, 1, 0], [1, 1, 1]], [[0] * 3] * 2, [[0, 0, 1.0], [1.0, 0, 0]])
    >>> found = first_visits(batch, 3, 0.5)
    >>> found.visits.tolist(), found.means.tolist()
    ([1, 2, 0], [0.25, 0.75, 0.0])
    """
    top = checked_bound(discount, reward_bound, return_bound)
    count = _checks.at_least("states", states, 1)
    wrong = (episodes.states < 0) | (episodes.states >= count)
    if wrong.any():
        raise ValueError(f"states ({int(episodes.states[wrong][0])}) must be one of 0, ..., {count - 1}")
    least, most = float(episodes.rewards.min()), float(episodes.rewards.max())
    if not (least >= 0 and most <= reward_bound):
        raise ValueError(
            f"rewards ({least if most <= reward_bound else most!r}) must be in [0, {reward_bound!r}]"
        )
    sorted_users = bool((np.diff(episodes.user) > 0).all())  # the usual case, at a fraction of the time
    if not sorted_users and len(np.unique(episodes.user)) < episodes.count:
        raise ValueError(
            "user must differ between trajectories, because the guarantee covers one trajectory of each user"
        )
    starts = np.append(0, np.cumsum(episodes.lengths))
    units = math.ldexp(1.0, 53 - math.frexp(top)[1])  # top is a whole number of them, below 2^53
    visits, high, low = first_visit_sums(
        episodes.states, episodes.rewards, starts, count, float(discount), top, units
    )
    step = Fraction(1) / Fraction(units)
    parts = zip(high.tolist(), low.tolist(), strict=True)
    sums = _two_doubles([((one << LOW_BITS) + other) * step for one, other in parts])
    return FirstVisits(visits=visits, trajectories=episodes.count, bound=top, **sums)


def checked_bound(discount: float, reward_bound: float, return_bound: float | None) -> float:
    """Return the public bound on returns: the smaller one of `return_bound` and reward_bound/(1 - discount).

    Raises:
        ValueError: the discount is outside (0, 1), a bound is not above 0, `reward_bound` is above 1, or the result is
            below 2^-900.
    """
    if not _is_number(discount) or not 0 < discount < 1:
        raise ValueError(f"discount ({discount!r}) must be in (0, 1)")
    _above_zero("reward_bound", reward_bound)
    if reward_bound > 1:
        rule = "must be at most 1. Divide the rewards by Rmax, and multiply the values by Rmax."
        raise ValueError(f"reward_bound ({reward_bound!r}) {rule}")
    most = reward_bound / (1 - discount)
    if return_bound is not None:
        _above_zero("return_bound", return_bound)
    found = float(most if return_bound is None else min(return_bound, most))
    if found < _LEAST_BOUND:
        raise ValueError(
            f"the smaller one of return_bound and reward_bound / (1 - discount) ({found!r}) must be at least 2^-900"
        )
    return found


def _is_array(value: object, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _above_zero(name: str, value: float) -> None:
    if not _is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} ({value!r}) must be a number above 0")
