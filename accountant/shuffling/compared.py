"""Shuffled randomised response: bounds for k answers, and a comparison of several methods for counts of bits.

Counts of bits: n users flip their bits with probability f = 1/(1 + e^e0), which is e0-private by itself.
After shuffling only their sum is seen. Unbiased counts have the variance n f (1 - f)/(1 - 2 f)^2. The
comparison shows four bounds: the exact profile if all others hold 0, the upper bound for all data, the
published closed form, and the profile of SDP-PE's protocol with noise of at most the variance of randomised
response.

k answers: each of n users sends its own value with probability E p and every other value with probability p =
1/(E + k - 1), E = exp(local_epsilon). The upper bound comes from users who look like clones of one another. A
pair of data sets attains the lower bound (docs/notes/shuffling.md, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.binomial import MOST_TRIALS
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import inside_unit, whole
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    bound_of,
    exact,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.numbers.inversion import last_where
from dpproof.accountant.published.formula import Formula
from dpproof.accountant.shuffling.clones import CloneView, blanket, excess, general_randomiser
from dpproof.accountant.shuffling.view import BinomialView

_BITS = 192


@dataclass(frozen=True)
class ShuffledResponse(Profile):
    """The guarantee of the shuffled answers of ``users`` with randomised response over ``categories`` values.

    It is for replacing one user's value. The lower bound is attained by one pair of data sets. The upper
    bound holds for all data sets.

    >>> found = ShuffledResponse(10_000, 3, 1).delta("0.05")
    >>> found.of, 0 < found.lower < found.upper < 1e-4
    ('mechanism', True)

    Raises:
        ValueError: unless there are at least 1 user and 2 categories, or for a local epsilon that is negative
            or above 500.
    """

    users: int
    categories: int
    local_epsilon: Number

    def __post_init__(self) -> None:
        general_randomiser(self.users, self.local_epsilon)
        whole(self.categories, "categories", 2, 10**6)
        if exact(self.local_epsilon) > 500:
            raise ValueError(f"local_epsilon ({self.local_epsilon!r}) must be at most 500")

    def _delta_at(self, point: Fraction) -> Bound:
        high = min(bound.delta(point).upper for bound in self.upper_bounds())
        if self.categories > 2:
            high = min(high, self._blanket(point))
        return self._between(min(self._attained(point), high), high, point)

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon. At delta 0 it is the local epsilon.

        From 3 categories on, the time grows with the square root of ``users``: half a minute for 10^8.
        """
        high = min(bound.epsilon(target).upper for bound in self.upper_bounds())
        if target == 0:
            return self._pure(high)
        if not self._attained(Fraction(0)) > target:
            return self._between(0.0, high, Fraction(0))
        low = last_where(lambda point: self._attained(Fraction(point)) > target, 0.0, high, close=1e-6)[0]
        if self.categories > 2:
            high = _from_below(self._blanket, self._attained, target, low, high)
        return self._between(low, high, Fraction(low))

    def _pure(self, high: float) -> Bound:
        """Return the local epsilon, which is the value at delta 0: the outcome with only messages 0 has that ratio."""
        with precision(_BITS):
            own = bound_of(arb_of(exact(self.local_epsilon)))
        return self._between(min(own.lower, high), min(own.upper, high), Fraction(0))

    def _between(self, low: float, high: float, point: Fraction) -> Bound:
        """Return the bound with the pair of data sets that attains its lower end, the better one at ``point``."""
        values = self._values(point)
        where = max(values, key=lambda others: values[others])
        return Bound(low, high, "mechanism", f"one user's value 0 against 1, all others holding {where}")

    def upper_bounds(self) -> tuple[CloneView, ...]:
        """Return the upper bounds: one that is valid for every randomiser, and one for randomised response.

        In the second bound, a clone is another user who sends one of two values at random. These are the
        user's value and the value that replaces it. For two categories only this bound is returned, because
        it is the better one.
        """
        with precision(_BITS):
            most = arb_of(exact(self.local_epsilon)).exp()
            clone, seen = (bound_of(x / (most + self.categories - 1)) for x in (2 + 0 * most, most + 1))
        own = CloneView(self.users, self.local_epsilon, _at_most_one(clone), _at_most_one(seen))
        return (own,) if self.categories == 2 else (general_randomiser(self.users, self.local_epsilon), own)

    def _attained(self, epsilon: Fraction) -> float:
        """Return the delta of the better pair of data sets, at a local epsilon rounded down."""
        return max(self._values(epsilon).values())

    def _values(self, epsilon: Fraction) -> dict[str, float]:
        """Return a lower bound on delta for each value that all others may hold.

        If all others hold 0, only the number of messages 0 is used.
        """
        with precision(_BITS):
            above = round_up(1 / (arb_of(exact(self.local_epsilon)).exp() + self.categories - 1))
        rare = min(Fraction(above), Fraction(1, self.categories))
        own = 1 - (self.categories - 1) * rare
        values = {"0": BinomialView(self.users - 1, own, own, rare).delta(epsilon).lower}
        if self.categories > 2:
            values["a third value"] = _third_value(self.users, self.categories, rare, epsilon)
        return values

    def _blanket(self, epsilon: Fraction) -> float:
        """Return the guarantee from the blanket of uniform messages, at a local epsilon rounded up."""
        with precision(_BITS):
            rare = round_down(1 / (arb_of(exact(self.local_epsilon)).exp() + self.categories - 1))
        return blanket(self.users, self.categories, Fraction(rare), epsilon)


