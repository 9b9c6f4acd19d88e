"""The environment of HIV treatment: an action gives, or does not give, each of two drugs for some days.

The state is (T1, T2, T1*, T2*, V, E), per millilitre: healthy CD4+ cells and macrophages, infected CD4+ cells and
macrophages, free virus, and immune effectors. Both sources print the same rates of change. They differ in the start
of an episode and in the duration of an action. The expert-level paper differs from Ernst et al. in the duration
alone. Source: Adams, Banks, Kwon and Tran, Math. Biosci. Eng. 1 (2004), 223-241; Ernst, Stan, Goncalves and
Wehenkel, CDC 2006, 667-672.

Compiled code solves the equations by the two Runge-Kutta methods, of orders 5 and 4, of Dormand and Prince (J.
Comput. Appl. Math. 6, 1980). Their difference estimates the error of a step. Every patient has a step size of its
own, because the virus can return suddenly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Batch, DynamicsBatch, Floats, Integers, Observations

_ROWS = np.array(
    [
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_ERROR = np.array(
    [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],
)
_SMALLEST, _LARGEST, _MOST_STEPS = 0.2, 5.0, 1_000_000


@numba.njit(cache=True)  # type: ignore[untyped-decorator] # numba has no types
def rates(y: Any, first: float, second: float, out: Any) -> None:  # pragma: no cover - compiled
    """Write the rates of change of the state `y` (6,), per day, into `out` (6,).

    `first` and `second` are the efficacies of the two drugs.
    """
    a = (1 - first) * 8e-7 * y[4] * y[0]
    b = (1 - 0.34 * first) * 1e-4 * y[4] * y[1]
    both = y[2] + y[3]
    loss = 0.7 + 1e-5 * y[5]
    out[0] = 1e4 - 0.01 * y[0] - a
    out[1] = 31.98 - 0.01 * y[1] - b
    out[2] = a - loss * y[2]
    out[3] = b - loss * y[3]
    out[4] = 70 * (1 - second) * both - 13 * y[4] - a - b
    out[5] = 1 + (0.3 * both / (both + 100) - 0.25 * both / (both + 500) - 0.1) * y[5]


@numba.njit(cache=True)  # type: ignore[untyped-decorator] # numba has no types
def _stages(
    y: Any, first: float, second: float, h: float, k: Any, trial: Any
) -> None:  # pragma: no cover - compiled
    """Fill the stages k[1:] from k[0], and write the proposed state into `trial`."""
    for stage in range(6):
        for i in range(6):
            total = 0.0
            for j in range(stage + 1):
                total += _ROWS[stage, j] * k[j, i]
            trial[i] = y[i] + h * total
        rates(trial, first, second, k[stage + 1])


@numba.njit(cache=True)  # type: ignore[untyped-decorator] # numba has no types
def _error(y: Any, h: float, k: Any, trial: Any, tolerance: float) -> float:  # pragma: no cover - compiled
    """Return the largest ratio, over the components, of the estimated error to the allowed error."""
    worst = 0.0
    for i in range(6):
        wrong = 0.0
        for j in range(7):
            wrong += _ERROR[j] * k[j, i]
        allowed = tolerance * (1e-6 + max(abs(y[i]), abs(trial[i])))
        worst = max(worst, abs(h * wrong) / allowed)
    return worst


@numba.njit(cache=True)  # type: ignore[untyped-decorator] # numba has no types
def advance(
    states: Any, first: Any, second: Any, days: float, tolerance: float
) -> Any:  # pragma: no cover - compiled
    """Return the states (n, 6) after `days` days; a state is NaN if the solver fails for it.

    `first` and `second` (n,) are the efficacies of the two drugs, and `tolerance` is the relative error per step.
    """
    found = np.empty_like(states)
    k, trial = np.empty((7, 6)), np.empty(6)
    for row in range(states.shape[0]):
        y, time, h = states[row].copy(), 0.0, 0.05
        rates(y, first[row], second[row], k[0])
        for _ in range(_MOST_STEPS):
            if time >= days:
                break
            h = min(h, days - time)
            _stages(y, first[row], second[row], h, k, trial)
            error = _error(y, h, k, trial, tolerance)
            if error <= 1:
                time = days if h == days - time else time + h
                y[:] = trial
                k[0] = k[6]
            h *= min(_LARGEST, max(_SMALLEST, 0.9 * max(error, 1e-10) ** -0.2))
        found[row] = y
        if time < days:
            found[row] = np.nan
    return found


FIXED_POINTS: Final = {
    "uninfected": (1e6, 3198.0, 0.0, 0.0, 0.0, 10.0),
    "healthy": (967_839.0, 621.0, 76.0, 6.0, 415.0, 353_108.0),
    "unhealthy": (163_573.0, 5.0, 11_945.0, 46.0, 63_919.0, 24.0),
}
"""States that do not change without drugs: no virus, virus controlled by the immune system, uncontrolled virus.

