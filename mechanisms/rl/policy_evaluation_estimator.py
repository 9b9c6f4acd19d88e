"""Estimators in the manner of scikit-learn: LSW and LSL, and DP-LSW and DP-LSL.

`fit` takes `Episodes` or their `FirstVisits`, `predict` takes states. What is private is `coef_` alone: the
noise's standard deviation depends on the data, and is neither kept nor shown.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from accountant.accounted import Accounted
from accountant.adjacency import Adjacency
from accountant.enclosures import exact
from accountant.episodes import Episodes
from accountant.rl.policy_evaluation import PolicyEvaluationParameters, guarantee
from accountant.rl.policy_evaluation_bounds import RidgeBound, WeightedBound
from accountant.rl.policy_evaluation_noise import Noise, jointly, printed, with_room
from mechanisms import _checks
from mechanisms.rl.policy_evaluation import RidgeSquares, WeightedSquares
from mechanisms.rl.policy_evaluation_data import FirstVisits, checked_bound, first_visits
from mechanisms.rl.policy_evaluation_features import checked_features, checked_weights, norm, tabular

__all__ = ["DPLSL", "DPLSW", "LSL", "LSW"]

Floats = NDArray[np.float64]
Squares = WeightedSquares | RidgeSquares
CALIBRATIONS = ("room", "planned", "printed")
_PROVED = 15


class _Evaluation(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """What all four share."""

    states: int | None
    features: ArrayLike | None
    weights: ArrayLike | None
    discount: float
    reward_bound: float
    return_bound: float | None

    def _squares(self) -> Squares:
        raise NotImplementedError

    def _features(self) -> Floats:
        """Phi (N, d): the matrix given, or the identity."""
        if self.features is not None:
            return checked_features(self.features, self.states)
        if self.states is None:
            raise ValueError("states (None) must be given where features is not")
        return tabular(self.states)

    def statistics(self, X: Episodes | FirstVisits) -> FirstVisits:
        """The first-visit statistics of a batch of at least two trajectories.

        Raises:
            ValueError: for a state, reward, discount or bound outside its domain, one trajectory, or
                statistics of other states or with another bound on returns.
        """
        count = len(self._features())
        found = X
        top = checked_bound(self.discount, self.reward_bound, self.return_bound)
        if not isinstance(found, FirstVisits):
            if not isinstance(found, Episodes):
                raise ValueError(f"X ({type(found).__name__}) must be Episodes or FirstVisits")
            rewards, returns = self.reward_bound, self.return_bound
            found = first_visits(found, count, self.discount, reward_bound=rewards, return_bound=returns)
        if found.states != count:
            raise ValueError(f"states of the batch ({found.states}) must be {count}")
        if found.bound != top:
            raise ValueError(f"bound of the batch ({found.bound!r}) must be {top!r}, the estimator's")
        if found.trajectories < 2:
            raise ValueError(f"trajectories (m = {found.trajectories}) must be at least 2")
        return found

    def fit(self, X: Episodes | FirstVisits, y: None = None) -> Self:
        """Fit the parameters of the values to a batch; `y` is not used.

        Raises:
            ValueError: see `statistics`; also for features, weights or a ridge that the algorithm refuses.
        """
        squares, data = self._squares(), self.statistics(X)
        self.coef_ = self._released(squares, data)
        self.n_features_in_ = len(self.coef_)
        return self

    def _released(self, squares: Squares, data: FirstVisits) -> Floats:
        return squares.solve(data)

    def predict(self, X: ArrayLike) -> Floats:
        """The estimated values of the states X, integers of any shape."""
        check_is_fitted(self)
        phi = self._features()
        found: Floats = phi[_checks.indices("X", X, len(phi))] @ self.coef_
        return found


class LSW(_Evaluation):
    """Weighted least squares on average first-visit returns, without privacy.

    Args:
        states: N; may be left out where features are given.
        features: Phi (N, d); the identity unless given.
        weights: w (N,) in [0, 1]; 1/N each unless given.
        discount: gamma in (0, 1).
        reward_bound: Rmax in (0, 1]; rewards are in [0, Rmax], larger ones are to be rescaled.
        return_bound: a public Fmax, to which returns are clipped; Rmax/(1 - gamma) unless given.

    >>> batch = Episodes.rectangular([[0, 1], [1, 0]], [[0, 0]] * 2, [[0, 1.0], [0, 1.0]])
    >>> LSW(states=2, discount=0.5).fit(batch).predict([0, 1])
    array([0.75, 0.75])
    """

    def __init__(
        self,
        states: int | None = None,
        features: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        discount: float = 0.99,
        reward_bound: float = 1.0,
        return_bound: float | None = None,
    ) -> None:
        self.states, self.features, self.weights = states, features, weights
        self.discount, self.reward_bound, self.return_bound = discount, reward_bound, return_bound

    def _squares(self) -> WeightedSquares:
        phi = self._features()
        return WeightedSquares(phi, checked_weights("weights", self.weights, len(phi), 1 / len(phi)))


class LSL(_Evaluation):
    """Ridge regression on first-visit returns, without privacy; the rest as `LSW`.

    Args:
        ridge: lambda, above ||Phi||^2 ||rho||_inf.
        weights: rho (N,) in [0, 1]; 1 each unless given.
    """

    def __init__(
        self,
        states: int | None = None,
        features: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        ridge: float = 2.0,
        discount: float = 0.99,
        reward_bound: float = 1.0,
        return_bound: float | None = None,
    ) -> None:
        self.states, self.features, self.weights, self.ridge = states, features, weights, ridge
        self.discount, self.reward_bound, self.return_bound = discount, reward_bound, return_bound

    def _squares(self) -> RidgeSquares:
        phi = self._features()
        return RidgeSquares(phi, checked_weights("weights", self.weights, len(phi), 1.0), self.ridge)


class _Private(_Evaluation):
    """Noise calibrated to a target, `calibration` says how; or `noise` itself."""

    epsilon: float | None
    delta: float | None
    calibration: str
    planned_visits: ArrayLike | None
    random_state: Any
    noise: Noise | None
    _algorithm: str

    def _planned(self, squares: Squares, visits: NDArray[np.int64]) -> WeightedBound | RidgeBound:
        raise NotImplementedError

    def constants(self) -> Noise:
        """Alpha and beta; they depend on no data.

        Raises:
            ValueError: for a target that is missing or beside noise, an unknown calibration, planned visits
                missing or given in vain, or printed constants beyond epsilon 15, where they are not proved.
        """
        if self.noise is not None:
            if (self.epsilon, self.delta, self.planned_visits) != (None, None, None):
                raise ValueError(
                    f"noise ({self.noise!r}) must be left out where a target or visits are given"
                )
            if not isinstance(self.noise, Noise):
                raise ValueError(f"noise ({self.noise!r}) must be a Noise, of alpha and beta")
            return self.noise
        if self.epsilon is None or self.delta is None:
            raise ValueError(f"epsilon ({self.epsilon!r}) and delta ({self.delta!r}) must be given")
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f"calibration ({self.calibration!r}) must be one of: {', '.join(CALIBRATIONS)}")
        if (self.planned_visits is not None) != (self.calibration == "planned"):
            given = "None" if self.planned_visits is None else "given"
            rule = "must be given where calibration is planned, and only there"
            raise ValueError(f"planned_visits ({given}) {rule}")
        phi = self._features()
        if self.calibration == "planned":
            squares, visits = self._squares(), np.asarray(self.planned_visits)
            return jointly(self.epsilon, self.delta, phi.shape[1], self._planned(squares, visits))
        if self.calibration == "printed":
            if exact(self.epsilon, "epsilon") > _PROVED:
                rule = f"must be at most {_PROVED} with the printed constants (eval.lemma1.corrected)"
                raise ValueError(f"epsilon ({self.epsilon!r}) {rule}")
            return printed(self.epsilon, self.delta, phi.shape[1])
        return with_room(self.epsilon, self.delta, phi.shape[1])

    def guarantee(self, adjacency: Adjacency) -> Accounted:
        """The exact guarantee of `coef_` when one trajectory is replaced."""
        noise = self.constants()
        size = self._features().shape[1]
        chosen = PolicyEvaluationParameters(size, noise.alpha, noise.beta, algorithm=self._algorithm)
        return guarantee(chosen, adjacency)

    def law(self, data: Episodes | FirstVisits) -> tuple[Floats, float]:
        """Mean (d,) and standard deviation of the normal law of `coef_`: private data, for audits."""
        squares, found = self._squares(), self.statistics(data)
        return squares.solve(found), self._deviation(squares, found)

    def sample(self, data: Episodes | FirstVisits, n: int, rng: np.random.Generator) -> Floats:
        """Draw `coef_` n times anew on the same data, (n, d): for audits."""
        theta, deviation = self.law(data)
        return theta + deviation * rng.standard_normal((n, len(theta)))

    def _deviation(self, squares: Squares, data: FirstVisits) -> float:
        return squares.deviation(data, self.constants())

    def _released(self, squares: Squares, data: FirstVisits) -> Floats:
        theta, deviation = squares.solve(data), self._deviation(squares, data)
        drawn: Floats = np.random.default_rng(self.random_state).standard_normal(len(theta))
        return theta + deviation * drawn


class DPLSW(_Private, LSW):
    """DP-LSW: as `LSW`, with noise, private when one trajectory is replaced.

    Args:
        epsilon: the target, above 0.
        delta: in (0, 1).
        calibration: "room" (looks at no data), "planned" (smoothing for `planned_visits`) or "printed".
        planned_visits: visits (N,) that are planned or public; never those of the batch itself.
        random_state: what `numpy.random.default_rng` takes.
        noise: alpha and beta themselves, as `dpproof calibrate policy-evaluation` gives them, for a target.

    >>> batch = Episodes.rectangular([[0, 1]] * 9, [[0, 0]] * 9, [[0, 1.0]] * 9)
    >>> model = DPLSW(states=2, discount=0.5, epsilon=1.0, delta=1e-6, random_state=0)
    >>> model.fit(batch).predict([0, 1]).shape
    (2,)
    """

    _algorithm = "lsw"

    def __init__(
        self,
        states: int | None = None,
        features: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        discount: float = 0.99,
        reward_bound: float = 1.0,
        return_bound: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        calibration: str = "room",
        planned_visits: ArrayLike | None = None,
        random_state: Any = None,
        noise: Noise | None = None,
    ) -> None:
        LSW.__init__(self, states, features, weights, discount, reward_bound, return_bound)
        self.epsilon, self.delta, self.calibration = epsilon, delta, calibration
        self.planned_visits, self.random_state, self.noise = planned_visits, random_state, noise

    def _planned(self, squares: Squares, visits: NDArray[np.int64]) -> WeightedBound:
        return WeightedBound(visits, squares.weights)


class DPLSL(_Private, LSL):
    """DP-LSL: as `LSL`, with noise, private when one trajectory is replaced; the rest as `DPLSW`.

    Args:
        planned_trajectories: m of the planned visits.
    """

    _algorithm = "lsl"

    def __init__(
        self,
        states: int | None = None,
        features: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        ridge: float = 2.0,
        discount: float = 0.99,
        reward_bound: float = 1.0,
        return_bound: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        calibration: str = "room",
        planned_visits: ArrayLike | None = None,
        planned_trajectories: int | None = None,
        random_state: Any = None,
        noise: Noise | None = None,
    ) -> None:
        LSL.__init__(self, states, features, weights, ridge, discount, reward_bound, return_bound)
        self.epsilon, self.delta, self.calibration = epsilon, delta, calibration
        self.planned_visits, self.planned_trajectories = planned_visits, planned_trajectories
        self.random_state, self.noise = random_state, noise

    def _planned(self, squares: Squares, visits: NDArray[np.int64]) -> RidgeBound:
        if self.planned_trajectories is None:
            raise ValueError("planned_trajectories (None) must be given with planned_visits")
        most = _checks.at_least("planned_trajectories", self.planned_trajectories, 1)
        share = norm(squares.features) * float(squares.weights.max()) / math.sqrt(2 * self.ridge)
        return RidgeBound(visits, squares.weights, most, share)
