"""Selective DP-SGD on conservative Q-learning: Algorithm 3, or expert-level DP-SGD (Algorithm 4).

In the paper a step reads either a private batch, with noise, or transitions that were released before. It is private
with probability p; Algorithm 4 has p = 1. One object, a `SelectiveDPSGDParameters`, fixes the sampling rate, the
choice of private steps, the noise and the number of steps. The training and its guarantee,
`accountant.rl.expert.selective_dpsgd.account`, use the same object. All randomness of a step derives from a key and
the step's number, so a repeated step gives the same result. The key is 128 bits of entropy. With a seed the run is a
simulation, for which no guarantee is reported.

The accountant's parameter ``coin`` says how the data of a step are chosen; the result is a `Branch`. The gradient of a
step has three terms: if `private`, the sum of clipped gradients of a private batch, divided by b; `plain` times the
mean gradient of released transitions; if `noisy`, noise of standard deviation sigma C / b, where sigma is the noise
multiplier and C the clipping norm. The experts of a private batch are drawn with `rate` times the accounted sampling
rate. b and this rate are public numbers in the settings.

The guarantee holds in real arithmetic. It does not cover the released floating-point numbers, because numpy and torch
compute noise and sums in single precision.

Source: Sharma et al. (2024), Algorithms 3 and 4.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import guaranteed, how_drawn
from dpproof.mechanisms.rl.expert.offline.cql import CQL
from dpproof.mechanisms.rl.expert.offline.network import SGD, Layers, Optimizer
from dpproof.mechanisms.rl.expert.offline.transitions import BATCHES, Transitions, check_one_each


@dataclass(frozen=True)
class Branch:
    """The data that one training step reads, and whether the step adds noise.

    `private`: the step reads a private batch. `plain`: a factor by which the mean gradient of released
    transitions is multiplied. With 0 the step reads none. `noisy`: the step adds noise. `rate`: a factor by which the
    accounted sampling rate is multiplied. The product is the probability that an expert is in a Poisson batch.
    """

    private: bool
    plain: float
    noisy: bool
    rate: float = 1.0


PRIVATE: Final = Branch(private=True, plain=0.0, noisy=True)
PLAIN: Final = Branch(private=False, plain=1.0, noisy=False)
COVERED: Final = Branch(private=False, plain=1.0, noisy=True)


def _visible(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    return PRIVATE if rng.random() < training.branch_probability else PLAIN


def _hidden(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    """Choose the data of a step. A plain step has the same noise as a private one."""
    return PRIVATE if rng.random() < training.branch_probability else COVERED


def _fixed(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    """Make exactly `noisy_steps` of all steps private, spread evenly."""
    begun = noisy_steps_begun(training, step), noisy_steps_begun(training, step + 1)
    return PRIVATE if begun[1] > begun[0] else PLAIN


def _independent(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    """Read both kinds of data in every step. Each expert has a coin of its own, of probability p b/m."""
    p = training.branch_probability
    return Branch(private=True, plain=1 - p, noisy=True, rate=p)


COINS: Final[Mapping[str, Callable[[SelectiveDPSGDParameters, int, np.random.Generator], Branch]]] = {
    "visible": _visible,
    "hidden": _hidden,
    "fixed": _fixed,
    "independent": _independent,
}
"""Functions that choose the data of a step, from the parameters, the number of the step, and a generator.

