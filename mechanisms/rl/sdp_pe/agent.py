"""SDP-PE: policy elimination in stages, from private counts of batches of users.

The learner knows which next states each action may lead to, and it learns their probabilities. It enumerates all
policies, so only tiny problems can be run.

Each stage explores crudely, step by step, and then finely (Algorithms 2 and 3). A stage does not use data of earlier
stages. At its end it drops the active policies whose estimated value is too low. Active policies are those not yet
dropped. For fine exploration the paper asks for the best single policy, which does not exist. The learner plays a
random mixture of policies instead (`dpproof.mechanisms.rl.sdp_pe.coverage`).

Source: Bai, Talebi, Zhao, Cheng and Chen, "Near-optimal reinforcement learning with shuffle differential
privacy" (2026), Algorithms 1 to 3.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.rl.learning_run import LearningRun, run_many
from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.batches import Stage, schedule, user_counts_of_batch
from dpproof.mechanisms.rl.sdp_pe.constants import TUNED, EliminationConstants, Problem
from dpproof.mechanisms.rl.sdp_pe.coverage import Coverage, EmptyActiveSetError, cover, start_of
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace
from dpproof.mechanisms.rl.sdp_pe.privatizer import (
    BatchCounts,
    BatchPrivatizer,
    ReleasedCounts,
)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Mixture(NamedTuple):
    """A random policy, which every user draws independently from m numbered policies.

    `numbers` (m,) are the numbers of the policies in increasing order, and `weights` (m,) are their probabilities.
    """

    numbers: Ints
    weights: Floats


class Play(NamedTuple):
    """The two functions with which exploration uses a batch of users.

    `run` lets a number of users follow a mixture of policies and returns their true counts. `release` returns
    private counts and a bound on their error.
    """

    run: Callable[[Mixture, int], BatchCounts]
    release: Callable[[BatchCounts, int], tuple[ReleasedCounts, float]]


@dataclass(frozen=True, eq=False)
class Crude:
    """The result of crude exploration, for H steps, X states and A actions.

    Attributes:
        transitions: estimated probabilities (H, n, A, n) of transitions between at most n reachable states of each
            step, as in `PolicySpace.reduced`.
        infrequent: bool (H, X, A, X): whether the transition was seen too rarely. Its probability is set to 0.
        auxiliary: the uniform mixture of all policies that crude exploration chose.
        heads: for each step, and each choice of the actions up to this step, an active policy with these actions
            (`kernels.heads`).
        level: the largest error bound of the private releases of crude exploration.
    """

    transitions: Floats
    infrequent: Bools
    auxiliary: Mixture
    heads: list[Ints]
    level: float


@dataclass(frozen=True, eq=False)
class Fine:
    """The result of fine exploration: estimated tables, and the coverage of the played mixture.

    `level` is the error bound of the private counts. The tables `transitions` and `rewards` have only reachable states
    (`PolicySpace.reduced`).
    """

    transitions: Floats
    rewards: Floats
    coverage: Coverage
    level: float


def uniform(numbers: Ints) -> Mixture:
    """Return the uniform mixture of the listed policies.

    A policy that is listed twice has twice the weight.
    """
    named, times = np.unique(numbers, return_counts=True)
    return Mixture(named, times / times.sum())


def crude_exploration(
    space: PolicySpace,
    problem: Problem,
    constants: EliminationConstants,
    active: Bools,
    scores: Floats,
    stage: Stage,
    play: Play,
) -> Crude:
    """Run crude exploration (Algorithm 2), and return its result.

    For each step, users play the policies that visit each state and action most often by the estimates so far. If a
    step has no episodes, all its transitions count as infrequent.
    """
    H, X, A = space.horizon, space.states, space.actions
    heads = kernels.heads(space.layout, active, scores)
    infrequent, model = np.ones((H, X, A, X), np.bool_), np.zeros((H, X, A, X))
    passed, sought, level = start_of(space), list[Ints](), 0.0
    for h, users in enumerate(stage.layers):
        policies, _ = kernels.explore(space.layout, h, passed, heads[h], scores)
        sought.append(policies[policies >= 0])
        if users > 0:
            counts = play.run(uniform(sought[-1]), users)
            layer = BatchCounts(counts.visits[h : h + 1], counts.transitions[h : h + 1])
            released, E = play.release(layer, users)
            level = max(level, E)
            infrequent[h] = without_margin(released, E, constants)[0] <= constants.infrequent(problem, E)
            model[h] = quotients(released, E, constants, infrequent[h : h + 1])[0]
        if h + 1 < H:
            passed = kernels.advance(space.layout, h, passed, space.reduced(model))
    return Crude(space.reduced(model), infrequent, uniform(np.concatenate(sought)), heads, level)


def fine_exploration(
    space: PolicySpace,
    constants: EliminationConstants,
    active: Bools,
    scores: Floats,
    crude: Crude,
    stage: Stage,
    play: Play,
) -> Fine:
    """Run fine exploration (Algorithm 3), and return its result.

    Users play a mixture of policies in place of the single policy of equation (4). Transitions and rewards are
    estimated from one private release.
    """
    coverage = cover(space, crude.transitions, active, heads=crude.heads, scores=scores)
    explored = play.run(Mixture(coverage.numbers, coverage.weights), stage.fine)
    auxiliary = play.run(crude.auxiliary, stage.auxiliary)
    users = stage.fine + stage.auxiliary
    released, E = play.release(_together(explored, auxiliary), users)
    transitions = quotients(released, E, constants, crude.infrequent)
    return Fine(space.reduced(transitions), space.reduced(rewards(released, E, constants)), coverage, E)


def _together(one: BatchCounts, other: BatchCounts) -> BatchCounts:
    assert one.rewards is not None
    assert other.rewards is not None
    return BatchCounts(
        one.visits + other.visits, one.transitions + other.transitions, one.rewards + other.rewards
    )


def quotients(
    released: ReleasedCounts, level: float, constants: EliminationConstants, infrequent: Bools
) -> Floats:
    """Return estimated transition probabilities: released transitions divided by released visits.

    The estimates are 0 for infrequent transitions, so a row may sum to less than 1.
    """
    visits = _visits(released, level, constants)
    counts = without_margin(released, level, constants)
    counts = np.where(infrequent, 0.0, counts)
    return np.where(visits > 0, counts / np.where(visits > 0, visits, 1.0), 0.0)


def rewards(released: ReleasedCounts, level: float, constants: EliminationConstants) -> Floats:
    """Return estimated mean rewards: released sums of rewards divided by released visits, 0 without visits."""
    assert released.rewards is not None
    visits = _visits(released, level, constants)[..., 0]
    found = np.where(visits > 0, released.rewards / np.where(visits > 0, visits, 1.0), 0.0)
    return np.clip(found, 0.0, 1.0) if constants.clip else found


def without_margin(released: ReleasedCounts, level: float, constants: EliminationConstants) -> Floats:
    """Return the released transitions with only a share of the margin that the privatizer added.

    The privatizer added level/(2X) to each transition, for X states. ``constants.margin`` is the share of it that
    stays.
    """
    states = released.transitions.shape[-1]
    found: Floats = np.maximum(released.transitions - (1 - constants.margin) * level / (2 * states), 0.0)
    return found


def _visits(released: ReleasedCounts, level: float, constants: EliminationConstants) -> Floats:
    """Return visits, treated in the same way, with one more axis."""
    found: Floats = np.maximum(released.visits - (1 - constants.margin) * level / 2, 0.0)[..., None]
    return found


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
    """

    switches: int = 0
    stages: tuple[StageReport, ...] = ()


