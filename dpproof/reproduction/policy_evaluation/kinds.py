"""The kinds of noise that are compared: calibrations, delta, the bound on returns, features."""

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
"""Rmax/(1 - gamma), the bound on returns that the algorithms print."""
FEATURES: Final = {"tabular": tabular(STATES), "aggregated": aggregation(STATES)}
Squares = WeightedSquares | RidgeSquares


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        batches: batch sizes, rising.
        swept: the two of the sweep over lambda.
        runs: how often.
        small: batch sizes, rising, of the comparison on small data.
        small_runs: how often that is run.
    """

    batches: tuple[int, ...]
    swept: tuple[int, int]
    runs: int
    small: tuple[int, ...] = (1000, 5000, 10_000, 30_000, 100_000)
    small_runs: int = 100


@dataclass(frozen=True)
class Kind:
    """One way to add noise.

    Attributes:
        calibration: none, printed, room (exact, no data looked at), or planned (exact, for expected visits).
        delta: at which epsilon is 0.1.
        bound: Fmax, the public bound on returns.
    """

    calibration: str
    delta: str = "0.1"
    bound: float = LOOSE

    @property
    def name(self) -> str:
        """A name that no other kind has."""
        return (
            "no privacy"
            if self.calibration == "none"
            else f"{self.calibration}, delta {self.delta}, Fmax {self.bound:g}"
        )

    def noise(self, chosen: Squares, trajectories: int) -> Noise | None:
        """Its constants; they depend on no drawn batch."""
        if self.calibration == "none":
            return None
        dimension = chosen.features.shape[1]
        if self.calibration == "planned":
            return _for_plan(self.delta, chosen, trajectories)
        return _constant(self.calibration, self.delta, dimension)

    def deviation(self, chosen: Squares, data: FirstVisits) -> float:
        """The standard deviation of its noise on a batch."""
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
    """The expected visits of the chain, as a plan: the start is uniform before the last state."""
    last = STATES - 1
    shares = np.append(np.arange(1, last + 1) / last, 1.0)
    visits: NDArray[np.int64] = np.floor(trajectories * shares).astype(np.int64)
    return FirstVisits(visits, np.zeros(STATES), trajectories, LOOSE)


@lru_cache(maxsize=4096)
def squares(algorithm: str, features: str, trajectories: int, given: float | None = None) -> Squares:
    """The regression: LSW with w = 1/N, or LSL with rho = 1 and lambda = 2 ||Phi||^2 sqrt(m) unless given."""
    phi = FEATURES[features]
    if algorithm == "LSW":
        return WeightedSquares(phi, np.full(STATES, 1 / STATES))
    rho = np.ones(STATES)
    return RidgeSquares(phi, rho, ridge(trajectories, phi, rho) if given is None else given)
