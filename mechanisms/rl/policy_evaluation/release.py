"""What DP-LSW and DP-LSL release, and what a simulation draws: another type, which has no guarantee."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.release.grid import OnGrid, Released, Simulated, doubles


class _Values(OnGrid):
    """Parameters of the values: one integer for each feature, in steps of the grid."""

    mechanism = "policy-evaluation"

    @property
    def values(self) -> NDArray[np.float64]:
        """The same as doubles: functions of the integers."""
        return doubles(self.integers, self.exponent)


class ReleasedValues(_Values, Released):
    """Parameters drawn from entropy by an exact sampler: private to the last bit."""


class SimulatedValues(_Values, Simulated):
    """Parameters drawn from a seed or a given generator: without a guarantee."""
