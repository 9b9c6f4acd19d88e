"""Replaying a proof tree against a claim, and refuting a claim by a point."""

from collections.abc import Callable

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import expectation, leaves, logic, sums
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import rational
from dpproof.proofs_check.kernel.goals import Node, Replay, Task, keys

MAX_PROOF_DEPTH = 60
Handler = Callable[[Task, Node, Replay], nf.Field | None]
TREES: dict[str, Handler] = {
    "split": logic.split,
    "subst": logic.subst,
    "have": logic.have,
    "cases": logic.cases,
    "induct": logic.induct,
    "enumerated": logic.enumerated,
    "telescope": sums.telescope,
    "expect": expectation.expect,
}
LEAVES: dict[str, Handler] = {
    "range": leaves.range_leaf,
    "taylor": leaves.taylor,
    "mono": leaves.mono,
    "positive": leaves.positive,
    "bernstein": leaves.bernstein,
    "identity": leaves.identity,
    "sos": leaves.sos,
}


def replay(t: Task, node: object, depth: int = MAX_PROOF_DEPTH) -> None:
    """Check that a proof node shows the task, or raise."""
    t.budget[0] -= 1
    if t.budget[0] < 0 or depth == 0:
        raise Rejected("the proof is too large")
    if type(node) is not dict or len(kind := [k for k in ("leaf", *TREES) if k in node]) != 1:
        raise Rejected("unknown proof node")
    name = node["leaf"] if kind == ["leaf"] else kind[0]
    handler = (LEAVES if kind == ["leaf"] else TREES).get(name) if type(name) is str else None
    if handler is None:
        raise Rejected("unknown kind of leaf")
    field = handler(t, node, lambda task, sub: replay(task, sub, depth - 1))
    t.leaves.add(name + ("+atoms" if field and field.atoms else ""))


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
