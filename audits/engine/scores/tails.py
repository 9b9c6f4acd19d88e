"""Count the samples in the tails of a score: the events that the score is at least, or at most, a threshold.

The thresholds for a block are quantiles of the scores in earlier blocks, so they are fixed before the block is drawn.
A bet on ``{score >= t}`` or ``{score <= t}`` always has the same stake. So the wealth of a bet depends on counts
only. In its tail, a bet wins on samples of one input and loses on samples of the other; it passes on samples outside
its tail. See docs/notes/audit_betting.md.
"""

from __future__ import annotations

import math
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.exact import above, below, together

Floats = NDArray[Any]
"""An array of scores: doubles, or integers and objects that numpy compares exactly."""
Ints = NDArray[np.int64]

LEVELS: Floats = np.array(
    [0.5, 0.4, 0.32, 0.25, 0.19, 0.14, 0.1, 0.065, 0.04, 0.022, 0.01, 0.003, 0.001, 0.0004, 0.00016]
)
"""The sizes of tails: the shares of all samples, from both inputs, that lie in a tail of a score."""
KINDS = ("upper", "lower", "both")
UPPER, LOWER, BOTH = range(3)
MEMORY = 1 << 16
"""The thresholds are quantiles of about this many first scores."""
REFRESH, FEW = 1.25, 1 << 12
"""Thresholds are computed again whenever the number of scores has grown by the factor `REFRESH`. While there are fewer
than `FEW` scores, the samples in the new tails are also counted again, to choose which input a tail indicates."""
COMPARED = 4000
"""If there are more scores than this, each threshold is compared with all scores; otherwise by binary search."""
CLEARLY = 2.0
"""The upper and lower tails indicate the same input only if this fits better by this many standard deviations. In the
same way, a bet on one tail leaves the direction of its side only if its own samples are so clear."""


