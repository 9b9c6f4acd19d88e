"""The tightest certified answer, where several guarantees are known of one mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpproof.accountant.guarantees.notions import Guarantee
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number

__all__ = ["BestOf"]


@dataclass(frozen=True)
class BestOf:
    """All of ``routes`` hold of one mechanism, for the same neighbours: the smallest answer counts.

    The bounds enclose the least of the routes' optima: each end is the least of the routes' ends. What the
    routes imply together (the supremum of their trade-off functions made convex) may be smaller still.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> both = BestOf((GaussianDP(1), ApproxDP(2, 0)))
    >>> both.epsilon(0).upper, both.epsilon("0.1").upper
    (2.0, 1.16033)

    Raises:
        ValueError: if there is no route.
    """

    routes: tuple[Guarantee, ...]

    def __post_init__(self) -> None:
        if not self.routes:
            raise ValueError("routes (()) must hold at least one guarantee")

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        return self._least(lambda route: route.delta(epsilon))

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        return self._least(lambda route: route.epsilon(delta))

    def _least(self, ask: Callable[[Guarantee], Bound]) -> Bound:
        found = [ask(route) for route in self.routes]
        return Bound(min(bound.lower for bound in found), min(bound.upper for bound in found))
