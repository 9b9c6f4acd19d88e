"""Settings of the experiment on expert-level learning: sizes, the paper's choices, and the learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ALONE: Final = "release alone"
"""Training on released data only, with all of epsilon for the release."""
METHODS: Final = ("no privacy", "DP-SGD", "printed", "calibrated", ALONE)
"""The methods: Q-learning without privacy, DP-SGD alone, the paper's method, its certified version, and `ALONE`."""


@dataclass(frozen=True)
class Size:
    """The settings that say how much is run.

    Attributes:
        problems: the names of the problems (environments).
        experts: number m of experts. delta is 1/m.
        common: share of the experts that are made from one network. The others are made from random networks.
        release_each, release_steps: number of trajectories that each expert logs for the release, and the number
            of steps after which they are stopped.
        training_each: number of trajectories that each expert logs for training only.
        steps: number of gradient steps of every training run.
        batch: number of transitions in a batch of released data. A private batch has this number of experts on
            average.
        epsilons: the values of epsilon, in increasing order.
        runs: number of runs. All use the same experts and the same data set.
        episodes: number of episodes in each evaluation of a policy.
    """

    problems: tuple[str, ...]
    experts: int
    common: float
    release_each: int
    release_steps: int
    training_each: int
    steps: int
    batch: int
    epsilons: tuple[float, ...]
    runs: int
    episodes: int


COMMON: Final = 0.6
_ALL: Final = ("lunarlander", "hiv", "acrobot", "cartpole")
QUICK: Final = Size(_ALL, 3000, COMMON, 5, 40, 1, 1000, 256, (2.5, 5.0, 10.0), 3, 10)
FULL: Final = Size(_ALL, 3000, COMMON, 5, 60, 1, 2000, 256, (2.5, 5.0, 7.5, 10.0), 20, 10)
PAPER: Final = Size(_ALL, 3000, COMMON, 19, 200, 1, 150_000, 256, (2.5, 5.0, 7.5, 10.0), 3, 10)
"""The paper's size, which takes days: 20 trajectories for each expert, and the same steps as for CartPole."""


@dataclass(frozen=True)
class Choice:
    """The paper's settings for one problem and one epsilon.

    Attributes:
        rounds: number of trajectories that the release examines.
        probability: probability that a training step reads private data.
        share, delta_share: the release gets these shares of epsilon and of delta.
        printed: True if the paper uses its own method here, False if it uses DP-SGD alone.
    """

    rounds: int
    probability: float
    share: float = 0.75
    delta_share: float = 0.9
    printed: bool = True

    @property
    def both(self) -> bool:
        """Whether the paper trains on released and on private data here."""
        return self.printed and self.probability > 0


CHOICES: Final[Mapping[str, Mapping[float, Choice]]] = {
    "cartpole": {
        10.0: Choice(25, 0.9),
        7.5: Choice(20, 0.8),
        5.0: Choice(20, 0.8, printed=False),
        2.5: Choice(20, 0.8, printed=False),
    },
    "lunarlander": {
        10.0: Choice(100, 0.8),
        7.5: Choice(62, 0.5),
        5.0: Choice(62, 0.5, printed=False),
        2.5: Choice(62, 0.5, printed=False),
    },
    "acrobot": {
        10.0: Choice(25, 0.0, 1.0, 1.0),
        7.5: Choice(20, 0.0, 1.0, 1.0),
        5.0: Choice(20, 0.0, 1.0, 1.0),
        2.5: Choice(20, 0.0, 1.0, 1.0, printed=False),
    },
    "hiv": {epsilon: Choice(50, 0.0) for epsilon in (10.0, 7.5, 5.0, 2.5)},
}
"""The paper's settings by problem and epsilon (Sharma et al. 2024, Appendix B.3).

If the paper does not use its own method at an epsilon, the settings are those of the next larger epsilon.
"""

HIV_EPSILON: Final = 10.0
"""The only epsilon at which the paper reports returns on HIV."""


@dataclass(frozen=True)
class Learner:
    """A network and its training settings, which are the same for all methods on a problem (environment).

    Attributes:
        hidden: number of units of each hidden layer.
        learning_rate: learning rate of Adam.
        conservatism: factor of the conservative term in the loss of conservative Q-learning.
        clip: clipping norm.
    """

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    conservatism: float = 1.0
    clip: float = 1.0


LEARNERS: Final[Mapping[str, Learner]] = {
    "cartpole": Learner(),
    "lunarlander": Learner(),
    "acrobot": Learner(conservatism=0.3),
    "hiv": Learner(),
}
