"""Bets on one score (a number computed from each output), placed block by block on a stream of samples.

The score is fitted to the first samples, its thresholds are set, and only then bets are placed. Against a claim with
delta = 0, the audit also bets on a learned posterior. These bets detect violations that do not show in large or small
scores. Let B be the label (the number of the input, 0 or 1), X the output, and g(x) any guess of P(B = 1 | X = x)
from earlier samples. Under the claim the true posterior lies between lo = 1 / (1 + e^epsilon) and hi = 1 / (1 +
e^-epsilon). Then

    F = g(B | X) / clip(g, lo, hi)(B | X)

has mean at most 1 given X, for every distribution of X (docs/notes/audit_betting.md, Lemma B). So no event has to be
chosen, and g may be any function. Here g is estimated from histograms of a score, with bins of several sizes. A value
that occurs often, such as the code of a discrete output, has a bin of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.exact import above, together
from dpproof.audits.data.outputs import has_nan
from dpproof.audits.engine.scores.protocol import Score, Scorer, exact_order
from dpproof.audits.engine.scores.tails import TailCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labelled = tuple[NDArray[Any], Ints]


@dataclass(frozen=True)
class Histograms:
    """The histograms of a score from which posteriors are estimated.

    Attributes:
        quantiles: the quantiles of the scores that are edges of the finest histogram.
        groups: the numbers of its bins that are merged in each histogram.
        shares: the shares of the wealth for the bets of each histogram.
        last: after this many samples no more bets on the posterior are placed, because counting takes too long.
    """

    quantiles: Floats
    groups: tuple[int, ...]
    shares: Floats
    last: int


ENDS: Floats = np.array([0.0025, 0.005, 0.01])
COARSE = Histograms(np.arange(1, 32) / 32, (1, 8), np.array([0.5, 0.5]), 1 << 16)
"""The histograms of audits before edition 4 of the default scores. They miss events of a mass below 0.03."""
FINE = Histograms(
    np.sort(np.concatenate([ENDS, np.arange(1, 128) / 128, 1 - ENDS])),
    (4, 32, 1),
    np.array([0.4, 0.4, 0.2]),
    1 << 20,
)
"""The histograms of later audits: also one with about 128 bins, and smaller ones at both ends."""


def histograms_of(edition: int) -> Histograms:
    """Return the histograms of audits with this edition of the default scores."""
    return FINE if edition > 3 else COARSE


STAKES: Floats = np.array([0.3, 0.99])
"""The shares of its wealth that a bet on the posterior stakes on each sample; it keeps the rest."""
DOUBT = 0.5
"""The number that is added to each label's count in a bin before a probability is estimated."""
REFRESH = 2.0
"""Bins are chosen again whenever the number of scores grows by this factor, between `FIRST` and `REMEMBERED`."""
FIRST, REMEMBERED = 64, 1 << 13
GUESSED = 1.25
"""The estimated posterior is updated whenever the number of samples that were bet on grows by this factor."""


def log_factors(posterior: Floats, labels: Ints, epsilon: float) -> Floats:
    """Return the logs of the factors F by which the bets against epsilon-DP multiply their wealth."""
    low, high = _ends(epsilon)
    clipped = np.clip(posterior, low, high)
    return np.where(labels == 1, np.log(posterior / clipped), np.log((1 - posterior) / (1 - clipped)))


