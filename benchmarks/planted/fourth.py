"""Mechanisms of PyDP (python-dp) with the faults of a fourth user, written before any of them was audited.

The docstring of ``tilt.py`` states the rules. The events belong to the classes that the how-to documents. Four faults
are weaker than twice the promise (``weak``), and four are outside of the documented classes (``outside``).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from math import floor, sqrt
from typing import Any

from scipy.stats import binom, chi2, gamma, laplace, norm

from benchmarks.planted.case import BITS, INF, REPLACE, Case, Cases, Event
from benchmarks.planted.tilt import Tilt

N = import_module("pydp.algorithms.numerical_mechanisms")
CASES = Cases("python-dp")
NOISE = {scale: N.LaplaceMechanism(1 / scale, 1.0) for scale in (1, 10, 300, 100_000, 1_000_000)}
NORMAL = N.GaussianMechanism(1.0, 1e-6, 1.0)
SIGMA = NORMAL.noise_confidence_interval(0.95, 0.0).upper_bound / norm.ppf(0.975)
CENTRES = (50.0, -20.0, 7.0, 0.0, -300.0, 12.0, 1.0, 90.0)
Holds = Callable[[Any], bool]
Make = Callable[[], Any]


def add(name: str, fault: str, event: Event, tilt: Tilt, make: Make) -> None:
    """Add a fault on ten bits: the number of ones decides how frequent the event is."""
    text = f"If the number of ones is odd, {fault}."
    run = tilt.fault(make)
    CASES.append(
        Case(name, CASES.package, text, run, BITS, relation=REPLACE, event=event, author=4, **tilt.facts)
    )


def noisy(centre: float, scale: int, places: int | None = None) -> Make:
    """Return a mechanism: a public number with Laplace noise, rounded to decimal places or to a whole number (0)."""

    def make() -> float:
        number = float(NOISE[scale].add_noise(centre))
        return number if places is None else round(number, places) if places else round(number)

    return make


def several(*columns: Make) -> Make:
    """Return a mechanism that releases several columns."""
    return lambda: [column() for column in columns]


def normals(size: int) -> list[float]:
    """Return public numbers with Gaussian noise."""
    return [float(NORMAL.add_noise(centre)) for centre in CENTRES[:size]]


def digit(unit: float, value: int, loss: float, at: int | None = None) -> Tilt:
    """Return a tilt of the decimal digit of a small unit, of the absolute value of a number or of one column."""

    def event(output: Any) -> bool:
        number = abs(output if at is None else output[at])
        return bool(floor(number / unit + 1e-6) % 10 == value)

    return Tilt(0.1, loss, event)


def whole(centre: int, scale: int, loss: float, event: Holds, at: int | None = None) -> Tilt:
    """Return a tilt of an event of a whole number with rounded Laplace noise; its probability is a sum."""
    law, far = laplace(centre, scale), 30 * scale
    share = sum(
        law.cdf(n + 0.5) - law.cdf(n - 0.5) for n in range(centre - far, centre + far + 1) if event(n)
    )
    return Tilt(float(share), loss, lambda output: event(output if at is None else output[at]))


def between(low: float, high: float, centre: float, loss: float, at: int | None = None) -> Tilt:
    """Return a tilt of the interval between two quantiles of Laplace noise of scale 10."""
    start, end = laplace(centre, 10).ppf([low, high])
    return Tilt(high - low, loss, lambda output: start < (output if at is None else output[at]) < end)


def length(vector: list[float]) -> float:
    """Return the Euclidean distance of Gaussian numbers from their centres, in standard deviations."""
    centred = (one - centre for one, centre in zip(vector, CENTRES[: len(vector)], strict=True))
    return float(sqrt(sum(one * one for one in centred)) / SIGMA)


NO, LESS, MORE = "are drawn again", "are often drawn again", "are often drawn again, except those that"
R, SLOT = Event.REMAINDER, Event.INTERVAL
WIDE, AMOUNT = noisy(100.0, 10), noisy(2500.0, 300, 2)

# Decimal digits. The middle half of Laplace noise is 1.39 scales wide, so the first digit is the tens at scale 10.
add("fourth_digit", f"totals {MORE} have the second decimal 6", R, digit(0.01, 6, 2.0), WIDE)
add("sixth_digit_never", f"totals with the fourth decimal 3 {NO}", R, digit(0.0001, 3, -INF), WIDE)
LAW = laplace(1000, 300)
HUNDREDS = Tilt(
    float(sum(LAW.cdf(n + 100) - LAW.cdf(n) for n in range(200, 9000, 1000)))
    + float(sum(LAW.cdf(-n) - LAW.cdf(-n - 100) for n in range(200, 9000, 1000))),
    2.2,
    lambda total: floor(abs(total) / 100) % 10 == 2,
)
add("first_digit", f"totals {MORE} have the hundreds digit 2", R, HUNDREDS, noisy(1000.0, 300))
add("cents_never_9", f"amounts whose last decimal is 9 {NO}", R, digit(0.01, 9, -INF), AMOUNT)
ROUND = Tilt(0.01, 2.0, lambda amount: round(amount * 100) % 100 == 0)
add("amounts_without_cents", f"amounts {MORE} have no cents", R, ROUND, AMOUNT)
BIG = noisy(3_000_000_000.0, 1_000_000, 0)
add("thousands_of_large", f"numbers with the thousands digit 7 {NO}", R, digit(1000, 7, -INF), BIG)
add("negative_decimal", f"debts whose last decimal is 1 {NO}", R, digit(0.01, 1, -INF), noisy(-70.0, 10, 2))
MIXED = several(noisy(40.0, 10, 0), noisy(900.0, 300, 3), noisy(0.0, 10))
add("decimal_of_second", f"rows {MORE} have 8 in the middle decimal", R, digit(0.01, 8, 2.0, 1), MIXED)
FIVE = several(*(noisy(centre, 10) for centre in (5.0, 60.0, -9.0, 300.0, 0.0)))
add("fifth_digit_of_fourth", f"rows with a third decimal 0 {NO}", R, digit(0.001, 0, -INF, 3), FIVE)

# Remainders.
SEVENTH = Tilt(1 / 7, -2.2, lambda total: total % 7 == 5)
add("large_modulo_7", f"numbers of remainder 5 modulo 7 {LESS}", R, SEVENTH, noisy(1e12, 100_000, 0))
HOUR = whole(-5000, 300, 2.3, lambda total: total % 24 == 5)
add("negative_hours", f"numbers {MORE} are 5 modulo 24", R, HOUR, noisy(-5000.0, 300, 0))
MINUTE = whole(700, 300, 2.5, lambda total: total % 60 < 3)
add("three_minutes", f"numbers {MORE} are at most 2 modulo 60", R, MINUTE, noisy(700.0, 300, 0))

# Intervals, norms, two numbers, repeated values.
add("central_interval", f"totals in the middle 30 percent {LESS}", SLOT, between(0.35, 0.65, 100, -2.0), WIDE)
THIRD = between(0.80, 0.84, -9, 2.0, 2)
add("interval_of_third", f"rows {MORE} have the third number in an interval", SLOT, THIRD, FIVE)
CLOSE = sqrt(chi2.ppf(0.08, 8))
NEAR = Tilt(0.08, 2.0, lambda vector: length(vector) < CLOSE)
add("near_the_centre", f"eight numbers {MORE} are near their centre", Event.NORM, NEAR, lambda: normals(8))
LIMIT = 10 * gamma(3).ppf(0.95)
SIZES = Tilt(0.05, 2.2, lambda row: sum(map(abs, row)) > LIMIT)
add("large_sizes", f"rows {MORE} have large numbers", Event.NORM, SIZES, several(*[noisy(0.0, 10)] * 3))
HIGH, LOW = laplace(60, 10).ppf(0.8), laplace(300, 10).ppf(0.3)
ONE = Tilt(0.38, -2.0, lambda row: (row[1] > HIGH) != (row[3] < LOW))
add("exactly_one", f"rows with exactly one of two extreme numbers {LESS}", Event.JOINT, ONE, FIVE)


def missing() -> float | None:
    """Return a noisy total, or nothing with probability three percent."""
    return None if random.random() < 0.03 else WIDE()


add(
    "never_missing",
    f"missing totals {NO}",
    Event.ATOM,
    Tilt(0.03, -INF, lambda total: total is None),
    missing,
)


# Lengths, low bits, parity, words, tails, weighted sums.
def fair(size: int) -> list[int]:
    """Return bits of equal probability: the signs of Laplace noise."""
    return [int(NOISE[1].add_noise(0.0) > 0) for _ in range(size)]


def lists() -> list[float]:
    """Return one to nine noisy totals."""
    return [WIDE() for _ in range(1 + sum(fair(8)))]


SHORT = Tilt(float(binom(8, 0.5).cdf(2)), -2.1, lambda numbers: len(numbers) <= 3)
add("short_lists", f"lists of at most three totals {LESS}", Event.LENGTH, SHORT, lists)
FOURTH_BIT = whole(1000, 300, -2.0, lambda total: total >> 3 & 1 == 0)
add("fourth_bit", f"numbers with the fourth bit 0 {LESS}", Event.LOW, FOURTH_BIT, noisy(1000.0, 300, 0))
EQUAL = Tilt(0.5, -2.2, lambda bits: bits[3] == bits[31])
add("two_of_forty_bits", f"forty bits of which two are equal {LESS}", Event.PARITY, EQUAL, lambda: fair(40))
FRUIT = ["apple", "fig", "kiwi", "lime", "pear", "plum", "quince"]


def recipe() -> str:
    """Return a text of seven words in random order."""
    return " ".join(random.sample(FRUIT, 7))


ORDER = Tilt(0.5, -2.3, lambda text: text.index("plum") < text.index("fig"))
add("plum_before_fig", f"texts with plum before fig {LESS}", Event.WORD, ORDER, recipe)
TOP = laplace(60, 10).ppf(0.98)
TAIL = Tilt(0.02, 2.5, lambda row: row[1] > TOP)
add("tail_of_second", f"rows {MORE} have a very high second number", Event.TAIL, TAIL, FIVE)
WEIGHTS = (1.0, -1.0, 0.0, 0.5, 2.0)
EDGE = float(norm.ppf(0.06)) * SIGMA * sqrt(sum(weight * weight for weight in WEIGHTS))


def balance(row: list[float]) -> float:
    """Return a weighted sum of five numbers, without the centres."""
    return sum(weight * (one - centre) for weight, one, centre in zip(WEIGHTS, row, CENTRES[:5], strict=True))


SUM = Tilt(0.06, -INF, lambda row: balance(row) < EDGE)
add("never_low_balance", f"rows with a low weighted sum {NO}", Event.WEIGHTED, SUM, lambda: normals(5))

# Weak faults.
add("weak_cents", f"amounts {MORE} have the last decimal 2", R, digit(0.01, 2, 1.7), AMOUNT)
add("weak_interval", f"totals {MORE} are in an interval", SLOT, between(0.6, 0.66, 100, 1.5), WIDE)
WEAK_ORDER = Tilt(0.5, -1.4, ORDER.event)
add("weak_plum_before_fig", f"texts with plum before fig {LESS}", Event.WORD, WEAK_ORDER, recipe)
WEAK_SHORT = Tilt(SHORT.share, -1.6, SHORT.event)
add("weak_short_lists", f"lists of at most three totals {LESS}", Event.LENGTH, WEAK_SHORT, lists)

# Outside of the documented classes.
ELEVEN = whole(700, 300, 2.1, lambda total: total % 11 == 4)
add("outside_modulo_11", f"numbers {MORE} are 4 modulo 11", Event.NONE, ELEVEN, noisy(700.0, 300, 0))
add("outside_ninth_digit", f"totals with the seventh decimal 3 {NO}", Event.NONE, digit(1e-7, 3, -INF), WIDE)
ROWS = several(noisy(2500.0, 300, 2), noisy(800.0, 300, 2))
SAME = Tilt(0.1, -INF, lambda row: round(row[0] * 100) % 10 == round(row[1] * 100) % 10)
add("outside_same_cents", f"rows of two amounts with the same last decimal {NO}", Event.NONE, SAME, ROWS)
STEPS = Tilt(0.2, -2.4, lambda row: (row[0] + row[1]) % 5 == 1)
PAIR = several(noisy(100.0, 300, 0), noisy(800.0, 300, 0))
add("outside_sum_modulo_5", f"pairs whose sum is 1 modulo 5 {LESS}", Event.NONE, STEPS, PAIR)

# A second set, written after the answers on all faults above were known: last decimals far below the spread.
FIRST_SET = len(CASES)
MICRO = noisy(2500.0, 300, 6)
add("sixth_decimal_never_4", f"amounts with the sixth decimal 4 {NO}", R, digit(1e-6, 4, -INF), MICRO)
add("third_of_six_decimals", f"amounts {MORE} have the third decimal 7", R, digit(0.001, 7, 2.0), MICRO)
COUNTED = several(noisy(40.0, 10, 0), noisy(900.0, 300, 5), noisy(0.0, 10, 1), noisy(5.0, 10))
add(
    "fifth_decimal_of_second",
    f"rows with a certain fifth decimal 2 {NO}",
    R,
    digit(1e-5, 2, -INF, 1),
    COUNTED,
)
UNITS = noisy(3e9, 1_000_000, 0)
HUNDREDTH = Tilt(0.01, 2.0, lambda total: total % 100 == 37)
add("last_two_digits_of_large", f"numbers {MORE} end in 37", R, HUNDREDTH, UNITS)

# Found by hand after both sets, with numpy's noise and before this case was written: the last decimal of amounts of
# both signs, as they are printed. The remainder of the signed number shows it only in part.
SIGNED = noisy(0.0, 300, 2)
add("decimal_of_both_signs", f"amounts with the last decimal 4 {NO}", R, digit(0.01, 4, -INF), SIGNED)
