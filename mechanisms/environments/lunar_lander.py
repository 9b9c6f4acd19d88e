"""LunarLander-v3 of Gymnasium, for many episodes at once. Needs `box2d`.

Box2D simulates one episode at a time, so a batch is a list of simulations.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Batch, Floats, Integers, Observations


def has_box2d() -> bool:
    """Return whether Gymnasium's Box2D environments can be created.

    The import of Box2D's wrapper gives warnings, and crashes if warnings are errors. So this function ignores them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import Box2D  # noqa: F401
            import gymnasium.envs.box2d.lunar_lander  # noqa: F401
        except ImportError:
            return False
    return True


@dataclass(frozen=True)
class LunarLander:
    """The environment LunarLander-v3 of Gymnasium, for many episodes at once.

    The experts of the expert-level paper are trained with other values than the defaults.

    Attributes:
        gravity: downwards, in (0, 12). Gymnasium's default is 10; the paper prints 9.8.
        wind, turbulence: wind power and turbulence power, 0 for none.
        horizon: number of steps after which an episode is stopped.
    """

    gravity: float = 10.0
    wind: float = 0.0
    turbulence: float = 0.0
    horizon: int = 200

    actions = 4
    observation_size = 8

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Return a batch of `count` new episodes.

        Raises:
            ModuleNotFoundError: Box2D is not installed.
        """
        if not has_box2d():
            raise ModuleNotFoundError("LunarLander needs Box2D. Run: pip install 'dpproof[rl]'")
        return _Simulations([self._one(int(seed)) for seed in rng.integers(2**31, size=count)], rng)

    def _one(self, seed: int) -> tuple[Any, Any]:
        from gymnasium.envs.box2d.lunar_lander import LunarLander as Simulation

        made = Simulation(
            gravity=-self.gravity,
            enable_wind=self.wind > 0 or self.turbulence > 0,
            wind_power=self.wind,
            turbulence_power=self.turbulence,
        )
        return made, made.reset(seed=seed)[0]


class _Simulations:
    """A batch: the running simulations, and the last observation of each simulation."""

    def __init__(self, begun: list[tuple[Any, Any]], rng: np.random.Generator) -> None:
        self._rng = rng
        self._running = [made for made, _ in begun]
        self._seen: Observations = np.array([seen for _, seen in begun], np.float32)

    def observations(self) -> Observations:
        """Return the observations of the policies."""
        return self._seen

    def step(self, actions: Integers) -> tuple[Observations, Floats, NDArray[np.bool_]]:
        """Take actions; see `Batch.step`."""
        each = [made.step(int(a)) for made, a in zip(self._running, actions, strict=True)]
        self._seen = np.array([found[0] for found in each], np.float32)
        return self._seen, np.array([float(found[1]) for found in each]), np.array([x[2] for x in each], bool)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Keep only these rows."""
        self._running = [made for made, kept in zip(self._running, rows, strict=True) if kept]
        self._seen = self._seen[rows]

    def renew(self, rows: NDArray[np.bool_]) -> None:
        """Start the episodes of these rows again."""
        for row in np.flatnonzero(rows):
            self._seen[row] = self._running[row].reset(seed=int(self._rng.integers(2**31)))[0]
