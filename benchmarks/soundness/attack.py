"""What an attack by brute force is: one small instance of a mechanism whose delta is computed by another method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.bounds import Bound

Floats = NDArray[np.float64]
SLACK = 1e-3
"""The relative error that is allowed to a delta that is summed over a grid."""


@dataclass(frozen=True)
class Seen:
    """The result of one attack: whether a bound was on the wrong side, and the attacker's share of the upper bound."""

    wrong: bool
    reach: float
    detail: str = ""


@dataclass(frozen=True)
class Attack:
    """A family of instances, each drawn by a generator, with the number of instances of the whole run."""

    name: str
    method: str
    points: int
    once: Callable[[np.random.Generator, int], Seen]
    """The attack on one instance. The integer multiplies the points of a grid."""


def judged(found: Bound, reached: float, detail: str, least: float = math.inf, slack: float = SLACK) -> Seen:
    """Return the result for a delta that some pair of neighbours reaches.

    ``least`` is what the neighbours reach on which the lower bound rests. The lower bound must not exceed it.
    """
    above = reached > found.upper * (1 + slack) + 1e-14
    below = found.lower > least * (1 + slack) + 1e-14
    seen = f"{detail}: {found.lower!r} to {found.upper!r}, reached {reached!r}, lower bound from {least!r}"
    return Seen(above or below, reached / found.upper if found.upper else 0.0, seen if above or below else "")


def hockey(p: Floats, q: Floats, epsilon: float) -> float:
    """Return the larger hockey-stick divergence of two laws in both orders."""
    grown = math.exp(epsilon)
    return float(max(np.maximum(p - grown * q, 0).sum(), np.maximum(q - grown * p, 0).sum()))


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a number, uniform on the logarithmic scale."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))
