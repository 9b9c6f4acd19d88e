"""``Between``: a guarantee whose lower bound comes from one pair of neighbours, and noise scaled by a square root."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_BITS = 128


@dataclass(frozen=True)
class Between(Profile):
    """The guarantee of a mechanism with one theorem as the upper bound and one pair of neighbours as the lower bound.

    The bounds enclose the supremum over all pairs of neighbours. ``pair`` describes the pair of ``least`` in words.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> Between(GaussianDP(1), GaussianDP(2), "a pair").delta(0).of
    'mechanism'
    """

    least: Profile
    most: Profile
    pair: str

    def _delta_at(self, point: Fraction) -> Bound:
        return self._between(self.least.delta(point), self.most.delta(point))

    def _epsilon_at(self, target: Fraction) -> Bound:
        return self._between(self.least.epsilon(target), self.most.epsilon(target))

    def sharing(self, rough: Number = 0) -> Between:
        """Return the same guarantee as an object whose answers share work; see ``Profile.sharing``."""
        return Between(self.least.sharing(rough), self.most.sharing(rough), self.pair)

    def _between(self, least: Bound, most: Bound) -> Bound:
        return Bound(min(least.lower, most.upper), most.upper, "mechanism", self.pair)


def divided(noise: float, square: Fraction) -> tuple[float, float]:
    """Return doubles on both sides of ``noise`` divided by the square root of ``square``, equal if it is a double.

    >>> divided(3.0, Fraction(4))
    (1.5, 1.5)
    """
    with precision(_BITS):
        found = arb_of(exact(noise)) / arb_of(square).sqrt()
        low, high = round_down(found), round_up(found)
    for end in (low, high):
        if exact(end) ** 2 * square == exact(noise) ** 2:
            return end, end
    return low, high
