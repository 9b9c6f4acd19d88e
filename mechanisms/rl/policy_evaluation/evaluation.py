"""Private values of a policy from logged trajectories, with error bars that include the noise.

`evaluate` chooses between noise on visits and sums of returns, DP-LSW and DP-LSL by certified expected error. The
choice is made from public numbers, before any data are read. Predictions are inside the public range of returns.

>>> batch = Episodes.rectangular([[0, 1]] * 900, [[0, 0]] * 900, [[0, 1.0]] * 900)
>>> found = evaluate(batch, states=2, discount=0.5, epsilon=1, delta=1e-6, return_range=(0, 1))
>>> found.method, bool(abs(found.values - [0.5, 1]).max() < 0.3)
('sums', True)
>>> float(found.account("replace").epsilon("1e-6")) <= 1
True
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.rl.policy_evaluation.visit_sums import VisitSums
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.release.grid import OnGrid, how_released
from dpproof.mechanisms.rl.policy_evaluation.choice import Choice, Plan, checked_visits, chosen
from dpproof.mechanisms.rl.policy_evaluation.error_bars import Bars, bars_of_noise, bars_of_sums
from dpproof.mechanisms.rl.policy_evaluation.returns import Log, ReturnRange
from dpproof.mechanisms.rl.policy_evaluation.visit_sums import release

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Private values of all states, with error bars.

    Attributes:
        values: float64 (S,), the predicted value of each state, inside `returns`.
        standard_errors: float64 (S,), approximate standard errors, which include the noise. See `covers`.
        method: the method that was used.
        choices: the table of methods with certified expected errors, the smallest one first.
        returns: the public range of returns, and the discount.
        released: the released integers, from which all other numbers are computed.
        covers: what the error bars include, in words.
    """

    values: Floats
    standard_errors: Floats
    method: str
    choices: tuple[Choice, ...]
    returns: ReturnRange
    released: OnGrid
    covers: str
    _bars: Bars = field(compare=False)
    _unit: str | None = None

    def intervals(self, confidence: float = 0.95) -> Floats:
        """Return an interval for the value of each state, as an array (S, 2).

        For each state, the interval contains the value with at least the probability `confidence`, over the noise and
        over independent trajectories of the logged policy. See `covers` for what it does not include.

        Raises:
            ValueError: `confidence` is outside (0, 1).
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence ({confidence!r}) must be in (0, 1)")
        return self.returns.back(self._bars.intervals(1 - confidence))

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the certified guarantee of the values, which covers every released bit.

        Raises:
            SimulationError: a seed was given.
            UnprovedAdjacencyError: the noise was drawn for another relation.
        """
        found = self.released.account(adjacency)
        return found if self._unit is None else replace(found, unit=self._unit)

    def __repr__(self) -> str:
        errors = {row.method: row.expected_error for row in self.choices}
        told = ", ".join(
            f"{name} {'not used' if error is None else format(error, '.3g')}"
            for name, error in errors.items()
        )
        return (
            f"<Evaluation of {len(self.values)} states by {self.method}; certified expected errors: {told}; "
            f"{how_released(self.released.simulated)}>"
        )


def evaluate(
    episodes: Episodes,
    *,
    states: int,
    discount: float,
    epsilon: Any,
    delta: Any,
    adjacency: Adjacency | str = Adjacency.REPLACE,
    reward_range: tuple[float, float] | None = None,
    return_range: tuple[float, float] | None = None,
    max_length: int | None = None,
    planned_visits: ArrayLike | int | None = None,
    method: str = "best",
    seed: Source = None,
) -> Evaluation:
    """Return private values of all states for the policy that made the logged trajectories.

    The value of a state is the expected discounted sum of the rewards from the first visit of the state on.

    Args:
        episodes: the trajectories, one for each user. The rewards of `OwnEpisodes` have the units of their source.
        states: the public number S of states.
        discount: the discount of later rewards, in (0, 1]. A discount of 1 needs `max_length`.
        epsilon, delta: the privacy of all released numbers together.
        adjacency: ``replace`` (one trajectory is replaced) or ``add-remove`` (one trajectory more or less).
        reward_range: the public range of rewards. The default is [0, 1], or the range with which the data were read.
        return_range: a narrower public range of returns. For example, (0, 1) if an episode pays at most 1 once. Returns
            outside are clipped. The noise is proportional to the width of the range.
        max_length: the public limit on the number of steps of a trajectory.
        planned_visits: how many trajectories are expected to visit each state at least, from public knowledge. One
            number stands for all states. Never give the visits of the private data.
        method: "best" (the smallest certified expected error), "sums", "dp-lsw" or "dp-lsl".
        seed: None for a release. A seed or a generator makes a simulation without a guarantee.

    Raises:
        ValueError: an argument or the data break a rule. The message names the value, the rule and the remedy. Nothing
            is drawn then.
        UnprovedAdjacencyError: for another relation.
    """
    states = _checks.at_least("states", states, 1)
    longest = None if max_length is None else _checks.at_least("max_length", max_length, 1)
    randomness, relation = Randomness.of(seed), Adjacency.of(adjacency)
    design = VisitSums.calibrated(states, epsilon, delta, relation, longest)
    log = Log.of(episodes, states, longest, reward_range)
    returns = ReturnRange.of(discount, log.reward_range, longest, return_range)
    return _evaluated(_plan(design, epsilon, delta, log, returns, planned_visits), log, method, randomness)


def _plan(
    design: VisitSums,
    epsilon: Any,
    delta: Any,
    log: Log,
    returns: ReturnRange,
    visits: ArrayLike | int | None,
) -> Plan:
    """Return the public numbers for the choice. The number of trajectories is public under ``replace`` only."""
    count = log.episodes.count if design.adjacency is Adjacency.REPLACE else None
    planned = checked_visits(visits, design.states, count)
    return Plan(design, epsilon, delta, returns, log.own.low == 0, log.own.high, count, planned)


def _evaluated(plan: Plan, log: Log, method: str, randomness: Randomness) -> Evaluation:
    """Choose the method, draw the noise, and return the values."""
    table = plan.choices()
    used, returns = chosen(method, table), plan.returns
    values, bars, released = (_sums if used == "sums" else _theirs)(plan, log, used, randomness)
    errors = np.minimum(bars.standard_errors, 1.0) * returns.width
    unit = getattr(log.episodes, "unit", None)
    return Evaluation(returns.back(values), errors, used, table, returns, released, bars.covers, bars, unit)


def _sums(plan: Plan, log: Log, _: str, randomness: Randomness) -> tuple[Floats, Bars, OnGrid]:
    """Return values in [0, 1] from noisy visits and sums of returns, with error bars and the release."""
    drawn = release(plan.design, log.sums(plan.design.states, plan.returns), randomness)
    bars = bars_of_sums(drawn.sums, drawn.visits, *drawn.noise)
    return bars.values, bars, drawn


def _theirs(plan: Plan, log: Log, method: str, randomness: Randomness) -> tuple[Floats, Bars, OnGrid]:
    """Return values in [0, 1] from DP-LSW or DP-LSL, with error bars and the release."""
    model = plan.estimator(method, randomness).fit(log.episodes)
    values = np.clip(model.coef_ * plan.unit / plan.returns.width, 0.0, 1.0)
    most = model.noise_range(log.episodes.count)[1] * plan.unit / plan.returns.width
    return values, bars_of_noise(values, most), model.released_
