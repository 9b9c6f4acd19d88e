"""RLSVI as it should be, and with three planted faults, each with the verdict an audit must reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.plan import Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.targets.rl.rlsvi.rlsvi import RLSVIAudit
from dpproof.mechanisms.rl.rlsvi.noise_rule import NoiseRule

PLACE = 8
PAPER = "rlsvi"

ON_CLAIM = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
"""One cell, two tables: the pair is exactly as far apart as the claim allows."""
SMALL = RLSVIParameters(states=2, actions=2, horizon=2, episodes=4)
"""The smallest problem with a choice, a step to come and a cell that is never visited again."""


@dataclass(frozen=True)
class Case:
    """One entry of the corpus.

    Attributes:
        name: unique within the corpus.
        parameters: the problem's.
        noise_rule: the correct one or a fault.
        expected: the verdict.
        reason: why, in words.
        requires: no package beyond the core.
    """

    name: str
    parameters: RLSVIParameters
    noise_rule: NoiseRule
    expected: Finding
    reason: str
    requires: None = None

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case, also after a violation, so that epsilon_lower passes the claim, not only the verdict."""
        plan = replace(AuditPlan(**asked), delta=1e-5, sharpen=True, claim=self.name)
        return RLSVIAudit(self.parameters, self.noise_rule).audit(plan)


CASES = (
    Case(
        "rlsvi on its claim",
        ON_CLAIM,
        NoiseRule.CORRECT,
        Finding.CONSISTENT,
        "one Gaussian released, of exactly the claimed distance",
    ),
    Case("rlsvi", SMALL, NoiseRule.CORRECT, Finding.CONSISTENT, "as published"),
    Case(
        "rlsvi variance quarter",
        SMALL,
        NoiseRule.VARIANCE_QUARTER,
        Finding.VIOLATION,
        "half the standard deviation",
    ),
    Case(
        "rlsvi first visit unprotected",
        SMALL,
        NoiseRule.FIRST_VISIT_UNPROTECTED,
        Finding.VIOLATION,
        "a cell's first reward is released as it is",
    ),
    Case(
        "rlsvi reused noise",
        SMALL,
        NoiseRule.REUSED_NOISE,
        Finding.VIOLATION,
        "two tables with the same noise reveal the reward between them",
    ),
)
