"""Two coins, tossed equally often: tests and intervals for the probabilities p and q of the two numbers of heads.

Source: docs/notes/audit_bracket.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special, stats
from scipy.special import rel_entr

_SLACK = 1e-9
"""Added to each probability for the rounding errors of scipy's binomial functions."""


def interval(count: int, n: int, error: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson; each end is wrong with probability ``error``."""
    low = float(stats.beta.ppf(error, count, n - count + 1)) if count else 0.0
    return low, float(stats.beta.ppf(1 - error, count + 1, n - count)) if count < n else 1.0


def extreme(
    counts: tuple[float, float], n: int, weights: tuple[float, float], law: tuple[float, float]
) -> float:
    """Return the probability that the statistic is at least as large as for the observed counts."""
    (a, b), (p, q) = weights, law
    least, most = stats.binom.ppf([1e-12, 1 - 1e-12], n, q)
    other = np.arange(max(least, 0), most + 1)
    change = b / a * (counts[1] - other)
    rounding = 1e-9 + 1e-14 * (counts[0] + np.abs(change).max())
    needed = np.ceil(counts[0] - change - rounding)
    return float(np.dot(stats.binom.pmf(other, n, q), stats.binom.sf(needed - 1, n, p))) + _SLACK


def _divergence(a: float, b: float) -> float:
    """Return the Kullback-Leibler divergence between two coins."""
    return float(rel_entr(a, b) + rel_entr(1 - a, 1 - b))


def least_favourable(p: float, q: float, epsilon: float, delta: float) -> tuple[float, float]:
    """Return the probabilities with p' = delta + exp(epsilon) q' that are hardest to tell from p and q."""
    odds = math.exp(epsilon)

    def distance(log_q: float) -> float:
        near = math.exp(log_q)
        return _divergence(p, min(delta + odds * near, p)) + _divergence(q, near)

    low, high = math.log(q), math.log(max((p - delta) / odds, q * (1 + 1e-9)))
    near = math.exp(optimize.minimize_scalar(distance, bounds=(low, high), method="bounded").x)
    return min(delta + odds * near, 1 - 1e-12), near


def weights_at(p: float, q: float, epsilon: float, delta: float) -> tuple[float, float]:
    """Return the weights of the test of p and q against the least favourable probabilities."""
    return weights_between((p, q), least_favourable(p, q, epsilon, delta))


def weights_between(law: tuple[float, float], nearest: tuple[float, float]) -> tuple[float, float]:
    """Return the weights of the likelihood ratio of two pairs of coins, for one event on each input."""
    (p, q), (p_near, q_near) = law, nearest
    a = special.logit(p) - special.logit(p_near)
    b = special.logit(q_near) - special.logit(q)
    return max(float(a), 1e-12), max(float(b), 1e-12)
