"""How often "consistent" is said of a mechanism with exactly twice the claimed epsilon, by classes of events.

A fault is hidden in one event of a class, drawn anew for every seed: one coordinate beyond a threshold, a tail of
it, a random projection, the presence or the order of a token, the parity of two of 64 bits, three to eight adjacent low
bits. Inside and outside of the event the outputs have the same law on both inputs; the event has chance a on
one and exp(2 epsilon) a on the other, with mean `mass`. Run as a module it prints a table.

    python -m benchmarks.audits.misses [RUNS]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.audit_power import BITS
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.targets.call import audit

EPSILON, ALPHA, WIDTH, WORDS = 1.0, 0.01, 5, 12
BUDGETS = (5_000, 20_000, 60_000)
"""From one at which hardly anything is called consistent to one at which most true claims are."""

Generator = np.random.Generator
Inside = NDArray[np.bool_]
Fault = Callable[[Generator], Callable[[Inside, Generator], Any]]
"""Draws an event, and gives the function that draws outputs, each inside or outside of it as is asked."""


def _tail(rng: Generator, mass: float) -> Callable[[Inside, Generator], Any]:
    column, sign = rng.integers(WIDTH), rng.choice([-1, 1])

    def outputs(inside: Inside, rng: Generator) -> Any:
        drawn = rng.standard_normal((len(inside), WIDTH))
        drawn[:, column] = sign * _normal(inside, mass, rng)
        return drawn

    return outputs


def _normal(inside: Inside, mass: float, rng: Generator) -> NDArray[np.float64]:
    """Standard normal numbers given that they lie in the upper tail of this mass, or below it."""
    uniform = rng.random(len(inside))
    return np.asarray(-ndtri(np.where(inside, mass * uniform, mass + (1 - mass) * uniform)))


def _projection(rng: Generator, mass: float) -> Callable[[Inside, Generator], Any]:
    direction = rng.standard_normal(WIDTH)
    direction /= np.linalg.norm(direction)

    def outputs(inside: Inside, rng: Generator) -> Any:
        drawn = rng.standard_normal((len(inside), WIDTH))
        return drawn + (_normal(inside, mass, rng) - drawn @ direction)[:, None] * direction

    return outputs


def _parity(rng: Generator, _mass: float) -> Callable[[Inside, Generator], Any]:
    one, other = rng.choice(64, 2, replace=False)

    def outputs(inside: Inside, rng: Generator) -> Any:
        drawn = rng.integers(0, 2, (len(inside), 64))
        drawn[:, other] = drawn[:, one] ^ inside
        return drawn

    return outputs


def _low_bits(rng: Generator, _mass: float) -> Callable[[Inside, Generator], Any]:
    size = int(rng.integers(3, 9))
    shift, patterns = int(rng.integers(0, 9 - size)), rng.permutation(1 << size)
    half = len(patterns) // 2

    def outputs(inside: Inside, rng: Generator) -> Any:
        drawn = rng.integers(0, 1 << 20, len(inside))
        chosen = patterns[rng.integers(0, half, len(inside)) + half * ~inside]
        return (drawn & ~(((1 << size) - 1) << shift)) | (chosen << shift)

    return outputs


def _presence(rng: Generator, _mass: float) -> Callable[[Inside, Generator], Any]:
    word = f"w{rng.integers(WORDS)}"

    def outputs(inside: Inside, rng: Generator) -> Any:
        others = [[x for x in _words(row) if x != word] for row in rng.integers(0, WORDS, (len(inside), 2))]
        return [" ".join([*row, word] if there else row) for row, there in zip(others, inside, strict=True)]

    return outputs


def _order(rng: Generator, _mass: float) -> Callable[[Inside, Generator], Any]:
    one, other = _words(rng.choice(WORDS, 2, replace=False))

    def outputs(inside: Inside, rng: Generator) -> Any:
        before = [_words(row) for row in rng.integers(WORDS, 2 * WORDS, (len(inside), 2))]
        pairs = [(one, other) if first else (other, one) for first in inside]
        return [" ".join([*row, *pair]) for row, pair in zip(before, pairs, strict=True)]

    return outputs


def _words(row: NDArray[np.int64]) -> list[str]:
    return [f"w{number}" for number in row]


FAULTS: Mapping[str, tuple[Fault, float]] = {
    "a tail of one coordinate": (partial(_tail, mass=0.03), 0.03),
    "one coordinate beyond a threshold": (partial(_tail, mass=0.3), 0.3),
    "a random projection": (partial(_projection, mass=0.3), 0.3),
    "parity of two of 64 bits": (partial(_parity, _mass=0.5), 0.5),
    "adjacent low bits of a number": (partial(_low_bits, _mass=0.5), 0.5),
    "presence of a token": (partial(_presence, _mass=0.3), 0.3),
    "order of two tokens": (partial(_order, _mass=0.5), 0.5),
}
"""Class of events -> how a fault is drawn, and the mean of the two chances of its event."""


def found(name: str, budget: int, seed: int) -> str:
    """The answer of one audit of a mechanism with a fault drawn from a class.

    >>> found("parity of two of 64 bits", 20_000, 0)
    'violation'
    """
    fault, mass = FAULTS[name]
    outputs = fault(np.random.default_rng([seed, 1]))
    least = 2 * mass / (1 + math.exp(2 * EPSILON))
    chances = least, math.exp(2 * EPSILON) * least

    def mechanism(value: float, n: int, rng: Generator) -> Any:
        return outputs(rng.random(n) < chances[int(value)], rng)

    return audit(name, PureDP(EPSILON), mechanism, BITS, seed=seed, alpha=ALPHA, budget=budget).verdict.value


def misses(name: str, budget: int, runs: int) -> Counter[str]:
    """How often each answer comes, over seeds 0, 1, 2, ...; "consistent" is a miss."""
    return Counter(found(name, budget, seed) for seed in range(runs))


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(
        "| fault in | budget | runs | violation | inconclusive | consistent (missed) |\n" + "|---" * 6 + "|"
    )
    with ProcessPoolExecutor() as executor:
        for name in FAULTS:
            for budget in BUDGETS:
                counts = Counter(executor.map(found, repeat(name), repeat(budget), range(runs)))
                shown = (counts[word] for word in ("violation", "inconclusive", "consistent"))
                print(f"| {name} | {budget:,} | {runs} | {' | '.join(map(str, shown))} |", flush=True)


if __name__ == "__main__":
    main()
