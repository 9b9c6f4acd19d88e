"""Runs of the arms, in processes: every arm's i-th run has the i-th child of the seed, whoever runs it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view
from dpproof.accountant.shuffling.view import BinomialView
from dpproof.mechanisms.rl.sdp_pe.agent import StageReport
from dpproof.mechanisms.rl.sdp_pe.batches import schedule
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.reproduction.curves import kept
from dpproof.reproduction.sdp_pe.arms import BETA, Arm, Kind, environment_of, learner_of


@dataclass(frozen=True, eq=False)
class Found:
    """The runs of one arm.

    Attributes:
        curves: cumulative regret (seeds, points).
        switches: for each seed, how often the policy changed; of an optimist, how often its regret did, which
            is no more.
        stages: each seed's reports; empty for an optimist.
        noise: standard deviation of a counter of the longest fine release; None without shuffling.
        certified: an epsilon that all releases keep at beta; None without shuffling.
    """

    curves: NDArray[np.float64]
    switches: tuple[int, ...]
    stages: tuple[tuple[StageReport, ...], ...]
    noise: float | None
    certified: float | None


def run_arms(chosen: Sequence[Arm], seeds: int, seed: int, executor: Executor | None) -> dict[str, Found]:
    """All runs of all arms, by the arm's name; arms whose noise is the same share a process."""
    groups: dict[tuple[str, float, bool], list[Arm]] = {}
    for arm in chosen:
        groups.setdefault((arm.problem, arm.epsilon or 0.0, arm.kind is Kind.SUMMED), []).append(arm)
    # the least noise of rare bits takes longest to find, and it is needed where epsilon is large
    order = sorted(groups, key=lambda key: -key[1])
    tasks = [(groups[key], seeds, seed) for key in order]
    parts = map(_run_group, tasks) if executor is None else executor.map(_run_group, tasks)
    found = {
        arm.name: result
        for key, part in zip(order, parts, strict=True)
        for arm, result in zip(groups[key], part, strict=True)
    }
    return {arm.name: found[arm.name] for arm in chosen}


def _run_group(task: tuple[Sequence[Arm], int, int]) -> list[Found]:
    return [_run_arm(arm, *task[1:]) for arm in task[0]]


def _run_arm(arm: Arm, seeds: int, seed: int) -> Found:
    learner = learner_of(arm)
    runs = []
    for child in np.random.SeedSequence(seed).spawn(seeds):
        problem, play = child.spawn(2)
        environment = environment_of(arm, np.random.default_rng(problem))
        runs.append(learner.run(environment, np.random.default_rng(play)))
    curves = np.array([kept(run.regrets) for run in runs])
    switches = tuple(getattr(run, "switches", _changes(run.regrets)) for run in runs)
    stages = tuple(getattr(run, "stages", ()) for run in runs)
    return Found(curves, switches, stages, *_promised(arm, learner))


def _changes(regrets: NDArray[np.float64]) -> int:
    return int((np.diff(regrets) != 0).sum())


def _promised(arm: Arm, learner: Any) -> tuple[float | None, float | None]:
    """The noise of the longest fine release, and an epsilon that all releases of a run keep."""
    if arm.epsilon is None or not arm.kind.value.startswith("SDP-PE"):
        return None, None
    environment = environment_of(arm, np.random.default_rng(0))
    H, X, A = environment.horizon, environment.states, environment.actions
    stages = schedule(arm.episodes, H, learner.constants.first)
    fine, crude = ReleaseShape(H, X, A), ReleaseShape(1, X, A, rewards=False)
    users = {fine: {stage.fine + stage.auxiliary for stage in stages}}
    users[crude] = {n for stage in stages for n in stage.layers if n > 0}
    privatizer = learner.privatizer
    last = _noise(privatizer, fine, max(users[fine]))
    chance = float(last.probability)
    deviation = math.sqrt(last.trials * chance * (1 - chance))
    if arm.kind is not Kind.PRINTED:
        return deviation, arm.epsilon
    weakest = [pair for shape, sizes in users.items() for pair in _weakest(privatizer, shape, sizes)]
    return deviation, max(privatizer.account(*pair).epsilon(BETA).upper for pair in weakest)


def _noise(privatizer: ShufflePrivatizer, shape: ReleaseShape, users: int) -> BinomialView:
    return view(ShuffledCountParameters(users, privatizer.threshold(shape, users), "bits"))


def _weakest(
    privatizer: ShufflePrivatizer, shape: ReleaseShape, sizes: set[int]
) -> list[tuple[ReleaseShape, int]]:
    """The releases that may promise least: of those with fair bits the one of fewest bits, all others."""
    noise = {users: _noise(privatizer, shape, users) for users in sizes}
    fair = [users for users in sizes if noise[users].probability == Fraction(1, 2)]
    least = sorted(fair, key=lambda users: noise[users].trials)[:1]
    return [(shape, users) for users in [*least, *sorted(sizes - set(fair))]]


def rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """One row an arm; regrets and switches are means over the seeds."""
    return [_row(arm, found[arm.name]) for arm in arms]


def _row(arm: Arm, runs: Found) -> dict[str, Any]:
    totals = runs.curves[:, -1]
    kept = [stages[-1].optimal_stays for stages in runs.stages if stages]
    return {
        "problem": arm.problem,
        "algorithm": arm.kind.value,
        "epsilon": arm.epsilon,
        "certified_epsilon": arm.epsilon if runs.certified is None else runs.certified,
        "delta": None if arm.epsilon is None else float(BETA),
        "noise": runs.noise,
        "regret": float(totals.mean()),
        "deviation": float(totals.std(ddof=1)) if len(totals) > 1 else 0.0,
        "worst": float(totals.max()),
        "switches": float(np.mean(runs.switches)),
        "stages": len(runs.stages[0]) or None,
        "optimal_stays": float(np.mean(kept)) if kept else None,
        "seeds": len(totals),
    }


def stage_rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """One row for each stage of each arm that eliminates: means over the seeds."""
    return [
        {
            "problem": arm.problem,
            "algorithm": arm.kind.value,
            "epsilon": arm.epsilon,
            "stage": number + 1,
            "length": reports[0].length,
            "level": float(np.mean([report.level for report in reports])),
            "infrequent": float(np.mean([report.infrequent for report in reports])),
            "coverage_gap": max(report.coverage_gap for report in reports),
            "threshold": float(np.mean([report.threshold for report in reports])),
            "active": float(np.mean([report.active for report in reports])),
            "optimal_stays": float(np.mean([report.optimal_stays for report in reports])),
            "worst_regret": float(np.mean([report.worst_regret for report in reports])),
        }
        for arm in arms
        for number, reports in enumerate(zip(*found[arm.name].stages, strict=True))
    ]
