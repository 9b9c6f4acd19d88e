"""The inner nodes of a proof: each replaces a task by other tasks, which further nodes must prove.

These nodes handle intervals, substitutions, intermediate relations, cases, whole numbers, finite sums, and
expectations. An expectation is a positive, normalised, linear functional on random variables. ``expect`` proves that
formulas are never negative and adds their expectations as hypotheses. Expectations are expanded: constants are taken
out, products of independent factors are split, and the expectation of a remaining monomial becomes a variable. A
claim asserts that the monomials in its own expectations are integrable. A monomial that only the formulas of
``expect`` contain must be bounded. ``have`` may name other monomials: its proof uses finitely many moments, and some
distribution with finitely many values has the same moments (docs/notes/kernel.md).
"""

from dataclasses import replace
from fractions import Fraction
from functools import reduce

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel import polynomials as po
from dpproof.proofs_check.kernel.arithmetic import Interval, Number, Rejected
from dpproof.proofs_check.kernel.expressions import (
    Expr,
    has,
    outside,
    rational,
    read,
    replaced,
    substitute,
    variables,
)
from dpproof.proofs_check.kernel.expressions import node as tree
from dpproof.proofs_check.kernel.goals import Node, Range, Relation, Replay, Task, keys, ranges

MAX_CASES = 2000
ONE = Fraction(1)
SIGNS = (">=", "<=", "==")
REAL = Range(ia.NEG_INF, ia.INF, (True, True))
ZERO = Fraction(0)
TRIVIAL = Relation(">=", ZERO, ZERO)


def split(t: Task, node: Node, replay: Replay) -> None:
    """Cut the interval of a variable in two, and prove the goal on both parts."""
    parts = keys(node, {"split"})["split"]
    if type(parts) is not list or len(parts) != 4:
        raise Rejected("a split must be [variable, point, node, node]")
    v, at = t.variable(parts[0]), (0, rational(parts[1]))
    old = t.domain[v]
    if not old.has(at, strictly=True):
        raise Rejected("the point of a split must lie strictly inside the interval of the variable")
    replay(t.put({}, **{v: Range(old.lo, at, (old.open[0], False))}), parts[2])
    replay(t.put({}, **{v: Range(at, old.hi, (False, old.open[1]))}), parts[3])


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
    raise Rejected(
        "subst: the formula must be exp(t), 1/t, c + t, c - t or t^2, with an allowed interval of t"
    )


def subst(t: Task, node: Node, replay: Replay) -> None:
    """Replace a variable by a monotone function of a new variable. The function must reach all old values."""
    keys(node, {"subst", "vars", "sub"})
    new = ranges(node["vars"])
    if (
        type(node["subst"]) is not dict
        or len(node["subst"]) != 1
        or len(new) != 1
        or new.keys() & (t.domain.keys() | t.random.keys())
    ):
        raise Rejected(
            "subst: 'subst' and 'vars' must name one variable each, and the one in 'vars' must be new"
        )
    (old, data), (name, reach) = next(iter(node["subst"].items())), next(iter(new.items()))
    e = read(data, {name})
    if not _image(e, name, reach).covers(t.domain[t.variable(old)]):
        raise Rejected("subst: the formula does not reach all values of the old variable")
    replay(t.put({old: e}, **new), node["sub"])


def have(t: Task, node: Node, replay: Replay) -> None:
    """Prove a relation, and then the goal with this relation as a hypothesis."""
    keys(node, {"have", "proof", "sub"})
    fact = t.relation(node["have"])
    replay(t.under(goal=fact), node["proof"])
    replay(t.under(fact), node["sub"])


