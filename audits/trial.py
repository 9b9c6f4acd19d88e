"""A trial: bets placed and settled along a stream, without a word on what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.curves import CurvePoint
from audits.eprocess import LogWealth, rejects
from audits.scores import Score
from audits.stream import ScoreStream

__all__ = ["VERDICT", "Trial", "run_trial", "tails_share"]

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
    blocks: Iterable[tuple[NDArray[Any], NDArray[np.int64]]],
    scores: Sequence[Score],
    alpha: float,
    *,
    sharpen: bool = False,
) -> Trial:
    """Bet against the points of a curve on blocks of labelled samples, until refuted or out of blocks.

    The wealth is computed only where it can have reached what refutes: no sample multiplies it by more than
    a known factor.
    """
    pure = points[-1].epsilon if points[-1].delta == 0 else None
    bets, streams = LogWealth(points), tuple(ScoreStream(score, pure) for score in scores)
    samples, best, due = 0, -math.inf, 0.0
    for outputs, labels in blocks:
        for stream in streams:
            stream.feed(outputs, labels)
        samples += len(labels)
        if samples < due:
            continue
        reached = _log_wealth(bets, streams)
        best = max(best, reached)
        if rejects(best, VERDICT * alpha) and not sharpen:
            break
        due = samples + (-math.log(VERDICT * alpha) - reached) / bets.fastest
    best = max(best, _log_wealth(bets, streams))
    refuted = rejects(best, VERDICT * alpha)
    return Trial(bets, streams, samples, best, refuted)


def tails_share(streams: Sequence[ScoreStream]) -> float:
    """The prior weight of bets on tails; the rest is with the learned posterior, if there is one."""
    return 1.0 if streams[0].posterior is None else 1 - POSTERIOR


def _log_wealth(bets: LogWealth, streams: Sequence[ScoreStream]) -> float:
    """Log of the average wealth over scores, of their bets on tails and on their posterior."""
    parts = bets(np.stack([stream.tails.counts for stream in streams])) + math.log(tails_share(streams))
    learned = [s.posterior.log_wealth + math.log(POSTERIOR) for s in streams if s.posterior is not None]
    return float(np.logaddexp.reduce(np.append(parts, learned))) - math.log(len(streams))
