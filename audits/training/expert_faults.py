"""The training of `mechanisms.rl.expert.offline` with its faults, each one method that is replaced; needs torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.audits.training.expert_settings import TrainingFault
from dpproof.mechanisms.rl.expert.offline.coins import COINS, Branch
from dpproof.mechanisms.rl.expert.offline.training import Training
from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

__all__ = ["TRAININGS"]


class _TwoTransitions(Training):
    def _batch(self, data: Transitions, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
        rows = super()._batch(data, rate, rng)
        return np.concatenate([rows, data.one_each(data.expert[rows], rng)])


class _UnscaledNoise(Training):
    def _noise(self, rng: np.random.Generator) -> torch.Tensor:
        return super()._noise(rng) / self.settings.clip


class _ShownCoin(Training):
    def _branch(self, rng: np.random.Generator) -> Branch:
        return COINS["visible"](self.settings.budget, self.step, rng)


TRAININGS: Mapping[TrainingFault, type[Training]] = {
    TrainingFault.NONE: Training,
    TrainingFault.TWO_TRANSITIONS: _TwoTransitions,
    TrainingFault.UNSCALED_NOISE: _UnscaledNoise,
    TrainingFault.SHOWN_COIN: _ShownCoin,
}
"""Faults, each by one method that is replaced."""
