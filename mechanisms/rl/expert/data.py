"""Logged data of experts: episodes with continuous observations, grouped by expert, in one NPZ file.

`ExpertData.episodes` are an `accountant.claims.episodes.Episodes`. Their `user` is the number of the expert. A state
is the number of its step, which is also its row in `observations`. The rewards of `episodes` are scaled to [0, 1].
This scale depends on all experts, so only the holders of the data may use `episodes`. The result of
`ExpertData.released` may be published. A learner uses `ExpertData.rewards`, which are not scaled: on the common scale,
the rounding of one expert's rewards would depend on the rewards of others.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.numbers.written import replacing
from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.batched import Steps, roll_out
from dpproof.mechanisms.rl.expert.population import Population

if TYPE_CHECKING:
    from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

_FORMAT = 2
Integers = NDArray[np.int64]
_STEPS = ("states", "actions", "lengths", "user")
_OWN = ("observations", "last", "over", "rewards", "experts")


class Scales(Protocol):
    """The public constants with which a learner sees observations and rewards. A `Problem` has them."""

    @property
    def reward_scale(self) -> float:
        """The factor on rewards."""
        ...

    def scaled(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return observations (n, d) as networks see them."""
        ...


@dataclass(frozen=True, eq=False)
class ExpertData:
    """Logged trajectories of experts, with continuous observations.

    Attributes:
        episodes: the steps of all episodes. The steps are numbered, and these numbers stand in place of states. The
            field `user` holds the number of the expert. Rewards are scaled to [0, 1].
        observations: float32 (steps, d), the observation before each action.
        last: float32 (episodes, d), the observation after the last action of each episode.
        over: bool (episodes,), whether the episode ended by itself, and was not stopped.
        rewards: float64 (steps,), the rewards as the environment paid them.
        experts: number of experts, numbered from 0. Each has at least one episode.

    Raises:
        ValueError: shapes that do not fit, a reward that is not finite, an expert outside the range or
            without an episode.
    """

    episodes: Episodes
    observations: NDArray[np.float32]
    last: NDArray[np.float32]
    over: NDArray[np.bool_]
    rewards: NDArray[np.float64]
    experts: int

    def __post_init__(self) -> None:
        """Check the rules that the types of the fields do not cover."""
        steps, count = len(self.episodes.states), self.episodes.count
        if self.observations.ndim != 2 or len(self.observations) != steps:
            raise ValueError(
                f"observations (shape {self.observations.shape}) must be a matrix with {steps} rows, one for each step"
            )
        if self.last.shape != (count, self.observations.shape[1]) or self.over.shape != (count,):
            raise ValueError(
                f"last (shape {self.last.shape}) must have the shape {(count, self.observations.shape[1])}, "
                f"and over (shape {self.over.shape}) must have the shape {(count,)}"
            )
        if self.rewards.shape != (steps,) or not np.isfinite(self.rewards).all():
            raise ValueError(f"rewards (shape {self.rewards.shape}) must be {steps} finite numbers")
        users = _checks.indices("user", self.episodes.user, self.experts)
        without = np.flatnonzero(np.bincount(users, minlength=self.experts) == 0)
        if len(without):
            raise ValueError(f"expert ({without[0]}) must have at least one trajectory")

    @classmethod
    def of(cls, steps: Steps, user: Integers, experts: int) -> Self:
        """Return a data set of played steps. ``user`` holds the number of the expert who played each episode."""
        ends = np.cumsum(steps.lengths)
        last, over = steps.following[ends - 1], steps.terminal[ends - 1]
        numbers = np.arange(len(steps.actions), dtype=np.int64)
        episodes = _episodes(numbers, steps.actions, steps.lengths, user, steps.rewards)
        return cls(episodes, steps.observations, last, over, np.asarray(steps.rewards, np.float64), experts)

    def returns(self) -> NDArray[np.float64]:
        """Return the sum of rewards of each episode."""
        found: NDArray[np.float64] = np.add.reduceat(self.rewards, self.starts())
        return found

    def starts(self) -> Integers:
        """Return the index of each episode's first step."""
        return np.cumsum(self.episodes.lengths) - self.episodes.lengths

    def transitions(self, problem: Scales, chosen: NDArray[np.bool_] | None = None) -> Transitions:
        """Return the transitions of the chosen steps as a learner sees them. Needs torch.

        ``chosen`` says for each step whether it is used. The default is all steps. Observations and rewards are
        scaled by the public constants of ``problem``.

        Raises:
            ValueError: no step is chosen.
        """
        rows = np.arange(len(self.observations)) if chosen is None else np.flatnonzero(chosen)
        owner = np.repeat(self.episodes.user, self.episodes.lengths)
        return self._seen(problem, rows, owner[rows], self.experts)

    def released(self, problem: Scales, steps: Integers) -> Transitions:
        """Return the transitions of released steps, in a form that may be published. Needs torch.

        Each step occurs once, in the order of release and without the number of its expert. Rewards are scaled only
        by the public constant of ``problem``. The transitions hold no step numbers, and their rewards are not those
        of ``episodes``: the step numbers and the scale of those rewards depend on all the data.

        Args:
            problem: the problem, whose public constants scale observations and rewards.
            steps: the numbers of the released steps, as in `release.Release.steps`; at least one.
        """
        rows = steps[np.sort(np.unique(steps, return_index=True)[1])]
        return self._seen(problem, rows, np.zeros(len(rows), np.int64), 1)

    def _seen(self, problem: Scales, rows: Integers, owner: Integers, experts: int) -> Transitions:
        from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

        ends = self.starts() + self.episodes.lengths - 1
        after = np.concatenate([self.observations[1:], self.last[-1:]])
        after[ends] = self.last
        over = np.zeros(len(self.observations), bool)
        over[ends] = self.over
        return Transitions(
            problem.scaled(self.observations[rows]),
            problem.scaled(after[rows]),
            self.episodes.actions[rows],
            problem.reward_scale * self.rewards[rows],
            over[rows],
            owner,
            experts,
        )

    def save(self, path: Path) -> None:
        """Write the data as an NPZ file. If writing fails, no partial file is left."""
        held = {name: getattr(self.episodes, name) for name in _STEPS}
        own = {name: getattr(self, name) for name in _OWN}
        with replacing(path) as stream:
            np.savez_compressed(stream, format=_FORMAT, **held, **own)

    @classmethod
    def load(cls, path: Path) -> ExpertData:
        """Read data that `save` wrote.

        Raises:
            ValueError: for a file that is no such archive, or has another format.
        """
        if not zipfile.is_zipfile(path):
            path.stat()  # a missing file says so itself
            raise ValueError(f"{path.name}: the file is not an NPZ archive")
        with np.load(path, allow_pickle=False) as stored:
            names = {"format", *_STEPS, *_OWN}
            if set(stored.files) != names or int(stored["format"]) != _FORMAT:
                raise ValueError(f"{path.name}: the file must hold expert data of format {_FORMAT}")
            own = {name: stored[name] for name in _OWN}
            episodes = _episodes(**{name: stored[name] for name in _STEPS}, rewards=own["rewards"])
            return cls(episodes, **(own | {"experts": int(own["experts"])}))


def _episodes(
    states: Integers, actions: Integers, lengths: Integers, user: Integers, rewards: NDArray[np.float64]
) -> Episodes:
    """Return the steps with rewards scaled from the least to the largest."""
    low, high = float(rewards.min()), float(rewards.max())
    scaled = np.clip((rewards - low) / ((high - low) or 1.0), 0.0, 1.0)
    return Episodes(states, actions.astype(np.int64), scaled, lengths.astype(np.int64), user.astype(np.int64))


def demonstrations(
    experts: Population, each: int, rng: np.random.Generator, horizon: int | None = None
) -> ExpertData:
    """Return logged data: every expert plays `each` episodes in the default environment of the problem.

    An episode is stopped after `horizon` steps. The default is the environment's horizon.

    Raises:
        ValueError: `each` is no positive integer.
    """
    _checks.at_least("each", each, 1)
    owner = np.repeat(np.arange(experts.count), each)
    steps = roll_out(
        experts.problem.make(),
        lambda seen, rows: experts.play(seen, owner[rows], rng),
        len(owner),
        rng,
        horizon,
    )
    return ExpertData.of(steps, owner, experts.count)
