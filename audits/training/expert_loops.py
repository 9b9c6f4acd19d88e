"""The training of `mechanisms.rl.expert.offline` with canary experts in its data, watched step by step; needs torch.

The auditor knows the parameters before a step, so how far each canary would move its own weights, and sees
the gradient that the optimizer is given. Source: Nasr et al., arXiv:2302.07956, section 4 (canary gradients).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.audits.target import variant
from dpproof.audits.training.expert_data import ACTIONS, FEATURES, LOUD, RELEASED, fixed_data
from dpproof.audits.training.expert_settings import ExpertSettings
from dpproof.mechanisms.rl.expert.offline.network import Layers
from dpproof.mechanisms.rl.expert.offline.optimizers import SGD
from dpproof.mechanisms.rl.expert.offline.training import Training, TrainingSettings
from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

Floats = NDArray[np.float64]
HIDDEN = 8


@dataclass(frozen=True)
class _Seen:
    """Plain descent, and an ear for the gradients it is given."""

    descent: SGD
    heard: list[torch.Tensor]
    slots = 0

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """See `Optimizer.update`."""
        self.heard[:] = [gradient]
        self.descent.update(theta, gradient, slots, step)


class Watched:
    """One training under watch.

    Args:
        settings: what is trained.
        private: see `dpproof.audits.training.expert_data`.
        rng: all its randomness.
        steps: how many steps it may take; as many as are claimed unless given.
    """

    def __init__(
        self,
        settings: ExpertSettings,
        private: Transitions,
        rng: np.random.Generator,
        steps: int | None = None,
    ) -> None:
        self.settings, self._descent = settings, SGD(0.005)
        self._heard: list[torch.Tensor] = []
        budget = settings.parameters if steps is None else replace(settings.parameters, steps=steps)
        wanted = TrainingSettings(
            budget,
            Layers((FEATURES + settings.canaries, HIDDEN, ACTIONS)),
            batch=settings.batch,
            clip=settings.clip,
            optimizer=_Seen(self._descent, self._heard),
            plain_batch=RELEASED,
        )
        _, released, self._all = fixed_data(settings)
        run = variant(Training, settings.variant)
        self.training = run(wanted, private, released, int(rng.integers(2**62)))

    def losses(self, private: Transitions | None = None) -> Floats:
        """Take a step; for each canary the log-likelihood ratio, with over without, of what is seen ``(m,)``.

        Args:
            private: what this step and later ones read, if not what was read so far.
        """
        if private is not None:
            self.training.private = private
        ways, strengths = self._moves()
        self.training.advance(1)
        return self._ratios(self._along(ways, self._heard[0]), strengths)

    def trace(self) -> Floats:
        """Take all steps: the sums of their `losses` ``(m,)``."""
        steps = range(self.settings.parameters.steps)
        return np.asarray(np.sum([self.losses() for _ in steps], axis=0), dtype=np.float64)

    def final(self) -> Floats:
        """Take all steps: how far the last parameters are from the first ones, along each canary ``(m,)``."""
        ways, _ = self._moves()
        before = self.training.theta.clone()
        self.training.advance(self.settings.parameters.steps)
        return self._along(ways, (before - self.training.theta) / self._descent.learning_rate)

    def _moves(self) -> tuple[torch.Tensor, Floats]:
        """How each canary moves its weights: unit vectors ``(m, HIDDEN)``, and by how many clips ``(m,)``."""
        layers, loss, data = self.training.settings.layers, self.training.settings.loss, self._all
        here = layers.forward(self.training.theta, data.observations)
        signals = here.signals(loss.signal(here.outputs, data.actions, data.rewards))
        lengths = signals[0].norm(dim=1)
        norms = here.square_norms(signals).sqrt()
        strengths = LOUD * lengths / norms.clamp_min(self.settings.clip)
        return signals[0] / lengths.clamp_min(1e-30)[:, None], strengths.numpy().astype(np.float64)

    def _along(self, ways: torch.Tensor, gradient: torch.Tensor) -> Floats:
        """A gradient along each canary, as a sum over the batch, in clips ``(m,)``."""
        (weights, _), *_ = self.training.settings.layers.views(gradient)
        along = (weights[:, FEATURES:].T * ways).sum(1) * (self.settings.batch / self.settings.clip)
        return along.numpy().astype(np.float64)

    def _ratios(self, moved: Floats, strengths: Floats) -> Floats:
        """Under the claimed law; a step that did not move a canary's weights at all had no noise."""
        budget = self.settings.parameters
        shown = budget.coin in ("visible", "fixed")
        rate = budget.sampling_rate * (1.0 if shown else budget.branch_probability)
        exponents = (moved * strengths - strengths**2 / 2) / budget.noise_multiplier**2
        absent = np.log1p(-rate) if rate < 1 else -np.inf
        return np.where(moved == 0, 0.0, np.logaddexp(absent, np.log(rate) + exponents))
