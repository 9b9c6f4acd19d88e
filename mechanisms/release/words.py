"""Sources of random 64-bit words.

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
