"""Hard pairs of inputs for every noise primitive, as far apart as its accountant's parameters allow.

Where the accountant names a pair that attains its guarantee this is that pair, or one of its kind that
samples can tell apart. A pair is a function of the parameters and of the neighbouring relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.sensitivity import L1, sensitivity_of
from dpproof.accountant.counting.sensitivity import SIGNED
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.audits.data.neighbours.vectors import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours
from dpproof.mechanisms.counting.tree import tree_nodes

__all__ = [
    "answers",
    "choices",
    "counts",
    "queries",
    "responses",
    "shuffled_bits",
    "smooth_answers",
    "streams",
    "training",
    "tree_streams",
]

QUERIES = 4
"""Queries at the threshold before the positive answers of a sparse vector."""
RARE = 0.1
"""Odds, on the likelier side, of the choice that tells the inputs of a selection apart."""


def answers(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """All answers 0, or all at the sensitivity, in each coordinate that moves between neighbours."""
    moved = sensitivity_of(parameters, adjacency, L1)
    size = _size(parameters, adjacency)
    described = f"answers all 0, or all {size:g}"
    none = np.zeros(parameters.compositions * moved.coordinates)
    return Neighbours(none, none + size, adjacency, described, VectorRelation(Distance.ALL, size))


def _size(parameters: Any, adjacency: Adjacency) -> float:
    """The largest double at most what one coordinate moves by."""
    return neighbours_of(sensitivity_of(parameters, adjacency, L1).moved)[0]


def counts(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """All counts 0, or all 1; if a second cell moves, one record is in the one cell or in the other."""
    none = np.zeros(parameters.compositions, np.int64)
    if sensitivity_of(parameters, adjacency, L1).coordinates == 1:
        return Neighbours(none, none + 1, adjacency, "counts all 0, or all 1", VectorRelation(Distance.ALL))
    first, second = np.concatenate([none + 1, none]), np.concatenate([none, none + 1])
    described = "one record in the first cell, or in the second"
    return Neighbours(first, second, adjacency, described, VectorRelation(Distance.ALL))


def responses(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """One person's true answers: all 0, or all 1. Any two persons are neighbours."""
    none = np.zeros(parameters.compositions, np.int64)
    return Neighbours(none, none + 1, adjacency, "true answers all 0, or all 1", _any_two)


def choices(parameters: Any, adjacency: Adjacency, *, tied: bool = False) -> Neighbours:
    """Two candidates, one of which gains the sensitivity while the other loses it (or stays, if monotone).

    Args:
        parameters: of the accountant.
        adjacency: what the claim calls the relation.
        tied: the candidates begin level; otherwise the gaining one is chosen rarely even afterwards, so
            that the ratio of its chances comes near its limit.
    """
    gain = _size(parameters, adjacency)
    loss = 0.0 if getattr(parameters, "monotone", False) else gain
    behind = 0.0 if tied else gain + loss - parameters.scale * math.log(RARE)
    first = np.tile([-behind, 0.0], (parameters.compositions, 1))
    second = np.tile([gain - behind, -loss], (parameters.compositions, 1))
    second = np.where(np.abs(second - first) > gain, np.nextafter(second, first), second)
    described = f"utilities {first[0].tolist()} or {second[0].tolist()}"
    return Neighbours(first, second, adjacency, described, VectorRelation(Distance.ALL, gain))


