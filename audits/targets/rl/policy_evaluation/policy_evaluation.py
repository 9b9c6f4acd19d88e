"""The audit of private policy evaluation: run the estimator on the worst of many pairs of neighbouring batches.

The output distributions are known. So the audit computes the pair with the largest divergence, and its score is the
likelihood ratio. The feature vectors are unit vectors times the stated norm; the guarantee does not depend on this
choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.inversion import bracket, refined
from dpproof.accountant.rl.policy_evaluation.policy_evaluation import PolicyEvaluationParameters, account
from dpproof.accountant.smooth_sensitivity.notion import largest
from dpproof.accountant.smooth_sensitivity.spherical import spherical_delta
from dpproof.audits.data.pairs import Neighbours, episodes_pair
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.sampling.callables import Mechanism
from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio, Score
from dpproof.audits.plan import BUDGET, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, Subject, Told
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW

Floats = NDArray[np.float64]
Model = DPLSW | DPLSL
Laws = tuple[tuple[Floats, float], tuple[Floats, float]]
KIND = "policy-evaluation"
DELTA = 1e-6
RETURN_BOUND, DISCOUNT = 1.0, 0.5
STEPS = 200_000
"""The largest number of steps of a batch."""
WIDEST, FARTHEST = 200, 30.0
"""The largest number of features in an audit, and the largest epsilon at which pairs are compared."""


@dataclass(frozen=True)
class PolicyEvaluationAudit:
    """The audit of policy evaluation by DP-LSW or DP-LSL against its exact guarantee, or against ``curve``.

    Attributes:
        parameters: the parameters of the accountant. Visits from a file are not used; this module makes its batches.
        adjacency: ``replace`` or ``rewards-only``.
        curve: the claimed guarantee; None for the accountant's guarantee. With a given curve, the plan's ``replay``
            takes the place of the usual replay data, which do not describe the curve.
    """

    fields: ClassVar[Mapping[str, type]] = {"parameters": dict, "adjacency": str, **RUN}
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE, Adjacency.REWARDS_ONLY)

    parameters: PolicyEvaluationParameters
    adjacency: Adjacency
    curve: PrivacyCurve | None = None

    @classmethod
    def of(cls, subject: Subject) -> PolicyEvaluationAudit:
        """Return the audit of the mechanism that ``subject`` describes."""
        return cls(cast(PolicyEvaluationParameters, subject.parameters), subject.adjacency, subject.curve)

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The default delta is 1e-6.

        Raises:
            NoAuditError: there are more than 200 features.
            ValueError: an argument is outside its range, or nothing is proved under this relation.
        """
        parameters, adjacency, asked = self.parameters, self.adjacency, plan.filled(KIND, DELTA, BUDGET)
        claimed = account(parameters, adjacency).guarantee if self.curve is None else self.curve
        if parameters.dimension > WIDEST:
            why = f"({parameters.dimension}) must be at most {WIDEST} for an audit"
            raise NoAuditError(f"dimension {why}. The size of the audited batches grows with its square.")
        model = estimator(parameters)
        pair = _hardest(model, evaluation_pairs(parameters.dimension, adjacency), claimed, asked.stated)
        again = {"audit": KIND, "parameters": parameters.as_json(), "adjacency": adjacency.value}
        asked = replace(
            asked,
            scores=evaluation_scores(model, pair),
            replay=again if self.curve is None else plan.replay,
            known_ratio=True,
        )
        return audit_pair(claimed, Mechanism(model.sample), pair, asked)

    @classmethod
    def read(cls, how: Told) -> PolicyEvaluationAudit:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(
            PolicyEvaluationParameters.read(how.table("parameters")), Adjacency.of(how.text("adjacency"))
        )


TARGET = PolicyEvaluationAudit


def estimator(parameters: PolicyEvaluationParameters) -> Model:
    """Return the estimator for the algorithm and the two noise constants, with features of the stated norm."""
    size = parameters.dimension
    features = parameters.feature_norm * np.eye(size + 1, size)
    known: dict[str, Any] = {"features": features, "discount": DISCOUNT, "return_bound": RETURN_BOUND}
    if parameters.algorithm == "lsw":
        weights = np.append(np.full(size, 1 / size), 0.0)
        return DPLSW(weights=weights, noise=parameters.constants, **known)
    ridge = 2 * parameters.feature_norm**2 if parameters.ridge is None else parameters.ridge
    weights = np.append(np.ones(size), 0.0)
    return DPLSL(weights=weights, ridge=ridge, noise=parameters.constants, **known)


