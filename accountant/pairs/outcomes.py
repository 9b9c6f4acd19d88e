"""Exact composition of pairs with finitely many privacy losses.

Such a pair lists its outcomes: the loss and the probability of each outcome, as enclosures in Arb. A sum of
independent losses has finitely many values too. If the composition has few outcomes, all of them are listed,
and delta is a finite sum. No grid of losses is needed, so the losses may be of any size. Derivation:
docs/notes/loss_grid.md, section 7.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import ceil, comb, fsum, sqrt
from typing import NamedTuple, Protocol, cast

import flint

from dpproof.accountant.pairs.base import DominatingPair

FEW_OUTCOMES = 2**12
"""Compositions of at most this many outcomes are listed at once, because this takes less time than a grid."""
MANY_OUTCOMES = 10**5
"""Compositions of about this many likely outcomes are listed if the grid of losses is too large or too coarse."""
Parts = Sequence[tuple[DominatingPair, int]]
"""Dominating pairs, each with the number of times it is composed."""
ProfileInArb = Callable[[flint.arb], flint.arb]
"""A function that returns an interval around delta at an epsilon >= 0, at the current precision."""


class Support(NamedTuple):
    """The number of outcomes of a pair that have a finite loss, and whether these losses are equally spaced."""

    size: int
    spaced: bool

    def composed(self, count: int) -> int:
        """Return the number of outcomes that a list for ``count`` compositions holds.

        >>> Support(3, spaced=True).composed(4), Support(3, spaced=False).composed(4)
        (9, 15)
        """
        if self.spaced:
            return count * (self.size - 1) + 1
        return comb(count + self.size - 1, count) if min(count, self.size) < 64 else MANY_OUTCOMES + 1


class Outcomes(Protocol):
    """The outcomes of a pair or of a composition, as enclosures.

    Several outcomes may have the same loss. ``infinite`` encloses what all other outcomes together add to
    delta at every epsilon >= 0: the probability of an infinite loss, or an interval from 0 to the probability
    of outcomes that were left out.
    """

    @property
    def losses(self) -> Sequence[flint.arb]:
        """The finite privacy losses."""
        ...

    @property
    def masses(self) -> Sequence[flint.arb]:
        """The probability under P of each of the losses."""
        ...

    @property
    def infinite(self) -> flint.arb:
        """An enclosure of the part of delta that belongs to the other outcomes."""
        ...

    def power(self, count: int) -> Outcomes:
        """Return the outcomes of ``count`` compositions."""
        ...


@dataclass(frozen=True)
class Spaced:
    """Outcomes with equally spaced losses. The loss of outcome k is ``unit`` times (``first`` + k ``stride``).

    >>> coin = Spaced(flint.arb(1), -1, 2, [flint.arb("0.25"), flint.arb("0.75")])
    >>> [float(x) for x in coin.power(2).losses], [float(x) for x in coin.power(2).masses]
    ([-2.0, 0.0, 2.0], [0.0625, 0.375, 0.5625])
    """

    unit: flint.arb
    first: int
    stride: int
    masses: Sequence[flint.arb]
    infinite: flint.arb = flint.arb(0)  # noqa: RUF009 (an exact number, never changed)

    @property
    def losses(self) -> Sequence[flint.arb]:
        """The finite privacy losses."""
        return [self.unit * (self.first + k * self.stride) for k in range(len(self.masses))]

    def power(self, count: int) -> Spaced:
        """Return the likely outcomes of ``count`` compositions, by repeated squaring."""
        found = self
        for bit in f"{count:b}"[1:]:
            found = found._times(found)
            if bit == "1":
                found = found._times(self)
        return found

    def _times(self, other: Spaced) -> Spaced:
        """Return the likely outcomes of two independent laws: the coefficients of a product of polynomials."""
        masses = (flint.arb_poly(list(self.masses)) * flint.arb_poly(list(other.masses))).coeffs()
        low, below = _unlikely(masses)
        high, above = _unlikely(masses[: low - 1 if low else None : -1])
        lost = (below + above).union(flint.arb(0))
        return Spaced(
            self.unit,
            self.first + other.first + low * self.stride,
            self.stride,
            masses[low : len(masses) - high],
            _either(self.infinite, other.infinite) + lost,
        )


@dataclass(frozen=True)
class Listed:
    """Outcomes with arbitrary losses.

    >>> coin = Listed([flint.arb(-1), flint.arb(1)], [flint.arb("0.25"), flint.arb("0.75")])
    >>> [float(x) for x in coin.power(2).losses], [float(x) for x in coin.power(2).masses]
    ([2.0, 0.0, -2.0], [0.5625, 0.375, 0.0625])
    """

    losses: Sequence[flint.arb]
    masses: Sequence[flint.arb]
    infinite: flint.arb = flint.arb(0)  # noqa: RUF009 (an exact number, never changed)

    def power(self, count: int) -> Listed:
        """Return the outcomes of ``count`` compositions, one for each number of times that every outcome occurs.

        The probability of the numbers k_i is the multinomial one, count! times the product of m_i^k_i/k_i!.
        """
        if count == 1:
            return self
        rows = [[(flint.arb(0), flint.arb(1))], *([] for _ in range(count))]
        """rows[n] holds the sums and weights of all ways in which the outcomes so far occur n times."""
        *others, last = zip(self.losses, self.masses, strict=True)
        for loss, mass in others:
            rows = _joined(rows, _repeated(loss, mass, count))
        once, ways = _repeated(*last, count), flint.arb(flint.fmpz.fac_ui(count))
        found = (_added(row, once[count - n]) for n, some in enumerate(rows) for row in some)
        losses, weights = zip(*found, strict=True)
        return Listed(losses, [ways * weight for weight in weights], _any(self.infinite, count))


_Row = tuple[flint.arb, flint.arb]
"""A loss and a probability or weight."""


def _repeated(loss: flint.arb, mass: flint.arb, most: int) -> list[_Row]:
    """Return the loss times k and the probability to the power k over k!, for k = 0 .. ``most``."""
    rows = [(flint.arb(0), flint.arb(1))]
    for k in range(1, most + 1):
        rows.append((loss * k, rows[-1][1] * mass / k))
    return rows


def _joined(rows: Sequence[Sequence[_Row]], once: Sequence[_Row]) -> list[list[_Row]]:
    """Return ``rows`` of ``Listed.power`` after one more outcome, of which ``once`` holds all powers."""
    joined: list[list[_Row]] = [[] for _ in rows]
    for n, some in enumerate(rows):
        for k, power in enumerate(once[: len(rows) - n] if some else ()):
            joined[n + k].extend(_added(row, power) for row in some)
    return joined


def _added(one: _Row, other: _Row) -> _Row:
    """Return the loss and the weight of two outcomes together."""
    return one[0] + other[0], one[1] * other[1]


_UNLIKELY = flint.arb(2) ** -1300
"""Outcomes at both ends of a law are left out while their total probability is below this number."""


def _unlikely(masses: Sequence[flint.arb]) -> tuple[int, flint.arb]:
    """Return how many of the first ``masses`` are unlikely together, and their sum. At least one mass is kept."""
    count, total = 0, flint.arb(0)
    while count < len(masses) - 1 and total + masses[count] < _UNLIKELY:
        total += masses[count]
        count += 1
    return count, total


def _either(one: flint.arb, other: flint.arb) -> flint.arb:
    """Return the probability that at least one of two independent events happens."""
    return one + other - one * other


def _any(chance: flint.arb, count: int) -> flint.arb:
    """Return the probability that an event of probability ``chance`` happens at least once in ``count`` trials."""
    return chance if count == 1 else -(count * (-chance).log1p()).expm1()


def _both(one: Outcomes, other: Outcomes) -> Outcomes:
    """Return the outcomes of two independent pairs together."""
    rows = product(*(zip(law.losses, law.masses, strict=True) for law in (one, other)))
    losses, masses = zip(*(_added(*row) for row in rows), strict=True)
    return Listed(losses, masses, _either(one.infinite, other.infinite))


class _FinitePair(DominatingPair, Protocol):
    """A dominating pair that lists its outcomes."""

    @property
    def support(self) -> Support: ...

    def outcomes(self) -> Outcomes: ...


class _Table:
    """The outcomes of a composition in increasing order of their losses, with the sums that give delta.

    An outcome of probability p and loss l > epsilon adds p - e^epsilon q to delta, where q = p e^-l. This
    equals (p - q) - (e^epsilon - 1) q. So delta needs two sums over all losses above epsilon.
    """

    def __init__(self, law: Outcomes) -> None:
        rows = [(loss, mass) for loss, mass in zip(law.losses, law.masses, strict=True) if not loss <= 0]
        rows.sort(key=_middle)
        self.middles = [_middle(row) for row in rows]
        self.radius = max((loss.rad() for loss, _ in rows), default=flint.arb(0))
        self.terms = [_gain(*row) for row in rows]
        self.sums = [(law.infinite, flint.arb(0))]
        for gain, other in reversed(self.terms):
            self.sums.append((self.sums[-1][0] + gain, self.sums[-1][1] + other))
        self.sums.reverse()

    def delta(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around delta. Each loss that may equal epsilon adds an interval of its own."""
        first = bisect_left(self.middles, (epsilon - self.radius).lower())
        above = bisect_right(self.middles, (epsilon + self.radius).upper())
        moved = epsilon.expm1()
        gain, other = self.sums[above]
        near = [(part - moved * q).max(flint.arb(0)) for part, q in self.terms[first:above]]
        return sum(near, gain - moved * other if above < len(self.terms) else gain)


