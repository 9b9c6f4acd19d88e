"""One round of the release as a pair with one loss each way and a failure, and T of them, exactly.

docs/notes/expert_accounting.md, sections 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    bound_of,
    exact,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.numbers.inversion import bracket, refined
from dpproof.accountant.rl.expert.design import Design, rare_top
from dpproof.accountant.theorems.composition.coins import upper_tail

__all__ = ["Rounds", "round_losses"]

_BITS = 256


def round_losses(design: Design, least_probability: float, experts: int) -> tuple[Bound, Bound, Bound]:
    """One round's largest loss when an expert goes, when one comes, and the chance of failure in the former.

    >>> design = Design(threshold_scale=20.0, count_scale=40.0, least_count=12.0, cutoff=1300.0)
    >>> gone, come, failure = round_losses(design, 0.02, 2999)
    >>> gone.upper, come.upper, failure.upper
    (0.162011, 0.025333, 1.673999e-08)

    Raises:
        ValueError: for a least count of 1 or less, where one expert may be all of it.
    """
    if design.least_count <= 1:
        raise ValueError(f"least count ({design.least_count!r}) must be above 1: more noise is needed")
    with precision(_BITS):
        threshold, count = (1 / arb_of(exact(x)) for x in (design.threshold_scale, design.count_scale))
        drawn = -(-(1 / arb_of(exact(design.least_count)))).log1p()
        come = count + (1 / arb_of(Fraction(experts))).log1p()
        failure = rare_top(design, least_probability)
        return bound_of(threshold + count + drawn), bound_of(come), bound_of(failure)


@dataclass(frozen=True)
class Rounds:
    """``rounds`` adaptive rounds whose losses are at most ``gone`` and at least -``come``, but for a failure.

    Of all such rounds the pair with only these two losses, and a mass ``failure`` of what only the larger set
    shows, loses most at every epsilon. If j rounds lose ``gone``, the others gain ``come``: both hockey
    sticks are differences of binomial tails.

    >>> Rounds(25, Fraction(1, 10), Fraction(1, 10), Fraction(0)).epsilon("1e-4").upper
    1.639379

    Raises:
        ValueError: unless both losses are above 0 and the failure below 1 - exp(-come).
    """

    rounds: int
    gone: Fraction
    come: Fraction
    failure: Fraction

    def __post_init__(self) -> None:
        with precision(_BITS):
            room = -((-arb_of(self.come)).expm1()) - arb_of(self.failure)
        if not (self.gone > 0 and self.come > 0 and self.failure >= 0 and room > 0):
            raise ValueError(
                f"failure ({float(self.failure)!r}) must be below a round's least loss; raise the cutoff"
            )

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point = exact(epsilon, "epsilon")
        if point < 0:
            raise ValueError(f"epsilon ({epsilon!r}) must be at least 0")
        found = [refined(lambda side=side: side(point)) for side in self._sides()]  # type: ignore[misc] # bound now
        return Bound(
            max(max(round_down(x) for x in found), 0.0), min(max(max(round_up(x) for x in found), 0.0), 1.0)
        )

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        target = exact(delta, "delta")
        if not 0 <= target < 1:
            raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
        lost = refined(self._lost)
        if not lost < arb_of(target):
            low = math.inf if lost > arb_of(target) else float(self.rounds * self.gone) * (1 - 1e-15)
            return Bound(low, math.inf)
        ends = [bracket(side, target, start=max(float(self.gone), 1e-6)) for side in self._sides()]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))

    def _sides(self) -> tuple[Callable[[Fraction], flint.arb], Callable[[Fraction], flint.arb]]:
        return self._gone, self._come

    def _lost(self) -> flint.arb:
        """The chance of a failure in some round, without cancellation."""
        return -((self.rounds * (-arb_of(self.failure)).log1p()).expm1())

    def _odds(self) -> tuple[flint.arb, flint.arb]:
        """Of the larger loss against the smaller one, for the larger set (no failure) and for the smaller."""
        low, high = (-arb_of(self.come)).exp(), arb_of(self.gone).exp()
        rare = (1 - low - arb_of(self.failure)) / (high - low)
        return high * rare / (low * (1 - rare)), rare / (1 - rare)

    def _gone(self, point: Fraction) -> flint.arb:
        """The hockey stick of the larger set against the smaller one."""
        first = (point + self.rounds * self.come) // (self.gone + self.come) + 1
        larger, smaller = (upper_tail(self.rounds, odds, int(first)) for odds in self._odds())
        lost = self._lost()
        return lost + (1 - lost) * larger - arb_of(point).exp() * smaller

    def _come(self, point: Fraction) -> flint.arb:
        """The hockey stick of the smaller set against the larger one: rounds that gain are counted."""
        first = (point + self.rounds * self.gone) // (self.gone + self.come) + 1
        larger, smaller = (upper_tail(self.rounds, 1 / odds, int(first)) for odds in self._odds())
        return smaller - arb_of(point).exp() * (1 - self._lost()) * larger
