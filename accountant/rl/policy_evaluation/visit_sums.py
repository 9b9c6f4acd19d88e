"""Accountant of Gaussian noise on visits and sums of returns, the sufficient statistics of tabular evaluation.

The mechanism makes two releases. The **survey** is the number of trajectories that visit each state, plus Gaussian
noise. The **main release** is, for each state, the number of visits and the sum of centred returns, plus Gaussian
noise. The noise of the main release depends on the state. It follows from the survey, so that rare states get less
noise. Returns are moved to [0, 1], and a centred return is a return minus 1/2.

Both releases together are mu-Gaussian DP with mu = 1 / multiplier, under ``replace`` and under ``add-remove``
(classic.adaptive_gaussians; docs/notes/visit_sums.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.noise.gaussian import ACCOUNTANT as GAUSSIAN
from dpproof.accountant.noise.gaussian import GaussianParameters, guarantee
from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_up

Floats = NDArray[np.float64]
SURVEY = Fraction(1, 4)
"""Share of the squared privacy budget mu^2 that the survey spends."""
EVEN = Fraction(1, 2)
"""Share of the main release that is divided equally among the states, whatever the survey shows. So no state has more
than twice the variance that it would have without the survey's advice."""
COUNT_WEIGHT = Fraction(3, 4)
"""Squared weight of a visit beside a centred return. It gives one visit more or less and a changed return the same
sensitivity: 3/4 + (1/2)^2 = 1."""
SEEN = 2
"""A state is seen by the survey if its noisy count is above this number of standard deviations of the noise."""
_ROOM = 1 - 2.0**-40
_SAMPLER = "dpproof.mechanisms.rl.policy_evaluation.evaluation.evaluate"
_NOTES = (
    "each user has one trajectory; the states, the longest length and the ranges must not depend on the data",
    "survey and main release together; sensitivity by docs/notes/visit_sums.md",
)


