"""The last nodes of a proof, which prove a goal directly. One function checks each kind of node.

``mono`` is an exception: this node fixes a variable at one of its bounds, and another node continues.
"""

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import comb

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel import polynomials as po
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import (
    Expr,
    derivative,
    outside,
    rational,
    read,
    substitute,
    variables,
)
from dpproof.proofs_check.kernel.goals import Node, Range, Relation, Replay, Task, keys


def range_leaf(t: Task, node: Node, replay: Replay) -> None:
    """Prove the goal by interval arithmetic, which bounds the difference of the two sides over the whole domain."""
    keys(node, {"leaf"})
    if not t.goal.holds(t.value(t.goal.difference, t.box())):
        raise Rejected("range: the enclosure does not decide the goal")


def _inequality(t: Task) -> Expr:
    if t.goal.rel == "==":
        raise Rejected("this leaf proves inequalities only")
    return t.goal.difference


def taylor(t: Task, node: Node, replay: Replay) -> None:
    """Prove an inequality by Taylor's theorem in one variable x around a centre c.

    The difference of the sides is the sum over i < n of g_i(c) (x-c)^i/i!, plus g_n(xi) (x-c)^n/n!, where g_i is the
    i-th derivative. On each side of the centre, no term may be negative.
    """
    keys(node, {"leaf", "var", "at", "order"})
    v, c, g, order = t.variable(node["var"]), (0, rational(node["at"])), _inequality(t), node["order"]
    if type(order) is not int or not 1 <= order <= 12:
        raise Rejected("taylor: the order must be an integer from 1 to 12")
    hull = t.box(v)
    if not hull[v].lo <= c <= hull[v].hi:
        raise Rejected("taylor: the centre must be in the interval of the variable")
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
        raise Rejected("taylor: the value at the centre is not enough to prove the goal")


def mono(t: Task, node: Node, replay: Replay) -> None:
    """Prove an inequality whose left side minus right side is monotone in a variable.

    The goal is proved at the bound of the variable where the difference is least. Hypotheses that contain the variable
    cannot be used at this bound.
    """
    keys(node, {"leaf", "var", "dir", "sub"})
    v, g, up = t.variable(node["var"]), _inequality(t), node["dir"] == 1
    if type(node["dir"]) is not int or node["dir"] not in (1, -1):
        raise Rejected("mono: 'dir' must be 1 or -1")
    old = t.domain[v]
    face, ends = (old.lo, (False, old.open[1])) if up else (old.hi, (old.open[0], False))
    if face[0]:
        raise Rejected("mono: the bound where the difference is least is infinite")
    t.put({}, **{v: Range(old.lo, old.hi, ends)}).field().normal(g)  # defined and continuous up to the face
    field = t.field()
    if field.sign(field.normal(("*", Fraction(node["dir"]), derivative(g, v)))[0]) is None:
        raise Rejected("mono: the sign of the derivative is not certain")
    given = [x for x in t.given if v not in variables(x.difference)]
    rest = {w: r for w, r in t.domain.items() if w != v}
    at: dict[str, Expr] = {v: face[1]}
    goal = Relation(t.goal.rel, substitute(t.goal.left, at), substitute(t.goal.right, at))
    replay(replace(t, domain=rest, integers=t.integers - {v}, given=given, goal=goal), node["sub"])


def _weight(t: Task, field: nf.Field, entry: object) -> tuple[Expr, bool]:
    """Return a multiplier times a product of hypotheses, certified not negative (or equal to zero).

    The second value says whether it is certainly positive: all hypotheses are strict, and so is the multiplier.
    """
    if type(entry) is not list or len(entry) < 2:
        raise Rejected(
            "a multiplier must be [formula, index, ...], with the index of at least one hypothesis"
        )
    if not all(type(i) is int and 0 <= i < len(t.given) for i in entry[1:]):
        raise Rejected("a multiplier names an unknown hypothesis")
    factor, used = read(entry[0], set(t.domain)), [t.given[i] for i in entry[1:]]
    if any(outside(x.difference) & t.random.keys() for x in used):
        raise Rejected("a multiplier names a hypothesis on random variables, which only expect can use")
    sign = field.sign(field.normal(factor)[0])
    if sign is None and not any(x.rel == "==" for x in used):
        raise Rejected("a multiplier may be negative")
    return ("*", factor, *(x.difference for x in used)), bool(sign) and all(x.rel == ">" for x in used)


