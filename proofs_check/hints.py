"""Functions that build proof nodes. Statements carry them as hints, in the format of the kernel.

Formulas and relations are written as text, as in a claim. A hint is untrusted, because the kernel checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpproof.proofs_check.statement import expression, relation

Node = Mapping[str, Any]
IDENTITY: Node = {"leaf": "identity"}
POSITIVE: Node = {"leaf": "positive"}
RANGE: Node = {"leaf": "range"}


def positive(*multipliers: tuple[str, int] | tuple[str, int, int], reflect: Sequence[str] = ()) -> Node:
    """Prove that the goal minus the sum of formula * hypothesis (* hypothesis) has no negative coefficient.

    Hypotheses are counted from 0 in the order of ``given``, then in the order in which nodes add them.
    ``reflect`` lists the variables to be measured from their upper ends.

    >>> positive(("1/x", 0))["multipliers"]
    [[['/', '1', 'x'], 0]]
    """
    node: dict[str, Any] = {"leaf": "positive"}
    if multipliers:
        node["multipliers"] = [[expression(text), *indices] for text, *indices in multipliers]
    return node | ({"reflect": list(reflect)} if reflect else {})


def identity(*multipliers: tuple[str, int] | tuple[str, int, int]) -> Node:
    """Prove that both sides have the same normal form, up to multiples of hypotheses that are equations."""
    node: dict[str, Any] = {"leaf": "identity"}
    return node | {"multipliers": [[expression(text), *rest] for text, *rest in multipliers]}


def mono(var: str, direction: int, sub: Node) -> Node:
    """Prove a goal that grows (1) or falls (-1) in ``var`` by ``sub`` on the face where it is least."""
    return {"leaf": "mono", "var": var, "dir": direction, "sub": sub}


def taylor(var: str, at: str, order: int) -> Node:
    """Prove the goal by the signs of its derivatives: at ``at`` below ``order``, and at ``order`` everywhere."""
    return {"leaf": "taylor", "var": var, "at": at, "order": order}


def sos(*terms: tuple[str, str], over: str = "1") -> Node:
    """Prove that goal * ``over`` is the sum of coefficient * formula^2."""
    return {"leaf": "sos", "terms": [[c, expression(text)] for c, text in terms], "over": expression(over)}


def bernstein(var: str, degree: int) -> Node:
    """Prove that the goal, a polynomial in the bounded ``var``, has no negative Bernstein coefficient."""
    return {"leaf": "bernstein", "var": var, "degree": degree}


def split(var: str, at: str, left: Node, right: Node) -> Node:
    """Cut the interval of ``var`` at a point strictly inside, and prove both parts."""
    return {"split": [var, at, left, right]}


def subst(old: str, text: str, new: str, interval: str, sub: Node) -> Node:
    """Write ``old`` as exp(new), 1/new, a + new, a - new or new**2."""
    return {"subst": {old: expression(text)}, "vars": {new: interval}, "sub": sub}


def have(text: str, proof: Node, sub: Node) -> Node:
    """Prove a relation first. ``sub`` has it as one more hypothesis."""
    return {"have": relation(text), "proof": proof, "sub": sub}


def cases(text: str, nonnegative: Node, nonpositive: Node) -> Node:
    """Give two proofs: one with the hypothesis that the formula is >= 0, one with <= 0."""
    return {"cases": expression(text), "nonnegative": nonnegative, "nonpositive": nonpositive}


def induct(var: str, base: Node, step: Node) -> Node:
    """Use induction over the whole numbers of ``var``'s interval. ``step`` has the goal as a hypothesis."""
    return {"induct": var, "base": base, "step": step}


def enumerated(var: str, sub: Node) -> Node:
    """Prove the goal by ``sub`` at each whole number of ``var``'s interval."""
    return {"enumerated": var, "sub": sub}


def telescope(text: str, antidifference: str, sign: str, proof: Node, sub: Node) -> Node:
    """Bound a finite sum.

    From F(i+1) - F(i) ``sign`` body(i) it follows that F(hi+1) - F(lo) ``sign`` the sum.

    ``text`` is the sum as written in the claim, ``antidifference`` is F in the sum's index, and ``sign`` is
    one of ``>=`` (an upper bound), ``<=`` (a lower bound), ``==``. For ``proof`` the index is one more
    variable, with the hypotheses index >= lo and hi >= index; for ``sub`` the bound is one more hypothesis.
    """
    return {
        "telescope": expression(text),
        "antidifference": expression(antidifference),
        "sign": sign,
        "proof": proof,
        "sub": sub,
    }


def expect(facts: Sequence[tuple[str, Node]], sub: Node) -> Node:
    """Add hypotheses for ``sub``: formulas that are surely nonnegative have nonnegative expectations."""
    return {"expect": [[expression(text), proof] for text, proof in facts], "sub": sub}


def point(**values: str) -> Node:
    """Return a refuting point."""
    return {"point": values}
