"""Heavy-tailed noise on every coordinate, scaled by a smooth bound on the L2 sensitivity: zCDP and pure privacy.

Each kind of noise has two privacy costs. A shift of the noise by ``a`` times its scale costs at most ``shift
a``. A change of the scale by the factor exp(t), a dilation, costs at most ``dilation |t|``. One coordinate is
rho-zCDP, where rho is half the square of the sum of the two costs. Coordinates are independent, so their rhos
add up. By the triangle inequality in dimension d

    rho <= (shift a + sqrt(d) dilation beta)^2 / 2,   a the L2 shift, beta the smoothing.

Student's t noise is also purely private. Its two costs bound the privacy loss itself. Over all coordinates
they add up to at most

    epsilon <= sqrt(d) shift a + d dilation beta.

Proofs, and the comparison with Gaussian noise of the same variance: docs/notes/policy_evaluation.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import flint

from dpproof.accountant.claims.calibration import Target, UnreachableTargetError
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, PureDP
from dpproof.accountant.numbers.arithmetic import lru_cache, math
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision, round_up
from dpproof.accountant.numbers.inversion import first_step, last_where
from dpproof.accountant.smooth_sensitivity.notion import positive


@dataclass(frozen=True)
class Coordinates:
    """A kind of noise, such as Student's t, that is added to each coordinate of an answer.

    Attributes:
        name: the name of the noise, with its shape parameter.
        shift: the privacy cost if the noise is shifted by its scale.
        dilation: the privacy cost if the scale of the noise changes by the factor e.
        deviation: the standard deviation of the noise at scale 1.
        bounded: whether the costs also bound the privacy loss, so that the noise is purely private.
    """

    name: str
    shift: Callable[[], flint.arb]
    dilation: Callable[[], flint.arb]
    deviation: float
    bounded: bool = False

    def account(self, noise: Number, smoothing: Number, dimension: int) -> ZCDP:
        """Return the proved zCDP guarantee of an answer with this noise on each of ``dimension`` coordinates.

        The scale is ``noise`` times a smooth bound. The log of this bound changes by at most ``smoothing``
        between neighbours.

        >>> student(3).account(20, "0.001", 40).epsilon("1e-6").upper
        0.32437...
        """
        scale, beta = positive(noise, "noise"), exact(smoothing, "smoothing")
        if beta < 0 or dimension < 1:
            raise ValueError(
                f"smoothing ({smoothing!r}) must be at least 0, and dimension ({dimension!r}) at least 1"
            )
        with precision(128):
            moved = self.shift() / arb_of(scale)
            scaled = flint.arb(dimension).sqrt() * self.dilation() * arb_of(beta)
            return ZCDP(bound_of((moved + scaled) ** 2 / 2))

    def pure(self, noise: Number, smoothing: Number, dimension: int) -> ApproxDP:
        """Return the proved pure privacy guarantee of an answer with this noise on each of ``dimension`` coordinates.

        The scale is ``noise`` times a smooth bound. The log of this bound changes by at most ``smoothing``
        between neighbours.

        >>> student(3).pure(2, "0.01", 1).epsilon(0).upper
        0.60735...

        Raises:
            ValueError: for noise that is not purely private.
        """
        if not self.bounded:
            raise ValueError(f"noise ({self.name}) must give pure differential privacy")
        with precision(128):
            moved = flint.arb(dimension).sqrt() * self.shift() / arb_of(positive(noise, "noise"))
            return PureDP(
                bound_of(moved + dimension * self.dilation() * arb_of(exact(smoothing, "smoothing")))
            )


def student(degrees: int) -> Coordinates:
    """Return Student's t noise with n degrees of freedom.

    The log of its density has slope at most (n+1)/(2 sqrt n), which is the cost of a shift of the noise by
    its scale. The cost of a change of the scale by the factor e is n.

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
        bounded=True,
    )


def laplace_log_normal(spread: float) -> Coordinates:
    """Return Laplace-log-normal noise: X exp(w Y) with X Laplace and Y standard normal.

    A shift of the noise by its scale costs exp(3 w^2/2). A change of the scale by the factor e costs 1/w
    (classic.smooth_log_normal).

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


@lru_cache(maxsize=64)
def _most_rho(target: Target) -> float:
    """Return a rho that is certified to meet the target, about the largest."""
    if not _within(ZCDP(2.0**-40), target):
        raise UnreachableTargetError(f"{target} cannot be met by any rho that dpproof tries.")
    return float(2.0 ** last_where(lambda place: _within(ZCDP(2.0**place), target), -40.0, 20.0)[0])


def least_coordinates(
    family: Coordinates, epsilon: Number, delta: Number, dimension: int, smoothing: Number
) -> float:
    """Return a noise scale that is certified to meet (``epsilon``, ``delta``), close to the smallest such scale.

    The proof uses zCDP or pure privacy. The noise on each of ``dimension`` coordinates is this scale times a
    smooth bound with the given ``smoothing``.

    >>> least_coordinates(student(3), 1, "1e-6", 1, "0.001"), least_coordinates(student(3), 1, "1e-6", 40, 0)
    (1.15817..., 5.2318...)

    Raises:
        UnreachableTargetError: if the smoothing alone costs more than the target.
    """
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    scales = [_concentrated(family, target, dimension, smoothing)]
    if family.bounded:
        scales.append(_purely(family, target, dimension, smoothing))
    if math.isinf(min(scales)):
        raise UnreachableTargetError(
            f"smoothing ({smoothing!r}) is too large, because no noise scale meets {target}. Use a smaller smoothing."
        )
    return min(scales)


def _concentrated(family: Coordinates, target: Target, dimension: int, smoothing: Number) -> float:
    """Return the scale by zCDP; infinite if no scale meets the target."""
    with precision(128):
        left = (2 * flint.arb(_most_rho(target))).sqrt()
        left -= flint.arb(dimension).sqrt() * family.dilation() * arb_of(exact(smoothing, "smoothing"))
        scale = round_up(family.shift() / left) if left > 0 else math.inf
    return first_step(
        lambda scale: _within(family.account(scale, smoothing, dimension), target),
        scale,
        scale * 2.0**-40,
        math.inf,
    )


def _purely(family: Coordinates, target: Target, dimension: int, smoothing: Number) -> float:
    """Return the scale by pure privacy; infinite if no scale meets the target."""
    with precision(128):
        left = arb_of(exact(target.below))
        left -= dimension * family.dilation() * arb_of(exact(smoothing, "smoothing"))
        scale = round_up(flint.arb(dimension).sqrt() * family.shift() / left) if left > 0 else math.inf
    return first_step(
        lambda scale: family.pure(scale, smoothing, dimension).epsilon(0).upper <= target.below,
        scale,
        scale * 2.0**-40,
        math.inf,
    )


def _within(found: ZCDP, target: Target) -> bool:
    return found.delta(target.below).upper <= target.delta
