"""The mechanisms of PipelineDP (distribution ``pipeline-dp``): whole aggregations, and the noise below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import Entry, Meaning, Package

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DELTA = 0.01
LEFT_OUT = -1000.0
"""The output for a partition that the engine does not select."""
NAN = float("nan")


@dataclass(frozen=True)
class Aggregation:
    """An aggregation of one partition by the local engine. Each record is the value of one privacy unit.

    Attributes:
        metrics: the names of the metrics, separated by commas. Several metrics share epsilon.
        lower, upper: the bounds of a value.
        gaussian: whether the noise is Gaussian.
        public: whether the partition is public. Otherwise the engine selects it.
        norm: the norm of a vector sum; empty for other metrics.
    """

    metrics: str
    lower: float = 0.0
    upper: float = 1.0
    gaussian: bool = False
    public: bool = True
    norm: str = ""

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs: the noisy metrics, or `LEFT_OUT` without the partition. ``rng`` is not used."""
        return [self._once(data) for _ in range(n)]

    def _once(self, data: Any) -> Any:
        import pipeline_dp

        accountant = pipeline_dp.NaiveBudgetAccountant(1.0, 0.0 if self.pure else DELTA)
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: "a",
            value_extractor=lambda row: row[1],
        )
        result = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend()).aggregate(
            list(enumerate(data)), self._parameters(), extractors, ["a"] if self.public else None
        )
        accountant.compute_budgets()
        found = [float(one) for _, metrics in result for metric in metrics for one in np.atleast_1d(metric)]
        if not found:
            return [LEFT_OUT] * 2 if self.norm else LEFT_OUT
        return found[0] if len(found) == 1 else found

    @property
    def pure(self) -> bool:
        """Whether the claim has delta 0."""
        return self.public and not self.gaussian

    def _parameters(self) -> Any:
        import pipeline_dp
        from pipeline_dp.aggregate_params import NormKind

        kinds = pipeline_dp.NoiseKind
        bounds: dict[str, Any] = {"min_value": self.lower, "max_value": self.upper}
        if self.norm:
            bounds = {
                "vector_norm_kind": NormKind[self.norm],
                "vector_max_norm": 1.0,
                "vector_size": 2,
            }
        return pipeline_dp.AggregateParams(
            metrics=[_metric(name) for name in self.metrics.split(", ")],
            noise_kind=kinds.GAUSSIAN if self.gaussian else kinds.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            **bounds,
        )


