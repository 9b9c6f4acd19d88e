"""Mechanisms of PyDP with further faults of the third user: events that are narrow or seldom.

They were written after the first answers on the other faults of the third user were seen, before any of these faults
was audited.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from math import exp, log, sqrt
from typing import Any

from scipy.stats import chi2, norm

from benchmarks.planted.case import INF, Cases, Event
from benchmarks.planted.pydp_third import SIGMA, WEIGHTS, beyond, length, normals, weighted, wide, wides
from benchmarks.planted.tilt import Tilt, added

CASES = Cases("python-dp")
SPREAD = SIGMA * sqrt(sum(weight * weight for weight in WEIGHTS))
EDGE, RADIUS = SPREAD * norm.ppf(0.99), sqrt(chi2.ppf(0.01, 5))
STEP = -10 * log(exp(-0.3) - 0.02)
add = partial(added, CASES, 2)


def decimal(place: int, value: int, loss: float, at: int | None = None) -> Tilt:
    """Return a tilt of a decimal digit of a number, or of one of several numbers."""

    def event(output: Any) -> bool:
        number = output if at is None else output[at]
        return round(number * 10**place) % 10 == value

    return Tilt(0.1, loss, event)


def rounded(places: int) -> Callable[[], float]:
    """Return a mechanism with a number of decimal places."""
    return lambda: round(wide(), places)


def few(places: int) -> Callable[[], list[float]]:
    """Return a mechanism of four numbers with a number of decimal places."""
    return lambda: [round(number, places) for number in wides(4)]


def mixed() -> float:
    """Return a noisy total, or 99.5 with probability one percent."""
    return 99.5 if random.random() < 0.01 else wide()


NO = "are drawn again"
LESS, MORE = "are often drawn again", "are often drawn again, except those that"
DIGIT, SLOT, JOINT = Event.REMAINDER, Event.INTERVAL, Event.JOINT
add("first_decimal_never_5", f"totals with first decimal 5 {NO}", DIGIT, decimal(1, 5, -INF), rounded(1))
add("second_decimal_never_5", f"totals with second decimal 5 {NO}", DIGIT, decimal(2, 5, -INF), rounded(2))
add("third_decimal_often_7", f"totals {MORE} end in 7", DIGIT, decimal(3, 7, 2.0), rounded(3))
add("third_decimal_seldom_7", f"totals that end in 7 {LESS}", DIGIT, decimal(3, 7, -2.0), rounded(3))
add("decimal_of_third", f"vectors whose third number ends in 0 {NO}", DIGIT, decimal(2, 0, -INF, 2), few(2))
add(
    "decimal_of_longer",
    f"totals with second of six decimals 4 {MORE} do",
    DIGIT,
    decimal(2, 4, 2.0),
    rounded(6),
)
TAIL = Tilt(0.01 * exp(-2), 2.0, lambda total: total > 100 + beyond(0.01 * exp(-2)))
add("tail_of_at_most_1", f"totals {MORE} are very high", Event.TAIL, TAIL, wide)
TAIL = Tilt(0.01, 2.0, lambda total: total > 100 + beyond(0.01))
add("tail_of_1_percent", f"totals {MORE} are in the highest percent", Event.TAIL, TAIL, wide)
SLIT = Tilt(0.01, 2.0, lambda total: 103 < total < 100 + STEP)
add("interval_of_1_percent", f"totals {MORE} are in an interval of one percent", SLOT, SLIT, wide)
add("interval_never", f"totals in an interval of one percent {NO}", SLOT, Tilt(0.01, -INF, SLIT.event), wide)
BOTH = Tilt(0.01, 2.0, lambda pair: min(pair) > beyond(0.1))
add("joint_of_1_percent", f"pairs {MORE} are both in the highest tenth", JOINT, BOTH, lambda: wides(2))
SHORT = Tilt(0.01, 2.0, lambda vector: length(vector) < RADIUS)
add("norm_of_1_percent", f"vectors {MORE} have a small norm", Event.NORM, SHORT, lambda: normals(5))
SUM = Tilt(0.01, 2.0, lambda vector: weighted(vector) > EDGE)
add("score_of_1_percent", f"vectors {MORE} have a high score", Event.WEIGHTED, SUM, lambda: normals(4))
ATOM = Tilt(0.01, 2.0, lambda total: total == 99.5)
add("value_of_1_percent", f"totals {MORE} are 99.5", Event.ATOM, ATOM, mixed)
