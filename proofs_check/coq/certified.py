"""Write formulas as quotients of polynomials without negative coefficients, as the kernel's normal forms are.

Coq proves that the formula equals the quotient, and that the quotient has the sign of its coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import comb
from typing import Any

from dpproof.proofs_check.coq.export import term
from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel import polynomials as po
from dpproof.proofs_check.kernel.expressions import read
from dpproof.proofs_check.kernel.goals import interval
from dpproof.proofs_check.kernel.leaves import _coefficient, _without

Tree = Any
PRECISION = 40


class Certified:
    """Normal forms of formulas with variables in intervals."""

    def __init__(self, ranges: Mapping[str, str]) -> None:
        found = {v: interval(text) for v, text in ranges.items()}
        self.names = set(ranges)
        self.field = nf.Field(lambda v: (found[v].hull(), found[v].open), PRECISION)

    def tactic(self, e: Tree, reflect: Iterable[str] = ()) -> str | None:
        """Return a tactic that proves 0 <= e or 0 < e, or None if the coefficients do not show it."""
        try:
            above, below = self.field.normal(read(_data(e), self.names))
            tried = (
                frozenset(reflect),
                frozenset[str](),
                frozenset(s for p in (above, below) for m in p for s, _ in m),
            )
            top = next((x for r in tried if (x := self._written(above, r))), None)
            bottom = next((x for r in tried if (x := self._written(below, r))), None)
        except Rejected:
            return None
        if top is None:
            return None
        whole, facts = top
        divisor, more = bottom or (self.polynomial(below), [])
        held = "".join(f"distance {x}; " for x in dict.fromkeys(map(term, [*facts, *more])))
        return f"{self.atoms(e)}{held}certified {term(whole)} {term(divisor)}"

    def bernstein(self, e: Tree, v: str, degree: int) -> str:
        """Return a tactic that proves the sign of a polynomial in v with its coefficients in Bernstein's form."""
        low, high, _ = self.field.symbols[v].range
        above, below = self.field.normal(read(_data(e), self.names))
        u = po.plus(po.constant(low[1]), {((v, 1),): high[1] - low[1]})
        moved: po.Poly = {}
        for m, c in above.items():
            power = po.raised(u, dict(m).get(v, 0))
            moved = po.plus(moved, po.times({_without(m, v): c}, power))
        x, y, width = ["-", v, str(low[1])], ["-", str(high[1]), v], high[1] - low[1]
        terms = []
        for j in range(degree + 1):
            b = self.polynomial(_coefficient(moved, v, j, degree))
            whole = _product(Fraction(comb(degree, j)) / width**degree, [(x, j), (y, degree - j)])
            terms.append(["*", b, whole])
        return f"{self.atoms(e)}certified {term(['+', *terms])} {term(self.polynomial(below))}"

    def atoms(self, e: Tree) -> str:
        """Return tactics that write exponentials, logarithms and roots as the kernel's normal forms do."""
        out = ""
        for atom in dict.fromkeys(_outer(read(_data(e), self.names))):
            above, below = self.field.normal(atom)
            normal = self.quotient(above, below)
            if atom[0] == "exp":
                normal = ["/", self._factors(above), self._factors(below)]
            if term(normal) != term(_data(atom)):
                argument = ""
                if atom[0] == "log":
                    n, d = self.field.normal(atom[1])
                    argument = f" {term(['/', self._factors(n), self._factors(d)])}"
                out += f"try is_{atom[0]} {term(_data(atom))} {term(normal)}{argument}; "
        return out

    def _factors(self, p: po.Poly) -> Tree:
        """Return a polynomial with its common factors in front."""
        number, mono = po.content(p)
        mono = tuple((s, k) for s, k in mono if self.field._is(s, True))
        rest = po.divided(p, number, mono)
        factors = [(self.formula(s), k) for s, k in mono]
        return _product(number, factors if rest == po.UNITY else [*factors, (self.polynomial(rest), 1)])

    def quotient(self, above: po.Poly, below: po.Poly) -> Tree:
        """Return the formula of a quotient of polynomials."""
        return (
            self.polynomial(above)
            if below == po.UNITY
            else ["/", self.polynomial(above), self.polynomial(below)]
        )

    def _written(self, p: po.Poly, reflect: frozenset[str]) -> tuple[Tree, list[Tree]] | None:
        """Return a polynomial in distances from ends, and these distances, if no coefficient is negative."""
        common = po.content(p)[1] if p else ()
        mono = tuple((s, k) for s, k in common if self.field._is(s, True))
        rest = po.divided(p, Fraction(1), mono)
        if self.field._coefficients(rest, reflect) is None:
            return None
        terms, used = [], list[Tree]()
        for m, c in self.field.shifted(rest, reflect).items():
            distances = [(self._distance(s, reflect), k) for s, k in m]
            used += [x for (x, signed), k in distances if signed]
            terms.append(_product(c, [(x, k) for (x, _), k in distances]))
        head = _product(Fraction(1), [(self.formula(s), k) for s, k in mono])
        return ["*", head, ["+", *terms] if terms else "0"], [*used, *(self.formula(s) for s, _ in mono)]

    def _distance(self, s: str, reflect: frozenset[str]) -> tuple[Tree, bool]:
        """Return the distance of a symbol from an end, and whether it has an end."""
        low, high, _ = self.field.symbols[s].range
        x = self.formula(s)
        if not low[0] and (s not in reflect or high[0]):
            return (["-", x, str(low[1])] if low[1] else x), True
        return (x, False) if high[0] else (["-", str(high[1]), x], True)

    def formula(self, s: str) -> Tree:
        """Return the formula of a symbol."""
        symbol = self.field.symbols[s]
        if symbol.op in ("", "pi"):
            return symbol.op or s
        above, below = symbol.inner
        return [symbol.op, self.quotient(above, below)]

    def polynomial(self, p: po.Poly) -> Tree:
        """Return the formula of a polynomial."""
        terms = [_product(c, [(self.formula(s), k) for s, k in m]) for m, c in p.items()]
        return ["+", *terms] if len(terms) > 1 else terms[0] if terms else "0"


def _product(c: Fraction, factors: Iterable[tuple[Tree, int]]) -> Tree:
    parts = [x if k == 1 else ["^", x, str(k)] for x, k in factors if k]
    if not parts or c != 1:
        parts = [str(c), *parts]
    return ["*", *parts] if len(parts) > 1 else parts[0]


def _data(e: Tree) -> Tree:
    """Return a formula as JSON data, if its parts are JSON data or formulas of the kernel."""
    if isinstance(e, Fraction | int):
        return str(e)
    return "pi" if e == ("pi",) else e if type(e) is str else [e[0], *map(_data, e[1:])]


def _outer(e: Any) -> Iterator[Any]:
    """Yield the exponentials, logarithms and roots in a formula that stand in no other one."""
    if type(e) is tuple:
        if e[0] in ("exp", "log", "sqrt"):
            yield e
        else:
            for x in e[1:]:
                yield from _outer(x)
