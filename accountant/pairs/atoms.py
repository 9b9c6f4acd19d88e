"""Pairs on finitely many outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import cached_property
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats
from dpproof.accountant.pairs.lattice import floored

__all__ = ["Atoms"]

_U = 2.0**-53
_BITS = 256


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
    def _rows(self) -> list[tuple[Fraction, Fraction]]:
        """The outcomes that exist."""
        return [(exact(p), exact(q)) for p, q in zip(self.p, self.q, strict=True) if p or q]

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        """Losses (infinite ones included) in increasing order, P- and Q-masses, each within an ulp.

        Masses that underflow are off by up to 5e-324 each.
        """
        rows = sorted((_loss(p, q), float(p), float(q)) for p, q in self._rows)
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
        finite, both = losses < np.inf, np.isfinite(losses)
        error = (len(p) + 4) * _U
        (cells_p, p_error), (cells_q, q_error) = (
            floored(_added(losses, mass, edges, here), error, _added(losses, None, edges, here) > 0)
            for mass, here in ((p, both), (q, finite))
        )
        slack = 4 * _U * float(np.abs(losses[both]).max(initial=0.0))
        infinite = float(p[~finite].sum())
        ends = infinite * (1 - error), infinite * (1 + error) + (2e-280 if not finite.all() else 0.0)
        return Cells(cells_p, cells_q, p_error, q_error, slack, ends)

    def reversed(self) -> Atoms:
        """The pair (Q, P); the pair itself where exchanging them only reorders the outcomes."""
        if sorted(self._rows) == sorted((q, p) for p, q in self._rows):
            return self
        return Atoms(self.q, self.p)

    def loss_range(self) -> tuple[float, float]:
        """Ends of the finite losses, outward; 0 and 0 where there is none."""
        return self._range

    @cached_property
    def _range(self) -> tuple[float, float]:
        with precision(_BITS):
            losses = [_enclosed(p, q) for p, q in self._rows if p and q]
            return (
                min((round_down(loss) for loss in losses), default=0.0),
                max((round_up(loss) for loss in losses), default=0.0),
            )

    def characteristic(self) -> Characteristic | None:
        """None: the moment-generating function of atoms does not decay."""
        return None


def _loss(p: Fraction, q: Fraction) -> float:
    """log(p/q) within an ulp."""
    if p == 0 or q == 0:
        return float("-inf") if p == 0 else float("inf")
    if p == q:
        return 0.0
    with precision(_BITS):
        return float(_enclosed(p, q))


def _enclosed(p: Fraction, q: Fraction) -> flint.arb:
    """log(p/q), relatively accurate next to 0 too."""
    ratio = p / q
    return arb_of(ratio - 1).log1p() if abs(ratio - 1) < Fraction(1, 2) else arb_of(ratio).log()


def _added(losses: Floats, masses: Floats | None, edges: Floats, here: NDArray[np.bool_]) -> Floats:
    """The masses of the cells between ``edges``, or the numbers of atoms, of the atoms that are ``here``."""
    places = np.searchsorted(edges, losses[here], side="right")
    added = np.bincount(places, None if masses is None else masses[here], len(edges) + 1)
    return np.asarray(added, dtype=np.float64)
