"""The pair of a sum with Gaussian noise and a random contribution, which dp-accounting calls a mixture of Gaussians.

With the record, the output is the mixture of N(c_i, sigma^2) with the weights p_i, and without it N(0, sigma^2).
If no c_i is negative, the likelihood ratio grows with the output. So the sets that are easiest to tell apart are
half-lines, and delta is a difference of two probabilities of a half-line. A mixture of N(0, sigma^2) and one other
Gaussian is a Poisson sample, and has the exact pair. Others get a pair with finitely many losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import enclose, sign_change
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian

_BITS = 160


@dataclass(frozen=True)
class MixtureProfile(Profile):
    """The privacy profile of a mixture of Gaussians against N(0, 1), or of N(0, 1) against the mixture.

    ``shifts`` are the means of the components, at least 0, and ``weights`` their probabilities. If ``removes`` is true,
    the first law is the mixture.
    """

    shifts: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    removes: bool

    def _delta_at(self, point: Fraction) -> Bound:
        with precision(_BITS):
            log = arb_of(point if self.removes else -point)
            place = self._place(log)
            if place is None:
                return Bound(0.0, 0.0)
            side = 1 if self.removes else -1
            mixed = self._total(lambda shift: normal_tail(side * (place - shift)))
            plain = normal_tail(side * place)
            first, second = (mixed, plain) if self.removes else (plain, mixed)
            found = first - arb_of(point).exp() * second
            return Bound(max(round_down(found), 0.0), min(max(round_up(found), 0.0), 1.0))

    def _place(self, log: flint.arb) -> flint.arb | None:
        """Return an interval around the output whose log-likelihood ratio is ``log``; None if it is always larger."""
        least = self._total(lambda shift: flint.arb(0 if shift > 0 else 1))
        if least > 0 and not least.log() < log:
            return None

        def gap(place: float) -> float:
            ratio = self._total(lambda shift: (shift * (flint.arb(place) - shift / 2)).exp()).log()
            return 1.0 if ratio < log else -1.0 if ratio > log else 0.0

        reach = 1.0
        while gap(-reach) < 0:
            reach *= 2
        low, high = enclose(lambda at: gap(at - reach), reach, 1e-9, 1e9)
        low, high = sign_change(
            lambda at: gap(at - reach), low, high, at=(gap(low - reach), gap(high - reach))
        )
        low, high = low - reach, high - reach
        margin = 1e-14 * (1 + abs(low) + reach)
        while not (gap(low) > 0 > gap(high)):
            low, high, margin = low - margin, high + margin, 2 * margin
        return flint.arb(low).union(flint.arb(high))

    def _total(self, value: Callable[[flint.arb], flint.arb]) -> flint.arb:
        """Return the mean of a function of the shift."""
        pairs = zip(self.shifts, self.weights, strict=True)
        return sum((arb_of(weight) * value(arb_of(shift)) for shift, weight in pairs), flint.arb(0))


def mixture_pair(deviation: float, shifts: Sequence[float], weights: Sequence[float]) -> DominatingPair:
    """Return the pair of a mixture of N(shift, deviation^2) with these weights, against N(0, deviation^2).

    >>> mixture_pair(2.0, [0.0, 1.0], [0.75, 0.25])
    SubsampledGaussian(rate=0.25, noise_multiplier=2.0, ...)

    Raises:
        ValueError: for a deviation that is not above 0, negative shifts or weights, or weights whose sum is not 1.
    """
    if not 0 < deviation < math.inf:
        raise ValueError(f"standard_deviation ({deviation!r}) must be above 0 and finite")
    if len(shifts) != len(weights) or not shifts:
        raise ValueError("sensitivities and sampling_probs must have the same length, at least 1")
    merged: dict[Fraction, Fraction] = {}
    for shift, weight in zip(shifts, weights, strict=True):
        at, mass = exact(shift, "sensitivity"), exact(weight, "sampling_prob")
        if at < 0 or mass < 0:
            raise ValueError(f"sensitivity ({shift!r}) and sampling_prob ({weight!r}) must be at least 0")
        merged[at] = merged.get(at, Fraction(0)) + mass
    total = sum(merged.values(), Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):
        raise ValueError(f"sampling_probs (sum {float(total)!r}) must add up to 1")
    moved = {at: mass for at, mass in merged.items() if at and mass}
    rest = max(1 - sum(moved.values(), Fraction(0)), Fraction(0))
    if len(moved) == 1 and (noise := _noise(deviation, *moved)) and _is_double(*moved.values()):
        return SubsampledGaussian(min(float(*moved.values()), 1.0), noise)
    scale = sum(moved.values(), rest)
    sides = [
        MixtureProfile(
            (Fraction(0), *(at / exact(deviation) for at in moved)),
            (rest / scale, *(mass / scale for mass in moved.values())),
            removes,
        )
        for removes in (True, False)
    ]
    return dominating_pair(*sides, points=128, smallest=1e-20)


def _noise(deviation: float, shift: Fraction) -> float:
    """Return the deviation in units of the shift, rounded down."""
    with precision(_BITS):
        return round_down(arb_of(exact(deviation) / shift))


def _is_double(weight: Fraction) -> bool:
    return Fraction(float(weight)) == weight
