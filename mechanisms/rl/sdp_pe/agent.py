"""SDP-PE: policy elimination in stages, from private counts of batches of users.

The learner knows which next states each action may lead to, and it learns their probabilities. `Elimination` is the
algorithm. This module runs it with simulated users in a known environment. `EliminationStream` runs it with real
users.

Source: Bai, Talebi, Zhao, Cheng and Chen, "Near-optimal reinforcement learning with shuffle differential
privacy" (2026), Algorithms 1 to 3.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.rl.learning_run import LearningRun, run_many
from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.constants import TUNED, EliminationConstants
from dpproof.mechanisms.rl.sdp_pe.elimination import Elimination, Part
from dpproof.mechanisms.rl.sdp_pe.mixtures import RandomPolicy
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, BatchPrivatizer, ReleasedCounts
from dpproof.mechanisms.rl.sdp_pe.product_sets import Policies, active_set
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StageReport:
    """Statistics of one stage of policy elimination.

    Attributes:
        length: number of episodes in each of the stage's three parts.
        level: error bound of the private counts of fine exploration.
        infrequent: number of reachable transitions that were seen too rarely.
        coverage_gap: how far the mixture of fine exploration is from the best mixture, as in `Coverage.gap`.
        threshold: policies whose estimated value was at least this far below the best one were dropped.
        active: number of policies that stay active.
        optimal_stays: whether a policy of the largest true value stays active.
        worst_regret: the largest true regret per episode of a policy that stays active.
    """

    length: int
    level: float
    infrequent: int
    coverage_gap: float
    threshold: float
    active: int
    optimal_stays: bool
    worst_regret: float


@dataclass(frozen=True, eq=False, repr=False)
class EliminationRun(LearningRun):
    """The result of one run of policy elimination.

    Users draw their policies from a mixture, so the regret of an episode is the mean regret of this mixture.

    Attributes:
        switches: number of changes of the policy, or mixture of policies, from one episode to the next.
        stages: one report for each stage.
        policy: the active policy (H, X) that is best by the estimates of the last stage.
    """

    switches: int = 0
    stages: tuple[StageReport, ...] = ()
    policy: NDArray[np.int64] | None = None


class _Deployment:
    """The simulated users: their environment, their draws, the mean regret of each, and the changes of policy."""

    def __init__(self, environment: TabularMDP, rng: np.random.Generator) -> None:
        self.environment, self.rng = environment, rng
        self.optimum = float(environment.optimal_values()[0, environment.start])
        self.regrets: list[Floats] = []
        self.switches = -1
        self._last: RandomPolicy | None = None

    def run(self, part: Part) -> BatchCounts:
        """Let users play, and count their visits, rewards and transitions."""
        regret = self.optimum - part.policy.value(self.environment)
        self.regrets.append(np.full(part.users, max(regret, 0.0)))
        if self._last is None or not self._last.same(part.policy):
            self.switches += 1
        self._last = part.policy
        return part.policy.play(self.environment, part.users, self.rng)

    def report(self, elimination: Elimination) -> StageReport:
        """Return the statistics of the last stage. The true values are computed exactly."""
        mdp, stage = self.environment, elimination.stages[-1]
        H, X, A = mdp.horizon, mdp.states, mdp.actions
        reachable = elimination.model.reachable
        after = np.vstack([reachable[1:], np.ones((1, X), np.bool_)])
        tuples = stage.infrequent & reachable[:, :, None, None] & after[:, None, None, :]
        spread = elimination.active.spread(
            np.broadcast_to(mdp.transitions, (H, X, A, X)), np.broadcast_to(mdp.rewards, (H, X, A))
        )
        return StageReport(
            stage.stage.length,
            stage.level,
            int(tuples.sum()),
            stage.gap,
            stage.threshold,
            stage.active,
            bool(self.optimum - spread.most <= kernels.TIE),
            self.optimum - spread.least,
        )


@dataclass(frozen=True)
class SDPPE:
    """A learner that eliminates policies with any privatizer of batches; it knows which transitions are possible.

    Attributes:
        privatizer: the privatizer of a batch's counts. `NoPrivacy` gives policy elimination without privacy.
        episodes: number of episodes, at least 3.
        constants: the constants of the algorithm: the printed ones, those of the proof, or tuned ones.
        policies: how active policies are stored: `enumerated`, as in the paper, or `product` (`product_sets`).
        model: the public knowledge about the environment. If it is None, the learner knows which transitions are
            possible. Give a model to declare terminal states, which must pay nothing and never be left.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
    >>> found = SDPPE(NoPrivacy(), episodes=400).run(river_swim(4, 6), np.random.default_rng(0))
    >>> found.regrets.shape, found.stages[-1].optimal_stays
    ((400,), True)
    """

    privatizer: BatchPrivatizer
    episodes: int
    constants: EliminationConstants = field(default=TUNED)
    policies: Policies = "enumerated"
    model: PublicModel | None = None
    _levels: dict[tuple[ReleaseShape, int], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> EliminationRun:
        """Return the result of learning in `environment`. The learner knows which transitions are possible.

        If `rng` is a seed or a generator, the run is a simulation. The generator is split in two: one for the users,
        one for the noise.

        Raises:
            ValueError: `keep` is true, because only counts are drawn and no trajectories; there are too many policies
                to enumerate; or there are fewer than 3 episodes.
            EmptyActiveSetError: the threshold is 0, so the best policy was dropped too.
        """
        if keep:
            raise ValueError(
                "keep (True) must be False, because batches are drawn as counts, not as trajectories"
            )
        randomness = Randomness.of(rng)
        users, noises = randomness.generator.spawn(2)
        deployment = _Deployment(environment, users)
        elimination = self._begin(environment, noises)
        reports = list[StageReport]()
        while (batch := elimination.batch) is not None:
            elimination.take([deployment.run(part) for part in batch.parts])
            if len(elimination.stages) > len(reports):
                reports.append(deployment.report(elimination))
        regrets = np.concatenate(deployment.regrets)
        return EliminationRun(
            regrets,
            len(regrets),
            switches=deployment.switches,
            stages=tuple(reports),
            policy=elimination.active.best(),
            simulated=randomness.simulated,
        )

    def _begin(self, environment: TabularMDP, noises: np.random.Generator) -> Elimination:
        model = self.model or PublicModel.of(environment)
        return Elimination(
            model,
            active_set(model, self.policies, self.constants),
            self.episodes,
            self.constants,
            lambda counts, n: self._release(counts, n, noises),
        )

    def _release(
        self, counts: BatchCounts, users: int, rng: np.random.Generator
    ) -> tuple[ReleasedCounts, float]:
        """Return the private counts, with the level at the privatizer's own failure probability."""
        found = self._levels.get((counts.shape, users))
        if found is None:
            failure = getattr(self.privatizer, "failure", self.constants.delta)
            found = self._levels[counts.shape, users] = self.privatizer.level(counts.shape, users, failure)
        return self.privatizer.release(counts, users, rng), found

    def run_many(
        self, environment: TabularMDP, seed: int | None, runs: int, executor: Executor | None = None
    ) -> tuple[LearningRun, ...]:
        """Return the results of `runs` independent runs of this learner. See `learning_run.run_many`."""
        return run_many(self, environment, seed, runs, executor)
