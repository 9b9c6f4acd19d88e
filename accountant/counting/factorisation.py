"""Norms of a factorisation A = B C: how far one user moves C x, how far noise moves the counts.

A user is in at most k leaves, any two of them at least ``separation`` apart, and moves each by at most 1.
With nonnegative, decreasing coefficients all overlaps of columns are nonnegative and fall both with their
distance and towards the end: the leaves 1, 1 + b, 1 + 2b, ... are the worst. With at most b bands the
columns of one user do not overlap, whatever the coefficients are (docs/notes/counting.md).

Banded coefficients found by numerical search; ``errors`` certifies what it finds, nothing rests on it.

With at most as many bands as a user's leaves are apart, the squared norm to pay is the number of leaves
times the sum of c_k^2, whatever the coefficients are. Then the best C minimises that sum times the error of
B = A C^(-1), the sum of w_t b_t^2: a smooth function, whose gradient is two more series.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import flint
from numpy.typing import NDArray

from dpproof.accountant.counting.toeplitz import Banded, Strategy, banded_square_root
from dpproof.accountant.numbers.arithmetic import np
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


_Floats = NDArray[np.float64]
_STEPS = 300


def optimised_bands(leaves: int, bands: int, error: Literal["mean", "largest"] = "mean") -> Banded:
    """The banded Toeplitz strategy of least certified-later ``error``, as far as the search finds it.

    It starts at the banded square root. Ask ``errors`` for what the strategy is worth.

    >>> from dpproof.accountant.counting.factorisation import errors
    >>> from dpproof.accountant.counting.toeplitz import banded_square_root
    >>> ours, theirs = errors(optimised_bands(256, 16), 4, 64), errors(banded_square_root(256, 16), 4, 64)
    >>> bool(ours.mean_at_mu_1.at_most(theirs.mean_at_mu_1))
    True

    Raises:
        ValueError: for bands outside 1..leaves, or another kind of error.
    """
    start = banded_square_root(leaves, bands).exact_coefficients()
    if error not in ("mean", "largest"):
        raise ValueError(f"error ({error!r}) must be 'mean' or 'largest'")
    weights = np.arange(leaves, 0, -1) / leaves if error == "mean" else np.ones(leaves)
    if bands == 1:
        return Banded(leaves, (1.0,))
    from scipy import optimize  # takes long to import

    found = optimize.minimize(
        _objective(weights),
        np.array([float(c) for c in start[1:]]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS},
    )
    return Banded(leaves, (1.0, *(float(c) for c in found.x)))


def _objective(weights: _Floats) -> Callable[[_Floats], tuple[float, _Floats]]:
    """log(sum c^2) + log(sum w b^2) and its gradient, as a function of c_1, c_2, ... with c_0 = 1."""
    from scipy import signal

    def value(free: _Floats) -> tuple[float, _Floats]:
        c = np.concatenate(([1.0], free))
        with np.errstate(over="ignore", invalid="ignore"):
            b = signal.lfilter([1.0], c, np.ones(len(weights)))
            moved = signal.lfilter([1.0], c, b)  # b_m falls by moved_(m-j) for each unit of c_j
            norm, error = float(c @ c), float(weights @ (b * b))
            if not np.isfinite(error):
                return 1e300, np.zeros_like(free)
            lags = signal.fftconvolve(weights * b, moved[::-1])[len(weights) - 1 :][: len(c)]
        return float(np.log(norm) + np.log(error)), (2 * c / norm - 2 * lags / error)[1:]

    return value