class TailCounts:
    """The bets on all tails of one score. For each bet it counts the samples won, lost and not bet on.

    Args:
        oriented: whether high scores indicate label 1, the second input. If not, the label that each side indicates
            is chosen from earlier samples in its tails.

    Attributes:
        counts: for each tail, on how many samples the bet was won, lost and not placed; an int64 array (levels,
            kinds, 3). The level is the size of the tail; the kind is upper, lower or both.
    """

    def __init__(self, *, oriented: bool) -> None:
        self._counts: Ints = np.zeros((LEVELS.size, 3, 3), np.int64)
        self._flips = np.zeros((2, 1), bool)
        self._own = np.zeros((2, LEVELS.size), bool)
        self._begin()
        self._oriented = oriented
        self._high = self._low = np.zeros(LEVELS.size)
        self._edges = _edges(self._high, self._low)
        self.forget()

    def forget(self) -> None:
        """Drop the earlier samples but keep the counts. This is called when the score has changed."""
        self._past: list[tuple[Floats, Ints]] = []
        self._merged = self._seen = 0
        self._next = 0.0
        self._placed: Floats = np.empty(0)
        self._inside: Ints = np.zeros((2, 2, LEVELS.size), np.int64)
        self._speak(np.zeros((2, 1), bool), np.zeros((2, LEVELS.size), bool))

    @property
    def counts(self) -> Ints:
        """For each tail, on how many samples the bet was won, lost and not placed: (levels, kinds, 3)."""
        return self._counts + tally(self._fresh, self._flips, self._own, self._fresh_size)

    def _begin(self) -> None:
        """Start new counts by side and label, which `counts` adds to the settled ones."""
        self._fresh: Ints = np.zeros((2, 2, LEVELS.size), np.int64)
        self._fresh_size = 0

    def _speak(self, flips: NDArray[np.bool_], own: NDArray[np.bool_]) -> None:
        """Set the label that each side and each single tail indicates.

        The samples so far are first counted as won or lost with the earlier labels.
        """
        if not (np.array_equal(flips, self._flips) and np.array_equal(own, self._own)):
            self._counts = self.counts
            self._begin()
            self._flips, self._own = flips, own

    def bet(self, scores: Floats, labels: Ints) -> None:
        """Add a block of fresh samples to the counts, with the thresholds that were fixed before."""
        if self._past:
            inside = _inside(scores, labels, self._edges)
            self._inside += inside
            self._fresh += inside
            self._fresh_size += scores.size

    def learn(self, scores: Floats, labels: Ints) -> None:
        """Set the thresholds, and the label that each side indicates, for later blocks, from all samples so far."""
        self._seen += scores.size
        if self._seen - scores.size < MEMORY:
            self._past.append((scores, labels))
            if self._seen >= self._next:
                self._next = REFRESH * self._seen
                self._set_thresholds()
        self._turn()

    def _set_thresholds(self) -> None:
        fresh = np.sort(together([scores for scores, _ in self._past[self._merged :]]))
        self._merged = len(self._past)
        placed = np.sort(together([self._placed, fresh]), kind="stable")  # merges two sorted runs
        self._placed = placed
        reach = np.maximum(np.rint(LEVELS * placed.size).astype(np.int64), 1) - 1
        cut = _cut(placed)
        self._high = np.maximum(placed[::-1][reach], cut)
        self._low = np.minimum(placed[reach], below(cut))
        self._edges = _edges(self._high, self._low)
        if placed.size < FEW:
            scores, labels = zip(*self._past, strict=True)
            self._inside = _inside(together(scores), np.concatenate(labels), self._edges)

    def _turn(self) -> None:
        """Choose the labels that the sides and the single tails indicate, from all samples seen in the tails.

        The labels of the sides are opposite unless equal ones are clearly better. A shifted output is far more common
        than a more spread one, and two sides that are decided together need fewer samples. A single tail follows its
        side, unless its own samples clearly contradict: a rare output may show the other input.
        """
        if self._oriented:
            return
        gap = (self._inside[:, 1] - self._inside[:, 0]) / np.sqrt(self._inside.sum(axis=1) + 1)
        apart, alike = _most(gap[0] - gap[1]), _most(gap[0] + gap[1])
        flips = np.full((2, 1), apart < 0)
        if abs(alike) > abs(apart) + CLEARLY:
            flips = np.array([[_most(gap[0]) < 0], [_most(gap[1]) > 0]])
        self._speak(flips, np.where(np.abs(gap) > CLEARLY, gap * [[1], [-1]] < 0, flips))

    def describe(self, level: int, kind: int) -> dict[str, object]:
        """Return a tail as JSON data: its size, its latest thresholds, and the labels that it indicates."""
        sides = ((UPPER, "at_least", self._high), (LOWER, "at_most", self._low))
        chosen = [(side, name, _plain(at[level])) for side, name, at in sides if kind in (side, BOTH)]
        flips = self._flips[:, 0] if kind == BOTH else self._own[:, level]
        return {
            "tail": KINDS[kind],
            "mass": float(LEVELS[level]),
            **{name: at if abs(at) != math.inf else repr(at) for _, name, at in chosen},
            "speaks_for": [int((side == UPPER) ^ bool(flips[side])) for side, _, _ in chosen],
        }