class _Deployment:
    """The policies in play: their true values, the played mixtures, and the draws of the users."""

    def __init__(self, environment: TabularMDP, space: PolicySpace, rng: np.random.Generator) -> None:
        shape = (space.horizon, space.states, space.actions)
        law = space.reduced(np.broadcast_to(environment.transitions, (*shape, space.states)))
        tables = np.empty(int(space.layout.offsets[-1]))
        kernels.all_values(
            space.layout, law, space.reduced(np.broadcast_to(environment.rewards, shape)), tables
        )
        self.values: Floats = tables[: space.count].copy()
        self.environment, self.space, self.rng = environment, space, rng
        self.regrets: list[Floats] = []
        self.switches = -1
        self._last: Mixture | None = None

    def run(self, mixture: Mixture, users: int) -> BatchCounts:
        """Let users play, and count their visits, rewards and transitions."""
        regret = self.values.max() - mixture.weights @ self.values[mixture.numbers]
        self.regrets.append(np.full(users, max(regret, 0.0)))
        last = self._last
        if last is None or not all(map(np.array_equal, last, mixture)):
            self.switches += 1
        self._last = mixture
        policies = self.space.policies(mixture.numbers)
        return user_counts_of_batch(self.environment, policies, mixture.weights, users, self.rng)