def _from_below(
    value: Callable[[Fraction], float],
    slope_of: Callable[[Fraction], float],
    target: Fraction,
    low: float,
    high: float,
) -> float:
    """Return an upper bound on epsilon by a search just above ``low``, since each evaluation is expensive.

    One more evaluation is made at the place where the value would meet the target if it fell as steeply as
    ``slope_of``.
    """
    step, found = 1e-4 * low, 0.0
    while low + step < high:
        found = value(Fraction(low + step))
        if found <= target:
            high = low + step
            break
        low, step = low + step, 4 * step
    start, end = slope_of(Fraction(low)), slope_of(Fraction(high))
    if not 0 < found <= target or not 0 < end < start:
        return high
    ahead = math.log(float(target)) - math.log(found)
    guess = high - 0.95 * (high - low) * ahead / math.log(start / end)
    return guess if low < guess < high and value(Fraction(guess)) <= target else high


def _at_most_one(bound: Bound) -> Bound:
    return Bound(min(bound.lower, 1.0), min(bound.upper, 1.0))


@lru_cache(maxsize=256)
def _third_value(users: int, categories: int, rare: Fraction, epsilon: Fraction) -> float:
    """Return a lower bound on delta if all others hold a third value, from the numbers of messages 0 and 1 only."""
    local = 1 / rare - (categories - 1)
    with precision(_BITS):
        scale = arb_of(epsilon).exp()
        if not arb_of(local) > scale:
            return 0.0
        size = (arb_of(local) - 1) * (1 + scale)
        slope = (scale - 1) * arb_of(local + 1) / size
        others = 2 * (scale - 1) * arb_of(Fraction(categories - 2) / (local + categories - 3)) / size
        tilt = float(slope.mid()), float(others.mid())
        unit = round_down(size / users)
    return unit * excess(users, 2 * rare, tilt)[0]


CLOSED_FORM = Formula(
    "log(1 + (exp(e)-1)/(exp(e)+1)*(8*sqrt(exp(e)*log(4/delta)/n) + 8*exp(e)/n))",
)
_REACH = Formula("log(n/(16*log(2/delta)))")


