"""The audit of running counts with Gaussian noise on a tree: the inputs are streams in which only one user acts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.sensitivity import SIGNED
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, Gaussian, gaussian, size
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.counting.tree import tree_nodes


class Streamed(Protocol):
    """The parameters of a mechanism that releases running counts."""

    @property
    def leaves(self) -> int:
        """The length of the stream of one run; its steps are the leaves of the tree."""
        ...

    @property
    def restarts(self) -> int:
        """The number of times that the counts start again at 0."""
        ...

    @property
    def participations(self) -> int:
        """The largest number of steps of one run in which one user contributes."""
        ...

    @property
    def contributions(self) -> str:
        """A word that tells whether a contribution may be negative: "signed" or "nonnegative"."""
        ...


@dataclass(frozen=True)
class OneUser:
    """A check that two streams, arrays ``(runs, leaves)``, differ only in the contributions of one user.

    Attributes:
        size: the largest change of one leaf, which is one step of the stream.
        leaves: the largest number of leaves of one run that may change.
        separation: the smallest distance between two changed leaves.
    """

    size: float
    leaves: int
    separation: int

    def __call__(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> None:
        """Raise ValueError, showing the difference, unless the two are neighbours."""
        if np.abs(second - first).max() > self.size:
            raise ValueError(
                f"A value of the stream changes by {np.abs(second - first).max():.17g}. "
                f"The change may be at most {self.size!r}."
            )
        for run, changed in enumerate(np.flatnonzero(row) for row in first != second):
            if changed.size > self.leaves:
                raise ValueError(
                    f"In run {run}, {changed.size} values of the stream change. At most {self.leaves} may change."
                )
            if changed.size > 1 and np.diff(changed).min() < self.separation:
                raise ValueError(
                    f"In run {run}, two changed values are {np.diff(changed).min()} places apart. "
                    f"They must be at least {self.separation} places apart."
                )


def streams(parameters: Streamed, adjacency: Adjacency) -> Neighbours:
    """Return two neighbouring streams: one is 0, and in the other a user contributes as often as allowed.

    The user contributes at the steps 1, 1 + separation, ... of every run. Under ``replace`` with contributions of
    either sign, the contributions change from -1 to +1 times the sensitivity.
    """
    gap, moves = getattr(parameters, "separation", 1), size(parameters, adjacency)
    used = np.arange(min(parameters.participations, -(-parameters.leaves // gap))) * gap
    turned = adjacency is Adjacency.REPLACE and parameters.contributions == SIGNED
    first, second = np.zeros((2, parameters.restarts + 1, parameters.leaves))
    first[:, used], second[:, used] = (-moves if turned else 0.0), moves
    described = (
        f"a user adds {'-' if turned else ''}{moves if turned else 0:g} or {moves:g} to {used.size} leaves"
    )
    check = OneUser((1 + turned) * moves, used.size, gap)
    return Neighbours(first, second, adjacency, f"{described}, the first among them", check)


def tree_streams(parameters: Streamed, adjacency: Adjacency) -> Neighbours:
    """Return two neighbouring streams as in `streams`, or two in which a replaced user contributes at another step."""
    if adjacency is not Adjacency.REPLACE or parameters.contributions == SIGNED:
        return streams(parameters, adjacency)
    first, second = np.zeros((2, parameters.restarts + 1, parameters.leaves))
    moves = size(parameters, adjacency)
    first[:, 0] = moves
    best = max(
        (1 << level for level in range(parameters.leaves.bit_length())), key=partial(_moved, parameters)
    )
    second[:, min(best, parameters.leaves - 1)] = moves
    check = OneUser(moves, 2, 1)
    described = f"a user at leaf 1, or at leaf {min(best, parameters.leaves - 1) + 1}"
    return Neighbours(first, second, adjacency, described, check)


def _moved(parameters: Streamed, place: int) -> float:
    """Return the number of nodes that change if a user moves from the first leaf to the leaf at ``place``."""
    gap = np.zeros(parameters.leaves)
    gap[0] -= 1
    gap[min(place, parameters.leaves - 1)] += 1
    return float(np.abs(tree_nodes(gap.cumsum())).sum())


def nodes(outputs: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the sums at the nodes of the tree, for released counts ``outputs`` and for the two input streams."""
    return tree_nodes(outputs), tree_nodes(first.cumsum(axis=-1)), tree_nodes(second.cumsum(axis=-1))


def _ratio(outputs: Floats, parameters: Gaussian, first: Floats, second: Floats) -> Floats:
    """Return the log-likelihood ratio of running counts with Gaussian noise on the nodes of a tree."""
    seen, one, other = nodes(outputs, first, second)
    return gaussian(seen, parameters, one, other)


TARGET = Setting(tree_streams, _ratio)
