"""Attacks on DP-SGD with cyclic Poisson, truncated Poisson and allocated batches: densities on grids of the outputs."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

import dpproof
from benchmarks.soundness.attack import Attack, Floats, Seen, between, hockey, judged

_POINTS = {1: 4001, 2: 500, 3: 72}
Mean = tuple[float, Floats]
"""The chance of a combination of coins, and the mean of the outputs; axis 0 lists the outputs."""


def _grid(rows: int, noise: float, reach: float, fine: int) -> Floats:
    """Return the points of a grid of outputs, as an array with the outputs along axis 0."""
    line = np.linspace(
        -reach - 7 * noise, reach + 7 * noise, _POINTS[rows] * (2 if fine > 1 and rows == 3 else fine)
    )
    return np.stack(np.meshgrid(*[line] * rows, indexing="ij"))


def _masses(grid: Floats, noise: float, means: list[Mean]) -> Floats:
    """Return the probabilities near all points. A mean may depend on the outputs before it."""
    total = np.zeros(grid.shape[1:])
    for chance, mean in means:
        total += chance * np.exp(-((grid - mean) ** 2).sum(axis=0) / (2 * noise * noise))
    return np.asarray(total / total.sum())


def _adaptive(rng: np.random.Generator, before: Floats) -> Floats:
    """Return a vector of norm at most 1 as a function of earlier outputs: two values, on the sides of a threshold."""
    one, two = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 2)
    if not len(before):
        return np.full(before.shape[1:], float(one))
    side = np.tensordot(rng.normal(size=len(before)), before, 1) > rng.normal()
    return np.asarray(np.where(side, one, two), dtype=np.float64)


def cyclic(rng: np.random.Generator, fine: int) -> Seen:
    """Attack groups that take turns, with independent noise and up to two turns of the record."""
    groups, turns = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    rate, noise = rng.uniform(0.02, 1), between(rng, 0.4, 4)
    epsilon, replaced = between(rng, 0.01, 3), bool(rng.integers(2))
    grid = _grid(turns, noise, 2, fine)
    other = rng.choice([0.0, 1.0, rng.uniform(-1, 1)], turns)
    mine = [_adaptive(rng, grid[:turn]) for turn in range(turns)]
    yours = [_adaptive(rng, grid[:turn]) * replaced for turn in range(turns)]
    steps = groups * (turns - 1) + int(rng.integers(1, groups + 1))
    found = dpproof.account(
        "cyclic-sgd", sampling_rate=rate, noise_multiplier=noise, steps=steps, groups=groups,
        adjacency="replace" if replaced else "add-remove",
    ).delta(epsilon)  # fmt: skip
    flat = [np.ones(grid.shape[1:])] * turns

    def gap(one: list[Floats], two: list[Floats], others: Floats) -> float:
        p, q = (_masses(grid, noise, _coins(rate, vectors, others)) for vectors in (one, two))
        return hockey(p, q, epsilon)

    own = gap(flat, [-replaced * vector for vector in flat], np.zeros(turns))
    reached = max(gap(mine, yours, other), own)
    return judged(found, reached, f"cyclic {rate} {noise} {steps} {groups} {replaced} {epsilon}", own)


def _coins(rate: float, vectors: list[Floats], others: Floats) -> list[Mean]:
    """Return the means for all coins of a record and, if it does not send 0, of another one."""
    shared = (0, 1) if others.any() else (0,)
    found = []
    for mine in product((0, 1), repeat=len(vectors)):
        for yours in product(shared, repeat=len(vectors)):
            drawn = sum(mine) + sum(yours)
            chance = rate**drawn * (1 - rate) ** (len(vectors) * len(shared) - drawn)
            mean = np.stack([a * v + b * o for a, b, v, o in zip(mine, yours, vectors, others, strict=True)])
            found.append((chance, mean))
    return found


def _encoder(rng: np.random.Generator, bands: int, norm: float) -> Floats:
    """Return a lower triangular matrix of 3 rows with two bands at most, and columns of at most a norm."""
    found = np.tril(rng.normal(size=(3, 3))) * (np.subtract.outer(range(3), range(3)) < bands)
    return np.asarray(norm * found / np.linalg.norm(found, axis=0))


def banded_cyclic(rng: np.random.Generator, fine: int) -> Seen:
    """Attack two groups and two bands: the record is in steps 1 and 3, another one in step 2."""
    rate, norm, epsilon = rng.uniform(0.05, 1), rng.uniform(0.5, 2), between(rng, 0.01, 3)
    noise, encoder = norm * between(rng, 0.5, 3), _encoder(rng, 2, norm)
    grid = _grid(3, noise, 2 * norm, fine)
    vectors = [_adaptive(rng, grid[:0]), _adaptive(rng, grid[:1]), _adaptive(rng, grid[:2])]
    found = dpproof.account(
        "cyclic-sgd", sampling_rate=rate, noise_multiplier=noise, steps=3, groups=2, column_norm=norm,
        adjacency="add-remove",
    ).delta(epsilon)  # fmt: skip

    def law(mine: bool) -> Floats:
        means = []
        for coins in product((0, 1), repeat=3):
            drawn = sum(coins)
            sent = np.stack(
                [c * v * (mine or j == 1) for j, (c, v) in enumerate(zip(coins, vectors, strict=True))]
            )
            means.append((rate**drawn * (1 - rate) ** (3 - drawn), np.tensordot(encoder, sent, 1)))
        return _masses(grid, noise, means)

    reached = hockey(law(True), law(False), epsilon)
    return judged(found, reached, f"banded cyclic {rate} {noise} {encoder.tolist()} {epsilon}")


def truncated(rng: np.random.Generator, fine: int) -> Seen:
    """Attack batches of limited size by all samples and all parts of a sample that are kept."""
    values = rng.integers(-1, 2, size=rng.integers(1, 6)).tolist()
    batch = int(rng.integers(1, len(values) + 2))
    rate = float(rng.choice([rng.uniform(0.02, 1), between(rng, 1e-4, 0.1)]))
    steps = (
        int(rng.integers(1, 3)) if rate > 0.02 else 1
    )  # the accountant is slow for a few steps of small rates
    noise, epsilon, replaced = between(rng, 0.4, 4), between(rng, 0.01, 3), bool(rng.integers(2))
    found = dpproof.account(
        "truncated-sgd", sampling_rate=rate, noise_multiplier=noise, steps=steps, largest_batch=batch,
        largest_dataset=len(values), adjacency="replace" if replaced else "add-remove",
    ).delta(epsilon)  # fmt: skip
    grid = _grid(1, noise, len(values), fine)[:, :: 1 if steps == 1 else 4]

    def law(data: list[int]) -> Floats:
        one = _masses(grid, noise, _sums(data, rate, batch))
        return one if steps == 1 else np.outer(one, one)

    def gap(one: list[int], two: list[int]) -> float:
        return hockey(law(one), law(two), epsilon)

    less = [-values[0] or 1, *values[1:]] if replaced else values[1:]
    own = gap([1], [-1] if replaced else [])
    detail = f"truncated {values} {rate} {noise} {batch} {steps} {replaced} {epsilon}"
    return judged(found, max(gap(values, less), own), detail, own)


def _sums(data: list[int], rate: float, batch: int) -> list[Mean]:
    """Return the law of the sum of one batch."""
    chances: dict[int, float] = {}
    for coins in product((0, 1), repeat=len(data)):
        drawn = [value for value, coin in zip(data, coins, strict=True) if coin]
        kept = list(combinations(drawn, min(batch, len(drawn))))
        for part in kept:
            chance = rate ** len(drawn) * (1 - rate) ** (len(data) - len(drawn)) / len(kept)
            chances[sum(part)] = chances.get(sum(part), 0.0) + chance
    return [(chance, np.array([[float(at)]])) for at, chance in chances.items()]


def allocated(rng: np.random.Generator, fine: int) -> Seen:
    """Attack one epoch of three steps: k of them, or one with banded noise."""
    chosen, bands = ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3))[int(rng.integers(5))]
    norm = 1.0 if chosen > 1 or rng.integers(2) else rng.uniform(0.5, 2)
    noise, epsilon, replaced = norm * between(rng, 0.5, 3), rng.uniform(0, 3), bool(rng.integers(2))
    given: dict[str, Any] = {"noise_multiplier": noise, "steps": 3, "chosen": chosen, "bands": bands}
    found = dpproof.account(
        "allocated-sgd",
        **given,
        fresh=bands == 1,
        column_norm=norm,
        adjacency="replace" if replaced else "add-remove",
    ).delta(epsilon)
    grid = _grid(3, noise, 2 * norm, fine)
    plain = bands == 1 and norm == 1
    encoder = np.eye(3) if plain else _encoder(rng, bands, norm)

    def gap(one: list[Floats], two: list[Floats]) -> float:
        p, q = (_masses(grid, noise, _places(encoder, chosen, vectors)) for vectors in (one, two))
        return hockey(p, q, epsilon)

    mine, yours = ([_adaptive(rng, grid[:step]) for step in range(3)] for _ in range(2))
    flat = [np.ones(grid.shape[1:])] * 3
    zero = [vector * 0 for vector in flat]
    own = max(gap(flat, zero), gap(flat, [-vector for vector in flat]) if replaced else 0.0)
    reached = max(gap(mine, yours if replaced else zero), own)
    detail = f"allocated {given} {encoder.tolist()} {replaced} {epsilon}"
    return judged(found, reached, detail, own if plain else float("inf"))


def _places(encoder: Floats, chosen: int, vectors: list[Floats]) -> list[Mean]:
    sets = list(combinations(range(3), chosen))
    return [
        (1 / len(sets), np.tensordot(encoder, np.stack([v * (j in at) for j, v in enumerate(vectors)]), 1))
        for at in sets
    ]


_GRID = "densities of the outputs on a grid, for random adaptive vectors and another record"
ATTACKS = (
    Attack("cyclic Poisson, both bounds", _GRID, 300, cyclic),
    Attack("cyclic Poisson with banded noise", _GRID, 60, banded_cyclic),
    Attack(
        "truncated Poisson, both bounds",
        "all samples and all kept parts; densities on a grid",
        400,
        truncated,
    ),
    Attack("k of 3 steps, and banded balls-in-bins", _GRID, 60, allocated),
)
