"""Nodes that divide a task: ranges, substitutions, cuts, cases, whole numbers, and finite sums."""

from fractions import Fraction

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel.arithmetic import Number, Rejected
from dpproof.proofs_check.kernel.expressions import Expr, rational, read, replaced, substitute, variables
from dpproof.proofs_check.kernel.expressions import node as tree
from dpproof.proofs_check.kernel.goals import Node, Range, Relation, Replay, Task, keys, ranges

MAX_CASES = 2000
ONE = Fraction(1)
SIGNS = (">=", "<=", "==")
REAL = Range(ia.NEG_INF, ia.INF, (True, True))


def split(t: Task, node: Node, replay: Replay) -> None:
    """Cut the range of a variable in two."""
    parts = keys(node, {"split"})["split"]
    if type(parts) is not list or len(parts) != 4:
        raise Rejected("a split has a variable, a point and two nodes")
    v, at = t.variable(parts[0]), (0, rational(parts[1]))
    old = t.domain[v]
    if not old.has(at, strictly=True):
        raise Rejected("a split must lie strictly inside")
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
    raise Rejected("subst: not one of the known monotone substitutions")


def subst(t: Task, node: Node, replay: Replay) -> None:
    """Write a variable as a monotone function of a new one that reaches all its values."""
    keys(node, {"subst", "vars", "sub"})
    new = ranges(node["vars"])
    if (
        type(node["subst"]) is not dict
        or len(node["subst"]) != 1
        or len(new) != 1
        or new.keys() & (t.domain.keys() | t.random.keys())
    ):
        raise Rejected("subst: exactly one old variable and one new name")
    (old, data), (name, reach) = next(iter(node["subst"].items())), next(iter(new.items()))
    e = read(data, {name})
    if not _image(e, name, reach).covers(t.domain[t.variable(old)]):
        raise Rejected("subst: the new variable does not reach the whole domain")
    replay(t.put({old: e}, **new), node["sub"])


def have(t: Task, node: Node, replay: Replay) -> None:
    """Prove a relation, then use it."""
    keys(node, {"have", "proof", "sub"})
    fact = t.relation(node["have"])
    replay(t.under(goal=fact), node["proof"])
    replay(t.under(fact), node["sub"])


def cases(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Distinguish the two signs of a formula that is defined everywhere."""
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
        raise Rejected("not a whole variable with a first number")
    if not hi[0] and (ends[1] or hi[1].denominator != 1):
        raise Rejected("the range of a whole variable ends between numbers")
    return v, int(lo[1]), hi


def induct(t: Task, node: Node, replay: Replay) -> None:
    """Show the goal at the first number, and at n + 1 with the goal at n as a hypothesis."""
    keys(node, {"induct", "base", "step"})
    v, first, hi = _whole(t, node["induct"])
    if any(v in variables(x.difference) for x in t.given):
        raise Rejected("induct: a hypothesis speaks of the variable")
    replay(t.put({v: Fraction(first)}), node["base"])
    last = hi if hi[0] else (0, hi[1] - 1)
    if last >= (0, Fraction(first)):
        earlier = Range((0, Fraction(first)), last, (False, hi[0] != 0))
        replay(t.put({v: ("+", v, Fraction(1))}, **{v: earlier}).under(t.goal), node["step"])


def enumerated(t: Task, node: Node, replay: Replay) -> None:
    """Show the goal at each whole number of a bounded range."""
    keys(node, {"enumerated", "sub"})
    v, first, hi = _whole(t, node["enumerated"])
    if hi[0] or hi[1] - first >= MAX_CASES:
        raise Rejected("enumerated: too many numbers")
    for n in range(first, int(hi[1]) + 1):
        replay(t.put({v: Fraction(n)}), node["sub"])


def telescope(t: Task, node: Node, replay: Replay) -> nf.Field:
    """F(i+1) - F(i) >= body(i) from lo to hi gives F(hi+1) - F(lo) >= sum; likewise <= and ==.

    The sum becomes a new variable of which only this bound is known.
    """
    keys(node, {"telescope", "antidifference", "sign", "proof", "sub"})
    total = tree(read(node["telescope"], set(t.domain)))
    if total[0] != "sum" or (i := node["telescope"][1]) in t.random or node["sign"] not in SIGNS:
        raise Rejected("telescope: wants a sum over a new index, and a sign")
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
