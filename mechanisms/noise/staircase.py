"""Answers plus numpy's floating-point staircase noise. The guarantee does not cover rounding errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant.noise.staircase import width
from dpproof.mechanisms.noise.answers import Floats, real_answers

if TYPE_CHECKING:
    from dpproof.accountant.noise.staircase import StaircaseParameters


def sample(parameters: StaircaseParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws ``(n, compositions)`` of the true answers plus staircase noise.

    ``parameters.compositions`` is the number of answers. The noise has a random sign. Its size is a geometric number
    of whole stairs, plus a uniform number in the inner or the outer part of one stair. Source: Geng and Viswanath,
    IEEE Transactions on Information Theory 62 (2016) 925.
    """
    true = real_answers(answers, parameters)
    step, scale, gamma = (float(x) for x in (width(parameters), parameters.scale, parameters.gamma))
    factor, shape = np.exp(-step / scale), (n, true.size)
    whole = np.floor(rng.standard_exponential(shape) * (scale / step))
    inner = rng.random(shape) * (gamma + (1 - gamma) * factor) < gamma
    part = np.where(inner, gamma * rng.random(shape), gamma + (1 - gamma) * rng.random(shape))
    return np.asarray(true + np.where(rng.random(shape) < 0.5, -step, step) * (whole + part))
