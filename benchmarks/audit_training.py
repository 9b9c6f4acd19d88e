"""Audits of learning algorithms, measured: one run against many steps. `python -m benchmarks.audit_training`.

Every figure is measured here; equal seeds give equal figures. The published one-run bound (Steinke, Nasr and
Jagielski, arXiv:2305.08846, Theorem 5.2) is computed beside ours, with scipy's binomial, for comparison only.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.audits.engine.betting.curves import curve_points
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.sampling.callables import generator
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from dpproof.audits.training.dp_sgd import Loop, LoopAudit, Settings, View, step_claim, view_scores
from dpproof.audits.training.guesses import Guesses, guess, guess_counts
from dpproof.audits.training.one_run_audit import one_run_epsilon_lower, one_run_refutes, refuted_scale
from dpproof.audits.training.steps import Training, labelled_steps

DELTA, ALPHA = 1e-5, 0.01
CLAIMED = 3.730632
"""The noise of a Gaussian mechanism that is (1, 1e-5)-DP."""


def published_tail(found: Guesses, epsilon: float, delta: float) -> float:
    """The published bound on the chance of so many right guesses."""
    law = stats.binom(found.guesses, 1 / (1 + math.exp(-epsilon)))
    away = np.arange(1, found.right + 1)
    most = float((np.cumsum(law.pmf(found.right - away)) / away).max(initial=0.0))
    return float(law.sf(found.right - 1)) + 2 * found.canaries * delta * most


def published_lower(found: Guesses, alpha: float) -> float:
    """The epsilon that the published bound refutes."""
    low, high = 0.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if published_tail(found, middle, DELTA) <= alpha else (low, middle)
    return low


def ideal(m: int, noise: float, rng: np.random.Generator) -> list[Guesses]:
    """Guesses about m canaries that do not disturb each other, one outcome for each number of guesses."""
    coins = rng.random(m) < 0.5
    scores: NDArray[np.float64] = coins + rng.normal(0, noise, m)
    return [guess(scores, coins, number) for number in guess_counts(m)]


def one_run_rows(seeds: int) -> Iterator[str]:
    """Mean lower bounds on epsilon at 1e-5, with confidence 99 %, the level split over numbers of guesses."""
    yield "| true epsilon | canaries | published point | our point | our curve (as a Gaussian) |"
    yield "|---|---|---|---|---|"
    for true, factor in ((1.0, 1.0), (2.155, 0.5)):
        for m in (1_000, 10_000, 100_000):
            found = [_bounds(ideal(m, CLAIMED * factor, generator(seed, 90))) for seed in range(seeds)]
            published, point, curve = np.mean(found, axis=0)
            yield f"| {true} | {m} | {published:.3f} | {point:.3f} | {curve:.3f} |"


def _bounds(outcomes: list[Guesses]) -> tuple[float, float, float]:
    level = ALPHA / len(outcomes)
    scale = max(refuted_scale(GaussianDP, outcome, level, 4.0) for outcome in outcomes)
    return (
        max(published_lower(outcome, level) for outcome in outcomes),
        max(one_run_epsilon_lower(outcome, DELTA, level) for outcome in outcomes),
        GaussianDP(scale).epsilon(DELTA).upper if scale else 0.0,
    )


def one_run_alarms(seeds: int, m: int = 1_000) -> str:
    """How often a sound Gaussian mechanism, exactly on its claim, is called a violation in one run."""
    claim = GaussianDP(1 / CLAIMED)
    alarms = 0
    for seed in range(seeds):
        outcomes = ideal(m, CLAIMED, generator(seed, 91))
        alarms += any(one_run_refutes(outcome, claim, ALPHA / len(outcomes)) for outcome in outcomes)
    return f"One run of {m} ideal canaries, sound: {alarms} alarms in {seeds} seeds at level {ALPHA}."


CAUGHT: tuple[tuple[Settings, View, float, int], ...] = (
    (Settings(variant="half noise"), View.STEP, DELTA, 2_000),
    (Settings(variant="half noise", noise_multiplier=2.0), View.STEP, DELTA, 2_000),
    (Settings(variant="half noise", sampling_rate=0.5), View.STEP, DELTA, 2_000),
    (Settings(variant="no clipping"), View.STEP, DELTA, 2_000),
    (Settings(variant="unscaled noise"), View.STEP, DELTA, 2_000),
    (Settings(variant="batch clipping"), View.STEP, DELTA, 2_000),
    (Settings(variant="shuffled batches", sampling_rate=0.25, noise_multiplier=0.2), View.EPOCH, 0.3, 500),
    (Settings(variant="half noise", noise_multiplier=3.0), View.TRACE, DELTA, 500),
    (Settings(variant="half noise", noise_multiplier=3.0), View.FINAL, DELTA, 500),
)


def fault_rows(seeds: int) -> Iterator[str]:
    """Coins until the violation is seen."""
    yield "| fault | view | rate, noise | seen | coins, mean / largest |"
    yield "|---|---|---|---|---|"
    for settings, view, delta, budget in CAUGHT:
        found = [audit(LoopAudit(settings, view), seed=s, delta=delta, budget=budget) for s in range(seeds)]
        coins = [e.samples for e in found if e.verdict is Finding.VIOLATION]
        shown = f"{np.mean(coins):.0f} / {max(coins)}" if coins else "-"
        noise = f"{settings.sampling_rate:g}, {settings.noise_multiplier:g}"
        yield f"| {settings.variant} | {view.value} | {noise} | {len(coins)} of {seeds} | {shown} |"


SOUND: tuple[tuple[Settings, View, float, int], ...] = (
    (Settings(records=12), View.STEP, DELTA, 300),
    (Settings(records=12, sampling_rate=0.5), View.STEP, DELTA, 300),
    (Settings(records=12, sampling_rate=0.25, noise_multiplier=0.2), View.EPOCH, 0.3, 150),
)


def alarm_rows(seeds: int) -> Iterator[str]:
    """How often the sound loop, exactly on its claim, is refuted."""
    yield "| view of the sound loop | rate, noise | coins | alarms at level 0.01 |"
    yield "|---|---|---|---|"
    for settings, view, delta, budget in SOUND:
        alarms = sum(_refuted(settings, view, delta, seed, budget) for seed in range(seeds))
        noise = f"{settings.sampling_rate:g}, {settings.noise_multiplier:g}"
        yield f"| {view.value} | {noise} | {budget} | {alarms} of {seeds} |"


def _refuted(settings: Settings, view: View, delta: float, seed: int, budget: int) -> bool:
    """Whether the bets of the audit refute the claim; no power is worked out."""
    length = 1 if view is View.STEP else settings.epoch
    curve = step_claim(settings, length).guarantee
    points = curve_points(curve, delta, curve.epsilon(delta).upper)

    def start(rng: np.random.Generator) -> Training:
        loop = Loop(settings, rng)
        return lambda canary: loop.run(length, canary)[0]

    pace = Pace()
    steps = labelled_steps(start, seed, budget, pace)
    return run_trial(points, steps, view_scores(settings, view), ALPHA, pace=pace).refuted


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="seeds of every mean")
    parser.add_argument("--alarms", type=int, default=300, help="seeds of the type-I counts")
    given = parser.parse_args()
    for line in one_run_rows(given.seeds):
        print(line, flush=True)
    print(one_run_alarms(given.alarms), flush=True)
    for line in fault_rows(given.seeds):
        print(line, flush=True)
    for line in alarm_rows(given.alarms):
        print(line, flush=True)


if __name__ == "__main__":
    main()
