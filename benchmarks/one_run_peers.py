"""Lower bounds of one-run audits, beside those of jax-privacy, from the same scores.

``python -m benchmarks.one_run_peers`` prints two tables of docs/how-to/own-training.md. It needs dp-accounting and
``pip install --no-deps jax-privacy==2.0.0``: only its file for audits is loaded, so jax is not needed. Equal seeds give
equal figures.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.audits.training.guesses import Guesses, guess, guess_counts
from dpproof.audits.training.one_run_audit import one_run_epsilon_lower, refuted_scale

DELTA, ALPHA = 1e-5, 0.05
Floats = NDArray[np.float64]
Coins = NDArray[np.bool_]
OURS = ("dpproof, any algorithm", "dpproof, if Gaussian")
THEIRS = ("epsilon_one_run", "epsilon_one_run_fdp", "epsilon_clopper_pearson", "epsilon_from_gdp")


def jax_auditing() -> Any:
    """Return jax-privacy's module for audits, without the package around it, which needs jax."""
    package = importlib.util.find_spec("jax_privacy")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("Run: pip install --no-deps jax-privacy==2.0.0")
    path = Path(package.submodule_search_locations[0]) / "auditing.py"
    spec = importlib.util.spec_from_file_location("jax_privacy_auditing", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def ours(scores: Floats, coins: Coins, delta: float, shares: tuple[float, ...] | None) -> list[float]:
    """Return dpproof's lower bounds: for any algorithm, and given that the guarantee is Gaussian."""
    found = [guess(scores, coins, number) for number in guess_counts(len(coins), shares)]
    level = ALPHA / len(found)
    scale = max(refuted_scale(GaussianDP, one, level, 8.0) for one in found)
    return [
        max(one_run_epsilon_lower(one, delta, level) for one in found),
        GaussianDP(scale).epsilon(delta).lower if scale else 0.0,
    ]


def bounds(theirs: Any, scores: Floats, coins: Coins, delta: float, shares: Any = None) -> list[float]:
    """Return all lower bounds from the same scores, at confidence 95 %."""
    auditor = theirs.CanaryScoreAuditor(scores[coins], scores[~coins])
    return [
        *ours(scores, coins, delta, shares),
        *(float(getattr(auditor, name)(ALPHA, delta)) for name in THEIRS),
    ]


def ideal(true: float, m: int, seed: int) -> tuple[Floats, Coins]:
    """Return scores of canaries that do not influence each other, from the Gaussian mechanism with this epsilon."""
    low, high = 0.0, 20.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianDP(middle).epsilon(DELTA).upper <= true else (low, middle)
    rng = np.random.default_rng([seed, m])
    coins = rng.random(m) < 0.5
    return coins * low + rng.normal(size=m), coins


def ideal_rows(theirs: Any, seeds: int) -> Iterator[str]:
    """Yield mean bounds over the true epsilon, for canaries that do not influence each other."""
    yield f"| true epsilon | canaries | {' | '.join((*OURS, *THEIRS))} |"
    yield f"|---|---|{'---|' * len((*OURS, *THEIRS))}"
    for true in (1.0, 4.0, 8.0):
        for m in (1_000, 5_000):
            found = [bounds(theirs, *ideal(true, m, seed), DELTA) for seed in range(seeds)]
            shown = " | ".join(f"{one:.2f}" for one in np.mean(found, axis=0) / true)
            yield f"| {true:g} | {m:,} | {shown} |"


def conspiring(
    m: int, odds: float, delta: float, level: float, rng: np.random.Generator
) -> tuple[Floats, Coins]:
    """Return scores of the algorithm of the note's Theorem 2a: sound, and all canaries are right or wrong together.

    Its number of wrong guesses is at most the number that refutes the claim at this level if canaries are independent.
    """
    law, wrong = stats.binom(m, odds / (1 + odds)), stats.binom(m - round(m * delta), 1 / (1 + odds))
    most = int(wrong.ppf(level))
    v = m - (most if wrong.cdf(most) <= level else most - 1)
    gap = m * delta / (v * law.pmf(v))
    low = 1 - law.sf(v - 1) * gap
    chances = law.pmf(np.arange(m + 1)) * (low + gap * (np.arange(m + 1) >= v))
    right = np.zeros(m, dtype=bool)
    right[: rng.choice(m + 1, p=chances / chances.sum())] = True
    coins, right = rng.random(m) < 0.5, rng.permutation(right)
    return (coins == right).astype(float), coins


def conspiring_rows(theirs: Any, runs: int) -> Iterator[str]:
    """Yield how often each bound exceeds the true epsilon of a sound algorithm whose canaries conspire."""
    rules = (*OURS[:1], "independent canaries", *THEIRS)
    yield f"| epsilon, delta | canaries | runs | allowed | {' | '.join(rules)} |"
    yield f"|---|---|---|---|{'---|' * len(rules)}"
    m, delta, true = 1_000, 0.01, math.log(3)
    rng, above = np.random.default_rng(0), np.zeros(len(rules), dtype=int)
    for _ in range(runs):
        scores, coins = conspiring(m, 3.0, delta, ALPHA, rng)
        auditor = theirs.CanaryScoreAuditor(scores[coins], scores[~coins])
        guessed = Guesses(m, m, int(((scores > 0) == coins).sum()))
        mine = one_run_epsilon_lower(guessed, delta, ALPHA)
        independent = stats.binom(m - round(m * delta), 1 / 4).cdf(guessed.wrong) <= ALPHA
        rest = [getattr(auditor, name)(ALPHA, delta) for name in THEIRS]
        above += np.array([mine > true, independent, *(one > true for one in rest)])
    allowed = int(stats.binom(runs, ALPHA).isf(0.001))
    yield f"| 1.0986, {delta} | {m:,} | {runs} | {allowed} | {' | '.join(map(str, above))} |"


if __name__ == "__main__":
    module = jax_auditing()
    for line in (*ideal_rows(module, 20), "", *conspiring_rows(module, 1_000)):
        print(line, flush=True)
