"""Ends for when both routes refuse: Chernoff's bound from above, one use of one pair from below.

(1 - e^(-x))^+ <= e^(cx) c^c/(1 + c)^(1 + c) for every c > 0, so that delta(epsilon) is at most
M(c) e^(-c epsilon) times that factor; what one mechanism of a composition reveals, all of it reveals too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.crossing import LEAST_DELTA
from dpproof.accountant.privacy_loss.saddle import Inapplicable, Line, Parts, line_at
from dpproof.accountant.privacy_loss.single import delta_of_pair, epsilon_of_pair

__all__ = ["coarse_delta", "coarse_epsilon"]

_TRIED = tuple(2.0 ** (k / 2) for k in range(-40, 41))


def coarse_delta(
    pairs: Sequence[tuple[DominatingPair, int]], parts: Parts, epsilon: Fraction
) -> tuple[float, float]:
    """Certified ends around delta(epsilon), far apart where jumps are rare."""
    logs = [
        line.log_mgf + line.log_mgf_error + _factor(line.c) - line.c * float(epsilon)
        for line in _lines(parts)
    ]
    high = min(logs, default=0.0)
    high += 1e-9 * (1 + abs(high))
    low = max(delta_of_pair(pair, epsilon)[0] for pair, _ in pairs)
    return low, max(min(math.exp(min(high, 0.0)), 1.0), LEAST_DELTA, low)


def coarse_epsilon(
    pairs: Sequence[tuple[DominatingPair, int]], parts: Parts, delta: Fraction
) -> tuple[float, float]:
    """Certified ends around epsilon(delta), far apart where jumps are rare."""
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    ends = [(line.log_mgf + line.log_mgf_error + _factor(line.c) - goal, line.c) for line in _lines(parts)]
    high = min((max(value + 1e-9 * (1 + abs(value)), 0.0) / c for value, c in ends), default=math.inf)
    low = max(epsilon_of_pair(pair, delta)[0] for pair, _ in pairs)
    return low, max(high * (1 + 1e-12), low)


def _factor(c: float) -> float:
    return c * math.log(c / (1 + c)) - math.log1p(c)


def _lines(parts: Parts) -> list[Line]:
    found = []
    for c in _TRIED:
        try:
            found.append(line_at(parts, c))
        except Inapplicable:
            continue
    return [line for line in found if math.isfinite(line.log_mgf + line.log_mgf_error)]
