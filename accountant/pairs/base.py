"""What a dominating pair offers to the two routes of ``dpproof.accountant.privacy_loss``.

A pair (P, Q) has the privacy loss L = log dP/dQ, a random variable under P. The grid asks for the masses
that P and Q put on cells of losses; the inversion asks for the moment-generating function of L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "Characteristic", "DominatingPair", "Floats", "Tilted"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """Masses of the losses between edges e_0 < ... < e_n: below e_0, [e_0, e_1), ..., at least e_n.

    Every true mass lies within ``error`` (relative, one number or one per cell) of the double given, for
    edges each moved by at most ``slack`` (absolute): an atom within ``slack`` of an edge may be on either
    side of it.
    """

    p: Floats
    """P-masses of the n + 2 cells; shape (n + 2,)."""
    q: Floats
    """Q-masses of the same cells; an outcome's are p exp(-loss)."""
    p_error: float | Floats
    q_error: float | Floats
    slack: float
    infinite: tuple[float, float] = (0.0, 0.0)
    """Ends around the P-mass of the outcomes that Q never produces (loss infinity)."""


@dataclass(frozen=True)
class Tilted:
    """The law of L under exp(c L) dP / M(c), for one real c, M(c) = E_P exp(c L) being finite."""

    log_mgf: float
    """log M(c)."""
    log_mgf_error: float
    """Absolute error of ``log_mgf``; proved."""
    mean: float
    """Mean of the tilted law; a guide, nothing rests on it."""
    variance: float
    """Variance of the tilted law; a guide."""
    uniform: Callable[[], tuple[Floats, Floats]]
    """Uniform laws contained in the tilted law, on demand: lower ends of their weights w_j >= 0, whose sum is
    at most 1, and of the widths l_j > 0 of their intervals."""


@runtime_checkable
class Characteristic(Protocol):
    """The moment-generating function of the loss, on vertical lines, in doubles with proved errors."""

    def tilted(self, c: float) -> Tilted:
        """The tilted law at a real ``c`` > 0."""
        ...

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """phi(n step) - 1 for n = 0 .. count - 1, phi(t) = M(c + i t)/M(c), and proved absolute errors."""
        ...


@runtime_checkable
class DominatingPair(Protocol):
    """A dominating pair (P, Q) of a mechanism under a neighbouring relation, in one direction."""

    def cells(self, edges: Floats) -> Cells:
        """The masses between increasing ``edges`` of losses."""
        ...

    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""
        ...

    def loss_range(self) -> tuple[float, float]:
        """Ends outside the finite losses, proved; infinite where they are unbounded."""
        ...

    def characteristic(self) -> Characteristic | None:
        """The moment-generating function, where it is known in closed form or by a proved quadrature."""
        ...