class PosteriorBets:
    """Bets on one score that use the probability of label 1 given the score, estimated from histograms.

    Args:
        epsilon: the claimed epsilon; the claim has delta = 0.
        histograms: the histograms of the score.

    Attributes:
        tally: for each histogram, on how many samples its bets were won, lost and not placed; an int64 array
            (histograms, 3).
    """

    def __init__(self, epsilon: float, histograms: Histograms) -> None:
        self.epsilon, self._histograms = epsilon, histograms
        self._logs = np.zeros((len(histograms.groups), STAKES.size))
        self.tally = np.zeros((len(histograms.groups), 3), np.int64)
        self._spent = 0
        self.forget()

    def forget(self) -> None:
        """Drop the samples but keep the wealth that the bets have won. This is called when the score has changed."""
        self._past: list[tuple[Floats, Ints]] = []
        self._seen = 0
        self._next = self._next_guess = 0.0
        self._edges: Floats = np.empty(0)
        self._counts: Ints = np.zeros((1, 2), np.int64)

    @property
    def log_wealth(self) -> float:
        """The log of the average wealth of all bets (over histograms and stakes)."""
        return float(np.logaddexp.reduce(self.parts()))

    def parts(self) -> Floats:
        """Return the log wealth of every bet, an array (histograms times stakes,)."""
        return (self._logs + np.log(self._histograms.shares / STAKES.size)[:, None]).ravel()

    def bet(self, scores: Floats, labels: Ints) -> None:
        """Update the wealth of the bets with a block of fresh samples, which the estimated posterior has not seen."""
        if self._edges.size and self._spent < self._histograms.last:
            fresh = self._counted(scores, labels)
            self._logs += (fresh.ravel() @ self._gains).reshape(self._logs.shape)
            self.tally += (fresh.ravel() @ self._signs).reshape(self.tally.shape)
            self._counts += fresh
            self._spent += scores.size
            if self._spent >= self._next_guess:
                self._guess()

    def learn(self, scores: Floats, labels: Ints) -> None:
        """Choose the bins for later blocks, from these samples and earlier ones."""
        if self._seen >= REMEMBERED:
            return
        self._seen += scores.size
        self._past.append((scores, labels))
        if self._seen >= max(self._next, FIRST):
            self._next = REFRESH * self._seen
            parts = zip(*self._past, strict=True)
            scores, labels = (together(part) for part in parts)
            values = np.sort(scores)[(self._histograms.quantiles * scores.size).astype(np.int64)]
            self._edges = np.unique(np.concatenate([values, above(values)]))
            self._counts = self._counted(scores, labels)
            self._guess()

    def _counted(self, scores: Floats, labels: Ints) -> Ints:
        """Return the number of samples per cell and label: (cells, 2)."""
        edges = self._edges
        if scores.dtype != edges.dtype:  # numpy would round one of the two
            scores, edges = scores.astype(object), edges.astype(object)
        codes = 2 * edges.searchsorted(scores, "right") + labels
        return np.bincount(codes, minlength=2 * edges.size + 2).reshape(-1, 2)

    def _guess(self) -> None:
        """Estimate the posterior from all counts, and set a sample's log gain and its sign by cell and label."""
        self._next_guess = GUESSED * self._spent
        past = np.stack([_merged(self._counts, group) for group in self._histograms.groups])
        guess = (past[..., 1] + DOUBT) / (past.sum(axis=-1) + 2 * DOUBT)
        logs = np.moveaxis(log_factors(guess[..., None], np.arange(2), self.epsilon), 0, -1)
        rows = logs.reshape(-1, len(self._histograms.groups), 1)  # (cells and labels, resolutions, 1)
        self._gains = np.log1p(np.expm1(rows) * STAKES).reshape(len(rows), -1)
        self._signs = np.concatenate([rows > 0, rows < 0, rows == 0], axis=2).reshape(len(rows), -1) * 1

    def describe(self) -> dict[str, object]:
        """Return JSON data that describe the histogram and the stake with the largest wealth."""
        row, stake = np.unravel_index(int(self._logs.argmax()), self._logs.shape)
        won, lost, passed = (int(c) for c in self.tally[row])
        event = {
            "posterior": "histogram",
            "cells": (self._histograms.quantiles.size + 1) // self._histograms.groups[row],
            "staked": float(STAKES[stake]),
        }
        return {
            "event": {**event, "epsilon": self.epsilon, "delta": 0.0},
            "counts": {"won": won, "lost": lost, "passed": passed},
        }


def _merged(counts: Ints, group: int) -> Ints:
    """Return for each cell the counts (cells, 2) of its bin in a histogram with ``group`` bins merged into one.

    An edge and the value just above it are neighbouring edges, so such a bin has twice as many cells.

    >>> _merged(np.array([[1, 0], [2, 0], [3, 1]]), 2).tolist()
    [[6, 1], [6, 1], [6, 1]]
    """
    if group == 1:
        return counts
    starts = np.arange(0, len(counts), 2 * group)
    return np.repeat(np.add.reduceat(counts, starts), 2 * group, axis=0)[: len(counts)]


def _ends(epsilon: float) -> tuple[float, float]:
    """Return bounds on the posterior under the claim, moved outwards by more than their rounding errors."""
    odds = math.exp(epsilon) * (1 + 1e-12)
    return 1 / (1 + odds) * (1 - 1e-15), min(odds / (1 + odds) * (1 + 1e-15), 1.0)


