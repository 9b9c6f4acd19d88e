"""CartPole as Gymnasium's CartPole-v1 defines it, in batches: balance a pole on a cart by pushes of one size.

Source: Barto, Sutton and Anderson, IEEE Trans. SMC 13 (1983), with Euler's method and the constants of
Gymnasium 1.x; a test compares every step with Gymnasium's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Batch, DynamicsBatch, Floats, Integers, Observations

_POLE_MASS, _HALF_LENGTH, _SECONDS = 0.1, 0.5, 0.02
_FARTHEST, _WIDEST = 2.4, 12 * 2 * math.pi / 360


@dataclass(frozen=True)
class CartPole:
    """The environment; what a state holds is seen: position, speed, angle, angular speed.

    Attributes:
        gravity, force, cart_mass: SI units; the paper's experts are trained with others than the default's.
        horizon: steps after which an episode is cut.
    """

    gravity: float = 9.8
    force: float = 10.0
    cart_mass: float = 1.0
    horizon: int = 200

    actions = 2
    observation_size = 4

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Begin this many episodes."""
        return DynamicsBatch(self, count, rng)

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """First states: four numbers in [-0.05, 0.05]."""
        return rng.uniform(-0.05, 0.05, (count, 4))

    def observe(self, state: Floats) -> Observations:
        """The state."""
        return state.astype(np.float32)

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """A push to the right where the action is 1; every step pays 1."""
        x, speed, angle, turning = state.T
        total, lever = _POLE_MASS + self.cart_mass, _POLE_MASS * _HALF_LENGTH
        cosine, sine = np.cos(angle), np.sin(angle)
        push = np.where(actions == 1, self.force, -self.force)
        shared = (push + lever * np.square(turning) * sine) / total
        inertia = _HALF_LENGTH * (4.0 / 3.0 - _POLE_MASS * np.square(cosine) / total)
        twist = (self.gravity * sine - cosine * shared) / inertia
        pull = shared - lever * twist * cosine / total
        x, speed = x + _SECONDS * speed, speed + _SECONDS * pull
        angle, turning = angle + _SECONDS * turning, turning + _SECONDS * twist
        over = (abs(x) > _FARTHEST) | (abs(angle) > _WIDEST)
        return np.column_stack([x, speed, angle, turning]), np.ones(len(x)), over
