"""Release of the first steps of logged trajectories, as far as many experts would play them (Algorithms 1 and 2).

Every round draws a trajectory and tests longer and longer prefixes (the first 1, 2, 3, ... steps). The round stops
when the noisy number of experts who would play the prefix is too small. This is a sparse vector technique that stops
at the first count below the threshold. The Laplace noise is numpy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.rl.expert.design import Design
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters, account
from dpproof.mechanisms.randomness import Randomness, Source, how_drawn
from dpproof.mechanisms.rl.expert.policies import Experts, prefix_counts
from dpproof.mechanisms.sparse_vector.technique import BELOW, compare_noisily

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """The result of one release: the episode drawn in each round, and how many of its first steps are released.

    Attributes:
        drawn: int64 (rounds,), the drawn episode, or -1 if the drawn expert had no episode left. It must not be
            published.
        lengths: int64 (rounds,), how many first steps of the drawn episode are released.
        starts: int64 (episodes,), index of each episode's first step.
        simulated: whether the draws came from a seed or a given generator. If so, no guarantee holds.

    The released steps may be published in the order of the rounds, without the numbers of their experts.
    """

    drawn: Integers
    lengths: Integers
    starts: Integers
    simulated: bool = True

    def __repr__(self) -> str:
        return f"<Release of {len(self.drawn)} rounds; {how_drawn(self.simulated)}>"

    @property
    def steps(self) -> Integers:
        """Return the released steps of all rounds, as row numbers of the data set."""
        rows = [self.starts[e] + np.arange(k) for e, k in zip(self.drawn, self.lengths, strict=True) if k]
        return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)

    def mask(self, steps: int) -> NDArray[np.bool_]:
        """Return a boolean array that says for each of ``steps`` steps whether it is released."""
        found = np.zeros(steps, dtype=bool)
        found[self.steps] = True
        return found

    def prefixes(self, episodes: Episodes) -> Episodes | None:
        """Return the released first steps as episodes without their experts, or None if nothing is released.

        States and rewards are copied from ``episodes``. So a state number must reveal nothing but the state, and the
        scale of rewards must be fixed without the data. `ExpertData.episodes` break these rules: use
        `ExpertData.released` instead.
        """
        rows, lengths = self.steps, self.lengths[self.lengths > 0]
        if not len(rows):
            return None
        taken = (episodes.states[rows], episodes.actions[rows], episodes.rewards[rows])
        return Episodes(*taken, lengths, np.arange(len(lengths), dtype=np.int64))


@dataclass(frozen=True)
class DataRelease:
    """The mechanism that releases the first steps of logged trajectories. Its parameters fix the noise.

    >>> parameters = ExpertReleaseParameters(3, 2, 0.1, 99, 1, scale=1.0, draws="fresh")
    >>> table = np.tile([[[0.9, 0.1]]], (100, 1, 1))
    >>> from dpproof.mechanisms.rl.expert.policies import TabularExperts
    >>> logged = Episodes.rectangular(*(np.zeros((100, 2), int) for _ in range(3)))
    >>> rng = np.random.default_rng(0)
    >>> DataRelease(parameters).release(logged, TabularExperts(table), rng).lengths.shape
    (3,)
    """

    parameters: ExpertReleaseParameters

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of one release. ``dpproof.accountant.rl.expert.release.account`` computes it."""
        return account(self.parameters, Adjacency.of(adjacency))

    def release(
        self,
        episodes: Episodes,
        experts: Experts,
        rng: Source = None,
        states: NDArray[Any] | None = None,
    ) -> Release:
        """Return a release: in each round, the first steps of a random trajectory that many experts would play.

        Args:
            episodes: the logged episodes. ``user`` is the number of the expert, from 0 on.
            experts: the policies of these experts.
            rng: the source of all random draws. Leave it out for a release, which draws from the operating system's
                entropy. A seed or a generator makes a simulation.
            states: the input of the policies, one row for each step. The default is the states of ``episodes``.

        Raises:
            ValueError: ``states`` does not have one row for each step. An action, the number of actions, the number of
                experts or the length of a trajectory does not fit the parameters. An episode has an unknown expert.
                An expert has no trajectory, or fewer than ``per_expert``. The experts have different numbers of
                trajectories, but ``draws`` is "walk". An expert takes an action with less than the least
                probability.
        """
        seen = episodes.states if states is None else states
        self._check(episodes, experts, seen)
        randomness = Randomness.of(rng)
        drawn = _DRAWS[self.parameters.draws](
            self.parameters.trajectories, episodes.user, randomness.generator
        )
        starts = np.cumsum(episodes.lengths) - episodes.lengths
        lengths, design = np.zeros(len(drawn), dtype=np.int64), self.parameters.design
        for place, episode in enumerate(drawn):
            if episode >= 0:
                rows = slice(starts[episode], starts[episode] + episodes.lengths[episode])
                counts = prefix_counts(
                    experts, seen[rows], episodes.actions[rows], self.parameters.least_probability
                )
                lengths[place] = stable_lengths(design, counts, 1, randomness.generator)[0]
        return Release(drawn, lengths, starts, randomness.simulated)

    def _check(self, episodes: Episodes, experts: Experts, states: NDArray[Any]) -> None:
        p = self.parameters
        if len(states) != len(episodes.actions):
            raise ValueError(
                f"states ({len(states)} rows) must have one row for each step ({len(episodes.actions)})"
            )
        if experts.actions != p.actions or int(episodes.actions.max()) >= p.actions:
            most = max(experts.actions, int(episodes.actions.max()) + 1)
            raise ValueError(f"actions ({most}) must be {p.actions}, as in the parameters")
        if experts.count < p.experts:
            raise ValueError(f"experts ({experts.count}) must be at least {p.experts}, as in the parameters")
        if int(episodes.user.min()) < 0 or int(episodes.user.max()) >= experts.count:
            raise ValueError(f"user ({int(episodes.user.max())}) must be one of 0, ..., {experts.count - 1}")
        logged = np.bincount(episodes.user, minlength=experts.count)
        if (logged == 0).any():
            raise ValueError(f"expert {int(logged.argmin())} must have at least one trajectory")
        if int(logged.min()) < p.per_expert:
            few = f"expert {int(logged.argmin())} ({int(logged.min())} trajectories)"
            raise ValueError(f"{few} must have at least {p.per_expert} trajectories, as per_expert says")
        if p.draws == "walk" and int(logged.max()) > int(logged.min()):
            uneven = f"{int(logged.min())} to {int(logged.max())}"
            raise ValueError(
                f"all experts must have the same number of trajectories if draws is 'walk', but they have {uneven}"
            )
        if int(episodes.lengths.max()) > p.length:
            raise ValueError(
                f"the longest trajectory ({int(episodes.lengths.max())} steps) must have at most {p.length} steps, "
                "as length says"
            )