MEMORY = 1 << 24
"""A learned score is no longer fitted once it has seen more output numbers than this."""
HELD_OUT = 4
"""One in this many kept samples is held out of the fit and used to set the thresholds afterwards."""


class Kept:
    """The samples from which scores with one view learn, divided once for all of these scores.

    Attributes:
        rows: the number of samples.
    """

    def __init__(self) -> None:
        self._parts: list[Labelled] = []
        self._divided: tuple[Labelled, Labelled] | None = None
        self.rows = 0

    def add(self, outputs: NDArray[Any], labels: Ints) -> None:
        """Add a block."""
        self._parts.append((outputs, labels))
        self._divided = None
        self.rows += len(labels)

    def clear(self) -> None:
        """Drop the samples, but not their number."""
        self._parts.clear()
        self._divided = None

    def divided(self) -> tuple[Labelled, Labelled]:
        """Return the samples for a fit, and those that are held out of it."""
        if self._divided is None:
            outputs, labels = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
            self._parts = [(outputs, labels)]
            held = np.arange(len(labels)) % HELD_OUT == 0
            self._divided = (outputs[~held], labels[~held]), (outputs[held], labels[held])
        return self._divided


class ScoreStream:
    """The bets on one score, which receives the samples block by block.

    Attributes:
        score: the score.
        tails: the `TailCounts` of the score.
        posterior: the `PosteriorBets` of the score; None unless the claim has delta = 0.

    Args:
        score: the score.
        epsilon: the claimed epsilon if the claim has delta = 0; otherwise None.
        kept: the samples that are kept, shared with all scores of the same view.
        histograms: the histograms of the score for bets on the posterior.
    """

    def __init__(
        self,
        score: Score,
        epsilon: float | None = None,
        kept: Kept | None = None,
        histograms: Histograms = COARSE,
    ) -> None:
        self.score = score
        self.tails = TailCounts(oriented=score.oriented)
        self.posterior = None if epsilon is None else PosteriorBets(epsilon, histograms)
        self._bettors = [bets for bets in (self.tails, self.posterior) if bets is not None]
        self._scorer: Scorer | None = None
        self._kept = kept or Kept()
        self._seen = 0
        self._next_fit = score.training

    def feed(self, outputs: NDArray[np.generic], labels: NDArray[np.int64]) -> None:
        """Bet on a fresh block with what was learned from earlier blocks, then learn from the fresh block.

        Args:
            outputs: the outputs, converted by the score's ``view``.
            labels: for each output, the number of the input from which it was drawn, 0 or 1.

        Raises:
            ValueError: the score is NaN, or not one number per output.
        """
        if self.score.training == 0 and self._scorer is None:
            self._scorer = self.score.fit(outputs[:0], labels[:0])
        if self._scorer is not None:
            scores = self._scores(outputs)
            for bets in self._bettors:
                bets.bet(scores, labels)
                bets.learn(scores, labels)
        if self.score.training:
            self._keep(outputs, labels)

    def _keep(self, outputs: NDArray[np.generic], labels: NDArray[np.int64]) -> None:
        width = max(outputs.size // len(outputs), 1)
        if self._seen * width > MEMORY:
            self._kept.clear()
            return
        if self._seen == self._kept.rows:  # the first of the scores that share the samples
            self._kept.add(outputs, labels)
        self._seen += len(outputs)
        if self._seen >= self._next_fit:
            self._next_fit = 2 * self._seen
            self._refit()

    def _refit(self) -> None:
        fitted, (held, labels) = self._kept.divided()
        self._scorer = self.score.fit(*fitted)
        scores = self._scores(held)
        for bets in self._bettors:
            bets.forget()
            bets.learn(scores, labels)

    def _scores(self, outputs: NDArray[np.generic]) -> NDArray[Any]:
        assert self._scorer is not None
        scores = exact_order(np.asarray(self._scorer(outputs)))
        if scores.shape != (len(outputs),):
            raise ValueError(
                f"score ({self.score.name}) returned the shape {scores.shape}. It must return one number for each "
                "output."
            )
        if has_nan(scores):
            raise ValueError(
                f"score ({self.score.name}) returned NaN for {int(np.isnan(scores).sum())} outputs. "
                "A score must not return NaN."
            )
        return scores
