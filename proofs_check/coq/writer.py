"""What the proofs of theorems are written with: names, facts, and the template of tactics for each rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.export import UntranslatableError
from dpproof.proofs_check.coq.formula import Printer, within
from dpproof.proofs_check.kernel.certificate import DERIVATIONS
from dpproof.proofs_check.kernel.deduction import Sequent
from dpproof.proofs_check.kernel.theorems import Clause, Kind

Node = Mapping[str, Any]
Subs = Sequence[tuple[Sequent, Any]]
SPLIT = "repeat match goal with |- _ /\\ _ => split end; "


@dataclass
class Writer:
    """Writes the proof of one theorem. ``arithmetic`` collects its lemmas of arithmetic."""

    label: str
    templates: Mapping[str, Template]
    names: Mapping[str, str]
    lebesgue: Mapping[str, bool]
    extra: bool = False
    """Whether the tactics of extra.v may be used."""
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

    def lemma(self, statement: str, proof: str) -> str:
        """Return the name of a lemma of arithmetic. Equal ones share it."""
        known = next((x for x in self.arithmetic if (x.statement, x.proof) == (statement, proof)), None)
        if known is None:
            known = Lemma(f"{self.label}__a{len(self.arithmetic)}", statement, proof)
            self.arithmetic.append(known)
        return known.name

    def script(self, s: Sequent, node: Node) -> str:
        """Return tactics that prove a sequent, from a node of a derivation."""
        kind = next(k for k in DERIVATIONS if k in node)
        if kind not in self.templates:
            raise UntranslatableError(f"a node {kind!r} has no counterpart in Coq")
        subs: list[tuple[Sequent, Any]] = []
        DERIVATIONS[kind](s, dict(node), lambda inner, sub: subs.append((inner, sub)))
        return self.templates[kind](self, s, node, subs)

    def all(self, subs: Subs) -> list[str]:
        """Return the tactics for each sequent."""
        return [self.script(s, node) for s, node in subs]


def asserted(label: str, text: str, proof: str) -> str:
    """Return tactics that add a proved fact."""
    return f"assert ({label} : {text}).\n{{ {proof} }}\n"


def bounded(variables: Sequence[tuple[str, Kind]]) -> str:
    """Return the introduction of variables with the conditions of their kinds."""
    return "".join(
        f"intros {' '.join([x, *(f'K_{x}_{i}' for i in range(len(within(kind, x))))])}. "
        for x, kind in variables
    )


def proved(w: Writer, subs: Subs) -> tuple[str, list[str]]:
    """Return tactics that add the goals of sequents as facts, and their names."""
    out, labels = "", []
    for s, node in subs:
        label = w.fresh("X")
        labels.append(label)
        out += asserted(label, Printer(s.known).clause(s.goal), w.script(s, node))
    return out, labels


def clear(labels: Sequence[str]) -> str:
    """Return the tactic that forgets facts."""
    return f"clear {' '.join(labels)}. " if labels else ""


def arguments(outer: Sequence[tuple[str, Kind]]) -> list[str]:
    """Return variables and the conditions of their kinds, as ``bounded`` introduces them."""
    return [text for x, k in outer for text in (x, *(f"K_{x}_{i}" for i in range(len(within(k, x)))))]


def entailed(label: str, c: Clause) -> str:
    """Return a tactic that proves an instance of a clause from another form of it."""
    if c.ground:
        return "split_all; close"
    names = [f"b_{i}" for i in range(len(c.all))]
    enter = "".join(f"enter {v}; " for v in names)
    at = "".join(f"feed_to {label} {v}; " for v in names)
    return f"{enter}intros; split_all; {at}feed_all {label}; split_all; close"


Template = Callable[[Writer, Sequent, Node, Subs], str]
"""Returns the tactics that prove a sequent, from a node and the sequents of the nodes below it."""
