"""Plant violations: run an audit on samples to which a known violation was added, to measure the audit's power.

The possible outputs are divided into cells, such as an event and its complement. For each sample of a planted stream,
a coin gives the label 0 or 1. A cell is drawn from the distribution for this label, and the next fresh output of the
mechanism in this cell is taken. So both output distributions consist of the mechanism's own outputs on one input.
Their divergence equals the divergence of the two distributions over the cells, for every mechanism, even if the
probabilities of the cells are not known exactly (docs/notes/audit_power.md, Theorem 1). The violation is certified to
be at most twice the claim. For one kind of event, each output is used at most once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve
from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.betting.schedule import Blocks, Pace
from dpproof.audits.engine.betting.stream import COARSE, Histograms
from dpproof.audits.engine.betting.trial import Trial, run_trial
from dpproof.audits.engine.power.fresh_outputs import FreshOutputs, Outputs
from dpproof.audits.engine.sampling.blocks import largest_block
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.protocol import Score, View, shares
from dpproof.audits.time_budget import check_time

Floats = NDArray[np.float64]

MULTIPLE = 2
"""The epsilon of a planted (known) violation is at most this multiple of the claimed epsilon, at every delta, unless
another multiple is given."""
NODES = 96
"""The number of epsilons at which a claimed curve is evaluated. Between two of them the stricter bound is used."""
ODDS_DOWN, DELTA_DOWN = 1 - 1e-12, 1 - 1e-6
"""Factors that are applied to e^(multiple * epsilon) and delta, to cover all rounding errors."""
GRID = 1 << 53
"""Event probabilities are multiples of 1 / GRID, like random doubles, so the bound on a violation holds exactly."""
FARTHEST, PLACES = 12.0, 2001


@dataclass(frozen=True)
class Scaled:
    """The condition that two distributions differ by at most a multiple of the claim, for planted violations.

    Attributes:
        odds: e^(multiple * epsilon) for each point (epsilon, delta) of the claim, rounded down, in increasing order.
            The condition at this point: each event has a probability, under each of the two distributions, of at most
            odds times its probability under the other distribution, plus delta.
        deltas: the matching deltas, rounded down.
        rank_shift: the distance of two unit Gaussians that differ by exactly the multiple; ``None`` unless the
            claim is a single point with delta > 0.

    >>> twice = Scaled((4.0,), (0.0,))
    >>> [round(chance, 12) for chance in twice.event(0.25)]
    [0.1, 0.4]
    """

    odds: tuple[float, ...]
    deltas: tuple[float, ...]
    rank_shift: float | None = None

    def event(self, mass: float) -> tuple[float, float]:
        """Return two probabilities with mean ``mass`` for an event, as far apart as the multiple of the claim allows.

        Args:
            mass: the mean of the two probabilities, in (0, 1/2]. Up to rounding, the event then distinguishes the two
                distributions at least as well as its complement (docs/notes/audit_power.md, Lemma 2).
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
        """Return whether two discrete distributions differ by at most the multiple of the claim."""
        rows = list(zip(self.odds, self.deltas, strict=True))
        orders = ((first, second), (second, first))
        return all(float(np.maximum(w - x * v, 0).sum()) <= d for v, w in orders for x, d in rows)

    def ranks(self, masses: Floats) -> tuple[Floats, Floats]:
        """Return two distributions over ranges of a score, which differ by at most twice the claim.

        They are the distributions of two Gaussians over intervals. The intervals have the probabilities ``masses``
        under the average of the two Gaussians (docs/notes/audit_power.md, Lemma 3).

        Args:
            masses: the probabilities of the ranges, in the order of the score, with sum 1.
        """
        assert self.rank_shift is not None
        places = np.linspace(-FARTHEST, FARTHEST, PLACES)
        half = self.rank_shift / 2
        pooled = (ndtr(places - half) + ndtr(places + half)) / 2
        cuts = np.interp(np.cumsum(masses)[:-1], pooled, places)
        first, second = (np.diff(ndtr(cuts + shift), prepend=0.0, append=1.0) for shift in (half, -half))
        return first, second


