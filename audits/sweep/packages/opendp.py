"""The measurements of OpenDP: noise, selection, randomised response, and pipelines with a stable transformation.

OpenDP computes the claim of a measurement itself (``measurement.map``), from the metric of its input. So each claim
has one relation. The table repeats these numbers, and a test compares them with the package's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import Entry, Package

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DELTA = 0.01
"""The delta at which claims of zero-concentrated privacy are converted, by OpenDP's own conversion."""


@dataclass(frozen=True)
class Run:
    """A measurement of OpenDP by its name in `MAKERS`, with its scale. OpenDP's noise has no seed."""

    what: str
    scale: float

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs. The generator ``rng`` is not used."""
        measurement = measurement_of(self.what, self.scale)
        found = [measurement(data) for _ in range(n)]
        return [sorted(one.items()) for one in found] if isinstance(found[0], dict) else found


@lru_cache
def measurement_of(what: str, scale: float) -> Any:
    """Return a measurement of OpenDP by its name in `MAKERS`."""
    import opendp.prelude as dp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
        return MAKERS[what](dp, scale)


def _numbers(dp: Any, kind: type) -> tuple[Any, Any]:
    domain = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=int)
    return domain, dp.absolute_distance(T=kind)


def _vector(dp: Any, metric: Any, kind: type = int) -> tuple[Any, Any]:
    return dp.vector_domain(_numbers(dp, kind)[0]), metric


def _reals(dp: Any) -> tuple[Any, Any]:
    return dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()


def _words(dp: Any) -> tuple[Any, Any]:
    return dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()


def _table(dp: Any) -> tuple[Any, Any]:
    return dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)), dp.l01inf_distance(
        dp.absolute_distance(T=int)
    )


def _clamped(dp: Any) -> Any:
    return _reals(dp) >> dp.t.then_clamp((0.0, 1.0))


Maker = Callable[[Any, float], Any]
MAKERS: Mapping[str, Maker] = {
    "make_laplace, floats": lambda dp, scale: dp.m.make_laplace(*_numbers(dp, float), scale=scale),
    "make_laplace, integers": lambda dp, scale: dp.m.make_laplace(*_numbers(dp, int), scale=scale),
    "make_laplace, vector": lambda dp, scale: dp.m.make_laplace(
        *_vector(dp, dp.l1_distance(T=int)), scale=scale
    ),
    "make_geometric": lambda dp, scale: dp.m.make_geometric(*_numbers(dp, int), scale=scale),
    "make_geometric, bounds": lambda dp, scale: dp.m.make_geometric(
        *_numbers(dp, int), scale=scale, bounds=(0, 4)
    ),
    "make_gaussian, floats": lambda dp, scale: dp.m.make_gaussian(*_numbers(dp, float), scale=scale),
    "make_gaussian, integers": lambda dp, scale: dp.m.make_gaussian(*_numbers(dp, int), scale=scale),
    "make_canonical_noise": lambda dp, scale: dp.m.make_canonical_noise(
        *_numbers(dp, float), d_in=scale, d_out=(1.0, DELTA)
    ),
    "make_randomized_response_bool": lambda dp, prob: dp.m.make_randomized_response_bool(prob=prob),
    "make_randomized_response": lambda dp, prob: dp.m.make_randomized_response(
        categories=["a", "b", "c"], prob=prob
    ),
    "make_noisy_max": lambda dp, scale: dp.m.make_noisy_max(
        *_vector(dp, dp.linf_distance(T=int)), output_measure=dp.max_divergence(), scale=scale
    ),
    "make_noisy_top_k": lambda dp, scale: dp.m.make_noisy_top_k(
        *_vector(dp, dp.linf_distance(T=int)), output_measure=dp.max_divergence(), k=2, scale=scale
    ),
    "make_laplace_threshold": lambda dp, scale: dp.m.make_laplace_threshold(
        *_table(dp), scale=scale, threshold=5
    ),
    "count": lambda dp, scale: _reals(dp) >> dp.t.then_count() >> dp.m.then_laplace(scale=scale),
    "count_by_categories": lambda dp, scale: (
        _words(dp) >> dp.t.then_count_by_categories(categories=["a", "b"]) >> dp.m.then_laplace(scale=scale)
    ),
    "sum": lambda dp, scale: _clamped(dp) >> dp.t.then_sum() >> dp.m.then_laplace(scale=scale),
    "mean": lambda dp, scale: (
        _clamped(dp)
        >> dp.t.then_resize(size=3, constant=0.5)
        >> dp.t.then_mean()
        >> dp.m.then_laplace(scale=scale)
    ),
    "variance": lambda dp, scale: (
        _clamped(dp)
        >> dp.t.then_resize(size=3, constant=0.5)
        >> dp.t.then_variance()
        >> dp.m.then_laplace(scale=scale)
    ),
    "quantile": lambda dp, scale: (
        _reals(dp)
        >> dp.t.then_quantile_score_candidates([0.0, 0.5, 1.0], alpha=0.5)
        >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale)
    ),
    "make_private_quantile": lambda dp, scale: dp.m.make_private_quantile(
        *_reals(dp), dp.max_divergence(), candidates=[0.0, 0.5, 1.0], alpha=0.5, scale=scale
    ),
}


def _noise(
    what: str, scale: float, pairs: Sequence[tuple[Any, Any]], epsilon: float = 1.0, delta: float = 0.0
) -> Entry:
    return Entry(
        name=what,
        sampler=Run(what, scale),
        epsilon=epsilon,
        delta=delta,
        pairs=pairs,
        budget=20_000,
        seeded=False,
    )


def _pipeline(
    what: str, scale: float, bases: Sequence[Any], records: Sequence[Any], *epsilons: float
) -> list[Entry]:
    """Return an entry for add-remove (distance 1) and one for replace (distance 2)."""
    return [
        Entry(
            name=what,
            sampler=Run(what, scale),
            epsilon=epsilon,
            bases=bases,
            records=records,
            relations=(relation,),
            budget=20_000,
            seeded=False,
        )
        for epsilon, relation in zip(epsilons, (ADD, REPLACE), strict=True)
    ]


FLOATS, INTEGERS = ((0.0, 1.0), (0.5, 1.5)), ((0, 1), (3, 4))
SCORES = (([0, 0, 0], [1, 0, 0]), ([0, 1, 0], [1, 0, 1]), ([1, 0, 0], [0, 1, 1]))
DATA, ENDS = ([0.0], [0.0, 1.0], [0.0, 0.0, 1.0]), (0.0, 1.0)
ENTRIES = (
    _noise("make_laplace, floats", 1.0, FLOATS),
    _noise("make_laplace, integers", 1.0, INTEGERS),
    _noise("make_laplace, vector", 1.0, (([0, 0], [1, 0]), ([0, 1], [0, 0]))),
    _noise("make_geometric", 1.0, INTEGERS),
    _noise("make_geometric, bounds", 1.0, INTEGERS),
    _noise("make_gaussian, floats", 2.0, FLOATS, 1.128931082901368, DELTA),
    _noise("make_gaussian, integers", 2.0, INTEGERS, 1.128931082901368, DELTA),
    _noise("make_canonical_noise", 1.0, FLOATS, 1.0, DELTA),
    _noise("make_randomized_response_bool", 0.75, ((True, False),), math.log(3)),
    _noise("make_randomized_response", 0.6, (("a", "b"),), math.log(3)),
    _noise("make_noisy_max", 2.0, SCORES),
    _noise("make_noisy_top_k", 4.0, SCORES),
    _noise(
        "make_laplace_threshold", 1.0, (({"a": 3}, {"a": 4}), ({}, {"a": 1}), ({"a": 4}, {"a": 4, "b": 1})), 1.0,
        0.004925833956035741,
    ),
    *_pipeline("count", 1.0, DATA, ENDS, 1.0, 2.0),
    *_pipeline("count_by_categories", 1.0, (["a"], ["a", "b"]), ("a", "b", "c"), 1.0, 2.0),
    *_pipeline("sum", 1.0, DATA, ENDS, 1.000000009313226, 2.000000009313226),
    *_pipeline("mean", 1 / 3, DATA, ENDS, 1.000000000000003, 2.000000000000003),
    *_pipeline("variance", 1 / 3, DATA, ENDS, 1.0000000000000058, 2.0000000000000084),
    *_pipeline("quantile", 2.0, DATA, ENDS, 1.0, 2.0),
    *_pipeline("make_private_quantile", 1.0, DATA, ENDS, 1.0, 2.0),
)  # fmt: skip
TABLE = Package(
    "opendp",
    ENTRIES,
    "OpenDP names the metric of every input. So each claim is the epsilon that the package itself computes: at "
    "symmetric distance 1 for add-remove and at distance 2 for replace.",
    {
        "make_report_noisy_max_gumbel": "deprecated in favour of make_noisy_max",
        "make_user_measurement": "holds code of the user",
        "make_private_expr, make_private_lazyframe": "need polars",
        "make_alp_queryable, make_randomized_response_bitvec, make_gaussian_threshold": "not yet in the table",
    },
)
