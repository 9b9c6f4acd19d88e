"""DP-LSW with planted faults in what its noise is scaled by: the estimator itself, but for one method."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSW
from dpproof.mechanisms.rl.policy_evaluation.features import pseudo_inverse_norm
from dpproof.mechanisms.rl.policy_evaluation.policy_evaluation import Squares, WeightedSquares

__all__ = ["FAULTS", "LocalBound", "NoFirstTerm", "RangeFromData", "RootWeights"]


class LocalBound(DPLSW):
    """Noise by the local bound instead of the smooth one."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        unit = Fraction(self.constants().alpha) * squares.unit(data.bound)
        return unit**2 * Fraction(squares.bound(data).local())


class RootWeights(DPLSW):
    """The norm of the pseudo-inverse with sqrt(w) for w."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        assert isinstance(squares, WeightedSquares), "DP-LSW's"
        wrong = pseudo_inverse_norm(squares.features, np.sqrt(squares.weights))
        right = pseudo_inverse_norm(squares.features, squares.weights)
        return super()._variance(squares, data) * (Fraction(wrong) / Fraction(right)) ** 2


class NoFirstTerm(DPLSW):
    """The maximum over k from 1 on: one step nearer to the far data, and discounted once."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        fewer, sums = np.maximum(data.visits - 1, 0), np.zeros(data.states)
        moved = FirstVisits(fewer, sums, data.trajectories, data.bound)
        return super()._variance(squares, moved) * Fraction(math.exp(-self.constants().beta))


class RangeFromData(DPLSW):
    """The largest average return for the public bound on returns."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        largest, sums = float(data.means.max()) or 2.0**-500, np.zeros(data.states)
        clipped = FirstVisits(data.visits, sums, data.trajectories, largest)
        return super()._variance(squares, clipped)


FAULTS: tuple[type[DPLSW], ...] = (LocalBound, RootWeights, NoFirstTerm, RangeFromData)
