"""Planted audits: the same audit, run on a stream that contains a known violation.

For each sample of a planted stream, a coin gives the label, a cell is drawn from the label's distribution over cells,
and the next fresh output of the mechanism in this cell is taken. So both output distributions consist of the
mechanism's own outputs on one input. Their divergence equals that of the two distributions over the cells, for every
mechanism, even if the masses of the cells are not known exactly (docs/notes/audit_power.md, Theorem 1). The violation
is certified to be at most twice the claim. Within a class of events each output is used at most once.
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
"""The largest epsilon of a planted violation, as a multiple of the claimed one, at every delta of the claim."""
NODES = 96
"""The number of places at which a curve is evaluated. Between two places the stricter bound is used."""
ODDS_DOWN, DELTA_DOWN = 1 - 1e-12, 1 - 1e-6
"""Factors on e^(2 epsilon) and delta. They cover all rounding errors, and those of coins of 53 bits."""
GRID = 1 << 53
"""The probabilities of an event are multiples of 1 / GRID, like the coins, so the bound holds exactly."""
FARTHEST, PLACES = 12.0, 2001


@dataclass(frozen=True)
class Doubled:
    """Twice a claim: w(E) <= odds v(E) + delta for every event E, in both orders, for each pair (odds, delta).

    Attributes:
        odds: e^(2 epsilon) for each point (epsilon, delta) of the claim, rounded down, in increasing order.
        deltas: the deltas of the same points, rounded down.
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
        """Return two probabilities of an event with mean ``mass``, as far apart as twice the claim allows.

        Args:
            mass: in (0, 1/2]. Up to rounding, the event then distinguishes the labels at least as well as its
                complement (Lemma 2).
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
        """Whether two distributions over the cells differ by at most twice the claim."""
        rows = list(zip(self.odds, self.deltas, strict=True))
        orders = ((first, second), (second, first))
        return all(float(np.maximum(w - x * v, 0).sum()) <= d for v, w in orders for x, d in rows)

    def ranks(self, masses: Floats) -> tuple[Floats, Floats]:
        """Return the two distributions over the cells of a score under a Gaussian shift of its rank (Lemma 3).

        Args:
            masses: the masses of the cells, in the order of the score, with sum 1.
        """
        assert self.rank_shift is not None
        places = np.linspace(-FARTHEST, FARTHEST, PLACES)
        half = self.rank_shift / 2
        pooled = (ndtr(places - half) + ndtr(places + half)) / 2
        cuts = np.interp(np.cumsum(masses)[:-1], pooled, places)
        first, second = (np.diff(ndtr(cuts + shift), prepend=0.0, append=1.0) for shift in (half, -half))
        return first, second


def doubled(curve: PrivacyCurve, points: tuple[CurvePoint, ...]) -> Doubled:
    """Return twice a claim, for the points that an audit bets against.

    Args:
        curve: the claim.
        points: points of the claim, the stated one last. A claim that consists of one point has only this one.

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
    """Return the largest probability that is allowed with a smaller one, for the event and its complement.

    Probabilities and delta are in units of 1 / `GRID`.
    """
    rest = math.ceil((GRID - smaller - delta) / odds)
    return min(math.floor(odds * smaller + delta), GRID - max(0, rest))


def _odds(epsilon: float) -> float:
    return math.exp(min(MULTIPLE * epsilon, 700.0)) * ODDS_DOWN


def _shift(epsilon: float, delta: float) -> float | None:
    """Return the distance of two Gaussians; None if the claim is pure, or too weak or too strict for them."""
    return gaussian_mu(epsilon, delta) if 0 < delta < 0.5 and 0 < epsilon < 100 else None


Ints = NDArray[np.int64]

MOST, SPARE = 4, 1024
"""A planted audit draws at most `MOST` times its samples plus `SPARE` outputs. Then it counts as a miss."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A violation to plant.

    Attributes:
        cells: function that returns the cell of each output.
        laws: the probabilities of the cells under the two labels: ``(2, cells)``.
    """

    cells: Callable[[Outputs], Ints]
    laws: Floats


class Planting:
    """Runs planted audits one after the other, each on fresh outputs.

    Args:
        fresh: the outputs.
        layout: the layout of the outputs.
        samples: the number of samples of one audit.
        scores: the scores of the audit.
        points: the points of the claim that the audit bets against.
        alpha: the level of the audit.
        together: the smallest number of samples in a block.
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
        """Begin the audits of a class with the first output. Outputs that other classes used are used again."""
        self._next = 0

    def sees(self, planted: Planted, rng: np.random.Generator) -> bool:
        """Whether one audit of a stream with this violation refutes the claim.

        An audit that finds too few outputs in a cell ends early and does not refute it.
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
        """Generate blocks of places in the stream, with labels, until the samples or the outputs are used up."""
        edges = laws.cumsum(axis=1)[:, :-1]
        for size, *_ in Blocks(self._samples, pace, *self._sizes):
            check_time()
            labels = rng.integers(0, 2, size)
            places = stream.take((rng.random(size)[:, None] >= edges[labels]).sum(axis=1))
            if places is None:
                return
            yield places, labels


class _Stream:
    """Fresh outputs by their cells, starting with one chunk; each output is taken at most once.

    Attributes:
        chunks: the chunks that were drawn.
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
        """Return the place of the next output in each of these cells; None if too many outputs would be needed."""
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
        """Return the outputs at the given places in the view of a score."""
        if not len(places):
            return view(self.chunks[0].rows[:0])
        low, high = int(places.min()) // self._fresh.size, int(places.max()) // self._fresh.size
        parts = [chunk.seen(view) for chunk in self.chunks[low : high + 1]]
        return np.concatenate(parts)[places - low * self._fresh.size]


class _Known:
    """A score that takes places in a stream instead of outputs. Each view is computed once for each output."""

    def __init__(self, score: Score, stream: _Stream) -> None:
        self.name, self.oriented, self.training = score.name, score.oriented, score.training
        self.weight = float(getattr(score, "weight", 1.0))
        self._score, self._stream, self._looks = score, stream, score.view

    def view(self, places: NDArray[Any]) -> NDArray[Any]:
        """Return the outputs at these places in the view of the score."""
        return self._stream.seen(self._looks, places)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Fit the score."""
        return self._score.fit(outputs, labels)
