"""Explain a violation: find the first likely cause that fits fresh outputs, and say how often it is right.

How often an explanation is right was measured on functions with known faults that were not used to write the
explanations (`benchmarks.audits.held_out`). `rates.json` stores the results. An explanation that is right too rarely
is not shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import combinations

import numpy as np
from scipy.stats import ks_2samp

from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.explaining.events import Event
from dpproof.audits.engine.explaining.facts import PAIRED, Floats, Fresh, recurring, varies
from dpproof.audits.engine.explaining.shapes import Noise, stands_out, step_of

RATE, OFFERED = 0.75, 3
"""An explanation is shown if it was right in at least this share of at least `OFFERED` cases."""
DELTA = 1e-6
"""The delta at which Gaussian noise is compared with a claim that has delta 0."""
ENOUGH = 128
"""The number of outputs on each input that is needed to compare two distributions."""
GAUSSIAN = 900
"""The number of outputs on each input that is needed to distinguish Gaussian from Laplace noise."""
BEYOND = 8
"""If this many outputs on one input lie beyond all outputs on the other input, the noise is called bounded."""
UNEQUAL = 1.3
"""The smallest ratio of two scales of noise that are called different."""


Explanation = Callable[[Fresh, Event | None], str]


def explained(fresh: Fresh, event: Event | None) -> tuple[str, str]:
    """Return the name and the text of the first explanation that fits; two empty texts if none fits."""
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


def _sides(fresh: Fresh, values: Floats) -> tuple[Floats, Floats]:
    """Return the values of a number on the first and on the second input."""
    first, second = (values[side & ~np.isnan(values)] for side in (~fresh.second, fresh.second))
    return first, second


def _plain(fresh: Fresh, _event: Event | None) -> str:
    """Explain a number that is constant on an input, or an exact value that is released at times."""
    for name, values in fresh.numbers.items():
        sides = _sides(fresh, values)
        if not all(map(len, sides)):
            continue
        constant = [len(np.unique(one)) == 1 for one in sides]
        if all(constant) and sides[0][0] != sides[1][0]:
            return f"a value released without noise ({name})"
        if any(constant) and any(map(varies, sides)):
            return (
                f"a value released without noise for some data ({name}), as if the scale of the noise were 0"
            )
        for value in recurring(values):
            here, there = sorted(sides, key=lambda one: -(one == value).sum())
            rare = 5 * (there == value).sum() <= (here == value).sum()
            if rare and not np.isinf(value) and stands_out(here, value):
                return f"a value that is at times released without noise ({name})"
    return ""


def _grid(fresh: Fresh, _event: Event | None) -> str:
    """Explain noise on a grid that is added to a value between the points of the grid."""
    for name, values in fresh.numbers.items():
        first, second = _sides(fresh, values)
        if min(len(first), len(second)) < ENOUGH or np.isinf(values).any():
            continue
        steps = step_of(first), step_of(second)
        apart = float(second[0] - first[0])
        if steps[0] == steps[1] > 0 and abs(apart / steps[0] - round(apart / steps[0])) > 1e-6:
            return f"noise in multiples of {steps[0]:.6g} that is added to other numbers ({name})"
    return ""


def _reused(fresh: Fresh, _event: Event | None) -> str:
    """Explain two numbers of which one determines the other on each input, by a line with a slope."""
    names = [name for name, values in list(fresh.numbers.items())[:PAIRED] if varies(values)]
    for one, other in combinations(names, 2):
        pairs = [
            np.stack([fresh.numbers[name][side] for name in (one, other)])
            for side in (fresh.second, ~fresh.second)
        ]
        held = [pair[:, np.isfinite(pair).all(axis=0)] for pair in pairs]
        if all(len(pair.T) >= 8 and pair.std(axis=1).all() and _on_a_line(pair) for pair in held):
            return f"one draw of noise that is used twice, for {one} and {other}"
    return ""


def _on_a_line(pair: Floats) -> bool:
    return bool(np.abs(np.corrcoef(pair)).min() > 1 - 1e-6)


@dataclass(frozen=True)
class Shift:
    """A number in the outputs whose distribution on the second input is that on the first input, shifted."""

    by: float
    noise: Noise
    significant: bool
    """Whether the shift is too large to be due to chance."""
    sharp: bool
    """Whether some outputs on one input lie beyond all outputs on the other."""


def _shifts(fresh: Fresh) -> list[Shift] | None:
    """Return the numbers with their shifts. None if one differs in more than that, hardly varies, or is infinite."""
    found = []
    for values in fresh.numbers.values():
        first, second = _sides(fresh, values)
        if min(len(first), len(second)) < ENOUGH or not varies(values) or np.isinf(values).any():
            return None
        by = float(np.median(second) - np.median(first))
        centred = np.concatenate([first - np.median(first), second - np.median(second)])
        if ks_2samp(first + by, second).pvalue < 1e-4:
            return None
        high, low = (first, second) if by < 0 else (second, first)
        beyond = max((high > low.max()).sum(), (low < high.min()).sum())
        significant = abs(by) > 4 * np.std(centred) * math.sqrt(2 * math.pi / len(centred))
        noise = Noise(centred, step_of(first))
        found.append(Shift(by, noise, significant=bool(significant), sharp=bool(beyond >= BEYOND)))
    return found


def _moved(fresh: Fresh) -> list[Shift]:
    """Return the numbers that are shifted by more than chance explains; none if `_shifts` returns None."""
    return [shift for shift in _shifts(fresh) or () if shift.significant]


def _bounded(fresh: Fresh, _event: Event | None) -> str:
    """Explain noise with a largest or smallest value, so that some outputs come from one input only."""
    for shift in _shifts(fresh) or ():
        noise = shift.noise
        if shift.sharp and noise.laplace is noise.gaussian is None and noise.bounded:
            return "bounded noise, so that some outputs are possible on one of the two inputs only"
    return ""


def _data_dependent(fresh: Fresh, _event: Event | None) -> str:
    """Explain noise that has another scale on each input."""
    for name, values in fresh.numbers.items():
        sides = _sides(fresh, values)
        if min(map(len, sides)) < ENOUGH or np.isinf(values).any() or not all(map(varies, sides)):
            continue
        first, second = (one - np.median(one) for one in sides)
        sizes = [float(np.abs(one).mean()) for one in (first, second)]
        ratio = max(sizes) / max(min(sizes), 1e-300)
        if ratio > UNEQUAL and ks_2samp(first / sizes[0], second / sizes[1]).pvalue > 1e-4:
            return f"noise whose scale depends on the data ({name}: {ratio:.2g} times larger on one input)"
    return ""


def _gaussian_for_pure(fresh: Fresh, _event: Event | None) -> str:
    """Explain Gaussian noise in all numbers that shift, under a pure claim."""
    pure, shifts = math.isfinite(fresh.curve.epsilon(0.0).upper), _moved(fresh)
    if not pure or not shifts or len(fresh.second) < 2 * GAUSSIAN:
        return ""
    if all(one.noise.gaussian is not None and one.noise.laplace is None for one in shifts):
        return "Gaussian noise under a claim with delta 0, which Gaussian noise never meets"
    return ""


def _scale(fresh: Fresh, _event: Event | None) -> str:
    """Explain Laplace or Gaussian noise that is too small for the shift of the numbers.

    The factor is measured on one pair, and other data may need more noise. So it is a smallest factor.
    """
    shifts = _moved(fresh)
    if not shifts or _correlated(fresh):
        return ""
    laplace = [abs(one.by) / one.noise.laplace for one in shifts if one.noise.laplace is not None]
    gaussian = [one.by / one.noise.gaussian for one in shifts if one.noise.gaussian is not None]
    if len(laplace) == len(shifts):
        factor = sum(laplace) / max(fresh.epsilon, 1e-9)
    elif len(gaussian) == len(shifts):
        delta = fresh.delta if fresh.delta > 0 else DELTA
        factor = math.hypot(*gaussian) / gaussian_mu(max(fresh.curve.epsilon(delta).upper, 1e-9), delta)
    else:
        return ""
    if not 1.1 < factor < 1e4:
        return ""
    times = f"at least {_down(factor):.2g} times"
    return f"noise that is {times} too small, or a sensitivity that is {times} larger than assumed"


def _down(factor: float) -> float:
    """Return a measured factor, less the error of its measurement, with two digits."""
    unit = 10 ** (math.floor(math.log10(factor)) - 1)
    return float(math.floor(0.97 * factor / unit) * unit)


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
    "grid": _grid,
    "bounded": _bounded,
    "local": _data_dependent,
    "normal": _gaussian_for_pure,
    "scale": _scale,
}
"""The explanations in the order in which they are tried."""


@cache
def rates() -> Mapping[str, tuple[int, int]]:
    """Return for each explanation two numbers: in how many cases it was right, and in how many it was given."""
    file = resources.files("dpproof.audits.engine.explaining").joinpath("rates.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    return {kind: (one["right"], one["given"]) for kind, one in found.items()}


def offered(kind: str, words: str) -> str:
    """Return the explanation as a sentence; an empty text if it is not right often enough."""
    right, given = rates().get(kind, (0, 0))
    if given < OFFERED or right < RATE * given:
        return ""
    return f"This looks like {words} (a guess; right in {right} of {given} faults that it was not tuned on)."
