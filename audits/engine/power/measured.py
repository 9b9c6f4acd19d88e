"""Measured power: how many planted audits, with violations in each class of events, refute the claim.

The count stops as soon as it is decided. Power 90 % is stated for a class once a bet against "the power is at
most 90 %" has multiplied its stake by a hundred (docs/notes/audit_power.md, Lemma 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpproof.accountant.numbers.written import finite
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve
from dpproof.audits.engine.power import simulated as power
from dpproof.audits.engine.power.event_classes import CLASSES, FLOOR, EventClass, planted_in
from dpproof.audits.engine.power.fresh_outputs import FARTHEST, Outputs
from dpproof.audits.engine.power.planting import MULTIPLE, Doubled, Planting, doubled
from dpproof.audits.engine.sampling.callables import POWER, generator
from dpproof.audits.time_budget import OutOfTimeError

RUNS = 200
"""At most so many planted audits for a class of events."""
WANTED, HOPED, LEVEL = 0.9, 0.98, 0.01
"""The power that is stated, the one that the bet against less is made for, and its chance of error."""
GAIN, LOSS = math.log(HOPED / WANTED), math.log((1 - HOPED) / (1 - WANTED))
"""What an audit that sees the violation adds to the log of the stake, and what one that misses it takes."""
GOOD, POOR, DOUBT = 0.95, 0.7, 20
"""A bet against "the power is at least 95 %" ends the count when it has multiplied its stake by the last."""
SEEN, MISSED = math.log(POOR / GOOD), math.log((1 - POOR) / (1 - GOOD))
"""What an audit that sees the violation takes from the log of that stake, and one that misses it adds."""
KNOWN = "tails of a known likelihood ratio"
OTHERS = (
    f"events of mass below {FLOOR:g}",
    "parities of three or more bits, and other events of several coordinates at once",
    "low bits of floating-point numbers",
)
"""What is planted nowhere."""
CUT = f"what follows the first {FARTHEST} numbers and words of an output"
"""Nor is anything planted there."""


@dataclass(frozen=True)
class ClassPower:
    """The measured power against violations in one class of events.

    Attributes:
        name: of the class.
        law: how events were drawn from it, in words.
        seen, runs: of so many planted audits, so many refuted the claim; ``None`` where it was simulated.
        enough: whether power 90 % is stated.
        outputs: how many fresh outputs the planted audits were made of; each is used once at most.
        multiple: of the claimed epsilon, which the violations have at most.
    """

    name: str
    law: str
    seen: int | None
    runs: int
    enough: bool
    outputs: int
    multiple: float = MULTIPLE

    @property
    def missed(self) -> str:
        """Where power is too little, in words."""
        if self.seen is None:
            return f"{self.name} (power {WANTED:g} is reached at {self.multiple:.3g} times the claim)"
        return f"{self.name} ({self.seen} of {self.runs} seen)"

    def as_json(self) -> dict[str, Any]:
        """The measured numbers and the method."""
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
    """The detection power of an audit.

    Attributes:
        classes: the required classes that were measured.
        not_covered: what was not, in words.
        why: what kept it from being measured, or an empty text.
    """

    classes: tuple[ClassPower, ...]
    not_covered: tuple[str, ...]
    why: str = ""

    @property
    def enough(self) -> bool:
        """Whether all required classes were seen, one at least."""
        return not self.why and bool(self.classes) and all(one.enough for one in self.classes)

    def seen(self, claimed: float) -> float:
        """An epsilon that is detected with power 90 %, given the claimed one; infinity if none is known."""
        if not self.enough:
            simulated_ones = [one.multiple for one in self.classes if one.seen is None]
            most = max(simulated_ones, default=math.inf)
            return claimed * most if most < math.inf else math.inf
        return claimed * max(one.multiple for one in self.classes)

    def as_evidence(self) -> dict[str, Any]:
        """The power in the form that `dpproof.audits.recording.evidence.Evidence` holds."""
        return {
            "power": {one.name: one.as_json() for one in self.classes},
            "not_covered": self.not_covered,
            "weakness": self._weakness(),
        }

    def _weakness(self) -> str:
        """The reason why the power is not enough, and what to do."""
        missed = [one.missed for one in self.classes if not one.enough]
        if self.why:
            return f"power was not measured: {self.why}"
        if missed:
            return (
                f"violations of twice the claim are not seen with power {WANTED:g} in these classes of"
                f" events: {', '.join(missed)}; raise the budget, or give scores that see them"
            )
        return ""


def measured(
    draw: Callable[[], tuple[Outputs, Planting]],
    curve: PrivacyCurve,
    points: tuple[CurvePoint, ...],
    seed: int,
) -> Power:
    """The power of an audit against at most twice its claim, class by class, until a class is missed.

    Args:
        draw: draws the outputs that events are chosen by, and says how planted audits are run.
        curve: the claim.
        points: of it, those that the audit bets against.
        seed: the audit's.
    """
    if points[-1].epsilon == 0:
        return unmeasured("twice an epsilon of 0 is 0, so that there is no violation to plant")
    try:
        sketch, planting = draw()
        return _by_class(sketch, planting, doubled(curve, points), seed)
    except OutOfTimeError:
        return unmeasured("the time budget was spent before the power was measured")


def _by_class(sketch: Outputs, planting: Planting, twice: Doubled, seed: int) -> Power:
    classes: list[ClassPower] = []
    others = [*OTHERS, *([CUT] if sketch.cut else [])]
    for place, chosen in enumerate(CLASSES, 1):
        if not chosen.applies(sketch):
            continue
        if classes and not classes[-1].enough:
            others.append(f"{chosen.name}: not measured, since a class before it was missed")
            continue
        found = _of_class(chosen, place, sketch, planting, twice, seed)
        if found is None:
            others.append(f"{chosen.name}: no event of a mass that twice the claim could show in was found")
        else:
            classes.append(found)
    why = "" if classes else "the outputs have no event that a violation could be planted in"
    return Power(tuple(classes), tuple(others), why)


def _of_class(
    chosen: EventClass, place: int, sketch: Outputs, planting: Planting, twice: Doubled, seed: int
) -> ClassPower | None:
    """The count for one class; None if it has no event to plant."""
    planting.begin()

    def sees(run: int) -> bool | None:
        rng = generator(seed, POWER, place, run)
        planted = planted_in(chosen, sketch, twice, rng)
        return None if planted is None else planting.sees(planted, rng)

    counted = enough_seen(sees)
    return counted and ClassPower(chosen.name, chosen.law, *counted, planting.used)


def simulated(seen: float, claimed: float, name: str = KNOWN) -> Power:
    """The power that `engine.power.simulated` simulated, where outputs are one number with a known likelihood ratio.

    Args:
        seen: the smallest epsilon that is seen.
        claimed: the claimed one.
        name: of what the violations were simulated in.

    >>> simulated(1.9, 1.0).enough, simulated(2.1, 1.0).enough
    (True, False)
    """
    enough = seen <= MULTIPLE * claimed < math.inf
    multiple = seen / claimed if claimed > 0 else math.inf
    found = ClassPower(name, "the reference pair, simulated", None, power.RUNS, enough, 0, multiple)
    return Power((found,), ("everything else that outputs may show", *OTHERS))


def unmeasured(why: str) -> Power:
    """The power where it was not measured, and why."""
    return Power((), OTHERS, why)


def enough_seen(sees: Callable[[int], bool | None]) -> tuple[int, int, bool] | None:
    """How many audits, of at most `RUNS`, detect a violation, and whether power 90 % is stated.

    Args:
        sees: whether the audit of this number does; None if there was no event to plant.

    Returns:
        The two numbers and the answer; None where there was no event to plant.

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
        if late or seen * SEEN + missed * MISSED >= math.log(DOUBT):
            return seen, runs, False
    return seen, RUNS, False
