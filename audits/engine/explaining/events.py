"""Illustrate a violation by a simple event, such as "the output is at least 3", that is more likely on one input.

An event is chosen on one half of some fresh outputs and counted on the other half. The verdict and the bound on
epsilon do not depend on the event.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from dpproof.audits.engine.explaining.facts import Bools, Floats, Fresh, recurring, shared

NEGATED = (
    (" is there", " is missing"),
    (" raises ", " does not raise "),
    (" has ", " does not have "),
    (" is ", " is not "),
)
"""Pairs of phrases. In the sentence for a fact, the second phrase replaces the first if the fact does not hold."""
TAILS = (0.5, 0.25, 0.1, 0.04, 0.01)


@dataclass(frozen=True)
class Event:
    """An event, such as "the output is at least 3": its description, threshold, and whether each output has it."""

    words: str
    came: Bools
    number: str = ""
    at: float | None = None
    fact: bool = False


def _events(fresh: Fresh) -> Iterator[Event]:
    """Generate simple events, the simplest first."""
    for words, came in fresh.facts.items():
        if not came.all():
            yield Event(words, came, fact=True)
            yield Event(_absent(words), ~came, fact=True)
    for name, values in fresh.numbers.items():
        if fresh.floating:
            yield from _bit_events(name, values)
            continue
        held = values[~np.isnan(values)]
        for value in recurring(held):
            yield Event(f"{name} is exactly {value:.6g}", values == value, name, value)
        for share in TAILS if held.size else ():
            yield from _tail(fresh, name, share)
    if not fresh.floating:
        yield from _differences(fresh)
        yield from _both(fresh)


def _absent(words: str) -> str:
    """Return the sentence for the absence of a fact."""
    held, absent = next(one for one in NEGATED if one[0] in words)
    return words.replace(held, absent, 1)


def _bit_events(name: str, values: Floats) -> Iterator[Event]:
    lowest = _lowest_bits(values)
    for bit in np.unique(lowest[np.isfinite(lowest)])[:80]:
        yield Event(f"{name} has bits below 2^{int(bit) + 1}", lowest <= bit)


def _lowest_bits(values: Floats) -> Floats:
    """Return the exponent of the lowest set bit of each number."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    low = np.log2(np.maximum(whole & -whole, 1).astype(float))
    return np.where(whole == 0, math.inf, exponent - 53 + low)


def _differences(fresh: Fresh) -> Iterator[Event]:
    """Generate events on the difference of two varying numbers; it recurs if both have the same noise."""
    for one, other, gap in shared(fresh):
        for value in recurring(np.round(gap[~np.isnan(gap)], 9)):
            yield Event(f"{one} minus {other} is {value:.6g}", np.round(gap, 9) == value)


def _both(fresh: Fresh) -> Iterator[Event]:
    """Generate events in which the two numbers that move most are extreme together, as two bins that change are."""
    moved = _moved(fresh)[:2]
    if len(moved) < 2:
        return
    for share in (*TAILS, 0.8):
        tails = [_tail(fresh, name, share) for name in moved]
        for one, other in product(*tails):
            yield Event(f"{one.words} and {other.words}", one.came & other.came, one.number, one.at)


def _tail(fresh: Fresh, name: str, share: float) -> list[Event]:
    """Return the events that a number is among the largest, or among the smallest, of this share."""
    values = fresh.numbers[name]
    low, high = np.nanquantile(values, [share, 1 - share], method="nearest")
    return [
        Event(f"{name} is at least {high:.4g}", values >= high, name, float(high)),
        Event(f"{name} is at most {low:.4g}", values <= low, name, float(low)),
    ]


def _moved(fresh: Fresh) -> list[str]:
    """Return the names of the numbers that differ between the inputs, the most different first."""
    found = {}
    for name, values in fresh.numbers.items():
        sides = [values[side & ~np.isnan(values)] for side in (~fresh.second, fresh.second)]
        if min(map(len, sides)):
            found[name] = float(ks_2samp(*sides, method="asymp").statistic)
    return sorted(found, key=lambda name: -found[name])


def clearest(fresh: Fresh) -> Event | None:
    """Return the event that best distinguishes the two inputs; None if no event clearly does."""
    half = np.arange(fresh.second.size) % 2 == 0
    events = list(_events(fresh))
    best = max(events, key=lambda one: _excess(fresh, one.came, half), default=None)
    return best if best is not None and _excess(fresh, best.came, ~half) > 2 else None


def _excess(fresh: Fresh, came: Bools, part: Bools) -> float:
    """Return the number of standard deviations by which an event exceeds what the claim allows."""
    first, second = (int((came & part & side).sum()) for side in (~fresh.second, fresh.second))
    odds = math.exp(min(fresh.epsilon, 20.0))
    paid = fresh.delta * float(part.sum()) / 2
    orders = ((first, second), (second, first))
    return max((a - odds * b - paid) / math.sqrt(a + odds * odds * b + 1) for a, b in orders)


def counted(fresh: Fresh, event: Event | None) -> dict[str, Any]:
    """Return a description of the event, and how often it occurs on each input, as fields of `Shown`."""
    if event is None:
        return {}
    other = np.arange(fresh.second.size) % 2 == 1
    first, second = (int((event.came & other & side).sum()) for side in (~fresh.second, fresh.second))
    return {"event": event.words, "first": first, "second": second}


def drawn(fresh: Fresh, event: Event | None) -> dict[str, Any]:
    """Return two histograms, one for each input, as fields of `Shown`.

    They show the number that defines the event. If no number defines the event, they show how often it occurs. If
    there is no event, they show the number whose distribution differs most between the inputs.
    """
    name = event.number if event is not None else next(iter(_moved(fresh)), "")
    if event is None and not name:
        return {}
    values = fresh.numbers[name] if name else event.came.astype(float) if event is not None else np.zeros(0)
    held = values[np.isfinite(values)]
    low, high = np.quantile(held, [0.002, 0.998]) if name else (0.0, 1.0)
    edges = np.linspace(low, high, 41) if name and high > low else np.array([low - 0.5, low + 0.5, low + 1.5])
    other = (np.arange(fresh.second.size) % 2 == 1) & np.isfinite(values)
    counts = [np.histogram(values[side & other], edges)[0] for side in (~fresh.second, fresh.second)]
    return {
        "what": name or f"1: {event.words if event else ''}; 0: not so",
        "edges": tuple(map(float, edges)),
        "counts": tuple(tuple(map(int, one)) for one in counts),
        "at": event.at if event is not None else None,
    }
