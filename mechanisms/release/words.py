"""Sources of random 64-bit words, and a stream of words that can be read more than once.

A release reads `system_words`, the entropy of the operating system. `seeded_words` reads a numpy generator.
Anyone who knows the generator's seed can subtract the noise, so its draws are a simulation and not a release.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.randomness import Randomness

Words = NDArray[np.uint64]
WordSource = Callable[[int], Words]
"""Function that returns the given number of independent, uniform 64-bit words."""


def system_words(count: int) -> Words:
    """Return words from the entropy source of the operating system (`os.urandom`).

    >>> system_words(3).shape
    (3,)
    """
    return np.frombuffer(os.urandom(8 * count), np.uint64)


def seeded_words(rng: np.random.Generator) -> WordSource:
    """Return a source of words drawn from a generator. Use it for simulations and tests only.

    >>> source = seeded_words(np.random.default_rng(0))
    >>> source(2).dtype.name
    'uint64'
    """

    def draw(count: int) -> Words:
        return rng.integers(0, 2**64, count, dtype=np.uint64)

    return draw


def words_of(randomness: Randomness) -> WordSource:
    """Return a source of words: the operating system for a release, the generator for a simulation.

    >>> words_of(Randomness.of(None)) is system_words
    True
    """
    if randomness.words is not None:
        return randomness.words
    return seeded_words(randomness.generator) if randomness.simulated else system_words


class WordStream:
    """A stream of words from a source. Words can be read again until they are dropped.

    Attributes:
        held: words that were drawn from the source and are not yet dropped.
    """

    def __init__(self, source: WordSource) -> None:
        self._source = source
        self.held: Words = np.empty(0, np.uint64)
        self._place = 0

    def more(self, count: int) -> None:
        """Draw `count` more random words from the source, and store them for later use."""
        self.held = np.concatenate([self.held, self._source(count)])

    def drop(self, count: int) -> None:
        """Drop the first `count` words. The next read starts after them."""
        self.held = self.held[count:]
        self._place = 0

    def next(self) -> int:
        """Return the next word, an integer in [0, 2^64)."""
        if self._place == len(self.held):
            self.more(16)
        self._place += 1
        return int(self.held[self._place - 1])

    def drop_read(self) -> None:
        """Drop the words that `next` has returned."""
        self.drop(self._place)
