"""UCB-VI and OPPO: the algorithms without privacy with which papers on private learning compare.

UCB-VI is optimistic value iteration with one table of counts for all steps (Azar, Osband and Munos, "Minimax regret
bounds for reinforcement learning", ICML 2017, arXiv 1703.05449v2, Algorithms 1 to 4). There are S states, A actions,
H steps and K episodes, T = K H, and L = ln(5SAT/delta). For an action with n > 0 visits, estimated transitions P and
the value V of the next step,

    Q_k = min(Q_{k-1}, H, r + P V + b),

Q_0 = H, and Q = H without visits. The bonus b is one of

    b_1 = 7 H L/sqrt(n),
    b_2 = sqrt(8 L Var_P(V)/n) + 14 H L/(3n) + sqrt(8 sum_{s'} P(s') min(100^2 H^3 S^2 A L^2/N'(s'), H^2)/n).

N'(s') counts the visits of s' at the next step. It is at most K, so the minimum is H^2 as long as K is at most
100^2 H S^2 A L^2. `UCBVI` requires this, and its last term is H sqrt(8/n). The constants were compared with a formal
transcription of the four algorithms into Lean, which cites the pages of arXiv 1703.05449v2 (`MinimaxRegretRL`, 2026),
and with two public implementations, not with the text itself.

OPPO is optimistic policy optimisation (Efroni, Shani, Rosenberg and Mannor, "Optimistic policy optimization with
bandit feedback", ICML 2020, arXiv 2002.08243). Its text was not found, neither in public copies of papers nor in public
implementations; only its abstract was. `oppo` has the constants that Chowdhury and Zhou (2022) give for counts without
noise.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Source
from dpproof.mechanisms.rl.learning_run import LearningRun, RunsMany
from dpproof.mechanisms.rl.private_ucb import _kernels as kernels
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, rule_of, run_blocks
from dpproof.mechanisms.rl.private_ucb.constants import Constants
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts


class Bonus(enum.Enum):
    """The two exploration bonuses of UCB-VI. The docstring of the module gives their formulas."""

    HOEFFDING = "hoeffding"
    """bonus_1 (Chernoff-Hoeffding). With it the algorithm is also called UCBVI-CH."""
    BERNSTEIN = "bernstein"
    """bonus_2 (Bernstein-Freedman). With it the algorithm is also called UCBVI-BF."""


@dataclass(frozen=True)
class UCBVI(RunsMany):
    """A learner that runs UCB-VI of Azar, Osband and Munos (2017), without privacy.

    The docstring of the module gives the algorithm. The paper takes rewards as known and fixed. Here the reward of a
    state and action is known after the first visit, which is the first time that the algorithm uses it.

    Attributes:
        privatizer: the sizes of the problem. Its counts are exact, and pooled over the steps.
        bonus: which of the two bonuses is used; a `Bonus` or its name.
        delta: failure probability of the paper's regret bound, in (0, 1).
        scale: multiplies the bonus. 1 is the paper's. Another scale has no regret guarantee. Actions with one visit
            have the value H at every scale. At scale 1 this is no change, because their bonus is above H.

    Raises:
        ValueError: the counts are not pooled, `bonus` is unknown, `delta` is outside (0, 1), `scale` is negative,
            infinite or NaN, or K is above 100^2 H S^2 A L^2 with the Bernstein bonus.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> ucb_vi(6, 2, 20, 50).run(river_swim(), 0).regrets.shape
    (50,)
    """

    privatizer: ExactCounts
    bonus: Bonus = Bonus.BERNSTEIN
    delta: float = 0.05
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        object.__setattr__(self, "bonus", Bonus(self.bonus))
        Constants(delta=self.delta)
        p = self.privatizer
        if not p.pooled:
            raise ValueError(
                "privatizer must have pooled counts, because UCB-VI uses one table for all steps"
            )
        if not 0 <= self.scale < math.inf:
            raise ValueError(f"scale ({self.scale!r}) must be a finite number at least 0")
        most = 1e4 * p.horizon * p.states**2 * p.actions * self.logarithm() ** 2
        if self.bonus is Bonus.BERNSTEIN and p.episodes > most:
            raise ValueError(
                f"episodes ({p.episodes}) must be at most 100^2 H S^2 A L^2 = {most:.6g} with the Bernstein bonus"
            )

    def logarithm(self) -> float:
        """Return L = ln(5SAT/delta), with T = K H.

        >>> round(ucb_vi(6, 2, 20, 20_000).logarithm(), 3)
        19.989
        """
        p = self.privatizer
        return math.log(5 * p.states * p.actions * p.horizon * p.episodes / self.delta)

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Return the result of learning in `environment`. See `PrivateUCBVI.run` for arguments and errors."""
        reading = Constants(error=0.0, shift=0.0)
        rule = rule_of(self.privatizer, reading, 0.0, 0.0)._replace(
            way=kernels.VARIANCE, bernstein=self._numbers()
        )
        first = float(self.privatizer.horizon)
        return run_blocks(
            environment, self.privatizer, rule, environment.rewards, rng, first=first, keep=keep
        )

    def _numbers(self) -> kernels.Bernstein:
        """Return the numbers in the formula of the bonus."""
        H, L = self.privatizer.horizon, self.logarithm()
        if self.bonus is Bonus.HOEFFDING:
            return kernels.NO_BONUS._replace(reward=self.scale * 7 * H * L)
        return kernels.NO_BONUS._replace(
            variance=self.scale * math.sqrt(8 * L),
            reward=self.scale * math.sqrt(8) * H,
            error=self.scale * 14 * H * L / 3,
        )


