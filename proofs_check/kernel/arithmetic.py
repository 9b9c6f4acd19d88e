"""Interval arithmetic on exact rationals, rounded outward, with infinite endpoints.

An endpoint is a pair: (0, q) for the rational q, (-1, 0) and (1, 0) for the two infinities. So tuples compare as the
numbers do. An interval contains all possible values of a formula; if its bit `nz` is true, zero is certainly none of
these values. Every result contains the exact values. Endpoints are rounded outward to a relative precision of `prec`
bits, never to a fixed number of places, so 1e-300 keeps all its digits.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

Number = tuple[int, Fraction]
ZERO: Number = (0, Fraction(0))
INF: Number = (1, Fraction(0))
NEG_INF: Number = (-1, Fraction(0))
MAX_BITS = 200_000
EXP_LIMIT = 20_000


class Rejected(Exception):  # noqa: N818 - a verdict of the kernel, not a mishap
    """Raised if a certificate (a proof as data) does not prove its claim. The message says why."""


class Interval(NamedTuple):
    """An interval [lo, hi] that contains all possible values of a formula. If `nz` is true, no value is zero."""

    lo: Number
    hi: Number
    nz: bool


def point(q: Fraction) -> Interval:
    """Return the interval of the single rational q."""
    return Interval((0, q), (0, q), q != 0)


def _rounded(x: Number, prec: int, up: bool) -> Number:
    n, d = x[1].numerator, x[1].denominator
    size = n.bit_length() - d.bit_length()
    if abs(size) > MAX_BITS:
        raise Rejected("a number is too large or too close to zero")
    if max(n.bit_length(), d.bit_length()) <= prec:
        return x
    shift = prec - size
    top, bottom = (n << shift, d) if shift >= 0 else (n, d << -shift)
    mantissa = -(-top // bottom) if up else top // bottom
    return 0, Fraction(mantissa << max(-shift, 0), 1 << max(shift, 0))


def enclosing(lo: Number, hi: Number, nz: bool, prec: int) -> Interval:
    """Return the interval [lo, hi], rounded outward to `prec` bits. Reject an empty interval."""
    if lo > hi or lo == INF or hi == NEG_INF:
        raise Rejected("empty interval")
    low, high = _rounded(lo, prec, False), _rounded(hi, prec, True)
    return Interval(low, high, nz or low > ZERO or high < ZERO)


def _neg(x: Number) -> Number:
    return -x[0], -x[1]


def _sum(x: Number, y: Number) -> Number:
    return (x[0] or y[0], Fraction(0)) if x[0] or y[0] else (0, x[1] + y[1])


def _times(x: Number, y: Number) -> Number:
    if ZERO in (x, y):
        return ZERO  # corners of a product of sets of reals: zero times an unbounded real is zero
    if x[0] or y[0]:
        return (1 if (x > ZERO) == (y > ZERO) else -1), Fraction(0)
    return 0, x[1] * y[1]


def reciprocal(x: Number) -> Number:
    """Return 1/x for an endpoint x that is not zero. 1/infinity is 0."""
    return ZERO if x[0] else (0, 1 / x[1])


def neg(a: Interval, prec: int) -> Interval:
    """Return an interval that contains -x for all x in a."""
    return enclosing(_neg(a.hi), _neg(a.lo), a.nz, prec)


def add(a: Interval, b: Interval, prec: int) -> Interval:
    """Return an interval that contains all sums of a value in a and a value in b.

    If the two intervals have the same sign and one of them excludes zero, the sum excludes zero.
    """
    same = (a.lo >= ZERO and b.lo >= ZERO) or (a.hi <= ZERO and b.hi <= ZERO)
    return enclosing(_sum(a.lo, b.lo), _sum(a.hi, b.hi), same and (a.nz or b.nz), prec)


def mul(a: Interval, b: Interval, prec: int) -> Interval:
    """Return an interval that contains all products of a value in a and a value in b."""
    corners = [_times(x, y) for x in a[:2] for y in b[:2]]
    return enclosing(min(corners), max(corners), a.nz and b.nz, prec)


def inverse(a: Interval, prec: int) -> Interval:
    """Return an interval that contains 1/x for all x in a. Reject an interval that may contain zero."""
    if not a.nz:
        raise Rejected("a divisor may be zero")
    if a.lo < ZERO < a.hi:
        return Interval(NEG_INF, INF, True)
    lo = NEG_INF if a.hi == ZERO else reciprocal(a.hi)
    return enclosing(lo, INF if a.lo == ZERO else reciprocal(a.lo), True, prec)


def power(a: Interval, n: int, prec: int) -> Interval:
    """Return an interval that contains x ** n for all x in a, for an integer n. The power 0 is 1."""
    if n < 0:
        return inverse(power(a, -n, prec), prec)
    ends = [_repeat(x, n) for x in a[:2]]
    low = ZERO if n and n % 2 == 0 and a.lo <= ZERO <= a.hi else min(ends)
    return enclosing(low, max(ends), a.nz, prec)


def _repeat(x: Number, n: int) -> Number:
    if x[0]:
        return (x[0] if n % 2 else 1, Fraction(0)) if n else (0, Fraction(1))
    if max(x[1].numerator.bit_length(), x[1].denominator.bit_length()) * n > MAX_BITS:
        raise Rejected("a power has too many digits")
    return 0, x[1] ** n


def _series(t: Fraction, prec: int, up: bool) -> Fraction:
    """Bound exp(t) for 0 <= t <= 1/256 in fixed point; the tail is below twice its first term."""
    one = 1 << prec
    arg = -(-(t.numerator << prec) // t.denominator) if up else (t.numerator << prec) // t.denominator
    total, term, i = one, one, 0
    while term > 1:
        i += 1
        term = -(-term * arg // (one * i)) if up else term * arg // (one * i)
        total += term
    return Fraction(total + (2 * term if up else 0), one)


@lru_cache(maxsize=4096)
def _exp_end(q: Fraction, prec: int, up: bool) -> Fraction:
    if q < 0:
        return 1 / _exp_end(-q, prec, not up)
    halvings = q.numerator.bit_length() - q.denominator.bit_length() + 10
    halvings = max(halvings, 0)
    work = prec + 2 * halvings + 16
    value: Number = (0, _series(_rounded((0, q), work, up)[1] / (1 << halvings), work, up))
    for _ in range(halvings):
        value = _rounded((0, value[1] ** 2), work, up)
    return value[1]


def _exp_bound(x: Number, prec: int, up: bool) -> Number:
    limit = Fraction(EXP_LIMIT)
    if x == NEG_INF or (not x[0] and x[1] < -limit):
        return (0, _exp_end(-limit, prec, True)) if up and not x[0] else ZERO
    if x == INF or x[1] > limit:
        return INF if up else (0, _exp_end(limit, prec, False))
    return 0, _exp_end(x[1], prec, up)


def exp(a: Interval, prec: int) -> Interval:
    """Return an interval without zero that contains the exponentials of all values in a."""
    return enclosing(_exp_bound(a.lo, prec, False), _exp_bound(a.hi, prec, True), True, prec)


def _atanh(z: Fraction, prec: int, up: bool) -> Fraction:
    """Bound atanh(z) for 0 <= z <= 1/3; terms shrink ninefold, so the tail is below the last term."""
    step = -(-(z.numerator << prec) // z.denominator) if up else (z.numerator << prec) // z.denominator
    total, term, i = step, step, 1
    while term > 1:
        i += 2
        term = -(-term * step * step >> 2 * prec) if up else term * step * step >> 2 * prec
        total += -(-term // i) if up else term // i
    return Fraction(total + (2 if up else 0), 1 << prec) if z else Fraction(0)


@lru_cache(maxsize=4096)
def _log_end(q: Fraction, prec: int, up: bool) -> Fraction:
    if q < 1:
        return -_log_end(1 / q, prec, not up)
    shift = max(q.numerator.bit_length() - q.denominator.bit_length() - 1, 0)
    m = q / (1 << shift)
    if m >= 2:
        shift, m = shift + 1, m / 2
    close = (m - 1).denominator.bit_length() - (m - 1).numerator.bit_length() if m > 1 and not shift else 0
    work = prec + close + 24
    return 2 * (shift * _atanh(Fraction(1, 3), work, up) + _atanh((m - 1) / (m + 1), work, up))


def log(a: Interval, prec: int) -> Interval:
    """Return an interval that contains the logarithms of all values in a. Reject values that may not be positive."""
    if a.lo < ZERO or not a.nz:
        raise Rejected("the argument of a logarithm may be zero or negative")
    lo = NEG_INF if a.lo == ZERO else (0, _log_end(a.lo[1], prec, False))
    return enclosing(lo, INF if a.hi == INF else (0, _log_end(a.hi[1], prec, True)), False, prec)


def _sqrt_end(x: Number, prec: int, up: bool) -> Number:
    if x[0]:
        return x
    n, d = x[1].numerator, x[1].denominator
    roots = isqrt(n), isqrt(d)
    if roots[0] ** 2 == n and roots[1] ** 2 == d:
        return 0, Fraction(*roots)
    shift = max(prec + (d.bit_length() - n.bit_length()) // 2 + 2, 0)
    return 0, Fraction(isqrt((n << 2 * shift) // d) + up, 1 << shift)


def sqrt(a: Interval, prec: int) -> Interval:
    """Return an interval that contains the square roots of all values in a. Reject values that may be negative."""
    if a.lo < ZERO:
        raise Rejected("the argument of a square root may be negative")
    return enclosing(_sqrt_end(a.lo, prec, False), _sqrt_end(a.hi, prec, True), a.nz, prec)


@lru_cache(maxsize=64)
def pi(prec: int) -> Interval:
    """Return an interval that contains pi = 16 atan(1/5) - 4 atan(1/239).

    The two sums are computed in integers. Each term is rounded down by less than 1, and the interval covers these
    errors.
    """
    one, total, terms = 1 << (prec + 32), 0, 0
    for factor, n in ((16, 5), (-4, 239)):
        power, k = one // n, 0
        while power:
            total += (-factor if k % 2 else factor) * (power // (2 * k + 1))
            power, k, terms = power // (n * n), k + 1, terms + 1
    slack = 40 * (terms + 2)
    return enclosing((0, Fraction(total - slack, one)), (0, Fraction(total + slack, one)), True, prec)


def _root_of_pi(prec: int, up: bool) -> Fraction:
    low, high, _ = pi(prec)
    return _sqrt_end(high if up else low, prec, up)[1]


def _product(prec: int, up: bool, *factors: Fraction) -> Fraction:
    """Multiply positive numbers, rounding in one direction."""
    value: Number = (0, Fraction(1))
    for x in factors:
        value = _rounded((0, value[1] * x), prec, up)
    return value[1]


def _erf(x: Fraction, prec: int, up: bool) -> Fraction:
    """Bound erf(x) = 2 exp(-x^2)/sqrt(pi) (x + 2x^3/3 + 4x^5/15 + ...) until the terms halve."""
    term, total, n = x, Fraction(0), 0
    while True:
        total = _rounded((0, total + term), prec, up)[1]
        ratio = 2 * x * x / (2 * n + 3)
        if 2 * ratio <= 1 and term * (1 << prec) < total:
            break
        term, n = _rounded((0, term * ratio), prec, up)[1], n + 1
    total += 2 * term if up else 0
    root = _root_of_pi(prec, not up)
    return _product(prec, up, Fraction(2), _exp_end(-x * x, prec, up), total, 1 / root)


def _erfc_far(x: Fraction, prec: int, up: bool) -> Fraction:
    """Bound erfc(x), x^2 > 20: exp(-x^2)/(x sqrt(pi)) (1 - 1/(2x^2) + 3/(2x^2)^2 - ...) encloses it."""
    terms = min(24, int(x * x) - 1)
    term = total = Fraction(1)
    for k in range(terms - (terms % 2 if up else 1 - terms % 2)):
        term *= -(2 * k + 1) / (2 * x * x)
        total += term
    root = _root_of_pi(prec, not up)
    return _product(prec, up, _exp_end(-x * x, prec, up), 1 / x, total, 1 / root)


@lru_cache(maxsize=4096)
def _erfc_end(x: Fraction, prec: int, up: bool) -> Fraction:
    if x < 0:
        return 2 - _erfc_end(-x, prec, not up)
    if x * x > prec:
        return _erfc_far(x, prec + 64, up)
    return max(1 - _erf(x, prec + 2 * int(x * x) + 32, not up), Fraction(0)) if x else Fraction(1)


def _erfc_bound(x: Number, prec: int, up: bool) -> Number:
    if x[0]:
        return ZERO if x[0] > 0 else (0, Fraction(2))
    if x[1] > 100:  # exp(-x^2) says enough
        return _exp_bound((0, -x[1] * x[1]), prec, True) if up else ZERO
    if x[1] < -100:
        return 0, 2 - (Fraction(0) if up else Fraction(1, 1 << prec))
    return 0, _erfc_end(x[1], prec, up)


def erfc(a: Interval, prec: int) -> Interval:
    """Return an interval without zero that contains the complementary error function of all values in a."""
    return enclosing(_erfc_bound(a.hi, prec, False), _erfc_bound(a.lo, prec, True), True, prec)


UNARY: dict[str, Callable[[Interval, int], Interval]] = {
    "neg": neg,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "erfc": erfc,
}


def primes(n: int) -> dict[int, int]:
    """Return the powers of the small primes of n and of one remaining factor, whose product is n."""
    factors: dict[int, int] = {}
    p = 2
    while p * p <= n and p < 1000:
        while n % p == 0:
            factors[p], n = factors.get(p, 0) + 1, n // p
        p += 1
    return factors | ({n: 1} if n > 1 else {})
