"""Policy gradients from users who arrive one after another, for observations that are vectors of real numbers.

A user's trajectory becomes one clipped vector (`dpproof.mechanisms.agents.gradients`). The noisy sum over the users of
a batch (`dpproof.mechanisms.agents.gradient_sums`) updates the policy by Adam, which sees nothing else of the users.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpproof.mechanisms.agents.gradient_constants import GradientConstants
from dpproof.mechanisms.agents.gradient_sums import ONE, GradientSums, clipped
from dpproof.mechanisms.agents.gradients import trajectory_gradient
from dpproof.mechanisms.agents.learner import Floats, Ints, Learner, Path, Record
from dpproof.mechanisms.agents.network import Network, first_numbers
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.release.words import WordSource

_SQUARES = 0.99
"""Adam's factor for averages of squares, and the number that keeps its steps finite."""
_TINY = 1e-8


class GradientLearner(Learner):
    """Policy gradients with a trusted server. `dpproof.agent` makes it, and calibrates its noise.

    A batch is over when so many users have begun, no matter who has ended. A user adds to the batch in which the user
    ends, with the gradient of the policy of that moment. A user who ends after the last release adds to nothing.

    Args:
        task: the sizes.
        constants: the constants of the algorithm.
        sums: the private sums, of as many entries as the network has numbers.
        words: the random words of the first policy.
    """

    def __init__(
        self, task: Task, constants: GradientConstants, sums: GradientSums, words: WordSource
    ) -> None:
        self.overlapping = True
        self.begun = self.releases = 0
        self._task, self._constants, self._sums = task, constants, sums
        self._widths = constants.widths(task.observations.size, task.actions.size)
        self.every = constants.every(task.episodes)
        self._numbers = first_numbers(self._widths, words)
        self._mean, self._square = np.zeros_like(self._numbers), np.zeros_like(self._numbers)
        self._network = self._published()

    @property
    def weights(self) -> Network:
        """The present policy."""
        return self._network

    def for_user(self) -> Network:
        """Return the present policy."""
        return self._network

    def begin(self) -> None:
        """Note that a user begins. If the present batch is over, release its sum and update the policy."""
        if self.begun and self.begun % self.every == 0:
            self._improve(self._sums.close() / (ONE * self.every))
            self.releases += 1
            self._network = self._published()
        self.begun += 1

    def sent(self, path: Path) -> Record:
        """Return the user's clipped vector. Only this vector is kept of the trajectory, also in a journal.

        It is kept and not computed again when a run goes on, because another machine could round it differently.
        """
        return {"gradient": self.vector(path)}

    def vector(self, path: Path) -> Ints:
        """Return the clipped gradient of a trajectory, in units of 2^-20 clipping norms."""
        earned = replace(path, gains=path.gains - self._task.zero_gain)
        numbers = self._network.numbers.astype(np.float64)
        c = self._constants
        with np.errstate(all="ignore"):  # no user's data shall decide about a warning or an error
            found = trajectory_gradient(numbers, self._widths, earned, c.discount, c.value_weight)
            return clipped(found / c.clip_norm)

    def absent(self) -> Record | None:
        """Return None: the server gets nothing of an absent user."""
        return None

    def see(self, record: Record) -> None:
        """Count a user. See `Learner.see`."""
        self._sums.add(record["gradient"])

    def skip(self) -> None:
        """Pass over an absent user, who adds nothing."""

    def _published(self) -> Network:
        return Network(self._widths, self._numbers.astype(np.float32), self._task.horizon)

    def _improve(self, gradient: Floats) -> None:
        """Take a step of Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1). The step size falls linearly."""
        c, time = self._constants, self.releases + 1
        self._mean = c.momentum * self._mean + (1 - c.momentum) * gradient
        self._square = _SQUARES * self._square + (1 - _SQUARES) * gradient**2
        mean = self._mean / (1 - c.momentum**time)
        spread = np.sqrt(self._square / (1 - _SQUARES**time)) + _TINY
        left = max(0.0, 1 - self.releases * self.every / self._task.episodes)
        self._numbers = self._numbers - c.learning_rate * left * mean / spread
