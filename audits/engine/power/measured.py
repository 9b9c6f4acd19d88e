"""Measure the power of an audit: how many audits of a planted violation refute the claim, for each kind of event.

The count stops as soon as the result is known. Power 90 % is stated for a kind of event once a bet against "the power
is at most 90 %" has multiplied its stake by a hundred (docs/notes/audit_power.md, Lemma 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from dpproof.accountant.numbers.written import finite
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve
from dpproof.audits.engine.power import simulated as power
from dpproof.audits.engine.power.event_classes import CLASSES, FLOOR, STATED, EventClass, planted_in
from dpproof.audits.engine.power.fresh_outputs import FARTHEST, Outputs
from dpproof.audits.engine.power.further_classes import FURTHER, MODULI
from dpproof.audits.engine.power.planting import MULTIPLE, Planting, Scaled, scaled
from dpproof.audits.engine.sampling.callables import POWER, generator
from dpproof.audits.engine.scores.remainders import LEVELS, LIMIT
from dpproof.audits.time_budget import OutOfTimeError, check_time, optional

RUNS = 200
"""The largest number of audits of planted (known) violations, for each kind of event."""
WANTED, HOPED, LEVEL = 0.9, 0.98, 0.01
"""The power that is stated, the power for which the bet is optimal, and the probability of a false statement."""
GAIN, LOSS = math.log(HOPED / WANTED), math.log((1 - HOPED) / (1 - WANTED))
"""The change of the bet's log wealth after an audit that detects the violation, and after one that misses it."""
GOOD, POOR, DOUBT = 0.95, 0.7, 20
"""A second bet, against "the power is at least 95 %". The count ends when it has multiplied its stake by `DOUBT`."""
SEEN, MISSED = math.log(POOR / GOOD), math.log((1 - POOR) / (1 - GOOD))
"""The change of the second bet's log wealth after a detected violation, and after a missed one."""
LARGER, FEW = (4, 10), 2
"""The multiples of the claim that are tried if the power is too small for violations of twice the claim. A kind of
events is given up there after more than `FEW` misses, to save time."""
NEEDED = dict(enumerate(CLASSES, 1))
"""The kinds of events that *consistent* needs, by the numbers of their random streams."""
AFTER = 21
"""The number of the random stream of the first further kind of events."""
KNOWN = "tails of a known likelihood ratio"
OTHERS = (
    f"events of mass below {STATED:g} (the mean of their probabilities on the two inputs), which are detected less"
    " often than the counts of their class say",
    "parities of three or more bits, and other joint events of three or more coordinates",
    f"remainders modulo other numbers than {', '.join(map(str, MODULI[:-1]))} and {MODULI[-1]}",
    f"digits beyond the last {3 * LEVELS} of an exact number or beyond six of another, and functions of all digits",
    "low bits of floating-point numbers, and printed decimals of numbers in single or half precision",
    "a rare tail, if the other large (or small) values are more frequent on the other input",
    "types of outputs that compare as equal, such as 3 and 3.0",
)
"""The kinds of events in which no violations are planted."""
AFTER_LIMIT = (
    f"remainders and digits beyond the first {LIMIT} groups of three digits of the numbers in an output"
)
"""The digits of long outputs in which no violations are planted."""
CUT = f"what follows the first {FARTHEST} numbers and words of an output"
"""The part of long outputs in which no violations are planted."""


@dataclass(frozen=True)
class ClassPower:
    """The measured power of an audit against violations in one kind of event.

    Attributes:
        name: the name of the kind of event.
        law: a description of how events were drawn.
        seen, runs: the number of audits of planted (known) violations, ``runs``, and how many of them refuted the
            claim, ``seen``; ``seen`` is ``None`` for simulated power.
        enough: whether the audit states a power of 90 % for this kind of event.
        outputs: the number of fresh outputs in these audits; each output is used at most once.
        multiple: the epsilon of the planted violations is at most this multiple of the claimed epsilon.
        needed: whether *consistent* needs enough power for this kind of event.
    """

    name: str
    law: str
    seen: int | None
    runs: int
    enough: bool
    outputs: int
    multiple: float = MULTIPLE
    needed: bool = True

    @property
    def missed(self) -> str:
        """A description of the kind of event and of its power, for the case that the power is too small."""
        if self.seen is None:
            return f"{self.name} (power {WANTED:g} is reached at {self.multiple:.3g} times the claim)"
        return f"{self.name} ({self.seen} of {self.runs} seen)"

    def as_json(self) -> dict[str, Any]:
        """Return the measured numbers, and how they were measured, as JSON data."""
        return {
            "enough": self.enough,
            "seen": self.seen,
            "runs": self.runs,
            "mass_floor": FLOOR,
            "law": self.law,
            "multiple": finite(self.multiple),
            "outputs": self.outputs,
            "uses_of_an_output": 1,
        }


