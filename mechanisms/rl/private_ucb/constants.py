"""The constants of optimistic learning: those of the theory, and tuned ones with names.

Lemmas 3.1 and 4.1 of Chowdhury and Zhou (AAAI 2022) add, per cell and with n = max(1, N~ + E1),

    Lc/sqrt(n) + 3 E1/n                                  for the cost,
    H Lc/sqrt(n) + H (S E2 + 2 E1)/n                     for the transitions, value iteration,
    H Lp/sqrt(n) + H (S E2 + 2 E1)/n                     for the transitions, policy optimisation,

Lc = sqrt(2 ln(4SAT/delta)), Lp = sqrt(4S ln(6SAT/delta)). The paper's experiment scales them ("tune the
learning rate and the scaling of the confidence interval"); every such scale is a field here.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, fields, replace
from typing import Final


class Projection(enum.IntEnum):
    """Post-processing of released counts before they are used. It costs no privacy."""

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
    """Scales of the theory's constants. The defaults give the constants of the theory.

    Attributes:
        delta: confidence parameter of Lc, Lp and of the privatizer's levels, in (0, 1).
        width: multiplies Lc and Lp.
        error: multiplies E1 and E2 in the bonus.
        shift: multiplies E1 in n = max(1, N~ + E1).
        remaining: whether the bonus's factor H is replaced by the number of steps after the present one.
        learning_rate: multiplies eta = sqrt(2 log A/(H^2 K)) of policy optimisation.
        projection: see `Projection`.
        threshold: multiplies the privatizer's levels of transitions and of costs, below which counts are 0.
        rewards: whether the counters of costs count rewards, 1 minus the cost, which have the same
            sensitivity; the cost is then N~(s, a) minus the released rewards.

    Raises:
        ValueError: delta outside (0, 1), a scale that is negative, infinite or NaN.

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
        """Return Lc, scaled. `steps` is T = KH."""
        return self.width * math.sqrt(2 * math.log(4 * states * actions * steps / self.delta))

    def transition_width(self, states: int, actions: int, steps: int) -> float:
        """Return Lp, scaled. `steps` is T = KH."""
        return self.width * math.sqrt(4 * states * math.log(6 * states * actions * steps / self.delta))


THEORY: Final = Constants()
"""The constants of Theorems 3.2 and 4.2. The levels come from the privatizer."""
OPPO: Final = THEORY
"""The theory's constants of policy optimisation on exact counts, where both levels are 0.

The bonus is Lc/sqrt(n) + H Lp/sqrt(n), and eta is the printed one. These are this paper's constants (Lemma
A.1, Algorithm 1), not those of OPPO itself: the text of Efroni et al. (2020, arXiv:2002.08243) has not been
compared.
"""
TUNED: Final = Constants(width=0.02, error=0.0, shift=0.0, remaining=True, learning_rate=100.0)
"""Tuned on RiverSwim, without error terms. They have no regret guarantee.

The paper also tunes, but it does not print its values.
"""
CONSISTENT: Final = replace(TUNED, projection=Projection.SIMPLEX)
"""Tuned, and the released counts are made consistent. They have no regret guarantee."""
SPARSE: Final = replace(
    TUNED,
    width=0.05,
    learning_rate=300.0,
    projection=Projection.THRESHOLD,
    threshold=0.4,
    rewards=True,
)
"""Tuned. Counts that noise alone could explain are 0, and rewards are counted. No regret guarantee."""


def ucb_vi(states: int, actions: int, horizon: int, episodes: int, delta: float = 0.05) -> Constants:
    """Reconstructed constants of UCB-VI (Chernoff-Hoeffding bonus), not checked against the paper.

    Its bonus is 7 H ln(5SAT/delta)/sqrt(n). The width is chosen such that the whole bonus of Algorithm 2, for
    cost and transitions, is this number. The source is Algorithm 3 of Azar, Osband and Munos (ICML 2017),
    whose text has not been compared. It uses one table for all steps, so these constants are for pooled
    counts.

    Args:
        states, actions, horizon, episodes: the sizes S, A, H, K; T = KH.
        delta: failure probability, in (0, 1).

    >>> round(ucb_vi(6, 2, 20, 20_000).width, 1)
    21.2
    """
    steps = horizon * episodes
    unit = Constants(delta=delta)
    bonus = 7 * horizon * math.log(5 * states * actions * steps / delta)
    return replace(unit, width=bonus / ((1 + horizon) * unit.cost_width(states, actions, steps)))