def closed_form_epsilon(users: int, local_epsilon: Number, delta: Number) -> Bound:
    """Return the epsilon of the shuffled messages of ``local_epsilon``-private users, by a published formula.

    The formula is proved for a ``local_epsilon`` of at most log(n/(16 log(2/delta))), where n is ``users``.

    >>> closed_form_epsilon(10_000, 1, "1e-6").upper
    0.2140

    Raises:
        ValueError: for values outside their domains, or where the theorem's hypothesis is not certified.

    Source: Feldman, McMillan and Talwar, arXiv:2012.12803v2, Theorem 3.1 (classic.clones_closed_form).
    """
    local, failure = exact(local_epsilon, "local_epsilon"), exact(delta, "delta")
    whole(users, "users", 1)
    if local < 0 or not 0 < failure < 1:
        raise ValueError(
            f"local_epsilon ({local_epsilon!r}) must be at least 0, and delta ({delta!r}) in (0, 1)"
        )
    with precision(192):
        values = {"n": arb_of(exact(users)), "delta": arb_of(failure)}
        if not arb_of(local) <= _REACH.arb(**values):
            rule = "at most log(n/(16 log(2/delta))), because the theorem ends there"
            raise ValueError(f"local_epsilon ({local_epsilon!r}) must be {rule}")
        return bound_of(CLOSED_FORM.arb(e=arb_of(local), **values))


@dataclass(frozen=True)
class AmplificationBounds:
    """Bounds on epsilon for one shuffled count of randomised bits at one delta, by several methods."""

    exact: Bound
    """Bounds on epsilon: a lower one that a pair of data sets attains, and an upper one for all data sets."""
    closed_form: Bound | None
    """Epsilon by Theorem 3.1 of Feldman, McMillan and Talwar; None where the theorem does not apply."""
    same_noise: Bound
    """Exact epsilon of SDP-PE's protocol with noise of at most the variance of the randomised bits.

    In this protocol users send their true bits and noise bits. Each user has one noise bit that is rarely 1,
    or several fair bits if more noise is needed.
    """
    threshold: float
    """The threshold of SDP-PE's protocol in ``same_noise``: twice the expected number of noise bits."""


def amplification_bounds(users: int, local_epsilon: Number, delta: Number) -> AmplificationBounds:
    """Return epsilon bounds for a shuffled count of randomised bits by all methods, for comparison.

    >>> found = amplification_bounds(10_000, 1, "1e-6")
    >>> found.same_noise.upper < found.exact.upper < found.closed_form.upper
    True

    Raises:
        ValueError: see ``ShuffledResponse`` and ``closed_form_epsilon``; for a delta outside (0, 1).
    """
    inside_unit(delta, "delta")
    response = ShuffledResponse(users, 2, local_epsilon)
    with precision(128):
        flip = float((1 / (1 + arb_of(exact(local_epsilon)).exp())).mid())
    trials, chance = _noise_bits(users, flip)
    return AmplificationBounds(
        response.epsilon(delta),
        _closed_form(users, local_epsilon, delta),
        BinomialView(trials, Fraction(chance)).epsilon(delta),
        2 * trials * chance,
    )


def _noise_bits(users: int, flip: float) -> tuple[int, float]:
    """Return the number and probability of noise bits whose variance is at most that of the unbiased count."""
    if flip >= 0.5:
        raise ValueError(
            "local_epsilon (0) must be above 0, because at 0 the answers do not depend on the bits"
        )
    share = flip * (1 - flip) / (1 - 2 * flip) ** 2
    bits = math.floor(4 * share)
    if bits < 1:
        return users, (1 - math.sqrt(1 - 4 * share)) / 2
    if users * bits > MOST_TRIALS:
        raise ValueError(
            f"flip ({flip!r}) needs more than {MOST_TRIALS:.0e} noise bits. Use a larger local_epsilon."
        )
    return users * bits, 0.5


def _closed_form(users: int, local_epsilon: Number, delta: Number) -> Bound | None:
    try:
        return closed_form_epsilon(users, local_epsilon, delta)
    except ValueError as refused:
        if "the theorem ends there" in str(refused):
            return None
        raise
