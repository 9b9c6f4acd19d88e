"""The type of a published formula: text, variables with their domains, and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpproof.accountant.published.expressions import Formula, variables_of
from dpproof.accountant.published.sources import Source


@dataclass(frozen=True)
class PublishedFormula:
    """What a paper prints: the value called ``name`` equals ``formula`` for all variables in ``domain``.

    ``domain`` maps each variable to an interval written as text, for example ``"[1, inf)"``; integer
    variables are given the real interval that contains them.
    """

    id: str
    name: str
    formula: Formula
    domain: Mapping[str, str]
    source: Source

    def __post_init__(self) -> None:
        missing = variables_of(self.formula.expression) - set(self.domain)
        if missing:
            raise ValueError(f"published formula {self.id}: no domain for {', '.join(sorted(missing))}")
