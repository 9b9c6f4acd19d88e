"""DP-LSW and DP-LSL: least squares on first-visit returns, and Gaussian noise by a smooth bound.

Balle, Gomrokchi and Precup, "Differentially private policy evaluation" (ICML 2016), Algorithms 1 and 2. The
neighbours are batches of equally many trajectories, one of them replaced. The envelope of DP-LSL is that of
the algorithm, with min; the paper's Lemma 9 prints max, which is refuted (eval.lemma9.constant).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accountant.parameters import Reals
from accountant.rl.policy_evaluation_bounds import RidgeBound, SmoothBound, WeightedBound
from accountant.rl.policy_evaluation_noise import Noise
from mechanisms.rl.policy_evaluation_data import FirstVisits
from mechanisms.rl.policy_evaluation_features import norm, pseudo_inverse_norm

__all__ = ["RidgeSquares", "WeightedSquares"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WeightedSquares:
    """DP-LSW: theta minimises sum_s w_s (F_X(s) - phi_s theta)^2.

    Args:
        features: Phi, float64 (N, d), such that Gamma^(1/2) Phi has rank d.
        weights: w, float64 (N,), in [0, 1].

    Raises:
        ValueError: for features of smaller rank.

    >>> from mechanisms.rl.policy_evaluation_features import tabular
    >>> data = FirstVisits(np.array([4, 2]), np.array([2.0, 2.0]), 4, 1.0)
    >>> WeightedSquares(tabular(2), np.full(2, 0.5)).solve(data)
    array([0.5, 1. ])
    """

    features: Floats
    weights: Floats
    _norm: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse features that are not of full rank before any data are seen."""
        object.__setattr__(self, "_norm", pseudo_inverse_norm(self.features, self.weights))

    def solve(self, data: FirstVisits) -> Floats:
        """Theta without noise, (d,): LSW."""
        root = np.sqrt(self.weights)
        found = np.linalg.lstsq(root[:, None] * self.features, root * data.means, rcond=None)[0]
        return found.astype(np.float64)

    def bound(self, data: FirstVisits) -> SmoothBound:
        """psi, as a function of the smoothing."""
        return WeightedBound(data.visits, self.weights)

    def unit(self, bound: float) -> float:
        """What sqrt(psi) is multiplied by: Fmax ||(Gamma^(1/2) Phi)^+||."""
        return bound * self._norm

    def deviation(self, data: FirstVisits, noise: Noise) -> float:
        """sigma_X, the standard deviation of the noise of each coordinate; it depends on the data."""
        return noise.deviation(self.bound(data)) * self.unit(data.bound)

    def excess(self, data: FirstVisits, error: Floats) -> float:
        """J(theta + error) - J(theta), the excess empirical risk."""
        return float((self.weights * (self.features @ error) ** 2).sum())


@dataclass(frozen=True, eq=False)
class RidgeSquares:
    """DP-LSL: theta minimises the empirical risk plus lambda/(2m) |theta|^2.

    Args:
        features: Phi, float64 (N, d).
        weights: rho, float64 (N,), in [0, 1].
        ridge: lambda, above ||Phi||^2 ||rho||_inf.

    Raises:
        ValueError: for a smaller lambda.

    >>> from mechanisms.rl.policy_evaluation_features import tabular
    >>> data = FirstVisits(np.array([4, 2]), np.array([2.0, 2.0]), 4, 1.0)
    >>> RidgeSquares(tabular(2), np.ones(2), 4.0).solve(data)
    array([0.333333, 0.5       ])
    """

    features: Floats
    weights: Floats
    ridge: float
    _norm: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a ridge at which the algorithm has no sensitivity bound."""
        object.__setattr__(self, "_norm", norm(self.features))
        if not Reals(self.least, lower_open=True).admits(self.ridge):
            raise ValueError(f"ridge ({self.ridge!r}) must be above ||Phi||^2 ||rho||_inf, {self.least!r}")

    @property
    def least(self) -> float:
        """||Phi||^2 ||rho||_inf."""
        return self._norm**2 * float(self.weights.max())

    def solve(self, data: FirstVisits) -> Floats:
        """Theta without noise, (d,): LSL."""
        scaled = self.weights * data.visits  # Gamma_X times m
        square = self.features.T @ (scaled[:, None] * self.features)
        found = np.linalg.solve(
            square + self.ridge / 2 * np.eye(len(square)), self.features.T @ (self.weights * data.sums)
        )
        return found.astype(np.float64)

    def bound(self, data: FirstVisits) -> SmoothBound:
        """psi, as a function of the smoothing."""
        share = self._norm * float(self.weights.max()) / math.sqrt(2 * self.ridge)
        return RidgeBound(data.visits, self.weights, data.trajectories, share)

    def unit(self, bound: float) -> float:
        """What sqrt(psi) is multiplied by: 2 Fmax ||Phi||/(lambda - ||Phi||^2 ||rho||_inf)."""
        return 2 * bound * self._norm / (self.ridge - self.least)

    def deviation(self, data: FirstVisits, noise: Noise) -> float:
        """sigma_X, the standard deviation of the noise of each coordinate; it depends on the data."""
        return noise.deviation(self.bound(data)) * self.unit(data.bound)

    def excess(self, data: FirstVisits, error: Floats) -> float:
        """J(theta + error) - J(theta), the excess empirical risk."""
        moved = (self.weights * data.visits * (self.features @ error) ** 2).sum()
        return float((moved + self.ridge / 2 * (error**2).sum()) / data.trajectories)
