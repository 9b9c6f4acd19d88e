"""``EnclosedLoss``: the guarantee of a composition that is known only to lie between two compositions.

The pairs list outcomes whose privacy losses are on a grid, or close to its points. A much finer grid adds nothing. So
each composition uses a few grids with steps near that of the pair's own grid, and the best certified bound counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Protocol, runtime_checkable

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number
from dpproof.accountant.numbers.inversion import check_least, neighbours
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.by_grid import Composed, compose
from dpproof.accountant.privacy_loss.grid import StepTooSmallError
from dpproof.accountant.privacy_loss.loss_sums import Window
from dpproof.accountant.privacy_loss.planning import GridTooLargeError, Plan, plan
from dpproof.accountant.privacy_loss.single import delta_of_pair, epsilon_of_pair

Ends = tuple[float, float]
Grids = tuple[tuple[float, int], ...]
_ACCURACY, _POINTS, _LARGEST, _RARE = 1e-4, 2**17, 2**18, 1e-6
_ABOVE = tuple(product((1.0,), (1, 4, 16)))
_BELOW = tuple(product((1.0, 2.0, 0.0625), (1, 4)))
"""The grids that are tried: the step, in steps of the pair's own grid, and the tilt, in tilts of the plan."""
_DELTAS = (0.1, 1e-3, 1e-5, 1e-7, 1e-10, 1e-15)


@runtime_checkable
class OnGrid(DominatingPair, Protocol):
    """A dominating pair whose privacy losses are on a grid, or close to its points."""

    @property
    def lattice(self) -> float:
        """The distance between two points of the grid."""
        ...

    @property
    def origin(self) -> float:
        """A point of the grid."""
        ...


@dataclass(frozen=True)
class EnclosedLoss(Profile):
    """The guarantee of ``count`` compositions of a mechanism that is enclosed by pairs.

    The delta of each pair of ``below``, and of its compositions, is at most that of the mechanism. The largest delta
    of the pairs of ``above`` is at least that of the mechanism, and the same holds for their compositions.
    """

    below: tuple[DominatingPair, ...]
    above: tuple[DominatingPair, ...]
    count: int
    coarse: bool = False
    """Whether delta is read from a few compositions that are made once. This suits many questions about delta."""
    known: Profile | None = None
    """Another guarantee of the composition. The smaller one of two upper bounds counts."""
    _memo: dict[DominatingPair, list[Composed]] = field(default_factory=dict, repr=False, compare=False)

    def sharing(self, rough: Number = 0) -> EnclosedLoss:
        """Return the same guarantee with coarse deltas. With a ``rough`` above 0, narrow deltas are needed: itself."""
        return self if rough else replace(self, coarse=True)

    def _delta_at(self, point: Fraction) -> Bound:
        low, high = neighbours(point)

        def delta(pair: DominatingPair, grids: Grids) -> Ends:
            if self.count == 1:
                return delta_of_pair(pair, point)
            found = self._made(pair, grids) if self.coarse else self._near(pair, grids, low)
            return max(one.lower(high) for one in found), min(1.0, *(one.upper(low) for one in found))

        return self._ends(delta, 1.0 if self.known is None else self.known.delta(point).upper)

    def _epsilon_at(self, target: Fraction) -> Bound:
        if target == 0:
            return Bound(0.0, math.inf)
        check_least(target)

        def epsilon(pair: DominatingPair, grids: Grids) -> Ends:
            if self.count == 1:
                return epsilon_of_pair(pair, target)
            found = [one.epsilon(target) for one in self._composed(pair, grids, delta=float(target))]
            return max(low for low, _ in found), min(high for _, high in found)

        return self._ends(epsilon, math.inf if self.known is None else self.known.epsilon(target).upper)

    def _ends(self, ask: Callable[[DominatingPair, Grids], Ends], most: float) -> Bound:
        low = max((ask(pair, _BELOW)[0] for pair in self.below), default=0.0)
        high = min(max((ask(pair, _ABOVE)[1] for pair in self.above), default=most), most)
        return Bound(min(low, high), high)

    def _near(self, pair: DominatingPair, grids: Grids, epsilon: float) -> list[Composed]:
        """Return compositions that are narrow near an epsilon, or those of ``_made`` where no grid reaches it."""
        try:
            return list(self._composed(pair, grids, epsilon=epsilon))
        except GridTooLargeError:
            return self._made(pair, grids)

    def _made(self, pair: DominatingPair, grids: Grids) -> list[Composed]:
        """Return compositions for a few deltas. Each is certified at every epsilon, and narrow near its own."""
        if pair not in self._memo:
            self._memo[pair] = [
                one for delta in _DELTAS for one in self._composed(pair, grids[:2], delta=delta)
            ]
        return self._memo[pair]

    def _composed(
        self,
        pair: DominatingPair,
        grids: Grids,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> Iterator[Composed]:
        """Yield certified bounds, each on another grid. The first one is on the grid of the general plan."""
        parts = [(pair, self.count)]
        found = plan(parts, epsilon=epsilon, delta=delta, accuracy=_ACCURACY, points=_POINTS)
        first = compose(parts, found)
        yield first
        if epsilon is not None:
            delta = first.lower(epsilon) or first.upper(epsilon)
        if not isinstance(pair, OnGrid):
            return
        for times, steeper in grids:
            own = _on_own_grid(found, pair, times, _RARE * (delta or 1.0) / self.count, self.count)
            if own.window.size > _LARGEST:
                continue
            try:
                yield compose(parts, replace(own, tilt=own.tilt * steeper))
            except StepTooSmallError:
                continue


def _on_own_grid(planned: Plan, pair: OnGrid, times: float, rare: float, count: int) -> Plan:
    """Return a plan with a window four times as long, whose step is ``times`` that of the grid of ``pair``.

    The range of the losses of one pair has all but the probability ``rare`` on either side.
    """
    step, place = times * pair.lattice, pair.origin
    origin = place - step * math.floor(place / step)
    old, moved = planned.step, count * (planned.origins[0] - origin)
    low, high = (moved + end * old for end in (planned.window.first, planned.window.end))
    least, most = (math.floor((end - origin) / step) for end in pair.loss_range())
    points = np.asarray(np.arange(least - 1, most + 2) * step + origin, dtype=np.float64)
    masses = pair.cells(points).p
    below = int(np.searchsorted(np.cumsum(masses), rare))
    above = int(np.searchsorted(np.cumsum(masses[::-1]), rare))
    size = 1 << math.ceil(math.log2((high - low) / step + 8))
    first = math.floor(low / step) - 1 - size - size // 2
    return replace(
        planned,
        step=step,
        ranges=((least - 2 + below, most + 2 - above),),
        origins=(origin,),
        window=Window(first, 4 * size),
        start=max(first, math.floor((planned.start * old + moved) / step)),
    )
