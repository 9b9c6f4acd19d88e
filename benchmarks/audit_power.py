"""How many samples an audit needs, beside the limit: ``python -m benchmarks.audit_power [--quick]``.

Runs the audit's own trial on many seeds; the score is not given. Limits: 3.8206 nats (power .9 at level .01)
over the relative entropy per sample between the truth and the claim, numbers of docs/notes/audit_power.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import cpu_seconds
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve, curve_points
from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.trial import Trial, run_trial
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.scores.protocol import Identity

ALPHA, RUNS, QUICK, BUDGET = 0.01, 200, 20, 1_000_000
BITS = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1")
MU = gaussian_mu(1.0, 1e-5)
Draw = Callable[[float, int, np.random.Generator], NDArray[Any]]


def laplace(epsilon: float) -> Draw:
    """The Laplace mechanism that is exactly epsilon-DP on the bits."""
    return lambda value, n, rng: value + rng.laplace(0, 1 / epsilon, n)


def gaussian(mu: float) -> Draw:
    """The Gaussian mechanism that is exactly mu-GDP on the bits."""
    return lambda value, n, rng: value + rng.standard_normal(n) / mu


def response(epsilon: float) -> Draw:
    """Randomised response that is exactly epsilon-DP."""
    keep = 1 / (1 + math.exp(-epsilon))
    return lambda value, n, rng: np.where(rng.random(n) < keep, value, 1 - value)


@dataclass(frozen=True)
class Case:
    """A false claim: its name, the mechanism, the limit, and the samples that are the target, if any."""

    name: str
    curve: PrivacyCurve
    delta: float
    draw: Draw
    limit: float
    target: float | None = None


@dataclass(frozen=True)
class Row:
    """What was measured on a case: samples until the verdict, over the runs."""

    case: Case
    runs: int
    mean: float
    error: float
    q90: float
    refuted: int


CASES = (
    Case("Laplace 1 -> 1.5", PureDP(1.0), 0.0, laplace(1.5), 279, 600),
    Case("Laplace 1 -> 2", PureDP(1.0), 0.0, laplace(2.0), 86, 180),
    Case("Laplace 1 -> 1.1", PureDP(1.0), 0.0, laplace(1.1), 5921, 15_000),
    Case("Gaussian curve, noise .5", GaussianDP(MU), 1e-5, gaussian(2 * MU), 441, 1000),
    Case("Gaussian point, noise .5", ApproxDP(1.0, 1e-5), 1e-5, gaussian(2 * MU), 7618, 20_000),
    Case("Laplace .5 -> 1", PureDP(0.5), 0.0, laplace(1.0), 196),
    Case("Laplace 1 -> 1.2", PureDP(1.0), 0.0, laplace(1.2), 1542),
    Case("Laplace 1 -> 3", PureDP(1.0), 0.0, laplace(3.0), 32),
    Case("Laplace 2 -> 3", PureDP(2.0), 0.0, laplace(3.0), 201),
    Case("Laplace 4 -> 5", PureDP(4.0), 0.0, laplace(5.0), 1366),
    Case("Laplace .1 -> .2", PureDP(0.1), 0.0, laplace(0.2), 3329),
    Case("Randomised response 1 -> 1.5", PureDP(1.0), 0.0, response(1.5), 185),
    Case("Randomised response 1 -> 2", PureDP(1.0), 0.0, response(2.0), 57),
    Case("Gaussian curve, noise .9", GaussianDP(MU), 1e-5, gaussian(MU / 0.9), 35016),
    Case("Gaussian curve, noise .25", GaussianDP(MU), 1e-5, gaussian(4 * MU), 54),
    Case("Gaussian point, noise .25", ApproxDP(1.0, 1e-5), 1e-5, gaussian(4 * MU), 214),
)


def rows(runs: int) -> Iterator[Row]:
    """Measure every case, one after the other."""
    for case in CASES:
        points = curve_points(case.curve, case.delta, case.curve.epsilon(case.delta).upper)
        trials = [_trial(points, case.draw, seed) for seed in range(runs)]
        spent = np.array([trial.samples for trial in trials])
        error = float(spent.std() / math.sqrt(runs))
        refuted = sum(trial.refuted for trial in trials)
        yield Row(case, runs, float(spent.mean()), error, float(np.quantile(spent, 0.9)), refuted)


def _trial(points: tuple[CurvePoint, ...], draw: Draw, seed: int) -> Trial:
    """The bets of an audit, as it places them."""
    pace = Pace()
    blocks = draw_blocks(draw, BITS, seed, BUDGET, None, pace=pace)
    return run_trial(points, blocks, [Identity()], ALPHA, pace=pace)


def overhead(repeats: int = 3) -> Iterator[tuple[str, float, float, float]]:
    """Name, CPU seconds to draw a million samples with numpy, to draw them for an audit, to audit them.

    The smallest of a few repetitions each; the claim is true, so that all samples are spent.
    """
    for name, curve, delta, draw in (
        ("Laplace", PureDP(1.0), 0.0, laplace(1.0)),
        ("Gaussian curve", GaussianDP(MU), 1e-5, gaussian(MU)),
    ):
        points = curve_points(curve, delta, curve.epsilon(delta).upper)
        rng = np.random.default_rng(0)

        def plain(draw: Draw = draw, rng: np.random.Generator = rng) -> None:
            draw(0.0, BUDGET // 2, rng)
            draw(1.0, BUDGET // 2, rng)

        def labelled(draw: Draw = draw) -> None:
            for _ in draw_blocks(draw, BITS, 1, BUDGET, None):
                pass

        def audited(draw: Draw = draw, points: Any = points) -> None:
            _trial(points, draw, 1)

        fastest = [min(cpu_seconds(work) for _ in range(repeats)) for work in (plain, labelled, audited)]
        yield name, fastest[0], fastest[1], fastest[2]


def _line(row: Row) -> str:
    case = row.case
    target = "" if case.target is None else f"{case.target:,.0f}"
    return (
        f"| {case.name} | {row.mean:,.0f} +- {row.error:,.0f} | {row.q90:,.0f} | {target} "
        f"| {case.limit:,.0f} | {row.mean / case.limit:.2f} | {row.refuted} of {row.runs} |"
    )


def main() -> None:
    """Print both tables as Markdown, a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} runs instead of {RUNS}")
    quick = parser.parse_args().quick
    print("| claim -> truth | mean samples | 90 % | target | limit | mean / limit | refuted |")
    print("|---|---|---|---|---|---|---|")
    for row in rows(QUICK if quick else RUNS):
        print(_line(row), flush=True)
    print("\n| a million samples, CPU s | numpy | drawn and labelled | audited |\n|---|---|---|---|")
    for name, plain, labelled, audited in overhead():
        print(f"| {name} | {plain:.3f} | {labelled:.3f} | {audited:.3f} |")


if __name__ == "__main__":
    main()
