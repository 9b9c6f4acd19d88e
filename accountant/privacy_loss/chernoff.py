"""Chernoff's bounds on delta, from the moment-generating function M of the composed loss at a real c > 0.

(1 - e^(-x))^+ <= e^(cx) c^c/(1 + c)^(1 + c) for every c > 0, so delta(epsilon) is at most M(c) e^(-c epsilon)
c^c/(1 + c)^(1 + c). If no other method applies, this is the upper bound. The lower bound then is the largest delta of a
single pair, because a composition is no more private than one use of one of its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.inversion import LEAST_DELTA
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.saddle import Inapplicable, Line, Parts, chernoff_factor, line_at
from dpproof.accountant.privacy_loss.single import delta_of_pair, epsilon_of_pair


def chernoff(lines: Sequence[Line], epsilon: float) -> float:
    """Return the logarithm of the best Chernoff bound on delta at ``epsilon``."""
    logs = [x.log_mgf + x.log_mgf_error + chernoff_factor(x.c) - x.c * epsilon for x in lines]
    best = min(logs, default=0.0)
    return best + 1e-9 * (1 + abs(best))


_TRIED = tuple(2.0 ** (k / 2) for k in range(-40, 41))


def coarse_delta(
    pairs: Sequence[tuple[DominatingPair, int]], parts: Parts, epsilon: Fraction
) -> tuple[float, float]:
    """Return certified but wide bounds on the delta of a composition at ``epsilon``.

    ``pairs`` are the dominating pairs, and ``parts`` their moment-generating functions, each with a count.
    """
    logs = [
        line.log_mgf + line.log_mgf_error + chernoff_factor(line.c) - line.c * float(epsilon)
        for line in _lines(parts)
    ]
    high = min(logs, default=0.0)
    high += 1e-9 * (1 + abs(high))
    low = max(delta_of_pair(pair, epsilon)[0] for pair, _ in pairs)
    return low, max(min(math.exp(min(high, 0.0)), 1.0), LEAST_DELTA, low)


def coarse_epsilon(
    pairs: Sequence[tuple[DominatingPair, int]], parts: Parts, delta: Fraction
) -> tuple[float, float]:
    """Return certified but wide bounds on the epsilon of a composition at ``delta``.

    ``pairs`` and ``parts`` are those of ``coarse_delta``.
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    ends = [
        (line.log_mgf + line.log_mgf_error + chernoff_factor(line.c) - goal, line.c) for line in _lines(parts)
    ]
    high = min((max(value + 1e-9 * (1 + abs(value)), 0.0) / c for value, c in ends), default=math.inf)
    low = max(epsilon_of_pair(pair, delta)[0] for pair, _ in pairs)
    return low, max(high * (1 + 1e-12), low)


def _lines(parts: Parts) -> list[Line]:
    found = []
    for c in _TRIED:
        try:
            found.append(line_at(parts, c))
        except Inapplicable:
            continue
    return [line for line in found if math.isfinite(line.log_mgf + line.log_mgf_error)]
