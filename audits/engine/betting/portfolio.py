"""Portfolios: single bets on all tails at all points of a curve, added up within one sample.

A sum of bets with weights fixed beforehand, the rest kept as cash, is one bet; its wealth depends on how
many samples fell between the thresholds. The weights are those that grow fastest on a reference violation
(`audits.engine.betting.reference`): they decide how fast a violation is found, never whether one is claimed. Proof:
docs/notes/audit_betting.md, Lemma A.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.reference import outcome_chances
from dpproof.audits.engine.scores.tails import BOTH, LEVELS

Floats = NDArray[np.float64]

MULTIPLES: Floats = np.array([1 + 0.03 * 1.5**k for k in range(14)])
"""The references have these multiples of the stated epsilon: for a single point they must lie close."""
PRIOR: Floats = np.array([0.5, 0.5, 0.7, 0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.4, 0.7])
SMALLEST, LARGEST = 0.05, 200.0
"""The epsilons to which multiples are applied, and the largest of a reference."""
CASH = 0.01
"""Kept back from every portfolio, so that no sample takes all."""
STEPS = 200


@functools.lru_cache(maxsize=64)
def log_gains(points: tuple[CurvePoint, ...], growth: tuple[tuple[float, float], ...]) -> Floats:
    """Log of what each portfolio's wealth is multiplied by, as coefficients of the counts.

    Args:
        points: of the claimed curve; the last one is the stated one.
        growth: for each point the odds e^epsilon and the price delta of a bet on both tails, rounded up.

    Returns:
        Array (portfolios, levels, 3 kinds, 3 outcomes).
    """
    returns = np.vstack([np.ones((1, 2 * LEVELS.size + 1)), *(_returns(*g) for g in growth)])
    weights = _log_optimal(returns, _references(points[-1]))
    return _by_tail(np.log(CASH + (1 - CASH) * (weights @ returns)))


def _returns(odds: float, price: float) -> Floats:
    """Of the largest bet on both tails of each level: (levels, outcomes).

    Outcomes: won in the shell of each level, lost in the shell of each level, in no tail.
    """
    inside: Floats = np.tri(LEVELS.size).T
    stake = 1 / (odds + price) / (1 + 1e-12)
    middle = np.zeros((LEVELS.size, 1))
    paid: Floats = np.hstack([inside, -odds * inside, middle]) - price
    return 1 + stake * paid


def _references(stated: CurvePoint) -> Floats:
    """Chances of the outcomes under each reference violation: (references, outcomes)."""
    epsilons = np.minimum(MULTIPLES * max(stated.epsilon, SMALLEST), max(LARGEST, stated.epsilon + 1))
    return np.stack([outcome_chances(float(e), stated.delta) for e in epsilons])


def _log_optimal(returns: Floats, chances: Floats) -> Floats:
    """Weights (references, bets) near the largest mean log return, by exponentiated gradients.

    Each step is kept only where it gains; step sizes follow (compare Cover 1984, whose step is the first).
    """
    weights = np.full((len(chances), len(returns)), 0.5 / max(len(returns) - 1, 1))
    weights[:, 0] = 0.5
    step = np.ones((len(chances), 1))
    value = np.full(len(chances), -np.inf)
    for _ in range(STEPS):
        slope = (chances / (weights @ returns)) @ returns.T
        tried = weights * np.exp(np.clip(step * (slope - 1), -5, 5))
        tried /= tried.sum(axis=1, keepdims=True)
        reached = (chances * np.log(tried @ returns)).sum(axis=1)
        gains = reached >= value
        weights, value = np.where(gains[:, None], tried, weights), np.where(gains, reached, value)
        step *= np.where(gains, 1.3, 0.4)[:, None]
    return weights


def _by_tail(logs: Floats) -> Floats:
    """From logs per outcome to coefficients of the counts of nested tails, of both sides together."""
    n = LEVELS.size
    coefficients = np.zeros((len(logs), n, 3, 3))
    for outcome, start in ((0, 0), (1, n)):
        shells = logs[:, start : start + n]
        coefficients[:, :, BOTH, outcome] = shells - np.pad(shells[:, :-1], ((0, 0), (1, 0)))
    coefficients[:, 0, BOTH, 2] = logs[:, -1]
    return coefficients
