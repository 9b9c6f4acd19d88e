"""Dominating pairs of Poisson subsampling and of a public random choice, for any pair.

Poisson subsampling maps each privacy loss to another one, and this map gives the subsampled pair. A public
choice draws one of several pairs. The draw is part of the output and does not depend on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import (
    Cells,
    Characteristic,
    DominatingPair,
    Floats,
    double,
    pair_of,
    sampling_rate,
)
from dpproof.accountant.pairs.lattice import mixed, with_impossible
from dpproof.accountant.pairs.outcomes import ProfileInArb, profile_of

_U = 2.0**-53
_BITS = 128


@dataclass(frozen=True)
class Subsampled:
    """The dominating pair after Poisson sampling at ``rate``: (1 - rate) Q + rate P against Q.

    ``pair`` = (P, Q) must dominate the mechanism without sampling if a user is removed. If ``removes`` is
    false, the two distributions of the result are exchanged. The privacy loss is l = log(1 - rate + rate
    exp(l')), where l' is the loss of ``pair``.

    >>> from dpproof.accountant.pairs.laplace import Laplace
    >>> least, most = Subsampled(Laplace(1.0), 0.5).loss_range()
    >>> round(most, 6)
    0.620115

    Raises:
        ValueError: unless ``pair`` is a dominating pair, and ``rate`` is a double from 1e-300 to 1.

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
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        if self.rate == 1:
            return self._certain.cells(edges)
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

    @property
    def profile(self) -> ProfileInArb | None:
        """The profile of a single step in Arb, if ``pair`` has one in the direction that counts; otherwise None."""
        inner = profile_of(self._certain)
        after = profile_after_sampling if self.removes else _profile_if_added
        return inner and after(inner, exact(self.rate))

    def reversed(self) -> Subsampled:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return Subsampled(self.pair, self.rate, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        If a user is removed, outcomes that only Q produces have the smallest loss, log(1 - rate). It is also
        the largest one if all losses of ``pair`` are infinite under P.
        """
        if self.rate == 1:
            return self._certain.loss_range()
        low, high = self.pair.loss_range()
        if self.pair.cells(np.zeros(1)).infinite[0] >= 1:
            high = -math.inf
        low, high = ends_after_sampling((min(low, high), high), exact(self.rate))
        if self.pair.reversed().cells(np.array([0.0])).infinite[1] > 0:
            low = min(low, ends_after_sampling((-math.inf, 0.0), exact(self.rate))[0])
        return (low, high) if self.removes else (-high, -low)

    @property
    def _certain(self) -> DominatingPair:
        """The pair if every record is in the sample."""
        return self.pair if self.removes else self.pair.reversed()

    @property
    def _atoms(self) -> tuple[float, float] | None:
        """The losses of the smallest and the largest atom, if the pair's own losses have atoms; otherwise None."""
        if getattr(self.pair, "lattice", None) is None:
            return None
        low, high = ends_after_sampling(self.pair.loss_range(), exact(self.rate))
        return (low, high) if self.removes else (-high, -low)

    @property
    def lattice(self) -> float | None:
        """The distance between the smallest and the largest loss; None if ``pair`` has no attribute ``lattice``."""
        return self._atoms and self._atoms[1] - self._atoms[0]

    @property
    def origin(self) -> float:
        """The largest loss; 0 if ``pair`` has no attribute ``lattice``."""
        return self._atoms[1] if self._atoms else 0.0

    def characteristic(self) -> Characteristic | None:
        """Return None: the characteristic function does not follow from that of ``pair``."""
        return None


def profile_after_sampling(inner: ProfileInArb, rate: Fraction) -> ProfileInArb:
    """Return the profile of ((1 - rate) Q + rate P, Q), given the profile ``inner`` of (P, Q).

    It is rate inner(x) with e^x = 1 + (e^epsilon - 1)/rate, because (1 - rate) q + rate p - e^epsilon q is rate (p -
    e^x q).

    Source: Balle, Barthe and Gaboardi, arXiv:1807.01647v2, Theorem 2.
    """
    return lambda epsilon: arb_of(rate) * inner((epsilon.expm1() / arb_of(rate)).log1p())


def _profile_if_added(inner: ProfileInArb, rate: Fraction) -> ProfileInArb:
    """Return the profile of (Q, (1 - rate) Q + rate P), given the profile ``inner`` of (Q, P).

    Let w = 1 - e^epsilon (1 - rate). The profile is w inner(x) with e^x = 1 + (e^epsilon - 1)/w, or 0 if w <= 0.
    """

    def profile(epsilon: flint.arb) -> flint.arb:
        moved = epsilon.expm1()
        weight = arb_of(rate) - moved * arb_of(1 - rate)
        if weight > 0:
            return weight * inner((moved / weight).log1p())
        return flint.arb(0).union(weight.max(flint.arb(0)))

    return profile


def ends_after_sampling(ends: tuple[float, float], rate: Fraction) -> tuple[float, float]:
    """Return bounds on the privacy losses after Poisson sampling, log(1 - rate + rate exp(l)).

    ``ends`` are a lower and an upper bound on the losses l before sampling.

    >>> ends_after_sampling((-math.inf, 1.0), Fraction(1, 2))
    (-0.693147, 0.620115)
    """
    with precision(_BITS):
        low, high = (_after_sampling(end, rate) for end in ends)
        return round_down(low), round_up(high)


def _after_sampling(loss: float, rate: Fraction) -> flint.arb:
    """Return an enclosure without cancellation: log1p near 1, the logarithm of positive terms elsewhere."""
    if rate == 1 or loss == math.inf:
        return flint.arb(loss)
    whole = arb_of(rate)
    moved = whole * flint.arb(loss).expm1() if loss > -math.inf else -whole
    if loss > 0 or 2 * moved > -1:
        return moved.log1p()
    return (arb_of(1 - rate) + (whole * flint.arb(loss).exp() if loss > -math.inf else 0)).log()


def loss_before_sampling(edges: Floats, rate: float) -> tuple[Floats, float, Floats]:
    """Return the privacy losses l' before Poisson sampling that become the losses l in ``edges`` after it.

    l' = log((exp(l) - 1 + rate)/rate), or -inf if there is no such loss. Also return upper bounds on two
    quantities: the change of the losses l that the rounding of l' causes, and the derivatives d l / d l'.
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
    """Return the ``Cells`` of the pair (Q, P), given those of (P, Q) at the edges with opposite signs.

    If a loss equals an edge, it moves to the other side of the edge. The ``slack`` of the result is widened
    by the smallest double to allow this. Every outcome of Q must be possible under P. Outcomes that only P
    produces get the loss -infinity.
    """
    p_error, q_error = (
        np.broadcast_to(np.asarray(error), cells.p.shape)[::-1] for error in (cells.p_error, cells.q_error)
    )
    q, p_error = with_impossible(cells.p[::-1], p_error, 0, cells.infinite)
    return Cells(cells.q[::-1], q, q_error, p_error, cells.slack + 5e-324)


@dataclass(frozen=True)
class Nothing:
    """The dominating pair of an output that does not depend on the data. The privacy loss is always 0.

    >>> import numpy as np
    >>> Nothing().cells(np.array([-1.0, 1.0])).p.tolist()
    [0.0, 1.0, 0.0]
    """

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        All probability is in the cell that contains the loss 0.
        """
        masses = np.zeros(len(edges) + 1)
        masses[np.searchsorted(edges, 0.0, side="right")] = 1.0
        return Cells(masses, masses.copy(), 0.0, 0.0, 0.0)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return the delta at every epsilon, which is 0."""
        return flint.arb(0)

    def reversed(self) -> Nothing:
        """Return the pair itself."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return (0, 0), since the loss is always 0."""
        return 0.0, 0.0

    def characteristic(self) -> None:
        """Return None: no characteristic function is needed here."""
        return


@dataclass(frozen=True)
class VisibleChoice:
    """The dominating pair of a mechanism that chooses one of several branches at random and shows its choice.

    ``branches`` holds the probability and the dominating pair of each branch. The privacy profile of the
    result is the weighted mean of the profiles of the branches. The result is valid under two conditions: the
    draw has the same distribution for both neighbours, and each branch's pair dominates the part after the
    draw. docs/notes/sampling.md, section 5, describes what these conditions exclude.

    Source: the definition of the hockey-stick divergence; project statement classic.visible_choice.

    >>> import numpy as np
    >>> VisibleChoice((("1/4", Nothing()), ("3/4", Nothing()))).cells(np.array([0.0])).p.tolist()
    [0.0, 1.0]

    Raises:
        ValueError: if a weight is not above 0, or the weights do not add up to exactly 1.
    """

    branches: Sequence[tuple[Number, DominatingPair]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", tuple((weight, pair) for weight, pair in self.branches))
        for weight, pair in self.branches:
            pair_of(pair)
            if exact(weight, "weight") <= 0:
                raise ValueError(f"weight ({weight!r}) must be above 0")
        if (total := sum(exact(weight) for weight, _ in self.branches)) != 1:
            raise ValueError(f"weights (sum {total}) must add up to exactly 1")

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        All terms are positive, so relative errors do not grow.
        """
        found = [(exact(weight), pair.cells(edges)) for weight, pair in self.branches]
        p, p_error = mixed([(float(w), x.p, x.p_error) for w, x in found])
        q, q_error = mixed([(float(w), x.q, x.q_error) for w, x in found])
        slack = max(x.slack for _, x in found)
        return Cells(p, q, p_error, q_error, slack, _weighted([(w, x.infinite) for w, x in found]))

    @property
    def profile(self) -> ProfileInArb | None:
        """The weighted mean of the branches' profiles in Arb, if all branches have one; otherwise None."""
        found = [(exact(weight), profile_of(pair)) for weight, pair in self.branches]
        known = [(weight, inner) for weight, inner in found if inner is not None]
        if len(known) < len(found):
            return None
        return lambda epsilon: sum((arb_of(weight) * inner(epsilon) for weight, inner in known), flint.arb(0))

    def reversed(self) -> VisibleChoice:
        """Return the pair (Q, P), for the other direction of the neighbouring relation.

        Every branch is reversed.
        """
        return VisibleChoice(tuple((weight, pair.reversed()) for weight, pair in self.branches))

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The range contains the ranges of all branches.
        """
        lows, highs = zip(*(pair.loss_range() for _, pair in self.branches), strict=True)
        return min(lows), max(highs)

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return


def visible_coin(pair: DominatingPair, probability: Number) -> VisibleChoice:
    """Return the dominating pair of a mechanism that runs only with the given ``probability``.

    ``pair`` dominates the mechanism if it runs. Otherwise the output does not depend on the data. Everybody
    sees which of the two happened. The choice does not depend on any record, and it is made once for a whole
    step. At every epsilon, delta is ``probability`` times the delta of ``pair``.

    >>> import numpy as np
    >>> visible_coin(Nothing(), 0.5).loss_range()
    (0.0, 0.0)

    Raises:
        ValueError: unless 0 < probability <= 1, and for a probability below 1e-300.
    """
    share = sampling_rate(probability, "probability")
    idle: tuple[tuple[Number, DominatingPair], ...] = ((1 - share, Nothing()),) if share < 1 else ()
    return VisibleChoice(((share, pair), *idle))


def _weighted(terms: list[tuple[Fraction, tuple[float, float]]]) -> tuple[float, float]:
    with precision(128):
        low, high = (
            sum((arb_of(w * Fraction(ends[i])) for w, ends in terms), arb_of(Fraction(0))) for i in (0, 1)
        )
        return round_down(low), round_up(high)
