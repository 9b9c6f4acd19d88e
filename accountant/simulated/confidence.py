"""Tests by betting: a mean of bounded weights is above or below a number, valid at every time of looking.

A sample is a pair (loss, weight). For a threshold x its value is W(x) = weight (1 - exp(x - loss))_+, which is
at least 0 and has the mean delta(x). Two wealths start at 1. Under "delta(x) >= m" the product of
1 - s (W(x) - m) is a supermartingale, and under "delta(x) <= m" the product of 1 + s (W(x) - m) is one, if all
factors are at least 0. By Ville's inequality neither ever reaches 1/a with a probability above a. The stakes s
are chosen before the samples, and are the same for all x and m, so both wealths are monotone in x and in m
(docs/notes/simulated.md, section 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.simulated.participation import Floats

SAFE = 0.9
"""A factor of a wealth is at least 1 - SAFE."""
SPREAD = (1 / 3, 1.0, 3.0)
"""The wealth is the average over these multiples of the stake."""
SLACK = 0.01
"""By how much a logarithm of a wealth must exceed its threshold, because it is computed in double precision."""
_HALVINGS, _CLOSE = 60, 1e-6


@dataclass
class Bets:
    """The samples so far, and the two wealths.

    Samples are kept if their loss is above ``least``, because others have the value 0 from there on.
    """

    stake: float
    least: float
    largest: float
    """The certified bound on W(least), and so on W(x) for every larger x."""
    count: int = 0
    losses: list[Floats] = field(default_factory=list)
    log_weights: list[Floats] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, losses: Floats, log_weights: Floats, error: float) -> None:
        """Add samples. Losses and logarithms of weights are off by at most ``error``."""
        kept = losses > self.least - error
        self.count += len(losses)
        self.losses.append(losses[kept])
        self.log_weights.append(log_weights[kept])
        self.errors.append(error)

    def values(self, x: float, side: int) -> Floats:
        """Upper (``side`` 1) or lower (-1) bounds on the values W(x) that are not 0."""
        found = [np.zeros(0)]
        for losses, logs, error in zip(self.losses, self.log_weights, self.errors, strict=True):
            over = losses + side * error - x
            over, raised = over[over > 0], logs[over > 0] + side * error
            found.append(np.exp(raised) * -np.expm1(-over) * (1 + side * 2.0**-48))
        return np.concatenate(found)

    def refutes_at_least(self, x: float, m: float, alpha: float) -> bool:
        """Return whether the samples refute "delta(x) >= m" at level ``alpha``."""
        if x < self.least:
            return False
        stakes = [-min(one * self.stake, SAFE / self.largest) for one in SPREAD]
        return _wealth(self.values(x, 1), self.count, m, stakes) >= math.log(1 / alpha) + SLACK

    def refutes_at_most(self, x: float, m: float, alpha: float) -> bool:
        """Return whether the samples refute "delta(x) <= m" at level ``alpha``."""
        stakes = [one * self.stake for one in SPREAD]
        if m * max(stakes) > SAFE:
            return False
        return _wealth(self.values(x, -1), self.count, m, stakes) >= math.log(1 / alpha) + SLACK


def _wealth(values: Floats, count: int, m: float, stakes: list[float]) -> float:
    """The logarithm of the average of the products of 1 + stake (value - m)."""
    rest = count - len(values)
    logs = [float(np.log1p(s * (values - m)).sum()) + rest * math.log1p(-s * m) for s in stakes]
    top = max(logs)
    return top + math.log(sum(math.exp(one - top) for one in logs) / len(logs))


def first(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return a number in [low, high] where ``holds`` is true, near the first one; infinity if not at ``high``.

    ``holds`` must not turn false again.
    """
    if holds(low):
        return low
    if not holds(high):
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
        if high - low <= _CLOSE * abs(high):
            break
    return high


def last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return a number in [low, high] where ``holds`` is true, near the last one; ``low`` if it is not true there.

    ``holds`` must not turn true again.
    """
    if not holds(low):
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
        if high - low <= _CLOSE * abs(high):
            break
    return low
