"""The four problems of the expert-level experiments: environments, their variations, and scaling constants.

Experts learn in variations of an environment and act in the default environment. The scaling constants are public
and do not depend on data. With them, the observations and rewards that a network sees are of the order of one.

Source: Sharma et al. (2024), section 6.1 and Appendix B.1: the variations and their bounds, pmin = 0.02.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import BatchedEnvironment
from dpproof.mechanisms.environments.classic_control import Acrobot, CartPole
from dpproof.mechanisms.environments.hiv import HIVTreatment
from dpproof.mechanisms.environments.lunar_lander import LunarLander

PMIN: Final = 0.02
"""The least probability of an action under every expert."""
Make = Callable[..., BatchedEnvironment]


@dataclass(frozen=True)
class Problem:
    """One problem of the experiments: an environment, its variations, and scaling constants.

    Attributes:
        name: the name in files and tables.
        make: function that makes the environment from parameters, or the default environment without parameters.
        varied: for each varied parameter of the environment, its least and largest value in the experts' training.
        centre, spread: as many numbers as an observation has. It is scaled to (observation - centre) / spread.
        reward_scale: factor on the rewards that a learner sees.
        discount: discount of later rewards.
        evaluation_horizon: number of steps after which an episode of a learned policy is stopped.
        unit: tables show returns as multiples of this number.
    """

    name: str
    make: Make
    varied: Mapping[str, tuple[float, float]]
    centre: tuple[float, ...]
    spread: tuple[float, ...]
    reward_scale: float
    discount: float = 0.99
    evaluation_horizon: int = 200
    unit: float = 1.0

    def variation(self, rng: np.random.Generator) -> BatchedEnvironment:
        """Return an environment with random parameters. They are uniform between their bounds in ``varied``."""
        return self.make(**{name: float(rng.uniform(*ends)) for name, ends in self.varied.items()})

    def scaled(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return n observations (n, d) as networks see them: minus ``centre``, divided by ``spread``."""
        centre, spread = (np.array(each, np.float32) for each in (self.centre, self.spread))
        found: NDArray[np.float32] = (observations - centre) / spread
        return found


_ALL = (
    Problem(
        "cartpole",
        CartPole,
        {"gravity": (8.75, 11.0), "force": (9.0, 11.25), "cart_mass": (0.8, 1.25)},
        centre=(0.0,) * 4,
        spread=(1.0, 1.0, 0.1, 1.0),
        reward_scale=0.05,
        evaluation_horizon=1000,
    ),
    Problem(
        "acrobot",
        Acrobot,
        {"length": (0.8, 1.2), "first_mass": (0.9, 1.1), "second_mass": (0.9, 1.1)},
        centre=(0.0,) * 6,
        spread=(1.0, 1.0, 1.0, 1.0, 3.0, 5.0),
        reward_scale=0.3,
    ),
    Problem(
        "lunarlander",
        LunarLander,
        {"gravity": (9.0, 11.0), "wind": (0.0, 5.0), "turbulence": (0.0, 0.5)},
        centre=(0.0, 0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0),
        spread=(0.5, 0.5, 0.5, 0.5, 0.3, 0.3, 1.0, 1.0),
        reward_scale=0.02,
    ),
    Problem(
        "hiv",
        HIVTreatment,
        {
            "first_penalty": (18_750.0, 21_250.0),
            "second_penalty": (1850.0, 2150.0),
            "efficacy_noise": (0.0, 0.01),
        },
        centre=(5.5, 1.5, 3.0, 1.0, 4.0, 2.5),
        spread=(0.5, 1.0, 1.0, 1.0, 1.0, 1.5),
        reward_scale=1e-8,
        discount=0.98,
        evaluation_horizon=50,
        unit=1e6,
    ),
)
PROBLEMS: Final = {problem.name: problem for problem in _ALL}
"""The problems by name."""


def problem_for(name: str) -> Problem:
    """Return the problem with that name.

    >>> problem_for("hiv").make().observation_size
    6

    Raises:
        ValueError: for an unknown name, listing the known ones.
    """
    if name not in PROBLEMS:
        raise ValueError(f"problem ({name!r}) must be one of: {', '.join(PROBLEMS)}")
    return PROBLEMS[name]
