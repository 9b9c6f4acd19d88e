"""From rounds that draw an expert afresh to what can be run on logged data: how far apart the draws are.

The analysis of a round draws an expert uniformly and a trajectory from its policy. On logged data either
experts are drawn so, each giving its next unused trajectory, until one runs out; or one walks through the
shuffled trajectories, as printed. Both are close to fresh draws (docs/notes/expert_accounting.md, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up

__all__ = ["Logged", "run_out", "walk_constants", "walk_factor", "walk_tail"]

_BITS = 192


@dataclass(frozen=True)
class Logged:
    """How many rounds, and what is logged: ``experts`` or more on both sides, ``each`` of each.

    Raises:
        ValueError: for more rounds than trajectories.
    """

    rounds: int
    experts: int
    each: int

    def __post_init__(self) -> None:
        total = self.experts * self.each
        if self.rounds > total:
            raise ValueError(
                f"trajectories ({self.rounds}) must be at most experts times per_expert ({total})"
            )


def run_out(logged: Logged) -> Fraction:
    """The chance at most that fresh draws take one expert more often than it has trajectories.

    >>> run_out(Logged(rounds=20, experts=3000, each=20))
    Fraction(0, 1)
    """
    too_many = logged.each + 1
    if too_many > logged.rounds:
        return Fraction(0)
    with precision(_BITS):
        chosen = [flint.arb(n + 1).lgamma() for n in (logged.rounds, too_many, logged.rounds - too_many)]
        log = chosen[0] - chosen[1] - chosen[2] - logged.each * flint.arb(logged.experts).log()
        return Fraction(1) if not log < 0 else exact(min(round_up(log.exp()), 1.0))


def walk_factor(logged: Logged) -> flint.arb:
    """Log of how much likelier the walk takes a sequence of experts than fresh draws, at most.

    It is T log(M/(M-T+1)), M trajectories in all; call it inside ``precision``.
    """
    total = logged.experts * logged.each
    return logged.rounds * arb_of(Fraction(total, total - logged.rounds + 1)).log()


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


@lru_cache(maxsize=16)
def walk_constants(logged: Logged) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
    """Shift, factor and slack for each ratio that section 6 tries, slack falling.

    One round alone is a fresh draw. None where the factor is so large that nothing is left to promise.

    >>> walk_constants(Logged(rounds=10**6, experts=10**5, each=20))
    ()
    """
    if logged.rounds == 1:
        return ((Fraction(0), Fraction(1), Fraction(0)),)
    with precision(_BITS):
        log = walk_factor(logged)
        if not log < _LARGEST:
            return ()
        moved, factor = exact(round_up(log)), exact(round_up(log.exp()))
        ratios = [Fraction(step, 10) for step in range(1, 61)]
        tails = [exact(min(round_up(walk_tail(logged, ratio)), 1.0)) for ratio in ratios]
    return tuple((moved + ratio, factor, tail) for ratio, tail in zip(ratios, tails, strict=True))


_LARGEST = 300
