"""The composed pairs of Laplace noise on counts, continuous or discrete: each law by pairs of its own.

Discrete Laplace noise has the continuous law's largest loss, and takes it with a larger probability: a shift
of 1 is randomised response. So no scale found for the one law at delta above 0 serves the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import flint

from dpproof.accountant.guarantees.bounded_loss import Enclosed
from dpproof.accountant.guarantees.notions import Guarantee
from dpproof.accountant.numbers.enclosures import bound_of
from dpproof.accountant.pairs.base import DominatingPair

__all__ = ["Step", "composed"]

_LEAST_SCALE, _LARGEST_SCALE = 2e-3, 1e12  # of ``dpproof.accountant.pairs.laplace``
_LARGEST_WHOLE, _MOST_SHIFT, _MOST_LOSS = (
    1e12,
    10**5,
    600,
)  # the latter of ``dpproof.accountant.pairs.geometric``


class Step(NamedTuple):
    """``times`` noisy values that move by ``size``, with noise of ``scale``, both in the values' units."""

    scale: flint.arb
    size: int
    times: int


def composed(law: str, steps: Sequence[Step]) -> Guarantee | None:
    """All steps composed; None where one is out of the pairs' range. Call it inside ``precision``.

    Less noise of either law dominates more (docs/notes/ucb_counters_exact.md), so that the two ends of an
    inexact scale enclose the guarantee.
    """
    ends = [_ENDS[law](step) for step in steps]
    if any(end is None for end in ends):
        return None
    less, more = (_loss(law, side, steps) for side in zip(*(end for end in ends if end), strict=True))
    return less if less == more else Enclosed(more, less)


def _relative(step: Step) -> tuple[float, float] | None:
    """Doubles around the scale in units of the shift."""
    ends = bound_of(step.scale / step.size)
    inside = ends.lower > _LEAST_SCALE and ends.upper < _LARGEST_SCALE
    return (ends.lower, ends.upper) if inside else None


def _whole(step: Step) -> tuple[float, float] | None:
    """Doubles around the scale in units of which the shift is a whole number."""
    ends = bound_of(step.scale)
    inside = step.size <= min(_MOST_SHIFT, _MOST_LOSS * ends.lower) and ends.upper < _LARGEST_WHOLE
    return (ends.lower, ends.upper) if inside else None


_ENDS = {"laplace": _relative, "discrete-laplace": _whole}


def _loss(law: str, scales: Sequence[float], steps: Sequence[Step]) -> Guarantee:
    from dpproof.accountant.privacy_loss.notion import PrivacyLoss

    counts: Counter[DominatingPair] = Counter()
    for scale, step in zip(scales, steps, strict=True):
        counts[_pair(law, scale, step.size)] += step.times
    return PrivacyLoss([list(counts.items())])


def _pair(law: str, scale: float, size: int) -> DominatingPair:
    from dpproof.accountant.pairs.geometric import Geometric
    from dpproof.accountant.pairs.laplace import Laplace

    return Laplace(scale) if law == "laplace" else Geometric(scale, size)
