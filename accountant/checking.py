"""Certificates: an answer of the accountant, and what a second, slower route says about it.

The second route shares as little as possible with the first one. Inversions are checked by a grid of losses, grids and
lists of outcomes by an exact convolution of integers, Gaussians by an integral in ball arithmetic, and (epsilon,
delta)-DP by its four outcomes. Some guarantees have no second route. Then the certificate says so.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import singledispatch
from typing import Any, Protocol

import flint

from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.composing import result_from_json
from dpproof.accountant.guarantees.notions import ApproxDP, BoundedLoss, GaussianDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile, WorstOf, ends_of
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, below_one
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import LEAST_DELTA, crossing
from dpproof.accountant.numbers.written import json_text
from dpproof.accountant.privacy_loss.by_grid import profile
from dpproof.accountant.privacy_loss.by_integers import composed_by_integers
from dpproof.accountant.privacy_loss.notion import FirstRoute, PrivacyLoss
from dpproof.accountant.privacy_loss.planning import GridTooLargeError

_BITS = 200
_ENOUGH = 1e-3
"""The largest relative distance of two upper bounds that agree."""


class CheckOutcome(enum.Enum):
    """What the second route says about an answer."""

    CONFIRMED = "confirmed"
    """The bounds of both routes overlap, and the upper ones agree to 3 digits or more."""
    NOT_CONFIRMED = "not confirmed"
    """The bounds overlap, but the second route is too coarse to say more."""
    CONTRADICTED = "contradicted"
    """The bounds do not overlap. One of the routes is wrong."""
    NO_SECOND_ROUTE = "no second route"
    """The guarantee has no second route."""


@dataclass(frozen=True)
class Certificate:
    """An answer of a result, with the bounds that a second route found for the same number.

    >>> from dpproof import account
    >>> found = account("gaussian", sigma=2, compositions=3).check(delta="1e-6")
    >>> found.outcome, found.digits >= 12
    (<CheckOutcome.CONFIRMED: 'confirmed'>, True)
    >>> certificate_from_json(found.to_json()) == found
    True
    """

    question: Mapping[str, Any]
    """The mechanism, its parameters, the neighbouring relation and the unit; see ``PrivacyResult.question``."""
    quantity: str
    """``epsilon`` or ``delta``."""
    at: str
    """The delta or the epsilon at which the quantity was asked, as a text."""
    lower: float
    upper: float
    second_route: str | None
    """The second route in words; None without one."""
    second_lower: float
    second_upper: float

    @property
    def outcome(self) -> CheckOutcome:
        """What the second route says about the answer."""
        if self.second_route is None:
            return CheckOutcome.NO_SECOND_ROUTE
        if self.lower > self.second_upper or self.second_lower > self.upper:
            return CheckOutcome.CONTRADICTED
        return CheckOutcome.CONFIRMED if self._distance <= _ENOUGH else CheckOutcome.NOT_CONFIRMED

    @property
    def confirmed(self) -> bool:
        """Whether the second route confirms the answer."""
        return self.outcome is CheckOutcome.CONFIRMED

    @property
    def digits(self) -> int:
        """The number of digits to which the two upper bounds agree, at most 15. Infinite bounds have no digits."""
        if math.isinf(max(self.upper, self.second_upper)):
            return 0
        return 15 if self._distance < 1e-15 else max(math.floor(-math.log10(self._distance)), 0)

    @property
    def _distance(self) -> float:
        ends = self.upper, self.second_upper
        if ends[0] == ends[1] or max(ends) <= LEAST_DELTA:
            return 0.0
        return 1.0 if math.isinf(max(ends)) else abs(ends[0] - ends[1]) / max(ends)

    @property
    def words(self) -> str:
        """The outcome in one sentence."""
        match self.outcome:
            case CheckOutcome.CONFIRMED if math.isinf(self.upper):
                return f"confirmed to be infinite by {self.second_route}"
            case CheckOutcome.CONFIRMED:
                return f"confirmed to {self.digits} digits by {self.second_route}"
            case CheckOutcome.NO_SECOND_ROUTE:
                return "no second route: this answer was not checked again"
        return f"{self.outcome.value} by {self.second_route}: [{self.second_lower!r}, {self.second_upper!r}]"

    def as_json(self) -> dict[str, Any]:
        """Return the certificate as JSON data."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        ends = {name: _text(own[name]) for name in ("lower", "upper", "second_lower", "second_upper")}
        return {**own, **ends, "outcome": self.outcome.value, "digits": self.digits}

    def to_json(self) -> str:
        """Return the certificate as JSON text. `certificate_from_json` reads it and checks the answer again."""
        return json_text({"schema": 1, **self.as_json()})


