"""The smooth bound of a profile of local sensitivities, and the smoothing that makes the noise least.

The profile says for each distance t how large the local sensitivity can be on data that differ in at most
t records. Its smooth bound is the largest exp(-smoothing t) profile[t] (Nissim, Raskhodnikova and Smith,
STOC 2007): a strong smoothing discounts far data and asks for more noise per unit of the bound.

The smoothing must not depend on the private data: choose it on public data, or on a profile of what is
expected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.claims.result import Accountant
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.smooth_sensitivity.notion import largest


def smooth_bound(profile: Sequence[Number], smoothing: Number) -> Bound:
    """The smallest ``smoothing``-smooth bound: the largest exp(-smoothing t) profile[t].

    The last entry must bound the local sensitivity at all further distances as well.

    >>> smooth_bound([1, 2, 3], "0.5").upper
    1.213062

    Raises:
        ValueError: for an empty profile, a negative entry, one below the entry before it, or a negative
            smoothing.
    """
    values, beta = (
        [exact(value, "local sensitivity") for value in profile],
        at_least_zero(smoothing, "smoothing"),
    )
    if not values or values[0] < 0 or any(b < a for a, b in pairwise(values)):
        raise ValueError("profile must be a nonempty nondecreasing list of numbers at least 0")
    with precision(128):
        rate = arb_of(beta)
        return bound_of(largest([(-rate * t).exp() * arb_of(value) for t, value in enumerate(values)]))


@dataclass(frozen=True)
class Choice:
    """Parameters certified to meet a target, and the scale of their noise on one profile."""

    parameters: Any
    scale: float
    """noise times the smooth bound, rounded up."""


def best_smoothing(
    accountant: Accountant, parameters: Any, profile: Sequence[Number], epsilon: Number, delta: Number
) -> Choice:
    """The smoothing, with its least noise, that makes the noise on ``profile`` about as small as can be.

    What is returned is certified to meet (epsilon, delta), whatever the search found; that no other smoothing
    does better is not certified.

    >>> from dpproof.accountant.smooth_sensitivity.gaussian import ACCOUNTANT, SmoothGaussianParameters
    >>> profile = [1 / (100 - t) for t in range(100)]
    >>> best_smoothing(ACCOUNTANT, SmoothGaussianParameters(5.0, 0.1), profile, 1, "1e-6").scale
    0.263943

    Args:
        accountant: one with parameters ``noise`` and ``smoothing``.
        parameters: all others, and where the search begins.
        profile: local sensitivity by distance; see ``smooth_bound``. Not of the private data.
        epsilon: the target.
        delta: where it is to be met.

    Raises:
        ValueError: for a bad profile or target, or where no smoothing that is tried meets it.
    """
    known: dict[int, Choice | None] = {}

    def at(place: int) -> float:
        if place not in known:
            chosen = replace(parameters, smoothing=2.0 ** (place / _FINE))
            known[place] = _choice(accountant, chosen, profile, epsilon, delta)
        found = known[place]
        return math.inf if found is None else found.scale

    smooth_bound(profile, 0)
    coarse = min(range(-20 * _FINE, 2 * _FINE + 1, 2 * _FINE), key=at)
    step = _FINE
    while step:
        coarse = min((coarse - step, coarse, coarse + step), key=at)
        step //= 2
    best = known[coarse]
    if best is None:
        raise UnreachableTargetError(f"no smoothing meets epsilon ({epsilon!r}) at delta ({delta!r})")
    return best


_FINE = 8


def _choice(
    accountant: Accountant, parameters: Any, profile: Sequence[Number], epsilon: Number, delta: Number
) -> Choice | None:
    """The least noise at one smoothing; None where none meets the target."""
    try:
        meets, _ = accountant.least_noise(parameters, Adjacency.BY_SENSITIVITY, epsilon, delta)
    except UnreachableTargetError:
        return None
    bound = smooth_bound(profile, meets.smoothing)
    with precision(128):
        scale = bound_of(arb_of(exact(meets.noise)) * arb_of(exact(bound.upper))).upper
    return Choice(meets, scale)
