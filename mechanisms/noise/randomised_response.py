"""k-ary randomised response, drawn exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant.numbers.enclosures import exact
from dpproof.mechanisms.noise.answers import Ints, whole_answers
from dpproof.mechanisms.noise.coins import coins

if TYPE_CHECKING:
    from dpproof.accountant.noise.randomised_response import RandomisedResponseParameters


def sample(
    parameters: RandomisedResponseParameters, answers: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """Return ``n`` randomised responses ``(n, compositions)`` to each of the ``parameters.compositions`` answers.

    An answer is the number of a category, from 0 on.
    """
    true = whole_answers(answers, parameters)
    if true.size and not 0 <= true.min() <= true.max() < parameters.categories:
        raise ValueError(f"answers ({true.tolist()}) must be one of 0, ..., {parameters.categories - 1}")
    chance, entries = [exact(parameters.randomness)], np.zeros(n * true.size, np.int64)
    random = coins(chance, entries, rng).reshape(n, -1)
    return np.where(random, rng.integers(0, parameters.categories, random.shape), true)
