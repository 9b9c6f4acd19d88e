"""One score along the stream: fitted, calibrated and bet on, always in this order and never back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.outputs import has_nan
from dpproof.audits.engine.betting.posterior import PosteriorBets
from dpproof.audits.engine.scores.protocol import Score, Scorer, exact_order
from dpproof.audits.engine.scores.tails import TailCounts

MEMORY = 1 << 24
"""Learned scores keep at most so many output numbers to learn from."""
HELD_OUT = 4
"""One in so many of the samples kept does not enter a fit but sets the thresholds after it."""


class ScoreStream:
    """The tail counts of one score, fed block by block.

    Attributes:
        score: the score.
        tails: its `TailCounts`.
        posterior: its `PosteriorBets`, against a pure claim only.

    Args:
        score: the score.
        epsilon: the pure claim, if the claim is one.
    """

    def __init__(self, score: Score, epsilon: float | None = None) -> None:
        self.score = score
        self.tails = TailCounts(oriented=score.oriented)
        self.posterior = None if epsilon is None else PosteriorBets(epsilon)
        self._bettors = [bets for bets in (self.tails, self.posterior) if bets is not None]
        self._scorer: Scorer | None = None
        self._kept: list[tuple[NDArray[Any], NDArray[np.int64]]] = []
        self._seen = 0
        self._next_fit = score.training

    def feed(self, outputs: NDArray[np.generic], labels: NDArray[np.int64]) -> None:
        """Bet on a fresh block with what earlier blocks taught, then learn from it.

        Args:
            outputs: what the score's view shows of them.
            labels: the inputs they come from.

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
        self._kept.append((outputs, labels))
        self._seen += len(outputs)
        if self._seen >= self._next_fit:
            self._next_fit = 2 * self._seen
            self._refit()

    def _refit(self) -> None:
        outputs, labels = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        held = np.arange(len(labels)) % HELD_OUT == 0
        self._scorer = self.score.fit(outputs[~held], labels[~held])
        scores = self._scores(outputs[held])
        for bets in self._bettors:
            bets.forget()
            bets.learn(scores, labels[held])

    def _scores(self, outputs: NDArray[np.generic]) -> NDArray[Any]:
        assert self._scorer is not None
        scores = exact_order(np.asarray(self._scorer(outputs)))
        if scores.shape != (len(outputs),):
            raise ValueError(f"score ({self.score.name}): shape {scores.shape} must be ({len(outputs)},)")
        if has_nan(scores):
            raise ValueError(f"score ({self.score.name}): {int(np.isnan(scores).sum())} values are NaN")
        return scores
