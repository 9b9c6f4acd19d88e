"""SDP-PE with real users, who arrive one after another. No model of the environment is needed.

    stream = EliminationStream(model, ShufflePrivatizer.calibrated(1.0, 1e-6), episodes=20_000)
    policy = stream.policy()                    the policy of the present user
    stream.see(states, actions, rewards)        this user's episode, or stream.skip() if there was none

The object plays two trusted parties of the shuffle model: the users' encoders and the shuffler. It holds the counts of
the present batch. When the last user of a batch has been seen, it releases how many messages are 1 in each counter.
Everything else is computed from these sums, so policies and estimates are as private as the sums.

A user who is skipped sends noise bits only. To replace a user by an absent one changes fewer counters than to replace
a user by another (docs/notes/sdp_batches.md, section 1), so the guarantee covers this, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import Attained
from dpproof.accountant.guarantees.profile import WorstOf
from dpproof.accountant.rl.sdp_pe.batches import BatchLoss, ReleaseShape, batch_loss
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness, Source, guaranteed
from dpproof.mechanisms.release.grid import OnGrid, Released, Simulated
from dpproof.mechanisms.rl.sdp_pe.batches import schedule
from dpproof.mechanisms.rl.sdp_pe.constants import TUNED, EliminationConstants
from dpproof.mechanisms.rl.sdp_pe.elimination import Answer, Elimination, StageResult
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts
from dpproof.mechanisms.rl.sdp_pe.product_sets import Policies, active_set
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult

Ints = NDArray[np.int64]
_MECHANISM = "shuffled-batch"
_SAMPLER = f"{ShufflePrivatizer.__module__}.{ShufflePrivatizer.__qualname__}.sums"


class _Sums(OnGrid):
    """How many messages of a batch are 1 in each counter: visits (unless they are summed), transitions, rewards."""

    mechanism = _MECHANISM
    parameters: ShuffledBatchParameters

    @property
    def counts(self) -> BatchCounts:
        """The sums as arrays."""
        shape = self.parameters.shape
        cells = shape.steps, shape.states, shape.actions
        flat, n = np.array(self.integers, np.int64), shape.cells
        own = n if shape.own_visits else 0
        transitions = flat[own : own + n * shape.states].reshape(*cells, shape.states)
        visits = flat[:n].reshape(cells) if own else transitions.sum(axis=-1)
        return BatchCounts(visits, transitions, flat[-n:].reshape(cells) if shape.rewards else None)


class ReleasedBatch(_Sums, Released):
    """The released sums of one batch. The guarantee covers every bit."""


class SimulatedBatch(_Sums, Simulated):
    """The sums of one batch, drawn from a seed or a given generator. They have no guarantee."""


class EliminationStream:
    """A run of SDP-PE with users who arrive one after another. The guarantee covers every released bit.

    >>> model = PublicModel(np.ones((2, 2, 2), bool), horizon=2)
    >>> stream = EliminationStream(model, ShufflePrivatizer.calibrated(1.0, 1e-6), episodes=6)
    >>> policy = stream.policy()
    >>> stream.see(states=[0, 1, 0], actions=[policy[0, 0], policy[1, 1]], rewards=[0.5, 1.0])
    >>> stream.skip()
    >>> stream.seen, stream.best_policy().shape
    (2, (2, 2))
    >>> stream.account("replace").delta(1).upper <= 1e-6
    True

    Args:
        model: the public knowledge about the environment.
        privatizer: the noise of the shuffle model.
        episodes: number of users of the whole run, at least 3. It must be chosen beforehand.
        constants: the constants of the algorithm. The default has no regret guarantee.
        seed: leave it out for a release, which draws from the operating system's entropy. A seed or a generator
            makes a simulation.
        policies: how active policies are stored. `product` stores which actions are allowed in each step and state.
            `enumerated` lists all policies, as the paper does, so only tiny problems can be run.
        past: released batches of an interrupted run with the same arguments (`releases`). The stream goes on after
            them, and draws nothing twice. Data of users of a batch that was not complete are lost, and their slots are
            free.

    Raises:
        ValueError: there are fewer than 3 episodes, there are too many policies, `past` belongs to another run, or it
            mixes releases and simulations.
    """

    def __init__(
        self,
        model: PublicModel,
        privatizer: ShufflePrivatizer,
        episodes: int,
        *,
        constants: EliminationConstants = TUNED,
        seed: Source = None,
        policies: Policies = "product",
        past: Sequence[ReleasedBatch | SimulatedBatch] = (),
    ) -> None:
        self._randomness = Randomness.of(seed)
        self._users, self._noises = self._randomness.spawn(2)
        self._model, self._privatizer = model, privatizer
        self._episodes, self._constants = _checks.at_least("episodes", episodes, 3), constants
        active = active_set(model, policies, constants)
        self._elimination = Elimination(model, active, episodes, constants, self._release)
        self._releases = list[ReleasedBatch | SimulatedBatch]()
        self._seen = 0
        for one in past:
            self._repeat(one)
        self._begin()

    @property
    def model(self) -> PublicModel:
        """The public knowledge about the environment."""
        return self._model

    @property
    def simulated(self) -> bool:
        """Whether a seed or a given generator draws the noise. If so, no guarantee holds."""
        return self._randomness.simulated

    @property
    def episodes(self) -> int:
        """Number of users of the whole run."""
        return self._episodes

    @property
    def seen(self) -> int:
        """Number of users so far. Skipped users count."""
        return self._seen

    @property
    def over(self) -> bool:
        """Whether all users have been seen."""
        return self._elimination.batch is None

    @property
    def releases(self) -> tuple[ReleasedBatch | SimulatedBatch, ...]:
        """The batches that were released so far. With them an interrupted run goes on."""
        return tuple(self._releases)

    @property
    def stages(self) -> tuple[StageResult, ...]:
        """The statistics of the stages that are complete."""
        return tuple(self._elimination.stages)

    def policy(self) -> Ints:
        """Return the policy of the present user: actions (H, X) for H steps and X states.

        The first call for a user draws the policy. Later calls return the same policy.

        Raises:
            ValueError: all users have been seen.
        """
        extra, states = self._model.extra, self._model.support.shape[0]
        return self._present()[extra:, :states].copy()

    def draw(self) -> Ints:
        """Return a new draw of a policy (H, X) for a user of the present batch, for users whose episodes overlap.

        Add these users with ``see(..., own=False)``.

        Raises:
            ValueError: all users have been seen.
        """
        extra, states = self._model.extra, self._model.support.shape[0]
        batch = self._elimination.present()
        return batch.parts[self._part].policy.draw(self._users.generator)[extra:, :states].copy()

    def see(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, *, own: bool = True) -> None:
        """Add the episode of the present user. After the last user of a batch, the batch is released.

        Each reward r is made into a random bit, which is 1 with probability r. In a deployment with encoders at the
        users, each user does this before sending anything.

        Args:
            states: the n + 1 visited states. The number n is the horizon, or less if the last state is terminal.
            actions: the n actions.
            rewards: the n rewards, in [0, 1].
            own: whether the user followed `policy`, so that the actions must be those of this policy.

        Raises:
            ValueError: the data are out of range, or do not follow the policy or the public support. Nothing is then
                added, and the user's slot stays free. The same if all users have been seen.
        """
        self._elimination.present()
        visited, taken, paid = self._model.trajectory(states, actions, rewards)
        steps = np.arange(taken.size)
        wanted = self._present()[steps, visited[:-1]] if own else taken
        wrong = np.flatnonzero((taken != wanted)[self._model.extra :])
        if wrong.size:
            raise ValueError(
                f"actions must be those of the user's policy, but that of step {wrong[0]} is not"
            )
        bits = self._users.generator.random(paid.size) < paid
        counts = self._counts[self._part]
        assert counts.rewards is not None
        cells = steps, visited[:-1], wanted
        counts.visits[cells] += 1
        counts.transitions[(*cells, visited[1:])] += 1
        counts.rewards[cells] += bits
        self._next()

    def skip(self) -> None:
        """Count the present user as absent: the user sends noise bits only. The slot is used.

        Raises:
            ValueError: all users have been seen.
        """
        self._elimination.present()
        self._next()

    def best_policy(self) -> Ints:
        """Return the active policy (H, X) that is best by the estimates of the last complete stage.

        Before the first stage is complete, it is the first of all policies.
        """
        extra, states = self._model.extra, self._model.support.shape[0]
        return self._elimination.active.best()[extra:, :states].copy()

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of the whole run. A user is in one batch, so it is that of the weakest batch.

        Raises:
            SimulationError: a seed or a generator was given.
            UnprovedAdjacencyError: the relation is not `replace`.
        """
        return guaranteed(self.simulated, lambda: self._guarantee(Adjacency.of(adjacency)))

    def _guarantee(self, adjacency: Adjacency) -> PrivacyResult:
        """Return the guarantee of the batch with most counters, with the profile of the weakest batch."""
        sizes = sorted(self._planned(), key=lambda pair: (pair[0].changes, pair[1]))
        parameters = replace(self._parameters(*sizes[-1]), batches=self._planned_batches)
        found = accountant_for(_MECHANISM).account(parameters, adjacency)
        losses = _weakest([self._loss(*pair) for pair in sizes])
        worst = losses[0] if len(losses) == 1 else WorstOf(tuple(losses))
        attained = found.attained and Attained(worst, found.attained.pair)
        notes = (
            f"the guarantee is that of the weakest of {self._planned_batches} batches; the parameters are those of "
            "the batch with most users",
            "a user who is skipped changes no more counters than a user who is replaced",
            *found.notes,
        )
        return replace(
            found,
            guarantee=worst,
            attained=attained,
            published=None,
            exact_sampler=_SAMPLER,
            notes=notes,
        )

    def planned(self) -> tuple[ShuffledBatchParameters, ...]:
        """Return the parameters of all releases of the run, each once, with the largest one last."""
        sizes = sorted(self._planned(), key=lambda pair: (pair[0].changes, pair[1]))
        return tuple(self._parameters(*size) for size in sizes)

    def _planned(self) -> set[tuple[ReleaseShape, int]]:
        model = self._model
        return planned_sizes(self._episodes, model.steps, model.states, model.actions, self._constants.first)

    @property
    def _planned_batches(self) -> int:
        stages = schedule(self._episodes, self._model.steps, self._constants.first)
        return sum(1 + sum(n > 0 for n in stage.layers) for stage in stages)

    def _loss(self, shape: ReleaseShape, users: int) -> BatchLoss:
        parameters = self._parameters(shape, users)
        return batch_loss(parameters.shape, users, parameters.threshold)

    def _parameters(self, shape: ReleaseShape, users: int) -> ShuffledBatchParameters:
        """Return the parameters of one release."""
        return ShuffledBatchParameters(
            users,
            self._privatizer.threshold(shape, users),
            states=shape.states,
            actions=shape.actions,
            horizon=self._model.steps,
            release="fine" if shape.rewards else "crude",
            visits="released" if self._privatizer.own_visits else "summed",
        )

    def _begin(self) -> None:
        """Begin the present batch: no user has been counted."""
        self._policy: Ints | None = None
        self._part, self._filled = 0, 0
        batch = self._elimination.batch
        parts = () if batch is None else batch.parts
        H, X, A = self._model.steps, self._model.states, self._model.actions
        self._counts = [
            BatchCounts(
                np.zeros((H, X, A), np.int64), np.zeros((H, X, A, X), np.int64), np.zeros((H, X, A), np.int64)
            )
            for _ in parts
        ]

    def _present(self) -> Ints:
        """Return the present user's policy in the learner's steps and states."""
        batch = self._elimination.present()
        if self._policy is None:
            self._policy = batch.parts[self._part].policy.draw(self._users.generator)
        return self._policy

    def _next(self) -> None:
        """Go on to the next user. Release the batch if it is full."""
        batch = self._elimination.present()
        self._policy, self._seen, self._filled = None, self._seen + 1, self._filled + 1
        while self._part < len(batch.parts) and self._filled == batch.parts[self._part].users:
            self._part, self._filled = self._part + 1, 0
        if self._part == len(batch.parts):
            counts = self._counts
            self._counts = []
            self._elimination.take(counts)
            self._begin()

    def _release(self, counts: BatchCounts, users: int) -> Answer:
        """Release a batch, and return consistent private counts with the bound on their error."""
        sums = self._privatizer.sums(counts, users, self._noises.generator)
        arrays = [sums.visits] if self._privatizer.own_visits else []
        arrays += [sums.transitions] if sums.rewards is None else [sums.transitions, sums.rewards]
        flat = np.concatenate([array.ravel() for array in arrays])
        kind = SimulatedBatch if self.simulated else ReleasedBatch
        parameters = self._parameters(counts.shape, users)
        self._releases.append(kind(parameters, tuple(flat.tolist()), 0, self._noises))
        return self._answer(sums, users)

    def _answer(self, sums: BatchCounts, users: int) -> Answer:
        level = self._privatizer.level(sums.shape, users, self._privatizer.failure)
        return self._privatizer.estimates(sums, users), level

    def _repeat(self, release: ReleasedBatch | SimulatedBatch) -> None:
        """Use a release of an interrupted run."""
        batch = self._elimination.present()
        wanted = self._parameters(self._elimination.shape(batch), batch.users)
        if release.simulated != self.simulated or release.parameters != wanted:
            rule = f"must be a {'simulation' if self.simulated else 'release'} with the parameters {wanted}"
            raise ValueError(f"past ({len(self._releases)}: {release!r}) {rule}")
        self._releases.append(release)
        self._seen += batch.users
        self._elimination.go_on(*self._answer(release.counts, batch.users))


def planned_sizes(
    episodes: int, steps: int, states: int, actions: int, first: int
) -> set[tuple[ReleaseShape, int]]:
    """Return the sizes of all releases of a run, and their numbers of users. The sizes are those of the learner.

    >>> sorted(users for _, users in planned_sizes(12, steps=1, states=2, actions=2, first=2))
    [2, 4]
    """
    found = set[tuple[ReleaseShape, int]]()
    for stage in schedule(episodes, steps, first):
        found |= {(ReleaseShape(1, states, actions, rewards=False), n) for n in stage.layers if n > 0}
        found.add((ReleaseShape(steps, states, actions), stage.fine + stage.auxiliary))
    return found


def _weakest(losses: Sequence[BatchLoss]) -> list[BatchLoss]:
    """Return the guarantees that may be the weakest. Of those with fair bits, fewer bits are weaker."""
    found = dict[tuple[int, Fraction], BatchLoss]()
    others = list[BatchLoss]()
    for loss in losses:
        if loss.probability != Fraction(1, 2):
            others.append(loss)
        elif (key := (loss.changes, loss.probability)) not in found or loss.trials < found[key].trials:
            found[key] = loss
    return [*found.values(), *dict.fromkeys(others)]
