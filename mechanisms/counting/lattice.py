"""Running sums of integers that are released exactly, to the last bit.

A stream has leaves x_1, x_2, ..., each a vector of integers with one entry for each counter. The encoder C is a lower
triangular Toeplitz matrix of integers. When leaf t is complete, the counter releases the vector of integers
y_t = c_0 x_t + c_1 x_{t-1} + ... + c_{t-1} x_1 + z_t. The noise z_t is an integer that does not depend on the data.
Everything else is computed from y_1, ..., y_t alone: the running sums are B y with B = A C^-1, where A is the matrix
of running sums. They are doubles, and their rounding errors cost no privacy.

All products and sums of C x are integers below 2^53, so doubles hold them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms._checks import at_least
from dpproof.mechanisms.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_WHOLE = 1 << 53


class LatticeSums:
    """Running sums of ``counters`` streams of integers, released through an encoder of integers with integer noise.

    >>> sums = LatticeSums([2, 1, 1], counters=2, most=10, draw=lambda n: np.zeros(n, np.int64))
    >>> for leaf in ([1, 0], [3, 4]):
    ...     sums.add([0, 1], leaf)
    ...     released = sums.close()
    >>> released.tolist(), sums.running.tolist()
    ([7, 8], [4.0, 4.0])

    Args:
        encoder: the first column c_0, c_1, ... of C, integers with c_0 above 0. Its length is the number of leaves.
        counters: the number of streams, at least 0. `grow` adds streams later.
        most: an upper bound on the sum of absolute values that one stream adds over all leaves.
        draw: function that returns a number of independent integers of noise.

    Raises:
        ValueError: an encoder that is empty or begins with 0, or sums that doubles would round.
    """

    def __init__(self, encoder: Sequence[int], counters: int, most: int, draw: Callable[[int], Ints]) -> None:
        at_least("counters", counters, 0)
        if not len(encoder) or encoder[0] <= 0:
            raise ValueError(f"encoder ({list(encoder)[:3]}) must begin with an integer above 0")
        if max(map(abs, encoder)) * at_least("most", most, 0) >= _WHOLE:
            raise ValueError(
                f"most ({most}) times the largest coefficient ({max(map(abs, encoder))}) must be below 2^53. "
                "Use fewer grains or fewer bits."
            )
        self._encoder = np.array(encoder, np.float64)
        self._decoder = _decoder(self._encoder)
        self._draw = draw
        self._leaf = np.zeros(counters)
        self._leaves = np.zeros((0, counters))
        self._released = np.zeros((0, counters))
        self.time = 0
        """The number of closed leaves."""
        self.running = np.zeros(counters)
        """The running sums of all closed leaves, computed from the released integers."""

    @property
    def amplification(self) -> float:
        """The standard deviation of the noise of the last running sums, for noise of standard deviation 1."""
        return float(self.spreads[-1])

    @property
    def spreads(self) -> Floats:
        """The standard deviation of the noise of the running sums after 1, 2, ... leaves, for noise of deviation 1."""
        found: Floats = np.sqrt(np.cumsum(self._decoder**2))
        return found

    @property
    def room(self) -> int:
        """The number of leaves that can still be closed."""
        return len(self._encoder) - self.time

    def add(self, places: ArrayLike, amounts: ArrayLike) -> None:
        """Add integers to counters of the present leaf. A counter may be listed more than once."""
        np.add.at(self._leaf, np.asarray(places, np.int64), np.asarray(amounts, np.int64))

    def grow(self, counters: int) -> None:
        """Add streams that begin at 0 with the present leaf. They have no noise from earlier leaves.

        Their earlier leaves and releases count as 0, and C is lower triangular. So the decoder stays the same.
        """
        more = np.zeros(at_least("counters", counters, 0))
        self._leaf, self.running = np.append(self._leaf, more), np.append(self.running, more)
        wider = ((0, 0), (0, counters))
        self._leaves, self._released = np.pad(self._leaves, wider), np.pad(self._released, wider)

    def close(self) -> Ints:
        """Complete the present leaf, and return the released integers y_t.

        Raises:
            ValueError: all leaves are closed.
        """
        if not self.room:
            raise ValueError(f"leaf number {self.time + 1} cannot be closed, because the stream is over")
        if self.time == len(self._leaves):
            longer = ((0, min(self.time + 8, self.room)), (0, 0))
            self._leaves, self._released = np.pad(self._leaves, longer), np.pad(self._released, longer)
        self._leaves[self.time] = self._leaf
        self._leaf = np.zeros_like(self._leaf)
        noise = self._draw(self._leaf.size)
        released = combined(self._encoder, self._leaves, self.time + 1).astype(np.int64) + noise
        self._released[self.time] = released
        self.time += 1
        self.running = combined(self._decoder, self._released, self.time)
        return released


class TreeSums:
    """Running sums of integers by a binary tree with integer noise, with the interface of `LatticeSums`.

    The released integers are the noisy sums of the tree's nodes. A running sum adds up one node for each binary digit 1
    of the time. A node's value is estimated from its own noisy sum and from those of the nodes below it (Honaker, TPDP
    2015, estimation from below). So the noise of a node has variance at most that of its own noise.

    >>> sums = TreeSums(leaves=4, counters=1, draw=lambda n: np.zeros(n, np.int64))
    >>> for amount in (3, 4):
    ...     sums.add([0], [amount])
    ...     nodes = sums.close()
    >>> nodes.tolist(), sums.running.tolist()
    ([[4.0], [7.0]], [7.0])
    """

    def __init__(self, leaves: int, counters: int, draw: Callable[[int], Ints], most: int = 0) -> None:
        self._leaves, self._draw = at_least("leaves", leaves, 1), draw
        if most >= _WHOLE:
            raise ValueError(f"most ({most}) must be below 2^53, because doubles would round larger sums")
        self._leaf = np.zeros(at_least("counters", counters, 1))
        self._nodes: list[tuple[int, Floats, Floats]] = []  # level, true sum, estimate
        self.time = 0
        """The number of closed leaves."""
        self.running = np.zeros(counters)
        """The running sums of all closed leaves, computed from the noisy nodes."""

    @property
    def amplification(self) -> float:
        """An upper bound on the standard deviation of the noise of a running sum, for noise of standard deviation 1."""
        return math.sqrt(self._leaves.bit_length())

    @property
    def spreads(self) -> Floats:
        """Upper bounds on the deviation of the running sums after 1, 2, ... leaves, for noise of deviation 1."""
        return np.sqrt([float(time.bit_count()) for time in range(1, self._leaves + 1)])

    def add(self, places: ArrayLike, amounts: ArrayLike) -> None:
        """Add integers to counters of the present leaf. A counter may be listed more than once."""
        np.add.at(self._leaf, np.asarray(places, np.int64), np.asarray(amounts, np.int64))

    def close(self) -> Floats:
        """Complete the present leaf, and return the noisy sums (nodes, counters) of the nodes that it completes.

        The lowest node comes first. The noisy sums are integers.

        Raises:
            ValueError: all leaves are closed.
        """
        if self.time == self._leaves:
            raise ValueError(f"leaf number {self.time + 1} cannot be closed, because the stream is over")
        self.time += 1
        released = [self._noisy(self._leaf)]
        level, true, estimate = 0, self._leaf, released[0]
        while self._nodes and self._nodes[-1][0] == level:
            _, before, other = self._nodes.pop()
            level, true = level + 1, before + true
            released.append(self._noisy(true))
            estimate = _averaged(level, released[-1], other + estimate)
        self._nodes.append((level, true, estimate))
        self._leaf = np.zeros_like(self._leaf)
        self.running = np.sum([node[2] for node in self._nodes], axis=0)
        return np.array(released)

    def _noisy(self, true: Floats) -> Floats:
        return true + self._draw(true.size)


def _averaged(level: int, own: Floats, children: Floats) -> Floats:
    """Return the best average of a node's own noisy sum and the sum of its children's estimates.

    A child's estimate has variance v = 2^(level-1)/(2^level - 1) of the noise, so the sum of both has variance 2 v.
    """
    variance = 2.0**level / (2.0**level - 1)
    return (variance * own + children) / (variance + 1)


class PlainSums:
    """Running sums of numbers that already have noise, with the interface of `LatticeSums`.

    >>> sums = PlainSums(1)
    >>> sums.add([0], [3])
    >>> sums.close()
    >>> sums.running.tolist()
    [3.0]
    """

    def __init__(self, counters: int) -> None:
        self.running = np.zeros(at_least("counters", counters, 1))
        """The sums of all closed leaves."""
        self._leaf = np.zeros(counters)

    def add(self, places: ArrayLike, amounts: ArrayLike) -> None:
        """Add numbers to counters of the present leaf."""
        np.add.at(self._leaf, np.asarray(places, np.int64), np.asarray(amounts, np.float64))

    def close(self) -> None:
        """Complete the present leaf."""
        self.running, self._leaf = self.running + self._leaf, np.zeros_like(self._leaf)


@njit
def combined(column: Floats, rows: Floats, time: int) -> Floats:  # pragma: no cover - compiled
    """Return entry number `time` of the Toeplitz matrix with this first column times the rows, counted from 1."""
    found = np.zeros(rows.shape[1])
    for i in range(time):
        weight = column[time - 1 - i]
        if weight != 0.0:
            for j in range(len(found)):  # without temporary arrays, in the same order
                found[j] += weight * rows[i, j]
    return found


def _decoder(encoder: Floats) -> Floats:
    """Return the first column of B = A C^-1: the running sums of the reciprocal power series of C."""
    from scipy import signal  # takes long to import

    found: Floats = signal.lfilter([1.0], encoder, np.ones(len(encoder)))
    return found
