"""Targets of calibration: what is to be met, and the certified judgement whether a noise meets it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, below_one
from dpproof.accountant.numbers.inversion import neighbours_of


class TargetError(ValueError):
    """Raised when no noise is the least that meets a target."""


class UnreachableTargetError(TargetError):
    """Raised when no noise within reach meets the target."""


class NoNoiseNeededError(TargetError):
    """Raised when the target is met with next to no noise."""


@dataclass(frozen=True)
class Target:
    """The (epsilon, delta) to meet, exactly, and the doubles around epsilon.

    Raises:
        ValueError: for a negative epsilon, or a delta outside [0, 1).
    """

    epsilon: Fraction
    delta: Fraction
    below: float = field(init=False)
    """The largest double at most epsilon: what is to be met."""
    above: float = field(init=False)
    """The smallest double above epsilon: what is to be missed."""

    def __post_init__(self) -> None:
        at_least_zero(self.epsilon, "epsilon")
        below_one(self.delta, "delta")
        for name, value in zip(("below", "above"), neighbours_of(self.epsilon), strict=True):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return f"epsilon ({float(self.epsilon)!r}) at delta ({float(self.delta)!r})"


@dataclass
class Judge:
    """Certified yes, certified no, and a rough distance, of the guarantee with a given noise."""

    guarantee: Callable[[Any], Profile]
    target: Target
    known: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def meets(self, noise: Any) -> bool:
        """Whether epsilon is certified to be at most the target."""
        if self.target.delta == 0:
            return self.guarantee(noise).epsilon(0).upper <= self.target.below
        return self.guarantee(noise).delta(self.target.below).upper <= self.target.delta

    def misses(self, noise: Any) -> bool:
        """Whether epsilon is certified to be above the next double after the target."""
        if self.target.delta == 0:
            return self.guarantee(noise).epsilon(0).lower > self.target.above
        return self.guarantee(noise).delta(self.target.above).lower > self.target.delta

    def gap(self, noise: Any) -> tuple[float, float]:
        """How far from the target, above 0 where it is missed, and how uncertain that is; guides only.

        Measured in sqrt(-2 log delta), which is about linear in the noise of a Gaussian.
        """
        if noise not in self.known:
            try:
                self.known[noise] = self._gap(self.guarantee(noise))
            except (ArithmeticError, MemoryError):  # a delta too far below the target to tell: less noise
                self.known[noise] = (-1.0, 0.0)
        return self.known[noise]

    def _gap(self, guarantee: Profile) -> tuple[float, float]:
        if self.target.delta == 0:
            return _spread(guarantee.epsilon(0), _log, float(self.target.epsilon))
        return _spread(guarantee.delta(self.target.below), _score, float(self.target.delta))


def _spread(found: Bound, scale: Callable[[float], float], target: float) -> tuple[float, float]:
    low, high, goal = scale(found.lower or found.upper), scale(found.upper), scale(target)
    return (low + high) / 2 - goal, high - low


def _log(value: float) -> float:
    return math.log(value) if 0 < value < math.inf else math.copysign(750.0, value - 1)


def _score(delta: float) -> float:
    return -math.sqrt(max(-2 * _log(delta), 0.0))
