"""Mechanisms of diffprivlib with further faults of the third user: events that are narrow or seldom.

They were written after the first answers on the other faults of the third user were seen, before any of these faults
was audited.
"""

from __future__ import annotations

from functools import partial

from benchmarks.planted.case import INF, Cases, Event
from benchmarks.planted.diffprivlib_third import geometric, share, tilt
from benchmarks.planted.tilt import Tilt, added

CASES = Cases("diffprivlib")
add = partial(added, CASES, 2)


NO = "are drawn again"
LESS, MORE = "are often drawn again", "are often drawn again, except those that"
R, L = Event.REMAINDER, Event.LOW
add(
    "never_half_past",
    f"numbers of remainder 30 modulo 60 {NO}",
    R,
    tilt(-INF, lambda n: n % 60 == 30),
    geometric,
)
add("never_hundreds", f"numbers that end in 00 {NO}", R, tilt(-INF, lambda n: n % 100 == 0), geometric)
add("thirds", f"numbers that can be divided by 3 {LESS}", R, tilt(-2.0, lambda n: n % 3 == 0), geometric)
add("tenths", f"numbers that end in 8 {LESS}", R, tilt(-2.0, lambda n: n % 10 == 8), geometric)
add(
    "five_low_bits",
    f"numbers {MORE} have the low bits 10001",
    L,
    tilt(2.0, lambda n: n & 31 == 17),
    geometric,
)
add(
    "never_five_bits",
    f"numbers with the low bits 10001 {NO}",
    L,
    tilt(-INF, lambda n: n & 31 == 17),
    geometric,
)
add(
    "inner_bits",
    f"numbers {MORE} have a 9 as second digit in base 16",
    L,
    tilt(2.0, lambda n: n >> 4 & 15 == 9),
    geometric,
)


def last_of_three(number: list[int]) -> bool:
    """Whether the last of three numbers ends in 6."""
    return number[2] % 10 == 6


LAST = Tilt(share(lambda total: total % 10 == 6), 2.0, last_of_three)
add("digit_of_three", f"three numbers {MORE} end in 6", R, LAST, lambda: [geometric() for _ in range(3)])