The keys are the values of the accountant's parameter ``coin``.
"""


def noisy_steps_begun(training: SelectiveDPSGDParameters, steps: int) -> int:
    """Return the number of private steps among the first `steps` steps.

    The result is correct only if the parameter ``coin`` is ``"fixed"``.

    >>> half = SelectiveDPSGDParameters(0.1, 0.5, 1.0, 10, coin="fixed")
    >>> [noisy_steps_begun(half, steps) for steps in range(11)]
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    """
    return steps * training.noisy_steps // training.steps if training.steps else 0


_CLIPS = (1e-9, 1e9)
"""Range of the clipping norm. Outside, clipped values and noise come near the limits of single precision."""


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of a training run of selective DP-SGD.

    Attributes:
        budget: the parameters of the guarantee: the sampling rate, the probability of a private step, the noise
            multiplier, the number of steps, and how steps and batches are drawn.
        layers: the shape of the Q-network. It has one output for each action.
        batch: a public number by which the sum of a private batch is divided. If `budget.batch` is "exact", each
            private batch has exactly this number of experts. Choose `batch` and the sampling rate without looking at
            the number of experts in the data, because two neighbours may differ in that number.
        loss: the loss of conservative Q-learning.
        clip: the clipping norm of a transition's gradient, in [1e-9, 1e9].
        optimizer: the rule that applies a gradient.
        target_every: number of steps after which the network is copied into the target network.
        plain_batch: number of released transitions in a step that reads released transitions.

    Raises:
        ValueError: a number outside its range.
    """

    budget: SelectiveDPSGDParameters
    layers: Layers
    batch: int = field(kw_only=True)
    loss: CQL = field(default_factory=CQL)
    clip: float = 1.0
    optimizer: Optimizer = field(default_factory=lambda: SGD(0.005))
    target_every: int = 100
    plain_batch: int = 256

    def __post_init__(self) -> None:
        """Check the numbers that the fields' own types do not check."""
        if not _CLIPS[0] <= self.clip <= _CLIPS[1]:
            raise ValueError(f"clip ({self.clip!r}) must be in [{_CLIPS[0]:g}, {_CLIPS[1]:g}]")
        for name in ("batch", "target_every", "plain_batch"):
            _checks.at_least(name, getattr(self, name), 1)

    def spent(self, begun: int) -> SelectiveDPSGDParameters:
        """Return the parameters of the guarantee that covers only the first `begun` steps.

        >>> half = SelectiveDPSGDParameters(0.1, 0.5, 1.0, 10, coin="fixed")
        >>> TrainingSettings(half, Layers((1, 2)), batch=4).spent(3).steps
        1
        """
        if self.budget.coin == "fixed":
            done = noisy_steps_begun(self.budget, begun)
            return replace(self.budget, branch_probability=1.0, steps=done)
        return replace(self.budget, steps=begun)


