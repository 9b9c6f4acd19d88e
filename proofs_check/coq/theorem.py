"""Write Coq proofs of theorems, guided by derivations. These proofs need no trust: Coq checks them.

The kernel's own rules make the sequents of a derivation. For each rule there is a template of tactics, which are
defined in ``functionals.v``. Claims of arithmetic become lemmas of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpproof.proofs_check.coq import functional_rules, rules
from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.formula import ANALYTIC, LEBESGUE, line, stated
from dpproof.proofs_check.coq.writer import Writer
from dpproof.proofs_check.kernel.deduction import Sequent
from dpproof.proofs_check.kernel.goals import MAX_NODES
from dpproof.proofs_check.kernel.instances import Theorem, theorem
from dpproof.proofs_check.kernel.theorems import Signature
from dpproof.proofs_check.kernel.theory import THEOREMS

TEMPLATES = {**rules.RULES, **functional_rules.RULES}


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


def written(
    label: str,
    claim: Any,
    certificate: Any,
    used: Mapping[str, Any],
    names: Mapping[str, str],
    line: Mapping[str, bool],
    extra: bool = False,
) -> list[Lemma]:
    """Return the lemmas of arithmetic of a theorem, and then the theorem.

    Args:
        label: the name of the theorem's lemma.
        claim: the theorem.
        certificate: a certificate that the kernel accepts.
        used: the theorems and claims that the proof applies, by their ids.
        names: the names of their lemmas.
        extra: whether the proof may use the tactics of extra.v.
        line: whether their lemmas, and the one of the theorem (""), speak of the integral over the real line.

    Raises:
        UntranslatableError: for something that has no counterpart.
    """
    found = theorem(claim)
    if certificate["verdict"] == "REFUTED":
        return _refuted(label, found, certificate, used, Writer(label, TEMPLATES, names, line, extra))
    statement = stated(found, line[""])
    s = Sequent(
        found.known, found.given, found.goal, {**THEOREMS, **used}, lambda task, node: None,
        certificate["prec"], [MAX_NODES], set(),
    )  # fmt: skip
    w = Writer(label, TEMPLATES, names, line, extra)
    body = w.script(s, certificate["proof"])
    opening = f"intros {' '.join(statement.names)}.\n" if statement.names else ""
    marks = "".join(f"mark {x}. " for x in statement.marked)
    return [*w.arithmetic, Lemma(label, statement.text, f"{opening}{marks}\n{body}")]


def _refuted(label: str, found: Theorem, certificate: Any, used: Mapping[str, Any], w: Writer) -> list[Lemma]:
    """Return the lemmas of arithmetic of a refutation, and then that the theorem is false."""
    s = Sequent(
        Signature(), {}, found.goal, {**THEOREMS, **used}, lambda task, node: None,
        certificate["prec"], [MAX_NODES], set(),
    )  # fmt: skip
    names = ("I_lebesgue", "J_lebesgue", *LEBESGUE) if w.lebesgue[""] else ()
    body = functional_rules.refuted(w, s, found, certificate["proof"])
    mark = "mark J_lebesgue. " if names else ""
    text = f"{line() if names else ''}~ ({stated(found, lebesgue=False).text})"
    return [*w.arithmetic, Lemma(label, text, f"intros {' '.join([*names, 'Q0'])}.\n{mark}\n{body}")]
