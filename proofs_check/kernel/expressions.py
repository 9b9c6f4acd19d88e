"""Formulas: functions that read a formula from JSON, bound its values, and differentiate it.

Inside the kernel a formula is a Fraction, a variable name, or a tuple (operation, arguments...). The exponent of "^"
is an integer. ("sum", i, lo, hi, body) is the sum over the whole numbers i from lo to hi, ("E", x) the expectation of
x, ("pi",) the number pi. Reading rejects all other operations.

The index of a sum is renamed to "#k", where k says how deeply sums are nested in its body. No variable has such a
name, so a formula that is put into the sum cannot use the index by mistake. Sums that differ only in the name of the
index become equal.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.arithmetic import Interval, Rejected

Expr = Fraction | str | tuple[Any, ...]
Box = dict[str, Interval]
RATIONAL = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?\Z", re.ASCII)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}\Z", re.ASCII)
RESERVED = ("E_", "sum_")
ARITY = {"-": 2, "neg": 1, "/": 2, "^": 2, "exp": 1, "log": 1, "sqrt": 1, "erfc": 1, "E": 1}
MAX_SIZE, MAX_DEPTH, MAX_EXPONENT, MAX_SUM = 4000, 100, 64, 20_000


def rational(text: object) -> Fraction:
    """Return the rational number that a text "p/q" or "p" stands for. Reject anything else, such as a float."""
    if type(text) is not str:
        raise Rejected(f"not a rational string: {str(text)[:60]!r}")
    return _rational(text)


@lru_cache(maxsize=1024)
def _rational(text: str) -> Fraction:
    if not RATIONAL.match(text) or text.endswith("/0"):
        raise Rejected(f"not a rational string: {text[:60]!r}")
    numerator, _, denominator = text.partition("/")
    if denominator and not int(denominator):
        raise Rejected("the denominator of a rational must not be zero")
    return Fraction(int(numerator), int(denominator or 1))


def read(data: object, names: set[str], depth: int = MAX_DEPTH) -> Expr:
    """Return the formula that JSON data stand for. All its variables must be among `names`."""
    if depth == 0 or (depth == MAX_DEPTH and len(str(data)) > 20 * MAX_SIZE):
        raise Rejected("a formula is too large")
    if type(data) is str:
        return ("pi",) if data == "pi" else data if data in names else rational(data)
    if not isinstance(data, list | tuple) or not data or type(data[0]) is not str:
        raise Rejected("not a formula")
    op, args = data[0], data[1:]
    if op == "sum":
        return _read_sum(args, names, depth - 1)
    if op not in ARITY and (op not in ("+", "*") or not args):
        raise Rejected(f"unknown operation {op!r}")
    if op in ARITY and len(args) != ARITY[op]:
        raise Rejected(f"{op} takes {ARITY[op]} argument(s)")
    if op == "^":
        return op, read(args[0], names, depth - 1), exponent(args[1])
    return op, *(read(x, names, depth - 1) for x in args)


def _read_sum(args: Any, names: set[str], depth: int) -> Expr:
    if len(args) != 4 or type(args[0]) is not str or not NAME.match(args[0]) or args[0] in names | {"pi"}:
        raise Rejected('a sum must be ["sum", index, first, last, formula], and its index must be a new name')
    if args[0].startswith(RESERVED):
        raise Rejected("the index of a sum has a reserved name")
    ends = [read(x, names, depth) for x in args[1:3]]
    body = read(args[3], names | {args[0]}, depth)
    index = f"#{_nesting(body)}"
    return "sum", index, *ends, substitute(body, {args[0]: index})


def _nesting(e: Expr) -> int:
    """Count the sums that stand inside each other."""
    if type(e) is not tuple:
        return 0
    inside: int = max((_nesting(x) for x in e[1:] if type(x) is not int), default=0)
    return inside + int(e[0] == "sum")


def exponent(text: object) -> int:
    """Return the exponent of a power, which must be a small integer."""
    n = rational(text)
    if n.denominator != 1 or abs(n) > MAX_EXPONENT:
        raise Rejected(f"an exponent must be an integer from -{MAX_EXPONENT} to {MAX_EXPONENT}")
    return int(n)


def node(e: Expr) -> tuple[Any, ...]:
    """Return the formula unchanged if it is an operation. Reject a number or a variable."""
    if type(e) is not tuple:
        raise Rejected("not a formula")
    return e


def evaluate(e: Expr, box: Box, prec: int, most: int = MAX_SUM) -> Interval:
    """Return an interval that contains the values of a formula for all values of its variables in their intervals.

    `box` maps variables to intervals. A formula that may be undefined somewhere is rejected. Nested sums with more
    than `most` terms in all are also rejected.
    """
    if type(e) is Fraction:
        return ia.point(e)
    if type(e) is str:
        return box[e]
    e = node(e)
    op = e[0]
    if op == "^":
        return ia.power(evaluate(e[1], box, prec, most), e[2], prec)
    if op == "sum":
        return _evaluate_sum(e, box, prec, most)
    if op == "E":
        raise Rejected("a node expect must first replace the expectation by a variable")
    args = [evaluate(x, box, prec, most) for x in e[1:]]
    if op == "pi":
        return ia.pi(prec)
    if op in ia.UNARY:
        return ia.UNARY[op](args[0], prec)
    return reduce(lambda a, b: BINARY[op](a, b, prec), args)


def _evaluate_sum(e: tuple[Any, ...], box: Box, prec: int, most: int) -> Interval:
    """Add the terms one by one; the ends must be known whole numbers."""
    low, high = (evaluate(x, box, prec, most) for x in e[2:4])
    if not (low.lo == low.hi and high.lo == high.hi and low.lo[1].denominator == high.lo[1].denominator == 1):
        raise Rejected("the ends of a sum are not known whole numbers")
    first, last = int(low.lo[1]), int(high.lo[1])
    count = max(last - first + 1, 1)
    if count > most:
        raise Rejected("a sum is too long to be evaluated")
    boxes = (box | {e[1]: ia.point(Fraction(i))} for i in range(first, last + 1))
    terms = (evaluate(e[4], at, prec, most // count) for at in boxes)
    return reduce(lambda a, b: ia.add(a, b, prec), terms, ia.point(ZERO))


BINARY: dict[str, Callable[[Interval, Interval, int], Interval]] = {
    "+": ia.add,
    "*": ia.mul,
    "-": lambda a, b, p: ia.add(a, ia.neg(b, p), p),
    "/": lambda a, b, p: ia.mul(a, ia.inverse(b, p), p),
}


def substitute(e: Expr, values: dict[str, Expr]) -> Expr:
    """Return the formula in which `values` replaces variables by formulas."""
    if type(e) is not tuple:
        return values.get(e, e) if type(e) is str else e
    if e[0] == "sum":
        if any(e[1] in variables(x) for x in values.values()):
            raise Rejected("a formula that is put into a sum must not contain the index of this sum")
        inner = {v: x for v, x in values.items() if v != e[1]}
        return "sum", e[1], *(substitute(x, values) for x in e[2:4]), substitute(e[4], inner)
    return (e[0], *(x if type(x) is int else substitute(x, values) for x in e[1:]))


def replaced(e: Expr, old: Expr, new: Expr) -> Expr:
    """Return the formula with every occurrence of the part `old` replaced by `new`.

    The part `old` must not contain the index of a sum that encloses it.
    """
    if e == old:
        return new
    return (e[0], *(x if type(x) is int else replaced(x, old, new) for x in e[1:])) if type(e) is tuple else e


def has(e: Expr, op: str) -> bool:
    """Return whether an operation occurs in a formula."""
    return type(e) is tuple and (e[0] == op or any(has(x, op) for x in e[1:] if type(x) is not int))


def variables(e: Expr, skip: str = "") -> set[str]:
    """Return the variables that occur in a formula outside the operation `skip`."""
    if type(e) is not tuple or e[0] == skip:
        return {e} if type(e) is str else set()
    bound = {e[1]} if e[0] == "sum" else set()
    return set().union(*(variables(x, skip) for x in e[1:] if type(x) is not int)) - bound


def outside(e: Expr) -> set[str]:
    """Return the variables that occur in a formula outside its expectations."""
    return variables(e, "E")


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


def _d_sum(e: tuple[Any, ...], v: str) -> Expr:
    if v in variables(e[2]) | variables(e[3]):
        raise Rejected("the ends of a sum depend on the variable of a derivative")
    return (*e[:4], derivative(e[4], v))


def _no_derivative(e: tuple[Any, ...], v: str) -> Expr:
    raise Rejected("an expectation cannot be differentiated")


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
    "erfc": lambda e, v: _product(
        Fraction(-2), ("^", ("sqrt", ("pi",)), -1), ("exp", ("neg", ("^", e[1], 2))), derivative(e[1], v)
    ),
    "pi": lambda e, v: ZERO,
    "sum": _d_sum,
    "E": _no_derivative,
}


def derivative(e: Expr, v: str) -> Expr:
    """Return the derivative of a formula in the variable `v`.

    The derivative may be defined at points where the formula is not, so callers must also evaluate the formula.
    """
    if type(e) is tuple:
        return DERIVATIVES[e[0]](e, v)
    return ONE if e == v else ZERO
