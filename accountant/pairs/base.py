"""Interface of a dominating pair, and the checks of arguments that pairs share.

A pair (P, Q) has the privacy loss L = log dP/dQ, a random variable under P.
``dpproof.accountant.privacy_loss`` composes pairs by two methods. The first is a grid of losses. It uses the
probabilities of intervals of losses under P and under Q. The second inverts the moment-generating function of
L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.enclosures import Number, exact

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """The probabilities of intervals of privacy losses, called cells, under the two distributions P and Q of a pair.

    For edges e_0 < ... < e_n the cells are the losses below e_0, the intervals [e_0, e_1), ..., and the
    losses from e_n on. A loss within ``slack`` of an edge may be counted on either side of the edge. Apart
    from this, the relative errors of the probabilities are at most ``p_error`` under P and ``q_error`` under
    Q. An error is one number for all cells, or one number for each cell.
    """

    p: Floats
    """The probabilities of the n + 2 cells under P; shape (n + 2,)."""
    q: Floats
    """The probabilities of the same cells under Q. An outcome has exp(-loss) times its probability under P."""
    p_error: float | Floats
    q_error: float | Floats
    slack: float
    infinite: tuple[float, float] = (0.0, 0.0)
    """Lower and upper bound on the probability under P of the outcomes that are impossible under Q."""


@dataclass(frozen=True)
class Tilted:
    """The distribution of the privacy loss L after multiplying each probability by exp(c L)/M(c).

    The number c is real. M(c), the mean of exp(c L) under P, is the moment-generating function of L. M must
    be finite at c. The new distribution is called the distribution of L tilted at c.
    """

    log_mgf: float
    """The logarithm of the moment-generating function at c, log M(c)."""
    log_mgf_error: float
    """Proved bound on the absolute error of ``log_mgf``."""
    mean: float
    """The mean of the tilted distribution. It only guides the search; no certified result depends on it."""
    variance: float
    """The variance of the tilted distribution. It only guides the search."""
    uniform: Callable[[], tuple[Floats, Floats]]
    """A function that describes uniform distributions whose weighted sum is a part of the tilted distribution.

    The function returns lower bounds on the weights w_j >= 0, whose sum is at most 1, and lower bounds on the
    widths l_j > 0 of the intervals.
    """
    beyond: Callable[[Floats], Floats] | None = None
    """If known, a second bound on the characteristic function phi of the tilted distribution.

    For each frequency above 0, it returns an upper bound on log |phi| at this and every larger frequency.
    """


@runtime_checkable
class Characteristic(Protocol):
    """An object that computes the moment-generating function M of a pair's privacy loss, with proved errors.

    M is computed in doubles, on vertical lines c + i t of the complex plane.
    """

    def tilted(self, c: float) -> Tilted:
        """Return the distribution of the privacy loss tilted at a real ``c`` > 0; see ``Tilted``."""
        ...

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return phi(n step) - 1 for n = 0 .. count - 1, and proved absolute errors.

        phi(t) = M(c + i t)/M(c) is the characteristic function of the privacy loss tilted at ``c``.
        """
        ...


@runtime_checkable
class DominatingPair(Protocol):
    """A dominating pair (P, Q) of a mechanism, for one direction of a neighbouring relation.

    At every real epsilon, the delta of P and Q is at least the delta of the mechanism's outputs on any two
    neighbours. The privacy loss of the pair is log dP/dQ.
    """

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities under P and Q of the intervals of losses between increasing ``edges``."""
        ...

    def reversed(self) -> DominatingPair:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        ...

    def loss_range(self) -> tuple[float, float]:
        """Return proved lower and upper bounds on the finite losses, rounded outward; infinite if unbounded."""
        ...

    def characteristic(self) -> Characteristic | None:
        """Return the moment-generating function of the loss.

        The result is None if this function has neither a closed form nor a proved quadrature. Then
        composition uses a grid of privacy losses.
        """
        ...


RAREST = Fraction(1, 10**300)
"""The smallest sampling rate or privacy loss that is accepted. Products with it are still above 0 in doubles."""
_RAREST_CHANCE = Fraction(1, 10**270)


def double(value: Number, name: str) -> float:
    """Return the double that ``value`` equals exactly.

    >>> double("0.5", "scale"), double(2, "scale")
    (0.5, 2.0)
    >>> double("0.1", "scale")
    Traceback (most recent call last):
    ValueError: scale ('0.1') must be exactly equal to a float. Give a float.

    Raises:
        ValueError: for a value that is no finite number, or that no double equals.
    """
    number = exact(value, name)
    if abs(number) < Fraction(2) ** 1023 and Fraction(float(number)) == number:
        return float(number)
    raise ValueError(f"{name} ({value!r}) must be exactly equal to a float. Give a float.")


def within(value: Number, name: str, least: float, most: float) -> float:
    """Return the double that ``value`` equals exactly, checked to lie between ``least`` and ``most``.

    >>> within(1, "noise_multiplier", 1e-4, 1e12)
    1.0

    Raises:
        ValueError: for a value that no double equals, or that is outside the range.
    """
    number = double(value, name)
    if not least <= number <= most:
        raise ValueError(f"{name} ({value!r}) must be from {least:g} to {most:g}")
    return number


def sampling_rate(value: Number, name: str = "rate") -> Fraction:
    """Return ``value`` as a rational number, checked to be a sampling rate.

    >>> sampling_rate("1/3")
    Fraction(1, 3)

    Raises:
        ValueError: unless 0 < value <= 1, and for a value below 1e-300.
    """
    rate = exact(value, name)
    if not 0 < rate <= 1:
        raise ValueError(f"{name} ({value!r}) must be above 0 and at most 1")
    if rate < RAREST:
        raise ValueError(f"{name} (10^{_magnitude(rate)}) must be at least 1e-300")
    return rate


def check_chance(value: Fraction, name: str = "probability") -> None:
    """Raise ValueError if a probability is too close to 0 or 1 to be used in double precision.

    Raises:
        ValueError: unless 1e-270 <= value <= 1 - 1e-270.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} ({float(value)!r}) must be strictly between 0 and 1")
    if min(value, 1 - value) < _RAREST_CHANCE:
        raise ValueError(f"{name} ({float(value)!r}) must be in [1e-270, 1 - 1e-270]")


def pair_of(value: DominatingPair) -> DominatingPair:
    """Return ``value``, checked to be a dominating pair.

    Raises:
        ValueError: for an object without the methods of ``DominatingPair``.
    """
    if not isinstance(value, DominatingPair):
        raise ValueError(f"pair ({value!r}) must be a dominating pair")
    return value


def _magnitude(rate: Fraction) -> int:
    """Return roughly the logarithm to base 10. The number itself may be too long to print."""
    return round((rate.numerator.bit_length() - rate.denominator.bit_length()) * 0.30103)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different numbers of a list in increasing order, without the import of ``numpy.ma`` by ``unique``.

    >>> distinct(np.array([2, 1, 2])).tolist()
    [1, 2]
    """
    increasing: NDArray[Any] = np.sort(values)
    new = np.append(True, increasing[1:] != increasing[:-1])[: values.size]
    return np.compress(new, increasing)
