"""Noise paths of factorised counters: B z, B the running count's second factor, by fast Fourier transforms.

The release at time t adds up b_0 z_t + b_1 z_{t-1} + ... + b_{t-1} z_1, z independent noise on the entries of
C x (`dpproof.accountant.counting.matrix_counting`). All times of a group of counters are made at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.toeplitz import Strategy
from dpproof.accountant.numbers.enclosures import precision
from dpproof.mechanisms._checks import at_least
from dpproof.mechanisms.counting.draws import Draw, Floats

_GROUP = 32
"""Counters whose transforms are held at a time."""


def row_coefficients(strategy: Strategy) -> NDArray[np.float64]:
    """B's coefficients b_0, b_1, ..., one for each leaf.

    >>> from dpproof.accountant.counting.toeplitz import SquareRoot
    >>> row_coefficients(SquareRoot(3)).tolist()
    [1.0, 0.5, 0.375]
    """
    return _coefficients(strategy, "row")  # type: ignore[arg-type] # strategies are frozen, and so hashable


def column_coefficients(strategy: Strategy) -> NDArray[np.float64]:
    """C's coefficients, one for each leaf: how a change of the first leaf enters C x."""
    return _coefficients(strategy, "column")  # type: ignore[arg-type] # strategies are frozen, and so hashable


@lru_cache(maxsize=8)
def _coefficients(strategy: Strategy, factor: str) -> NDArray[np.float64]:
    with precision(80):
        found = [float(value.mid()) for value in getattr(strategy, factor)().coeffs()]
    coefficients = np.zeros(strategy.leaves)
    coefficients[: len(found)] = found
    coefficients.setflags(write=False)
    return coefficients


@dataclass(frozen=True)
class FactorisedPaths:
    """The square root of the running count, or any other factorisation by Toeplitz matrices.

    The whole array of paths is held, four bytes a time and counter.
    """

    draw: Draw
    """Noise of the entries of C x."""
    strategy: Strategy
    """Of as many leaves as there are times after the first, or more."""

    def blocks(self, rng: np.random.Generator, times: int, counters: int, block: int) -> Iterator[Floats]:
        """See ``NoisePaths.blocks``.

        Raises:
            ValueError: for more times than the strategy has leaves, and one.
        """
        if times > self.strategy.leaves + 1:
            raise ValueError(
                f"times ({times}) must be at most {self.strategy.leaves + 1}, the leaves and one"
            )
        paths = np.zeros((times, counters), np.float32)
        if times > 1:
            self._fill(rng, paths[1:])
        for first in range(0, times, at_least("block", block, 1)):
            yield paths[first : first + block]

    def _fill(self, rng: np.random.Generator, paths: Floats) -> None:
        from scipy import fft  # takes long to import

        leaves, counters = paths.shape
        length = fft.next_fast_len(2 * leaves - 1, real=True)
        row = fft.rfft(row_coefficients(self.strategy)[:leaves].astype(np.float32), length)
        for first in range(0, counters, _GROUP):
            noise = np.empty((min(_GROUP, counters - first), leaves), np.float32)
            self.draw(rng, noise)
            spectrum = fft.rfft(noise, length)
            spectrum *= row
            paths[:, first : first + _GROUP] = fft.irfft(spectrum, length)[:, :leaves].T
