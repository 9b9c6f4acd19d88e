"""Reader of a goal: the text of a theorem and of its derivation, turned into the kernel's format.

A goal is a block of lines. Indented lines belong to the line above them::

    set Y
    integral nu over Y
    for c in (0, inf)
    function p(Y) in [0, inf)
    given mass: nu(y, p(y)) == 1
    show nu(y, c*p(y)) == c
    proof
      ...

docs/reference/pages.md describes every line. A proof may leave out what the search finds: such a place is an empty
node, which ``elaborate`` fills. It also removes the numbers of the lines, which only messages need. The reader trusts
nothing and proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpproof.proofs_check.blocks import Block, StepError
from dpproof.proofs_check.clauses import NAME, Words, split
from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.kernel.instances import theorem
from dpproof.proofs_check.statement import Obligation, Proofs
from dpproof.proofs_check.steps import proof as arithmetic

Node = dict[str, Any]
DECLARED = ("set", "integral", "function", "for", "given", "show")


def is_theorem(rows: Sequence[Block]) -> bool:
    """Return whether some lines write a theorem, and not a claim of arithmetic."""
    return any(row.word in ("set", "integral", "function") or row.text.startswith(("show for ", "show if "))
               for row in rows)  # fmt: skip


def goal(name: str, note: str, rows: Sequence[Block]) -> Obligation:
    """Return a theorem with its name and a changed goal. Its derivation and instance are read when they are needed.

    Raises:
        StepError: for a line that cannot be read, now or when the proofs are read.
    """
    words = Words()
    claim = _theorem(words, [row for row in rows if row.word in DECLARED])
    held: dict[str, Any] = {}
    for row in rows:
        if row.word in DECLARED:
            continue
        if row.word not in ("proof", "moved", "refuted") or row.word in held:
            raise row.wrong(f"must begin with one of: {', '.join(DECLARED)}, proof, moved, refuted; and once")
        held[row.word] = row
    changed = None
    if "moved" in held:
        changed = {**claim, "goal": words.clause(held["moved"], held["moved"].rest.removeprefix("show "))}
        if _conditions(changed["goal"]) != _conditions(claim["goal"]):
            rule = "must keep the variables and the conditions of 'show', because its instance satisfies them"
            raise held["moved"].wrong(rule)

    def proofs() -> Proofs:
        hint = _instance(words, held["refuted"], claim) if "refuted" in held else None
        if "proof" in held:
            held["proof"].match("", "(nothing)")
            hint = derivation(words, held["proof"], held["proof"].below)
        return hint, _instance(words, held["moved"], changed) if changed else None

    text = "\n".join(row.text for row in rows if row.word in DECLARED)
    return Obligation(name, claim, note, None, changed, text, proofs)


def _conditions(clause: Any) -> tuple[Any, Any]:
    """Return the variables and the conditions of a clause."""
    return (clause.get("all"), clause.get("if")) if type(clause) is dict else (None, None)


def _theorem(words: Words, rows: Sequence[Block]) -> dict[str, Any]:
    claim: dict[str, Any] = {"sets": [], "functions": {}, "integrals": {}, "given": {}}
    for row in (row.alone() for row in rows):
        DECLARATIONS[row.word](words, row, claim)
    if "goal" not in claim:
        raise StepError(rows[0].number if rows else 1, "a goal must have one line that begins with 'show'")
    found = {key: value for key, value in claim.items() if value}
    try:
        theorem(found)
    except Rejected as refused:
        raise StepError(rows[0].number, f"the kernel cannot read this goal: {refused}") from None
    return found


def _new(row: Block, claim: Mapping[str, Any], name: str) -> str:
    """Return a name that a line declares. Raise an error if an earlier line declares it, too."""
    if any(name in claim[part] for part in ("sets", "functions", "integrals")):
        raise row.wrong(f"declares {name!r} a second time")
    if name == "inf":
        raise row.wrong("must not declare 'inf', which is the end of an interval")
    return name


def _set(words: Words, row: Block, claim: dict[str, Any]) -> None:
    row.match(rf"{NAME}(?:, {NAME})*", "Y, Z")
    names = re.findall(NAME, row.rest)
    words.sets += names
    claim["sets"] += [_new(row, claim, name) for name in names]


def _takes(text: str | None) -> list[str]:
    return [x.strip() for x in (text or "").split(",") if x.strip()]


def _integral(words: Words, row: Block, claim: dict[str, Any]) -> None:
    found = row.match(rf"({NAME})(?:\((.*?)\))? over (.+)", "nu over Y")
    takes = _takes(found[2])
    words.calls[found[1]] = len(takes) + 2
    claim["integrals"][_new(row, claim, found[1])] = {"takes": takes, "over": found[3].strip()}


def _function(words: Words, row: Block, claim: dict[str, Any]) -> None:
    found = row.match(rf"({NAME})\((.*?)\) in (.+)", "f(integers, H) in [0, inf)")
    takes = _takes(found[2])
    words.calls[found[1]] = len(takes)
    claim["functions"][_new(row, claim, found[1])] = {"takes": takes, "gives": found[3].strip()}


def _constant(words: Words, row: Block, claim: dict[str, Any]) -> None:
    names, kind = words.binder(row, row.rest)
    for name in names:
        claim["functions"][_new(row, claim, name)] = {"takes": [], "gives": kind}


def _given(words: Words, row: Block, claim: dict[str, Any]) -> None:
    found = row.match(rf"({NAME}): (.+)", "name: clause")
    if found[1] in claim["given"]:
        raise row.wrong(f"names a second clause {found[1]!r}")
    claim["given"][found[1]] = words.clause(row, found[2])


def _show(words: Words, row: Block, claim: dict[str, Any]) -> None:
    if "goal" in claim:
        raise row.wrong("is the second line that begins with 'show'")
    claim["goal"] = words.clause(row, row.rest)


DECLARATIONS: Mapping[str, Callable[[Words, Block, dict[str, Any]], None]] = {
    "set": _set, "integral": _integral, "function": _function, "for": _constant, "given": _given, "show": _show,
}  # fmt: skip


def derivation(words: Words, above: Block, rows: Sequence[Block]) -> Node:
    """Return the node of a derivation that some lines write. Without lines it is a hole, an empty node."""
    if not rows:
        return {}
    first, rest = rows[0], rows[1:]
    read = LINES.get(first.word)
    if read is None:
        raise first.wrong(f"must begin with one of: {', '.join(LINES)}")
    if first.word in ("rewrite", "same", "whole", "law", "exact", "fix"):
        first.alone()
    node, goes_on = read(words, first)
    node["line"] = first.number
    if goes_on:
        return {**node, "sub": derivation(words, first, rest)}
    if rest:
        raise rest[0].wrong(f"stands after {first.text!r}, which ends the derivation")
    return node


Read = tuple[Node, bool]
"""A node, and whether the derivation goes on after it."""


def _branches(words: Words, row: Block, *names: str) -> list[Node]:
    """Return the derivations below the lines with these names, in this order; a hole where a line is missing."""
    held = {line.text: line for line in row.below}
    if len(held) != len(row.below) or held.keys() - {*names}:
        raise row.wrong(f"may have these lines below it, each once, with derivations: {', '.join(names)}")
    return [derivation(words, held[x], held[x].below) if x in held else {} for x in names]


def _by(words: Words, row: Block) -> Read:
    """Read ``by a, b``: arithmetic from facts. Below it: ``name A = formula``, then a proof of arithmetic."""
    facts = _takes(row.rest)
    names: dict[str, Any] = {}
    lines = list(row.below)
    while lines and lines[0].word == "name":
        found = lines[0].match(rf"({NAME}) = (.+)", "A = formula")
        names[found[1]] = words.formula(lines[0], found[2])
        lines.pop(0)
    proof = arithmetic(row, lines, tuple(facts)) if lines else {}
    return {"arith": facts, "proof": proof, **({"names": names} if names else {})}, False


def _fix(words: Words, row: Block) -> Read:
    names, _, assumed = row.alone().rest.partition("assuming")
    return {"fix": _takes(names), "assume": _takes(assumed)}, True


def _have(words: Words, row: Block) -> Read:
    found = row.match(rf"({NAME}): (.+)", "name: clause")
    text, by, facts = found[2].partition(" by ")
    proof = derivation(words, row, row.below)
    if by:
        proof = _by(words, Block(row.number, f"by {facts}", row.below))[0] | {"line": row.number}
    return {"have": words.clause(row, text), "as": found[1], "proof": proof}, True


def _use(words: Words, row: Block) -> Read:
    found = row.match(rf"({NAME})(?: at (.+))? as ({NAME})", "fact at x, y as name")
    values = [words.formula(row, x) for x in split(found[2] or "", ",") if x.strip()]
    inside = [_below(words, line, "in") for line in row.below if line.word == "in"]
    when = [_below(words, line) for line in row.below if line.word != "in"]
    return {"use": found[1], "at": values, "in": inside, "if": when, "as": found[3]}, True


def _below(words: Words, line: Block, word: str = "if") -> Node:
    """Read a line ``if`` (or another word) with a derivation below it, or ``if by facts``."""
    if line.word != word or (line.rest and not line.rest.startswith("by")):
        raise line.wrong(f"must be {word!r} with a derivation below it, or '{word} by' and names of facts")
    if line.rest:
        return _by(words, Block(line.number, line.rest, line.below))[0]
    return derivation(words, line, line.below)


def _cases(words: Words, row: Block) -> Read:
    found = row.match(rf"({NAME}): (.+)", "name: a >= b")
    one, two = _branches(words, row, "then", "else")
    x = words.relation(row, found[2])
    return {"cases": x, "as": found[1], "defined": {}, "then": one, "else": two}, False


def _absurd(words: Words, row: Block) -> Read:
    """Read ``absurd by a, b``, or ``absurd`` with a derivation of 0 > 0 below it."""
    return {"absurd": _below(words, row, "absurd")}, False


def _induct(words: Words, row: Block) -> Read:
    found = row.match(rf"({NAME}) as ({NAME})", "n as earlier")
    base, step = _branches(words, row, "base", "step")
    return {"induct": found[1], "as": found[2], "base": base, "step": step}, False


def _integrate(words: Words, row: Block) -> Read:
    found = row.match(
        rf"({NAME}) over ({NAME})(?:\((.*?)\))? as ({NAME}): (.+)", "y over nu as name: relation"
    )
    frame = [found[2], *(words.formula(row, x) for x in split(found[3] or "", ",") if x.strip())]
    named = ["first", "last"] if found[2] == "sum" else []
    text, by, facts = found[5].partition(" by ")
    proof = derivation(words, row, row.below)
    if by:
        proof = _by(words, Block(row.number, f"by {facts}", row.below))[0]
    return {"integrate": words.relation(row, text), "over": frame, "index": found[1],
            "conditions": named, "proof": proof, "as": found[4]}, True  # fmt: skip


def _dominated(words: Words, row: Block) -> Read:
    found = row.match(rf"({NAME}) as ({NAME}): (.+) by (.+)", "y as name: nu(y, a) by nu(y, b)")
    below, above = _branches(words, row, "below", "above")
    return {"dominated": words.formula(row, found[3]), "by": words.formula(row, found[4]), "index": found[1],
            "below": below, "above": above, "as": found[2]}, True  # fmt: skip


def _sum(words: Words, row: Block) -> Read:
    found = row.match(rf"(empty|first|last) as ({NAME}): (.+)", "last as name: sum(i, lo, hi, formula)")
    names = ("order",) if found[1] == "empty" else ("order", "defined")
    proofs = _branches(words, row, *names)
    return {"sum": words.formula(row, found[3]), "kind": found[1], "proofs": proofs, "as": found[2]}, True


def _rewrite(words: Words, row: Block) -> Read:
    found = row.match(rf"({NAME})(?: in ({NAME}) as ({NAME}))?", "equation in fact as name")
    return {"rewrite": found[1], "in": found[2], "as": found[3]}, True


def _named(word: str) -> Callable[[Words, Block], Read]:
    """Return a reader of ``word fact as name``."""

    def read(words: Words, row: Block) -> Read:
        found = row.alone().match(rf"([\w.]+) as ({NAME})", "fact as name")
        return {word: found[1], "as": found[2]}, True

    return read


def _apply(words: Words, row: Block) -> Read:
    found = row.match(rf"([\w.]+) as ({NAME})", "id as name")
    return {"apply": found[1], "as": found[2], **_parts(words, row.below)}, True


def _parts(words: Words, rows: Sequence[Block]) -> Node:
    """Read the lines of an instance: what sets, functions, integrals become, and proofs of the given clauses."""
    made: Node = {"sets": {}, "functions": {}, "integrals": {}, "given": {}}
    for row in rows:
        if row.word == "set":
            found = row.alone().match(rf"({NAME}) = (.+)", "H = integers [0, inf)")
            made["sets"][found[1]] = found[2].strip()
        elif row.word == "given":
            found = row.match(rf"({NAME})(?: (by .*))?", "name, with a derivation below it")
            inner = _by(words, Block(row.number, found[2], row.below))[0] if found[2] else None
            made["given"][found[1]] = inner or derivation(words, row, row.below)
        elif row.word == "integral":
            form = rf"({NAME})(?:\((.*?)\))? = (.+) times (.+)"
            found = row.match(form, "I(k, y) = nu times weight")
            *of, index = _takes(found[2])
            head = re.fullmatch(rf"({NAME})(?:\((.*)\))?", found[3].strip())
            if head is None:
                raise row.wrong("must name a sum or an integral before 'times'")
            over = [head[1], *(words.formula(row, x) for x in split(head[2] or "", ",") if x.strip())]
            made["integrals"][found[1]] = {"of": of, "index": index, "weight": words.formula(row, found[4]),
                                           "over": over, "in": _proofs(words, row)}  # fmt: skip
        else:
            whole = Block(row.number, f"function {row.text}", row.below)
            found = whole.match(rf"({NAME})(?:\((.*?)\))? = (.+)", "f(x, y) = formula")
            made["functions"][found[1]] = {"of": _takes(found[2]), "is": words.formula(row, found[3]),
                                           "in": _proofs(words, row)}  # fmt: skip
    return made


def _proofs(words: Words, row: Block) -> list[Node]:
    return [_below(words, line, "in") for line in row.below]


def _instance(words: Words, row: Block, claim: Mapping[str, Any]) -> Node:
    """Read an instance that refutes a goal, with ``at x, y`` for the variables of the goal, and ``against``."""
    last = {line.word: line for line in row.below if line.word in ("at", "against")}
    if len(last) != sum(line.word in last for line in row.below):
        raise row.wrong("has two lines 'at' or 'against' below it")
    when = [_below(words, line) for line in row.below if line.word == "if"]
    made = _parts(words, [line for line in row.below if line.word not in (*last, "if")])
    values = (
        [words.formula(last["at"], x) for x in split(last["at"].alone().rest, ",")] if "at" in last else []
    )
    proof: Node = {}
    if "against" in last and last["against"].rest.startswith("by"):
        proof = _by(words, Block(last["against"].number, last["against"].rest, last["against"].below))[0]
    elif "against" in last:
        last["against"].match("(above)?", "by facts, or nothing, or above")
        proof = derivation(words, last["against"], last["against"].below)
    side = "above" if "against" in last and last["against"].rest == "above" else "below"
    return {**made, "at": values, "in": [], "if": when, "against": proof, "side": side}


LINES: Mapping[str, Callable[[Words, Block], Read]] = {
    "by": _by, "fix": _fix, "have": _have, "use": _use, "cases": _cases, "induct": _induct,
    "integrate": _integrate, "dominated": _dominated, "sum": _sum, "rewrite": _rewrite,
    "whole": _named("whole"), "law": _named("law"), "apply": _apply, "absurd": _absurd,
    "exact": lambda words, row: ({"exact": row.alone().rest}, False),
    "equal": lambda words, row: ({"equal": _branches(words, row, "above", "below")}, False),
    "same": lambda words, row: ({"same": row.match("", "(nothing)")[0]}, False),
}  # fmt: skip
