"""The audit: samples in, evidence out.

Most of alpha goes to the verdict (betting against the claimed curve), the rest to the interval for epsilon:
the first saves samples, the second hardly notices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from numbers import Integral
from typing import Any

from audits import power
from audits.blocks import Record, check_repeats, draw_blocks
from audits.callables import Auditable, Mechanism, as_mechanism
from audits.curves import PrivacyCurve, curve_points
from audits.eprocess import epsilon_lower
from audits.evidence import Evidence, Verdict
from audits.pairs import Pair
from audits.probing import check_randomness
from audits.scores import Score
from audits.trial import VERDICT, Trial, run_trial, tails_share

__all__ = ["BUDGET", "audit"]

BUDGET = 100_000
"""Default number of samples, of both inputs together."""


def audit(
    claim: str,
    curve: PrivacyCurve,
    sampler: Auditable,
    pair: Pair,
    scores: Sequence[Score] | None = None,
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
            options, such as `command` makes. Outputs are anything that `audits.encoding` can write down.
        pair: the two inputs.
        scores: tails of these are the events; the bets are shared out equally. By default an output of one
            number is its own score, and for longer ones scores are learned.
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
    >>> bits = Pair(0.0, 1.0, "differ by at most 1", "0 or 1", lambda a, b: None)
    >>> def laplace(value, n, rng):
    ...     return value + rng.laplace(0, 1 / 2, n)
    >>> audit("too little noise", PureDP(1.0), laplace, bits, seed=0).verdict.value
    'violation'
    """
    _check(alpha, budget, delta, scores, seed)
    claimed = curve.epsilon(delta).upper
    points = curve_points(curve, delta, claimed)
    made, record = as_mechanism(sampler), Record()
    layout = check_randomness(made, pair, seed)
    blocks = draw_blocks(made, pair, seed, budget, executor, layout, record)
    trial = run_trial(points, blocks, layout.scores() if scores is None else scores, alpha, sharpen=sharpen)
    least = epsilon_lower(trial.counts, delta, (1 - VERDICT) * alpha)
    if trial.refuted or least > claimed:
        check_repeats(made, pair, seed, record, layout)
    seen = None if trial.refuted or least > claimed else _would_have_seen(trial, claimed, delta, alpha, seed)
    return Evidence(
        claim=claim,
        verdict=_verdict(trial.refuted or least > claimed, seen, claimed),
        claimed_epsilon=claimed,
        epsilon_lower=least,
        delta=delta,
        confidence=1 - alpha,
        samples=trial.samples,
        would_have_seen=seen,
        e_value=math.exp(min(trial.log_wealth, 700.0)),
        alpha=alpha,
        seed=seed,
        pair=pair.description,
        **_finding(trial),
        replay={"budget": budget, "sharpen": sharpen, **_own_randomness(made), **(replay or {})},
    )


def _own_randomness(made: Mechanism) -> dict[str, bool]:
    """What a witness says of a mechanism that no seed determines."""
    return {} if made.seeded else {"seeded": False}


def _check(alpha: float, budget: int, delta: float, scores: Sequence[Score] | None, seed: int) -> None:
    if not 1e-300 <= alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in [1e-300, 1)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    for name, value, least in (("budget", budget, 1), ("seed", seed, 0)):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} ({value!r}) must be an integer at least {least}")
    if scores is not None and not scores:
        raise ValueError("scores: there must be at least one")


def _would_have_seen(trial: Trial, claimed: float, delta: float, alpha: float, seed: int) -> float:
    """Let the reference pair face the same bets, with the share and the start of the earliest score."""
    return power.would_have_seen(
        trial.bets,
        claimed,
        delta,
        log_hurdle=math.log(len(trial.streams) / tails_share(trial.streams) / (VERDICT * alpha)),
        start=min(stream.score.training for stream in trial.streams),
        samples=trial.samples,
        seed=seed,
    )


def _verdict(refuted: bool, seen: float | None, claimed: float) -> Verdict:
    if refuted:
        return Verdict.VIOLATION
    return Verdict.CONSISTENT if seen is not None and seen <= 2 * claimed else Verdict.INCONCLUSIVE


def _finding(trial: Trial) -> dict[str, Any]:
    """The bet that earned most, over all scores; the learned posterior, if it earned more than all tails."""
    learned = max(trial.streams, key=lambda s: -math.inf if s.posterior is None else s.posterior.log_wealth)
    if learned.posterior is not None and learned.posterior.log_wealth > trial.bets(trial.counts).max():
        return {**learned.posterior.describe(), "score": learned.score.name}
    stream = max(trial.streams, key=lambda s: float(trial.bets.components(s.tails.counts).max()))
    level, kind, point, staked = trial.bets.best(stream.tails.counts)
    won, lost, passed = (int(c) for c in stream.tails.counts[level, kind])
    if won + lost + passed == 0:
        return {"event": None, "counts": None, "score": None}
    curve = {"epsilon": point.epsilon, "delta": point.delta, "staked": staked}
    return {
        "event": {**stream.tails.describe(level, kind), **curve},
        "counts": {"won": won, "lost": lost, "passed": passed},
        "score": stream.score.name,
    }
