"""The privacy parameters of the runs on expert-level learning, and the guarantee that is certified with them.

The noise of a method is computed from epsilon and delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import calibrate_noise
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.rl.expert import release as expert_release
from dpproof.accountant.rl.expert import selective_dpsgd
from dpproof.accountant.rl.expert.design import shaped
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.mechanisms.rl.expert.offline.transitions import batch_rate
from dpproof.mechanisms.rl.expert.problems import PMIN, PROBLEMS
from dpproof.reproduction.expert.settings import ALONE, CHOICES, Choice, Size

LENGTH: Final = 200
"""Number of steps of the longest trajectory that the paper logs. Those of HIV are shorter."""


@dataclass(frozen=True)
class Plan:
    """The privacy parameters of one run, which first releases data and then trains a policy.

    Attributes:
        release: the parameters of the release, or None if no data are released.
        training: the parameters of the training.
        reuses: whether the training also reads the steps of the release's data that were not released.
        epsilons, deltas: the epsilon and the delta of the release (first entry) and of the training (second entry).
    """

    release: ExpertReleaseParameters | None
    training: SelectiveDPSGDParameters
    reuses: bool
    epsilons: tuple[float, float]
    deltas: tuple[float, float]


def plan_for(name: str, method: str, epsilon: float | None, size: Size) -> Plan:
    """Return the privacy parameters of a method on the named problem, with the target (epsilon, 1/m).

    m is the number of experts. An `epsilon` of None means no privacy.

    >>> from dpproof.reproduction.expert.settings import QUICK
    >>> plan_for("cartpole", "DP-SGD", 10.0, QUICK).training.branch_probability
    1.0
    """
    if method == "no privacy" or epsilon is None:
        return Plan(None, _training(size, 0.0, 1.0), True, (0.0, 0.0), (0.0, 0.0))
    if method == "DP-SGD":
        noise = _training_noise(1.0, size, epsilon, 1 / size.experts, printed=False)
        return Plan(None, _training(size, 1.0, noise), True, (0.0, epsilon), (0.0, 1 / size.experts))
    choice = CHOICES[name][epsilon]
    if method == ALONE:
        choice = Choice(choice.rounds, 0.0, 1.0, 1.0)
    return _method(name, choice, epsilon, size, printed=method == "printed")


def _method(name: str, choice: Choice, epsilon: float, size: Size, *, printed: bool) -> Plan:
    release = release_plan(name, choice, epsilon, size, printed=printed)
    p, rest = choice.probability, (1 - choice.share) * epsilon
    deltas = (choice.delta_share / size.experts, (1 - choice.delta_share) / size.experts)
    noise = _training_noise(p, size, rest, deltas[1], printed=printed) if p else 1.0
    return Plan(release, _training(size, p, noise), printed, (choice.share * epsilon, rest), deltas)


def _training(size: Size, p: float, noise: float) -> SelectiveDPSGDParameters:
    """Return training parameters with Poisson batches.

    The rate uses the public sizes only, also for 2999 experts.
    """
    return SelectiveDPSGDParameters(batch_rate(size.batch, size.experts), p, noise, size.steps)


def release_plan(
    name: str, choice: Choice, epsilon: float, size: Size, *, printed: bool
) -> ExpertReleaseParameters:
    """Return the parameters of the release of data. Its epsilon and delta are shares of (epsilon, 1/m).

    `choice` holds the two shares, and m is the number of experts. If `printed` is true, the noise is that of the
    paper. Otherwise it is the least noise with a certified guarantee.
    """
    parts = (choice.rounds, LENGTH, PMIN, size.experts - 1, size.release_each, PROBLEMS[name].make().actions)
    share, delta = choice.share * epsilon, choice.delta_share / size.experts
    if printed:
        return ExpertReleaseParameters(*parts, printed_epsilon=share, printed_delta=delta, draws="walk")
    ratio, cost = _shape()
    start = ExpertReleaseParameters(*parts, scale=30.0, threshold_ratio=ratio, draw_cost=cost, draws="fresh")
    return _least_release(start, share, delta)


@lru_cache
def _shape() -> tuple[float, float]:
    """Return the best shape at the default failure probability of a round.

    It is found once for all scales.
    """
    return shaped(PMIN, 1e-8)


@lru_cache
def _least_release(start: ExpertReleaseParameters, epsilon: float, delta: float) -> ExpertReleaseParameters:
    def guarantee_of(parameters: ExpertReleaseParameters) -> Profile:
        return expert_release.account(parameters, Adjacency.EXPERT).guarantee

    meets, _ = calibrate_noise(start, "scale", guarantee_of, epsilon, delta)
    return meets


@lru_cache
def _training_noise(p: float, size: Size, epsilon: float, delta: float, *, printed: bool) -> float:
    """Return the least noise multiplier, by the printed accounting (rate p b/m) or by our own."""

    def guarantee_of(parameters: SelectiveDPSGDParameters) -> Profile:
        found = selective_dpsgd.account(parameters, Adjacency.EXPERT)
        return found.published.exact if printed and found.published else found.guarantee

    meets, _ = calibrate_noise(_training(size, p, 3.0), "noise_multiplier", guarantee_of, epsilon, delta)
    return meets.noise_multiplier


def certified(plan: Plan) -> dict[str, float | None]:
    """Return three certified epsilons: of the release at its delta, of the training at its delta, and their sum.

    An epsilon is None if it is not certified. The sum is not certified if the training reads steps of the release's
    data that were not released (statement expert.theorem5_6), or if neither release nor training is private.
    """
    p, both = plan.training.branch_probability, None
    release = training = None
    if plan.release is not None:
        found = expert_release.account(plan.release, Adjacency.EXPERT).guarantee
        release = _upper(found, plan.epsilons[0], plan.deltas[0])
    if p:
        found = selective_dpsgd.account(plan.training, Adjacency.EXPERT).guarantee
        training = _upper(found, plan.epsilons[1], plan.deltas[1])
    if (release is not None or training is not None) and not (release is not None and p and plan.reuses):
        both = (release or 0.0) + (training or 0.0)
    named = {"certified_release": release, "certified_training": training, "certified_epsilon": both}
    return {name: value if value is None or math.isfinite(value) else None for name, value in named.items()}


def _upper(guarantee: Profile, aim: float, delta: float) -> float:
    """Return the certified epsilon at `delta`, or `aim` if the noise was calibrated to `aim`."""
    found = float(guarantee.epsilon(delta).upper)
    return aim if found > aim and guarantee.delta(aim).upper <= delta else found
