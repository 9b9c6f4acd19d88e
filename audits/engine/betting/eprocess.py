"""Betting against a privacy claim: large wealth refutes the claim. The wealth depends on counts of samples only.

A fair coin B (0 or 1, the label) picks the input, and X is the output. If the mechanism is (epsilon, delta)-DP then
for every event E (a set of outputs, with indicator 1_E) and 0 <= stake <= 1 / (e^epsilon + delta / 2)

    E[1 + stake (1_E(X) (B - e^epsilon (1 - B)) - delta / 2)] <= 1.

Here E[...] is the expectation. The bracket is the factor by which a bet on the event E multiplies its wealth. The
same holds with the labels swapped, and for the sum of two such bets on disjoint events (with delta in place of delta
/ 2). The mean stays at most 1 for products over samples, for averages over bets, and for events that depend on
earlier samples. By Ville's inequality the wealth then ever reaches 1 / alpha with probability at most alpha. The
events E are tails: "a score (a number computed from the output) is at least, or at most, a threshold". Proof:
docs/notes/audit_betting.md.

A portfolio combines single bets on all tails, at all points (epsilon, delta) of the claim. It splits its wealth on
each sample among these bets with fixed weights, and keeps a part as cash. Its wealth depends on how many samples fell
between the thresholds. With the chosen weights, the wealth grows fastest on a reference violation
(`audits.engine.betting.reference`). The weights change how fast a violation is found, but not the probability of a
false alarm (Lemma A of the note).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.reference import outcome_chances
from dpproof.audits.engine.scores.tails import BOTH, LEVELS

Floats = NDArray[np.float64]

MULTIPLES: Floats = np.array([1 + 0.03 * 1.5**k for k in range(14)])
"""The epsilons of the violations for which the bets are optimised, as multiples of the stated epsilon."""
PRIOR: Floats = np.array([0.5, 0.5, 0.7, 0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.4, 0.7])
SMALLEST, LARGEST = 0.05, 200.0
"""The smallest epsilon to which `MULTIPLES` are applied, and the largest epsilon after multiplication."""
CASH = 0.01
"""The share of its wealth that a portfolio (a mix of bets) keeps, so that no sample can lose all of it."""
STEPS = 200
RARE = 0.001
"""Against a claim with delta = 0, portfolios bet on no rarer tails, which would gain nothing. To refute a nearly true
claim with delta > 0, only rare tails help."""


@functools.lru_cache(maxsize=64)
def log_gains(points: tuple[CurvePoint, ...], growth: tuple[tuple[float, float], ...]) -> Floats:
    """Return coefficients for the log wealth of each portfolio (a mix of bets).

    The log wealth is the sum of the counts of samples, each times its coefficient.

    Args:
        points: the points (epsilon, delta) of the claimed curve, the stated one last.
        growth: e^epsilon and delta for each point, rounded up.

    Returns:
        An array of shape (portfolios, levels, 3 kinds, 3 outcomes). A level is the size of a tail. The kind of a tail
        is upper, lower or both. The outcome of a sample is that the bet on the tail is won, lost or not placed.
    """
    used = LEVELS >= RARE if points[-1].delta == 0 else LEVELS > 0
    returns = np.vstack([np.ones((1, 2 * LEVELS.size + 1)), *(_returns(*g)[used] for g in growth)])
    weights = _log_optimal(returns, _references(points[-1]))
    return _by_tail(np.log(CASH + (1 - CASH) * (weights @ returns)))


def _returns(odds: float, price: float) -> Floats:
    """Return the payoffs of the largest bet on both tails of each level: (levels, outcomes).

    The shell of a level is its tail without the tail of the next level. The outcomes are: won in the shell of each
    level, lost in the shell of each level, in no tail.
    """
    inside: Floats = np.tri(LEVELS.size).T
    stake = 1 / (odds + price) / (1 + 1e-12)
    middle = np.zeros((LEVELS.size, 1))
    paid: Floats = np.hstack([inside, -odds * inside, middle]) - price
    return 1 + stake * paid


def _references(stated: CurvePoint) -> Floats:
    """Return the probabilities of the outcomes under each reference violation: (references, outcomes)."""
    epsilons = np.minimum(MULTIPLES * max(stated.epsilon, SMALLEST), max(LARGEST, stated.epsilon + 1))
    return np.stack([outcome_chances(float(e), stated.delta) for e in epsilons])


def _log_optimal(returns: Floats, chances: Floats) -> Floats:
    """Return weights (references, bets) that nearly maximise the mean log return, by exponentiated gradients.

    A step is kept only if it increases the mean. The step size grows after such a step and shrinks otherwise
    (compare Cover 1984, whose step is the first).
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
    """Convert logs per outcome to coefficients of the counts of nested tails, for bets on both sides together."""
    n = LEVELS.size
    coefficients = np.zeros((len(logs), n, 3, 3))
    for outcome, start in ((0, 0), (1, n)):
        shells = logs[:, start : start + n]
        coefficients[:, :, BOTH, outcome] = shells - np.pad(shells[:, :-1], ((0, 0), (1, 0)))
    coefficients[:, 0, BOTH, 2] = logs[:, -1]
    return coefficients


