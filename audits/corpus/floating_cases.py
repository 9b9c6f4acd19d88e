"""Floating-point samplers: private on real numbers, caught by the bits of what they release."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.audits.corpus import floating_point
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.laplace_cases import CLAIM, SCALE, stated
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import Auditable, mechanism
from dpproof.audits.engine.scores.atoms import float_bits
from dpproof.audits.engine.scores.fixed import Identity
from dpproof.audits.recording.evidence import Finding

PLACE = 5

PASS, FAIL = Finding.CONSISTENT, Finding.FLOATING_POINT
BITS = (Identity(), float_bits())


def _within_one(first: float, second: float) -> None:
    if abs(first - second) > 1:
        raise ValueError(f"{first!r} and {second!r} differ by more than 1")


NUMBERS = Neighbours(0.0, 1.0, "numbers at most 1 apart", "0 or 1", _within_one)


def counter(value: float, n: int, rng: np.random.Generator, scale: float = SCALE) -> NDArray[np.float64]:
    """A count with numpy's Laplace noise."""
    drawn: NDArray[np.float64] = value + rng.laplace(0, scale, n)
    return drawn


def _case(name: str, sampler: Auditable, expected: Finding, reason: str, **options: Any) -> Case:
    usual: dict[str, Any] = {
        "claim": PureDP(CLAIM),
        "truth": None,
        "scores": BITS,
        "budget": 400_000,
        "pair": NUMBERS,
    }
    return Case(name=name, mechanism=sampler, expected=expected, reason=reason, **(usual | options))


CASES: tuple[Case, ...] = (
    _case(
        "textbook Laplace sampler, values",
        partial(floating_point.inverse_cdf, scale=SCALE),
        PASS,
        "the values as such keep the claim",
        scores=(Identity(),),
        known_ratio=True,
        truth=partial(stated, CLAIM),
    ),
    _case(
        "textbook Laplace sampler, bits",
        partial(floating_point.inverse_cdf, scale=SCALE),
        FAIL,
        "only 0 plus noise has bits below 2^-53",
    ),
    _case(
        "Laplace sampler in single precision, bits",
        partial(floating_point.single_precision, scale=SCALE),
        FAIL,
        "the same with a coarser grid",
    ),
    _case(
        "counter with numpy's Laplace noise",
        counter,
        FAIL,
        "0 or 1 plus noise: the low bits tell which",
        scores=None,
        budget=100_000,
    ),
    _case(
        "counter with half of numpy's Laplace noise",
        partial(counter, scale=SCALE / 2),
        Finding.VIOLATION,
        "the bits refute as well, but the values do without them",
        scores=None,
        budget=100_000,
    ),
    _case(
        "snapping mechanism, bits",
        partial(floating_point.snapped, scale=SCALE, limit=100.0),
        PASS,
        "the grid is the same for every input",
        truth=partial(floating_point.snapped_ratio, 0, 1, scale=SCALE, limit=100.0),
        budget=1_000_000,
    ),
    _case(
        "Box-Muller sampler, bits",
        partial(floating_point.box_muller, sigma=SCALE),
        FAIL,
        "the bits below 2^-53 again, for Gaussian noise",
        claim=GaussianDP(CLAIM),
        delta=1e-5,
    ),
    _case(
        "OpenDP's Laplace sampler, bits",
        mechanism(floating_point.opendp_laplace(SCALE), seeded=False),
        Finding.INCONCLUSIVE,
        "noise on a lattice, drawn exactly; too few samples to say more at a claim of 0.1",
        requires="opendp",
    ),
)
