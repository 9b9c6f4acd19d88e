"""Explanations of a violation: the first one that fits fresh outputs, with how often it was right.

How often an explanation is right was measured on cases with a known fault (`benchmarks.audits.explanations`). An
explanation that is right too rarely is not offered.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from scipy.stats import ks_2samp, kurtosis

from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.explaining.events import Event
from dpproof.audits.engine.explaining.facts import Floats, Fresh, recurring, shared, varies

RATE, OFFERED = 0.75, 3
"""An explanation is offered if it was right in at least this share of its cases, and had at least `OFFERED` cases."""
DELTA = 1e-6
"""The delta at which Gaussian noise is compared with a claim that has delta 0."""
ENOUGH = 128
"""The number of outputs on each input that is needed to compare two distributions."""
GAUSSIAN = 900
"""The number of outputs on each input that is needed to distinguish Gaussian from Laplace noise."""


Explanation = Callable[[Fresh, Event | None], str]


def explained(fresh: Fresh, event: Event | None) -> tuple[str, str]:
    """Return the kind and the words of the first explanation that fits; two empty texts if none fits."""
    found = ((kind, explain(fresh, event)) for kind, explain in EXPLANATIONS.items())
    return next(((kind, words) for kind, words in found if words), ("", ""))


def _bits(fresh: Fresh, _event: Event | None) -> str:
    return "noise that was drawn or added in floating point" if fresh.floating else ""


def _structure(fresh: Fresh, event: Event | None) -> str:
    """Explain a fact about the output that occurs on one input only."""
    if event is None or not event.fact:
        return ""
    first, second = ((event.came & side).sum() for side in (~fresh.second, fresh.second))
    if min(first, second):
        return ""
    if "raise" in event.words:
        return "a function that fails depending on the sensitive record"
    return "a sensitive record that decides which keys, parts or words the output has"


def _plain(fresh: Fresh, _event: Event | None) -> str:
    """Explain a number that is constant on each input, or an exact value that occurs on one input only."""
    for name, values in fresh.numbers.items():
        sides = [values[side & ~np.isnan(values)] for side in (~fresh.second, fresh.second)]
        if not all(map(len, sides)):
            continue
        constant = all(len(np.unique(one)) == 1 for one in sides)
        if constant and sides[0][0] != sides[1][0]:
            return f"a value released without noise ({name})"
        continuous = np.mean([len(np.unique(one)) / len(one) for one in sides]) > 0.3
        if continuous and any(min((one == value).sum() for one in sides) == 0 for value in recurring(values)):
            return f"a value that is at times released without noise ({name})"
    return ""


def _reused(fresh: Fresh, _event: Event | None) -> str:
    found = next(shared(fresh), None)
    if found is None:
        return ""
    one, other, gap = found
    if all(_same(gap[side]) for side in (fresh.second, ~fresh.second)):
        return f"one draw of noise that is used twice, for {one} and {other}"
    return ""


def _same(gap: Floats) -> bool:
    return bool(np.nanmax(gap) - np.nanmin(gap) <= 1e-6 * (1 + np.nanmax(np.abs(gap))))


@dataclass(frozen=True)
class Shift:
    """A number whose distribution on the second input is that on the first input, shifted."""

    by: float
    deviation: float
    spread: float
    """The mean distance from the median, which is the scale for Laplace noise."""
    tails: float
    """The excess kurtosis: 0 for a Gaussian, 3 for a Laplace distribution."""


def _shifts(fresh: Fresh) -> list[Shift] | None:
    """Return the shifted numbers. None if one differs in more than a shift, hardly varies, or can be infinite."""
    found = []
    for values in fresh.numbers.values():
        first, second = (values[side & ~np.isnan(values)] for side in (~fresh.second, fresh.second))
        if min(len(first), len(second)) < ENOUGH or not varies(values) or np.isinf(values).any():
            return None
        by = float(np.median(second) - np.median(first))
        centred = np.concatenate([first - np.median(first), second - np.median(second)])
        if ks_2samp(first + by, second).pvalue < 1e-4:
            return None
        if abs(by) > 4 * np.std(centred) * math.sqrt(2 * math.pi / len(centred)):
            spread = float(np.abs(centred).mean())
            found.append(Shift(by, float(np.std(centred)), spread, float(kurtosis(centred))))
    return found


def _gaussian_for_pure(fresh: Fresh, _event: Event | None) -> str:
    """Explain noise without the tails of Laplace noise in all numbers of the output, under a pure claim."""
    pure = math.isfinite(fresh.curve.epsilon(0.0).upper)
    if not pure or not _shifts(fresh) or len(fresh.second) < 2 * GAUSSIAN:
        return ""
    if all(
        abs(kurtosis(values[~fresh.second], nan_policy="omit")) < 0.5 for values in fresh.numbers.values()
    ):
        return "Gaussian noise under a claim with delta 0, which Gaussian noise never meets"
    return ""


def _scale(fresh: Fresh, _event: Event | None) -> str:
    """Explain Laplace or Gaussian noise that is too small for the shift of the numbers."""
    shifts = _shifts(fresh)
    if not shifts or _correlated(fresh):
        return ""
    if all(abs(one.tails) < 1 for one in shifts):
        moved = math.sqrt(sum((one.by / one.deviation) ** 2 for one in shifts))
        delta = fresh.delta if fresh.delta > 0 else DELTA
        factor = moved / gaussian_mu(max(fresh.curve.epsilon(delta).upper, 1e-9), delta)
    else:
        factor = sum(abs(one.by) / one.spread for one in shifts) / max(fresh.epsilon, 1e-9)
    if not 1.1 < factor < 1e4:
        return ""
    times = f"about {factor:.2g} times"
    return f"noise that is {times} too small, or a sensitivity that is {times} larger than assumed"


def _correlated(fresh: Fresh) -> bool:
    """Whether the noise of two numbers is dependent, so that their shifts do not add up."""
    table = np.array(list(fresh.numbers.values()))[:, ~fresh.second]
    if len(table) < 2:
        return False
    found = np.corrcoef(table)
    return bool(np.abs(found - np.eye(len(found))).max() > 0.3)


EXPLANATIONS: Mapping[str, Explanation] = {
    "bits": _bits,
    "structure": _structure,
    "plain": _plain,
    "reused": _reused,
    "normal": _gaussian_for_pure,
    "scale": _scale,
}
"""The explanations in the order in which they are tried."""


@cache
def rates() -> Mapping[str, tuple[int, int]]:
    """Return for each explanation the number of cases in which it was right, and in which it was given."""
    file = resources.files("dpproof.audits.engine.explaining").joinpath("rates.json")
    return {
        kind: (one["right"], one["given"])
        for kind, one in json.loads(file.read_text(encoding="utf-8")).items()
    }


def offered(kind: str, words: str) -> str:
    """Return the explanation as a sentence; an empty text if it is not right often enough."""
    right, given = rates().get(kind, (0, 0))
    if given < OFFERED or right < RATE * given:
        return ""
    return f"This looks like {words} (a guess, right in {right} of the {given} known faults that it was made with)."
