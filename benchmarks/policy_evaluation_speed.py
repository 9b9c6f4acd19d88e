"""Seconds of policy evaluation's parts: certified deltas, first-visit statistics, smooth bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np

TARGETS = ((1, "1e-6", 1), (1, "1e-6", 40), ("0.1", "0.1", 40), (5, "1e-6", 1000))
TRAJECTORIES, STEPS, STATES = 1_000_000, 100, 1_000


def rows() -> list[dict[str, Any]]:
    """What, wall-clock seconds (the least of five, or of two where it takes long), and the target."""
    return [*_deltas(), *_statistics()]


def _row(name: str, work: Callable[[], object], limit: float, times: int = 5) -> dict[str, Any]:
    work()  # compiled, and its tables made
    return {
        "name": name,
        "seconds": min(_seconds(work) for _ in range(times)),
        "note": f"target below {limit:g} s",
    }


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _deltas() -> list[dict[str, Any]]:
    return [
        _row(f"delta of the printed constants at {', '.join(map(str, target))}", _delta(*target), 0.05)
        for target in TARGETS
    ]


def _delta(epsilon: Any, delta: Any, dimension: int) -> Callable[[], object]:
    """At an epsilon a little larger each time, so that nothing is remembered."""
    from dpproof.accountant.rl.policy_evaluation.noise import guarantee_of, printed

    noise = guarantee_of(printed(epsilon, delta, dimension), dimension)
    points = (Fraction(epsilon) * (1 + Fraction(step, 10**9)) for step in count())
    return lambda: noise.delta(next(points))


def _statistics() -> list[dict[str, Any]]:
    from dpproof.accountant.claims.episodes import Episodes
    from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, WeightedBound
    from dpproof.mechanisms.rl.policy_evaluation.data import first_visits

    rng = np.random.default_rng(0)
    shape = (TRAJECTORIES, STEPS)
    states = (rng.random(shape) ** 2 * STATES).astype(np.int64)
    batch = Episodes.rectangular(states, np.zeros(shape, np.int64), rng.random(shape))
    found = first_visits(batch, STATES, 0.99)
    apart, even = rng.permutation(TRAJECTORIES)[:100_000], np.full(STATES, 1 / STATES)
    many = np.full(len(apart), 1 / len(apart))
    size = f"{TRAJECTORIES:,} trajectories of {STEPS} steps, {STATES:,} states"
    return [
        _row(f"first-visit statistics, {size}", lambda: first_visits(batch, STATES, 0.99), 5, 2),
        _row("psi of DP-LSW on them", lambda: WeightedBound(found.visits, even).squared(1e-3), 1),
        _row(
            "psi of DP-LSL on them",
            lambda: RidgeBound(found.visits, even, TRAJECTORIES, 0.1).squared(1e-3),
            1,
        ),
        *_releases(found),
        _row(
            "psi of DP-LSW, 100,000 states of different visits",
            lambda: WeightedBound(apart, many).squared(1e-3),
            5,
            2,
        ),
    ]


def _releases(found: Any) -> list[dict[str, Any]]:
    """Theta in rationals, the noise and its draws, once the constants are known; and draws alone."""
    from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
    from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW

    target: dict[str, Any] = {"states": STATES, "epsilon": 1.0, "delta": 1e-6}
    models = DPLSW(**target), DPLSL(ridge=2000.0, **target)
    releases = [
        _row(f"{type(model).__name__} on them, exactly", partial(model.fit, found), 2, 2) for model in models
    ]
    means, variances = [Fraction(1, 3)], [Fraction(4)]
    drawn = partial(rounded_gaussian, means, variances, -20, times=1_000_000)
    return [*releases, _row("a million draws of rounded Gaussian noise", drawn, 5, 2)]


if __name__ == "__main__":
    for row in rows():
        print(f"{row['name']}: {row['seconds']:.4f} s ({row['note']})")
