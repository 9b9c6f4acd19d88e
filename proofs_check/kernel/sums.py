"""Finite sums: bounded term by term by the differences of another formula."""

from fractions import Fraction

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import Expr, read, replaced, substitute
from dpproof.proofs_check.kernel.expressions import node as tree
from dpproof.proofs_check.kernel.goals import Node, Range, Relation, Replay, Task, keys

ONE = Fraction(1)
SIGNS = (">=", "<=", "==")
REAL = Range(ia.NEG_INF, ia.INF, (True, True))


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
