"""Learning algorithms and their faults as cases of the corpus: DP-SGD by its views, RLSVI in one run.

Many users' rewards as canaries of one run of RLSVI, under rewards-only adjacency.

Every canary pays 0 everywhere or 1 everywhere, by a coin of its own. Each is sent to a state of its own after
the first step, so its cell there is visited once and all later tables tell of it; only the first step's cell
is shared. The score is the exact log-likelihood ratio of that user's rewards, all other canaries paying 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.training.canaries import Canaries
from dpproof.audits.training.dp_sgd import Fault, Settings
from dpproof.audits.training.one_run_audit import audit_one_run
from dpproof.audits.training.views import View, audit_dp_sgd
from dpproof.mechanisms.rl.rlsvi.likelihood import log_likelihood_ratio
from dpproof.mechanisms.rl.rlsvi.noise_rule import NoiseRule
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user

__all__ = [
    "CASES",
    "RewardCase",
    "TrainingCase",
    "audit_reward_canaries",
    "audit_reward_canaries_again",
    "reward_canaries",
]


def reward_canaries(parameters: RLSVIParameters) -> Canaries:
    """Canaries for RLSVI: one for each state but the start, the first users; the others pay nothing.

    Args:
        parameters: at least 3 states, 2 steps, and as many episodes as states.

    Raises:
        ValueError: fewer states, steps or episodes than that.

    >>> reward_canaries(RLSVIParameters(states=5, actions=1, horizon=2, episodes=9)).count
    4
    """
    S, H, K = parameters.states, parameters.horizon, parameters.episodes
    for name, value, least in (("states", S, 3), ("horizon", H, 2), ("episodes", K, S)):
        if value < least:
            raise ValueError(
                f"{name} ({value!r}) must be at least {least} for canaries in states of their own"
            )
    next_states = np.zeros((K, H, S, parameters.actions), np.int64)
    next_states[: S - 1] = np.arange(1, S)[:, None, None, None]
    quiet = Users(next_states, np.zeros(next_states.shape))
    return Canaries(
        S - 1,
        partial(_paying, quiet),
        partial(_ratios, parameters, _paying(quiet, np.full(S - 1, 0.5))),
        Adjacency.REWARDS_ONLY,
        f"{S - 1} users, each alone in a state after the first step, each paying 0 or 1 everywhere",
        differ_only_in_rewards_of_one_user,
    )


def _paying(quiet: Users, coins: NDArray[Any]) -> Users:
    """The users of whom the first ones pay what the coins say."""
    rewards = quiet.rewards.copy()
    rewards[: len(coins)] = np.asarray(coins, dtype=np.float64)[:, None, None, None]
    return Users(quiet.next_states, rewards, quiet.start)


def _ratios(parameters: RLSVIParameters, expected: Users, tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """For every canary ln of the density of the tables if it pays 1 over that if it pays 0."""
    users = [
        (expected.with_rewards(i, 0.0), expected.with_rewards(i, 1.0)) for i in range(parameters.states - 1)
    ]
    given = np.asarray(tables, dtype=np.float64)[None]
    return np.array([log_likelihood_ratio(parameters, given, *pair)[0] for pair in users])


def audit_reward_canaries(
    parameters: RLSVIParameters,
    *,
    seed: int,
    noise_rule: NoiseRule = NoiseRule.CORRECT,
    delta: float = 1e-5,
    alpha: float = 0.01,
    runs: int = 1,
    claim: str = "rlsvi, rewards as canaries",
) -> Evidence:
    """Audit RLSVI with ``noise_rule`` against the guarantee of the correct noise, in one run or a few.

    Source of the claim: arXiv:2606.01952v1, Lemma 11, as Gaussian differential privacy.

    Args:
        parameters: as for `reward_canaries`.
        seed: a nonnegative integer.
        noise_rule: the correct one, or a planted fault.
        delta: where epsilon is stated, in (0, 1).
        alpha: the level.
        runs: independent runs, whose canaries are guessed about together.
        claim: the name in the evidence.

    Raises:
        ValueError: an argument is outside its range.
    """
    return audit_one_run(
        claim,
        account(parameters, Adjacency.REWARDS_ONLY).notion,
        RLSVI(parameters, noise_rule).sample,
        reward_canaries(parameters),
        seed=seed,
        delta=delta,
        alpha=alpha,
        runs=runs,
        replay={
            "audit": "reward canaries",
            "parameters": parameters.as_json(),
            "noise_rule": noise_rule.name,
        },
    )


def audit_reward_canaries_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_reward_canaries(
        RLSVIParameters.read(how["parameters"]),
        seed=witness["seed"],
        noise_rule=NoiseRule[how["noise_rule"]],
        delta=witness["delta"],
        alpha=witness["alpha"],
        runs=how["runs"],
        claim=witness["claim"],
    )


@dataclass(frozen=True, kw_only=True)
class TrainingCase:
    """DP-SGD with or without a fault, seen in one way; the attributes of `dpproof.audits.corpus.case.CorpusCase`.

    Attributes:
        name: unique within the corpus.
        settings: the loop.
        view: what is seen.
        expected: the verdict that an audit must come to.
        reason: why, in words.
        delta: where epsilon is stated.
        steps: the length of a whole run.
        coins: the default budget.
        requires: the package without which the case is skipped.
    """

    name: str
    settings: Settings
    view: View
    expected: Finding
    reason: str
    delta: float = 1e-5
    steps: int = 4
    coins: int = 1_000
    requires: str | None = "torch"

    def audit(
        self, *, seed: int, alpha: float = 0.01, budget: int | None = None, executor: Executor | None = None
    ) -> Evidence:
        """Audit the case; a training run is one sequence, so there is nothing for an executor to do."""
        return audit_dp_sgd(
            self.settings,
            self.view,
            seed=seed,
            steps=self.steps,
            delta=self.delta,
            alpha=alpha,
            budget=self.coins if budget is None else min(budget, self.coins),
        )


@dataclass(frozen=True, kw_only=True)
class RewardCase:
    """RLSVI by its users' rewards in one run; the attributes of `dpproof.audits.corpus.case.CorpusCase`.

    Attributes:
        name: unique within the corpus.
        noise_rule: how large the noise is.
        expected: the verdict that an audit must come to.
        reason: why, in words.
        requires: nothing.
    """

    name: str
    noise_rule: NoiseRule
    expected: Finding
    reason: str
    requires: str | None = None

    def audit(
        self, *, seed: int, alpha: float = 0.01, budget: int | None = None, executor: Executor | None = None
    ) -> Evidence:
        """Audit the case in a single run."""
        return audit_reward_canaries(
            SIZES, noise_rule=self.noise_rule, seed=seed, alpha=alpha, claim=self.name
        )


SIZES = RLSVIParameters(states=101, actions=1, horizon=2, episodes=200)

CASES: tuple[TrainingCase | RewardCase, ...] = (
    TrainingCase(
        name="dp-sgd",
        settings=Settings(),
        view=View.STEP,
        expected=Finding.CONSISTENT,
        reason="clipped and noised as claimed; the canary attains the claim",
    ),
    TrainingCase(
        name="dp-sgd, half the noise",
        settings=Settings(fault=Fault.HALF_NOISE),
        view=View.STEP,
        expected=Finding.VIOLATION,
        reason="a step is a Gaussian mechanism with half the noise",
    ),
    TrainingCase(
        name="dp-sgd, no clipping",
        settings=Settings(fault=Fault.NO_CLIPPING),
        view=View.STEP,
        expected=Finding.VIOLATION,
        reason="the canary's gradient, of ten clipping norms, enters as it is",
    ),
    TrainingCase(
        name="dp-sgd, unscaled noise",
        settings=Settings(fault=Fault.UNSCALED_NOISE),
        view=View.STEP,
        expected=Finding.VIOLATION,
        reason="noise of the multiplier alone, where the clipping norm is 4",
    ),
    TrainingCase(
        name="dp-sgd, batch clipping",
        settings=Settings(fault=Fault.BATCH_CLIPPING),
        view=View.STEP,
        expected=Finding.VIOLATION,
        reason="the mean is clipped, so one record moves the sum by many clipping norms",
    ),
    TrainingCase(
        name="dp-sgd, shuffled batches",
        settings=Settings(0.25, 0.2, fault=Fault.SHUFFLED_BATCHES),
        view=View.EPOCH,
        expected=Finding.VIOLATION,
        reason="every record is in one batch of each epoch; under the claim it is in none with chance 0.32",
        delta=0.3,
        coins=400,
    ),
    RewardCase(
        name="rlsvi, rewards in one run",
        noise_rule=NoiseRule.CORRECT,
        expected=Finding.INCONCLUSIVE,
        reason="sound, and one run of a hundred canaries is too weak to say more",
    ),
    RewardCase(
        name="rlsvi, rewards in one run, first visit unprotected",
        noise_rule=NoiseRule.FIRST_VISIT_UNPROTECTED,
        expected=Finding.VIOLATION,
        reason="a cell has no noise before its second visit, and every canary has a cell visited once",
    ),
)
