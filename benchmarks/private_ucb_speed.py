"""How long a run of PRIVATE-UCB takes on RiverSwim, and how long the paper's published code takes for one.

    python -m benchmarks.private_ucb_speed

All times are CPU seconds of one process, noise included. Compiling is timed by itself, in a fresh process
with an empty cache. With the environment variable PRIVATE_TABULAR_RL set to a checkout of
github.com/XingyuZhou989/PrivateTabularRL, its agents are timed in the same run, between ours, for fewer
episodes, and scaled as if their time were linear in the episodes. Without privacy it is. Under JDP an episode
draws noise in number as the logarithm of those before, under LDP it sums all noise so far: there the
linear scaling is a lower bound, in its favour. It pools its counts over the steps, so that our pooled rows
are like for like; the rows per step have H times the counters.

Both sides draw Laplace noise from numpy's generators in floating point: a simulation, whose released bits no
guarantee covers. The rows of agents are runs that may be deployed: integer noise that is exact to the bit, from the
operating system's entropy, and users who act one by one in a Gymnasium environment in Python, which is timed with them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import statistics
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import compile_seconds, cpu_seconds
from dpproof import agent
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.making import SwampedWarning
from dpproof.mechanisms.counting.streaming import StreamingTree
from dpproof.mechanisms.environments.gym import TabularEnv
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.constants import TUNED
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer

STATES, ACTIONS, HORIZON, EPISODES = 6, 2, 20, 20_000
REPEATS = 5
PEER_EPISODES = 300

_FIRST_CALL = (
    "from benchmarks.private_ucb_speed import run_seconds; print(run_seconds('VI', 'none', True, 2, 0))"
)
_TARGETS = {
    ("none", True): 500,
    ("JDP", True): 100,
    ("LDP", True): 100,
    ("JDP", False): 10,
    ("LDP", False): 10,
}
_SAMPLERS = {
    "none": "no noise",
    "JDP": "Laplace noise from numpy's generator, a simulation",
    "LDP": "Laplace noise from numpy's generator, a simulation",
}
_AGENTS = {"none": "", "JDP": "_JDP", "LDP": "_LDP"}
_LEARNERS: dict[str, Any] = {"VI": PrivateUCBVI, "PO": PrivateUCBPO}


def counts(privacy: str, pooled: bool, episodes: int) -> Any:
    """The privatizer of one kind of run: none, JDP or LDP."""
    sizes = (STATES, ACTIONS, HORIZON, episodes)
    if privacy == "JDP":
        return CentralPrivatizer(CentralCountsParameters(*sizes, printed_epsilon=1.0, pooled=pooled))
    if privacy == "LDP":
        return LocalPrivatizer(LocalCountsParameters(*sizes, printed_epsilon=1.0, pooled=pooled))
    return ExactCounts(*sizes, pooled)


def run_seconds(algorithm: str, privacy: str, pooled: bool, episodes: int, seed: int) -> float:
    """CPU seconds of one run, its noise drawn and exact regret computed in every episode."""
    learner = _LEARNERS[algorithm](counts(privacy, pooled, episodes), TUNED)
    swim = river_swim(STATES, HORIZON)
    return cpu_seconds(lambda: learner.run(swim, np.random.default_rng(seed)))


def peer_seconds(checkout: Path, agent: str, episodes: int) -> float:
    """CPU seconds of that many episodes of one of the published agents."""
    sys.path.insert(0, str(checkout / "src"))
    try:
        swim = importlib.import_module("environment").make_riverSwim()
        kind = getattr(importlib.import_module("agent"), agent)
        run = importlib.import_module("experiment").run_experiment
    finally:
        sys.path.pop(0)
    made = kind(swim.nState, swim.nAction, swim.epLen, episodes, privEps=1.0)
    with contextlib.redirect_stdout(io.StringIO()):
        return cpu_seconds(lambda: run(made, swim, episodes))


def rows() -> list[dict[str, Any]]:
    """One row per measurement: its name, the seconds, and how they were come by."""
    checkout = os.environ.get("PRIVATE_TABULAR_RL")
    table = [
        {
            "name": "PRIVATE-UCB compiling",
            "seconds": compile_seconds(_FIRST_CALL),
            "note": "first call, empty cache",
        }
    ]
    for algorithm in _LEARNERS:
        for privacy, suffix in _AGENTS.items():
            theirs = None
            if checkout:
                agent = f"UCB{algorithm}{suffix}"
                timed = [peer_seconds(Path(checkout), agent, PEER_EPISODES) for _ in range(3)]
                theirs = statistics.median(timed) * EPISODES / PEER_EPISODES
                note = f"{PEER_EPISODES} episodes, median of 3, scaled"
                table.append({"name": f"PrivateTabularRL {agent}", "seconds": theirs, "note": note})
            table += [_row(algorithm, privacy, pooled, theirs) for pooled in (True, False)]
            if privacy == "JDP":
                table.append(_agent_row(f"private-ucb-{algorithm.lower()}", theirs))
    return table


def _agent(algorithm: str) -> Agent:
    """A private agent without a seed, with the counters and the sampler that it chooses itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwampedWarning)
        return agent(
            algorithm, observations=STATES, actions=ACTIONS, episodes=EPISODES, horizon=HORIZON, epsilon=1,
            delta="1e-5", adjacency="replace", reward_range=(0, 1),
        )  # fmt: skip


