"""Test cases of DP-SGD, and of one run of RLSVI, with and without faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.corpus.case import TargetCase
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.rlsvi.rlsvi import PUBLISHED
from dpproof.audits.training.dp_sgd import Loop, LoopAudit, Settings, View, clipped
from dpproof.audits.training.reward_canaries import RewardCanaries

if TYPE_CHECKING:
    import torch

PLACE = 12


class HalfNoise(Loop):
    """Fault: the noise multiplier is half of the claimed one."""

    def deviation(self) -> float:
        """Return half of the correct standard deviation."""
        return super().deviation() / 2


class NoClipping(Loop):
    """Fault: gradients are summed without clipping."""

    def clipped_sum(self, gradients: torch.Tensor) -> torch.Tensor:
        """Return the sum without clipping."""
        return gradients.sum(dim=0)


class UnscaledNoise(Loop):
    """Fault: the standard deviation of the noise is the noise multiplier, not multiplied by the clipping norm."""

    def deviation(self) -> float:
        """Return the noise multiplier."""
        return self.settings.noise_multiplier


class BatchClipping(Loop):
    """Fault: the mean gradient of the batch is clipped instead of each record's gradient."""

    def clipped_sum(self, gradients: torch.Tensor) -> torch.Tensor:
        """Return the mean gradient, clipped, times the number of records."""
        if not len(gradients):
            return super().clipped_sum(gradients)
        return len(gradients) * clipped(gradients.mean(dim=0, keepdim=True), self.settings.clip)[0]


class ShuffledBatches(Loop):
    """Fault: each epoch divides one shuffle into batches, instead of drawing Poisson samples."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(settings, rng)
        self._batches: list[NDArray[np.int64]] = []

    def next_batch(self, there: int) -> NDArray[np.int64]:
        """Return the records of the next batch: the next part of the shuffled records."""
        if not self._batches:
            self._batches = list(np.array_split(self.rng.permutation(there), self.settings.epoch))
        return self._batches.pop()


VARIANTS = {
    "half noise": HalfNoise,
    "no clipping": NoClipping,
    "unscaled noise": UnscaledNoise,
    "batch clipping": BatchClipping,
    "shuffled batches": ShuffledBatches,
}
"""The faulty loops, by the names that the records of audits use for them."""


SIZES = RLSVIParameters(states=101, actions=1, horizon=2, episodes=200)

_STEPS = {
    "half noise": ("half the noise", "a step is a Gaussian mechanism with half the noise"),
    "no clipping": ("no clipping", "the canary's gradient, of ten clipping norms, enters as it is"),
    "unscaled noise": ("unscaled noise", "noise of the multiplier alone, where the clipping norm is 4"),
    "batch clipping": (
        "batch clipping",
        "the mean is clipped, so one record moves the sum by many clipping norms",
    ),
}
"""The faults that single steps reveal, each with words for the name of its case, and the reason."""


def _loop(
    name: str,
    settings: Settings,
    expected: Finding,
    reason: str,
    view: View = View.STEP,
    delta: float = 1e-5,
    budget: int = 1_000,
) -> TargetCase:
    """Return a case of DP-SGD, with or without a fault, in one view."""
    return TargetCase(
        name=name,
        target=LoopAudit(settings, view, steps=4),
        expected=expected,
        reason=reason,
        budget=budget,
        delta=delta,
        named=False,
        requires="torch",
    )


CASES = (
    _loop(
        "dp-sgd",
        Settings(),
        Finding.CONSISTENT,
        "clipped and noised as claimed; the canary attains the claim",
    ),
    *(
        _loop(f"dp-sgd, {word}", Settings(variant=variant), Finding.VIOLATION, reason)
        for variant, (word, reason) in _STEPS.items()
    ),
    _loop(
        "dp-sgd, shuffled batches",
        Settings(0.25, 0.2, variant="shuffled batches"),
        Finding.VIOLATION,
        "every record is in one batch of each epoch; under the claim it is in none with chance 0.32",
        View.EPOCH,
        delta=0.3,
        budget=400,
    ),
    TargetCase(
        name="rlsvi, rewards in one run",
        target=RewardCanaries(SIZES, PUBLISHED),
        expected=Finding.INCONCLUSIVE,
        reason="sound, and one run of a hundred canaries is too weak to say more",
    ),
    TargetCase(
        name="rlsvi, rewards in one run, first visit unprotected",
        target=RewardCanaries(SIZES, "FIRST_VISIT_UNPROTECTED"),
        expected=Finding.VIOLATION,
        reason="a cell has no noise before its second visit, and every canary has a cell visited once",
    ),
)
