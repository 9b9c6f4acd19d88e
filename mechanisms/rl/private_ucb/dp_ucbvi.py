"""DP-UCBVI: optimistic value iteration whose bonus depends on the variance of the next state's value.

**The constants are reconstructed and not checked against the paper.** The algorithm is that of Qiao and Wang,
"Near-optimal differentially private reinforcement learning" (AISTATS 2023, arXiv 2212.04680), Algorithm 1 and
section 4, whose text was not available. No result here is a result about the printed DP-UCBVI.

There are S states, A actions, H steps in an episode and T steps in all. N~_h and P~ are the private visit counts and
the estimated transitions, E is four times the largest error of a private count, V the value of the next state, and
beta the failure probability. Counts are made consistent first (`Projection.BAND`). Then, with n = N~_h(s, a), m =
N~_{h+1}(s') and iota = ln(30 HSAT/beta), the bonus is

    2 sqrt(Var_{P~}(V) iota/n) + sqrt(2 iota/n) + 20 H S E iota/n
    + 4 sqrt(iota sum_{s'} P~(s') min(B(m), H^2)/n),
    B(m) = 1000^2 H^3 S A iota^2/m + 1000^2 H^4 S^4 A^2 iota^4 (E^2 + H^2)/m^2,

and the action value Q never grows from one episode to the next.

Some parts were compared with the authors' later paper on self-play, which states that it generalises this one
("Differentially private reinforcement learning with self-play", sections 3 and 5.3). These are Assumption
3.1, the consistent counts with E/4 and E/(2S), that E is four times the error of a noisy count, a bonus of
order sqrt(Var iota/n) + H S E iota/n, and the 30 in iota. Other parts were compared with nothing: the numbers
2, sqrt 2, 20, 4 and 1000^2, the last term (its shape is that of Azar et al. 2017), and that Q never grows. The
last term of Azar et al. has S^2 where B(m) has S, and 100^2 where B(m) has 1000^2 (`baselines`).
`QIAO_WANG_TUNED` drops the last two terms and scales the first two together. Of these numbers, the
experiments use only the ratio of 2 to sqrt 2, and iota.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Source
from dpproof.mechanisms.rl.learning_run import LearningRun, RunsMany
from dpproof.mechanisms.rl.private_ucb import _kernels as kernels
from dpproof.mechanisms.rl.private_ucb.agents import rule_of, run_blocks
from dpproof.mechanisms.rl.private_ucb.constants import Constants, Projection
from dpproof.mechanisms.rl.private_ucb.privatizers import Privatizer


@dataclass(frozen=True)
class VarianceConstants:
    """Factors of the four terms of DP-UCBVI's bonus. The defaults are reconstructed, not checked against the paper.

    The docstring of the module gives the formula. In it, E is four times the largest error of a private count, and iota
    is a logarithm.

    Attributes:
        beta: failure probability, in (0, 1).
        width: multiplies sqrt(iota) in the first two terms, which are of order 1/sqrt(n) after n visits.
        around: multiplies the last term, which depends on the visits of the next states.
        error: multiplies E in the term of order 1/n.
        margin: multiplies E in the rule that makes the private counts consistent (`Projection.BAND`).

    Raises:
        ValueError: beta is outside (0, 1), or a factor is negative, infinite or NaN.
    """

    beta: float = 0.05
    width: float = 1.0
    around: float = 1.0
    error: float = 1.0
    margin: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        if not 0 < self.beta < 1:
            raise ValueError(f"beta ({self.beta!r}) must be in (0, 1)")
        for name in ("width", "around", "error", "margin"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be a finite number at least 0")

    def bonus(
        self, states: int, actions: int, horizon: int, episodes: int, level: float
    ) -> kernels.Bernstein:
        """Return the numbers in the formula of the bonus.

        `level` is four times the largest error of a private count.
        """
        S, A, H = float(states), float(actions), float(horizon)
        iota = math.log(30 * H * S * A * H * episodes / self.beta)
        root = self.width * math.sqrt(iota)
        return kernels.Bernstein(
            variance=2 * root,
            reward=root * math.sqrt(2),
            spread=4 * self.around * math.sqrt(iota),
            once=1e6 * H**3 * S * A * iota**2,
            twice=1e6 * H**4 * S**4 * A**2 * iota**4 * (level**2 + H**2),
            error=20 * self.error * H * S * level * iota,
        )


QIAO_WANG: Final = VarianceConstants()
"""The reconstructed constants, not checked against the paper. See the module for what was compared."""
QIAO_WANG_TUNED: Final = VarianceConstants(width=0.02, around=0.0, error=0.0, margin=0.0)
"""Constants scaled down for experiments. They have no regret guarantee."""


@dataclass(frozen=True)
class DPUCBVI(RunsMany):
    """A learner that runs DP-UCBVI with any privatizer. Its constants are not checked against the paper.

    Attributes:
        privatizer: source of the noise. Its parameters fix the sizes, and whether all steps share one table of counts.
            The privatizer's counters of costs add up rewards here.
        constants: the factors of the bonus: reconstructed ones, or tuned ones.

    >>> import numpy as np
    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
    >>> learner = DPUCBVI(ExactCounts(states=6, actions=2, horizon=20, episodes=50))
    >>> learner.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)
    """

    privatizer: Privatizer
    constants: VarianceConstants = field(default=QIAO_WANG)

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Return the result of learning in `environment`. See `PrivateUCBVI.run` for arguments and errors."""
        p, constants = self.privatizer.parameters, self.constants
        level = 0.0
        if constants.margin > 0 or constants.error > 0 or constants.around > 0:
            levels = self.privatizer.levels(constants.beta)
            level = 4 * max(levels.E1, levels.E2)
        reading = Constants(error=0.0, shift=0.0, projection=Projection.BAND)
        rule = rule_of(self.privatizer, reading, 0.0, 0.0)._replace(
            margin=constants.margin * level,
            way=kernels.VARIANCE,
            bernstein=constants.bonus(p.states, p.actions, p.horizon, p.episodes, level),
        )
        return run_blocks(
            environment, self.privatizer, rule, environment.rewards, rng, first=float(p.horizon), keep=keep
        )
