"""Samples until a false claim is refuted, beside the information limits; the score is not given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.audit_power import BITS, Draw, gaussian, laplace, response
from benchmarks.audits.limits import gaussian_limit, laplace_limit, response_limit
from benchmarks.audits.rows import Row
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit

ALPHA, DELTA, SIGMA = 0.01, 1e-5, 3.730632
CURVE, POINT = GaussianDP(1 / SIGMA), ApproxDP(1, DELTA)
EPSILONS = tuple(float(e) for e in np.linspace(0, 1.2, 13))
"""Where a Gaussian claim is held against a mechanism, for the limit of its whole curve."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Measure:
    """A false claim.

    Attributes:
        name: as in the tables.
        group: as in the plot.
        claimed, true: the two epsilons, at ``delta``.
        curve: the claim.
        delta: where epsilon is stated.
        draw: the mechanism.
        limit: computes the fewest samples, on average.
        target: the most samples that are to be needed on average, if there is a target.
        runs: how often it is measured.
        budget: samples after which an audit gives up.
    """

    name: str
    group: str
    claimed: float
    true: float
    curve: PrivacyCurve
    delta: float
    draw: Draw
    limit: Callable[[], float]
    target: float | None = None
    runs: int = 200
    budget: int = 10 * MILLION


def _laplace(claimed: float, true: float, target: float | None = None) -> Measure:
    name, group = f"Laplace {claimed:g} -> {true:g}", f"Laplace, claim {claimed:g}"
    claim, limit = PureDP(claimed), lambda: laplace_limit(claimed, true)
    return Measure(name, group, claimed, true, claim, 0.0, laplace(true), limit, target)


def _response(true: float) -> Measure:
    name, group = f"randomised response 1 -> {true:g}", "randomised response, claim 1"
    return Measure(name, group, 1, true, PureDP(1), 0.0, response(true), lambda: response_limit(1, true))


def _gaussian(kind: str, share: float, target: float | None = None, runs: int = 200) -> Measure:
    curve, points = (CURVE, EPSILONS) if kind == "curve" else (POINT, (1.0,))
    mu = 1 / (SIGMA * share)
    return Measure(
        f"Gaussian {kind}, {share:g} of the noise",
        f"Gaussian, {kind}",
        1.0,
        GaussianDP(mu).epsilon(DELTA).upper,
        curve,
        DELTA,
        gaussian(mu),
        lambda: gaussian_limit(curve, mu, points),
        target,
        runs,
        10 * MILLION if runs == 200 else 200 * MILLION,
    )


_ALL = (
    _laplace(1, 1.1, 15_000),
    _laplace(1, 1.5, 600),
    _laplace(1, 2, 180),
    _gaussian("curve", 0.5, 1_000),
    _gaussian("point", 0.5, 20_000),
    _gaussian("curve", 0.25),
    _gaussian("point", 0.25),
    *(_response(true) for true in (1.05, 1.1, 1.5, 2)),
    *(_laplace(0.1, true) for true in (0.11, 0.15, 0.2)),
    _gaussian("curve", 0.9),
    _gaussian("point", 0.9, runs=20),
)
TRIALS = {trial.name: trial for trial in _ALL}


def tasks(known: Sequence[Row], runs: int | None = None) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What is left to do; fewer runs together where each takes long."""
    for trial in TRIALS.values():
        done = {row["seed"] for row in known if row["trial"] == trial.name}
        left = [seed for seed in range(min(trial.runs, runs or trial.runs)) if seed not in done]
        together = 10 if trial.runs == 200 else 1
        yield from (
            (trial.name, tuple(left[start : start + together])) for start in range(0, len(left), together)
        )


def measured(name: str, seeds: tuple[int, ...]) -> list[Row]:
    """Audit a false claim with each seed."""
    return [{"trial": name, "seed": seed, **_one(TRIALS[name], seed)} for seed in seeds]


def _one(trial: Measure, seed: int) -> Row:
    start = time.process_time()
    found = audit(
        trial.name,
        trial.curve,
        trial.draw,
        BITS,
        seed=seed,
        delta=trial.delta,
        alpha=ALPHA,
        budget=trial.budget,
    )
    refuted = found.verdict is Finding.VIOLATION
    return {"samples": found.samples, "refuted": refuted, "seconds": time.process_time() - start}


def overhead(repeats: int = 15) -> Iterator[Row]:
    """Processor seconds to draw a million samples, and to audit a true claim with as many, least of a few."""
    for name, curve, delta, draw in (
        ("Laplace, claim 1", PureDP(1), 0.0, laplace(1.0)),
        ("Gaussian, curve", CURVE, DELTA, gaussian(1 / SIGMA)),
        ("Gaussian, point", POINT, DELTA, gaussian(1 / SIGMA)),
    ):

        def drawn(draw: Draw = draw) -> None:
            rng = np.random.default_rng(0)
            for value in (0.0, 1.0):
                draw(value, MILLION // 2, rng)

        def audited(curve: PrivacyCurve = curve, delta: float = delta, draw: Draw = draw) -> None:
            audit("overhead", curve, draw, BITS, seed=1, delta=delta, alpha=ALPHA, budget=MILLION)

        yield {"claim": name, "drawn": _fastest(drawn, repeats), "audited": _fastest(audited, repeats)}


def _fastest(work: Callable[[], None], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)
