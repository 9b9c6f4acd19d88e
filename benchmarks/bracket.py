"""Measured lower bounds on epsilon beside the limit of tests: ``python -m benchmarks.bracket [SEEDS] [SAMPLES]``.

The Gaussian mechanism and DP-SGD at delta 1e-5, confidence 95 %, 100,000 samples unless given. A sample of DP-SGD is
a whole run.
The seeds are 0, 1, 2 and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpproof import calibrate
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.target import Subject
from dpproof.audits.targets.primitive import bracketed

DELTA, ALPHA = "1e-5", 0.05
RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gaussian", "by-sensitivity", {}),
    ("dp-sgd", "add-remove", {"sampling_rate": 0.25, "steps": 16}),
)


def rows(seeds: int, samples: int) -> Iterator[str]:
    """Yield a line of the table for each mechanism and epsilon."""
    for name, relation, given in RUNS:
        for epsilon in (1, 4, 10):
            asked: Any = {**given, "adjacency": relation, "target_epsilon": epsilon, "target_delta": DELTA}
            noise = float(calibrate(name, **asked).noise)  # type: ignore[call-overload]  # names of mechanisms are not literals here
            accountant = accountant_for(name)
            parameters = accountant.parameters.read({**given, accountant.noise: noise})
            about = Subject(name, parameters, Adjacency.of(relation))
            found = [
                bracketed(about, float(DELTA), alpha=ALPHA, seed=seed, samples=samples)
                for seed in range(seeds)
            ]
            lower, limit = np.array([one.lower for one in found]), found[0].limit
            family = np.array([one.given_family for one in found], dtype=float)
            true = found[0].claimed
            yield (
                f"| {name} | {epsilon} | {limit / true:.3f} | {lower.mean() / true:.3f} | {np.median(lower) / true:.3f}"
                f" | {lower.mean() / limit:.3f} | {np.median(family) / true:.3f} |"
                f" {(lower > true).sum()} and {(family > true).sum()} of {seeds} |"
            )


if __name__ == "__main__":
    print(
        "| mechanism | epsilon | limit | mean | median | mean / limit | median, given the family | above epsilon |"
    )
    print("|---|---|---|---|---|---|---|---|")
    given = [int(argument) for argument in sys.argv[1:]]
    for line in rows(*given, *(40, 100_000)[len(given) :]):
        print(line, flush=True)
