"""Dominating pairs of subsampling when one record is replaced: fixed-size samples, and Poisson sampling.

Fixed-size samples are drawn with or without replacement. The result for Poisson sampling is an upper bound. For
Gaussian noise ``dpproof.accountant.pairs.replaced_gaussian`` has the exact pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.binomial import mass
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision
from dpproof.accountant.pairs.base import (
    Cells,
    DominatingPair,
    Floats,
    pair_of,
    sampling_rate,
)
from dpproof.accountant.pairs.lattice import mixed
from dpproof.accountant.pairs.outcomes import ProfileInArb, profile_of
from dpproof.accountant.pairs.subsampled import (
    VisibleChoice,
    ends_after_sampling,
    loss_before_sampling,
    profile_after_sampling,
)

_ULP = 2.0**-52
_BITS = 256
_MOST_EXACT = 2**14
"""The largest size in bits of the weights of samples with replacement that are kept as exact rationals."""


@dataclass(frozen=True)
class FixedSize:
    """The dominating pair of a mechanism that reads a random sample of the records, if one record is replaced.

    ``rate`` is the probability that a given record is in the sample.

    ``pair`` = (P, Q) must dominate the mechanism without sampling if one record is replaced. The pair must
    have the same privacy loss in both directions. Let P' = (1 - rate) Q + rate P. The privacy losses above 0
    are those of (P', Q), the losses below 0 are those of (Q, P'), and the rest of the probability has the
    loss 0. Neither (P', Q) nor (Q, P') alone dominates under composition.

    Source: Balle, Barthe and Gaboardi, arXiv:1807.01647v2, Theorem 9; Zhu, Dong and Wang,
    arXiv:2106.08567v4, Proposition 30, for the profile in two parts; project statement
    classic.fixed_size_pair, docs/notes/sampling.md, section 1, for the one pair with this profile.

    >>> from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
    >>> import numpy as np
    >>> FixedSize(BoundedRange(1.0), 0.25).cells(np.array([-0.001, 0.001])).p.tolist()
    [0.375626, 0.187518, 0.436855]

    Raises:
        ValueError: unless 1e-300 <= rate <= 1; for a pair that is not its own reverse.
    """

    pair: DominatingPair
    rate: Number

    def __post_init__(self) -> None:
        sampling_rate(self.rate)
        if pair_of(self.pair).reversed() != self.pair:
            raise ValueError(f"pair ({self.pair!r}) must have the same privacy loss in both directions")

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        The interval that contains the loss 0 gets all probability that belongs to no other loss.
        """
        if exact(self.rate) == 1:
            return self.pair.cells(edges)
        above, below = self._above(edges[edges > 0]), self._above(-edges[edges <= 0][::-1])
        lost = above.infinite
        p, p_error = _around((below.q, below.q_error), (above.p, above.p_error), lost)
        q, q_error = _around((below.p, below.p_error), (above.q, above.q_error), lost, first=True)
        return Cells(p, q, p_error, q_error, max(above.slack, below.slack), lost)

    @property
    def profile(self) -> ProfileInArb | None:
        """The profile of a single step in Arb, if ``pair`` has one; otherwise None."""
        inner = profile_of(self.pair)
        return inner and profile_after_sampling(inner, exact(self.rate))

    def reversed(self) -> FixedSize:
        """Return the pair itself: both directions have the same privacy loss."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are +-log(1 + rate (exp(l) - 1)), rounded outward, where l is the largest loss of ``pair``.
        """
        highest = max(self.pair.loss_range()[1], 0.0)
        end = ends_after_sampling((0.0, highest), exact(self.rate))[1]
        return -end, end

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return

    def _above(self, edges: Floats) -> Cells:
        """Return the cells of (P', Q) above each of ``edges``, which are at least 0; one cell for each edge."""
        rate = float(exact(self.rate))
        points, moved, _ = loss_before_sampling(edges if len(edges) else np.ones(1), rate)
        found, raised = _above_zero(self.pair, np.maximum.accumulate(points))
        q_error = np.broadcast_to(found.q_error, found.p.shape)
        here, error = mixed([(1 - rate, found.q, found.q_error), (rate, found.p, found.p_error)])
        low, high = (rate * end for end in found.infinite)
        ends = low * (1 - 2 * _ULP), high * (1 + 2 * _ULP) + (5e-324 if high else 0.0)
        kept = slice(1, len(edges) + 1)
        return Cells(
            here[kept], found.q[kept], error[kept], q_error[kept], found.slack + moved + raised, ends
        )


