"""Fresh outputs on both inputs of a pair, taken apart into numbers and into facts that hold of an output or not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.encoding import Raised
from dpproof.audits.data.outputs import Block, is_numeric
from dpproof.audits.engine.betting.curves import PrivacyCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
WIDEST, PAIRED = 64, 6
"""So many numbers of an output are looked at, and so many in pairs."""
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Fresh:
    """Fresh outputs on both inputs, as numbers and as what else can be said of an output.

    Attributes:
        numbers: the name of each number -> its values, NaN where an output has none.
        facts: words that are true of an output or not, such as that a key is missing.
        second: which outputs are of the second input.
        epsilon, delta: what is claimed.
        curve: the claim.
        floating: only floating-point bits were found.
    """

    numbers: Mapping[str, Floats]
    facts: Mapping[str, Bools]
    second: Bools
    epsilon: float
    delta: float
    curve: PrivacyCurve
    floating: bool


def rows(block: Block) -> Iterator[object]:
    """The outputs of a block, one by one."""
    return iter(block.tolist() if is_numeric(block) and block.ndim == 1 else block)


def taken_apart(rows: Sequence[object]) -> tuple[dict[str, Floats], dict[str, Bools]]:
    """The numbers of the outputs by name, and what else is true of them."""
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
    """The numbers of one output by name, and what is true of it."""
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


def _double(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf


def recurring(held: Floats) -> list[float]:
    """The values that come in at least 1 % of the outputs, the most frequent eight."""
    values, counts = np.unique(held, return_counts=True)
    often = np.flatnonzero(counts >= max(4, 0.01 * held.size))
    return [float(values[place]) for place in often[np.argsort(-counts[often])][:8]]


def shared(fresh: Fresh) -> Iterator[tuple[str, str, Floats]]:
    """Two numbers whose difference hardly varies on either input, although each of them does."""
    names = [name for name, values in list(fresh.numbers.items())[:PAIRED] if varies(values)]
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            gap = fresh.numbers[one] - fresh.numbers[other]
            if all(not varies(gap[part]) for part in (fresh.second, ~fresh.second)):
                yield one, other, gap


def varies(values: Floats) -> bool:
    """Whether a number takes more than a few values."""
    held = values[~np.isnan(values)]
    return held.size > 1 and len(np.unique(np.round(held, 9))) > max(8, 0.01 * held.size)
