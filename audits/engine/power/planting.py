"""Planted audits: the same audit, run on a stream that contains a known violation.

A planted stream throws the coin of each sample, draws a cell from that label's law, and takes the next fresh
output of the mechanism that lies in the cell. So both laws consist of the mechanism's own outputs on one input.
Their divergence is exactly that of the two laws on the cells, whatever the mechanism is and however well the
masses of the cells are known (docs/notes/audit_power.md, Theorem 1). The violation is certified to be at most
twice the claim. Within a class of events each output is used at most once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve
from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.betting.schedule import Blocks, Pace
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.power.fresh_outputs import FreshOutputs, Outputs
from dpproof.audits.engine.sampling.blocks import largest_block
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.protocol import Score, Scorer, View
from dpproof.audits.time_budget import check_time

Floats = NDArray[np.float64]

MULTIPLE = 2
"""A planted violation has at most this multiple of the claimed epsilon, at every delta of the claim."""
NODES = 96
"""A curve is looked at in so many places; between two of them the stricter bound is taken."""
ODDS_DOWN, DELTA_DOWN = 1 - 1e-12, 1 - 1e-6
"""Factors on e^(2 epsilon) and delta: they exceed every rounding, and that of coins of 53 bits."""
GRID = 1 << 53
"""The chances of an event are multiples of 1 / GRID, as the coins are; so the bound holds to the last bit."""
FARTHEST, PLACES = 12.0, 2001


@dataclass(frozen=True)
class Doubled:
    """Twice a claim: w(E) <= odds v(E) + delta for every event E, in both orders, for each row.

    Attributes:
        odds: e^(2 epsilon) for each point (epsilon, delta) of the claim, rounded down, rising.
        deltas: of the same points, rounded down.
        rank_shift: the distance of two unit Gaussians of exactly this strength; ``None`` unless the claim
            is a single point with a delta.

    >>> twice = Doubled((4.0,), (0.0,))
    >>> [round(chance, 12) for chance in twice.event(0.25)]
    [0.1, 0.4]
    """

    odds: tuple[float, ...]
    deltas: tuple[float, ...]
    rank_shift: float | None = None

    def event(self, mass: float) -> tuple[float, float]:
        """The probabilities of an event under the two laws of mean ``mass``, as far apart as allowed.

        Args:
            mass: in (0, 1/2]. The complement is then no more telling than the event, but for rounding
                (Lemma 2).
        """
        rows = list(zip(self.odds, self.deltas, strict=True))
        least = max((2 * mass - delta) / (1 + odds) for odds, delta in rows)
        smaller = max(1, math.ceil(min(least, mass) * GRID))
        larger = min(
            round(2 * mass * GRID) - smaller,
            *(_most(smaller, Fraction(odds), Fraction(delta) * GRID) for odds, delta in rows),
        )
        return smaller / GRID, larger / GRID

    def admits(self, first: Floats, second: Floats) -> bool:
        """Whether two laws on cells are no further apart than twice the claim."""
        rows = list(zip(self.odds, self.deltas, strict=True))
        orders = ((first, second), (second, first))
        return all(float(np.maximum(w - x * v, 0).sum()) <= d for v, w in orders for x, d in rows)

    def ranks(self, masses: Floats) -> tuple[Floats, Floats]:
        """The laws of the cells of a score under a Gaussian shift of its rank (Lemma 3).

        Args:
            masses: of the cells, in the order of the score, with sum 1.
        """
        assert self.rank_shift is not None
        places = np.linspace(-FARTHEST, FARTHEST, PLACES)
        half = self.rank_shift / 2
        pooled = (ndtr(places - half) + ndtr(places + half)) / 2
        cuts = np.interp(np.cumsum(masses)[:-1], pooled, places)
        first, second = (np.diff(ndtr(cuts + shift), prepend=0.0, append=1.0) for shift in (half, -half))
        return first, second


def doubled(curve: PrivacyCurve, points: tuple[CurvePoint, ...]) -> Doubled:
    """Twice a claim, for the points that an audit bets against.

    Args:
        curve: the claim.
        points: of it, the stated one last; one point for a pure claim and for one that is no more.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> twice = doubled(PureDP(1.0), (CurvePoint(1.0, 0.0),))
    >>> 7.389 < twice.odds[0] < 7.39
    True
    """
    last = points[-1]
    if len(points) == 1:
        odds, delta = _odds(last.epsilon), last.delta * DELTA_DOWN
        return Doubled((odds,), (delta,), _shift(MULTIPLE * last.epsilon, delta))
    nodes = [float(node) for node in np.linspace(0.0, last.epsilon, NODES)]
    lower = [curve.delta(node).lower * DELTA_DOWN for node in nodes[1:]]
    return Doubled(tuple(map(_odds, nodes)), (*lower, 0.0))


def _most(smaller: int, odds: Fraction, delta: Fraction) -> int:
    """The largest probability of an event, in units of the grid, given a smaller one; for it and its complement."""
    rest = math.ceil((GRID - smaller - delta) / odds)
    return min(math.floor(odds * smaller + delta), GRID - max(0, rest))


def _odds(epsilon: float) -> float:
    return math.exp(min(MULTIPLE * epsilon, 700.0)) * ODDS_DOWN


def _shift(epsilon: float, delta: float) -> float | None:
    """Of two Gaussians, unless the claim is pure or says next to nothing."""
    return gaussian_mu(epsilon, delta) if 0 < delta < 0.5 and 0 < epsilon < 100 else None


Ints = NDArray[np.int64]

MOST, SPARE = 4, 1024
"""A planted audit may draw so many times its samples, and so many more; beyond that it has missed."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A violation to plant.

    Attributes:
        cells: the cells in which outputs lie.
        laws: the chances of the cells under the two labels: ``(2, cells)``.
    """

    cells: Callable[[Outputs], Ints]
    laws: Floats


class Planting:
    """Runs planted audits one after the other, each on fresh outputs.

    Args:
        fresh: the outputs.
        layout: what they look like.
        samples: of one audit.
        scores: those of the audit.
        points: those that the audit bets against.
        alpha: its level.
        together: the fewest samples in one of its blocks.
    """

    def __init__(
        self,
        fresh: FreshOutputs,
        layout: Layout,
        samples: int,
        scores: Sequence[Score],
        points: tuple[CurvePoint, ...],
        alpha: float,
        together: int = 1,
    ) -> None:
        self._fresh, self._scores = fresh, scores
        self._points, self._alpha, self._samples = points, alpha, samples
        self._sizes = largest_block(layout.width, samples, together), together
        self._next = 0

    @property
    def used(self) -> int:
        """The number of outputs drawn for the audits since `begin`."""
        return self._next * self._fresh.size

    def begin(self) -> None:
        """Begin the audits of a class, which has used none of the outputs; other classes may have used them."""
        self._next = 0

    def sees(self, planted: Planted, rng: np.random.Generator) -> bool:
        """Whether one audit of a stream with this violation refutes the claim.

        One that finds too few outputs in a cell does not.
        """
        most, views = MOST * self._samples + SPARE, [score.view for score in self._scores]
        pace, stream = Pace(), _Stream(self._fresh, self._next, planted, most, views)
        scores = [_Known(score, stream) for score in self._scores]
        blocks = self._blocks(stream, planted.laws, rng, pace)
        refuted = run_trial(self._points, blocks, scores, self._alpha, pace=pace).refuted
        self._next += len(stream.chunks)
        return refuted

    def _blocks(
        self, stream: _Stream, laws: Floats, rng: np.random.Generator, pace: Pace
    ) -> Iterator[tuple[Ints, Ints]]:
        """Blocks of places in the stream and of labels, until the samples or the outputs are spent."""
        edges = laws.cumsum(axis=1)[:, :-1]
        for size, *_ in Blocks(self._samples, pace, *self._sizes):
            check_time()
            labels = rng.integers(0, 2, size)
            places = stream.take((rng.random(size)[:, None] >= edges[labels]).sum(axis=1))
            if places is None:
                return
            yield places, labels


class _Stream:
    """Fresh outputs by their cells, from some chunk on; each is taken once.

    Attributes:
        chunks: those that were drawn.
    """

    def __init__(
        self, fresh: FreshOutputs, first: int, planted: Planted, most: int, views: Sequence[View]
    ) -> None:
        self._views = views
        self.chunks: list[Outputs] = []
        self._fresh, self._first, self._cells = fresh, first, planted.cells
        self._most = -(-most // fresh.size)
        self._waiting = [np.empty(0, np.int64) for _ in planted.laws[0]]

    def take(self, cells: Ints) -> Ints | None:
        """The next place in each of these cells; None if too many outputs would be needed."""
        wanted = np.bincount(cells, minlength=len(self._waiting))
        while any(len(left) < count for left, count in zip(self._waiting, wanted, strict=True)):
            if len(self.chunks) >= self._most:
                return None
            self._draw()
        places = np.empty(len(cells), np.int64)
        for cell in np.flatnonzero(wanted):
            left = self._waiting[cell]
            places[cells == cell], self._waiting[cell] = left[: wanted[cell]], left[wanted[cell] :]
        return places

    def _draw(self) -> None:
        """Draw a chunk and compute the views of all scores at once, because they share much of the work."""
        start = len(self.chunks) * self._fresh.size
        self.chunks.append(self._fresh.chunk(self._first + len(self.chunks)))
        for view in self._views:
            self.chunks[-1].seen(view)
        cells = self._cells(self.chunks[-1])
        for cell, left in enumerate(self._waiting):
            self._waiting[cell] = np.append(left, start + np.flatnonzero(cells == cell))

    def seen(self, view: View, places: Ints) -> NDArray[Any]:
        """The cells of the outputs at the given places that a score reads."""
        if not len(places):
            return view(self.chunks[0].rows[:0])
        low, high = int(places.min()) // self._fresh.size, int(places.max()) // self._fresh.size
        parts = [chunk.seen(view) for chunk in self.chunks[low : high + 1]]
        return np.concatenate(parts)[places - low * self._fresh.size]


class _Known:
    """A score of the outputs at given places of a stream; it is computed once for each output."""

    def __init__(self, score: Score, stream: _Stream) -> None:
        self.name, self.oriented, self.training = score.name, score.oriented, score.training
        self.weight = float(getattr(score, "weight", 1.0))
        self._score, self._stream, self._looks = score, stream, score.view

    def view(self, places: NDArray[Any]) -> NDArray[Any]:
        """The view of the score."""
        return self._stream.seen(self._looks, places)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Fit the score."""
        return self._score.fit(outputs, labels)
