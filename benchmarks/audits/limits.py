"""How few samples can do: information limits of the claims measured here.

A fair coin B picks the input. Whoever tests a claim at level alpha and refutes with power 0.9 the mechanism
that is really there needs on average at least kl(0.9, alpha) / KL samples of both inputs together, KL being
the least relative entropy per sample between that mechanism and one that keeps the claim.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from dpproof.audits.engine.betting.curves import PrivacyCurve

Floats = NDArray[np.float64]

ALPHA, POWER = 0.01, 0.9
CELLS, STEPS, PRECISION = 1200, 20_000, 1e-3


def response_limit(claimed: float, true: float) -> float:
    """Randomised response: the posterior of B is s(true) or s(-true), the claim allows s(claimed).

    >>> round(response_limit(1, 2))
    57
    """
    return _samples(_relative_entropy(_sigmoid(true), _sigmoid(claimed)))


def laplace_limit(claimed: float, true: float) -> float:
    """Laplace noise, inputs 1 apart, scale 1 / true; the closest claim-keeper clips the posterior of B.

    >>> round(laplace_limit(1, 1.5)), round(laplace_limit(1, 2)), round(laplace_limit(1, 1.1))
    (279, 86, 5921)
    """

    def density(loss: float) -> float:
        """Of the absolute privacy loss, below its largest value."""
        return math.exp(-true / 2) * math.cosh(loss / 2) / 2

    def gained(loss: float) -> float:
        return _relative_entropy(_sigmoid(loss), _sigmoid(claimed))

    between, _ = integrate.quad(lambda loss: density(loss) * gained(loss), claimed, true)
    return _samples(between + (1 + math.exp(-true)) / 2 * gained(true))


@functools.lru_cache(maxsize=64)
def gaussian_limit(claim: PrivacyCurve, true_mu: float, points: tuple[float, ...]) -> float:
    """Gaussian noise, inputs ``true_mu`` standard deviations apart, against a claim at some epsilons.

    By duality KL is the largest growth rate of bets against the claim. The pair is symmetric with a monotone
    likelihood ratio, so bets on both tails of equal depth suffice. Some
    hundred depths are distinguished, which raises the limit a little.

    Args:
        claim: the claim.
        true_mu: the distance of the inputs in standard deviations.
        points: the epsilons at which the claim is held against the mechanism.
    """
    depths = np.linspace(0, 6.5 + true_mu, max(CELLS // len(points), CELLS // 5))
    won, lost = stats.norm.sf(depths - true_mu / 2), stats.norm.sf(depths + true_mu / 2)
    chances = np.concatenate([_shells(won), _shells(lost)])
    bets = (_returns(depths.size, epsilon, claim.delta(epsilon).upper) for epsilon in points)
    returns = np.vstack([np.ones((1, chances.size)), *bets])
    return _samples(_growth(returns, chances))


def _shells(tails: Floats) -> Floats:
    return np.asarray(tails - np.append(tails[1:], 0.0))


def _returns(depths: int, epsilon: float, delta: float) -> Floats:
    """What the largest bets on both tails of each depth return: (depths, outcomes), won first, then lost."""
    inside: Floats = np.tri(depths).T
    odds = math.exp(epsilon)
    return np.asarray(1 + (np.hstack([inside, -odds * inside]) - delta) / (odds + delta))


def _growth(returns: Floats, chances: Floats) -> float:
    """The largest mean log return of a fixed mixture of the rows.

    Exponentiated gradients; a step is kept where it gains. The rate lies within log of the largest slope of
    the best one (Cover 1984), which ends the search.
    """
    weights = np.full(len(returns), 0.5 / (len(returns) - 1))
    weights[0] = 0.5
    rate, slopes, step = -math.inf, np.ones(len(returns)), 1.0
    for _ in range(STEPS):
        tried = weights * np.exp(np.clip(step * (slopes - slopes.max()), -5, 5))
        tried /= tried.sum()
        mixed = tried @ returns
        reached = float(chances @ np.log(mixed))
        step *= 1.3 if reached >= rate else 0.4
        if reached >= rate:
            weights, rate, slopes = tried, reached, returns @ (chances / mixed)
            if math.log(slopes.max()) < PRECISION * rate:
                break
    return rate


def _sigmoid(loss: float) -> float:
    return 1 / (1 + math.exp(-loss))


def _relative_entropy(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def _samples(per_sample: float) -> float:
    return _relative_entropy(POWER, ALPHA) / per_sample
