"""The dominating pair of Laplace noise on a number of sensitivity 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import flint

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, in_decimals, precision, round_up
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats
from dpproof.accountant.pairs.lattice import floored

_U = 2.0**-53
_BITS, _WIDEST, _MOST_EXPONENT = 128, 10**290, 745
MOST_ANSWERS = 256
"""Up to so many answers of one scale, a sum in Arb takes no more time than a grid of losses."""


@dataclass(frozen=True)
class Laplace:
    """The dominating pair of Laplace noise of the given ``scale`` around 0 and around 1.

    Under P the privacy loss is 1/scale with probability 1/2, and -1/scale with probability exp(-1/scale)/2.
    Between these two values the loss has a density. Both directions have the same privacy loss.

    >>> cells = Laplace(2.0).cells(np.array([0.5]))
    >>> [round(float(p), 6) for p in cells.p]
    [0.5, 0.5]

    Raises:
        ValueError: unless scale is from 1e-290 to 1e290.

    Source: Dwork, McSherry, Nissim and Smith, TCC 2006, Section 3; Zhu, Dong and Wang, arXiv:2106.08567v4,
    Table 1.
    """

    scale: Number

    def __post_init__(self) -> None:
        if not 1 <= exact(self.scale, "scale") * _WIDEST <= _WIDEST**2:
            raise ValueError(
                f"scale ({in_decimals(self.scale)}) must be from 1e-290 to 1e290, in units of the sensitivity"
            )
        object.__setattr__(self, "scale", _short(exact(self.scale)))

    @property
    def lattice(self) -> float:
        """The number 1/scale. The largest privacy loss is 1/scale, and the smallest is -1/scale."""
        return float(1 / exact(self.scale))

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        top = self.lattice
        ends = np.clip(np.concatenate([[-np.inf], edges, [np.inf]]), -top, top)
        low, high = ends[:-1], ends[1:]
        part = -np.expm1((low - high) / 2) / 2
        p, q, some = np.exp((high - top) / 2) * part, np.exp(-(low + top) / 2) * part, low < high
        for atom, at_p, at_q in ((top, 0.5, math.exp(-top) / 2), (-top, math.exp(-top) / 2, 0.5)):
            place = int(np.searchsorted(edges, atom, side="right"))
            p[place] += at_p
            q[place] += at_q
            some[place] = True
        error = (64 + 4 * min(top, _MOST_EXPONENT)) * _U  # exponentials of larger arguments are 0 and raised
        (p, p_error), (q, q_error) = (floored(masses, error, some) for masses in (p, q))
        return Cells(p, q, p_error, q_error, 4 * _U * top)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single answer, at the current precision.

        Delta is 1 - exp((epsilon - 1/scale)/2), or 0 beyond the largest loss (docs/notes/loss_grid.md, section 8).
        """
        return (-((epsilon - arb_of(1 / exact(self.scale))) / 2).expm1()).max(flint.arb(0))

    def composed_profile(self, count: int) -> Callable[[flint.arb], flint.arb] | None:
        """Return the profile of ``count`` answers in Arb; None for more answers than ``MOST_ANSWERS``."""
        return _Answers(1 / exact(self.scale), count) if 1 < count <= MOST_ANSWERS else None

    def reversed(self) -> Laplace:
        """Return the pair itself: the loss of (Q, P) has the same distribution."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are minus and plus 1/scale, rounded outward.
        """
        with precision(_BITS):
            top = round_up(arb_of(1 / exact(self.scale)))
        return -top, top

    def characteristic(self) -> Characteristic | None:
        """Return None: the moment-generating function does not decay, so many answers use a grid of losses."""
        return None


class _Answers:
    """The privacy profile of several Laplace answers of one scale, as a function in Arb.

    Each sum of ``count`` losses, all plus or minus the largest loss, adds a polynomial in its distance from epsilon
    if it exceeds epsilon (docs/notes/loss_grid.md, section 8).

    >>> two = _Answers(Fraction(1, 5), 2)
    >>> with precision(128): float(two(flint.arb("0.25")))
    0.037466132934126...
    """

    def __init__(self, largest: Fraction, count: int) -> None:
        self._largest, self._count = largest, count
        self._polynomials: dict[tuple[int, int], flint.arb_poly] = {}

    def __call__(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0, at the current precision."""
        largest, count, total = arb_of(self._largest), self._count, flint.arb(0)
        for plus in range(count, 0, -1):
            distance = ((2 * plus - count) * largest - epsilon) / 2
            if distance <= 0:
                break
            distance = distance.max(flint.arb(0))
            total += self._polynomial(plus)(distance)
            if plus == count:
                total += _beyond(distance, count)
        return total * ((epsilon - count * largest) / 2).exp() * flint.arb(2) ** (1 - count)

    def _polynomial(self, plus: int) -> flint.arb_poly:
        """Return the polynomial for ``plus`` losses of plus the largest one, multiplied by the ways to choose them."""
        if (key := (flint.ctx.prec, plus)) not in self._polynomials:
            factor, terms = flint.arb(flint.fmpz.bin_uiui(self._count, plus)), [flint.arb(0)]
            for power, coefficient in enumerate(_coefficients(plus, self._count - plus), 1):
                factor /= power
                terms.append(factor * coefficient)
            self._polynomials[key] = flint.arb_poly(terms)
        return self._polynomials[key]


def _coefficients(plus: int, minus: int) -> list[flint.fmpz]:
    """Return the first plus + minus - 1 coefficients of (1 + x)^(plus - 1) (1 - x)^(minus - 1) at x = 0."""
    found: flint.fmpz_poly = flint.fmpz_poly([1, 1]) ** (plus - 1)
    if minus:
        found *= flint.fmpz_poly([1, -1]) ** (minus - 1)
    return list(found.coeffs() if minus else accumulate(found.coeffs()[:-1]))


def _beyond(distance: flint.arb, count: int) -> flint.arb:
    """Return 2^(count - 1) times the sum of distance^k/k! over all k >= count."""
    scale = flint.arb(2) ** (count - 1)
    if distance > count:
        head = flint.arb_poly([1 / flint.arb(flint.fmpz.fac_ui(k)) for k in range(count)])
        return scale * (distance.exp() - head(distance))
    term, total = distance**count / flint.fmpz.fac_ui(count), flint.arb(0)
    for k in range(count, 16 * count + 16 * flint.ctx.prec):
        rest = term / (1 - distance / (k + 1))  # at least the sum of all further terms
        if not rest > total * flint.arb(2) ** -flint.ctx.prec:
            break
        total, term = total + term, term * distance / (k + 1)
    return scale * (total + rest.union(flint.arb(0)))


def _short(number: Fraction) -> float | Fraction:
    """Return the double that the number equals, or the number itself if there is none."""
    return float(number) if Fraction(float(number)) == number else number
