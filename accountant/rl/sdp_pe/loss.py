"""The exact loss of one batch's changed counters, by whichever certified route says most.

``changes`` counters fall by one and as many rise. Three routes, each sound everywhere: the sum of all
counters where bits are fair (``fair_counters``), what is certain and Chernoff's bound where noise bits are
rare (``rare_counters``), and the engine's grid of losses. The first two take milliseconds and are asked
first; the grid is asked where they leave more than a thousandth open and it has room.

Source: docs/notes/sdp_batches.md, sections 1 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.privacy_loss.crossing import check_least, crossing
from dpproof.accountant.shuffling.fair_counters import fair_counters
from dpproof.accountant.shuffling.rare_counters import certain_mass, rare_counters

if TYPE_CHECKING:
    from dpproof.accountant.privacy_loss.notion import PrivacyLoss

__all__ = ["BatchLoss"]

_WIDE = 1e-3
_WIDEST = 3e9
"""The largest variance of a counter's noise that the grid is asked about."""
_RAREST = Fraction(1, 10**200)
_FAIR = Fraction(1, 2)


@dataclass(frozen=True)
class BatchLoss:
    """The guarantee of counters whose noise has Binomial(trials, probability) bits each.

    >>> BatchLoss(1, 5000, Fraction(9, 100)).delta("0.5").upper < 1e-6
    True

    Attributes:
        changes: counters that fall by one; as many rise.
        trials: noise bits of a counter.
        probability: of a noise bit to be 1, in (0, 1).
    """

    changes: int
    trials: int
    probability: Fraction

    @property
    def composed(self) -> PrivacyLoss:
        """The same as dominating pairs, one of each direction, for the engine."""
        from dpproof.accountant.pairs.binomial import ShiftedBinomial
        from dpproof.accountant.pairs.shuffled_binary import ShuffledBinary
        from dpproof.accountant.privacy_loss.notion import PrivacyLoss

        # Fair bits have two equal directions. As two kinds of pair they stay apart, and the engine uses one
        # grid for both: split by rare jumps they would take ten times as long for the same few digits.
        falls = ShiftedBinomial(self.trials, self.probability)
        rises = ShuffledBinary(self.trials, 1 - self.probability)
        return PrivacyLoss([[(falls, self.changes), (rises, self.changes)]])

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point = exact(epsilon, "epsilon")
        if point < 0:
            raise ValueError(f"epsilon ({epsilon!r}) must be at least 0")
        low, high = self._quick(point)
        if high - low > _WIDE * high and (found := self._by_grid(lambda loss: loss.delta(point))):
            low, high = max(low, found.lower), min(high, found.upper)
        return Bound(low, high)

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``; infinite below the chance of a counter that reveals the user."""
        target = exact(delta, "delta")
        if not 0 <= target < 1:
            raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
        if certain_mass(self.changes, self.trials, self.probability)[0] > target or target == 0:
            return Bound(math.inf, math.inf)
        check_least(target)
        ends = [lambda e, side=side: self._quick(Fraction(e))[side] for side in (0, 1)]
        low, high = crossing(ends[0], ends[1], target)
        if high > (1 + _WIDE) * low and (found := self._by_grid(lambda loss: loss.epsilon(target))):
            low, high = max(low, found.lower), min(high, found.upper)
        return Bound(low, high)

    def _quick(self, epsilon: Fraction) -> tuple[float, float]:
        """Ends by the route that fits the noise."""
        if self.probability == _FAIR:
            return fair_counters(2 * self.changes, self.trials, epsilon)
        return rare_counters(self.changes, self.trials, self.probability, epsilon)

    def _by_grid(self, ask: Callable[[PrivacyLoss], Bound]) -> Bound | None:
        """The engine's answer; None where it has no room for one."""
        chance = self.probability
        if self.trials * chance * (1 - chance) > _WIDEST or not _RAREST < chance < 1 - _RAREST:
            return None
        try:
            return ask(self.composed)
        except MemoryError:
            return None
