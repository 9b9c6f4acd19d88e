"""Heavy-tailed noise on every coordinate of an answer, scaled by a smooth bound on its L2 sensitivity: zCDP.

Both families have a cost of a shift by ``a`` scales, at most ``shift a``, and of a dilation by exp(t), at
most ``dilation |t|``, such that one coordinate is zCDP with half the square of the sum of the two. The
coordinates are independent, so that their rho add up; by the triangle inequality of vectors of length d

    rho <= (shift a + sqrt(d) dilation beta)^2 / 2,   a the L2 shift, beta the smoothing.

docs/notes/policy_evaluation.md, section 4. Compare: Gaussian noise of the same variance, which is tight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import flint

from accountant.enclosures import Number, arb_of, bound_of, exact, precision, round_up
from accountant.notions import ZCDP
from accountant.smooth_sensitivity.notion import positive
from accountant.targets import Target, UnreachableTargetError

__all__ = ["Coordinates", "laplace_log_normal", "least_coordinates", "student"]


@dataclass(frozen=True)
class Coordinates:
    """A family of noise on coordinates.

    Attributes:
        name: what it is called, with its shape.
        shift: cost of a shift by one scale.
        dilation: cost of a dilation by a factor e.
        deviation: standard deviation at scale 1.
    """

    name: str
    shift: Callable[[], flint.arb]
    dilation: Callable[[], flint.arb]
    deviation: float

    def guarantee(self, noise: Number, smoothing: Number, dimension: int) -> ZCDP:
        """The proved zCDP of scale ``noise`` times a ``smoothing``-smooth bound.

        >>> student(3).guarantee(20, "0.001", 40).epsilon("1e-6").upper
        0.32437...
        """
        scale, beta = positive(noise, "noise"), exact(smoothing, "smoothing")
        if beta < 0 or dimension < 1:
            raise ValueError(f"smoothing ({smoothing!r}), dimension ({dimension!r}) must be at least 0 and 1")
        with precision(128):
            moved = self.shift() / arb_of(scale)
            scaled = flint.arb(dimension).sqrt() * self.dilation() * arb_of(beta)
            return ZCDP(bound_of((moved + scaled) ** 2 / 2))


def student(degrees: int) -> Coordinates:
    """Student's t: the logarithm of its density has slope at most (n+1)/(2 sqrt n), and dilation max(1, n).

    Args:
        degrees: n, an integer at least 3, so that the variance is finite.
    """
    if degrees < 3:
        raise ValueError(f"degrees ({degrees!r}) must be an integer at least 3")
    return Coordinates(
        f"Student's t, {degrees} degrees",
        lambda: (flint.arb(degrees) + 1) / (2 * flint.arb(degrees).sqrt()),
        lambda: flint.arb(degrees),
        math.sqrt(degrees / (degrees - 2)),
    )


def laplace_log_normal(spread: float) -> Coordinates:
    """X exp(w Y), X Laplace and Y normal: exp(3 w^2/2) a shift, 1/w a dilation (classic.smooth_log_normal).

    Args:
        spread: w, above 0.
    """
    w = positive(spread, "spread")
    return Coordinates(
        f"Laplace-log-normal, spread {float(w):.3g}",
        lambda: (3 * arb_of(w) ** 2 / 2).exp(),
        lambda: 1 / arb_of(w),
        math.sqrt(2) * math.exp(float(w) ** 2),
    )


def least_coordinates(
    family: Coordinates, epsilon: Number, delta: Number, dimension: int, smoothing: Number
) -> float:
    """The scale certified to meet a target by the family's zCDP, about the least that does.

    >>> least_coordinates(student(3), 1, "1e-6", 1, "0.001")
    5.30389...

    Raises:
        UnreachableTargetError: if the smoothing alone costs more than the target.
    """
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    low, high = 2.0**-40, 2.0**20
    if ZCDP(low).delta(target.below).upper > target.delta:
        raise UnreachableTargetError(f"{target} is met by no rho that was tried")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if ZCDP(middle).delta(target.below).upper <= target.delta else (low, middle)
        )
    with precision(128):
        left = (2 * flint.arb(low)).sqrt()
        left -= flint.arb(dimension).sqrt() * family.dilation() * arb_of(exact(smoothing, "smoothing"))
        if not left > 0:
            raise UnreachableTargetError(f"smoothing ({smoothing!r}) alone costs more than {target}")
        scale = round_up(family.shift() / left)
    while family.guarantee(scale, smoothing, dimension).delta(target.below).upper > target.delta:
        scale *= 1 + 2.0**-40
    return scale
