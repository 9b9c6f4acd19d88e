"""Learners that have their own way to release: RLSVI, SDP-PE and Thompson sampling, driven by real users."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.agents.learner import Ints, Learner, Path, Record, Weights
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.randomness import Randomness
from dpproof.mechanisms.release.grid import GRID, REWARD_BITS, grains
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import words_of
from dpproof.mechanisms.rl.rlsvi.release import RLSVIStream
from dpproof.mechanisms.rl.sdp_pe.stream import EliminationStream


class RLSVILearner(Learner):
    """RLSVI with users who arrive one after another. The end of an episode is a state that is never left.

    Args:
        task: the sizes.
        parameters: those of the accountant, with one state more than the task.
        randomness: the source of the noise.
    """

    def __init__(self, task: Task, parameters: RLSVIParameters, randomness: Randomness) -> None:
        self._task = task
        self.overlapping = True  # the relation keeps states and actions, and so the order of users
        self._stream = RLSVIStream(parameters, randomness)
        self._present: tuple[int, Weights] | None = None

    def begin(self) -> None:
        """Note that a user begins. Nothing is released: a table is drawn when its policy is asked for."""

    @property
    def weights(self) -> Weights:
        """The best actions of the present table, as probabilities (H, S, A). The first call draws the table."""
        seen = self._stream.episode
        if self._present is None or (self._present[0] < seen and seen < self._task.episodes):
            best = self._stream.policy()[:, : self._task.states]
            self._present = seen, np.eye(self._task.actions.size, dtype=np.float32)[best]
        return self._present[1]

    def for_user(self) -> Weights:
        """Return the present policy."""
        return self.weights

    def sent(self, path: Path) -> Record:
        """Return the path, with the steps after its end: the server sees it.

        Raises:
            ValueError: the episode was cut off before the horizon.
        """
        return padded(self._task, path).record()

    def absent(self) -> Record | None:
        """Return None: the server gets nothing of an absent user."""
        return None

    def see(self, record: Record) -> None:
        """Count the next user. See `Learner.see`."""
        _ = self.weights
        self._stream.see(record["states"], record["actions"], record["gains"])

    def skip(self) -> None:
        """Pass over an absent user. The next one gets the same table."""


def padded(task: Task, path: Path) -> Path:
    """Return a path of full length. After the end of an episode it stays there, with the gain of a reward of 0.

    Raises:
        ValueError: the episode was cut off before the horizon.
    """
    missing = task.horizon - len(path.actions)
    if missing and path.states[-1] != task.states:
        raise ValueError(
            f"the episode ({len(path.actions)} steps) must end, or have as many steps as the horizon ({task.horizon}). "
            "Make the agent with the time limit of the environment as its horizon."
        )
    return Path(
        np.concatenate([path.states, np.full(missing, task.states)]),
        np.concatenate([path.actions, np.zeros(missing, np.int64)]),
        np.concatenate([path.gains, np.full(missing, task.zero_gain)]),
    )


class EliminationLearner(Learner):
    """SDP-PE with users who arrive one after another. The end of an episode is a state that is never left.

    A user's rewards become random bits before the server gets them: a gain g is 1 with probability g.

    Args:
        task: the sizes.
        stream: the run of SDP-PE.
    """

    def __init__(self, task: Task, stream: EliminationStream) -> None:
        self._task, self._stream = task, stream
        self.overlapping = False  # a batch has a fixed number of users, so their order matters
        self._bits = Randomness.of(None).generator

    def begin(self) -> None:
        """Note that a user begins. Nothing is released: a batch is released when its last user has ended."""

    @property
    def weights(self) -> Weights:
        """The best policy by the estimates of the last complete stage, as probabilities (H, S, A)."""
        return self._certain(self._stream.best_policy())

    def for_user(self) -> Weights:
        """Return a policy that is drawn for one user from the mixture that explores."""
        return self._certain(self._stream.draw())

    def _certain(self, policy: Ints) -> Weights:
        return np.eye(self._task.actions.size, dtype=np.float32)[policy[:, : self._task.states]]

    def sent(self, path: Path) -> Record:
        """Return the path with random bits for gains.

        Raises:
            ValueError: the episode was cut off before the horizon, or a transition is not possible.
        """
        full = padded(self._task, path)
        self._stream.model.trajectory(full.states, full.actions, full.gains)
        bits = (self._bits.random(len(full.gains)) < full.gains).astype(np.float64)
        return {"states": full.states, "actions": full.actions, "gains": bits}

    def absent(self) -> Record | None:
        """Return None: the server gets nothing of an absent user."""
        return None

    def see(self, record: Record) -> None:
        """Count the next user. See `Learner.see`."""
        self._stream.see(record["states"], record["actions"], record["gains"], own=False)

    def skip(self) -> None:
        """Pass over the next user, who sends noise only."""
        self._stream.skip()


class ThompsonLearner(Learner):
    """Gaussian Thompson sampling for a bandit: one observation, one step, one arm for each action.

    A user's action is the arm with the largest draw. There are no initial pulls.

    Args:
        task: the sizes, with one step.
        parameters: those of the accountant.
        randomness: the source of the draws.

    Raises:
        ValueError: the task has more than one step or more than one observation.
    """

    def __init__(self, task: Task, parameters: ThompsonParameters, randomness: Randomness) -> None:
        self._task, self._parameters = task, parameters
        self._words = words_of(randomness)
        self._counts = [0] * parameters.arms
        self._sums = [0] * parameters.arms
        self.overlapping = True  # the relation keeps the pulled arms, and so the order of users
        self._seen = 0
        self._present: tuple[int, Weights] | None = None

    def begin(self) -> None:
        """Note that a user begins. Nothing is released: the numbers are drawn when the arm is asked for."""

    @property
    def weights(self) -> Weights:
        """The arm of the present user, as probabilities (1, 1, A). The first call for a user draws the numbers."""
        if self._present is None or (self._present[0] < self._seen and self._seen < self._task.episodes):
            arms = self._parameters.arms
            found = np.zeros((1, 1, arms), np.float32)
            found[0, 0, self._arm()] = 1.0
            self._present = self._seen, found
        return self._present[1]

    def _arm(self) -> int:
        means = [Fraction(s, n + 1 << REWARD_BITS) for s, n in zip(self._sums, self._counts, strict=True)]
        variances = [exact(self._parameters.variance) / (n + 1) for n in self._counts]
        drawn = rounded_gaussian(means, variances, GRID, source=self._words)
        return drawn.index(max(drawn))

    def for_user(self) -> Weights:
        """Return the present policy."""
        return self.weights

    def sent(self, path: Path) -> Record:
        """Return the path: the server sees it."""
        return path.record()

    def absent(self) -> Record | None:
        """Return None: the server gets nothing of an absent user."""
        return None

    def see(self, record: Record) -> None:
        """Count the next user. See `Learner.see`."""
        _, path = self.weights, Path(**record)
        arm = int(path.actions[0])
        self._counts[arm] += 1
        self._sums[arm] += int(grains(path.gains)[0])
        self._seen += 1

    def skip(self) -> None:
        """Pass over an absent user. The next one gets the same arm."""