@dataclass(frozen=True)
class Least:
    """The least of the noisy count, sum and sum of squares, which the published variance, mean and count fix.

    A function of what is published keeps the claim. The three parts differ most in the event that all are large.
    """

    aggregation: Aggregation

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` numbers. The generator ``rng`` is not used."""
        middle = (self.aggregation.lower + self.aggregation.upper) / 2
        variance, count, _, mean = np.array(self.aggregation(data, n, rng)).T
        held = np.maximum(count, 1.0)
        parts = (count, (mean - middle) * held, (variance + (mean - middle) ** 2) * held)
        return [float(one) for one in np.min(parts, axis=0)]


@dataclass(frozen=True)
class Noise:
    """A noise primitive, a selection of partitions, or the exponential mechanism, by name."""

    what: str

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs. The generator ``rng`` is not used."""
        from pipeline_dp import aggregate_params, dp_computations, partition_selection

        if self.what == "LaplaceMechanism":
            made = dp_computations.LaplaceMechanism.create_from_epsilon(1.0, 1.0)
            return [made.add_noise(data) for _ in range(n)]
        if self.what == "GaussianMechanism":
            made = dp_computations.GaussianMechanism.create_from_epsilon_delta(1.0, DELTA, 1.0)
            return [made.add_noise(data) for _ in range(n)]
        if self.what == "ExponentialMechanism":
            chosen = dp_computations.ExponentialMechanism(_score(data))
            return [int(chosen.apply(1.0, [0, 1, 2])) for _ in range(n)]
        strategy = aggregate_params.PartitionSelectionStrategy[self.what]
        if self.what == "TRUNCATED_GEOMETRIC":
            select = partition_selection.create_partition_selection_strategy(strategy, 1.0, DELTA, 1)
            return [int(select.should_keep(len(data))) for _ in range(n)]
        kept = dp_computations.ThresholdingMechanism(1.0, DELTA, strategy, 1, None)
        found = [kept.noised_value_if_should_keep(len(data)) for _ in range(n)]
        return [-1.0 if one is None else float(one) for one in found]


def _metric(name: str) -> Any:
    import pipeline_dp

    return pipeline_dp.Metrics.PERCENTILE(50) if name == "PERCENTILE" else getattr(pipeline_dp.Metrics, name)


def _score(scores: Sequence[float]) -> Any:
    from pipeline_dp import dp_computations

    # mypy knows no types of the package, so that it takes the base class for Any
    class Score(dp_computations.ExponentialMechanism.ScoringFunction):  # type: ignore[misc]
        global_sensitivity = 1.0
        is_monotonic = False

        def score(self, k: int) -> float:
            return scores[k]

    return Score()


def _aggregation(
    aggregation: Aggregation, *, bases: Sequence[Any] = (), records: Sequence[Any] = ()
) -> Entry:
    words = [
        aggregation.metrics,
        "Gaussian" if aggregation.gaussian else "",
        "" if aggregation.public else "private partition",
        "" if (aggregation.lower, aggregation.upper) == (0.0, 1.0) else "bounds -1 and 1",
        aggregation.norm,
    ]
    return Entry(
        name=f"aggregate: {'; '.join(word for word in words if word)}",
        sampler=aggregation,
        epsilon=1.0,
        delta=0.0 if aggregation.pure else DELTA,
        bases=bases or ([0.0], [0.0, 1.0], [0.0, 1.0, 1.0]),
        records=records or (0.0, 1.0),
        budget=10_000,
        seeded=False,
        power=False,
    )


def _least() -> Entry:
    return Entry(
        name=f"aggregate: {LEAST}",
        sampler=Least(Aggregation("VARIANCE, MEAN, SUM, COUNT", -1.0)),
        epsilon=1.0,
        bases=([1.0, 1.0], [-1.0, 1.0]),
        records=(1.0,),
        relations=(ADD,),
        budget=60_000,
        seeded=False,
        power=False,
        steps=2,
    )


def _noise(what: str, pairs: Sequence[tuple[Any, Any]], delta: float = 0.0) -> Entry:
    return Entry(
        name=f"dp_computations.{what}",
        sampler=Noise(what),
        epsilon=1.0,
        delta=delta,
        pairs=pairs,
        budget=20_000,
        seeded=False,
    )


LEAST = "VARIANCE, MEAN, SUM, COUNT; bounds -1 and 1; least part"
VARIANCE = Meaning(
    "new",
    "The sum of squares is a sum of squares of normalised values, and its noise is calibrated to the squares of the "
    "values themselves. With bounds -1 and 1 a record changes it by 1, and the noise expects 1/2.",
    1,
    4 / 3,
)
NOT_A_NUMBER = Meaning(
    "new",
    "A value that is not a number passes the clipping. The result is then not a number with certainty.",
    2,
    float("inf"),
    1.0,
)

SCALARS = ("COUNT", "PRIVACY_ID_COUNT", "SUM", "MEAN", "VARIANCE", "PERCENTILE")
WITH_NAN: dict[str, Any] = {"bases": ([0.0],), "records": (NAN,)}
MANY = ([0.0] * 8, [0.0] * 12)
VECTORS = ([[0.0, 0.0]] * 8, [[0.0, 0.0]] * 12)
FLOATS = ((0.0, 1.0), (0.5, 1.5))
SCORES = (([0, 0, 0], [1, 0, 0]), ([0, 1, 0], [1, 0, 1]))
SIZES: Sequence[tuple[list[int], list[int]]] = (([], [0]), ([0], [0, 0]), ([0] * 3, [0] * 4))
ENTRIES = (
    *(_aggregation(Aggregation(name)) for name in SCALARS),
    *(_aggregation(Aggregation(name, gaussian=True)) for name in SCALARS),
    *(_aggregation(Aggregation(name, public=False), bases=MANY) for name in SCALARS),
    *(_aggregation(Aggregation(name, -1.0), records=(-1.0, 1.0)) for name in ("SUM", "MEAN")),
    *(
        _aggregation(
            Aggregation("VECTOR_SUM", norm=norm, gaussian=norm == "L2", public=False),
            bases=VECTORS,
            records=([0.0, 1.0], [1.0, 1.0]),
        )
        for norm in ("Linf", "L1", "L2")
    ),
    _least(),
    *(
        replace(
            _aggregation(Aggregation(name), **WITH_NAN), name=f"aggregate: {name}; with NaN", failures="token"
        )
        for name in ("SUM", "MEAN", "VARIANCE", "PERCENTILE")
    ),
    _noise("LaplaceMechanism", FLOATS),
    _noise("GaussianMechanism", FLOATS, DELTA),
    _noise("ExponentialMechanism", SCORES),
    *(
        _noise(name, SIZES, DELTA)
        for name in ("TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLDING", "GAUSSIAN_THRESHOLDING")
    ),
)
TABLE = Package(
    "pipeline-dp",
    ENTRIES,
    "The documentation of the sensitivities speaks of adding or removing one privacy unit, so the package means "
    "add-remove. The audits under replace show what does not hold if one unit changes its data.",
    {
        "Beam and Spark backends": "they run the same combiners",
        "VECTOR_SUM with public partitions": "it raises a TypeError in this version",
        "PLD accounting, private contribution bounds, utility analysis": "not yet in the table",
    },
    {
        (f"aggregate: {LEAST}", ADD): VARIANCE,
        ("aggregate: SUM; bounds -1 and 1", REPLACE): Meaning(
            "by design",
            "The noise is calibrated to the largest absolute value. A replaced value changes the sum by the "
            "difference of the bounds.",
            3,
            2.0,
        ),
        **{
            (f"aggregate: {name}; with NaN", relation): NOT_A_NUMBER
            for name in ("SUM", "MEAN", "VARIANCE")
            for relation in (ADD, REPLACE)
        },
    },
    Meaning("float only", "The lowest bits of the sum of a value and Gaussian noise show the value.", 4),
    bits_seen={
        ("aggregate: COUNT; Gaussian", ADD): 0.04,
        ("aggregate: PRIVACY_ID_COUNT; Gaussian", ADD): 0.04,
        ("aggregate: SUM; Gaussian", REPLACE): 0.04,
    },
)
