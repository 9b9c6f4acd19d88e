"""A trial: the part of an audit that bets on samples until the claim is refuted or no samples are left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.eprocess import LogWealth, log_sums, rejects
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.stream import COARSE, Histograms, Kept, ScoreStream
from dpproof.audits.engine.scores.atoms import Atoms, only_bits, rounded_bits
from dpproof.audits.engine.scores.protocol import Score, shares
from dpproof.audits.time_budget import OutOfTimeError, time_left

Labelled = tuple[NDArray[Any], NDArray[np.int64]]

VERDICT = 0.95
"""The share of the error probability alpha for the verdict; the lower bound on epsilon has the rest."""

CHECKS = 0.6
"""After a refutation, the share of the remaining time that is reserved for the checks that a violation needs."""

AFTER = 0.12
"""After a refutation, the size of the next block as a share of the samples so far."""
POSTERIOR = 0.1
"""Against a claim with delta = 0, the share of the initial wealth that is bet on a learned posterior."""


@dataclass(frozen=True, eq=False)
class Trial:
    """The result of betting against a claim on a stream of samples; large wealth refutes the claim.

    Attributes:
        bets: the bets against the claim.
        streams: the scores, with the counts of their bets.
        samples: the number of samples that were drawn.
        log_wealth: the log of the average wealth of all bets, at the check at which it was largest.
        refuted: whether this largest wealth has reached 1 / (`VERDICT` alpha).
        refuted_in_values: whether the wealth of the bets on scores that see more than floating-point bits has also
            reached this value.
        cut: whether the time budget ended the stream after the claim was refuted. If so, a replay ends at the same
            sample.
        explained: whether rounding the numbers to half of their digits removed what the bits showed, if bits alone
            refuted the claim. It is None if too few samples came to tell. Rounding also removes decimals of numbers
            above about 2^26, and binary fractions of numbers that single precision holds.
    """

    bets: LogWealth
    streams: tuple[ScoreStream, ...]
    samples: int
    log_wealth: float
    refuted: bool
    refuted_in_values: bool
    cut: bool = False
    explained: bool | None = None

    @property
    def in_values(self) -> tuple[ScoreStream, ...]:
        """The scores that see more than floating-point bits; all scores if there is no such score."""
        return in_values(self.streams)

    @property
    def ended(self) -> dict[str, int]:
        """The number of samples at which the time budget ended the stream, as JSON data; empty if it did not."""
        return {"last": self.samples} if self.cut else {}

    @property
    def counts(self) -> NDArray[np.int64]:
        """On how many samples each bet was won, lost and not placed: an array (scores, levels, kinds, 3).

        The level is the size of the tail; the kind is upper, lower or both.
        """
        return np.stack([stream.tails.counts for stream in self.streams])

    @property
    def earned(self) -> NDArray[np.float64]:
        """The share of each score in the wealth at the end."""
        initial = np.log(shares([stream.score for stream in self.streams]))
        logs = [_log_wealth(self.bets, [one], initial[at : at + 1]) for at, one in enumerate(self.streams)]
        return np.exp(np.array(logs) - log_sums(np.array(logs)))


def run_trial(
    points: tuple[CurvePoint, ...],
    blocks: Iterable[Labelled],
    scores: Sequence[Score],
    alpha: float,
    *,
    further: float = 0.0,
    pace: Pace | None = None,
    last: int | None = None,
    partial: bool = False,
    histograms: Histograms = COARSE,
) -> Trial:
    """Return the result of betting against a claim on blocks of samples.

    ``points`` are points (epsilon, delta) that the claim implies. The trial ends when no block is left, or when the
    claim is refuted and at least ``further`` more samples were drawn; infinity stands for all blocks. If only
    floating-point bits refute the claim, the other scores continue to bet until they refute the claim as well or the
    blocks end. They use the same ``alpha``, because a true claim must pass both tests (docs/notes/audit_betting.md,
    Theorem 6). ``pace`` receives the wealth after every block. Sampling after a refutation ends early enough for
    later checks: they get the share `CHECKS` of the time that was left at the refutation. A replay gives ``last``,
    the number of samples at which the time budget ended the original trial. Sampling then ends at ``last`` samples if
    the claim is refuted by then. With ``partial``, a time budget that ends before a refutation ends the sampling, too;
    otherwise it raises `OutOfTimeError`. ``histograms`` are those of the bets on the posterior.
    """
    pure = points[-1].epsilon if points[-1].delta == 0 else None
    kept = {id(score.view): Kept() for score in scores}
    bets = LogWealth(points)
    streams = tuple(ScoreStream(score, pure, kept[id(score.view)], histograms) for score in scores)
    pace, level = pace or Pace(), VERDICT * alpha
    samples, feeding, until = 0, streams, math.inf
    every = _Largest(bets, streams)
    values = every if in_values(streams) == streams else _Largest(bets, in_values(streams))
    rounded = _RoundedBits(bets, streams, pure, level, histograms)
    drawn = _InTime(blocks, lambda: rejects(every.best, level), last, partial)
    for outputs, labels in drawn:
        samples += len(labels)
        for stream, seen in zip(feeding, _seen(outputs, feeding), strict=True):
            stream.feed(seen, labels)
        for wealth in {every, values}:
            wealth.look()
        refuted = rejects(every.best, level)
        if refuted and not rejects(values.best, level):
            rounded.feed(outputs, labels, samples)
        if refuted and math.isfinite(further):
            feeding = values.streams
            if rejects(values.best, level):
                until = min(until, samples + further)
                if samples >= until:
                    break
                pace.share = AFTER
                continue
        pace.heed((values if refuted else every).now, -math.log(level))
    refuted, in_value = rejects(every.best, level), rejects(values.best, level)
    return Trial(bets, streams, samples, every.best, refuted, in_value, drawn.cut, rounded.explain)


def _seen(outputs: NDArray[np.generic], streams: Sequence[ScoreStream]) -> list[NDArray[Any]]:
    """Return the outputs in the view of each score. Scores with the same view share one array."""
    views = [stream.score.view for stream in streams]
    seen = {id(view): view for view in views}
    shown = {key: view(outputs) for key, view in seen.items()}
    return [shown[id(view)] for view in views]


class _InTime:
    """An iterator over blocks that ends early after a refutation if there is no time for the next block.

    It assumes that a block takes at most twice as long as the one before it.

    Attributes:
        cut: whether blocks were left out.
    """

    def __init__(
        self, blocks: Iterable[Labelled], refuted: Callable[[], bool], last: int | None, partial: bool
    ) -> None:
        self._blocks, self._refuted, self._partial = blocks, refuted, partial
        self._last = math.inf if last is None else last
        self.cut = False

    def __iter__(self) -> Iterator[Labelled]:
        stop, before, samples = None, time_left(), 0
        try:
            for block in self._blocks:
                yield block
                samples, left = samples + len(block[1]), time_left()
                stop = CHECKS * left if self._refuted() and stop is None else stop
                short = stop is not None and left - 2 * (before - left) < stop < math.inf
                if short or (stop is not None and samples >= self._last):
                    self.cut = True
                    return
                before = left
        except OutOfTimeError:
            if not self._refuted() and not (self._partial and samples):
                raise
            self.cut = True


def in_values(streams: Sequence[ScoreStream]) -> tuple[ScoreStream, ...]:
    """Return the streams whose scores see more than floating-point bits; all streams if there is no such score."""
    return tuple(stream for stream in streams if not only_bits(stream.score)) or tuple(streams)


class _Largest:
    """The average wealth of some scores, and its largest value so far."""

    def __init__(self, bets: LogWealth, streams: Sequence[ScoreStream]) -> None:
        self._bets, self.streams = bets, tuple(streams)
        self._shares = np.log(shares([stream.score for stream in streams]))
        self.best = -math.inf
        self.look()

    def look(self) -> None:
        """Evaluate the wealth again, and update the largest value."""
        self.now = _log_wealth(self._bets, self.streams, self._shares)
        self.best = max(self.best, self.now)


class _RoundedBits:
    """Bets on the bits of numbers rounded to half of their digits, from the block on at which bits alone refute."""

    def __init__(
        self,
        bets: LogWealth,
        streams: Sequence[ScoreStream],
        pure: float | None,
        level: float,
        histograms: Histograms,
    ) -> None:
        scores = [stream.score for stream in streams if only_bits(stream.score)]
        self._streams = [
            ScoreStream(rounded_bits(score), pure, Kept(), histograms)
            for score in scores
            if isinstance(score, Atoms)
        ]
        self._wealth = _Largest(bets, self._streams) if self._streams else None
        self._level, self._needed, self._samples = level, 0, 0

    def feed(self, outputs: NDArray[Any], labels: NDArray[np.int64], drawn: int) -> None:
        """Bet on a block of samples; ``drawn`` is the number of samples up to its end."""
        self._needed = self._needed or drawn
        self._samples += len(labels)
        for stream in self._streams:
            stream.feed(stream.score.view(outputs), labels)
        if self._wealth is not None:
            self._wealth.look()

    @property
    def explain(self) -> bool | None:
        """Whether rounding removed what the bits showed: `Trial.explained`."""
        if self._wealth is None:
            return None
        if rejects(self._wealth.best, self._level):
            return False
        return True if self._samples >= 2 * self._needed > 0 else None


def tails_share(streams: Sequence[ScoreStream]) -> float:
    """Return the share of the initial wealth for bets on tails; bets on a learned posterior have the rest."""
    return 1.0 if streams[0].posterior is None else 1 - POSTERIOR


def _log_wealth(bets: LogWealth, streams: Sequence[ScoreStream], shares: NDArray[np.float64]) -> float:
    """Return the log of the average wealth of all scores, for bets on tails and on learned posteriors."""
    counts = np.array([stream.tails.counts for stream in streams])
    parts = [bets.parts(counts) + (math.log(tails_share(streams)) + shares)[:, None]]
    learned = [s.posterior.parts() for s in streams if s.posterior is not None]
    parts += [np.stack(learned) + (math.log(POSTERIOR) + shares)[:, None]] if learned else []
    return float(log_sums(np.concatenate([part.ravel() for part in parts])))