def _middle(row: _Row) -> flint.arb:
    return row[0].mid()


def _gain(loss: flint.arb, mass: flint.arb) -> tuple[flint.arb, flint.arb]:
    """Return p - q and q for an outcome of probability p = ``mass``. The difference has no cancellation."""
    if loss > 1:
        other = mass * (-loss).exp()
        return mass - other, other
    gain = -mass * (-loss).expm1()
    return gain, mass - gain


class FiniteProfile:
    """The privacy profile of a composition with finitely many outcomes, as a function in Arb.

    The outcomes are listed once for each working precision.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts, self._tables = parts, dict[int, _Table]()

    def __call__(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0, at the current precision."""
        if (bits := flint.ctx.prec) not in self._tables:
            laws = [cast(_FinitePair, pair).outcomes().power(count) for pair, count in self._parts]
            self._tables[bits] = _Table(reduce(_both, laws))
        return self._tables[bits].delta(epsilon)


def finite_profile(parts: Parts, most: int) -> FiniteProfile | None:
    """Return the exact profile of a composition of at most ``most`` outcomes; otherwise None.

    >>> from dpproof.accountant.pairs.geometric import Geometric
    >>> from dpproof.accountant.numbers.enclosures import precision
    >>> found = finite_profile([(Geometric("0.0572", 2), 4)], most=9)
    >>> with precision(128): float(found(flint.arb(139)))
    0.576897
    """
    return _profile(parts, most, lambda pair, count: pair.support.composed(count))


