"""Is the stated power real? Audits of mechanisms with a fault, beside the power that the audit states.

For each fault, an audit of the mechanism without the fault states a power for the class of events. The budget is the
smallest one of 1,000, 2,000, 4,000, ... at which the class is called covered. Then audits of the same budget run on the
mechanism with the fault, each with a new event. The share of them that find a violation is the real power.
"""

from __future__ import annotations

import functools
import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit_power import BITS
from benchmarks.audits import stated_events, stated_faults, stated_outputs
from benchmarks.audits.rows import Row, code
from benchmarks.audits.stated_faults import EPSILON, FAULTS, OUTSIDE, SKETCH, Fault
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.checks.probing import check_randomness
from dpproof.audits.engine.power.event_classes import CLASSES, EventClass, planted_in
from dpproof.audits.engine.power.fresh_outputs import Outputs
from dpproof.audits.engine.power.further_classes import FURTHER
from dpproof.audits.engine.power.measured import AFTER, ClassPower, Measurement
from dpproof.audits.engine.power.planting import scaled
from dpproof.audits.engine.runner import planned
from dpproof.audits.engine.sampling.callables import MechanismError, as_mechanism, outputs
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.targets.call import audit

ALPHA, RUNS, FEWER, CHUNK = 0.01, 400, 40, 20
OUTSIDE_RUNS = 100
FIRST = 1000
SEED = 10_000
"""The seed of the audits that state a power. The runs have the seeds 0, 1, 2, ..."""
STATED, REAL, NEAREST = "stated", "real", "nearest"
CASES = {**FAULTS, **OUTSIDE}
PLACES = {**dict(enumerate(CLASSES, 1)), **dict(enumerate(FURTHER, AFTER))}
"""The classes of events by the numbers of their random streams."""
KINDS = tuple(PLACES.values())
EVENTS, OUTPUTS = 100, 20_000
"""For a fault outside of the classes: the number of events of each class, and of outputs on each input, in which the
largest ratio of an event's two frequencies is looked for."""

Task = tuple[str, str, int, tuple[int, ...]]


def tasks(known: Sequence[Row], runs: int | None = None, only: str = "") -> Iterator[Task]:
    """Generate what can be done next: the next budget of a search, or the runs of a fault whose budget is known."""
    for name in CASES:
        if only in name:
            yield from _tasks_of(name, [row for row in known if row["case"] == name], runs)


def _tasks_of(name: str, rows: Sequence[Row], runs: int | None) -> Iterator[Task]:
    settled = chosen(name, rows)
    if settled is None:
        last = max((row["budget"] for row in rows if row["trial"].startswith(STATED)), default=0)
        yield STATED, name, 2 * last or FIRST, ()
        return
    budget, done = settled["budget"], {seed for row in runs_of(rows, settled) for seed in row["seeds"]}
    left = [seed for seed in range(wanted(name, settled, runs)) if seed not in done]
    yield from ((REAL, name, budget, tuple(left[i : i + CHUNK])) for i in range(0, len(left), CHUNK))
    if name in OUTSIDE and not any(row["trial"] == NEAREST for row in rows):
        yield NEAREST, name, budget, ()


def chosen(name: str, rows: Sequence[Row]) -> Row | None:
    """Return the row of the smallest budget at which the class is covered; None if the search has not ended.

    If the class is not covered at any budget, the row of the largest budget is returned.
    """
    searched = sorted((row for row in rows if row["trial"].startswith(STATED)), key=lambda row: row["budget"])
    for row in searched:
        if covered(name, row):
            return row
    return searched[-1] if searched and 2 * searched[-1]["budget"] > CASES[name].cap else None


def runs_of(rows: Sequence[Row], settled: Row) -> list[Row]:
    """Return the rows of runs at the settled budget."""
    return [row for row in rows if row["trial"] == f"{REAL} {settled['budget']}"]


def covered(name: str, row: Row) -> bool:
    """Whether the audit calls the fault's class covered; for a fault outside, whether all needed classes are covered.

    The audit then says "consistent" if the outputs depend on the data. Without a fault they do not, so it says
    "inconclusive" for this reason.
    """
    power = row["power"]
    if name in OUTSIDE:
        needed = [power[one.name]["enough"] for one in CLASSES if one.name in power]
        return bool(needed) and all(needed)
    return bool(power.get(CASES[name].kind, {}).get("enough"))


def wanted(name: str, settled: Row, runs: int | None = None) -> int:
    """Return the number of runs of a fault at its budget: fewer if its class is not covered."""
    usual = OUTSIDE_RUNS if name in OUTSIDE else RUNS if covered(name, settled) else FEWER
    return usual if runs is None else min(usual, runs)


@functools.cache
def faults() -> str:
    """Return a hash of the code, without its comments, that draws the faults. Rows of other faults do not count."""
    files = (module.__file__ or "" for module in (stated_events, stated_faults, stated_outputs))
    texts = (Path(file).read_text(encoding="utf-8") for file in files)
    return hashlib.sha256("\0".join(map(code, texts)).encode()).hexdigest()[:12]


