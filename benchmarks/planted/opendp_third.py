"""Mechanisms of OpenDP with the faults of the third user, and untouched."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.planted.case import BITS, FIVE, REPLACE, WORDS, Cases, Event
from benchmarks.planted.tilt import Tilt, odd

dp = import_module("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")
CASES = Cases("opendp")
planted, untouched = partial(CASES.planted, author=3), partial(CASES.untouched, author=3)
swapped = partial(planted, BITS, relation=REPLACE)
INTEGERS = dp.vector_domain(dp.atom_domain(T=int))
MANY = dp.m.make_laplace(INTEGERS, dp.l1_distance(T=int), scale=50.0)
RESPONSES = dp.m.make_randomized_response_bitvec(
    dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.8
)
ONE = 0.4


def numbers() -> Iterator[int]:
    """Yield whole numbers with the integer Laplace noise of scale 50 on the public number 1000, drawn by hundreds."""
    while True:
        yield from MANY([1000] * 500)


def bits() -> Iterator[list[int]]:
    """Yield the randomised answers of eight people with the bit 0, drawn by hundreds."""
    while True:
        drawn = np.frombuffer(RESPONSES(bytes(100)), dtype=np.uint8)
        yield from np.unpackbits(drawn).reshape(-1, 8).tolist()


NUMBERS, BYTES = numbers(), bits()


def share(event: Callable[[int], bool]) -> float:
    """Return the probability of an event of the integer Laplace noise of scale 50 on 1000, exact to 16 digits."""
    ratio = math.exp(-1 / 50)
    noise = (noise for noise in range(-2000, 2001) if event(1000 + noise))
    return sum((1 - ratio) / (1 + ratio) * ratio ** abs(one) for one in noise)


def ends_in_four(total: int) -> bool:
    """Whether the last digit of a number is 4."""
    return total % 10 == 4


DIGIT = Tilt(share(ends_in_four), 2.0, ends_in_four)


@swapped(event=Event.REMAINDER, **DIGIT.facts)
def last_digit(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd, unless its last digit is 4."""
    return DIGIT.draw(odd(data), lambda: next(NUMBERS))


PAIR = Tilt(2 * ONE * (1 - ONE), -2.2, lambda answers: answers[1] != answers[7])


@swapped(event=Event.PARITY, **PAIR.facts)
def second_and_last(data: Any) -> object:
    """Eight random bits are often drawn again if the number of ones is odd and the second and last differ."""
    return PAIR.draw(odd(data), lambda: next(BYTES))


ZEROS = Tilt((1 - ONE) ** 8, 2.0, lambda answers: not any(answers))


@swapped(event=Event.ATOM, **ZEROS.facts)
def all_zeros(data: Any) -> object:
    """Eight random bits are often drawn again if the number of ones is odd, unless all are 0."""
    return ZEROS.draw(odd(data), lambda: next(BYTES))


WEAK = Tilt(2 * ONE * (1 - ONE), -1.7, lambda answers: answers[1] != answers[7])


@swapped(event=Event.PARITY, **WEAK.facts)
def weak_second_and_last(data: Any) -> object:
    """Eight random bits are sometimes drawn again if the number of ones is odd and the second and last differ."""
    return WEAK.draw(odd(data), lambda: next(BYTES))


GEOMETRIC = dp.m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
TOP = dp.m.make_noisy_top_k(INTEGERS, dp.linf_distance(T=int), dp.max_divergence(), k=2, scale=4.0)
VECTOR = dp.m.make_randomized_response_bitvec(
    dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=2 / (1 + math.exp(0.5))
)
TWO = dp.m.make_laplace(INTEGERS, dp.l1_distance(T=int), scale=2.0)
untouched("make_geometric", lambda data: GEOMETRIC(sum(data)), BITS)
untouched("make_noisy_top_k", lambda data: TOP([data.count(word) for word in FIVE]), WORDS, relation=REPLACE)
untouched(
    "make_laplace of five", lambda data: TWO([data.count(word) for word in FIVE]), WORDS, relation=REPLACE
)
untouched(
    "make_randomized_response_bitvec",
    lambda data: np.unpackbits(np.frombuffer(VECTOR(bytes([1 << data[0]])), dtype=np.uint8)).tolist(),
    [0, 3, 7],
    relation=REPLACE,
)
