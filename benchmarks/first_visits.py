"""Compare ``first-visit-vi`` with the other agents for `replace`, where neither support nor stationarity is known.

    python -m benchmarks.first_visits compare N      relative regret on the tuning environments, N runs each
    python -m benchmarks.first_visits changing N     the same for a lock whose laws change in the middle of an episode
    python -m benchmarks.first_visits riverswim N    regret on RiverSwim(6, 2, 20), which chose no constant
    python -m benchmarks.first_visits lake N         regret on FrozenLake with declared transitions, H = 100

Regret is relative to that of the uniform policy on all environments but RiverSwim. K = 20,000 and delta = 1e-6.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.agent_presets import garnet, lock, suite
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.first_visits import FirstVisitLearner
from dpproof.mechanisms.agents.making import SwampedWarning, agent
from dpproof.mechanisms.agents.playing import FiniteMDP, best_value, regrets, value, world_of
from dpproof.mechanisms.environments.changing import ChangingMDP
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP

USERS, FIRST_SEED = 20_000, 1000
NAMES = ("first-visit-vi", "dp-ucbvi", "private-ucb-po")


@dataclass(frozen=True, eq=False)
class Setting:
    """An environment, the states in which episodes end, and more arguments of the agent."""

    mdp: FiniteMDP
    ends: Collection[int] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def never(self) -> float:
        """Return the regret of the uniform policy in one episode."""
        world = world_of(self.mdp, self.ends)
        states, actions = world.rewards.shape[1:]
        uniform = np.full((world.horizon, states, actions), 1 / actions, np.float32)
        return best_value(world) - value(world, uniform, np.zeros((world.horizon + 1, states)))


def tuning() -> Mapping[str, Setting]:
    """Return the environments on which constants were chosen: those of `agent_presets`, and three larger ones."""
    larger = {
        "garnet 30,3,3": garnet(30, 3, 3, 30, 4),
        "lock 8": lock(8, 20, 0.05),
        "garnet 20,4,2": garnet(20, 4, 2, 40, 5),
    }
    return {name: Setting(mdp) for name, mdp in {**suite(), **larger}.items()}


def changing_lock(states: int = 4, horizon: int = 16, slip: float = 0.1) -> ChangingMDP:
    """Return a combination lock whose good actions are exchanged in the middle of the episode."""
    transitions, rewards = np.zeros((horizon, states, 2, states)), np.zeros((horizon, states, 2))
    for h, s in np.ndindex(horizon, states):
        good = (s + (h >= horizon // 2)) % 2
        transitions[h, s, good, min(s + 1, states - 1)] += 1 - slip
        transitions[h, s, good, 0] += slip
        transitions[h, s, 1 - good, 0] += 1
        rewards[h, s] = (s == states - 1) * np.eye(2)[good] + 0.01 * (s < states - 1) * np.eye(2)[1 - good]
    return ChangingMDP(transitions, rewards)


def lake() -> Setting:
    """Return FrozenLake (4 x 4, slippery) with mean rewards, its ends, its possible transitions and a limit of 1."""
    rows = ("SFFF", "FHFH", "FFFH", "HFFG")
    cells = "".join(rows)
    ends = [s for s, kind in enumerate(cells) if kind in "HG"]
    transitions, rewards = np.zeros((16, 4, 16)), np.zeros((16, 4))
    moves = ((0, -1), (1, 0), (0, 1), (-1, 0))
    for s, a in np.ndindex(16, 4):
        for slip in (-1, 0, 1) if s not in ends else ():
            down, right = moves[(a + slip) % 4]
            after = 4 * min(max(s // 4 + down, 0), 3) + min(max(s % 4 + right, 0), 3)
            transitions[s, a, after] += 1 / 3
            rewards[s, a] += (cells[after] == "G") / 3
        if s in ends:
            transitions[s, a, s] = 1
    possible = {
        (s, a): ["end" if t in ends else t for t in np.flatnonzero(transitions[s, a]).tolist()]
        for s, a in np.ndindex(16, 4)
    }
    return Setting(TabularMDP(transitions, rewards, 100), ends, {"support": possible, "most_reward": 1})


def runs(name: str, setting: Setting, epsilon: float, count: int) -> Iterator[tuple[Agent, float]]:
    """Yield agents after their runs, and their regret."""
    states, actions = setting.mdp.rewards.shape[-2:]
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SwampedWarning)
            one = agent(
                name, observations=states, actions=actions, episodes=USERS, horizon=setting.mdp.horizon,
                epsilon=epsilon, delta="1e-6", adjacency="replace", reward_range=(0, 1), seed=2 * seed, **setting.more,
            )  # fmt: skip
        found = regrets(one, setting.mdp, np.random.default_rng(2 * seed + 1), setting.ends)
        yield one, float(found.sum())


def compare(settings: Mapping[str, Setting], count: int) -> None:
    """Print the relative regret of every agent: its mean, the mean of the worst runs, and each environment's."""
    for name in NAMES:
        for epsilon in (1, 10):
            found = np.array([
                [total / (USERS * one.never()) for _, total in runs(name, one, epsilon, count)]
                for one in settings.values()
            ])  # fmt: skip
            each = " ".join(
                f"{key} {value:.3f}," for key, value in zip(settings, found.mean(axis=1), strict=True)
            )
            whole = f"mean {found.mean():.4f} worst {found.max(axis=1).mean():.4f}"
            print(f"{name:15s} epsilon {epsilon:<3d} {whole} | {each}", flush=True)


def river(name: str, epsilon: float, count: int, more: Mapping[str, Any]) -> None:
    """Print the regret on RiverSwim: mean, standard error, quantiles, maximum, and how often laws were refuted."""
    begun, setting = time.time(), Setting(river_swim(), (), more)
    found, refuted = [], 0
    for one, total in runs(name, setting, epsilon, count):
        found.append(total)
        refuted += isinstance(one._learner, FirstVisitLearner) and not one._learner.pooled
    low, middle, high = np.quantile(found, (0.1, 0.5, 0.9))
    support = "declared" if more else "unknown"
    print(
        f"{name:15s} {support:8s} epsilon {epsilon:<3g} runs {count}: mean {np.mean(found):.0f} +- "
        f"{np.std(found) / count**0.5:.0f}, 10 % {low:.0f}, median {middle:.0f}, 90 % {high:.0f}, maximum "
        f"{max(found):.0f}, refuted {refuted}; {(time.time() - begun) / count:.2f} s a run",
        flush=True,
    )


def _main() -> None:
    match sys.argv[1:]:
        case ["compare", count]:
            compare(tuning(), int(count))
        case ["changing", count]:
            compare({"changing lock": Setting(changing_lock())}, int(count))
        case ["lake", count]:
            compare({"FrozenLake": lake()}, int(count))
        case ["riverswim", count]:
            mdp = river_swim()
            support = {(s, a): np.flatnonzero(mdp.transitions[s, a]).tolist() for s, a in np.ndindex(6, 2)}
            for name in NAMES:
                for epsilon in (1, 10):
                    river(name, epsilon, int(count), {})
                    river(name, epsilon, int(count), {"support": support})
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    _main()
