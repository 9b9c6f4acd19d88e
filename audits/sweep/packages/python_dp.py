"""The mechanisms of PyDP (distribution ``python-dp``), Python bindings of Google's differential privacy library."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import Entry, Meaning, Package

DELTA = 0.01
PARITY = Meaning(
    "new",
    "For integers, the true number of records times the midpoint of the bounds is subtracted from the noisy sum. "
    "If the midpoint is no whole number, the result shows whether the number of records is odd.",
    1,
    math.inf,
    0.191,
)


@dataclass(frozen=True)
class Run:
    """A mechanism of PyDP with its keyword arguments. Its noise has no seed.

    Attributes:
        what: the place below ``pydp.algorithms``, such as ``"laplacian.Count"``.
        parameters: the keyword arguments.
    """

    what: str
    parameters: Mapping[str, Any]

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs. The generator ``rng`` is not used."""
        place, _, name = self.what.partition(".")
        module = importlib.import_module(f"pydp.algorithms.{place}")
        if place == "laplacian":
            made = getattr(module, name)
            return [made(**self.parameters).quick_result(data) for _ in range(n)]
        if place == "numerical_mechanisms":
            noise = getattr(module, name)(**self.parameters)
            return [noise.add_noise(data) for _ in range(n)]
        strategy = module.create_partition_strategy(name, **self.parameters)
        return [int(strategy.should_keep(len(data))) for _ in range(n)]


def _statistic(name: str, dtype: str, **parameters: Any) -> Entry:
    kind = {"float": float, "int": int}[dtype]
    bases: Sequence[Sequence[float]] = ([0], [1], [0, 1], [0, 0, 1, 1, 1])
    bounds = {} if name == "Count" else {"lower_bound": kind(0), "upper_bound": kind(1)}
    word = f", {', '.join(parameters)}" if parameters else ""
    return Entry(
        name=f"laplacian.{name} ({dtype}{word})",
        sampler=Run(f"laplacian.{name}", {"epsilon": 1.0, "dtype": dtype, **bounds, **parameters}),
        epsilon=1.0,
        bases=[[kind(one) for one in base] for base in bases],
        records=(kind(0), kind(1)),
        budget=20_000,
        seeded=False,
    )


def _noise(name: str, pairs: Sequence[tuple[Any, Any]], **parameters: Any) -> Entry:
    word = "int" if isinstance(pairs[0][0], int) else "float"
    return Entry(
        name=f"numerical_mechanisms.{name} ({word})",
        sampler=Run(f"numerical_mechanisms.{name}", {"epsilon": 1.0, "sensitivity": 1.0, **parameters}),
        epsilon=1.0,
        delta=parameters.get("delta", 0.0),
        pairs=pairs,
        budget=20_000,
        seeded=False,
    )


def _selection(name: str) -> Entry:
    parameters = {"epsilon": 1.0, "delta": DELTA, "max_partitions_contributed": 1}
    return Entry(
        name=f"partition_selection.{name}",
        sampler=Run(f"partition_selection.{name}", parameters),
        epsilon=1.0,
        delta=DELTA,
        pairs=(([], [0]), ([0], [0, 0]), ([0] * 3, [0] * 4)),
        budget=20_000,
        seeded=False,
    )


STATISTICS = (
    "BoundedMean",
    "BoundedStandardDeviation",
    "BoundedSum",
    "BoundedVariance",
    "Max",
    "Median",
    "Min",
)
TABLE = Package(
    "python-dp",
    (
        *(_statistic(name, dtype) for name in STATISTICS for dtype in ("float", "int")),
        _statistic("Count", "int"),
        _statistic("Percentile", "float", percentile=0.9),
        _noise("LaplaceMechanism", ((0.0, 1.0), (0.5, 1.5))),
        _noise("LaplaceMechanism", ((0, 1), (3, 4))),
        _noise("GaussianMechanism", ((0.0, 1.0), (0.5, 1.5)), delta=DELTA),
        _noise("GaussianMechanism", ((0, 1), (3, 4)), delta=DELTA),
        Entry(
            name="laplacian.BoundedSum (float, bounds -1 and 1)",
            sampler=Run(
                "laplacian.BoundedSum",
                {"epsilon": 1.0, "dtype": "float", "lower_bound": -1.0, "upper_bound": 1.0},
            ),
            epsilon=1.0,
            bases=([-1.0], [-1.0, 1.0]),
            records=(-1.0, 1.0),
            budget=20_000,
            seeded=False,
        ),
        *(_selection(name) for name in ("truncated_geometric", "laplace", "gaussian")),
    ),
    "The documentation of the library that PyDP wraps means add-remove; PyDP's own documentation names no relation.",
    {
        "laplacian algorithms without bounds": "they estimate the bounds from the data",
        "pydp.ml": "models built from these mechanisms",
    },
    {
        ("laplacian.BoundedMean (int)", Adjacency.ADD_REMOVE): PARITY,
        ("laplacian.BoundedSum (float, bounds -1 and 1)", Adjacency.REPLACE): Meaning(
            "by design",
            "The noise is calibrated to the largest absolute value of a record. A replaced record changes the sum by "
            "the difference of the bounds, so the true epsilon is twice the claim.",
            2,
            2.0,
        ),
    },
)
