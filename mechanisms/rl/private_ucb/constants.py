"""Constants of the exploration bonus of optimistic learners: those of the theory, and tuned ones with names.

By Lemmas 3.1 and 4.1 of Chowdhury and Zhou (AAAI 2022), the bonus of a state and action is the sum of a term for its
cost and a term for its transitions. With n = max(1, N~ + E1) these terms are

    Lc/sqrt(n) + 3 E1/n                                  for the cost,
    H Lc/sqrt(n) + H (S E2 + 2 E1)/n                     for the transitions, value iteration,
    H Lp/sqrt(n) + H (S E2 + 2 E1)/n                     for the transitions, policy optimisation,

Lc = sqrt(2 ln(4SAT/delta)), Lp = sqrt(4S ln(6SAT/delta)). There are S states, A actions, H steps in an episode and
T steps in all. N~ is the private number of visits. E1 bounds the errors of the private counts of visits and costs,
and E2 those of transitions. The paper's experiment scales the constants ("tune the learning rate and the scaling of
the confidence interval"). Every such scale is a field of `Constants`.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, fields, replace
from typing import Final


class Projection(enum.IntEnum):
    """How a learner changes released counts before it uses them, which costs no privacy."""

    NONE = 0
    """Nothing, as in Algorithms 1 and 2."""
    SIMPLEX = 1
    """The nearest non-negative N~(s, a, s') with the sum max(0, N~(s, a)); costs in [0, N~(s, a)]."""
    BAND = 2
    """Those of Qiao and Wang (2023): the nearest in the largest difference, their sum within E/4 of N~(s, a),
    then E/(2S) more each."""
    THRESHOLD = 3
    """Counts below `threshold` times their level are 0; N~(s, a) is the sum of what is left."""


@dataclass(frozen=True)
class Constants:
    """Factors of the exploration bonus of optimistic learning. The defaults give the constants of the theory.

    The docstring of the module gives the formula of the bonus. Lc and Lp are the widths of the confidence intervals of
    costs and of transitions. E1 bounds the errors of the private visits and costs, and E2 those of the private
    transitions.

    Attributes:
        delta: failure probability of Lc, Lp and of the error bounds, in (0, 1).
        width: multiplies Lc and Lp.
        error: multiplies E1 and E2 in the bonus.
        shift: multiplies E1 in n = max(1, N~ + E1), where N~ is the private number of visits.
        remaining: whether the bonus's factor H is replaced by the number of steps after the present one.
        learning_rate: multiplies the learning rate sqrt(2 log A/(H^2 K)) of policy optimisation in K episodes.
        projection: how released counts are changed before they are used.
        threshold: with `Projection.THRESHOLD`, released transitions and costs below this number times their error bound
            become 0.
        rewards: whether rewards are counted instead of costs. The sensitivity is the same. The learner then computes
            the sum of costs as N~ minus the released sum of rewards.

    Raises:
        ValueError: delta is outside (0, 1), or a factor is negative, infinite or NaN.

    >>> Constants().cost_width(states=6, actions=2, steps=400_000) > 6
    True
    """

    delta: float = 0.05
    width: float = 1.0
    error: float = 1.0
    shift: float = 1.0
    remaining: bool = False
    learning_rate: float = 1.0
    projection: Projection = Projection.NONE
    threshold: float = 0.0
    rewards: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        if not 0 < self.delta < 1:
            raise ValueError(f"delta ({self.delta!r}) must be in (0, 1)")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "float" and not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{field.name} ({value!r}) must be a finite number at least 0")
        object.__setattr__(self, "projection", Projection(self.projection))

    def cost_width(self, states: int, actions: int, steps: int) -> float:
        """Return `width` times Lc = sqrt(2 ln(4SAT/delta)).

        There are S = `states`, A = `actions` and T = `steps` steps in all episodes together.
        """
        return self.width * math.sqrt(2 * math.log(4 * states * actions * steps / self.delta))

    def transition_width(self, states: int, actions: int, steps: int) -> float:
        """Return `width` times Lp = sqrt(4S ln(6SAT/delta)).

        There are S = `states`, A = `actions` and T = `steps` steps in all episodes together.
        """
        return self.width * math.sqrt(4 * states * math.log(6 * states * actions * steps / self.delta))


THEORY: Final = Constants()
"""The constants of Theorems 3.2 and 4.2. The privatizer computes the error bounds E1 and E2."""
TUNED: Final = Constants(width=0.02, error=0.0, shift=0.0, remaining=True, learning_rate=100.0)
"""Constants tuned on RiverSwim. The bonus ignores the errors of private counts. No regret guarantee.

The paper also tunes, but it does not print its values.
"""
CONSISTENT: Final = replace(TUNED, projection=Projection.SIMPLEX)
"""The constants `TUNED`, with released counts that are made consistent first. No regret guarantee."""
SPARSE: Final = replace(
    TUNED,
    width=0.05,
    learning_rate=300.0,
    projection=Projection.THRESHOLD,
    threshold=0.4,
    rewards=True,
)
"""Tuned constants. Small counts become 0, and rewards are counted instead of costs. No regret guarantee.

A count is small if the noise alone could explain it.
"""
