"""Train private policy gradients on CartPole-v1, and choose their constants on a cart with other physics.

    python -m benchmarks.policy_gradient tune           returns of every set of constants on the tuning cart
    python -m benchmarks.policy_gradient cartpole       returns on CartPole-v1, seeds 0 to 4
    python -m benchmarks.policy_gradient acrobot        returns on Acrobot-v1, seeds 0 to 4

The users of a batch are played at the same time. The learner, the clipping and the noise are those of an agent that is
deployed; the noise is drawn from seeds here. Final policies are evaluated in Gymnasium over 100 episodes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from dpproof.mechanisms.agents.boxes import BoxSpace
from dpproof.mechanisms.agents.gradient_constants import GradientConstants
from dpproof.mechanisms.agents.gradient_learner import GradientLearner
from dpproof.mechanisms.agents.gradient_sums import GradientSums
from dpproof.mechanisms.agents.learner import Path
from dpproof.mechanisms.agents.making import agent
from dpproof.mechanisms.agents.network import Network
from dpproof.mechanisms.agents.policy import Policy
from dpproof.mechanisms.agents.presets import GRADIENTS
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.environments.batched import BatchedEnvironment, Steps, roll_out
from dpproof.mechanisms.environments.classic_control import Acrobot, CartPole

EPSILONS = (1, 3, 8, None)
SEEDS = range(5)
CART_LIMITS = [2.4, 3.0, 0.21, 3.5]
"""Public limits of position, speed, angle and angular speed: an episode ends at 2.4 and at 0.209."""
ACROBOT_LIMITS = [1.0, 1.0, 1.0, 1.0, 4 * math.pi, 9 * math.pi]


@dataclass(frozen=True)
class Problem:
    """An environment, the limits of its observations, and its range of rewards."""

    simulator: BatchedEnvironment
    limits: list[float]
    rewards: tuple[float, float]
    gymnasium_name: str = ""


PROBLEMS = {
    "tuning cart": Problem(
        CartPole(gravity=13.0, force=7.0, cart_mass=1.6, horizon=500), CART_LIMITS, (0.0, 1.0)
    ),
    "cartpole": Problem(CartPole(horizon=500), CART_LIMITS, (0.0, 1.0), "CartPole-v1"),
    "acrobot": Problem(Acrobot(horizon=500), ACROBOT_LIMITS, (-1.0, 0.0), "Acrobot-v1"),
}


def learner_of(
    problem: Problem, episodes: int, epsilon: float | None, constants: GradientConstants, seed: int
) -> tuple[Task, GradientLearner]:
    """Return the learner of an agent, with noise from a seed, or without noise if epsilon is None."""
    made = agent(
        "policy-gradient", observations=([-one for one in problem.limits], problem.limits),
        actions=problem.simulator.actions, episodes=episodes, horizon=500, epsilon=epsilon or 1000, delta="1e-5",
        adjacency="replace", reward_range=problem.rewards, constants=constants, seed=seed,
    )  # fmt: skip
    found: Any = made._learner
    if epsilon is None:
        found._sums = GradientSums(found.weights.numbers.size, lambda count: np.zeros(count, np.int64))
    return made.task, found


def train(task: Task, learner: GradientLearner, problem: Problem, rng: np.random.Generator) -> list[float]:
    """Train on all episodes, batch by batch, and return the mean return of each batch."""
    every, left, found = learner.every, task.episodes, []
    while left:
        users = min(every, left)
        for _ in range(users):
            learner.begin()
        steps = roll_out(problem.simulator, chooser(task, learner.weights, rng), users, rng)
        for path in paths_of(task, steps):
            learner.see(learner.sent(path))
        found.append(float(steps.returns().mean()))
        left -= users
    return found


def chooser(task: Task, network: Network, rng: np.random.Generator) -> Callable[..., Any]:
    """Return the policy of a network for many episodes at once. It draws by the Gumbel-max method."""
    assert isinstance(task.observations, BoxSpace)
    scaled = task.observations.scaled

    def choose(seen: Any, _rows: Any) -> Any:
        scores = network.outputs(scaled(seen.astype(np.float64)))[:, :-1]
        return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)

    return choose


def paths_of(task: Task, steps: Steps) -> Iterable[Path]:
    """Yield the trajectories of many episodes, as sessions would note them."""
    assert isinstance(task.observations, BoxSpace)
    ends = np.cumsum(steps.lengths)
    for begin, end in zip(ends - steps.lengths, ends, strict=True):
        states = np.vstack([steps.observations[begin:end], steps.following[end - 1]]).astype(np.float64)
        states = task.observations.scaled(states)
        if steps.terminal[end - 1]:
            states[-1] = np.nan
        gains = (steps.rewards[begin:end] - task.low) / (task.high - task.low)
        yield Path(states, steps.actions[begin:end], gains)


def run(
    name: str, episodes: int, epsilon: float | None, seed: int, constants: GradientConstants = GRADIENTS
) -> tuple[float, float]:
    """Return the mean return of the final policy over 100 episodes, and that of all users."""
    problem, rng = PROBLEMS[name], np.random.default_rng([seed, 1])
    task, learner = learner_of(problem, episodes, epsilon, constants, seed)
    during = train(task, learner, problem, rng)
    if problem.gymnasium_name:
        with gymnasium.make(problem.gymnasium_name) as env:
            final = Policy(task.observations, task.actions, learner.weights).evaluate(env, 100, seed=seed)
    else:
        final = roll_out(problem.simulator, chooser(task, learner.weights, rng), 100, rng).returns()
    return float(np.mean(final)), float(np.mean(during))


def show(name: str, episodes: int) -> None:
    """Print a row for each epsilon: the returns of the final policies at all seeds."""
    for epsilon in EPSILONS:
        begun = time.time()
        found = np.array([run(name, episodes, epsilon, seed) for seed in SEEDS])
        mean, users = found.mean(axis=0)
        print(
            f"| {name} | {episodes} | {epsilon or 'no privacy'} | {mean:.0f} | {found[:, 0].min():.0f} | "
            f"{found[:, 0].max():.0f} | {users:.0f} | {(time.time() - begun) / len(SEEDS):.0f} |  "
            f"finals {np.round(found[:, 0]).tolist()}",
            flush=True,
        )


CHOICES: dict[str, tuple[Any, ...]] = {
    "hidden": ((16,), (64,), (16, 16)),
    "batches": (25, 100),
    "clip_norm": (0.01, 0.02, 0.1),
    "learning_rate": (0.03, 0.1),
    "momentum": (0.8, 0.95),
    "discount": (0.98, 0.995),
    "value_weight": (0.03, 0.3),
}
"""What `tune` tries, one change of the preset at a time."""


def tune(episodes: int = 5000, epsilon: float = 1) -> None:
    """Print the returns on the tuning cart at three seeds, for the preset and for each change of one constant."""
    trials = [GRADIENTS, *(replace(GRADIENTS, **{n: v}) for n, values in CHOICES.items() for v in values)]
    for constants in trials:
        found = np.array([run("tuning cart", episodes, epsilon, seed, constants) for seed in (100, 101, 102)])
        print(np.round(found[:, 0]).tolist(), f"users {found[:, 1].mean():.0f}", constants, flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["tune"]:
            tune()
        case ["cartpole" | "acrobot" as name, *count]:
            show(name, int(count[0]) if count else 5000)
        case _:
            sys.exit(__doc__)
