"""The training of `mechanisms.rl.expert.offline` with canary experts, recorded step by step; needs torch.

A canary is an expert with one transition. Its observation is 0 except in a coordinate of the canary's own,
where all others have 0. Its gradient is far longer than the clip. Nearly all of it is in the first layer's
weights of that coordinate, where every other gradient is exactly 0. So canaries do not disturb each other
there, and a plain step moves nothing. The canary's reward is out of reach, so that the network never learns it.

The auditor knows the parameters before a step. So it knows how far each canary would move its own weights, and
it sees the gradient that the optimizer is given. Source: Nasr et al., arXiv:2302.07956, section 4 (canary
gradients).
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
"""Coordinates of the other experts' observations: many make first weights small, so that little of a canary's
gradient is in the second layer."""
LOUD, OUT_OF_REACH, EACH, RELEASED = 100.0, 1e6, 2, 64
"""A canary's coordinate, its reward; transitions of each other expert, and how many are released."""


def _others(settings: ExpertSettings, number: int, seed: int) -> Transitions:
    """So many transitions in ordinary places, the experts in turn; canaries' coordinates, the last, are 0."""
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
    """One transition of each canary whose coin is True; there must be one."""
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
    """The other experts' transitions, released ones, those of all canaries: the same in every training."""
    return (
        _others(settings, EACH * settings.others, 21),
        _others(settings, RELEASED, 22),
        _canaries(settings, np.ones(settings.canaries, bool)),
    )


def private_data(settings: ExpertSettings, coins: NDArray[np.bool_]) -> Transitions:
    """The other experts' logged data, and those of the canaries whose coin is True."""
    others, _, _ = fixed_data(settings)
    return Transitions.joined(others, _canaries(settings, coins)) if coins.any() else others


def differ_by_one_expert(first: Transitions, second: Transitions) -> None:
    """Raise ValueError unless one set has all of the other's experts, with the same data, and one more."""
    (at,) = np.nonzero(first.counts != second.counts)
    if len(at) != 1 or min(first.counts[at[0]], second.counts[at[0]]) != 0:
        raise ValueError(
            f"experts with another number of transitions ({at.tolist()}) must be one, new to one"
        )
    kept = [data.expert != at[0] for data in (first, second)]
    for name in ("observations", "following", "actions", "rewards", "terminal"):
        one, other = (
            getattr(data, name).numpy()[rows] for data, rows in zip((first, second), kept, strict=True)
        )
        if not np.array_equal(one, other):
            raise ValueError(f"{name} of the experts in both must be the same")


Floats = NDArray[np.float64]
HIDDEN = 8


@dataclass(frozen=True)
class _Seen:
    """Plain gradient descent that records the gradients it is given."""

    descent: SGD
    heard: list[torch.Tensor]
    slots = 0

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """See `Optimizer.update`."""
        self.heard[:] = [gradient]
        self.descent.update(theta, gradient, slots, step)


class Watched:
    """One training whose steps are recorded.

    Args:
        settings: what is trained.
        private: see `dpproof.audits.training.expert_loops`.
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
        """Take a step; return each canary's log-likelihood ratio, with over without it, ``(m,)``.

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
        """Take all steps; return the distance from the first to the last parameters along each canary ``(m,)``."""
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
        """Ratios under the claimed law; a step that did not move a canary's weights at all had no noise."""
        budget = self.settings.parameters
        shown = budget.coin in ("visible", "fixed")
        rate = budget.sampling_rate * (1.0 if shown else budget.branch_probability)
        exponents = (moved * strengths - strengths**2 / 2) / budget.noise_multiplier**2
        absent = np.log1p(-rate) if rate < 1 else -np.inf
        return np.where(moved == 0, 0.0, np.logaddexp(absent, np.log(rate) + exponents))
