"""The audit: samples in, evidence out.

Half of alpha goes to the verdict (betting against the claimed curve), half to the interval for epsilon.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits import power
from audits.curves import PrivacyCurve, curve_points
from audits.eprocess import LogWealth, epsilon_lower, rejects
from audits.evidence import Evidence, Verdict
from audits.pairs import Pair
from audits.sampling import Sampler, check_randomness, draw
from audits.schedule import block_sizes
from audits.scores import Identity, Score
from audits.stream import ScoreStream

__all__ = ["BUDGET", "audit"]

BUDGET = 100_000
"""Default number of samples, of both inputs together."""
CHUNK = 4096
"""A block is drawn in chunks of so many samples, each with its own seed."""
AHEAD = 8
"""With an executor, so many chunks are drawn ahead."""

Chunk = tuple[int, int, int]
Labelled = tuple[NDArray[Any], NDArray[np.int64]]


def audit(
    claim: str,
    curve: PrivacyCurve,
    sampler: Sampler,
    pair: Pair,
    scores: Sequence[Score] = (Identity(),),
    *,
    seed: int,
    delta: float = 0.0,
    alpha: float = 0.01,
    budget: int = BUDGET,
    executor: Executor | None = None,
    replay: Mapping[str, Any] | None = None,
) -> Evidence:
    """Audit a claimed guarantee on one pair of neighbouring inputs.

    Samples are drawn until the claim is refuted or the budget is spent. The result depends on the seed, not
    on the number of workers. A false alarm has probability at most ``alpha / 2``, whatever the scores
    (docs/notes/audit_betting.md).

    Args:
        claim: a name.
        curve: the claimed guarantee; the upper ends of its ``delta(epsilon)`` are bet against.
        sampler: ``sampler(data, n, rng)`` returns ``n`` independent outputs, one per row.
        pair: the two inputs.
        scores: tails of these are the events; the bets are shared out equally.
        seed: a nonnegative integer.
        delta: where ``epsilon_lower`` and ``would_have_seen`` are stated; 0 only for a pure claim.
        alpha: the level, in (0, 1).
        budget: the most samples to draw, of both inputs together.
        executor: draws chunks of samples; with processes, sampler and pair must pickle.
        replay: JSON data that `audits.replay` rebuilds this audit from.

    Raises:
        MechanismError: the mechanism fails, returns NaN or the wrong shape, or ignores its generator.
        ValueError: an argument is outside its range, or a score is not a number.
    """
    _check(alpha, budget, delta, scores, seed)
    points = curve_points(curve, delta)
    check_randomness(sampler, pair, seed)
    streams = [ScoreStream(score) for score in scores]
    wealth, best, samples = LogWealth(points), -math.inf, 0
    for outputs, labels in _blocks(sampler, pair, seed, budget, executor):
        for stream in streams:
            stream.feed(outputs, labels)
        samples += len(labels)
        best = max(best, _average(wealth, streams))
        if rejects(best, alpha / 2):
            break
    refuted = rejects(best, alpha / 2)
    seen = None if refuted else _would_have_seen(curve, wealth, scores, delta, alpha, samples, seed)
    return Evidence(
        claim=claim,
        verdict=_verdict(refuted, seen, curve.epsilon(delta).upper),
        epsilon_lower=epsilon_lower(_counts(streams), delta, alpha / 2),
        delta=delta,
        confidence=1 - alpha,
        samples=samples,
        would_have_seen=seen,
        e_value=math.exp(min(best, 700.0)),
        alpha=alpha,
        seed=seed,
        pair=pair.description,
        **_finding(wealth, streams),
        replay={"budget": budget, **(replay or {})},
    )


def _check(alpha: float, budget: int, delta: float, scores: Sequence[Score], seed: int) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in (0, 1)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    if budget < 1:
        raise ValueError(f"budget ({budget!r}) must be at least 1")
    if seed < 0:
        raise ValueError(f"seed ({seed!r}) must be at least 0")
    if not scores:
        raise ValueError("scores: there must be at least one")


def _blocks(
    sampler: Sampler, pair: Pair, seed: int, budget: int, executor: Executor | None
) -> Iterator[Labelled]:
    """Yield the samples block by block; a block's chunks and their seeds do not depend on the workers."""
    chunks = (
        (size, block, chunk)
        for block, total in enumerate(block_sizes(budget))
        for chunk, size in enumerate(_split(total))
    )
    drawn = _drawn(chunks, sampler, pair, seed, executor)
    for total in block_sizes(budget):
        parts = list(itertools.islice(drawn, len(_split(total))))
        yield np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _split(total: int) -> list[int]:
    whole, rest = divmod(total, CHUNK)
    return [CHUNK] * whole + [rest] * (rest > 0)


def _drawn(
    chunks: Iterator[Chunk], sampler: Sampler, pair: Pair, seed: int, executor: Executor | None
) -> Iterator[Labelled]:
    if executor is None:
        yield from (draw(sampler, pair, size, seed, block, chunk) for size, block, chunk in chunks)
        return
    waiting = [
        executor.submit(draw, sampler, pair, c[0], seed, *c[1:]) for c in itertools.islice(chunks, AHEAD)
    ]
    try:
        while waiting:
            yield waiting.pop(0).result()
            waiting += [
                executor.submit(draw, sampler, pair, c[0], seed, *c[1:]) for c in itertools.islice(chunks, 1)
            ]
    finally:
        for future in waiting:
            future.cancel()


def _counts(streams: Sequence[ScoreStream]) -> NDArray[np.int64]:
    return np.stack([stream.tails.counts for stream in streams])


def _average(wealth: LogWealth, streams: Sequence[ScoreStream]) -> float:
    return float(np.logaddexp.reduce(wealth(_counts(streams)))) - math.log(len(streams))


def _would_have_seen(
    curve: PrivacyCurve,
    wealth: LogWealth,
    scores: Sequence[Score],
    delta: float,
    alpha: float,
    samples: int,
    seed: int,
) -> float:
    """Let the reference pair face the same bets, with the share and the start of the earliest score."""
    claimed = curve.epsilon(delta).upper
    start = min(score.training for score in scores)
    return power.would_have_seen(
        wealth,
        claimed,
        delta,
        log_hurdle=math.log(2 / alpha * len(scores)),
        start=start,
        samples=samples,
        seed=seed,
    )


def _verdict(refuted: bool, seen: float | None, claimed: float) -> Verdict:
    if refuted:
        return Verdict.VIOLATION
    return Verdict.CONSISTENT if seen is not None and seen <= 2 * claimed else Verdict.INCONCLUSIVE


def _finding(wealth: LogWealth, streams: Sequence[ScoreStream]) -> dict[str, Any]:
    """The bet that earned most, over all scores."""
    stream = max(streams, key=lambda s: float(wealth.components(s.tails.counts).max()))
    level, kind, point, staked = wealth.best(stream.tails.counts)
    won, lost, passed = (int(c) for c in stream.tails.counts[level, kind])
    if won + lost + passed == 0:
        return {"event": None, "counts": None, "score": None}
    event = {
        **stream.tails.describe(level, kind),
        "epsilon": point.epsilon,
        "delta": point.delta,
        "staked": staked,
    }
    counts = {"won": won, "lost": lost, "passed": passed}
    return {"event": event, "counts": counts, "score": stream.score.name}
