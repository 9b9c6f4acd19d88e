"""Search for proofs and counterexamples of claims. The search need not be trusted: the kernel checks every result.

The search tries proofs of one step first, then monotone steps, Taylor expansions and bisection. The command
``python -m dpproof.proofs_check.search [IDS]`` writes the certificates of the statements with these ids.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.spelling import nearest
from dpproof.proofs_check.certificates import keep, keep_assumed
from dpproof.proofs_check.elaborate import UnfilledError, derivation
from dpproof.proofs_check.kernel import Outcome, Rejected, check, goal_hash
from dpproof.proofs_check.kernel.certificate import refute as point
from dpproof.proofs_check.kernel.goals import Range, Task, task
from dpproof.proofs_check.page import PageError
from dpproof.proofs_check.registry import (
    FORMER,
    certificate_id,
    folder_of,
    lemmas,
    lookup,
    statement_ids,
)
from dpproof.proofs_check.statement import Goal, Obligation, Statement

Node = Mapping[str, Any]
SIMPLE: tuple[Node, ...] = ({"leaf": "identity"}, {"leaf": "positive"}, {"leaf": "range"})
SPECIAL = [
    Fraction(x)
    for x in (
        "0",
        "1",
        "-1",
        "1/2",
        "2",
        "3",
        "4",
        "10",
        "1/10",
        "1/100",
        "100",
        "3/2",
        "99/100",
        "99999/100000",
        "1000000",
    )
]

NEAR = [Fraction(sign, 10**k) for sign in (1, -1) for k in (3, 5)]


def certificate(identity: str, claim: Goal, verdict: str, proof: Node, prec: int = 80) -> dict[str, Any]:
    """Return a certificate (a claim, a verdict and a proof) as JSON data, for the kernel to check."""
    return {
        "v": 1, "id": identity, "claim": claim, "claim_sha256": goal_hash(claim),
        "verdict": verdict, "proof": proof, "prec": prec,
    }  # fmt: skip


def _accepted(claim: Goal, proof: Node, verdict: str = "PROVED") -> Outcome | None:
    try:
        return check(certificate("search", claim, verdict, proof), claim)
    except Rejected:
        return None


def prove(claim: Goal, hint: Node | None = None, depth: int = 6) -> Node | None:
    """Return a proof that the kernel accepts for the claim, or None if the search finds none.

    ``hint`` is tried first. ``depth`` limits how often an interval is halved.

    >>> prove({"vars": {"x": "[1, inf)"}, "goal": [">=", "x", "1"]})
    {'leaf': 'positive'}
    """
    for candidate in _candidates(claim, hint):
        if _accepted(claim, candidate):
            return candidate
    return _bisected(claim, depth)


def _candidates(claim: Goal, hint: Node | None) -> Iterator[Node]:
    yield from [hint] if hint else []
    yield from SIMPLE
    domain = task(claim, 80).domain
    bounded = [v for v, r in domain.items() if not r.lo[0] and not r.hi[0]]
    yield {"leaf": "positive", "reflect": bounded}
    yield from ({"leaf": "positive", "reflect": [v]} for v in bounded)
    for v, r in domain.items():
        for direction in (1, -1):
            yield from ({"leaf": "mono", "var": v, "dir": direction, "sub": leaf} for leaf in SIMPLE)
        for end in (r.lo, r.hi):
            yield from _taylors(v, end)


def _taylors(v: str, end: tuple[int, Fraction]) -> Iterator[Node]:
    if not end[0]:
        yield from ({"leaf": "taylor", "var": v, "at": str(end[1]), "order": n} for n in (1, 2, 3, 4))


def _bisected(claim: Goal, depth: int) -> Node | None:
    """Split the widest bounded variable and prove both halves."""
    domain = task(claim, 80).domain
    widths = {v: r.hi[1] - r.lo[1] for v, r in domain.items() if not r.lo[0] and not r.hi[0]}
    if depth == 0 or not any(widths.values()):
        return None
    v = max(widths, key=lambda name: widths[name])
    middle = (domain[v].lo[1] + domain[v].hi[1]) / 2
    halves = []
    for text in _halves(domain[v], middle):
        half = prove({**claim, "vars": {**claim["vars"], v: text}}, None, depth - 1)
        if half is None:
            return None
        halves.append(half)
    return {"split": [v, str(middle), *halves]}


def _halves(r: Range, middle: Fraction) -> tuple[str, str]:
    left = f"{'(' if r.open[0] else '['}{r.lo[1]}, {middle}]"
    return left, f"[{middle}, {r.hi[1]}{')' if r.open[1] else ']'}"


def refute(claim: Goal, seed: int = 0, tries: int = 2000) -> Node | None:
    """Return a point that the kernel accepts as a counterexample to the claim, or None if none is found.

    ``tries`` random points are tried. Equal values of ``seed`` give equal points.
    """
    draw = random.Random(seed)
    read = task(claim, 80)
    for attempt in range(tries):
        pick = _special if attempt % 2 else _inside
        node = {"point": {v: str(pick(r, draw)) for v, r in read.domain.items()}}
        if _broken(read, node) and _accepted(claim, node, "REFUTED"):
            return node
    return None


def satisfiable(obligation: Obligation) -> bool:
    """Return whether a point is found that satisfies the hypotheses of a claim of arithmetic.

    Random variables are constants there. A point that refutes the changed claim satisfies the hypotheses, too.
    """
    claim, changed = obligation.goal, obligation.mutation
    constants = {**claim["vars"], **claim.get("random", {})}
    known = {"given": _constant(claim.get("given", [])), "integers": claim.get("integers", [])}
    false = {"vars": constants, "goal": [">=", "0", "1"]} | {key: x for key, x in known.items() if x}
    return bool(refute(false) or (changed and not claim.get("random") and refute(changed)))


def _constant(e: Any) -> Any:
    """Return formulas with x in place of the expectation E(x)."""
    if type(e) is not list:
        return e
    return _constant(e[1]) if e[:1] == ["E"] else [_constant(x) for x in e]


def _broken(read: Task, node: Node) -> bool:
    """Return whether a point refutes a claim. The claim is read once for all points, because that takes long."""
    try:
        point(read, node)
    except Exception:  # as in the kernel: a point at which something goes wrong refutes nothing
        return False
    return True


def _special(r: Range, draw: random.Random) -> Fraction:
    """Return a special value in the range, or any value in the range if there is none."""
    near = [x[1] + step for x in (r.lo, r.hi) if not x[0] for step in NEAR]
    choices = [x for x in (*SPECIAL, *near) if r.has((0, x))]
    return draw.choice(choices) if choices else _inside(r, draw)


def _inside(r: Range, draw: random.Random) -> Fraction:
    """Return a rational in the range: an end, a special value, or a number near an end or far out."""
    ends = [x[1] for x in (r.lo, r.hi) if not x[0]]
    choices = [x for x in (*SPECIAL, *ends) if r.has((0, x))]
    base = draw.choice(choices or ends or [Fraction(0)])
    moved = base + draw.choice([1, -1]) * Fraction(draw.randint(0, 100), 10 ** draw.randint(0, 5))
    if draw.random() < 0.5 and r.has((0, moved)):
        return moved
    if not r.lo[0] and not r.hi[0] and draw.random() < 0.3:
        return r.lo[1] + (r.hi[1] - r.lo[1]) * Fraction(draw.randint(1, 999), 1000)
    if r.has((0, base)):
        return base
    total = sum(ends, Fraction(0))
    return total + 1 if len(ends) == 1 else total / 2


@dataclass(frozen=True)
class Found:
    """What the search found for a claim: the text of its certificate, or None and the reason why there is none."""

    id: str
    text: str | None
    reason: str = ""


def found(entry: Statement) -> Iterator[Found]:
    """Generate what the search finds for the claims of a statement, and for changed claims that must be false.

    Each text is a certificate as one line of JSON.
    """
    for obligation in () if entry.reason else entry.obligations:
        yield from _found(entry, obligation)


def _found(entry: Statement, obligation: Obligation) -> Iterator[Found]:
    identity = certificate_id(entry, obligation)
    if "vars" in obligation.goal:
        text = _text(identity, obligation)
        yield Found(identity, text, "" if text else "neither a proof nor a counterexample was found")
        return
    hint = obligation.hint or {}
    verdict = "REFUTED" if "against" in hint else "PROVED"
    yield _theorem(identity, obligation.goal, hint, lemmas(entry), verdict)
    if obligation.mutation and obligation.against:
        changed = f"{identity}.moved"
        yield _theorem(changed, obligation.mutation, obligation.against, lemmas(entry), "REFUTED")


def _theorem(identity: str, claim: Goal, hint: Node, known: Mapping[str, Goal], verdict: str) -> Found:
    """Return the certificate of a theorem, or the reason why the search cannot complete it."""
    try:
        node = derivation(claim, dict(hint), known, verdict)
    except (UnfilledError, Rejected) as error:
        return Found(identity, None, str(error))
    written = certificate(identity, claim, verdict, node)
    used = {name: goal_hash(x) for name, x in known.items() if f'"{name}"' in json.dumps(node)}
    return Found(identity, json.dumps(written | ({"uses": used} if used else {}), sort_keys=True))


def _text(identity: str, obligation: Obligation) -> str | None:
    """Return the certificate of a claim of arithmetic as one line of JSON, or None if the search fails."""
    hint = obligation.hint
    proof, verdict = (None if hint and "point" in hint else prove(obligation.goal, hint)), "PROVED"
    if proof is None:
        proof, verdict = (hint if hint and "point" in hint else refute(obligation.goal)), "REFUTED"
    if proof is None:
        return None
    return json.dumps(certificate(identity, obligation.goal, verdict, proof), sort_keys=True)


def _search(identity: str) -> list[tuple[str, Found]]:
    """Return the paper and the search result for each claim of a statement."""
    entry = lookup(identity)
    return [(folder_of(entry.id), row) for row in found(entry)]


def main(ids: Sequence[str] = ()) -> int:
    """Search for proofs of all claims of the statements with these ids, or of all statements, and store the proofs.

    Return 1 if a claim stays open, 2 for an unknown id or a page that cannot be read, and otherwise 0.
    """
    for identity in ids:
        if identity not in {*statement_ids(), *FORMER}:
            known = statement_ids(f"{identity.partition('.')[0]}.") or statement_ids()
            rule = f"must be a statement id: {', '.join(known)}{nearest(identity, known)}"
            print(f"id ({identity!r}) {rule}", file=sys.stderr)
            return 2
    try:
        with ProcessPoolExecutor() as executor:
            rows = [row for some in executor.map(_search, ids or statement_ids()) for row in some]
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    for paper in {paper for paper, _ in rows}:
        keep(paper, {x.id: x.text for home, x in rows if home == paper and x.text is not None})
    assumed = [x for x in map(lookup, ids or statement_ids()) if x.reason]
    keep_assumed({certificate_id(x, y): y.goal for x in assumed for y in x.obligations})
    for _, x in rows:
        print(f"{x.id}: {'found' if x.text else f'open: {x.reason}'}")
    return int(any(x.text is None for _, x in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
