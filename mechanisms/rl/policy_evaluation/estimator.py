"""Estimators of the values of states, in the style of scikit-learn, without privacy and with it.

`LSW` and `LSL` are regressions without privacy, `DPLSW` and `DPLSL` are private. `fit` takes `Episodes` or their
`FirstVisits`, and `predict` takes states. The private estimators release `released_`, integers that count steps of a
public size. `coef_` (the same numbers as doubles) and predictions are computed from these integers. The guarantee
covers every bit of the integers, of `coef_` and of predictions. The noise's standard deviation depends on the data.
It is private, and it is neither stored nor shown. With a `random_state`, `released_` is a simulation: an object of
another type, without a guarantee.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, WeightedBound
from dpproof.accountant.rl.policy_evaluation.noise import Noise, jointly, printed, with_room
from dpproof.accountant.rl.policy_evaluation.policy_evaluation import PolicyEvaluationParameters, account
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness, guaranteed
from dpproof.mechanisms.release.grid import OnGrid, Released, Simulated, doubles
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import WordSource, words_of
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits, checked_bound, first_visits
from dpproof.mechanisms.rl.policy_evaluation.features import checked_features, checked_weights, tabular
from dpproof.mechanisms.rl.policy_evaluation.policy_evaluation import RidgeSquares, Squares, WeightedSquares


class _Values(OnGrid):
    """Parameters of the values: one integer for each feature, in steps of the grid."""

    mechanism = "policy-evaluation"

    @property
    def values(self) -> NDArray[np.float64]:
        """The regression coefficients as doubles, computed from the integers."""
        return doubles(self.integers, self.exponent)


class ReleasedValues(_Values, Released):
    """Released regression coefficients with exactly sampled noise. The guarantee covers every bit of them."""


class SimulatedValues(_Values, Simulated):
    """Regression coefficients with noise from a seed or a given generator. They have no guarantee."""


Floats = NDArray[np.float64]
CALIBRATIONS = ("room", "planned", "printed")
_PROVED = 15


class _Evaluation(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Base class of the four estimators."""

    states: int | None
    features: ArrayLike | None
    weights: ArrayLike | None
    discount: float
    reward_bound: float
    return_bound: float | None

    def _squares(self) -> Squares:
        raise NotImplementedError

    def _features(self) -> Floats:
        """Return Phi (N, d): the given matrix, or the identity."""
        if self.features is not None:
            return checked_features(self.features, self.states)
        if self.states is None:
            raise ValueError("states is missing. Give states or features.")
        return tabular(self.states)

    def _bound(self) -> float:
        """Return Fmax, the public bound on returns."""
        return checked_bound(self.discount, self.reward_bound, self.return_bound)

    def statistics(self, X: Episodes | FirstVisits) -> FirstVisits:
        """Return the first-visit statistics of a batch of at least two trajectories, after checking them.

        Raises:
            ValueError: a state, reward, discount or bound is outside its domain; there is only one trajectory; or the
                number of states or the bound on returns differs from that of the estimator.
        """
        count = len(self._features())
        top = self._bound()
        match X:
            case FirstVisits():
                found = X
            case Episodes():
                rewards, returns = self.reward_bound, self.return_bound
                found = first_visits(X, count, self.discount, reward_bound=rewards, return_bound=returns)
            case _:
                raise ValueError(f"X ({type(X).__name__}) must be Episodes or FirstVisits")
        if found.states != count:
            raise ValueError(f"states of the batch ({found.states}) must be {count}, as in the estimator")
        if found.bound != top:
            raise ValueError(f"bound of the batch ({found.bound!r}) must be {top!r}, as in the estimator")
        if found.trajectories < 2:
            raise ValueError(f"trajectories (m = {found.trajectories}) must be at least 2")
        return found

    def fit(self, X: Episodes | FirstVisits, y: None = None) -> Self:
        """Fit the regression coefficients to a batch, and return this estimator. `y` is not used.

        Raises:
            ValueError: see `statistics`; also if features, weights or ridge parameter do not fit the algorithm.
        """
        self.coef_ = self._fitted(self._squares(), self.statistics(X))
        self.unit_: str | None = getattr(X, "unit", None)  # own data say whose data they are
        self.n_features_in_ = len(self.coef_)
        return self

    def _fitted(self, squares: Squares, data: FirstVisits) -> Floats:
        return squares.solve(data)

    def predict(self, X: ArrayLike) -> Floats:
        """Return the estimated value of each state in X, an array of state numbers of any shape."""
        check_is_fitted(self)
        phi = self._features()
        return np.asarray(phi[_checks.indices("X", X, len(phi))] @ self.coef_)


