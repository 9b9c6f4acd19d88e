"""Mechanisms of multi-freq-ldpy with further faults of the third user: events that are narrow or seldom.

They were written after the first answers on the other faults of the third user were seen, before any of these faults
was audited.
"""

from __future__ import annotations

from functools import partial
from math import exp

from benchmarks.planted.case import INF, Cases, Event
from benchmarks.planted.multi_freq_ldpy_third import (
    DIAGNOSES,
    GRR,
    ONE,
    PRESENT,
    UNEQUAL,
    bits,
    chosen,
    diagnoses,
    size_law,
)
from benchmarks.planted.tilt import Tilt, added

CASES = Cases("multi-freq-ldpy")
add = partial(added, CASES, 2)


NO = "are drawn again"
LESS, MORE = "are often drawn again", "are often drawn again, except those that"
PAIR = Tilt(UNEQUAL, -2.0, lambda answers: answers[3] != answers[27])
add("two_of_thirty_bits", f"thirty bits of which two differ {LESS}", Event.PARITY, PAIR, lambda: bits(30))
SIX = Tilt(ONE**2 * (1 - ONE) ** 4, 2.0, lambda answers: answers == [0, 1, 0, 0, 1, 0])
add("pattern_of_six", f"six bits {MORE} are 010010", Event.ATOM, SIX, lambda: bits(6))
add(
    "never_a_pattern",
    f"six bits that are 010010 {NO}",
    Event.ATOM,
    Tilt(SIX.share, -INF, SIX.event),
    lambda: bits(6),
)


def two_words() -> str:
    """Return two words, each of them one of 100, randomised with epsilon 0.5."""
    return " ".join(DIAGNOSES[GRR(0, 100, 0.5)] for _ in range(2))


SELDOM = 1 - (1 - 1 / (exp(0.5) + 99)) ** 2
GOUT = Tilt(SELDOM, 2.0, lambda text: "gout" in text)
add("word_of_2_percent", f"two words {MORE} contain gout", Event.WORD, GOUT, two_words)
add(
    "never_a_word", f"two words that contain gout {NO}", Event.WORD, Tilt(SELDOM, -INF, GOUT.event), two_words
)
LENGTH = Tilt(size_law(10), 2.0, lambda categories: len(categories) == 10)
add("list_of_ten", f"lists {MORE} have ten categories", Event.LENGTH, LENGTH, chosen)
NEVER = Tilt(size_law(7), -INF, lambda categories: len(categories) == 7)
add("never_seven", f"lists of seven categories {NO}", Event.LENGTH, NEVER, chosen)
SIXTH = Tilt(PRESENT, 2.0, lambda text: "rare7 " in f"{text} ")
add("word_rare7", f"six words {MORE} contain rare7", Event.WORD, SIXTH, diagnoses)
