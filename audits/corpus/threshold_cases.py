"""Test cases of the sparse vector technique: three private variants, and four that violate their claim."""

from __future__ import annotations

from functools import partial
from typing import Any

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.laplace_cases import CLAIM, counts_pair
from dpproof.audits.corpus.truths import first_above_ratio
from dpproof.audits.corpus.vectors import SparseVector, first_release_ratio
from dpproof.audits.data.neighbours import Distance
from dpproof.audits.engine.scores.atoms import tokens
from dpproof.audits.engine.scores.classifiers import logistic, trees
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio
from dpproof.audits.recording.evidence import Finding

PLACE = 4

WEAK, FAIL = Finding.INCONCLUSIVE, Finding.VIOLATION
"""The expected verdicts. A private variant is inconclusive, because with a claimed epsilon of 0.1 a clear answer needs
millions of samples."""
EPSILON = float(CLAIM)
ONES, HALVES = [1.0] * 10, [2.0] * 5 + [0.0] * 5
SCORES = (tokens(), trees(), logistic())


def _case(name: str, variant: SparseVector, expected: Finding, reason: str, **options: Any) -> Case:
    standard: dict[str, Any] = {"truth": partial(first_above_ratio, variant, ONES, HALVES), "scores": SCORES}
    return Case(
        name=f"sparse vector {name}",
        mechanism=variant,
        pair=counts_pair(ONES, HALVES, Distance.ALL),
        claim=PureDP(CLAIM),
        expected=expected,
        reason=reason,
        **(standard | options),
    )


RELEASING = SparseVector(1.0, 2 / EPSILON, 2 / EPSILON, 1, released=True)

CASES: tuple[Case, ...] = (
    _case("1", SparseVector(0.5, 2 / EPSILON, 4 / EPSILON, 1), WEAK, "as Lyu et al. would have it"),
    _case(
        "2",
        SparseVector(1.0, 2 / EPSILON, 4 / EPSILON, 1, resampled=True),
        WEAK,
        "as Dwork and Roth have it: the threshold's noise is drawn again after every answer",
    ),
    _case(
        "3",
        RELEASING,
        FAIL,
        "releases the noisy query itself, which bounds the noisy threshold: no finite epsilon",
        truth=None,
        budget=4_000_000,
        scores=(
            LogLikelihoodRatio(first_release_ratio(RELEASING, ONES, HALVES)),
        ),  # learned ones may miss it
    ),
    _case(
        "4",
        SparseVector(1.0, 4 / EPSILON, 4 / (3 * EPSILON), 1),
        FAIL,
        "the queries' noise leaves out a factor of 2",
        budget=8_000_000,
        scores=(tokens(),),
    ),
    _case(
        "5",
        SparseVector(1.0, 2 / EPSILON, 0.0),
        FAIL,
        "no noise on the queries: some answers are impossible on one input only",
        truth=None,
    ),
    _case(
        "6",
        SparseVector(1.0, 2 / EPSILON, 2 / EPSILON),
        FAIL,
        "never stops: ten answers for the price of one",
        truth=None,
        budget=1_000_000,
    ),
    _case(
        "with values",
        SparseVector(1.0, 3 / EPSILON, 12 / EPSILON, 2, value_scale=6 / EPSILON),
        WEAK,
        "a third of the budget each for threshold, answers and values",
        truth=None,
        budget=20_000,
    ),
)