def likely_profile(parts: Parts, most: int) -> FiniteProfile | None:
    """Return ``finite_profile`` for at most about ``most`` likely outcomes.

    It takes more time than a grid of losses.
    """
    return _profile(parts, most, _likely)


def _profile(parts: Parts, most: int, size: Callable[[_FinitePair, int], int]) -> FiniteProfile | None:
    total = 1
    for pair, count in parts:
        if getattr(pair, "support", None) is None:
            return None
        total *= size(cast(_FinitePair, pair), count)
        if total > most:
            return None
    return FiniteProfile(parts) if parts else None


def _likely(pair: _FinitePair, count: int) -> int:
    """Return roughly the number of outcomes of ``count`` compositions that are not left out as unlikely.

    If their losses are equally spaced, the likely ones are within 43 standard deviations.
    """
    support = pair.support
    if not support.spaced or support.size > FEW_OUTCOMES:
        return support.composed(count)
    masses = [float(mass) for mass in pair.outcomes().masses]
    mean = fsum(k * mass for k, mass in enumerate(masses))
    variance = fsum((k - mean) ** 2 * mass for k, mass in enumerate(masses))
    return min(support.composed(count), support.size + ceil(86 * sqrt(count * variance)))


def profile_of(pair: DominatingPair, count: int = 1) -> ProfileInArb | None:
    """Return the profile of ``count`` compositions of a pair in Arb, if it has a closed form or few outcomes.

    Otherwise return None.
    """
    own: ProfileInArb | None = getattr(pair, "profile", None) if count == 1 else None
    if count > 1 and (several := getattr(pair, "composed_profile", None)) is not None:
        own = several(count)
    return finite_profile([(pair, count)], FEW_OUTCOMES) if own is None else own
