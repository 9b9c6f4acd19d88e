"""Check certificates: `check` compares the claims, and then checks every step of the proof."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import deduction, integrals, leaves, logic
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.deduction import Sequent
from dpproof.proofs_check.kernel.expressions import Expr, rational
from dpproof.proofs_check.kernel.goals import MAX_NODES, Node, Replay, Task, keys, precision, task
from dpproof.proofs_check.kernel.instances import apply, counterexample, theorem
from dpproof.proofs_check.kernel.terms import KNOWN, shown
from dpproof.proofs_check.kernel.theorems import Signature
from dpproof.proofs_check.kernel.theory import THEOREMS

FIELDS = {"v", "id", "claim", "claim_sha256", "verdict", "proof", "prec"}
MAX_TEXT = 1_000_000
MAX_PROOF_DEPTH, MAX_DERIVATION_DEPTH = 60, 120
Handler = Callable[[Task, Node, Replay], nf.Field | None]
TREES: dict[str, Handler] = {
    "split": logic.split,
    "subst": logic.subst,
    "have": logic.have,
    "cases": logic.cases,
    "induct": logic.induct,
    "enumerated": logic.enumerated,
    "telescope": logic.telescope,
    "expect": logic.expect,
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
DERIVATIONS = {**deduction.RULES, **integrals.RULES, "apply": apply}


@dataclass(frozen=True)
class Outcome:
    """The result of an accepted certificate: its verdict PROVED or REFUTED, and how it was reached.

    ``leaves`` are the kinds of the proof nodes. A kind ends in "+atoms" if its check needed computed bounds of a
    transcendental function or a root. ``point`` is the point of a refutation, and None for a proof. For a theorem it
    has the constants of the instance and the values of the goal's variables. ``uses`` are the ids of the claims that
    the proof takes as true.
    """

    verdict: str
    leaves: frozenset[str]
    point: dict[str, str] | None
    uses: frozenset[str] = frozenset()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Rejected("a key occurs twice")
    return found


def _no_float(text: str) -> NoReturn:
    raise Rejected(f"floating-point numbers are not allowed: {text[:40]}")


def load(text: str) -> Any:
    """Return the data of a certificate in JSON. Floats, NaN, infinities and repeated keys are rejected."""
    if len(text) > MAX_TEXT:
        raise Rejected("the certificate is too long")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float)
    except RecursionError:
        raise Rejected("nested too deeply") from None
    except ValueError as error:
        raise Rejected(f"not JSON: {error}") from None


def _canonical(claim: object) -> str:
    return json.dumps(claim, sort_keys=True, separators=(",", ":"), allow_nan=False)


def goal_hash(claim: object) -> str:
    """Return the SHA-256 of the claim in canonical JSON.

    >>> goal_hash({"vars": {}, "goal": [">=", "1", "0"]})[:8]
    '17568f19'
    """
    return hashlib.sha256(_canonical(claim).encode()).hexdigest()


def check(certificate: object, claim: object, lemmas: Mapping[str, object] | None = None) -> Outcome:
    """Return the outcome of a certificate that proves or refutes a claim. Reject any other certificate.

    Args:
        certificate: the parsed JSON data of the certificate. Nothing in these data is trusted.
        claim: the claim of the statement, from the registry and not from the certificate.
        lemmas: claims by id that the proof of a theorem may use. The caller must know that they are true.

    Raises:
        Rejected: the certificate is not accepted; the message gives the reason. All other errors also become
            `Rejected`.
    """
    try:
        return _check(certificate, claim, lemmas or {})
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"the certificate is malformed: {type(error).__name__}") from None


def _check(certificate: object, claim: object, lemmas: Mapping[str, object]) -> Outcome:
    data = keys(certificate, FIELDS, frozenset({"uses"}))
    if type(data["v"]) is not int or data["v"] != 1 or type(data["id"]) is not str:
        raise Rejected("unknown certificate version or identity")
    if _canonical(data["claim"]) != _canonical(claim):
        raise Rejected("the certificate is for another claim")
    if data["claim_sha256"] != goal_hash(claim):
        raise Rejected("the hash does not belong to the claim")
    if data["verdict"] not in ("PROVED", "REFUTED"):
        raise Rejected("the verdict must be PROVED or REFUTED")
    if type(claim) is not dict or "vars" not in claim:
        return _theorem(data, claim, lemmas)
    t = task(claim, data["prec"])
    if "uses" in data:
        raise Rejected("a claim of arithmetic uses no other claims")
    if data["verdict"] == "REFUTED":
        return Outcome("REFUTED", frozenset({"point"}), refute(t, data["proof"]))
    replay(t, data["proof"])
    return Outcome("PROVED", frozenset(t.leaves), None)


def _theorem(data: Node, claim: object, lemmas: Mapping[str, object]) -> Outcome:
    """Check the proof of a theorem, or an instance that refutes it, with the claims that the certificate uses."""
    KNOWN.clear()
    used = data.get("uses", {})
    if type(used) is not dict or any(x not in lemmas or goal_hash(lemmas[x]) != used[x] for x in used):
        raise Rejected("the certificate uses a claim that may not be used, or another one of this id")
    found, allowed = theorem(claim), {**THEOREMS, **{name: lemmas[name] for name in used}}
    leaves: set[str] = set()
    s = Sequent(Signature(), {}, found.goal, allowed, replay, precision(data["prec"]), [MAX_NODES], leaves)
    if data["verdict"] == "REFUTED":
        point = counterexample(s, found, data["proof"], derive)
        return Outcome("REFUTED", frozenset(leaves), _named(point, claim), frozenset(used))
    derive(dataclasses.replace(s, known=found.known, facts=found.given), data["proof"])
    return Outcome("PROVED", frozenset(leaves), None, frozenset(used))


def _named(point: Mapping[str, Expr], claim: Any) -> dict[str, str]:
    """Return the numbers of an instance as text, with the names that the claim gives to the goal's variables."""
    goal = claim["goal"]
    names = {f"${place}": x[0] for place, x in enumerate(goal.get("all", ()) if type(goal) is dict else ())}
    return {names.get(name, name): _text(e) for name, e in point.items()}


