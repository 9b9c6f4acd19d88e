"""The conclusion of an audit: the verdict, the lower bound on epsilon, and the event whose bet won most.

The samples may be drawn in blocks, or come from the steps of one training run. Most of the error probability alpha is
used for the verdict, and the rest for the lower bound on epsilon. The verdict then needs fewer samples, while the
lower bound hardly changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.betting.eprocess import SLACK, epsilon_lower
from dpproof.audits.engine.betting.stream import ScoreStream
from dpproof.audits.engine.betting.trial import VERDICT, Trial, tails_share
from dpproof.audits.engine.power import simulated as power
from dpproof.audits.engine.power.measured import Power, simulated
from dpproof.audits.engine.scores.atoms import only_bits
from dpproof.audits.engine.scores.protocol import Score, shares
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.time_budget import OutOfTimeError

DECIMALS = (
    "the bits still refute the claim if the numbers are rounded to half of their digits: decimals of the output may "
    "show the input, and then the claim is false in real arithmetic, too; or the noise has a low precision"
)
FEW = (
    "too few samples were drawn to tell whether floating-point arithmetic explains the bits; raise the budget"
)
"""Why nothing is said about real arithmetic if bits alone refute a claim."""


def conclude(
    trial: Trial,
    claim: str,
    curve: PrivacyCurve,
    claimed: float,
    delta: float,
    alpha: float,
    seed: int,
    pair: str,
    replay: Mapping[str, object],
    measure: Callable[[Trial], Power] | None = None,
) -> Evidence:
    """Return the evidence: the result of an audit, from the bets of its trial.

    Args:
        trial: the bets that were placed, with error probability ``alpha``.
        claim: the name of the claim.
        curve: the claimed guarantee.
        claimed: the epsilon of the claimed guarantee at ``delta``, rounded up.
        delta, alpha, seed: as for `dpproof.audit`.
        pair: a description of the two inputs.
        replay: all other data that a replay needs.
        measure: a function that measures the power of an audit that refuted nothing. If it is None, the audit
            simulates its power with the distributions of `audits.engine.betting.reference`. The simulated power is
            right if each output is one number with a known likelihood ratio.
    """
    least = _least(trial, trial.streams, delta, alpha)
    refuted = trial.refuted or least > claimed
    in_values = trial.refuted_in_values or _least(trial, trial.in_values, delta, alpha) > claimed
    if trial.refuted and curve == ApproxDP(claimed, delta):
        least = max(least, claimed)  # the claim says no more than this one point: it is what is refuted
    verdict, found, seen, unexplained = Finding.VIOLATION, None, None, {}
    if not (refuted and in_values):
        found = (
            simulated(_seen(trial, claimed, delta, alpha, seed), claimed)
            if measure is None
            else measure(trial)
        )
        seen = found.seen(claimed)
        missed = Finding.CONSISTENT if found.enough else Finding.INCONCLUSIVE
        if refuted and not trial.explained:
            missed = Finding.INCONCLUSIVE
            unexplained = {"weakness": FEW if trial.explained is None else DECIMALS}
        verdict = Finding.FLOATING_POINT if refuted else missed
    return Evidence(
        claim=claim,
        verdict=verdict,
        claimed_epsilon=claimed,
        epsilon_lower=least,
        delta=delta,
        confidence=1 - alpha,
        samples=trial.samples,
        would_have_seen=seen,
        e_value=math.exp(min(trial.log_wealth, 700.0)),
        alpha=alpha,
        seed=seed,
        pair=pair,
        **_finding(trial, _streams_of(trial, verdict)),
        replay=replay,
        without_bits=missed if verdict is Finding.FLOATING_POINT else None,
        **({} if found is None else found.as_evidence()) | unexplained,
    )


def unfinished(curve: PrivacyCurve, plan: AuditPlan, samples: int, ended: OutOfTimeError) -> Evidence:
    """Return the evidence of an audit whose time ended before it refuted anything.

    Args:
        curve, plan: the claimed guarantee, and the plan of the audit.
        samples: the number of samples that were drawn.
        ended: the exception, which names the part of the audit in which the time ended.
    """
    part = ended.during or "the audit of the pair"
    return Evidence(
        claim=plan.name,
        verdict=Finding.INCONCLUSIVE,
        claimed_epsilon=curve.epsilon(plan.stated).upper,
        epsilon_lower=0.0,
        delta=plan.stated,
        confidence=1 - plan.alpha,
        samples=samples,
        would_have_seen=math.inf,
        e_value=1.0,
        alpha=plan.alpha,
        seed=plan.seed,
        pair="",
        event=None,
        counts=None,
        score=None,
        replay={"audit": None, **plan.spent},
        not_covered=(ended.left or "the samples that were not drawn",),
        weakness=f"The time budget of {plan.seconds:g} seconds ended during {part}. Give more seconds.",
    )


def check_request(
    alpha: float, budget: int, delta: float, scores: Sequence[Score | str] | None, seed: int
) -> None:
    """Raise an error before the audit begins if an argument is outside its range.

    Raises:
        ValueError: an argument is outside its range; the message names the value and the rule.
    """
    if not 1e-300 <= alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in [1e-300, 1)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    for name, value, least in (("budget", budget, 1), ("seed", seed, 0)):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} ({value!r}) must be an integer at least {least}")
    if scores is not None and not scores:
        raise ValueError("scores must contain at least one score")


def spared(trial: Trial, claimed: float, delta: float, alpha: float, seed: int) -> str:
    """Return the reason why the power of a sparing audit was not measured, with its power on the reference pair."""
    seen = _seen(trial, claimed, delta, alpha, seed)
    least = f"only an epsilon of {seen:.3g} or more" if seen < math.inf else "no violation"
    return (
        f"the function is called once for each output, and the audit drew {trial.samples} samples. Even if outputs"
        f" were one number with a known likelihood ratio, so many samples would detect {least} with power 90 %; raise"
        " the budget of samples, or of time"
    )


def _seen(trial: Trial, claimed: float, delta: float, alpha: float, seed: int) -> float:
    """Run the same bets on the reference pair, with the share and the start of the earliest score.

    Return the smallest epsilon that they detect with power 90 %. If only
    floating-point bits have refuted the claim, only the scores that see more than bits are used.
    """
    scores = [stream.score for stream in (trial.in_values if trial.refuted else trial.streams)]
    first = min(range(len(scores)), key=lambda place: scores[place].training)
    return power.would_have_seen(
        trial.bets,
        claimed,
        delta,
        log_hurdle=-math.log(shares(scores)[first] * tails_share(trial.streams) * VERDICT * alpha),
        start=scores[first].training,
        samples=trial.samples,
        seed=seed,
    )


def _least(trial: Trial, streams: Sequence[ScoreStream], delta: float, alpha: float) -> float:
    """Return the lower bound on epsilon from some of the scores."""
    counts = np.stack([stream.tails.counts for stream in streams])
    return epsilon_lower(counts, delta, (1 - VERDICT) * alpha, shares([stream.score for stream in streams]))


def _streams_of(trial: Trial, verdict: Finding) -> Sequence[ScoreStream]:
    """Return the scores on which the verdict is based."""
    if verdict is Finding.VIOLATION:
        return trial.in_values
    if verdict is Finding.FLOATING_POINT:
        return [stream for stream in trial.streams if only_bits(stream.score)]
    return trial.streams


def _finding(trial: Trial, streams: Sequence[ScoreStream]) -> dict[str, Any]:
    """Describe the bet with the largest wealth over some scores, or the learned posterior if it has more."""
    learned = max(streams, key=lambda s: -math.inf if s.posterior is None else s.posterior.log_wealth)
    posterior, counts = learned.posterior, np.stack([stream.tails.counts for stream in streams])
    if posterior is not None and posterior.log_wealth > max(0.0, trial.bets(counts).max()) + SLACK:
        return {**posterior.describe(), "score": learned.score.name}
    stream = max(streams, key=lambda s: float(trial.bets.components(s.tails.counts).max()))
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
