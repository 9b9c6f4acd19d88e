"""How long one RLSVI run takes on RiverSwim, and how long the same run takes a peer in plain Python.

    python benchmarks/rlsvi_speed.py

All times are CPU seconds of one process. Compiling is timed by itself, in a fresh process with an empty
cache. With the environment variable TABULARL set to a checkout of github.com/iosband/TabulaRL whose `src/`
runs under this Python, its Gaussian PSRL agent (its closest to RLSVI: one model for all steps, two normals
per state and action) is timed on its own RiverSwim of the same size for fewer episodes, scaled linearly.
"""

from __future__ import annotations

import importlib
import os
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import compile_seconds, cpu_seconds
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI

STATES, ACTIONS, HORIZON, EPISODES = 6, 2, 20, 20_000
REPEATS = 7
PEER_EPISODES = 500

_FIRST_CALL = "from benchmarks.rlsvi_speed import run_seconds; print(run_seconds(1, 0))"


def run_seconds(episodes: int, seed: int) -> float:
    """CPU seconds of one run of that many episodes, with exact regret in every one."""
    learner = RLSVI(RLSVIParameters(STATES, ACTIONS, HORIZON, episodes))
    swim, rng = river_swim(STATES, HORIZON), np.random.default_rng(seed)
    return cpu_seconds(lambda: learner.run(swim, rng))


def peer_seconds(checkout: Path, episodes: int) -> float:
    """CPU seconds of that many episodes of the peer's agent, with sampled reward but no regret."""
    sys.path.insert(0, str(checkout / "src"))
    try:
        agents = importlib.import_module("finite_tabular_agents")
        swim = importlib.import_module("environment").make_riverSwim(epLen=HORIZON, nState=STATES)
    finally:
        sys.path.pop(0)
    agent = agents.GaussianPSRL(STATES, ACTIONS, HORIZON)
    return cpu_seconds(lambda: _live(agent, swim, episodes))


def rows() -> list[dict[str, Any]]:
    """One row per measurement: its name, the seconds, and how they were come by."""
    run_seconds(1, 0)
    ours = statistics.median(run_seconds(EPISODES, seed) for seed in range(REPEATS))
    size = f"S={STATES}, A={ACTIONS}, H={HORIZON}, K={EPISODES}"
    table: list[dict[str, Any]] = [
        {"name": "RLSVI run", "seconds": ours, "note": f"{size}; median of {REPEATS}, compiled before"},
        {
            "name": "RLSVI compiling",
            "seconds": compile_seconds(_FIRST_CALL),
            "note": "first call, empty cache",
        },
    ]
    if checkout := os.environ.get("TABULARL"):
        timed = (peer_seconds(Path(checkout), PEER_EPISODES) for _ in range(3))
        theirs = statistics.median(timed) * EPISODES / PEER_EPISODES
        note = f"{size}; {PEER_EPISODES} episodes, median of 3, scaled; ratio {theirs / ours:.0f}"
        table.append({"name": "TabulaRL Gaussian PSRL run", "seconds": theirs, "note": note})
    return table


def main() -> None:
    """Print the rows."""
    for row in rows():
        print(f"{row['name']:<28} {row['seconds']:>9.3f} s   {row['note']}")


def _live(agent: Any, environment: Any, episodes: int) -> None:
    for episode in range(1, episodes + 1):
        environment.reset()
        agent.update_policy(episode)
        goes_on = 1
        while goes_on:
            h, s = environment.timestep, environment.state
            action = agent.pick_action(s, h)
            reward, after, goes_on = environment.advance(action)
            agent.update_obs(s, action, reward, after, goes_on, h)


if __name__ == "__main__":
    main()