def tally(inside: Ints, flips: NDArray[np.bool_], own: NDArray[np.bool_], size: int | Ints) -> Ints:
    """Return on how many samples the bet on each tail was won, lost and not placed.

    A tail has a level (its size) and a kind (upper, lower, both). The dots stand for any further axes.

    Args:
        inside: the number of samples in the upper and the lower tails, as an int64 array (..., 2 sides, 2 labels,
            levels).
        flips: the directions of the bets on both tails, a bool array (2 sides, 1). The first is True if the upper
            tails indicate label 0; the second is True if the lower tails indicate label 1.
        own: the directions of the bets on one tail, a bool array (2 sides, levels).
        size: the number of samples, as an integer or as an array (...).

    Returns:
        int64 array (..., levels, kinds, 3).
    """
    counts = np.empty((*inside.shape[:-3], inside.shape[-1], 3, 3), np.int64)
    for outcome in (0, 1):
        both = [
            _of_label(inside[..., side, :, :], flips[side] ^ side ^ outcome ^ 1) for side in (UPPER, LOWER)
        ]
        counts[..., BOTH, outcome] = both[UPPER] + both[LOWER]
        for side in (UPPER, LOWER):
            counts[..., side, outcome] = _of_label(inside[..., side, :, :], own[side] ^ side ^ outcome ^ 1)
    counts[..., 2] = np.asarray(size)[..., None, None] - counts[..., 0] - counts[..., 1]
    return counts


def _of_label(inside: Ints, label: Ints) -> Ints:
    """Return the numbers (..., levels) of one label, which is given for each level, from (..., 2 labels, levels)."""
    return np.where(label, inside[..., 1, :], inside[..., 0, :])


def _edges(high: Floats, low: Floats) -> Floats:
    """Return all thresholds in ascending order; each ``low`` is replaced by the next larger number."""
    return np.concatenate([above(low[::-1]), high])


def _plain(number: SupportsFloat) -> float | int:
    """Return a threshold as a JSON number; an integer stays an integer."""
    return int(number) if isinstance(number, int | np.integer) else float(number)


def _inside(scores: Floats, labels: Ints, edges: Floats) -> Ints:
    """Return the number of samples of each label in the upper and in the lower tails.

    A sample in an upper tail is not counted in a lower tail, so tails of different sides are disjoint at all levels.

    Returns:
        Array (2 sides, 2 labels, levels).
    """
    if scores.dtype != edges.dtype:  # numpy would round one of the two
        scores, edges = scores.astype(object), edges.astype(object)
    reached = (_compared if scores.size > COMPARED else _looked_up)(scores, labels, edges)
    sizes, below, above = reached[:, :1], reached[:, LEVELS.size : 0 : -1], reached[:, LEVELS.size + 1 :]
    return np.array([above, sizes - np.maximum(below, above[:, :1])])


def _looked_up(scores: Floats, labels: Ints, edges: Floats) -> Ints:
    """Return for each label the number of scores, and the number that reach each edge: (2, 1 + edges)."""
    cells = edges.searchsorted(scores, "right") + (edges.size + 1) * labels
    counts = np.bincount(cells, minlength=2 * edges.size + 2).reshape(2, -1)
    return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1])


def _compared(scores: Floats, labels: Ints, edges: Floats) -> Ints:
    """Return the same as `_looked_up`; faster for many scores."""
    counts = np.empty((2, 1 + edges.size), np.int64)
    for label, part in enumerate(_by_label(scores, labels)):
        reached, counts[label, 0] = np.empty(part.size, bool), part.size
        for place, edge in enumerate(edges, 1):
            counts[label, place] = np.count_nonzero(np.greater_equal(part, edge, out=reached))
    return counts


def _by_label(scores: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Return the scores of each label, without copies if they are in the order of the labels."""
    zeros = labels.size - np.count_nonzero(labels)
    if not labels[:zeros].any():
        return scores[:zeros], scores[zeros:]
    return scores[np.flatnonzero(labels == 0)], scores[np.flatnonzero(labels)]


def _most(gaps: Floats) -> float:
    return float(gaps[np.abs(gaps).argmax()])


def _cut(placed: Floats) -> Floats:
    """Return the threshold between the two sides, with a share of scores at or above it close to 1/2."""
    n = placed.size
    median = placed[(n - 1) // 2]
    at_least, more = n - placed.searchsorted(median, "left"), n - placed.searchsorted(median, "right")
    chosen = placed[n - more] if more and abs(2 * more - n) < abs(2 * at_least - n) else median
    return np.asarray(chosen, placed.dtype)
