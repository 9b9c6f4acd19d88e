"""The comparison of a published number with the certified one, and the fair words that go with it.

The published number is compared like with like first: a reading that gives it, to the digits that were printed,
decides the word. Readings that assume something beyond the source come last, and make the word *conditional*.
The distance to the tightest certified bound is reported beside it. No word says that a number is wrong.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.enclosures import exact
from dpproof.deployments.carried import carried
from dpproof.deployments.methods import Ends, Reading, Recomputed, close, digit, recompute
from dpproof.deployments.records import Deployment


class Word(enum.Enum):
    """The outcome of a comparison."""

    REPRODUCED = "reproduced"
    """A reading of the source gives the published number, rounded to its digits or up."""
    ROUNDED_DOWN = "rounded down"
    """A reading gives a slightly larger number, which was rounded down to the published one."""
    LOOSE = "loose"
    """The published number is an upper bound, and no reading gives it."""
    CONDITIONAL = "conditional"
    """The number is reproduced only under an assumption that the source does not state."""
    INCONSISTENT = "inconsistent"
    """The published number is below every bound that follows from the other published numbers."""
    UNDERSPECIFIED = "underspecified"
    """The source states too little, or the certified bounds are too wide. What is missing is listed."""


KINDS = {
    "mechanism": "from the mechanism's parameters",
    "budget": "from the stated rho",
    "sum": "from the stated parts",
    "none": "not recomputed",
}
_DIGITS = 6


@dataclass(frozen=True)
class Comparison:
    """One row of the comparison.

    ``reading`` is the most charitable reading that gives the published number. ``by`` follows the word: a
    distance, a condition, or what is missing.
    """

    row: Deployment
    word: Word
    found: Recomputed
    reading: Reading | None = None
    by: str = ""

    @property
    def published(self) -> str:
        """The published number with its name and its delta, as text."""
        values, name = self.row.published, self.row.quantity
        if not name:
            return "no number"
        at = f" at delta {values['delta']}" if "delta" in values and name == "epsilon" else ""
        return f"{name} {values[name]}{at}"

    @property
    def certified(self) -> str:
        """The tightest certified bounds, as text, or a dash."""
        return "-" if self.found.best is None else _range(self.found.best)

    @property
    def slack(self) -> Fraction | None:
        """How far the published number is above the tightest certified upper bound. Negative if it is below."""
        return (
            None
            if self.found.best is None
            else exact(self.row.published[self.row.quantity]) - self.found.best[1]
        )

    @property
    def verdict(self) -> str:
        """The word with what follows it."""
        return f"{self.word.value}{self.by}"


def compare(row: Deployment) -> Comparison:
    """Return the comparison of one row."""
    found = recompute(row)
    if found.best is None or not row.quantity:
        return Comparison(
            row,
            Word.UNDERSPECIFIED,
            found,
            by=f" ({', '.join(row.missing or found.notes) or 'its parameters'})",
        )
    printed, target = exact(row.published[row.quantity]), bool(row.recompute.get("target"))
    reading = _closest(row, found.plain, target)
    if reading is not None:
        return _reproduced(row, found, reading)
    reading = _closest(row, found.further(), target)
    if reading is not None and reading.theorem:
        return Comparison(row, Word.CONDITIONAL, found, reading, f" (on {reading.assumes})")
    if printed >= found.best[1]:
        return Comparison(row, Word.LOOSE, found, reading, f" by {_short(printed - found.best[1])}")
    if printed >= found.best[0]:
        told = (
            f" (whether it is at most {row.published[row.quantity]}: the certified bounds do not decide it)"
        )
        return Comparison(row, Word.UNDERSPECIFIED, found, reading, told)
    below = f" ({_short(found.best[0] - printed)} below what the stated parameters give)"
    return Comparison(row, Word.INCONSISTENT, found, reading, below)


def compare_all(rows: Iterable[Deployment]) -> list[Comparison]:
    """Return the comparisons of all rows, in order."""
    return [compare(row) for row in rows]


def _reproduced(row: Deployment, found: Recomputed, reading: Reading) -> Comparison:
    """Return the comparison of a row with a plain reading that gives its number."""
    guessed = "delta being 1e-5" if found.notes and "delta" in row.missing else ""
    if row.condition or guessed:
        return Comparison(row, Word.CONDITIONAL, found, reading, f" (on {row.condition or guessed})")
    gap = reading.ends[0] - exact(row.published[row.quantity])
    if gap > 0:  # bounds that enclose the printed number do not show that it was rounded
        return Comparison(row, Word.ROUNDED_DOWN, found, reading, f" by {_short(gap)}")
    return Comparison(row, Word.REPRODUCED, found, reading)


def _closest(row: Deployment, readings: Iterable[Reading], target: bool) -> Reading | None:
    """Return the reading that gives the printed number: rounded to the nearest digit first, then up, then down.

    A number that was a target, and not a result, is not compared with what lies above it.
    """
    value, step, given = (
        exact(row.published[row.quantity]),
        digit(row.published[row.quantity]),
        list(readings),
    )
    nothing, almost = Fraction(0), step * Fraction(999_999, 10**6)
    windows = [(step / 2, step / 2), (almost, nothing), (nothing, almost)]
    for below, above in [(almost, nothing)] if target else windows:
        inside = [one for one in given if one.ends[0] <= value + above and one.ends[1] >= value - below]
        if inside:
            return min(inside, key=lambda one: abs(one.ends[1] - value))
    return None


def fairness(one: Comparison) -> str:
    """Return the paragraph on a row: what was assumed, the most charitable reading, and what to ask."""
    row, said = one.row, [f"Published: {one.published}."]
    if one.found.best is not None:
        said.append(f"Certified {KINDS[one.found.kind]}: {row.quantity} {one.certified}.")
    said += [f"Used: {note}." for note in one.found.notes]
    if row.given:
        said.append(f"Given: {'; '.join(row.given)}.")
    if row.condition:
        said.append(f"Assumed: {row.condition}.")
    if one.reading is not None:
        assumes = f", with {one.reading.assumes}" if one.reading.assumes else ""
        told = f"{one.reading.name} gives {_range(one.reading.ends)}{assumes}"
        said.append(f"The most charitable reading that gives the number: {told}.")
        if one.word is Word.ROUNDED_DOWN and one.slack is not None and one.slack >= 0:
            said.append(
                "The published number is a bound all the same, because the certified one is not larger."
            )
    elif one.found.best is not None:
        tried = ", ".join(f"{reading.name} ({_range(reading.ends)})" for reading in one.found.plain)
        said.append(f"No reading gives the number to its digits. Tried, besides roundings: {tried}.")
    if files := carried(row):
        told = ", ".join(f"{name} (epsilon {_decimal(epsilon, up=True)})" for name, epsilon in files.items())
        said.append(f"Certificates, which `dpproof verify NAME` checks again: {told}.")
    if row.missing:
        said.append(f"Missing: {', '.join(row.missing)}.")
    return " ".join([*said, *([f"To ask: {row.ask}"] if row.ask else [])])


def _range(ends: Ends) -> str:
    """Return bounds as text: the lower one rounded down, the upper one up, one number if they are close.

    >>> _range((Fraction("2.64"), Fraction("2.64"))), _range((Fraction(1, 3), Fraction(2, 3)))
    ('2.64', '0.33333 to 0.66667')
    """
    low, high = _decimal(ends[0], up=False), _decimal(ends[1], up=True)
    return high if close(ends) else f"{low} to {high}"


def _decimal(value: Fraction, up: bool) -> str:
    """Return a number that is at least 0 with six digits, rounded in that direction, without idle zeros."""
    places = max(_DIGITS - len(str(int(value))), 1)
    scaled = value * 10**places
    whole = math.ceil(scaled) if up else math.floor(scaled)
    digits = f"{whole:0{places + 1}d}"
    return f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def _short(value: Fraction) -> str:
    return f"{float(value):.3g}"
