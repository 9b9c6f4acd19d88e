"""Test cases of Laplace noise on vectors of counts, and of mechanisms that are built from Laplace noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.audits.corpus import vectors
from dpproof.audits.corpus.case import VALUES, Case
from dpproof.audits.corpus.truths import argmax_ratio
from dpproof.audits.data.neighbours import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import Auditable
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.recording.evidence import Finding

PLACE = 1

PASS, FAIL, BITS = Finding.CONSISTENT, Finding.VIOLATION, Finding.FLOATING_POINT
CLAIM = "0.1"
SCALE = 10.0
FACTORS = {"1.05": 20_000_000, "1.1": 4_000_000, "1.2": 1_000_000, "1.5": 200_000, "2": 100_000}
"""The true epsilon divided by the claimed epsilon, with a budget that is about three times the average need."""


def counts_pair(first: Sequence[float], second: Sequence[float], distance: Distance) -> Neighbours:
    """Return two vectors of counts as neighbours. Their difference, measured by ``distance``, is at most 1."""
    described = f"{list(first)} and {list(second)}"
    return Neighbours(first, second, f"{distance.value} by at most 1", described, VectorRelation(distance))


def stated(epsilon: Number) -> Bound:
    """Return an exactly known true epsilon as a `Bound`."""
    with precision(64):
        return bound_of(arb_of(exact(epsilon)), "mechanism", "the pair of the case")


def _product(left: Number, right: Number) -> Fraction:
    return exact(left) * exact(right)


ONE, ALL = Distance.ONE, Distance.ALL
FIVE, TEN = [1.0] * 5, [1.0] * 10
CLAIMED = PureDP(CLAIM)


def _single(name: str, scale: float, expected: Finding, truth: Number, reason: str, **options: Any) -> Case:
    usual: dict[str, Any] = {"known_ratio": True, "scores": (Identity(),)}
    return Case(
        name=name,
        mechanism=partial(vectors.laplace, scale=scale),
        pair=counts_pair([0.0], [1.0], ONE),
        claim=CLAIMED,
        expected=expected,
        truth=partial(stated, truth),
        reason=reason,
        **(usual | options),
    )


def _vector(
    name: str, sampler: Auditable, other: Sequence[float], distance: Distance, **options: Any
) -> Case:
    pair = counts_pair([1.0] * len(other), other, distance)
    usual: dict[str, Any] = {"scores": VALUES}
    return Case(name=name, mechanism=sampler, pair=pair, claim=CLAIMED, **(usual | options))


def _argmax(one_sided: bool) -> Case:
    other = [0.0, 2.0, 2.0, 2.0, 2.0]
    return _vector(
        f"argmax of {'exponential' if one_sided else 'Laplace'} noise",
        partial(vectors.noisy_argmax, scale=2 * SCALE, one_sided=one_sided),
        other,
        ALL,
        expected=PASS,
        truth=partial(argmax_ratio, FIVE, other, 2 * SCALE, one_sided=one_sided),
        reason="noise of twice the scale hides which count is largest",
        budget=400_000,
    )


CASES: tuple[Case, ...] = (
    _single("laplace", SCALE, BITS, CLAIM, "exactly on its claim"),
    *(
        _single(
            f"laplace, {factor} times the loss",
            SCALE / float(factor),
            FAIL,
            _product(CLAIM, factor),
            "too little noise",
            budget=budget,
        )
        for factor, budget in FACTORS.items()
    ),
    _vector(
        "noisy histogram, one count changed",
        partial(vectors.laplace, scale=SCALE),
        [2.0, *FIVE[1:]],
        ONE,
        expected=BITS,
        truth=partial(stated, CLAIM),
        reason="the noise is made for one count",
    ),
    _vector(
        "noisy histogram, all counts changed",
        partial(vectors.laplace, scale=SCALE),
        [2.0] * 5,
        ALL,
        expected=FAIL,
        truth=partial(stated, "0.5"),
        reason="the noise is made for one count, all five move",
    ),
    _vector(
        "noisy histogram, scale epsilon",
        partial(vectors.laplace, scale=1 / SCALE),
        [2.0, *FIVE[1:]],
        ONE,
        expected=FAIL,
        truth=partial(stated, 10),
        reason="scale epsilon in the place of 1/epsilon",
    ),
    _argmax(one_sided=False),
    _argmax(one_sided=True),
    _vector(
        "largest noisy count",
        partial(vectors.largest_value, scale=2 * SCALE),
        [2.0] * 5,
        ALL,
        expected=FAIL,
        truth=partial(stated, "0.25"),
        reason="far below, five densities of 1/20 each multiply",
        budget=400_000,
    ),
    _vector(
        "prefix sums, one count changed",
        partial(vectors.prefix_sums, scale=SCALE),
        [0.0, *TEN[1:]],
        ONE,
        expected=BITS,
        truth=partial(stated, CLAIM),
        reason="running sums of a noisy histogram",
    ),
    _vector(
        "prefix sums, all counts changed",
        partial(vectors.prefix_sums, scale=SCALE),
        [0.0] * 10,
        ALL,
        expected=FAIL,
        truth=partial(stated, 1),
        reason="ten increments move, each with noise for one",
    ),
)
