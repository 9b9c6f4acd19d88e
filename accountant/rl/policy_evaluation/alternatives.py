"""Alternatives to the paper's noise for policy evaluation, and a public list of scales for exact noise.

psi is a smooth bound on the squared sensitivity, and beta its smoothing. Each kind of noise has its own
smoothing. The kinds are compared for given numbers of visits. ``Ladder`` rounds psi up to a number of a
public list, a rung, so the released noise has an exact rational variance. The rungs are L_0 < L_1 < .... L_0
is called ``floor``, and L_j is about ``floor`` times r^j, with r^64 = e^beta. The smallest rung that is at
least psi replaces psi. If psi changes by at most the factor e^beta between neighbours, its rung moves by at
most 64 places, so the rung also changes by at most e^beta. Rounding up therefore preserves the smoothness.
Section 6 of docs/notes/policy_evaluation.md has the proof for the computed numbers, with all rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision
from dpproof.accountant.rl.policy_evaluation.bounds import MOST_BETA, SmoothBound
from dpproof.accountant.rl.policy_evaluation.noise import descent, jointly, printed
from dpproof.accountant.smooth_sensitivity.coordinates import (
    Coordinates,
    laplace_log_normal,
    least_coordinates,
    student,
)
from dpproof.accountant.smooth_sensitivity.laplace import ACCOUNTANT as LAPLACE
from dpproof.accountant.smooth_sensitivity.laplace import SmoothLaplaceParameters

_DEGREES = (3, 4, 5, 10, 30)
_SPREADS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
_PLACES = range(-12, 9)


@dataclass(frozen=True)
class Alternative:
    """A kind of noise that meets a privacy target for policy evaluation, and its standard deviation.

    psi is the smooth bound on the squared sensitivity.

    Attributes:
        name: the name of the noise.
        beta: the smoothing: log psi changes by at most beta between neighbours.
        deviation: standard deviation of the noise on one coordinate, in the unit of sqrt(psi).
    """

    name: str
    beta: float
    deviation: float


def alternatives(epsilon: Number, delta: Number, dimension: int, bound: SmoothBound) -> list[Alternative]:
    """Return the paper's Gaussian noise, the exact Gaussian noise, and the best noise of every other kind.

    Each kind of noise meets (``epsilon``, ``delta``). They are compared for ``bound``, a smooth bound on the
    squared sensitivity. Student's t and Laplace-log-normal noise are certified through zCDP, and Student's t
    also as purely private (docs/notes/policy_evaluation.md, section 4). Laplace noise is certified exactly,
    but is listed for one feature only. If no smoothing that was tried meets the target, ``deviation`` is
    infinite.

    >>> from dpproof.accountant.rl.policy_evaluation.bounds import WeightedBound
    >>> visits = WeightedBound([3000], [1.0])
    >>> [round(x.deviation * 3000, 2) for x in alternatives(1, "1e-6", 1, visits)][:2]
    [26.93, 4.45]
    """
    theirs, ours = printed(epsilon, delta, dimension), jointly(epsilon, delta, dimension, bound)
    found = [
        Alternative("Gaussian, printed", theirs.beta, theirs.deviation(bound)),
        Alternative("Gaussian, exact", ours.beta, ours.deviation(bound)),
    ]
    root = _shift_budget(epsilon, delta)
    for families in ([student(n) for n in _DEGREES], [laplace_log_normal(w) for w in _SPREADS]):
        proposed = [
            (
                _proposed(family, theirs.beta * 2.0**place, float(exact(epsilon)), root, dimension, bound),
                n,
                place,
            )
            for n, family in enumerate(families)
            for place in _PLACES
        ]
        _, n, place = min(proposed)
        found.append(_tried(families[n], theirs.beta * 2.0**place, epsilon, delta, dimension, bound))
    if dimension == 1:
        known: dict[int, Alternative] = {}

        def at(place: int) -> float:
            known[place] = _laplace(theirs.beta * 2.0**place, epsilon, delta, bound)
            return known[place].deviation

        found.append(known[descent(at, (-4, -12, 4), (-12, 8))[0]])
    return found


def _shift_budget(epsilon: Number, delta: Number) -> float:
    """Return sqrt(2 rho) of the largest rho that meets the target, from the scale for a constant bound."""
    family = laplace_log_normal(1.0)
    with precision(64):
        return float(family.shift()) / least_coordinates(family, epsilon, delta, 1, 0)


def _proposed(
    family: Coordinates, beta: float, epsilon: float, root: float, dimension: int, bound: SmoothBound
) -> float:
    """Estimate the deviation, for a choice that is certified later; infinite if no choice is private."""
    with precision(64):
        shift, dilation = float(family.shift()), float(family.dilation()) * beta / 2
    left = root - math.sqrt(dimension) * dilation
    scales = [shift / left] if left > 0 else []
    if family.bounded and (rest := epsilon - dimension * dilation) > 0:
        scales.append(math.sqrt(dimension) * shift / rest)
    try:
        return min(scales, default=math.inf) * family.deviation * math.sqrt(bound.squared(beta))
    except ValueError:  # too little smoothing to compute with
        return math.inf


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


STEPS = 64
"""The steps of ``Ladder`` for a factor of e^beta. Rounding up multiplies the noise by at most e^(beta/128)."""
_BITS = 128


@dataclass(frozen=True)
class Ladder:
    """A public list of growing rational numbers, called rungs, to which a smooth bound psi is rounded up.

    Attributes:
        floor: the lowest rung, above 0. It is public, and psi is never below it.
        beta: the smoothing, above 0: log psi changes by at most beta between neighbours.
        allowance: t, the room for rounding, above 2^-45. The logarithm of the computed psi changes by at most
            beta - 3t/2 between neighbours.

    >>> Ladder(Fraction(1, 100), 0.5, 1e-12).at_least(0.5)
    (501, Fraction(...))
    """

    floor: Fraction
    beta: float
    allowance: float

    def at_least(self, bound: float) -> tuple[int, Fraction]:
        """Return index and value of the smallest rung that is at least ``bound``. Both reveal private data."""
        wanted = Fraction(bound)
        ratio = max(wanted / self.floor, Fraction(1))
        guess = math.log(ratio.numerator) - math.log(ratio.denominator)
        place = max(0, math.ceil(guess * STEPS / float(self._rate)))
        while self.rung(place) < wanted:
            place += 1
        while place > 0 and self.rung(place - 1) >= wanted:
            place -= 1
        return place, self.rung(place)

    def rung(self, place: int) -> Fraction:
        """Return the rung with the index ``place``, rounded down to 128 bits."""
        with precision(4 * _BITS):
            power = arb_of(self._rate * place / STEPS).exp() * arb_of(self.floor)
            assert power.rel_accuracy_bits() > 2 * _BITS, "Arb encloses it closely"
            return _cut(power.mid())

    @property
    def _rate(self) -> Fraction:
        """The logarithm of 64 steps: ``allowance`` below beta, and above the largest change of log psi."""
        return Fraction(min(self.beta, MOST_BETA)) - Fraction(self.allowance)


def _cut(value: flint.arb) -> Fraction:
    """Return the largest number of 128 bits that is at most an exact one."""
    mantissa, exponent = value.man_exp()
    found = int(mantissa)
    spare = max(found.bit_length() - _BITS, 0)
    return (found >> spare) * Fraction(2) ** (int(exponent) + spare)
