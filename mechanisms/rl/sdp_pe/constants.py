"""The constants of policy elimination: those printed in the paper, those of a proof, and tuned ones with names.

There are X states, A actions, H steps and K episodes, L of them in each part of a stage. E bounds the error of the
private counts. A policy is dropped if its estimated value is at least

    2 (root sqrt(XAH^3 iota/L) + noise X^3AH^5 E iota/L)

below the best active one. A transition is infrequent if its count in crude exploration is at most frequent E H^2
iota. The paper has root = noise = C, an unnamed constant, frequent = C_1 = 6 and iota = log(2HAK/delta).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Final


@dataclass(frozen=True)
class Problem:
    """The sizes on which the constants of policy elimination depend.

    `policies` is the number of policies that are compared.
    """

    states: int
    actions: int
    horizon: int
    episodes: int
    policies: int


@dataclass(frozen=True)
class EliminationConstants:
    """Factors in the formulas of policy elimination. The defaults are those of the paper, with its unnamed C = 1.

    The docstring of the module gives the formulas. In them, E is the error bound of the private counts.

    Attributes:
        delta: failure probability, in (0, 1).
        root: multiplies the first term of the threshold at which policies are dropped.
        noise: multiplies the second term of this threshold.
        frequent: the factor C_1 in the count at which a transition is infrequent. With 0 only transitions with count
            0 are infrequent.
        unions: whether the logarithm iota includes the number M of policies, as the proof of Lemma 9 needs. It is
            then log(4HX^2AKM/delta).
        clip: whether estimated rewards are clipped to [0, 1].
        least_level: the least value that is used for E. Without privacy E itself is 0.
        margin: the privatizer adds E/2 to the visits. Before estimates are made, only this share of E/2 stays: 1 keeps
            all of it, as printed, and 0 removes it.
        scored: which policy is taken if several visit a state and action equally often: the one with the best last
            estimate (True), or the first one by number (False).
        first: episodes in each part of the first stage, at least 1. Every stage doubles them.
        known: whether transitions that are publicly known to be impossible count as infrequent. If not, noise gives
            them a small estimated probability.

    Raises:
        ValueError: delta is outside (0, 1), a factor is negative, infinite or NaN, or `first` is below 1.
    """

    delta: float = 0.05
    root: float = 1.0
    noise: float = 1.0
    frequent: float = 6.0
    unions: bool = False
    clip: bool = False
    least_level: float = 1.0
    margin: float = 1.0
    scored: bool = False
    first: int = 2
    known: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        if not 0 < self.delta < 1:
            raise ValueError(f"delta ({self.delta!r}) must be in (0, 1)")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "float" and not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{field.name} ({value!r}) must be a finite number at least 0")
        if self.first < 1:
            raise ValueError(f"first ({self.first!r}) must be an integer at least 1")

    def iota(self, problem: Problem) -> float:
        """Return the logarithm iota, a factor in all formulas of this module.

        The docstring of the module gives the printed iota. The field `unions` selects another one.

        >>> round(LITERAL.iota(Problem(4, 2, 6, 20_000, 2**18)), 3)
        16.077
        """
        H, A, K = problem.horizon, problem.actions, problem.episodes
        if not self.unions:
            return math.log(2 * H * A * K / self.delta)
        return math.log(4 * H * problem.states**2 * A * K / self.delta) + math.log(problem.policies)

    def infrequent(self, problem: Problem, level: float) -> float:
        """Return the largest count with which crude exploration calls a transition infrequent.

        `level` is the error bound of the private counts.
        """
        return self.frequent * max(level, self.least_level) * problem.horizon**2 * self.iota(problem)

    def threshold(self, problem: Problem, level: float, length: int) -> float:
        """Return how far below the best estimate a policy must be to be dropped.

        `level` is the error bound of the private counts, and `length` the episodes in each part of the stage.

        >>> round(TUNED.threshold(Problem(4, 2, 6, 20_000, 2**18), 0.0, 2048), 4)
        0.0295
        """
        X, A, H = float(problem.states), float(problem.actions), float(problem.horizon)
        iota = self.iota(problem)
        root = self.root * math.sqrt(X * A * H**3 * iota / length)
        return 2 * (root + self.noise * X**3 * A * H**5 * max(level, self.least_level) * iota / length)


LITERAL: Final = EliminationConstants()
"""The constants of the printed algorithm, with its unnamed constant C = 1."""
REPAIRED: Final = EliminationConstants(
    root=68.0, noise=8000.0, frequent=32.0, unions=True, clip=True, least_level=3.0
)
"""The constants of the regret bound that is proved (docs/notes/sdp_learning.md, section 3)."""
TUNED: Final = EliminationConstants(
    root=0.004, noise=3e-8, frequent=0.0, clip=True, least_level=0.0, margin=0.0, scored=True
)
"""The paper's schedule and formulas, with factors scaled down for experiments. No regret guarantee."""
LONG: Final = replace(TUNED, noise=1e-8, first=512)
"""Tuned for visits that are sums of transitions, without very short first stages. No regret guarantee."""
BANDIT: Final = replace(TUNED, root=0.12, noise=1e-3)
"""Tuned for bandits with twenty arms (one state and one step). No regret guarantee."""
