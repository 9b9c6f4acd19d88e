"""Time and memory of private agents for many states.

    python -m benchmarks.agent_scale S A H K RELATION    one run; prints seconds, and the largest memory in MB
    python -m benchmarks.agent_scale exponents           runs S = 2000, 4000, ..., 32000 and fits the exponents

The environment has four random next states for each state and action, which are declared public. Counts are released
ten times in the runs of `exponents`. Users act in a loop in Python, whose time is reported on its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from dpproof import agent
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.mechanisms.agents.learner import Path

BRANCHES = 4


def run(
    states: int, actions: int, horizon: int, episodes: int, relation: str, privatizer: Any = "auto"
) -> None:
    """Train an agent, and print sizes, seconds of the agent, seconds of the environment, and memory in MB."""
    rng = np.random.default_rng(0)
    after = rng.integers(0, states, (states, actions, BRANCHES))
    sums = rng.dirichlet(np.ones(BRANCHES), (states, actions)).cumsum(axis=2)
    gains = (rng.random((states, actions)) < 0.05).astype(np.float64)
    begun, walking = time.perf_counter(), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = agent(
            "dp-ucbvi", observations=states, actions=actions, episodes=episodes, horizon=horizon, epsilon=5,
            delta="1e-5", adjacency=relation, reward_range=(0, 1), privatizer=privatizer,
            support=lambda s, a: after[s, a].tolist(),
        )  # fmt: skip
    learner = one._learner
    for _ in range(episodes):
        learner.begin()
        weights, start = learner.for_user(), time.perf_counter()
        visited, taken = [0], []
        for h, (u, v) in enumerate(rng.random((horizon, 2))):
            s = visited[-1]
            row = weights[h, s].cumsum()
            a = min(int(np.searchsorted(row, u * row[-1])), actions - 1)
            taken.append(a)
            visited.append(int(after[s, a, min(int(np.searchsorted(sums[s, a], v)), BRANCHES - 1)]))
        walking += time.perf_counter() - start
        path = Path(np.array(visited), np.array(taken), gains[np.array(visited[:-1]), np.array(taken)])
        learner.see(learner.sent(path))
    total = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{states} {actions} {horizon} {episodes} {relation} {total - walking:.2f} {walking:.2f} {memory:.0f}",
        flush=True,
    )


def exponents() -> None:
    """Print the exponents of time and of memory in the number of states, each run in its own process."""
    found = []
    for states in (2000, 4000, 8000, 16000, 32000):
        command = [sys.executable, "-m", "benchmarks.agent_scale", "ten", str(states)]
        line = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        print(*line, flush=True)
        found.append((states, float(line[5]), float(line[7])))
    logs = np.log(np.array(found))
    for name, column in (("time", 1), ("memory", 2)):
        print(f"exponent of {name} in S: {np.polyfit(logs[:, 0], logs[:, column], 1)[0]:.2f}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["exponents"]:
            exponents()
        case ["ten", count]:
            ten = BatchedCountsParameters(
                int(count), 4, 50, 200, sigma=1.0, cap=1, every=19, bits=16, grains=1024
            )
            run(int(count), 4, 50, 200, "replace", ten)
        case [*sizes, relation] if len(sizes) == 4:
            run(*map(int, sizes), relation)  # type: ignore[call-arg] # four sizes
        case _:
            sys.exit(__doc__)
