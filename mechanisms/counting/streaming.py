"""Private running counts of a stream by the binary tree mechanism, with little memory and secure noise.

A stream has K leaves: the numbers that are counted, one at a time. Each counter stores O(log K) numbers. After t
leaves it stores one tree node for each binary digit 1 of t. A node covers a block of leaves, and the stored nodes
together cover the first t leaves. A node has the sum of its block, and noise that is drawn once, when the block is
complete. The smaller nodes inside the block are then dropped. Source: Chan, Shi and Song, Private and continual
release of statistics (2011), Algorithm 2.

For a release to the world, OpenDP (the extra ``release``) draws discrete, exact noise from a secure source. Counts
are integers and get integer noise, so that no floating-point sampler can be attacked.
Discrete distributions have separate names, because the guarantees of continuous noise do not apply to them.
Discrete Laplace noise of scale b has the same largest privacy loss as continuous Laplace noise of that scale: its
probabilities at distance d have a ratio of at most exp(d/b). But at delta above 0 it is less private. Discrete
Gaussian noise is rho-zCDP with rho = D^2/(2 sigma^2), where D is the L2 sensitivity (Canonne, Kamath and Steinke,
arXiv:2004.00010, Theorem 4). It is not Gaussian differential privacy. Real numbers, such as costs, are counted in
whole multiples of a small unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.mechanisms._checks import at_least

_LAWS = NoiseLaw.DISCRETE_LAPLACE, NoiseLaw.DISCRETE_GAUSSIAN
_LARGEST = 2.0**40
"""Largest scale. With a larger one the noise could exceed 2^53, beyond which doubles round integers."""


@dataclass(frozen=True)
class SecureNoise:
    """An object that makes functions which draw secure integer noise, for the private counts of PRIVATE-UCB.

    >>> SecureNoise()("discrete-laplace", 10.0)(4).shape
    (4,)
    """

    integer: bool = field(default=True, init=False)
    """Whether the counted values must be whole numbers."""

    def __call__(self, law: str, scale: float) -> Callable[[int], NDArray[np.float64]]:
        """Return the function ``secure_noise(law, scale)``, which draws the noise."""
        return secure_noise(law, scale)


def secure_noise(law: str, scale: float) -> Callable[[int], NDArray[np.float64]]:
    """Return a function that draws a given number of independent integer noise values.

    The probability of x is proportional to exp(-abs(x)/scale) if ``law`` is ``discrete-laplace``, and to
    exp(-x^2/(2 scale^2)) if it is ``discrete-gaussian``.

    >>> noise = secure_noise("discrete-laplace", 10.0)(4)
    >>> noise.shape, bool((noise == np.rint(noise)).all())
    ((4,), True)

    Raises:
        ValueError: for another law, or a scale outside (0, 2^40].
        ModuleNotFoundError: without OpenDP, naming the extra.
    """
    if law not in _LAWS:
        raise ValueError(f"law ({law!r}) must be integer noise, one of: {', '.join(_LAWS)}")
    if isinstance(scale, bool) or not 0 < scale <= _LARGEST:
        raise ValueError(f"scale ({scale!r}) must be a number above 0 and at most 2^40")
    measurement = _measurement(law, scale)

    def draw(count: int) -> NDArray[np.float64]:
        return np.asarray(measurement([0] * count), dtype=np.float64)

    return draw


def _measurement(law: str, scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Noise for a release needs OpenDP. Run: pip install 'dpproof[release]'"
        ) from error
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == NoiseLaw.DISCRETE_LAPLACE:
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=scale)


FreshNoise = Callable[[int], NDArray[np.float64]]
"""Function that returns a given number of independent noise values, one for each counter."""


class StreamingTree:
    """An object that counts ``counters`` streams privately. A leaf holds one number for each stream.

    >>> tree = StreamingTree(leaves=10**9, counters=2, fresh=np.zeros)
    >>> for leaf in ([1, 0], [1, 1], [1, 0]):
    ...     tree.update(leaf)
    >>> tree.release().tolist(), tree.numbers_held
    ([3.0, 1.0], 120)

    Args:
        leaves: the largest number of leaves.
        counters: how many streams.
        fresh: function that draws the noise of a tree node, one value for each counter.

    Raises:
        ValueError: for fewer than one leaf or counter.
    """

    def __init__(self, leaves: int, counters: int, fresh: FreshNoise) -> None:
        self._leaves = at_least("leaves", leaves, 1)
        self._fresh = fresh
        self._time = 0
        shape = (leaves.bit_length(), at_least("counters", counters, 1))
        self._sums, self._noises = np.zeros(shape), np.zeros(shape)

    @property
    def time(self) -> int:
        """Number of leaves so far."""
        return self._time

    @property
    def numbers_held(self) -> int:
        """Number of values in memory: two for each counter and binary digit of ``leaves``."""
        return self._sums.size + self._noises.size

    def update(self, leaf: ArrayLike) -> None:
        """Add the next leaf: one finite number for each counter.

        Raises:
            ValueError: the last leaf was already added, or ``leaf`` is not one finite number for each counter. Such
                a call changes nothing.
        """
        values = self._checked(leaf)
        self._room(1)
        end = self._time + 1
        level = (end & -end).bit_length() - 1
        noise = self._fresh(values.size)
        self._sums[level] = values + self._sums[:level].sum(axis=0)
        self._noises[level] = noise
        self._sums[:level] = 0
        self._noises[:level] = 0
        self._time = end

    def skip(self, count: int) -> None:
        """Add ``count`` leaves of zeros at once. The distribution is the same as after ``count`` updates.

        Tree nodes that already exist and are still used keep their noise. New nodes get new noise.

        >>> tree = StreamingTree(10**9, 1, np.ones)
        >>> tree.skip(10**9 - 1)
        >>> tree.release().tolist()
        [21.0]

        Raises:
            ValueError: for a negative count, or one beyond the last leaf; the state is unchanged then.
        """
        self._room(at_least("count", count, 0))
        before, after = self._time, self._time + count
        top = (before ^ after).bit_length()  # above, both times are made of the same nodes
        if top == 0:
            return
        fresh = {level: self._fresh(self._sums.shape[1]) for level in range(top) if after >> level & 1}
        inside = self._sums[:top].sum(axis=0)
        self._sums[:top] = 0
        self._noises[:top] = 0
        self._sums[top - 1] = (
            inside  # the digit at top - 1 is a one of `after` only, and covers all that was below
        )
        for level, noise in fresh.items():
            self._noises[level] = noise
        self._time = after

    def release(self, time: int | None = None) -> NDArray[np.float64]:
        """Return the private running counts after ``time`` leaves, which must be the present time.

        Raises:
            ValueError: for a time that has not come, or has passed.
        """
        if time is not None and at_least("time", time, 0) != self._time:
            raise ValueError(
                f"time ({time}) must be {self._time}, the number of leaves that were added so far"
            )
        found: NDArray[np.float64] = (self._sums + self._noises).sum(axis=0)
        return found

    def _room(self, count: int) -> None:
        if self._time + count > self._leaves:
            raise ValueError(
                f"leaf number {self._time + count} cannot be added, because the stream has only {self._leaves} leaves"
            )

    def _checked(self, leaf: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(leaf, dtype=np.float64)
        wanted = (self._sums.shape[1],)
        if values.shape != wanted:
            raise ValueError(f"the shape of leaf ({values.shape}) must be {wanted}")
        if not np.isfinite(values).all():
            raise ValueError(f"leaf ({values[~np.isfinite(values)][0]}) must be a finite number")
        return values
