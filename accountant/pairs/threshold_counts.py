"""The pair of the number of steps whose noisy sum exceeds a threshold, under random allocation.

A record takes part in k of t steps, which are drawn at random, and moves the sum of such a step by 1. The number of
sums above the threshold is a function of all sums. So this pair bounds delta of random allocation from below.
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.pairs.base import Cells, Floats, within
from dpproof.accountant.pairs.random_allocation import OutcomeTable
from dpproof.accountant.pairs.subsampled import swapped

_BITS, _U = 128, 2.0**-53
_RARE = 1e-250
MOST_STEPS = 20_000


@dataclass(frozen=True)
class ThresholdCounts:
    """The number of noisy sums above ``threshold``, if a record takes part in ``chosen`` of ``steps`` steps.

    Under P, the number is the sum of two binomial numbers: ``chosen`` steps exceed the threshold with probability
    P[N(1, s^2) > threshold], the others with P[N(0, s^2) > threshold]. Under Q, no record takes part. If ``removes``
    is false, P and Q are exchanged.

    >>> pair = ThresholdCounts(2, 1, 1.0, 0.5)
    >>> [float(x.round(4)) for x in pair.cells(np.array([0.0])).p]
    [0.2133, 0.7867]

    Raises:
        ValueError: unless 1 <= chosen <= steps <= 20000 and 0.05 <= noise_multiplier <= 1e12 (a double).
    """

    steps: int
    chosen: int
    noise_multiplier: float
    threshold: float
    removes: bool = True

    def __post_init__(self) -> None:
        whole(self.steps, "steps", 1, MOST_STEPS)
        whole(self.chosen, "chosen", 1, self.steps)
        within(self.noise_multiplier, "noise_multiplier", 0.05, 1e12)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        if not self.removes:
            return swapped(self.reversed().cells(-edges[::-1]))
        return self._table.cells(edges)

    def reversed(self) -> ThresholdCounts:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return ThresholdCounts(
            self.steps, self.chosen, self.noise_multiplier, self.threshold, not self.removes
        )

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses."""
        low, high = self._table.range
        return (low, high) if self.removes else (-high, -low)

    def characteristic(self) -> None:
        """Return None: no characteristic function is computed, so composition uses a grid of losses."""
        return

    @property
    def _table(self) -> OutcomeTable:
        return _counted(self.steps, self.chosen, self.noise_multiplier, self.threshold)


@lru_cache(maxsize=64)
def _counted(steps: int, chosen: int, noise: float, threshold: float) -> OutcomeTable:
    """Return the outcomes: counts that are not rare under either law, and all others as one outcome."""
    with precision(_BITS):
        s, at = arb_of(exact(noise)), arb_of(exact(threshold))
        without, moved = normal_tail(at / s), normal_tail((at - 1) / s)
        still, stays = normal_tail(-at / s), normal_tail((1 - at) / s)
        taking = _binomial(chosen, moved, stays)
        resting = _binomial(steps - chosen, without, still)
        q = _binomial(steps, without, still)
    p = np.convolve(taking, resting)
    some = (p > _RARE) & (q > _RARE)
    rest = p[~some].sum(), q[~some].sum()
    if min(rest) > _RARE:
        p, q = np.append(p[some], rest[0]), np.append(q[some], rest[1])
    else:
        p, q = p[some], q[some]
    error = (2 * steps + 64) * _U
    losses = np.log(p) - np.log(q)
    size = float(np.abs(np.log(p)).max() + np.abs(np.log(q)).max())
    return OutcomeTable(losses, p, q, 0.0, (0.0, 0.0), error, 2.1 * error + 8 * _U * size, 0.0)


def _binomial(trials: int, chance: flint.arb, other: flint.arb) -> Floats:
    """Return the binomial probabilities of 0 .. trials, each within an ulp unless it is far below the smallest kept.

    ``other`` is 1 - ``chance``, which may be too small to be a difference.
    """
    logs, rest = chance.log(), other.log()
    whole_ = flint.arb(trials + 1).lgamma()
    ways = [flint.arb(k + 1).lgamma() for k in range(trials + 1)]
    found = (
        (whole_ - ways[k] - ways[trials - k] + k * logs + (trials - k) * rest).exp()
        for k in range(trials + 1)
    )
    return np.array([float(x) for x in found])


def thresholds(steps: int, chosen: int, noise: float) -> tuple[float, ...]:
    """Return some thresholds that may tell the two laws apart best; every threshold gives a valid pair."""
    rare = math.sqrt(2 * math.log(1 + steps / chosen))
    return tuple(noise * x for x in (0.5 / noise, rare, 1.5 * rare))
