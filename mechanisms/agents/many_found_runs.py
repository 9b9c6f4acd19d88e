"""The counters of transitions that are found, in many independent runs at once: samples for audits.

The counting, the openings, the noise and the encoder are the code that agents run
(`dpproof.mechanisms.agents.found.FoundCounters`). One run is one block of tables. The users of a run are one user who
is audited and others, who walk the first steps of the audited user's path. The noise comes from a given generator, so
all draws are simulations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.encoder import encoder
from dpproof.mechanisms.agents.found import FoundCounters, Openings
from dpproof.mechanisms.agents.learner import Floats, Ints, Path, Paths
from dpproof.mechanisms.agents.many_runs import EARLY, AgentCounts, paths_apart
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import LatticeSums
from dpproof.mechanisms.release.rounded_noise import RoundedNormal
from dpproof.mechanisms.release.words import WordSource, seeded_words

_SURE = 8
"""Counts that are this many standard deviations above the threshold are opened with near certainty."""
_LEAST = 1e-12
"""The smallest probability that the likelihood ratio uses. It keeps the logarithm finite."""


@dataclass(frozen=True, eq=False)
class FoundUsers:
    """The users of a run, batch by batch.

    Attributes:
        others: for each batch, the paths of other users and the number of users who walk it.
        path: the path of the audited user; None if the user is absent.
        batch: the number of the audited user's batch, from 0.
    """

    others: tuple[tuple[tuple[Path, int], ...], ...]
    path: Path | None
    batch: int

    def walked(self) -> tuple[tuple[tuple[Path, int], ...], ...]:
        """Return the paths of all users of each batch, with their numbers."""
        mine = () if self.path is None else ((self.path, 1),)
        return tuple((*paths, *(mine if t == self.batch else ())) for t, paths in enumerate(self.others))


class RepeatedCounters(FoundCounters):
    """The counters of many runs. The tables of run r follow those of run r - 1. A fault replaces one method."""

    runs = 1

    def repeat(self, runs: int) -> None:
        """Count every user in so many runs. Call it before any user comes."""
        self.runs, self._each = runs, self.tables
        self.tables = runs * self._each
        self._exact = np.zeros((self.tables, *self.after.shape))

    def _visits(self, paths: Paths, *, pooled: bool) -> Ints:
        found = super()._visits(paths, pooled=pooled)
        shifts = np.add.outer(self._each * np.arange(self.runs), found[0]).ravel()
        return np.vstack([shifts, np.tile(found[1:], self.runs)])

    def pairs_of(self, path: Path) -> tuple[Ints, Floats]:
        """Return the numbers of the pairs that a user visits in the first run, and the gains of the visits."""
        tables, cells, after, grains = super()._visits(Paths.of(path), pooled=self.counting.pooled)
        return (tables * self.cells + cells) * self._width + after, grains / self.counting.grains

    def seen(self) -> Floats:
        """Return what is public after a release: noisy gains, noisy counts of open pairs, and which pairs are open.

        The array has the shape (runs, numbers). The counts of pairs that are not open are 0.
        """
        pairs = self._each * self.cells * self._width
        counts, is_open = np.zeros(self.runs * pairs), np.zeros(self.runs * pairs)
        keys = np.fromiter(self._counter, np.int64, len(self._counter))
        counts[keys], is_open[keys] = self._moves.running[: keys.size], 1.0
        gains = self._gains.running / self.counting.grains
        return np.hstack([each.reshape(self.runs, -1) for each in (gains, counts, is_open)])


@dataclass(frozen=True)
class FoundCounts(AgentCounts):
    """The counters of an agent that finds transitions. A fault is a subclass that replaces one method.

    >>> sizes = BatchedCountsParameters(
    ...     2, 1, 1, 3, sigma=1.0, bits=4, grains=1024, opening_sigma=1.0, threshold=3
    ... )
    >>> alone = FoundUsers(((), ()), Path(np.array([0, 1]), np.array([0]), np.ones(1)), batch=0)
    >>> FoundCounts(sizes).sample(alone, 5, np.random.default_rng(0)).shape
    (5, 28)

    Raises:
        ValueError: as for `AgentCounts`.
    """

    kind: type[RepeatedCounters] = RepeatedCounters

    @property
    def task(self) -> Task:
        """The task that the parameters describe. Its transitions are found."""
        return replace(super().task, found=True)

    @property
    def openings(self) -> Openings:
        """How the agent's plan finds transitions."""
        found = self.plan.openings
        if found is None:
            raise ValueError(
                "threshold (None) must be given. Use AgentCounts if every transition has a counter."
            )
        return found

    def opening_noise(self, words: WordSource) -> Callable[[int], Ints]:
        """Return a function that draws the noise of openings."""
        return partial(RoundedNormal(self.openings.sigma).draw, source=words)

    def chance(self, visits: Floats) -> Floats:
        """Return the probability that pairs with so many visits in a period are opened."""
        found: Floats = special.ndtr((visits + 0.5 - self.openings.threshold) / float(self.openings.sigma))
        return np.where(visits > 0, found, 0.0)

    def sample(self, users: FoundUsers, runs: int, rng: np.random.Generator) -> Floats:
        """Return all that is public after each release of each run, an array (runs, numbers).

        For each release these are the sums of gains, the numbers of transitions, and for each pair whether it is open.
        The sums are computed from the noisy numbers, as agents do. They determine these numbers.
        """
        words, found = seeded_words(rng), []
        counters = self._counters(runs, words)
        for paths in users.walked()[:EARLY]:
            for path, copies in paths:
                for _ in range(copies):
                    counters.count(Paths.of(path))
            counters.release()
            found.append(counters.seen())
        return np.hstack(found)

    def _counters(self, runs: int, words: WordSource) -> RepeatedCounters:
        plan, counting = self.plan, self.counting()
        (gain_scale, grains), (scale, units) = plan.families
        gains = self.bank(runs * self.sizes[0], grains, self.noise(gain_scale, grains, words))
        moves = self.bank(0, units, self.noise(scale, units, words))
        if not isinstance(moves, LatticeSums):
            raise TypeError("transitions that are found need counter square-root")
        counters = self.kind(self.task, counting, gains, moves, self.openings, self.opening_noise(words))
        counters.repeat(runs)
        return counters

    @property
    def pairs(self) -> int:
        """The number of pairs of a cell and a next state, over all tables."""
        return self.sizes[0] * (self.parameters.states + 1)

    def parts(self, outputs: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the noisy entries of C x for gains and for transitions, and what is open, of `sample`'s outputs.

        The arrays have the shape (runs, releases, numbers).
        """
        rows = outputs.reshape(len(outputs), -1, self.sizes[0] + 2 * self.pairs)
        weights = self.weights[np.subtract.outer(np.arange(rows.shape[1]), np.arange(rows.shape[1]))]
        coded = np.einsum("ts,nsc->ntc", np.tril(weights), np.diff(rows, axis=1, prepend=0.0))
        gains, numbers, _ = np.split(coded, [self.sizes[0], self.sizes[0] + self.pairs], axis=2)
        return gains, numbers, rows[:, :, self.sizes[0] + self.pairs :]

    @property
    def weights(self) -> Floats:
        """The first column of C, with a coefficient for each release that is audited."""
        column = np.array(encoder(self.parameters), np.float64) / 2 ** (self.parameters.bits or 0)
        found = np.zeros(min(self.plan.releases, EARLY))
        found[: column.size] = column[: found.size]
        return found

    def visits(self, users: FoundUsers) -> tuple[Floats, Floats]:
        """Return the gains and the visits of each pair in the batch of the audited user, over all users."""
        counters, found = self._counters(1, seeded_words(np.random.default_rng(0))), np.zeros((2, self.pairs))
        for path, copies in users.walked()[users.batch]:
            pairs, gains = counters.pairs_of(path)
            np.add.at(found[0], pairs, copies * gains)
            np.add.at(found[1], pairs, copies)
        return found[0], found[1]


def found_ratio(
    outputs: Floats, parameters: BatchedCountsParameters, first: FoundUsers, second: FoundUsers
) -> Floats:
    """Return the log of p1/p0 for outputs of `FoundCounts.sample`, with noise of counters that is not rounded."""
    counts, batch = FoundCounts(parameters), first.batch
    gains, numbers, is_open = counts.parts(outputs)
    before = is_open[:, batch - 1] if batch else np.zeros_like(is_open[:, 0])
    sides = [counts.visits(users) for users in (first, second)]
    weights = counts.weights[: gains.shape[1] - batch, None]
    losses = np.zeros((2, len(outputs)))
    for side, (paid, moved) in enumerate(sides):
        sums = (before * paid).reshape(len(outputs), counts.sizes[0], -1).sum(axis=2)
        apart = (
            gains[:, batch:] - weights * sums[:, None],
            numbers[:, batch:] - weights * (before * moved)[:, None],
        )
        for left, (scale, _) in zip(apart, counts.plan.families, strict=True):
            losses[side] -= (left**2).sum(axis=(1, 2)) / (2 * float(scale) ** 2)
    last = batch + counts.openings.period - 1
    if last < is_open.shape[1]:
        chances = [np.clip(counts.chance(moved), _LEAST, 1 - _LEAST) for _, moved in sides]
        odds = [np.where(is_open[:, last] > 0, np.log(p), np.log1p(-p)) for p in chances]
        losses += (np.array(odds) * (1 - before)).sum(axis=2)
    found: Floats = losses[1] - losses[0]
    return found


def found_users(
    parameters: BatchedCountsParameters, adjacency: Adjacency, opened: int, near: int
) -> tuple[FoundUsers, FoundUsers]:
    """Return two inputs that differ in one user. They show counters, openings near the threshold, and visits alone.

    The user's path is that of `paths_apart`. Before the user comes, so many others walk its first ``opened`` steps that
    these transitions have counters. In the user's period, others walk its first ``near`` steps, and their counts
    stay just below the threshold. Nobody else walks the remaining steps.

    >>> sizes = BatchedCountsParameters(
    ...     2, 1, 1, 3, sigma=1.0, bits=4, grains=1024, opening_sigma=1.0, threshold=3
    ... )
    >>> one, other = found_users(sizes, Adjacency.ADD_REMOVE, opened=0, near=1)
    >>> one.batch, [copies for _, copies in one.others[1]], other.path
    (1, [2], None)
    """
    p, openings = parameters, FoundCounts(parameters).openings
    mine, theirs = paths_apart(p, payoffs_only=adjacency is Adjacency.REWARDS_ONLY)
    users = (mine, None if adjacency is Adjacency.ADD_REMOVE else theirs)
    walked = (mine,) if users[1] is None else (mine, theirs)
    batch = openings.period if 2 * openings.period <= p.batches else 0
    sure = math.ceil(openings.threshold + _SURE * openings.sigma)
    below = (openings.threshold - 1) // (p.cap if p.pooled else 1)
    others: list[tuple[tuple[Path, int], ...]] = [()] * min(p.batches, EARLY)
    if batch:
        others[batch - 1] = tuple((_first(path, opened), sure) for path in walked)
    others[batch] += tuple((_first(path, near), below) for path in walked)
    same = tuple(others)
    return FoundUsers(same, users[0], batch), FoundUsers(same, users[1], batch)


def _first(path: Path, steps: int) -> Path:
    return Path(path.states[: steps + 1], path.actions[:steps], path.gains[:steps])
