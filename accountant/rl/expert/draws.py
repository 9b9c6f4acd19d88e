"""Bounds on how much rounds on logged data differ from rounds that draw an expert afresh each time.

The analysis of a round draws an expert uniformly and a trajectory from the expert's policy. On logged data
there are two variants. In the first, experts are drawn uniformly and each gives its next unused trajectory,
until one has none left. In the second, the rounds go through the shuffled trajectories, as in the paper. Both
variants are close to fresh draws (docs/notes/expert_accounting.md, section 6).

The bound on the privacy profile at epsilon = e is factor (d(e - shift) + slack exp(e - shift)), where d is
the privacy profile of fresh draws. shift, factor and slack are constants that bound the difference. This
bound may rise in e, but a privacy profile never does. So a bound at one epsilon also holds at every larger
epsilon, and the code uses the smallest bound at any epsilon up to e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import cached_property, lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up

_BITS = 192


@dataclass(frozen=True)
class Logged:
    """The logged data: ``experts`` experts with ``each`` trajectories each, and the number of ``rounds``.

    There may be more experts, and an expert may have more trajectories.

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
    """Return an upper bound on the probability that some expert is drawn more often than it has trajectories.

    Each round draws an expert uniformly and independently.

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
    """Return the log of the largest factor by which a walk can make a sequence of experts more likely.

    A walk takes the shuffled trajectories one after the other. The factor compares a walk with uniform and
    independent draws of experts. The log is T log(M/(M-T+1)) for T rounds and M trajectories in all. Call
    this inside ``precision``.
    """
    total = logged.experts * logged.each
    return logged.rounds * arb_of(Fraction(total, total - logged.rounds + 1)).log()


def walk_tail(logged: Logged, log_ratio: Fraction) -> flint.arb:
    """Return an upper bound on the probability that uniform draws give a sequence that is rare in a walk.

    The draws of experts are uniform and independent. A walk takes the shuffled trajectories one after the
    other. A sequence of experts is rare if its probability in a walk is smaller than under the draws by a
    factor of more than e^log_ratio. The function computes several bounds (docs/notes/expert_accounting.md,
    section 6) and returns the smallest. Call this inside ``precision``.
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
    """Return triples (shift, factor, slack). Each triple gives a bound on the delta of a walk.

    A walk takes the shuffled trajectories one after the other. Fresh draws take experts uniformly and
    independently. The delta of a walk at epsilon = e is at most factor (d(e - shift) + slack exp(e - shift)),
    where d is the privacy profile of fresh draws. From each triple to the next, the shift grows and the slack
    does not. A single round is a fresh draw. The result is empty if the factor is so large that no useful
    guarantee is left.

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


@dataclass(frozen=True)
class Redrawn(Profile):
    """The guarantee of rounds whose draws of experts are close to fresh draws: uniform and independent ones.

    Delta at epsilon = e is the smallest value of factor (d(e' - shift) + slack exp(e' - shift)) over all e'
    <= e. Here d is the privacy profile ``fresh`` of fresh draws.

    All constants are upper bounds. Below epsilon = ``shift``, delta is 1. With shift 0 and factor 1, the
    guarantee covers draws that differ from fresh draws with probability at most slack/2. This must be so for
    each of two neighbours.

    >>> from dpproof.accountant.rl.expert.design import Rounds
    >>> rounds = Rounds(20, Fraction(1, 10), Fraction(1, 10), Fraction(0))
    >>> moved = Redrawn(rounds, Fraction(0), Fraction(1), Fraction(1, 10**6))
    >>> moved.delta(50) == moved.delta(500), round(moved.delta(50).upper, 6)
    (True, 8e-06)
    """

    fresh: Profile
    shift: Fraction
    factor: Fraction
    slack: Fraction

    def _delta_at(self, point: Fraction) -> Bound:
        point -= self.shift
        if point < 0:
            return Bound(1.0, 1.0)
        return self._at(point if self._falls_after(point) else min(point, self._turn))

    def _at(self, point: Fraction) -> Bound:
        """Return the bound at an exponent that is not negative; it is at most 1."""
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

    def _falls_after(self, point: Fraction) -> bool:
        """Whether the bound is lower slightly above ``point``.

        The bound is convex in exp(point), so in that case it falls up to its minimum.
        """
        if not self.slack:
            return True
        return self._at(point + _AHEAD).upper < self._at(point).lower

    @cached_property
    def _turn(self) -> Fraction:
        """An estimate of the place where the bound stops falling, by golden sections.

        Every place gives a valid bound.
        """
        low, high = 0.0, max(-math.log(self.factor * self.slack), 0.0)
        inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
        values = [self._at(Fraction(x)).upper for x in inner]
        for _ in range(_SECTIONS):
            if values[0] < values[1]:
                high, inner, values = inner[1], [0.0, inner[0]], [0.0, values[0]]
                inner[0] = high - _GOLDEN * (high - low)
                values[0] = self._at(Fraction(inner[0])).upper
            else:
                low, inner, values = inner[0], [inner[1], 0.0], [values[1], 0.0]
                inner[1] = low + _GOLDEN * (high - low)
                values[1] = self._at(Fraction(inner[1])).upper
        return Fraction(low)


_GOLDEN, _SECTIONS = (math.sqrt(5) - 1) / 2, 40
_AHEAD = Fraction(1, 2**20)


@dataclass(frozen=True)
class Walked(Profile):
    """The guarantee of rounds that take the shuffled trajectories one after the other (a walk).

    It is the best bound that follows from ``walk_constants`` and from ``fresh``, the guarantee of rounds that
    draw experts uniformly and independently.
    """

    fresh: Profile
    logged: Logged

    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on delta. Ratios are tried in decreasing order until the bound grows."""
        best = Bound(1.0, 1.0)
        for choice in reversed(self._choices):
            found = choice.delta(point)
            if best.upper < 1 and found.upper > best.upper:
                break
            best = found if found.upper <= best.upper else best
        return best

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon. A single round is a fresh draw."""
        return self.fresh.epsilon(target) if self.logged.rounds == 1 else super()._epsilon_at(target)

    @cached_property
    def _choices(self) -> tuple[Redrawn, ...]:
        return tuple(Redrawn(self.fresh, *constants) for constants in walk_constants(self.logged))
