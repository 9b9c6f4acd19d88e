"""Normal forms: formulas as quotients of polynomials in symbols. The denominator is positive on the domain.

A symbol is a variable, pi, or an atom log(p), exp(p), sqrt(p), erfc(p) of a quotient p. The following trusted rules
rewrite formulas, and the conditions of each rule are checked: log of a product, quotient or power of positive things
is the sum; log(exp x) = x; log(sqrt p) = log(p)/2; log(12) = 2 log(2) + log(3); sqrt(p)^2 = p; sqrt(n/d) = sqrt(n
d)/d; sqrt(x^2 p) = x sqrt(p) for x >= 0 and p >= 0; exp of a sum is the product; exp(n log p) = p^n for an integer n;
exp(x) = exp(x/2)^2 where exp(x/2) occurs as well, and likewise for other fractions with small denominators.
Divisors must be certified nonzero, arguments of log positive and of sqrt not negative, or the certificate is
rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import lcm
from typing import Any

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.arithmetic import Interval, Rejected
from dpproof.proofs_check.kernel.expressions import Expr, node
from dpproof.proofs_check.kernel.polynomials import (
    MAX_DEGREE,
    ONE,
    UNIT,
    UNITY,
    Monomial,
    Poly,
    Quotient,
    common_monomial,
    constant,
    content,
    divided,
    is_one,
    joined,
    negative,
    plus,
    raised,
    times,
)

MAX_UNIT = 12


Bounds = tuple[Interval, tuple[bool, bool]]
"""An interval, and for each endpoint whether it is excluded."""


@dataclass
class Symbol:
    """A symbol of a polynomial: its operation ("" for a variable), the operation's argument, and how to bound it."""

    op: str
    inner: Quotient
    find: Callable[[], Bounds]

    @cached_property
    def bounds(self) -> Bounds:
        """The interval of the values. It is computed when it is first needed."""
        return self.find()

    @property
    def range(self) -> Interval:
        """The closed interval of the values."""
        return self.bounds[0]


class Symbols(dict[str, Symbol]):
    """The symbols by their names. That of a variable is made when it is first needed."""

    def __init__(self, variable: Callable[[str], Bounds]) -> None:
        super().__init__()
        self.variable = variable

    def __missing__(self, name: str) -> Symbol:
        """Return the symbol of a variable. A name that is no variable is an error."""
        found = self.variable(name)
        self[name] = Symbol("", ({}, {}), lambda: found)
        return self[name]


