"""What a case of the campaign is: a box of parameters, and a check of one random point in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Box:
    """Intervals on which parameters are drawn log-uniformly; ``whole`` ones are rounded down to integers."""

    ends: Mapping[str, tuple[float, float]]
    whole: frozenset[str] = frozenset()

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """One point."""
        found = {k: math.exp(rng.uniform(math.log(a), math.log(b))) for k, (a, b) in self.ends.items()}
        return {k: int(v) if k in self.whole else v for k, v in found.items()}


@dataclass(frozen=True)
class Outcome:
    """What one point gave: ``ok``, ``violation``, or ``no answer`` (a refusal, or [0, inf])."""

    status: str
    width: float = 0.0
    """Relative width of the answer."""
    region: str = "all"
    detail: str = ""


class NoReferenceError(Exception):
    """The reference itself is not known well enough to judge: says nothing about the accountant."""


@dataclass(frozen=True)
class Case:
    """A check of one point drawn by a generator."""

    name: str
    kind: str
    """``closed form``, ``consistency`` or ``reference``."""
    points: int
    """How many points the whole campaign draws."""
    chunk: int
    """How many one unit of resumable work draws."""
    check: Callable[[np.random.Generator], Outcome]
    promise: str
    """The box, and the width promised in it, written down before it is measured."""

    def outcome(self, rng: np.random.Generator) -> Outcome:
        """One point; without a reference to judge by, in a region of its own."""
        try:
            return self.check(rng)
        except NoReferenceError as unknown:
            return Outcome("ok", 0.0, "no reference", str(unknown))


def judge(
    lower: float, upper: float, truth_low: float, truth_high: float, detail: str, region: str = "all"
) -> Outcome:
    """The outcome of an answer [lower, upper] where the truth is known to lie in [truth_low, truth_high]."""
    if lower == 0 and math.isinf(upper):
        return Outcome("no answer", math.inf, region, detail)
    if upper < truth_low or lower > truth_high or lower > upper:
        seen = f"{detail}: [{lower!r}, {upper!r}] against [{truth_low!r}, {truth_high!r}]"
        return Outcome("violation", math.inf, region, seen)
    width = 0.0 if lower == upper else (upper - lower) / upper
    return Outcome("ok", width, region)
