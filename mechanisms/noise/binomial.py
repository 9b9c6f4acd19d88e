"""Counts plus numpy's binomial noise. The guarantee does not cover rounding errors inside numpy's sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.mechanisms.noise.answers import Ints, whole_answers

if TYPE_CHECKING:
    from dpproof.accountant.noise.binomial import BinomialParameters


def sample(parameters: BinomialParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Ints:
    """Return ``n`` draws of the counts ``answers`` plus binomial noise, as an array (n, compositions).

    ``parameters.compositions`` is the number of counts.
    """
    true = whole_answers(answers, parameters)
    return true + rng.binomial(parameters.trials, parameters.probability, (n, true.size))
