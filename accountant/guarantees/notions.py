"""Notions of privacy: pure, approximate, Gaussian, Renyi and zero-concentrated differential privacy.

Each notion has ``delta(epsilon)`` and ``epsilon(delta)``. They return bounds on the smallest value that the
guarantee implies. A parameter may be an exact number or a ``Bound`` around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import flint

from dpproof.accountant.guarantees.conversion import OPTIMAL, Conversion, Curve, convert, least_epsilon
from dpproof.accountant.guarantees.gaussian import (
    gaussian_delta_of_square,
    normal_quantile,
    normal_tail,
)
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import Ends, Profile, ends_of, greatest
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    bound_of,
    exact,
    in_decimals,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.numbers.inversion import below, bracket, neighbours_of, refined

_BITS, _FINE = 192, 1e-7
_MOST_ROUTES = 16


@dataclass(frozen=True)
class ApproxDP(Profile):
    """(epsilon, delta)-differential privacy, in both directions of the neighbouring relation.

    Write epsilon and delta for the two parameters. For every e below epsilon, the guarantee also implies (e,
    delta(e))-DP with delta(e) = 1 - (1 - delta)(1 + exp(e))/(1 + exp(epsilon)). No smaller delta(e) is
    implied (Kairouz, Oh and Viswanath, arXiv:1311.0776v4, Theorem 3.3 with one mechanism).

    >>> ApproxDP(1.0, 1e-6).epsilon(1e-6).upper, ApproxDP(1.0, 1e-6).epsilon(1e-7).upper
    (1.0, inf)
    """

    epsilon_parameter: Number | Bound
    delta_parameter: Number | Bound

    def __post_init__(self) -> None:
        ends_of(self.epsilon_parameter, "epsilon")
        for end in ends_of(self.delta_parameter, "delta"):
            if end > 1:
                raise ValueError(f"delta ({self.delta_parameter!r}) must be in [0, 1]")

    def _delta_at(self, point: Fraction) -> Bound:
        corners = zip(*self._corners(), strict=True)
        low, high = (refined(partial(self._profile, e, d, point)) for e, d in corners)
        return Bound(max(round_down(low), 0.0), min(round_up(high), 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        corners = list(zip(*self._corners(), strict=True))
        low, high = (self._inverse(e, d, target) for e, d in corners)
        return Bound(low.lower, high.upper)

    def trade_off_ends(self, alpha: Fraction, near: float | None = None) -> Ends:
        """Return bounds on the trade-off function at ``alpha``.

        The function is max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)).

        Source: Dong, Roth and Su, arXiv:1905.02383v3, Section 2.1.
        """
        high, low = (
            flint.arb(0)
            .max(1 - arb_of(d) - arb_of(e).exp() * arb_of(alpha))
            .max((-arb_of(e)).exp() * arb_of(1 - d - alpha))
            for e, d in zip(*self._corners(), strict=True)
        )
        return low, high

    def _corners(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        return ends_of(self.epsilon_parameter, "epsilon"), ends_of(self.delta_parameter, "delta")

    @staticmethod
    def _profile(own: Fraction, failure: Fraction, point: Fraction) -> flint.arb:
        if point >= own:
            return arb_of(failure)
        return 1 - arb_of(1 - failure) * (1 + arb_of(point).exp()) / (1 + arb_of(own).exp())

    def _inverse(self, own: Fraction, failure: Fraction, target: Fraction) -> Bound:
        if target < failure:
            return Bound(float("inf"), float("inf"))
        if target == failure or own == 0:
            return Bound(round_down(arb_of(own)), round_up(arb_of(own)))
        start = round_up(arb_of(own))
        return Bound(*bracket(lambda point: self._profile(own, failure, point), target, start))


def PureDP(epsilon: Number | Bound) -> ApproxDP:  # noqa: N802 (a notion, read as a type)
    """Return the guarantee of pure ``epsilon``-differential privacy, as approximate privacy with delta 0.

    >>> PureDP(2.0).epsilon(0).upper
    2.0
    """
    return ApproxDP(epsilon, 0)


@dataclass(frozen=True)
class BoundedLoss(Profile):
    """The guarantee of a composition whose largest possible privacy loss is ``most``. The loss attains this value.

    So the composition has pure differential privacy with epsilon ``most``, and with no smaller epsilon. The
    profile ``loss`` gives the answer if delta is above 0 and epsilon is below ``most``.

    >>> BoundedLoss(Fraction(10), PureDP(10)).epsilon(0), BoundedLoss(Fraction(10), PureDP(10)).delta(10)
    (Bound(lower=10.0, upper=10.0, ...), Bound(lower=0.0, upper=0.0, ...))
    >>> BoundedLoss(Bound(1.0, 1.5), PureDP(1)).epsilon(0)
    Bound(lower=1.0, upper=1.5, ...)
    """

    most: Fraction | Bound
    loss: Profile

    def _delta_at(self, point: Fraction) -> Bound:
        low, high = ends_of(self.most, "most")
        if point >= high:
            return exactly(0.0)
        found = self.loss.delta(point)
        return found if point < low else Bound(0.0, found.upper)

    def _epsilon_at(self, target: Fraction) -> Bound:
        pure = PureDP(self.most).epsilon(0)
        if target == 0:
            return pure
        found = self.loss.epsilon(target)
        return Bound(min(found.lower, pure.lower), min(found.upper, pure.upper))

    def sharing(self, rough: Number = 0) -> BoundedLoss:
        """Return the same guarantee as an object whose answers share work; see ``Profile.sharing``."""
        return BoundedLoss(self.most, self.loss.sharing(rough))


@dataclass(frozen=True)
class GaussianDP(Profile):
    """mu-Gaussian DP: two neighbours are at least as hard to tell apart as N(0,1) and N(mu,1).

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Definition 4.

    >>> GaussianDP(1.0).delta(1.0).upper
    0.126937

    Raises:
        ValueError: for a mu below 0, or if no number in ``mu`` has the given ``square``.
    """

    mu: Number | Bound
    square: Fraction | None = field(default=None, repr=False)
    """The exact square of mu, if it is known. In this case ``mu`` only encloses its root."""

    def __post_init__(self) -> None:
        low, high = ends_of(self.mu, "mu")
        if self.square is not None and not low**2 <= self.square <= high**2:
            raise ValueError(f"square ({self.square!r}) must be the square of mu ({self.mu!r})")

    @classmethod
    def of_square(cls, square: Fraction) -> GaussianDP:
        """Return mu-Gaussian DP for the mu with a given ``square``, without rounding mu.

        If mu is rounded, a delta near 1/2 changes by about mu times the relative error of mu.

        >>> GaussianDP.of_square(Fraction(2)).delta(1).upper
        0.286209

        Raises:
            ValueError: ``square`` is below 0.
            ArithmeticError: mu is larger than every double.
        """
        if square < 0:
            raise ValueError(f"square ({in_decimals(square)}) must be at least 0")
        with precision(_BITS):
            mu = bound_of(arb_of(square).sqrt())
        if math.isinf(mu.upper):
            raise ArithmeticError("sensitivity / noise is beyond double precision. Use more noise.")
        return cls(mu, square)

    @property
    def squares(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest possible square of mu."""
        if self.square is not None:
            return self.square, self.square
        low, high = ends_of(self.mu, "mu")
        return low**2, high**2

    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on delta, accurate in relative terms down to delta = 1e-300 and beyond."""
        low, high = (gaussian_delta_of_square(square, point) for square in self.squares)
        return Bound(max(round_down(low), 0.0), min(round_up(high), 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        squares = dict.fromkeys(self.squares)
        found = [bracket(partial(gaussian_delta_of_square, square), target) for square in squares]
        return Bound(found[0][0], found[-1][1])

    def trade_off_ends(self, alpha: Fraction, near: float | None = None) -> Ends:
        """Return bounds on the trade-off function at ``alpha``, Phi(Phi^-1(1 - alpha) - mu).

        Source: Dong, Roth and Su, arXiv:1905.02383v3, Section 2.2.
        """
        if alpha == 0:
            return flint.arb(1), flint.arb(1)
        low, high = (arb_of(square).sqrt() for square in self.squares)
        z = normal_quantile(alpha)
        return normal_tail(high - z), normal_tail(low - z)

    def gaussian(self, kappa: Number) -> Bound:
        """Return bounds on mu; see ``Profile.gaussian``. If ``kappa`` is 0, mu is this guarantee's parameter."""
        if exact(kappa, "kappa"):
            return super().gaussian(kappa)
        low, high = (arb_of(end) for end in ends_of(self.mu, "mu"))
        return Bound(round_down(low), round_up(high))

    def gaussian_but_for(self, kappa: Number) -> Bound:
        """Return bounds on mu; see ``Profile.gaussian_but_for``. This guarantee's parameter is large enough."""
        found, own = super().gaussian_but_for(kappa), self.gaussian(0).upper
        return Bound(min(found.lower, own), min(found.upper, own))

    def enclosing(self, less: Profile) -> Profile:
        """Return the guarantee of a mechanism that is known only to lie between this guarantee and ``less``.

        See ``Profile.enclosing``.

        If ``less`` is Gaussian DP, the result is Gaussian DP with bounds on mu.
        """
        if type(less) is not GaussianDP or self == less:
            return super().enclosing(less)
        return GaussianDP(_hull(self.mu, less.mu, "mu"))


