"""Write Coq proofs of theorems, guided by derivations. These proofs need no trust: Coq checks them.

The kernel's own rules make the sequents of a derivation. For each rule there is a template of tactics, which are
defined in ``functionals.v``. Claims of arithmetic become lemmas of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpproof.proofs_check.coq import export, script
from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.export import UntranslatableError, name, number
from dpproof.proofs_check.coq.formula import (
    ANALYTIC,
    LEBESGUE,
    Printer,
    carrier,
    conjunction,
    functions,
    quantified,
    stated,
    within,
)
from dpproof.proofs_check.kernel import deduction
from dpproof.proofs_check.kernel.certificate import DERIVATIONS
from dpproof.proofs_check.kernel.deduction import Abstraction, Sequent, value
from dpproof.proofs_check.kernel.expressions import Expr
from dpproof.proofs_check.kernel.goals import MAX_NODES, Range, Relation
from dpproof.proofs_check.kernel.instances import Instance, theorem
from dpproof.proofs_check.kernel.integrals import frame
from dpproof.proofs_check.kernel.terms import canonical, put
from dpproof.proofs_check.kernel.theorems import REAL, Clause, Kind
from dpproof.proofs_check.kernel.theory import THEOREMS

Node = Mapping[str, Any]
Subs = Sequence[tuple[Sequent, Any]]
LAW_PROOFS = {
    "step.one": "intros; symmetry; apply step_one; assumption",
    "step.zero": "intros; symmetry; apply step_zero; assumption",
    "abs.up": "intros; symmetry; apply abs_up; assumption",
    "abs.down": "intros; symmetry; apply abs_down; assumption",
}


def used(node: Any) -> set[str]:
    """Return the ids of the theorems and claims that a derivation applies."""
    if isinstance(node, dict):
        own = {node["apply"]} - THEOREMS.keys() if type(node.get("apply")) is str else set()
        return own.union(*map(used, node.values()))
    return set().union(*map(used, node)) if isinstance(node, list) else set()


def analytic(data: Any) -> bool:
    """Return whether a theorem or its derivation speaks of the integral over the real line."""
    if isinstance(data, dict):
        return (
            data.get("law") in ANALYTIC or data.get("apply") in THEOREMS or any(map(analytic, data.values()))
        )
    return any(map(analytic, data)) if isinstance(data, list | tuple) else data == "lebesgue"


def _data(e: Expr) -> Any:
    """Return a formula of arithmetic as JSON data."""
    if type(e) is Fraction:
        return str(e)
    if type(e) is not tuple:
        return str(e) if type(e) is int else e
    return "pi" if e == ("pi",) else [e[0], *map(_data, e[1:])]


def _relation_data(x: Relation) -> Any:
    return [x.rel, _data(x.left), _data(x.right)]


def _interval(r: Range) -> str:
    low = "-inf" if r.lo[0] else str(r.lo[1])
    high = "inf" if r.hi[0] else str(r.hi[1])
    return f"{'(' if r.open[0] else '['}{low}, {high}{')' if r.open[1] else ']'}"


@dataclass
class Writer:
    """Writes the proof of one theorem. ``arithmetic`` collects its lemmas of arithmetic."""

    label: str
    names: Mapping[str, str]
    lebesgue: Mapping[str, bool]
    arithmetic: list[Lemma] = field(default_factory=list)
    count: int = 0
    facts: dict[str, str] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """Return a new Coq name."""
        self.count += 1
        return f"{stem}{self.count}"

    def fact(self, label: Any) -> str:
        """Return the Coq name of a fact."""
        return "F_" + re.sub(r"[^A-Za-z0-9_]", lambda m: f"_{ord(m[0])}_", str(label))

    def script(self, s: Sequent, node: Node) -> str:
        """Return tactics that prove a sequent, from a node of a derivation."""
        kind = next(k for k in DERIVATIONS if k in node)
        subs: list[tuple[Sequent, Any]] = []
        DERIVATIONS[kind](s, dict(node), lambda inner, sub: subs.append((inner, sub)))
        return TEMPLATES[kind](self, s, node, subs)

    def all(self, subs: Subs) -> list[str]:
        """Return the tactics for each sequent."""
        return [self.script(s, node) for s, node in subs]


def asserted(label: str, text: str, proof: str) -> str:
    """Return tactics that add a proved fact."""
    return f"assert ({label} : {text}).\n{{ {proof} }}\n"


def _bounded(variables: Sequence[tuple[str, Kind]]) -> str:
    """Return the introduction of variables with the conditions of their kinds."""
    return "".join(
        f"intros {' '.join([x, *(f'K_{x}_{i}' for i in range(len(within(kind, x))))])}. "
        for x, kind in variables
    )


def _fix(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    """Introduce variables. With their new names the terms of linear combinations may stand in another order."""
    inner, sub = subs[0]
    p, goal = Printer(inner.known), s.goal
    new = [(name(v), k) for v, k in zip(node["fix"], goal.all, strict=True)]
    at: dict[str, Expr] = {f"${i}": v for i, v in enumerate(node["fix"])}
    out = _bounded(new)
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
    return "split_all; repeat match goal with |- _ /\\ _ => split end; first [reflexivity | close]."


def _arith(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    facts = [x for label in node["arith"] if (x := s.fact(label).ground) is not None]
    view = Abstraction(s, deduction._names(s, node.get("names", {})))
    given, goal = [view.relation(x) for x in facts], view.relation(s.relation())
    claim = {
        "vars": {v: _interval(k.range) for v, k in view.domain.items()},
        "given": [_relation_data(x) for x in given],
        "goal": _relation_data(goal),
        "integers": [v for v, k in view.domain.items() if k.whole],
    }
    needed = _occurring(claim, node["proof"])
    claim["vars"] = {v: x for v, x in claim["vars"].items() if v in needed}
    claim["integers"] = [v for v in claim["integers"] if v in needed]
    label = f"{w.label}__a{len(w.arithmetic)}"
    w.arithmetic.append(Lemma(label, export.proved(claim), _proof(claim, node["proof"])))
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


def _proof(claim: Any, node: Node) -> str:
    """Return the proof of a claim of arithmetic. A leaf of one goal is tried after linear arithmetic."""
    text = script.proof(claim, node)
    if node.get("leaf") not in ("identity", "positive"):
        return text
    head, found, body = text.rpartition("\n")
    apart = re.match(r"(refine \(conj D\d+ _\)\. )*", body)
    opening = body[: apart.end()] if apart else ""
    chain = body[len(opening) :].rstrip(".").replace(". ", "; ")
    return f"{head}{found}{opening}first [ lra | solve [{chain}] | nra ]."


def _equal(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (a, b) = Printer(s.known), (w.fresh("E"), w.fresh("E"))
    first, second = w.all(subs)
    return (
        asserted(a, p.clause(subs[0][0].goal), first)
        + asserted(b, p.clause(subs[1][0].goal), second)
        + "split_all; repeat match goal with |- _ /\\ _ => split end; "
        "first [ apply Rle_antisym; assumption | close ]."
    )


def _use(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, fact = Printer(s.known), s.fact(node["use"])
    values = [value(s, x, kind) for x, kind in zip(node["at"], fact.all, strict=True)]
    out, labels = _proved(w, subs[:-1])
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
    return f"{out}{_clear(labels)}{w.script(last, rest)}"


def _proved(w: Writer, subs: Subs) -> tuple[str, list[str]]:
    """Return tactics that add the goals of sequents as facts, and their names."""
    out, labels = "", []
    for s, node in subs:
        label = w.fresh("X")
        labels.append(label)
        out += asserted(label, Printer(s.known).clause(s.goal), w.script(s, node))
    return out, labels


def _clear(labels: Sequence[str]) -> str:
    return f"clear {' '.join(labels)}. " if labels else ""


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
    proof = "split_all; repeat match goal with |- _ /\\ _ => split end; first [ apply whole_lt; [kinds | kinds | assumption] | close ]."
    return asserted(w.fact(node["as"]), p.clause(inner.facts[node["as"]]), proof) + w.script(inner, rest)


def _induct(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (base, step) = Printer(s.known), subs
    kind, v, e, b, c = s.goal.all[0], name(node["induct"]), w.fact(node["as"]), w.fresh("B"), w.fresh("B")
    rest = Clause(s.goal.all[1:], s.goal.when, s.goal.then)
    at_v = p.clause(step[0].facts[node["as"]])
    after = p.clause(step[0].goal)
    lo = p.term(kind.range.lo[1])
    hyps = f"forall {v} : R, whole {v} -> {lo} <= {v} -> ({at_v}) -> {after}"
    out = asserted(b, p.clause(base[0].goal), w.script(*base))
    out += asserted(c, hyps, f"intros {v} K_{v}_0 K_{v}_1 {e}. {w.script(*step)}")
    return (
        f"{out}refine (whole_ind (fun b_0 : R => {p.clause(rest, 1)}) {lo} _ _ _); cbv beta.\n"
        f"{{ kinds. }}\n{{ apply (cast _ _ {b}); congr. }}\n"
        f"{{ intros {v} ? ? {e}. refine (cast _ _ ({c} {v} _ _ (cast _ _ {e} _)) _); [ assumption | assumption | congr | congr ]. }}"
    )


def _rewrite(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (inner, rest), eq = Printer(s.known), subs[0], w.fact(node["rewrite"])
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


def _point(
    w: Writer, inner: Sequent, v: str, kind: Kind, labels: Sequence[Any], node: Any
) -> tuple[str, str]:
    """Return the name and the proof of a fact at every point."""
    p, x = Printer(inner.known), w.fresh("Y")
    ends = "".join(f"({p.clause(inner.facts[label])}) -> " for label in labels)
    text = f"{quantified([(name(v), kind)])}{ends}{p.clause(inner.goal)}"
    opening = _bounded([(name(v), kind)]) + "".join(f"intros {w.fact(label)}. " for label in labels)
    return x, asserted(x, text, opening + w.script(inner, node))


def _integrate(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (at, proof), (inner, rest) = Printer(s.known), *subs
    like, kind = frame(s, node["over"])
    x = inner.facts[node["as"]].then
    labels = node["conditions"] if like[0] == "sum" else []
    y, out = _point(w, at, node["index"], kind, labels, proof)
    if like[0] == "sum":
        functional = f"(finite {p.term(like[2])} {p.term(like[3])})"
        atom = "apply lin_sum"
    else:
        functional, atom = p.integral(like), "apply lin_atom; assumption"
    lemma = "lin_eq" if x.rel == "==" else "lin_le"
    text = p.relation(x)
    proof = (
        f"open_all. {_witness(y, kind)}split_all; repeat match goal with |- _ /\\ _ => split end; "
        f"first [ solve [ eapply ({lemma} {functional}); [ kinds | linear ltac:({atom}) | linear ltac:({atom}) | at_points {y} ] ] "
        f"| at_body {y} | close ]."
    )
    return out + asserted(w.fact(node["as"]), text, proof) + f"clear {y}. " + w.script(inner, rest)


def _witness(y: str, kind: Kind) -> str:
    """Return tactics that add what a fact at every point says at one point."""
    z = f"{y}_at"
    if kind.set:
        first = f"destruct N_{kind.set} as [{y}_w ?]. pose proof ({y} {y}_w) as {z}. "
    else:
        first = f"pose proof ({y} {number(_inner(kind.range))}) as {z}. "
    return f"{first}try at_one {z}. "


def _inner(r: Range) -> Fraction:
    if r.lo[0]:
        return Fraction(0) if r.hi[0] else r.hi[1] - 1
    return r.lo[1] if not r.open[0] else (r.lo[1] + 1 if r.hi[0] else (r.lo[1] + r.hi[1]) / 2)


def _dominated(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (low, below), (high, above), (inner, rest) = Printer(s.known), *subs
    e, b = (canonical(s.reader().number(node[key])) for key in ("dominated", "by"))
    over = p.over(e[0][1:])
    y, first = _point(w, low, node["index"], over, [], below)
    z, second = _point(w, high, node["index"], over, [], above)
    text = p.relation(inner.facts[node["as"]].then)
    proof = (
        f"open_all. split_all; repeat match goal with |- _ /\\ _ => split end; "
        f"first [ reflexivity | solve [ eapply (on_between {p.integral(e)} ltac:(kinds) _ {p.function(b)}); "
        f"[ assumption | at_points {y} | at_points {z} ] ] | at_body {y} | close ]."
    )
    return (
        first
        + second
        + asserted(w.fact(node["as"]), text, proof)
        + f"clear {y} {z}. "
        + w.script(inner, rest)
    )


def _sum(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    p, (inner, rest) = Printer(s.known), subs[-1]
    out, labels = _proved(w, subs[:-1])
    lemma = f"sum_{node['kind']}"
    proof = (
        "open_all. split_all; repeat match goal with |- _ /\\ _ => split end; first "
        f"[ solve [ symmetry; etransitivity; [ apply {lemma}; [ kinds | kinds | assumption ] | cbv beta; congr ] ] "
        "| close | last_body ]."
    )
    text = p.relation(inner.facts[node["as"]].then)
    return out + asserted(w.fact(node["as"]), text, proof) + _clear(labels) + w.script(inner, rest)


def _apply(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    """``shift`` is the law about the integral over the line that holds for every function."""
    claim, p = theorem(s.lemmas[node["apply"]]), Printer(s.known)
    arithmetic = "vars" in s.lemmas[node["apply"]]
    inner, rest = subs[-1]
    text, fact = p.clause(inner.facts[node["as"]]), w.fact(node["as"])
    if arithmetic:
        data = s.lemmas[node["apply"]]
        names = [f"b_{i}" for i in range(len(data["vars"]))]
        values = [names[sorted(data["vars"]).index(v)] for v in data["vars"]]
        opening = "".join(f"enter {v}. " for v in names) + (
            f"intros; split_all; finish ({' '.join([w.names[node['apply']], *values])})."
        )
        return asserted(fact, text, opening) + w.script(inner, rest)
    shift = node["apply"] in THEOREMS
    q = w.fresh("Q")
    made = Instance({x: s.known.kind(k) for x, k in node["sets"].items()})
    out, steps, labels = "", f"pose proof {'L_shift' if shift else w.names[node['apply']]} as {q}. ", []
    waiting = list(subs[:-1])

    def proofs(count: int, outer: Sequence[tuple[str, Kind]]) -> None:
        nonlocal out
        for _ in range(count):
            at, sub = waiting.pop(0)
            printer, x = Printer(at.known), at.goal.then
            body = w.fresh("X")
            out += asserted(
                body, quantified(outer) + printer.relation(x), _bounded(outer) + w.script(at, sub)
            )
            for part in [*printer.conditions(x), printer.compared(x)]:
                label = w.fresh("M")
                labels.append(label)
                names = " ".join(v for v, _ in outer)
                out += asserted(
                    label,
                    f"marked ({quantified(outer)}{part})",
                    f"unfold marked. {_bounded(outer)}pose proof ({body} {' '.join(_arguments(outer))}) as Z. split_all; assumption.",
                )
            out += f"clear {body}. "

    for x in sorted(claim.known.sets):
        kind = made.sets[x]
        inside = conjunction(within(kind, "x")) or "True"
        steps += f"specialize ({q} {carrier(kind)} (fun x => {inside})). feed_witness {q}. "
    for f, (takes, gives) in functions(claim).items():
        data, kind = node["functions"][f], made.kind(gives)
        of = list(zip(map(name, data["of"]), map(made.kind, takes), strict=True))
        at = replace(
            s, known=s.known.with_variables(dict(zip(data["of"], map(made.kind, takes), strict=True)))
        )
        e = value(at, data["is"], kind)
        proofs(len(data["in"]) if not kind.set and not (kind.range == REAL and deduction.total(e)) else 0, of)
        binder = "".join(f"fun {v} : {carrier(k)} => " for v, k in of)
        steps += f"specialize ({q} ({binder}{p.term(e)})). " + f"feed {q}. " * len(within(gives, "x"))
    for x, (takes, over) in claim.known.integrals.items():
        data = node["integrals"][x]
        of = list(zip(map(name, data["of"]), map(made.kind, takes), strict=True))
        outer = replace(
            s, known=s.known.with_variables(dict(zip(data["of"], map(made.kind, takes), strict=True)))
        )
        point = replace(outer, known=outer.known.with_variables({data["index"]: made.kind(over)}))
        weight = canonical(point.reader().number(data["weight"]))
        like, _ = frame(outer, data["over"])
        v = (name(data["index"]), made.kind(over))
        proofs(1, [*of, v])
        proofs(len(data["in"]) - 1, of)
        base = (
            f"(finite {p.term(like[2])} {p.term(like[3])})"
            if like[0] == "sum"
            else Printer(outer.known).integral(like)
        )
        binder = "".join(f"fun {u} : {carrier(k)} => " for u, k in of)
        body = f"weighted {base} (fun {v[0]} : {carrier(v[1])} => {Printer(point.known).term(weight)})"
        steps += f"specialize ({q} ({binder}{body})). feed_lawful {q}. " + f"feed {q}. " * len(
            within(over, "y")
        )
    if not shift and w.lebesgue[node["apply"]]:
        given = "".join(f"specialize ({q} {x}). " for x in LEBESGUE)
        steps += f"specialize ({q} I_lebesgue). feed {q}. {given}"
    for _ in claim.given:
        g = w.fresh("G")
        at, sub = waiting.pop(0)
        out += asserted(g, p.clause(at.goal), w.script(at, sub))
        labels.append(g)
        steps += f"feed_clause {q} ltac:({_entailed(g, at.goal)}). "
    goal = inner.facts[node["as"]]
    out += asserted(fact, text, f"open_all. {steps}{_entailed(q, goal)}.")
    return out + _clear(labels) + w.script(inner, rest)


def _arguments(outer: Sequence[tuple[str, Kind]]) -> list[str]:
    return [text for x, k in outer for text in (x, *(f"K_{x}_{i}" for i in range(len(within(k, x)))))]


def _entailed(label: str, c: Clause) -> str:
    """Return a tactic that proves an instance of a clause from another form of it."""
    if c.ground:
        return "split_all; close"
    names = [f"b_{i}" for i in range(len(c.all))]
    enter = "".join(f"enter {v}; " for v in names)
    at = "".join(f"feed_to {label} {v}; " for v in names)
    return f"{enter}intros; split_all; {at}feed_all {label}; split_all; close"


TEMPLATES: dict[str, Callable[[Writer, Sequent, Node, Subs], str]] = {
    "arith": _arith, "fix": _fix, "have": _have, "exact": _exact, "same": _same, "equal": _equal, "use": _use,
    "cases": _cases, "whole": _whole, "induct": _induct, "rewrite": _rewrite, "law": _law,
    "integrate": _integrate, "dominated": _dominated, "sum": _sum, "apply": _apply,
}  # fmt: skip


def written(
    label: str,
    claim: Any,
    certificate: Any,
    used: Mapping[str, Any],
    names: Mapping[str, str],
    line: Mapping[str, bool],
) -> list[Lemma]:
    """Return the lemmas of arithmetic of a theorem, and then the theorem.

    Args:
        label: the name of the theorem's lemma.
        claim: the theorem.
        certificate: a certificate that the kernel accepts.
        used: the theorems and claims that the proof applies, by their ids.
        names: the names of their lemmas.
        line: whether their lemmas, and the one of the theorem (""), speak of the integral over the real line.

    Raises:
        UntranslatableError: for something that has no counterpart, such as a refutation.
    """
    if certificate["verdict"] != "PROVED":
        raise UntranslatableError("a theorem that is refuted by an instance")
    found = theorem(claim)
    statement = stated(found, line[""])
    s = Sequent(
        found.known, found.given, found.goal, {**THEOREMS, **used}, lambda task, node: None,
        certificate["prec"], [MAX_NODES], set(),
    )  # fmt: skip
    w = Writer(label, names, line)
    body = w.script(s, certificate["proof"])
    opening = f"intros {' '.join(statement.names)}.\n" if statement.names else ""
    marks = "".join(f"mark {x}. " for x in statement.marked)
    return [*w.arithmetic, Lemma(label, statement.text, f"{opening}{marks}\n{body}")]