@dataclass(frozen=True)
class SDPPE:
    """A learner that eliminates policies with any privatizer of batches; it knows which transitions are possible.

    Attributes:
        privatizer: the privatizer of a batch's counts. `NoPrivacy` gives policy elimination without privacy.
        episodes: number of episodes, at least 3.
        constants: the constants of the algorithm: the printed ones, those of the proof, or tuned ones.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
    >>> found = SDPPE(NoPrivacy(), episodes=400).run(river_swim(4, 6), np.random.default_rng(0))
    >>> found.regrets.shape, found.stages[-1].optimal_stays
    ((400,), True)
    """

    privatizer: BatchPrivatizer
    episodes: int
    constants: EliminationConstants = field(default=TUNED)
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
        space = PolicySpace.of(environment)
        problem = Problem(space.states, space.actions, space.horizon, self.episodes, space.count)
        deployment = _Deployment(environment, space, users)
        play = Play(deployment.run, lambda counts, n: self._release(counts, n, noises))
        active, scores = np.ones(space.count, np.bool_), np.zeros(space.count)
        reports = []
        for stage in schedule(self.episodes, space.horizon, self.constants.first):
            guide = scores if self.constants.scored else np.zeros(space.count)
            crude = crude_exploration(space, problem, self.constants, active, guide, stage, play)
            fine = fine_exploration(space, self.constants, active, guide, crude, stage, play)
            threshold = self.constants.threshold(problem, fine.level, stage.length)
            scores = eliminate(space, fine, active, threshold)
            reports.append(_report(space, stage, crude, fine, threshold, active, deployment.values))
        regrets = np.concatenate(deployment.regrets)
        return EliminationRun(
            regrets,
            len(regrets),
            switches=deployment.switches,
            stages=tuple(reports),
            simulated=randomness.simulated,
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


def eliminate(space: PolicySpace, fine: Fine, active: NDArray[np.bool_], threshold: float) -> Floats:
    """Mark policies far below the best as not `active`, in place. Return the estimated values of all policies.

    A policy is dropped if its estimated value is at least `threshold` below that of the best active policy.

    Raises:
        EmptyActiveSetError: no policy is active, before or after this step.
    """
    tables = np.empty(int(space.layout.offsets[-1]))
    kernels.all_values(space.layout, fine.transitions, fine.rewards, tables)
    values = tables[: space.count].copy()
    top = kernels.best(values, active)
    if top < 0 or kernels.drop(values, active, values[top], threshold) == 0:
        rule = "must be above 0, and at least one policy must be active. Otherwise no policy remains."
        raise EmptyActiveSetError(f"threshold ({threshold!r}) {rule}")
    return values


def _report(
    space: PolicySpace,
    stage: Stage,
    crude: Crude,
    fine: Fine,
    threshold: float,
    active: NDArray[np.bool_],
    values: Floats,
) -> StageReport:
    regrets = values.max() - values[active]
    after = np.vstack([space.reachable[1:], np.ones((1, space.states), np.bool_)])
    tuples = crude.infrequent & space.reachable[:, :, None, None] & after[:, None, None, :]
    return StageReport(
        stage.length,
        fine.level,
        int(tuples.sum()),
        fine.coverage.gap,
        threshold,
        int(active.sum()),
        bool(regrets.min() <= kernels.TIE),
        float(regrets.max()),
    )
