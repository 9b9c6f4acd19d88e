"""Factorisations of the running count by lower triangular Toeplitz matrices, with certified errors and norms.

The running counts of a stream x are A x, where A is the lower triangular matrix of ones. With A = B C they
are released as B (C x + noise). C and B are given by their first columns. The square root of A has the
coefficients binomial(2k, k)/4^k, and B = C. For any other C, let c(z) be the power series with the
coefficients of C. Then the coefficients of B are those of 1/((1 - z) c(z)). The code computes B in floating
point and corrects it by Newton's method. The residual in Arb bounds the error of B.

A leaf is one entry of the stream. One user is in at most k leaves, which are at least ``separation`` = b
apart, and changes each by at most 1. The norm is the largest L2 norm of this user's change of C x. If the
coefficients of C are nonnegative and decreasing, the leaves 1, 1 + b, 1 + 2b, ... have the largest norm. If C
has at most b bands, the columns of one user do not overlap, so the norm is known for all coefficients
(docs/notes/counting.md).

Source: Henzinger, Upadhyay and Upadhyay, arXiv:2211.05006 (the square root); Kalinin and Lampert,
arXiv:2405.13763 (its bands). The certificates are this project's own.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import flint

from dpproof.accountant.counting.tree import levels
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision

_BITS = 192


MOST_LEAVES = 2**20
"""The length of the longest stream that is supported."""


def square_root_coefficient(index: int) -> Fraction:
    """Return the coefficient binomial(2k, k)/4^k of z^k in (1 - z)^(-1/2), where k is ``index``.

    The coefficients are the first column of the square root of the running-count matrix.

    >>> [str(square_root_coefficient(k)) for k in range(4)]
    ['1', '1/2', '3/8', '5/16']

    Raises:
        ValueError: for an index that is no integer at least 0.
    """
    whole(index, "index", 0)
    return Fraction(math.comb(2 * index, index), 4**index)


class Strategy(Protocol):
    """A factorisation A = B C of the matrix A of running counts into lower triangular Toeplitz matrices.

    For a stream x, a counter releases B (C x + noise) instead of A x.
    """

    @property
    def leaves(self) -> int:
        """The length of the stream."""
        ...

    @property
    def bands(self) -> int:
        """The length of the first column of C, without the zeros at its end."""
        ...

    @property
    def decreasing(self) -> bool:
        """Whether the coefficients of C are nonnegative and never increase."""
        ...

    def column(self) -> flint.arb_poly:
        """Return bounds on the first column of the Toeplitz matrix C, as the coefficients of a polynomial.

        The bounds have the current working precision; see ``precision``.
        """
        ...

    def row(self) -> flint.arb_poly:
        """Return bounds on the first column of the Toeplitz matrix B, as the coefficients of a polynomial.

        The bounds have the current working precision; see ``precision``.
        """
        ...


def _stream(leaves: int) -> None:
    if levels(leaves) and leaves > MOST_LEAVES:
        raise ValueError(
            f"leaves ({leaves}) must be at most {MOST_LEAVES}. The computation needs "
            "about 200 bytes and a microsecond for each leaf."
        )


@dataclass(frozen=True)
class SquareRoot:
    """The factorisation of the matrix of running counts into two equal factors, its square roots: B = C.

    >>> SquareRoot(16384).bands
    16384

    Raises:
        ValueError: for fewer than one leaf, or more than 2^20.
    """

    leaves: int

    def __post_init__(self) -> None:
        _stream(self.leaves)

    @property
    def bands(self) -> int:
        """See ``Strategy.bands``."""
        return self.leaves

    @property
    def decreasing(self) -> bool:
        """See ``Strategy.decreasing``."""
        return True

    def column(self) -> flint.arb_poly:
        """See ``Strategy.column``."""
        return _square_root(self.leaves, flint.ctx.prec)

    def row(self) -> flint.arb_poly:
        """See ``Strategy.row``."""
        return self.column()


@lru_cache(maxsize=4)
def _square_root(count: int, bits: int) -> flint.arb_poly:
    value, found = flint.arb(1), []
    for k in range(1, count + 1):
        found.append(value)
        value *= flint.arb(2 * k - 1) / (2 * k)
    return flint.arb_poly(found)


@dataclass(frozen=True)
class Banded:
    """A factorisation B C of the matrix of running counts, given by the first column of C.

    ``coefficients`` are the first numbers of this column. The others are 0.

    >>> Banded(10, (1, "0.5")).decreasing
    True

    Raises:
        ValueError: for leaves outside 1..2^20, no coefficients or more than leaves, a first coefficient that
            is not above 0, or a coefficient that is no finite number.
    """

    leaves: int
    coefficients: tuple[Number, ...]

    def __post_init__(self) -> None:
        _stream(self.leaves)
        if isinstance(self.coefficients, str):
            raise ValueError(f"coefficients ({self.coefficients!r}) must be several numbers, not text")
        if not 1 <= len(self.coefficients) <= self.leaves:
            raise ValueError(
                f"coefficients ({len(self.coefficients)} numbers) must be 1 to {self.leaves} numbers"
            )
        if self.exact_coefficients()[0] <= 0:
            raise ValueError(f"first coefficient ({self.coefficients[0]!r}) must be above 0")

    def exact_coefficients(self) -> tuple[Fraction, ...]:
        """Return the coefficients as rational numbers."""
        return tuple(exact(value, "coefficient") for value in self.coefficients)

    @property
    def bands(self) -> int:
        """See ``Strategy.bands``."""
        return len(self.coefficients)

    @property
    def decreasing(self) -> bool:
        """See ``Strategy.decreasing``."""
        values = self.exact_coefficients()
        return values[-1] >= 0 and all(a >= b for a, b in itertools.pairwise(values))

    def column(self) -> flint.arb_poly:
        """See ``Strategy.column``."""
        return flint.arb_poly([arb_of(value) for value in self.exact_coefficients()])

    def row(self) -> flint.arb_poly:
        """See ``Strategy.row``.

        Raises:
            ArithmeticError: if the coefficients of B grow so fast that their error cannot be certified.
        """
        return _reciprocal(self.column() * flint.arb_poly([1, -1]), self.leaves)


def _reciprocal(series: flint.arb_poly, count: int) -> flint.arb_poly:
    """Return the first ``count`` coefficients of 1/series, enclosed.

    With series * guess = 1 - e, 1/series is guess/(1 - e). So the error is at most max|guess| |e|_1/(1 -
    |e|_1).
    """
    guess = _float_reciprocal(series, count)
    for _ in range(2):
        guess = _midpoints(_cut(guess * (1 + _residual(series, guess, count)), count))
    wrong = sum((abs(value) for value in _residual(series, guess, count).coeffs()), flint.arb(0))
    if not wrong < flint.arb(1) / 2:
        raise ArithmeticError(
            "The series 1/((1 - z) c(z)) grows too fast to bound its errors, where c has the given coefficients. "
            "Use nonnegative, decreasing coefficients."
        )
    largest = max((abs(value) for value in guess.coeffs()), key=float) * (1 + flint.arb(2) ** -40)
    radius = flint.arb(0, (largest * wrong / (1 - wrong)).upper())
    return flint.arb_poly([value + radius for value in guess.coeffs()])


def _float_reciprocal(series: flint.arb_poly, count: int) -> flint.arb_poly:
    """Return the reciprocal in ordinary floating point. It is not certified."""
    from scipy import signal  # takes long to import

    floats = [float(value.mid()) for value in series.coeffs()]
    impulse = [1.0] + [0.0] * (count - 1)
    return flint.arb_poly([float(x) for x in signal.lfilter([1.0], floats, impulse)])


def _residual(series: flint.arb_poly, guess: flint.arb_poly, count: int) -> flint.arb_poly:
    return _cut(1 - series * guess, count)


def _cut(series: flint.arb_poly, count: int) -> flint.arb_poly:
    return flint.arb_poly(series.coeffs()[:count])


def _midpoints(series: flint.arb_poly) -> flint.arb_poly:
    return flint.arb_poly([value.mid() for value in series.coeffs()])


def banded_square_root(leaves: int, bands: int) -> Banded:
    """Return the factorisation B C of the running-count matrix in which C has ``bands`` bands.

    The bands of C are the first ``bands`` bands of the square root of the running-count matrix.

    Source: Kalinin and Lampert, arXiv:2405.13763, banded square root factorisation.

    >>> banded_square_root(100, 2).coefficients
    (Fraction(1, 1), Fraction(1, 2))

    Raises:
        ValueError: for bands outside 1..leaves.
    """
    whole(bands, "bands", 1, leaves)
    return Banded(leaves, tuple(square_root_coefficient(k) for k in range(bands)))


def participation_norm(strategy: Strategy, participations: int = 1, separation: int = 1) -> flint.arb:
    """Return an enclosure of the largest squared L2 norm of one user's change of C x. Call it inside ``precision``.

    The user changes at most ``participations`` entries of the stream x by at most 1 each. The entries are at
    least ``separation`` apart. A counter with the factorisation ``strategy`` = B C adds noise to C x.

    >>> from dpproof.accountant.counting.toeplitz import banded_square_root
    >>> with precision(100): float(participation_norm(banded_square_root(100, 2), 3, 2).mid())
    3.75

    Raises:
        ValueError: for participations or a separation below 1. Also for coefficients that are not nonnegative
            and decreasing, if there are several participations and more bands than ``separation``.
    """
    for name, value in (("participations", participations), ("separation", separation)):
        whole(value, name, 1)
    if participations > 1 and strategy.bands > separation and not strategy.decreasing:
        raise ValueError(
            f"separation ({separation}) must be at least the number of bands ({strategy.bands}), "
            "unless the coefficients are nonnegative and decreasing."
        )
    moved = _moved(strategy, participations, separation)
    return sum((value * value for value in moved), flint.arb(0))


def _moved(strategy: Strategy, participations: int, separation: int) -> list[flint.arb]:
    """Return the change of C x by the leaves 1, 1 + separation, ...; running sums if a user is in all of them."""
    column: list[flint.arb] = strategy.column().coeffs()
    if participations * separation >= strategy.leaves:
        column += [flint.arb(0)] * (strategy.leaves - len(column))
        for place in range(separation, strategy.leaves):
            column[place] += column[place - separation]
        return column
    pattern = [0] * ((participations - 1) * separation + 1)
    pattern[::separation] = [1] * participations
    moved: list[flint.arb] = (strategy.column() * flint.arb_poly(pattern)).coeffs()
    return moved[: strategy.leaves]


@dataclass(frozen=True)
class Errors:
    """Squared errors of the running counts B (C x + noise), and the largest squared change of C x by one user.

    x is the stream, and B C is the matrix of running counts. The unit of the errors is the variance of the
    noise.
    """

    squared_norm: Bound
    """The largest squared L2 norm of one user's change of C x."""
    largest: Bound
    """The largest variance of a running count, if the noise has variance 1."""
    mean: Bound
    """The mean variance over all running counts, if the noise has variance 1."""
    largest_at_mu_1: Bound
    """The largest variance of a running count if the run is 1-GDP: ``largest`` times ``squared_norm``."""
    mean_at_mu_1: Bound
    """The mean variance of the running counts if the run is 1-GDP: ``mean`` times ``squared_norm``."""


def errors(strategy: Strategy, participations: int = 1, separation: int = 1) -> Errors:
    """Return certified squared errors of the running counts that the factorisation ``strategy`` releases.

    A user may change ``participations`` entries of the stream that are at least ``separation`` apart.

    >>> from dpproof.accountant.counting.toeplitz import SquareRoot
    >>> found = errors(SquareRoot(16384))
    >>> found.squared_norm.upper, found.largest_at_mu_1.upper
    (4.155169, 17.265433)

    Raises:
        ValueError: as ``participation_norm``.
    """
    with precision(_BITS):
        norm = participation_norm(strategy, participations, separation)
        variances = list(itertools.accumulate(value * value for value in _rows(strategy)))
        largest, mean = variances[-1], sum(variances, flint.arb(0)) / strategy.leaves
        return Errors(*map(bound_of, (norm, largest, mean, largest * norm, mean * norm)))


def _rows(strategy: Strategy) -> list[flint.arb]:
    """Return B's coefficients in full length."""
    found: list[flint.arb] = strategy.row().coeffs()
    return found + [flint.arb(0)] * (strategy.leaves - len(found))