def _above_zero(pair: DominatingPair, points: Floats) -> tuple[Cells, float]:
    """Return the pair's cells, and how far ``points`` were raised so that an atom of loss 0 is below all of them.

    Otherwise two edges as close to 0 as the slack might both count this atom, one from above and one from
    below. Sampling does not increase distances between losses, so the edges move by no more than that.
    """
    raised = 4 * pair.cells(points[[0, -1]]).slack + 5e-324
    while True:
        found = pair.cells(np.maximum(points, raised))
        if found.slack < raised:
            return found, raised
        raised = 4 * found.slack


_Part = tuple[Floats, float | Floats]


def _around(
    below: _Part, above: _Part, lost: tuple[float, float], first: bool = False
) -> tuple[Floats, Floats]:
    """Return the masses below (mirrored), in and above the cell of 0. The mass in this cell is the remainder to 1.

    ``lost`` is the mass of the outcomes of infinite loss. With ``first`` their loss is -infinity, so they are
    in the first cell.
    """
    masses = [np.asarray(part[0]) for part in (below, above)]
    errors = [np.broadcast_to(part[1], part[0].shape) for part in (below, above)]
    outer = sum(math.fsum(x) for x in masses)
    doubt = sum(math.fsum(x * e) for x, e in zip(masses, errors, strict=True))
    doubt += (lost[1] - lost[0]) + 8 * _ULP
    rest = 1 - outer - (lost[0] + lost[1]) / 2
    if rest < -doubt:
        raise ValueError(
            f"masses (sum {1 - rest!r}) must add up to at most 1. The pair must have the same privacy loss in "
            "both directions."
        )
    low, high = max(rest - doubt, 0.0), max(rest, 0.0) + doubt
    left, left_error = masses[0][::-1].copy(), errors[0][::-1].copy()
    if first and lost[1]:
        where = (left, left_error) if len(left) else None
        if where is None:
            low, high = low + lost[0], high + lost[1] * (1 + _ULP)
        else:
            total = left[0] + lost[1]
            left_error[0] = min((left[0] * left_error[0] + lost[1] - lost[0]) / total + 4 * _ULP, 1.0)
            left[0] = total
    middle = (low + high) / 2
    spread = (high - low) / 2 / middle + 4 * _ULP
    return np.concatenate((left, [middle], masses[1])), np.concatenate((left_error, [spread], errors[1]))


def without_replacement(pair: DominatingPair, sample: int, records: int) -> FixedSize:
    """Return a dominating pair of a mechanism that reads a random subset of ``sample`` of ``records`` records.

    The subset is uniform. Neighbours differ in one replaced record. ``pair`` dominates the mechanism without
    sampling.

    Source: see ``FixedSize``.

    >>> from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
    >>> without_replacement(BoundedRange(1.0), 1, 4).rate
    Fraction(1, 4)

    Raises:
        ValueError: unless 1 <= sample <= records are integers; see ``FixedSize``.
    """
    _check_sizes(sample, records)
    if sample > records:
        raise ValueError(f"sample ({sample!r}) must be at most records ({records!r})")
    return FixedSize(pair, exact(f"{sample}/{records}"))


