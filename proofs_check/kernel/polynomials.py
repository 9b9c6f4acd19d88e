"""Polynomials in named symbols with rational coefficients. A polynomial is never changed in place."""

from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from dpproof.proofs_check.kernel.arithmetic import Rejected

Monomial = tuple[tuple[str, int], ...]
Poly = dict[Monomial, Fraction]
Quotient = tuple[Poly, Poly]
UNIT: Monomial = ()
MAX_TERMS, MAX_DEGREE, MAX_BITS = 4000, 200, 50_000


ONE = Fraction(1)
UNITY: Poly = {UNIT: ONE}
"""The constant polynomial 1. No polynomial is ever changed in place, so that one object may serve everywhere."""


def constant(q: Fraction | int) -> Poly:
    """Return the constant polynomial with the value q."""
    return UNITY if q == 1 else {UNIT: Fraction(q)} if q else {}


def is_one(p: Poly) -> bool:
    """Return whether a polynomial is the constant 1."""
    return p is UNITY or (len(p) == 1 and p.get(UNIT) == 1)


def negative(p: Poly) -> Poly:
    """Return the polynomial -p."""
    return {m: -c for m, c in p.items()}


def plus(*polynomials: Poly) -> Poly:
    """Return the sum of polynomials."""
    first, *others = [p for p in polynomials if p] or [{}]
    if not others:
        return first
    out = dict(first)
    for p in others:
        for m, c in p.items():
            out[m] = out[m] + c if m in out else c
    return {m: c for m, c in out.items() if c}


def joined(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two monomials."""
    if not a or not b:
        return a or b
    powers = dict(a)
    for s, k in b:
        powers[s] = powers.get(s, 0) + k
    if sum(powers.values()) > MAX_DEGREE:
        raise Rejected("the degree of a polynomial is too large")
    return tuple(sorted((s, k) for s, k in powers.items() if k))


def times(a: Poly, b: Poly) -> Poly:
    """Return the product of two polynomials."""
    if is_one(a) or is_one(b):
        return b if is_one(a) else a
    if len(a) * len(b) > 100 * MAX_TERMS:
        raise Rejected("a polynomial is too large")
    out: Poly = {}
    for m, c in a.items():
        for n, d in b.items():
            key, product = joined(m, n), d if c is ONE else c if d is ONE else c * d
            out[key] = out[key] + product if key in out else product
    if len(out) > MAX_TERMS or any(_bits(c) > MAX_BITS for c in out.values()):
        raise Rejected("a polynomial is too large")
    return {m: c for m, c in out.items() if c}


def _bits(c: Fraction) -> int:
    return max(c.numerator.bit_length(), c.denominator.bit_length())


def raised(a: Poly, n: int) -> Poly:
    """Return the polynomial a to the power n, for n >= 0."""
    return reduce(times, [a] * n, constant(1))


def content(p: Poly) -> tuple[Fraction, Monomial]:
    """Return the positive rational and the monomial common to all terms of a nonzero polynomial."""
    if len(p) == 1:
        ((m, c),) = p.items()
        return abs(c), m
    numbers = Fraction(gcd(*(c.numerator for c in p.values())), lcm(*(c.denominator for c in p.values())))
    return numbers, common_monomial(p)


def common_monomial(p: Poly) -> Monomial:
    """Return the monomial common to all terms of a nonzero polynomial."""
    common = dict(next(iter(p)))
    for m in p:
        if not common:
            break
        powers = dict(m)
        common = {s: min(k, powers.get(s, 0)) for s, k in common.items()}
    return tuple(sorted((s, k) for s, k in common.items() if k))


def divided(p: Poly, number: Fraction, mono: Monomial) -> Poly:
    """Return a polynomial divided by a number and by a monomial, which is a factor of every term."""
    if not mono and number == 1:
        return p
    back = tuple((s, -k) for s, k in mono)
    return {joined(m, back): c / number for m, c in p.items()}
