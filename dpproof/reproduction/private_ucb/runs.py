"""Runs of all arms: noise that differs in scale only has the same draws, and so has the environment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.executors import journaled
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, Levels, Privatizer
from dpproof.reproduction.curves import Curves, kept
from dpproof.reproduction.private_ucb.arms import Arm, Size


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """A privatizer whose noise is given: that of another scale, multiplied."""

    privatizer: Privatizer
    blocks: Sequence[CountNoise]
    scale: float

    @property
    def parameters(self) -> Any:
        """The sizes."""
        return self.privatizer.parameters

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """The given blocks; `rng` is left as it is."""
        scale = np.float32(self.scale)
        for first, *families in self.blocks:
            yield CountNoise(first, *(family * scale for family in families))

    def levels(self, delta: float) -> Levels:
        """Those of the privatizer."""
        return self.privatizer.levels(delta)

    def printed_levels(self, delta: float) -> Levels:
        """Those of the privatizer."""
        return self.privatizer.printed_levels(delta)

    def account(self, adjacency: Adjacency) -> PrivacyResult:
        """That of the privatizer."""
        return self.privatizer.account(adjacency)


def run_arms(
    environment: TabularMDP, arms: Sequence[Arm], size: Size, seed: int, workers: int
) -> dict[str, NDArray[np.float64]]:
    """Cumulative regrets of every arm, (runs, points), by its name; the last point is the total.

    Run i's randomness is child i of `SeedSequence(seed)`, whatever the number of workers.
    """
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(arm.paths, []).append(arm)
    children = np.random.SeedSequence(seed).spawn(size.seeds)
    tasks = [(group, child) for group in groups.values() for child in children[: size.runs(group[0])]]
    with ThreadPoolExecutor(workers) as pool:
        executor = journaled(pool) or pool
        found = list(executor.map(partial(_run_group, environment), *zip(*tasks, strict=True)))
    curves: dict[str, list[NDArray[np.float64]]] = {}
    for part in found:
        for name, curve in part.items():
            curves.setdefault(name, []).append(curve)
    return {name: np.array(rows) for name, rows in curves.items()}


def _run_group(
    environment: TabularMDP, arms: Sequence[Arm], child: np.random.SeedSequence
) -> dict[str, NDArray[np.float64]]:
    """One run of every arm, over one set of draws."""
    unit = arms[0].privatizer
    drawn = unit.noise(_generator(child))
    blocks = [CountNoise(first, *(np.array(family) for family in rest)) for first, *rest in drawn]
    curves = {}
    for arm in arms:
        shared = SharedNoise(arm.privatizer, blocks, _scale(arm.privatizer) / _scale(unit))
        regrets = arm.learner(shared).run(environment, _generator(child)).regrets
        curves[arm.name] = kept(regrets)
    return curves


def _generator(child: np.random.SeedSequence) -> np.random.Generator:
    """A generator from a copy of the seed: a learner spawns from it, and a seed remembers its children."""
    return np.random.default_rng(np.random.SeedSequence(child.entropy, spawn_key=child.spawn_key))


def _scale(privatizer: Any) -> float:
    """The scale of a privatizer's noise, in the unit of all arms of equal paths."""
    p = privatizer.parameters
    if hasattr(p, "used_scale"):
        return float(p.used_scale())
    return float(getattr(p, "sigma", 1.0))


FAILED: Final = 0.25
"""A run has failed when its regret is above this share of never learning."""


def rows(arms: Sequence[Arm], curves: Curves, never: float, seed: int) -> list[dict[str, Any]]:
    """One row an arm: what it is, its certified epsilon, and the law of its total regret over the runs.

    `never` is the regret of never learning, `seed` the root of the runs.
    """
    found = []
    for arm in arms:
        totals = curves[arm.name][:, -1]
        found.append(
            {
                "algorithm": arm.algorithm,
                "counts": arm.trust,
                "group": arm.group.value,
                "epsilon": arm.epsilon if np.isfinite(arm.epsilon) else None,
                "certified_epsilon": arm.true_epsilon(),
                "delta": float(arm.delta) if np.isfinite(arm.epsilon) else None,
                **_law(totals, never),
                "seeds": len(totals),
                "root": seed,
            }
        )
    return found


def _law(totals: NDArray[np.float64], never: float) -> dict[str, float]:
    """Mean, standard error, deviation, quantiles, maximum and share of failures of total regrets."""
    deviation = float(totals.std(ddof=1)) if len(totals) > 1 else 0.0
    low, median, high = map(float, np.quantile(totals, [0.1, 0.5, 0.9]))
    return {
        "regret": float(totals.mean()),
        "standard_error": deviation / math.sqrt(len(totals)),
        "deviation": deviation,
        "low": low,
        "median": median,
        "high": high,
        "worst": float(totals.max()),
        "failed": float((totals > FAILED * never).mean()),
    }
