"""What the extremes of a composed loss say: its largest value, and the mass of infinite losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.pairs.base import DominatingPair

__all__ = ["infinite_mass", "largest_loss"]

_CHARGE = 1e-14
_SHARES = (1e-14, 1e-12, 1e-9, 1e-6, 1e-3)


def largest_loss(parts: Sequence[tuple[DominatingPair, int]]) -> tuple[float, float]:
    """Ends around the supremum of the finite composed losses, at least 0; infinite where there is none.

    The upper end adds up the pairs' own, which lie outside; the lower one adds up losses beyond which the
    pair has mass.
    """
    high = math.fsum(count * pair.loss_range()[1] for pair, count in parts)
    if math.isinf(high):
        return math.inf, math.inf
    low = math.fsum(count * _reached(pair) for pair, count in parts)
    charge = _CHARGE * math.fsum(count * abs(pair.loss_range()[1]) for pair, count in parts)
    return max(low - charge, 0.0), max(high + charge, 0.0)


def _reached(pair: DominatingPair) -> float:
    """A loss that the pair is certified to exceed with some mass, as near the largest as a few tries find."""
    top = pair.loss_range()[1]
    for share in _SHARES:
        edge = top - share * abs(top)
        cells = pair.cells(np.array([edge]))
        error = np.broadcast_to(np.asarray(cells.p_error, dtype=np.float64), cells.p.shape)[-1]
        if cells.p[-1] * (1 - error) > 0:
            return edge - cells.slack
    return -math.inf


def infinite_mass(parts: Sequence[tuple[DominatingPair, int]]) -> tuple[float, float]:
    """Ends around the mass of infinite composed losses, 1 - prod (1 - mass)^count.

    >>> from dpproof.accountant.pairs.atoms import Atoms
    >>> leak = Atoms(["1/4", "3/4"], [0, 1])
    >>> low, high = infinite_mass([(leak, 2)])
    >>> low <= 1 - 0.75**2 <= high
    True
    """
    ends = [_infinite(pair) for pair, _ in parts]
    low, high = (
        1.0 if any(e[side] >= 1 for e in ends)
        else -math.expm1(math.fsum(n * math.log1p(-e[side]) for e, (_, n) in zip(ends, parts, strict=True)))
        for side in (0, 1)
    )  # fmt: skip
    return (1.0 if low >= 1 else abs(low) * (1 - _CHARGE)), min(abs(high) * (1 + _CHARGE), 1.0)


def _infinite(pair: DominatingPair) -> tuple[float, float]:
    cells = pair.cells(np.zeros(1))
    return cells.infinite if cells.p.any() else (1.0, 1.0)
