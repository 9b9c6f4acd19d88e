"""The training of `mechanisms.rl.expert.offline` with canaries (test experts), recorded step by step; needs torch.

A canary is an expert with one transition. The observation of the canary is 0 except in one coordinate, in which all
other experts and canaries have 0. The gradient of the canary is far longer than the clipping norm. Nearly all of this
gradient is in the first layer's weights of that coordinate, where every other gradient is exactly 0. So canaries do
not disturb each other there, and a step on released data does not change these weights. The canary's reward is so
large that the network never learns it.

The auditor knows the parameters before a step, so the auditor knows how far each canary would move its own weights.
The auditor also sees the gradient that the optimizer receives. Source: Nasr et al., arXiv:2302.07956, section 4
(canary gradients).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.audits.target import variant
from dpproof.audits.training.expert_training import ExpertSettings
from dpproof.mechanisms.rl.expert.offline.network import SGD, Layers
from dpproof.mechanisms.rl.expert.offline.training import Training, TrainingSettings
from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

FEATURES, ACTIONS = 128, 2
"""The number of coordinates of the other experts' observations, and the number of actions. With many coordinates the
first weights are small, so little of the gradient of a canary (a test expert) is in the second layer."""
LOUD, OUT_OF_REACH, EACH, RELEASED = 100.0, 1e6, 2, 64
"""The value of the coordinate of a canary (a test expert), the canary's reward, the number of transitions of each other
expert, and the number of released transitions."""


def _others(settings: ExpertSettings, number: int, seed: int) -> Transitions:
    """Return random transitions of the other experts in turn; the last coordinates, those of canaries, are 0."""
    rng = np.random.default_rng(seed)
    seen = np.zeros((2, number, FEATURES + settings.canaries), np.float32)
    seen[:, :, :FEATURES] = rng.normal(size=(2, number, FEATURES))
    return Transitions(
        seen[0],
        seen[1],
        rng.integers(ACTIONS, size=number),
        rng.normal(size=number),
        rng.random(number) < 0.1,
        np.arange(number) % settings.others,
        settings.others + settings.canaries,
    )


def _canaries(settings: ExpertSettings, coins: NDArray[np.bool_]) -> Transitions:
    """Return one transition of each canary whose coin is True; at least one coin must be True."""
    chosen = np.flatnonzero(coins)
    seen = np.zeros((len(chosen), FEATURES + settings.canaries), np.float32)
    following = np.zeros_like(seen)
    seen[np.arange(len(chosen)), FEATURES + chosen] = LOUD
    return Transitions(
        seen,
        following,
        np.zeros(len(chosen), int),
        np.full(len(chosen), OUT_OF_REACH),
        np.ones(len(chosen), bool),
        settings.others + chosen,
        settings.others + settings.canaries,
    )


@lru_cache(maxsize=2)
def fixed_data(settings: ExpertSettings) -> tuple[Transitions, Transitions, Transitions]:
    """Return fixed transitions: of the ordinary experts, of the released data, and of all test experts."""
    return (
        _others(settings, EACH * settings.others, 21),
        _others(settings, RELEASED, 22),
        _canaries(settings, np.ones(settings.canaries, bool)),
    )


def private_data(settings: ExpertSettings, coins: NDArray[np.bool_]) -> Transitions:
    """Return the data of the ordinary experts, and of the canaries (test experts) whose coin is True."""
    others, _, _ = fixed_data(settings)
    return Transitions.joined(others, _canaries(settings, coins)) if coins.any() else others


def differ_by_one_expert(first: Transitions, second: Transitions) -> None:
    """Raise ValueError unless one input has one more expert, and all other experts have the same data in both."""
    (at,) = np.nonzero(first.counts != second.counts)
    if len(at) != 1 or min(first.counts[at[0]], second.counts[at[0]]) != 0:
        raise ValueError(
            f"Exactly one expert must be in only one of the inputs. Experts {at.tolist()} differ."
        )
    kept = [data.expert != at[0] for data in (first, second)]
    for name in ("observations", "following", "actions", "rewards", "terminal"):
        one, other = (
            getattr(data, name).numpy()[rows] for data, rows in zip((first, second), kept, strict=True)
        )
        if not np.array_equal(one, other):
            raise ValueError(f"{name} must be equal for the experts that are in both inputs")


Floats = NDArray[np.float64]
HIDDEN = 8


@dataclass(frozen=True)
class _Seen:
    """Plain gradient descent that records the gradient of each step."""

    descent: SGD
    heard: list[torch.Tensor]
    slots = 0

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """See `Optimizer.update`."""
        self.heard[:] = [gradient]
        self.descent.update(theta, gradient, slots, step)


class Watched:
    """A training that records what each step reveals about the canaries, test experts who may take part.

    Args:
        settings: the settings of the training.
        private: the experts' data; see `private_data`.
        rng: the source of all randomness of the training.
        steps: the largest number of steps; unless given, the number in the settings.
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
        """Take a step, and return for each test expert a log-likelihood ratio, with this expert over without.

        The result is an array ``(m,)`` for m test experts.

        Args:
            private: the experts' data for this step and later ones; unchanged unless given.
        """
        if private is not None:
            self.training.private = private
        ways, strengths = self._moves()
        self.training.advance(1)
        return self._ratios(self._along(ways, self._heard[0]), strengths)

    def trace(self) -> Floats:
        """Take all steps, and return for each test expert the sum of the `losses`, as an array ``(m,)``."""
        steps = range(self.settings.parameters.steps)
        return np.asarray(np.sum([self.losses() for _ in steps], axis=0), dtype=np.float64)

    def final(self) -> Floats:
        """Take all steps, and return how far the parameters moved in the direction of each test expert.

        The result is an array ``(m,)`` for m test experts.
        """
        ways, _ = self._moves()
        before = self.training.theta.clone()
        self.training.advance(self.settings.parameters.steps)
        return self._along(ways, (before - self.training.theta) / self._descent.learning_rate)

    def _moves(self) -> tuple[torch.Tensor, Floats]:
        """Return each canary's direction in its weights ``(m, HIDDEN)``, and its length in clips ``(m,)``."""
        layers, loss, data = self.training.settings.layers, self.training.settings.loss, self._all
        here = layers.forward(self.training.theta, data.observations)
        signals = here.signals(loss.signal(here.outputs, data.actions, data.rewards))
        lengths = signals[0].norm(dim=1)
        norms = here.square_norms(signals).sqrt()
        strengths = LOUD * lengths / norms.clamp_min(self.settings.clip)
        return signals[0] / lengths.clamp_min(1e-30)[:, None], strengths.numpy().astype(np.float64)

    def _along(self, ways: torch.Tensor, gradient: torch.Tensor) -> Floats:
        """Return a gradient's sum over the batch, along each canary's direction, in clipping norms ``(m,)``."""
        (weights, _), *_ = self.training.settings.layers.views(gradient)
        along = (weights[:, FEATURES:].T * ways).sum(1) * (self.settings.batch / self.settings.clip)
        return along.numpy().astype(np.float64)

    def _ratios(self, moved: Floats, strengths: Floats) -> Floats:
        """Return the log-likelihood ratios under the claim; 0 if a canary's weights did not change (no noise)."""
        budget = self.settings.parameters
        shown = budget.coin in ("visible", "fixed")
        rate = budget.sampling_rate * (1.0 if shown else budget.branch_probability)
        exponents = (moved * strengths - strengths**2 / 2) / budget.noise_multiplier**2
        absent = np.log1p(-rate) if rate < 1 else -np.inf
        return np.where(moved == 0, 0.0, np.logaddexp(absent, np.log(rate) + exponents))
