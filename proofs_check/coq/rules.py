"""The Coq tactics for the rules of logic and arithmetic, one template for each rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpproof.proofs_check.coq import export, script
from dpproof.proofs_check.coq.export import interval, name, relation_data
from dpproof.proofs_check.coq.formula import ANALYTIC, Printer, within
from dpproof.proofs_check.coq.writer import (
    SPLIT,
    Node,
    Subs,
    Template,
    Writer,
    asserted,
    bounded,
    clear,
    entailed,
    proved,
)
from dpproof.proofs_check.kernel import deduction
from dpproof.proofs_check.kernel.deduction import Abstraction, Sequent, value
from dpproof.proofs_check.kernel.expressions import Expr
from dpproof.proofs_check.kernel.goals import Relation
from dpproof.proofs_check.kernel.terms import put
from dpproof.proofs_check.kernel.theorems import Clause

LAW_PROOFS = {
    "step.one": "intros; symmetry; apply step_one; assumption",
    "step.zero": "intros; symmetry; apply step_zero; assumption",
    "abs.up": "intros; symmetry; apply abs_up; assumption",
    "abs.down": "intros; symmetry; apply abs_down; assumption",
}


def _fix(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    """Introduce variables. With their new names the terms of linear combinations may stand in another order."""
    inner, sub = subs[0]
    p, goal = Printer(inner.known), s.goal
    new = [(name(v), k) for v, k in zip(node["fix"], goal.all, strict=True)]
    at: dict[str, Expr] = {f"${i}": v for i, v in enumerate(node["fix"])}
    out = bounded(new)
    for label, c in zip(node["assume"], goal.when, strict=True):
        fact, text = w.fact(label), p.clause(inner.facts[label])
        if not c.all and not c.when and p.relation(_put(c.then, at)) == text:
            out += f"intros {fact}. "
        else:
            z = w.fresh("Z")
            out += f"intros {z}. assert ({fact} : {text}) by (apply (cast _ _ {z}); congr). clear {z}. "
    text = p.clause(inner.goal)
    if p.relation(_put(goal.then, at)) != text:
        out += f"apply (cast ({text})); [ | congr ]. "
    return f"{out}\n{w.script(inner, sub)}"


def _put(x: Relation, at: Mapping[str, Expr]) -> Relation:
    return Relation(x.rel, put(x.left, at), put(x.right, at))


def _have(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    text = Printer(s.known).clause(subs[0][0].goal)
    proof, rest = w.all(subs)
    return asserted(w.fact(node["as"]), text, proof) + rest


def _exact(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    return f"exact {w.fact(node['exact'])}."


def _same(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    return f"split_all; {SPLIT}first [reflexivity | close]."


def _arith(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    facts = [x for label in node["arith"] if (x := s.fact(label).ground) is not None]
    view = Abstraction(s, deduction._names(s, node.get("names", {})))
    given, goal = [view.relation(x) for x in facts], view.relation(s.relation())
    claim = {
        "vars": {v: interval(k.range) for v, k in view.domain.items()},
        "given": [relation_data(x) for x in given],
        "goal": relation_data(goal),
        "integers": [v for v, k in view.domain.items() if k.whole],
    }
    needed = _occurring(claim, node["proof"])
    claim["vars"] = {v: x for v, x in claim["vars"].items() if v in needed}
    claim["integers"] = [v for v in claim["integers"] if v in needed]
    label = w.lemma(export.proved(claim), _proof(claim, node["proof"], w.extra))
    p, back = Printer(s.known), {v: e for e, v in view.names.items()}
    values = " ".join(p.term(back.get(v, v)) for v in claim["vars"])
    return f"finish ({label} {values})."


def _occurring(claim: Any, proof: Any) -> set[str]:
    """Return all texts in the relations of a claim and in a proof of it."""

    def texts(x: Any) -> set[str]:
        if isinstance(x, dict):
            return set().union(*map(texts, x.keys()), *map(texts, x.values()))
        return set().union(*map(texts, x)) if isinstance(x, list) else {x} if type(x) is str else set()

    return texts([claim["given"], claim["goal"], proof])


def _proof(claim: Any, node: Node, extra: bool) -> str:
    """Return the proof of a claim of arithmetic. A leaf of one goal is tried after linear arithmetic."""
    text = script.proof(claim, node, extra)
    if node.get("leaf") not in ("identity", "positive"):
        return text
    head, found, body = text.rpartition("\n")
    apart = re.match(r"(refine \(conj D\d+ _\)\. )*", body)
    opening = body[: apart.end()] if apart else ""
    chain = body[len(opening) :].rstrip(".").replace(". ", "; ")
    return f"{head}{found}{opening}first [ lra | solve [{chain}] | nra ]."


def _absurd(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    out, labels = proved(w, subs)
    return f"{out}exfalso. exact (Rlt_irrefl 0 {labels[0]})."


def _equal(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (a, b) = Printer(s.known), (w.fresh("E"), w.fresh("E"))
    first, second = w.all(subs)
    return (
        asserted(a, p.clause(subs[0][0].goal), first)
        + asserted(b, p.clause(subs[1][0].goal), second)
        + f"split_all; {SPLIT}first [ apply Rle_antisym; assumption | close ]."
    )


def _use(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, fact = Printer(s.known), s.fact(node["use"])
    values = [value(s, x, kind) for x, kind in zip(node["at"], fact.all, strict=True)]
    out, labels = proved(w, subs[:-1])
    q, steps = w.fresh("Q"), ""
    for e, kind in zip(values, fact.all, strict=True):
        steps += f"specialize ({q} {p.term(e)}). " + f"feed {q}. " * len(within(kind, "x"))
    steps += f"feed {q}. " * len(fact.when)
    last, rest = subs[-1]
    text = p.clause(last.facts[node["as"]])
    out += asserted(
        w.fact(node["as"]),
        text,
        f"pose proof {w.fact(node['use'])} as {q}. open_all. {steps}split_all; close.",
    )
    return f"{out}{clear(labels)}{w.script(last, rest)}"


def _cases(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    (s0, defined), (s1, then), (s2, other) = subs
    p, c, d, f = Printer(s.known), w.fresh("C"), w.fresh("X"), w.fact(node["as"])
    a, b = (x.facts[node["as"]].then for x in (s1, s2))
    out = asserted(d, p.clause(s0.goal), w.script(s0, defined))
    halves = ""
    for x, sub, inner in ((a, then, s1), (b, other, s2)):
        halves += (
            f"{{ {asserted(f, p.relation(x), 'split_all; close.')}clear {c} {d}. {w.script(inner, sub)} }}\n"
        )
    return f"{out}destruct (Rle_or_lt {p.term(a.right)} {p.term(a.left)}) as [{c}|{c}].\n{halves}"


def _whole(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (inner, rest) = Printer(s.known), subs[0]
    proof = f"split_all; {SPLIT}first [ apply whole_lt; [kinds | kinds | assumption] | close ]."
    return asserted(w.fact(node["as"]), p.clause(inner.facts[node["as"]]), proof) + w.script(inner, rest)


def _induct(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (base, step) = Printer(s.known), subs
    kind, v, e, b, c = s.goal.all[0], name(node["induct"]), w.fact(node["as"]), w.fresh("B"), w.fresh("B")
    rest = Clause(s.goal.all[1:], s.goal.when, s.goal.then)
    at_v = p.clause(step[0].facts[node["as"]])
    after = p.clause(step[0].goal)
    lo = p.term(kind.range.lo[1])
    hyps = f"forall {v} : R, whole {v} -> {lo} <= {v} -> ({at_v}) -> {after}"
    first = p.clause(base[0].goal)
    merged = first.count(" /\\ ") != p.clause(rest, 1).count(" /\\ ")  # two conditions may become one
    same = "alike" if w.extra else "congr"
    begin = entailed(b, base[0].goal) if merged else f"apply (cast _ _ {b}); {same}"
    out = asserted(b, first, w.script(*base))
    out += asserted(c, hyps, f"intros {v} K_{v}_0 K_{v}_1 {e}. {w.script(*step)}")
    return (
        f"{out}refine (whole_ind (fun b_0 : R => {p.clause(rest, 1)}) {lo} _ _ _); cbv beta.\n"
        f"{{ kinds. }}\n{{ {begin}. }}\n"
        f"{{ intros {v} ? ? {e}. refine (cast _ _ ({c} {v} _ _ (cast _ _ {e} _)) _); "
        f"[ assumption | assumption | {same} | {same} ]. }}"
    )


def _rewrite(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (inner, rest) = Printer(s.known), subs[0]
    e, q = w.fresh("E"), w.fresh("Q")
    x = s.fact(node["rewrite"]).then
    get = f"assert ({e} : {p.term(x.left)} = {p.term(x.right)}) by (split_all; symmetry; assumption). "
    if node["in"] is None:
        text = p.clause(inner.goal)
        return asserted(q, text, w.script(inner, rest)) + f"{get}split_all; rewriting_goal {e}."
    old = w.fact(node["in"])
    proof = f"pose proof {old} as {q}. {get}rewriting_fact {e} {q}."
    return asserted(w.fact(node["as"]), p.clause(inner.facts[node["as"]]), proof) + w.script(inner, rest)


def _law(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, inner = Printer(s.known), subs[0][0]
    law, text = node["law"], p.clause(inner.facts[node["as"]])
    proof = f"exact L_{law}" if law in ANALYTIC else LAW_PROOFS[law]
    return asserted(w.fact(node["as"]), text, f"{proof}.") + w.script(*subs[0])


RULES: Mapping[str, Template] = {
    "arith": _arith, "fix": _fix, "have": _have, "exact": _exact, "same": _same, "equal": _equal, "use": _use,
    "cases": _cases, "whole": _whole, "induct": _induct, "rewrite": _rewrite, "law": _law,
    "absurd": _absurd,
}  # fmt: skip
