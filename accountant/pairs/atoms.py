"""Pairs on finitely many outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint
import numpy as np

from accountant.enclosures import Number, arb_of, exact, precision
from accountant.pairs.base import Cells, Characteristic, Floats

__all__ = ["Atoms"]

_U = 2.0**-53


@dataclass(frozen=True)
class Atoms:
    """Outcomes with P-masses ``p`` and Q-masses ``q``, as exact numbers.

    >>> pair = Atoms(["3/4", "1/4"], ["1/4", "3/4"])  # randomised response at epsilon ln 3
    >>> round(pair.loss_range()[1], 6)
    1.098612

    Raises:
        ValueError: for lists of different lengths, a negative mass, or masses whose sum is off 1 by more
            than 1e-12 (what is given is used as it is).
    """

    p: Sequence[Number]
    q: Sequence[Number]

    def __post_init__(self) -> None:
        if len(self.p) != len(self.q):
            raise ValueError(f"p and q must be as long as each other, not {len(self.p)} and {len(self.q)}")
        for name in ("p", "q"):
            masses = [exact(mass, name) for mass in getattr(self, name)]
            if any(mass < 0 for mass in masses):
                raise ValueError(f"{name} ({float(min(masses))!r}) must be at least 0 at every outcome")
            if abs(sum(masses, Fraction(0)) - 1) > Fraction(1, 10**12):
                raise ValueError(f"{name} (sum {float(sum(masses))!r}) must add up to 1 within 1e-12")
            object.__setattr__(self, name, tuple(masses))

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        """Losses (infinite ones included) in increasing order, P- and Q-masses, each within an ulp."""
        rows = sorted(
            (_loss(exact(p), exact(q)), float(p), float(q))
            for p, q in zip(self.p, self.q, strict=True)
            if p or q
        )
        losses, p, q = (np.array(column) for column in zip(*rows, strict=True))
        return losses, p, q

    @cached_property
    def lattice(self) -> float | None:
        """The spacing of the losses, where they are multiples of the smallest."""
        losses, _, _ = self._arrays
        sizes = np.abs(losses[np.isfinite(losses) & (losses != 0)])
        if not len(sizes):
            return None
        ratios = sizes / sizes.min()
        return float(sizes.min()) if np.all(np.abs(ratios - np.rint(ratios)) <= 1e-13 * ratios) else None

    def cells(self, edges: Floats) -> Cells:
        """The masses between increasing ``edges`` of losses."""
        losses, p, q = self._arrays
        finite = losses < np.inf
        places = np.searchsorted(edges, losses[finite], side="right")
        cells_p, cells_q = (
            np.bincount(places, mass[finite], len(edges) + 1).astype(np.float64) for mass in (p, q)
        )
        error = (len(p) + 4) * _U
        infinite = float(p[~finite].sum())
        sizes = np.abs(losses[np.isfinite(losses)])
        slack = 4 * _U * float(sizes.max()) if len(sizes) else 0.0
        return Cells(cells_p, cells_q, error, error, slack, (infinite * (1 - error), infinite * (1 + error)))

    def reversed(self) -> Atoms:
        """The pair (Q, P)."""
        return Atoms(self.q, self.p)

    def loss_range(self) -> tuple[float, float]:
        """Ends of the finite losses; 0 and 0 where there is none."""
        losses = self._arrays[0]
        finite = losses[np.isfinite(losses)]
        if not len(finite):
            return 0.0, 0.0
        return float(np.nextafter(finite.min(), -np.inf)), float(np.nextafter(finite.max(), np.inf))

    def characteristic(self) -> Characteristic | None:
        """None: the moment-generating function of atoms does not decay."""
        return None


def _loss(p: Fraction, q: Fraction) -> float:
    """log(p/q) within an ulp."""
    if p == 0 or q == 0:
        return float("-inf") if p == 0 else float("inf")
    if p == q:
        return 0.0
    with precision(256):
        ratio: flint.arb = arb_of(p / q)
        return float(ratio.log())
