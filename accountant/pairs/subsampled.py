"""Poisson subsampling of any pair, through the map of its losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accountant.pairs.base import Cells, Characteristic, Floats, Pair

__all__ = ["Subsampled", "loss_before_sampling", "swapped"]

_U = 2.0**-53


@dataclass(frozen=True)
class Subsampled:
    """A pair after Poisson sampling at ``rate``: (1 - rate) Q + rate P against Q.

    ``pair`` is the one under removing a user; without ``removes`` the two neighbours change places. The
    loss is l = log(1 - rate + rate exp(l')), l' being the loss of ``pair``.

    >>> from accountant.pairs.laplace import Laplace
    >>> least, most = Subsampled(Laplace(1.0), 0.5).loss_range()
    >>> round(most, 6)
    0.620115

    Raises:
        ValueError: unless 0 < rate <= 1.

    Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 11; this project, docs/notes/loss_grid.md,
    section 2.
    """

    pair: Pair
    rate: float
    removes: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate ({self.rate!r}) must be above 0 and at most 1")

    def cells(self, edges: Floats) -> Cells:
        """The masses between increasing ``edges`` of losses."""
        if not self.removes:
            return swapped(Subsampled(self.pair, self.rate).cells(-edges[::-1]))
        losses, slack, _ = loss_before_sampling(edges, self.rate)
        empty = int(np.count_nonzero(losses == -np.inf))
        if empty == len(edges):
            empty, losses = len(edges) - 1, np.full_like(losses, -1e300)
        inner = self.pair.cells(np.maximum.accumulate(losses[empty:]))
        p, q, p_error, q_error = (
            np.concatenate([np.zeros(empty), np.broadcast_to(values, inner.p.shape)])
            for values in (inner.p, inner.q, inner.p_error, inner.q_error)
        )
        mixed = (1 - self.rate) * q + self.rate * p
        error = np.maximum(p_error, q_error) * (1 + 8 * _U) + 8 * _U
        infinite = self.rate * inner.infinite[0] * (1 - _U), self.rate * inner.infinite[1] * (1 + 2 * _U)
        return Cells(mixed, q, error, q_error, inner.slack + slack, infinite)

    def reversed(self) -> Subsampled:
        """The pair (Q, P)."""
        return Subsampled(self.pair, self.rate, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Ends of the finite losses."""
        least = math.log1p(-self.rate) if self.rate < 1 else -math.inf
        low, high = (max(least, self._after(end)) for end in self.pair.loss_range())
        low, high = low - 16 * _U * (1 + abs(low)), high + 16 * _U * (1 + abs(high))
        if self.pair.reversed().cells(np.array([0.0])).infinite[1] > 0:
            low = min(low, least - 16 * _U * (1 + abs(least)))
        return (low, high) if self.removes else (-high, -low)

    @property
    def _atoms(self) -> tuple[float, float] | None:
        """The losses of the extreme atoms, where the pair's own losses have atoms."""
        if getattr(self.pair, "lattice", None) is None:
            return None
        low, high = (self._after(end) for end in self.pair.loss_range())
        return (low, high) if self.removes else (-high, -low)

    @property
    def lattice(self) -> float | None:
        """The distance of the extreme atoms."""
        return self._atoms and self._atoms[1] - self._atoms[0]

    @property
    def origin(self) -> float:
        """The loss of one of them."""
        return self._atoms[1] if self._atoms else 0.0

    def _after(self, loss: float) -> float:
        if loss > 1:
            return loss + math.log(self.rate) + math.log1p((1 - self.rate) / self.rate * math.exp(-loss))
        inner = self.rate * math.expm1(loss)
        return math.log1p(inner) if inner > -1 else -math.inf

    def characteristic(self) -> Characteristic | None:
        """None: what is known of the pair's own does not carry over."""
        return None


def loss_before_sampling(edges: Floats, rate: float) -> tuple[Floats, float, Floats]:
    """The losses l' = log((exp(l) - 1 + rate)/rate) for l in ``edges``, -inf where there is none.

    Also by how much the edges may be off because of rounding, and ends above d l / d l'.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unsampled = (1 - rate) * np.exp(np.minimum(-edges, 700.0))  # its share of P's density
        large = edges - math.log(rate) + np.log1p(-np.minimum(unsampled, 1))
        small = np.log1p(np.maximum(np.expm1(np.minimum(edges, 1)) / rate, -1))
    near = np.abs(edges) <= 0.5
    losses = np.where(near, small, large)
    share = np.clip(1 - unsampled, 0, 1) + 16 * _U
    size = np.where(np.isfinite(losses), np.abs(losses), 0.0)
    here = np.where(near, 10 * np.abs(edges), 16 + np.abs(edges) + 6 * abs(math.log(rate)))
    return losses, float(2 * _U * (here + 8 * share * size).max()), share


def swapped(cells: Cells) -> Cells:
    """The cells of (Q, P), given those of (P, Q) at the mirrored edges.

    An atom that lies on an edge goes to the other side, which the slack, widened by the smallest double,
    allows. No outcome of Q may have P-mass 0; what P alone produces gets the loss -infinity.
    """
    p_error, q_error = (
        np.broadcast_to(np.asarray(error), cells.p.shape)[::-1] for error in (cells.p_error, cells.q_error)
    )
    q = cells.p[::-1].copy()
    q[0] += cells.infinite[1]
    return Cells(cells.q[::-1], q, q_error, p_error, cells.slack + 5e-324)
