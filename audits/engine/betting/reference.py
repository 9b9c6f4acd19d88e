"""Reference pairs: for each (epsilon, delta), two output distributions that are exactly (epsilon, delta)-close.

The pair consists of two Laplace distributions of unit scale if delta = 0, and of two Gaussians of unit variance if
delta > 0. The score, the number that is tested, is the likelihood ratio. Audits use the pair to choose their bets and
to estimate their power. These numbers affect power only and are not certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from dpproof.audits.engine.scores.tails import LEVELS

Floats = NDArray[np.float64]

FARTHEST, PLACES = 12.0, 301
"""Thresholds are interpolated between `PLACES` points, from -`FARTHEST` to the middle of the two distributions."""


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the distance of two unit Gaussians' means that makes them exactly (epsilon, delta)-indistinguishable.

    The result of root finding is not certified.
    Source: Dong, Roth & Su, Gaussian differential privacy, Corollary 2.13.

    >>> gaussian_mu(1.0, 1e-5)
    0.268
    """

    def excess(mu: float) -> float:
        second = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)))
        return float(ndtr(-epsilon / mu + mu / 2)) - second - delta

    return float(brentq(excess, 1e-9, 10 * (math.sqrt(2 * epsilon) + epsilon + 10), xtol=1e-12))


def reference_tails(epsilon: float, delta: float) -> Floats:
    """Return the probability of each upper tail under the two reference distributions.

    The result is an array (2 labels, levels). An upper tail is the event that the score is at least a threshold. The
    mean of its two probabilities is one of `dpproof.audits.engine.scores.tails.LEVELS`. The lower tails have the same
    probabilities with the labels swapped.
    """
    if delta == 0:
        return _upper_tails(_laplace, epsilon)
    return _upper_tails(ndtr, gaussian_mu(epsilon, delta))


def outcome_chances(epsilon: float, delta: float) -> Floats:
    """Return the probabilities of the outcomes of one sample, for bets on both tails of the reference pair.

    The level of a sample is the last level whose tail contains the sample.

    Returns:
        Array (2 levels + 1,) that sums to one: for each level, the probability that the sample has this level and the
        bet is won; for each level, the same if the bet is lost; and the probability that the sample is in no tail.
    """
    lost, won = (tails - np.append(tails[1:], 0.0) for tails in reference_tails(epsilon, delta))
    inside = np.maximum(np.concatenate([won, lost]), 0.0)
    return np.append(inside, max(0.0, 1 - inside.sum()))


def _laplace(x: Floats) -> Floats:
    return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def _upper_tails(cdf: Callable[[Floats], Floats], shift: float) -> Floats:
    """Return the tail probabilities; by symmetry, upper tails are lower tails at mirrored thresholds."""
    places = np.linspace(-FARTHEST, shift / 2, PLACES)
    cuts = np.interp(LEVELS, (cdf(places) + cdf(places - shift)) / 2, places)
    return np.stack([cdf(cuts - shift), cdf(cuts)])
