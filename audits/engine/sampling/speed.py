"""Fit the audit of a slow mechanism into its time budget: measure the speed first, then plan how many samples fit.

A time budget may allow fewer outputs than the usual checks draw. Then the audit is *sparing*. Half of the outputs that
fit are samples, and the checks draw few. The mechanism is called once for each output. So outputs of one call cannot
depend on each other, the clock is looked at between two outputs, and an executor can make several calls at the same
time. If more outputs fit, at most four fifths of them are samples. The plan depends on the time of earlier calls
only, so it does not change the probability of a false alarm (docs/notes/audit_betting.md, "A time budget").
"""

from __future__ import annotations

import math
import time
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.alone import Apart
from dpproof.audits.engine.sampling.callables import PROBES, Each, Mechanism, generator, outputs
from dpproof.audits.plan import AuditPlan
from dpproof.audits.time_budget import OutOfTimeError, during, time_left

ENOUGH = 20_000
"""An audit is sparing if its time allows fewer outputs than this, which is about what the usual checks draw."""
LEAST = 40
"""The fewest outputs of an audit: with fewer, hardly any violation can be found."""
PARTS, SMALLEST, LARGEST = 60, 2, 16
"""A call of a sparing check draws 1 / `PARTS` of the outputs that fit, within these limits."""
TIMED, GROWTH, MOST, SHARE = 30, 8, 4096, 0.05
"""The random stream of the timed calls; the growth of their numbers of outputs, and the largest number; the share of
the remaining time that a timed call may take if each of its outputs takes as long as the first."""
TRIED = 4
"""The number of outputs that are timed together if an executor draws them."""


def fitted(made: Mechanism, pair: Neighbours, plan: AuditPlan, pairs: int = 1) -> tuple[Mechanism, AuditPlan]:
    """Return the mechanism and the plan, changed so that the audit fits into the remaining time.

    They stay unchanged if there is no time budget, or if the plan was fitted before. A replay gets the fitted plan.

    Args:
        made, pair: the mechanism and one of its pairs of inputs.
        plan: the plan of the audit.
        pairs: the number of pairs that share the time.

    Raises:
        OutOfTimeError: the time allows fewer than `LEAST` outputs for each pair.
    """
    if plan.sparing is not None or math.isinf(time_left()):
        return (_sparing(made, plan.sparing, plan.executor) if plan.sparing else made), plan
    seconds, alone = _speed(made, pair, plan.seed)
    if not alone:
        return made, replace(plan, sparing=0)
    sparing = time_left() / seconds < ENOUGH * pairs
    if sparing and plan.executor is not None:
        together = _sparing(made, SMALLEST, plan.executor)
        rng = generator(plan.seed, PROBES, TIMED)
        _, took = (_timed(together, pair, 0, TRIED, rng) for _ in range(2))  # the first starts processes
        seconds = took / TRIED
    room = int(time_left() / seconds) // pairs
    if sparing and room < LEAST:
        with during(f"the first calls, which took {seconds:.2g} seconds each", f"an audit of {LEAST} calls"):
            raise OutOfTimeError
    few = min(max(room // PARTS, SMALLEST), LARGEST) if sparing else 0
    budget = min(plan.drawn, max(int((0.5 if sparing else 0.8) * room), 1) * pairs)
    planned = replace(plan, budget=plan.budget if budget == plan.drawn else budget, sparing=few)
    return (_sparing(made, few, plan.executor) if few else made), planned


def _speed(made: Mechanism, pair: Neighbours, seed: int) -> tuple[float, bool]:
    """Return the seconds for an output, and whether outputs that are drawn one by one take no longer."""
    rng = generator(seed, PROBES, TIMED)
    first, second = (_timed(made, pair, label, 1, rng) for label in (0, 1))
    one = second if first > 2 * second else (first + second) / 2  # the first call may import or compile
    singly = isinstance(made.function, Each) or made.failures == "token"
    n, took = 1, one
    while not singly and n < MOST and GROWTH * n * one <= SHARE * time_left():
        n *= GROWTH
        took = _timed(made, pair, 0, n, rng)
    return took / n, singly or took > n * one / 2


def _timed(made: Mechanism, pair: Neighbours, label: int, n: int, rng: np.random.Generator) -> float:
    begun = time.monotonic()
    outputs(made, pair, label, n, rng)
    return max(time.monotonic() - begun, 1e-9)


def _sparing(made: Mechanism, few: int, executor: Executor | None) -> Mechanism:
    """Return the mechanism with one call for each output; an executor makes several calls at the same time.

    A mechanism with randomness of its own stays in this process, because processes could share the randomness.
    """
    if made.sparing:
        return made
    return Mechanism(
        Apart(made, executor if made.seeded else None), nan=made.nan, seeded=made.seeded, sparing=few
    )
