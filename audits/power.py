"""What an audit would have seen: its power against a reference pair, by simulating the same bets.

The pair is that of `audits.reference`. Counts are simulated, not samples; the thresholds are the exact
quantiles, which the audit's own come close to. These figures describe the test, they carry no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from audits.eprocess import LogWealth
from audits.reference import gaussian_mu, reference_tails
from audits.sampling import POWER, generator
from audits.schedule import FIRST
from audits.tails import LEVELS, tally

__all__ = ["RUNS", "gaussian_mu", "smallest_seen", "would_have_seen"]

Floats = NDArray[np.float64]

RUNS, NEEDED = 200, 188
"""Power 0.9 is stated when so many of the runs see it: by chance below 0.9 with probability at most 0.03."""
LARGEST = 64.0
"""No violation above this multiple of the claimed epsilon (or of 0.05, if that is more) is tried."""


def would_have_seen(
    wealth: LogWealth, claimed: float, delta: float, *, log_hurdle: float, start: int, samples: int, seed: int
) -> float:
    """The smallest epsilon at ``delta``, within 3 %, at which the reference pair is refuted with power 0.9.

    Args:
        wealth: the bets.
        claimed: the claimed epsilon at ``delta``; smaller ones are no violation.
        delta: in [0, 1).
        log_hurdle: the log wealth that refutes.
        start: samples spent before the first bet.
        samples: samples spent in all.
        seed: the audit's.

    Returns:
        An epsilon above ``claimed``, or infinity if even the largest one tried is not seen.
    """

    def power(epsilon: float) -> int:
        return _power(wealth, epsilon, delta, log_hurdle, start, samples, seed)

    return smallest_seen(power, claimed)


def smallest_seen(power: Callable[[float], int], claimed: float) -> float:
    """The smallest epsilon above the claimed one, within 3 %, that enough of `RUNS` simulated audits refute.

    Doubled until seen, then bisected; infinity beyond `LARGEST` times the claim.

    Args:
        power: how many of the runs refute, by the true epsilon.
        claimed: the claimed epsilon.

    >>> 3 <= smallest_seen(lambda epsilon: RUNS * (epsilon > 3), 1.0) <= 3 * 1.03
    True
    """
    base = max(claimed, 0.05)

    def seen(multiple: float) -> bool:
        return power(multiple * base) >= NEEDED

    low, high = 1.0, 2.0
    while not seen(high):
        low, high = high, 2 * high
        if high > LARGEST:
            return math.inf
    while high / low > 1.03:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high * base


def _power(
    wealth: LogWealth, epsilon: float, delta: float, log_hurdle: float, start: int, samples: int, seed: int
) -> int:
    """How many simulated audits refute the claim in the end, by their portfolios: power is understated."""
    spent = max(0, samples - max(start, FIRST))
    counts = _tallies(reference_tails(epsilon, delta), spent, generator(seed, POWER))
    return int((wealth.of_portfolios(counts) >= log_hurdle).sum())


def _tallies(upper: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Tallies (RUNS, levels, kinds, 3) of ``size`` samples; see `audits.reference.reference_tails`."""
    ones = rng.binomial(size, 0.5, RUNS)
    inside = np.empty((RUNS, 2, 2, LEVELS.size), np.int64)
    for label, n in ((0, size - ones), (1, ones)):
        cells = np.concatenate([_shells(upper[label]), _shells(upper[1 - label])])
        drawn = rng.multinomial(n, np.append(cells, max(0.0, 1 - cells.sum())))
        inside[:, :, label] = _inner_sums(drawn[:, :-1].reshape(RUNS, 2, -1))
    return tally(inside, np.zeros(2, bool), np.full(RUNS, size))


def _shells(chances: Floats) -> Floats:
    """Chances of nested tails, largest first, as chances of the shells between them."""
    return np.asarray(chances - np.append(chances[1:], 0.0))


def _inner_sums(shells: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(shells[..., ::-1].cumsum(axis=-1)[..., ::-1])
