"""Functions of users with one fault each, their sound twins, and data: what `dpproof.audit(f, data)` is measured on.

``python -m benchmarks.audits.own_data`` audits all of them at the default budget and prints a table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import dpproof
from dpproof.accountant.claims.episodes import Episodes

EPSILON = 1.0
RNG = np.random.default_rng(7)
AGES = RNG.integers(18, 91, 40).tolist()
SHARES = RNG.random(50).tolist()
CITIES = RNG.choice(["Ulm", "Kiel", "Bonn", "Jena"], 60, p=[0.45, 0.3, 0.2, 0.05]).tolist()
INCOMES = np.round(RNG.lognormal(1, 1, 30), 2).tolist()
BUYERS = {f"u{i}": RNG.integers(1, 9, RNG.integers(1, 7)).tolist() for i in range(25)}
CLICKS = RNG.integers(0, 2, 12).tolist()
ROWS = RNG.normal(size=(40, 3))
PEOPLE = [{"age": int(a), "city": c} for a, c in zip(AGES, CITIES[:40], strict=True)]
BATCH = Episodes.rectangular(
    RNG.integers(0, 3, (12, 4)), RNG.integers(0, 2, (12, 4)), RNG.integers(0, 2, (12, 4)).astype(float)
)


class Frame:
    """What polars shows of a data frame."""

    def __init__(self, columns, schema=None):
        self.columns, self.schema = (
            list(columns),
            schema or {name: type(held[0]) for name, held in columns.items()},
        )
        self.held = {name: [self.schema[name](one) for one in held] for name, held in columns.items()}

    def __getitem__(self, name):
        return self.held[name]

    def iter_rows(self):
        """The rows, one by one."""
        return zip(*self.held.values(), strict=True)


FRAME = Frame({"age": AGES, "city": CITIES[:40]})


def laplace(rng, scale, *shape):
    return rng.laplace(0.0, scale, shape)


def mean(data, n, rng, noise):
    values = np.clip(data, 0, 1)
    return values.mean() + laplace(rng, noise / (len(values) * EPSILON), n)


def mean_of_private_size(data, n, rng, honest):
    values = np.clip(data, 0, 1)
    if not honest:
        return (values.mean() if len(values) else 0.5) + laplace(rng, 1 / (50 * EPSILON), n)
    noisy = values.sum() + laplace(rng, 2 / EPSILON, n), len(values) + laplace(rng, 2 / EPSILON, n)
    return noisy[0] / np.maximum(noisy[1], 1)


def total(data, n, rng, clip):
    values = np.clip(data, 0, 4) if clip else np.asarray(data, float)
    return values.sum() + laplace(rng, 4 / EPSILON, n)


def histogram(data, n, rng, sensitivity):
    counts = [data.count(city) for city in ("Ulm", "Kiel", "Bonn", "Jena")]
    return counts + laplace(rng, sensitivity / EPSILON, n, 4)


def table_of_cities(data, rng, listed):
    cities = ("Ulm", "Kiel", "Bonn", "Jena") if listed else sorted(set(data))
    return {
        city: int(
            data.count(city) + rng.geometric(1 - np.exp(-EPSILON)) - rng.geometric(1 - np.exp(-EPSILON))
        )
        for city in cities
    }


def two_counts(data, n, rng, reused):
    counts = [sum(age < 40 for age in data), sum(age >= 40 for age in data)]
    noise = laplace(rng, 1 / EPSILON, n, 1 if reused else 2)
    return counts + noise


def purchases(data, n, rng, most):
    return sum(len(bought[:most]) for bought in data.values()) + laplace(
        rng, (1 if most is None else most) / EPSILON, n
    )


def spent(data, n, rng, each):
    sums = [min(sum(bought), each) if each else sum(bought) for bought in data.values()]
    return sum(sums) + laplace(rng, (each or 8) / EPSILON, n)


def running(data, n, rng, share):
    return np.cumsum(data) + laplace(rng, share / EPSILON, n, len(data))


def column(data, n, rng, clip):
    ages = np.array(data["age"], float)
    ages = np.clip(ages, 20, 60) if clip else ages
    return ages.mean() + laplace(rng, 40 / (len(ages) * EPSILON), n)


def vectors(data, n, rng, clip):
    lengths = np.maximum(np.abs(data).sum(axis=1, keepdims=True), 1)
    return (data / lengths if clip else data).sum(axis=0) + laplace(rng, 2 / EPSILON, n, data.shape[1])


def middle(data, n, rng, private):
    values = np.sort(np.clip(data, 0, 1))
    if not private:
        return np.median(values) + laplace(rng, 1 / (len(values) * EPSILON), n)
    grid = np.linspace(0, 1, 21)
    scores = -np.abs((values[:, None] <= grid).sum(axis=0) - len(values) / 2)
    chances = np.exp(EPSILON * scores / 2)
    return rng.choice(grid, n, p=chances / chances.sum())


def seldom_plain(data, n, rng, chance):
    noisy = sum(data) + laplace(rng, 1 / EPSILON, n)
    return np.where(rng.random(n) < chance, sum(data), noisy)


def by_city(data, n, rng, sensitivity):
    old = [
        sum(one["age"] >= 50 and one["city"] == city for one in data)
        for city in ("Ulm", "Kiel", "Bonn", "Jena")
    ]
    return old + laplace(rng, sensitivity / EPSILON, n, 4)


def small_groups(data, n, rng, noisy):
    size = sum(city == "Jena" for city in data)
    noise = laplace(rng, 2 / EPSILON, 2, n)
    return np.where(size + noise[0] * noisy > 1.5, np.round(size + noise[1]), 0.0)


def visits(data, n, rng, steps):
    return np.bincount(data.states, minlength=3) + laplace(rng, steps / EPSILON, n, 3)


def rewards(data, n, rng, steps):
    return data.rewards.sum() + laplace(rng, steps / EPSILON, n)


def gaussian(data, n, rng, private):
    """A count; the sound twin has Laplace noise."""
    noise = laplace(rng, 1 / EPSILON, n) if private else rng.normal(0, 1 / EPSILON, n)
    return sum(age >= 65 for age in data) + noise


def gaussian_mean(data, n, rng, private):
    """A mean, with noise of another law in the sound twin."""
    scale = 1 / (len(data) * EPSILON)
    return np.mean(np.clip(data, 0, 1)) + (laplace(rng, scale, n) if private else rng.normal(0, scale, n))


def gaussian_sums(data, n, rng, private):
    """The sums of two columns."""
    sums = np.clip(data, 0, 1).sum(axis=0)[:2]
    return sums + (laplace(rng, 2 / EPSILON, n, 2) if private else rng.normal(0, 2 / EPSILON, (n, 2)))


def each_value(data, rng, padded):
    """The values with noise, one for each record; the sound twin gives a number without them."""
    if padded:
        return [float(len(data) + rng.laplace(0, 1 / EPSILON))]
    return [float(value + rng.laplace(0, 1 / EPSILON)) for value in data[:60]]


def all_cities(data, rng, listed):
    """The cities that occur; the sound twin lists all of them."""
    return " ".join(sorted({"Ulm", "Kiel", "Bonn", "Jena"} if listed else set(data)))


def oldest(data, n, rng, noisy):
    """The oldest age as it is; the sound twin is noise only."""
    return np.full(n, float(max(data))) if not noisy else 60 + laplace(rng, 1.0, n)


def exact_size(data, n, rng, noisy):
    """A noisy sum beside the exact number of records."""
    sums = np.clip(data, 0, 1).sum() + laplace(rng, 2 / EPSILON, n)
    size = len(data) + laplace(rng, 2 / EPSILON, n) * noisy
    return np.column_stack([sums, size])


def twice(data, n, rng, reused):
    """The sum in two units, each with noise for half of epsilon."""
    noise = laplace(rng, 2 / EPSILON, n, 1 if reused else 2)
    return np.array([sum(data), 2 * sum(data) - len(data)]) * 0.5 + noise


def decades(data, rng, listed):
    """How many people there are by decade."""
    keys = range(1, 10) if listed else sorted({age // 10 for age in data})
    return {key: sum(age // 10 == key for age in data) + float(rng.laplace(0, 2 / EPSILON)) for key in keys}


@dataclass(frozen=True)
class Twins:
    """A function with a fault, the same without it, and what both are asked about."""

    name: str
    broken: Callable[..., Any]
    sound: Callable[..., Any]
    data: Any
    adjacency: str
    kind: str = "scale"
    """The explanation that is right, of `dpproof.audits.engine.explaining.explanations`; empty if none is."""


def _twins(name, function, data, adjacency, broken, sound, kind="scale"):
    return Twins(name, partial(function, **broken), partial(function, **sound), data, adjacency, kind)


TWINS = (
    _twins("half the noise", mean, SHARES, "replace", {"noise": 0.5}, {"noise": 1.0}),
    _twins(
        "size taken as public",
        mean_of_private_size,
        SHARES,
        "add-remove",
        {"honest": False},
        {"honest": True},
    ),
    _twins("sum without clipping", total, INCOMES, "add-remove", {"clip": False}, {"clip": True}),
    _twins(
        "histogram with sensitivity 1", histogram, CITIES, "replace", {"sensitivity": 1}, {"sensitivity": 2}
    ),
    _twins(
        "a table that leaves out the cities without records",
        table_of_cities,
        CITIES,
        "add-remove",
        {"listed": False},
        {"listed": True},
        "structure",
    ),
    _twins(
        "one noise for two counts",
        two_counts,
        AGES,
        "add-remove",
        {"reused": True},
        {"reused": False},
        "reused",
    ),
    _twins("unbounded number of purchases", purchases, BUYERS, "add-remove", {"most": None}, {"most": 2}),
    _twins("unbounded spending", spent, BUYERS, "replace", {"each": 0}, {"each": 8}),
    _twins("running sums, noise for one step", running, CLICKS, "replace", {"share": 1}, {"share": 12}),
    _twins("column mean without clipping", column, FRAME, "replace", {"clip": False}, {"clip": True}),
    _twins("vectors without clipping", vectors, ROWS, "replace", {"clip": False}, {"clip": True}),
    _twins("median with local sensitivity", middle, SHARES, "replace", {"private": False}, {"private": True}),
    _twins(
        "value released without noise in one run of ten",
        seldom_plain,
        CLICKS,
        "replace",
        {"chance": 0.1},
        {"chance": 0.0},
        "plain",
    ),
    _twins(
        "counts by city, sensitivity 1", by_city, PEOPLE, "replace", {"sensitivity": 1}, {"sensitivity": 2}
    ),
    _twins(
        "small groups left out",
        small_groups,
        CITIES,
        "add-remove",
        {"noisy": False},
        {"noisy": True},
        "structure",
    ),
    _twins("visits, noise for one step", visits, BATCH, "add-remove", {"steps": 1}, {"steps": 4}),
    _twins("rewards, noise for one step", rewards, BATCH, "rewards-only", {"steps": 1}, {"steps": 4}),
    _twins(
        "count with Gaussian noise, delta 0",
        gaussian,
        AGES,
        "add-remove",
        {"private": False},
        {"private": True},
        "normal",
    ),
    _twins(
        "mean with Gaussian noise, delta 0",
        gaussian_mean,
        SHARES,
        "replace",
        {"private": False},
        {"private": True},
        "normal",
    ),
    _twins(
        "sums with Gaussian noise, delta 0",
        gaussian_sums,
        abs(ROWS),
        "add-remove",
        {"private": False},
        {"private": True},
        "normal",
    ),
    _twins(
        "one output for each record, though their number is private",
        each_value,
        SHARES[:9],
        "add-remove",
        {"padded": False},
        {"padded": True},
        "structure",
    ),
    _twins(
        "list of the cities that occur",
        all_cities,
        CITIES,
        "replace",
        {"listed": False},
        {"listed": True},
        "structure",
    ),
    _twins(
        "only the decades that occur",
        decades,
        AGES,
        "replace",
        {"listed": False},
        {"listed": True},
        "structure",
    ),
    _twins("oldest age without noise", oldest, AGES, "replace", {"noisy": False}, {"noisy": True}, "plain"),
    _twins(
        "number of records without noise",
        exact_size,
        SHARES,
        "add-remove",
        {"noisy": False},
        {"noisy": True},
        "plain",
    ),
    _twins("one noise in two units", twice, CLICKS, "replace", {"reused": True}, {"reused": False}, "reused"),
)


def table() -> str:
    """Every function and its twin as rows of Markdown: the finding, the samples, and the seconds."""
    rows = [
        "| fault | data | relation | epsilon found (claimed: 1) | samples | seconds | the same without the fault |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in TWINS:
        begun = time.perf_counter()
        found = dpproof.audit(one.broken, one.data, adjacency=one.adjacency, epsilon=1)
        took, kind = time.perf_counter() - begun, type(one.data).__name__
        kept = dpproof.audit(one.sound, one.data, adjacency=one.adjacency, epsilon=1, power=False)
        least = f"{found.verdict.value}, epsilon at least {found.epsilon_lower:.2f}"
        told = (one.name, kind, one.adjacency, least, str(found.samples), f"{took:.1f}", kept.verdict.value)
        rows.append(f"| {' | '.join(told)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
