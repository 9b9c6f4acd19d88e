"""The shapes of empirical claims, from which the judges of a paper are made.

A claim covers settings, for example all problems and epsilons. A shape yields what each setting shows: the claim, its
opposite, or neither. A rule, `always` or `somewhere`, turns shapes into a judge. The rules are the same for all papers:

- Two means differ if they are `SURE` standard errors of their difference apart, and more if there are few runs. If a
  claim covers several settings, they must be so far apart that the chance of a wrong difference in any setting is not
  larger than in a single one.
- Two arms that both do not learn decide no ordering. An arm does not learn if its regret is above `LEARNT` of the
  regret without learning.
- A mean over fewer than `LEAST` runs decides nothing, as if it was not run.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from scipy import stats

from dpproof.reproduction.claims import Evidence, Judge, Judgement, Outcome
from dpproof.reproduction.suite.summary import SURE, Score, errors_apart

LEARNT: Final = 0.9
"""An arm whose regret is above this share of the regret without learning does not learn."""
LEAST: Final = 10
"""The least number of runs of a mean that decides something."""
_ROUNDED: Final = 1e-5
"""Means that differ by less than this share are equal: the tables are rounded."""


@dataclass(frozen=True)
class Mean:
    """A mean over runs, and its standard error.

    Attributes:
        value: the mean.
        error: its standard error; 0 for a number that is computed without runs.
        learns: whether the arm learns.
        runs: the number of runs.
    """

    value: float
    error: float = 0.0
    learns: bool = True
    runs: float = math.inf

    @classmethod
    def of(cls, score: Score) -> Mean:
        """Return the mean regret of a score, relative to the regret without learning."""
        return cls(score.mean, score.error, score.mean <= LEARNT, score.runs)

    def __str__(self) -> str:
        if not _ROUNDED * abs(self.value) < self.error < math.inf:
            return f"{self.value:.4g}"
        digits = max(0, 1 - math.floor(math.log10(self.error)))
        return f"{self.value:.{digits}f} ± {self.error:.{digits}f}"

    def times(self, factor: float) -> Mean:
        """Return the mean times a known positive factor."""
        return replace(self, value=self.value * factor, error=self.error * factor)

    def apart(self, other: Mean) -> float:
        """Return how many standard errors of their difference two means are apart, less for few runs."""
        error, runs = math.hypot(self.error, other.error), min(self.runs, other.runs)
        return errors_apart(other.value - self.value, error, runs)

    def clearly_below(self, other: Mean) -> bool:
        """Return whether this mean is below another one by `SURE` standard errors, and by more than rounding."""
        rounding = _ROUNDED * max(abs(self.value), abs(other.value))
        return other.value - self.value > rounding and self.apart(other) >= SURE


def extra(one: Mean, other: Mean) -> Mean:
    """Return the difference of two independent means."""
    error = math.hypot(one.error, other.error)
    return Mean(one.value - other.value, error, one.learns and other.learns, min(one.runs, other.runs))


def ratio(one: Mean, other: Mean) -> Mean:
    """Return the quotient of two independent positive means. Its error is of first order.

    >>> str(ratio(Mean(4.0, 0.3), Mean(2.0, 0.2)))
    '2.00 ± 0.25'
    """
    value = one.value / other.value
    error = value * math.hypot(one.error / one.value, other.error / other.value)
    return Mean(value, error, one.learns and other.learns, min(one.runs, other.runs))


class Shows(enum.Enum):
    """What a setting shows of a claim."""

    CLAIM = "the claim holds"
    OPPOSITE = "the opposite holds"
    ALLOWED = "the opposite holds, which the sentence does not exclude"
    NEITHER = "neither is clear"
    IDLE = "nothing learns"
    MISSING = "not run yet"
    TRIED = "the opposite was looked for, and is not clear"


@dataclass(frozen=True)
class Setting:
    """A setting that a claim covers, what it shows, and the figures that show it.

    Attributes:
        shows: what it shows.
        figures: the figures that show it.
        apart: how many standard errors of their difference two means are apart; infinite if nothing is random.
        tried: the number of comparisons out of which this one was selected.
    """

    shows: Shows
    figures: str
    apart: float = math.inf
    tried: int = 1


Shape = Callable[[Evidence], Iterable[Setting]]
"""A function that yields what each setting of a claim shows."""


def always(*shapes: Shape) -> Judge:
    """Return a judge of a claim on all settings of these shapes.

    The claim is refuted if a setting shows the opposite. It is confirmed if nothing is missing, a setting shows the
    claim, and so does every other one in which something learns.
    """

    def judge(evidence: Evidence) -> Judgement:
        found = _clear(_settings(shapes, evidence))
        if _shows(found, Shows.OPPOSITE):
            return Judgement(Outcome.REFUTED, _told(found))
        unclear = _shows(found, Shows.NEITHER, Shows.ALLOWED, Shows.MISSING)
        clear = _shows(found, Shows.CLAIM) and not unclear
        return Judgement(Outcome.CONFIRMED if clear else Outcome.UNDECIDED, _told(found))

    return judge


def mostly(*shapes: Shape) -> Judge:
    """Return a judge of a claim on most settings of these shapes, such as a sentence with "often".

    The claim is confirmed if nothing is missing, and more than half of the settings in which something learns show it.
    It is refuted if more than half of them show the opposite.
    """

    def judge(evidence: Evidence) -> Judgement:
        found = _clear(_settings(shapes, evidence))
        if _shows(found, Shows.MISSING):
            return Judgement(Outcome.UNDECIDED, _told(found))
        half = (len(found) - len(_shows(found, Shows.IDLE))) / 2
        if len(_shows(found, Shows.CLAIM)) > half:
            return Judgement(Outcome.CONFIRMED, _told(found))
        reversed_ = len(_shows(found, Shows.OPPOSITE)) > half
        return Judgement(Outcome.REFUTED if reversed_ else Outcome.UNDECIDED, _told(found))

    return judge


def somewhere(*shapes: Shape, least: int = 1) -> Judge:
    """Return a judge of a claim on some settings of these shapes, such as a sentence with "on several problems".

    The claim is confirmed if at least `least` settings show it. It is refuted if all settings are run, and fewer than
    `least` of them do not show the opposite.
    """

    def judge(evidence: Evidence) -> Judgement:
        found = _clear(_settings(shapes, evidence))
        if len(_shows(found, Shows.CLAIM)) >= least:
            return Judgement(Outcome.CONFIRMED, _told(found))
        never = found and len(found) - len(_shows(found, Shows.OPPOSITE)) < least
        return Judgement(Outcome.REFUTED if never else Outcome.UNDECIDED, _told(found))

    return judge


def each(*judges: Judge) -> Judge:
    """Return a judge of a claim with several parts, each of which has a judge.

    The claim is refuted if a part is refuted, and confirmed if all parts are confirmed.
    """

    def judge(evidence: Evidence) -> Judgement:
        found = [part(evidence) for part in judges]
        outcomes = {part.outcome for part in found}
        agreed = Outcome.UNDECIDED if len(outcomes) > 1 else next(iter(outcomes))
        told = " ".join(f"Part {number}: {part.figures}" for number, part in enumerate(found, 1))
        return Judgement(Outcome.REFUTED if Outcome.REFUTED in outcomes else agreed, told)

    return judge


def never_refuted(*shapes: Shape) -> Shape:
    """Return these shapes for a sentence about bounds, or about arbitrarily long runs.

    Runs that show the opposite do not refute such a sentence.
    """
    return _renamed(shapes, {Shows.OPPOSITE: Shows.ALLOWED})


def opposite(*shapes: Shape) -> Shape:
    """Return the shape that holds where these do not."""
    return _renamed(shapes, {Shows.OPPOSITE: Shows.CLAIM, Shows.CLAIM: Shows.OPPOSITE})


def _renamed(shapes: Sequence[Shape], names: Mapping[Shows, Shows]) -> Shape:
    return lambda evidence: (
        replace(one, shows=names.get(one.shows, one.shows)) for one in _settings(shapes, evidence)
    )


def _settings(shapes: Sequence[Shape], evidence: Evidence) -> list[Setting]:
    return list(chain.from_iterable(shape(evidence) for shape in shapes))


def _clear(found: Sequence[Setting]) -> list[Setting]:
    """Return the settings. Where two means are too close for this number of settings, a setting shows neither."""
    run = max(1, sum(one.tried for one in found if one.shows is not Shows.MISSING))
    needed = float(stats.norm.isf(stats.norm.sf(SURE) / run))
    known = (Shows.CLAIM, Shows.OPPOSITE, Shows.ALLOWED)
    return [
        replace(one, shows=Shows.NEITHER) if one.shows in known and one.apart < needed else one
        for one in found
    ]


def _shows(found: Iterable[Setting], *kinds: Shows) -> list[Setting]:
    return [one for one in found if one.shows in kinds]


_SHOWN: Final = {
    Shows.OPPOSITE: 3,
    Shows.ALLOWED: 3,
    Shows.CLAIM: 3,
    Shows.NEITHER: 2,
    Shows.IDLE: 1,
    Shows.MISSING: 1,
}
"""The most telling kind of setting first, with the number of settings that a judgement spells out."""


def _told(found: Sequence[Setting]) -> str:
    """Return the figures of the settings, the most telling kind first."""
    return " ".join(
        f"{kind.value.capitalize()} ({len(some)} of {len(found)}): {_few([one.figures for one in some], most)}."
        for kind, most in _SHOWN.items()
        if (some := _shows(found, kind))
    )


def _few(figures: Sequence[str], most: int) -> str:
    more = [f"{len(figures) - most} more"] if len(figures) > most else []
    return "; ".join([*figures[:most], *more])


def less(one: Mean | None, other: Mean | None, where: str) -> Setting:
    """Return what a setting shows of the claim that one mean is less than another.

    Args:
        one, other: the means; None if there are no runs.
        where: the setting in words, such as "on river-swim at epsilon 10".

    >>> less(Mean(0.31, 0.01), Mean(0.52, 0.01), "on river-swim")
    Setting(shows=<Shows.CLAIM: 'the claim holds'>, figures='0.310 ± 0.010 against 0.520 ± 0.010 on river-swim', ...)
    """
    if one is None or other is None or min(one.runs, other.runs) < LEAST:
        return Setting(Shows.MISSING, where)
    return Setting(_ordering(one, other), f"{one} against {other} {where}", one.apart(other))


def _ordering(one: Mean, other: Mean) -> Shows:
    if not (one.learns or other.learns):
        return Shows.IDLE
    if one.clearly_below(other):
        return Shows.CLAIM
    return Shows.OPPOSITE if other.clearly_below(one) else Shows.NEITHER


def near(found: Mean | None, target: float, where: str) -> Setting:
    """Return what a setting shows of the claim that a mean is within a factor 2 of a target.

    >>> near(Mean(9.0, 0.5), 10.0, "on chain")
    Setting(shows=<Shows.CLAIM: 'the claim holds'>, figures='9.00 ± 0.50 against 10 on chain', ...)
    """
    if found is None or found.runs < LEAST:
        return Setting(Shows.MISSING, where)
    low, high = Mean(target / 2), Mean(target * 2)
    inside = low.clearly_below(found) and found.clearly_below(high)
    outside = found.clearly_below(low) or high.clearly_below(found)
    shows = Shows.CLAIM if inside else Shows.OPPOSITE if outside else Shows.NEITHER
    apart = min(found.apart(low), found.apart(high))
    return Setting(shows if found.learns else Shows.IDLE, f"{found} against {target:.4g} {where}", apart)


def fact(*, holds: bool, figures: str) -> Setting:
    """Return what a setting shows whose figures are computed without runs."""
    return Setting(Shows.CLAIM if holds else Shows.OPPOSITE, figures)
