"""Accountant of the sparse vector technique: only queries answered above the threshold cost privacy.

Laplace noise of ``threshold_scale`` is added to the threshold and of ``query_scale`` to each query. Each
query is answered "above" or "below", and the run stops after ``positives`` answers "above". With
``answer_scale`` each answer "above" also releases the query's value with separate noise. The threshold's
noise is drawn once. With ``redraw`` it is drawn again after each positive answer.

With S the sensitivity and c the positives, the pure epsilon of one threshold is exactly

    S/b_threshold + 2 c S/b_query + c S/b_answer.

If all queries move in the same direction between neighbours (monotone, as counts do), it is exactly the larger
of S/b_threshold + c max(S/b_query, S/b_answer) and c (S/b_query + S/b_answer). No smaller epsilon holds for
streams of every length.

With delta > 0 the noise of each threshold is a Laplace pair. Given that noise, a comparison is certain, or it
is randomised response, an unfair coin. So c positive answers are a post-processing of coins that are thrown
until the c-th head. They cost about sqrt(c) times one answer, not c times.

The neighbours that attain epsilon at delta 0 have many queries answered below, followed by the positive ones. At delta
above 0, two other pairs of neighbours give lower bounds. One is a long row of low queries that move up and down in
turn: each answer "above" is then randomised response with S/b_query (monotone: half of it). Proofs, and the wrong
variants of the literature: docs/notes/sparse_vector.md.

Source: Dwork and Roth 2014, Algorithms 1-3; Lyu, Su and Li, arXiv:1603.01699v4, Theorems 4 and 5. The exact
pure epsilon is this project's statement classic.sparse_vector, the profile its statement
classic.sparse_vector_profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import cbrt
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Flag, Integers, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.sensitivity import LARGEST, Measured, check_monotone, queried, sensitivity_of
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.guarantees.profile import BestOf, Enclosed, Profile, WorstOf
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.coins_until_heads import CoinsUntilHeads
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.sparse_vector.counted_pair import CountedPair
from dpproof.accountant.theorems.composition import advanced_epsilon
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal


def loss_of_runs(
    rates: tuple[Fraction, Fraction, Fraction], monotone: bool, runs: int, positives: int
) -> PrivacyLoss:
    """Return a guarantee for ``runs`` noisy thresholds, each used for ``positives`` positive answers.

    A positive answer is "above". ``rates`` are three numbers: the sensitivity divided by the noise scale of
    the threshold, of a query and of a numeric answer. The last one is 0 without numeric answers. ``monotone``
    has the same meaning as in ``SparseVectorParameters``.

    >>> one = (Fraction(1, 100), Fraction(1, 100), Fraction(0))
    >>> loss_of_runs(one, monotone=False, runs=1, positives=50).epsilon("1e-6").upper
    0.65

    Source: statement classic.sparse_vector_profile.

    Raises:
        ValueError: for too much or too little noise, or a sensitivity of 0.
    """
    threshold, query, answer = rates
    if not threshold:
        raise ValueError("sensitivity (0) must be above 0, because otherwise there is no privacy loss")
    parts: list[tuple[DominatingPair, int]] = [
        (_laplace(threshold), runs),
        (_coins(query * (1 if monotone else 2)), runs * positives),
    ]
    if answer:
        parts.append((_laplace(answer), runs * positives))
    return PrivacyLoss([parts])


def _laplace(rate: Fraction) -> Laplace:
    """Return the pair of Laplace noise with the scale rounded down, which is no more private."""
    with precision(128):
        return Laplace(round_down(arb_of(1 / rate)))


def _coins(epsilon: Fraction) -> CoinsUntilHeads:
    with precision(128):
        return CoinsUntilHeads(round_up(arb_of(epsilon)))


_BITS = 256
_MOST_QUERIES = 40
"""The number of powers of two that are tried as numbers of queries."""


@dataclass(frozen=True)
class Moves:
    """How much queries change between two neighbours, in units of the sensitivity."""

    below: int
    """The change of the queries that are answered "below": 1 or 0."""
    above: int
    """The change of the queries that are answered "above": 1, 0 or -1."""

    def epsilon(self, threshold: Fraction, query: Fraction, answer: Fraction, positives: int) -> Fraction:
        """Return the privacy loss between two neighbours with these changes, in the limit of many queries.

        ``threshold``, ``query`` and ``answer`` are the sensitivity divided by the noise scales. ``positives``
        is the number of answers "above".
        """
        return self.below * threshold + positives * (
            (self.below - self.above) * query + abs(self.above) * answer
        )


@dataclass(frozen=True)
class AlternatingPair(Profile):
    """Bounds on delta and epsilon of the sparse vector technique for two particular neighbours.

    ``moves`` says how the queries change between the two neighbours. The neighbours' answers give the lower
    bounds. The guarantee ``above``, which holds for all neighbours, gives the upper bounds. ``rates`` are the
    sensitivity divided by the noise scales of threshold, query and numeric answer.
    """

    moves: Moves
    rates: tuple[Fraction, Fraction, Fraction]
    positives: int
    runs: int
    above: Profile

    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on delta. The lower one is P - e^epsilon Q of these answers under the two neighbours."""
        with precision(_BITS):
            gaps = (p - arb_of(point).exp() * q for p, q in self._chances())
            low = max(max(round_down(gap) for gap in gaps), 0.0)
        return Bound(low, self.above.delta(point).upper)

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon. The lower one is the epsilon that these answers need at this delta."""
        high = self.above.epsilon(target).upper
        with precision(_BITS):
            ratios = ((p - arb_of(target)) / q for p, q in self._chances())
            low = max((round_down(ratio.log()) for ratio in ratios if ratio > 0), default=0.0)
        return Bound(max(low, 0.0), high)

    def _chances(self) -> list[tuple[flint.arb, flint.arb]]:
        """Return, for several numbers of queries below, bounds on the probability of the answers.

        The first number is a lower bound for one data set, the second an upper bound for its neighbour. The
        neighbour's probability is A + B, where B comes from threshold noise too small for exact tails. The
        other probability is at least e^epsilon A. Both use a lower bound on A, which only lowers the result.
        """
        if not self.rates[0]:
            return [(flint.arb(1), flint.arb(1))]
        factor = arb_of(self.moves.epsilon(*self.rates, self.positives)).exp()
        pairs = (self._parts(1 << power) for power in range(_MOST_QUERIES))
        return [((factor * a) ** self.runs, (a + b) ** self.runs) for a, b in pairs]

    def _parts(self, queries: int) -> tuple[flint.arb, flint.arb]:
        """Return a lower bound on A and an upper bound on B."""
        threshold, query, answer = (arb_of(rate) for rate in self.rates)
        below, above = self.moves.below, self.moves.above
        moved_tail = ((below + max(-above, -below)) * query).exp()
        sided = (-answer).exp() / 2 if self.rates[2] and above else flint.arb(1)
        power = threshold / query + self.positives
        beta = (power.lgamma() + flint.arb(queries + 1).lgamma() - (power + queries + 1).lgamma()).exp()
        rest = flint.arb(2) ** -(queries + 1) / (queries + 1)
        if not beta > rest:
            return flint.arb(0), flint.arb(1)  # too few queries for this bound to say anything
        integral = (beta - rest) * flint.arb(2) ** power
        a = (-below * threshold).exp() * (sided / (2 * moved_tail)) ** self.positives * integral
        b = flint.arb(2) ** -queries / queries * sided**self.positives
        unit = threshold / (2 * query)
        return flint.arb((unit * a).lower()), unit * b


@dataclass(frozen=True)
class SparseVectorParameters(Measured):
    """Parameters of the sparse vector technique: the noise, and the number of answers after which the run stops.

    >>> SparseVectorParameters(query_scale=40.0, positives=4).threshold
    20.0
    """

    query_scale: float = parameter(Reals(0, lower_open=True), "1", "Laplace scale of the noise on each query")
    positives: int = parameter(Integers(1), "answers", "halt after this many answers above the threshold", 1)
    threshold_scale: float | None = parameter(
        Reals(0, lower_open=True),
        "1",
        "Laplace scale of the noise on the threshold; else the best split",
        None,
    )
    answer_scale: float | None = parameter(
        Reals(0, lower_open=True), "1", "Laplace scale of numeric answers above the threshold, if given", None
    )
    monotone: bool = parameter(Flag(), "", "all queries move the same way between neighbours", False)
    redraw: bool = parameter(Flag(), "", "draw the threshold's noise anew after each positive answer", False)
    sensitivity: float | None = parameter(Reals(0), "1", "sensitivity of each query", None)
    query: str | None = queried()

    @property
    def threshold(self) -> float:
        """The noise scale of the threshold.

        It is ``threshold_scale`` if this is given. Otherwise it is the scale with the least total variance at
        equal epsilon.

        Source: Lyu, Su and Li, arXiv:1603.01699v4, Section 4.2. There epsilon_2/epsilon_1 is (2c)^(2/3), or
        c^(2/3) for monotone queries. Threshold and queries have the privacy costs epsilon_1 and epsilon_2,
        and c is the number of positive answers.
        """
        if self.threshold_scale is not None:
            return self.threshold_scale
        paid = self.run_positives * (1 if self.monotone else 2)
        return self.query_scale / round(cbrt(paid), 12)

    @property
    def runs(self) -> int:
        """How often noise is drawn for the threshold during the run."""
        return self.positives if self.redraw else 1

    @property
    def run_positives(self) -> int:
        """The number of positive answers for which the same noisy threshold is used."""
        return 1 if self.redraw else self.positives


Rates = tuple[Fraction, Fraction, Fraction]
"""The sensitivity divided by the noise scale of threshold, query and numeric answer (0 if there is none)."""


def _rates(parameters: SparseVectorParameters, moved: Fraction) -> Rates:
    answer = parameters.answer_scale
    return (
        moved / exact(parameters.threshold),
        moved / exact(parameters.query_scale),
        moved / exact(answer) if answer is not None else Fraction(0),
    )


def _worst(parameters: SparseVectorParameters, rates: Rates) -> tuple[Moves, Fraction]:
    """Return the query changes of the worst neighbours, and the exact epsilon of one threshold."""
    served = parameters.run_positives
    moves = (Moves(1, 0), Moves(1, 1), Moves(0, -1)) if parameters.monotone else (Moves(1, -1),)
    return max(((move, move.epsilon(*rates, served)) for move in moves), key=lambda pair: pair[1])


def pure_epsilon(
    parameters: SparseVectorParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> Fraction:
    """Return the smallest epsilon for which all answers together are epsilon-DP, for any queries.

    >>> pure_epsilon(SparseVectorParameters(query_scale=8.0, positives=2, threshold_scale=2.0))
    Fraction(1, 1)

    Source: statement classic.sparse_vector.
    """
    moved = sensitivity_of(parameters, adjacency, LARGEST).moved
    return parameters.runs * _worst(parameters, _rates(parameters, moved))[1]


def account(
    parameters: SparseVectorParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee of all answers together. It is exact at delta 0.

    >>> once = SparseVectorParameters(query_scale=200.0, positives=50, threshold_scale=100.0)
    >>> account(once).guarantee.epsilon("1e-6").upper
    0.319319
    >>> again = SparseVectorParameters(200.0, 50, threshold_scale=100.0, redraw=True)
    >>> account(again).guarantee.epsilon("1e-6").upper
    0.439989
    """
    moved = sensitivity_of(parameters, adjacency, LARGEST)
    check_monotone(parameters, adjacency)
    rates = _rates(parameters, moved.moved)
    return PrivacyResult(
        _guarantee(parameters, rates),
        adjacency,
        TrustModel.CENTRAL,
        "every indicator, and every numeric answer",
        "classic.sparse_vector_profile",
        published=_published(parameters, rates),
        attained=Attained(_pair(parameters, rates), _PAIR),
        notes=() if adjacency is Adjacency.BY_SENSITIVITY else (moved.rule,),
        sensitivity=moved,
    )


