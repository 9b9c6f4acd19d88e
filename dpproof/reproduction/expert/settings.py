"""Settings of the experiment: sizes, the paper's choices for each problem and budget, and the learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

METHODS: Final = ("no privacy", "DP-SGD", "printed", "calibrated")
"""The methods: conservative Q-learning, expert-level DP-SGD, the printed method, and its certified version."""


@dataclass(frozen=True)
class Size:
    """The extent of the run.

    Attributes:
        problems: their names.
        experts: number m of experts; delta is 1/m.
        common: the share of experts from one network; the others come evenly from all networks.
        release_each, release_steps: trajectories that an expert logs for the release, and the step at which
            they are cut.
        training_each: trajectories that an expert logs for training only, cut by the problem.
        steps: gradient steps of every run.
        batch: experts in a private batch, on average; transitions in a plain one.
        epsilons: the budgets, in increasing order.
        runs: seeds; all use one population of experts and one data set.
        episodes: episodes of each of the evaluations.
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
FULL: Final = Size(_ALL, 3000, COMMON, 5, 60, 1, 2000, 256, (2.5, 5.0, 7.5, 10.0), 3, 10)
PAPER: Final = Size(_ALL, 3000, COMMON, 19, 200, 1, 150_000, 256, (2.5, 5.0, 7.5, 10.0), 3, 10)
"""The paper's size, which takes days: 20 trajectories for each expert, and the same steps as for CartPole."""


@dataclass(frozen=True)
class Choice:
    """The paper's settings at a budget.

    Attributes:
        rounds: T, trajectories that the release examines.
        probability: p, of a private step.
        share, delta_share: of epsilon and of delta, for the release.
        printed: whether the paper uses its method here, and not DP-SGD alone.
    """

    rounds: int
    probability: float
    share: float = 0.75
    delta_share: float = 0.9
    printed: bool = True


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
"""Sharma et al. (2024), Appendix B.3.

If the paper does not use its method at a budget, the choice is that of the next larger budget.
"""


@dataclass(frozen=True)
class Learner:
    """A network and its training settings, which are the same for all methods on a problem.

    Attributes:
        hidden: units of the hidden layers.
        learning_rate: of Adam.
        conservatism: alpha of the loss.
        clip: C.
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
