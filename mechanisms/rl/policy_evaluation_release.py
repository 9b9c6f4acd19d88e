"""What DP-LSW and DP-LSL release, and what a simulation draws: another type, which has no guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountant.accounted import Accounted
from accountant.adjacency import Adjacency
from accountant.rl.policy_evaluation import PolicyEvaluationParameters, guarantee
from mechanisms.release.grid import doubles, how_released

__all__ = ["ReleasedValues", "SimulatedValues"]


@dataclass(frozen=True)
class _Integers:
    """Parameters of the values in steps of a public grid, and the public constants of the mechanism.

    Attributes:
        parameters: the constants, alpha and beta among them.
        integers: one for each feature, in steps of the grid.
        exponent: the grid is all multiples of 2^exponent; it depends on no data.
    """

    parameters: PolicyEvaluationParameters
    integers: tuple[int, ...]
    exponent: int

    @property
    def values(self) -> NDArray[np.float64]:
        """The same as doubles: functions of the integers."""
        return doubles(self.integers, self.exponent)

    def _json(self, *, simulated: bool) -> dict[str, Any]:
        return {
            "parameters": self.parameters.as_json(),
            "integers": list(self.integers),
            "exponent": self.exponent,
            "simulated": simulated,
            "covers_released_bits": not simulated,
            "released_bits": how_released(simulated),
        }


class ReleasedValues(_Integers):
    """Parameters drawn from entropy by an exact sampler: private to the last bit."""

    def guarantee(self, adjacency: Adjacency) -> Accounted:
        """The exact guarantee of these integers, and of all that is computed from them alone."""
        return guarantee(self.parameters, adjacency)

    def as_json(self) -> dict[str, Any]:
        """The release as JSON data."""
        return self._json(simulated=False)


class SimulatedValues(_Integers):
    """Parameters drawn from a seed or a given generator: without a guarantee."""

    def __repr__(self) -> str:
        return f"<SimulatedValues; {how_released(simulated=True)}>"

    def as_json(self) -> dict[str, Any]:
        """The simulation as JSON data, which say that there is no guarantee."""
        return self._json(simulated=True)
