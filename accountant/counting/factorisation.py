"""Norms of a factorisation A = B C: how far one user moves C x, how far noise moves the counts.

A user is in at most k leaves, any two of them at least ``separation`` apart, and moves each by at most 1.
With nonnegative, decreasing coefficients all overlaps of columns are nonnegative and fall both with their
distance and towards the end: the leaves 1, 1 + b, 1 + 2b, ... are the worst. With at most b bands the
columns of one user do not overlap, whatever the coefficients are (docs/notes/counting.md).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import flint

from dpproof.accountant.counting.toeplitz import Strategy
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import bound_of, precision

_BITS = 192


def participation_norm(strategy: Strategy, participations: int = 1, separation: int = 1) -> flint.arb:
    """The largest squared L2 norm of C x over one user's x, enclosed; call it inside ``precision``.

    >>> from dpproof.accountant.counting.toeplitz import banded_square_root
    >>> with precision(100): float(participation_norm(banded_square_root(100, 2), 3, 2).mid())
    3.75

    Raises:
        ValueError: for participations or a separation below 1; and where bands exceed the separation, for
            coefficients that are not nonnegative and decreasing: nothing is proved then.
    """
    for name, value in (("participations", participations), ("separation", separation)):
        whole(value, name, 1)
    if participations > 1 and strategy.bands > separation and not strategy.decreasing:
        raise ValueError(
            f"separation ({separation}) must be at least the number of bands ({strategy.bands}), "
            "or the coefficients nonnegative and decreasing"
        )
    moved = _moved(strategy, participations, separation)
    return sum((value * value for value in moved), flint.arb(0))


def _moved(strategy: Strategy, participations: int, separation: int) -> list[flint.arb]:
    """The change of C x by the leaves 1, 1 + separation, ...: running sums where a user is in all of them."""
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
    """Squared errors of the running counts in units of (noise per unit of C x)^2, and the norm to pay for."""

    squared_norm: Bound
    """The largest squared change of C x by one user."""
    largest: Bound
    """The largest variance of a release, noise of variance 1."""
    mean: Bound
    """The mean variance over all releases."""
    largest_at_mu_1: Bound
    """``largest`` times ``squared_norm``: the largest variance when the run is 1-GDP."""
    mean_at_mu_1: Bound
    """``mean`` times ``squared_norm``."""


def errors(strategy: Strategy, participations: int = 1, separation: int = 1) -> Errors:
    """The certified errors of a strategy, with the noise that one user's participation requires.

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
    """B's coefficients, in full length."""
    found: list[flint.arb] = strategy.row().coeffs()
    return found + [flint.arb(0)] * (strategy.leaves - len(found))
