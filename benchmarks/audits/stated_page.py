"""The first section of docs/power.md: the stated power beside the real one, and the faults outside of all classes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.audits.rows import Row
from benchmarks.audits.stated import (
    ALPHA,
    CASES,
    EVENTS,
    FIRST,
    KINDS,
    NEAREST,
    OUTPUTS,
    chosen,
    covered,
    runs_of,
    wanted,
)
from benchmarks.audits.stated_faults import EPSILON, FAULTS, OUTSIDE
from dpproof.audits.engine.power.measured import WANTED

PAGE = Path("docs/power.md")
TITLE, AFTER = "## Real violations of twice the claim", "## The cost of measuring"
LIMIT = 5
"""The largest difference in points, stated minus real, that is allowed."""


@dataclass(frozen=True)
class Compared:
    """The stated and the real power for one fault, as counts.

    Attributes:
        name: the name of the fault.
        settled: the row of the audit that states the power.
        runs, found: the number of audits of the fault, and how many of them found it.
    """

    name: str
    settled: Row
    runs: int
    found: int

    @property
    def covered(self) -> bool:
        """Whether the audit called the class covered."""
        return covered(self.name, self.settled)

    @property
    def stated(self) -> tuple[int, int] | None:
        """How many planted audits saw their violation, and their number; None if the class was not measured."""
        power = self.settled["power"].get(CASES[self.name].kind)
        return None if power is None else (power["seen"], power["runs"])

    @property
    def difference(self) -> tuple[float, float] | None:
        """The stated share minus the real one, in points, and its standard error.

        The error is that of Agresti and Caffo, with one detection and one miss more on each side.
        """
        if self.stated is None:
            return None
        pairs = self.stated, (self.found, self.runs)
        shares = [(seen + 1) / (runs + 2) for seen, runs in pairs]
        variance = sum(
            share * (1 - share) / (runs + 2) for share, (_, runs) in zip(shares, pairs, strict=True)
        )
        (seen, planted), (found, runs) = pairs
        return 100 * (seen / planted - found / runs), 100 * math.sqrt(variance)


def compared(rows: Sequence[Row], names: Sequence[str]) -> list[Compared]:
    """Return the faults with some runs at their settled budget."""
    found = []
    for name in names:
        own = [row for row in rows if row["case"] == name]
        settled = chosen(name, own)
        if settled is not None and (done := runs_of(own, settled)):
            counts = (sum(row[key] for row in done) for key in ("runs", "found"))
            found.append(Compared(name, settled, *counts))
    return found


def latest(rows: Sequence[Row]) -> list[Row]:
    """Return for each fault the rows of the engine that measured it last."""
    engines = {row["case"]: row["engine"] for row in rows}
    return [row for row in rows if row["engine"] == engines[row["case"]]]


def rewrite(page: Path, rows: Sequence[Row]) -> None:
    """Write the section, and leave the rest of the page as it is."""
    rows = latest(rows)
    version = ", ".join(dict.fromkeys(row["engine"] for row in rows))
    old = page.read_text(encoding="utf-8")
    start, end = old.index(f"{TITLE}\n"), old.index(f"{AFTER}\n")
    text = "\n".join(map(_wrapped, section(rows, version)))
    page.write_text(f"{old[:start]}{text}\n{old[end:]}", encoding="utf-8")


def _wrapped(text: str) -> str:
    return text if text[:1] in ("|", "#", "") else textwrap.fill(" ".join(text.split()), 115)


def section(rows: Sequence[Row], version: str) -> list[str]:
    """Return the lines of the section."""
    inside, outside = compared(rows, list(FAULTS)), compared(rows, list(OUTSIDE))
    return [
        TITLE,
        "",
        f"""A fault is hidden in one event. The event is drawn for every run from a class. Given the event, and given
        its complement, the outputs have the same distribution on both inputs. The event has probability a on one input
        and exp(2) a on the other. The claim is epsilon = {EPSILON:g}, alpha = {ALPHA:g}. The program that draws the
        outputs and the events does not use the engine's events.""",
        "",
        f"""*Stated* is the power that an audit of the mechanism without the fault measures: the number of planted
        violations that it detects. The budget is the smallest of {FIRST:,}, {2 * FIRST:,}, {4 * FIRST:,}, ... samples
        at which the audit calls the class covered. *Real* is the number of audits of the mechanism with the fault that
        find a violation at this budget, each with a new event. The difference is the stated share minus the real share,
        in points, with its standard error. The limit is {LIMIT} points. A covered class states a power of at least
        {100 * WANTED:g} %, so a real power below {100 * WANTED - LIMIT:g} % would also break the limit.
        `python -m benchmarks.audits stated` measured these tables in
        {sum(row["seconds"] for row in rows) / 60:,.0f} processor minutes, with engine {version}.
        The engine changed in between, and each row is of the newest engine that measured its fault.""",
        "",
        *_inside_table(inside),
        "",
        _summary(inside),
        "",
        _open_classes(inside),
        "",
        """`tests/audits/test_missed_violations.py` (slow) requires that at most 2 violations of 30 in a class are
        called *consistent*, which rejects a share of 20 % at level 0.05.""",
        "",
        "### Faults outside of the classes",
        "",
        f"""These faults have the same strength, but their events are in none of the classes. They are only counted.
        The budget is the smallest at which the audit of the mechanism without the fault covers all classes that
        *consistent* needs, or the largest budget. *Answer* is that of one whole audit of the mechanism with the fault
        at this budget. *Nearest* is the largest ratio of the two probabilities of an event of a class: of {EVENTS}
        events of each class of the engine, estimated from {OUTPUTS:,} outputs on each input. The claim allows a ratio
        of {math.exp(EPSILON):.2f}, and the fault has {math.exp(2 * EPSILON):.2f}. So a fault whose nearest ratio is
        below {math.exp(EPSILON):.2f} breaks the claim in no event of a class that was tried.""",
        "",
        *_outside_table(outside, rows),
        "",
        _outside_summary(outside),
        "",
    ]


