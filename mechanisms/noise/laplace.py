"""Answers plus numpy's floating-point Laplace noise. The guarantee does not cover rounding errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.mechanisms.noise.answers import Floats, real_answers

if TYPE_CHECKING:
    from dpproof.accountant.noise.laplace import LaplaceParameters


def sample(parameters: LaplaceParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws of the true answers plus Laplace noise, as an array (n, compositions).

    ``parameters.compositions`` is the number of answers. For histograms see
    `dpproof.mechanisms.noise.answers.real_answers`.
    """
    true = real_answers(answers, parameters)
    return true + rng.laplace(0, parameters.scale, (n, true.size))