@dataclass(frozen=True)
class Power:
    """The power of an audit: how well the audit detects violations in each kind of event.

    Attributes:
        classes: the measured power for each kind of event.
        not_covered: descriptions of what was not measured.
        why: the reason why no power was measured, or an empty text.
        larger: if the power is not enough, a larger multiple of the claim for which it is; infinity if none is known.
    """

    classes: tuple[ClassPower, ...]
    not_covered: tuple[str, ...]
    why: str = ""
    larger: float = math.inf

    @property
    def enough(self) -> bool:
        """Whether some power was measured, and power 90 % is stated for every needed kind of event."""
        return not self.why and bool(self.classes) and all(one.enough for one in self.classes if one.needed)

    def seen(self, claimed: float) -> float:
        """Return an epsilon that the audit detects with power 90 %; infinity if none is known.

        The result is a multiple of the claimed epsilon.
        """
        if not self.enough:
            simulated_ones = [one.multiple for one in self.classes if one.seen is None]
            most = max(simulated_ones, default=self.larger)
            return claimed * most if most < math.inf else math.inf
        return claimed * max(one.multiple for one in self.classes if one.enough)

    def as_evidence(self) -> dict[str, Any]:
        """Return the power as keyword arguments for `dpproof.audits.recording.evidence.Evidence`."""
        return {
            "power": {one.name: one.as_json() for one in self.classes if one.enough or one.needed},
            "not_covered": (
                *(one.missed for one in self.classes if not one.enough and not one.needed),
                *self.not_covered,
            ),
            "weakness": self._weakness(),
        }

    def _weakness(self) -> str:
        """Return the reason why the power is not enough, and what to do about it; an empty text if it is enough."""
        missed = [one.missed for one in self.classes if one.needed and not one.enough]
        if self.why:
            return f"power was not measured: {self.why}"
        if missed:
            all_seen = f"; violations of {self.larger:g} times the claim are seen with this power in all needed classes"
            larger = all_seen if self.larger < math.inf else ""
            return (
                f"violations of twice the claim are not seen with power {WANTED:g} in these classes of"
                f" events: {', '.join(missed)}{larger}; raise the budget, or give scores that see them"
            )
        return ""


def measured(
    draw: Callable[[], tuple[Outputs, Planting]],
    curve: PrivacyCurve,
    points: tuple[CurvePoint, ...],
    seed: int,
    *,
    further: bool = True,
) -> Power:
    """Return the power of an audit against violations of at most twice the claim, for each kind of event.

    The measurement ends at the first needed kind of event with too little power. Then it is repeated with larger
    violations, to find one of `LARGER` for which the power is enough.

    Args:
        draw: a function that returns the outputs from which events are chosen, and the object that runs planted
            audits.
        curve: the claimed guarantee.
        points: the points (epsilon, delta) of the claim that the audit tests.
        seed: the audit's seed.
        further: whether the power is also measured for kinds of events that *consistent* does not need.
    """
    if points[-1].epsilon == 0:
        return unmeasured("twice an epsilon of 0 is 0, so that there is no violation to plant")
    try:
        sketch, planting = draw()
        found = Measurement(sketch, planting, scaled(curve, points), seed)
        found.add(NEEDED.items())
    except OutOfTimeError:
        return unmeasured("the time budget was spent before the power was measured")
    power = found.power
    if not further or power.why:
        return power
    with optional():
        if power.enough:
            found.add_further()
            return found.power
        steps = (Measurement(sketch, planting, scaled(curve, points, step), seed, FEW) for step in LARGER)
        return replace(power, larger=_first_enough(steps, found.missed))


def _first_enough(measurements: Iterable[Measurement], missed: int) -> float:
    """Return the first of `LARGER` whose measurement finds enough power; infinity if there is none or no time.

    The kind of events with the number ``missed`` is measured first, because it is likely to be missed again.
    """
    try:
        for multiple, found in zip(LARGER, measurements, strict=True):
            found.add(sorted(NEEDED.items(), key=lambda one: one[0] != missed))
            if found.power.enough:
                return multiple
    except OutOfTimeError:
        pass
    return math.inf


