"""DP-LSW as it should be, and with planted faults in what its noise is scaled by."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountant.bounds import Bound
from accountant.episodes import Episodes
from accountant.inversion import bracket
from accountant.rl.policy_evaluation_noise import Noise
from accountant.smooth_sensitivity.notion import largest
from accountant.smooth_sensitivity.spherical import spherical_delta
from mechanisms.rl.policy_evaluation import RidgeSquares, WeightedSquares
from mechanisms.rl.policy_evaluation_data import FirstVisits, first_visits
from mechanisms.rl.policy_evaluation_features import pseudo_inverse_norm

__all__ = ["Evaluation", "Fault", "one_trajectory_replaced"]

FMAX, DISCOUNT = 1.0, 0.5


class Fault(enum.Enum):
    """What the noise is scaled by."""

    NONE = "the smooth bound"
    LOCAL = "the local bound"
    ROOT_WEIGHTS = "the norm with sqrt(w) for w"
    NO_FIRST_TERM = "the maximum over k from 1 on"
    RANGE_FROM_DATA = "the largest average return instead of a public bound"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A sampler of released parameters.

    Attributes:
        squares: the regression, its features and weights.
        noise: alpha and beta.
        fault: none, or one of DP-LSW's.
    """

    squares: WeightedSquares | RidgeSquares
    noise: Noise
    fault: Fault = Fault.NONE

    def law(self, batch: Episodes) -> tuple[NDArray[np.float64], float]:
        """Mean (d,) and standard deviation of what is released on a batch."""
        states = len(self.squares.features)
        data = first_visits(batch, states, DISCOUNT, return_bound=FMAX)
        return self.squares.solve(data), _DEVIATIONS[self.fault](self, data)

    def __call__(self, data: Episodes, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw n times (n, d)."""
        theta, deviation = self.law(data)
        return theta + deviation * rng.standard_normal((n, len(theta)))

    def epsilon(self, first: Episodes, second: Episodes, delta: Fraction) -> Bound:
        """The smallest epsilon at `delta` on this pair, in both directions."""
        (one, wide), (other, narrow) = self.law(first), self.law(second)
        shift = Fraction(float(np.linalg.norm(one - other)) / min(wide, narrow))
        ratio = Fraction(math.log(wide / narrow))

        def profile(epsilon: Fraction) -> Any:
            return largest([spherical_delta(shift, r, len(one), epsilon) for r in (ratio, -ratio)])

        return Bound(*bracket(profile, delta), "mechanism", "the pair of the case")


def _sound(chosen: Evaluation, data: FirstVisits) -> float:
    return chosen.squares.deviation(data, chosen.noise)


def _local(chosen: Evaluation, data: FirstVisits) -> float:
    bound = chosen.squares.bound(data)
    return chosen.noise.alpha * math.sqrt(bound.local()) * chosen.squares.unit(FMAX)


def _root_weights(chosen: Evaluation, data: FirstVisits) -> float:
    norm = pseudo_inverse_norm(chosen.squares.features, np.sqrt(chosen.squares.weights))
    return chosen.noise.deviation(chosen.squares.bound(data)) * norm * FMAX


def _no_first_term(chosen: Evaluation, data: FirstVisits) -> float:
    """Every k >= 1: one step nearer to the far data, and discounted once."""
    moved = FirstVisits(np.maximum(data.visits - 1, 0), data.sums, data.trajectories, data.bound)
    return chosen.squares.deviation(moved, chosen.noise) * math.exp(-chosen.noise.beta / 2)


def _range_from_data(chosen: Evaluation, data: FirstVisits) -> float:
    return chosen.squares.deviation(data, chosen.noise) / FMAX * float(data.means.max())


_DEVIATIONS = {
    Fault.NONE: _sound,
    Fault.LOCAL: _local,
    Fault.ROOT_WEIGHTS: _root_weights,
    Fault.NO_FIRST_TERM: _no_first_term,
    Fault.RANGE_FROM_DATA: _range_from_data,
}


def one_trajectory_replaced(first: Episodes, second: Episodes) -> None:
    """Refuse two batches unless they hold the same users, of whom at most one has another trajectory.

    Raises:
        ValueError: naming the users that differ.
    """
    if not np.array_equal(first.user, second.user):
        raise ValueError("the batches must hold the same users")
    parts = [np.split(np.stack([b.states, b.actions, b.rewards]), np.cumsum(b.lengths)[:-1], axis=1)
             for b in (first, second)]  # fmt: skip
    apart = [
        int(user)
        for user, one, other in zip(first.user, *parts, strict=True)
        if not np.array_equal(one, other)
    ]
    if len(apart) > 1:
        raise ValueError(f"users {apart[:5]} differ; only one may")
