"""Test cases of Gaussian noise, audited against a whole privacy curve or against one (epsilon, delta)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.audits.corpus import vectors
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.laplace_cases import counts_pair
from dpproof.audits.data.neighbours import Distance
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.recording.evidence import Finding

PLACE = 2

BITS, FAIL, SILENT = Finding.FLOATING_POINT, Finding.VIOLATION, Finding.INCONCLUSIVE
"""The expected verdicts. A claim about numpy's noise may be true on real numbers, while the low bits refute it."""
SIGMA, DELTA = 3.730632, 1e-5
"""The standard deviation of Gaussian noise that is (1, 1e-5)-DP at sensitivity 1, rounded up; and the delta 1e-5."""


def _truth(sigma: float, delta: float) -> Bound:
    return GaussianDP(1 / sigma).epsilon(delta)


def _case(
    name: str,
    sigma: float,
    claim: PrivacyCurve,
    expected: Finding,
    reason: str,
    **options: Any,
) -> Case:
    return Case(
        name=f"gaussian, {name}",
        mechanism=partial(vectors.gaussian, sigma=sigma),
        pair=counts_pair([0.0], [1.0], Distance.ONE),
        claim=claim,
        delta=DELTA,
        expected=expected,
        truth=partial(_truth, sigma, DELTA),
        reason=reason,
        known_ratio=True,
        scores=(Identity(),),
        **options,
    )


def _classical(epsilon: float) -> float:
    """Return the standard deviation of the textbook formula, which is proved only for epsilon at most 1."""
    return math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon


CURVE, POINT = GaussianDP(1 / SIGMA), ApproxDP(1, DELTA)

CASES: tuple[Case, ...] = (
    _case("on its curve", SIGMA, CURVE, BITS, "exactly on its claim"),
    _case("at its point", SIGMA, POINT, BITS, "exactly on its claim"),
    _case("0.9 of the noise, curve", 0.9 * SIGMA, CURVE, FAIL, "too little noise", budget=1_000_000),
    _case("half the noise, curve", SIGMA / 2, CURVE, FAIL, "too little noise"),
    _case("half the noise, point", SIGMA / 2, POINT, FAIL, "too little noise", budget=400_000),
    _case("a quarter of the noise, point", SIGMA / 4, POINT, FAIL, "too little noise"),
    _case(
        "textbook formula at epsilon 1",
        _classical(1),
        POINT,
        BITS,
        "the formula is proved here, and wastes a third",
    ),
    _case(
        "textbook formula at epsilon 10",
        _classical(10),
        ApproxDP(10, DELTA),
        SILENT,
        "beyond the formula's domain and not as private as it says, but that shows only in events of a few"
        " delta: below ln(1/alpha)/delta = 460,000 samples nothing can be told",
    ),
)
