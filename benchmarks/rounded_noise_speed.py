"""Nanoseconds a draw of exact rounded noise, beside numpy's floating-point noise in the same run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from benchmarks.timing import measured
from dpproof.mechanisms.release.rounded_noise import RoundedLaplace, RoundedNormal
from dpproof.mechanisms.release.words import seeded_words, system_words

DRAWS, ROUNDS = 1_000_000, 15
LIMIT = 5
"""A draw may take this many times as long as one of numpy's `standard_normal`."""
SCALES = (Fraction(5, 2), Fraction(1000), Fraction(2**20), Fraction(2**30), Fraction(2**40))


def section() -> list[str]:
    """Return the lines of the page."""
    least = _least(_ways())
    numpy = least["numpy `standard_normal`"]
    lines = ["## Rounded noise, one thread", ""]
    lines += [
        f"Processor nanoseconds a draw, the least of {ROUNDS} rounds of {DRAWS:,} draws. The ways take turns within a",
        "round. The time includes the random bits. They come from the operating system except where the row says",
        f"otherwise. The target is at most {LIMIT} times numpy. {measured()}",
        "",
        "| what | ns a draw | times numpy |",
        "|---|---|---|",
    ]
    return [
        *lines,
        *(
            f"| {name} | {1e9 * seconds / DRAWS:.1f} | {seconds / numpy:.1f} |"
            for name, seconds in least.items()
        ),
    ]


def _ways() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    words = seeded_words(np.random.default_rng(1))
    ways: dict[str, Callable[[], object]] = {
        "numpy `standard_normal`": lambda: rng.standard_normal(DRAWS),
        "numpy `laplace`": lambda: rng.laplace(size=DRAWS),
        "8 bytes of `os.urandom`": lambda: system_words(DRAWS),
    }
    for scale in SCALES:
        for noise in (RoundedNormal(scale), RoundedLaplace(scale)):
            ways[f"`{noise!r}`"] = partial(noise.draw, DRAWS)
    seeded = RoundedNormal(SCALES[0])
    ways[f"`{seeded!r}`, simulation with PCG64"] = lambda: seeded.draw(DRAWS, words)
    return ways


def _least(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least seconds of each way."""
    least = dict.fromkeys(ways, math.inf)
    for _ in range(ROUNDS):
        for name, work in ways.items():
            start = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - start)
    return least


if __name__ == "__main__":
    print("\n".join(section()))
