"""The privacy loss of a run of RLSVI, computed from the run's own visit counts.

Neighbours under ``rewards-only`` have the same visit counts, so the counts may be used. Let beta_k be the
noise variance in episode k for a state and action without visits. If a state and action were visited N times,
the release of a later episode k adds (N+1)/(2 beta_k N^2) to the zCDP parameter rho of the users who visited
them. In the worst case, N = 1, it adds 1/beta_k.
"""

from __future__ import annotations

import numpy.typing as npt

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters

_UNIT = 2.0**-53
_SMALLEST = 2.0**-1022


def _cost(parameters: RLSVIParameters, counts: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.float64]:
    """Return (N+1)/(2 beta_k N^2) for each count, 0 if N = 0; relative error at most 16 units.

    A logarithm errs by at most 4 ulp (8 units). The eight roundings around it make up the rest.
    The smallest normal number is added to cover underflow, and a noise variance too large for a double. A noise
    variance too small for a double costs infinity.
    """
    with np.errstate(divide="ignore", over="ignore"):
        twice_beta = 2 * parameters.beta_double * np.log(float(parameters.log_scale * k))
        cost = parameters.divisor(counts) / (twice_beta * np.maximum(counts, 1.0) ** 2)
    return np.where(counts > 0, cost + _SMALLEST, 0.0)


class RewardsFilter:
    """A privacy filter that decides before each release whether it fits into a budget of zCDP.

    ``budget`` is the rho of zCDP. A release is the tables of action values of one episode. Release tables
    only while ``admits`` returns True, and none after its first False. Then the whole run is rho-zCDP and
    sqrt(2 rho)-GDP for neighbours under ``rewards-only``, for any policies and any number of episodes. There
    are two conditions. First, ``admits`` must get the counts that the release uses. Second, the decision to
    stop must depend on released tables and counts only. Proof: docs/notes/rlsvi_tight.md (adaptive costs
    within a fixed budget); Feldman and Zrnic, arXiv:2008.11193v4, Theorem 4.5 for the Renyi form.

    The charge is for the worst user, who at every step visits the state and action with the largest cost so
    far.

    >>> spender = RewardsFilter(RLSVIParameters(1, 1, 1, 10), budget=0.1)
    >>> spender.admits(np.zeros((1, 1, 1))), spender.admits(np.ones((1, 1, 1)))
    (True, False)

    Raises:
        ValueError: for a budget that is not a number of at least 0.
    """

    def __init__(self, parameters: RLSVIParameters, budget: float) -> None:
        if not 0 <= budget < float("inf"):
            raise ValueError(f"budget ({budget!r}) must be a finite number of at least 0")
        self.parameters, self.budget = parameters, budget
        shape = (parameters.horizon, parameters.states, parameters.actions)
        self._costs = np.zeros(shape)
        self._episode, self._open = 0, True

    @property
    def spent(self) -> float:
        """An upper bound on the rho of zCDP that any one user has spent so far."""
        # Fewer than 16 + 2 (episodes + horizon) roundings, all of positive terms.
        slack = 1 + 2 * (16 + 2 * (self._episode + self.parameters.horizon)) * _UNIT
        return float(self._costs.max(axis=(1, 2)).sum() * slack)

    def admits(self, counts: npt.ArrayLike) -> bool:
        """Return whether the next episode's tables may be released. If so, charge the budget for them.

        ``counts`` are the visit counts of every step, state and action, of shape (H, S, A).
        """
        table = np.asarray(counts, dtype=np.float64)
        if table.shape != self._costs.shape:
            raise ValueError(f"counts (shape {table.shape}) must have shape {self._costs.shape}")
        if not ((table >= 0) & (table <= 2**53) & (table == np.floor(table))).all():
            raise ValueError("counts must be whole numbers between 0 and 2^53")
        before = self._costs
        self._costs = before + _cost(self.parameters, table, self._episode + 1)
        self._episode += 1
        self._open = self._open and self.spent <= self.budget
        if not self._open:
            self._costs, self._episode = before, self._episode - 1
        return self._open


def rewards_odometer(parameters: RLSVIParameters, episodes: Episodes) -> npt.NDArray[np.float64]:
    """Return upper bounds on the zCDP parameter rho that each user of a finished run has spent.

    A user is an episode, so the shape is (episodes,). These numbers are not a guarantee, because they depend
    on the run. The guarantee of a run stopped by a ``RewardsFilter`` is the filter's budget, which is fixed
    in advance. The guarantee of any other run is the worst case, ``dpproof.accountant.rl.rlsvi.rlsvi.rho``.
    The numbers show how much of the guarantee was used.

    Raises:
        ValueError: if the episodes do not have the sizes in ``parameters``.
    """
    states, actions = episodes.table("states"), episodes.table("actions")
    if states.shape[1] != parameters.horizon:
        raise ValueError(
            f"episodes ({states.shape[1]} steps each) must have horizon ({parameters.horizon}) steps each"
        )
    for name, table, size in (
        ("states", states, parameters.states),
        ("actions", actions, parameters.actions),
    ):
        if int(table.max()) >= size:
            raise ValueError(f"{name} ({int(table.max())}) must be below {size}")
    steps = np.arange(parameters.horizon)
    counts = np.zeros((parameters.horizon, parameters.states, parameters.actions))
    total = np.zeros_like(counts)
    at_entry = np.empty(states.shape)
    for k in range(episodes.count):
        total += _cost(parameters, counts, k + 1)
        visited = (steps, states[k], actions[k])
        at_entry[k] = total[visited]
        counts[visited] += 1
    left = total[steps[None, :], states, actions] - at_entry
    # Each total carries at most (episodes + 16) units of its own size; subtraction keeps them absolute.
    error = total[steps[None, :], states, actions] * (2 * (episodes.count + 20) * _UNIT)
    spent: npt.NDArray[np.float64] = (left + error).sum(axis=1) * (1 + 2 * (parameters.horizon + 2) * _UNIT)
    return spent
