"""SDP-PE as a process that asks for batches of users: Algorithms 1 to 3, without any environment.

    while (batch := elimination.batch) is not None:
        counts = ...                       the users of `batch.parts` play, and their visits are counted
        elimination.take(counts)           private counts are released, and the next batch is chosen

Each stage explores crudely, step by step, and then finely (Algorithms 2 and 3). A stage does not use data of earlier
stages. At its end it drops the active policies whose estimated value is too low. For fine exploration the paper asks
for the best single policy, which does not exist. Users draw a policy from a random policy instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.mechanisms.rl.sdp_pe.active_sets import ActiveSet
from dpproof.mechanisms.rl.sdp_pe.batches import Stage, schedule
from dpproof.mechanisms.rl.sdp_pe.constants import EliminationConstants, Problem
from dpproof.mechanisms.rl.sdp_pe.mixtures import RandomPolicy, uniform
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, ReleasedCounts
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Part(NamedTuple):
    """Some users of a batch, and the random policy from which each of them draws a policy."""

    policy: RandomPolicy
    users: int


@dataclass(frozen=True, eq=False)
class Batch:
    """Users whose counts are released together.

    Attributes:
        parts: groups of users with different random policies. They come one after another.
        step: the only step whose visits and transitions are released. If it is None, all steps are released, with
            rewards.
    """

    parts: tuple[Part, ...]
    step: int | None

    @property
    def users(self) -> int:
        """Number of users of the batch."""
        return sum(part.users for part in self.parts)

    def selected(self, counts: BatchCounts) -> BatchCounts:
        """Return the counts that are released of a batch."""
        if self.step is None:
            return counts
        rows = slice(self.step, self.step + 1)
        return BatchCounts(counts.visits[rows], counts.transitions[rows])


@dataclass(frozen=True)
class StageResult:
    """The public statistics of one stage of policy elimination.

    Attributes:
        stage: the numbers of episodes.
        level: error bound of the private counts of fine exploration.
        infrequent: bool (H, X, A, X): whether the transition was seen too rarely. Its estimate is 0.
        gap: how far the random policy of fine exploration is from the best one, as in `Coverage.gap`.
        threshold: policies whose estimated value was at least this far below the best one were dropped.
        active: number of policies that stay active.
    """

    stage: Stage
    level: float
    infrequent: Bools
    gap: float
    threshold: float
    active: int


class _Crude(NamedTuple):
    """Results of crude exploration: estimated transitions, infrequent ones, and the uniform mixture of its policies."""

    transitions: Floats
    infrequent: Bools
    auxiliary: RandomPolicy


Answer: TypeAlias = tuple[ReleasedCounts, float]
Steps: TypeAlias = Generator[Batch, Answer, None]
Release: TypeAlias = Callable[[BatchCounts, int], Answer]
"""Type of a function from counts and the number of users to private counts, and a bound on their error."""


class Elimination:
    """A run of SDP-PE, which asks for one batch of users after another.

    Attributes:
        model: the public knowledge about the environment.
        active: the policies that are not yet dropped.
        stages: the results of the stages that are complete.
        batch: the batch that the algorithm needs next, or None at the end of the run.

    Args:
        model: the public knowledge about the environment.
        active: all policies.
        episodes: number of users, at least 3.
        constants: the constants of the algorithm.
        release: function that returns private counts.

    Raises:
        ValueError: there are fewer than 3 episodes.
    """

    def __init__(
        self,
        model: PublicModel,
        active: ActiveSet,
        episodes: int,
        constants: EliminationConstants,
        release: Release,
    ) -> None:
        self.active, self.stages = active, list[StageResult]()
        self.model, self._constants, self._release = model, constants, release
        H, X, A = self._shape = (model.steps, model.states, model.actions)
        self._problem = Problem(X, A, H, episodes, active.policies)
        self._impossible: Bools = ~model.possible if constants.known else np.zeros((X, A, X), np.bool_)
        self._steps = self._run(schedule(episodes, H, constants.first))
        self.batch: Batch | None = next(self._steps)

    def take(self, counts: Sequence[BatchCounts]) -> None:
        """Release the private counts of the present batch, and choose the next batch.

        ``counts`` are the true counts of the batch's parts, one for each part.

        Raises:
            ValueError: the run is over, or the number of parts is wrong.
            EmptyActiveSetError: the threshold is 0, so the best policy was dropped too.
        """
        batch = self.present()
        if len(counts) != len(batch.parts):
            raise ValueError(f"counts ({len(counts)} parts) must have {len(batch.parts)} parts")
        self.go_on(*self._release(batch.selected(added(counts)), batch.users))

    def go_on(self, released: ReleasedCounts, level: float) -> None:
        """Use released counts of the present batch, with a bound on their error, and choose the next batch."""
        self.batch = None  # if the next line raises an error, the run is over
        with suppress(StopIteration):
            self.batch = self._steps.send((released, level))

    def present(self) -> Batch:
        """Return the present batch.

        Raises:
            ValueError: the run is over.
        """
        if self.batch is None:
            raise ValueError("All users of this run have been seen. Start a new run for more users.")
        return self.batch

    def shape(self, batch: Batch) -> ReleaseShape:
        """Return the sizes of the release of a batch."""
        H, X, A = self._shape
        return ReleaseShape(H if batch.step is None else 1, X, A, batch.step is None)

    def _run(self, stages: Sequence[Stage]) -> Steps:
        """Run Algorithm 1."""
        for stage in stages:
            crude = yield from self._explore_crudely(stage)
            yield from self._explore_finely(stage, crude)

    def _explore_crudely(self, stage: Stage) -> Generator[Batch, Answer, _Crude]:
        """Run crude exploration (Algorithm 2). If a step has no episodes, all its transitions are infrequent.

        For each step, users play the policies that visit each state and action most often by the estimates so far.
        """
        H, X, A = self._shape
        infrequent, model = np.ones((H, X, A, X), np.bool_), np.zeros((H, X, A, X))
        sought = []
        for h, users in enumerate(stage.layers):
            sought.append(self.active.layer(h, model))
            if users > 0:
                released, E = yield Batch((Part(uniform(sought[-1]), users),), h)
                counts = without_margin(released, E, self._constants)[0]
                infrequent[h] = self._impossible | (counts <= self._constants.infrequent(self._problem, E))
                model[h] = quotients(released, E, self._constants, infrequent[h : h + 1])[0]
        return _Crude(model, infrequent, uniform(np.concatenate(sought)))

    def _explore_finely(self, stage: Stage, crude: _Crude) -> Steps:
        """Run fine exploration (Algorithm 3), and drop policies.

        Users play a random policy in place of the single policy of equation (4). Transitions and rewards are estimated
        from one private release.
        """
        covering = self.active.covering(crude.transitions)
        parts = Part(covering.policy, stage.fine), Part(crude.auxiliary, stage.auxiliary)
        released, E = yield Batch(parts, None)
        transitions = quotients(released, E, self._constants, crude.infrequent)
        threshold = self._constants.threshold(self._problem, E, stage.length)
        self.active.eliminate(transitions, rewards(released, E, self._constants), threshold)
        self.stages.append(
            StageResult(stage, E, crude.infrequent, covering.gap, threshold, self.active.count)
        )


def added(counts: Sequence[BatchCounts]) -> BatchCounts:
    """Return the sum of the counts of several groups of users.

    The result has rewards if all groups have them.
    """
    paid = [each.rewards for each in counts if each.rewards is not None]
    return BatchCounts(
        np.sum([each.visits for each in counts], axis=0),
        np.sum([each.transitions for each in counts], axis=0),
        np.sum(paid, axis=0) if len(paid) == len(counts) else None,
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
