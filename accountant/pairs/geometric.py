"""Geometric (discrete Laplace) noise on the integers."""

from __future__ import annotations

from dataclasses import dataclass

from accountant.enclosures import Number, arb_of, exact, precision, round_up
from accountant.pairs.base import Cells, Floats
from accountant.pairs.lattice import listed

__all__ = ["Geometric"]

_BITS = 192
_MOST_SHIFT, _MOST_LOSS = 10**5, 600


@dataclass(frozen=True)
class Geometric:
    """The pair of the integers' law ~ exp(-|x|/scale) and the same shifted by ``shift``.

    The loss of x is (|x - shift| - |x|)/scale: shift/scale for x <= 0, -shift/scale for x >= shift, and
    (shift - 2 x)/scale between. So a shift by 1 is randomised response. The pair dominates every smaller
    integer shift; both directions have one privacy loss.

    Source: Ghosh, Roughgarden and Sundararajan, arXiv:0811.2841, Definition 2.1 (the law); the masses are
    geometric sums; smaller shifts: docs/notes/pairs.md, section 4.

    >>> import numpy as np
    >>> Geometric(1).cells(np.array([0.0])).p  # exp(1) : 1
    array([0.268941, 0.731059])

    Raises:
        ValueError: unless scale is above 0, shift is an integer in [1, 100000] and shift/scale <= 600.
    """

    scale: Number
    shift: int = 1

    def __post_init__(self) -> None:
        if exact(self.scale, "scale") <= 0:
            raise ValueError(f"scale ({self.scale!r}) must be above 0")
        if (
            isinstance(self.shift, bool)
            or not isinstance(self.shift, int)
            or not 1 <= self.shift <= _MOST_SHIFT
        ):
            raise ValueError(f"shift ({self.shift!r}) must be an integer in [1, {_MOST_SHIFT}]")
        if self.shift > _MOST_LOSS * exact(self.scale):
            raise ValueError(
                f"scale ({self.scale!r}) must be at least shift/{_MOST_LOSS}, shift {self.shift}"
            )

    @property
    def lattice(self) -> float:
        """The losses are ``origin`` plus multiples of it."""
        return float(2 / exact(self.scale))

    @property
    def origin(self) -> float:
        """One of the losses, modulo ``lattice``."""
        return float(self.shift % 2 / exact(self.scale))

    def cells(self, edges: Floats) -> Cells:
        """See ``Pair.cells``: shift + 1 groups of outcomes, from x >= shift down to x <= 0."""
        with precision(_BITS + 2 * _MOST_LOSS):
            unit = arb_of(1 / exact(self.scale))
            step = (-unit).exp()
            ends, inner = 1 / (1 + step), (1 - step) / (1 + step)
            places = range(self.shift - 1, 0, -1)
            losses = [(self.shift - 2 * x) * unit for x in (self.shift, *places, 0)]
            p = [step**self.shift * ends, *(inner * step**x for x in places), ends]
            return listed(edges, losses, p, p[::-1])

    def reversed(self) -> Geometric:
        """The pair itself: reflecting the output exchanges P and Q."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """See ``Pair.loss_range``."""
        with precision(_BITS):
            end = round_up(arb_of(self.shift / exact(self.scale)))
        return -end, end

    def characteristic(self) -> None:
        """None: the grid serves it."""
        return
