"""Sparse vector: which of many queries are above a threshold, paid for by the positive answers only.

Laplace noise of ``threshold_scale`` is added to the threshold, of ``query_scale`` to each query; a query is
answered "above" or "below", and the run halts after ``positives`` answers "above". With ``answer_scale``
each of those also releases the query's value with noise of its own. The threshold's noise is drawn once, or
with ``redraw`` anew after each positive answer: then the runs between them compose.

With S the sensitivity and c the positives, the pure epsilon of one threshold is exactly

    S/b_threshold + 2 c S/b_query + c S/b_answer,

and where all queries move the same way between neighbours (monotone, as counts do) exactly the larger of
S/b_threshold + c max(S/b_query, S/b_answer) and c (S/b_query + S/b_answer): no smaller one holds for streams
of every length. With delta > 0 the positive answers cost about sqrt(c) times one: given the threshold's noise
they are coins (``loss``). Proofs and the wrong variants of the literature: docs/notes/sparse_vector.md.

Source: Dwork and Roth 2014, Algorithms 1-3; Lyu, Su and Li, arXiv:1603.01699v4, Theorems 4 and 5. That the
pure epsilon is exact is this project's statement classic.sparse_vector, the profile its
statement classic.sparse_vector_profile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Flag, Integers, Reals, parameter
from dpproof.accountant.claims.result import Accountant, Attained, PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.sensitivity import LARGEST, Measured, check_monotone, queried, sensitivity_of
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import Guarantee, PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.sparse_vector.loss import Least, loss_of_runs
from dpproof.accountant.sparse_vector.pair import AlternatingPair, Moves
from dpproof.accountant.theorems.composition import compose_approx_optimal
from dpproof.accountant.theorems.composition.advanced import advanced_epsilon

__all__ = ["ACCOUNTANT", "SparseVectorParameters", "account", "pure_epsilon"]


@dataclass(frozen=True)
class SparseVectorParameters(Measured):
    """The noise of the sparse vector technique, and when it halts.

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
        """The threshold's scale: the one given, or the least total variance at equal epsilon.

        Source: Lyu, Su and Li, arXiv:1603.01699v4, Section 4.2: epsilon_1 : epsilon_2 = 1 : (2c)^(2/3), and
        1 : c^(2/3) for monotone queries.
        """
        if self.threshold_scale is not None:
            return self.threshold_scale
        paid = self.run_positives * (1 if self.monotone else 2)
        return self.query_scale / round(math.cbrt(paid), 12)

    @property
    def runs(self) -> int:
        """How many thresholds are drawn."""
        return self.positives if self.redraw else 1

    @property
    def run_positives(self) -> int:
        """How many positive answers one threshold serves."""
        return 1 if self.redraw else self.positives


Rates = tuple[Fraction, Fraction, Fraction]
"""Sensitivity over the scales of threshold, query and numeric answer; 0 without numeric answers."""


def _rates(parameters: SparseVectorParameters, moved: Fraction) -> Rates:
    answer = parameters.answer_scale
    return (
        moved / exact(parameters.threshold),
        moved / exact(parameters.query_scale),
        moved / exact(answer) if answer is not None else Fraction(0),
    )


def _worst(parameters: SparseVectorParameters, rates: Rates) -> tuple[Moves, Fraction]:
    """How the worst neighbours move the queries, and what one threshold then reveals, exactly."""
    served = parameters.run_positives
    moves = (Moves(1, 0), Moves(1, 1), Moves(0, -1)) if parameters.monotone else (Moves(1, -1),)
    return max(((move, move.epsilon(*rates, served)) for move in moves), key=lambda pair: pair[1])


def pure_epsilon(
    parameters: SparseVectorParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> Fraction:
    """The smallest epsilon for which all answers together are epsilon-DP, whatever the queries.

    >>> pure_epsilon(SparseVectorParameters(query_scale=8.0, positives=2, threshold_scale=2.0))
    Fraction(1, 1)

    Source: statement classic.sparse_vector.
    """
    moved = sensitivity_of(parameters, adjacency, LARGEST).moved
    return parameters.runs * _worst(parameters, _rates(parameters, moved))[1]


def account(
    parameters: SparseVectorParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """The guarantee of all answers, exact at delta 0; several thresholds compose.

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


_PAIR = "queries at the threshold, all answered below, then far lower ones answered above, moved against them"


def _guarantee(parameters: SparseVectorParameters, rates: Rates) -> Guarantee:
    """The pure guarantees composed, and the profile of thresholds and coins: both hold."""
    pure = _pure(parameters, rates)
    try:
        loss = loss_of_runs(rates, parameters.monotone, parameters.runs, parameters.run_positives)
    except ValueError:  # noise so large or small that a pair of the profile does not represent it
        return pure
    return Least((pure, loss))


def _pure(parameters: SparseVectorParameters, rates: Rates) -> Guarantee:
    once = PureDP(_worst(parameters, rates)[1])
    return compose_approx_optimal([(once, parameters.runs)]) if parameters.runs > 1 else once


def _pair(parameters: SparseVectorParameters, rates: Rates) -> AlternatingPair:
    return AlternatingPair(
        _worst(parameters, rates)[0],
        rates,
        parameters.run_positives,
        parameters.runs,
        _pure(parameters, rates),
    )


def _published(parameters: SparseVectorParameters, rates: Rates) -> PublishedGuarantee:
    """The budgets of threshold, comparisons and answers added up; several thresholds by Theorem 3.20."""
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
)
