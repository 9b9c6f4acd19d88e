"""Error of private values from 5,000 logged trajectories of FrozenLake-v1 under the uniform policy.

`python -m benchmarks.evaluation_error` prints the root mean square error (RMSE) over the states in which an
episode goes on, on average over fresh logs and fresh noise. The reference is dynamic programming. Nothing is tuned on
this environment.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import measured
from dpproof.accountant.claims.episodes import Episodes

Floats = NDArray[np.float64]
TRAJECTORIES, LONGEST, DISCOUNT = 5_000, 100, 0.99
RUNS = 600
"""Runs of each method. The mean of `best` then has a standard error of about 0.0005."""
STATES, GOAL, HOLES = 16, 15, (5, 7, 11, 12)
LAKE = [state for state in range(STATES) if state not in (GOAL, *HOLES)]
"""The states in which an episode goes on."""
GIVEN: dict[str, Any] = {
    "states": STATES,
    "discount": DISCOUNT,
    "epsilon": 1,
    "delta": 1e-5,
    "max_length": LONGEST,
    "return_range": (0, 1),
}
"""What is public: sizes, the target, the time limit, and that an episode pays at most 1."""


@cache
def transitions() -> Floats:
    """Return the probabilities P(s, s') of gymnasium's FrozenLake-v1 (4 x 4, slippery) under the uniform policy."""
    import gymnasium

    table = gymnasium.make("FrozenLake-v1").unwrapped.P  # type: ignore[attr-defined] # of the toy-text environments
    found = np.zeros((STATES, STATES))
    for state in LAKE:
        for outcomes in table[state].values():
            for chance, following, _, _ in outcomes:
                found[state, following] += chance / 4
    return found


def lake_values() -> Floats:
    """Return the value of each state by dynamic programming. Reaching the goal pays 1."""
    onwards = transitions().copy()
    paid = onwards[:, GOAL].copy()
    onwards[:, [GOAL, *HOLES]] = 0
    return np.linalg.solve(np.eye(STATES) - DISCOUNT * onwards, paid)


def logs(count: int, rng: np.random.Generator) -> Episodes:
    """Return logged trajectories from state 0, each with at most 100 steps."""
    below, states = transitions().cumsum(axis=1), np.full((count, LONGEST), -1)
    rewards, here, going = np.zeros((count, LONGEST)), np.zeros(count, np.int64), np.ones(count, bool)
    for step in range(LONGEST):
        states[going, step] = here[going]
        following = np.minimum((rng.random(count)[:, None] > below[here]).sum(axis=1), GOAL)
        here = np.where(going, following, here)
        rewards[going, step] = here[going] == GOAL
        going &= np.isin(here, LAKE)
    kept = states >= 0
    lengths = kept.sum(axis=1)
    return Episodes(
        states[kept], np.zeros(int(lengths.sum()), np.int64), rewards[kept], lengths, np.arange(count)
    )


def errors(runs: int, **given: Any) -> tuple[Floats, Floats, Floats]:
    """Return the squared errors and whether intervals hold (runs, states), and the first visits (states,)."""
    from dpproof.mechanisms.rl.policy_evaluation.evaluation import evaluate
    from dpproof.mechanisms.rl.policy_evaluation.returns import Log, ReturnRange

    truth, visits = lake_values()[LAKE], np.zeros(STATES)
    squares, held = np.zeros((runs, len(LAKE))), np.zeros((runs, len(LAKE)))
    for run in range(runs):
        batch = logs(TRAJECTORIES, np.random.default_rng())
        visits += Log.of(batch, STATES).sums(STATES, ReturnRange(DISCOUNT, 0.0, 1.0))[0]
        found = evaluate(batch, **(GIVEN | given))
        low, high = found.intervals()[LAKE].T
        squares[run] = (found.values[LAKE] - truth) ** 2
        held[run] = (low <= truth) & (truth <= high)
    return squares, held, visits[LAKE]


def rows(runs: int = RUNS) -> list[dict[str, Any]]:
    """Return the errors of each method, of the best constant, and of values without privacy."""
    truth, found = lake_values()[LAKE], []
    for method in ("best", "dp-lsw"):
        squares, held, visits = errors(runs, method=method)
        each, weights = np.sqrt(squares.mean(axis=1)), visits / visits.sum()
        low, middle, high = np.quantile(each, [0.1, 0.5, 0.9])
        found.append(
            {
                "method": method,
                "rmse": float(each.mean()),
                "quantiles": f"{low:.4f}, {middle:.4f}, {high:.4f}",
                "above .04": float((each > 0.04).mean()),
                "by visits": float(np.sqrt(squares @ weights).mean()),
                "intervals hold": float(held.mean()),
            }
        )
    found.append({"method": "the best constant", "rmse": float(truth.std())})
    return found


def section() -> list[str]:
    """Return the section of docs/benchmarks.md, as lines of Markdown."""
    lines = [
        "## Error of private values, FrozenLake-v1",
        "",
        f"{measured()} `python -m benchmarks.evaluation_error`: 5,000 trajectories of the uniform policy, discount "
        ".99, epsilon 1, delta 1e-5, returns in [0, 1], one trajectory replaced. RMSE over the 11 states in which an "
        f"episode goes on, on {RUNS} fresh logs with fresh noise. Target: at most .04 on average. "
        "DP-LSW has intervals of the whole range.",
        "",
        "| method | RMSE, mean | 10 %, 50 %, 90 % of runs | above .04 | by first visits | 95 % intervals hold |",
        "|---|---|---|---|---|---|",
    ]
    return lines + [_line(row) for row in rows()]


def _line(row: dict[str, Any]) -> str:
    if "quantiles" not in row:
        return f"| {row['method']} | {row['rmse']:.4f} |  |  |  |  |"
    shown = (row["quantiles"], *(f"{row[name]:.3f}" for name in ("above .04", "by visits", "intervals hold")))
    return f"| {row['method']} | {row['rmse']:.4f} | {' | '.join(shown)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)  # DP-LSW warns that its noise swamps the values
    print("\n".join(section()))
