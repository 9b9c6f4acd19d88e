"""Noise of running counts over time, for many counters at once. The noise does not depend on the data.

A counter adds one number, a leaf, in each time step. Its noise path gives for each time t = 0, 1, 2, ... the noise of
the sum of the first t leaves, which is 0 at time 0. Each class yields the paths in blocks of consecutive times, as
arrays ``(n, counters)``. The noise is float32 and not protected against floating-point attacks. For a real release
use `dpproof.mechanisms.counting.streaming`.

A factorised counter writes the matrix of the running sums as a product B C. Its noise is B z, where z is independent
noise on the entries of C x and x is the stream (`dpproof.accountant.counting.matrix_counting`). The noise at time t is
b_0 z_t + b_1 z_{t-1} + ... + b_{t-1} z_1. Fast Fourier transforms compute these sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.counting.toeplitz import Strategy
from dpproof.accountant.numbers.enclosures import precision
from dpproof.mechanisms._checks import at_least
from dpproof.mechanisms.counting.tree import add_up_nodes

Floats = NDArray[np.float32]
Draw = Callable[[np.random.Generator, Floats], None]
"""Function that fills an array, contiguous in memory, with independent noise of scale 1."""


def gaussian(rng: np.random.Generator, out: Floats) -> None:
    """Fill `out` with standard normal noise.

    >>> out = np.empty(3, np.float32)
    >>> gaussian(np.random.default_rng(0), out)
    >>> bool((out != 0).all())
    True
    """
    rng.standard_normal(dtype=np.float32, out=out)


def laplace(rng: np.random.Generator, out: Floats) -> None:
    """Fill `out` with Laplace noise of scale 1: an exponential variable and an independent fair sign.

    >>> out = np.empty(1000, np.float32)
    >>> laplace(np.random.default_rng(0), out)
    >>> bool(out.min() < 0 < out.max())
    True
    """
    rng.standard_exponential(dtype=np.float32, out=out)
    flips = np.frombuffer(rng.bytes(-(-out.size // 8)), np.uint8)
    signs = np.unpackbits(flips, count=out.size).astype(np.uint32) << np.uint32(31)
    np.bitwise_xor(out.reshape(-1).view(np.uint32), signs, out=out.reshape(-1).view(np.uint32))


DRAWS: Mapping[str, Draw] = {NoiseLaw.LAPLACE: laplace, NoiseLaw.GAUSSIAN: gaussian}
"""Functions that draw noise, by the accountants' names of the distributions."""


class NoisePaths(Protocol):
    """A method of counting that yields the noise of its running counts over time."""

    def blocks(self, rng: np.random.Generator, times: int, counters: int, block: int) -> Iterator[Floats]:
        """Yield the noise of ``counters`` counters at times 0, ..., ``times`` - 1, in blocks of about ``block`` times.

        Use or copy a block before you request the next one, which may overwrite the same array.
        """
        ...


def power_of_two(block: int) -> int:
    """Return the least power of two that is at least ``block``.

    >>> power_of_two(500)
    512

    Raises:
        ValueError: for a block below 1.
    """
    return 1 << (at_least("block", block, 1) - 1).bit_length()


@dataclass(frozen=True)
class TreePaths:
    """The noise over time of running counts by the binary tree mechanism.

    Time t is after t counted numbers. To get s from t, set the lowest binary digit 1 of t to 0. The noise at time t is
    the noise at time s plus the noise of one new tree node, which covers the numbers s + 1 to t.

    >>> def ones(rng, out): out[...] = 1
    >>> [float(x[0]) for block in TreePaths(ones).blocks(np.random.default_rng(0), 6, 1, 4) for x in block]
    [0.0, 1.0, 1.0, 2.0, 1.0, 2.0]
    """

    draw: Draw
    """Function that draws the noise of the nodes."""

    def blocks(self, rng: np.random.Generator, times: int, counters: int, block: int) -> Iterator[Floats]:
        """Yield the noise over time in blocks, see ``NoisePaths.blocks``.

        Memory: one block, and one row for each binary digit of the time.
        """
        size, prefixes = power_of_two(block), {0: np.zeros(counters, np.float32)}
        rows = np.empty((min(size, times), counters), np.float32)
        for first in range(0, times, size):
            here = rows[: times - first]
            if first:
                self.draw(rng, here)
                here[0] += prefixes[first & (first - 1)]
            else:
                here[0] = 0
                self.draw(rng, here[1:])
            add_up_nodes(here)
            prefixes[first] = here[0].copy()
            prefixes = {time: prefixes[time] for time in _prefixes(first + size)}
            yield here


def _prefixes(time: int) -> list[int]:
    """Return the times that result from ``time`` by dropping its binary ones in turn, lowest first."""
    found = []
    while time:
        time &= time - 1
        found.append(time)
    return found


