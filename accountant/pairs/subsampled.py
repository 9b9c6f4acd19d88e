"""Poisson subsampling of any pair, through the map of its losses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import Cells, Characteristic, DominatingPair, Floats
from dpproof.accountant.pairs.checks import double, pair_of, sampling_rate
from dpproof.accountant.pairs.lattice import mixed, with_impossible

__all__ = ["Subsampled", "ends_after_sampling", "loss_before_sampling", "swapped"]

_U = 2.0**-53
_BITS = 128


@dataclass(frozen=True)
class Subsampled:
    """A pair after Poisson sampling at ``rate``: (1 - rate) Q + rate P against Q.

    ``pair`` is the one under removing a user; without ``removes`` the two neighbours change places. The
    loss is l = log(1 - rate + rate exp(l')), l' being the loss of ``pair``.

    >>> from dpproof.accountant.pairs.laplace import Laplace
    >>> least, most = Subsampled(Laplace(1.0), 0.5).loss_range()
    >>> round(most, 6)
    0.620115

    Raises:
        ValueError: unless ``pair`` is a pair, and rate a double above 1e-300 and at most 1.

    Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 11; this project, docs/notes/loss_grid.md,
    section 2.
    """

    pair: DominatingPair
    rate: float
    removes: bool = True

    def __post_init__(self) -> None:
        pair_of(self.pair)
        sampling_rate(self.rate)
        object.__setattr__(self, "rate", double(self.rate, "rate"))

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
        here, error = mixed([(1 - self.rate, q, q_error), (self.rate, p, p_error)])
        infinite = self.rate * inner.infinite[0] * (1 - _U), self.rate * inner.infinite[1] * (1 + 2 * _U)
        return Cells(here, q, error, q_error, inner.slack + slack, infinite)

    def reversed(self) -> Subsampled:
        """The pair (Q, P)."""
        return Subsampled(self.pair, self.rate, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Ends of the finite losses, outward; what only Q produces has the least one, log(1 - rate)."""
        low, high = ends_after_sampling(self.pair.loss_range(), exact(self.rate))
        if self.pair.reversed().cells(np.array([0.0])).infinite[1] > 0:
            low = min(low, ends_after_sampling((-math.inf, 0.0), exact(self.rate))[0])
        return (low, high) if self.removes else (-high, -low)

    @property
    def _atoms(self) -> tuple[float, float] | None:
        """The losses of the extreme atoms, where the pair's own losses have atoms."""
        if getattr(self.pair, "lattice", None) is None:
            return None
        low, high = ends_after_sampling(self.pair.loss_range(), exact(self.rate))
        return (low, high) if self.removes else (-high, -low)

    @property
    def lattice(self) -> float | None:
        """The distance of the extreme atoms."""
        return self._atoms and self._atoms[1] - self._atoms[0]

    @property
    def origin(self) -> float:
        """The loss of one of them."""
        return self._atoms[1] if self._atoms else 0.0

    def characteristic(self) -> Characteristic | None:
        """None: what is known of the pair's own does not carry over."""
        return None


def ends_after_sampling(ends: tuple[float, float], rate: Fraction) -> tuple[float, float]:
    """Ends around log(1 - rate + rate exp(l)) for the losses l between ``ends``; it grows with l.

    >>> ends_after_sampling((-math.inf, 1.0), Fraction(1, 2))
    (-0.693147, 0.620115)
    """
    with precision(_BITS):
        low, high = (_after_sampling(end, rate) for end in ends)
        return round_down(low), round_up(high)


def _after_sampling(loss: float, rate: Fraction) -> flint.arb:
    """Enclosed without cancellation: by log1p next to 1, as the logarithm of positive terms elsewhere."""
    if rate == 1 or loss == math.inf:
        return flint.arb(loss)
    whole = arb_of(rate)
    moved = whole * flint.arb(loss).expm1() if loss > -math.inf else -whole
    if loss > 0 or 2 * moved > -1:
        return moved.log1p()
    return (arb_of(1 - rate) + (whole * flint.arb(loss).exp() if loss > -math.inf else 0)).log()


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
    q, p_error = with_impossible(cells.p[::-1], p_error, 0, cells.infinite)
    return Cells(cells.q[::-1], q, q_error, p_error, cells.slack + 5e-324)
