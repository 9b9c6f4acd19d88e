"""The distribution of the largest error of all running counts of a tree, with certified bounds.

Its quantiles are smaller than those of a union bound over all releases.

The releases at times below 2^(l+1) are those of a tree of level l, followed by the same releases with one
more node added to each. Let Z be that node's noise, and let r_l(s) be the probability that s plus the error
is outside [-x, x] at some time below 2^l. The two halves and Z are independent, so

    r_{l+1}(s) = r_l(s) + (1 - r_l(s)) E[r_l(s + Z)],    r_0(s) = 1 outside [-x, x], else 0.

For symmetric, log-concave noise 1 - r_l is even and log-concave, so r_l grows with |s|. Its values at grid
points therefore bound it on whole cells from both sides (docs/notes/counting.md). All terms are nonnegative,
which preserves the relative accuracy of rare failures.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.error import union_bound
from dpproof.accountant.counting.noise import Noise
from dpproof.accountant.counting.tree import levels
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import inside_unit, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import sign_change

_CELLS = 2048
_ULP, _TINY = 2.0**-52, 1e-300
_Floats = NDArray[np.float64]


def maximum_error_probability(leaves: int, noise: Noise, error: Number, cells: int = _CELLS) -> Bound:
    """Return bounds on the probability that some running count of a tree has an error above ``error``.

    The tree has ``leaves`` leaves, and ``noise`` on each node. ``cells`` is the size of the grid on which the
    function computes. A larger grid makes the bounds tighter, but the time grows with the square of its size.

    >>> from dpproof.accountant.counting.noise import GaussianNoise
    >>> found = maximum_error_probability(64, GaussianNoise(1), 8)
    >>> found.lower, found.upper
    (0.00339, 0.00348)

    Raises:
        ValueError: for fewer than one leaf, an error not above 0, or fewer than 2 cells.
    """
    levels(leaves)
    point = exact(error, "error")
    if point <= 0:
        raise ValueError(f"error ({error!r}) must be above 0")
    step = point / _checked(cells)
    low, high = (_Grid.of(noise, step, cells, upper).some_time(leaves, cells) for upper in (False, True))
    return Bound(low, high)


def maximum_error_bound(leaves: int, noise: Noise, beta: Number, cells: int = _CELLS) -> Bound:
    """Return bounds on the smallest x such that with probability 1 - ``beta`` no running count has an error above x.

    The counts are those of a tree of ``leaves`` leaves, with ``noise`` on each node. ``cells`` is the size of
    the grid on which the function computes.

    >>> from dpproof.accountant.counting.noise import LaplaceNoise
    >>> from dpproof.accountant.counting.error import union_bound
    >>> exactly = maximum_error_bound(256, LaplaceNoise(1), "0.01", cells=512)
    >>> exactly.upper, union_bound(256, LaplaceNoise(1), "0.01").upper
    (15.14, 15.82)

    Raises:
        ValueError: for fewer than one leaf, a failure probability outside (0, 1), or fewer than 2 cells.
    """
    target = inside_unit(beta, "beta")
    most = union_bound(leaves, noise, beta).upper
    if math.isinf(most):
        raise ValueError(
            f"beta ({beta!r}) gives an error beyond double precision. Use a larger beta or less noise."
        )
    step = Fraction(most) / _checked(cells)
    if step == 0:
        raise ValueError(
            f"beta ({beta!r}) gives an error of 0 in double precision. Use a smaller beta or more noise."
        )
    least, largest = (
        _first_below(_Grid.of(noise, step, 2 * cells, upper), leaves, target, 2 * cells)
        for upper in (False, True)
    )
    with precision(128):
        return Bound(round_down(arb_of((least - 1) * step)), min(most, round_up(arb_of(largest * step))))


def _checked(cells: int) -> int:
    return whole(cells, "cells", 2)


@dataclass(frozen=True)
class _Grid:
    """Probabilities of the noise on cells of one width, all rounded up or all rounded down."""

    tails: _Floats
    """P(Z > k h), k = 0, 1, ..."""
    masses: _Floats
    """P(k h < Z < (k + 1) h)."""
    upper: bool

    @classmethod
    def of(cls, noise: Noise, step: Fraction, cells: int, upper: bool) -> _Grid:
        """Return the probabilities of the noise that are needed for errors of up to ``cells`` grid steps."""
        rounded = round_up if upper else round_down
        with precision(128):
            tails = [noise.tail(1, k * step) for k in range(2 * cells + 2)]
            masses = [before - after for before, after in itertools.pairwise(tails)]
            return cls(
                np.array([rounded(x) for x in tails]), np.maximum([rounded(x) for x in masses], 0.0), upper
            )

    def some_time(self, leaves: int, reach: int) -> float:
        """Return a bound on the probability that some running count has an error above ``reach`` grid steps.

        The running counts are those at the times 1..``leaves``.
        """
        if reach == 0:
            return 1.0
        times, full = leaves + 1, np.zeros(reach + 1)
        partial = None
        for level in range(times.bit_length()):
            if times >> level & 1:
                partial = full if partial is None else self._then(full, partial)
            if times >> (level + 1):
                full = self._then(full, full)
        return 0.0 if partial is None else float(partial[0])

    def _then(self, first: _Floats, second: _Floats) -> _Floats:
        """Return r(s) for the times of ``first``, followed by a node and the times of ``second``."""
        later = self._moved(second)
        return self._outwards(first + (1 - first) * later, 8)

    def _moved(self, r: _Floats) -> _Floats:
        """Return E[r(s + Z)] at the grid points s >= 0, from cells of r, masses of Z and the tails of Z beyond."""
        reach = len(r) - 1
        half = r[1:] if self.upper else r[:-1]
        cells = np.concatenate((half[::-1], half))
        masses = np.concatenate((self.masses[: 2 * reach][::-1], self.masses[:reach]))
        inside = np.correlate(masses, cells, "valid")[::-1]
        beyond = self.tails[reach::-1][: reach + 1] + self.tails[reach : 2 * reach + 1]
        return self._outwards(inside + beyond, 2 * reach + 8)

    def _outwards(self, values: _Floats, operations: int) -> _Floats:
        """Move sums of ``operations`` nonnegative products outward by their rounding errors, within [0, 1]."""
        moved = 2 * operations * _ULP
        if self.upper:
            return np.minimum(values * (1 + moved) + _TINY, 1.0)
        return np.maximum(values * (1 - moved) - _TINY, 0.0)


def _first_below(grid: _Grid, leaves: int, target: Fraction, most: int) -> int:
    """Return the step, at most ``most``, after the last one found whose bound is above the target."""
    known = -math.log(target), _excess(grid, leaves, target, most)
    if known[1] > 0:
        return most
    excess = partial(_excess, grid, leaves, target)
    return round(sign_change(excess, 0, most, close=0.0, apart=1.0, whole=True, at=known)[1])


def _excess(grid: _Grid, leaves: int, target: Fraction, reach: float) -> float:
    """Return approximately log(bound / target). It is above 0 exactly if the bound is above the target."""
    end = grid.some_time(leaves, int(reach))
    size = abs(math.log(end) - math.log(target)) if end else 1e3
    return max(size, _TINY) if Fraction(end) > target else -max(size, _TINY)