class Field:
    """An object that computes normal forms of formulas whose variables lie in given intervals.

    ``atoms`` becomes true if a decision used the interval of an atom: a logarithm, an exponential, a root or erfc.
    """

    def __init__(self, variable: Callable[[str], Bounds], prec: int) -> None:
        self.prec = prec
        self.symbols = Symbols(variable)
        self.atoms = self.roots = False
        self.units: dict[str, int] = {}
        self.finer: dict[str, tuple[str, int]] = {}

    def _symbol(self, s: str) -> Symbol:
        """Return a symbol whose range is about to be used."""
        found = self.symbols[s]
        self.atoms = self.atoms or found.op != ""
        return found

    def _affine(self, s: str, reflect: frozenset[str]) -> Poly:
        low, high, _ = self._symbol(s).range
        if low == ia.ZERO and s not in reflect:
            return {((s, 1),): ONE}
        if not low[0] and (s not in reflect or high[0]):
            return plus(constant(low[1]), {((s, 1),): Fraction(1)})
        return {((s, 1),): Fraction(1)} if high[0] else plus(constant(high[1]), {((s, 1),): Fraction(-1)})

    def _distance(self, s: str, reflect: frozenset[str]) -> tuple[bool, bool]:
        """Tell whether the shifted symbol is never negative, and whether it is never zero."""
        (low, high, _), ends = self._symbol(s).bounds
        below = not low[0] and (s not in reflect or high[0] != 0)
        return below or not high[0], ends[0] if below else (not high[0] and ends[1])

    def shifted(self, p: Poly, reflect: frozenset[str]) -> Poly:
        """Return p as a polynomial in the distances of its symbols from their bounds.

        The distance is from the upper bound for symbols in `reflect`, otherwise from the lower bound. If this bound
        is infinite, the other bound is used; if both are infinite, the symbol itself.
        """
        if all(self._symbol(s).range.lo == ia.ZERO and s not in reflect for m in p for s, _ in m):
            return p
        moved = ([raised(self._affine(s, reflect), k) for s, k in m] for m in p)
        return plus(
            *(reduce(times, factors, constant(c)) for factors, c in zip(moved, p.values(), strict=True))
        )

    def positive(self, p: Poly, reflect: frozenset[str] = frozenset()) -> bool | None:
        """Return True if p > 0 is certified, False if only p >= 0 is certified, and otherwise None.

        The method looks at the signs of coefficients, after positive common factors are removed.
        """
        mono = tuple((s, k) for s, k in (common_monomial(p) if p else ()) if self._is(s, True))
        return self._coefficients(divided(p, Fraction(1), mono), reflect)

    def _coefficients(self, p: Poly, reflect: frozenset[str]) -> bool | None:
        out, strict = self.shifted(p, reflect), False
        for m, c in out.items():
            ends = [(self._distance(s, reflect), k) for s, k in m]
            if c < 0 or not all(side[0] or k % 2 == 0 for side, k in ends):
                return None
            strict = strict or all(side[1] for side, _ in ends)
        return strict

    def sign(self, p: Poly) -> bool | None:
        """Return True if p > 0 is certified, False if only p >= 0 is certified, and otherwise None.

        The signs of coefficients are tried first, then interval arithmetic.
        """
        if p.keys() == UNITY.keys():
            return True if p[UNIT] > 0 else None
        found: bool | None = None
        for reflect in (frozenset[str](), frozenset(s for m in p for s, _ in m)):
            sign = self.positive(p, reflect)
            if sign:
                return True
            found = sign if found is None else found
        low, _, nz = self._enclosed(p)
        return nz if low >= ia.ZERO else found

    def _enclosed(self, p: Poly) -> Interval:
        total = ia.point(Fraction(0))
        for m, c in p.items():
            powers = (ia.power(self._symbol(s).range, k, self.prec) for s, k in m)
            total = ia.add(
                total, reduce(lambda a, b: ia.mul(a, b, self.prec), powers, ia.point(c)), self.prec
            )
        return total

    def bound(self, p: Poly) -> Interval:
        """Return an interval that contains the values of p on the domain."""
        low, high, nz = self._enclosed(p)
        for reflect in (frozenset[str](), frozenset(s for m in p for s, _ in m)):
            sign = self._coefficients(p, reflect)
            if sign is not None:  # then the constant term is a lower bound
                low = max(low, (0, self.shifted(p, reflect).get(UNIT, Fraction(0))))
                nz = nz or sign
        return ia.enclosing(low, high, nz, self.prec)

    def formula(self, s: str) -> Expr:
        """Return the formula of a symbol."""
        symbol = self.symbols[s]
        if symbol.op in ("", "pi"):
            return (symbol.op,) if symbol.op else s
        above, below = (self.written(p) for p in symbol.inner)
        return symbol.op, ("/", above, below)

    def written(self, p: Poly) -> Expr:
        """Return the formula of a polynomial."""
        return "+", Fraction(0), *(("*", c, *(("^", self.formula(s), k) for s, k in m)) for m, c in p.items())

    def reduced(self, p: Poly) -> Poly:
        """Return p with every sqrt(x)**2 replaced by x, and exp(x) by exp(x/2)**2 if exp(x/2) occurs, too."""
        if not self.roots and not self.finer:
            return p
        for m, c in p.items():
            for s, k in m:
                if s in self.finer:
                    fine, n = self.finer[s]
                    there = {joined(tuple(x for x in m if x[0] != s), ((fine, k * n),)): c}
                    return self.reduced(plus({x: y for x, y in p.items() if x != m}, there))
                if self.symbols[s].op == "sqrt" and k > 1:
                    rest: Poly = {tuple(x for x in m if x[0] != s): c}
                    root: Poly = {((s, 1),): Fraction(1)} if k % 2 else constant(1)
                    new = times(times(rest, root), raised(self.symbols[s].inner[0], k // 2))
                    return self.reduced(plus({n: d for n, d in p.items() if n != m}, new))
        return p

    def quotient(self, n: Poly, d: Poly) -> Quotient:
        """Return n/d after cancelling common factors. d must be positive on the domain.

        Only factors that are positive on the domain are cancelled.
        """
        n = self.reduced(n)
        if not n or is_one(d):
            return n, UNITY
        d = self.reduced(d)
        number, below = content(d)
        above = dict(common_monomial(n)) if below else {}
        shared = ((s, min(k, above.get(s, 0))) for s, k in below)
        mono: Monomial = tuple((s, k) for s, k in shared if k and self._is(s, True))
        n, d = divided(n, number, mono), divided(d, number, mono)
        if n.keys() == d.keys() and len({n[m] / d[m] for m in n}) == 1:
            return constant(n[next(iter(n))] / d[next(iter(n))]), constant(1)
        return n, d

    def normal(self, e: Expr) -> Quotient:
        """Return the normal form of a formula. Reject a formula that may be undefined on the domain."""
        if type(e) is Fraction:
            return constant(e), UNITY
        if type(e) is str:
            return {((e, 1),): ONE}, UNITY
        e = node(e)
        if e[0] == "^":
            return self._power(self.normal(e[1]), e[2])
        if e[0] == "pi":
            self.symbols.setdefault("pi", Symbol("pi", ({}, {}), lambda: (ia.pi(self.prec), (False, False))))
            return {(("pi", 1),): Fraction(1)}, constant(1)
        if e[0] in ("sum", "E"):
            raise Rejected(
                "a node telescope or expect must first replace the sum or expectation by a variable"
            )
        args = [self.normal(x) for x in e[1:]]
        if e[0] in UNARY:
            return UNARY[e[0]](self, *args[0])
        return reduce(lambda a, b: BINARY[e[0]](self, a, b), args)

    def add(self, a: Quotient, b: Quotient) -> Quotient:
        """Return the sum of two quotients."""
        if (is_one(a[1]) and is_one(b[1])) or a[1] == b[1]:
            return self.quotient(plus(a[0], b[0]), a[1])
        return self.quotient(plus(times(a[0], b[1]), times(b[0], a[1])), times(a[1], b[1]))

    def mul(self, a: Quotient, b: Quotient) -> Quotient:
        """Return the product of two quotients."""
        return self.quotient(times(a[0], b[0]), times(a[1], b[1]))

    def inverse(self, a: Quotient) -> Quotient:
        """Return 1/a for a quotient whose numerator is certified to be positive or negative."""
        if self.sign(a[0]):
            return self.quotient(a[1], a[0])
        if self.sign(negative(a[0])):
            return self.quotient(negative(a[1]), negative(a[0]))
        raise Rejected("a divisor may be zero")

    def _power(self, a: Quotient, n: int) -> Quotient:
        base = a if n >= 0 else self.inverse(a)
        return reduce(self.mul, [base] * abs(n), (constant(1), constant(1)))

    def _atom(self, op: str, inner: Quotient) -> Quotient:
        name = f"{op}({sorted(inner[0].items())}/{sorted(inner[1].items())})"
        if name not in self.symbols:
            self.symbols[name] = Symbol(op, inner, lambda: self._bounds(op, inner))
            self.atoms = self.atoms or any(self.symbols[s].op for p in inner for m in p for s, _ in m)
            self.roots = self.roots or op == "sqrt"
        return {((name, 1),): ONE}, UNITY

    def _bounds(self, op: str, inner: Quotient) -> Bounds:
        """Return an interval that contains the values of an atom."""
        value = self.bound(inner[0])
        if not is_one(inner[1]):
            value = ia.mul(value, ia.inverse(self.bound(inner[1]), self.prec), self.prec)
        value = ia.UNARY[op](value, self.prec)
        return value, (value.nz and value.lo == ia.ZERO, value.nz and value.hi == ia.ZERO)

    def _is(self, s: str, strictly: bool) -> bool:
        low, _, nz = self._symbol(s).range
        return low >= ia.ZERO and (nz or not strictly)

    def log(self, n: Poly, d: Poly) -> Quotient:
        """Return the logarithm of the quotient n/d."""
        return self.add(self._log(n), _negated(self, *self._log(d)))

    def _log(self, p: Poly) -> Quotient:
        if not self.sign(p):
            raise Rejected("the argument of a logarithm may be zero or negative")
        number, mono = content(p)
        mono = tuple((s, k) for s, k in mono if self._is(s, True))
        terms = [
            (k, self._atom("log", (constant(q), constant(1)))) for q, k in ia.primes(number.numerator).items()
        ]
        terms += [
            (-k, self._atom("log", (constant(q), constant(1))))
            for q, k in ia.primes(number.denominator).items()
        ]
        terms += [(k, self._log_symbol(s)) for s, k in mono]
        rest = divided(p, number, mono)
        if not is_one(rest):
            terms.append((1, self._atom("log", (rest, constant(1)))))
        total: Quotient = ({}, constant(1))
        for k, x in terms:
            total = self.add(total, self.mul((constant(k), constant(1)), x))
        return total

    def _log_symbol(self, s: str) -> Quotient:
        symbol = self.symbols[s]
        if symbol.op == "exp":
            return symbol.inner
        if symbol.op == "sqrt":
            return self.mul((constant(Fraction(1, 2)), constant(1)), self._log(symbol.inner[0]))
        return self._atom("log", ({((s, 1),): Fraction(1)}, constant(1)))

    def sqrt(self, n: Poly, d: Poly) -> Quotient:
        """Return the square root of the quotient n/d."""
        p = self.reduced(times(n, d))
        if self.sign(n) is None or self.sign(p) is None:
            raise Rejected("the argument of a square root may be negative")
        if not p:
            return {}, constant(1)
        number, mono = content(p)
        whole = number.numerator * number.denominator
        square = reduce(lambda x, f: x * f[0] ** (f[1] // 2), ia.primes(whole).items(), 1)
        out: Monomial = tuple((s, k // 2) for s, k in mono if k > 1 and self._is(s, False))
        rest = times(constant(whole // square**2), divided(p, number, tuple((s, 2 * k) for s, k in out)))
        if self.sign(rest) is None:
            out, rest = (), times(constant(Fraction(whole, square**2) / number), p)
        root = UNITY if is_one(rest) else self._atom("sqrt", (rest, constant(1)))[0]
        return self.quotient(times({out: Fraction(square, number.denominator)}, root), d)

    def exp(self, n: Poly, d: Poly) -> Quotient:
        """Return the exponential of the quotient n/d, as a product over the terms of n."""
        terms = (self._exp_term(*self.quotient({m: c}, d)) for m, c in n.items())
        return reduce(self.mul, terms, (constant(1), constant(1)))

    def _exp_term(self, n: Poly, d: Poly) -> Quotient:
        """Return the exponential of a quotient whose numerator has one term."""
        ((m, c),) = n.items()
        symbol = self.symbols[m[0][0]] if len(m) == 1 and m[0][1] == 1 and is_one(d) else None
        if symbol and symbol.op == "log" and c.denominator == 1 and abs(c) <= MAX_DEGREE:
            return self._power(symbol.inner, int(c))
        if abs(c.numerator) > MAX_DEGREE:
            return self._atom("exp", (n, d))
        q = self._unit(m, d, c.denominator)
        power = c.numerator * (q // c.denominator)
        if abs(power) > MAX_DEGREE:
            q, power = c.denominator, c.numerator
        return self._power(self._atom("exp", ({m: Fraction(1, q)}, d)), power)

    def _unit(self, m: Monomial, d: Poly, q: int) -> int:
        """Return the least common multiple of the denominators with which exp(m/(q d)) has occurred, if it is small.

        The exponentials that occurred with another one become powers of a new one.
        """
        key = f"{m}/{sorted(d.items())}"
        old = self.units.get(key, q)
        unit = lcm(old, q)
        if unit > MAX_UNIT:
            return q
        if unit > old:
            self.finer[self._exponential(m, d, old)] = self._exponential(m, d, unit), unit // old
        self.units[key] = unit
        return unit

    def _exponential(self, m: Monomial, d: Poly, q: int) -> str:
        """Return the name of the symbol exp(m/(q d))."""
        ((((name, _),), _),) = self._atom("exp", ({m: Fraction(1, q)}, d))[0].items()
        return name


def _negated(field: Field, n: Poly, d: Poly) -> Quotient:
    return negative(n), d


UNARY: dict[str, Callable[[Field, Poly, Poly], Quotient]] = {
    "neg": _negated,
    "log": Field.log,
    "exp": Field.exp,
    "sqrt": Field.sqrt,
    "erfc": lambda f, n, d: f._atom("erfc", (n, d)),
}
BINARY: dict[str, Callable[[Field, Any, Any], Quotient]] = {
    "+": Field.add,
    "*": Field.mul,
    "-": lambda f, a, b: f.add(a, (negative(b[0]), b[1])),
    "/": lambda f, a, b: f.mul(a, f.inverse(b)),
}