class Measurement:
    """A measurement of the power for one kind of events after the other.

    Attributes:
        missed: the number of the needed kind of events in which the power is too small; 0 if there is none.
    """

    def __init__(
        self, sketch: Outputs, planting: Planting, twice: Scaled, seed: int, misses: int = RUNS
    ) -> None:
        self._sketch, self._planting, self._twice, self._seed = sketch, planting, twice, seed
        self._misses, self.missed = misses, 0
        self._classes: list[ClassPower] = []
        many = len(sketch.layout.units) == LIMIT
        self._others = [*OTHERS, *([CUT] if sketch.cut else []), *([AFTER_LIMIT] if many else [])]

    @property
    def power(self) -> Power:
        """The power that was measured so far."""
        why = "" if self._classes else "the outputs have no event that a violation could be planted in"
        return Power(tuple(self._classes), tuple(self._others), why)

    def add(self, kinds: Iterable[tuple[int, EventClass]]) -> None:
        """Measure the power for needed kinds of events, each with its number, until one of them is missed."""
        for place, kind in kinds:
            if not kind.applies(self._sketch):
                continue
            if self.missed:
                self._others.append(f"{kind.name}: not measured, since a class before it was missed")
            else:
                self.measure(kind, place, needed=True)

    def add_further(self) -> None:
        """Measure the power for the further kinds of events, until the time is spent."""
        for done, kind in enumerate(FURTHER):
            try:
                check_time()
                if kind.applies(self._sketch):
                    self.measure(kind, AFTER + done, needed=False)
            except OutOfTimeError:
                names = ", ".join(kind.name for kind in FURTHER[done:])
                self._others.append(f"not measured, since the time budget was spent: {names}")
                return

    def measure(self, kind: EventClass, place: int, *, needed: bool) -> None:
        """Measure the power for one kind of events."""
        self._planting.begin()

        def sees(run: int) -> bool | None:
            rng = generator(self._seed, POWER, place, run)
            planted = planted_in(kind, self._sketch, self._twice, rng)
            return None if planted is None else self._planting.sees(planted, rng)

        counted = enough_seen(sees, self._misses)
        if counted is None:
            self._others.append(
                f"{kind.name}: no event of a mass that twice the claim could show in was found"
            )
        else:
            found = ClassPower(kind.name, kind.law, *counted, self._planting.used, needed=needed)
            self._classes.append(found)
            if needed and not found.enough:
                self.missed = place


def simulated(seen: float, claimed: float, name: str = KNOWN) -> Power:
    """Return the simulated power of an audit whose outputs are single numbers with a known likelihood ratio.

    Args:
        seen: the smallest epsilon that the simulated audits detect, from `engine.power.simulated`.
        claimed: the claimed epsilon.
        name: the name of the kind of simulated violations.

    >>> simulated(1.9, 1.0).enough, simulated(2.1, 1.0).enough
    (True, False)
    """
    enough = seen <= MULTIPLE * claimed < math.inf
    multiple = seen / claimed if claimed > 0 else math.inf
    found = ClassPower(name, "the reference pair, simulated", None, power.RUNS, enough, 0, multiple)
    return Power((found,), ("everything else that outputs may show", *OTHERS))


def unmeasured(why: str) -> Power:
    """Return the power of an audit whose power was not measured, with the reason ``why``."""
    return Power((), OTHERS, why)


def enough_seen(sees: Callable[[int], bool | None], misses: int = RUNS) -> tuple[int, int, bool] | None:
    """Return how many audits, of at most `RUNS`, detect a planted violation, and whether that is enough.

    Args:
        sees: a function that takes the number of an audit and returns whether this audit detects its violation. It
            returns None if no event was found for the violation.
        misses: the count also ends, without enough power, at more misses than this.

    Returns:
        The number of detections, the number of audits, and the decision; None if no event was found.

    >>> enough_seen(lambda run: True)
    (55, 55, True)
    >>> enough_seen(lambda run: False)
    (0, 2, False)
    """
    seen, needed = 0, -math.log(LEVEL)
    for runs in range(1, RUNS + 1):
        outcome = sees(runs - 1)
        if outcome is None:
            return None
        seen += outcome
        missed = runs - seen
        stake = seen * GAIN + missed * LOSS
        if stake >= needed:
            return seen, runs, True
        late = stake + (RUNS - runs) * GAIN < needed
        if late or missed > misses or seen * SEEN + missed * MISSED >= math.log(DOUBT):
            return seen, runs, False
    return seen, RUNS, False
