"""CartPole and Acrobot as Gymnasium defines them (CartPole-v1, Acrobot-v1), in batches.

The constants are those of Gymnasium 1.x, and a test compares every step with Gymnasium. Sources: Barto, Sutton and
Anderson, IEEE Trans. SMC 13 (1983), with the method of Euler; Sutton and Barto, Reinforcement Learning
(2018), example 11.3, with one step of the classical Runge-Kutta method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Batch, DynamicsBatch, Floats, Integers, Observations

_POLE_MASS, _HALF_LENGTH, _TICK = 0.1, 0.5, 0.02
_FARTHEST, _WIDEST = 2.4, 12 * 2 * math.pi / 360


@dataclass(frozen=True)
class CartPole:
    """The environment CartPole-v1 of Gymnasium. A policy sees the whole state: position, speed, angle, angular speed.

    Attributes:
        gravity, force, cart_mass: in SI units. The experts of the expert-level paper are trained with other
            values than the defaults.
        horizon: number of steps after which an episode is stopped.
    """

    gravity: float = 9.8
    force: float = 10.0
    cart_mass: float = 1.0
    horizon: int = 200

    actions = 2
    observation_size = 4

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Return a batch of `count` new episodes."""
        return DynamicsBatch(self, count, rng)

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the first states of `count` episodes: four numbers each, uniform in [-0.05, 0.05]."""
        return rng.uniform(-0.05, 0.05, (count, 4))

    def observe(self, state: Floats) -> Observations:
        """Return the states in single precision: a policy sees the whole state."""
        return state.astype(np.float32)

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the next states, the rewards (all 1), and which episodes are over.

        The cart is pushed to the right if the action is 1, otherwise to the left.
        """
        x, speed, angle, turning = state.T
        total, lever = _POLE_MASS + self.cart_mass, _POLE_MASS * _HALF_LENGTH
        cosine, sine = np.cos(angle), np.sin(angle)
        push = np.where(actions == 1, self.force, -self.force)
        shared = (push + lever * np.square(turning) * sine) / total
        inertia = _HALF_LENGTH * (4.0 / 3.0 - _POLE_MASS * np.square(cosine) / total)
        twist = (self.gravity * sine - cosine * shared) / inertia
        pull = shared - lever * twist * cosine / total
        x, speed = x + _TICK * speed, speed + _TICK * pull
        angle, turning = angle + _TICK * turning, turning + _TICK * twist
        over = (abs(x) > _FARTHEST) | (abs(angle) > _WIDEST)
        return np.column_stack([x, speed, angle, turning]), np.ones(len(x)), over


_SECONDS, _GRAVITY, _CENTRE, _INERTIA = 0.2, 9.8, 0.5, 1.0
_FASTEST = np.array([4 * np.pi, 9 * np.pi])


@dataclass(frozen=True)
class Acrobot:
    """The environment Acrobot-v1 of Gymnasium. A policy sees cosine and sine of two angles, and two angular speeds.

    Attributes:
        length, first_mass, second_mass: length (m) of both links, and their masses (kg). No equation uses the
            length of the second link.
        horizon: number of steps after which an episode is stopped.
    """

    length: float = 1.0
    first_mass: float = 1.0
    second_mass: float = 1.0
    horizon: int = 200

    actions = 3
    observation_size = 6

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Return a batch of `count` new episodes."""
        return DynamicsBatch(self, count, rng)

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the first states of `count` episodes: four numbers each, uniform in [-0.1, 0.1].

        They are rounded to single precision as in Gymnasium.
        """
        return rng.uniform(-0.1, 0.1, (count, 4)).astype(np.float32).astype(np.float64)

    def observe(self, state: Floats) -> Observations:
        """Return the cosine and the sine of both angles, and both angular speeds."""
        one, two, fast, faster = state.T
        seen = [np.cos(one), np.sin(one), np.cos(two), np.sin(two), fast, faster]
        return np.column_stack(seen).astype(np.float32)

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the next states, the rewards, and which episodes are over.

        Actions 0, 1, 2 apply torque -1, 0, 1. The episode is over when the tip is more than the length of one link
        above the hinge. The reward of this step is 0, and that of any other step is -1.
        """
        after = self._advance(state.T, actions.astype(np.float64) - 1.0)
        after[:2] -= 2 * np.pi * np.round(after[:2] / (2 * np.pi))
        after[2:] = np.clip(after[2:], -_FASTEST[:, None], _FASTEST[:, None])
        over = -np.cos(after[0]) - np.cos(after[1] + after[0]) > 1.0
        return after.T, np.where(over, 0.0, -1.0), over

    def _advance(self, y: Floats, torque: Floats) -> Floats:
        half = _SECONDS / 2
        k1 = self._rates(y, torque)
        k2 = self._rates(y + half * k1, torque)
        k3 = self._rates(y + half * k2, torque)
        k4 = self._rates(y + _SECONDS * k3, torque)
        return y + _SECONDS / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def _rates(self, y: Floats, torque: Floats) -> Floats:
        """Return angular speeds and accelerations, by the equations of the book."""
        one, two, fast, faster = y
        m1, m2, l1 = self.first_mass, self.second_mass, self.length
        cosine, sine = np.cos(two), np.sin(two)
        d1 = m1 * _CENTRE**2 + m2 * (l1**2 + _CENTRE**2 + 2 * l1 * _CENTRE * cosine) + 2 * _INERTIA
        d2 = m2 * (_CENTRE**2 + l1 * _CENTRE * cosine) + _INERTIA
        weight = m2 * _CENTRE * _GRAVITY * np.cos(one + two - np.pi / 2)
        swing = (
            -m2 * l1 * _CENTRE * faster * (faster + 2 * fast) * sine
            + (m1 * _CENTRE + m2 * l1) * _GRAVITY * np.cos(one - np.pi / 2)
            + weight
        )
        inner = torque + d2 / d1 * swing - m2 * l1 * _CENTRE * fast**2 * sine - weight
        second = inner / (m2 * _CENTRE**2 + _INERTIA - d2**2 / d1)
        return np.array([fast, faster, -(d2 * second + swing) / d1, second])
