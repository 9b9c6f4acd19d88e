"""The notions of privacy: what a proved guarantee says, as a privacy profile and its inverse.

Each notion has ``delta(epsilon)`` and ``epsilon(delta)``, as bounds on the optimum that the guarantee
implies. A parameter may be an exact number or a ``Bound`` around it. Composition and conversion stand
in modules of their own; one suite of laws in the tests runs over all notions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Protocol, runtime_checkable

import flint

from dpproof.accountant.guarantees.conversion import OPTIMAL, Conversion, Curve, convert, least_epsilon
from dpproof.accountant.guarantees.gaussian import gaussian_delta
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.numbers.arithmetic import assume
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import below, bracket, refined

__all__ = ["ZCDP", "ApproxDP", "GaussianDP", "Guarantee", "PureDP", "RenyiDP", "ends_of"]


@runtime_checkable
class Guarantee(Protocol):
    """A proved privacy guarantee: its privacy profile, and the inverse of that."""

    def delta(self, epsilon: Number) -> Bound:
        """The smallest delta for which the guarantee implies (epsilon, delta)-DP; epsilon >= 0."""
        ...

    def epsilon(self, delta: Number) -> Bound:
        """The smallest epsilon >= 0 for which the guarantee implies (epsilon, delta)-DP.

        Delta 0 asks for pure differential privacy: infinite where the guarantee implies none.
        """
        ...


def ends_of(value: Number | Bound, name: str) -> tuple[Fraction, Fraction]:
    """The exact ends of a parameter, at least 0.

    Raises:
        ValueError: naming the parameter, for a negative, infinite or undefined value.
    """
    if isinstance(value, Bound):
        assume(*value.assumptions)
    low, high = (value.lower, value.upper) if isinstance(value, Bound) else (value, value)
    ends = exact(low, name), exact(high, name)
    if ends[0] < 0:
        raise ValueError(f"{name} ({low!r}) must be at least 0")
    return ends


def _epsilon(value: Number) -> Fraction:
    return ends_of(value, "epsilon")[0]


def _delta(value: Number) -> Fraction:
    delta = exact(value, "delta")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({value!r}) must be in [0, 1)")
    return delta


_BITS, _FINE = 192, 1e-7
_Profile = Callable[[Fraction, Fraction], flint.arb]
"""(parameter, epsilon) -> delta, increasing in the parameter and decreasing in epsilon."""


def _profile_bound(profile: _Profile, ends: tuple[Fraction, Fraction], epsilon: Number) -> Bound:
    point = _epsilon(epsilon)
    low, high = (refined(partial(profile, end, point)) for end in ends)
    return Bound(max(round_down(low), 0.0), min(round_up(high), 1.0))


def _inverse_bound(profile: _Profile, ends: tuple[Fraction, Fraction], delta: Number) -> Bound:
    target = _delta(delta)
    low = bracket(lambda epsilon: profile(ends[0], epsilon), target)
    high = low if ends[0] == ends[1] else bracket(lambda epsilon: profile(ends[1], epsilon), target)
    return Bound(low[0], high[1])


@dataclass(frozen=True)
class ApproxDP:
    """(epsilon, delta)-differential privacy, in both directions of the neighbouring relation.

    Below its own epsilon the profile is the optimal one (Kairouz, Oh and Viswanath, arXiv:1311.0776v4,
    Theorem 3.3 with one mechanism): delta(e) = 1 - (1 - delta)(1 + exp(e))/(1 + exp(epsilon)).

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

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point = _epsilon(epsilon)
        corners = zip(*self._corners(), strict=True)
        low, high = (refined(partial(self._profile, e, d, point)) for e, d in corners)
        return Bound(max(round_down(low), 0.0), min(round_up(high), 1.0))

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        target = _delta(delta)
        corners = list(zip(*self._corners(), strict=True))
        low, high = (self._inverse(e, d, target) for e, d in corners)
        return Bound(low.lower, high.upper)

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
    """epsilon-differential privacy: approximate differential privacy with delta 0.

    >>> PureDP(2.0).epsilon(0).upper
    2.0
    """
    return ApproxDP(epsilon, 0)


