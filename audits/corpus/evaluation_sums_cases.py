"""Test cases of noise on visits and sums of returns: correct noise on pairs that attain it, and forgotten sensitivity.

Every user has one trajectory. One user's returns are all 0 or all 1, or one user visits one half of the states or the
other half. The second pair attains the guarantee. The fault is noise for a trajectory that visits one state only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.rl.policy_evaluation.visit_sums import SURVEY, VisitSums
from dpproof.audits.corpus.case import Case
from dpproof.audits.data.pairs import Neighbours, episodes_pair
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.policy_evaluation.policy_evaluation import batch_of
from dpproof.mechanisms.rl.policy_evaluation.returns import Log, ReturnRange
from dpproof.mechanisms.rl.policy_evaluation.visit_sums import Sampler, Statistics

PLACE = 10
Floats = NDArray[np.float64]
STATES, USERS, EPSILON, DELTA, BUDGET = 8, 20, 1, "1e-6", 10_000
RETURNS = ReturnRange(0.5, 0.0, 1.0)


@dataclass(frozen=True)
class NoisySums:
    """The mechanism as a function of trajectories.

    Args:
        design: the parameters of the noise.
    """

    design: VisitSums

    def statistics(self, data: Episodes) -> Statistics:
        """Return the visits and the sums of centred returns of a batch."""
        return Log.of(data, STATES).sums(STATES, RETURNS)

    def sample(self, data: Episodes, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` draws of survey, sums and visits, as an array (n, 3 S)."""
        return Sampler(self.design).sample(self.statistics(data), n, rng)


class OneStateOnly(VisitSums):
    """Fault: the noise is chosen as if neighbours differed in one state only."""

    @property
    def touched(self) -> int:
        """One state, whatever a trajectory visits."""
        return 1


def _pair(one: tuple[int, ...], other: tuple[int, ...], low: float, described: str) -> Neighbours:
    home = tuple(range(len(one)))
    batches = (batch_of(USERS - 1, home, one, low), batch_of(USERS - 1, home, other, 1.0))
    return episodes_pair(*batches, Adjacency.REPLACE, described)


EVERYWHERE, HALF = tuple(range(STATES)), STATES // 2
RETURNED = _pair(EVERYWHERE, EVERYWHERE, 0.0, "one user's returns all 0 or all 1, in all states")
MOVED = _pair(
    EVERYWHERE[:HALF], EVERYWHERE[HALF:], 1.0, "one user visits one half of the states or the other"
)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A function that returns the log-likelihood ratio of outputs, for the two inputs of a pair."""

    model: NoisySums
    pair: Neighbours

    def __call__(self, outputs: Floats) -> Floats:
        """Return the ratio in single precision, because doubles would reveal low bits of the outputs."""
        known = (self.model.statistics(data) for data in (self.pair.first, self.pair.second))
        return Sampler(self.model.design).log_ratio(outputs, *known)


def _truth(design: VisitSums, part: Fraction) -> Bound:
    """Return the epsilon of a pair that spends this part of the squared budget."""
    return GaussianDP(math.sqrt(part) / design.multiplier).epsilon(DELTA)


def _case(
    name: str, design: VisitSums, pair: Neighbours, part: Fraction, expected: Finding, why: str
) -> Case:
    model = NoisySums(design)
    return Case(
        name=f"policy evaluation, {name}",
        mechanism=model,
        pair=pair,
        claim=design.account().guarantee,
        delta=float(DELTA),
        expected=expected,
        truth=partial(_truth, design, part),
        reason=why,
        scores=(LogLikelihoodRatio(Ratio(model, pair)),),
        budget=BUDGET,
    )


def _cases() -> tuple[Case, ...]:
    right = VisitSums.calibrated(STATES, EPSILON, DELTA, Adjacency.REPLACE)
    wrong = OneStateOnly(**vars(right))
    main, told = 1 - SURVEY, "the noise is for one state, and all states change"
    return (
        _case("sums", right, RETURNED, main, Finding.CONSISTENT, "spends the main release's budget"),
        _case("sums, moved user", right, MOVED, Fraction(1), Finding.CONSISTENT, "attains the guarantee"),
        _case("sums for one state", wrong, RETURNED, main * STATES, Finding.VIOLATION, told),
    )


CASES: tuple[Case, ...] = _cases()
