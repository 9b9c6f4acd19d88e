"""HIV treatment: six concentrations under two drugs that are given or not, for some days at a time.

The state is (T1, T2, T1*, T2*, V, E): healthy and infected CD4+ cells and macrophages, free virus, immune
effectors, per millilitre. Both sources print the same rates; they differ in where an episode begins and in
how long an action lasts, and the experiments of the expert-level paper in the length alone.

Source: Adams, Banks, Kwon and Tran, Math. Biosci. Eng. 1 (2004), 223-241; Ernst, Stan, Goncalves and
Wehenkel, CDC 2006, 667-672.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments._hiv_kernels import advance
from dpproof.mechanisms.environments.batched import Batch, DynamicsBatch, Floats, Integers, Observations

FIXED_POINTS: Final = {
    "uninfected": (1e6, 3198.0, 0.0, 0.0, 0.0, 10.0),
    "healthy": (967_839.0, 621.0, 76.0, 6.0, 415.0, 353_108.0),
    "unhealthy": (163_573.0, 5.0, 11_945.0, 46.0, 63_919.0, 24.0),
}
"""The drug-free fixed points as printed, rounded: without virus, controlled by the immune system, and not."""
_DRUGS = np.array([(0.0, 0.0), (0.7, 0.0), (0.0, 0.3), (0.7, 0.3)])
"""Efficacies of the reverse transcriptase inhibitor and of the protease inhibitor, by action."""


@dataclass(frozen=True)
class HIVTreatment:
    """The environment; a policy sees the decimal logarithms of the six concentrations.

    A step pays -0.1 V - `first_penalty` e1^2 - `second_penalty` e2^2 + 1000 E, at the state after it.

    Attributes:
        days: how long an action lasts.
        horizon: steps of an episode; none is over before.
        first_penalty, second_penalty: what the drugs cost.
        efficacy_noise: standard deviation of both efficacies of a step, those of drugs not given aside.
        begins: the first state, as `FIXED_POINTS` writes them.
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
        """Begin this many episodes."""
        return DynamicsBatch(self, count, rng)

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """The first state, the same for all."""
        return np.tile(np.array(self.begins), (count, 1))

    def observe(self, state: Floats) -> Observations:
        """Decimal logarithms, of at least 1e-10."""
        return np.log10(np.maximum(state, 1e-10)).astype(np.float32)

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Give the drugs of the actions for `days` days."""
        given = _DRUGS[actions]
        if self.efficacy_noise:
            noisy = given + self.efficacy_noise * rng.standard_normal(given.shape)
            given = np.where(given > 0, np.clip(noisy, 0.0, 1.0), 0.0)
        first, second = np.ascontiguousarray(given.T)
        after: Floats = advance(state, first, second, float(self.days), self.tolerance)
        cost = 0.1 * after[:, 4] + self.first_penalty * first**2 + self.second_penalty * second**2
        return after, 1e3 * after[:, 5] - cost, np.zeros(len(state), bool)


EXPERTS: Final = HIVTreatment()
"""The experiments of the expert-level paper: 50 steps of 20 days."""
ERNST_2006: Final = replace(EXPERTS, days=5, horizon=200)
"""Ernst et al.: 200 steps of 5 days, from the unhealthy fixed point."""
ADAMS_2004: Final = replace(ERNST_2006, begins=(1e6, 3198.0, 1e-4, 1e-4, 1.0, 10.0))
"""Adams et al.: from an early infection, a little virus added to the uninfected fixed point."""
