"""From a profile to an epsilon, where the target may touch the profile's start or its limit."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import flint

from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.numbers.inversion import Profile, bracket, refined

__all__ = ["certified_inverse"]

_SHADE = Fraction(1, 2**40)


def certified_inverse(
    profile: Profile, target: Fraction, start: float, never: flint.arb
) -> tuple[float, float]:
    """Ends around the smallest epsilon with profile(epsilon) <= target; ``never`` is the profile's limit.

    Where the target is within 2^-40 (relative) of the profile's start or of its limit, the search has nothing
    to see: the end that depends on it is then taken for a target that far off, or infinite.
    """
    goal, less, more = (
        refined(partial(arb_of, target * shade)) for shade in (Fraction(1), 1 - _SHADE, 1 + _SHADE)
    )
    top = refined(lambda: profile(Fraction(0)))
    if never > goal:
        return math.inf, math.inf
    if top <= goal:
        return 0.0, 0.0
    if target > 0 and not never < less:
        return 0.0 if not top > more else bracket(profile, target * (1 + _SHADE), start)[0], math.inf
    if not top > more:
        return 0.0, bracket(profile, target * (1 - _SHADE), start)[1]
    return bracket(profile, target, start)
