"""RLSVI as it should be, and with three planted faults, each with the verdict an audit must reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.plan import Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.targets.rl.rlsvi.rlsvi import PUBLISHED, RLSVIAudit
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI

PLACE = 8
PAPER = "rlsvi"

ON_CLAIM = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
"""One cell, two tables: the pair is exactly as far apart as the claim allows."""
SMALL = RLSVIParameters(states=2, actions=2, horizon=2, episodes=4)
"""The smallest problem with a choice, a step to come and a cell that is never visited again."""


class QuarterVariance(RLSVI):
    """Fault: variance beta_k / (4 (N + 1)), half the standard deviation."""

    def noise_widths(self) -> NDArray[np.float64]:
        """Half of what they should be."""
        return super().noise_widths() / 2


class FirstVisitUnprotected(RLSVI):
    """Fault: variance beta_k / N from the second visit on, and none before."""

    def noise_widths(self) -> NDArray[np.float64]:
        """The widths of one visit fewer, and 0 for fewer than two visits."""
        return np.concatenate([[0.0, 0.0], super().noise_widths()[1:-1]])


class ReusedNoise(RLSVI):
    """Fault: the right variance, but every episode scales the first one's normals."""

    def normals(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        """Those of one episode, repeated."""
        runs, episodes, *table = shape
        return np.repeat(super().normals((runs, 1, *table), rng), episodes, axis=1)


VARIANTS = {
    "VARIANCE_QUARTER": QuarterVariance,
    "FIRST_VISIT_UNPROTECTED": FirstVisitUnprotected,
    "REUSED_NOISE": ReusedNoise,
}
"""The faults, as witnesses call them."""


@dataclass(frozen=True)
class Case:
    """One entry of the corpus.

    Attributes:
        name: unique within the corpus.
        parameters: the problem's.
        noise_rule: the name of what is run: as published, or a fault.
        expected: the verdict.
        reason: why, in words.
        requires: no package beyond the core.
    """

    name: str
    parameters: RLSVIParameters
    noise_rule: str
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
        PUBLISHED,
        Finding.CONSISTENT,
        "one Gaussian released, of exactly the claimed distance",
    ),
    Case("rlsvi", SMALL, PUBLISHED, Finding.CONSISTENT, "as published"),
    Case(
        "rlsvi variance quarter",
        SMALL,
        "VARIANCE_QUARTER",
        Finding.VIOLATION,
        "half the standard deviation",
    ),
    Case(
        "rlsvi first visit unprotected",
        SMALL,
        "FIRST_VISIT_UNPROTECTED",
        Finding.VIOLATION,
        "a cell's first reward is released as it is",
    ),
    Case(
        "rlsvi reused noise",
        SMALL,
        "REUSED_NOISE",
        Finding.VIOLATION,
        "two tables with the same noise reveal the reward between them",
    ),
)
