"""A composed loss that is bounded: exact where the bound itself is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.guarantees.notions import Guarantee, PureDP
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import Number, exact

__all__ = ["BoundedLoss", "Enclosed"]


@dataclass(frozen=True)
class BoundedLoss:
    """A composition whose largest possible loss is ``most``, which is attained: pure differential privacy.

    The numerical notion answers wherever delta is above 0 and epsilon below ``most``.

    >>> BoundedLoss(Fraction(10), PureDP(10)).epsilon(0), BoundedLoss(Fraction(10), PureDP(10)).delta(10)
    (Bound(lower=10.0, upper=10.0, ...), Bound(lower=0.0, upper=0.0, ...))
    """

    most: Fraction
    loss: Guarantee

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        return exactly(0.0) if exact(epsilon, "epsilon") >= self.most else self.loss.delta(epsilon)

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        pure = PureDP(self.most).epsilon(0)
        if exact(delta, "delta") == 0:
            return pure
        found = self.loss.epsilon(delta)
        return Bound(min(found.lower, pure.upper), min(found.upper, pure.upper))


@dataclass(frozen=True)
class Enclosed:
    """A guarantee known between two others: one at least as private, one at most as private."""

    more: Guarantee
    less: Guarantee

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        return Bound(self.more.delta(epsilon).lower, self.less.delta(epsilon).upper)

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        return Bound(self.more.epsilon(delta).lower, self.less.epsilon(delta).upper)