def _text(number: float) -> str:
    """Return a double as a text that is this double exactly, also if it is infinite."""
    return repr(number)


def check(
    result: PrivacyResult, *, epsilon: Number | None = None, delta: Number | None = None
) -> Certificate:
    """Return the certificate of the result's delta at ``epsilon``, or of its epsilon at ``delta``.

    Raises:
        ValueError: unless exactly one of ``epsilon`` and ``delta`` is given.
    """
    if (epsilon is None) == (delta is None):
        raise ValueError("Give exactly one of epsilon and delta.")
    quantity, at = ("delta", epsilon) if delta is None else ("epsilon", delta)
    assert at is not None  # one of the two is given
    found = result.delta(at) if quantity == "delta" else result.epsilon(at)
    return _checked(result, quantity, at if isinstance(at, str) else str(exact(at)), found)


def certificate_from_json(text: str) -> Certificate:
    """Read the JSON text of `Certificate.to_json`, and check its answer again by the second route.

    The first route is not used. So the certificate may come from somebody else.

    Raises:
        ValueError: for text that was not written by ``to_json``.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not {"question", "quantity", "at", "lower", "upper"} <= data.keys():
        raise ValueError(f"text ({text[:40]!r}...) must be the output of to_json of a certificate.")
    if data["quantity"] not in ("epsilon", "delta"):
        raise ValueError(f"quantity ({data['quantity']!r}) must be epsilon or delta.")
    result = result_from_json(json_text({"question": data["question"]}))
    return _checked(result, data["quantity"], data["at"], Bound(float(data["lower"]), float(data["upper"])))


def _checked(result: PrivacyResult, quantity: str, at: str, found: Bound) -> Certificate:
    given = (result.question(), quantity, at, found.lower, found.upper)
    number = at_least_zero(at, "epsilon") if quantity == "delta" else below_one(at, "delta")
    middle = (float(number), found.upper) if quantity == "delta" else (found.upper, float(number))
    try:
        second = (
            _second(result.guarantee, *middle)
            if math.isfinite(middle[0]) and number + middle[1] > 0
            else None
        )
        if second is None:
            return Certificate(*given, None, 0.0, math.inf if quantity == "epsilon" else 1.0)
        if quantity == "delta":
            below, above = _around(number)
            return Certificate(*given, second.name, second.lower(above), second.upper(below))
        return Certificate(*given, second.name, *crossing(second.lower, second.upper, number))
    except (ArithmeticError, MemoryError) as failed:
        why = f"a second route, which failed ({failed})"
        return Certificate(*given, why, 0.0, math.inf if quantity == "epsilon" else 1.0)


def _around(number: Fraction) -> tuple[float, float]:
    with precision(_BITS):
        value = arb_of(number)
        return max(round_down(value), 0.0), round_up(value)


class _Second(Protocol):
    """Bounds on delta at every epsilon by a second route, with the name of the route."""

    @property
    def name(self) -> str: ...

    def lower(self, epsilon: float) -> float: ...

    def upper(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class _Largest:
    """The largest of several deltas. The lower and the upper bounds may come from different guarantees."""

    below: Sequence[_Second]
    above: Sequence[_Second]

    @property
    def name(self) -> str:
        return " and ".join(dict.fromkeys(one.name for one in (*self.below, *self.above)))

    def lower(self, epsilon: float) -> float:
        return max(one.lower(epsilon) for one in self.below)

    def upper(self, epsilon: float) -> float:
        return max(one.upper(epsilon) for one in self.above)


@singledispatch
def _second(guarantee: Profile, epsilon: float, delta: float) -> _Second | None:
    """Return a second route, most accurate near ``epsilon``, where delta is about ``delta``; None without one."""
    return None


@_second.register
def _of_bounded(guarantee: BoundedLoss, epsilon: float, delta: float) -> _Second | None:
    return _second(guarantee.loss, epsilon, delta)


@_second.register
def _of_enclosed(guarantee: Enclosed, epsilon: float, delta: float) -> _Second | None:
    ends = [_second(one, epsilon, delta) for one in (guarantee.more, guarantee.less)]
    return None if ends[0] is None or ends[1] is None else _Largest([ends[0]], [ends[1]])


@_second.register
def _of_worst(guarantee: WorstOf, epsilon: float, delta: float) -> _Second | None:
    found = [_second(case, epsilon, delta) for case in guarantee.cases]
    known = [one for one in found if one is not None]
    return _Largest(known, known) if len(known) == len(found) else None


@_second.register
def _of_loss(guarantee: PrivacyLoss, epsilon: float, delta: float) -> _Second | None:
    found: list[_Second] = []
    for parts, first in guarantee.routes():
        if not parts:
            continue
        if first is FirstRoute.INVERSION:
            try:
                grid = profile(parts, epsilon=epsilon)
                found.append(
                    _Named("a grid of losses, composed by a Fourier transform", grid.lower, grid.upper)
                )
                continue
            except GridTooLargeError:
                pass
        sums = composed_by_integers(parts, epsilon, delta)
        found.append(_Named("an exact convolution of integers on a grid of losses", sums.lower, sums.upper))
    return _Largest(found, found) if found else None


class _Ask(Protocol):
    def __call__(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class _Named:
    name: str
    lower: _Ask
    upper: _Ask


@_second.register
def _of_gaussian(guarantee: GaussianDP, epsilon: float, delta: float) -> _Second | None:
    low, high = guarantee.squares
    if not low > 0:
        return None
    name = "an integral of the two normal densities in ball arithmetic"
    return _Named(
        name, lambda at: _integral(low, exact(at))[0], lambda at: min(_integral(high, exact(at))[1], 1.0)
    )


def _integral(square: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Return bounds on the integral of the positive part of phi(x - mu) - e^epsilon phi(x), where mu^2 = ``square``.

    It is positive from x = epsilon/mu + mu/2 on. The part beyond R >= mu is at most exp(-(R - mu)^2/2).
    """
    with precision(_BITS):
        mu = arb_of(square).sqrt()
        start = arb_of(epsilon) / mu + mu / 2
        end = start.max(mu) + 25
        factor, root = arb_of(epsilon).exp(), (2 * flint.arb.pi()).sqrt()

        def density(x: flint.acb, _: bool) -> flint.acb:
            return ((-((x - mu) ** 2) / 2).exp() - factor * (-(x**2) / 2).exp()) / root

        value = flint.acb.integral(
            density, flint.acb(start), flint.acb(end), abs_tol=flint.arb(2) ** -1060
        ).real
        rest = (-((end - mu) ** 2) / 2).exp().union(flint.arb(0))
        return max(round_down(value), 0.0), round_up(value + rest)


@_second.register
def _of_approx(guarantee: ApproxDP, epsilon: float, delta: float) -> _Second | None:
    own, failure = (
        ends_of(guarantee.epsilon_parameter, "epsilon"),
        ends_of(guarantee.delta_parameter, "delta"),
    )
    name = "the four outcomes of randomised response with failures, in ball arithmetic"
    return _Named(
        name,
        lambda at: max(round_down(_outcomes(own[0], failure[0], exact(at))), 0.0),
        lambda at: round_up(_outcomes(own[1], failure[1], exact(at))),
    )


def _outcomes(own: Fraction, failure: Fraction, epsilon: Fraction) -> flint.arb:
    """Return the sum of the positive parts of p - e^epsilon q over the four outcomes."""
    with precision(_BITS):
        truth = 1 / (1 + (-arb_of(own)).exp())
        coin = arb_of(1 - failure)
        heads, tails = coin * truth, coin * (1 - truth)
        rows = (
            (arb_of(failure), flint.arb(0)),
            (flint.arb(0), arb_of(failure)),
            (heads, tails),
            (tails, heads),
        )
        scale = arb_of(epsilon).exp()
        return sum(((p - scale * q).max(flint.arb(0)) for p, q in rows), flint.arb(0))
