"""Audits of a training run that observe every step; for each step a coin decides whether a test record takes part.

The test record is called the canary. Given all earlier steps, a step is a mechanism with the claimed guarantee, on
two neighbouring inputs. The bets of `audits.engine.betting.eprocess` are valid for any dependence of a step on
earlier steps. So each step of a training run is one sample (docs/notes/audit_one_run.md, Theorem 4).

Source: Nasr et al., arXiv:2302.07956 (canary gradients, white box), there with fixed numbers of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve, curve_points
from dpproof.audits.engine.betting.schedule import Blocks, Pace
from dpproof.audits.engine.betting.trial import Trial, run_trial
from dpproof.audits.engine.conclusion import check_request, conclude
from dpproof.audits.engine.power.measured import Power, unmeasured
from dpproof.audits.engine.sampling.callables import BLOCKS, MechanismError, generator
from dpproof.audits.engine.sampling.progress import watcher
from dpproof.audits.engine.scores.protocol import Identity, Score
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.recording.written import call_of
from dpproof.audits.time_budget import check_time, last_sample

STEPS = 2_000
"""The default number of steps, each of which has a coin."""
Training = Callable[[bool], Any]
"""A function that continues the training. The audit calls this function once per coin, with True if the canary is among
the records. The function returns the observed output of the step."""
COINS, TRAINING = 0, 1
WITHOUT = "the records, without or with a canary"


@dataclass(frozen=True)
class Steps:
    """The inputs of an audit that observes every step of a training run; coins decide when a test record takes part.

    A false alarm has probability at most ``alpha``, for any dependence of a step on earlier steps. The audited
    function takes a random generator and starts a training: it returns a second function. The audit calls this second
    function once per coin, with True if the canary (a test record) is among the records. Each call continues the
    training and returns the observed output, one number or a row of numbers. The claim is the guarantee of one call,
    given all earlier calls. The caller must ensure that the two inputs are neighbours. By default the output is one
    number, and large numbers indicate the canary.

    An audit that finds nothing is "consistent" only if the likelihood ratio is known (``known_ratio``). Otherwise its
    power cannot be measured, because violations cannot be planted in steps that depend on each other.

    Attributes:
        pair: the two inputs of a step. dpproof checks their relation; without a pair the relation is assumed.
    """

    pair: Neighbours | None = None


def audit_steps(
    curve: PrivacyCurve,
    start: Callable[[np.random.Generator], Training],
    steps: Steps,
    plan: AuditPlan,
) -> Evidence:
    """Return the evidence on the guarantee of a single step, from the steps of one run; see `Steps`.

    Raises:
        MechanismError: an observed output is NaN.
        ValueError: an argument is outside its range.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> def noisy(rng):
    ...     return lambda canary: canary + rng.normal(0, 0.4)
    >>> plan = AuditPlan(seed=0, delta=1e-5, budget=500)
    >>> audit_steps(GaussianDP(1.0), noisy, Steps(), plan).verdict.value
    'violation'
    """
    seed, delta, alpha, pair = plan.seed, plan.stated, plan.alpha, steps.pair
    budget = STEPS if plan.budget is None else plan.budget
    scores, known_ratio = _scores(plan), plan.known_ratio
    check_request(alpha, budget, delta, scores, seed)
    claimed = curve.epsilon(delta).upper
    points = curve_points(curve, delta, claimed)
    pace = Pace()
    blocks = labelled_steps(start, seed, budget, pace)
    trial = run_trial(
        points,
        blocks,
        scores,
        alpha,
        further=math.inf if plan.sharpen else 0.0,
        pace=pace,
        last=last_sample(),
    )
    called: dict[str, object] = {"curve": curve, "start": start, "scores": scores, "pair": pair}
    called |= {"known_ratio": True} if known_ratio else {}
    told = dict(plan.replay or {})
    replay = told if "audit" in told else {**call_of("audit_steps", **called), **told}
    how = {"method": "steps", "budget": budget, "sharpen": plan.sharpen, **replay, **trial.ended}
    pair, measure = (
        pair or Neighbours(False, True, "the claim's", WITHOUT),
        None if known_ratio else _unmeasured,
    )
    found = conclude(trial, plan.name, curve, claimed, delta, alpha, seed, pair.description, how, measure)
    return replace(found, pairs=(pair.as_json(),))


def labelled_steps(
    start: Callable[[np.random.Generator], Training], seed: int, budget: int, pace: Pace | None = None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Generate blocks of steps of a training run: the observed output and the coin of each step.

    If the coin of a step is 1, the canary (a test record) is among the records in this step.

    Raises:
        MechanismError: an observed output is NaN.

    >>> seen, coins = next(labelled_steps(lambda rng: lambda canary: 1.0 * canary, 0, 100))
    >>> bool((seen == coins).all())
    True
    """
    training, coins = start(generator(seed, BLOCKS, TRAINING)), generator(seed, BLOCKS, COINS)
    tell, taken = watcher(), 0
    for size, *_ in Blocks(budget, pace or Pace()):
        labels = coins.integers(0, 2, size)
        seen = np.array([_timely(training, label) for label in labels], dtype=np.float64)
        if np.isnan(seen).any():
            raise MechanismError("training: The observed value of a step is NaN. It must be a number.")
        taken += size
        if tell is not None:
            tell(taken, budget)
        yield seen, labels


def _scores(plan: AuditPlan) -> tuple[Score, ...]:
    """Return the scores of the plan; by default the output itself, which is one number.

    Raises:
        ValueError: a score is given by its name, which works only with a probe of the outputs.
    """
    if plan.scores is None:
        return (Identity(oriented=True),)
    for one in plan.scores:
        if isinstance(one, str):
            raise ValueError(
                f"scores ({one!r}) must be score objects for an audit of training steps, not names"
            )
    return cast(tuple[Score, ...], tuple(plan.scores))


def _unmeasured(_trial: Trial) -> Power:
    return unmeasured("the steps of a training depend on each other, and their distribution is not known")


def _timely(training: Training, label: int) -> Any:
    """Take one step, after checking the time budget."""
    check_time()
    return training(bool(label))
