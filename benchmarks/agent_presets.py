"""Choose the constants of private agents on environments that no page shows, and measure agents on RiverSwim.

    python -m benchmarks.agent_presets tune          regret of every set of constants on the tuning environments
    python -m benchmarks.agent_presets riverswim N   regret of the presets on RiverSwim(6, 2, 20) in N runs

The tuning environments are three random MDPs, two combination locks, Strens' chain and a queue. Regret is relative to
that of the uniform policy. The noise is exact, as in an agent that is deployed, and drawn from seeds here.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.making import agent
from dpproof.mechanisms.agents.playing import regrets
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb.constants import Constants
from dpproof.reproduction.suite.problems import garnet

EPSILON = {"rewards-only": 1, "replace": 5}


def lock(states: int, horizon: int, slip: float) -> TabularMDP:
    """Return a combination lock: one action leads on, the other one and bad luck lead back to the start."""
    transitions, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for s in range(states):
        good = s % 2
        transitions[s, good, min(s + 1, states - 1)] += 1 - slip
        transitions[s, good, 0] += slip
        transitions[s, 1 - good, 0] += 1
        rewards[s, 1 - good] = 0.01
    rewards[-1, (states - 1) % 2] = 1
    return TabularMDP(transitions, rewards, horizon)


def strens(horizon: int = 20) -> TabularMDP:
    """Return the chain of Strens (ICML 2000): five states, two actions that slip with probability 0.2."""
    transitions, rewards = np.zeros((5, 2, 5)), np.zeros((5, 2))
    for s, a in np.ndindex(5, 2):
        for move, chance in ((a, 0.8), (1 - a, 0.2)):
            transitions[s, a, min(s + 1, 4) if move == 0 else 0] += chance
            rewards[s, a] += chance * ((1.0 if s == 4 else 0.0) if move == 0 else 0.2)
    return TabularMDP(transitions, rewards, horizon)


def queue(places: int = 10, horizon: int = 30) -> TabularMDP:
    """Return a queue with a slow and a fast server: waiting costs, and so does speed."""
    transitions, rewards = np.zeros((places, 2, places)), np.zeros((places, 2))
    for s, (a, served) in itertools.product(range(places), enumerate((0.3, 0.6))):
        for (come, p), (leave, q) in itertools.product(((1, 0.4), (0, 0.6)), ((1, served), (0, 1 - served))):
            after = min(max(s + come - (leave if s else 0), 0), places - 1)
            transitions[s, a, after] += p * q
        rewards[s, a] = 1 - 0.7 * s / (places - 1) - 0.3 * a
    return TabularMDP(transitions, rewards, horizon)


def suite() -> Mapping[str, TabularMDP]:
    """Return the tuning environments by name."""
    return {
        "garnet 8,3,3": garnet(8, 3, 3, 10, 1),
        "garnet 12,3,2": garnet(12, 3, 2, 20, 2),
        "garnet 6,4,4": garnet(6, 4, 4, 15, 3),
        "lock 5": lock(5, 12, 0.1),
        "lock 4": lock(4, 20, 0.2),
        "strens": strens(),
        "queue": queue(),
    }


def made(name: str, mdp: TabularMDP, episodes: int, relation: str, seed: int, **more: Any) -> Agent:
    """Return an agent for a known environment, with its possible transitions declared."""
    possible = {
        (s, a): np.flatnonzero(mdp.transitions[s, a]).tolist() for s, a in np.ndindex(*mdp.rewards.shape)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return agent(
            name, observations=mdp.states, actions=mdp.actions, episodes=episodes, horizon=mdp.horizon,
            delta="1e-6", adjacency=relation, reward_range=(0, 1), support=possible, seed=seed,
            **{"epsilon": EPSILON[relation], **more},
        )  # fmt: skip


def never(mdp: TabularMDP) -> float:
    """Return the regret of the uniform policy in one episode."""
    uniform = np.full((mdp.horizon, *mdp.rewards.shape), 1 / mdp.actions)
    return float(mdp.optimal_values()[0, mdp.start] - mdp.policy_values(uniform)[0, mdp.start])


def tune(name: str, relation: str, episodes: int = 8000) -> None:
    """Print the relative regret of every set of constants, its mean over the tuning environments first."""
    rates = (100.0, 300.0, 1000.0) if name == "private-ucb-po" else (1.0,)
    for width, threshold, rate in itertools.product((0.002, 0.005, 0.02), (0.0, 0.25, 0.5), rates):
        constants = Constants(
            width=width, error=0, shift=0, remaining=True, threshold=threshold, learning_rate=rate
        )
        found = [
            regrets(
                made(name, mdp, episodes, relation, 1, constants=constants), mdp, np.random.default_rng(2)
            ).sum()
            / (episodes * never(mdp))
            for mdp in suite().values()
        ]
        print(name, relation, width, threshold, rate, f"{np.mean(found):.4f}", np.round(found, 3), flush=True)


def river(name: str, relation: str, epsilon: float, runs: int) -> None:
    """Print mean, standard error, quantiles and maximum of the regret on RiverSwim, K = 20,000."""
    mdp, begun = river_swim(), time.time()
    found = [
        regrets(
            made(name, mdp, 20_000, relation, 2 * seed, epsilon=epsilon),
            mdp,
            np.random.default_rng(2 * seed + 1),
        ).sum()
        for seed in range(runs)
    ]
    low, middle, high = np.quantile(found, (0.1, 0.5, 0.9))
    print(
        f"{name:16s} {relation:13s} epsilon {epsilon:<5g} runs {runs}: mean {np.mean(found):8.0f} +- "
        f"{np.std(found) / runs**0.5:.0f}, 10 % {low:.0f}, median {middle:.0f}, 90 % {high:.0f}, maximum "
        f"{max(found):.0f}; {(time.time() - begun) / runs:.1f} s a run",
        flush=True,
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["tune", *names]:
            for name in names or ("dp-ucbvi", "private-ucb-vi", "private-ucb-po"):
                for relation in EPSILON:
                    tune(name, relation)
        case ["riverswim", count]:
            for name in ("private-ucb-po", "private-ucb-vi", "dp-ucbvi"):
                river(name, "rewards-only", 1, int(count))
                river(name, "replace", 1, int(count))
        case _:
            sys.exit(__doc__)