def _walk(rounds: int, owner: Integers, rng: np.random.Generator) -> Integers:
    """Return the first trajectories of a shuffled data set (Algorithm 2, lines 4 to 6)."""
    return rng.permutation(len(owner))[:rounds].astype(np.int64)


def _afresh(rounds: int, owner: Integers, rng: np.random.Generator) -> Integers:
    """Draw an expert for each round, and its next trajectory in random order, or -1 if it has none left."""
    shuffled = rng.permutation(len(owner))
    left: dict[int, list[int]] = {}
    for episode in shuffled.tolist():
        left.setdefault(int(owner[episode]), []).append(episode)
    chosen = rng.integers(0, int(owner.max()) + 1, rounds).tolist()
    return np.array([left[expert].pop() if left.get(expert) else -1 for expert in chosen], dtype=np.int64)


_DRAWS = {"walk": _walk, "fresh": _afresh}


def stable_lengths(design: Design, counts: NDArray[np.float64], n: int, rng: np.random.Generator) -> Integers:
    """Return how many first steps of a trajectory are released in ``n`` independent rounds, ``(n,)``.

    ``counts`` are the results of ``prefix_counts``. The release stops before the first step whose noisy count is at or
    below the noisy threshold. The sparse vector technique stops at the first value at or above a noisy threshold.
    So it gets the cutoff (the threshold without noise) minus the counts as its values, and the threshold 0. The
    result has the same distribution, because Laplace noise is symmetric.

    >>> design = Design(threshold_scale=1.0, count_scale=1.0, least_count=2.0, cutoff=40.0)
    >>> stable_lengths(design, np.array([90.0, 80.0, 1.0]), 2, np.random.default_rng(0)).tolist()
    [2, 2]
    """
    answers = compare_noisily(
        design.cutoff - counts,
        n,
        rng,
        threshold_scale=design.threshold_scale,
        query_scale=design.count_scale,
        positives=1,
    )
    return np.asarray((answers == BELOW).sum(axis=1), dtype=np.int64)