@dataclass(frozen=True)
class GaussianDP:
    """mu-Gaussian differential privacy (Dong, Roth and Su, arXiv:1905.02383v3, Definition 4).

    >>> GaussianDP(1.0).delta(1.0).upper
    0.126937
    """

    mu: Number | Bound

    def __post_init__(self) -> None:
        ends_of(self.mu, "mu")

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``; relative accuracy down to delta = 1e-300 and beyond."""
        return _profile_bound(gaussian_delta, ends_of(self.mu, "mu"), epsilon)

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        return _inverse_bound(gaussian_delta, ends_of(self.mu, "mu"), delta)


@dataclass(frozen=True)
class RenyiDP:
    """Renyi differential privacy along a curve: D_order <= curve(order) at all ``orders``.

    ``curve`` takes and returns Arb numbers. On an interval of orders it must be nondecreasing with
    (order - 1) * curve(order) convex, as every Renyi divergence and every sum of them is; a curve that
    is known at single orders lists them.

    The bounds enclose what ``conversion`` gives. The optimal one is the optimum for a bound on D(P||Q),
    one order at a time where orders are listed: that the same bound holds for D(Q||P), and at all listed
    orders together, may imply a smaller delta still.

    >>> RenyiDP(lambda order: order / 2).epsilon(1e-6).upper
    5.2215343
    """

    curve: Curve
    orders: Orders = field(default_factory=Orders)
    conversion: Conversion = OPTIMAL

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        if not self.conversion.convex and _epsilon(epsilon) >= self._pure().upper:
            return exactly(0.0)  # the optimal conversion knows the curve's end; closed forms need not
        low, high = convert(self.conversion, self.curve, self.orders, _epsilon(epsilon))
        return Bound(max(round_down(low), 0.0), min(round_up(high), 1.0))

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        target = _delta(delta)
        pure = self._pure()
        if target == 0:
            return pure
        if exact(self.delta(0).upper) <= target:
            return exactly(0.0)
        found = Bound(*least_epsilon(self.conversion, self.curve, self.orders, target))
        found = found if found.relative_width <= _FINE else self._by_profile(target, found)
        most = math.inf if self.conversion.convex else pure.upper
        return Bound(min(found.lower, most), min(found.upper, most))

    def _by_profile(self, target: Fraction, found: Bound) -> Bound:
        """The same through the profile, where the search in the order left wide ends; slower."""
        _, high = bracket(lambda point: self._ends(point, two_sided=False)[1], target)
        if math.isinf(high):
            return found
        low = below(lambda point: self._ends(point, two_sided=True)[0], high, target, high * 1e-8)
        return Bound(min(max(low, found.lower), high), min(high, found.upper))

    def _ends(self, epsilon: Fraction, two_sided: bool) -> tuple[flint.arb, flint.arb]:
        return convert(self.conversion, self.curve, self.orders, epsilon, two_sided)

    def _pure(self) -> Bound:
        """Epsilon at delta 0: only a curve bounded over all orders implies pure differential privacy."""
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
class ZCDP:
    """rho-zero-concentrated differential privacy: D_order <= rho * order at every order above 1.

    Source: Bun and Steinke, arXiv:1605.02065v1, Definition 1.1.

    >>> ZCDP(0.5).epsilon(1e-6).upper
    5.2215343
    """

    rho: Number | Bound
    conversion: Conversion = OPTIMAL

    def __post_init__(self) -> None:
        ends_of(self.rho, "rho")

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        return self._enclose(lambda renyi: renyi.delta(epsilon))

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        return self._enclose(lambda renyi: renyi.epsilon(delta))

    def renyi(self) -> RenyiDP:
        """The same guarantee as a Renyi curve, at the upper end of rho."""
        return self._renyi(ends_of(self.rho, "rho")[1])

    def _enclose(self, ask: Callable[[RenyiDP], Bound]) -> Bound:
        ends = ends_of(self.rho, "rho")
        high = ask(self._renyi(ends[1]))
        if ends[1] == 0:
            return exactly(0.0)
        low = high if ends[0] == ends[1] else ask(self._renyi(ends[0]))
        return Bound(low.lower, high.upper)

    def _renyi(self, rho: Fraction) -> RenyiDP:
        return RenyiDP(lambda order: arb_of(rho) * order, conversion=self.conversion)
