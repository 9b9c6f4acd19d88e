"""The kinds of noise that the experiment compares. They differ in calibration, delta and the bound on returns."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.policy_evaluation.noise import Noise, jointly, printed, with_room
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits
from dpproof.mechanisms.rl.policy_evaluation.features import aggregation, ridge, tabular
from dpproof.mechanisms.rl.policy_evaluation.policy_evaluation import RidgeSquares, WeightedSquares

STATES: Final = 40
DISCOUNT: Final = 0.99
EPSILON: Final = "0.1"
LOOSE: Final = 100.0
"""The bound on returns that the paper's algorithms use: largest reward/(1 - discount)."""
FEATURES: Final = {"tabular": tabular(STATES), "aggregated": aggregation(STATES)}
Squares = WeightedSquares | RidgeSquares


@dataclass(frozen=True)
class Size:
    """The settings that say how much is run. A batch size is a number of trajectories.

    Attributes:
        batches: batch sizes, in increasing order.
        swept: the two batch sizes at which several ridge parameters are compared.
        runs: number of repetitions.
        small: batch sizes of the comparison on small data, in increasing order.
        small_runs: number of repetitions of that comparison.
    """

    batches: tuple[int, ...]
    swept: tuple[int, int]
    runs: int
    small: tuple[int, ...] = (1000, 5000, 10_000, 30_000, 100_000)
    small_runs: int = 100


@dataclass(frozen=True)
class Kind:
    """A way to add noise to an estimate of values, with delta and a bound on returns.

    Attributes:
        calibration: how the noise is computed from epsilon and delta: "none" (no noise), "printed" (the paper's
            constants), "room" (certified constants, the same for all data), or "planned" (certified constants, with
            about the least noise for the expected numbers of visits).
        delta: the delta. Epsilon is always 0.1.
        bound: the public bound on returns.
    """

    calibration: str
    delta: str = "0.1"
    bound: float = LOOSE

    @property
    def name(self) -> str:
        """A name that no other kind of noise has."""
        return (
            "no privacy"
            if self.calibration == "none"
            else f"{self.calibration}, delta {self.delta}, Fmax {self.bound:g}"
        )

    def noise(self, chosen: Squares, trajectories: int) -> Noise | None:
        """Return the constants of the noise for the regression `chosen`, or None without noise."""
        if self.calibration == "none":
            return None
        dimension = chosen.features.shape[1]
        if self.calibration == "planned":
            return _for_plan(self.delta, chosen, trajectories)
        return _constant(self.calibration, self.delta, dimension)

    def deviation(self, chosen: Squares, data: FirstVisits) -> float:
        """Return the standard deviation of the noise if the regression `chosen` is run on these data."""
        noise = self.noise(chosen, data.trajectories)
        if noise is None:
            return 0.0
        return noise.deviation(chosen.bound(data)) * float(chosen.unit(self.bound))


@lru_cache
def _constant(calibration: str, delta: str, dimension: int) -> Noise:
    return {"printed": printed, "room": with_room}[calibration](EPSILON, delta, dimension)


@lru_cache(maxsize=4096)
def _for_plan(delta: str, chosen: Squares, trajectories: int) -> Noise:
    return jointly(EPSILON, delta, chosen.features.shape[1], chosen.bound(planned(trajectories)))


KINDS: Final = (
    Kind("none"),
    *(
        Kind(calibration, delta, bound)
        for delta, bound, calibration in itertools.product(
            ("0.1", "1e-6"), (LOOSE, 1.0), ("printed", "room", "planned")
        )
    ),
)


def planned(trajectories: int) -> FirstVisits:
    """Return statistics of a batch in which each state has its expected number of visits, rounded down.

    If a trajectory visits a state several times, this counts as one visit. A trajectory starts in a uniformly random
    state, but not in the last state.
    """
    last = STATES - 1
    shares = np.append(np.arange(1, last + 1) / last, 1.0)
    visits: NDArray[np.int64] = np.floor(trajectories * shares).astype(np.int64)
    return FirstVisits(visits, np.zeros(STATES), trajectories, LOOSE)


@lru_cache(maxsize=4096)
def squares(algorithm: str, features: str, trajectories: int, given: float | None = None) -> Squares:
    """Return the least-squares regression in which all states have equal weights.

    The algorithm LSW has no ridge term, and LSL has one. ``given`` is the ridge parameter of LSL. The default is
    2 (norm of the features)^2 sqrt(number of trajectories).
    """
    phi = FEATURES[features]
    if algorithm == "LSW":
        return WeightedSquares(phi, np.full(STATES, 1 / STATES))
    rho = np.ones(STATES)
    return RidgeSquares(phi, rho, ridge(trajectories, phi, rho) if given is None else given)
