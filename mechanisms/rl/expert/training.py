"""Training of experts by double DQN with replay, in many copies of one environment at once. Needs torch.

This training is not private. Each expert learns alone, while it plays. The privacy claims of the experiments are
about data that trained experts log. They hide whether an expert takes part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.mechanisms.rl.expert.offline.cql import CQL
from dpproof.mechanisms.rl.expert.offline.network import Adam, Layers
from dpproof.mechanisms.rl.expert.problems import Problem


@dataclass(frozen=True)
class Learning:
    """The settings with which an expert learns. In a round, each copy of the environment makes one step.

    Attributes:
        copies: number of copies of the environment.
        rounds: number of rounds.
        updates: number of gradient steps in each round.
        batch: number of transitions in a gradient step.
        hidden: number of units of each hidden layer.
        learning_rate: learning rate of Adam.
        replay: number of stored transitions.
        exploration: final probability of a random action. In about the first third of the rounds, the probability
            falls from 1 to this number.
        target_every: number of gradient steps after which the network is copied into the target network.
        horizon: number of steps after which an episode is stopped while learning.
        kept: when the network's parameters are stored. 0.5 means after half of the rounds.
    """

    copies: int = 16
    rounds: int = 6000
    updates: int = 2
    batch: int = 128
    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 5e-4
    replay: int = 50_000
    exploration: float = 0.05
    target_every: int = 100
    horizon: int = 200
    kept: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

    def layers(self, problem: Problem) -> Layers:
        """Return the sizes of the layers of an expert's network for this problem."""
        made = problem.make()
        return Layers((made.observation_size, *self.hidden, made.actions))


class _Replay:
    """The last transitions, for replay. New ones overwrite the oldest."""

    def __init__(self, size: int, width: int) -> None:
        self.seen, self.after = (np.empty((size, width), np.float32) for _ in range(2))
        self.actions, self.rewards = np.empty(size, np.int64), np.empty(size, np.float32)
        self.over, self.size, self.begun = np.empty(size, bool), size, 0

    def add(self, seen: Any, after: Any, actions: Any, rewards: NDArray[np.float64], over: Any) -> None:
        """Store transitions."""
        rows = (self.begun + np.arange(len(rewards))) % self.size
        self.seen[rows], self.after[rows], self.actions[rows] = seen, after, actions
        self.rewards[rows], self.over[rows] = rewards, over
        self.begun += len(rewards)

    def draw(self, size: int, rng: np.random.Generator) -> list[torch.Tensor]:
        """Return `size` stored transitions, drawn uniformly with replacement.

        The tensors hold the observations before and after each step, the actions, the rewards, and whether the episode
        was over.
        """
        rows = rng.integers(min(self.begun, self.size), size=size)
        columns = (self.seen, self.after, self.actions, self.rewards, self.over)
        return [torch.from_numpy(column[rows]) for column in columns]


def learn(problem: Problem, how: Learning, rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Train one expert in a random variation of a problem. Return copies of its parameters.

    A copy is made after each of the rounds in `how.kept`, which are given as shares of all rounds. torch's own
    generator is not used, so equal seeds give equal experts on one machine.
    """
    environment, layers = problem.variation(rng), how.layers(problem)
    theta = layers.initial(rng)
    learner = _Learner(layers, CQL(problem.discount, 0.0), Adam(how.learning_rate), theta, theta.clone())
    slots = torch.zeros(2, layers.count)
    replay = _Replay(how.replay, layers.sizes[0])
    batch, ages = environment.begin(how.copies, rng), np.zeros(how.copies, np.int64)
    seen = problem.scaled(batch.observations())
    kept, ends = [], {int(share * how.rounds) for share in how.kept}
    for played in range(how.rounds):
        random = max(how.exploration, 1 - 3 * played / how.rounds)
        actions = learner.actions(seen, random, rng)
        found, rewards, over = batch.step(actions)
        after = problem.scaled(found)
        replay.add(seen, after, actions, problem.reward_scale * rewards, over)
        ages += 1
        done = over | (ages >= how.horizon)
        batch.renew(done)
        ages[done] = 0
        seen = problem.scaled(batch.observations())
        if replay.begun >= 1000:
            for update in range(how.updates):
                number = played * how.updates + update + 1
                learner.improve(replay.draw(how.batch, rng), slots, number)
                if number % how.target_every == 0:
                    learner.target.copy_(learner.theta)
        if played + 1 in ends:
            kept.append(learner.theta.numpy().copy())
    return kept


@dataclass(frozen=True, eq=False)
class _Learner:
    """A network that learns."""

    layers: Layers
    loss: CQL
    optimizer: Adam
    theta: torch.Tensor
    target: torch.Tensor

    def actions(
        self, seen: NDArray[np.float32], random: float, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return greedy actions, each replaced by a uniform one with probability `random`."""
        greedy: NDArray[np.int64] = self.layers.outputs(self.theta, torch.from_numpy(seen)).argmax(1).numpy()
        anything = rng.integers(self.layers.sizes[-1], size=len(seen))
        return np.where(rng.random(len(seen)) < random, anything, greedy)

    def improve(self, batch: list[torch.Tensor], slots: torch.Tensor, step: int) -> None:
        """Take one step of double DQN."""
        seen, after, actions, rewards, over = batch
        online, slow = self.layers.outputs(self.theta, after), self.layers.outputs(self.target, after)
        targets = self.loss.targets(rewards, over, online, slow)
        here = self.layers.forward(self.theta, seen)
        signals = here.signals(self.loss.signal(here.outputs, actions, targets))
        mean = here.weighted_sum(signals, torch.full((len(actions),), 1 / len(actions)))
        self.optimizer.update(self.theta, mean, slots, step)
