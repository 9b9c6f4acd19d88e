"""Conversion between ordinary numbers and enclosures, which are intervals that certainly contain a number.

Input is exact, and output is rounded outward.

A decimal in text means the exact rational number, and a Python float means its exact value. The library Arb
does the arithmetic, at a working precision that is set only by ``precision``.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

import flint

from dpproof.accountant.numbers.bounds import Bound, Of

Number = int | float | str | Fraction
_LOCK = threading.RLock()
_MOST_DIGITS = 100_000


def in_decimals(value: Number) -> str:
    """Return a number with at most six significant decimals, for messages.

    >>> in_decimals(0.25), in_decimals("1e-400"), in_decimals("1e291")
    ('0.250000', '1.00000e-400', '1.00000e+291')
    """
    with precision(64):
        return str(arb_of(exact(value)).str(6, radius=False))


def exact(value: Number, name: str = "value") -> Fraction:
    """Return the rational number that ``value`` denotes.

    >>> exact("1e-6"), exact(0.5)
    (Fraction(1, 1000000), Fraction(1, 2))

    Raises:
        ValueError: for NaN, an infinity, True or False, text that is no number, or text whose exponent is
            beyond 100,000.
    """
    try:
        match value:
            case bool():
                raise TypeError("True and False are not numbers")
            case Written():
                return value.rational
            case str() if "/" not in value:
                return _decimal(value)
            case Integral():
                return Fraction(int(value))
        return Fraction(value)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{name} ({value!r}) must be a finite number") from error


class Written(float):
    """A float made from a decimal text. It is the nearest double, and also holds the exact rational number.

    >>> Written("0.1") == 0.1, exact(Written("0.1"))
    (True, Fraction(1, 10))
    """

    text: str
    rational: Fraction

    def __new__(cls, text: str) -> Written:
        """Return the number that ``text`` denotes."""
        found = super().__new__(cls, text)
        found.text, found.rational = text.strip(), exact(text)
        return found

    def __reduce__(self) -> tuple[type[Written], tuple[str]]:
        """Return the arguments of a copy: the text, so that the copy denotes the same rational number."""
        return Written, (self.text,)


def typed(text: str) -> float:
    """Return the number that ``text`` denotes: a float if it is exact, otherwise a `Written` with the exact value.

    >>> type(typed("0.5")) is float, type(typed("0.1")) is Written
    (True, True)

    Raises:
        ValueError: for text that is no number.
    """
    nearest = float(text)
    if not math.isfinite(nearest) or exact(text) == nearest:
        return nearest
    return Written(text)


def _decimal(text: str) -> Fraction:
    decimal = Decimal(text.strip())
    if decimal.is_finite() and decimal and abs(decimal.adjusted()) > _MOST_DIGITS:
        raise ValueError(f"the exponent of the number must be in [-{_MOST_DIGITS}, {_MOST_DIGITS}]")
    return Fraction(decimal)


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set Arb's working precision for one block, in ``bits``.

    The precision is global, so only one thread at a time can be in such a block.
    """
    with _LOCK:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def arb_of(value: Fraction) -> flint.arb:
    """Return an interval that contains the rational number, at the current working precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def log_of(value: Fraction) -> flint.arb:
    """Return the logarithm of a rational number above 0, with full relative accuracy near 1 too.

    >>> with precision(64): float(log_of(1 + Fraction(1, 10**40)))
    1e-40
    """
    return arb_of(value - 1).log1p() if abs(value - 1) < Fraction(1, 2) else arb_of(value).log()


def round_up(value: flint.arb) -> float:
    """Return a double that is certified to be at least every number in the interval ``value``, and close to them.

    >>> with precision(100): round_up(flint.arb(1) / 3) > 1 / 3
    True
    """
    return -round_down(-value) + 0.0


def round_down(value: flint.arb) -> float:
    """Return a double that is certified to be at most every number in the interval ``value``, and close to them.

    Raises:
        ArithmeticError: if ``value`` is NaN, because a formula was evaluated outside its domain.
    """
    if value.is_nan():
        raise ArithmeticError("The result is NaN, because a formula was evaluated outside its domain.")
    if not value.is_finite():
        return math.inf if value > 0 else -math.inf
    candidate = _nearest(value.lower())
    while not flint.arb(candidate) <= value:
        candidate = math.nextafter(candidate, -math.inf)
    return candidate + 0.0


def _nearest(value: flint.arb) -> float:
    """Return a double close to ``value``. Values beyond the range become the last finite double or zero."""
    mantissa, exponent = (int(part) for part in value.mid().man_exp())
    if mantissa == 0:
        return 0.0
    shift = max(0, mantissa.bit_length() - 64)
    try:
        return math.ldexp(mantissa >> shift, exponent + shift)
    except OverflowError:
        return math.copysign(sys.float_info.max, mantissa)


def bound_of(value: flint.arb, of: Of = "guarantee", attained_by: str | None = None) -> Bound:
    """Return the interval ``value`` as a ``Bound`` of two doubles, rounded outward."""
    return Bound(round_down(value), round_up(value), of, attained_by)
