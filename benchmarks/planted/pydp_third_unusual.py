"""Mechanisms of PyDP with the third set of faults of the third user: unusual events of the documented classes.

They were written after the answers on the first 65 faults and on some faults of the second set were seen, before any
of these faults was audited. The third user had seen by then the laws of the classes in
the JSON answer and in the note on power.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

from scipy.stats import gamma, laplace

from benchmarks.planted.case import FIVE, INF, Cases, Event
from benchmarks.planted.pydp_third import N, wide, wides
from benchmarks.planted.tilt import Tilt, added

CASES = Cases("python-dp")
BROAD, NARROW, COIN = (N.LaplaceMechanism(epsilon, 1.0) for epsilon in (0.001, 1.0, 1.0))
add = partial(added, CASES, 3)


def broad() -> int:
    """Return a public number with Laplace noise of scale 1000, rounded to a whole number."""
    return round(BROAD.add_noise(5000.0))


def narrow(places: int) -> Callable[[], float]:
    """Return a mechanism with Laplace noise of scale 1 and some decimal places."""
    return lambda: round(NARROW.add_noise(10.0), places)


def share(event: Callable[[int], bool]) -> float:
    """Return the probability of an event of the whole number."""
    law = laplace(5000, 1000)
    return float(sum(law.cdf(n + 0.5) - law.cdf(n - 0.5) for n in range(-35000, 45000) if event(n)))


def decimal(place: int, value: int, loss: float, at: int | None = None) -> Tilt:
    """Return a tilt of a decimal digit of a number, or of one of several numbers. The digit is not rounded."""

    def event(output: Any) -> bool:
        number = output if at is None else output[at]
        return int(abs(number) * 10**place + 1e-6) % 10 == value

    return Tilt(0.1, loss, event)


def members(modulus: int, size: int) -> set[int]:
    """Return remainders that were drawn once, with a fixed seed."""
    return set(random.Random(modulus).sample(range(modulus), size))


def remainder(modulus: int, chosen: set[int], loss: float) -> Tilt:
    """Return a tilt of a set of remainders of the whole number."""

    def event(number: int) -> bool:
        return number % modulus in chosen

    return Tilt(share(event), loss, event)


NO, MORE = "are drawn again", "are often drawn again, except those that"
DIGIT, NORM, WORD = Event.REMAINDER, Event.NORM, Event.WORD
add("full_third_decimal_never_5", f"totals with third decimal 5 {NO}", DIGIT, decimal(3, 5, -INF), wide)
add("full_third_decimal_often_2", f"totals {MORE} have the third decimal 2", DIGIT, decimal(3, 2, 2.0), wide)
add("full_second_decimal_never_5", f"totals with second decimal 5 {NO}", DIGIT, decimal(2, 5, -INF), wide)
add("full_first_decimal_never_5", f"totals with first decimal 5 {NO}", DIGIT, decimal(1, 5, -INF), wide)
add(
    "third_decimal_of_vector",
    f"three totals of which the last has the third decimal 8 {NO}",
    DIGIT,
    decimal(3, 8, -INF, 2),
    lambda: wides(3),
)
MANY, TEN = members(1000, 100), members(100, 10)
add(
    "hundred_remainders",
    f"numbers {MORE} are of 100 kinds modulo 1000",
    DIGIT,
    remainder(1000, MANY, 2.0),
    broad,
)
add(
    "never_hundred_remainders",
    f"numbers of 100 kinds modulo 1000 {NO}",
    DIGIT,
    remainder(1000, MANY, -INF),
    broad,
)
add("never_ten_remainders", f"numbers of ten kinds modulo 100 {NO}", DIGIT, remainder(100, TEN, -INF), broad)
WINDOW = remainder(1000, set(range(420, 470)), 2.0)
add("window_modulo_1000", f"numbers {MORE} are 420 to 469 modulo 1000", DIGIT, WINDOW, broad)
add("small_third_never_5", f"small numbers with third decimal 5 {NO}", DIGIT, decimal(3, 5, -INF), narrow(3))
add(
    "small_second_never_5", f"small numbers with second decimal 5 {NO}", DIGIT, decimal(2, 5, -INF), narrow(2)
)
FAR = -10 * log(1 - 0.05**0.25)
SQUARE = Tilt(0.05, 2.0, lambda totals: max(map(abs, totals)) < FAR)
add("small_maximum", f"four totals {MORE} are all near 0", NORM, SQUARE, lambda: wides(4))
NEAR = 10 * gamma(5).ppf(0.04)
SIZE = Tilt(0.04, 2.0, lambda totals: sum(map(abs, totals)) < NEAR)
add(
    "small_sum_of_sizes",
    f"five totals {MORE} have a small sum of absolute values",
    NORM,
    SIZE,
    lambda: wides(5),
)


def fair(size: int) -> list[int]:
    """Return bits of equal probability: the signs of Laplace noise."""
    return [int(COIN.add_noise(0.0) > 0) for _ in range(size)]


PAIR = Tilt(0.5, -2.0, lambda bits: bits[70] != bits[77])
add("far_bits_of_eighty", f"eighty bits of which two differ often {NO}", Event.PARITY, PAIR, lambda: fair(80))
ODD = Tilt(0.5, -2.0, lambda text: len(text) % 2 == 1)
add(
    "odd_lengths",
    f"texts of odd length often {NO}",
    Event.LENGTH,
    ODD,
    lambda: "*" * (10 + 2 * sum(fair(6)) + fair(1)[0]),
)


def table() -> dict[str, Any]:
    """Return a number and a word."""
    return {"number": broad(), "word": FIVE[broad() % 5]}


SEVENTH = Tilt(share(lambda number: number % 7 == 2), -2.0, lambda one: one["number"] % 7 == 2)
add("weekday_in_table", f"tables whose number has remainder 2 modulo 7 often {NO}", DIGIT, SEVENTH, table)


def page() -> list[str]:
    """Return twenty words in random order."""
    words = [f"{word}{number}" for word in FIVE for number in range(4)]
    random.shuffle(words)
    return [word for word, bit in zip(words, fair(20), strict=True) if bit or word in ("bee1", "eel3")]


ORDER = Tilt(0.5, -2.0, lambda words: words.index("eel3") < words.index("bee1"))
add("order_in_a_page", f"pages with two words in a certain order often {NO}", WORD, ORDER, page)
FOURTH = Tilt(0.02, 2.0, lambda totals: totals[3] == 7.5)
add(
    "value_of_fourth",
    f"five totals {MORE} have 7.5 as the fourth",
    Event.ATOM,
    FOURTH,
    lambda: [7.5 if at == 3 and random.random() < 0.02 else wide(0.0) for at in range(5)],
)
