"""Noise scaled by a smooth bound on local sensitivity: the answer plus noise times the bound times Z.

Called as ``sampler(parameters, (answer, bound), n, rng)``. Z is numpy's, in floating point, of the law that
the accountant of the same name states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.cauchy import SmoothCauchyParameters
    from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussianParameters
    from dpproof.accountant.smooth_sensitivity.laplace import SmoothLaplaceParameters
    from dpproof.accountant.smooth_sensitivity.log_normal import SmoothLogNormalParameters
    from dpproof.accountant.smooth_sensitivity.student import SmoothStudentParameters

__all__ = ["smooth_cauchy", "smooth_gaussian", "smooth_laplace", "smooth_log_normal", "smooth_student"]

Floats = NDArray[np.float64]
Data = tuple[float, float]
"""An answer, and the smooth bound of the data that it is the answer on."""


def smooth_gaussian(
    parameters: SmoothGaussianParameters, data: Data, n: int, rng: np.random.Generator
) -> Floats:
    """An answer whose first coordinate is given, the others being 0: ``(n, dimension)``."""
    answer, scale = _scaled(parameters.noise, data)
    released = scale * rng.standard_normal((n, parameters.dimension))
    released[:, 0] += answer
    return released


def smooth_laplace(
    parameters: SmoothLaplaceParameters, data: Data, n: int, rng: np.random.Generator
) -> Floats:
    """Z of density exp(-|z|)/2: ``(n,)``."""
    answer, scale = _scaled(parameters.noise, data)
    return answer + scale * rng.laplace(size=n)


def smooth_cauchy(parameters: SmoothCauchyParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Z of density proportional to 1/(1 + |z|^g): |Z|^g is a ratio of gamma variables of 1/g and 1 - 1/g."""
    answer, scale = _scaled(parameters.noise, data)
    share = 1 / parameters.exponent
    ratio = rng.standard_gamma(share, n) / rng.standard_gamma(1 - share, n)
    return answer + scale * rng.choice([-1.0, 1.0], n) * ratio**share


def smooth_student(
    parameters: SmoothStudentParameters, data: Data, n: int, rng: np.random.Generator
) -> Floats:
    """Z of Student's t law: ``(n,)``."""
    answer, scale = _scaled(parameters.noise, data)
    return answer + scale * rng.standard_t(parameters.degrees, n)


def smooth_log_normal(
    parameters: SmoothLogNormalParameters, data: Data, n: int, rng: np.random.Generator
) -> Floats:
    """Z = X exp(spread Y), X Laplace and Y normal: ``(n,)``."""
    answer, scale = _scaled(parameters.noise, data)
    return answer + scale * rng.laplace(size=n) * np.exp(parameters.spread * rng.standard_normal(n))


def _scaled(noise: float, data: Data) -> Data:
    """The answer, and the scale of the noise on it."""
    answer, bound = data
    if not (np.isfinite(answer) and 0 <= bound < np.inf):
        raise ValueError(f"data ({data!r}) must be a finite answer and a bound at least 0")
    return answer, noise * bound
