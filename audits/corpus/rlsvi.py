"""Test cases of the learning algorithm RLSVI: the correct algorithm and three faults."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.corpus.case import TargetCase
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.rlsvi.rlsvi import PUBLISHED, RLSVIAudit
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI

PLACE = 8
PAPER = "rlsvi"

ON_CLAIM = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
"""Parameters with one state, action and step, and two tables; the true epsilon equals the claimed epsilon."""
SMALL = RLSVIParameters(states=2, actions=2, horizon=2, episodes=4)
"""Parameters of the smallest problem with two actions, a second step, and a state and action visited only once."""


class QuarterVariance(RLSVI):
    """Fault: the noise variance after N visits is beta_k / (4 (N + 1)), a quarter of the correct variance."""

    def noise_widths(self) -> NDArray[np.float64]:
        """Return half of the correct standard deviations."""
        return super().noise_widths() / 2


class FirstVisitUnprotected(RLSVI):
    """Fault: the noise variance after N visits is beta_k / N, and 0 for N < 2; correct is beta_k / (N + 1)."""

    def noise_widths(self) -> NDArray[np.float64]:
        """Return the standard deviations for one visit less, and 0 for fewer than two visits."""
        return np.concatenate([[0.0, 0.0], super().noise_widths()[1:-1]])


class ReusedNoise(RLSVI):
    """Fault: the variance is correct, but every episode uses the random numbers of the first episode."""

    def normals(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the Gaussian random numbers of one episode, repeated for all episodes."""
        runs, episodes, *table = shape
        return np.repeat(super().normals((runs, 1, *table), rng), episodes, axis=1)


VARIANTS = {
    "VARIANCE_QUARTER": QuarterVariance,
    "FIRST_VISIT_UNPROTECTED": FirstVisitUnprotected,
    "REUSED_NOISE": ReusedNoise,
}
"""The faulty algorithms, by the names that the records of audits use for them."""


def _case(
    name: str, parameters: RLSVIParameters, rule: str, reason: str, expected: Finding = Finding.VIOLATION
) -> TargetCase:
    target = RLSVIAudit(parameters, rule)
    return TargetCase(name=name, target=target, expected=expected, reason=reason, delta=1e-5, sharpen=True)


PASS = Finding.CONSISTENT
CASES = (
    _case(
        "rlsvi on its claim",
        ON_CLAIM,
        PUBLISHED,
        "one Gaussian released, of exactly the claimed distance",
        PASS,
    ),
    _case("rlsvi", SMALL, PUBLISHED, "as published", PASS),
    _case("rlsvi variance quarter", SMALL, "VARIANCE_QUARTER", "half the standard deviation"),
    _case(
        "rlsvi first visit unprotected",
        SMALL,
        "FIRST_VISIT_UNPROTECTED",
        "a cell's first reward is released as it is",
    ),
    _case(
        "rlsvi reused noise",
        SMALL,
        "REUSED_NOISE",
        "two tables with the same noise reveal the reward between them",
    ),
)
