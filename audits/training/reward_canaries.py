"""The audit of one run of RLSVI in which fair coins decide the rewards of many users, the canaries.

The neighbouring relation is rewards-only. Every canary has reward 0 at all steps or 1 at all steps, as its own coin
decides. After the first step each canary is in a state of its own. Nobody else visits this state, and all later
tables depend on the canary's rewards there. Only the state of the first step is shared. The score of a canary is the
exact log-likelihood ratio of its rewards, computed with reward 1/2 for all other canaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account
from dpproof.audits.plan import BUDGET, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import Told, variant
from dpproof.audits.targets.rl.rlsvi.rlsvi import PUBLISHED
from dpproof.audits.training.canaries import Canaries
from dpproof.audits.training.one_run_audit import OneRun, audit_one_run
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI, log_likelihood_ratio
from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user

KIND = "reward canaries"
DELTA = 1e-5
"""The delta at which epsilon is stated, unless the plan gives another delta."""


@dataclass(frozen=True)
class RewardCanaries:
    """The audit of one run, or a few runs, of RLSVI or of a variant of it, with many users as canaries.

    A canary is a user whose rewards a fair coin decides. The claim is the guarantee of RLSVI. Source of the claim:
    arXiv:2606.01952v1, Lemma 11, as Gaussian differential privacy.

    Attributes:
        parameters: as for `reward_canaries`.
        noise_rule: the name of the variant that is run; see `audits.target.variant`.
        runs: the number of independent runs; the audit guesses about the canaries of all runs together.
    """

    fields: ClassVar[Mapping[str, type]] = {"parameters": dict, "noise_rule": str, "runs": int}

    parameters: RLSVIParameters
    noise_rule: str = PUBLISHED
    runs: int = 1

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        Raises:
            ValueError: an argument is outside its range.
        """
        told = {"parameters": self.parameters.as_json(), "noise_rule": self.noise_rule}
        asked = plan.filled("rlsvi, rewards as canaries", DELTA, BUDGET)
        return audit_one_run(
            account(self.parameters, Adjacency.REWARDS_ONLY).notion,
            variant(RLSVI, self.noise_rule, PUBLISHED)(self.parameters).sample,
            OneRun(reward_canaries(self.parameters), self.runs),
            replace(asked, replay={"audit": KIND, **told}),
        )

    @classmethod
    def read(cls, how: Told) -> RewardCanaries:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(
            RLSVIParameters.read(how.table("parameters")),
            how.text("noise_rule"),
            how.whole("runs"),
        )


TARGET = RewardCanaries


def reward_canaries(parameters: RLSVIParameters) -> Canaries:
    """Return `Canaries` for RLSVI: one user for each state except the start state.

    A fair coin for each of these users decides whether all rewards of the user are 0 or 1. All other users have
    reward 0.

    Args:
        parameters: the parameters of RLSVI, with at least 3 states, 2 steps, and as many episodes as states.

    Raises:
        ValueError: there are fewer states, steps or episodes.

    >>> reward_canaries(RLSVIParameters(states=5, actions=1, horizon=2, episodes=9)).count
    4
    """
    S, H, K = parameters.states, parameters.horizon, parameters.episodes
    for name, value, least in (("states", S, 3), ("horizon", H, 2), ("episodes", K, S)):
        if value < least:
            raise ValueError(
                f"{name} ({value!r}) must be at least {least}, so that each canary has a state of its own"
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


def _paying(quiet: Users, coins: NDArray[np.bool_] | NDArray[np.float64]) -> Users:
    """Return the users, with the coins as rewards of the first users."""
    rewards = quiet.rewards.copy()
    rewards[: len(coins)] = np.asarray(coins, dtype=np.float64)[:, None, None, None]
    return Users(quiet.next_states, rewards, quiet.start)


def _ratios(parameters: RLSVIParameters, expected: Users, tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for every canary the log of the tables' density with rewards 1 over that with rewards 0."""
    users = [
        (expected.with_rewards(i, 0.0), expected.with_rewards(i, 1.0)) for i in range(parameters.states - 1)
    ]
    given = np.asarray(tables, dtype=np.float64)[None]
    return np.array([log_likelihood_ratio(parameters, given, *pair)[0] for pair in users])