@dataclass(frozen=True)
class HonakerPaths:
    """The noise over time of running counts by a binary tree whose nodes are estimated from their subtrees.

    A node's own noise has variance 1. If the estimate of a child node has variance v, the sum of the two children's
    estimates has variance 2v. The estimate of the node is an average of its own noisy value and this sum. The weights
    are proportional to the inverse variances, so the average has variance 2v/(1 + 2v). Source: Honaker (TPDP 2015),
    estimation from below.
    """

    draw: Draw
    """Function that draws the noise of the nodes."""

    def blocks(self, rng: np.random.Generator, times: int, counters: int, block: int) -> Iterator[Floats]:
        """Yield the noise over time in blocks, see ``NoisePaths.blocks``.

        Memory: two blocks, and two rows for each binary digit of the time.
        """
        size = power_of_two(block)
        prefixes = {0: np.zeros(counters, np.float32)}
        waiting: dict[int, Floats] = {}
        rows = np.empty((size, counters), np.float32)
        for first in range(0, times, size):
            rows[0] = prefixes[first]
            nodes = self._block(rng, rows)
            yield rows[: times - first]
            node, level, end = nodes, size.bit_length() - 1, first + size
            while end >> level & 1 == 0:
                node = self._parent(rng, level + 1, waiting.pop(level), node)
                level += 1
            waiting[level] = node
            prefixes[end] = prefixes[end & (end - 1)] + node
            prefixes = {time: prefixes[time] for time in (end, *_prefixes(end))}

    def _block(self, rng: np.random.Generator, rows: Floats) -> Floats:
        """Fill rows 1, 2, ... with their paths, and return the estimate of the node over the block."""
        nodes = np.empty_like(rows)
        self.draw(rng, nodes)
        estimates, step = [nodes], 1
        while len(estimates[-1]) > 1:
            left, right = estimates[-1][::2], estimates[-1][1::2]
            estimates.append(self._parent(rng, len(estimates), left, right))
        for level in reversed(range(len(estimates) - 1)):
            step = 1 << level
            rows[step :: 2 * step] = rows[:: 2 * step] + estimates[level][::2]
        return np.asarray(estimates[-1][0], np.float32)

    def _parent(self, rng: np.random.Generator, level: int, left: Floats, right: Floats) -> Floats:
        """Return the estimate of nodes of that level from their own noise and their children's estimates."""
        children = 2**level / (2.0**level - 1)  # twice the variance of a child's estimate, above level 0
        own = np.empty(left.shape, np.float32)
        self.draw(rng, own)
        weight = np.float32(children / (1 + children))
        own *= weight
        own += (1 - weight) * (left + right)
        return own


@dataclass(frozen=True)
class WalkPaths:
    """The noise over time of sums of noisy numbers, as if a server adds up the users' own noisy numbers.

    >>> def ones(rng, out): out[...] = 1
    >>> [float(x[0]) for block in WalkPaths(ones).blocks(np.random.default_rng(0), 4, 1, 2) for x in block]
    [0.0, 1.0, 2.0, 3.0]
    """

    draw: Draw
    """Function that draws the noise of one user's number."""

    def blocks(self, rng: np.random.Generator, times: int, counters: int, block: int) -> Iterator[Floats]:
        """Yield the noise over time in blocks, see ``NoisePaths.blocks``. Sums are in double precision."""
        size, before = at_least("block", block, 1), np.zeros(counters)
        rows = np.empty((min(size, times), counters), np.float32)
        for first in range(0, times, size):
            here = rows[: times - first]
            if first:
                self.draw(rng, here)
            else:
                here[0] = 0
                self.draw(rng, here[1:])
            sums = np.cumsum(here, axis=0, dtype=np.float64)
            sums += before
            before = sums[-1].copy()
            here[...] = sums
            yield here


_GROUP = 32
"""Number of counters whose transforms are in memory at a time."""


def row_coefficients(strategy: Strategy) -> NDArray[np.float64]:
    """Return the first column b_0, b_1, ... of the Toeplitz matrix B that multiplies the noise.

    >>> from dpproof.accountant.counting.toeplitz import SquareRoot
    >>> row_coefficients(SquareRoot(3)).tolist()
    [1.0, 0.5, 0.375]
    """
    return _coefficients(strategy, "row")  # type: ignore[arg-type] # strategies are frozen, and so hashable


def column_coefficients(strategy: Strategy) -> NDArray[np.float64]:
    """Return the first column of the Toeplitz matrix C that multiplies the stream x before noise is added."""
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
    """The noise over time of a counter that factorises the matrix of running sums into Toeplitz matrices B and C.

    The noise for all times is in memory, with four bytes for each time and counter.
    """

    draw: Draw
    """Function that draws independent noise, which the matrix B then multiplies."""
    strategy: Strategy
    """The factorisation. Its number of leaves (counted numbers) must be at least ``times`` - 1."""

    def blocks(self, rng: np.random.Generator, times: int, counters: int, block: int) -> Iterator[Floats]:
        """Yield the noise over time in blocks, see ``NoisePaths.blocks``.

        Raises:
            ValueError: ``times`` is above the number of leaves (counted numbers) of the strategy plus one.
        """
        if times > self.strategy.leaves + 1:
            raise ValueError(
                f"times ({times}) must be at most {self.strategy.leaves + 1}, the leaves of the strategy plus 1"
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