def _agent_row(algorithm: str, theirs: float | None) -> dict[str, Any]:
    """The row of the agent whose algorithm is PrivateTabularRL's with JDP. The first run compiles."""
    env, runs = TabularEnv(river_swim(STATES, HORIZON)), [_agent(algorithm) for _ in range(4)]
    _, *timed = [cpu_seconds(lambda one=one: one.train(env)) for one in runs]
    ours, (counts,) = statistics.median(timed), runs[0].promise.releases
    if not isinstance(counts, BatchedCountsParameters):
        raise TypeError(f"{algorithm} has other counters: {counts}")
    drawn = f"exact rounded {counts.noise} noise from os.urandom on {counts.counter} counters"
    notes = ["pooled", f"median of {len(timed)}", drawn, "users one by one in Python"]
    if theirs is not None:
        notes.append(f"ratio {theirs / ours:.1f}, no target")
    return {"name": f"agent {algorithm}", "seconds": ours, "note": "; ".join(notes)}


def _row(algorithm: str, privacy: str, pooled: bool, theirs: float | None) -> dict[str, Any]:
    run_seconds(algorithm, privacy, pooled, 2 * HORIZON, 0)
    ours = statistics.median(run_seconds(algorithm, privacy, pooled, EPISODES, i) for i in range(REPEATS))
    target = _TARGETS.get((privacy, pooled))
    notes = ["pooled" if pooled else "per step", f"median of {REPEATS}", _SAMPLERS[privacy]]
    if theirs is not None:
        notes.append(f"ratio {theirs / ours:.0f}" + (f", target {target}" if target else ""))
    return {"name": f"PRIVATE-UCB-{algorithm} {privacy}", "seconds": ours, "note": "; ".join(notes)}


def memory_rows() -> list[dict[str, Any]]:
    """What the streaming trees of all counters of RiverSwim hold near the end of K users, in kibibytes."""
    table = []
    for users in (20_000, 10**9):
        parameters = CentralCountsParameters(STATES, ACTIONS, HORIZON, users, printed_epsilon=1.0)
        draws = np.random.default_rng(0)
        tracemalloc.start()
        tree = StreamingTree(parameters.leaves, parameters.counters, lambda n, r=draws: r.laplace(size=n))
        tree.skip(parameters.leaves - 1)
        tree.update(np.ones(parameters.counters))
        tree.release()
        held, peak = (size / 1024 for size in tracemalloc.get_traced_memory())
        tracemalloc.stop()
        each = tree.numbers_held / parameters.counters
        table.append(
            {"users": users, "counters": parameters.counters, "each": each, "held": held, "peak": peak}
        )
    return table


def epsilon_rows() -> list[dict[str, Any]]:
    """The epsilon that the printed noise gives at printed epsilon 1, with the CPU seconds it takes to say."""
    sizes = (STATES, ACTIONS, HORIZON, EPISODES)
    privatizers: dict[str, Any] = {
        f"CENTRAL, {base} log": CentralPrivatizer(CentralCountsParameters(*sizes, log_base=base))
        for base in ("natural", "binary")
    }
    privatizers["LOCAL"] = LocalPrivatizer(LocalCountsParameters(*sizes))
    table = []
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
        for name, privatizer in privatizers.items():
            begin = time.process_time()
            found = privatizer.account(adjacency).guarantee.epsilon(0)
            seconds = time.process_time() - begin
            named = f"{name}, {adjacency.value}"
            table.append({"name": named, "lower": found.lower, "upper": found.upper, "seconds": seconds})
    return table


def section() -> list[str]:
    """The lines of the benchmarks' page."""
    lines = ["## PRIVATE-UCB, CPU", "", "| what | seconds | note |", "|---|---|---|"]
    lines += [f"| {row['name']} | {row['seconds']:.3f} | {row['note']} |" for row in rows()]
    lines += ["", "## Printed noise of PRIVATE-UCB at printed epsilon 1, S=6, A=2, H=20, K=20000", ""]
    lines += ["| noise | certified epsilon, from | to | seconds |", "|---|---|---|---|"]
    lines += [
        f"| {row['name']} | {row['lower']:.9f} | {row['upper']:.9f} | {row['seconds']:.3f} |"
        for row in epsilon_rows()
    ]
    lines += ["", "## Memory of the streaming tree", ""]
    lines += ["| users K | counters | numbers a counter | KiB held | KiB at most |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['users']} | {row['counters']} | {row['each']:.0f} | {row['held']:.0f} | {row['peak']:.0f} |"
        for row in memory_rows()
    ]
    return lines


def main() -> None:
    """Print the rows."""
    for row in rows():
        print(f"{row['name']:<30} {row['seconds']:>9.3f} s   {row['note']}")


if __name__ == "__main__":
    main()
