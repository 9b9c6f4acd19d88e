"""Audits of the corpus, a collection of mechanisms whose privacy is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpproof.audits.corpus.all_cases import case_named
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import Told

KIND = "corpus"


@dataclass(frozen=True)
class Cased:
    """An object that audits one test case, found by its name in the corpus."""

    fields: ClassVar[Mapping[str, type]] = {"case": str, "budget": int}

    case: str

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The case has its own claim and its own delta."""
        return case_named(self.case).audit(seed=plan.seed, alpha=plan.alpha, budget=plan.budget)

    @classmethod
    def read(cls, how: Told) -> Cased:
        """Return the target that ``how``, the record of an earlier audit, describes."""
        return cls(how.text("case"))


TARGET = Cased
