"""DP-LSW and DP-LSL: least squares on first-visit returns, with Gaussian noise scaled by a smooth bound.

Balle, Gomrokchi and Precup, "Differentially private policy evaluation" (ICML 2016), Algorithms 1 and 2.
Neighbours are batches of equally many trajectories, with one trajectory replaced. The smooth bound of DP-LSL uses
min, as in the algorithm. The paper's Lemma 9 prints max, which is refuted (eval.lemma9.constant).

The release is one integer for each feature. This integer times a public step size is the multiple of the step size
nearest to theta + sigma_X Z, drawn exactly. theta are the regression coefficients, and Z is standard normal. sigma_X
is the standard deviation of the noise, which depends on the data. theta and sigma_X^2 are exact rationals. For the
proofs see docs/notes/policy_evaluation.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.parameters import Reals
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.rl.policy_evaluation.alternatives import Ladder
from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, SmoothBound, WeightedBound
from dpproof.accountant.rl.policy_evaluation.noise import Noise
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits
from dpproof.mechanisms.rl.policy_evaluation.exact import exact_least_squares
from dpproof.mechanisms.rl.policy_evaluation.features import norm, pseudo_inverse_norm

Floats = NDArray[np.float64]
_FINER = 20
"""The grid's step is at most 2^-20 of the least noise."""


class Squares(ABC):
    """Base class of the two private regressions of returns on features. It computes the noise.

    The smooth bound times a constant (`unit` squared) is an upper bound on the squared sensitivity for the present
    data. The smooth bound changes little between neighbours.
    """

    features: Floats

    @abstractmethod
    def solve(self, data: FirstVisits) -> Floats:
        """Return the regression coefficients (d,) without noise, in doubles. They are not private."""

    @abstractmethod
    def exactly(self, data: FirstVisits) -> list[Fraction]:
        """Return the regression coefficients without noise as exact rationals."""

    @abstractmethod
    def bound_at(self, visits: NDArray[np.int64], trajectories: int) -> SmoothBound:
        """Return the smooth bound of a batch, as a function of the smoothing parameter.

        `visits` are the numbers of trajectories that visit each state.
        """

    @abstractmethod
    def unit(self, bound: float) -> Fraction:
        """Return a factor: times the square root of the smooth bound, it is a bound on the sensitivity.

        The factor is rounded up, so it is at least the constant in the paper. `bound` is the public bound on returns.
        """

    def bound(self, data: FirstVisits) -> SmoothBound:
        """Return the smooth bound for this batch, as a function of the smoothing parameter."""
        return self.bound_at(data.visits, data.trajectories)

    def ends(self, trajectories: int, beta: float) -> tuple[Fraction, Fraction]:
        """Return a public lower and upper bound on the smooth bound of any batch of this size, up to rounding.

        They are the smooth bound if every trajectory visits every state, and the smooth bound if no trajectory visits
        any state.
        """
        states = len(self.features)
        extremes = (np.full(states, count, np.int64) for count in (0, trajectories))
        low, high = sorted(self.bound_at(visits, trajectories).squared(beta) for visits in extremes)
        return Fraction(low), Fraction(high)

    def variance(self, data: FirstVisits, noise: Noise) -> Fraction:
        """Return the variance of the noise as an exact rational. It depends on the data, so it is private.

        The smooth bound is first rounded up to a value from a public list.
        """
        bound = self.bound(data)
        ladder = Ladder(self.ends(data.trajectories, noise.beta)[0], noise.beta, bound.allowance)
        _, rung = ladder.at_least(bound.squared(noise.beta))
        return (Fraction(noise.alpha) * self.unit(data.bound)) ** 2 * rung

    def deviation(self, data: FirstVisits, noise: Noise) -> float:
        """Return the standard deviation of the noise of each coefficient. It depends on the data, so it is private."""
        with precision(128):
            return float(arb_of(self.variance(data, noise)).sqrt().mid())

    def exponent(self, trajectories: int, bound: float, noise: Noise) -> int:
        """Return the integer e such that the released integers count steps of the public size 2^e.

        This size is at most 2^-20 of the least possible standard deviation of the noise.
        """
        least = (Fraction(noise.alpha) * self.unit(bound)) ** 2 * self.ends(trajectories, noise.beta)[0]
        return (least.numerator.bit_length() - least.denominator.bit_length() - 1) // 2 - _FINER


