"""Values of formulas at a point and under a finite law, worked out without the kernel.

Fractions as long as they last, then mpmath at 80 digits. Formulas are those of the kernel or those of JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import isqrt
from typing import Any

from mpmath import MPContext

MP = MPContext()
MP.dps = 80
MARGIN = MP.mpf(10) ** -50
LONGEST_SUM, MOST_BITS, LARGEST = 60, 3000, 40

Number = Any  # a Fraction or a number of MP
Formula = Any  # as in the kernel, or as in JSON
Values = dict[str, Number]
Law = tuple[tuple[Fraction, dict[str, Fraction]], ...]
CERTAIN: Law = ((Fraction(1), {}),)


class Undefined(Exception):  # noqa: N818 - a value, not a mishap
    """A formula has no value here."""


class Unclear(Exception):  # noqa: N818 - likewise
    """A number is too large to be worked out, or too close to zero to be told from it."""


def _approximate(x: Number) -> Number:
    return MP.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x


def sign(x: Number) -> int:
    """Return the sign of a number; one below the margin that is no fraction counts as zero."""
    if not isinstance(x, Fraction) and abs(x) < MARGIN:
        return 0
    return (x > 0) - (x < 0)


def _clear_sign(x: Number) -> int:
    """Return the sign of a number that must be known, because something is undefined on one side of zero."""
    if sign(x) == 0 and not isinstance(x, Fraction):
        raise Unclear
    return sign(x)


def _small(x: Number) -> Number:
    if isinstance(x, Fraction) and max(x.numerator.bit_length(), x.denominator.bit_length()) > MOST_BITS:
        raise Unclear
    return x


def plus(a: Number, b: Number) -> Number:
    """Return a + b."""
    exact = isinstance(a, Fraction) and isinstance(b, Fraction)
    return _small(a + b if exact else _approximate(a) + _approximate(b))


def times(a: Number, b: Number) -> Number:
    """Return a * b."""
    if (isinstance(a, Fraction) and a == 0) or (isinstance(b, Fraction) and b == 0):
        return Fraction(0)
    exact = isinstance(a, Fraction) and isinstance(b, Fraction)
    return _small(a * b if exact else _approximate(a) * _approximate(b))


def inverse(a: Number) -> Number:
    """Return 1 / a."""
    if _clear_sign(a) == 0:
        raise Undefined
    return 1 / a


def _power(a: Number, n: int) -> Number:
    return reduce(times, [a if n >= 0 else inverse(a)] * abs(n), Fraction(1))


def _exp(a: Number) -> Number:
    if abs(a) > LARGEST:
        raise Unclear
    return MP.exp(_approximate(a)) if a else Fraction(1)


def _erfc(a: Number) -> Number:
    if a * a > LARGEST:
        raise Unclear
    return MP.erfc(_approximate(a)) if a else Fraction(1)


def log(a: Number) -> Number:
    """Return the logarithm, a fraction if it is zero."""
    if _clear_sign(a) <= 0:
        raise Undefined
    return Fraction(0) if a == 1 else MP.log(_approximate(a))


def sqrt(a: Number) -> Number:
    """Return the square root, a fraction if it is one."""
    if _clear_sign(a) < 0:
        raise Undefined
    if isinstance(a, Fraction):
        root = Fraction(isqrt(a.numerator), isqrt(a.denominator))
        if root**2 == a:
            return root
    return MP.sqrt(_approximate(a))


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "+": lambda *terms: reduce(plus, terms),
    "*": lambda *factors: reduce(times, factors),
    "-": lambda a, b: plus(a, -b),
    "/": lambda a, b: times(a, inverse(b)),
    "neg": lambda a: -a,
    "exp": _exp,
    "log": log,
    "sqrt": sqrt,
    "erfc": _erfc,
    "pi": lambda: +MP.pi,
}


def value(e: Formula, at: Values, law: Law = CERTAIN) -> Number:
    """Work out a formula of the kernel or of JSON; what is no variable is a rational."""
    if isinstance(e, Fraction):
        return e
    if isinstance(e, str):
        return at[e] if e in at else FUNCTIONS["pi"]() if e == "pi" else Fraction(e)
    op, *args = e
    if op == "^":
        return _power(value(args[0], at, law), int(args[1]))
    if op == "sum":
        terms = (value(args[3], {**at, args[0]: i}, law) for i in indices(args[1], args[2], at, law))
        return reduce(plus, terms, Fraction(0))
    if op == "E":
        return reduce(plus, (times(p, value(args[0], {**at, **x}, law)) for p, x in law))
    return FUNCTIONS[op](*(value(x, at, law) for x in args))


def indices(low: Formula, high: Formula, at: Values, law: Law) -> list[Fraction]:
    """Return the whole numbers between the ends of a sum."""
    ends = [value(x, at, law) for x in (low, high)]
    if not all(isinstance(x, Fraction) and x.denominator == 1 for x in ends):
        raise Undefined
    if ends[1] - ends[0] > LONGEST_SUM:
        raise Unclear
    return [Fraction(i) for i in range(int(ends[0]), int(ends[1]) + 1)]