@dataclass(eq=False, repr=False)
class LSW(_Evaluation):
    """An estimator of state values by weighted least squares on average returns, without privacy.

    In a trajectory, the return of a state is the discounted sum of rewards, beginning at the first visit of the state.

    Args:
        states: the number N of states. It may be left out if features are given.
        features: a matrix (N, d) with d features of each state. The default is the identity.
        weights: the weight of each state (N,), in [0, 1]. The default is 1/N each.
        discount: the discount of later rewards, in (0, 1).
        reward_bound: the largest possible reward, in (0, 1]. Rescale larger rewards.
        return_bound: a public bound, to which returns are clipped. The default is reward_bound/(1 - discount).

    >>> batch = Episodes.rectangular([[0, 1], [1, 0]], [[0, 0]] * 2, [[0, 1.0], [0, 1.0]])
    >>> LSW(states=2, discount=0.5).fit(batch).predict([0, 1])
    array([0.75, 0.75])
    """

    states: int | None = None
    features: ArrayLike | None = None
    weights: ArrayLike | None = None
    discount: float = 0.99
    reward_bound: float = 1.0
    return_bound: float | None = None

    def _squares(self) -> WeightedSquares:
        phi = self._features()
        return WeightedSquares(phi, checked_weights("weights", self.weights, len(phi), 1 / len(phi)))


@dataclass(eq=False, repr=False)
class LSL(_Evaluation):
    """An estimator of state values by ridge regression on returns, without privacy.

    In a trajectory, the return of a state is the discounted sum of rewards, beginning at the first visit of the state.

    Args:
        ridge: the ridge parameter. It must be above the largest weight times the squared norm of the features.
        weights: the weight of each state (N,), in [0, 1]. The default is 1 each.

    The other arguments are those of `LSW`.
    """

    states: int | None = None
    features: ArrayLike | None = None
    weights: ArrayLike | None = None
    ridge: float = 2.0
    discount: float = 0.99
    reward_bound: float = 1.0
    return_bound: float | None = None

    def _squares(self) -> RidgeSquares:
        phi = self._features()
        return RidgeSquares(phi, checked_weights("weights", self.weights, len(phi), 1.0), self.ridge)


