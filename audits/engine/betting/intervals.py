"""A fixed-sample lower bound on epsilon: Clopper-Pearson at every threshold of a score at once.

For samples of fixed size with continuous or tied scores, the chance of ``{score >= r-th largest}`` is
stochastically at least Beta(r, n - r + 1), and that of ``{score > (r+1)-th largest}`` at most
Beta(r + 1, n - r) (Clopper & Pearson 1934). Limits at the ranks below, with the failure probability shared
among them, therefore hold together, and between ranks because tails are nested; so they hold at every
threshold, also one chosen after looking. Proof: docs/notes/audit_betting.md, Theorem 6.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]

MARGIN = 1e-6
"""scipy's beta quantiles carry no error bound: every limit is moved outwards by this share of itself."""


def fixed_sample_epsilon_lower(first: ArrayLike, second: ArrayLike, delta: float, alpha: float) -> float:
    """A lower confidence bound on epsilon at ``delta``, above the truth with probability at most ``alpha``.

    Args:
        first: scores of independent outputs on the first input, at least one.
        second: the same on the second; high scores speak for this one. The sizes must not depend on them.
        delta: in [0, 1).
        alpha: in (0, 1).

    Raises:
        ValueError: no scores, or NaN among them, or a number outside its range.

    >>> fixed_sample_epsilon_lower([0.0] * 1000, [1.0] * 1000, 0.0, 0.01)
    4.6...
    """
    if not (0 <= delta < 1 and 0 < alpha < 1):
        raise ValueError(f"delta ({delta!r}) must be in [0, 1) and alpha ({alpha!r}) in (0, 1)")
    low, high = (_scores(name, given) for name, given in (("first", first), ("second", second)))
    share = alpha / (2 * (_ranks(low.size).size + _ranks(high.size).size))
    upper = _directed(high, low, delta, share)
    lower = _directed(-low[::-1], -high[::-1], delta, share)
    return max(0.0, upper, lower)


def _scores(name: str, given: ArrayLike) -> Floats:
    scores = np.sort(np.asarray(given, dtype=np.float64))
    if scores.ndim != 1 or not scores.size or np.isnan(scores).any():
        raise ValueError(f"{name}: the scores must be a nonempty list without NaN")
    return scores


def _ranks(n: int) -> NDArray[np.int64]:
    """About twelve ranks per factor e, fixed by the size alone: 0, 1, ..., n."""
    steps = np.exp(np.arange(0, math.log(n) + 0.5, 1 / 12))
    return np.unique(np.append(np.minimum(np.rint(steps).astype(np.int64), n), [0, n]))


def _directed(often: Floats, seldom: Floats, delta: float, share: float) -> float:
    """Largest ln((lower limit of P_often(E) - delta) / upper limit of P_seldom(E)) over upper tails E."""
    thresholds = np.unique(np.concatenate([often, seldom]))
    above = often.size - np.searchsorted(often, thresholds, "left")
    others = seldom.size - np.searchsorted(seldom, thresholds, "left")
    ranks = _ranks(often.size)
    least = _lower_limit(ranks, often.size, share)[np.searchsorted(ranks, above, "right") - 1]
    ranks = _ranks(seldom.size)
    most = _upper_limit(ranks, seldom.size, share)[np.searchsorted(ranks, others, "left")]
    ratio = np.maximum(least - delta, 0) * (1 - MARGIN) / most
    best = float(ratio.max())
    return math.log(best) if best > 1 else 0.0


def _lower_limit(ranks: NDArray[np.int64], n: int, share: float) -> Floats:
    r = np.maximum(ranks, 1).astype(np.float64)
    return np.where(ranks == 0, 0.0, betaincinv(r, n - r + 1, share) * (1 - MARGIN))


def _upper_limit(ranks: NDArray[np.int64], n: int, share: float) -> Floats:
    r = np.minimum(ranks, n - 1).astype(np.float64)
    quantile = 1 - betaincinv(n - r, r + 1, share) * (1 - MARGIN)
    return np.where(ranks >= n, 1.0, np.minimum(1.0, quantile * (1 + MARGIN)))
