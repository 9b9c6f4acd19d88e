"""Laws of outputs in which faults are hidden: heavy tails, skewed, discrete, correlated, mixed, words and lists.

Each law is a function that draws ``n`` independent outputs. None of them depends on the input of a mechanism.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Generator = np.random.Generator
Outputs = Any
"""An array with one output per row, or a list of outputs."""
Law = Callable[[int, Generator], Outputs]
Numbers = Callable[[tuple[int, int], Generator], NDArray[Any]]


def vectors(width: int, numbers: Numbers) -> Law:
    """Return the law of vectors of this width, or of single numbers if the width is 1."""

    def law(n: int, rng: Generator) -> Outputs:
        drawn = numbers((n, width), rng)
        return drawn[:, 0] if width == 1 else drawn

    return law


def student(width: int, freedom: float) -> Law:
    """Return independent Student numbers with these degrees of freedom; 1 is the Cauchy law."""
    return vectors(width, lambda shape, rng: rng.standard_t(freedom, shape))


def exponential(width: int) -> Law:
    """Return independent exponential numbers."""
    return vectors(width, lambda shape, rng: rng.standard_exponential(shape))


def lognormal(width: int, sigma: float = 1.0) -> Law:
    """Return independent log-normal numbers."""
    return vectors(width, lambda shape, rng: rng.lognormal(0.0, sigma, shape))


def uniform(width: int) -> Law:
    """Return independent uniform numbers in [0, 1)."""
    return vectors(width, lambda shape, rng: rng.random(shape))


def laplace(width: int) -> Law:
    """Return independent Laplace numbers, each coordinate with a scale of its own, from 1 to 1,000."""
    scales = 1000.0 ** np.linspace(0, 1, width)
    return vectors(width, lambda shape, rng: rng.laplace(0, 1, shape) * scales)


def mixture(width: int, share: float = 0.3) -> Law:
    """Return outputs around one of two centres. The centre is the same for all coordinates of an output."""

    def numbers(shape: tuple[int, int], rng: Generator) -> NDArray[Any]:
        return rng.standard_normal(shape) + 4.0 * (rng.random((shape[0], 1)) < share)

    return vectors(width, numbers)


def correlated(width: int, correlation: float = 0.7) -> Law:
    """Return normal coordinates in which each two have this correlation."""

    def numbers(shape: tuple[int, int], rng: Generator) -> NDArray[Any]:
        common = rng.standard_normal((shape[0], 1)) * math.sqrt(correlation)
        return common + math.sqrt(1 - correlation) * rng.standard_normal(shape)

    return vectors(width, numbers)


def half_zero(width: int) -> Law:
    """Return coordinates that are 0 with probability 1/2, and exponential otherwise."""

    def numbers(shape: tuple[int, int], rng: Generator) -> NDArray[Any]:
        return np.where(rng.random(shape) < 0.5, 0.0, rng.standard_exponential(shape))

    return vectors(width, numbers)


def rounded(width: int, places: int, scale: float) -> Law:
    """Return exponential amounts with this mean, rounded to some decimal places."""
    return vectors(
        width, lambda shape, rng: np.asarray(np.round(rng.standard_exponential(shape) * scale, places))
    )


def geometric(width: int, chance: float) -> Law:
    """Return independent geometric counts 1, 2, 3, ..."""
    return vectors(width, lambda shape, rng: rng.geometric(chance, shape))


def poisson(width: int, mean: float) -> Law:
    """Return independent Poisson counts."""
    return vectors(width, lambda shape, rng: rng.poisson(mean, shape))


def integers(width: int, low: int, high: int) -> Law:
    """Return independent uniform integers from ``low`` to ``high - 1``."""
    return vectors(width, lambda shape, rng: rng.integers(low, high, shape))


def bits(width: int, chance: float = 0.5) -> Law:
    """Return independent bits, each 1 with this probability."""
    return vectors(width, lambda shape, rng: (rng.random(shape) < chance).astype(np.int64))


def sticky_bits(width: int, stay: float = 0.6) -> Law:
    """Return a Markov chain of fair bits, in which a bit equals the bit before it with probability ``stay``."""

    def numbers(shape: tuple[int, int], rng: Generator) -> NDArray[Any]:
        changes = rng.random(shape) >= stay
        changes[:, 0] = rng.random(shape[0]) < 0.5
        return np.asarray(changes.cumsum(axis=1) % 2)

    return vectors(width, numbers)


def words(most: int, vocabulary: int) -> Law:
    """Return lists of 1 to ``most`` different words; the word number k is drawn with weight 1 / (k + 3)."""
    weights = 1 / (np.arange(vocabulary) + 3.0)

    def law(n: int, rng: Generator) -> Outputs:
        keys = rng.standard_exponential((n, vocabulary)) / weights
        order, sizes = keys.argsort(axis=1), rng.integers(1, most + 1, n)
        return [
            [f"w{number}" for number in row[:size]] for row, size in zip(order.tolist(), sizes, strict=True)
        ]

    return law


def texts(most: int, vocabulary: int) -> Law:
    """Return texts of different words."""
    lists = words(most, vocabulary)
    return lambda n, rng: [" ".join(row) for row in lists(n, rng)]


def tables(most: int, vocabulary: int) -> Law:
    """Return tables from different words to their places."""
    lists = words(most, vocabulary)
    return lambda n, rng: [{word: place for place, word in enumerate(row)} for row in lists(n, rng)]


def sets(most: int, vocabulary: int) -> Law:
    """Return sets of words."""
    lists = words(most, vocabulary)
    return lambda n, rng: [frozenset(row) for row in lists(n, rng)]


def letters(mean: float) -> Law:
    """Return texts of random letters without spaces, with a Poisson number of letters plus one."""
    known = np.array(list(string.ascii_lowercase))

    def law(n: int, rng: Generator) -> Outputs:
        sizes = 1 + rng.poisson(mean, n)
        drawn = known[rng.integers(0, known.size, int(sizes.sum()))].tolist()
        ends = sizes.cumsum().tolist()
        return ["".join(drawn[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]

    return law


def ragged(chance: float, whole: bool = False) -> Law:
    """Return lists of numbers with a geometric length: normal numbers, or integers below 100."""

    def law(n: int, rng: Generator) -> Outputs:
        sizes = rng.geometric(chance, n)
        count = int(sizes.sum())
        drawn = (rng.integers(0, 100, count) if whole else rng.standard_normal(count)).tolist()
        ends = sizes.cumsum().tolist()
        return [drawn[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]

    return law


def categories(weights: tuple[float, ...]) -> Law:
    """Return one of a few words with these weights."""
    shares = np.array(weights) / sum(weights)
    names = [f"group {chr(ord('a') + place)}" for place in range(len(weights))]
    return lambda n, rng: [names[place] for place in rng.choice(len(names), n, p=shares).tolist()]


def typed(low: int, high: int) -> Law:
    """Return whole numbers that are Python integers or floats with equal probability."""

    def law(n: int, rng: Generator) -> Outputs:
        numbers, floats = rng.integers(low, high, n).tolist(), (rng.random(n) < 0.5).tolist()
        return [[float(x) if is_float else x] for x, is_float in zip(numbers, floats, strict=True)]

    return law
