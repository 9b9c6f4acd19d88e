"""Learning algorithms and their faults: DP-SGD by its views, RLSVI by its users' rewards in one run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.plan import Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.training.dp_sgd import Fault, LoopAudit, Settings, View
from dpproof.audits.training.reward_canaries import RewardCanaries
from dpproof.mechanisms.rl.rlsvi.noise_rule import NoiseRule

PLACE = 12


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

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case; a training run is one sequence, so there is nothing for an executor to do."""
        plan = replace(AuditPlan(**asked).at_most(self.coins), delta=self.delta)
        return LoopAudit(self.settings, self.view, self.steps).audit(plan)


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

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case in a single run."""
        plan = replace(AuditPlan(**asked), claim=self.name)
        return RewardCanaries(SIZES, self.noise_rule).audit(plan)


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