@dataclass(eq=False, repr=False)
class _Private(_Evaluation):
    """Base class of the private estimators.

    Noise is given as `noise`, or calibrated to a target by `calibration`.
    """

    epsilon: float | None = None
    delta: float | None = None
    calibration: str = "room"
    planned_visits: ArrayLike | None = None
    random_state: Any = None
    noise: Noise | None = None
    clip: bool = True
    _algorithm: ClassVar[str]

    def _planned(self, squares: Any, visits: NDArray[np.int64]) -> WeightedBound | RidgeBound:
        raise NotImplementedError

    def constants(self) -> Noise:
        """Return the noise factor alpha and the smoothing parameter beta. They do not depend on the data.

        Raises:
            ValueError: epsilon and delta are missing, or given together with `noise`; `calibration` is unknown;
                "planned" lacks `planned_visits`, or another calibration has them; or epsilon is above 15 with
                "printed", which is not proved there.
        """
        if self.noise is not None:
            if (self.epsilon, self.delta, self.planned_visits) != (None, None, None):
                raise ValueError(
                    f"noise ({self.noise!r}) must be left out if epsilon, delta or planned_visits is given"
                )
            if not isinstance(self.noise, Noise):
                raise ValueError(f"noise ({self.noise!r}) must be a Noise(alpha, beta)")
            return self.noise
        if self.epsilon is None or self.delta is None:
            raise ValueError(f"epsilon ({self.epsilon!r}) and delta ({self.delta!r}) must both be given")
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f"calibration ({self.calibration!r}) must be one of: {', '.join(CALIBRATIONS)}")
        if (self.planned_visits is not None) != (self.calibration == "planned"):
            rule = "be given" if self.planned_visits is None else "be left out"
            raise ValueError(f"planned_visits must {rule} if calibration is {self.calibration!r}")
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

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the exact guarantee of `released_`, whose settings are kept, or before `fit` of the present settings.

        Raises:
            SimulationError: `fit` used a `random_state`, or the settings before `fit` have one.
        """
        released = getattr(self, "released_", None)
        if isinstance(released, ReleasedValues):
            found, unit = released.account(adjacency), self.unit_
            return found if unit is None else replace(found, unit=unit)
        simulated = released is not None or Randomness.of(self.random_state).simulated
        return guaranteed(simulated, lambda: account(self._parameters(), Adjacency.of(adjacency)))

    def _parameters(self) -> PolicyEvaluationParameters:
        noise, size = self.constants(), self._features().shape[1]
        return PolicyEvaluationParameters(size, noise.alpha, noise.beta, algorithm=self._algorithm)

    def noise_range(self, trajectories: int) -> tuple[float, float]:
        """Return a public lower and upper bound on the noise of `predict` for a batch of this size.

        The noise is the root mean square, over all states, of the standard deviation of a prediction before clipping.
        Its exact size is private, because it depends on how often the rarest states are visited.
        """
        most = _checks.at_least("trajectories", trajectories, 2)
        squares, noise, top = self._squares(), self.constants(), self._bound()
        spread = float(np.sqrt((squares.features**2).sum() / len(squares.features)))
        unit = spread * noise.alpha * float(squares.unit(top))
        low, high = (unit * math.sqrt(end) for end in squares.ends(most, noise.beta))
        return low, high * math.exp(min(noise.beta, 64) / 128)

    def expected_noise(self, visits: ArrayLike, trajectories: int) -> float:
        """Return the noise of `predict` before clipping, if each state is visited as often as `visits` (N,) says.

        The visits must be public or planned. `noise_range` defines the noise.
        """
        counts, squares = np.asarray(visits), self._squares()
        planned = FirstVisits(counts, np.zeros(len(counts)), trajectories, self._bound())
        spread = float(np.sqrt((squares.features**2).sum() / len(squares.features)))
        return spread * squares.deviation(planned, self.constants())

    def predict(self, X: ArrayLike) -> Floats:
        """Return the estimated value of each state in X, an array of state numbers of any shape.

        With `clip` they are clipped to [0, B], where B is the public bound on returns.
        """
        found = super().predict(X)
        return np.clip(found, 0.0, self._bound()) if self.clip else found

    def law(self, data: Episodes | FirstVisits) -> tuple[Floats, float]:
        """Return the mean (d,) and the standard deviation of `coef_` before rounding.

        The mean and the standard deviation are private. Use them for audits only.
        """
        squares, found = self._squares(), self.statistics(data)
        with precision(128):
            deviation = float(arb_of(self._variance(squares, found)).sqrt().mid())
        return np.array([float(value) for value in squares.exactly(found)]), deviation

    def sample(self, data: Episodes | FirstVisits, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` random draws of `coef_` on the same data, an array (n, d), for audits."""
        squares, found = self._squares(), self.statistics(data)
        integers, exponent = self._drawn(squares, found, n, words_of(Randomness.of(rng)))
        return doubles(integers, exponent).reshape(n, -1)

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        return squares.variance(data, self.constants())

    def _drawn(
        self, squares: Squares, data: FirstVisits, times: int, source: WordSource
    ) -> tuple[list[int], int]:
        """Return integers in steps of the grid, one draw after another, and the grid's exponent."""
        theta, variance = squares.exactly(data), self._variance(squares, data)
        exponent = squares.exponent(data.trajectories, data.bound, self.constants())
        drawn = rounded_gaussian(theta, [variance] * len(theta), exponent, times=times, source=source)
        return drawn, exponent

    def _fitted(self, squares: Squares, data: FirstVisits) -> Floats:
        randomness, parameters = Randomness.of(self.random_state), self._parameters()
        if not randomness.simulated:
            _refuse_rounded(data)
            self._warn(data)
        integers, exponent = self._drawn(squares, data, 1, words_of(randomness))
        kind = SimulatedValues if randomness.simulated else ReleasedValues
        self.released_ = kind(parameters, tuple(integers), exponent, randomness)
        return self.released_.values

    def _warn(self, data: FirstVisits) -> None:
        """Warn if public numbers alone show that the release is useless."""
        if (least := self.noise_range(data.trajectories)[0]) > data.bound / 2:
            why = f"a standard deviation of at least {least:.3g}, and values are in [0, {data.bound:.6g}]"
            rule = "Use more trajectories, a larger epsilon, fewer features or a smaller public return_bound."
            warnings.warn(f"For any data, the noise has {why}. {rule}", UserWarning, stacklevel=4)


