"""The exact release of RLSVI: every table is drawn on a public grid, one step after another.

A table entry is f + sigma Z, rounded to a multiple of 2^exponent by `dpproof.mechanisms.release.rounded_gaussian`.
Z is standard normal. The mean f = Rhat + sum_s' Phat(s') V(s') is an exact rational. Rhat is the mean reward so far,
Phat(s') the share of visits after which state s' followed, and V(s') the largest entry of the next step's released
table. Rewards are rounded to multiples of 2^-30 when a user arrives. That rounding looks at one record at a time
and keeps rewards in [0, 1], so neighbours stay neighbours. The variance sigma^2 = beta_k/(N + 1) is rational: N is
the number of visits, and beta_k, which depends on the episode k, is rounded up to a double.

Given the tables released so far, each release is post-processing of the real Gaussian mechanism that the accountant
covers; docs/notes/rlsvi_tight.md has the argument. Under ``rewards-only``, two neighbours have the same variance
given these tables: it depends only on the visit counts, and a change of rewards does not change the counts. The
variance is not public. Under ``replace``, two neighbours may have different variances. The accountant's proof for
``replace`` allows this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, beta_above
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.release.grid import (
    GRID,
    REWARD_BITS,
    OnGrid,
    Released,
    Simulated,
    checked_exponent,
    doubles,
    grains,
    how_released,
)
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import words_of

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult

_Table: TypeAlias = "tuple[tuple[tuple[int, ...], ...], ...]"
"""One episode's table in steps of the grid, (H, S, A)."""


@dataclass(eq=False)
class _Cell:
    """The data of all users so far in one (h, s, a): visits, rewards in units of 2^-30, and successors."""

    visits: int = 0
    rewards: int = 0
    successors: dict[int, int] | None = None

    def see(self, reward: int, after: int) -> None:
        """Add one visit."""
        self.visits += 1
        self.rewards += reward
        self.successors = {} if self.successors is None else self.successors
        self.successors[after] = self.successors.get(after, 0) + 1

    def mean(self, following: list[int], exponent: int) -> Fraction:
        """Return the mean reward plus the mean value of the next state, exactly, or 0 without visits.

        ``following`` holds the values of the states in the next step, as integers that count steps of the grid.
        """
        if not self.visits:
            return Fraction(0)
        values = sum(count * following[s] for s, count in (self.successors or {}).items())
        finest = max(REWARD_BITS, -exponent)
        total = (self.rewards << (finest - REWARD_BITS)) + (values << (finest + exponent))
        return Fraction(total, self.visits << finest)


class _Tables(OnGrid):
    """The tables of all episodes, as integers (K, H, S, A) in steps of the grid."""

    mechanism = "rlsvi"

    @property
    def tables(self) -> NDArray[np.float64]:
        """The tables as doubles (K, H, S, A), for K episodes, H steps, S states and A actions.

        They are computed from the released integers.
        """
        return doubles(self.integers, self.exponent)


class RLSVIRelease(_Tables, Released):
    """The released noisy tables of action values of all episodes, drawn exactly.

    The guarantee covers every bit of them.
    """


class RLSVISimulation(_Tables, Simulated):
    """The noisy tables of all episodes, with noise from a seed or a generator. They have no guarantee."""


