"""Statements of papers as data, with their obligations: the formal claims that the kernel checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from dpproof.accountant.published import published
from dpproof.accountant.published.formula import FUNCTIONS, parse
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.laws import LAWS

Goal = Mapping[str, Any]
Proofs = tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]
CALLS = {**FUNCTIONS, "erfc": 1, "E": 1, "sum": 4}
KINDS = ("statement", "quoted", "definition", "assumption", "project")
DEFINITION = "a definition: it fixes a word and asserts nothing"
"""The text in the field ``reason`` of every definition. No other statement may have this text."""


class Severity(Enum):
    """How severe the refutation of a statement is. The first member is the most severe."""

    _value_: str
    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Severity:
        """Make a member whose value is the word."""
        made = object.__new__(cls)
        made._value_, made.meaning = word, meaning
        return made

    SUBSTANTIVE = "substantive", "What a reader relies on fails, and what is proved instead is less."
    REPAIRABLE = "repairable", "With a changed step, constant or hypothesis the later results stand."
    SLIP = "slip", "A misprint or a boundary case; nothing later changes."


@dataclass(frozen=True)
class Judgement:
    """The severity of a refutation, and one sentence that explains it."""

    severity: Severity
    why: str


@dataclass(frozen=True)
class Obligation:
    """A formal claim of a statement. The kernel must prove or refute it before the statement gets a verdict.

    ``goal`` is the claim, and ``note`` explains its variables. Tests need a ``witness`` or a ``mutation``. A
    ``witness`` is a point at which both sides of the goal agree within 0.1%, so the claim is tight: a change of that
    size makes the claim false. If the claim is not tight, a ``mutation`` is a false version of the claim, with one
    constant changed. If the claim is to be refuted, the ``mutation`` is the corrected claim. ``text`` is the claim as
    its page writes it. ``proofs`` reads the proofs that the page shows. Only the search for certificates needs them.
    """

    name: str
    goal: Goal
    note: str
    witness: Mapping[str, str] | None = None
    mutation: Goal | None = None
    text: str = ""
    proofs: Callable[[], Proofs] = lambda: (None, None)

    @cached_property
    def _read(self) -> Proofs:
        return self.proofs()

    @property
    def hint(self) -> Mapping[str, Any] | None:
        """The proof to try first. It need not be trusted."""
        return self._read[0]

    @property
    def against(self) -> Mapping[str, Any] | None:
        """The instance that refutes the mutation of a theorem."""
        return self._read[1]


@dataclass(frozen=True)
class Statement:
    """A statement of a paper as data, for example a theorem, with its quantifiers and hypotheses.

    ``obligations`` are the claims that the kernel checks. ``rests_on`` lists the ids of statements that the proof
    uses. ``rules`` lists facts of probability or analysis that no machine checks; with them the verdict is at best
    PROVED GIVEN. ``reading`` says in words how the claims make up the statement; a person must check this text.
    ``reason`` explains why a statement without claims is assumed. ``domain`` is the part of the paper's domain that
    the claims cover, if they do not cover all of the domain. A statement with ``parts`` has no claims of its own; it
    holds if all parts hold. Each part has its own verdict. ``judgement`` says how severe a refutation is. ``laws``
    names the rows of `dpproof.proofs_check.laws` that the statement uses. ``expected`` is the verdict that its page
    states. ``goals`` names those obligations that together are the whole statement, if there are any. The other
    obligations are then lemmas. ``sampled_by`` names the code, as ``package.module:name``, that draws the outputs. A
    statement with neither claims, parts nor a reason is open.

    Raises:
        ValueError: for an unknown kind; for parts together with obligations; for a reason together with parts or
            obligations; for a definition whose reason is not `DEFINITION`; for a law that is not in the table; or for
            two obligations of one name.
    """

    id: str
    kind: str
    title: str
    source: Source
    says: str
    latex: str = ""
    obligations: tuple[Obligation, ...] = ()
    rests_on: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    not_covered: str = "nothing"
    corrected_by: str | None = None
    parts: tuple[str, ...] = ()
    reason: str | None = None
    domain: str | None = None
    judgement: Judgement | None = None
    laws: tuple[str, ...] = ()
    expected: str = ""
    goals: tuple[str, ...] = ()
    sampled_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"statement {self.id}: kind {self.kind!r} must be one of: {', '.join(KINDS)}")
        if self.parts and self.obligations:
            raise ValueError(f"statement {self.id}: it cannot have both parts and obligations")
        if self.reason and (self.parts or len(self.obligations) != len(self.goals)):
            raise ValueError(f"statement {self.id}: a statement with parts or steps cannot have a reason")
        if self.reason and (self.kind == "definition") != (self.reason == DEFINITION):
            raise ValueError(
                f"statement {self.id}: a definition, and nothing else, must have the reason {DEFINITION!r}"
            )
        if unknown := [name for name in self.laws if name not in LAWS]:
            raise ValueError(f"statement {self.id}: laws {unknown} are not in dpproof.proofs_check.laws")
        if len({x.name for x in self.obligations}) != len(self.obligations):
            raise ValueError(f"statement {self.id}: two obligations have the same name")


def formula(identity: str, /, **values: str) -> str:
    """Return the text of a paper's formula, in brackets. ``values`` replaces variables by other formulas.

    >>> formula("rlsvi.lemma12", alpha="2")
    '(2*(2)*A*K/(H**2*log(2*H*S*A)))'

    Raises:
        KeyError: if no formula has this id.
        ValueError: if a name in ``values`` is not a variable of the formula.
    """
    text = published(identity).formula.text
    if strange := [name for name in values if not re.search(rf"\b{re.escape(name)}\b", text)]:
        raise ValueError(f"formula {identity!r} has no variable {strange[0]!r}")
    replaced = re.sub(
        r"[A-Za-z_]\w*", lambda name: f"({values[name[0]]})" if name[0] in values else name[0], text
    )
    return f"({replaced})"


def expanded(text: str) -> str:
    """Return a text with the formula of a paper in place of each ``published(id, name = formula)``.

    >>> expanded("published(rlsvi.lemma12, alpha = 2) + 1")
    '(2*(2)*A*K/(H**2*log(2*H*S*A))) + 1'

    Raises:
        ValueError: for an unknown id, and for a bracket that is not closed.
    """
    head, found, tail = text.partition("published(")
    if not found:
        return text
    (identity, *items), after = _arguments(tail)
    pairs = [item.partition("=") for item in items]
    values = {name.strip(): expanded(value.strip()) for name, _, value in pairs}
    if len(values) != len(items):
        raise ValueError(f"formula {text!r} gives two values to one variable")
    try:
        written = formula(identity, **values)
    except KeyError:
        raise ValueError(f"no formula of a paper has the id {identity!r}") from None
    return f"{head}{written}{expanded(after)}"


def _arguments(text: str) -> tuple[list[str], str]:
    """Return the arguments of a call, given the text after its opening bracket, and the text after the call."""
    depth, start = 1, 0
    items = []
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 or (depth == 1 and letter == ","):
            items.append(text[start:place].strip())
            start = place + 1
        if depth == 0:
            return items, text[place + 1 :]
    raise ValueError(f"the bracket before {text!r} is not closed")


def expression(text: str) -> Any:
    """Return the formula that a text stands for, in the format of the kernel (nested lists).

    The text may contain ``erfc(x)``, ``pi``, ``sum(i, lo, hi, body)`` and the expectation ``E(x)``.

    >>> expression("x + 1")
    ['+', 'x', '1']
    """
    return _lists(parse(text, CALLS))


def relation(text: str) -> list[Any]:
    """Return the relation that a text stands for, in the format of the kernel (nested lists).

    >>> relation("1 >= x")
    ['>=', '1', 'x']

    Raises:
        ValueError: if the text has none of ``>=``, ``>``, ``==``, or a formula cannot be read.
    """
    match = re.fullmatch(r"(.*?)(>=|==|>)(.*)", text, re.DOTALL)
    if match is None:
        raise ValueError(f"relation {text!r} must contain >=, > or ==")
    return [match[2], expression(match[1].strip()), expression(match[3].strip())]


def _lists(expression: Any) -> Any:
    return [_lists(x) for x in expression] if type(expression) is tuple else expression
