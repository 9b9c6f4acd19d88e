"""The constants of policy elimination: the printed ones, those of the proof, and tuned ones with names.

A policy is dropped when its estimated value is at least

    2 (root sqrt(XAH^3 iota/L) + noise X^3AH^5 E iota/L)

below the best active one. A tuple (h, x, a, x') is infrequent when its crude count is at most frequent E H^2
iota. The paper has root = noise = C, an unnamed constant, frequent = C_1 = 6 and iota = log(2HAK/delta).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Final


@dataclass(frozen=True)
class Problem:
    """The sizes on which the constants depend: X, A, H, K, and the number of compared policies."""

    states: int
    actions: int
    horizon: int
    episodes: int
    policies: int


@dataclass(frozen=True)
class EliminationConstants:
    """Scales of the algorithm's constants. The defaults give the printed ones, with C = 1.

    Attributes:
        delta: failure probability, in (0, 1).
        root: multiplies the threshold's first term.
        noise: multiplies its second term.
        frequent: C_1; with 0 only tuples without a count are infrequent.
        unions: iota counts the policies, as the proof of Lemma 9 needs: log(4HX^2AKM/delta).
        clip: estimated rewards are clipped to [0, 1].
        least_level: E is replaced by this if it is smaller; without privacy E is 0.
        margin: share of the E/2 added by the privatizer that stays in the counts before a quotient is taken:
            1 keeps all of it, as printed, and 0 removes it.
        scored: whether ties between policies that visit a pair equally often go to the best last estimate;
            otherwise to the first policy.
        first: episodes of the first stage's parts, L_1, at least 1; every stage doubles them.

    Raises:
        ValueError: delta outside (0, 1), a scale that is negative, infinite or NaN, `first` below 1.
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
        """Return iota, the logarithm that all bounds share.

        >>> round(LITERAL.iota(Problem(4, 2, 6, 20_000, 2**18)), 3)
        16.077
        """
        H, A, K = problem.horizon, problem.actions, problem.episodes
        if not self.unions:
            return math.log(2 * H * A * K / self.delta)
        return math.log(4 * H * problem.states**2 * A * K * problem.policies / self.delta)

    def infrequent(self, problem: Problem, level: float) -> float:
        """Return the crude count up to which a tuple is infrequent. `level` is E."""
        return self.frequent * max(level, self.least_level) * problem.horizon**2 * self.iota(problem)

    def threshold(self, problem: Problem, level: float, length: int) -> float:
        """Return the distance below the best at which a policy is dropped, after a stage with L = `length`.

        >>> round(TUNED.threshold(Problem(4, 2, 6, 20_000, 2**18), 0.0, 2048), 4)
        0.0295
        """
        X, A, H = float(problem.states), float(problem.actions), float(problem.horizon)
        iota = self.iota(problem)
        root = self.root * math.sqrt(X * A * H**3 * iota / length)
        return 2 * (root + self.noise * X**3 * A * H**5 * max(level, self.least_level) * iota / length)


LITERAL: Final = EliminationConstants()
"""The printed algorithm with C = 1."""
REPAIRED: Final = EliminationConstants(
    root=68.0, noise=8000.0, frequent=32.0, unions=True, clip=True, least_level=3.0
)
"""The constants of the regret bound that is proved (docs/notes/sdp_learning.md, section 3)."""
TUNED: Final = EliminationConstants(
    root=0.004, noise=3e-8, frequent=0.0, clip=True, least_level=0.0, margin=0.0, scored=True
)
"""The paper's schedule and orders of magnitude, scaled down for experiments. No regret guarantee."""
LONG: Final = replace(TUNED, noise=1e-8, first=512)
"""Tuned for visits that are sums, without stages that are too short to drop a policy. No regret guarantee."""
BANDIT: Final = replace(TUNED, root=0.12, noise=1e-3)
"""Tuned for bandits with twenty arms, X = H = 1. No regret guarantee."""