def queries(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """Queries at the threshold: the early ones move up, as many as are answered "above" move down.

    Monotone queries all move up.
    """
    size = _size(parameters, adjacency)
    late = parameters.positives
    first = np.zeros(QUERIES + late)
    moved = np.repeat([1.0, 1.0 if parameters.monotone else -1.0], (QUERIES, late))
    described = f"{QUERIES} queries at the threshold that move by {size:g}, then {late} " + (
        "that move alike" if parameters.monotone else "that move against them"
    )
    return Neighbours(first, size * moved, adjacency, described, VectorRelation(Distance.ALL, size))


@dataclass(frozen=True)
class OneUser:
    """The validator of streams in which one user moves leaves ``(runs, leaves)`` within a change of ``size``.

    Attributes:
        size: the most that one leaf changes by.
        leaves: the most leaves of one run that change.
        separation: the least distance between two of them.
    """

    size: float
    leaves: int
    separation: int

    def __call__(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> None:
        """Raise ValueError, showing the difference, unless the two are neighbours."""
        if np.abs(second - first).max() > self.size:
            raise ValueError(
                f"a leaf changes by {np.abs(second - first).max():.17g}; the most is {self.size!r}"
            )
        for run, changed in enumerate(np.flatnonzero(row) for row in first != second):
            if changed.size > self.leaves:
                raise ValueError(f"run {run}: {changed.size} leaves change; the most is {self.leaves}")
            if changed.size > 1 and np.diff(changed).min() < self.separation:
                raise ValueError(
                    f"run {run}: leaves {np.diff(changed).min()} apart; least: {self.separation}"
                )


def streams(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """One user at the leaves 1, 1 + separation, ... of every run, against nobody there.

    Under ``replace`` with contributions of either sign the user turns from -1 to +1 times the sensitivity.
    """
    gap, size = getattr(parameters, "separation", 1), _size(parameters, adjacency)
    used = np.arange(min(parameters.participations, -(-parameters.leaves // gap))) * gap
    turned = adjacency is Adjacency.REPLACE and parameters.contributions == SIGNED
    first, second = np.zeros((2, parameters.restarts + 1, parameters.leaves))
    first[:, used], second[:, used] = (-size if turned else 0.0), size
    described = (
        f"a user adds {'-' if turned else ''}{size if turned else 0:g} or {size:g} to {used.size} leaves"
    )
    check = OneUser((1 + turned) * size, used.size, gap)
    return Neighbours(first, second, adjacency, f"{described}, the first among them", check)


def tree_streams(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """The same; a replaced user of nonnegative contributions leaves the first leaf for one far from it."""
    if adjacency is not Adjacency.REPLACE or parameters.contributions == SIGNED:
        return streams(parameters, adjacency)
    first, second = np.zeros((2, parameters.restarts + 1, parameters.leaves))
    size = _size(parameters, adjacency)
    first[:, 0] = size
    best = max(
        (1 << level for level in range(parameters.leaves.bit_length())), key=partial(_moved, parameters)
    )
    second[:, min(best, parameters.leaves - 1)] = size
    check = OneUser(size, 2, 1)
    described = f"a user at leaf 1, or at leaf {min(best, parameters.leaves - 1) + 1}"
    return Neighbours(first, second, adjacency, described, check)


def _moved(parameters: Any, place: int) -> float:
    """How many nodes change when a user moves from the first leaf to the one at ``place``."""
    gap = np.zeros(parameters.leaves)
    gap[0] -= 1
    gap[min(place, parameters.leaves - 1)] += 1
    return float(np.abs(tree_nodes(gap.cumsum())).sum())


def training(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """A user whose vectors all have the clipping norm: absent or there; or turned round, for ``replace``."""
    first = -1.0 if adjacency is Adjacency.REPLACE else 0.0
    described = f"vectors of a user: {'turned round' if first else 'none'}, or all of the clipping norm"
    return Neighbours(first, 1.0, adjacency, described, _clipped)


def smooth_answers(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """Answers apart by the smaller smooth bound, the bounds apart by the full factor exp(smoothing)."""
    larger = math.exp(min(parameters.smoothing, 700.0))
    for _ in range(4):
        larger = max(1.0, math.nextafter(larger, 0.0))
    check = partial(_smooth, smoothing=parameters.smoothing)
    return Neighbours(
        (0.0, 1.0), (1.0, larger), adjacency, f"answers 0 and 1, bounds 1 and {larger:g}", check
    )


def shuffled_bits(parameters: Any, adjacency: Adjacency) -> Neighbours:
    """One user's bit, 0 or 1: among users who hold 0, or where sums are printed, among users who hold 1."""
    others = 0 if parameters.encoding == "bits" else parameters.users - 1
    described = f"one user's bit, 0 or 1, where {others} others hold 1"
    return Neighbours(others, others + 1, adjacency, described, _one_more)


def _any_two(_first: Any, _second: Any) -> None:
    """Local privacy: any two inputs are neighbours."""


def _clipped(first: float, second: float) -> None:
    if not (abs(first) <= 1 and abs(second) <= 1):
        raise ValueError(f"{first!r} and {second!r} must be in [-1, 1]")


def _one_more(first: int, second: int) -> None:
    if abs(second - first) != 1:
        raise ValueError(f"{first!r} and {second!r} ones differ by {abs(second - first)}, not by one bit")


def _smooth(first: tuple[float, float], second: tuple[float, float], *, smoothing: float) -> None:
    """Exactly: answers within both bounds, and bounds within the factor of each other."""
    gap = abs(exact(second[0]) - exact(first[0]))
    if gap > min(exact(first[1]), exact(second[1])):
        raise ValueError(f"the answers differ by {float(gap):g}, more than a smooth bound")
    low, high = sorted((exact(first[1]), exact(second[1])))
    with precision(128):
        if not arb_of(high) <= arb_of(low) * arb_of(exact(smoothing)).exp() and high != low:
            raise ValueError(f"the bounds differ by more than the factor exp({smoothing!r})")