def ucb_vi(
    states: int,
    actions: int,
    horizon: int,
    episodes: int,
    *,
    bonus: Bonus | str = Bonus.BERNSTEIN,
    delta: float = 0.05,
    scale: float = 1.0,
) -> UCBVI:
    """Return a learner that runs UCB-VI of Azar, Osband and Munos (2017) on exact counts.

    Args:
        states, actions, horizon, episodes: the sizes S, A, H, K.
        bonus: "bernstein" (the paper's better bound) or "hoeffding".
        delta: failure probability, in (0, 1).
        scale: multiplies the bonus; 1 is the paper's.

    Raises:
        ValueError: an argument is outside its domain. See `UCBVI`.

    >>> ucb_vi(6, 2, 20, 20_000, bonus="hoeffding").bonus.value
    'hoeffding'
    """
    return UCBVI(ExactCounts(states, actions, horizon, episodes, pooled=True), Bonus(bonus), delta, scale)


def oppo(
    states: int,
    actions: int,
    horizon: int,
    episodes: int,
    *,
    delta: float = 0.05,
    scale: float = 1.0,
    learning_rate: float = 1.0,
) -> PrivateUCBPO:
    """Return a learner that runs OPPO of Efroni et al. (2020) on exact counts for each step.

    The constants are those of Chowdhury and Zhou (2022, Lemma A.1 and Theorem 3.2). They were not compared with the
    paper on OPPO. Costs are in [0, 1], and action values are at least 0. With n visits, or n = 1 if there are none, the
    bonus is (sqrt(2 ln(4SAT/delta)) + H sqrt(4S ln(6SAT/delta)))/sqrt(n). The learning rate is sqrt(2 ln A/(H^2 K)).
    Chowdhury and Zhou also limit action values to the number of remaining steps. Exact counts never exceed this limit.

    Args:
        states, actions, horizon, episodes: the sizes S, A, H, K.
        delta: failure probability, in (0, 1).
        scale: multiplies the bonus; 1 is the paper's.
        learning_rate: multiplies the learning rate; 1 is the paper's.

    Raises:
        ValueError: an argument is outside its domain.

    >>> round(oppo(6, 2, 20, 20_000).learning_rate(), 6)
    0.000416
    """
    constants = Constants(delta=delta, width=scale, learning_rate=learning_rate)
    return PrivateUCBPO(ExactCounts(states, actions, horizon, episodes), constants)