@dataclass(frozen=True)
class VisitSums:
    """Public parameters of the two releases, which determine all noise.

    Args:
        states: the number S of states.
        multiplier: the noise multiplier. Both releases together are (1/multiplier)-Gaussian DP.
        adjacency: ``replace`` or ``add-remove``, of one trajectory.
        max_length: the largest number of steps of a trajectory, or None if it is unlimited.

    >>> VisitSums.calibrated(16, 1, "1e-5", Adjacency.REPLACE).multiplier
    3.7306...

    Raises:
        ValueError: a parameter is outside its domain.
        UnprovedAdjacencyError: for another relation.
    """

    states: int
    multiplier: float
    adjacency: Adjacency
    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.adjacency not in (Adjacency.REPLACE, Adjacency.ADD_REMOVE):
            why = "Use replace or add-remove, of one trajectory."
            raise UnprovedAdjacencyError("noise on visits and sums of returns", self.adjacency, why)
        for name, value in (("states", self.states), ("max_length", self.max_length)):
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name} ({value!r}) must be an integer at least 1")
        GaussianParameters(sigma=self.multiplier)

    @classmethod
    def calibrated(
        cls, states: int, epsilon: Any, delta: Any, adjacency: Adjacency, max_length: int | None = None
    ) -> VisitSums:
        """Return the parameters with the least noise that meets (epsilon, delta)."""
        start = GaussianParameters(sigma=1.0, sensitivity=1.0)
        found = GAUSSIAN.least_noise(start, Adjacency.BY_SENSITIVITY, epsilon, delta)[0]
        return cls(states, found.sigma, adjacency, max_length)

    def as_json(self) -> dict[str, Any]:
        """Return the parameters as JSON data."""
        return {**vars(self), "adjacency": self.adjacency.value}

    @property
    def touched(self) -> int:
        """The largest number of states in which the statistics of neighbours can differ.

        A trajectory visits at most max_length states. A replacement changes two trajectories.
        """
        changed = 2 if self.adjacency is Adjacency.REPLACE else 1
        return min(self.states, changed * (self.max_length or self.states))

    @property
    def survey_variance(self) -> Fraction:
        """Variance of the noise on each count of the survey."""
        return Fraction(self.multiplier) ** 2 * self.touched / SURVEY

    def shares(self, survey: Sequence[Fraction]) -> list[Fraction]:
        """Return the share of the main release's budget that each state gets.

        A part `EVEN` is divided equally. The rest goes to the states that the survey saw, in proportion to
        1 / visits, which minimises the sum of the squared errors. The shares of any `touched` states add up to at
        most 1.

        Args:
            survey: the released counts of the survey, one for each state.
        """
        least = SEEN * math.sqrt(self.survey_variance)
        counts = np.array([float(count) for count in survey])
        seen = counts > least
        raw = np.where(seen, 1 / np.where(seen, counts, 1.0), 0.0) if seen.any() else np.ones(self.states)
        adaptive = raw / np.sort(raw)[-self.touched :].sum()
        found = _ROOM * (float(EVEN) / self.touched + float(1 - EVEN) * adaptive)
        shares = [Fraction(share) for share in found.tolist()]
        if sum(sorted(shares)[-self.touched :]) > 1:
            raise ArithmeticError("The shares add up to more than 1. Please report this survey.")
        return shares

    def variances(self, share: Fraction) -> tuple[Fraction, Fraction]:
        """Return the variances of the noise on a state's sum and on its visits, for the share of this state."""
        on_sum = Fraction(self.multiplier) ** 2 / ((1 - SURVEY) * share)
        return on_sum, on_sum / COUNT_WEIGHT

    @property
    def exponent(self) -> int:
        """The exponent of the public grid: released numbers are multiples of 2^exponent.

        This step is at most 2^-20 of the least noise.
        """
        return math.frexp(self.multiplier)[1] - 21

    def account(self) -> PrivacyResult:
        """Return the certified guarantee of both releases together.

        >>> print(VisitSums.calibrated(16, 1, "1e-5", Adjacency.REPLACE).account().epsilon("1e-5"))
        1.000000 (certified, ... digits)
        """
        known = GaussianParameters(sigma=self.multiplier, sensitivity=1.0)
        return PrivacyResult(
            guarantee(known),
            self.adjacency,
            TrustModel.CENTRAL,
            "the noisy visits and sums of returns of all states",
            "classic.adaptive_gaussians",
            notes=_NOTES,
            exact_sampler=_SAMPLER,
            mechanism="gaussian",
            parameters={"sigma": known.sigma, "sensitivity": known.sensitivity},
            unit="trajectory",
        )

    def error_bound(self, visits: Sequence[int]) -> float:
        """Return a certified upper bound on the root mean square, over states, of the error that the noise causes.

        The error is the prediction minus the average return in the batch, for returns in [0, 1]. The bound holds if at
        least `visits` trajectories visit each state, for any returns. It is an expected value over the noise.
        """
        noise = self._most_noise()
        worst = {count: _square_error(count, *noise) for count in set(visits)}
        return math.sqrt(sum(worst[count] for count in visits) / len(visits)) * (1 + 1e-9)

    def error_bound_of_any(self, trajectories: int) -> float:
        """Return a certified upper bound on the error that the noise causes, for any batch of this size.

        It is the bound of `error_bound`, but each state has the weight of its visits. Let e(n) be the bound on the
        squared error with n visits. The squared error of the batch is at most S max n e(n) / trajectories, because the
        visits of all states add up to at least the number of trajectories.
        """
        noise, count, most = self._most_noise(), 1, 0.0
        while count <= trajectories:
            following = max(count + 1, math.floor(count * _RATIO))
            most = max(most, (following - 1) * _square_error(count, *noise))  # e falls
            count = following
        return min(1.0, math.sqrt(self.states * most / trajectories) * (1 + 1e-9))

    def _most_noise(self) -> tuple[float, float]:
        """Return upper bounds on the standard deviations of the noise on sums and on visits, for any survey."""
        on_sum, on_count = self.variances(Fraction(_ROOM) * EVEN / self.touched * Fraction(_ROOM))
        with precision(64):
            return round_up(arb_of(on_sum).sqrt()), round_up(arb_of(on_count).sqrt())


def _square_error(visits: int, sum_noise: float, count_noise: float) -> float:
    """Return an upper bound on E[min(1, error^2)] for a ratio of two noisy numbers.

    The error is (sum_noise Z - x count_noise Y) / (visits + count_noise Y) with |x| <= 1/2, which is at most 1 after
    clipping. Y is divided into intervals. On each, the bound is the worst of the interval, averaged over Z.
    """
    low, high, mass = _normal_bins()
    rest = visits + count_noise * low
    square = sum_noise * sum_noise + count_noise * count_noise / 4 * np.maximum(low**2, high**2)
    worst = np.where(rest > 0, np.minimum(1.0, square / np.where(rest > 0, rest, 1.0) ** 2), 1.0)
    return float((worst * mass).sum() + _beyond()) * (1 + 1e-9)


_BINS, _END = 800, 8
_RATIO = 1.05
"""Factor between the numbers of visits at which the error of any batch is bounded."""


@cache
def _normal_bins() -> tuple[Floats, Floats, Floats]:
    """Return intervals that cover [-8, 8], and upper bounds on their masses under a standard normal law."""
    edges = np.linspace(-_END, _END, _BINS + 1)
    with precision(128):
        below = [(-arb_of(Fraction(edge)) / arb_of(Fraction(2)).sqrt()).erfc() / 2 for edge in edges.tolist()]
        masses = [round_up(after - before) for before, after in pairwise(below)]
    return edges[:-1], edges[1:], np.array(masses)


@cache
def _beyond() -> float:
    """Return an upper bound on the mass of a standard normal law outside [-8, 8]."""
    with precision(128):
        return round_up((arb_of(Fraction(_END)) / arb_of(Fraction(2)).sqrt()).erfc())