def _refuse_rounded(data: FirstVisits) -> None:
    if data.rest is None:
        rule = "Give Episodes, or a result of first_visits. Results of several batches can be added with +."
        raise ValueError(f"X must hold exact sums for a release. {rule}")


@dataclass(eq=False, repr=False)
class DPLSW(_Private, LSW):
    """DP-LSW: a private version of `LSW` with Gaussian noise. In neighbouring data one trajectory is replaced.

    It is useless on small data. With 5,000 trajectories of a chain of 40 states, epsilon 1 and delta 1e-5, its root
    mean squared error before clipping is 204. With `return_bound=1` the error is 2.07, but the error of the estimate 0
    is only .703. With this bound DP-LSW needs some 30,000 trajectories to beat the estimate 0, and some 100,000 to
    beat Gaussian noise on counts and sums (docs/how-to/policy-evaluation.md).

    Args:
        epsilon: the target, above 0.
        delta: the target, in (0, 1).
        calibration: how the noise is chosen from the target: "room" (without `planned_visits`), "planned" (the best
            noise for `planned_visits`) or "printed" (the constants of the paper).
        planned_visits: visits (N,) of each state that are planned or public. Never give those of the batch itself.
        random_state: None for a release; a seed or a generator makes a simulation without a guarantee.
        noise: the factor alpha and the smoothing beta, as `dpproof calibrate policy-evaluation` prints them. Give
            either `noise`, or `epsilon` and `delta`.
        clip: whether predictions are clipped to the possible values. This costs no privacy.

    If few trajectories visit one state, the noise on all states is large. `noise_range` and `expected_noise`
    compute its size from public numbers.

    >>> batch = Episodes.rectangular([[0, 1]] * 900, [[0, 0]] * 900, [[0, 1.0]] * 900)
    >>> model = DPLSW(states=2, discount=0.5, epsilon=1.0, delta=1e-6).fit(batch)
    >>> model.predict([0, 1]).shape, round(model.expected_noise([900, 900], 900), 3)
    ((2,), 0.124)
    """

    _algorithm = "lsw"

    def _planned(self, squares: Any, visits: NDArray[np.int64]) -> WeightedBound:
        return WeightedBound(visits, squares.weights)


@dataclass(eq=False, repr=False)
class DPLSL(_Private, LSL):
    """DP-LSL: a private version of `LSL` with Gaussian noise. In neighbouring data one trajectory is replaced.

    Args:
        planned_trajectories: the number of trajectories in the batch that `planned_visits` describes.

    The other arguments are those of `LSL` and `DPLSW`.
    """

    _algorithm = "lsl"

    planned_trajectories: int | None = None

    def _planned(self, squares: Any, visits: NDArray[np.int64]) -> RidgeBound:
        if self.planned_trajectories is None:
            raise ValueError("planned_trajectories is missing. Give it together with planned_visits.")
        most = _checks.at_least("planned_trajectories", self.planned_trajectories, 1)
        return RidgeBound(visits, squares.weights, most, squares.share)
