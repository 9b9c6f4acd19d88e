"""Formulas and clauses of theorems as text, turned into the kernel's format."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from dpproof.accountant.published.formula import parse
from dpproof.proofs_check.blocks import Block, StepError
from dpproof.proofs_check.statement import CALLS, expanded

NAME = r"[A-Za-z_]\w*"
ENDS = re.compile(r"([\[(])(.+), *(.+)([\])])")


@dataclass
class Words:
    """The names with which formulas are written, with their numbers of arguments; and the names of sets."""

    calls: dict[str, int] = field(default_factory=lambda: {**CALLS, "step": 1, "abs": 1, "lebesgue": 2})
    sets: list[str] = field(default_factory=list)

    def formula(self, row: Block, text: str) -> Any:
        """Return a formula in the kernel's format."""
        plain = row.plain(text)
        try:
            return _lists(parse(expanded(plain.strip()), self.calls))
        except ValueError as error:
            raise StepError(row.number, str(error)) from None

    def relation(self, row: Block, text: str) -> list[Any]:
        """Return a relation in the kernel's format. ``a <= b`` is written ``b >= a``."""
        found = re.fullmatch(r"([^<>=]*)(>=|==|>|<=|<)([^<>=]*)", text)
        if found is None:
            raise row.wrong(f"has a relation ({text.strip()}) that must have one of >=, >, ==, <=, <")
        left, right = self.formula(row, found[1]), self.formula(row, found[3])
        return [{"<=": ">=", "<": ">"}[found[2]], right, left] if "<" in found[2] else [found[2], left, right]

    def clause(self, row: Block, text: str) -> Any:
        """Return a clause: ``for x in [0, 1]; integers k in [1, n] if a >= b and ...: relation``."""
        text = text.strip()
        if text.startswith("(") and text.endswith(")") and text[1:].startswith(("for ", "if ")):
            return self.clause(row, text[1:-1])
        head, colon, rest = _cut(text, ":")
        if not colon:
            return self.relation(row, text)
        binders, _, conditions = head.partition("if ")
        bound: list[list[str]] = []
        when: list[Any] = []
        for part in filter(None, map(str.strip, binders.removeprefix("for ").split(";"))):
            self._bind(row, part, bound, when)
        when += [self.clause(row, x) for x in split(conditions, " and ") if x.strip()]
        made: dict[str, Any] = {"all": bound, "if": when, "then": self.relation(row, rest)}
        return {key: value for key, value in made.items() if value}

    def _bind(self, row: Block, text: str, bound: list[list[str]], when: list[Any]) -> None:
        """Add variables and their kind. An end of an interval that is a formula becomes a condition."""
        names, kind = self.binder(row, text)
        ends = ENDS.fullmatch(kind.removeprefix("integers ")) if kind not in self.sets else None
        if ends is None or all(re.fullmatch(r"-?[0-9/]+|-?inf", ends[i]) for i in (2, 3)):
            bound += [[name, kind] for name in names]
            return
        left, low, high, right = ends.groups()
        plain = [re.fullmatch(r"-?[0-9/]+|-?inf", x) is not None for x in (low, high)]
        cut = f"{left}{low}" if plain[0] else "(-inf", f"{high}{right}" if plain[1] else "inf)"
        word = "integers " if kind.startswith("integers ") else ""
        for name in names:
            bound.append([name, f"{word}{cut[0]}, {cut[1]}"])
            if not plain[0]:
                when.append([">=" if left == "[" else ">", name, self.formula(row, low)])
            if not plain[1]:
                when.append([">=" if right == "]" else ">", self.formula(row, high), name])

    def binder(self, row: Block, text: str) -> tuple[list[str], str]:
        """Return the names and the kind in a text such as ``integers i, j in [1, inf)``."""
        found = re.fullmatch(rf"(integers )?({NAME}(?:, *{NAME})*) in (.+)", text.strip())
        if found is None:
            raise row.wrong(f"has variables ({text}) that must have the form: x, y in [0, 1], or: h in H")
        names, kind = re.findall(NAME, found[2]), found[3].strip()
        return names, f"integers {kind}" if found[1] else kind


def _lists(e: Any) -> Any:
    return [_lists(x) for x in e] if type(e) is tuple else e


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """Part a text at a mark that stands outside of all brackets. A text without a clause's words is not parted."""
    if not text.startswith(("for ", "if ")):
        return text, "", ""
    first, *rest = split(text, mark)
    return first, mark if rest else "", mark.join(rest)


def split(text: str, mark: str) -> list[str]:
    """Split a text at the marks outside of all brackets."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (
            letter in ")]"
        )  # an interval may begin with one kind and end with the other
        if depth == 0 and place >= start and text.startswith(mark, place):
            found.append(text[start:place])
            start = place + len(mark)
    return [*found, text[start:]]