Ints = NDArray[np.int64]

FRACTIONS: Floats = np.array([0.06, 0.2, 0.45, 0.8, 0.99])
"""Stakes against a claim, as shares of the largest allowed stake."""
STAKES: Floats = np.exp(-0.1 - 0.5 * np.arange(24))
"""Stakes of the bets for the lower bound on epsilon."""
LEVEL_PRIOR: Floats = np.array([1, 1, 1, 0.9, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.06, 0.04, 0.04, 0.04])
"""The initial stakes on tails of each size in `dpproof.audits.engine.scores.tails.LEVELS`, up to a common factor."""
KIND_PRIOR: Floats = np.array([1.0, 1.0, 6.0])
SIDES: Floats = np.array([0.5, 0.5, 1.0])
"""What a bet on an upper, a lower, or both tails pays for each sample, in units of delta."""
ROUND_UP = 1 + 1e-12
"""A factor that is applied to e^epsilon and delta, to cover all rounding errors."""
SLACK = 4e-3
"""Added to the log wealth that refutes a claim, for rounding errors of 1e9 samples (docs/notes/audit_betting.md)."""
SINGLY = 0.15
"""The share of the initial wealth for bets on one tail each; portfolios (mixes of bets) have the rest."""
EPSILON_LIMIT = 40.0
VOID = -1e300
"""The log wealth that is assigned to a bet that could lose more than all of its wealth."""


def rejects(log_wealth: float, alpha: float) -> bool:
    """Return whether the wealth refutes the claim: whether it has reached 1 / ``alpha``, with a small margin."""
    return log_wealth >= -math.log(alpha) + SLACK


class LogWealth:
    """A function from counts of samples to the log wealth of all bets against a claim.

    Each bet starts with a share of the wealth 1; large wealth refutes the claim. A single bet is a bet on one tail: the
    event that a score is at least, or at most, a threshold. A portfolio is a mix of single bets. The proof is in
    docs/notes/audit_betting.md, Lemmas 1 to 3 and A.

    Args:
        points: points (epsilon, delta) that the claim implies, the stated one last.

    Attributes:
        points: the given points.
    """

    def __init__(self, points: tuple[CurvePoint, ...]) -> None:
        self.points = points
        e = np.exp([p.epsilon for p in points])[:, None] * ROUND_UP
        paid = (SIDES[:, None] * np.array([p.delta for p in points]))[:, :, None] * ROUND_UP
        stakes = FRACTIONS / (e + paid) / ROUND_UP
        won, lost, passed = (
            np.log1p(stakes * (1 - paid)),
            np.log1p(-stakes * (e + paid)),
            np.log1p(-stakes * paid),
        )
        self._gains = np.stack([won, lost, passed])
        """Log gains, as an array (3 outcomes, kinds, points, stakes)."""
        self._by_kind = np.moveaxis(self._gains, 1, 0).reshape(len(SIDES), 3, -1)
        """The same log gains, as an array (kinds, 3 outcomes, points times stakes)."""
        prior = LEVEL_PRIOR[:, None] * KIND_PRIOR
        self._log_prior = np.log(SINGLY * prior / prior.sum() / len(points) / FRACTIONS.size)
        together = log_gains(points, tuple(zip(e[:, 0], paid[-1, :, 0], strict=True)))
        self._portfolios = together.reshape(len(together), -1).T.copy()
        self._log_shares = np.log((1 - SINGLY) * PRIOR / PRIOR.sum())

    def components(self, counts: Ints) -> Floats:
        """Return the log wealth of each bet on one tail.

        The array has the shape (..., tail sizes, kinds of tail, claimed points, stakes). A stake is given as a share of
        the largest allowed stake.
        """
        return np.asarray(_gained(counts, self._gains) + self._log_prior[:, :, None, None])

    def __call__(self, counts: Ints) -> Floats:
        """Return the log average wealth for counts (..., levels, kinds, 3), as in `audits.engine.scores.tails`."""
        return log_sums(self.parts(counts))

    def parts(self, counts: Ints) -> Floats:
        """Return the log wealth of every bet, as an array of shape (..., bets).

        The bets on one tail each come first, then the portfolios (mixes of bets).
        """
        numbers = counts.astype(np.float64)
        singly = np.moveaxis(numbers, -2, -3) @ self._by_kind + self._log_prior.T[..., None]
        rows = [singly.reshape(*counts.shape[:-3], -1), self._together(numbers)]
        return np.concatenate(rows, axis=-1)

    def of_portfolios(self, counts: Ints) -> Floats:
        """Return the log wealth of the portfolios (mixes of bets) alone, a lower bound on that of all bets."""
        return log_sums(self._together(counts.astype(np.float64)))

    def _together(self, numbers: Floats) -> Floats:
        """Return the log of prior weight times wealth for every portfolio: (..., portfolios)."""
        return np.asarray(numbers.reshape(*numbers.shape[:-3], -1) @ self._portfolios + self._log_shares)

    def best(self, counts: Ints) -> tuple[int, int, CurvePoint, float]:
        """Return the bet on one tail with the largest wealth, as (level, kind, point, stake).

        The level and the kind of the tail are indices. The point is the tested one. The stake is a share of the largest
        allowed stake.
        """
        parts = self.components(counts)
        level, kind, point, stake = np.unravel_index(int(parts.argmax()), parts.shape)
        return int(level), int(kind), self.points[int(point)], float(FRACTIONS[stake])


