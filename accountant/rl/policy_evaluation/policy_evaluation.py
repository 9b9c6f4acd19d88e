"""Accountant of private policy evaluation: the exact guarantee of the noise of DP-LSW and DP-LSL.

Both release a vector with Gaussian noise of deviation alpha sqrt(psi) for a unit of sensitivity. psi is a
smooth bound on the squared sensitivity. The guarantee is the worst case over all means and variances that
neighbours can have (classic.smooth_gaussian). The paper's constants are proved up to epsilon 50 for DP-LSW and up
to 15 for DP-LSL, and the noise is far larger than needed. Calibration finds the least noise, and also chooses
the smoothing.

Source: Balle, Gomrokchi and Precup, arXiv:1603.02010v1, Lemma 1, Theorems 6 and 10, as corrected by this
project (eval.theorem6.to_50, eval.theorem10.corrected).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Choice, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.published import published
from dpproof.accountant.rl.policy_evaluation.alternatives import alternatives
from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, SmoothBound, WeightedBound
from dpproof.accountant.rl.policy_evaluation.noise import (
    Noise,
    data_needed,
    guarantee_of,
    jointly,
    least,
    printed,
    with_room,
)
from dpproof.accountant.rl.policy_evaluation.visits import VisitsFile, read_visits

_OPEN = Reals(0, lower_open=True)


@dataclass(frozen=True)
class PolicyEvaluationParameters(Parameters):
    """Parameters of policy evaluation, which determine the constants alpha and beta of the noise.

    Give either ``noise`` (alpha) and ``beta``, or the target for which the paper sets the constants.

    >>> PolicyEvaluationParameters(dimension=40, printed_epsilon=1.0, printed_delta=1e-6).constants
    Noise(alpha=26.93..., beta=0.00458...)

    Raises:
        ValueError: for a value outside its domain, noise together with a target for the paper's constants, or
            visits for DP-LSL without trajectories and ridge.
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
            raise ValueError(
                f"noise ({self.noise!r}) must be left out if printed_epsilon or printed_delta is given"
            )
        if self.visits is not None and self.algorithm == "lsl" and None in (self.trajectories, self.ridge):
            given = f"trajectories ({self.trajectories!r}) and ridge ({self.ridge!r})"
            raise ValueError(f"{given} must both be given if visits is given and algorithm is 'lsl'.")

    @property
    def constants(self) -> Noise:
        """The noise constants alpha and beta: the given ones, otherwise the paper's for its target.

        Raises:
            ValueError: for noise without a smoothing.
        """
        if self.noise is None:
            theirs = printed(self.printed_epsilon or 1.0, self.printed_delta or 1e-6, self.dimension)
            return theirs if self.beta is None else Noise(theirs.alpha, self.beta)
        if self.beta is None:
            raise ValueError(f"beta is missing. Give beta together with noise ({self.noise!r}).")
        return Noise(self.noise, self.beta)

    def bound(self) -> SmoothBound | None:
        """Return the smooth bound on the squared sensitivity for the visits of the file; None without a file.

        Raises:
            ValueError: for a file that does not hold visits, more visits than trajectories, a ridge not above
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
                rule = f"must be at most {states}, the number of states with a weight above 0"
                raise ValueError(f"dimension ({self.dimension}) {rule}")
            return WeightedBound(visits, weights)
        top, ridge = float(weights.max()), self.ridge or 0.0
        if not ridge > self.feature_norm**2 * top:
            rule = f"above {self.feature_norm**2 * top!r}, which is feature_norm^2 times the largest weight"
            raise ValueError(f"ridge ({ridge!r}) must be {rule}")
        share = self.feature_norm * top / math.sqrt(2 * ridge)
        return RidgeBound(visits, weights, self.trajectories or 0, share)


_STATEMENTS = {"lsw": ("eval.theorem6.to_50", 50), "lsl": ("eval.theorem10.corrected", 15)}
"""The statement behind the printed noise, and the largest epsilon for which it holds. The paper's own theorems, which
have no limit, are refuted."""


def _printed_statement(algorithm: str, beta: float) -> tuple[str, int]:
    """Return the statement behind the printed noise with this smoothing, and the largest epsilon for which it holds."""
    return ("eval.theorem10.small_beta", 50) if algorithm == "lsl" and beta < 1.5 else _STATEMENTS[algorithm]


_SAMPLERS = {"lsw": "dpproof.DPLSW", "lsl": "dpproof.DPLSL"}
_NOTES = (
    "sensitivity by eval.corollary3 (DP-LSW) or eval.corollary8 (DP-LSL), smoothed by eval.lemma4",
    "beta, the weights, the features and the bound on returns must not depend on the private data; visits "
    "used to choose beta must be planned or public",
    "the printed constants are proved for the paper's algorithms with epsilon up to 50 (DP-LSW), up to 50 if beta is "
    "below 1.5 (DP-LSL), and up to 15 otherwise; the printed theorems, which have no limit, are refuted",
    "dpproof.DPLSW and dpproof.DPLSL round the smooth bound up; with printed constants they take epsilon up to 15 only",
)


def account(parameters: PolicyEvaluationParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the exact guarantee of the released parameter vector, if one trajectory is replaced.

    >>> theirs = PolicyEvaluationParameters(40, printed_epsilon=0.1, printed_delta=0.1)
    >>> account(theirs, Adjacency.REPLACE).guarantee.delta("0.1").upper
    1.531875e-22

    Raises:
        UnprovedAdjacencyError: for a relation other than ``replace`` and ``rewards-only``.
    """
    if adjacency not in (Adjacency.REPLACE, Adjacency.REWARDS_ONLY):
        why = "Use replace (one trajectory, with m fixed) or rewards-only."
        raise UnprovedAdjacencyError("policy-evaluation", adjacency, why)
    noise = parameters.constants
    found = guarantee_of(noise, parameters.dimension)
    statement, limit = _printed_statement(parameters.algorithm, noise.beta)
    theirs = PublishedGuarantee(
        statement,
        at_positive_delta(partial(_printed_epsilon, noise, parameters.dimension, limit)),
        found,
        "classic.smooth_gaussian",
    )
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        "the noisy parameter vector",
        "classic.smooth_gaussian",
        published=theirs,
        notes=_NOTES,
        exact_sampler=_SAMPLERS[parameters.algorithm],
    )


