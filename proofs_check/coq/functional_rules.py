"""The Coq tactics for the rules about sums, integrals and instances of theorems, one template for each rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpproof.proofs_check.coq.export import name, number
from dpproof.proofs_check.coq.formula import (
    LEBESGUE,
    Printer,
    carrier,
    conjunction,
    functions,
    quantified,
    within,
)
from dpproof.proofs_check.coq.writer import (
    SPLIT,
    Node,
    Subs,
    Template,
    Writer,
    arguments,
    asserted,
    bounded,
    clear,
    entailed,
    proved,
)  # fmt: skip
from dpproof.proofs_check.kernel.deduction import Sequent, value
from dpproof.proofs_check.kernel.expressions import node as tree
from dpproof.proofs_check.kernel.goals import Range
from dpproof.proofs_check.kernel.instances import Instance, theorem
from dpproof.proofs_check.kernel.integrals import frame
from dpproof.proofs_check.kernel.terms import canonical, total
from dpproof.proofs_check.kernel.theorems import REAL, Kind
from dpproof.proofs_check.kernel.theory import THEOREMS


def _point(
    w: Writer, inner: Sequent, v: str, kind: Kind, labels: Sequence[Any], node: Any
) -> tuple[str, str]:
    """Return the name and the proof of a fact at every point."""
    p, x = Printer(inner.known), w.fresh("Y")
    ends = "".join(f"({p.clause(inner.facts[label])}) -> " for label in labels)
    text = f"{quantified([(name(v), kind)])}{ends}{p.clause(inner.goal)}"
    opening = bounded([(name(v), kind)]) + "".join(f"intros {w.fact(label)}. " for label in labels)
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
    side = f"linear ltac:({atom})"
    by_points = f"solve [ eapply ({lemma} {functional}); [ kinds | {side} | {side} | at_points {y} ] ]"
    proof = f"open_all. {_witness(y, kind)}split_all; {SPLIT}first [ {by_points} | at_body {y} | close ]."
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
    e, b = (tree(canonical(s.reader().number(node[key]))) for key in ("dominated", "by"))
    over = p.over(e[0][1:])
    y, first = _point(w, low, node["index"], over, [], below)
    z, second = _point(w, high, node["index"], over, [], above)
    text = p.relation(inner.facts[node["as"]].then)
    proof = (
        f"open_all. split_all; {SPLIT}"
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
    out, labels = proved(w, subs[:-1])
    lemma = f"sum_{node['kind']}"
    proof = (
        f"open_all. split_all; {SPLIT}first "
        f"[ solve [ symmetry; etransitivity; [ apply {lemma}; [ kinds | kinds | assumption ] | cbv beta; congr ] ] "
        "| close | last_body ]."
    )
    text = p.relation(inner.facts[node["as"]].then)
    return out + asserted(w.fact(node["as"]), text, proof) + clear(labels) + w.script(inner, rest)


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
            body, values = w.fresh("X"), " ".join(arguments(outer))
            out += asserted(body, quantified(outer) + printer.relation(x), bounded(outer) + w.script(at, sub))
            for part in [*printer.conditions(x), printer.compared(x)]:
                label = w.fresh("M")
                labels.append(label)
                out += asserted(
                    label,
                    f"marked ({quantified(outer)}{part})",
                    f"unfold marked. {bounded(outer)}pose proof ({body} {values}) as Z. split_all; assumption.",
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
        proofs(len(data["in"]) if not kind.set and not (kind.range == REAL and total(e)) else 0, of)
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
        steps += f"feed_clause {q} ltac:({entailed(g, at.goal)}). "
    goal = inner.facts[node["as"]]
    out += asserted(fact, text, f"open_all. {steps}{entailed(q, goal)}.")
    return out + clear(labels) + w.script(inner, rest)


RULES: Mapping[str, Template] = {
    "integrate": _integrate, "dominated": _dominated, "sum": _sum, "apply": _apply,
}  # fmt: skip
