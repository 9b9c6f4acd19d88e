"""Width and time of epsilons of DP-SGD over a box of parameters: ``python -m benchmarks.accounting_box N``.

The box is BOX below. ``N`` points are drawn as a Latin hypercube with a fixed seed: each parameter is split
into N strata of equal size on its scale, and each stratum holds one point. Every parameter has a logarithmic
scale, except that half of all deltas are between 1e-300 and 1e-30, and the other half between 1e-30 and 0.5.
The width of an answer is (upper - lower)/max(upper, 1e-6). The seconds are processor time of one call in a process
that has answered another question before, so they hardly depend on other work of the machine.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.timing import measured
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.noise.dp_sgd import DPSGDParameters, account

BOX = {"rate": (1e-9, 1.0), "noise": (0.1, 1e4), "steps": (1.0, 1e9), "delta": (1e-300, 0.5)}
RATES = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 1.0)
NARROW, MODERATE, FAST = 1e-6, 1e-3, 0.3
SEED = 23


@dataclass(frozen=True)
class Point:
    """Parameters of one question, drawn from the box."""

    rate: float
    noise: float
    steps: int
    delta: float


@dataclass(frozen=True)
class Answer:
    """The bounds on epsilon at one point, and the seconds they took. A refusal has the bounds 0 and infinity."""

    point: Point
    lower: float
    upper: float
    seconds: float
    refused: str = ""

    @property
    def width(self) -> float:
        """The width of the bounds, relative to the upper one or to 1e-6; infinite for an infinite upper bound."""
        if math.isinf(self.upper):
            return math.inf
        return (self.upper - self.lower) / max(self.upper, 1e-6)


def points(count: int, seed: int = SEED) -> list[Point]:
    """Return a Latin hypercube of ``count`` points of the box."""
    chance = random.Random(seed)
    strata = [chance.sample(range(count), count) for _ in BOX]
    shares = [[(place + chance.random()) / count for place in row] for row in strata]
    return [
        Point(_on_scale("rate", q), _on_scale("noise", s), round(_on_scale("steps", t)), _delta(d))
        for q, s, t, d in zip(*shares, strict=True)
    ]


def _on_scale(name: str, share: float) -> float:
    low, high = BOX[name]
    return low * (high / low) ** share


def _delta(share: float) -> float:
    low, middle, high = BOX["delta"][0], 1e-30, BOX["delta"][1]
    if share < 0.5:
        return low * (middle / low) ** (2 * share)
    return middle * (high / middle) ** (2 * share - 1)


def answer(point: Point, adjacency: Adjacency, records: int = 1) -> Answer:
    """Return the bounds on epsilon at ``point``, with the seconds of the call."""
    parameters = DPSGDParameters(point.rate, point.noise, point.steps, records)
    begin = time.process_time()
    try:
        found = account(parameters, adjacency).guarantee.epsilon(point.delta)
    except (ArithmeticError, LookupError, MemoryError, ValueError) as error:
        return Answer(point, 0.0, math.inf, time.process_time() - begin, type(error).__name__)
    return Answer(point, found.lower, found.upper, time.process_time() - begin)


def table(answers: Sequence[Answer]) -> str:
    """Return a Markdown table: one row for each range of rates, and one for all points."""
    head = (
        "| sampling rate | points | width <= 1e-6 | width <= 1e-3 | infinite or refused | width 50 % | 95 % | 99 % "
        f"| below {FAST} s | seconds 50 % | 95 % | 99 % |\n" + "|---" * 12 + "|"
    )
    ranges = list(pairwise(RATES))
    rows = [(f"{a:.0e} to {b:.0e}", [x for x in answers if a <= x.point.rate < b]) for a, b in ranges]
    return "\n".join([head, *(_row(name, some) for name, some in [*rows, ("all", list(answers))] if some)])


def _row(name: str, answers: Sequence[Answer]) -> str:
    widths, seconds = (
        sorted(values) for values in zip(*((x.width, x.seconds) for x in answers), strict=True)
    )
    cells = [
        name,
        f"{len(answers)}",
        *(_share(width <= limit for width in widths) for limit in (NARROW, MODERATE)),
        f"{sum(math.isinf(width) for width in widths)}",
        *(f"{_quantile(widths, level):.1e}" for level in (0.5, 0.95, 0.99)),
        _share(second < FAST for second in seconds),
        *(f"{_quantile(seconds, level):.3f}" for level in (0.5, 0.95, 0.99)),
    ]
    return "| " + " | ".join(cells) + " |"


def _share(holds: Iterable[bool]) -> str:
    found = list(holds)
    return f"{100 * sum(found) / len(found):.1f} %"


def _quantile(ordered: Sequence[float], level: float) -> float:
    return ordered[min(math.ceil(level * len(ordered)), len(ordered)) - 1]


def main() -> None:
    """Print the table, and every answer that is wide or slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("count", type=int, help="the number of points")
    parser.add_argument("--adjacency", choices=["add-remove", "replace"], default="add-remove")
    parser.add_argument("--records", type=int, default=1, help="the number of records of a user")
    given = parser.parse_args()
    adjacency = Adjacency(given.adjacency)
    answer(Point(0.01, 1.0, 1000, 1e-6), adjacency, given.records)
    answers = []
    for point in points(given.count):
        answers.append(answer(point, adjacency, given.records))
        if answers[-1].width > NARROW or answers[-1].seconds >= FAST:
            print(answers[-1], flush=True)
    asked = f"Adjacency {adjacency.value}, records {given.records}, seed {SEED}."
    print(f"\n{measured()} {asked}\n\n{table(answers)}")


if __name__ == "__main__":
    main()
