"""Faulty trainings by selective DP-SGD; each replaces one method of the correct training. This module needs torch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.mechanisms.rl.expert.offline.training import COINS, Branch, Training
from dpproof.mechanisms.rl.expert.offline.transitions import Transitions


class TwoTransitions(Training):
    """Fault: an expert in a batch contributes two transitions to the batch."""

    def _batch(self, data: Transitions, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
        rows = super()._batch(data, rate, rng)
        return np.concatenate([rows, data.one_each(data.expert[rows], rng)])


class UnscaledNoise(Training):
    """Fault: the standard deviation of the noise is the noise multiplier, not multiplied by the clipping norm."""

    def _noise(self, rng: np.random.Generator) -> torch.Tensor:
        return super()._noise(rng) / self.settings.clip


class ShownCoin(Training):
    """Fault: a plain step has no noise, so everybody sees the coin that chose between plain and noisy.

    This is Algorithm 3 of the paper as printed.
    """

    def _branch(self, rng: np.random.Generator) -> Branch:
        return COINS["visible"](self.settings.budget, self.step, rng)


VARIANTS = {
    "two transitions": TwoTransitions,
    "unscaled noise": UnscaledNoise,
    "shown coin": ShownCoin,
}
"""The faulty trainings, by the names that the records of audits use for them."""
