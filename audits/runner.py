"""The audit: samples in, evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from audits.blocks import Record, check_repeats, draw_blocks
from audits.callables import Auditable, Mechanism, as_mechanism
from audits.conclusion import check_request, conclude
from audits.curves import PrivacyCurve, curve_points
from audits.dependence import RowRecord, check_fresh_calls
from audits.evidence import Evidence
from audits.pairs import Pair
from audits.probing import check_randomness
from audits.schedule import Pace
from audits.scores import Score
from audits.trial import run_trial
from audits.written import call_of

__all__ = ["BUDGET", "audit"]

BUDGET = 100_000
"""Default number of samples, of both inputs together."""


def audit(
    claim: str,
    curve: PrivacyCurve,
    sampler: Auditable,
    pair: Pair,
    scores: Sequence[Score | str] | None = None,
    *,
    seed: int,
    delta: float = 0.0,
    alpha: float = 0.01,
    budget: int = BUDGET,
    sharpen: bool = False,
    executor: Executor | None = None,
    replay: Mapping[str, Any] | None = None,
) -> Evidence:
    """Audit a claimed guarantee on one pair of neighbouring inputs.

    Samples are drawn until the claim is refuted or the budget is spent. The result depends on the seed, not
    on the number of workers. A false alarm has probability at most ``alpha``, whatever the scores
    (docs/notes/audit_betting.md). Some 700 further outputs, not counted, check the generator.

    Args:
        claim: a name.
        curve: the claimed guarantee; the upper ends of its ``delta(epsilon)`` are bet against.
        sampler: ``f(data, n, rng)`` returns ``n`` independent outputs, one per row; or ``f(data, rng)``
            returns one; or an object with a method ``sample(data, n, rng)``; or a `Mechanism`, which has
            options, such as `command` makes. Outputs are anything that `audits.canonical` can write down.
        pair: the two inputs.
        scores: tails of these are the events; the bets are shared out equally. Names of `audits.score_names`
            stand for scores that suit the outputs. By default an output of one number is its own score, for
            longer ones scores are learned, and low bits and whole outputs have a small share.
        seed: a nonnegative integer.
        delta: where ``epsilon_lower`` and ``would_have_seen`` are stated; 0 only for a pure claim.
        alpha: the level, in (0, 1).
        budget: the most samples to draw, of both inputs together.
        sharpen: spend the whole budget also after a violation, for a larger ``epsilon_lower``.
        executor: draws blocks of samples; with processes, sampler and pair must pickle.
        replay: JSON data that `audits.replay` rebuilds this audit from.

    Raises:
        MechanismError: the mechanism fails, returns NaN or the wrong shape, keeps a state between calls,
            or its outputs are not independent samples.
        ValueError: an argument is outside its range, or a score is not a number.

    >>> from accountant.notions import PureDP
    >>> bits = Pair(0.0, 1.0, "differ by at most 1", "0 or 1")
    >>> def laplace(value, n, rng):
    ...     return value + rng.laplace(0, 1 / 2, n)
    >>> audit("too little noise", PureDP(1.0), laplace, bits, seed=0).verdict.value
    'violation'
    """
    check_request(alpha, budget, delta, scores, seed)
    claimed = curve.epsilon(delta).upper
    points = curve_points(curve, delta, claimed)
    made, record = as_mechanism(sampler), Record()
    layout = check_randomness(made, pair, seed)
    given, scores = scores, layout.chosen(scores)
    layout = layout.under(scores)
    pace = Pace()
    blocks = draw_blocks(made, pair, seed, budget, executor, layout, record, pace)
    rows = RowRecord()
    trial = run_trial(points, rows.watching(blocks), scores, alpha, sharpen=sharpen, pace=pace)
    rows.check()
    called = {"curve": curve, "sampler": sampler, "pair": pair, "scores": given}
    replay = {**({} if "audit" in (replay or {}) else call_of("audit", **called)), **(replay or {})}
    how = {"budget": budget, "sharpen": sharpen, **_own_randomness(made), **replay}
    found = conclude(trial, claim, curve, claimed, delta, alpha, seed, pair.description, how)
    if found.verdict.violated:
        check_repeats(made, pair, seed, record, layout)
        check_fresh_calls(made, pair, seed, layout, rows.largest)
    return replace(found, pairs=(pair.as_json(),))


def _own_randomness(made: Mechanism) -> dict[str, bool]:
    """What a witness says of a mechanism that no seed determines."""
    return {} if made.seeded else {"seeded": False}