def evaluation_pairs(states: int, adjacency: Adjacency) -> Iterator[Neighbours]:
    """Generate pairs of neighbouring batches of 2, 4, 8, ... users, in which one user differs.

    In some pairs all users visit all states, in others a state has few visits or none. Users who stay away from the
    states are in an additional state that has weight 0.
    """
    around, away = tuple(range(states)), (states,) * states
    others = 1
    while (others + 1) * states <= max(STEPS, 2 * states):
        found = [(around, (around, 0.0), (around, 1.0), "all go everywhere, a user's returns are 0 or 1")]
        if adjacency is Adjacency.REPLACE:
            found += [
                (around, (around, 0.0), (away, 0.0), "all go everywhere, or a user stays away"),
                (around, (around, 1.0), (away, 0.0), "the same, and the user's returns are 1"),
                (away, (away, 0.0), (around, 1.0), "all stay away, or a user goes everywhere"),
            ]
        for rest, one, other, described in found:
            first, second = (batch_of(others, rest, *last) for last in (one, other))
            yield episodes_pair(first, second, adjacency, f"{others + 1} users: {described}")
        others = 2 * others + 1


def batch_of(others: int, home: Sequence[int], walk: Sequence[int], reward: float) -> Episodes:
    """Return a batch in which one user visits the states ``walk``, and the others visit ``home`` with reward 0.

    Args:
        others: the number of the other users.
        home: the states that each other user visits, in this order.
        walk: the states that the one user visits, in this order; as many as in ``home``.
        reward: the reward of the one user at every step.
    """
    states = np.append(np.tile(np.array(home), others), np.array(walk))
    rewards = np.repeat([0.0, reward], [others * len(home), len(walk)])
    lengths = np.full(others + 1, len(walk))
    return Episodes(states, np.zeros_like(states), rewards, lengths, np.arange(others + 1))


def _hardest(model: Model, pairs: Iterator[Neighbours], claimed: PrivacyCurve, delta: float) -> Neighbours:
    """Return the pair with the largest hockey-stick divergence at the claimed epsilon."""
    point = Fraction(min(claimed.epsilon(delta).upper, FARTHEST))
    return max(pairs, key=lambda pair: float(refined(partial(_profile, _laws(model, pair), point))))


def pair_epsilon(model: Model, pair: Neighbours, delta: Fraction) -> Bound:
    """Return bounds on the smallest epsilon at ``delta`` that holds for one pair of inputs, in both orders."""
    return Bound(*bracket(partial(_profile, _laws(model, pair)), delta), "mechanism", pair.description)


def _laws(model: Model, pair: Neighbours) -> Laws:
    return model.law(pair.first), model.law(pair.second)


def _profile(laws: Laws, epsilon: Fraction) -> Any:
    (one, wide), (other, narrow) = laws
    shift = Fraction(float(np.linalg.norm(one - other)) / min(wide, narrow))
    ratio = Fraction(math.log(wide / narrow))
    return largest([spherical_delta(shift, r, len(one), epsilon) for r in (ratio, -ratio)])


def evaluation_scores(model: Model, pair: Neighbours) -> tuple[Score, ...]:
    """Return the scores of the audit: the likelihood ratio, and a linear score that is fitted to the outputs."""
    return LogLikelihoodRatio(LawRatio(model, pair)), LinearDiscriminant(ridge=None)


@dataclass(frozen=True, eq=False)
class LawRatio:
    """A function that returns the log-likelihood ratio of outputs, for the two inputs of a pair."""

    model: Model
    pair: Neighbours

    @cached_property
    def laws(self) -> Laws:
        """The mean and the standard deviation of the output, for each of the two inputs; computed when first used."""
        return _laws(self.model, self.pair)

    def __call__(self, outputs: Floats) -> Floats:
        """Return the ratio in single precision, because doubles would reveal low bits of the outputs."""
        first, second = (
            -np.square((outputs - mean) / deviation).sum(axis=1) / 2 - len(mean) * math.log(deviation)
            for mean, deviation in self.laws
        )
        return np.asarray(second - first, np.float32).astype(np.float64)
