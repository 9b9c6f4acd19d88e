"""``Profile``: the base class of every proved privacy guarantee.

A subclass gives delta at an exact epsilon. The base class checks the arguments, inverts the profile if the
subclass has no faster way, and computes the trade-off function f. f(alpha) is the smallest false negative
rate among all tests between two neighbours that have the false positive rate alpha. f is the conjugate of the
privacy profile: let Delta(t) = delta(log t) for t >= 1 and Delta(t) = 1 - t + t delta(-log t) for t < 1. Then
f(alpha) = sup over t > 0 of 1 - Delta(t) - t alpha. Every t gives a lower bound. If delta is convex in
e^epsilon, secants through three values give an upper bound (docs/notes/trade_off.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce

import flint

from dpproof.accountant.guarantees.gaussian_within import gaussian_but_for, gaussian_within
from dpproof.accountant.guarantees.orders import lowest
from dpproof.accountant.numbers.arithmetic import assume, cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, below_one, inside_unit, probability
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import bracket

_BITS = 192
_REACH = 1e5
_FAR = Fraction(2**20)
"""The largest epsilon that the base class can find by inverting delta. Beyond it only a lower bound is known."""
Ends = tuple[flint.arb, flint.arb]


class Profile(ABC):
    """A proved privacy guarantee. Its methods return bounds on delta, epsilon and the trade-off function."""

    def delta(self, epsilon: Number) -> Bound:
        """Return bounds on the smallest delta for which the guarantee implies (epsilon, delta)-DP.

        Raises:
            ValueError: for a negative, infinite or undefined epsilon.
        """
        return self._delta_at(at_least_zero(epsilon, "epsilon"))

    def epsilon(self, delta: Number) -> Bound:
        """Return bounds on the smallest epsilon >= 0 for which the guarantee implies (epsilon, delta)-DP.

        Delta 0 means pure differential privacy. Epsilon is infinite if no epsilon is implied at this delta.

        Raises:
            ValueError: for a delta outside [0, 1).
        """
        return self._epsilon_at(below_one(delta, "delta"))

    def trade_off(self, alpha: Number, near: float | None = None) -> Bound:
        """Return bounds on the smallest false negative rate of any test with the false positive rate ``alpha``.

        A test decides from the output which of two neighbours was the input. A guarantee holds in both
        directions of the neighbouring relation. So if ``alpha`` is a false negative rate, the same function
        returns the smallest false positive rate. The upper bound requires that delta, as a function of
        e^epsilon, is convex or a minimum of convex functions. Every delta that is a supremum over pairs of
        distributions is convex in e^epsilon.

        Source: Dong, Roth and Su, arXiv:1905.02383v3, Propositions 5 and 6 (the duality).

        Args:
            alpha: the false positive rate.
            near: a guess of log(t), where -t is the slope of the trade-off function at ``alpha``. A good
                guess makes the search faster.

        Raises:
            ValueError: if alpha is not in [0, 1].
        """
        rate = probability(alpha, "alpha")
        if rate == 1:
            return Bound(0.0, 0.0, safe="lower")
        with precision(_BITS):
            low, high = self.trade_off_ends(rate, near)
            best = arb_of(1 - rate)
            return Bound(
                max(round_down(low), 0.0), min(max(round_up(high), 0.0), round_up(best)), safe="lower"
            )

    def trade_off_ends(self, alpha: Fraction, near: float | None = None) -> Ends:
        """Return a lower and an upper bound on the trade-off function at ``alpha`` < 1, as Arb numbers.

        The current working precision is used. ``near`` is a guess for the search; see ``trade_off``. The upper bound is
        1 - alpha if delta is not known to be convex in e^epsilon.
        """
        low, high = _by_search(self.sharing(alpha * _ROUGH).delta, alpha, near)
        return low, high if self.convex else arb_of(1 - alpha)

    def gaussian(self, kappa: Number) -> Bound:
        """Return bounds on the least mu such that mu-Gaussian DP implies this guarantee, up to an error ``kappa``.

        Let f be the trade-off function of this guarantee, and G the trade-off function of mu-Gaussian DP. The
        condition on mu is f(alpha) >= G(alpha + kappa) - kappa at every alpha.

        Source: this project, `dpproof.accountant.guarantees.gaussian_within`.

        >>> from dpproof.accountant.guarantees.notions import PureDP
        >>> PureDP(1).gaussian("0.01").upper
        1.171979

        Raises:
            ValueError: if ``kappa`` is not in [0, 1).
        """
        error = below_one(kappa, "kappa")
        shared = self.sharing(error)
        exact_hull = self.convex and self.two_sided
        return gaussian_within(shared.delta, error, None if exact_hull else shared.trade_off_ends)

    def gaussian_but_for(self, kappa: Number) -> Bound:
        """Return bounds on the least mu with delta(e) <= delta_mu(e) + ``kappa`` at every e >= 0.

        delta_mu is the privacy profile of mu-Gaussian DP. Here ``kappa`` is an error of delta alone, so mu is at
        least that of `gaussian`. If delta is not convex in e^epsilon, its convex hull takes its place.

        Source: this project, docs/notes/label.md.

        >>> from dpproof.accountant.guarantees.notions import ApproxDP
        >>> ApproxDP(0, "1e-6").gaussian_but_for("1e-5").upper
        0.0

        Raises:
            ValueError: if ``kappa`` is not in (0, 1).
        """
        error = inside_unit(kappa, "kappa")
        shared, reach = self.sharing(error), self.epsilon(error).upper
        return gaussian_but_for(shared.delta, error, reach, None if self.convex else shared.trade_off_ends)

    @property
    def convex(self) -> bool:
        """Whether delta is convex in e^epsilon, as it is for every supremum over pairs of distributions."""
        return True

    @property
    def two_sided(self) -> bool:
        """Whether delta is convex at epsilon 0, too, as it is for every supremum over pairs in both orders."""
        return True

    def sharing(self, rough: Number = 0) -> Profile:
        """Return the same guarantee as an object whose answers share work; the object itself by default.

        If delta is proved to be at most ``rough``, its lower bound may be 0.
        """
        return self

    def enclosing(self, less: Profile) -> Profile:
        """Return the guarantee of a mechanism that is known only to lie between this guarantee and ``less``.

        The mechanism is at most as private as this guarantee, and at least as private as ``less``. If both
        guarantees are Gaussian DP, the result is Gaussian DP with bounds on mu. If both are zCDP with the
        same conversion, the result is zCDP with bounds on rho.
        """
        return less if self == less else Enclosed(self, less)

    @abstractmethod
    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on delta at an exact epsilon >= 0."""

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon at an exact delta in [0, 1), found by evaluating delta, which decreases in epsilon."""
        last = self._delta_at(_FAR)
        if not exact(last.upper) <= target:
            return Bound(float(_FAR) if exact(last.lower) > target else 0.0, math.inf)

        def enclosed(point: Fraction) -> flint.arb:
            found = self._delta_at(point)
            return arb_of(exact(found.lower)).union(arb_of(exact(found.upper)))

        return Bound(*bracket(enclosed, target))


def ends_of(value: Number | Bound, name: str) -> tuple[Fraction, Fraction]:
    """Return the exact lower and upper bound of a parameter, which must be at least 0.

    The two bounds are equal if ``value`` is a number.

    Raises:
        ValueError: for a negative, infinite or undefined value. The message names the parameter.
    """
    if isinstance(value, Bound):
        assume(*value.assumptions)
        return at_least_zero(value.lower, name), exact(value.upper, name)
    return (at_least_zero(value, name),) * 2


@dataclass(frozen=True)
class Enclosed(Profile):
    """A guarantee that is known only to lie between two other guarantees.

    ``more`` promises at least as much privacy as this guarantee, and ``less`` at most as much. Lower bounds
    come from ``more``, upper bounds from ``less``.
    """

    more: Profile
    less: Profile

    def _delta_at(self, point: Fraction) -> Bound:
        return Bound(self.more.delta(point).lower, self.less.delta(point).upper)

    def _epsilon_at(self, target: Fraction) -> Bound:
        return Bound(self.more.epsilon(target).lower, self.less.epsilon(target).upper)

    def sharing(self, rough: Number = 0) -> Enclosed:
        """Return the same guarantee as an object whose answers share work; see ``Profile.sharing``."""
        return Enclosed(self.more.sharing(rough), self.less.sharing(rough))

    @property
    def convex(self) -> bool:
        """Whether delta is known to be convex in e^epsilon: if it is for both guarantees."""
        return self.more.convex and self.less.convex

    @property
    def two_sided(self) -> bool:
        """Whether delta is known to be convex at epsilon 0, too: if it is for both guarantees."""
        return self.more.two_sided and self.less.two_sided


@dataclass(frozen=True)
class WorstOf(Profile):
    """The guarantee of a mechanism that satisfies one of several guarantees, but nobody knows which of them.

    Each answer is the largest of the answers of all ``cases``.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> WorstOf((GaussianDP(1), ApproxDP(2, 0))).epsilon("0.1").upper
    1.879488
    """

    cases: tuple[Profile, ...]

    def _delta_at(self, point: Fraction) -> Bound:
        return _most([case.delta(point) for case in self.cases])

    def _epsilon_at(self, target: Fraction) -> Bound:
        return _most([case.epsilon(target) for case in self.cases])

    def sharing(self, rough: Number = 0) -> WorstOf:
        """Return the same guarantee as an object whose answers share work; see ``Profile.sharing``."""
        return WorstOf(tuple(case.sharing(rough) for case in self.cases))

    @property
    def convex(self) -> bool:
        """Whether delta is known to be convex in e^epsilon: if it is in every case."""
        return all(case.convex for case in self.cases)

    @property
    def two_sided(self) -> bool:
        """Whether delta is known to be convex at epsilon 0, too: if it is in every case."""
        return all(case.two_sided for case in self.cases)


def _most(found: list[Bound]) -> Bound:
    return Bound(max(one.lower for one in found), max(one.upper for one in found))


@dataclass(frozen=True)
class BestOf(Profile):
    """The guarantee of a mechanism for which several guarantees are proved. The smallest answer is used.

    ``routes`` are the guarantees; all are for the same neighbours. Each bound on delta or epsilon is the
    smallest of the routes' bounds. So the two bounds enclose the smallest value that a single route implies.
    Used together, the routes may imply an even smaller delta or epsilon, which is not computed here. It
    belongs to the trade-off function that at each alpha is the largest of the routes' trade-off functions.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> both = BestOf((GaussianDP(1), ApproxDP(2, 0)))
    >>> both.epsilon(0).upper, both.epsilon("0.1").upper
    (2.0, 1.16033)

    Raises:
        ValueError: if ``routes`` is empty.
    """

    routes: tuple[Profile, ...]

    def __post_init__(self) -> None:
        if not self.routes:
            raise ValueError("routes (()) must hold at least one guarantee")

    def _delta_at(self, point: Fraction) -> Bound:
        return _least([route.delta(point) for route in self.routes])

    def _epsilon_at(self, target: Fraction) -> Bound:
        return _least([route.epsilon(target) for route in self.routes])

    def sharing(self, rough: Number = 0) -> BestOf:
        """Return the same guarantee as an object whose answers share work; see ``Profile.sharing``."""
        return BestOf(tuple(route.sharing(rough) for route in self.routes))

    @property
    def convex(self) -> bool:
        """Whether delta is known to be convex in e^epsilon: only if there is one route."""
        return len(self.routes) == 1 and self.routes[0].convex

    @property
    def two_sided(self) -> bool:
        """Whether delta is known to be convex at epsilon 0, too: only if there is one route."""
        return len(self.routes) == 1 and self.routes[0].two_sided

    def trade_off_ends(self, alpha: Fraction, near: float | None = None) -> Ends:
        """Return the largest lower and the largest upper bound of a route on the trade-off at ``alpha``.

        The privacy profile of several guarantees need not be convex, so the search of the base class could
        stop at a local maximum.
        """
        return greatest(self.routes, alpha)


def _least(found: list[Bound]) -> Bound:
    return Bound(min(one.lower for one in found), min(one.upper for one in found))


def greatest(routes: Iterable[Profile], alpha: Fraction) -> Ends:
    """Return bounds on the largest of several trade-off functions at ``alpha``."""
    ends = [route.trade_off_ends(alpha) for route in routes]
    return tuple(reduce(lambda one, other: one.max(other), side) for side in zip(*ends, strict=True))


_Delta = Callable[[Number], Bound]


def _by_search(delta: _Delta, alpha: Fraction, guess: float | None) -> Ends:
    """Bounds on f(alpha) if delta is convex in e^epsilon. The maximum is searched on either side of t = 1."""
    if alpha == 0:
        return 1 - flint.arb(delta(_REACH).upper), flint.arb(1)
    rate = arb_of(alpha)
    guesses = (None, None) if guess is None else (max(guess, 0.0), max(-guess, 0.0))
    above = _top(partial(_above_one, delta, rate), flint.arb(1), 1 / rate, guesses[0])
    below = _top(partial(_below_one, delta, rate), flint.arb(0), flint.arb(1), guesses[1])
    return above[0].max(below[0]), above[1].max(below[1]).min(arb_of(1 - alpha))


_ROUGH = Fraction(1, 10**11)
"""A delta below this share of alpha need not be known, because 1 - f(alpha) is at least alpha."""
_IN_NOISE = 4
"""The search ends if the bounds are at most this many times as wide as the bounds on one value."""
_Point = tuple[flint.arb, flint.arb, flint.arb]
"""Lower and upper bound on h(t), and t."""


def _above_one(profile: _Delta, alpha: flint.arb, distance: float) -> _Point:
    """h(t) = 1 - delta(log t) - t alpha at t = exp(distance)."""
    delta, t = profile(distance), flint.arb(distance).exp()
    return 1 - flint.arb(delta.upper) - t * alpha, 1 - flint.arb(delta.lower) - t * alpha, t


def _below_one(profile: _Delta, alpha: flint.arb, distance: float) -> _Point:
    """h(t) = t (1 - delta(-log t) - alpha) at t = exp(-distance)."""
    delta, t = profile(distance), flint.arb(-distance).exp()
    return t * (1 - flint.arb(delta.upper) - alpha), t * (1 - flint.arb(delta.lower) - alpha), t


def _top(at: Callable[[float], _Point], first: flint.arb, last: flint.arb, guess: float | None) -> Ends:
    """Bounds on the maximum of a concave h between ``first`` and ``last``, the ends of t on this side of 1."""
    at = cache(at)
    best = guess or 0.0
    if guess is None and not at(_BORDER)[1] < at(0.0)[0]:  # else it falls from t = 1 on
        best = abs(lowest(lambda distance: _height(at(abs(distance))[0]), 0.5, 1.0, _TOLERANCE, _REACH))
    low, high = at(best)[0], flint.arb(1)
    for offset in _OFFSETS if guess is None else _FEW_OFFSETS:
        middle = max(best, offset)
        points = sorted((at(middle + side * offset) for side in (-1, 0, 1)), key=lambda point: point[2].mid())
        high = high.min(_secants(points, first, last))
        noise = points[1][1] - points[1][0]
        if high - low < flint.arb(_CLOSE).max(_IN_NOISE * noise):
            break
    return low, high


_TOLERANCE, _BORDER, _CLOSE = 1e-6, 1e-5, 1e-10
_OFFSETS, _FEW_OFFSETS = (1e-5, 1e-6, 1e-4, 1e-2, 0.3, 3.0, 30.0), (1e-4, 1e-3, 1e-2, 0.3)


def _height(value: flint.arb) -> float:
    """A function that decreases in the value and is steep where the value is near 0 or near 1."""
    reached, missing = value.mid(), (1 - value).mid()
    if missing <= 0:
        return -1e6
    return float((missing / reached).log()) if reached > 0 else 1e4 + float(missing.log())


def _secants(points: Sequence[_Point], first: flint.arb, last: flint.arb) -> flint.arb:
    """Upper bound on a concave function between ``first`` and ``last``, from its values at three points."""
    (low_left, left, start), (low, middle, t), (low_right, right, end) = points
    rise = (middle - low_left) / (t - start) * (end - t)
    fall = (middle - low_right) / (end - t) * (t - start)
    top = middle.max(middle + rise).max(middle + fall)
    if not left <= low:
        top = top.max(left + (left - low) / (t - start) * (start - first))
    if not right <= low:
        top = top.max(right + (right - low) / (end - t) * (last - end).max(flint.arb(0)))
    return top if top.is_finite() else flint.arb(1)
