"""Simulate the power of an audit: place the same bets on two standard output distributions.

The two distributions are those of `audits.engine.betting.reference`. Only the counts of samples beyond each threshold
are simulated. The thresholds are exact quantiles, which a real audit approximates. The resulting numbers are not
certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.betting.eprocess import LogWealth
from dpproof.audits.engine.betting.reference import gaussian_mu, outcome_chances
from dpproof.audits.engine.betting.schedule import FIRST
from dpproof.audits.engine.sampling.callables import POWER, generator
from dpproof.audits.engine.scores.tails import BOTH, KINDS, LEVELS

__all__ = ["NEEDED", "RUNS", "gaussian_mu", "smallest_seen", "would_have_seen"]

RUNS, NEEDED = 200, 195
"""Power 0.9 is stated if `NEEDED` of `RUNS` simulated audits refute the claim. Simulated audits check the wealth at the
end only and know the best thresholds. A real audit learns its thresholds, so it detects up to a tenth less
(docs/audits.md)."""
LARGEST, SMALLEST = 64.0, 0.05
"""The largest epsilon that is tried is `LARGEST` times the claimed epsilon, or times `SMALLEST` if that is larger."""
WITHIN, NEAR = 1.03, 1.014
"""The precision of the smallest detected epsilon as a factor, and the factor around a guess that is tried first."""
LUCK = 5.5
"""Nine of ten audits refute the claim if the mean log wealth of their bets exceeds the hurdle by about this much."""


def would_have_seen(
    wealth: LogWealth, claimed: float, delta: float, *, log_hurdle: float, start: int, samples: int, seed: int
) -> float:
    """Return the smallest epsilon at ``delta`` that a simulated audit detects with power 0.9, within 3 %.

    Args:
        wealth: the bets of the audit.
        claimed: the claimed epsilon at ``delta``; a smaller epsilon is no violation.
        delta: the delta of the result, in [0, 1).
        log_hurdle: the log wealth that refutes the claim.
        start: the number of samples that are drawn before the first bet.
        samples: the total number of samples.
        seed: the audit's seed.

    Returns:
        An epsilon above ``claimed``, or infinity if even the largest epsilon that is tried is not detected.
    """
    spent = max(0, samples - max(start, FIRST))

    def power(epsilon: float) -> int:
        drawn = generator(seed, POWER).multinomial(spent, outcome_chances(epsilon, delta), RUNS)
        return int((wealth.of_portfolios(_tallies(drawn)) >= log_hurdle).sum())

    def mean(epsilon: float) -> float:
        expected = _tallies(spent * outcome_chances(epsilon, delta)[None])
        return float(wealth.of_portfolios(expected)[0]) - log_hurdle

    return smallest_seen(power, claimed, _least(lambda m: mean(m * max(claimed, SMALLEST)) >= LUCK, 1.015))


def smallest_seen(power: Callable[[float], int], claimed: float, guess: float = math.inf) -> float:
    """Return the smallest true epsilon above the claimed one at which enough simulated audits refute the claim.

    The result is exact within 3 %. The function doubles the epsilon until it is detected and then bisects. It first
    tries values close to the guess. The result is infinity if nothing up to `LARGEST` times the claim is detected.

    Args:
        power: a function from the true epsilon to the number of audits, out of `RUNS`, that refute the claim.
        claimed: the claimed epsilon.
        guess: a multiple of the claimed epsilon that may be close to the result.

    >>> 3 <= smallest_seen(lambda epsilon: RUNS * (epsilon > 3), 1.0) <= 3 * 1.03
    True
    """
    base = max(claimed, SMALLEST)

    return base * _least(lambda multiple: power(multiple * base) >= NEEDED, WITHIN, guess)


def _least(seen: Callable[[float], bool], within: float, guess: float = math.inf) -> float:
    """Return the smallest detected multiple above 1, up to a factor; values close to the guess are tried first."""
    low, high = 1.0, math.inf
    probes = (guess * NEAR, guess / NEAR)
    while high / low > within:
        middle = 2 * low if high == math.inf else math.sqrt(low * high)
        middle = next((probe for probe in probes if low < probe < min(high, 2 * low)), middle)
        if middle > LARGEST:
            return math.inf
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def _tallies(shells: NDArray[np.generic]) -> NDArray[Any]:
    """Return the counts (runs, levels, kinds, 3) of bets on both tails from outcomes as in `outcome_chances`."""
    won, lost = (shells[:, start : start + LEVELS.size] for start in (0, LEVELS.size))
    counts = np.zeros((len(shells), LEVELS.size, len(KINDS), 3), shells.dtype)
    for outcome, side in enumerate((won, lost)):
        counts[:, :, BOTH, outcome] = side[:, ::-1].cumsum(axis=1)[:, ::-1]
    counts[:, :, BOTH, 2] = shells.sum(axis=1)[:, None] - counts[:, :, BOTH].sum(axis=-1)
    return counts
