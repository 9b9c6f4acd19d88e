"""How long SDP-PE takes: a run of 20,000 episodes, its parts, and the accountant of its noise.

    python -m benchmarks.sdp_pe_speed

All times are CPU seconds of one process, on RiverSwim with X = 4, A = 2, H = 6: 262,144 policies differ.
A first private run finds the noise of each batch; further runs of the same privatizer have it. Compiling is
timed by itself, in a fresh process with an empty cache.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.timing import compile_seconds, cpu_seconds
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.accountant.rl.sdp_pe.shuffled_count import ACCOUNTANT, ShuffledCountParameters
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold
from dpproof.accountant.shuffling.view import BinomialView
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.coverage import cover
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer

STATES, HORIZON, EPISODES, REPEATS = 4, 6, 20_000, 5
TARGET = 5.0
_FIRST_CALL = "from benchmarks.sdp_pe_speed import run_seconds; print(run_seconds(60, 0))"


def run_seconds(episodes: int, seed: int, learner: SDPPE | None = None) -> float:
    """CPU seconds of one run, without privacy where no learner is given."""
    learner = learner or SDPPE(NoPrivacy(), episodes)
    swim = river_swim(STATES, HORIZON)
    return cpu_seconds(lambda: learner.run(swim, np.random.default_rng(seed)))


def rows() -> list[dict[str, Any]]:
    """One row per measurement: its name, the seconds, and how they were come by."""
    table = [
        *accounting_rows(),
        {
            "name": "SDP-PE compiling",
            "seconds": compile_seconds(_FIRST_CALL),
            "note": "first call, empty cache",
        },
    ]
    run_seconds(60, 0)
    table += [*_parts(), _row("PE, one run", SDPPE(NoPrivacy(), EPISODES))]
    for epsilon in ("0.1", "1"):
        learner = SDPPE(ShufflePrivatizer.calibrated(epsilon, "1e-6"), EPISODES)
        name = f"SDP-PE, epsilon {epsilon}, one run"
        first = run_seconds(EPISODES, 0, learner)
        table.append({"name": f"{name}, noise sought", "seconds": first, "note": "the first run"})
        table.append(_row(name, learner))
    return table


def accounting_rows() -> list[dict[str, Any]]:
    """The exact hockey-stick of 10^9 users, the least thresholds of a counter and of a batch."""
    chance = Fraction(283, 10**8)
    shape, start = ReleaseShape(HORIZON, STATES, 2), ShuffledCountParameters(278_566, 1.0, "bits")
    parts: list[tuple[str, Callable[[], object], str]] = [
        ("exact hockey-stick, 10^9 users", lambda: BinomialView(10**9, chance).delta("0.1"), "target 0.1 s"),
        ("least threshold of a counter", lambda: _least(start), "278566 users, epsilon 0.1, delta 1e-6"),
        (
            "least threshold of a batch",
            lambda: batch_threshold.__wrapped__(shape, 5000, "1", "1e-6"),
            "5000 users, epsilon 1, 36 changed counters",
        ),
    ]
    found = []
    for name, work, note in parts:
        work()
        seconds = statistics.median(cpu_seconds(work) for _ in range(REPEATS))
        found.append({"name": name, "seconds": seconds, "note": f"{note}, median of {REPEATS}"})
    return found


def _least(start: ShuffledCountParameters) -> object:
    return ACCOUNTANT.least_noise(start, Adjacency.REPLACE, "0.1", "1e-6")


def _parts() -> list[dict[str, Any]]:
    """All policies evaluated, and the covering mixture of all of them."""
    swim = river_swim(STATES, HORIZON)
    space = PolicySpace.of(swim)
    law = space.reduced(np.broadcast_to(swim.transitions, (HORIZON, STATES, swim.actions, STATES)))
    rewards = space.reduced(np.broadcast_to(swim.rewards, (HORIZON, STATES, swim.actions)))
    tables, active = np.empty(int(space.layout.offsets[-1])), np.ones(space.count, np.bool_)
    parts: list[tuple[str, Callable[[], object]]] = [
        ("values of all policies", lambda: kernels.all_values(space.layout, law, rewards, tables)),
        ("covering mixture", lambda: cover(space, law, active)),
    ]
    found = []
    for name, work in parts:
        work()
        seconds = statistics.median(cpu_seconds(work) for _ in range(21))
        found.append({"name": name, "seconds": seconds, "note": f"{space.count} policies, median of 21"})
    return found


def _row(name: str, learner: SDPPE) -> dict[str, Any]:
    ours = statistics.median(run_seconds(EPISODES, i, learner) for i in range(REPEATS))
    note = f"{EPISODES} episodes, median of {REPEATS}, target {TARGET:g} s"
    return {"name": name, "seconds": ours, "note": note}


def main() -> None:
    """Print the rows."""
    for row in rows():
        print(f"{row['name']:<36} {row['seconds']:>9.4f} s   {row['note']}")


if __name__ == "__main__":
    main()
