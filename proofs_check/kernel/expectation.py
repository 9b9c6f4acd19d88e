"""Expectations: a positive, normalised, linear functional on random variables.

``expect`` shows formulas to be surely nonnegative and takes their expectations as hypotheses. Expectations
are expanded: what is not random comes out, independent factors part, and what is left, the expectation of
one monomial, becomes a variable. A claim asserts that the monomials of its own expectations are integrable;
one that only the formulas of ``expect`` bring in must be bounded. ``have`` is free to name others: what it
shows rests on finitely many moments, which some finite law has, too (docs/notes/kernel.md).
"""

from dataclasses import replace
from fractions import Fraction
from functools import reduce

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel.arithmetic import Interval, Rejected
from dpproof.proofs_check.kernel.expressions import Expr, has, outside, read
from dpproof.proofs_check.kernel.goals import Node, Range, Relation, Replay, Task, keys

ZERO = Fraction(0)
TRIVIAL = Relation(">=", ZERO, ZERO)


def expect(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove formulas nonnegative for all values; then open all expectations."""
    facts = keys(node, {"expect", "sub"})["expect"]
    if type(facts) is not list or not all(type(x) is list and len(x) == 2 for x in facts) or not t.random:
        raise Rejected("expect: wants random variables and a list of [formula, node]")
    # Hypotheses keep their places, so that proofs can count them.
    surely = [TRIVIAL if has(x.difference, "E") else x for x in t.given]
    inner = replace(t, domain=t.domain | t.random, random={}, groups=(), given=surely)
    formulas = [read(data, set(inner.domain)) for data, _ in facts]
    for e, (_, proof) in zip(formulas, facts, strict=True):
        if has(e, "E"):
            raise Rejected("expect: an expectation inside an expectation")
        replay(inner.under(goal=Relation(">=", e, ZERO)), proof)
    opened = Opened(t, inner.field())
    goal = opened.relation(t.goal)
    given = [opened.relation(x) for x in t.given]
    opened.integrable = False
    given += [Relation(">=", opened.expression(("E", e)), ZERO) for e in formulas]
    replay(
        replace(t, domain=t.domain | opened.ranges, random={}, groups=(), given=given, goal=goal), node["sub"]
    )
    return opened.field


class Opened:
    """The expectations of a task, as variables."""

    def __init__(self, t: Task, field: nf.Field) -> None:
        self.task, self.field, self.integrable = t, field, True
        self.names: dict[nf.Monomial, str] = {}
        self.ranges: dict[str, Range] = {}

    def relation(self, x: Relation) -> Relation:
        """Open both sides; a hypothesis on random variables themselves says nothing any more."""
        if outside(x.difference) & self.task.random.keys():
            return TRIVIAL
        return Relation(x.rel, self.expression(x.left), self.expression(x.right))

    def expression(self, e: Expr) -> Expr:
        """Replace the expectations in a formula."""
        if type(e) is not tuple:
            return e
        if e[0] == "sum" and has(e, "E"):
            raise Rejected("expect: an expectation inside a sum")
        if e[0] != "E":
            return (e[0], *(x if type(x) is int else self.expression(x) for x in e[1:]))
        numerator, denominator = self._whole(*self.field.normal(e[1]))
        if any(self._random(s) for m in denominator for s, _ in m):
            raise Rejected("expect: a random denominator")
        terms = (("*", c, *map(self._factor, self._parted(m))) for m, c in numerator.items())
        return "/", ("+", ZERO, *terms), self.field.written(denominator)

    def _whole(self, n: nf.Poly, d: nf.Poly) -> nf.Quotient:
        """Write a random monomial below as negative powers above: 1/exp(x) is one function of x."""
        if len(d) > 1:
            return n, d
        ((m, c),) = d.items()
        back = tuple((s, -k) for s, k in m if self._random(s))
        return {nf.joined(x, back): y for x, y in n.items()}, {
            tuple(x for x in m if not self._random(x[0])): c
        }

    def _random(self, s: str) -> frozenset[str]:
        """Return the random variables in a symbol."""
        symbol = self.field.symbols[s]
        if not symbol.op:
            return frozenset({s} & self.task.random.keys())
        return frozenset().union(*(self._random(x) for p in symbol.inner for m in p for x, _ in m))

    def _parted(self, m: nf.Monomial) -> list[nf.Monomial]:
        """Part a monomial into independent factors; what is not random stands alone."""
        groups: list[tuple[frozenset[str], nf.Monomial]] = []
        for s, k in m:
            # a symbol in several groups, or without groups, ties them together
            mine = frozenset().union(*(self._group(v) for v in self._random(s)))
            tied = [x for x in groups if x[0] & mine]
            groups = [x for x in groups if not x[0] & mine]
            together = (y for x in tied for y in x[1])
            groups.append((mine.union(*(x[0] for x in tied)), tuple(sorted((*together, (s, k))))))
        return [m for _, m in groups]

    def _group(self, v: str) -> frozenset[str]:
        return next((group for group in self.task.groups if v in group), frozenset(self.task.random))

    def _factor(self, m: nf.Monomial) -> Expr:
        """Return a factor that is not random, or the variable for the expectation of one that is."""
        if not any(self._random(s) for s, _ in m):
            return "*", Fraction(1), *(("^", self.field.formula(s), k) for s, k in m)
        if m not in self.names:
            self.field.atoms |= any(self.field.symbols[s].op for s, _ in m)
            powers = (ia.power(self.field.symbols[s].range, k, self.field.prec) for s, k in m)
            values = reduce(lambda a, b: ia.mul(a, b, self.field.prec), powers)
            if not self.integrable and (values.lo[0] or values.hi[0]):
                raise Rejected("expect: an unbounded formula of which the claim knows no expectation")
            self.names[m] = self._name(m)
            self.ranges[self.names[m]] = _range(values)
        return self.names[m]

    def _name(self, m: nf.Monomial) -> str:
        """Name an expectation after its monomial, E_x2_y, or by its number."""
        plain = all(self.field.symbols[s].op == "" and k > 0 for s, k in m)
        number = sum(1 for name in self.names.values() if name[2:].isdigit()) + 1
        name = "E_" + ("_".join(s + (str(k) if k > 1 else "") for s, k in m) if plain else str(number))
        while name in self.ranges.keys() | self.task.domain.keys():
            name += "_"
        return name


def _range(values: Interval) -> Range:
    """Return where an expectation lies: among the values, and above zero if they all are."""
    lower = values.lo[0] != 0 or (values.nz and values.lo == ia.ZERO)
    return Range(values.lo, values.hi, (lower, values.hi[0] != 0 or (values.nz and values.hi == ia.ZERO)))
