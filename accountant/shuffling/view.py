"""``BinomialView``: the exact privacy of one user's message in a binomial sum.

The others' messages sum to b = Binomial(trials, probability). The user adds 1 with probability ``first``
under one input and ``second`` under the other. Every shuffled count of bits is such a view. Examples are the
noise of a protocol (the user adds the input itself, 0 or 1), randomised response among equal users, and
clones given their number.

The likelihood ratio falls in the sum. So the best event is that the sum is at most a threshold K, which has a
closed form. Delta is the product of one probability and of one term with a tail ratio
(docs/notes/shuffling.md). The inverse, from delta to epsilon, also handles targets close to the profile's
value at 0 or to its limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import flint

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.binomial import check_law, mass, tail_ratio
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import probability
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, round_down, round_up
from dpproof.accountant.numbers.inversion import Decreasing, bracket, refined

_SHADE = Fraction(1, 2**40)


def certified_inverse(
    profile: Decreasing, target: Fraction, start: float, never: flint.arb
) -> tuple[float, float]:
    """Return bounds on the smallest epsilon with profile(epsilon) <= target.

    ``never`` is the profile's limit for large epsilon. If the target is closer than a relative 2^-40 to the
    profile's value at 0 or to its limit, the search cannot resolve it. Then at least one bound is less exact:
    it is computed for a target changed by a relative 2^-40, or it is 0 or infinite.
    """
    goal, less, more = (
        refined(partial(arb_of, target * shade)) for shade in (Fraction(1), 1 - _SHADE, 1 + _SHADE)
    )
    top = refined(lambda: profile(Fraction(0)))
    if never > goal:
        return math.inf, math.inf
    if top <= goal:
        return 0.0, 0.0
    if target > 0 and not never < less:
        return 0.0 if not top > more else bracket(profile, target * (1 + _SHADE), start)[0], math.inf
    if not top > more:
        return 0.0, bracket(profile, target * (1 - _SHADE), start)[1]
    return bracket(profile, target, start)


@dataclass(frozen=True)
class BinomialView(Profile):
    """The guarantee for a user whose 0 or 1 is added to a binomial sum, and only the sum is seen.

    The other terms of the sum are Binomial(``trials``, ``probability``). The user adds 1 with probability
    ``first`` under one input, and with probability ``second`` under the other. The three probabilities may be
    given as text or fractions, and are then exact.

    >>> view = BinomialView(1_000_000, "1/2", 0, 1)
    >>> view.delta("0.01").upper
    1.0747764e-10

    Raises:
        ValueError: for trials outside 0 .. 10^15, or a probability outside [0, 1].
    """

    trials: int
    probability: Number
    first: Number = 0
    second: Number = 1

    def __post_init__(self) -> None:
        check_law(self.trials, exact(self.probability, "probability"))
        for name in ("first", "second"):
            probability(getattr(self, name), name)

    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on the larger delta of the two directions, relatively accurate at any size."""
        point = min(point, _LARGEST)
        values = [refined(partial(hockey_stick, *direction, point)) for direction in set(self.directions())]
        lower, upper = (max(end(value) for value in values) for end in (round_down, round_up))
        return Bound(max(lower, 0.0), min(upper, 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon.

        It is infinite if delta is below the probability of an outcome that only one input can have.
        """
        ends = [_inverse(d, target) for d in set(self.directions())]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))

    def directions(self) -> tuple[Direction, Direction]:
        """Return the arguments of ``hockey_stick`` for each direction: (trials, p, first, second), first <= second.

        The second direction describes the number of zeros instead of the number of ones. The arguments of the
        two directions are equal if ``probability`` is 1/2 and ``first`` and ``second`` add up to 1.
        """
        p = exact(self.probability)
        a, c = sorted((exact(self.first), exact(self.second)))
        return (self.trials, p, a, c), (self.trials, 1 - p, 1 - c, 1 - a)


Direction = tuple[int, Fraction, Fraction, Fraction]
_LARGEST = Fraction(10**12)
"""From this epsilon on delta is at its limit, as exp(epsilon) exceeds all ratios of numbers below 10^12 bits."""


def hockey_stick(trials: int, p: Fraction, first: Fraction, second: Fraction, epsilon: Fraction) -> flint.arb:
    """Return the hockey-stick divergence between two sums: the largest P(A) - exp(epsilon) Q(A) over all events A.

    P and Q are both Binomial(trials, p) plus the user's bit. This bit is 1 with probability ``first`` under
    P, and with probability ``second`` >= ``first`` under Q. The result has the current working precision.

    >>> from dpproof.accountant.numbers.enclosures import precision
    >>> with precision(96): float(hockey_stick(2, Fraction(1, 2), Fraction(0), Fraction(1), Fraction(0)))
    0.5
    """
    more = arb_of(epsilon).expm1()
    stay = arb_of(second - first)
    if second < 1:
        stay -= more * arb_of(1 - second)
    move = arb_of(second - first) + more * arb_of(second)
    if first == second or stay <= 0:
        return flint.arb(0)
    if p in (0, 1):
        return _positive(stay)  # a sum that is known but for the user's message
    return _fallen(trials, p, more, stay, move)


def fair_coins(coins: int, local: Fraction, epsilon: Fraction) -> flint.arb:
    """Return the hockey-stick divergence between the sums for the two values of one user's true bit.

    The sum adds ``coins`` fair coins, which are 1 with probability 1/2, and the user's bit. The user flips
    the true bit with probability 1/(1 + e^local). The result has the current working precision. It is 0 for
    every epsilon from ``local`` on.
    """
    if epsilon >= local:
        return flint.arb(0)
    more, rest = arb_of(epsilon).expm1(), 1 + arb_of(-local).exp()
    stay, move = -arb_of(epsilon - local).expm1(), -(1 + more) * arb_of(-local - epsilon).expm1()
    return _fallen(coins, Fraction(1, 2), more, stay / rest, move / rest)


def _fallen(trials: int, p: Fraction, more: flint.arb, stay: flint.arb, move: flint.arb) -> flint.arb:
    """Return the largest P - (1 + more) Q of a lower tail; it has the factor stay at b(k) and -move at b(k - 1)."""
    values = [_lower_event(trials, p, more, stay, move, last) for last in _thresholds(trials, p, stay, move)]
    found = _positive(values[0].union(values[-1])) if values else _UNKNOWN
    return found if found.is_finite() else _UNKNOWN


_UNKNOWN = flint.arb(0).union(1)
"""The enclosure of a divergence that this precision does not resolve. The caller then uses more bits."""


def _positive(value: flint.arb) -> flint.arb:
    """Return the nonnegative part of the enclosure of a number that is known to be at least 0."""
    return value if value >= 0 else flint.arb(0).union(value.upper())


def _lower_event(
    trials: int, p: Fraction, more: flint.arb, stay: flint.arb, move: flint.arb, last: int
) -> flint.arb:
    """Return P - (1 + more) Q of the event that the sum is at most ``last``."""
    if last < 0:
        return flint.arb(0)
    if last == 0:
        return mass(trials, p, 0) * stay
    if last == trials:
        return mass(trials, p, trials) * move - more
    if more.is_zero():
        return mass(trials, p, last) * move
    return mass(trials, p, last) * (move - more * tail_ratio(trials, p, last))


def _thresholds(trials: int, p: Fraction, stay: flint.arb, move: flint.arb) -> tuple[int, ...]:
    """Return the last sum with P >= scale Q: the integer part of (trials + 1) p stay/(p stay + (1-p) move).

    If the enclosure contains an integer, both candidates are returned; one of them is the best event. If the
    enclosure is wider, the result is empty.
    """
    most = min(math.floor((trials + 1) * p), trials)  # move >= stay
    weight = arb_of(p) * stay
    place = (trials + 1) * weight / (weight + arb_of(1 - p) * move)
    if not place.is_finite():
        return ()
    last = place.floor().unique_fmpz()
    if last is not None:
        return (min(int(last), most),)
    ends = math.floor(round_down(place)), math.floor(round_up(place))
    if ends[1] - ends[0] > 1:
        return ()
    return tuple(min(max(end, 0), most) for end in ends)


def _inverse(direction: Direction, target: Fraction) -> tuple[float, float]:
    trials, p, a, c = direction
    if a == c:
        return 0.0, 0.0
    if c < 1 and target == 0:
        pure = refined(lambda: arb_of((1 - a) / (1 - c)).log())
        return round_down(pure), round_up(pure)
    return certified_inverse(
        lambda epsilon: hockey_stick(trials, p, a, c, epsilon),
        target,
        5 / math.sqrt(1 + trials * p * (1 - p)),
        refined(lambda: _never(direction)),
    )


def _never(direction: Direction) -> flint.arb:
    """Return the probability of an outcome that is possible only under the first input."""
    trials, p, a, c = direction
    return flint.arb(0) if c < 1 else arb_of(1 - a) * (mass(trials, p, 0) if p < 1 else 1)