def positive(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove an inequality, because a polynomial has no negative coefficient.

    The polynomial is left side minus right side, minus nonnegative multiples of hypotheses. Its variables are the
    distances of the old variables from their bounds.
    """
    keys(node, {"leaf"}, frozenset({"multipliers", "reflect"}))
    g, field = _inequality(t), t.field()
    weights = [_weight(t, field, x) for x in node.get("multipliers", [])]
    reflect = frozenset(t.variable(v) for v in node.get("reflect", []))
    numerator = field.normal(reduce(lambda a, b: ("-", a, b[0]), weights, g))[0]
    sign = field.positive(numerator, reflect)
    if sign is None or (t.goal.rel == ">" and not (sign or any(strict for _, strict in weights))):
        raise Rejected("positive: a coefficient is negative, or the goal is strict and the bound is not")
    return field


def bernstein(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove a polynomial inequality in one bounded variable, because no Bernstein coefficient is negative."""
    keys(node, {"leaf", "var", "degree"})
    v, field, degree = t.variable(node["var"]), t.field(), node["degree"]
    low, high, _ = t.domain[v]
    if type(degree) is not int or not 0 < degree <= 100 or low[0] or high[0]:
        raise Rejected("bernstein: needs a bounded variable and a degree from 1 to 100")
    u: po.Poly = po.plus(po.constant(low[1]), {((v, 1),): high[1] - low[1]})
    moved: po.Poly = {}
    for m, c in field.normal(_inequality(t))[0].items():
        power = po.raised(u, dict(m).get(v, 0))
        moved = po.plus(moved, po.times({_without(m, v): c}, power))
    if any(not 0 <= dict(m).get(v, 0) <= degree for m in moved):
        raise Rejected("bernstein: the degree is too small")
    signs = [field.sign(_coefficient(moved, v, j, degree)) for j in range(degree + 1)]
    if None in signs or (t.goal.rel == ">" and not all(signs)):
        raise Rejected("bernstein: a coefficient may be negative, or is zero and the goal is strict")
    return field


def _without(m: po.Monomial, v: str) -> po.Monomial:
    return tuple(x for x in m if x[0] != v)


def _coefficient(p: po.Poly, v: str, j: int, n: int) -> po.Poly:
    """Return b_j of p = sum of b_j C(n, j) v^j (1-v)^(n-j): sum over k <= j of a_k C(j, k)/C(n, k)."""
    total: po.Poly = {}
    for m, c in p.items():
        k = dict(m).get(v, 0)
        total = po.plus(total, {_without(m, v): c * Fraction(comb(j, k), comb(n, k))})
    return {m: c for m, c in total.items() if c}


def identity(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove an equation: both sides have the same normal form, after multiples of equations are subtracted."""
    keys(node, {"leaf"}, frozenset({"multipliers"}))
    field, weights = t.field(), node.get("multipliers", [])
    products = [_weight(t, field, x)[0] for x in weights]
    if any(all(t.given[i].rel != "==" for i in x[1:]) for x in weights):
        raise Rejected("identity: each multiplier must use at least one hypothesis that is an equation")
    if t.goal.rel == ">" or field.normal(reduce(lambda a, b: ("-", a, b), products, t.goal.difference))[0]:
        raise Rejected("identity: the two sides differ as normal forms")
    return field


def sos(t: Task, node: Node, replay: Replay) -> nf.Field:
    """Prove an inequality: left minus right side, times a positive formula `over`, is a sum of squares."""
    keys(node, {"leaf", "terms", "over"})
    names, field, terms = set(t.domain), t.field(), node["terms"]
    if (
        t.goal.rel != ">="
        or type(terms) is not list
        or not terms
        or not all(type(x) is list and len(x) == 2 for x in terms)
    ):
        raise Rejected(
            "sos: the relation of the goal must be >=, and 'terms' a non-empty list of [coefficient, formula]"
        )
    over = read(node["over"], names)
    if not field.sign(field.normal(over)[0]) or any(rational(c) < 0 for c, _ in terms):
        raise Rejected("sum of squares (sos): the multiplier and all coefficients must be positive")
    squares = [("*", rational(c), ("^", read(e, names), 2)) for c, e in terms]
    if field.normal(("-", ("*", t.goal.difference, over), ("+", *squares)))[0]:
        raise Rejected("sos: the identity fails")
    return field
