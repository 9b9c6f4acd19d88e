"""Opacus's own engine: as it is, and given half the noise that is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from dpproof.audits.plan import Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.training.dp_sgd import Settings
from dpproof.audits.training.opacus import EngineRun, OpacusAudit

PLACE = 14


class HalfNoise(EngineRun):
    """Fault: the engine is given half the noise multiplier that is claimed."""

    def noise_multiplier(self) -> float:
        """Half of what it should be."""
        return super().noise_multiplier() / 2


HALF = "half noise"
VARIANTS = {HALF: HalfNoise}
"""The fault, as witnesses call it."""


@dataclass(frozen=True, kw_only=True)
class EngineCase:
    """A run of Opacus's engine; the attributes of `dpproof.audits.corpus.case.CorpusCase`.

    Attributes:
        name: unique within the corpus.
        settings: of the run.
        expected: the verdict that an audit must come to.
        reason: why, in words.
        coins: the default budget.
        requires: the package without which the case is skipped.
    """

    name: str
    settings: Settings
    expected: Finding
    reason: str
    coins: int = 1_000
    requires: str | None = "opacus"

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case; a training run is one sequence, so there is nothing for an executor to do."""
        return OpacusAudit(self.settings).audit(AuditPlan(**asked).at_most(self.coins))


CASES = (
    EngineCase(
        name="opacus engine, every record in every step",
        settings=Settings(),
        expected=Finding.CONSISTENT,
        reason="clipped and noised as claimed; the canary attains the claim",
    ),
    EngineCase(
        name="opacus engine, every record in every step, half the noise",
        settings=Settings(variant=HALF),
        expected=Finding.VIOLATION,
        reason="the engine was given half the noise multiplier that is claimed",
    ),
    EngineCase(
        name="opacus engine, Poisson samples",
        settings=Settings(sampling_rate=0.5),
        expected=Finding.CONSISTENT,
        reason="sampled, clipped and noised as claimed",
    ),
    EngineCase(
        name="opacus engine, Poisson samples, half the noise",
        settings=Settings(sampling_rate=0.5, variant=HALF),
        expected=Finding.VIOLATION,
        reason="the engine was given half the noise multiplier that is claimed",
    ),
)
