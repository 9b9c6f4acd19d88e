"""Whole answers plus discrete Gaussian noise, drawn exactly.

The algorithm draws a candidate with two-sided geometric distribution, and an exact coin decides whether to keep it
(Canonne, Kamath and Steinke, arXiv:2004.00010, Algorithm 3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant.numbers.enclosures import exact
from dpproof.mechanisms.noise.answers import whole_answers
from dpproof.mechanisms.noise.coins import Ints, exponential_coins
from dpproof.mechanisms.noise.geometric import geometric_noise

if TYPE_CHECKING:
    from dpproof.accountant.noise.discrete_gaussian import DiscreteGaussianParameters


def sample(
    parameters: DiscreteGaussianParameters, answers: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """Return ``n`` draws of the whole numbers ``answers`` plus exact discrete Gaussian noise.

    The result is an array (n, compositions), and ``parameters.compositions`` is the number of answers. For histograms
    see `dpproof.mechanisms.noise.answers.real_answers`.
    """
    true = whole_answers(answers, parameters)
    variance = exact(parameters.sigma) ** 2
    return true + discrete_gaussian_noise(variance, n * true.size, rng).reshape(n, -1)


def discrete_gaussian_noise(variance: Fraction, n: int, rng: np.random.Generator) -> Ints:
    """Return ``n`` random whole numbers x with probability proportional to exp(-x^2 / (2 variance)).

    The function first draws a candidate x with probability proportional to exp(-|x|/t), where t = floor(sigma) + 1.
    It accepts x with probability exp(-(|x| - variance/t)^2 / (2 variance)), and otherwise draws again.

    Args:
        variance: the distribution's parameter sigma^2, above 0, at most 2^100.
        n: how many numbers are drawn.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the variance is outside that range.
    """
    if not 0 < variance <= 1 << 100:
        raise ValueError(f"variance ({float(variance)!r}) must be above 0 and at most 2^100")
    t = math.isqrt(math.floor(variance)) + 1
    found = np.empty(n, np.int64)
    missing = np.arange(n)
    while missing.size:
        tried = geometric_noise(Fraction(t), missing.size, rng)
        sizes, which = np.unique(np.abs(tried), return_inverse=True)
        costs = [(abs(int(x)) - variance / t) ** 2 / (2 * variance) for x in sizes]
        kept = exponential_coins(costs, which, rng)
        found[missing[kept]] = tried[kept]
        missing = missing[~kept]
    return found
