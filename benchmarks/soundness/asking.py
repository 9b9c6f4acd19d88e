"""Asking a notion of privacy for epsilon, and holding the answer against a reference profile in Arb."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from benchmarks.soundness.cases import NoReferenceError, Outcome
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.privacy_loss.single import delta_by_masses

DELTA = (1e-30, 0.5)
Truth = Callable[[arb], arb]
"""The reference: delta at an epsilon, enclosed at the precision in force."""
_PRECISIONS = (160, 400, 1600, 6400)
_FAR = 1e5


def point(value: float) -> arb:
    """A double, exactly."""
    return arb_of(exact(value))


def composed(pair: DominatingPair, count: int) -> PrivacyLoss:
    """One pair, composed."""
    return PrivacyLoss([[(pair, count)]])


def against(guarantee: Profile, delta: float, profile: Truth, detail: str, region: str = "all") -> Outcome:
    """Ask for epsilon. The reference must be at most delta at the upper end, and at least delta at the lower end.

    If the answer is that no finite epsilon holds, the reference at a large epsilon must be above delta.
    """
    try:
        found = guarantee.epsilon(delta)
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, region, f"{detail}: {refused}")
    if math.isinf(found.upper) and math.isfinite(found.lower):
        return Outcome("no answer", math.inf, region, detail)
    if math.isinf(found.upper):
        wrong, region = _sign(profile, _FAR, delta) <= 0, "epsilon infinite"
    else:
        wrong = _sign(profile, found.upper, delta) > 0
        wrong = wrong or (found.lower > 0 and _sign(profile, found.lower, delta) < 0)
    return _outcome(wrong, found, detail, region)


def masses_against(pair: DominatingPair, epsilon: float, profile: Truth, detail: str) -> Outcome:
    """Ask for delta as the grid would see it, from the pair's masses."""
    low, high = delta_by_masses(pair, Fraction(epsilon))
    wrong = _sign(profile, epsilon, high) > 0 or (low > 0 and _sign(profile, epsilon, low) < 0)
    return _outcome(wrong, Bound(low, high) if low <= high else Bound(0, 1), f"{detail} masses", "masses")


def _sign(profile: Truth, epsilon: float, delta: float) -> int:
    """The certified sign of profile(epsilon) - delta; 0 where the two agree to thousands of bits."""
    for bits in _PRECISIONS:
        with precision(bits):
            gap = profile(point(epsilon)) - point(delta)
            if gap > 0 or gap < 0:
                return 1 if gap > 0 else -1
    if not gap.is_finite() or float(gap.rad()) > 1e-12 * delta:
        raise NoReferenceError(f"the reference is not accurate at epsilon {epsilon!r}, delta {delta!r}")
    return 0


def _outcome(wrong: bool, found: Bound, detail: str, region: str) -> Outcome:
    if wrong:
        return Outcome("violation", math.inf, region, f"{detail}: [{found.lower!r}, {found.upper!r}]")
    width = 0.0 if found.lower == found.upper else (found.upper - found.lower) / found.upper
    return Outcome("ok", width, region)