def scaled(curve: PrivacyCurve, points: tuple[CurvePoint, ...], multiple: float = MULTIPLE) -> Scaled:
    """Return the condition "at most a multiple of the claim", for the points (epsilon, delta) that an audit tests.

    Args:
        curve: the claimed guarantee.
        points: the tested points of the claim. The last one is the stated point. For a claim such as pure DP it is
            the only point.
        multiple: the largest ratio of a planted violation's epsilon to the claimed epsilon, at every delta.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> twice = scaled(PureDP(1.0), (CurvePoint(1.0, 0.0),))
    >>> 7.389 < twice.odds[0] < 7.39
    True
    """
    last = points[-1]
    if len(points) == 1:
        odds, delta = _odds(multiple * last.epsilon), last.delta * DELTA_DOWN
        return Scaled((odds,), (delta,), _shift(multiple * last.epsilon, delta))
    nodes = [float(node) for node in np.linspace(0.0, last.epsilon, NODES)]
    lower = [curve.delta(node).lower * DELTA_DOWN for node in nodes[1:]]
    return Scaled(tuple(_odds(multiple * node) for node in nodes), (*lower, 0.0))


def _most(smaller: int, odds: Fraction, delta: Fraction) -> int:
    """Return the largest probability that is allowed with a smaller one, for the event and its complement.

    Probabilities and delta are in units of 1 / `GRID`.
    """
    rest = math.ceil((GRID - smaller - delta) / odds)
    return min(math.floor(odds * smaller + delta), GRID - max(0, rest))


def _odds(epsilon: float) -> float:
    return math.exp(min(epsilon, 700.0)) * ODDS_DOWN


def _shift(epsilon: float, delta: float) -> float | None:
    """Return the distance of two Gaussians; None if the claim is pure, or too weak or too strict for them."""
    return gaussian_mu(epsilon, delta) if 0 < delta < 0.5 and 0 < epsilon < 100 else None


Ints = NDArray[np.int64]

MOST, SPARE = 4, 1024
"""An audit of a planted violation uses at most `MOST` times its samples plus `SPARE` outputs; else it is a miss."""
SCOUTS, LEADING = 3, 0.95
"""The leading scores of a kind of events are the fewest that earned the share `LEADING` of the wealth in its earlier
audits. All scores bet in the first audits, until `SCOUTS` have detected the violation."""
IDLE = 2
"""After so many audits in a row in which the other scores did not help either, what the leading ones miss is a miss."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A violation to plant: two distributions over cells, one for each input. A cell is a set of outputs.

    Attributes:
        cells: a function that returns the number of the cell of each output.
        laws: the two distributions, as an array ``(2, cells)``.
    """

    cells: Callable[[Outputs], Ints]
    laws: Floats


