"""The recursion over numbers of right guesses: too many of them contradict a whole privacy curve.

With P_j = P[right >= j], every point (epsilon, delta) of the curve demands, for every j (docs/notes/
audit_one_run.md, Theorem 3),

    (r - j) P_j >= C + m G(y),   C = P_{j+1} + P_{j+2} + ...,   m y = j P_{j+1} + C,

G(y) being the largest of 0 and, over all points, of e^-epsilon (y - delta) and 1 - delta - e^epsilon (1 - y).
All of it grows with all P, so from P_v = alpha on it gives lower bounds; one above 1 refutes that
P[right >= v] is alpha or more.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.training.guesses import Guesses

__all__ = ["curve_lines", "exceeds_one"]

Points = tuple[tuple[float, float], ...]
_NODES = 64
_LARGEST = 30.0
_UNIT = 2.0**-53
_LESS = 1 - 16 * _UNIT
"""What is multiplied by it after at most four rounded operations on numbers >= 0 is a lower bound."""


def curve_lines(curve: PrivacyCurve, least: float) -> Points:
    """Points (epsilon, delta) of a curve, from epsilon 0 to where delta falls to ``least`` or falls no more.

    Each is implied by the claim, delta being rounded up; which ones are taken affects power only.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> [point for point in curve_lines(PureDP(1.0), 1e-6)][-1]
    (1.0, 0.0)
    """
    reach = _reach(curve, least)
    nodes = np.linspace(0.0, reach, _NODES) if reach else np.zeros(1)
    return tuple((float(node), curve.delta(float(node)).upper) for node in nodes)


def _reach(curve: PrivacyCurve, least: float) -> float:
    """The last epsilon worth a look."""
    while least < 0.5:
        reach = curve.epsilon(least).upper
        if math.isfinite(reach):
            return min(reach, _LARGEST)
        least *= 4
    return _LARGEST


def exceeds_one(points: Points, found: Guesses, alpha: float) -> bool:
    """Whether ``found.right`` right guesses, or more, with a chance of ``alpha`` contradict the points."""
    m, r, v = found.canaries, found.guesses, found.right
    lines, crossings = _upper_envelope(_lines(points))
    tail, total, at = alpha, alpha, 0
    for j in range(v - 1, -1, -1):
        y = (j * tail + total) / m * _LESS
        while at < len(crossings) and y > crossings[at]:
            at += 1
        slope, height = lines[at]
        demanded = (total + m * max(slope * y + height, 0.0)) / (r - j) * _LESS
        tail = max(tail, demanded)
        if tail > 1:
            return True
        total = (total + tail) * _LESS
    return False


def _lines(points: Points) -> list[tuple[float, float]]:
    """Slopes and heights of lines below G, with room for the rounding of slope * y + height at y <= 1.

    A smaller slope e^-epsilon (y - delta), or a larger e^epsilon, is still below G.
    """
    lines = [(0.0, 0.0)]
    for epsilon, delta in points:
        falling, rising = math.exp(-epsilon) * (1 - 1e-15), math.exp(epsilon) * (1 + 1e-15)
        for slope, height in ((falling, -falling * delta), (rising, 1 - delta - rising)):
            lines.append((slope, height - 8 * _UNIT * (1 + slope + abs(height))))
    return sorted(lines)


def _upper_envelope(lines: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], list[float]]:
    """The lines that are highest somewhere, by slope, and where each gives way to the next."""
    kept: list[tuple[float, float]] = []
    for line in lines:
        if kept and kept[-1][0] == line[0]:
            kept.pop()
        while len(kept) >= 2 and _crossing(kept[-1], line) <= _crossing(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    return kept, [_crossing(one, other) for one, other in pairwise(kept)]


def _crossing(flat: tuple[float, float], steep: tuple[float, float]) -> float:
    return (flat[1] - steep[1]) / (steep[0] - flat[0])
