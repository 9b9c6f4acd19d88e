"""Replaying a proof tree against a claim: one small function per kind of node.

A claim is {"vars": {name: "[lo, hi)"}, "given": [[rel, a, b], ...], "goal": [rel, a, b]} and says: for all
real values in the intervals that satisfy the hypotheses, the goal holds and its formulas are defined.
"integers" may name variables that the paper takes as whole numbers: proofs treat them as reals, a
refuting point must respect them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

from proofs_check.kernel import arithmetic as ia
from proofs_check.kernel import normal_form as nf
from proofs_check.kernel.arithmetic import Interval, Number, Rejected
from proofs_check.kernel.expressions import (
    NAME,
    Box,
    Expr,
    derivative,
    evaluate,
    rational,
    read,
    substitute,
    variables,
)  # fmt: skip

MAX_NODES, MAX_PROOF_DEPTH = 5000, 60
INTERVAL = re.compile(r"([\[(])([-0-9/]+|-inf), ([-0-9/]+|inf)([\])])\Z", re.ASCII)
Node = dict[str, Any]


class Range(NamedTuple):
    """The interval of a variable, with its open ends."""

    lo: Number
    hi: Number
    open: tuple[bool, bool]

    def hull(self, closed: bool = False) -> Interval:
        """Return the closed hull; unless `closed`, an open end at zero counts as excluded."""
        outside = self.lo > ia.ZERO or self.hi < ia.ZERO
        at_end = (self.lo == ia.ZERO and self.open[0]) or (self.hi == ia.ZERO and self.open[1])
        return Interval(self.lo, self.hi, outside or (at_end and not closed))

    def has(self, x: Number, strictly: bool = False) -> bool:
        """Tell whether x lies inside (or, strictly, between the ends)."""
        low = self.lo < x if strictly or self.open[0] else self.lo <= x
        return low and (x < self.hi if strictly or self.open[1] else x <= self.hi)

    def covers(self, other: "Range") -> bool:
        """Tell whether every point of `other` lies inside."""
        low = self.lo < other.lo or (self.lo == other.lo and (other.open[0] or not self.open[0]))
        return low and (self.hi > other.hi or (self.hi == other.hi and (other.open[1] or not self.open[1])))


class Relation(NamedTuple):
    """left - right compared with zero."""

    rel: str
    left: Expr
    right: Expr

    @property
    def difference(self) -> Expr:
        """Return left - right."""
        return ("-", self.left, self.right)

    def holds(self, value: Interval) -> bool:
        """Tell whether an enclosure of the difference proves the relation."""
        if self.rel == "==":
            return value.lo == value.hi == ia.ZERO
        return value.lo >= ia.ZERO and (value.nz or self.rel == ">=")


@dataclass
class Task:
    """What is to be shown: the goal, over the domain, under the hypotheses."""

    domain: dict[str, Range]
    given: list[Relation]
    goal: Relation
    integers: set[str]
    prec: int
    budget: list[int]
    leaves: set[str]

    def box(self, closed: str = "") -> Box:
        """Return the hulls, with the interval of `closed` taken together with its ends."""
        return {v: r.hull(v == closed) for v, r in self.domain.items()}

    def value(self, e: Expr, box: Box) -> Interval:
        """Enclose a formula."""
        return evaluate(e, box, self.prec)

    def field(self) -> nf.Field:
        """Return the normal forms over the domain."""
        return nf.Field({v: (r.hull(), r.open) for v, r in self.domain.items()}, self.prec)


def keys(data: object, needed: set[str], optional: frozenset[str] = frozenset()) -> Node:
    """Return a JSON object whose keys are exactly the expected ones."""
    if type(data) is not dict or not needed <= data.keys() <= needed | optional:
        raise Rejected(f"expected an object with the keys {sorted(needed)}")
    return data


def interval(text: object) -> Range:
    """Read "[lo, hi)"; infinite ends are open."""
    match = INTERVAL.match(text) if type(text) is str else None
    if not match:
        raise Rejected(f"not an interval: {str(text)[:60]!r}")
    left, low, high, right = match.groups()
    lo = ia.NEG_INF if low == "-inf" else (0, rational(low))
    hi = ia.INF if high == "inf" else (0, rational(high))
    ends = left == "(", right == ")"
    if lo > hi or (lo == hi and True in ends) or (lo[0] and not ends[0]) or (hi[0] and not ends[1]):
        raise Rejected(f"an empty or ill-formed interval: {text}")
    return Range(lo, hi, ends)


def _domain(data: object) -> dict[str, Range]:
    if type(data) is not dict or not all(type(v) is str and NAME.match(v) for v in data):
        raise Rejected("the variables are not an object of names")
    return {v: interval(text) for v, text in data.items()}


def _relation(data: object, names: set[str]) -> Relation:
    if type(data) not in (list, tuple) or len(data) != 3 or data[0] not in (">=", ">", "=="):  # type: ignore[arg-type,index] # any JSON
        raise Rejected("not a relation")
    return Relation(data[0], read(data[1], names), read(data[2], names))  # type: ignore[index] # a list, by the line above


def task(claim: object, prec: object) -> Task:
    """Read a claim."""
    data = keys(claim, {"vars", "goal"}, frozenset({"given", "integers"}))
    if type(prec) is not int or not 20 <= prec <= 2000:
        raise Rejected("the precision must be an integer from 20 to 2000")
    domain = _domain(data["vars"])
    integers = set(data.get("integers", []))
    if not integers <= domain.keys():
        raise Rejected("an unknown integer variable")
    given = [_relation(x, set(domain)) for x in data.get("given", [])]
    return Task(domain, given, _relation(data["goal"], set(domain)), integers, prec, [MAX_NODES], set())


def replay(t: Task, node: object, depth: int = MAX_PROOF_DEPTH) -> None:
    """Check that a proof node shows the task, or raise."""
    t.budget[0] -= 1
    if t.budget[0] < 0 or depth == 0:
        raise Rejected("the proof is too large")
    if type(node) is not dict or len(kind := [k for k in ("leaf", "split", "subst") if k in node]) != 1:
        raise Rejected("unknown proof node")
    handler = (
        (LEAVES.get(node["leaf"]) if type(node["leaf"]) is str else None)
        if kind == ["leaf"]
        else TREES[kind[0]]
    )
    if handler is None:
        raise Rejected("unknown kind of leaf")
    field = handler(t, node, depth - 1)
    t.leaves.add(str(node.get("leaf", kind[0])) + ("+atoms" if field and field.atoms else ""))


def _with(t: Task, **changes: Range) -> Task:
    return replace(t, domain=t.domain | changes)


def _split(t: Task, node: Node, depth: int) -> None:
    parts = keys(node, {"split"})["split"]
    if type(parts) is not list or len(parts) != 4:
        raise Rejected("a split has a variable, a point and two nodes")
    v, at = _variable(t, parts[0]), (0, rational(parts[1]))
    old = t.domain[v]
    if not old.has(at, strictly=True):
        raise Rejected("a split must lie strictly inside")
    replay(_with(t, **{v: Range(old.lo, at, (old.open[0], False))}), parts[2], depth)
    replay(_with(t, **{v: Range(at, old.hi, (False, old.open[1]))}), parts[3], depth)


def _variable(t: Task, name: object) -> str:
    if type(name) is not str or name not in t.domain:
        raise Rejected("unknown variable in the proof")
    return name


def _range(t: Task, node: Node, depth: int) -> None:
    keys(node, {"leaf"})
    if not t.goal.holds(t.value(t.goal.difference, t.box())):
        raise Rejected("range: the enclosure does not decide the goal")


def _inequality(t: Task) -> Expr:
    if t.goal.rel == "==":
        raise Rejected("this leaf proves inequalities only")
    return t.goal.difference


def _taylor(t: Task, node: Node, depth: int) -> None:
    """G = sum over i < n of g_i(c) (x-c)^i/i! + g_n(xi) (x-c)^n/n!, every term of one sign on each side."""
    keys(node, {"leaf", "var", "at", "order"})
    v, c, g, order = _variable(t, node["var"]), (0, rational(node["at"])), _inequality(t), node["order"]
    if type(order) is not int or not 1 <= order <= 12:
        raise Rejected("taylor: the order must be an integer from 1 to 12")
    hull = t.box(v)
    if not hull[v].lo <= c <= hull[v].hi:
        raise Rejected("taylor: the centre lies outside")
    derivatives = [g]
    for _ in range(order):
        derivatives.append(derivative(derivatives[-1], v))
    everywhere = [t.value(d, hull) for d in derivatives]  # g itself too: a pole must be seen
    at = [t.value(d, hull | {v: ia.point(c[1])}) for d in derivatives[:-1]]
    for side, present in ((1, c < hull[v].hi), (-1, hull[v].lo < c)):
        for i, x in enumerate([*at, everywhere[-1]] if present else []):
            if (x if side**i > 0 else ia.neg(x, t.prec)).lo < ia.ZERO:
                raise Rejected(f"taylor: the sign of derivative {i} is not certain")
    if not t.goal.holds(at[0]):
        raise Rejected("taylor: the value at the centre does not decide the goal")


def _mono(t: Task, node: Node, depth: int) -> None:
    keys(node, {"leaf", "var", "dir", "sub"})
    v, g, up = _variable(t, node["var"]), _inequality(t), node["dir"] == 1
    if type(node["dir"]) is not int or node["dir"] not in (1, -1):
        raise Rejected("mono: the direction is 1 or -1")
    old = t.domain[v]
    face, ends = (old.lo, (False, old.open[1])) if up else (old.hi, (old.open[0], False))
    if face[0]:
        raise Rejected("mono: the face is infinite")
    _with(t, **{v: Range(old.lo, old.hi, ends)}).field().normal(g)  # defined and continuous up to the face
    field = t.field()
    if field.sign(field.normal(("*", Fraction(node["dir"]), derivative(g, v)))[0]) is None:
        raise Rejected("mono: the sign of the derivative is not certain")
    given = [x for x in t.given if v not in variables(x.difference)]
    rest = {w: r for w, r in t.domain.items() if w != v}
    at: dict[str, Expr] = {v: face[1]}
    goal = Relation(t.goal.rel, substitute(t.goal.left, at), substitute(t.goal.right, at))
    replay(replace(t, domain=rest, given=given, goal=goal), node["sub"], depth)


def _weight(t: Task, field: nf.Field, entry: object) -> Expr:
    """Return a multiplier times a product of hypotheses, certified not negative (or equal to zero)."""
    if type(entry) is not list or len(entry) < 2:
        raise Rejected("a multiplier is [formula, index, ...]")
    if not all(type(i) is int and 0 <= i < len(t.given) for i in entry[1:]):
        raise Rejected("a multiplier names an unknown hypothesis")
    factor, used = read(entry[0], set(t.domain)), [t.given[i] for i in entry[1:]]
    normal = field.normal(factor)
    if field.sign(normal[0]) is None and not any(x.rel == "==" for x in used):
        raise Rejected("a multiplier may be negative")
    return ("*", factor, *(x.difference for x in used))


def _positive(t: Task, node: Node, depth: int) -> nf.Field:
    """Show that the goal minus nonnegative multiples of hypotheses has no negative shifted coefficients."""
    keys(node, {"leaf"}, frozenset({"multipliers", "reflect"}))
    g, field = _inequality(t), t.field()
    weights = [_weight(t, field, x) for x in node.get("multipliers", [])]
    reflect = frozenset(_variable(t, v) for v in node.get("reflect", []))
    numerator = field.normal(reduce(lambda a, b: ("-", a, b), weights, g))[0]
    sign = field.positive(numerator, reflect)
    if sign is None or (t.goal.rel == ">" and not sign):
        raise Rejected("positive: a coefficient is negative, or the goal is strict and the bound is not")
    return field


def _identity(t: Task, node: Node, depth: int) -> nf.Field:
    keys(node, {"leaf"})
    field = t.field()
    if t.goal.rel == ">" or field.normal(t.goal.difference)[0]:
        raise Rejected("identity: the two sides differ as normal forms")
    return field


def _sos(t: Task, node: Node, depth: int) -> nf.Field:
    """Goal * over = sum of nonnegative multiples of squares, over > 0."""
    keys(node, {"leaf", "terms", "over"})
    names, field, terms = set(t.domain), t.field(), node["terms"]
    if (
        t.goal.rel != ">="
        or type(terms) is not list
        or not all(type(x) is list and len(x) == 2 for x in terms)
    ):
        raise Rejected("sos: wants a >= goal and a list of [coefficient, formula]")
    over = read(node["over"], names)
    if not field.sign(field.normal(over)[0]) or any(rational(c) < 0 for c, _ in terms):
        raise Rejected("sos: the multiplier or a coefficient is not positive")
    squares = [("*", rational(c), ("^", read(e, names), 2)) for c, e in terms]
    if field.normal(("-", ("*", t.goal.difference, over), ("+", *squares)))[0]:
        raise Rejected("sos: the identity fails")
    return field


EXP_ENDS = {ia.NEG_INF: ia.ZERO, ia.ZERO: (0, Fraction(1)), ia.INF: ia.INF}


def _image(e: Expr, new: str, r: Range) -> Range:
    """Return the exact image of a range under t -> exp(t), 1/t, lo + t, hi - t or t^2 (t >= 0)."""
    if e == ("exp", new) and r.lo in EXP_ENDS and r.hi in EXP_ENDS:
        return Range(EXP_ENDS[r.lo], EXP_ENDS[r.hi], r.open)
    if type(e) is tuple and e[0] == "+" and len(e) == 3 and type(e[1]) is Fraction and e[2] == new:
        low, high = ((0, e[1] + x[1]) if not x[0] else x for x in r[:2])
        return Range(low, high, r.open)
    if type(e) is tuple and e[0] == "-" and type(e[1]) is Fraction and e[2] == new:
        high, low = ((0, e[1] - x[1]) if not x[0] else (-x[0], x[1]) for x in r[:2])
        return Range(low, high, r.open[::-1])
    if e == ("^", new, 2) and r.lo >= ia.ZERO:
        low, high = ((0, x[1] ** 2) if not x[0] else x for x in r[:2])
        return Range(low, high, r.open)
    if e == ("/", Fraction(1), new) and r.lo >= ia.ZERO and (r.open[0] or r.lo > ia.ZERO):
        high, low = (ia.INF if x == ia.ZERO else ia.reciprocal(x) for x in r[:2])
        return Range(low, high, r.open[::-1])
    raise Rejected("subst: not one of the known monotone substitutions")


def _subst(t: Task, node: Node, depth: int) -> None:
    keys(node, {"subst", "vars", "sub"})
    new = _domain(node["vars"])
    if (
        type(node["subst"]) is not dict
        or len(node["subst"]) != 1
        or len(new) != 1
        or new.keys() & t.domain.keys()
    ):
        raise Rejected("subst: exactly one old variable and one new name")
    (old, data), (name, reach) = next(iter(node["subst"].items())), next(iter(new.items()))
    e = read(data, {name})
    if not _image(e, name, reach).covers(t.domain[_variable(t, old)]):
        raise Rejected("subst: the new variable does not reach the whole domain")
    rest = {v: r for v, r in t.domain.items() if v != old}

    def change(x: Relation) -> Relation:
        return Relation(x.rel, substitute(x.left, {old: e}), substitute(x.right, {old: e}))

    replay(
        replace(t, domain=rest | new, given=[change(x) for x in t.given], goal=change(t.goal)),
        node["sub"],
        depth,
    )


def refute(t: Task, node: object) -> dict[str, str]:
    """Check a point of the domain that satisfies every hypothesis and breaks the goal; return it."""
    values = keys(keys(node, {"point"})["point"], set(t.domain))
    at = {v: rational(x) for v, x in values.items()}
    if not all(t.domain[v].has((0, q)) for v, q in at.items()) or any(
        at[v].denominator > 1 for v in t.integers
    ):
        raise Rejected("point: outside the domain, or not whole where it must be")
    box = {v: ia.point(q) for v, q in at.items()}
    if not all(x.holds(t.value(x.difference, box)) for x in t.given):
        raise Rejected("point: a hypothesis is not certainly satisfied")
    value = t.value(t.goal.difference, box)
    zero = value.lo == value.hi == ia.ZERO
    if not (
        value.hi < ia.ZERO or (t.goal.rel == ">" and zero) or (t.goal.rel == "==" and value.lo > ia.ZERO)
    ):
        raise Rejected("point: the goal is not certainly broken")
    return dict(values)


Handler = Callable[[Task, Node, int], nf.Field | None]
TREES: dict[str, Handler] = {"split": _split, "subst": _subst}
LEAVES: dict[str, Handler] = {
    "range": _range,
    "taylor": _taylor,
    "mono": _mono,
    "positive": _positive,
    "identity": _identity,
    "sos": _sos,
}
