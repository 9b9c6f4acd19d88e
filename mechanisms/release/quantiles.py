"""Quantile functions of noise: enclosures by Arb, and tables of polynomials with a proved error bound.

A draw of symmetric noise has a random sign and the size g(u). Here u is uniform in (0, 1/2) and g is the quantile
function: a draw of the noise is larger than g(u) with probability u. docs/notes/rounded_noise.md derives the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, fmpz_poly
from numpy.typing import NDArray

from dpproof.accountant.numbers.enclosures import arb_of, precision, round_up
from dpproof.mechanisms.release._rounded_kernel import OCTAVES, SEGMENTS, SIZE_BITS, SPLIT_BITS

DEGREE = 7
"""Degree of the polynomials in the table."""
_PRECISION = 128
_ROUNDING = Fraction(1, 1 << 53)
"""Largest relative error of one operation in double precision."""
_SLACK = 1 + 2.0**-40
"""Factor that covers products of rounding errors, and the errors of the arithmetic of the bounds themselves."""


@dataclass(frozen=True)
class Quantile:
    """Quantile function g of symmetric noise, as a function of the tail probability u in (0, 1/2].

    Attributes:
        name: name of the noise.
        size: encloses g(u), given an enclosure of u.
        taylor: encloses g'(u)/1!, g''(u)/2!, ... up to the eighth derivative, given enclosures of u and g(u).
        steepness: upper bound on abs(u g'(u)) for all u in (0, 1/2].
    """

    name: str
    size: Callable[[arb], arb]
    taylor: Callable[[arb, arb], list[arb]]
    steepness: Fraction


@dataclass(frozen=True, eq=False)
class Table:
    """Polynomials that approximate a quantile function g, one for each segment, with their errors.

    In segment k, g(u) is close to centres[k] 2^-59 + c1 t + c2 t^2 + ..., where t goes from -1/2 to 1/2.

    Attributes:
        centres: value of g in the middle of each segment, in units of 2^-59.
        coefficients: row k has c1, c2, ... of segment k.
        errors: upper bounds on the error of the fast path in each segment for noise scale 1, if u is known exactly.
        starts: first tail probability u of each segment.
        steepness: the `Quantile.steepness` of the function.
    """

    centres: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    errors: NDArray[np.float64]
    starts: NDArray[np.float64]
    steepness: float

    def bounds(self, digits: int) -> NDArray[np.float64]:
        """Return upper bounds on the error in each segment for noise scale 1, if ``digits`` binary digits are known.

        >>> bool((table_of(NORMAL).bounds(64)[-64:] < 2.0**-56).all())
        True
        """
        return (self.errors + self.steepness * 2.0**-digits / self.starts) * _SLACK


def _normal_size(u: arb) -> arb:
    return (2 * u).erfcinv() * arb(2).sqrt()


def _normal_taylor(u: arb, size: arb) -> list[arb]:
    """Return the coefficients by g^(n) = P_n(g) (g')^n and g' = -sqrt(2 pi) exp(g^2/2)."""
    slope = -(2 * arb.pi()).sqrt() * (size * size / 2).exp()
    power, found = arb(1), []
    for n, polynomial in enumerate(_POLYNOMIALS, 1):
        power = power * slope / n
        value = arb(0)
        for coefficient in polynomial:
            value = value * size + coefficient
        found.append(value * power)
    return found


def _polynomials() -> list[list[int]]:
    """Return P_1, P_2, ... with P_1 = 1 and P_(n+1) = P_n' + n x P_n, each as coefficients from the highest degree."""
    found, x = [fmpz_poly([1])], fmpz_poly([0, 1])
    for n in range(1, DEGREE + 1):
        found.append(found[-1].derivative() + n * x * found[-1])
    return [[int(c) for c in reversed(p.coeffs())] for p in found]


_POLYNOMIALS = _polynomials()


def _laplace_size(u: arb) -> arb:
    return -(2 * u).log()


def _laplace_taylor(u: arb, size: arb) -> list[arb]:
    return [(-1 / u) ** n / n for n in range(1, DEGREE + 2)]


NORMAL = Quantile("normal", _normal_size, _normal_taylor, Fraction(12534, 10000))
"""Standard normal noise: g(u) is the z with P(Z > z) = u."""
LAPLACE = Quantile("Laplace", _laplace_size, _laplace_taylor, Fraction(1))
"""Laplace noise of scale 1: g(u) = -log(2u)."""


@lru_cache(maxsize=2)
def table_of(quantile: Quantile) -> Table:
    """Return the table of a quantile function. Arb proves its error bounds at the first call, in 0.05 to 0.2 s.

    >>> table_of(LAPLACE).coefficients.shape
    (1280, 7)
    """
    starts = [segment_start(k) for k in range(SEGMENTS + 1)]
    with precision(_PRECISION):
        ends = [quantile.size(arb_of(u)) for u in starts]
        cells = zip(pairwise(starts), pairwise(ends), strict=True)
        rows = [_row(quantile, *u, size[0].union(size[1])) for u, size in cells]
    centres, coefficients, errors = (np.array(column) for column in zip(*rows, strict=True))
    firsts = np.array([float(u) for u in starts[:-1]])
    return Table(centres, coefficients, errors, firsts, float(quantile.steepness) * _SLACK)


def segment_start(k: int) -> Fraction:
    """Return the first tail probability of segment k.

    >>> segment_start(0), segment_start(1280)
    (Fraction(1, 2097152), Fraction(1, 2))
    """
    octave, part = divmod(k, 1 << SPLIT_BITS)
    return Fraction(((1 << SPLIT_BITS) + part) << octave, 1 << (SPLIT_BITS + OCTAVES + 1))


def _row(quantile: Quantile, start: Fraction, end: Fraction, sizes: arb) -> tuple[int, list[float], float]:
    """Return the centre, the coefficients and the error of a segment. Every size in it is in ``sizes``."""
    middle, width = arb_of((start + end) / 2), arb_of(end - start)
    size = quantile.size(middle)
    unit = arb_of(Fraction(1, 1 << SIZE_BITS))
    centre = int((size / unit).mid().floor().unique_fmpz())
    exact = [c * width**n for n, c in enumerate(quantile.taylor(middle, size)[:DEGREE], 1)]
    doubles = [float(c.mid()) for c in exact]
    whole = arb_of(start).union(arb_of(end))
    rest = quantile.taylor(whole, sizes)[DEGREE] * (width / 2) ** (DEGREE + 1)
    pairs = enumerate(zip(exact, doubles, strict=True), 1)
    rounding = sum((abs(a - arb(b)) / 2**n for n, (a, b) in pairs), _floating(doubles))
    error = abs(size - centre * unit) + unit + abs(rest) + rounding
    return centre, doubles, round_up(error + (abs(sizes) + error) / 2**61)


def _floating(doubles: list[float]) -> arb:
    """Return a bound on the rounding errors of t c1 + t^2 c2 + ... by Horner's rule, for abs(t) <= 1/2."""
    error, largest = arb(0), arb(abs(doubles[-1]))
    for c in reversed(doubles[:-1]):
        product = largest / 2
        largest = (abs(arb(c)) + product) * arb(_SLACK)
        error = error / 2 + product + largest
    argument = sum((n * abs(arb(c)) / 2**n for n, c in enumerate(doubles, 1)), arb(0))
    return (error / 2 + largest / 2 + argument) * arb_of(_ROUNDING) * arb(_SLACK)
