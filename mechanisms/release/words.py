"""Sources of random 64-bit words.

A release reads `system_words`, the entropy of the operating system. `seeded_words` reads a numpy generator.
Anyone who knows the generator's seed can subtract the noise, so its draws are a simulation and not a release.
"""

from __future__ import annotations

import numpy as np

from dpproof.mechanisms.randomness import Entropy, Randomness
from dpproof.mechanisms.randomness import Words as Words
from dpproof.mechanisms.randomness import WordSource as WordSource
from dpproof.mechanisms.randomness import system_words as system_words


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
    source = randomness.generator
    return source.words if isinstance(source, Entropy) else seeded_words(source)