def measured(trial: str, name: str, budget: int, seeds: tuple[int, ...]) -> list[Row]:
    """Do a task."""
    before = time.process_time()
    if trial == STATED:
        found: Row = stated(CASES[name], budget)
    elif trial == REAL:
        found = real(CASES[name], budget, seeds)
    else:
        fault = CASES[name]
        whole = _audit(fault, fault.faulty(SEED), budget, SEED, power=True).verdict.value
        found = {"odds": nearest(fault), "answer": whole}
    label = trial if trial == NEAREST else f"{trial} {budget}"
    seconds = round(time.process_time() - before, 2)
    return [{"case": name, "trial": label, "budget": budget, **found, "seconds": seconds}]


def stated(fault: Fault, budget: int) -> Row:
    """Return the power that an audit of the mechanism without the fault states.

    For a fault in a class this is the power in this class. For a fault outside of the classes it is the power in each
    class, with the answer.
    """
    if fault.name not in OUTSIDE:
        one = _power_in(fault, budget)
        return {"power": {} if one is None else {one.name: _counts(one)}, "samples": budget}
    found = _audit(fault, fault.without(), budget, SEED, power=True)
    parts = {name: {key: one[key] for key in ("seen", "runs", "enough")} for name, one in found.power.items()}
    missed = (MISSED.fullmatch(text) for text in found.not_covered)
    parts |= {one[1]: {"seen": int(one[2]), "runs": int(one[3]), "enough": False} for one in missed if one}
    return {"answer": found.verdict.value, "power": parts, "samples": found.samples}


def _power_in(fault: Fault, budget: int) -> ClassPower | None:
    """Return the power in the class of the fault, measured as a whole audit measures it."""
    made, claim, points = as_mechanism(fault.without()), PureDP(EPSILON), (CurvePoint(EPSILON, 0.0),)
    layout = check_randomness(made, BITS, SEED, budget)
    scores = layout.chosen(None)
    ready = layout.under(scores)
    sketch, planting = planned(made, BITS, ready, scores, points, budget, ALPHA, SEED, None, leading=True)
    measurement = Measurement(sketch, planting, scaled(claim, points), SEED)
    (place,) = (place for place, kind in PLACES.items() if kind.name == fault.kind)
    measurement.measure(PLACES[place], place, needed=True)
    return next(iter(measurement.power.classes), None)


def _counts(one: ClassPower) -> Row:
    return {"seen": one.seen, "runs": one.runs, "enough": one.enough}


MISSED = re.compile(r"(.+) \((\d+) of (\d+) seen\)")
"""What an answer says of a class that it does not need and that has too little power."""


def real(fault: Fault, budget: int, seeds: tuple[int, ...]) -> Row:
    """Return how many runs find the violation, and in which it is missed."""
    answers = {seed: _answer(fault, budget, seed) for seed in seeds}
    return {
        "seed": seeds[0],
        "seeds": list(seeds),
        "runs": len(seeds),
        "found": sum(answer in FOUND for answer in answers.values()),
        "answers": dict(Counter(answers.values())),
        "missed": [seed for seed, answer in answers.items() if answer not in FOUND],
    }


FOUND = tuple(finding.value for finding in Finding if finding.violated)


def _answer(fault: Fault, budget: int, seed: int) -> str:
    try:
        found = _audit(fault, fault.faulty(seed), budget, seed, power=False)
    except MechanismError:
        return "refused"
    return str(found.verdict.value)


def answers(name: str, budget: int, runs: int) -> Counter[str]:
    """Return how often each answer comes, over seeds 0, 1, 2, ..., of audits that measure their power.

    >>> answers("parity of two bits: 2 fair bits", 4_000, 1)
    Counter({'violation': 1})
    """
    fault = CASES[name]
    found = (_audit(fault, fault.faulty(seed), budget, seed, power=True) for seed in range(runs))
    return Counter(one.verdict.value for one in found)


def _audit(fault: Fault, mechanism: Any, budget: int, seed: int, power: bool) -> Evidence:
    return audit(
        fault.name, PureDP(EPSILON), mechanism, BITS, seed=seed, alpha=ALPHA, budget=budget, power=power
    )


def nearest(fault: Fault) -> dict[str, float]:
    """Return for each class the largest ratio of an event's frequencies on the two inputs, among events of the class.

    An event of a class that showed all of the fault would have the ratio e^2 = 7.39. The claim allows e = 2.72.
    """
    faulty, rng = as_mechanism(fault.faulty(SEED)), np.random.default_rng([SEED, 2])
    layout = check_randomness(faulty, BITS, SEED, OUTPUTS)
    sketch, *both = (
        Outputs(layout.settled(outputs(faulty, BITS, label, size, rng)), layout)
        for label, size in ((0, SKETCH), (0, OUTPUTS), (1, OUTPUTS))
    )
    found = {one.name: _ratios(one, sketch, both, rng) for one in KINDS if one.applies(sketch)}
    return {name: round(float(max(ratios)), 3) for name, ratios in found.items() if ratios}


def _ratios(
    kind: EventClass, sketch: Outputs, both: Sequence[Outputs], rng: np.random.Generator
) -> list[float]:
    """Return for some events of a class the ratio of their frequencies, or of the complement's: the larger one."""
    twice = scaled(PureDP(EPSILON), (CurvePoint(EPSILON, 0.0),))
    drawn = (planted_in(kind, sketch, twice, rng) for _ in range(EVENTS))
    shares = [[planted.cells(one).mean() for one in both] for planted in drawn if planted is not None]
    return [
        max(one / other, other / one, (1 - one) / (1 - other), (1 - other) / (1 - one))
        for one, other in shares
        if min(one, other, 1 - one, 1 - other) > 0
    ]