def cases(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove the goal twice: if a formula, which is defined everywhere, is at least 0, and if it is at most 0."""
    keys(node, {"cases", "nonnegative", "nonpositive"})
    e = read(node["cases"], set(t.domain))
    field = t.field()
    field.normal(e)
    replay(t.under(Relation(">=", e, Fraction(0))), node["nonnegative"])
    replay(t.under(Relation(">=", Fraction(0), e)), node["nonpositive"])
    return field


def _whole(t: Task, name: object) -> tuple[str, int, Number]:
    """Return a whole variable, the first number of its range and the end of the range."""
    v = t.variable(name)
    lo, hi, ends = t.domain[v]
    if v not in t.integers or lo[0] or ends[0] or lo[1].denominator != 1:
        raise Rejected("the variable must be an integer variable whose interval begins with a whole number")
    if not hi[0] and (ends[1] or hi[1].denominator != 1):
        raise Rejected(
            "the interval of an integer variable must be unbounded above or end with a whole number"
        )
    return v, int(lo[1]), hi


def induct(t: Task, node: Node, replay: Replay) -> None:
    """Prove the goal by induction over a variable whose values are whole numbers.

    Prove it at the first value. Prove it at n + 1 with the goal at n as a hypothesis.
    """
    keys(node, {"induct", "base", "step"})
    v, first, hi = _whole(t, node["induct"])
    if any(v in variables(x.difference) for x in t.given):
        raise Rejected("induct: no hypothesis may contain the variable")
    replay(t.put({v: Fraction(first)}), node["base"])
    last = hi if hi[0] else (0, hi[1] - 1)
    if last >= (0, Fraction(first)):
        earlier = Range((0, Fraction(first)), last, (False, hi[0] != 0))
        replay(t.put({v: ("+", v, Fraction(1))}, **{v: earlier}).under(t.goal), node["step"])


def enumerated(t: Task, node: Node, replay: Replay) -> None:
    """Prove the goal separately at each whole number in the interval of a variable."""
    keys(node, {"enumerated", "sub"})
    v, first, hi = _whole(t, node["enumerated"])
    if hi[0] or hi[1] - first >= MAX_CASES:
        raise Rejected(f"enumerated: the interval must have at most {MAX_CASES} whole numbers")
    for n in range(first, int(hi[1]) + 1):
        replay(t.put({v: Fraction(n)}), node["sub"])


def telescope(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Bound a finite sum of body(i), for i from lo to hi, by a function F with F(i+1) - F(i) >= body(i).

    Then F(hi+1) - F(lo) >= sum. The same holds for <= and ==. The sum becomes a new variable, of which only this
    bound is known.
    """
    keys(node, {"telescope", "antidifference", "sign", "proof", "sub"})
    total = tree(read(node["telescope"], set(t.domain)))
    if total[0] != "sum" or (i := node["telescope"][1]) in t.random or node["sign"] not in SIGNS:
        raise Rejected(
            "telescope: 'telescope' must be a sum with a new index, and 'sign' must be >=, <= or =="
        )
    _, bound, lo, hi, body = total
    body = substitute(body, {bound: i})  # from here on the index is a variable like any other
    if not (_is_whole(t, lo) and _is_whole(t, hi)):
        raise Rejected("telescope: the ends of the sum are not whole")
    field = t.field()
    if field.sign(field.normal(("+", ("-", hi, lo), ONE))[0]) is None:
        raise Rejected("telescope: the sum may end before it begins")
    f = read(node["antidifference"], {*t.domain, i})
    first = t.value(lo, t.box()).lo
    index = Range(first, ia.INF, (first[0] != 0, True))
    inside = t.put({}, **{i: index}).under(Relation(">=", i, lo), Relation(">=", hi, i))
    inside.integers = t.integers | {i}
    replay(inside.under(goal=_compared(node["sign"], f, i, body, i, ("+", i, ONE))), node["proof"])
    name = t.fresh("sum_")
    fact = _compared(node["sign"], f, i, name, lo, ("+", hi, ONE))
    opened = t.put({}, **{name: REAL})
    opened.given = [_opened(x, total, name) for x in t.given]
    opened.goal = _opened(t.goal, total, name)
    replay(opened.under(fact), node["sub"])
    return field


def _compared(sign: str, f: Expr, i: str, middle: Expr, start: Expr, end: Expr) -> Relation:
    """Compare F(end) - F(start) with something."""
    growth = ("-", substitute(f, {i: end}), substitute(f, {i: start}))
    return Relation(">=", middle, growth) if sign == "<=" else Relation(sign, growth, middle)


def _opened(x: Relation, total: Expr, name: str) -> Relation:
    return Relation(x.rel, replaced(x.left, total, name), replaced(x.right, total, name))


def _is_whole(t: Task, e: Expr) -> bool:
    """Tell whether a formula is certainly a whole number."""
    if type(e) is tuple:
        return e[0] in ("+", "-", "*", "neg") and all(_is_whole(t, x) for x in e[1:])
    return e in t.integers if type(e) is str else type(e) is Fraction and e.denominator == 1


def expect(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove that formulas are never negative, and then the goal with their expectations as hypotheses.

    Expectations are expanded as far as possible. Then each expectation of a monomial becomes a variable.
    """
    facts = keys(node, {"expect", "sub"})["expect"]
    if type(facts) is not list or not all(type(x) is list and len(x) == 2 for x in facts) or not t.random:
        raise Rejected(
            "expect: the task must have random variables, and 'expect' must be a list of [formula, node]"
        )
    # Hypotheses keep their places, so that proofs can count them.
    surely = [TRIVIAL if has(x.difference, "E") else x for x in t.given]
    inner = replace(t, domain=t.domain | t.random, random={}, groups=(), given=surely)
    formulas = [read(data, set(inner.domain)) for data, _ in facts]
    for e, (_, proof) in zip(formulas, facts, strict=True):
        if has(e, "E"):
            raise Rejected("expect: an expectation must not contain another expectation")
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
    """An object that expands the expectations in a task and replaces expectations of monomials by variables."""

    def __init__(self, t: Task, field: nf.Field) -> None:
        self.task, self.field, self.integrable = t, field, True
        self.names: dict[po.Monomial, str] = {}
        self.ranges: dict[str, Range] = {}

    def relation(self, x: Relation) -> Relation:
        """Return the relation with its expectations replaced by variables.

        If a random variable is outside all expectations, the result is the trivial relation 0 >= 0.
        """
        if outside(x.difference) & self.task.random.keys():
            return TRIVIAL
        return Relation(x.rel, self.expression(x.left), self.expression(x.right))

    def expression(self, e: Expr) -> Expr:
        """Return the formula with its expectations replaced by variables."""
        if type(e) is not tuple:
            return e
        if e[0] == "sum" and has(e, "E"):
            raise Rejected("expect: a sum must not contain an expectation")
        if e[0] != "E":
            return (e[0], *(x if type(x) is int else self.expression(x) for x in e[1:]))
        numerator, denominator = self._whole(*self.field.normal(e[1]))
        if any(self._random(s) for m in denominator for s, _ in m):
            raise Rejected("expect: a sum in a denominator must not contain a random variable")
        terms = (("*", c, *map(self._factor, self._parted(m))) for m, c in numerator.items())
        return "/", ("+", ZERO, *terms), self.field.written(denominator)

    def _whole(self, n: po.Poly, d: po.Poly) -> po.Quotient:
        """Write a random monomial below as negative powers above: 1/exp(x) is one function of x."""
        if len(d) > 1:
            return n, d
        ((m, c),) = d.items()
        back = tuple((s, -k) for s, k in m if self._random(s))
        return {po.joined(x, back): y for x, y in n.items()}, {
            tuple(x for x in m if not self._random(x[0])): c
        }

    def _random(self, s: str) -> frozenset[str]:
        """Return the random variables in a symbol."""
        symbol = self.field.symbols[s]
        if not symbol.op:
            return frozenset({s} & self.task.random.keys())
        return frozenset().union(*(self._random(x) for p in symbol.inner for m in p for x, _ in m))

    def _parted(self, m: po.Monomial) -> list[po.Monomial]:
        """Part a monomial into independent factors; what is not random stands alone."""
        groups: list[tuple[frozenset[str], po.Monomial]] = []
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

    def _factor(self, m: po.Monomial) -> Expr:
        """Return a factor that is not random, or the variable for the expectation of one that is."""
        if not any(self._random(s) for s, _ in m):
            return "*", Fraction(1), *(("^", self.field.formula(s), k) for s, k in m)
        if m not in self.names:
            self.field.atoms |= any(self.field.symbols[s].op for s, _ in m)
            powers = (ia.power(self.field.symbols[s].range, k, self.field.prec) for s, k in m)
            values = reduce(lambda a, b: ia.mul(a, b, self.field.prec), powers)
            if not self.integrable and (values.lo[0] or values.hi[0]):
                raise Rejected(
                    "expect: an unbounded term has an expectation that is in neither the goal nor a hypothesis"
                )
            self.names[m] = self._name(m)
            self.ranges[self.names[m]] = _range(values)
        return self.names[m]

    def _name(self, m: po.Monomial) -> str:
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