def epsilon_lower(counts: Ints, delta: float, alpha: float, shares: Floats | None = None) -> float:
    """Return a lower confidence bound on epsilon at ``delta``; it is false with probability at most ``alpha``.

    The bound is the smallest x for which the counts do not refute (x, delta)-DP at level ``alpha``. The amounts that
    are bet do not depend on x, so a larger x gives less wealth. Only the test of the true epsilon has to be valid, so
    no correction for several tests is needed (docs/notes/audit_betting.md, Theorem 5).

    Args:
        counts: for each tail, the numbers of samples on which the bet was won, lost and not placed. The int64 array has
            the shape (scores, tail sizes, kinds of tail, 3). They may be taken at any stopping time.
        delta: the delta of the bound, in [0, 1).
        alpha: the largest probability that the bound is false, in (0, 1).
        shares: the share of the initial wealth that each score has, fixed before any sample; equal unless given.

    Returns:
        A number in [0, `EPSILON_LIMIT`], rounded down.
    """
    equal = np.full(counts.shape[0], 1 / counts.shape[0])
    log_wealth = _log_wealth_against(counts, delta, equal if shares is None else shares)
    if not rejects(log_wealth(0.0), alpha):
        return 0.0
    low, high = 0.0, EPSILON_LIMIT
    while high - low > 1e-6 * (1 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(log_wealth(middle), alpha) else (low, middle)
    return low


def _log_wealth_against(counts: Ints, delta: float, shares: Floats) -> Callable[[float], float]:
    """Return the log average wealth against (epsilon, delta)-DP as a function of epsilon."""
    paid = (SIDES * delta * ROUND_UP)[:, None]
    numbers = counts[..., None, :].astype(np.float64)
    prior = LEVEL_PRIOR[:, None] * KIND_PRIOR / (LEVEL_PRIOR.sum() * KIND_PRIOR.sum())
    settled = np.log(shares[:, None, None] * prior / STAKES.size)[..., None]
    settled = settled + numbers[..., 0] * np.log1p(STAKES * (1 - paid))
    settled += numbers[..., 2] * np.log1p(-STAKES * paid)

    def log_wealth(epsilon: float) -> float:
        left = 1 - STAKES * (math.exp(epsilon) * ROUND_UP + paid)
        lost = numbers[..., 1] * np.log(np.where(left > 0, left, 1.0))
        return float(log_sums(np.where(left > 0, settled + lost, VOID).ravel()))

    return log_wealth


def log_sums(logs: Floats) -> Floats:
    """Return the log of the sum of exponentials along the last axis, for finite numbers."""
    largest = logs.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(logs - largest).sum(axis=-1)) + largest[..., 0])


def _gained(counts: Ints, gains: Floats) -> Floats:
    """Return the sum over outcomes of counts (..., kinds, 3) times gains (3, kinds, points, stakes)."""
    shaped = counts[..., None, None].astype(np.float64)
    return np.asarray(sum(shaped[..., c, :, :] * gains[c] for c in range(3)))