def with_replacement(
    group: Callable[[int], DominatingPair], sample: int, records: int, most: int
) -> FixedSize:
    """Return a dominating pair of a mechanism that reads ``sample`` independent draws from ``records`` records.

    Neighbours differ in one replaced record.

    Args:
        group: for each k, ``group(k)`` is a pair that dominates the mechanism if k records of its input are
            replaced. Each of these pairs must have the same privacy loss in both directions.
        sample, records: integers from 1 on.
        most: a number of copies. A sample with more copies of the replaced record counts as if it revealed
            everything. For large samples, the rounding error of the weights, about 1e-70, is added to the
            probability of such samples.

    Source: Balle, Barthe and Gaboardi, arXiv:1807.01647v2, Theorem 10; as one pair: project statement
    classic.with_replacement_pair, docs/notes/sampling.md, section 4.

    >>> from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
    >>> with_replacement(lambda k: BoundedRange(k), 2, 3, 2).rate
    Fraction(5, 9)

    Raises:
        ValueError: unless sample, records and most are integers from 1 on; see ``FixedSize``.
    """
    _check_sizes(sample, records)
    whole(most, "most", 1)
    law = _copies if records == 1 or sample * records.bit_length() <= _MOST_EXACT else _copies_enclosed
    rate, chances = law(sample, Fraction(1, records), range(1, min(most, sample) + 1))
    branches: list[tuple[Number, DominatingPair]] = [
        (x / rate, group(k)) for k, x in enumerate(chances, 1) if x > 0
    ]
    if (rest := 1 - sum(chances) / rate) > 0:
        branches.append((rest, Everything()))
    return FixedSize(VisibleChoice(tuple(branches)), rate)


def _copies(sample: int, share: Fraction, counts: range) -> tuple[Fraction, list[Fraction]]:
    """Return the probability that a record is drawn at all, and the probability of each number of copies."""
    rate = 1 - (1 - share) ** sample
    return rate, [math.comb(sample, k) * share**k * (1 - share) ** (sample - k) for k in counts]


def _copies_enclosed(sample: int, share: Fraction, counts: range) -> tuple[Fraction, list[Fraction]]:
    """Return ``_copies`` with the first value rounded up and the others down.

    The lost mass counts as an output that reveals everything.
    """
    with precision(_BITS):
        rate = -(sample * (-arb_of(share)).log1p()).expm1()
        return min(-_below(-rate), Fraction(1)), [
            max(_below(mass(sample, share, k)), Fraction(0)) for k in counts
        ]


def _below(value: flint.arb) -> Fraction:
    """Return the lower end of an enclosure with all its bits."""
    mantissa, exponent = (int(part) for part in value.lower().mid().man_exp())
    return mantissa * Fraction(2) ** exponent


def _check_sizes(sample: int, records: int) -> None:
    for name, value in (("sample", sample), ("records", records)):
        whole(value, name, 1)


@dataclass(frozen=True)
class Everything:
    """The dominating pair of an output that reveals the input. All privacy losses are infinite.

    >>> Everything().cells(np.array([0.0])).infinite
    (1.0, 1.0)
    """

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        Under Q, all probability has the loss -infinity.
        """
        q = np.zeros(len(edges) + 1)
        q[0] = 1.0
        return Cells(np.zeros(len(edges) + 1), q, 0.0, 0.0, 0.0, (1.0, 1.0))

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return the delta at every epsilon, which is 1."""
        return flint.arb(1)

    def reversed(self) -> Everything:
        """Return the pair itself."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return (0, 0), since no loss is finite."""
        return 0.0, 0.0

    def characteristic(self) -> None:
        """Return None: no characteristic function is needed here."""
        return


def poisson_replaced(pair: DominatingPair, rate: Number) -> FixedSize:
    """Return a dominating pair of any mechanism after Poisson sampling at ``rate``, if one record is replaced.

    ``pair`` must dominate the mechanism for two changes of its input: one record is replaced, or one record
    is removed. For noise of a fixed scale, the pair for a replacement is valid for both changes. The result
    is the pair of fixed-size sampling at the same rate. The result is valid for every mechanism. For Gaussian
    noise it is looser than ``ReplacedGaussian``.

    Source: project statement classic.poisson_replaced, docs/notes/sampling.md, section 2; it rests on
    advanced joint convexity, Balle, Barthe and Gaboardi, arXiv:1807.01647v2, Theorem 2.

    Raises:
        ValueError: see ``FixedSize``.
    """
    return FixedSize(pair, rate)
