"""Test cases of noise that is private on real numbers, but not in the floating-point bits of its outputs.

On real numbers the noise has the stated distribution. In floating point, the set of doubles that can occur depends on
the number to which the noise was added (Mironov 2012). The snapping mechanism, and noise on equally spaced points, do
not have this fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.audits.corpus.case import NUMBERS, Case
from dpproof.audits.corpus.laplace_cases import CLAIM, SCALE, stated
from dpproof.audits.corpus.truths import Law, largest_ratio
from dpproof.audits.engine.sampling.callables import Auditable, mechanism
from dpproof.audits.engine.scores.atoms import float_bits
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.recording.evidence import Finding

Floats = NDArray[np.float64]


def inverse_cdf(value: float, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Return a value plus Laplace noise: a random sign times the logarithm of a uniform double (the textbook way)."""
    drawn: Floats = value + rng.choice([-scale, scale], n) * np.log(1 - rng.random(n))
    return drawn


def single_precision(value: float, n: int, rng: np.random.Generator, *, scale: float) -> NDArray[np.float32]:
    """Return a value plus Laplace noise as in `inverse_cdf`, but in single precision, as on a GPU."""
    uniform = 1 - rng.random(n, dtype=np.float32)
    signed = rng.choice([-scale, scale], n).astype(np.float32)
    drawn: NDArray[np.float32] = np.float32(value) + signed * np.log(uniform)
    return drawn


def box_muller(value: float, n: int, rng: np.random.Generator, *, sigma: float) -> Floats:
    """Return a value plus Gaussian noise by the Box-Muller transform."""
    radius = np.sqrt(-2 * np.log(1 - rng.random(n)))
    drawn: Floats = value + sigma * radius * np.cos(2 * math.pi * rng.random(n))
    return drawn


def snapped(value: float, n: int, rng: np.random.Generator, *, scale: float, limit: float) -> Floats:
    """Return outputs of Mironov's snapping mechanism: clamp, add Laplace noise, round to multiples, and clamp again.

    It rounds to multiples of the smallest power of two that is at least the scale.
    """
    grid = _grid(scale)
    noisy = np.clip(value, -limit, limit) + rng.choice([-scale, scale], n) * np.log(1 - rng.random(n))
    drawn: Floats = np.clip(np.rint(noisy / grid) * grid, -limit, limit)
    return drawn


def snapped_ratio(first: float, second: float, *, scale: float, limit: float) -> Bound:
    """Return the pure epsilon of `snapped` for two values within the limit, in arithmetic without rounding errors."""
    first_law, second_law = (partial(_snapped_law, value, scale, limit) for value in (first, second))
    return largest_ratio(first_law, second_law)


def _grid(scale: float) -> float:
    return 2.0 ** math.ceil(math.log2(scale))


def _snapped_law(value: float, scale: float, limit: float) -> Law:
    grid, b = exact(_grid(scale)), arb_of(exact(scale))
    cells = math.ceil(limit / _grid(scale)) - 1
    cuts = [arb_of((2 * k + 1) * grid / 2 - exact(value)) for k in range(-cells - 1, cells + 1)]
    below = [(c / b).exp() / 2 if c < 0 else 1 - (-c / b).exp() / 2 for c in cuts]
    return [below[0], *(q - p for p, q in pairwise(below)), flint.arb(1) - below[-1]]


def opendp_laplace(scale: float) -> Callable[[float, int, np.random.Generator], Floats]:
    """Return a function that adds OpenDP's Laplace noise; it uses the operating system's randomness, not ``rng``."""

    def sample(value: float, n: int, rng: np.random.Generator) -> Floats:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
        return np.asarray(dp.m.make_laplace(*space, scale=scale)([value] * n))

    return sample


PLACE = 5

PASS, FAIL = Finding.CONSISTENT, Finding.FLOATING_POINT
BITS = (Identity(), float_bits())


def counter(value: float, n: int, rng: np.random.Generator, scale: float = SCALE) -> NDArray[np.float64]:
    """Return ``n`` noisy counts: the count plus numpy's Laplace noise."""
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
        partial(inverse_cdf, scale=SCALE),
        PASS,
        "the values as such keep the claim",
        scores=(Identity(),),
        known_ratio=True,
        truth=partial(stated, CLAIM),
    ),
    _case(
        "textbook Laplace sampler, bits",
        partial(inverse_cdf, scale=SCALE),
        FAIL,
        "only 0 plus noise has bits below 2^-53",
    ),
    _case(
        "Laplace sampler in single precision, bits",
        partial(single_precision, scale=SCALE),
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
        partial(snapped, scale=SCALE, limit=100.0),
        PASS,
        "the grid is the same for every input",
        truth=partial(snapped_ratio, 0, 1, scale=SCALE, limit=100.0),
        budget=1_000_000,
    ),
    _case(
        "Box-Muller sampler, bits",
        partial(box_muller, sigma=SCALE),
        FAIL,
        "the bits below 2^-53 again, for Gaussian noise",
        claim=GaussianDP(CLAIM),
        delta=1e-5,
    ),
    _case(
        "OpenDP's Laplace sampler, bits",
        mechanism(opendp_laplace(SCALE), seeded=False),
        Finding.INCONCLUSIVE,
        "noise on a lattice, drawn exactly; too few samples to say more at a claim of 0.1",
        requires="opendp",
    ),
)
