"""The dominating pair of Laplace noise on a number of sensitivity 1."""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, within
from dpproof.accountant.pairs.lattice import floored

_U = 2.0**-53


@dataclass(frozen=True)
class Laplace:
    """The dominating pair of Laplace noise of the given ``scale`` around 0 and around 1.

    Under P the privacy loss is 1/scale with probability 1/2, and -1/scale with probability exp(-1/scale)/2.
    Between these two values the loss has a density. Both directions have the same privacy loss.

    >>> cells = Laplace(2.0).cells(np.array([0.5]))
    >>> [round(float(p), 6) for p in cells.p]
    [0.5, 0.5]

    Raises:
        ValueError: unless scale is a double from 2e-3 to 1e12. Below, a probability under Q would be no
            double.

    Source: Dwork, McSherry, Nissim and Smith, TCC 2006, Section 3; Zhu, Dong and Wang, arXiv:2106.08567v4,
    Table 1.
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", within(self.scale, "scale", 2e-3, 1e12))

    @property
    def lattice(self) -> float:
        """The number 1/scale. The largest privacy loss is 1/scale, and the smallest is -1/scale."""
        return 1 / self.scale

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        top = 1 / self.scale
        ends = np.clip(np.concatenate([[-np.inf], edges, [np.inf]]), -top, top)
        low, high = ends[:-1], ends[1:]
        part = -np.expm1((low - high) / 2) / 2
        error = (64 + 4 * top) * _U
        p, p_error = floored(np.exp((high - top) / 2) * part, error, low < high)
        q, q_error = floored(np.exp(-(low + top) / 2) * part, error, low < high)
        for atom, at_p, at_q in ((top, 0.5, math.exp(-top) / 2), (-top, math.exp(-top) / 2, 0.5)):
            place = int(np.searchsorted(edges, atom, side="right"))
            p[place] += at_p
            q[place] += at_q
            p_error[place] = q_error[place] = error  # what was floored beside an atom is within its rounding
        return Cells(p, q, p_error, q_error, 4 * _U * top)

    def reversed(self) -> Laplace:
        """Return the pair itself: the loss of (Q, P) has the same distribution."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are minus and plus 1/scale, rounded outward.
        """
        top = math.nextafter(1 / self.scale, math.inf)
        return -top, top

    def characteristic(self) -> Characteristic | None:
        """Return None: the moment-generating function does not decay, so composition uses a grid of losses."""
        return None
