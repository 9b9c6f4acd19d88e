"""How good policies are that are learned offline with privacy, and how large their lower bounds are.

    python -m benchmarks.offline_tables          # RiverSwim and FrozenLake: the tables in docs/benchmarks.md
    python -m benchmarks.offline_tables tune     # other environments: the choice of the default pessimism

Every log is drawn from a policy that takes the optimal action with probability 1/2, and otherwise a random action. The
default pessimism was chosen on random environments with three next states and on a combination lock. RiverSwim and
FrozenLake were not looked at for this choice, except in a first trial of the code on RiverSwim.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.own_data.rewards import RewardMap
from dpproof.mechanisms.rl.offline.bounds import Confidence, NoisyCounts, backward
from dpproof.mechanisms.rl.offline.counts import LogParameters, counts_of
from dpproof.mechanisms.rl.offline.tables import PESSIMISM, learn, noisy_counts, plan

DELTA, RUNS, EPISODES, EPSILONS = 1e-6, 100, (10_000, 100_000), (1.0, 10.0, None)
SCALES = (0.0, 0.1, 0.25, 0.5, 1.0)


def frozen_lake(horizon: int = 40) -> TabularMDP:
    """Return Gymnasium's FrozenLake of 4 times 4 tiles. Its holes and its goal are never left and pay nothing."""
    import gymnasium

    model: Any = gymnasium.make("FrozenLake-v1").unwrapped
    transitions, rewards = np.zeros((16, 4, 16)), np.zeros((16, 4))
    for s, row in model.P.items():
        for a, outcomes in row.items():
            for chance, after, reward, _ in outcomes:
                transitions[s, a, after] += chance
                rewards[s, a] += chance * reward
    return TabularMDP(transitions, rewards, horizon)


def behaviour(mdp: TabularMDP) -> NDArray[np.float64]:
    """Return the action probabilities (H, S, A): half the optimal action, half uniform."""
    best = mdp.optimal_action_values().argmax(axis=2)
    return 0.5 * np.eye(mdp.actions)[best] + 0.5 / mdp.actions


def log(mdp: TabularMDP, chances: NDArray[np.float64], count: int, rng: np.random.Generator) -> Episodes:
    """Return `count` episodes. Rewards are 0 or 1 with the expected value of the environment."""
    sums = mdp.transitions.cumsum(axis=2)
    state, path = np.full(count, mdp.start), []
    for h in range(mdp.horizon):
        action = (rng.random(count)[:, None] > chances[h][state].cumsum(axis=1)[:, :-1]).sum(axis=1)
        path.append((state, action, (rng.random(count) < mdp.rewards[state, action]).astype(np.float64)))
        state = (rng.random(count)[:, None] >= sums[state, action]).sum(axis=1).clip(max=mdp.states - 1)
    return Episodes.rectangular(*(np.stack(each, axis=1) for each in zip(*path, strict=True)))


def possible(mdp: TabularMDP) -> NDArray[np.bool_]:
    """Return the public knowledge of next states. Episodes do not end early."""
    return np.concatenate([mdp.transitions > 0, np.zeros((mdp.states, mdp.actions, 1), bool)], axis=2)


def one_run(
    mdp: TabularMDP, episodes: Episodes, epsilon: float | None, known: bool, seed: int
) -> tuple[float, float]:
    """Return the value of the learned policy and its lower bound. Without epsilon the counts are exact."""
    sizes: dict[str, int] = {"states": mdp.states, "actions": mdp.actions, "horizon": mdp.horizon}
    support = possible(mdp) if known else None
    if epsilon is None:
        p = LogParameters(**sizes, sigma=1.0, possible=support)
        exact = counts_of(episodes, p)
        counts = NoisyCounts(
            exact.transitions.astype(float), p.counted, np.ldexp(exact.rewards.astype(float), -30), 0.0, 1.0
        )
        policy, values = plan(counts, pessimism=PESSIMISM, confidence=Confidence())
    else:
        found = learn(
            episodes,
            **sizes,
            epsilon=epsilon,
            delta=DELTA,
            adjacency="replace",
            possible=support,
            seed=[seed, 7],
        )
        policy, values = found.policy, found.values
    return float(mdp.policy_values(policy)[0, mdp.start]), float(values[0, mdp.start])


