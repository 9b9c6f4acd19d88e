"""Sixty mechanisms exactly on their claims, ten for each kind of output.

The outputs are numbers, vectors, dictionaries, texts, trees and images. Each mechanism adds independent noise to public
values, or keeps each letter with a known probability. The two inputs differ in one value by 1, in one letter, or in the
whole vector by 1 in L1 or L2 distance. So the claim is the exact privacy of the pair, and only an error of the audit
can make it look false. The audits do not measure their power, which takes most of the time and decides nothing here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.audits.rows import Row
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.laplace_cases import counts_pair
from dpproof.audits.data.neighbours import Distance
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.recording.evidence import Finding

Noise = Callable[[np.random.Generator, tuple[int, ...]], Any]
"""Draws noise of a shape."""
DELTA, ALPHA = 1e-5, 0.05
SEEDS, BUDGET, CHUNK = 250, 4_000, 10


def laplace(epsilon: float) -> tuple[PrivacyCurve, Noise]:
    """The claim of epsilon-DP and Laplace noise of scale 1 / epsilon."""
    return PureDP(epsilon), lambda rng, shape: rng.laplace(0, 1 / epsilon, shape)


def geometric(epsilon: float) -> tuple[PrivacyCurve, Noise]:
    """The claim of epsilon-DP and the difference of two geometric numbers with ratio e^-epsilon."""
    stop = -math.expm1(-epsilon)
    return PureDP(epsilon), lambda rng, shape: rng.geometric(stop, shape) - rng.geometric(stop, shape)


def gaussian(mu: float) -> tuple[PrivacyCurve, Noise]:
    """The claim of mu-Gaussian DP and Gaussian noise of standard deviation 1 / mu."""
    return GaussianDP(mu), lambda rng, shape: rng.normal(0, 1 / mu, shape)


def noisy(values: Any, n: int, rng: np.random.Generator, *, noise: Noise, form: Callable[[Any], Any]) -> Any:
    """Noise on every value, each output in the given form."""
    x = np.asarray(values, dtype=np.float64)
    return form(x + noise(rng, (n, *x.shape)))


def as_dictionaries(rows: Any) -> Any:
    """One dictionary for each row, with a text for each place as key."""
    keys = [f"ward {place}" for place in range(rows.shape[1])]
    return [dict(zip(keys, row, strict=True)) for row in rows.tolist()]


def as_trees(rows: Any) -> Any:
    """One nested list for each row: the first value, and the tree of the others."""
    return [_tree(row) for row in rows.tolist()]


def _tree(row: list[float]) -> list[Any]:
    return row if len(row) < 3 else [row[0], _tree(row[1:])]


def letters(word: str, n: int, rng: np.random.Generator, *, alphabet: str, epsilon: float) -> list[str]:
    """Randomised response for each letter: it is kept, or replaced by another letter, with ratio e^epsilon."""
    codes = np.array([alphabet.index(letter) for letter in word])
    other = 1 / (math.exp(epsilon) + len(alphabet) - 1)
    moved = rng.random((n, codes.size)) < (len(alphabet) - 1) * other
    drawn = (codes + moved * rng.integers(1, len(alphabet), moved.shape)) % len(alphabet)
    table = np.array(list(alphabet))
    return ["".join(row) for row in table[drawn]]


def _one_letter(first: str, second: str) -> None:
    if len(first) != len(second) or sum(a != b for a, b in zip(first, second, strict=True)) != 1:
        raise ValueError(f"{first!r} and {second!r} must differ in one letter")


def _case(name: str, mechanism: Any, pair: Neighbours, claim: PrivacyCurve) -> Case:
    delta = DELTA if isinstance(claim, GaussianDP) else 0.0
    return Case(
        name=name, mechanism=mechanism, pair=pair, claim=claim, delta=delta, expected=Finding.CONSISTENT,
        truth=partial(claim.epsilon, delta), reason="exactly on its claim",
    )  # fmt: skip


def _added(kind: str, size: tuple[int, ...], law: str, amount: float, *, spread: bool = False) -> Case:
    claim, noise = {"laplace": laplace, "geometric": geometric, "gaussian": gaussian}[law](amount)
    first = np.zeros(size)
    share = 1 if not spread else first.size ** (-1 / 2 if law == "gaussian" else -1)
    second = first + share if spread else np.where(np.arange(first.size).reshape(size) == 0, 1.0, 0.0)
    distance = (Distance.L2 if law == "gaussian" else Distance.L1) if spread else Distance.ONE
    pair = counts_pair(first.tolist(), second.tolist(), distance)
    form = {"dictionary": as_dictionaries, "tree": as_trees}.get(kind, np.asarray)
    shape = " x ".join(map(str, size))
    name = f"{kind} {shape}, {law} {amount:g}" + ", all values differ" * spread
    return _case(name, partial(noisy, noise=noise, form=form), pair, claim)


def _text(word: str, alphabet: str, epsilon: float) -> Case:
    other = alphabet[(alphabet.index(word[-1]) + 1) % len(alphabet)]
    pair = Neighbours(word, word[:-1] + other, "one letter", f"the last letter of {word!r}", _one_letter)
    mechanism = partial(letters, alphabet=alphabet, epsilon=epsilon)
    return _case(
        f"text {word}, {len(alphabet)} letters, epsilon {epsilon:g}", mechanism, pair, PureDP(epsilon)
    )


LATIN = "abcdefghijklmnopqrstuvwxyz"
NUMBERS = [("laplace", x) for x in (0.1, 0.5, 1, 3)] + [("geometric", x) for x in (0.2, 1, 2)]
NUMBERS += [("gaussian", x) for x in (0.25, 1, 3)]
VECTORS = [((2,), "laplace", 1), ((20,), "laplace", 1), ((50,), "laplace", 0.3), ((5,), "geometric", 1)]
VECTORS += [
    ((20,), "geometric", 0.5),
    ((3,), "gaussian", 0.5),
    ((20,), "gaussian", 1),
    ((50,), "gaussian", 2),
]
OBJECTS = [((2,), "laplace", 1), ((4,), "laplace", 0.5), ((8,), "laplace", 2), ((3,), "geometric", 1)]
OBJECTS += [((6,), "geometric", 0.3), ((10,), "geometric", 2), ((3,), "gaussian", 1), ((5,), "gaussian", 0.4)]
IMAGES = [((8, 8), "laplace", 1), ((8, 8), "geometric", 1), ((8, 8), "gaussian", 1), ((12, 12), "laplace", 2)]
IMAGES += [
    ((12, 12), "geometric", 0.5),
    ((12, 12), "gaussian", 0.5),
    ((3, 4, 4), "laplace", 0.5),
    ((3, 4, 4), "gaussian", 2),
]
WORDS = [("a", "ab", 1), ("ab", "ab", 0.3), ("abba", "ab", 2), ("abbaabba", "ab", 1), ("cat", "act", 1)]
WORDS += [("tact", "act", 0.5), ("privacy", LATIN, 2), ("a", LATIN, 1), ("no", LATIN, 4), ("noise", LATIN, 3)]

CASES: tuple[Case, ...] = (
    *(_added("number", (1,), law, amount) for law, amount in NUMBERS),
    *(_added("vector", *row) for row in VECTORS),
    *(_added("vector", (16,), law, 1, spread=True) for law in ("laplace", "gaussian")),
    *(_added(kind, *row) for kind in ("dictionary", "tree") for row in OBJECTS),
    *(
        _added(kind, (4,), law, 1, spread=True)
        for kind in ("dictionary", "tree")
        for law in ("laplace", "gaussian")
    ),
    *(_text(*row) for row in WORDS),
    *(_added("image", *row) for row in IMAGES),
    *(_added("image", (4, 4), law, 1, spread=True) for law in ("laplace", "gaussian")),
)


def tasks(known: Sequence[Row], runs: int | None = None) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What is left to do, all mechanisms in turn."""
    done = {(row["case"], row["seed"]) for row in known}
    for start in range(0, runs or SEEDS, CHUNK):
        for case in CASES:
            seeds = range(start, min(start + CHUNK, runs or SEEDS))
            if left := tuple(seed for seed in seeds if (case.name, seed) not in done):
                yield case.name, left


def measured(name: str, seeds: tuple[int, ...]) -> list[Row]:
    """Audit a mechanism with each seed."""
    (case,) = (one for one in CASES if one.name == name)
    return [{"case": name, "kind": name.split()[0], "seed": seed, **_one(case, seed)} for seed in seeds]


def _one(case: Case, seed: int) -> Row:
    start = time.process_time()
    found = case.audit(seed=seed, alpha=ALPHA, budget=BUDGET, power=False).verdict
    return {"verdict": found.value, "seconds": time.process_time() - start}