_PAIR = (
    "queries at the threshold, all answered below, then lower ones answered above, moved against them; or a long "
    "row of low queries that move up and down in turn"
)


def _guarantee(parameters: SparseVectorParameters, rates: Rates) -> Profile:
    """Return the better of the composed pure guarantees and the profile of thresholds and coins."""
    pure = _pure(parameters, rates)
    try:
        loss = loss_of_runs(rates, parameters.monotone, parameters.runs, parameters.run_positives)
    except ValueError:  # noise so large or small that a pair of the profile does not represent it
        return pure
    return BestOf((pure, loss))


def _pure(parameters: SparseVectorParameters, rates: Rates) -> Profile:
    once = PureDP(_worst(parameters, rates)[1])
    return compose_approx_optimal([(once, parameters.runs)]) if parameters.runs > 1 else once


def _pair(parameters: SparseVectorParameters, rates: Rates) -> WorstOf:
    """Return the bounds from several pairs of neighbours. The largest of their lower bounds is used."""
    served, pure = parameters.run_positives, _pure(parameters, rates)
    alternating = AlternatingPair(_worst(parameters, rates)[0], rates, served, parameters.runs, pure)
    coin = PureDP(rates[1] / (2 if parameters.monotone else 1))
    cases: tuple[Profile, ...] = (
        alternating,
        Enclosed(compose_approx_optimal([(coin, parameters.positives)]), pure),
    )
    if parameters.runs == 1 and rates[0]:
        cases = (*cases, CountedPair(rates[0], rates[1], served, parameters.monotone, pure))
    return WorstOf(cases)


def _published(parameters: SparseVectorParameters, rates: Rates) -> PublishedGuarantee:
    """Return the published answer: the budgets of threshold, comparisons and answers added up.

    Several thresholds compose by Theorem 3.20.
    """
    threshold, query, answer = rates
    total = threshold + parameters.run_positives * ((1 if parameters.monotone else 2) * query + answer)
    runs = parameters.runs

    def epsilon(delta: Any) -> Bound:
        if runs == 1 or exact(delta, "delta") == 0:
            return PureDP(runs * total).epsilon(0)
        return advanced_epsilon(PureDP(total), runs, delta)

    together = compose_approx_optimal([(PureDP(total), runs)])
    return PublishedGuarantee("classic.sparse_vector_lyu", epsilon, together, "classic.kairouz_oh_viswanath")


ACCOUNTANT = Accountant(
    "sparse-vector",
    "Sparse vector technique",
    SparseVectorParameters,
    account,
    "query_scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SparseVectorParameters(query_scale=40.0, sensitivity=1.0),
)
