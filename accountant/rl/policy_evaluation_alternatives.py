"""Other noise for policy evaluation, each with its own smoothing, beside the Gaussian on the same visits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from accountant.adjacency import Adjacency
from accountant.calibration import UnreachableTargetError
from accountant.enclosures import Number
from accountant.rl.policy_evaluation_bounds import SmoothBound
from accountant.rl.policy_evaluation_noise import jointly, printed
from accountant.smooth_sensitivity.coordinates import (
    Coordinates,
    laplace_log_normal,
    least_coordinates,
    student,
)
from accountant.smooth_sensitivity.laplace import ACCOUNTANT as LAPLACE
from accountant.smooth_sensitivity.laplace import SmoothLaplaceParameters

__all__ = ["Alternative", "alternatives"]

_DEGREES = (3, 4, 5, 10, 30)
_SPREADS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class Alternative:
    """A kind of noise that meets the target.

    Attributes:
        name: what it is.
        beta: the smoothing it goes with.
        deviation: standard deviation of one coordinate, for a unit of sensitivity; rounded to nearest.
    """

    name: str
    beta: float
    deviation: float


def alternatives(epsilon: Number, delta: Number, dimension: int, bound: SmoothBound) -> list[Alternative]:
    """The printed and the exact Gaussian, and the best of other noise that was tried.

    Student's t and Laplace-log-normal noise are certified through zCDP, Student's t also as purely private
    (docs/notes/policy_evaluation.md, section 4), Laplace noise exactly, for one feature only. A kind that
    cannot meet the target with any smoothing tried has an infinite deviation.

    >>> from accountant.rl.policy_evaluation_bounds import WeightedBound
    >>> visits = WeightedBound([3000], [1.0])
    >>> [round(x.deviation * 3000, 2) for x in alternatives(1, "1e-6", 1, visits)][:2]
    [26.93, 4.45]
    """
    theirs, ours = printed(epsilon, delta, dimension), jointly(epsilon, delta, dimension, bound)
    found = [
        Alternative("Gaussian, printed", theirs.beta, theirs.deviation(bound)),
        Alternative("Gaussian, exact", ours.beta, ours.deviation(bound)),
    ]
    for families in ([student(n) for n in _DEGREES], [laplace_log_normal(w) for w in _SPREADS]):
        tried = [
            _tried(family, theirs.beta * 2.0**place, epsilon, delta, dimension, bound)
            for family in families
            for place in range(-12, 9)
        ]
        found.append(min(tried, key=lambda x: x.deviation))
    if dimension == 1:
        tried = [_laplace(theirs.beta * 2.0**place, epsilon, delta, bound) for place in range(-12, 9)]
        found.append(min(tried, key=lambda x: x.deviation))
    return found


def _laplace(beta: float, epsilon: Number, delta: Number, bound: SmoothBound) -> Alternative:
    start = SmoothLaplaceParameters(2.0, beta / 2)
    try:
        noise = LAPLACE.least_noise(start, Adjacency.BY_SENSITIVITY, epsilon, delta)[0].noise
        return Alternative("Laplace", beta, noise * math.sqrt(2 * bound.squared(beta)))
    except ValueError:
        return Alternative("Laplace", beta, math.inf)


def _tried(
    family: Coordinates, beta: float, epsilon: Number, delta: Number, dimension: int, bound: SmoothBound
) -> Alternative:
    try:
        scale = least_coordinates(family, epsilon, delta, dimension, beta / 2)
        return Alternative(family.name, beta, scale * family.deviation * math.sqrt(bound.squared(beta)))
    except (UnreachableTargetError, ValueError):
        return Alternative(family.name, beta, math.inf)
