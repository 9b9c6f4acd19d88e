"""Formulas with functions, sums and integrals: their parts, substitution, and a canonical form.

("@f", x...) is the value of a function, ("sum", index, lo, hi, body) a sum, ("~I", index, x..., body) an integral. In
canonical form an index is "#k", where k says how deeply sums and integrals are nested in its body.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import Expr

ONE, ZERO = Fraction(1), Fraction(0)
MAX_PARTS = 20_000
LINEAR = ("+", "-", "*", "neg")


def binds(e: Expr) -> bool:
    """Return whether a formula is a sum or an integral."""
    return type(e) is tuple and (e[0] == "sum" or e[0][0] == "~")


def parts(e: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of a formula, without the index of a sum or an integral and without exponents."""
    if type(e) is not tuple:
        return ()
    return tuple(x for x in e[2 if binds(e) else 1 :] if type(x) is not int)


def inside(e: Expr) -> Iterable[Expr]:
    """Yield a formula and all its parts."""
    yield e
    for x in parts(e):
        yield from inside(x)


def strictly(e: Expr) -> Iterable[Expr]:
    """Yield a formula and those parts that must be defined for the formula to be defined: no bodies of sums."""
    yield e
    for x in parts(e)[: -1 if binds(e) else None]:
        yield from strictly(x)


def nesting(e: Expr) -> int:
    """Return how many sums and integrals stand inside each other in a formula in canonical form."""
    if type(e) is not tuple:
        return 0
    if binds(e):
        return 1 + max(int(e[1][1:]), *map(nesting, e[2:-1]), 0)
    return max(map(nesting, e[1:]), default=0)


def put(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return the formula with free variables replaced. The new formulas must not contain an index "#k" freely."""
    if type(e) is not tuple:
        return values.get(e, e) if type(e) is str else e
    at = 2 if e[0] == "sum" or e[0][0] == "~" else 1
    if at == 2 and e[1] in values:
        free = {name: x for name, x in values.items() if name != e[1]}
        return (e[0], e[1], *(put(x, values) for x in e[2:-1]), put(e[-1], free))
    return rebuilt(e, at, [put(x, values) for x in e[at:]])


def rebuilt(e: tuple[Any, ...], at: int, new: list[Any]) -> Expr:
    """Return a formula with new parts from a place on. It is the same object if the parts are the same objects."""
    return e if all(map(operator.is_, e[at:], new)) else (*e[:at], *new)


def opened(e: tuple[Any, ...], x: Expr) -> Expr:
    """Return the body of a sum or an integral at the point x, which must not contain an index freely."""
    return canonical(put(e[-1], {e[1]: x}))


def canonical(e: Expr) -> Expr:
    """Return the formula with canonical names of indices and with arguments of functions in linear normal form.

    Reject a formula with too many parts: a rewriting step can double a formula, but not for long.
    """
    return _canonical(e, 0, [MAX_PARTS])


KNOWN: dict[int, tuple[Expr, int]] = {}
"""Formulas in canonical form, and how many operations they have, by their identity. They are kept, so that no other
object can have the identity."""


def _canonical(e: Expr, level: int, left: list[int]) -> Expr:
    """Rebuild a formula. Meanwhile each index has a name of its own, "?!k", so that no index captures another one."""
    if type(e) is not tuple:
        return e
    before, known = left[0], KNOWN.get(id(e))
    left[0] -= known[1] if known else 1
    if left[0] < 0:
        raise Rejected("a formula is too large")
    if known:
        return e
    if e[0] == "sum" or e[0][0] == "~":
        mark = f"?!{level:05}"
        body = _canonical(put(e[-1], {e[1]: mark}), level + 1, left)
        index = f"#{nesting(body)}"
        between = (_linear(_canonical(x, level, left)) for x in e[2:-1])
        found: Expr = (e[0], index, *between, put(body, {mark: index}))
    elif e[0][0] == "@":
        found = rebuilt(e, 1, [_linear(_canonical(x, level, left)) for x in e[1:]])
    else:
        found = rebuilt(e, 1, [_canonical(x, level, left) for x in e[1:]])
    if level == 0:
        KNOWN[id(found)] = found, before - left[0]
    return found


def total(e: Expr) -> bool:
    """Return whether a formula is defined for all values of its variables, by its form alone."""
    if type(e) is not tuple:
        return True
    if e[0] == "/":
        return total(e[1]) and all(type(x) is Fraction and x != 0 for x in e[2:])
    if e[0][0] == "~" or e[0] in ("log", "sqrt", "E") or (e[0] == "^" and e[2] < 0):
        return False
    return all(map(total, parts(e)))


def _linear(e: Expr) -> Expr:
    """Return a formula in the normal form of a linear combination: k + 1 - 1 becomes k.

    A formula that may be undefined stays as it is, because its terms must not vanish.
    """
    if type(e) is not tuple or e[0] not in LINEAR or not total(e):
        return e
    if e[0] == "+" and len(e) == 3 and type(e[1]) is str and type(e[2]) is Fraction and e[2]:
        return e
    terms = {x: c for x, c in _combination(e).items() if c}
    rest = [x for x in terms if type(x) is not Fraction]
    if len(rest) > 1:
        rest.sort(key=repr)
    written: list[Expr] = [x if terms[x] == 1 else ("*", terms[x], x) for x in rest]
    if ONE in terms:
        written.append(terms[ONE])
    return ("+", *written) if len(written) > 1 else (written[0] if written else ZERO)


def _combination(e: Expr) -> dict[Expr, Fraction]:
    if type(e) is Fraction:
        return {ONE: e}
    if type(e) is not tuple:
        return {e: ONE}
    op = e[0]
    if op == "neg":
        return {x: -c for x, c in _combination(e[1]).items()}
    if op in ("+", "-"):
        added: dict[Expr, Fraction] = {}
        for place, part in enumerate(e[1:]):
            for x, found in _combination(part).items():
                c = -found if op == "-" and place else found
                added[x] = added[x] + c if x in added else c
        return added
    if op == "*" and len(e) == 3 and Fraction in (type(e[1]), type(e[2])):
        c, x = (e[1], e[2]) if type(e[1]) is Fraction else (e[2], e[1])
        return {y: c * d for y, d in _combination(x).items()}
    return {e: ONE}


def shown(e: Expr) -> str:
    """Return a formula as text, for messages."""
    if type(e) is not tuple:
        return str(e)
    if e[0] in ("+", "*", "/", "-"):
        return "(" + f" {e[0]} ".join(map(shown, e[1:])) + ")"
    if e[0] == "^":
        return f"{shown(e[1])}**{e[2]}"
    return f"{e[0].lstrip('@~')}({', '.join(map(shown, e[1:]))})"
