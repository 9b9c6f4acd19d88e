"""Formulas: reading them from JSON, enclosing them over a box, differentiating them.

Inside the kernel a formula is a Fraction, a variable name, or a tuple (operation, arguments...) with the
exponent of "^" a plain integer. Reading refuses everything that is not on the list.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from proofs_check.kernel import arithmetic as ia
from proofs_check.kernel.arithmetic import Interval, Rejected

Expr = Fraction | str | tuple[Any, ...]
Box = dict[str, Interval]
RATIONAL = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?\Z", re.ASCII)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}\Z", re.ASCII)
ARITY = {"-": 2, "neg": 1, "/": 2, "^": 2, "exp": 1, "log": 1, "sqrt": 1}
MAX_SIZE, MAX_DEPTH, MAX_EXPONENT = 4000, 100, 64


def rational(text: object) -> Fraction:
    """Read "p/q" or "p" exactly; anything else, a float above all, is refused."""
    if type(text) is not str or not RATIONAL.match(text) or text.endswith("/0"):
        raise Rejected(f"not a rational string: {str(text)[:60]!r}")
    numerator, _, denominator = text.partition("/")
    if denominator and not int(denominator):
        raise Rejected("a rational with denominator zero")
    return Fraction(int(numerator), int(denominator or 1))


def read(data: object, names: set[str], depth: int = MAX_DEPTH) -> Expr:
    """Read a formula whose variables are all among `names`."""
    if depth == 0 or (depth == MAX_DEPTH and len(str(data)) > 20 * MAX_SIZE):
        raise Rejected("a formula is too large")
    if type(data) is str:
        return data if data in names else rational(data)
    if not isinstance(data, list | tuple) or not data or type(data[0]) is not str:
        raise Rejected("not a formula")
    op, args = data[0], data[1:]
    if op not in ARITY and (op not in ("+", "*") or not args):
        raise Rejected(f"unknown operation {op!r}")
    if op in ARITY and len(args) != ARITY[op]:
        raise Rejected(f"{op} takes {ARITY[op]} argument(s)")
    if op == "^":
        return op, read(args[0], names, depth - 1), exponent(args[1])
    return op, *(read(x, names, depth - 1) for x in args)


def exponent(text: object) -> int:
    """Read the integer exponent of a power."""
    n = rational(text)
    if n.denominator != 1 or abs(n) > MAX_EXPONENT:
        raise Rejected("an exponent is not a small integer")
    return int(n)


def node(e: Expr) -> tuple[Any, ...]:
    """Return a formula that is neither number nor variable."""
    if type(e) is not tuple:
        raise Rejected("not a formula")
    return e


def evaluate(e: Expr, box: Box, prec: int) -> Interval:
    """Enclose the values of a formula over a box; refuse if it may be undefined anywhere on it."""
    if type(e) is Fraction:
        return ia.point(e)
    if type(e) is str:
        return box[e]
    e = node(e)
    op = e[0]
    if op == "^":
        return ia.power(evaluate(e[1], box, prec), e[2], prec)
    args = [evaluate(x, box, prec) for x in e[1:]]
    if op in ia.UNARY:
        return ia.UNARY[op](args[0], prec)
    return reduce(lambda a, b: BINARY[op](a, b, prec), args)


BINARY: dict[str, Callable[[Interval, Interval, int], Interval]] = {
    "+": ia.add,
    "*": ia.mul,
    "-": lambda a, b, p: ia.add(a, ia.neg(b, p), p),
    "/": lambda a, b, p: ia.mul(a, ia.inverse(b, p), p),
}


def substitute(e: Expr, values: dict[str, Expr]) -> Expr:
    """Replace variables by formulas."""
    if type(e) is tuple:
        return (e[0], *(x if type(x) is int else substitute(x, values) for x in e[1:]))
    return values.get(e, e) if type(e) is str else e


def variables(e: Expr) -> set[str]:
    """Return the names that occur in a formula."""
    if type(e) is tuple:
        return set().union(*(variables(x) for x in e[1:] if type(x) is not int))
    return {e} if type(e) is str else set()


ZERO, ONE = Fraction(0), Fraction(1)


def _product(*factors: Expr) -> Expr:
    if ZERO in factors:
        return ZERO
    kept = [x for x in factors if x != ONE]
    return ("*", *kept) if len(kept) > 1 else (kept[0] if kept else ONE)


def _total(terms: list[Expr]) -> Expr:
    kept = [x for x in terms if x != ZERO]
    return ("+", *kept) if len(kept) > 1 else (kept[0] if kept else ZERO)


def _d_quotient(e: tuple[Any, ...], v: str) -> Expr:
    first = _product(derivative(e[1], v), ("^", e[2], -1))
    return _total([first, _product(Fraction(-1), e[1], derivative(e[2], v), ("^", e[2], -2))])


DERIVATIVES: dict[str, Callable[[tuple[Any, ...], str], Expr]] = {
    "+": lambda e, v: _total([derivative(x, v) for x in e[1:]]),
    "-": lambda e, v: _total([derivative(e[1], v), _product(Fraction(-1), derivative(e[2], v))]),
    "neg": lambda e, v: _product(Fraction(-1), derivative(e[1], v)),
    "*": lambda e, v: _total([_product(*e[1:i], derivative(e[i], v), *e[i + 1 :]) for i in range(1, len(e))]),
    "/": _d_quotient,
    "^": lambda e, v: _product(Fraction(e[2]), ("^", e[1], e[2] - 1), derivative(e[1], v)) if e[2] else ZERO,
    "exp": lambda e, v: _product(e, derivative(e[1], v)),
    "log": lambda e, v: _product(("^", e[1], -1), derivative(e[1], v)),
    "sqrt": lambda e, v: _product(Fraction(1, 2), ("^", e, -1), derivative(e[1], v)),
}


def derivative(e: Expr, v: str) -> Expr:
    """Differentiate in v. It may be defined where `e` is not: callers evaluate `e` as well."""
    if type(e) is tuple:
        return DERIVATIVES[e[0]](e, v)
    return ONE if e == v else ZERO