class RLSVIStream:
    """A run of RLSVI with users who arrive one after another. The guarantee covers every released bit.

    In every episode `table` releases a noisy table of action values, and `policy` returns the best actions by this
    table. `see` adds the data of the user who followed this policy.

    >>> stream = RLSVIStream(RLSVIParameters(states=2, actions=2, horizon=1, episodes=2))
    >>> stream.table().shape, stream.policy().shape
    ((1, 2, 2), (1, 2))
    >>> stream.see(states=[0, 1], actions=[1], rewards=[0.5])
    >>> stream.table().shape
    (1, 2, 2)

    Args:
        parameters: the sizes of the problem, and the scale of the noise.
        seed: leave it out for a release, which draws from the operating system's entropy. A seed or a generator
            makes a simulation.
        exponent: table entries are multiples of 2^exponent. Choose it without looking at the data.

    Raises:
        ValueError: an exponent outside -200, ..., 60, or a seed that is none.
    """

    def __init__(self, parameters: RLSVIParameters, seed: Source = None, *, exponent: int = GRID) -> None:
        self._randomness = Randomness.of(seed)
        self._parameters, self._exponent = parameters, checked_exponent(exponent)
        self._words = words_of(self._randomness)
        H, S, A = parameters.horizon, parameters.states, parameters.actions
        self._cells = [[[_Cell() for _ in range(A)] for _ in range(S)] for _ in range(H)]
        self._released: list[_Table] = []
        self._seen = 0

    @property
    def parameters(self) -> RLSVIParameters:
        """The sizes of the problem and the scale of the noise. They cannot be changed."""
        return self._parameters

    @property
    def exponent(self) -> int:
        """All table entries are multiples of 2 to the power of this number. It cannot be changed."""
        return self._exponent

    @property
    def simulated(self) -> bool:
        """Whether a seed or a given generator draws the tables. If so, no guarantee holds."""
        return self._randomness.simulated

    @property
    def episode(self) -> int:
        """Number of the present episode, counted from 0. It equals the number of users seen so far."""
        return self._seen

    def table(self) -> NDArray[np.float64]:
        """Return the noisy action values of the present episode.

        The result is an array (H, S, A) for H steps, S states and A actions. The first call in an episode draws the
        noise. Later calls return the same values.

        Raises:
            ValueError: all episodes are over.
        """
        return doubles(self._present(), self.exponent)

    def policy(self) -> NDArray[np.int64]:
        """Return the best action of the present table in every step and state, an array (H, S).

        Of equally good actions it is the first.
        """
        return np.array([[row.index(max(row)) for row in step] for step in self._present()], np.int64)

    def see(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Add the data of the user of the present episode, whose table must have been released.

        Args:
            states: the H + 1 visited states, for H steps.
            actions: the H actions.
            rewards: the H rewards in [0, 1]. They are rounded to multiples of 2^-30.

        Raises:
            ValueError: the trajectory does not fit the parameters, or no table was released in this episode. Then no
                data are added.
        """
        if len(self._released) == self._seen:
            raise ValueError(f"episode ({self._seen}) has no table yet. Call table() before see().")
        p = self.parameters
        s, a = _checks.indices("states", states, p.states), _checks.indices("actions", actions, p.actions)
        r = _checks.unit_interval("rewards", rewards)
        for name, value, length in (
            ("states", s, p.horizon + 1),
            ("actions", a, p.horizon),
            ("rewards", r, p.horizon),
        ):
            if value.shape != (length,):
                raise ValueError(f"the shape of {name} {value.shape} must be {(length,)}")
        for h, grain in enumerate(grains(r).tolist()):
            self._cells[h][int(s[h])][int(a[h])].see(grain, int(s[h + 1]))
        self._seen += 1

    def release(self) -> RLSVIRelease | RLSVISimulation:
        """Return all tables released so far. If the stream has a seed or a generator, they are a simulation."""
        kind = RLSVISimulation if self.simulated else RLSVIRelease
        return kind(self.parameters, tuple(self._released), self.exponent, self._randomness)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee that covers the tables of all episodes. See `OnGrid.account`."""
        return self.release().account(adjacency)

    def __repr__(self) -> str:
        seen = f"{self._seen} of {self.parameters.episodes} users seen"
        return f"<RLSVIStream, {seen}; {how_released(self.simulated)}>"

    def __reduce__(self) -> Any:
        """Refuse to be pickled, because it holds the users' data and maybe a generator.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "A stream of RLSVI must not be pickled, because it holds private data. Save its release()."
        )

    def _present(self) -> _Table:
        if len(self._released) == self._seen:
            if self._seen == self.parameters.episodes:
                raise ValueError(
                    f"episodes ({self._seen}) are over. The guarantee covers one table for each episode, and no more."
                )
            self._released.append(self._draw(beta_above(self.parameters, self._seen + 1)))
        return self._released[self._seen]

    def _draw(self, beta: Fraction) -> _Table:
        """Draw one episode's table, from the last step to the first."""
        following, found = [0] * self.parameters.states, []
        for step in reversed(self._cells):
            cells = [cell for row in step for cell in row]
            means = [cell.mean(following, self.exponent) for cell in cells]
            variances = [beta / self.parameters.divisor(cell.visits) for cell in cells]
            drawn = rounded_gaussian(means, variances, self.exponent, source=self._words)
            A = self.parameters.actions
            rows = tuple(tuple(drawn[at : at + A]) for at in range(0, len(drawn), A))
            following = [self._clipped(max(row)) for row in rows]
            found.append(rows)
        return tuple(found[::-1])

    def _clipped(self, value: int) -> int:
        """Return V as the previous step uses it: within [0, clip] if the parameters say so."""
        if self.parameters.clip is None:
            return value
        return min(max(value, 0), math.floor(exact(self.parameters.clip) / Fraction(2) ** self.exponent))
