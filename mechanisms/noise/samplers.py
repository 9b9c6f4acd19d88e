"""Answers plus noise: Gaussian, Laplace, geometric, discrete Gaussian, binomial; and randomised response.

Every sampler is called as ``sampler(parameters, answers, n, rng)`` with the parameters of the accountant of
the same name, and returns ``n`` independent releases, one a row. Gaussian, Laplace and binomial noise is
numpy's, in floating point: the law is that of the accountant in real arithmetic, and the released doubles are
not covered. Geometric and discrete Gaussian noise and randomised response are exact: they draw integers only,
and from the operating system where the generator is `dpproof.mechanisms.randomness.Entropy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.numbers.enclosures import exact
from dpproof.mechanisms.noise.discrete import coins, discrete_gaussian_noise, geometric_noise

if TYPE_CHECKING:
    from dpproof.accountant.noise.binomial import BinomialParameters
    from dpproof.accountant.noise.discrete_gaussian import DiscreteGaussianParameters
    from dpproof.accountant.noise.gaussian import GaussianParameters
    from dpproof.accountant.noise.geometric import GeometricParameters
    from dpproof.accountant.noise.laplace import LaplaceParameters
    from dpproof.accountant.noise.randomised_response import RandomisedResponseParameters

__all__ = ["binomial", "discrete_gaussian", "gaussian", "geometric", "laplace", "randomised_response"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LARGEST = 1 << 62
"""Exact noise has scale at most 2^53 and exceeds 2^62 with probability below exp(-500)."""


def gaussian(parameters: GaussianParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Answers ``(compositions,)`` plus Gaussian noise: ``(n, compositions)``."""
    true = _answers(answers, parameters, np.float64)
    return true + rng.normal(0, parameters.sigma, (n, true.size))


def laplace(parameters: LaplaceParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Answers ``(compositions,)`` plus Laplace noise: ``(n, compositions)``."""
    true = _answers(answers, parameters, np.float64)
    return true + rng.laplace(0, parameters.scale, (n, true.size))


def geometric(parameters: GeometricParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Ints:
    """Whole answers ``(compositions,)`` plus two-sided geometric noise, exactly: ``(n, compositions)``."""
    true = _answers(answers, parameters, np.int64)
    return true + geometric_noise(exact(parameters.scale), n * true.size, rng).reshape(n, -1)


def discrete_gaussian(
    parameters: DiscreteGaussianParameters, answers: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """Whole answers ``(compositions,)`` plus discrete Gaussian noise, exactly: ``(n, compositions)``."""
    true = _answers(answers, parameters, np.int64)
    variance = exact(parameters.sigma) ** 2
    return true + discrete_gaussian_noise(variance, n * true.size, rng).reshape(n, -1)


def binomial(parameters: BinomialParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Ints:
    """Counts ``(compositions,)`` plus the heads of coins: ``(n, compositions)``."""
    true = _answers(answers, parameters, np.int64)
    return true + rng.binomial(parameters.trials, parameters.probability, (n, true.size))


def randomised_response(
    parameters: RandomisedResponseParameters, answers: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """True answers ``(compositions,)`` from 0 on, each now and then replaced by a uniform one."""
    true = _answers(answers, parameters, np.int64)
    if true.size and not 0 <= true.min() <= true.max() < parameters.categories:
        raise ValueError(f"answers ({true.tolist()}) must be one of 0, ..., {parameters.categories - 1}")
    chance, entries = [exact(parameters.randomness)], np.zeros(n * true.size, np.int64)
    random = coins(chance, entries, rng).reshape(n, -1)
    return np.where(random, rng.integers(0, parameters.categories, random.shape), true)


def _answers(answers: ArrayLike, parameters: Any, kind: Any) -> NDArray[Any]:
    """The true answers as an array ``(compositions,)``; of histograms the cells, ``(compositions * cells,)``.

    Raises:
        ValueError: another number of them, or not all finite, or not all whole where they must be.
    """
    given = np.asarray(answers) if kind is np.float64 else _each_by_itself(answers)
    count = parameters.compositions
    cells = len(given) // count if _histograms(parameters) and given.ndim == 1 and count else 1
    if given.shape != (count * cells,):
        raise ValueError(f"answers (shape {given.shape}) must have the shape ({count * cells},)")
    if kind is np.float64:
        true = given.astype(kind)
        if not np.isfinite(true).all():
            raise ValueError(f"answers ({given.tolist()}) must be finite numbers")
        return true
    if not all(_is_whole(value) for value in given.tolist()):
        rule = "must be whole numbers in [-2^62, 2^62], so that 64 bits hold them with their noise"
        raise ValueError(f"answers ({given.tolist()}) {rule}")
    return given.astype(kind)


def _each_by_itself(answers: ArrayLike) -> NDArray[Any]:
    """Return an array unchanged, and a list as an array of objects, so that no entry is rounded."""
    return answers if isinstance(answers, np.ndarray) else np.array(answers, dtype=object)


def _is_whole(value: Any) -> bool:
    """Return whether this is a whole number of size at most 2^62."""
    whole = isinstance(value, (int, np.integer, np.bool_)) or (
        isinstance(value, (float, np.floating)) and value % 1 == 0
    )
    return bool(whole and abs(int(value)) <= _LARGEST)


def _histograms(parameters: Any) -> bool:
    return getattr(parameters, "query", None) == "histogram"
