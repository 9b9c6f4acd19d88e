"""The guarantee of a mechanism that fails with a known probability, and keeps another guarantee otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.guarantees.profile import Profile, ends_of
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_BITS = 192


@dataclass(frozen=True)
class WithFailure(Profile):
    """The composition of a guarantee with (0, failure)-DP: delta(epsilon) = failure + (1 - failure) inner(epsilon).

    It is what `dpproof.accountant.theorems.mixed_composition.compose_guarantees` returns for ``inner`` and
    ``ApproxDP(0, failure)``, in closed form (docs/notes/found_support.md).

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> found = WithFailure(GaussianDP(1), "1e-6")
    >>> found.delta(1).upper > GaussianDP(1).delta(1).upper, found.epsilon("1e-6").upper
    (True, inf)
    """

    inner: Profile
    failure: Number | Bound

    def __post_init__(self) -> None:
        for end in ends_of(self.failure, "failure"):
            if end > 1:
                raise ValueError(f"failure ({self.failure!r}) must be in [0, 1]")

    def _delta_at(self, point: Fraction) -> Bound:
        found = self.inner.delta(point)
        low, high = ends_of(self.failure, "failure")
        with precision(_BITS):
            least = arb_of(low + (1 - low) * exact(found.lower))
            most = arb_of(high + (1 - high) * exact(found.upper))
            return Bound(max(round_down(least), 0.0), min(round_up(most), 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        low, high = (self._inner_epsilon(end, target) for end in ends_of(self.failure, "failure"))
        return Bound(low.lower, high.upper)

    def sharing(self, rough: Number = 0) -> WithFailure:
        """Return the same guarantee as an object whose answers share work; see ``Profile.sharing``."""
        return WithFailure(self.inner.sharing(rough), self.failure)

    @property
    def convex(self) -> bool:
        """Whether delta is known to be convex in e^epsilon: if it is for the inner guarantee."""
        return self.inner.convex

    @property
    def two_sided(self) -> bool:
        """Whether delta is known to be convex at epsilon 0, too: if it is for the inner guarantee."""
        return self.inner.two_sided

    def _inner_epsilon(self, failure: Fraction, target: Fraction) -> Bound:
        if target < failure:
            return Bound(math.inf, math.inf)
        return self.inner.epsilon((target - failure) / (1 - failure))
