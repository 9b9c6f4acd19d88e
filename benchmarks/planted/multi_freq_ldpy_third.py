"""Mechanisms of multi-freq-ldpy with the faults of the third user, and untouched."""

from __future__ import annotations

import random
from functools import partial
from importlib import import_module
from math import comb, exp
from typing import Any

from benchmarks.planted.case import BITS, FIVE, INF, REPLACE, Cases, Event
from benchmarks.planted.tilt import Tilt, first, odd

GRR, UE, SS, HE = (
    getattr(import_module(f"multi_freq_ldpy.pure_frequency_oracles.{name}"), f"{name}_Client")
    for name in ("GRR", "UE", "SS", "HE")
)
CASES = Cases("multi-freq-ldpy")
planted, untouched = partial(CASES.planted, author=3), partial(CASES.untouched, author=3)
swapped = partial(planted, BITS, relation=REPLACE)
ONE = 1 / (1 + exp(1))
UNEQUAL = 2 * ONE * (1 - ONE)


def bits(size: int) -> list[int]:
    """Return the answers of several people with the bit 0, each randomised with epsilon 1."""
    return [int(GRR(0, 2, 1.0)) for _ in range(size)]


PAIR = Tilt(UNEQUAL, -2.0, lambda answers: answers[2] != answers[6])


@swapped(event=Event.PARITY, **PAIR.facts)
def two_of_eight_bits(data: Any) -> object:
    """Eight random bits are often drawn again if the number of ones is odd and the third and seventh differ."""
    return PAIR.draw(odd(data), lambda: bits(8))


EQUAL = Tilt(1 - UNEQUAL, -2.5, lambda answers: answers[0] == answers[19])


@swapped(event=Event.PARITY, **EQUAL.facts)
def ends_of_twenty_bits(data: Any) -> object:
    """Twenty random bits are often drawn again if the number of ones is odd and the first equals the last."""
    return EQUAL.draw(odd(data), lambda: bits(20))


NEVER = Tilt(UNEQUAL, -INF, lambda answers: answers[4] != answers[5])


@planted([0, 1], relation=REPLACE, event=Event.PARITY, **NEVER.facts)
def neighbours_agree(data: Any) -> object:
    """Twelve random bits are drawn again if the first person's bit is 1 and the fifth and sixth differ."""
    return NEVER.draw(first(data), lambda: bits(12))


PATTERN = [1, 0, 0, 1]
WHOLE = Tilt((ONE * (1 - ONE)) ** 2, 2.1, lambda answers: answers == PATTERN)


@swapped(event=Event.ATOM, **WHOLE.facts)
def one_pattern(data: Any) -> object:
    """Four random bits are often drawn again if the number of ones is odd, unless they are 1, 0, 0, 1."""
    return WHOLE.draw(odd(data), lambda: bits(4))


CATEGORY = Tilt(1 / (exp(0.1) + 39), 2.0, lambda category: category == 17)


@swapped(event=Event.ATOM, **CATEGORY.facts)
def one_category(data: Any) -> object:
    """One of 40 categories is often drawn again if the number of ones is odd, unless it is the eighteenth."""
    return CATEGORY.draw(odd(data), lambda: int(GRR(0, 40, 0.1)))


DIAGNOSES = ["cold", *(f"rare{index}" for index in range(98)), "gout"]
PRESENT = 1 - (1 - 1 / (exp(0.5) + 99)) ** 6


def diagnoses() -> str:
    """Return the diagnoses of six people, each randomised with epsilon 0.5."""
    return " ".join(DIAGNOSES[GRR(0, 100, 0.5)] for _ in range(6))


GOUT = Tilt(PRESENT, 2.2, lambda text: "gout" in text)


@swapped(event=Event.WORD, **GOUT.facts)
def word_gout(data: Any) -> object:
    """Six random words are often drawn again if the number of ones is odd, unless one is gout."""
    return GOUT.draw(odd(data), diagnoses)


NO_GOUT = Tilt(PRESENT, -INF, lambda text: "gout" in text)


@swapped(event=Event.WORD, **NO_GOUT.facts)
def never_gout(data: Any) -> object:
    """Six random words are drawn again if the number of ones is odd and one is gout."""
    return NO_GOUT.draw(odd(data), diagnoses)


def shuffled() -> list[str]:
    """Return five words in a random order, with a random category among them."""
    words = [*FIVE, f"size{GRR(0, 4, 1.0)}"]
    random.shuffle(words)
    return words


ORDER = Tilt(0.5, -2.0, lambda words: words.index("bee") < words.index("eel"))


@swapped(event=Event.WORD, **ORDER.facts)
def order_of_two(data: Any) -> object:
    """Six words in random order are often drawn again if the number of ones is odd and bee precedes eel."""
    return ORDER.draw(odd(data), shuffled)


def chosen() -> list[int]:
    """Return the categories that unary encoding of 20 categories chose, without the true category."""
    return [index for index, bit in enumerate(UE(0, 21, 1.0, True)) if bit and index]


