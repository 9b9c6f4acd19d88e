"""What the default scores cost: samples until a violation is found, beside an audit without the small shares.

Low bits and whole outputs have a share of the bets by default. Each seed is audited twice, with the default
scores and with the main ones alone, on violations that the main ones see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.audit_power import BITS, Draw, gaussian, laplace, response
from benchmarks.audits.rows import Row
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit

ALPHA, DELTA, SIGMA = 0.01, 1e-5, 3.730632
RUNS, TOGETHER, BUDGET = 100, 10, 1_000_000


@dataclass(frozen=True)
class Cost:
    """A violation, and the names of the scores that see it."""

    name: str
    curve: PrivacyCurve
    delta: float
    draw: Any
    main: tuple[str, ...]
    pair: Neighbours = BITS


def _counts(value: float, n: int, rng: np.random.Generator) -> Any:
    """A count with geometric noise of epsilon 2."""
    chance = 1 - np.exp(-2.0)
    return int(value) + rng.geometric(chance, n) - rng.geometric(chance, n)


def _beside(draw: Draw, others: int) -> Any:
    """The same beside so many numbers that do not depend on the input."""

    def drawn(value: float, n: int, rng: np.random.Generator) -> Any:
        return np.column_stack([draw(value, n, rng), *(draw(0.0, n, rng) for _ in range(others))])

    return drawn


COSTS = {
    cost.name: cost
    for cost in (
        Cost("Laplace 1 -> 1.5", PureDP(1), 0.0, laplace(1.5), ("identity",)),
        Cost("Laplace 1 -> 2", PureDP(1), 0.0, laplace(2), ("identity",)),
        Cost(
            "Gaussian curve, 0.5 of the noise",
            GaussianDP(1 / SIGMA),
            DELTA,
            gaussian(2 / SIGMA),
            ("identity",),
        ),
        Cost("randomised response 1 -> 1.5", PureDP(1), 0.0, response(1.5), ("identity",)),
        Cost("geometric 1 -> 2", PureDP(1), 0.0, _counts, ("identity",)),
        Cost("Laplace 1 -> 2, five numbers", PureDP(1), 0.0, _beside(laplace(2), 4), ("linear", "atoms")),
        Cost("geometric 1 -> 2, five numbers", PureDP(1), 0.0, _beside(_counts, 4), ("linear", "atoms")),
    )
}


def tasks(known: Sequence[Row], runs: int | None = None) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What is left to do."""
    for name in COSTS:
        done = {row["seed"] for row in known if row["cost"] == name}
        left = [seed for seed in range(runs or RUNS) if seed not in done]
        yield from ((name, tuple(left[at : at + TOGETHER])) for at in range(0, len(left), TOGETHER))


def measured(name: str, seeds: tuple[int, ...]) -> list[Row]:
    """Audit a violation with each seed, with all default scores and with the main ones."""
    return [{"cost": name, "seed": seed, **_both(COSTS[name], seed)} for seed in seeds]


def _both(cost: Cost, seed: int) -> Row:
    found = [
        audit(
            cost.name,
            cost.curve,
            cost.draw,
            cost.pair,
            scores,
            seed=seed,
            delta=cost.delta,
            alpha=ALPHA,
            budget=BUDGET,
        )
        for scores in (None, cost.main)
    ]
    refuted = [one.verdict is Finding.VIOLATION for one in found]
    return {"default": found[0].samples, "main": found[1].samples, "refuted": refuted}
