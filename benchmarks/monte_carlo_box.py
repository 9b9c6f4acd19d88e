"""Simulated epsilons over a box: ``python -m benchmarks.monte_carlo_box``; false answers with ``--misses``.

The box was written before anything in it was measured. Target: an interval at delta = 1e-6 that is at most 0.02
wide, with confidence 1 - 1e-9, from at most 1e7 samples for each pair of laws. ``--misses`` makes 1,000 runs at
alpha = .05 in each of three cases with a known epsilon, and counts intervals that miss it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from dpproof import account
from dpproof.accountant.simulated.allocation import Allocation
from dpproof.accountant.simulated.participation import MinSeparation
from dpproof.accountant.simulated.simulate import simulate
from dpproof.accountant.simulated.training import TrainingRun

WIDTH, MOST, DELTA, SEED = 0.02, 10**7, "1e-6", 23
BANDS = (1.0, 0.5, 0.375, 0.3125)
"""The first coefficients of the square root of prefix sums."""
RUNS = 1000


def box() -> Iterator[tuple[str, TrainingRun, str]]:
    """Yield a name, a run and a relation for each point."""
    for steps in (1, 10, 100, 1000):
        for noise in (0.5, 1.0, 2.0):
            run = TrainingRun(MinSeparation(steps, steps), noise)
            yield f"one of {steps}, noise {noise}", run, "add-remove"
    for noise in (1.0, 2.0):
        for steps in (1, 10):
            run = TrainingRun(MinSeparation(steps, steps), noise)
            yield f"one of {steps}, noise {noise}", run, "replace"
    for separation, rate in ((5, 0.05), (5, 0.5), (10, 0.1), (16, 0.1)):
        for noise in (1.0, 2.0, 4.0):
            law = MinSeparation(128, separation, rate)
            yield (
                f"128 steps, separation {separation}, rate {rate}, noise {noise}",
                TrainingRun(law, noise),
                "add-remove",
            )
    for separation, rate in ((4, 0.1), (8, 0.1), (8, 1.0), (32, 1.0)):
        for noise in (2.0, 4.0):
            run = TrainingRun(MinSeparation(128, separation, rate), noise, BANDS)
            yield (
                f"128 steps, 4 bands, separation {separation}, rate {rate}, noise {noise}",
                run,
                "add-remove",
            )
    for uses in (2, 5, 10):
        yield f"{uses} of 100, noise 2.0", TrainingRun(Allocation(100, uses), 2.0), "add-remove"


def measure(part: str) -> None:
    """Print one row of a table for each point whose name contains a text."""
    print(
        "| run | relation | epsilon, at least | at most | width | samples | seconds |\n|---|---|---|---|---|---|---|"
    )
    for name, run, relation in (one for one in box() if part in one[0]):
        start = time.process_time()
        found = simulate(run, relation, delta=DELTA, samples=MOST, tolerance=WIDTH, seed=SEED)
        spent = time.process_time() - start
        row = [
            f"{found.lower:.4f}",
            f"{found.upper:.4f}",
            f"{found.width:.4f}",
            f"{found.samples:,}",
            f"{spent:.0f}",
        ]
        print(f"| {name} | {relation} | {' | '.join(row)} |", flush=True)


def misses() -> None:
    """Print how many of 1,000 intervals at alpha = .05 miss a known epsilon."""
    cases = {
        "gaussian": (TrainingRun(MinSeparation(1, 1), 1.0), account("gaussian", sigma=1)),
        "all of three": (TrainingRun(Allocation(3, 3), 2.0), account("gaussian", sigma=2, compositions=3)),
        "poisson": (
            TrainingRun(MinSeparation(10, 1, 0.1), 2.0),
            account("dp-sgd", sampling_rate=0.1, noise_multiplier=2, steps=10, adjacency="add-remove"),
        ),
    }
    for name, (run, known) in cases.items():
        exact = known.epsilon("1e-4")
        found = [
            simulate(run, "add-remove", delta="1e-4", alpha="0.05", samples=2**14, seed=seed)
            for seed in range(RUNS)
        ]
        missed = sum(one.upper < exact.lower or one.lower > exact.upper for one in found)
        middle = sorted(one.width for one in found)[RUNS // 2]
        print(
            f"{name}: {missed} of {RUNS} miss epsilon {exact.upper:.4f}; median width {middle:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="count intervals that miss")
    parser.add_argument("--part", default="", help="measure only points whose name contains this text")
    given = parser.parse_args()
    misses() if given.misses else measure(given.part)
