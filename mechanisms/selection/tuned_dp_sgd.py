"""The noisy sums of the best of several trainings by DP-SGD, along one direction, in floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.selection.tuned_dp_sgd import training
from dpproof.mechanisms.noise import dp_sgd
from dpproof.mechanisms.selection.private_selection import number_of_runs

if TYPE_CHECKING:
    from dpproof.accountant.selection.tuned_dp_sgd import TunedDPSGDParameters


def sample(
    parameters: TunedDPSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy sums of the best training in ``n`` selections: an array (n, steps), 0 without a training.

    The score of a training is the total of its noisy sums. ``vector`` is the contribution of one user, as in
    `dpproof.mechanisms.noise.dp_sgd.sample`.
    """
    counts = number_of_runs(parameters, n, rng)
    sums = dp_sgd.sample(training(parameters), vector, int(counts.sum()), rng)
    owner = np.repeat(np.arange(n), counts)
    order = np.lexsort((sums.sum(axis=1), owner))
    found = np.zeros((n, parameters.steps))
    found[owner[order]] = sums[order]  # the last one of each selection stays, which has the largest score
    return found
