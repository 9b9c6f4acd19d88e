"""Rules about sums and integrals, which are positive linear functionals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.deduction import Handler, Replay, Sequent, value
from dpproof.proofs_check.kernel.expressions import Expr
from dpproof.proofs_check.kernel.expressions import node as tree
from dpproof.proofs_check.kernel.goals import Node, Relation, keys
from dpproof.proofs_check.kernel.terms import ONE, ZERO, binds, canonical, opened, parts, shown, total
from dpproof.proofs_check.kernel.theorems import MEASURES, WHOLE, Integral, Kind, holds


def frame(s: Sequent, data: object) -> tuple[tuple[Any, ...], Kind]:
    """Return the head and the parameters of a sum or an integral, ["sum", lo, hi] or [name, x...], and its points."""
    known = {"sum": Integral((WHOLE, WHOLE), WHOLE), **s.known.integrals, **MEASURES}
    if type(data) is not list or not data or type(data[0]) is not str or data[0] not in known:
        raise Rejected('a sum or an integral must be given as ["sum", first, last] or [name, parameter...]')
    takes, over = known[data[0]]
    if len(takes) != len(data) - 1:
        raise Rejected(f"{data[0]} has {len(takes)} parameters")
    values = [value(s, x, kind) for x, kind in zip(data[1:], takes, strict=True)]
    if not all(map(s.surely_defined, values)):
        raise Rejected("a parameter of a sum or an integral is not known to be defined")
    head = data[0] if data[0] == "sum" else f"~{data[0]}"
    return tree(canonical((head, "#", *values, ZERO))), over


def integrate(s: Sequent, node: Node, replay: Replay) -> None:
    """Add a relation that is linear in integrals (or sums with the same ends), after a proof of it at every point."""
    keys(node, {"integrate", "over", "index", "conditions", "proof", "as", "sub"})
    x = s.reader().relation(node["integrate"])
    like, kind = frame(s, node["over"])
    name = s.known.free(node["index"])
    point = Relation(x.rel, _pointwise(x.left, like, name), _pointwise(x.right, like, name))
    inner = replace(s, known=s.known.with_variables({name: kind}))
    if x.rel == ">" or not (found := _alike(x.difference, like)):
        raise Rejected(
            "integrate: the relation must be >= or ==, about at least one integral with these parameters"
        )
    if like[0] == "sum":
        if type(node["conditions"]) is not list or len(node["conditions"]) != 2:
            raise Rejected("integrate: a sum needs names for the conditions index >= first and last >= index")
        if not all(total(_without(y, like)) for y in x[1:]):
            raise Rejected("integrate: a factor of a sum may be undefined")
        ends = Relation(">=", name, like[2]), Relation(">=", like[3], name)
        for label, end in zip(node["conditions"], ends, strict=True):
            inner = inner.adding(label, holds(end))
    elif unknown := [shown(y) for y in found if not s.surely_defined(y)]:
        raise Rejected(
            f"integrate: an integral occurs in no fact, so that it may be undefined: {min(unknown)}"
        )
    replay(inner.showing(holds(point)), node["proof"])
    replay(s.adding(node["as"], holds(x)), node["sub"])


def _is_alike(e: Expr, like: tuple[Any, ...]) -> TypeGuard[tuple[Any, ...]]:
    """Return whether a formula is a sum or an integral with the head and the parameters of another one."""
    return type(e) is tuple and binds(e) and (e[0], *e[2:-1]) == (like[0], *like[2:-1])


def _alike(e: Expr, like: tuple[Any, ...]) -> set[Expr]:
    """Return the sums or integrals like another one, outside of functions, sums and integrals."""
    if _is_alike(e, like):
        return {e}
    return set().union(*(_alike(x, like) for x in parts(e))) if _open(e) else set()


def _open(e: Expr) -> TypeGuard[tuple[Any, ...]]:
    return type(e) is tuple and e[0][0] != "@" and not binds(e)


def _without(e: Expr, like: tuple[Any, ...]) -> Expr:
    """Return a formula with 0 in place of the sums or integrals like another one."""
    if _is_alike(e, like):
        return ZERO
    return (e[0], *(x if type(x) is int else _without(x, like) for x in e[1:])) if _open(e) else e


def _pointwise(e: Expr, like: tuple[Any, ...], name: str) -> Expr:
    """Return a formula that is linear in sums or integrals with each replaced by its body at a point."""
    if e == ZERO:
        return e
    if _is_alike(e, like):
        return opened(e, name)
    if type(e) is tuple and e[0] in ("+", "-", "neg"):
        return (e[0], *(_pointwise(x, like, name) for x in e[1:]))
    if type(e) is tuple and e[0] == "*" and sum(bool(_alike(x, like)) for x in e[1:]) == 1:
        return ("*", *(_pointwise(x, like, name) if _alike(x, like) else x for x in e[1:]))
    if type(e) is tuple and e[0] == "/" and not _alike(e[2], like):
        return ("/", _pointwise(e[1], like, name), e[2])
    raise Rejected("integrate: a side of the relation is not linear in its sums or integrals")


def dominated(s: Sequent, node: Node, replay: Replay) -> None:
    """Add that an integral is defined, after a proof that its integrand lies between -b and b at every point.

    The bound is an integral with the same parameters, or linear in such integrals; b is the same combination of their
    integrands. These integrals must be known to be defined.
    """
    keys(node, {"dominated", "by", "index", "below", "above", "as", "sub"})
    e, bound = (canonical(s.reader().number(node[key])) for key in ("dominated", "by"))
    if not (type(e) is tuple and e[0][0] == "~" and (found := _alike(bound, e))):
        raise Rejected("dominated: integrals with the same parameters are needed")
    if not all(map(s.surely_defined, found)):
        raise Rejected("dominated: an integral of the bound is not known to be defined")
    name = s.known.free(node["index"])
    over = {**s.known.integrals, **MEASURES}[e[0][1:]].over
    inner = replace(s, known=s.known.with_variables({name: over}))
    small, large = opened(e, name), _pointwise(bound, e, name)
    replay(inner.showing(holds(Relation(">=", small, ("neg", large)))), node["below"])
    replay(inner.showing(holds(Relation(">=", large, small))), node["above"])
    replay(s.adding(node["as"], holds(Relation("==", e, e))), node["sub"])


def summed(s: Sequent, node: Node, replay: Replay) -> None:
    """Add the value of an empty sum, or that a sum is the sum without its first or last term plus this term."""
    keys(node, {"sum", "kind", "proofs", "as", "sub"})
    e = canonical(s.reader().number(node["sum"]))
    if type(e) is not tuple or e[0] != "sum" or node["kind"] not in ("empty", "first", "last"):
        raise Rejected("sum: a sum is needed, and the kind must be 'empty', 'first' or 'last'")
    _, _, lo, hi, _ = e
    if node["kind"] == "empty":
        goals, fact = [Relation(">", lo, hi)], Relation("==", e, ZERO)
    else:
        last = node["kind"] == "last"
        ends = (lo, ("-", hi, ONE)) if last else (("+", lo, ONE), hi)
        shorter, term = canonical((*e[:2], *ends, e[4])), opened(e, hi if last else lo)
        fact = Relation("==", e, ("+", shorter, term) if last else ("+", term, shorter))
        goals = [Relation(">=", hi, lo), Relation("==", fact.right, fact.right)]
    if type(node["proofs"]) is not list or len(node["proofs"]) != len(goals):
        raise Rejected(f"sum: {len(goals)} proofs are needed")
    for goal, proof in zip(goals, node["proofs"], strict=True):
        replay(s.showing(holds(goal)), proof)
    replay(s.adding(node["as"], holds(fact)), node["sub"])


RULES: Mapping[str, Handler] = {"integrate": integrate, "dominated": dominated, "sum": summed}
