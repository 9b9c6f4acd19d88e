"""The audit: samples in, evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cache, partial
from typing import Any

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve, curve_points
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.trial import Trial, run_trial
from dpproof.audits.engine.checks.dependence import RowRecord, check_fresh_calls
from dpproof.audits.engine.checks.probing import check_randomness
from dpproof.audits.engine.conclusion import check_request, conclude
from dpproof.audits.engine.power.fresh_outputs import (
    FEWEST,
    SKETCH,
    FreshOutputs,
    Outputs,
    draw_sketch,
    planted_samples,
)
from dpproof.audits.engine.power.measured import Power, measured, unmeasured
from dpproof.audits.engine.power.planting import Planting
from dpproof.audits.engine.sampling.blocks import Record, check_repeats, draw_blocks
from dpproof.audits.engine.sampling.callables import Auditable, Mechanism, as_mechanism
from dpproof.audits.engine.scores import Score
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.recording.written import call_of
from dpproof.audits.time_budget import OutOfTimeError, last_sample

__all__ = ["BUDGET", "audit"]

BUDGET = 100_000
"""Default number of samples, of both inputs together."""


def audit(
    claim: str,
    curve: PrivacyCurve,
    sampler: Auditable,
    pair: Neighbours,
    scores: Sequence[Score | str] | None = None,
    *,
    seed: int,
    delta: float = 0.0,
    alpha: float = 0.01,
    budget: int = BUDGET,
    sharpen: bool = False,
    executor: Executor | None = None,
    replay: Mapping[str, Any] | None = None,
    known_ratio: bool = False,
    power: bool = True,
) -> Evidence:
    """Audit a claimed guarantee on one pair of neighbouring inputs.

    Samples are drawn until the claim is refuted or the budget is spent. The result depends on the seed, not
    on the number of workers. A false alarm has probability at most ``alpha``, whatever the scores
    (docs/notes/audit_betting.md). Some 700 to 2,000 further outputs, not counted, check the generator.

    Args:
        claim: a name.
        curve: the claimed guarantee; the upper ends of its ``delta(epsilon)`` are bet against.
        sampler: ``f(data, n, rng)`` returns ``n`` independent outputs, one per row; or ``f(data, rng)``
            returns one; or an object with a method ``sample(data, n, rng)``; or a `Mechanism`, which has
            options, such as `command` makes. Outputs are anything that `dpproof.audits.data.canonical` can write down.
        pair: the two inputs.
        scores: tails of these are the events; the bets are shared out equally. Names of `audits.engine.scores.names`
            stand for scores that suit the outputs. By default an output of one number is its own score, for
            longer ones scores are learned, and low bits and whole outputs have a small share.
        seed: a nonnegative integer.
        delta: where ``epsilon_lower`` and ``would_have_seen`` are stated; 0 only for a pure claim.
        alpha: the level, in (0, 1).
        budget: the most samples to draw, of both inputs together.
        sharpen: spend the whole budget also after a violation, for a larger ``epsilon_lower``.
        executor: draws blocks of samples; with processes, sampler and pair must pickle.
        replay: JSON data that `dpproof.replay` rebuilds this audit from.
        known_ratio: the law of the outputs is known, and the first score rises or falls with its likelihood
            ratio. Then the power is simulated. Otherwise it is measured: violations of twice the claim are
            planted in fresh outputs on the first input, some ten to forty times as many as the samples.
        power: measure the power. Without it an audit that refutes nothing is inconclusive.

    Raises:
        MechanismError: the mechanism fails, returns NaN or the wrong shape, keeps a state between calls,
            or its outputs are not independent samples.
        ValueError: an argument is outside its range, or a score is not a number.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> bits = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1")
    >>> def laplace(value, n, rng):
    ...     return value + rng.laplace(0, 1 / 2, n)
    >>> audit("too little noise", PureDP(1.0), laplace, bits, seed=0).verdict.value
    'violation'
    """
    check_request(alpha, budget, delta, scores, seed)
    claimed = curve.epsilon(delta).upper
    points = curve_points(curve, delta, claimed)
    made, record = as_mechanism(sampler), Record()
    layout = check_randomness(made, pair, seed, budget)
    given, scores = scores, layout.chosen(scores)
    layout = layout.under(scores)
    pace = Pace()
    blocks = draw_blocks(made, pair, seed, budget, executor, layout, record, pace)
    rows = RowRecord()
    watched = rows.watching(blocks)
    trial = run_trial(points, watched, scores, alpha, sharpen=sharpen, pace=pace, last=last_sample())
    rows.check()
    called: dict[str, Any] = {"curve": curve, "sampler": sampler, "pair": pair, "scores": given}
    called |= {} if power and not known_ratio else {"power": power, "known_ratio": known_ratio}
    replay = {**({} if "audit" in (replay or {}) else call_of("audit", **called)), **(replay or {})}
    how = {"budget": budget, "sharpen": sharpen, **_own_randomness(made), **replay, **trial.ended}

    def measure(ended: Trial) -> Power:
        if not power:
            return unmeasured("the audit was asked not to")
        left = [stream.score for stream in (ended.in_values if ended.refuted else ended.streams)]
        return measured(
            partial(_planting, made, pair, layout, left, points, ended.samples, alpha, seed, executor),
            curve,
            points,
            seed,
        )

    asked = None if known_ratio and power else measure
    confirmed = cache(partial(_confirmed, made, pair, seed, layout, record, rows.largest))
    if trial.refuted:  # before the power is measured, which may take all of the time left
        confirmed()
    found = conclude(trial, claim, curve, claimed, delta, alpha, seed, pair.description, how, asked)
    found = replace(found, pairs=(pair.as_json(),))
    if not found.verdict.violated:
        return found
    short = confirmed()
    return found.left_unconfirmed() if short is None else replace(found, shortened=short)


def _confirmed(
    made: Mechanism, pair: Neighbours, seed: int, layout: Layout, record: Record, largest: int
) -> str | None:
    """Return what a violation takes on trust once independence was checked; None if time ran out before.

    Raises:
        MechanismError: as for `check_repeats` and `check_fresh_calls`.
    """
    try:
        check_repeats(made, pair, seed, record, layout)
        return check_fresh_calls(made, pair, seed, layout, largest)
    except OutOfTimeError:
        return None


def _planting(
    made: Mechanism,
    pair: Neighbours,
    layout: Layout,
    scores: Sequence[Score],
    points: tuple[CurvePoint, ...],
    samples: int,
    alpha: float,
    seed: int,
    executor: Executor | None,
) -> tuple[Outputs, Planting]:
    """What is needed for planted audits that are like this one.

    Against a single point with a delta, laws are planted on many cells, whose masses take more outputs.
    """
    samples = planted_samples(samples, layout)
    weighed = samples if len(points) == 1 and points[0].delta > 0 else 0
    count = min(SKETCH, max(FEWEST, samples)) + weighed
    sketch = draw_sketch(made, pair, layout, count, seed, executor)
    fresh = FreshOutputs(made, pair, layout, samples, seed, executor)
    return sketch, Planting(fresh, layout, samples, scores, points, alpha, made.together)


def _own_randomness(made: Mechanism) -> dict[str, bool]:
    """What a witness says of a mechanism that no seed determines."""
    return {} if made.seeded else {"seeded": False}