def measured(
    name: str, mdp: TabularMDP, counts: tuple[int, ...] = EPISODES, runs: int = RUNS
) -> Iterator[str]:
    """Yield the rows of the table of one environment. Only one log is held at a time."""
    chances = behaviour(mdp)
    best, logged = mdp.optimal_values()[0, mdp.start], mdp.policy_values(chances)[0, mdp.start]
    kinds = [(known, epsilon) for known in (False, True) for epsilon in EPSILONS]
    for count in counts:
        found = np.zeros((len(kinds), runs, 2))
        for run in range(runs):
            episodes = log(mdp, chances, count, np.random.default_rng([5, count, run]))
            for place, (known, epsilon) in enumerate(kinds):
                found[place, run] = one_run(mdp, episodes, epsilon, known, run)
        for (known, epsilon), (values, bounds) in zip(kinds, found.swapaxes(1, 2), strict=True):
            low, high = np.quantile(values, (0.1, 0.9))
            wrong = int((bounds > values + 1e-9).sum())
            asked, able = "none" if epsilon is None else f"{epsilon:g}", "yes" if known else "no"
            yield (
                f"| {name} | {count:,} | {able} | {asked} | {values.mean():.3f} ({low:.3f} to {high:.3f}) |"
                f" {bounds.mean():.3f} | {wrong} of {runs} | {logged:.3f} | {best:.3f} |"
            )


def garnet(states: int, actions: int, horizon: int, rng: np.random.Generator) -> TabularMDP:
    """Return a random environment with three next states for each state and action."""
    transitions = np.zeros((states, actions, states))
    for s in range(states):
        for a in range(actions):
            transitions[s, a, rng.choice(states, 3, replace=False)] = rng.dirichlet(np.ones(3))
    rewards = rng.random((states, actions)) * (rng.random((states, actions)) < 0.3)
    return TabularMDP(transitions, rewards, horizon)


def lock(states: int = 5, horizon: int = 12) -> TabularMDP:
    """Return a combination lock: action 0 advances with probability 0.9, action 1 goes back to the start."""
    transitions, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    transitions[:, 0] = 0.9 * np.eye(states, k=1)
    transitions[-1, 0, -1] = 0.9
    transitions[:, 0, 0] += 0.1
    transitions[:, 1, 0] = 1.0
    rewards[-1, 0], rewards[0, 1] = 1.0, 0.02
    return TabularMDP(transitions, rewards, horizon)


def tuned() -> Iterator[str]:
    """Yield the mean value, in units of the optimum, for each scale of pessimism."""
    rng = np.random.default_rng(0)
    environments = (garnet(5, 3, 10, rng), garnet(10, 3, 10, rng), lock())
    found: dict[float, list[float]] = {scale: [] for scale in SCALES}
    for mdp in environments:
        best = mdp.optimal_values()[0, mdp.start]
        for count in (1_000, *EPISODES):
            for epsilon in (1.0, 10.0):
                for run in range(3):
                    episodes = log(mdp, behaviour(mdp), count, np.random.default_rng([count, run]))
                    counts = _noisy(mdp, episodes, epsilon, run)
                    for scale in SCALES:
                        policy, _ = backward(counts, Confidence(scale=scale))
                        found[scale].append(mdp.policy_values(policy)[0, mdp.start] / best)
    yield from (f"pessimism {scale:g}: {np.mean(values):.3f}" for scale, values in found.items())


def _noisy(mdp: TabularMDP, episodes: Episodes, epsilon: float, seed: int) -> NoisyCounts:
    sizes: dict[str, int] = {"states": mdp.states, "actions": mdp.actions, "horizon": mdp.horizon}
    found = learn(
        episodes, **sizes, epsilon=epsilon, delta=DELTA, adjacency=Adjacency.REPLACE, seed=[seed, 9]
    )
    return noisy_counts(found.released, RewardMap())


def main() -> None:
    """Print the rows of the tables, or those of the choice of the pessimism."""
    if sys.argv[1:] == ["tune"]:
        for row in tuned():
            print(row, flush=True)
        return
    for name, mdp in (("RiverSwim(6, 20)", river_swim()), ("FrozenLake, 40 steps", frozen_lake())):
        for row in measured(name, mdp):
            print(row, flush=True)


if __name__ == "__main__":
    main()
