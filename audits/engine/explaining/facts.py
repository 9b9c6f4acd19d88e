"""Fresh outputs on the two inputs of a pair, split into numbers and into facts (true or false for each output)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.encoding import Raised
from dpproof.audits.data.outputs import Block, is_numeric
from dpproof.audits.engine.betting.curves import PrivacyCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
WIDEST, PAIRED = 64, 6
"""The largest number of parts of an output that are used, and of parts that are compared in pairs."""
VARIED = 4
"""A number "varies" if it has more different values than this. Integer noise of scale 1 has about ten values."""
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Fresh:
    """Fresh outputs on the two inputs, as numbers and as facts about the outputs.

    Attributes:
        numbers: for each number in the outputs, its name and its value in each output; NaN if an output does not have
            it.
        facts: for each fact, a sentence such as "the key 'a' is there", and whether it holds for each output.
        second: True for the outputs on the second input.
        epsilon, delta: the claimed epsilon and delta.
        curve: the claimed guarantee.
        floating: whether the claim is violated only in floating-point bits.
    """

    numbers: Mapping[str, Floats]
    facts: Mapping[str, Bools]
    second: Bools
    epsilon: float
    delta: float
    curve: PrivacyCurve
    floating: bool


def rows(block: Block) -> Iterator[object]:
    """Return an iterator over the outputs of a block."""
    return iter(block.tolist() if is_numeric(block) and block.ndim == 1 else block)


def taken_apart(rows: Sequence[object]) -> tuple[dict[str, Floats], dict[str, Bools]]:
    """Return the numbers in the outputs by their names, and the facts about the outputs by their sentences."""
    numbers: dict[str, Floats] = {}
    facts: dict[str, Bools] = {}
    for at, row in enumerate(rows):
        for name, value in _parts(row):
            if isinstance(value, float):
                numbers.setdefault(name, np.full(len(rows), math.nan))[at] = value
            else:
                facts.setdefault(name, np.zeros(len(rows), bool))[at] = True
    return numbers, facts


def _parts(row: object) -> Iterator[tuple[str, float | None]]:
    """Generate the numbers of one output by name, and the facts that are true for it, with None."""
    match row:
        case Raised():
            yield f"the function raises {row.kind}", None
        case bool() | str() | bytes() | None:
            yield f"the output is {row!r:.40}", None
        case int() | float() | np.number():
            yield "the output", _double(row)
        case Mapping():
            for key, value in row.items():
                yield f"the key {key!r:.40} is there", None
                if isinstance(value, int | float | np.number):
                    yield f"the value of {key!r:.40}", _double(value)
        case np.ndarray() | list() | tuple():
            yield from _of_sequence(row)
        case _:
            yield f"the output is {row!r:.40}", None


def _of_sequence(
    row: NDArray[np.generic] | list[object] | tuple[object, ...],
) -> Iterator[tuple[str, float | None]]:
    values = row.ravel().tolist() if isinstance(row, np.ndarray) else row
    yield f"the output has {len(values)} parts", None
    for place, value in enumerate(values[:WIDEST]):
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            yield (
                f"the {PLACES[place]} number" if place < len(PLACES) else f"number {place + 1}",
                _double(value),
            )
        else:
            yield f"part {place + 1} of the output is {value!r:.40}", None


def _double(value: SupportsFloat) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def recurring(held: Floats) -> list[float]:
    """Return the most frequent values, at most eight; each occurs in at least 0.5 % of the outputs."""
    values, counts = np.unique(held, return_counts=True)
    often = np.flatnonzero(counts >= max(4, 0.005 * held.size))
    return [float(values[place]) for place in often[np.argsort(-counts[often])][:8]]


def shared(fresh: Fresh) -> Iterator[tuple[str, str, Floats]]:
    """Generate the names of two numbers, and their difference, if both numbers vary but it hardly varies."""
    names = [name for name, values in list(fresh.numbers.items())[:PAIRED] if varies(values)]
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            gap = fresh.numbers[one] - fresh.numbers[other]
            if all(not varies(gap[part]) for part in (fresh.second, ~fresh.second)):
                yield one, other, gap


def varies(values: Floats) -> bool:
    """Return whether a number has more than a few different values."""
    held = values[~np.isnan(values)]
    return held.size > 1 and len(np.unique(np.round(held, 9))) > VARIED