@dataclass(frozen=True, eq=False)
class WeightedSquares(Squares):
    """The regression of DP-LSW: theta minimises the weighted sum over states s of (F(s) - phi_s theta)^2.

    F(s) is the average return of state s, and phi_s are its features.

    Args:
        features: float64 (N, d), the features of N states. With these weights they must have rank d.
        weights: float64 (N,), the weights of the states, in [0, 1].

    Raises:
        ValueError: for features of smaller rank.

    >>> from dpproof.mechanisms.rl.policy_evaluation.features import tabular
    >>> data = FirstVisits(np.array([4, 2]), np.array([2.0, 2.0]), 4, 1.0)
    >>> WeightedSquares(tabular(2), np.full(2, 0.5)).solve(data)
    array([0.5, 1. ])
    """

    features: Floats
    weights: Floats
    _norm: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse features without full rank before any data are seen."""
        object.__setattr__(self, "_norm", pseudo_inverse_norm(self.features, self.weights))
        if self._norm == math.inf:
            raise ValueError(
                "features are too small with these weights. Their pseudo-inverse must have a finite norm."
            )

    def solve(self, data: FirstVisits) -> Floats:
        """Return the coefficients of LSW (d,) without noise."""
        root = np.sqrt(self.weights)
        found = np.linalg.lstsq(root[:, None] * self.features, root * data.means, rcond=None)[0]
        return found.astype(np.float64)

    def exactly(self, data: FirstVisits) -> list[Fraction]:
        """Return the coefficients of LSW without noise as exact rationals."""
        weights = [Fraction(value) for value in self.weights.tolist()]
        rows = zip(weights, data.exact_sums, data.visits.tolist(), strict=True)
        targets = [weight * total / max(count, 1) for weight, total, count in rows]
        return exact_least_squares(self.features, weights, targets, Fraction(0))

    def bound_at(self, visits: NDArray[np.int64], trajectories: int) -> SmoothBound:
        """Return the smooth bound for batches with these visits, as a function of the smoothing parameter."""
        return WeightedBound(visits, self.weights)

    def unit(self, bound: float) -> Fraction:
        """Return `bound` times the norm of the pseudo-inverse of diag(weights)^(1/2) times the features."""
        return Fraction(bound) * Fraction(self._norm)

    def excess(self, data: FirstVisits, error: Floats) -> float:
        """Return the growth of the minimised weighted sum when `error` (d,) is added to the coefficients."""
        return float((self.weights * (self.features @ error) ** 2).sum())


@dataclass(frozen=True, eq=False)
class RidgeSquares(Squares):
    """The regression of DP-LSL: theta minimises the empirical risk plus ridge/(2m) |theta|^2, for m trajectories.

    The empirical risk is the mean over trajectories of the weighted squared errors in the visited states.

    Args:
        features: float64 (N, d), the features of N states.
        weights: float64 (N,), the weights of the states, in [0, 1].
        ridge: the ridge parameter. It must be above the largest weight times the squared norm of the features.

    Raises:
        ValueError: the ridge parameter is too small, or all features are 0.

    >>> from dpproof.mechanisms.rl.policy_evaluation.features import tabular
    >>> data = FirstVisits(np.array([4, 2]), np.array([2.0, 2.0]), 4, 1.0)
    >>> RidgeSquares(tabular(2), np.ones(2), 4.0).solve(data)
    array([0.333333, 0.5       ])
    """

    features: Floats
    weights: Floats
    ridge: float
    _norm: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a ridge for which the algorithm has no sensitivity bound."""
        object.__setattr__(self, "_norm", norm(self.features))
        least = float(self._least)
        if not self._norm:
            raise ValueError("features (all 0) must have an entry that is not 0")
        if not Reals(0, lower_open=True).admits(self.ridge) or exact(self.ridge, "ridge") <= self._least:
            raise ValueError(
                f"ridge ({self.ridge!r}) must be above {least!r}, which is ||Phi||^2 ||rho||_inf"
            )

    @property
    def _least(self) -> Fraction:
        """||Phi||^2 ||rho||_inf."""
        return Fraction(self._norm) ** 2 * Fraction(float(self.weights.max()))

    def solve(self, data: FirstVisits) -> Floats:
        """Return the coefficients of LSL (d,) without noise."""
        scaled = self.weights * data.visits  # Gamma_X times m
        square = self.features.T @ (scaled[:, None] * self.features)
        found = np.linalg.solve(
            square + self.ridge / 2 * np.eye(len(square)), self.features.T @ (self.weights * data.sums)
        )
        return found.astype(np.float64)

    def exactly(self, data: FirstVisits) -> list[Fraction]:
        """Return the coefficients of LSL without noise as exact rationals."""
        weights = [Fraction(value) for value in self.weights.tolist()]
        masses = [weight * count for weight, count in zip(weights, data.visits.tolist(), strict=True)]
        targets = [weight * total for weight, total in zip(weights, data.exact_sums, strict=True)]
        return exact_least_squares(self.features, masses, targets, exact(self.ridge) / 2)

    def bound_at(self, visits: NDArray[np.int64], trajectories: int) -> SmoothBound:
        """Return the smooth bound for batches with these visits, as a function of the smoothing parameter."""
        return RidgeBound(visits, self.weights, trajectories, self.share)

    @property
    def share(self) -> float:
        """A constant of the smooth bound, rounded up: (norm of features) (largest weight)/sqrt(2 ridge)."""
        top = Fraction(self._norm) * Fraction(float(self.weights.max()))
        with precision(128):
            return round_up(arb_of(top) / arb_of(2 * exact(self.ridge)).sqrt())

    def unit(self, bound: float) -> Fraction:
        """Return 2 bound p/(ridge - p^2 w), where p is the norm of the features and w the largest weight."""
        return 2 * Fraction(bound) * Fraction(self._norm) / (exact(self.ridge) - self._least)

    def excess(self, data: FirstVisits, error: Floats) -> float:
        """Return the growth of the minimised sum when `error` (d,) is added to the coefficients."""
        moved = (self.weights * data.visits * (self.features @ error) ** 2).sum()
        return float((moved + self.ridge / 2 * (error**2).sum()) / data.trajectories)