class Training:
    """One training run of selective DP-SGD, which takes its steps by `advance`.

    Args:
        settings: the network, the loss, and the parameters of the guarantee.
        private: transitions that private batches are drawn from. They may be None only if no step is private.
        released: transitions that were released before. They may be None only if all steps are private.
        seed: leave it out for a private run. Its randomness then derives from 128 bits of entropy, which only the
            private checkpoint holds. With a seed the run is a simulation.

    Raises:
        ValueError: needed data are missing, or an observation or action does not fit the network. Or batches are
            "exact", and the batch size divided by the number of experts with transitions exceeds the sampling rate.

    Attributes:
        theta, target: the parameters of the network and of the target network.
        slots: the tensors that the optimizer stores.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        private: Transitions | None,
        released: Transitions | None,
        seed: int | None = None,
    ) -> None:
        self._settings, self._seeded = settings, seed is not None
        self.private, self.released = private, released
        self._check()
        self._begin(secrets.randbits(128) if seed is None else _checks.at_least("seed", seed, 0))

    def _begin(self, key: int) -> None:
        """Start again with a key, from which all randomness derives.

        A checkpoint continues with its own key.
        """
        self._key = key
        self.theta = self.settings.layers.initial(self._rng(0))
        self.target = self.theta.clone()
        self.slots = torch.zeros(self.settings.optimizer.slots, self.settings.layers.count)
        self._step = 0

    @property
    def settings(self) -> TrainingSettings:
        """The settings, including the noise. They cannot be changed."""
        return self._settings

    @property
    def step(self) -> int:
        """Number of steps taken. A step cannot be undone, because each has its own noise."""
        return self._step

    @property
    def simulated(self) -> bool:
        """Whether a seed was given. If so, no guarantee holds."""
        return self._seeded

    def __repr__(self) -> str:
        drawn = how_drawn(self.simulated)
        return f"<{type(self).__name__}, {self.step} of {self.settings.budget.steps} steps done; {drawn}>"

    def __reduce__(self) -> Any:
        """Refuse to be pickled.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "A training must not be pickled, because it holds the key of its noise. Publish its model with"
            " dpproof.mechanisms.rl.expert.offline.checkpoints.publish, or resume it with train."
        )

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee that covers all steps so far.

        `dpproof.accountant.rl.expert.selective_dpsgd.account` computes it.

        Raises:
            SimulationError: a seed was given.
        """
        return guaranteed(
            self.simulated, lambda: account(self.settings.spent(self.step), Adjacency.of(adjacency))
        )

    def _check(self) -> None:
        p = self.settings.budget.branch_probability
        needed = {"private": (self.private, p > 0), "released": (self.released, p < 1)}
        for name, (data, wanted) in needed.items():
            if data is None and wanted:
                raise ValueError(
                    f"{name} transitions are missing. They are needed if branch_probability is {p}."
                )
            if data is not None:
                _check_fits(name, data, self.settings.layers.sizes)
        if self.private is not None and self.settings.budget.batch == "exact":
            self._check_share(self.private.present)

    def _check_share(self, present: NDArray[np.int64]) -> None:
        """Refuse exact batches if there are too few experts for the accounted rate.

        It must be at least b/m.
        """
        rate, batch = self.settings.budget.sampling_rate, self.settings.batch
        if Fraction(rate) * len(present) < batch:
            raise ValueError(
                f"sampling_rate ({rate!r}) must be at least {batch}/{len(present)}, the batch size"
                " over the number of experts with transitions"
            )

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._key, spawn_key=(number,)))

    def advance(self, steps: int) -> None:
        """Take `steps` further steps, but not more than `settings.budget.steps` in all."""
        for _ in range(min(steps, self.settings.budget.steps - self.step)):
            self._take(self._rng(self.step + 1))
            self._step += 1
            if self.step % self.settings.target_every == 0:
                self.target = self.theta.clone()

    def _take(self, rng: np.random.Generator) -> None:
        gradient = self._gradient(self._branch(rng), rng)
        self.settings.optimizer.update(self.theta, gradient, self.slots, self.step + 1)

    def _branch(self, rng: np.random.Generator) -> Branch:
        """Return the data that a step reads, chosen by the accounted coin."""
        budget = self.settings.budget
        return COINS[budget.coin](budget, self.step, rng)

    def _gradient(self, branch: Branch, rng: np.random.Generator) -> torch.Tensor:
        """Return the gradient of a step. See `dpproof.mechanisms.rl.expert.offline.training`."""
        found = torch.zeros_like(self.theta)
        if branch.private and self.private is not None:
            rows = self._batch(self.private, branch.rate * self.settings.budget.sampling_rate, rng)
            found += self._sum(self.private, rows, self.settings.clip)
        if branch.noisy and self.private is not None:
            found += self._noise(rng)
            found /= self.settings.batch
        if branch.plain and self.released is not None:
            rows = self.released.uniform(self.settings.plain_batch, rng)
            found.add_(self._sum(self.released, rows, math.inf), alpha=branch.plain / len(rows))
        return found

    def _batch(self, data: Transitions, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the transitions of a private batch, at most one of each expert."""
        rows = BATCHES[self.settings.budget.batch](data, rate, self.settings.batch, rng)
        check_one_each(data.expert[rows])
        return rows

    def _noise(self, rng: np.random.Generator) -> torch.Tensor:
        """Return the noise for a sum of terms of norm at most the clipping norm.

        It is drawn by the step's own generator. torch's generator keeps only 32 bits of a seed, so its noise
        could repeat within a run and could be found by search.
        """
        deviation = self.settings.budget.noise_multiplier * self.settings.clip
        return deviation * torch.from_numpy(rng.standard_normal(len(self.theta), np.float32))

    def _sum(self, data: Transitions, rows: NDArray[np.int64], clip: float) -> torch.Tensor:
        """Return the sum of the transitions' gradients, each clipped to norm at most `clip`."""
        layers, loss = self.settings.layers, self.settings.loss
        at = torch.from_numpy(rows)
        following = data.following[at]
        online, slow = layers.outputs(self.theta, following), layers.outputs(self.target, following)
        targets = loss.targets(data.rewards[at], data.terminal[at], online, slow)
        here = layers.forward(self.theta, data.observations[at])
        signal = loss.signal(here.outputs, data.actions[at], targets)
        if clip == math.inf:
            return here.weighted_sum(here.signals(signal), torch.ones(len(rows)))
        return here.clipped_sum(signal, clip)


def _check_fits(name: str, data: Transitions, sizes: tuple[int, ...]) -> None:
    """Refuse data that do not fit the network."""
    width, most = data.observations.shape[1], int(data.actions.max())
    if width != sizes[0]:
        raise ValueError(
            f"{name}: each observation ({width} numbers) must have {sizes[0]} numbers, the inputs of the network"
        )
    if most >= sizes[-1]:
        raise ValueError(f"{name}: action ({most}) must be one of 0, ..., {sizes[-1] - 1}")
