"""Returns of the experts themselves, as histograms (Figure 2 of the paper), and the return of random actions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import roll_out
from dpproof.mechanisms.rl.expert.population import Population
from dpproof.mechanisms.rl.expert.problems import Problem

COUNTED, EPISODES, BINS = 500, 10, 40
"""The histogram has `BINS` bins, and counts the first `COUNTED` experts. Each plays `EPISODES` episodes."""
RANDOM: Final = 500
"""Number of episodes with random actions."""


def histogram(experts: Population, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return a row for each bin: the problem, the ends of the bin, and how many experts have a mean return in it.

    Each expert plays in the default environment of the problem. Returns are in the problem's unit.
    """
    counts, edges = np.histogram(_mean_returns(experts, rng), BINS)
    return [
        {"problem": experts.problem.name, "low": float(low), "high": float(high), "experts": int(count)}
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]


def _mean_returns(experts: Population, rng: np.random.Generator) -> NDArray[np.float64]:
    count = min(COUNTED, experts.count)
    owner = np.repeat(np.arange(count), EPISODES)
    steps = roll_out(
        experts.problem.make(),
        lambda seen, rows: experts.play(seen, owner[rows], rng),
        len(owner),
        rng,
    )
    found: NDArray[np.float64] = steps.returns().reshape(count, EPISODES).mean(axis=1)
    return found / experts.problem.unit


def random_return(problem: Problem, rng: np.random.Generator) -> float:
    """Return the mean return of uniformly random actions, over episodes as long as those of learned policies.

    >>> from dpproof.mechanisms.rl.expert.problems import problem_for
    >>> 18 < random_return(problem_for("cartpole"), np.random.default_rng(0)) < 27
    True
    """
    environment = problem.make()
    steps = roll_out(
        environment,
        lambda seen, rows: rng.integers(environment.actions, size=len(rows)),
        RANDOM,
        rng,
        problem.evaluation_horizon,
    )
    return float(steps.returns().mean()) / problem.unit