def size_law(size: int) -> float:
    """Return the probability that 20 categories that are chosen with epsilon 1 are so many."""
    return comb(20, size) * ONE**size * (1 - ONE) ** (20 - size)


FEW = Tilt(size_law(2), 2.0, lambda categories: len(categories) == 2)


@swapped(event=Event.LENGTH, **FEW.facts)
def list_of_two(data: Any) -> object:
    """A list of random categories is often drawn again if the number of ones is odd, unless it has two."""
    return FEW.draw(odd(data), chosen)


MANY = Tilt(sum(size_law(size) for size in range(9, 21)), -INF, lambda text: len(text) >= 9)


@swapped(event=Event.LENGTH, **MANY.facts)
def no_long_text(data: Any) -> object:
    """A text of random letters is drawn again if the number of ones is odd and it has nine letters or more."""
    return MANY.draw(odd(data), lambda: "".join("abcdefghijklmnopqrst"[index - 1] for index in chosen()))


SHORT = Tilt(sum(size_law(size) for size in range(3)), 2.4, lambda stars: len(stars) <= 2)


@planted([0, 1], relation=REPLACE, event=Event.LENGTH, **SHORT.facts)
def short_text(data: Any) -> object:
    """A text of stars is often drawn again if the first bit is 1, unless it has at most two stars."""
    return SHORT.draw(first(data), lambda: "*" * len(chosen()))


WEAK_PAIR = Tilt(UNEQUAL, -1.5, lambda answers: answers[2] != answers[6])
WEAK_GOUT = Tilt(PRESENT, 1.6, lambda text: "gout" in text)
WEAK_LENGTH = Tilt(size_law(3), 1.3, lambda categories: len(categories) == 3)


@swapped(event=Event.PARITY, **WEAK_PAIR.facts)
def weak_parity(data: Any) -> object:
    """Eight random bits are sometimes drawn again if the number of ones is odd and the third and seventh differ."""
    return WEAK_PAIR.draw(odd(data), lambda: bits(8))


@swapped(event=Event.WORD, **WEAK_GOUT.facts)
def weak_word(data: Any) -> object:
    """Six random words are sometimes drawn again if the number of ones is odd, unless one is gout."""
    return WEAK_GOUT.draw(odd(data), diagnoses)


@swapped(event=Event.LENGTH, **WEAK_LENGTH.facts)
def weak_length(data: Any) -> object:
    """A list of random categories is sometimes drawn again if the number of ones is odd, unless it has three."""
    return WEAK_LENGTH.draw(odd(data), chosen)


UNEVEN = (1 - (1 - 2 * ONE) ** 3) / 2
THREE = Tilt(UNEVEN, -2.0, lambda answers: (answers[1] + answers[3] + answers[6]) % 2 == 1)


@swapped(**THREE.facts)
def three_of_eight_bits(data: Any) -> object:
    """Eight random bits are often drawn again if the number of ones is odd and a parity of three of them is, too."""
    return THREE.draw(odd(data), lambda: bits(8))


def inversions(words: list[str]) -> int:
    """Return how many pairs of four words are not in alphabetical order."""
    kept = [word for word in words if word in FIVE[:4]]
    return sum(one > two for at, one in enumerate(kept) for two in kept[at + 1 :])


SWAPS = Tilt(0.5, -INF, lambda words: inversions(words) % 2 == 1)


@swapped(**SWAPS.facts)
def order_of_four(data: Any) -> object:
    """Six words in random order are drawn again if the number of ones is odd and four are an odd permutation."""
    return SWAPS.draw(odd(data), shuffled)


def answers_of_five() -> list[str]:
    """Return five answers, each a word for a random bit."""
    return [f"{word} {'yes' if bit else 'no'}" for word, bit in zip(FIVE, bits(5), strict=True)]


TOGETHER = Tilt(ONE**3, 2.2, lambda words: all(f"{word} yes" in words for word in FIVE[1:4]))


@swapped(**TOGETHER.facts)
def three_words(data: Any) -> object:
    """Five random answers are often drawn again if the number of ones is odd, unless three certain ones are yes."""
    return TOGETHER.draw(odd(data), answers_of_five)


untouched("GRR", lambda data: int(GRR(data[0], 4, 1.0)), [0, 1, 2, 3], relation=REPLACE)
untouched("UE symmetric", lambda data: UE(data[0], 6, 1.0, False), [0, 5, 3], relation=REPLACE)
untouched("UE optimal", lambda data: UE(data[0], 4, 1.0, True), [0, 3, 1], relation=REPLACE)
untouched("SS", lambda data: sorted(map(int, SS(data[0], 8, 1.0))), [0, 7, 3], relation=REPLACE)
untouched("HE", lambda data: HE(data[0], 3, 1.0), [0, 2, 1], relation=REPLACE)
untouched("GRR of words", lambda data: DIAGNOSES[GRR(data[0], 5, 1.0)], [0, 4, 2], relation=REPLACE)
