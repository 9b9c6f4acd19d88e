"""The choice between private estimators of the values of a policy, by certified expected error.

The choice uses public numbers only. It is made before any data are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.policy_evaluation.visit_sums import VisitSums
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW
from dpproof.mechanisms.rl.policy_evaluation.features import ridge, tabular
from dpproof.mechanisms.rl.policy_evaluation.returns import ReturnRange

METHODS = ("sums", "dp-lsw", "dp-lsl")
"""Noise on visits and sums of returns, and the two algorithms of Balle, Gomrokchi and Precup."""
_UP = 1 + 1e-9


@dataclass(frozen=True)
class Choice:
    """One row of the table of methods.

    Attributes:
        method: "sums", "dp-lsw" or "dp-lsl".
        expected_error: a certified upper bound, in the units of the values, on the root mean square error that noise
            and regularisation cause. None if the method cannot be used, or if there is no bound.
        why: why there is no bound; otherwise an empty text.
    """

    method: str
    expected_error: float | None
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """Public numbers from which the methods are compared.

    Attributes:
        design: the parameters of noise on visits and sums, which include the number of states and the relation.
        epsilon, delta: the target.
        returns: the public range of returns.
        zero: whether rewards of 0 are the smallest ones, which DP-LSW and DP-LSL need.
        unit: the largest reward in the units of the values; DP-LSW and DP-LSL see rewards divided by it.
        trajectories: the number of trajectories, or None if it is not public (add-remove).
        visits: how many trajectories visit each state at least, from public knowledge; None if nothing is known.
    """

    design: VisitSums
    epsilon: Any
    delta: Any
    returns: ReturnRange
    zero: bool
    unit: float
    trajectories: int | None
    visits: tuple[int, ...] | None = None

    def choices(self) -> tuple[Choice, ...]:
        """Return the table of methods, the one with the smallest certified error first.

        With planned visits, the error is the root mean square over states of the prediction minus the average return
        in the batch, if each state has at least these visits. Without them, the bound holds for any batch of this
        size, and each state has the weight of its visits.
        """
        found = [self._sums(), self._theirs("dp-lsw"), self._theirs("dp-lsl")]
        return tuple(
            sorted(found, key=lambda row: math.inf if row.expected_error is None else row.expected_error)
        )

    def _sums(self) -> Choice:
        if self.visits is not None:
            bound = self.design.error_bound(self.visits)
        elif self.trajectories is not None:
            bound = self.design.error_bound_of_any(self.trajectories)
        else:
            why = "the number of trajectories is private under add-remove. Give planned_visits"
            return Choice("sums", None, why)
        return Choice("sums", min(bound * _UP, 1.0) * self.returns.width)

    def _theirs(self, method: str) -> Choice:
        refused = self._refusal()
        if refused:
            return Choice(method, None, refused)
        assert self.trajectories is not None, "replace makes it public"
        model, width = self.estimator(method), self.returns.width / self.unit
        if self.visits is None:
            noise = model.noise_range(self.trajectories)[1]
        else:
            noise = model.expected_noise(np.array(self.visits), self.trajectories)
        error = math.hypot(noise, 0.0 if method == "dp-lsw" else width * self._shrinking(model.ridge))
        return Choice(method, min(error * self.unit * _UP, self.returns.width))

    def _refusal(self) -> str:
        """Return why DP-LSW and DP-LSL cannot be used; an empty text if they can."""
        if self.design.adjacency is not Adjacency.REPLACE:
            return "it is proved under replace only"
        if not self.zero or self.returns.low != 0:
            return "it needs rewards and returns from 0 upwards"
        if self.returns.discount == 1:
            return "it needs a discount below 1"
        return "it needs at least two trajectories" if (self.trajectories or 0) < 2 else ""

    def _shrinking(self, penalty: float) -> float:
        """Return an upper bound on the root mean square error, for returns in [0, 1], that the ridge causes.

        With n visits the value is multiplied by n / (n + penalty/2). Weighted by visits, the sum of the squared errors
        is at most S penalty / 8, because n (a / (n + a))^2 is at most a / 4.
        """
        half = penalty / 2
        if self.visits is None:
            return min(1.0, math.sqrt(self.design.states * half / 4 / (self.trajectories or 1)))
        return math.sqrt(sum((half / (count + half)) ** 2 for count in self.visits) / len(self.visits))

    def estimator(self, method: str, randomness: Randomness | None = None) -> Any:
        """Return the estimator DP-LSW or DP-LSL for this plan, with one feature for each state."""
        states, count = self.design.states, self.trajectories or 1
        given: dict[str, Any] = {
            "states": states,
            "discount": self.returns.discount,
            "return_bound": self.returns.high / self.unit,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "random_state": randomness.generator if randomness and randomness.simulated else None,
        }
        if self.visits is not None:
            given |= {"calibration": "planned", "planned_visits": np.array(self.visits)}
        if method == "dp-lsw":
            return DPLSW(**given)
        planned: dict[str, Any] = {"planned_trajectories": count} if self.visits is not None else {}
        return DPLSL(ridge=ridge(count, tabular(states), np.ones(states)), **given, **planned)


def checked_visits(
    visits: ArrayLike | int | None, states: int, trajectories: int | None
) -> tuple[int, ...] | None:
    """Return planned visits, one number for each state. One given number is taken for all states.

    Raises:
        ValueError: there is another number of them, or one is no integer in [0, number of trajectories].
    """
    if visits is None:
        return None
    given = np.full(states, visits) if np.ndim(visits) == 0 else np.asarray(visits)
    if given.shape != (states,) or given.dtype.kind not in "iu":
        raise ValueError(f"planned_visits ({visits!r}) must be {states} integers, one for each state")
    for count in given.tolist():
        if _checks.at_least("planned_visits", count, 0) > (trajectories or count):
            raise ValueError(
                f"planned_visits ({count}) must be at most the number of trajectories ({trajectories})"
            )
    return tuple(given.tolist())


def chosen(method: str, table: Sequence[Choice]) -> str:
    """Return the method to use: the first row of the table for "best", otherwise the given one.

    Raises:
        ValueError: the method is unknown, or it cannot be used here.
    """
    if method == "best":
        return "sums" if table[0].expected_error is None else table[0].method
    if method not in METHODS:
        raise ValueError(f"method ({method!r}) must be one of: best, {', '.join(METHODS)}")
    row = next(row for row in table if row.method == method)
    if row.expected_error is None and method != "sums":
        raise ValueError(f"method ({method!r}) cannot be used here: {row.why}. Use method='sums'.")
    return method