def _inside_table(found: Sequence[Compared]) -> list[str]:
    """Return the table of faults in classes that were covered or measured, and the row of the worst difference."""
    lines = [
        "| class | outputs | dimension | budget | stated | real | difference |",
        "|---|---|---|---|---|---|---|",
        *map(_inside_row, sorted(found, key=lambda one: not one.covered)),
    ]
    worst = _worst([one for one in found if one.covered])
    if worst is not None:
        _, shape, *_rest = _cells(worst)
        lines.append(
            f"| **worst difference** | {worst.name.partition(':')[0]}: {shape} | | | | | {_points(worst)} |"
        )
    return lines


def _inside_row(one: Compared) -> str:
    return f"| {' | '.join(_cells(one))} |"


def _cells(one: Compared) -> list[str]:
    fault = CASES[one.name]
    stated = "not measured" if one.stated is None else f"{one.stated[0]} of {one.stated[1]}"
    note = "" if one.covered else "not covered: "
    real = f"{one.found} of {one.runs} ({one.found / one.runs:.1%})"
    return [
        fault.kind,
        fault.shape,
        f"{fault.width:,}",
        f"{one.settled['budget']:,}",
        note + stated,
        real,
        _points(one),
    ]


def _points(one: Compared) -> str:
    if one.difference is None:
        return ""
    return f"{one.difference[0]:+.1f} ± {one.difference[1]:.1f}"


def _worst(found: Sequence[Compared]) -> Compared | None:
    return max(
        (one for one in found if one.difference), key=lambda one: one.difference or (0, 0), default=None
    )


def _summary(found: Sequence[Compared]) -> str:
    """Return how many faults were compared, and how many differ by more than is allowed."""
    known = [one for one in found if one.covered]
    differences = [one.difference for one in known if one.difference is not None]
    above = sum(points > LIMIT for points, _ in differences)
    beyond = sum(points > LIMIT + 2 * error for points, error in differences)
    low = sum(one.found / one.runs < WANTED - LIMIT / 100 for one in known)
    whole = sum(one.runs >= wanted(one.name, one.settled) for one in known)
    return f"""The class of {len(known)} of {len(FAULTS)} faults is covered, and {whole} of them have all of their
    runs. The stated power is more than {LIMIT} points above the real one for {above} of them. It is by more than two
    standard errors above this limit for {beyond} of them. The real power is below {100 * WANTED - LIMIT:g} % for {low}
    of them. The number of planted audits is not fixed, because the count ends when the result is known. So a stated
    share is somewhat too high where the count ended early, such as 55 of 55. The standard errors do not include
    this."""


def _open_classes(found: Sequence[Compared]) -> str:
    """Return the sentences on classes that were not covered, and on faults that were not measured."""
    own = {one.name for one in KINDS}
    parts = [
        f"""{sum(not one.covered for one in found)} faults are in a class that is not called covered at the largest
        budget, and have fewer runs. An audit measures the classes that *consistent* needs in a fixed order, and
        then the others. It stops at the first needed class with too little power. Later classes are then *not
        measured*."""
    ]
    if absent := sorted({CASES[name].kind for name in FAULTS} - own):
        parts.append(f"This engine does not have these classes yet: {', '.join(absent)}.")
    if left := sorted(set(FAULTS) - {one.name for one in found}):
        parts.append(f"{len(left)} faults have no runs yet: {'; '.join(left)}.")
    return " ".join(parts)


def _outside_table(found: Sequence[Compared], rows: Sequence[Row]) -> list[str]:
    odds = {row["case"]: row["odds"] for row in rows if row["trial"] == NEAREST}
    answers = {row["case"]: row["answer"] for row in rows if row["trial"] == NEAREST}
    lines = [
        "| event | outputs | budget | answer | classes called covered | nearest | found | missed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        classes = [name for name, power in one.settled["power"].items() if power["enough"]]
        near = max(odds.get(one.name, {}).items(), key=lambda pair: pair[1], default=("", math.nan))
        cells = [
            CASES[one.name].kind,
            CASES[one.name].shape,
            f"{one.settled['budget']:,}",
            answers.get(one.name, ""),
            ", ".join(classes) or "none",
            f"{near[1]:.2f} ({near[0]})",
            f"{one.found}",
            f"{one.runs - one.found}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _outside_summary(found: Sequence[Compared]) -> str:
    consistent = [one for one in found if one.covered]
    missed = sum(one.runs - one.found for one in consistent)
    return f"""For {len(consistent)} of these {len(found)} mechanisms all needed classes are covered. The fault was
    missed in {missed} of {sum(one.runs for one in consistent)} runs of these. An answer names the classes that it
    covers, and lists other events as not covered."""