class Planting:
    """An object that runs audits of planted (known) violations one after the other, each on fresh outputs.

    With ``leading``, the leading scores bet first, each with its share of the wealth. If they refute the claim alone,
    all scores together would refute it on the same samples. Otherwise all scores bet on the same samples, until this
    has not helped for some time. So the counted detections are never too many (docs/notes/audit_power.md, Lemma 5).

    Args:
        fresh: the source of the outputs.
        layout: the conversion of outputs to numbers.
        samples: the number of samples of one audit.
        scores: the scores of the audit.
        points: the points (epsilon, delta) of the claim that the audit tests.
        alpha: the largest probability of a false alarm of the audit.
        together: the smallest number of samples in a block.
        leading: whether the leading scores of a kind of events bet first.
        histograms: the histograms of the audit's bets on the posterior.
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
        *,
        leading: bool = False,
        histograms: Histograms = COARSE,
    ) -> None:
        self._fresh, self._scores, self._shares = fresh, scores, shares(scores)
        self._points, self._alpha, self._samples = points, alpha, samples
        self._sizes = largest_block(layout.width, samples, together), together
        self._leading, self._histograms = leading, histograms
        self.begin()

    @property
    def used(self) -> int:
        """The number of outputs that were drawn for the audits since the last call of `begin`."""
        return self._next * self._fresh.size

    def begin(self) -> None:
        """Start again at the first output. This is called for each kind of event, so all kinds use the same outputs."""
        self._next, self._idle, self._earned = 0, 0, np.zeros(len(self._scores))

    def sees(self, planted: Planted, rng: np.random.Generator) -> bool:
        """Return whether one audit of samples to which this violation was added refutes the claim.

        The audit ends without a refutation if some cell has too few fresh outputs.
        """
        most, every, first = MOST * self._samples + SPARE, np.arange(len(self._scores)), self._leaders()
        stream = _Stream(self._fresh, self._next, planted, most, [self._scores[one].view for one in first])
        placed: list[tuple[Ints, Ints]] = []
        trial = self._trial(
            first, stream, self._blocks(stream, planted.laws, rng, pace := Pace(), placed), pace
        )
        if not trial.refuted and first.size < every.size and self._idle < IDLE:
            trial = self._trial(every, stream, placed)
            self._idle = 0 if trial.refuted else self._idle + 1
        if trial.refuted and len(trial.streams) == every.size:
            self._earned += trial.earned
        self._next += len(stream.chunks)
        return trial.refuted

    def _leaders(self) -> Ints:
        """Return the places of the leading scores; of all scores until `SCOUTS` audits have detected the violation."""
        order = np.argsort(-self._earned, kind="stable")
        earned = self._earned[order].cumsum()
        if not self._leading or earned[-1] < SCOUTS - 0.5:
            return np.arange(len(self._scores))
        return np.sort(order[: 1 + int(earned.searchsorted(LEADING * earned[-1]))])

    def _trial(
        self, chosen: Ints, stream: _Stream, blocks: Iterable[tuple[Ints, Ints]], pace: Pace | None = None
    ) -> Trial:
        """Bet with some of the scores. Each has its share of the wealth of all scores."""
        share = float(self._shares[chosen].sum()) if chosen.size < len(self._scores) else 1.0
        scores = [_Known(self._scores[one], stream.view(self._scores[one].view)) for one in chosen]
        return run_trial(
            self._points, blocks, scores, share * self._alpha, pace=pace, histograms=self._histograms
        )

    def _blocks(
        self,
        stream: _Stream,
        laws: Floats,
        rng: np.random.Generator,
        pace: Pace,
        placed: list[tuple[Ints, Ints]],
    ) -> Iterator[tuple[Ints, Ints]]:
        """Generate blocks of places in the stream, with labels, until the samples or the outputs are used up.

        Each block is also added to ``placed``.
        """
        edges = laws.cumsum(axis=1)[:, :-1]
        for size, *_ in Blocks(self._samples, pace, *self._sizes):
            check_time()
            labels = rng.integers(0, 2, size)
            places = stream.take((rng.random(size)[:, None] >= edges[labels]).sum(axis=1))
            if places is None:
                return
            placed.append((places, labels))
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
        self._known: dict[int, View] = {}
        self.chunks: list[Outputs] = []
        self._fresh, self._first, self._cells = fresh, first, planted.cells
        self._most = -(-most // fresh.size)
        self._waiting = [np.empty(0, np.int64) for _ in planted.laws[0]]

    def take(self, cells: Ints) -> Ints | None:
        """Return the place of an unused output in each cell; None if this needs too many outputs."""
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
        """Draw a chunk and compute the views of the scores at once, because they share much of the work."""
        start = len(self.chunks) * self._fresh.size
        self.chunks.append(self._fresh.chunk(self._first + len(self.chunks)))
        for view in self._views:
            self.chunks[-1].seen(view)
        cells = self._cells(self.chunks[-1])
        for cell, left in enumerate(self._waiting):
            self._waiting[cell] = np.append(left, start + np.flatnonzero(cells == cell))

    def view(self, view: View) -> View:
        """Return the function from places to outputs in this view, the same object for the same view."""
        return self._known.setdefault(id(view), partial(self.seen, view))

    def seen(self, view: View, places: Ints) -> NDArray[Any]:
        """Return the outputs at the given places in the view of a score."""
        if not len(places):
            return view(self.chunks[0].rows[:0])
        low, high = int(places.min()) // self._fresh.size, int(places.max()) // self._fresh.size
        parts = [chunk.seen(view) for chunk in self.chunks[low : high + 1]]
        return np.concatenate(parts)[places - low * self._fresh.size]


class _Known:
    """A score that takes places in a stream instead of outputs. Each view is computed once for each output."""

    def __init__(self, score: Score, view: View) -> None:
        self.name, self.oriented, self.training = score.name, score.oriented, score.training
        self.weight = float(getattr(score, "weight", 1.0))
        self.fit, self.view = score.fit, view