The sources print them in rounded form.
"""
_DRUGS = np.array([(0.0, 0.0), (0.7, 0.0), (0.0, 0.3), (0.7, 0.3)])
"""Efficacies of the reverse transcriptase inhibitor and of the protease inhibitor, for each action."""


@dataclass(frozen=True)
class HIVTreatment:
    """The environment of HIV treatment. A policy sees the decimal logarithms of the six concentrations.

    A step pays -0.1 V - `first_penalty` e1^2 - `second_penalty` e2^2 + 1000 E. V (virus) and E (immune effectors)
    are those after the step, and e1 and e2 are the efficacies of the drugs.

    Attributes:
        days: duration of an action.
        horizon: number of steps of every episode.
        first_penalty, second_penalty: costs of the drugs.
        efficacy_noise: standard deviation of the efficacy of a drug in a step. A drug not given has efficacy 0.
        begins: the first state: the six concentrations, in the order (T1, T2, T1*, T2*, V, E) of the module.
        tolerance: relative error allowed in each step of the solver.
    """

    days: int = 20
    horizon: int = 50
    first_penalty: float = 2e4
    second_penalty: float = 2e3
    efficacy_noise: float = 0.0
    begins: tuple[float, ...] = FIXED_POINTS["unhealthy"]
    tolerance: float = 1e-6

    actions = 4
    observation_size = 6

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Return a batch of `count` new episodes."""
        return DynamicsBatch(self, count, rng)

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the first state, which is the same for all episodes."""
        return np.tile(np.array(self.begins), (count, 1))

    def observe(self, state: Floats) -> Observations:
        """Return the decimal logarithms of the concentrations. A concentration below 1e-10 counts as 1e-10."""
        return np.log10(np.maximum(state, 1e-10)).astype(np.float32)

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the states after `days` days with the chosen drugs, the rewards, and False for each episode.

        No episode ends by itself.
        """
        given = _DRUGS[actions]
        if self.efficacy_noise:
            noisy = given + self.efficacy_noise * rng.standard_normal(given.shape)
            given = np.where(given > 0, np.clip(noisy, 0.0, 1.0), 0.0)
        first, second = np.ascontiguousarray(given.T)
        after: Floats = advance(state, first, second, float(self.days), self.tolerance)
        cost = 0.1 * after[:, 4] + self.first_penalty * first**2 + self.second_penalty * second**2
        return after, 1e3 * after[:, 5] - cost, np.zeros(len(state), bool)


EXPERTS: Final = HIVTreatment()
"""The setting of the expert-level paper: 50 steps of 20 days."""
ERNST_2006: Final = replace(EXPERTS, days=5, horizon=200)
"""The setting of Ernst et al.: 200 steps of 5 days, starting from the unhealthy fixed point."""
ADAMS_2004: Final = replace(ERNST_2006, begins=(1e6, 3198.0, 1e-4, 1e-4, 1.0, 10.0))
"""The setting of Adams et al.: 200 steps of 5 days, starting from the uninfected fixed point with a little virus."""