def _text(e: Expr) -> str:
    parts = e[1:] if type(e) is tuple and e[0] == "/" else ()
    return str(parts[0] / parts[1]) if parts and all(type(x) is Fraction for x in parts) else shown(e)


def derive(s: Sequent, node: object, depth: int = MAX_DERIVATION_DEPTH) -> None:
    """Raise an error unless a node, with all nodes below it, derives the goal of a sequent."""
    s.budget[0] -= 1
    if s.budget[0] < 0 or depth == 0:
        raise Rejected("the proof is too large")
    if type(node) is not dict or len(kind := [k for k in DERIVATIONS if k in node]) != 1:
        raise Rejected("unknown node of a derivation")
    s.leaves.add(kind[0])
    DERIVATIONS[kind[0]](s, node, lambda inner, sub: derive(inner, sub, depth - 1))


def replay(t: Task, node: object, depth: int = MAX_PROOF_DEPTH) -> None:
    """Raise an error unless a proof node, with all nodes below it, proves the task."""
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
    """Return the point that a node names, if the point satisfies every hypothesis and violates the goal.

    Reject the node if not, or if the point is outside the domain of the variables.
    """
    values = keys(keys(node, {"point"})["point"], set(t.domain))
    at = {v: rational(x) for v, x in values.items()}
    if not all(t.domain[v].has((0, q)) for v, q in at.items()) or any(
        at[v].denominator > 1 for v in t.integers
    ):
        raise Rejected("point: a value is outside its interval, or an integer variable is not whole")
    box = {v: ia.point(q) for v, q in at.items()}
    if not all(x.holds(t.value(x.difference, box)) for x in t.given):
        raise Rejected("point: a hypothesis is not certainly satisfied")
    value = t.value(t.goal.difference, box)
    zero = value.lo == value.hi == ia.ZERO
    if not (
        value.hi < ia.ZERO or (t.goal.rel == ">" and zero) or (t.goal.rel == "==" and value.lo > ia.ZERO)
    ):
        raise Rejected("point: the goal is not certainly violated")
    return dict(values)
