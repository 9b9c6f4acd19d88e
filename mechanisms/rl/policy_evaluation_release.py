"""What DP-LSW and DP-LSL release, and what a simulation draws: another type, which has no guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountant.accounted import Accounted
from accountant.adjacency import Adjacency
from accountant.rl.policy_evaluation import PolicyEvaluationParameters, guarantee
from mechanisms.randomness import SIMULATION

__all__ = ["ReleasedValues", "SimulatedValues"]


@dataclass(frozen=True)
class _Multiples:
    """Parameters of the values as multiples of a public grid.

    Attributes:
        multiples: an integer for each feature.
        exponent: the step of the grid is 2 to this power; it depends on no data.
    """

    multiples: tuple[int, ...]
    exponent: int

    @property
    def values(self) -> NDArray[np.float64]:
        """The same as doubles: multiples times 2^exponent."""
        return np.ldexp(np.array(self.multiples, np.float64), self.exponent)


@dataclass(frozen=True)
class ReleasedValues(_Multiples):
    """Parameters drawn from entropy by an exact sampler: private to the last bit.

    Attributes:
        parameters: the public constants that the guarantee is about.
    """

    parameters: PolicyEvaluationParameters

    def guarantee(self, adjacency: Adjacency = Adjacency.REPLACE) -> Accounted:
        """The exact guarantee of these integers, and of all that is computed from them alone."""
        return guarantee(self.parameters, adjacency)

    def as_json(self) -> dict[str, Any]:
        """The integers, the grid and the constants of the guarantee, for JSON."""
        found: dict[str, Any] = {"multiples": list(self.multiples), "exponent": self.exponent}
        return found | {"guarantee": {"mechanism": "policy-evaluation", **self.parameters.as_json()}}


@dataclass(frozen=True, repr=False)
class SimulatedValues(_Multiples):
    """Parameters drawn from a seed or a given generator: without a guarantee.

    >>> SimulatedValues((5,), -20)
    SimulatedValues(simulation: drawn from a fixed seed or a given generator, so no guarantee holds)
    """

    def __repr__(self) -> str:
        return f"SimulatedValues({SIMULATION})"

    def as_json(self) -> dict[str, Any]:
        """The integers and the grid, for JSON, and that there is no guarantee."""
        found: dict[str, Any] = {"multiples": list(self.multiples), "exponent": self.exponent}
        return found | {"guarantee": None, "simulation": SIMULATION}
