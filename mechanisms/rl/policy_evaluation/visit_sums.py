"""Noisy visits and sums of returns of all states, drawn exactly, and the values that follow from them.

The survey is drawn first: the number of trajectories that visit each state, plus noise. It decides how much noise the
main release puts on each state. The main release is the sum of centred returns and the number of visits of each state,
plus noise. Each number is an integer times a public step size, the multiple nearest to the exact statistic plus exact
Gaussian noise. The guarantee of `dpproof.accountant.rl.policy_evaluation.visit_sums` covers every bit of the integers.
For the proofs see docs/notes/visit_sums.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.rl.policy_evaluation.visit_sums import VisitSums
from dpproof.mechanisms.randomness import Randomness, guaranteed
from dpproof.mechanisms.release.grid import OnGrid, Released, Simulated, doubles
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import WordSource, words_of

Floats = NDArray[np.float64]
Statistics = tuple[list[int], list[Fraction]]
"""The number of visits of each state, and the sum of its centred returns."""


class _NoisySums(OnGrid):
    """Three rows of integers, one integer for each state: survey, sums of centred returns, visits."""

    mechanism = "gaussian"
    parameters: VisitSums

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of these integers, which holds for everything that is computed from them alone.

        Raises:
            SimulationError: a seed or a generator was given.
            UnprovedAdjacencyError: the noise was drawn for another relation.
        """
        asked, drawn = Adjacency.of(adjacency), self.parameters.adjacency
        if asked is not drawn:
            why = f"The noise was drawn for {drawn.value}. Evaluate with adjacency={asked.value!r}."
            raise UnprovedAdjacencyError("these visits and sums of returns", asked, why)
        return guaranteed(self.simulated, self.parameters.account)

    @property
    def survey(self) -> list[Fraction]:
        """The noisy counts of the survey, one for each state."""
        return [Fraction(count) * Fraction(2) ** self.exponent for count in self.integers[0]]

    @property
    def sums(self) -> Floats:
        """The noisy sums of centred returns (S,), for returns in [0, 1]."""
        return doubles(self.integers[1], self.exponent)

    @property
    def visits(self) -> Floats:
        """The noisy numbers of visits (S,). They may be negative."""
        return doubles(self.integers[2], self.exponent)

    @property
    def noise(self) -> tuple[Floats, Floats]:
        """Standard deviations of the noise on the sums (S,) and on the visits (S,). They follow from the survey."""
        pairs = [self.parameters.variances(share) for share in self.parameters.shares(self.survey)]
        both = np.sqrt(np.array([[float(one), float(other)] for one, other in pairs]))
        return both[:, 0], both[:, 1]


class ReleasedSums(_NoisySums, Released):
    """Visits and sums of returns with exactly sampled noise. The guarantee covers every bit of them."""


class SimulatedSums(_NoisySums, Simulated):
    """Visits and sums of returns with noise from a seed or a given generator. They have no guarantee."""


def release(
    design: VisitSums, statistics: Statistics, randomness: Randomness
) -> ReleasedSums | SimulatedSums:
    """Return the noisy statistics: a release if `randomness` is entropy, and a simulation otherwise."""
    integers = _drawn(design, statistics, words_of(randomness))
    kind = SimulatedSums if randomness.simulated else ReleasedSums
    return kind(design, integers, design.exponent, randomness)


def _drawn(design: VisitSums, statistics: Statistics, source: WordSource) -> tuple[tuple[int, ...], ...]:
    """Return the integers of the survey, of the sums and of the visits."""
    visits, sums = statistics
    step = Fraction(2) ** design.exponent
    counts = [Fraction(count) for count in visits]
    survey = rounded_gaussian(
        counts, [design.survey_variance] * design.states, design.exponent, source=source
    )
    shares = design.shares([count * step for count in survey])
    on_sums, on_counts = zip(*(design.variances(share) for share in shares), strict=True)
    main = rounded_gaussian([*sums, *counts], [*on_sums, *on_counts], design.exponent, source=source)
    return tuple(survey), tuple(main[: design.states]), tuple(main[design.states :])


@dataclass(frozen=True)
class Sampler:
    """The mechanism as a function of statistics, for audits.

    Args:
        design: the public parameters.
    """

    design: VisitSums

    def sample(self, statistics: Statistics, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` draws of the three rows of released numbers, as an array (n, 3 S)."""
        source = words_of(Randomness.of(rng))
        drawn = (np.concatenate(_drawn(self.design, statistics, source)) for _ in range(n))
        return np.array([doubles(integers, self.design.exponent) for integers in drawn])

    def log_ratio(self, outputs: Floats, first: Statistics, second: Statistics) -> Floats:
        """Return the log-likelihood ratio of draws (n, 3 S): of the second statistics against the first."""
        found = [self._log_density(row, second) - self._log_density(row, first) for row in outputs]
        return np.asarray(found, np.float32).astype(np.float64)

    def _log_density(self, row: Floats, statistics: Statistics) -> float:
        design, (visits, sums) = self.design, statistics
        survey, on_sums, on_counts = np.split(row, 3)
        shares = design.shares([Fraction(count) for count in survey.tolist()])
        pairs = [design.variances(share) for share in shares]
        terms: Sequence[tuple[Any, Any, Any]] = (
            (survey, visits, float(design.survey_variance)),
            (on_sums, [float(total) for total in sums], [float(pair[0]) for pair in pairs]),
            (on_counts, visits, [float(pair[1]) for pair in pairs]),
        )
        squares = (((x - np.array(mean)) ** 2 / np.array(variance)).sum() for x, mean, variance in terms)
        return -math.fsum(squares) / 2
