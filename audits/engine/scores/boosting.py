"""A score from a few shallow decision trees, each fitted to what the earlier ones leave unexplained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Learned, Scorer, flattened

MOST = 1 << 13
"""A fit uses at most this many of the latest samples."""
COLUMNS = 48
"""The largest number of coordinates that the trees use: those that vary and differ most between the inputs."""
BINS = 16
"""A coordinate is cut at this many quantiles at most."""
DEPTH, MOST_ROUNDS = 3, 12
"""The depth of a tree, and the largest number of trees."""
STEP = 0.4
"""The share of a leaf's mean residual by which a tree changes the score."""


@dataclass(frozen=True)
class BoostedTrees(Learned):
    """A score that is a sum of shallow regression trees for the label (Friedman 2001, with squared loss).

    It finds boxes: ranges of a few coordinates that together are more frequent on one input.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 2000)
    >>> outputs = rng.random((2000, 4))
    >>> outputs[labels == 1, 2] *= 0.5
    >>> scores = BoostedTrees().fit(outputs, labels)(np.array([[0.5, 0.5, 0.3, 0.5], [0.5, 0.5, 0.9, 0.5]]))
    >>> bool(scores[0] > scores[1])
    True
    """

    kind = "boosted trees"

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to the samples."""
        x = flattened(outputs[-MOST:])
        binned = _Binned.of(x, labels[-MOST:])
        target = labels[-MOST:] - 0.5
        left, trees = target - target.mean(), []
        for _ in range(min(MOST_ROUNDS, 2 + len(x) // 64) if binned.columns.size else 0):
            tree, leaves = _grown(binned, left)
            trees.append(tree)
            left = left - tree.values[leaves]
        columns, total = binned.columns, tuple(trees)

        def scorer(drawn: NDArray[np.generic]) -> Floats:
            kept = flattened(drawn)[:, columns]
            return np.sum([tree(kept) for tree in total], axis=0) if total else np.zeros(len(kept))

        return scorer


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree of full depth: for each level, the column and the threshold of each node; the values of the leaves."""

    columns: tuple[Ints, ...]
    thresholds: tuple[Floats, ...]
    values: Floats

    def __call__(self, x: Floats) -> Floats:
        node, rows = np.zeros(len(x), np.int64), np.arange(len(x))
        for columns, thresholds in zip(self.columns, self.thresholds, strict=True):
            node = 2 * node + (x[rows, columns[node]] > thresholds[node])
        return self.values[node]


@dataclass(frozen=True, eq=False)
class _Binned:
    """Samples as numbers of bins. The bin of a number is the count of the column's edges below it.

    Attributes:
        columns: the coordinates that are used.
        edges: the edges of each column in ascending order, filled with infinity.
        codes: the bin of each sample in each column.
    """

    columns: Ints
    edges: Floats
    codes: Ints

    @classmethod
    def of(cls, x: Floats, labels: Ints) -> _Binned:
        """Return the samples in bins between quantiles; columns that do not vary are left out."""
        columns = _useful(x, labels)
        ranks = np.arange(1, BINS) * len(x) // BINS
        placed = np.sort(x[:, columns], axis=0)
        edges = np.full((columns.size, BINS), np.inf)
        codes = np.empty((len(x), columns.size), np.int64)
        for place in range(columns.size):
            found = np.unique(placed[ranks, place])
            found = found if found[-1] < placed[-1, place] else found[:-1]
            found = found if found.size else placed[:1, place]
            edges[place, : found.size] = found
            codes[:, place] = found.searchsorted(x[:, columns[place]], "left")
        return cls(columns, edges, codes)


def _useful(x: Floats, labels: Ints) -> Ints:
    """Return the coordinates that vary, at most `COLUMNS`: those whose ranks differ most in mean or spread."""
    varied = np.flatnonzero(x.max(axis=0) > x.min(axis=0))
    if varied.size <= COLUMNS or np.unique(labels).size < 2:
        return varied[:COLUMNS]
    ranks = np.argsort(np.argsort(x[:, varied], axis=0), axis=0) / len(x) - 0.5
    differ = [
        np.abs(part[labels == 1].mean(axis=0) - part[labels == 0].mean(axis=0)) / spread
        for part, spread in ((ranks, 0.289), (ranks**2, 0.0745))
    ]
    order = np.argsort(-np.maximum(*differ), kind="stable")
    return np.sort(varied[order[:COLUMNS]])


def _grown(binned: _Binned, left: Floats) -> tuple[_Tree, Ints]:
    """Return a tree that is fitted to the residuals ``left``, and the leaf of each sample."""
    size, columns = binned.codes.shape
    node, rows = np.zeros(size, np.int64), np.arange(size)
    places: list[Ints] = []
    cuts: list[Floats] = []
    flat = binned.codes + np.arange(columns) * BINS
    fewest = max(5, round(size**0.4))
    for level in range(DEPTH):
        cells = (flat + (node * columns * BINS)[:, None]).ravel()
        shape = (1 << level, columns, BINS)
        weights = np.repeat(left, columns)
        sums = np.bincount(cells, weights, int(np.prod(shape))).reshape(shape).cumsum(axis=2)
        counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).cumsum(axis=2)
        column, bin_ = _best_cuts(sums, counts, fewest)
        places.append(column)
        cuts.append(binned.edges[column, bin_])
        node = 2 * node + (binned.codes[rows, column[node]] > bin_[node])
    sums, counts = np.bincount(node, left, 1 << DEPTH), np.bincount(node, minlength=1 << DEPTH)
    return _Tree(tuple(places), tuple(cuts), STEP * sums / (counts + 1.0)), node


def _best_cuts(sums: Floats, counts: Ints, fewest: int) -> tuple[Ints, Ints]:
    """Return the column and the bin at which each node is cut: where the residuals on the two sides differ most."""
    total, size = sums[:, :, -1:], counts[:, :, -1:]
    gain = sums**2 / np.maximum(counts, 1) + (total - sums) ** 2 / np.maximum(size - counts, 1)
    gain = np.where(np.minimum(counts, size - counts) >= fewest, gain, -1.0)
    best = gain.reshape(len(gain), -1).argmax(axis=1)
    return np.divmod(best, BINS)
