"""A trial: bets placed and settled along a stream, without a word on what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.curves import CurvePoint
from audits.eprocess import LogWealth, log_sums, rejects
from audits.schedule import Pace
from audits.scores import Score
from audits.stream import ScoreStream

__all__ = ["VERDICT", "Trial", "run_trial", "tails_share"]

Labelled = tuple[NDArray[Any], NDArray[np.int64]]

VERDICT = 0.95
"""The share of alpha that the verdict has; the interval for epsilon has the rest."""

POSTERIOR = 0.1
"""Against a pure claim, the prior weight of betting on a learned posterior."""


@dataclass(frozen=True, eq=False)
class Trial:
    """The state of a stream of bets.

    Attributes:
        bets: the bets against the claim.
        streams: the scores, with their counts.
        samples: samples spent.
        log_wealth: log of the largest average wealth, of those looked at.
        refuted: it has reached 1 / (`VERDICT` alpha).
    """

    bets: LogWealth
    streams: tuple[ScoreStream, ...]
    samples: int
    log_wealth: float
    refuted: bool

    @property
    def counts(self) -> NDArray[np.int64]:
        """Samples won, lost and passed: (scores, levels, kinds, 3)."""
        return np.stack([stream.tails.counts for stream in self.streams])


def run_trial(
    points: tuple[CurvePoint, ...],
    blocks: Iterable[Labelled],
    scores: Sequence[Score],
    alpha: float,
    *,
    sharpen: bool = False,
    pace: Pace | None = None,
) -> Trial:
    """Bet against the points of a curve on blocks of labelled samples, until refuted or out of blocks.

    ``pace`` is told of the wealth after every block.
    """
    pure = points[-1].epsilon if points[-1].delta == 0 else None
    bets, streams = LogWealth(points), tuple(ScoreStream(score, pure) for score in scores)
    pace, hurdle = pace or Pace(), -math.log(VERDICT * alpha)
    samples, best = 0, _log_wealth(bets, streams)
    for outputs, labels in blocks:
        samples += len(labels)
        for stream in streams:
            stream.feed(outputs, labels)
        reached = _log_wealth(bets, streams)
        best = max(best, reached)
        if rejects(best, VERDICT * alpha) and not sharpen:
            break
        pace.heed(reached, hurdle)
    return Trial(bets, streams, samples, best, rejects(best, VERDICT * alpha))


def tails_share(streams: Sequence[ScoreStream]) -> float:
    """The prior weight of bets on tails; the rest is with the learned posterior, if there is one."""
    return 1.0 if streams[0].posterior is None else 1 - POSTERIOR


def _log_wealth(bets: LogWealth, streams: Sequence[ScoreStream]) -> float:
    """Log of the average wealth over scores, of their bets on tails and on their posterior."""
    counts = np.array([stream.tails.counts for stream in streams])
    parts = [bets.parts(counts).ravel() + math.log(tails_share(streams))]
    parts += [s.posterior.parts() + math.log(POSTERIOR) for s in streams if s.posterior is not None]
    return float(log_sums(np.concatenate(parts))) - math.log(len(streams))