def _printed_epsilon(noise: Noise, dimension: int, limit: int, failure: Fraction) -> Bound:
    """Return the least epsilon whose printed alpha and beta both allow the noise; infinite above ``limit``."""
    with precision(192):
        shift = published("eval.lemma1.epsilon_shift").formula
        ratio = published("eval.lemma1.epsilon_ratio").formula
        found = shift.arb(delta=arb_of(failure), alpha=arb_of(exact(noise.alpha))).max(
            ratio.arb(delta=arb_of(failure), d=arb_of(exact(dimension)), beta=arb_of(exact(noise.beta)))
        )
        return bound_of(found) if found <= limit else exactly(math.inf)


def _calibrate(
    parameters: PolicyEvaluationParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[PolicyEvaluationParameters, PolicyEvaluationParameters]:
    """Return the least noise at the given smoothing; without one, smoothing chosen for the visits or with room.

    If noise is given, the search begins there; this needs a given smoothing too.
    """
    if parameters.noise is not None and parameters.beta is None:
        rule = "must be left out, or given together with beta, because calibration chooses both"
        raise ValueError(f"noise ({parameters.noise!r}) {rule}")
    account(replace(parameters, noise=None, beta=None), adjacency)
    bound = parameters.bound()
    if parameters.beta is not None:
        beta = parameters.beta
    elif bound is not None:
        beta = jointly(epsilon, delta, parameters.dimension, bound).beta
    else:
        beta = with_room(epsilon, delta, parameters.dimension).beta
    unset = replace(parameters, noise=None, beta=beta, printed_epsilon=None, printed_delta=None)
    meets, misses = least(epsilon, delta, parameters.dimension, beta, parameters.noise)
    return replace(unset, noise=meets.alpha), replace(unset, noise=misses.alpha)


def _compare(parameters: PolicyEvaluationParameters, epsilon: Any, delta: Any) -> Mapping[str, Any]:
    """Return the printed noise for the same target beside the noise found, on the visits if there are any."""
    bound = parameters.bound()
    found = _against_printed(parameters, parameters.constants, epsilon, delta, bound)
    if bound is not None:
        kinds = alternatives(epsilon, delta, parameters.dimension, bound)
        found["alternatives"] = [
            {"noise": kind.name, "beta": kind.beta, "deviation": kind.deviation} for kind in kinds
        ]
    return found


def _beside(parameters: PolicyEvaluationParameters, epsilon: Any, delta: Any) -> Mapping[str, Any] | None:
    """Return the printed and the exact noise on the visits; None without visits.

    For a printed target, the exact noise is the least that meets it. Given noise is shown beside the noise
    that the paper prints for the same guarantee.
    """
    bound = parameters.bound()
    if bound is None:
        return None
    if parameters.noise is None and parameters.beta is None:
        goal = parameters.printed_epsilon or 1.0, parameters.printed_delta or 1e-6
        return _against_printed(parameters, jointly(*goal, parameters.dimension, bound), *goal, bound)
    if math.inf in (epsilon, delta) or not (exact(epsilon) > 0 and 0 < exact(delta) < 1):
        held = {"printed": None, "exact": parameters.constants.deviation(bound), "ratio": None}
        statement, _ = _printed_statement(parameters.algorithm, parameters.constants.beta)
        return {"statement": statement, "deviation": held}
    return _against_printed(parameters, parameters.constants, epsilon, delta, bound)


def _against_printed(
    parameters: PolicyEvaluationParameters, ours: Noise, epsilon: Any, delta: Any, bound: SmoothBound | None
) -> dict[str, Any]:
    theirs = printed(epsilon, delta, parameters.dimension)
    found: dict[str, Any] = {
        **_printed_by(parameters.algorithm, exact(epsilon, "epsilon"), theirs.beta),
        "noise": {"printed": theirs.alpha, "exact": ours.alpha, "ratio": theirs.alpha / ours.alpha},
        "beta": {"printed": theirs.beta, "exact": ours.beta, "ratio": ours.beta / theirs.beta},
    }
    if bound is not None:
        wide, narrow = theirs.deviation(bound), ours.deviation(bound)
        found["deviation"] = {"printed": wide, "exact": narrow, "ratio": wide / narrow}
    if isinstance(bound, WeightedBound):  # with one ridge for all, DP-LSL's noise does not fall with the data
        more = data_needed(theirs, bound, narrow)
        found["data_needed"] = {"printed": more, "exact": 1.0, "ratio": more}
    return found


def _printed_by(algorithm: str, epsilon: Fraction, beta: float) -> dict[str, str]:
    """Return the statement behind the printed noise, with a remark if no statement proves it.

    ``beta`` is the printed smoothing, rounded down.
    """
    statement, limit = _printed_statement(algorithm, beta)
    if epsilon <= limit:
        return {"statement": statement}
    ends = {
        "lsw": "eval.theorem6.to_50 ends at epsilon 50",
        "lsl": "eval.theorem10.corrected ends at epsilon 15, and eval.theorem10.small_beta at 50 and beta 1.5",
    }[algorithm]
    remark = f"not proved here: {ends}; the printed theorem, which has no limit, is refuted"
    return {"statement": {"lsw": "eval.theorem6", "lsl": "eval.theorem10"}[algorithm], "remark": remark}


ACCOUNTANT = Accountant(
    "policy-evaluation",
    "First-visit Monte Carlo policy evaluation, DP-LSW and DP-LSL",
    PolicyEvaluationParameters,
    account,
    "noise",
    _calibrate,
    compare=_compare,
    beside=_beside,
    unsampled="estimators run it on episodes: dpproof.DPLSW and dpproof.DPLSL",
    unit="trajectory",
    example=PolicyEvaluationParameters(dimension=40),
)
