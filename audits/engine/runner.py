"""The audit of one pair of neighbouring inputs, from samples to evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cache, partial

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve, curve_points
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.stream import histograms_of
from dpproof.audits.engine.betting.trial import Trial, run_trial
from dpproof.audits.engine.checks.dependence import RowRecord, check_fresh_calls
from dpproof.audits.engine.checks.probing import check_randomness
from dpproof.audits.engine.conclusion import check_request, conclude, spared
from dpproof.audits.engine.explaining.fresh import shown
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
from dpproof.audits.engine.sampling.callables import Auditable, Mechanism, as_mechanism, check_unchanged
from dpproof.audits.engine.sampling.speed import fitted
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.recording.written import call_of
from dpproof.audits.time_budget import OutOfTimeError, last_sample


def audit_pair(curve: PrivacyCurve, sampler: Auditable, pair: Neighbours, plan: AuditPlan) -> Evidence:
    """Return the evidence on a claimed guarantee from one pair of neighbouring inputs; see `dpproof.audit`."""
    check_request(plan.alpha, plan.drawn, plan.stated, plan.scores, plan.seed)
    made, plan = fitted(as_mechanism(sampler), pair, plan)
    seed, delta, alpha, budget = plan.seed, plan.stated, plan.alpha, plan.drawn
    executor = None if made.sparing else plan.executor  # a sparing mechanism makes its calls by the executor
    claimed = curve.epsilon(delta).upper
    points = curve_points(curve, delta, claimed)
    layout, scores = _scored(check_randomness(made, pair, seed, budget), plan)
    record, rows, pace = Record(), RowRecord(), Pace()
    watched = rows.watching(draw_blocks(made, pair, seed, budget, executor, layout, record, pace))
    last, sparing = last_sample(), made.sparing > 0
    trial = run_trial(
        points,
        watched,
        scores,
        alpha,
        further=plan.after,
        pace=pace,
        last=last,
        partial=sparing,
        histograms=histograms_of(plan.edition),
    )
    rows.check()
    called = {"curve": curve, "sampler": sampler, "pair": pair, "scores": plan.scores}
    edition = {"edition": plan.edition} if plan.edition > 1 else {}
    how = {**plan.spent, **edition, **_own_randomness(made), **_replay(plan, called), **trial.ended}
    measure = partial(_power, made, pair, curve, plan, layout, points, executor)
    asked = None if plan.known_ratio and plan.power else measure
    confirmed = cache(partial(_confirmed, made, pair, seed, layout, record, rows.largest))
    if trial.refuted:  # before the power is measured, which may take all of the time left
        confirmed()
    found = conclude(trial, plan.name, curve, claimed, delta, alpha, seed, pair.description, how, asked)
    found = replace(found, pairs=(pair.as_json(),))
    short = confirmed() if found.verdict.violated else ""
    if short is None:
        return found.left_unconfirmed()
    if found.verdict.violated:
        found = replace(found, shortened=short, shown=shown(made, pair, curve, found, seed))
    check_unchanged(pair)
    return found


def _scored(layout: Layout, plan: AuditPlan) -> tuple[Layout, Sequence[Score]]:
    """Return the layout under the chosen scores, and the scores."""
    known = replace(layout, edition=plan.edition)
    scores = known.chosen(plan.scores)
    return known.under(scores), scores


def _power(
    made: Mechanism,
    pair: Neighbours,
    curve: PrivacyCurve,
    plan: AuditPlan,
    layout: Layout,
    points: tuple[CurvePoint, ...],
    executor: Executor | None,
    ended: Trial,
) -> Power:
    """Return the power of an audit that has ended, or the reason why it is not measured."""
    alpha, seed = plan.alpha, plan.seed
    if not plan.power:
        return unmeasured("power=False was given")
    if made.sparing:
        return unmeasured(spared(ended, curve.epsilon(plan.stated).upper, plan.stated, alpha, seed))
    left = [stream.score for stream in (ended.in_values if ended.refuted else ended.streams)]
    planted = partial(
        planned,
        made,
        pair,
        layout,
        left,
        points,
        ended.samples,
        alpha,
        seed,
        executor,
        leading=plan.edition > 2,
    )
    return measured(planted, curve, points, seed, further=plan.edition > 3)


def _confirmed(
    made: Mechanism, pair: Neighbours, seed: int, layout: Layout, record: Record, largest: int
) -> str | None:
    """Check the independence of the samples, and return the remaining assumptions; None if the time runs out.

    Raises:
        MechanismError: as for `check_repeats` and `check_fresh_calls`.
    """
    try:
        check_repeats(made, pair, seed, record, layout)
        return check_fresh_calls(made, pair, seed, layout, largest)
    except OutOfTimeError:
        return None


def planned(
    made: Mechanism,
    pair: Neighbours,
    layout: Layout,
    scores: Sequence[Score],
    points: tuple[CurvePoint, ...],
    samples: int,
    alpha: float,
    seed: int,
    executor: Executor | None,
    *,
    leading: bool,
) -> tuple[Outputs, Planting]:
    """Return a sketch of the outputs, and the settings for planted audits that are like this one.

    Against a single point with delta above 0, distributions over many cells are planted. The masses of these cells are
    estimated from additional outputs.
    """
    samples = planted_samples(samples, layout)
    weighed = samples if len(points) == 1 and points[0].delta > 0 else 0
    count = min(SKETCH, max(FEWEST, samples)) + weighed
    sketch = draw_sketch(made, pair, layout, count, seed, executor)
    fresh = FreshOutputs(made, pair, layout, samples, seed, executor)
    histograms = histograms_of(layout.edition)
    planting = Planting(
        fresh,
        layout,
        samples,
        scores,
        points,
        alpha,
        made.together,
        leading=leading,
        histograms=histograms,
    )
    return sketch, planting


def _replay(plan: AuditPlan, called: Mapping[str, object]) -> dict[str, object]:
    """Return the caller's data for a replay; without them, a description of the call of `dpproof.audit`."""
    told = dict(plan.replay or {})
    return told if "audit" in told else {**call_of("audit", **called, **plan.measuring), **told}


def _own_randomness(made: Mechanism) -> dict[str, bool]:
    """Return the note in a witness on a mechanism whose randomness does not come from the seed."""
    return {} if made.seeded else {"seeded": False}
