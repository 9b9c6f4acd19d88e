"""Pairs of neighbouring datasets with an event whose probabilities on both of them are exact.

So P[event] - exp(epsilon) Q[event] is a certified lower bound on the delta of the algorithm. No random number is drawn.
The pairs themselves are in ``private_sizes``. Source: docs/notes/opacus_divisor.md, section 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import ClassVar

import flint

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.dp_sgd import DPSGDParameters, account
from dpproof.accountant.numbers.binomial import mass
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

DELTA = Fraction(1, 100_000)
"""The delta at which epsilon is reported."""
EXACT_DEGREES = 2_000
"""The most degrees of freedom whose chi-square probabilities are computed; with more, they are bounded."""
_BITS = 256
Masses = tuple[flint.arb, flint.arb]
"""The probabilities of the event on the first and on the second dataset."""


@dataclass(frozen=True)
class PrivatePair(ABC):
    """Two neighbouring datasets of a training by Opacus, and an event that is much more likely on the first one.

    Attributes:
        setting: the configuration of Opacus.
        first: the first dataset.
        second: the second dataset.
        released: the number that is computed from what Opacus releases.
        small: whether the event is that this number is at most `threshold`; otherwise it is at least `threshold`.
    """

    kind: ClassVar[str]
    setting: ClassVar[str]
    first: ClassVar[str]
    second: ClassVar[str]
    released: ClassVar[str]
    small: ClassVar[bool]

    @property
    @abstractmethod
    def claim(self) -> DPSGDParameters:
        """The training that Opacus's accountants account for; the less private one if the two datasets differ in it."""

    @property
    @abstractmethod
    def threshold(self) -> Fraction:
        """The number with which the released one is compared; see `event`."""

    @property
    def event(self) -> str:
        """The event, in words."""
        return f"{self.released} is at {'most' if self.small else 'least'} {float(self.threshold):g}"

    def happens(self, released: float) -> bool:
        """Return whether the event happens if this number is released."""
        return released <= self.threshold if self.small else released >= self.threshold

    @abstractmethod
    def masses(self) -> Masses:
        """Return the probabilities of the event on the two datasets, at the current working precision."""

    @property
    def guarantee(self) -> Profile:
        """The guarantee of the training that the accountants account for: what Opacus reports, but certified."""
        return account(self.claim, Adjacency.ADD_REMOVE).guarantee

    def delta(self, epsilon: Number) -> Bound:
        """Return bounds on P[event] - exp(epsilon) Q[event], which is a lower bound on the true delta."""
        with precision(_BITS):
            first, second = self.masses()
            found = first - arb_of(exact(epsilon)).exp() * second
            return Bound(max(round_down(found), 0.0), max(round_up(found), 0.0))

    def epsilon(self, delta: Number = DELTA) -> float:
        """Return a certified lower bound on the true epsilon at ``delta``. It is 0 if the event shows nothing."""
        with precision(_BITS):
            first, second = self.masses()
            above = first - arb_of(exact(delta))
            return max(round_down((above / second.upper()).log()), 0.0) if above > 0 else 0.0

    def as_json(self) -> dict[str, object]:
        """Return the pair as JSON data for `private_sizes.read`."""
        return {"kind": self.kind, **asdict(self)}


def average(trials: int, rate: Fraction, of: Callable[[int], flint.arb]) -> flint.arb:
    """Return the mean of a function of a binomial count."""
    return sum((mass(trials, rate, k) * of(k) for k in range(trials + 1)), flint.arb(0))


def middle_of(first: int, second: int) -> Fraction:
    """Return the mean of the variances of a standard normal over one or the other divisor."""
    return (Fraction(1, first**2) + Fraction(1, second**2)) / 2


def narrower(degrees: int, first: int, second: int) -> Masses:
    """Return the probabilities that squares of normals over a divisor add up to at most ``degrees`` times `middle_of`.

    There are ``degrees`` standard normals, and the two divisors are ``first`` and ``second``.
    """
    middle = middle_of(first, second)
    return chi_square(degrees, middle * first**2), chi_square(degrees, middle * second**2)


def chi_square(degrees: int, level: Fraction) -> flint.arb:
    """Return the probability that a chi-square variable is at most ``level`` times its mean; an enclosure.

    With many degrees it is enclosed by Chernoff's bound exp(-(level - 1 - log level) degrees/2) on the smaller tail.
    """
    with precision(_BITS + 2 * min(degrees, EXACT_DEGREES)):  # the function loses digits as the degrees grow
        half, ratio = flint.arb(degrees) / 2, arb_of(level)
        if degrees <= EXACT_DEGREES:
            return 1 - (ratio * half).gamma_upper(half, regularized=1)
        tail = (-(ratio - 1 - ratio.log()) * half).exp()
        return flint.arb(0).union(tail) if level < 1 else (1 - tail).union(flint.arb(1))
