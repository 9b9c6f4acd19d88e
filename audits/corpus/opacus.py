"""Test cases of Opacus's engine, with the claimed noise and with half of the claimed noise."""

from __future__ import annotations

from dpproof.audits.corpus.case import TargetCase
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.training.dp_sgd import Settings
from dpproof.audits.training.opacus import EngineRun, OpacusAudit

PLACE = 14


class HalfNoise(EngineRun):
    """Fault: the engine uses half of the claimed noise multiplier."""

    def noise_multiplier(self) -> float:
        """Return half of the correct noise multiplier."""
        return super().noise_multiplier() / 2


HALF = "half noise"
VARIANTS = {HALF: HalfNoise}
"""The faulty run, by the name that the records of audits use for it."""


def _case(name: str, settings: Settings, expected: Finding, reason: str) -> TargetCase:
    return TargetCase(
        name=f"opacus engine, {name}",
        target=OpacusAudit(settings),
        expected=expected,
        reason=reason,
        budget=1_000,
        named=False,
        requires="opacus",
    )


REASON = "the engine was given half the noise multiplier that is claimed"
CASES = (
    _case(
        "every record in every step",
        Settings(),
        Finding.CONSISTENT,
        "clipped and noised as claimed; the canary attains the claim",
    ),
    _case("every record in every step, half the noise", Settings(variant=HALF), Finding.VIOLATION, REASON),
    _case(
        "Poisson samples",
        Settings(sampling_rate=0.5),
        Finding.CONSISTENT,
        "sampled, clipped and noised as claimed",
    ),
    _case(
        "Poisson samples, half the noise",
        Settings(sampling_rate=0.5, variant=HALF),
        Finding.VIOLATION,
        REASON,
    ),
)
