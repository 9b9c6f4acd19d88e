"""The noise mechanisms and the quantiles of Tumult Core (distribution ``tmlt.core``).

The package computes the claim of a measurement itself (``privacy_function``, ``privacy_relation``). The table repeats
these numbers, and a test compares them with the package's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import Entry, Package

DELTA = 0.01
GAUSSIAN_EPSILON = 1.65
"""An epsilon for which the package confirms a variance of 4, at sensitivity 1 and `DELTA`. The least one is 1.643."""


@dataclass(frozen=True)
class Run:
    """A measurement of Tumult Core by its class name, with its parameters as text. Its noise has no seed."""

    what: str
    parameter: str
    quantile: float = 0.0

    def made(self) -> Any:
        """Return the measurement of the package."""
        return _made(self.what, self.parameter, self.quantile)

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs. The generator ``rng`` is not used."""
        import pandas

        measurement = self.made()
        if self.what == "AddNoiseToSeries":
            noisy = measurement(pandas.Series(list(data) * n)).to_numpy()
            return [[int(one) for one in row] for row in noisy.reshape(n, len(data))]
        given = pandas.Series(data) if isinstance(data, list) else data
        return [measurement(given) for _ in range(n)]


@lru_cache
def _made(what: str, parameter: str, quantile: float) -> Any:
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.domains.pandas_domains import PandasSeriesDomain
    from tmlt.core.measurements import noise_mechanisms
    from tmlt.core.measurements.pandas_measurements import series
    from tmlt.core.measures import PureDP

    floats = NumpyFloatDomain()
    if what == "NoisyQuantile":
        return series.NoisyQuantile(PandasSeriesDomain(floats), PureDP(), quantile, 0.0, 1.0, parameter)
    if what == "AddNoiseToSeries":
        return series.AddNoiseToSeries(noise_mechanisms.AddGeometricNoise(parameter))
    maker = getattr(noise_mechanisms, what)
    return maker(floats, parameter) if what in {"AddLaplaceNoise", "AddGaussianNoise"} else maker(parameter)


def _noise(what: str, parameter: str, pairs: Sequence[tuple[Any, Any]]) -> Entry:
    gaussian = "Gaussian" in what
    return Entry(
        name=f"{what} ({parameter})",
        sampler=Run(what, parameter),
        epsilon=GAUSSIAN_EPSILON if gaussian else float(1 / Fraction(parameter)),
        delta=DELTA if gaussian else 0.0,
        pairs=pairs,
        budget=10_000,
        seeded=False,
        power=not gaussian,
    )


def _quantile(quantile: float, relation: Adjacency) -> Entry:
    return Entry(
        name=f"NoisyQuantile ({quantile})",
        sampler=Run("NoisyQuantile", "1", quantile),
        epsilon=DISTANCES[relation],
        bases=([0.0], [0.0, 0.5], [0.0, 0.5, 1.0], [0.5, 0.5, 0.5]),
        records=(0.0, 0.5, 1.0),
        relations=(relation,),
        budget=10_000,
        seeded=False,
    )


DISTANCES: Mapping[Adjacency, float] = {Adjacency.ADD_REMOVE: 1.0, Adjacency.REPLACE: 2.0}
"""The symmetric difference of neighbours, and so the claim of a quantile with epsilon 1."""
FLOATS, INTEGERS = ((0.0, 1.0), (0.5, 1.5)), ((0, 1), (3, 4))
ENTRIES = (
    _noise("AddLaplaceNoise", "1", FLOATS),
    _noise("AddLaplaceNoise", "1/2", FLOATS),
    _noise("AddGeometricNoise", "1", INTEGERS),
    _noise("AddGeometricNoise", "1/2", INTEGERS),
    _noise("AddDiscreteGaussianNoise", "4", INTEGERS),
    _noise("AddGaussianNoise", "4", FLOATS),
    _noise("AddNoiseToSeries", "1", (([0, 0], [1, 0]), ([0, 1], [0, 0]))),
    *(_quantile(one, relation) for one in (0.0, 0.25, 0.5, 0.9, 1.0) for relation in DISTANCES),
)
TABLE = Package(
    "tmlt-core",
    ENTRIES,
    "Tumult Core names the metric of every input. So each claim is the epsilon that the package itself computes: at "
    "symmetric difference 1 for add-remove and at 2 for replace.",
    {
        "Spark measurements (counts, sums, averages, variances, partition selection, prefix sums)": "one answer takes "
        "about a second, so an audit has too few samples",
        "interactive measurements": "they hold measurements of the user",
    },
)
