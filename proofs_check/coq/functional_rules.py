"""The Coq tactics for the rules about sums, integrals and instances of theorems, one template for each rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpproof.proofs_check.coq.export import conjunction, name, number
from dpproof.proofs_check.coq.formula import (
    LEBESGUE,
    Printer,
    carrier,
    functions,
    quantified,
    variable,
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
from dpproof.proofs_check.kernel.instances import Instance, Theorem, counterexample, theorem
from dpproof.proofs_check.kernel.integrals import _pointwise, frame
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
    e, bound = (tree(canonical(s.reader().number(node[key]))) for key in ("dominated", "by"))
    over = p.over(e[0][1:])
    y, first = _point(w, low, node["index"], over, [], below)
    z, second = _point(w, high, node["index"], over, [], above)
    text = p.relation(inner.facts[node["as"]].then)
    if bound[0] == e[0]:
        within_bound = f"on_between {p.integral(e)} ltac:(kinds) _ {p.function(bound)}); [ assumption"
    else:
        body = f"(fun {variable('$0')} : {carrier(over)} => {p.term(_pointwise(bound, e, '$0'))})"
        by_parts = "linear ltac:(apply lin_atom; assumption)"
        within_bound = f"on_within {p.integral(e)} ltac:(kinds) _ {body} {p.term(bound)}); [ {by_parts}"
    proof = (
        f"open_all. split_all; {SPLIT}first [ reflexivity | "
        f"solve [ eapply ({within_bound} | at_points {y} | at_points {z} ] ] | at_body {y} | close ]."
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
        f"| close | {'first' if node['kind'] == 'first' else 'last'}_body ]."
    )
    text = p.relation(inner.facts[node["as"]].then)
    return out + asserted(w.fact(node["as"]), text, proof) + clear(labels) + w.script(inner, rest)


def _apply(w: Writer, s: Sequent, node: Node, subs: Subs) -> str:
    """Write the use of another lemma. ``lebesgue.shift`` is the law about the line that holds for every function."""
    inner, rest = subs[-1]
    if "vars" in s.lemmas[node["apply"]]:
        return _arithmetic(w, s, node, inner) + w.script(inner, rest)
    name_of, shift = node["apply"], node["apply"] in THEOREMS
    source = "L_shift" if shift else w.names[name_of]
    lemma = Lemmas(theorem(s.lemmas[name_of]), source, not shift and w.lebesgue[name_of])
    instance = _Applied(w, s, node, list(subs[:-1]), lemma)
    instance.all()
    return instance.finished(inner) + w.script(inner, rest)


def refuted(w: Writer, s: Sequent, claim: Theorem, node: Node) -> str:
    """Return the proof that a theorem, the hypothesis Q0, is false at the instance of a node."""
    subs: list[Any] = []
    counterexample(s, claim, node, lambda inner, sub: subs.append((inner, sub)))
    instance = _Applied(w, s, node, subs, Lemmas(claim, "Q0", line=False))
    instance.all()
    p, made = Printer(s.known), Instance({x: s.known.kind(k) for x, k in node["sets"].items()})
    *needed, against = instance.waiting
    out, _ = proved(w, needed)
    values = [value(s, x, made.kind(kind)) for x, kind in zip(node["at"], claim.goal.all, strict=True)]
    for e, kind in zip(values, claim.goal.all, strict=True):
        feeds = f"feed {instance.q}. " * len(within(kind, "x"))
        instance.steps += f"specialize ({instance.q} {p.term(e)}). {feeds}"
    instance.steps += f"feed {instance.q}. " * len(claim.goal.when)
    x = against[0].goal.then
    sign = "=" if claim.goal.then.rel == "==" else "<=" if x.rel == ">" else "<"
    opposite = f"{p.term(x.left)} {sign} {p.term(x.right)}"
    end = asserted(
        "Wrong", opposite, f"open_all. {instance.steps}split_all; first [ close | symmetry; close ]."
    )
    last = asserted("Right", p.clause(against[0].goal), w.script(*against))
    return f"{instance.out}{out}{last}{end}split_all; lra."


@dataclass(frozen=True)
class Lemmas:
    """A theorem that is instantiated, where it is known, and whether it begins with the integral over the line."""

    claim: Theorem
    source: str
    line: bool


def _arithmetic(w: Writer, s: Sequent, node: Node, inner: Sequent) -> str:
    """Write the use of a claim of arithmetic. Its lemma has the variables in the order of its page."""
    data, p = s.lemmas[node["apply"]], Printer(s.known)
    names = [f"b_{i}" for i in range(len(data["vars"]))]
    values = [names[sorted(data["vars"]).index(v)] for v in data["vars"]]
    opening = "".join(f"enter {v}. " for v in names) + (
        f"intros; split_all; finish ({' '.join([w.names[node['apply']], *values])})."
    )
    return asserted(w.fact(node["as"]), p.clause(inner.facts[node["as"]]), opening)


class _Applied:
    """The tactics that take a lemma at an instance: ``out`` proves what is needed, ``steps`` specialise the lemma."""

    def __init__(self, w: Writer, s: Sequent, node: Node, waiting: list[Any], lemma: Lemmas) -> None:
        self.w, self.s, self.node, self.waiting = w, s, node, waiting
        self.claim, self.line = lemma.claim, lemma.line
        self.made = Instance({x: s.known.kind(k) for x, k in node["sets"].items()})
        self.q = w.fresh("Q")
        self.steps = f"pose proof {lemma.source} as {self.q}. "
        self.out = ""
        self.labels: list[str] = []

    def all(self) -> None:
        """Write the values for the sets, functions, integrals and hypotheses of the theorem."""
        self.sets()
        self.functions()
        self.integrals()
        self.given()

    def proofs(self, count: int, outer: Sequence[tuple[str, Kind]]) -> None:
        """Write the next proofs, each for all values of the outer variables."""
        for _ in range(count):
            at, sub = self.waiting.pop(0)
            printer, x = Printer(at.known), at.goal.then
            body, values = self.w.fresh("X"), " ".join(arguments(outer))
            text = quantified(outer) + printer.relation(x)
            self.out += asserted(body, text, bounded(outer) + self.w.script(at, sub))
            for part in [*printer.conditions(x), printer.compared(x)]:
                label = self.w.fresh("M")
                self.labels.append(label)
                proof = f"unfold marked. {bounded(outer)}pose proof ({body} {values}) as Z. split_all; assumption."
                self.out += asserted(label, f"marked ({quantified(outer)}{part})", proof)
            self.out += f"clear {body}. "

    def _opened(self, names: Sequence[str], takes: Sequence[Kind]) -> tuple[list[tuple[str, Kind]], Sequent]:
        """Return the parameters with their kinds, and the sequent in which they are variables."""
        kinds = [self.made.kind(x) for x in takes]
        known = self.s.known.with_variables(dict(zip(names, kinds, strict=True)))
        return list(zip(map(name, names), kinds, strict=True)), replace(self.s, known=known)

    def sets(self) -> None:
        """Give the sets."""
        for x in sorted(self.claim.known.sets):
            kind = self.made.sets[x]
            inside = conjunction(within(kind, "x")) or "True"
            self.steps += (
                f"specialize ({self.q} {carrier(kind)} (fun x => {inside})). feed_witness {self.q}. "
            )

    def functions(self) -> None:
        """Give the functions, after proofs that their values lie in the declared intervals."""
        for f, (takes, gives) in functions(self.claim).items():
            data, kind = self.node["functions"][f], self.made.kind(gives)
            of, at = self._opened(data["of"], takes)
            e = value(at, data["is"], kind)
            self.proofs(len(data["in"]) if not kind.set and not (kind.range == REAL and total(e)) else 0, of)
            binder = "".join(f"fun {v} : {carrier(k)} => " for v, k in of)
            feeds = f"feed {self.q}. " * len(within(gives, "x"))
            self.steps += f"specialize ({self.q} ({binder}{Printer(self.s.known).term(e)})). {feeds}"

    def integrals(self) -> None:
        """Give the integrals, after proofs that their weights are not negative."""
        for x, (takes, over) in self.claim.known.integrals.items():
            data = self.node["integrals"][x]
            of, outer = self._opened(data["of"], takes)
            point = replace(outer, known=outer.known.with_variables({data["index"]: self.made.kind(over)}))
            weight = Printer(point.known).term(canonical(point.reader().number(data["weight"])))
            v = (name(data["index"]), self.made.kind(over))
            self.proofs(1, [*of, v])
            self.proofs(len(data["in"]) - 1, of)
            binder = "".join(f"fun {u} : {carrier(k)} => " for u, k in of)
            body = f"weighted {_base(outer, data['over'])} (fun {v[0]} : {carrier(v[1])} => {weight})"
            feeds = f"feed {self.q}. " * len(within(over, "y"))
            self.steps += f"specialize ({self.q} ({binder}{body})). feed_lawful {self.q}. {feeds}"
        if self.line:
            laws = "".join(f"specialize ({self.q} {x}). " for x in LEBESGUE)
            self.steps += f"specialize ({self.q} I_lebesgue). feed {self.q}. {laws}"

    def given(self) -> None:
        """Give the given clauses, after their proofs."""
        for _ in self.claim.given:
            g = self.w.fresh("G")
            at, sub = self.waiting.pop(0)
            self.out += asserted(g, Printer(self.s.known).clause(at.goal), self.w.script(at, sub))
            self.labels.append(g)
            self.steps += f"feed_clause {self.q} ltac:({entailed(g, at.goal)}). "

    def finished(self, inner: Sequent) -> str:
        """Return the tactics that add the goal of the lemma as a fact."""
        goal, fact = inner.facts[self.node["as"]], self.w.fact(self.node["as"])
        text = Printer(self.s.known).clause(goal)
        end = f"open_all. {self.steps}{entailed(self.q, goal)}."
        return self.out + asserted(fact, text, end) + clear(self.labels)


def _base(outer: Sequent, over: Any) -> str:
    """Return the functional that an integral becomes, without its weight."""
    like, _ = frame(outer, over)
    p = Printer(outer.known)
    return f"(finite {p.term(like[2])} {p.term(like[3])})" if like[0] == "sum" else p.integral(like)


RULES: Mapping[str, Template] = {
    "integrate": _integrate, "dominated": _dominated, "sum": _sum, "apply": _apply,
}  # fmt: skip
