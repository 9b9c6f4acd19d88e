"""Reader of a step: the text of a claim and of its proof, turned into the kernel's format.

A step is a block of lines. Indented lines belong to the line above them::

    for a in [0, inf)
    for x, y in [0, 1]
    given above: x >= y
    show a*x >= a*y
    tight at a = 1, x = 1, y = 1
    proof
      positive
        above times a

docs/reference/pages.md describes every line. The reader trusts nothing and proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpproof.proofs_check.blocks import Block, StepError
from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.kernel.goals import task
from dpproof.proofs_check.statement import Goal, Obligation, expanded, expression, relation

Node = dict[str, Any]
Hypotheses = tuple[str | None, ...] | None
"""The name of each hypothesis, in the kernel's order, or None for one without a name.

It is None after ``mono``, where the kernel drops some hypotheses. There they have numbers only.
"""


NAMED = re.compile(r"([A-Za-z_]\w*): *", re.ASCII)
BUILT_IN = ("from", "to", "earlier", "reflect")
"""Names that a hypothesis may not have: proofs give them a meaning of their own."""


def _formula(block: Block, text: str, read: Callable[[str], Any] = expression) -> Any:
    plain = block.plain(text)
    try:
        return read(expanded(plain))
    except ValueError as error:
        raise StepError(block.number, str(error)) from None
    except RecursionError:
        raise block.wrong("is nested too deeply") from None


def _relation(block: Block, text: str) -> list[Any]:
    found: list[Any] = _formula(block, text, relation)
    return found


def obligation(name: str, note: str, rows: Sequence[Block]) -> Obligation:
    """Return the claim, its proof and its test points from the blocks of a step.

    Raises:
        StepError: for a line that cannot be read.
    """
    goal, names = _claim([row for row in rows if row.word in CLAIM])
    held: dict[str, Any] = {}
    for row in rows:
        if row.word not in CLAIM:
            key, read = EXTRA.get(row.word, ("", None))
            if read is None:
                raise row.wrong(f"must begin with one of: {', '.join((*CLAIM, *EXTRA))}")
            if key in held:
                raise row.wrong(f"is the second line that begins with {row.word!r}")
            held[key] = read(row, goal, names)
    text = "\n".join(row.text for row in rows if row.word in CLAIM)
    hint = held.pop("hint", None)
    return Obligation(name, goal, note, text=text, proofs=lambda: (hint, None), **held)


CLAIM = ("for", "independent", "given", "show")


def _claim(rows: Sequence[Block]) -> tuple[Goal, Hypotheses]:
    """Return the claim that some lines write, with the names of its hypotheses. The kernel must be able to read it."""
    shown = [row.alone() for row in rows if row.word == "show"]
    if len(shown) != 1:
        number = rows[0].number if rows else 1
        raise StepError(number, f"a claim must have one line that begins with 'show', not {len(shown)}")
    claim, names = _parts(rows, _relation(shown[0], shown[0].rest))
    try:
        task(claim, 80)
    except Rejected as refused:
        raise StepError(rows[0].number, f"the kernel cannot read this claim: {refused}") from None
    return claim, names


def _parts(rows: Sequence[Block], goal: list[Any]) -> tuple[Goal, Hypotheses]:
    claim: dict[str, Any] = {"vars": {}, "goal": goal}
    integers: list[str] = []
    random: dict[str, str] = {}
    given: list[Any] = []
    names: list[str | None] = []
    independent: list[list[str]] = []
    for row in (row.alone() for row in rows):
        if row.word == "for":
            kind, variables, interval = _variables(row)
            if twice := [x for x in variables if x in {**claim["vars"], **random} or variables.count(x) > 1]:
                raise row.wrong(f"names a second variable {twice[0]!r}")
            (random if kind == "random" else claim["vars"]).update(dict.fromkeys(variables, interval))
            integers += variables if kind == "integers" else []
        elif row.word == "given":
            name, text = _named(row, row.rest, tuple(names))
            names.append(name)
            given.append(_relation(row, text))
        elif row.word == "independent":
            if independent or not re.fullmatch(r"\w+( \w+)*(; \w+( \w+)*)*", row.rest):
                raise row.wrong("must be the only one, and have the form: independent X Y; Z")
            independent = [sorted(re.findall(r"\w+", group)) for group in row.rest.split(";")]
    optional = {"given": given, "integers": sorted(integers), "random": random, "independent": independent}
    return claim | {key: value for key, value in optional.items() if value}, tuple(names)


def _variables(row: Block) -> tuple[str, list[str], str]:
    found = row.match(r"(?:(integers|random) )?(\w+(?:, *\w+)*) in ([\[(][^\])]*[\])])", "x, y in [0, inf)")
    return found[1] or "", re.findall(r"\w+", found[2]), found[3]


def _named(row: Block, text: str, names: Hypotheses) -> tuple[str | None, str]:
    """Return the name of a hypothesis and its formula. The text is ``name: formula``, or a formula alone."""
    found = NAMED.match(text)
    if found is None:
        return None, text
    if names is None:
        raise row.wrong("names a hypothesis after 'mono'. There hypotheses have numbers only, such as #0.")
    if found[1] in (*names, *BUILT_IN):
        raise row.wrong(f"names a hypothesis {found[1]!r}. This name is taken.")
    return found[1], text[found.end() :]


def _point(row: Block, *_: object) -> dict[str, str]:
    pairs = [item.split("=") for item in row.alone().rest.removeprefix("at ").split(",")] if row.rest else []
    found = {pair[0].strip(): pair[-1].strip() for pair in pairs}
    if any(len(pair) != 2 for pair in pairs) or len(found) != len(pairs):
        raise row.wrong(f"must have the form: {row.word} x = 1, y = 2")
    return found


def _moved(row: Block, goal: Goal, _names: Hypotheses) -> Goal:
    """Return the changed claim: with another relation only, or with the lines below in place of all others."""
    if row.below:
        if row.rest or any(below.word not in CLAIM for below in row.below):
            raise row.wrong(f"must be alone, and lines below it must begin with one of: {', '.join(CLAIM)}")
        return _claim(row.below)[0]
    return {**goal, "goal": _relation(row, row.rest)}


def _proof(row: Block, _goal: Goal, names: Hypotheses) -> Node:
    row.match("", "(nothing)")
    return proof(row, row.below, names)


EXTRA: Mapping[str, tuple[str, Callable[[Block, Goal, Hypotheses], Any]]] = {
    "tight": ("witness", _point),
    "moved": ("mutation", _moved),
    "proof": ("hint", _proof),
    "point": ("hint", lambda row, *_: {"point": _point(row)}),
}


def proof(above: Block, rows: Sequence[Block], names: Hypotheses) -> Node:
    """Return the proof node that some lines write: steps that change the goal or add facts, and a last line.

    ``names`` are the hypotheses that the proof may use.
    """
    if not rows:
        raise above.wrong("must have a proof below it")
    first, rest = rows[0], rows[1:]
    if first.word not in {*LEAVES, *NODES}:
        raise first.wrong(f"must begin with one of: {', '.join((*LEAVES, *NODES))}")
    if first.word not in WITH_LINES:
        first.alone()
    if first.word in NODES:
        return NODES[first.word](first, rest, names)
    if rest:
        raise rest[0].wrong(f"stands after {first.text!r}, which ends the proof")
    return LEAVES[first.word](first, names)


def _simple(row: Block, names: Hypotheses) -> Node:
    """Read ``identity`` and ``positive`` with their multiples of hypotheses, and ``range``."""
    row.match("", "(nothing)")
    node: Node = {"leaf": row.word}
    weights = []
    for line in (below.alone() for below in row.below):
        if line.word == "reflect" and "reflect" not in node:
            node["reflect"] = re.findall(r"\w+", line.rest)
        else:
            weights.append(_weight(line, names))
    return node | ({"multipliers": weights} if weights else {})


def _weight(line: Block, names: Hypotheses) -> list[Any]:
    """Read a multiple of a product of hypotheses: ``h0 h1 times formula``."""
    found = re.fullmatch(r"((?:#?\w+ )+)times (.*)", line.text)
    if found is None:
        raise line.wrong("must have the form: h0 times formula")
    return [_formula(line, found[2]), *(_index(line, name, names) for name in found[1].split())]


def _more(names: Hypotheses, *new: str | None) -> Hypotheses:
    return None if names is None else (*names, *new)


def _index(line: Block, name: str, names: Hypotheses) -> int:
    if re.fullmatch(r"#\d+", name, re.ASCII):
        return int(name[1:])
    if names is None or name not in names:
        known = ", ".join(filter(None, names or ())) or "none"
        raise line.wrong(f"uses the hypothesis {name!r}; the known ones are: {known}")
    return names.index(name)


def _taylor(row: Block, _names: Hypotheses) -> Node:
    found = row.match(r"(\w+) at (\S+) order (\d+)", "x at 0 order 2")
    return {"leaf": "taylor", "var": found[1], "at": found[2], "order": int(found[3])}


def _bernstein(row: Block, _names: Hypotheses) -> Node:
    found = row.match(r"(\w+) degree (\d+)", "x degree 3")
    return {"leaf": "bernstein", "var": found[1], "degree": int(found[2])}


def _sos(row: Block, _names: Hypotheses) -> Node:
    over = row.match(r"(?:over (.*))?", "over formula")[1] or "1"
    terms = []
    for line in row.below:
        found = re.fullmatch(r"(\S+) times the square of (.*)", line.alone().text)
        if found is None:
            raise line.wrong("must have the form: 1 times the square of formula")
        terms.append([found[1], _formula(line, found[2])])
    return {"leaf": "sos", "terms": terms, "over": _formula(row, over)}


def _mono(row: Block, rest: Sequence[Block], _names: Hypotheses) -> Node:
    """Read ``mono up x``. The kernel drops hypotheses on x, so that later lines count them by number."""
    found = row.match(r"(up|down) (\w+)", "up x")
    sub = proof(row, rest, None)
    return {"leaf": "mono", "var": found[2], "dir": 1 if found[1] == "up" else -1, "sub": sub}


def _subst(row: Block, rest: Sequence[Block], names: Hypotheses) -> Node:
    found = row.match(r"(\w+) = (.*) for (\w+) in (\S+ \S+)", "x = exp(t) for t in (-inf, inf)")
    sub = proof(row, rest, names)
    return {"subst": {found[1]: _formula(row, found[2])}, "vars": {found[3]: found[4]}, "sub": sub}


def _have(row: Block, rest: Sequence[Block], names: Hypotheses) -> Node:
    name, text = _named(row, row.rest, names)
    inner = proof(row, row.below, names)
    return {"have": _relation(row, text), "proof": inner, "sub": proof(row, rest, _more(names, name))}


def _expect(row: Block, rest: Sequence[Block], names: Hypotheses) -> Node:
    """Read ``expect``: below it each formula that is never negative, as ``name: formula``, with its proof."""
    row.match("", "(nothing)")
    facts = []
    added: list[str | None] = []
    for line in row.below:
        name, text = _named(line, line.text, _more(names, *added))
        added.append(name)
        facts.append([_formula(line, text), proof(line, line.below, names)])
    return {"expect": facts, "sub": proof(row, rest, _more(names, *added))}


def _telescope(row: Block, rest: Sequence[Block], names: Hypotheses) -> Node:
    name, text = _named(row, row.rest, names)
    found = re.fullmatch(r"growth of (.*?) (>=|<=|==) (sum\(.*\))", text)
    if found is None:
        raise row.wrong("must have the form: telescope name: growth of F(i) >= sum(i, lo, hi, formula)")
    return {
        "telescope": _formula(row, found[3]),
        "antidifference": _formula(row, found[1]),
        "sign": found[2],
        "proof": proof(row, row.below, _more(names, "from", "to")),
        "sub": proof(row, rest, _more(names, name)),
    }


def _branches(row: Block, *words: str) -> list[Block]:
    if [line.text for line in row.below] != list(words):
        raise row.wrong(f"must have these lines below it, each with a proof: {', '.join(words)}")
    return list(row.below)


def _split(row: Block, names: Hypotheses) -> Node:
    found = row.match(r"(\w+) at (\S+)", "x at 1/2")
    parts = [proof(line, line.below, names) for line in _branches(row, "below", "above")]
    return {"split": [found[1], found[2], *parts]}


def _cases(row: Block, names: Hypotheses) -> Node:
    name, text = _named(row, row.rest, names)
    words = ("nonnegative", "nonpositive")
    parts = [proof(line, line.below, _more(names, name)) for line in _branches(row, *words)]
    return {"cases": _formula(row, text), **dict(zip(words, parts, strict=True))}


def _induct(row: Block, names: Hypotheses) -> Node:
    base, step = _branches(row, "base", "step")
    later = proof(step, step.below, _more(names, "earlier"))
    return {"induct": row.match(r"\w+", "n")[0], "base": proof(base, base.below, names), "step": later}


def _enumerated(row: Block, rest: Sequence[Block], names: Hypotheses) -> Node:
    return {"enumerated": row.match(r"\w+", "n")[0], "sub": proof(row, rest, names)}


LEAVES: Mapping[str, Callable[[Block, Hypotheses], Node]] = {
    "identity": _simple, "positive": _simple, "range": _simple, "taylor": _taylor, "bernstein": _bernstein,
    "sos": _sos, "split": _split, "cases": _cases, "induct": _induct,
}  # fmt: skip
"""Lines that end a proof."""
NODES: Mapping[str, Callable[[Block, Sequence[Block], Hypotheses], Node]] = {
    "mono": _mono, "subst": _subst, "have": _have, "expect": _expect, "telescope": _telescope,
    "enumerated": _enumerated,
}  # fmt: skip
"""Lines after which the proof goes on."""
WITH_LINES = ("identity", "positive", "sos", "split", "cases", "induct", "have", "expect", "telescope")
"""Lines of a proof below which other lines may be indented."""
