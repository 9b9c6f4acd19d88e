"""Staircase noise: real numbers whose density falls by a constant factor from each step to the next."""

from __future__ import annotations

from dataclasses import dataclass

import flint

from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.accountant.pairs.base import RAREST, Cells, Floats
from dpproof.accountant.pairs.lattice import listed

_BITS = 192
MOST_EPSILON = 600
_Rows = list[tuple[flint.arb, flint.arb, flint.arb]]


@dataclass(frozen=True)
class Staircase:
    """The dominating pair of staircase noise and the same noise shifted by ``shift`` widths of a step.

    Staircase noise has a piecewise constant density. Measured in widths of a step, the steps end at ..., -(1
    + gamma), -gamma, gamma, 1 + gamma, .... The density is constant on each step, and exp(epsilon) times
    smaller on the next outer step. A shift of at most one width crosses at most one of these ends, so the
    privacy losses are epsilon, 0 and -epsilon. The pair dominates every smaller shift. Both directions have
    the same privacy loss.

    Source: Geng and Viswanath, IEEE Transactions on Information Theory 62 (2016) 925, for the density;
    docs/notes/staircase.md, sections 2 and 3, for the masses and for smaller shifts.

    >>> import numpy as np
    >>> Staircase(1, "1/2").cells(np.array([-0.5, 0.5])).p.tolist()  # randomised response at epsilon 1
    [0.268941, 0.0, 0.731059]

    Raises:
        ValueError: unless 1e-300 <= epsilon <= 600, 0 <= gamma <= 1 and 1e-300 <= shift <= 1.
    """

    epsilon: Number
    gamma: Number
    shift: Number = 1

    def __post_init__(self) -> None:
        if not RAREST <= exact(self.epsilon, "epsilon") <= MOST_EPSILON:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be from 1e-300 to {MOST_EPSILON}")
        if not 0 <= exact(self.gamma, "gamma") <= 1:
            raise ValueError(f"gamma ({self.gamma!r}) must be in [0, 1]")
        if not RAREST <= exact(self.shift, "shift") <= 1:
            raise ValueError(f"shift ({self.shift!r}) must be from 1e-300 to 1")

    @property
    def lattice(self) -> float:
        """The spacing of the privacy losses. All losses are multiples of this number."""
        return float(exact(self.epsilon))

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        with precision(_BITS):
            losses, p, q = zip(*self._rows(), strict=True)
            return listed(edges, losses, p, q)

    def _rows(self) -> _Rows:
        """Return the losses, and the masses of P and Q there as sums of nonnegative terms."""
        gamma, shift = exact(self.gamma), exact(self.shift)
        loss = arb_of(exact(self.epsilon))
        factor, fallen = (-loss).exp(), -(-loss).expm1()
        total = 2 * (arb_of(gamma) * fallen + factor)
        more = (arb_of(min(shift, 2 * gamma)) * fallen + arb_of(shift) * factor) / total
        inner, outer = (2 * gamma if shift <= 2 * gamma else 2 - 2 * gamma) - shift, 2 * (1 - shift)
        same = (arb_of(inner) * fallen + arb_of(outer) * factor) / total
        same = same if shift <= 2 * gamma else same * factor
        middle = [(0 * loss, same, same)] if inner or outer else []
        return [(-loss, more * factor, more), *middle, (loss, more, more * factor)]

    def reversed(self) -> Staircase:
        """Return the pair itself: reflecting the output exchanges P and Q."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are minus and plus epsilon, rounded outward.
        """
        with precision(_BITS):
            end = round_up(arb_of(exact(self.epsilon)))
        return -end, end

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return
