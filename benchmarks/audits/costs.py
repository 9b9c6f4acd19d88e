"""What a default audit of a sound mechanism costs, in processor seconds, before and after edition 4.

Since edition 4 the power is also measured in further classes of events. Edition 3 measures the needed ones alone.

    python -m benchmarks.audits.costs
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.audit_power import BITS
from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.targets.call import audit

EDITIONS = (3, 4)
DELTA = 1e-5
Draw = Callable[[float, int, np.random.Generator], Any]


def _laplace(value: float, n: int, rng: np.random.Generator) -> Any:
    return value + rng.laplace(0, 1, n)


def _histogram(value: float, n: int, rng: np.random.Generator) -> Any:
    """Ten counts, two of which change by 1 between the inputs."""
    counts = np.full(10, 2.0)
    counts[[0, 9]] += [-value, value]
    return counts + rng.laplace(0, 2, (n, 10))


def _gaussian(value: float, n: int, rng: np.random.Generator) -> Any:
    """Twenty sums, which change by 1 in Euclidean norm."""
    return value / np.sqrt(20) + rng.normal(0, 1 / gaussian_mu(1, DELTA), (n, 20))


CASES: Mapping[str, tuple[Draw, PrivacyCurve, float]] = {
    "Laplace, one number": (_laplace, PureDP(1), 0.0),
    "noisy histogram of 10 counts": (_histogram, PureDP(1), 0.0),
    "Gaussian in d = 20": (_gaussian, ApproxDP(1, DELTA), DELTA),
}


def main() -> None:
    """Print the table."""
    print(
        "| mechanism | edition | answer without bits | detections, class by class | seconds |\n"
        + "|---" * 5
        + "|"
    )
    for name, (draw, curve, delta) in CASES.items():
        for edition in EDITIONS:
            begun = time.process_time()
            found = audit(name, curve, draw, BITS, seed=0, delta=delta, edition=edition)
            seconds = time.process_time() - begun
            seen = ", ".join(f"{one['seen']} of {one['runs']}" for one in found.power.values())
            answer = found.without_bits or found.verdict
            print(f"| {name} | {edition} | {answer.value} | {seen} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
