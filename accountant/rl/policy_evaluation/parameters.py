"""What the noise of DP-LSW and DP-LSL is set by, and the visits it is compared on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from dpproof.accountant.claims.parameters import Choice, Integers, Parameters, Reals, parameter
from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, SmoothBound, WeightedBound
from dpproof.accountant.rl.policy_evaluation.noise import Noise, printed
from dpproof.accountant.rl.policy_evaluation.visits import VisitsFile, read_visits

__all__ = ["PolicyEvaluationParameters"]

_OPEN = Reals(0, lower_open=True)


@dataclass(frozen=True)
class PolicyEvaluationParameters(Parameters):
    """Noise ``noise`` sqrt(psi), psi smoothed with ``beta``; the paper's for a printed target without it.

    >>> PolicyEvaluationParameters(dimension=40, printed_epsilon=1.0, printed_delta=1e-6).constants
    Noise(alpha=26.93..., beta=0.00458...)

    Raises:
        ValueError: for a value outside its domain, noise beside a printed target, or DP-LSL's visits without
            its trajectories and ridge.
    """

    dimension: int = parameter(Integers(1, 100_000), "coordinates", "number of features d")
    noise: float | None = parameter(
        _OPEN,
        "1",
        "alpha: deviation of the noise over the smooth bound; instead of a printed target",
        None,
        safer=1,
    )
    beta: float | None = parameter(
        _OPEN,
        "1",
        "smoothing of the variance; when calibrating, left out it is chosen with the noise",
        None,
        safer=-1,
    )
    printed_epsilon: float | None = parameter(
        _OPEN, "1", "the epsilon that the paper's alpha and beta are set by; 1 without it", None
    )
    printed_delta: float | None = parameter(
        Reals(0, 1, lower_open=True, upper_open=True), "1", "the delta they are set by; 1e-6 without it", None
    )
    visits: str | None = parameter(
        VisitsFile(), "1", "planned or public visits by state, and weights, that noise is compared on", None
    )
    algorithm: str = parameter(Choice("lsw", "lsl"), "1", "DP-LSW, or DP-LSL with its ridge", "lsw")
    trajectories: int | None = parameter(Integers(1), "trajectories", "m; DP-LSL's bound needs it", None)
    ridge: float | None = parameter(_OPEN, "1", "lambda; DP-LSL's bound needs it", None)
    feature_norm: float = parameter(_OPEN, "1", "operator norm of the features, for DP-LSL's bound", 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None and (self.printed_epsilon, self.printed_delta) != (None, None):
            raise ValueError(f"noise ({self.noise!r}) must be left out where a printed target is given")
        if self.visits is not None and self.algorithm == "lsl" and None in (self.trajectories, self.ridge):
            given = f"trajectories ({self.trajectories!r}) and ridge ({self.ridge!r})"
            raise ValueError(f"{given} must be given for the visits of lsl")

    @property
    def constants(self) -> Noise:
        """Alpha and beta: those given, or the paper's.

        Raises:
            ValueError: for noise without a smoothing.
        """
        if self.noise is None:
            theirs = printed(self.printed_epsilon or 1.0, self.printed_delta or 1e-6, self.dimension)
            return theirs if self.beta is None else Noise(theirs.alpha, self.beta)
        if self.beta is None:
            raise ValueError(f"beta (None) must be given with noise ({self.noise!r})")
        return Noise(self.noise, self.beta)

    def bound(self) -> SmoothBound | None:
        """The smooth bound on the visits of the file; None without one.

        Raises:
            ValueError: for a file that is not of visits, more visits than trajectories, a ridge not above
                ||Phi||^2 ||rho||_inf, or with DP-LSW fewer weighted states than features.
            OSError: for a file that cannot be read.
        """
        if self.visits is None:
            return None
        visits, weights = read_visits(Path(self.visits))
        if self.trajectories is not None and int(visits.max()) > self.trajectories:
            rule = f"must be at most trajectories ({self.trajectories})"
            raise ValueError(f"visits ({int(visits.max())}) {rule}")
        if self.algorithm == "lsw":
            states = int((weights > 0).sum())
            if self.dimension > states:
                rule = f"must be at most the states with a weight ({states}), for features of full rank"
                raise ValueError(f"dimension ({self.dimension}) {rule}")
            return WeightedBound(visits, weights)
        top, ridge = float(weights.max()), self.ridge or 0.0
        if not ridge > self.feature_norm**2 * top:
            rule = f"above ||Phi||^2 ||rho||_inf, {self.feature_norm**2 * top!r}"
            raise ValueError(f"ridge ({ridge!r}) must be {rule}")
        share = self.feature_norm * top / math.sqrt(2 * ridge)
        return RidgeBound(visits, weights, self.trajectories or 0, share)
