"""DP-LSW with planted faults in what its noise is scaled by: the estimator itself, but for one method."""

from __future__ import annotations

import math

import numpy as np

from mechanisms.rl.policy_evaluation import RidgeSquares, WeightedSquares
from mechanisms.rl.policy_evaluation_data import FirstVisits
from mechanisms.rl.policy_evaluation_estimator import DPLSW
from mechanisms.rl.policy_evaluation_features import pseudo_inverse_norm

__all__ = ["FAULTS", "LocalBound", "NoFirstTerm", "RangeFromData", "RootWeights"]

Squares = WeightedSquares | RidgeSquares


class LocalBound(DPLSW):
    """Noise by the local bound instead of the smooth one."""

    def _deviation(self, squares: Squares, data: FirstVisits) -> float:
        return self.constants().alpha * math.sqrt(squares.bound(data).local()) * squares.unit(data.bound)


class RootWeights(DPLSW):
    """The norm of the pseudo-inverse with sqrt(w) for w."""

    def _deviation(self, squares: Squares, data: FirstVisits) -> float:
        norm = pseudo_inverse_norm(squares.features, np.sqrt(squares.weights))
        return self.constants().deviation(squares.bound(data)) * norm * data.bound


class NoFirstTerm(DPLSW):
    """The maximum over k from 1 on: one step nearer to the far data, and discounted once."""

    def _deviation(self, squares: Squares, data: FirstVisits) -> float:
        fewer, sums = np.maximum(data.visits - 1, 0), np.zeros(data.states)
        moved = FirstVisits(fewer, sums, data.trajectories, data.bound)
        return super()._deviation(squares, moved) * math.exp(-self.constants().beta / 2)


class RangeFromData(DPLSW):
    """The largest average return for the public bound on returns."""

    def _deviation(self, squares: Squares, data: FirstVisits) -> float:
        largest, sums = float(data.means.max()) or 2.0**-500, np.zeros(data.states)
        clipped = FirstVisits(data.visits, sums, data.trajectories, largest)
        return super()._deviation(squares, clipped)


FAULTS: tuple[type[DPLSW], ...] = (LocalBound, RootWeights, NoFirstTerm, RangeFromData)
