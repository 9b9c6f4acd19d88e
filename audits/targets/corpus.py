"""Audits of the corpus: of mechanisms whose privacy is known. A witness stores the name of the mechanism's case."""

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
    """A target that audits the case of the corpus with this name."""

    fields: ClassVar[Mapping[str, type]] = {"case": str, "budget": int}

    case: str

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The case has its own claim and its own delta."""
        return case_named(self.case).audit(seed=plan.seed, alpha=plan.alpha, budget=plan.budget)

    @classmethod
    def read(cls, how: Told) -> Cased:
        """Return the target, restored from a witness."""
        return cls(how.text("case"))


TARGET = Cased
