"""From rounds that draw an expert afresh to what can be run on logged data.

The analysis of a round draws an expert uniformly and a trajectory from its policy. On logged data either
experts are drawn so, each giving its next unused trajectory, until one runs out; or one walks through the
shuffled trajectories, as printed. Both are close to fresh draws (docs/notes/expert_accounting.md, section 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import flint

from accountant.bounds import Bound
from accountant.enclosures import Number, arb_of, exact, precision, round_down, round_up
from accountant.notions import Guarantee

__all__ = ["Logged", "Redrawn", "Walked", "run_out", "walk_factor", "walk_tail"]

_BITS = 192


@dataclass(frozen=True)
class Logged:
    """How many rounds, and what is logged: ``experts`` or more on both sides, ``each`` of each."""

    rounds: int
    experts: int
    each: int


@dataclass(frozen=True)
class Redrawn:
    """delta(e) = factor (d(e - shift) + slack exp(e - shift)), d that of fresh draws; 1 below ``shift``.

    All constants are upper ends. With shift 0 and factor 1: draws that are not fresh with a chance of at most
    slack/2 on either side.
    """

    fresh: Guarantee
    shift: Fraction
    factor: Fraction
    slack: Fraction

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point = exact(epsilon, "epsilon") - self.shift
        if point < 0:
            return Bound(0.0, 1.0)
        with precision(_BITS):
            more = arb_of(self.slack) * arb_of(point).exp()
            if arb_of(self.factor) * more >= 1:
                return Bound(1.0, 1.0)
        inner = self.fresh.delta(point)
        with precision(_BITS):
            low, high = (
                arb_of(self.factor) * (arb_of(exact(end)) + more) for end in (inner.lower, inner.upper)
            )
            return Bound(min(round_down(low), 1.0), min(round_up(high), 1.0))

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``: what the slack takes at an epsilon above is taken off delta."""
        target = exact(delta, "delta")
        whole = target / self.factor
        if whole >= 1:
            return Bound(0.0, float(self.shift) + 1e-12)
        least = self.fresh.epsilon(whole)
        if math.isinf(least.upper):
            return Bound(self._moved(least.lower, round_down), math.inf)
        guess = least.upper + 1
        with precision(_BITS):
            spent = exact(round_up(arb_of(self.slack) * arb_of(exact(guess)).exp()))
        if spent >= whole:
            return Bound(self._moved(least.lower, round_down), math.inf)
        found = self.fresh.epsilon(whole - spent).upper
        high = self._moved(found, round_up) if found <= guess else math.inf
        return Bound(min(self._moved(least.lower, round_down), high), high)

    def _moved(self, end: float, rounded: object) -> float:
        if math.isinf(end):
            return end
        with precision(_BITS):
            moved = arb_of(exact(end) + self.shift)
            return round_up(moved) if rounded is round_up else round_down(moved)


def run_out(logged: Logged) -> Fraction:
    """The chance at most that fresh draws take one expert more often than it has trajectories.

    >>> run_out(Logged(rounds=20, experts=3000, each=20))
    Fraction(0, 1)
    """
    too_many = logged.each + 1
    return min(Fraction(math.comb(logged.rounds, too_many), logged.experts**logged.each), Fraction(1))


def walk_factor(logged: Logged) -> Fraction:
    """How much likelier the walk takes a sequence of experts than fresh draws, at most: (M/(M-T+1))^T.

    Raises:
        ValueError: for more rounds than trajectories.
    """
    total = logged.experts * logged.each
    if logged.rounds > total:
        raise ValueError(f"trajectories ({logged.rounds}) must be at most experts times per_expert ({total})")
    return Fraction(total, total - logged.rounds + 1) ** logged.rounds


def walk_tail(logged: Logged, log_ratio: Fraction) -> flint.arb:
    """The chance at most that a sequence of fresh draws is less likely on the walk by more than e^log_ratio.

    The least over the powers and lengths of section 6; call it inside ``precision``.
    """
    ends = [
        _tail(logged, log_ratio, most, power)
        for most in range(1, 9)
        for power in _POWERS
        if most <= logged.each
    ]
    return min((end for end in ends if end < 1), key=lambda end: float(end.upper()), default=flint.arb(1))


_POWERS = (4, 8, 12, 15, 20, 30, 45)


def _tail(logged: Logged, log_ratio: Fraction, most: int, power: int) -> flint.arb:
    rounds, experts = logged.rounds, logged.experts
    moment = flint.arb(rounds).lgamma() + flint.arb(rounds).log() - rounds * flint.arb(rounds).log() + rounds
    for n in range(2, most + 1):
        likelier = Fraction(logged.each**n, math.perm(logged.each, n)) ** power
        moment += arb_of(likelier * Fraction(rounds**n, math.factorial(n) * experts ** (n - 1)))
    rest = Fraction(math.comb(rounds, most + 1), experts**most)
    return (moment - power * arb_of(log_ratio)).exp() + arb_of(rest)


@dataclass(frozen=True)
class Walked:
    """The walk through shuffled trajectories: the best of the ratios that section 6 of the note may use."""

    fresh: Guarantee
    logged: Logged

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``; ratios are tried upwards until the answer grows."""
        best = Bound(0.0, 1.0)
        for choice in self._choices():
            found = choice.delta(epsilon)
            if best.upper < 1 and found.upper > best.upper:
                break
            best = found if found.upper <= best.upper else best
        return best

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        target = exact(delta, "delta")
        rough = self.fresh.epsilon(target / 2).upper if target else math.inf
        affordable = (choice for choice in self._choices() if _affords(choice, rough, target))
        ends = [choice.epsilon(delta) for choice in islice(affordable, _TRIED)]
        return min(ends, key=lambda bound: bound.upper, default=Bound(0.0, math.inf))

    def _choices(self) -> Iterator[Redrawn]:
        return (Redrawn(self.fresh, *constants) for constants in _constants(self.logged))


_TRIED = 2


@lru_cache(maxsize=16)
def _constants(logged: Logged) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
    """Shift, factor and slack for each ratio that is tried; one round alone is a fresh draw."""
    factor = walk_factor(logged)
    if logged.rounds == 1:
        return ((Fraction(0), Fraction(1), Fraction(0)),)
    with precision(_BITS):
        moved = exact(round_up(arb_of(factor).log()))
        ratios = [Fraction(step, 10) for step in range(1, 61)]
        tails = [exact(min(round_up(walk_tail(logged, ratio)), 1.0)) for ratio in ratios]
    return tuple((moved + ratio, factor, tail) for ratio, tail in zip(ratios, tails, strict=True))


def _affords(choice: Redrawn, rough: float, target: Fraction) -> bool:
    """Whether the slack takes less than a third of delta a little above the epsilon of fresh draws."""
    if math.isinf(rough):
        return False
    return float(choice.factor * choice.slack) * math.exp(min(rough, 600.0) + 0.5) < float(target) / 3
