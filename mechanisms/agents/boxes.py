"""Sets of observations that are vectors of real numbers, each cut to public limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpproof.mechanisms.agents.learner import Floats
from dpproof.mechanisms.agents.spaces import FiniteSpace

SPAN = 3.0
"""Numbers are scaled to [-SPAN, SPAN], because most observations stay far from their limits."""


@dataclass(frozen=True)
class BoxSpace:
    """Vectors of n numbers, each between two public limits. A number beyond its limit is cut to the limit.

    Attributes:
        low, high: the limits of each number.

    >>> space = BoxSpace((-2.0, 0.0), (2.0, 10.0))
    >>> space.number([1.0, 25.0]), space.size
    ((1.5, 3.0), 2)

    Raises:
        ValueError: the limits are not finite, or a lower limit is not below its upper limit.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.low or len(self.low) != len(self.high):
            raise ValueError(
                f"observations (limits of {len(self.low)} and {len(self.high)} numbers) must have a lower and an upper "
                "limit for each number, at least one"
            )
        for place, (a, b) in enumerate(zip(self.low, self.high, strict=True)):
            if not (a < b and math.isfinite(b - a)):
                raise ValueError(
                    f"the limits of number {place} of observations ({a!r}, {b!r}) must be finite with a finite "
                    "difference, the lower one first. Give observations=gymnasium.spaces.Box(low, high) with limits "
                    "that do not come from users' data; numbers beyond them are cut."
                )

    @classmethod
    def of(cls, name: str, given: Any) -> BoxSpace:
        """Return the set that a Gymnasium ``Box`` describes, or a pair of lists: lower and upper limits.

        Raises:
            ValueError: anything else, or limits that are not finite.
        """
        low, high = getattr(given, "low", None), getattr(given, "high", None)
        if low is None and isinstance(given, (tuple, list)) and len(given) == 2:
            low, high = given
        ends = [_vector(low), _vector(high)]
        if ends[0] is None or ends[1] is None or ends[0].ndim != 1 or ends[0].shape != ends[1].shape:
            raise ValueError(
                f"{name}s ({given!r:.80}) must be a Gymnasium Box of one dimension, or a pair of lists: the lower and "
                "the upper limits of the numbers. Flatten observations of another shape."
            )
        return cls(*(tuple(end.tolist()) for end in ends))

    @property
    def size(self) -> int:
        """The number n of numbers in an observation."""
        return len(self.low)

    @property
    def end(self) -> tuple[float, ...]:
        """What stands for the end of an episode: n times NaN."""
        return (math.nan,) * self.size

    def number(self, value: Any) -> tuple[float, ...]:
        """Return an observation as n numbers in [-SPAN, SPAN], which stand for the lower and the upper limits.

        Raises:
            ValueError: the value is no vector of n real numbers, or one of them is NaN.
        """
        found = _vector(value)
        if found is None or found.shape != (self.size,) or np.isnan(found).any():
            raise ValueError(
                f"observation ({value!r:.80}) must be a vector of {self.size} real numbers, none of them NaN"
            )
        return tuple(self.scaled(found).tolist())

    def scaled(self, values: Floats) -> Floats:
        """Return vectors (..., n) with each number cut to its limits and scaled to [-SPAN, SPAN]."""
        low, width = self._scale
        with np.errstate(over="ignore"):
            found: Floats = SPAN * (2 * ((values - low) / width).clip(0.0, 1.0) - 1)
        return found

    @cached_property
    def _scale(self) -> tuple[Floats, Floats]:
        return np.array(self.low), np.array(self.high) - np.array(self.low)

    def fits(self, space: Any) -> bool:
        """Return whether the observations of a Gymnasium space are vectors of n numbers."""
        return getattr(space, "shape", None) == (self.size,) and hasattr(space, "low")

    def as_json(self) -> dict[str, list[float]]:
        """Return the limits as JSON data."""
        return {"low": list(self.low), "high": list(self.high)}

    @classmethod
    def from_json(cls, given: dict[str, list[float]]) -> BoxSpace:
        """Return the set that ``as_json`` described."""
        if set(given) != {"low", "high"}:
            raise ValueError(f"observations ({given!r:.80}) must have the fields low and high")
        return cls.of("observation", (given["low"], given["high"]))


def _vector(value: Any) -> Any:
    """Return a value as an array of doubles; None if it is no array of real numbers."""
    try:
        found = np.asarray(value)
        return found.astype(np.float64) if found.dtype.kind in "biuf" else None
    except (TypeError, ValueError, OverflowError):
        return None


Observations = FiniteSpace | BoxSpace
"""The sets of observations that agents know."""
