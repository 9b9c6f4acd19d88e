"""Functions that return claims and proof nodes (steps of a proof) as data for the kernel, from formulas as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpproof.proofs_check.statement import Goal, expression, relation

Node = Mapping[str, Any]
IDENTITY: Node = {"leaf": "identity"}
POSITIVE: Node = {"leaf": "positive"}
RANGE: Node = {"leaf": "range"}


def make_goal(
    variables: Mapping[str, str],
    goal: str,
    *given: str,
    integers: Iterable[str] = (),
    random: Mapping[str, str] | None = None,
    independent: Iterable[Iterable[str]] = (),
) -> Goal:
    """Return a claim in the format of the kernel, made from relations that are written as text.

    ``variables`` gives the interval of each variable, ``goal`` is the relation to prove, and ``given`` are the
    hypotheses. ``integers`` are variables that take whole numbers only. ``random`` gives random variables, each with
    an interval that contains all its values. The goal may contain expectations ``E(...)``. A hypothesis with a random
    variable outside an expectation must hold for all values of the variable. ``independent`` lists groups of random
    variables; the groups are independent of each other.

    >>> make_goal({"x": "[0, 1]"}, "1 >= x")["goal"]
    ['>=', '1', 'x']

    Raises:
        ValueError: if a relation has none of ``>=``, ``>``, ``==``, or a formula cannot be read.
    """
    claim: dict[str, Any] = {"vars": dict(variables), "goal": relation(goal)}
    if given:
        claim["given"] = [relation(text) for text in given]
    extra = {
        "integers": sorted(integers),
        "random": dict(random or {}),
        "independent": [sorted(group) for group in independent],
    }
    return claim | {key: value for key, value in extra.items() if value}


def positive(*multipliers: tuple[str, int] | tuple[str, int, int], reflect: Sequence[str] = ()) -> Node:
    """Return a node that proves an inequality because a polynomial has no negative coefficient.

    The polynomial is the left side of the goal minus the right side, minus a sum of products. Each multiplier gives
    one product: a formula times one or two hypotheses, which are named by their numbers. Hypotheses are counted from
    0 in the order of ``given``, then in the order in which nodes add them. Variables are replaced by their distance
    from their lower bound, or from their upper bound if they are in ``reflect``.

    >>> positive(("1/x", 0))["multipliers"]
    [[['/', '1', 'x'], 0]]
    """
    node: dict[str, Any] = {"leaf": "positive"}
    if multipliers:
        node["multipliers"] = [[expression(text), *indices] for text, *indices in multipliers]
    return node | ({"reflect": list(reflect)} if reflect else {})


def identity(*multipliers: tuple[str, int] | tuple[str, int, int]) -> Node:
    """Return a node that proves an equation, because both sides have the same normal form.

    Each multiplier is a formula and the numbers of one or two hypotheses, one of which is an equation. The products of
    the formulas and their hypotheses are first subtracted from left minus right.
    """
    node: dict[str, Any] = {"leaf": "identity"}
    return node | {"multipliers": [[expression(text), *rest] for text, *rest in multipliers]}


def mono(var: str, direction: int, sub: Node) -> Node:
    """Return a node that proves an inequality whose left side minus right side is monotone in ``var``.

    ``direction`` is 1 if this difference grows, and -1 if it falls. ``sub`` proves the goal at the bound of ``var``
    where the difference is least.
    """
    return {"leaf": "mono", "var": var, "dir": direction, "sub": sub}


def taylor(var: str, at: str, order: int) -> Node:
    """Return a node that proves an inequality by Taylor's theorem in ``var``, from the signs of derivatives.

    The derivatives are those of left minus right. No term of their Taylor sum around the point ``at`` may be negative.
    The derivatives below ``order`` are taken at this point, and the derivative of order ``order`` on the whole
    interval.
    """
    return {"leaf": "taylor", "var": var, "at": at, "order": order}


def sos(*terms: tuple[str, str], over: str = "1") -> Node:
    """Return a node that proves an inequality: left minus right, times the formula ``over``, is a sum of squares.

    Each term is a pair (coefficient, formula), which stands for coefficient * formula^2. ``over`` must be positive.
    """
    return {"leaf": "sos", "terms": [[c, expression(text)] for c, text in terms], "over": expression(over)}


def bernstein(var: str, degree: int) -> Node:
    """Return a node that proves a polynomial inequality in the bounded ``var`` from its Bernstein coefficients."""
    return {"leaf": "bernstein", "var": var, "degree": degree}


def split(var: str, at: str, left: Node, right: Node) -> Node:
    """Return a node that cuts the interval of ``var`` at ``at``; ``left`` and ``right`` prove the two parts."""
    return {"split": [var, at, left, right]}


def subst(old: str, text: str, new: str, interval: str, sub: Node) -> Node:
    """Return a node that replaces the variable ``old`` by a formula in a new variable, and continues with ``sub``.

    ``text`` is exp(new), 1/new, a + new, a - new or new**2, and ``interval`` is the interval of ``new``.
    """
    return {"subst": {old: expression(text)}, "vars": {new: interval}, "sub": sub}


def have(text: str, proof: Node, sub: Node) -> Node:
    """Return a node that first proves the relation ``text`` by ``proof``. ``sub`` may use it as a hypothesis."""
    return {"have": relation(text), "proof": proof, "sub": sub}


def cases(text: str, nonnegative: Node, nonpositive: Node) -> Node:
    """Return a node with two proofs of the goal: one if the formula ``text`` is >= 0, one if it is <= 0."""
    return {"cases": expression(text), "nonnegative": nonnegative, "nonpositive": nonpositive}


def induct(var: str, base: Node, step: Node) -> Node:
    """Return a node that proves the goal by induction over the whole numbers in the interval of ``var``.

    ``base`` proves the goal for the first number. ``step`` proves the goal for var + 1, with the goal for ``var`` as
    a hypothesis.
    """
    return {"induct": var, "base": base, "step": step}


def enumerated(var: str, sub: Node) -> Node:
    """Return a node that proves the goal by ``sub`` for each whole number in the interval of ``var``."""
    return {"enumerated": var, "sub": sub}


def telescope(text: str, antidifference: str, sign: str, proof: Node, sub: Node) -> Node:
    """Return a node that bounds a finite sum by a telescoping sum, for use as a hypothesis.

    The sum adds body(i) for i from lo to hi. If F(i+1) - F(i) >= body(i) for every i, then F(hi+1) - F(lo) >= the sum.
    The same holds for <= and ==.

    ``text`` is the sum as written in the claim. ``antidifference`` is F as a formula in the sum's index i. ``sign``
    is one of ``>=`` (an upper bound), ``<=`` (a lower bound), ``==``. ``proof`` proves the relation between F and the
    body, where i is a variable with the hypotheses i >= lo and hi >= i. ``sub`` continues the proof, with the bound
    on the sum as a hypothesis.
    """
    return {
        "telescope": expression(text),
        "antidifference": expression(antidifference),
        "sign": sign,
        "proof": proof,
        "sub": sub,
    }


def expect(facts: Sequence[tuple[str, Node]], sub: Node) -> Node:
    """Return a node that adds hypotheses: the expectation of a formula that is never negative is not negative.

    Each fact is a formula and a proof that the formula is never negative. ``sub`` continues the proof with the
    hypotheses.
    """
    return {"expect": [[expression(text), proof] for text, proof in facts], "sub": sub}


def point(**values: str) -> Node:
    """Return a node that refutes a claim at the point with these values of its variables."""
    return {"point": values}
