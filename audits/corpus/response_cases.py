"""Test cases of randomised response, on one bit and on the bits of a Bloom filter (RAPPOR, Erlingsson et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.truths import Law, largest_ratio
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.atoms import Atoms
from dpproof.audits.engine.scores.classifiers import logistic
from dpproof.audits.recording.evidence import Finding

PLACE = 3

PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
BITS, PERMANENT, IF_CLEAR, IF_SET = 20, "0.75", "0.45", "0.55"
"""The number of bits of the filter, the probability that a bit is replaced by a fair coin, and the probabilities to
report 1 for a clear and for a set bit."""
FILTERS = ((0, 1, 2, 3), (3, 4, 5, 6))
"""The bits that four hash functions set for each of two values; one bit is set for both."""


def randomised_response(bit: int, n: int, rng: np.random.Generator, *, epsilon: float) -> NDArray[np.int64]:
    """Return ``n`` copies of the bit, each flipped with probability 1 / (1 + e^epsilon)."""
    return bit ^ (rng.random(n) < 1 / (1 + math.exp(epsilon))).astype(np.int64)


def rappor(bits: Sequence[int], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``n`` randomised reports of a filter, as an array of shape (n, BITS).

    ``bits`` are the places of the filter that are set.
    """
    true = np.isin(np.arange(BITS), bits)
    kept = np.where(rng.random((n, BITS)) < float(PERMANENT), rng.random((n, BITS)) < 0.5, true)
    return (rng.random((n, BITS)) < np.where(kept, float(IF_SET), float(IF_CLEAR))).astype(np.int64)


def _report_law(is_set: bool) -> Law:
    coin, set_, clear = exact(PERMANENT), exact(IF_SET), exact(IF_CLEAR)
    chance = coin * (set_ + clear) / 2 + (1 - coin) * (set_ if is_set else clear)
    return [arb_of(chance), arb_of(1 - chance)]


def _rappor_truth() -> Bound:
    """Return the true epsilon, a sum over differing bits: one report can favour a value in all of them."""
    differing = len(set(FILTERS[0]) ^ set(FILTERS[1]))
    one = largest_ratio(partial(_report_law, False), partial(_report_law, True))
    scaled = (math.nextafter(differing * one.lower, 0), math.nextafter(differing * one.upper, math.inf))
    return Bound(*scaled, "mechanism", "the pair of the case")


def _response_truth(epsilon: str) -> Bound:
    def law(swapped: bool) -> Law:
        odds = arb_of(exact(epsilon)).exp()
        chances = [odds / (1 + odds), flint.arb(1) / (1 + odds)]
        return chances[::-1] if swapped else chances

    return largest_ratio(partial(law, False), partial(law, True))


def _any_two(_first: object, _second: object) -> None:
    """Accept any two inputs, because all inputs are neighbours in local privacy."""


def _response(epsilon: str, expected: Finding, **options: Any) -> Case:
    return Case(
        name=f"randomised response, {epsilon} claimed as 1",
        mechanism=partial(randomised_response, epsilon=float(epsilon)),
        pair=Neighbours(0, 1, "any two inputs", "bit 0 or 1", _any_two),
        claim=PureDP(1),
        expected=expected,
        truth=partial(_response_truth, epsilon),
        reason="exactly on its claim" if expected is PASS else "flipped too rarely",
        known_ratio=True,
        **options,
    )


def _rappor(claim: str, expected: Finding, reason: str, **options: Any) -> Case:
    return Case(
        name=f"RAPPOR, claimed {claim}",
        mechanism=rappor,
        pair=Neighbours(*FILTERS, "any two inputs", f"bits {FILTERS[0]} or {FILTERS[1]} set", _any_two),
        claim=PureDP(claim),
        expected=expected,
        truth=_rappor_truth,
        reason=reason,
        **options,
    )


CASES: tuple[Case, ...] = (
    _response("1", PASS),
    _response("1.05", FAIL, budget=400_000),
    _response("1.5", FAIL),
    _rappor(
        "0.4",
        Finding.INCONCLUSIVE,
        "the bound for eight differing bits, these two values differ in six; twenty bits need more samples",
        budget=20_000,
    ),
    _rappor("0.2", FAIL, "six differing bits at 0.05 each", budget=2_000_000, scores=(logistic(), Atoms())),
)
