"""A composed loss whose largest value may be known between two doubles only: pure privacy at delta 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.guarantees.notions import Guarantee, PureDP
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import Number, exact

__all__ = ["CappedLoss"]


@dataclass(frozen=True)
class CappedLoss:
    """A composition whose largest loss is ``most``, and is attained.

    >>> CappedLoss(Bound(1.0, 1.5), PureDP(1)).epsilon(0)
    Bound(lower=1.0, upper=1.5, ...)
    """

    most: Fraction | Bound
    loss: Guarantee

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point, most = exact(epsilon, "epsilon"), self._pure()
        if point >= (self.most if isinstance(self.most, Fraction) else most.upper):
            return exactly(0.0)
        found = self.loss.delta(epsilon)
        return found if point < most.lower else Bound(0.0, found.upper)

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        pure = self._pure()
        if exact(delta, "delta") == 0:
            return pure
        found = self.loss.epsilon(delta)
        return Bound(min(found.lower, pure.lower), min(found.upper, pure.upper))

    def _pure(self) -> Bound:
        return PureDP(self.most).epsilon(0)