@dataclass(frozen=True)
class RenyiDP(Profile):
    """Renyi differential privacy: the Renyi divergence of each order in ``orders`` is at most curve(order).

    ``curve`` takes and returns Arb numbers. On an interval of orders the curve must be nondecreasing, and
    (order - 1) * curve(order) must be convex. Every Renyi divergence and every sum of them has these
    properties. If a curve is known at single orders only, ``orders`` lists them.

    ``conversion`` is the theorem that turns a Renyi divergence into a delta. The answers are bounds on what
    this theorem gives. Let P and Q be the output distributions of two neighbours. The optimal conversion
    gives the smallest delta that follows from a bound on D(P||Q). If orders are listed, it uses one order at
    a time. It leaves two facts unused: the same bound holds for D(Q||P), and the bounds at all listed orders
    hold together. These facts may imply an even smaller delta.

    >>> RenyiDP(lambda order: order / 2).epsilon(1e-6).upper
    5.2215343
    """

    curve: Curve
    orders: Orders = field(default_factory=Orders)
    conversion: Conversion = OPTIMAL

    def _delta_at(self, point: Fraction) -> Bound:
        if not self.conversion.convex and point >= self._pure().upper:
            return exactly(0.0)  # the optimal conversion knows the curve's end; closed forms need not
        low, high = convert(self.conversion, self.curve, self.orders, point)
        return Bound(max(round_down(low), 0.0), min(round_up(high), 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        pure = self._pure()
        if target == 0:
            return pure
        if exact(self._delta_at(Fraction(0)).upper) <= target:
            return exactly(0.0)
        found = Bound(*least_epsilon(self.conversion, self.curve, self.orders, target))
        found = found if found.relative_width <= _FINE else self._by_profile(target, found)
        most = math.inf if self.conversion.convex else pure.upper
        return Bound(min(found.lower, most), min(found.upper, most))

    @property
    def convex(self) -> bool:
        """Whether delta is known to be convex in e^epsilon: by the optimal conversion, of one or of all orders."""
        return self.conversion is OPTIMAL and len(self.orders.listed or ()) <= 1

    @property
    def two_sided(self) -> bool:
        """Whether delta is convex at epsilon 0, too. It need not be: a conversion bounds pairs in one order."""
        return False

    def trade_off_ends(self, alpha: Fraction, near: float | None = None) -> Ends:
        """Return a lower and an upper bound on the trade-off function at ``alpha``, as Arb numbers.

        Each listed order is used as a separate guarantee.

        The upper bound is 1 - alpha for more than 16 listed orders, and for every conversion except the
        optimal one. Only the optimal conversion has a delta that is convex in e^epsilon.
        """
        listed = self.orders.listed or ()
        if not self.convex and self.conversion is OPTIMAL and len(listed) <= _MOST_ROUTES:
            return greatest([replace(self, orders=Orders(listed=(order,))) for order in listed], alpha)
        return super().trade_off_ends(alpha)

    def _by_profile(self, target: Fraction, found: Bound) -> Bound:
        """Return ``epsilon`` through the profile.

        This is slower; it is used if the search in the order left wide bounds.
        """
        _, high = bracket(lambda point: self._ends(point, two_sided=False)[1], target)
        if math.isinf(high):
            return found
        low = below(lambda point: self._ends(point, two_sided=True)[0], high, target, high * 1e-8)
        return Bound(min(max(low, found.lower), high), min(high, found.upper))

    def _ends(self, epsilon: Fraction, two_sided: bool) -> tuple[flint.arb, flint.arb]:
        return convert(self.conversion, self.curve, self.orders, epsilon, two_sided)

    def _pure(self) -> Bound:
        """Bounds on epsilon at delta 0. They are finite only if the curve is 0, or bounded over all orders."""
        with precision(_BITS):
            some = self.orders.listed or ((1 + (self.orders.below or 3)) / Fraction(2),)
            if all(self.curve(arb_of(order)) == 0 for order in some):
                return exactly(0.0)
            if self.orders.listed or self.orders.below:
                return exactly(math.inf)
            largest = self.curve(flint.arb("inf"))
            if largest.is_finite():
                return Bound(max(round_down(largest), 0.0), round_up(largest))
            far = largest if largest == flint.arb("inf") else self.curve(flint.arb(2) ** 64)
            return Bound(max(round_down(far), 0.0), math.inf)


@dataclass(frozen=True)
class ZCDP(Profile):
    """rho-zCDP, zero-concentrated privacy: the Renyi divergence of every order above 1 is at most rho * order.

    Source: Bun and Steinke, arXiv:1605.02065v1, Definition 1.1.

    >>> ZCDP(0.5).epsilon(1e-6).upper
    5.2215343
    """

    rho: Number | Bound
    conversion: Conversion = OPTIMAL

    def __post_init__(self) -> None:
        ends_of(self.rho, "rho")

    def _delta_at(self, point: Fraction) -> Bound:
        return self._enclose(lambda renyi: renyi.delta(point))

    def _epsilon_at(self, target: Fraction) -> Bound:
        return self._enclose(lambda renyi: renyi.epsilon(target))

    def renyi(self) -> RenyiDP:
        """Return the same guarantee as Renyi differential privacy, at the upper bound on rho."""
        return self._renyi(ends_of(self.rho, "rho")[1])

    @property
    def convex(self) -> bool:
        """Whether delta is known to be convex in e^epsilon: by the optimal conversion."""
        return self.conversion is OPTIMAL

    @property
    def two_sided(self) -> bool:
        """Whether delta is convex at epsilon 0, too. It need not be: a conversion bounds pairs in one order."""
        return False

    def enclosing(self, less: Profile) -> Profile:
        """Return the guarantee of a mechanism that is known only to lie between this guarantee and ``less``.

        See ``Profile.enclosing``.

        If ``less`` is zCDP with the same conversion, the result is zCDP with bounds on rho.
        """
        if type(less) is not ZCDP or self == less or self.conversion != less.conversion:
            return super().enclosing(less)
        return ZCDP(_hull(self.rho, less.rho, "rho"), less.conversion)

    def _enclose(self, ask: Callable[[RenyiDP], Bound]) -> Bound:
        ends = ends_of(self.rho, "rho")
        high = ask(self._renyi(ends[1]))
        if ends[1] == 0:
            return exactly(0.0)
        low = high if ends[0] == ends[1] else ask(self._renyi(ends[0]))
        return Bound(low.lower, high.upper)

    def _renyi(self, rho: Fraction) -> RenyiDP:
        return RenyiDP(lambda order: arb_of(rho) * order, conversion=self.conversion)


def _hull(low: Number | Bound, high: Number | Bound, name: str) -> Bound:
    """Return a bound of two doubles that encloses both parameters."""
    least, most = ends_of(low, name)[0], ends_of(high, name)[1]
    below, above = neighbours_of(most)
    return Bound(neighbours_of(least)[0], below if Fraction(below) == most else above)
