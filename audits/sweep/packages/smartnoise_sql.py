"""The queries of SmartNoise SQL (distribution ``smartnoise-sql``), and the mechanisms below them.

The package charges epsilon for each column that it needs. So the claim of a query is the number that the package's
``get_privacy_cost`` gives, and a test compares the table with it. A query runs once on the data without noise. The
package then adds its noise to many copies of this exact result (its documented argument ``pre_aggregated``).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import DATA, Entry, Meaning, Package

BLOCK = 500
DELTA = 0.01


@dataclass(frozen=True)
class Query:
    """A query on a table whose records are (x, group), one record for each person.

    Attributes:
        select: the query.
        epsilon: the epsilon of the package's ``Privacy`` object, for each column.
        gaussian: whether counts and sums have Gaussian noise.
        censored: whether groups with a small noisy count are left out.
        integer: whether x is an integer column.
    """

    select: str
    epsilon: float = 1.0
    gaussian: bool = False
    censored: bool = False
    integer: bool = False

    def reader(self, data: Sequence[tuple[float, str]]) -> Any:
        """Return the package's reader of private queries on a data set."""
        import pandas
        import snsql
        from snsql.sql._mechanisms.base import Mechanism
        from snsql.sql.privacy import Stat

        x = {"type": "int" if self.integer else "float", "lower": 0 if self.integer else -1, "upper": 1}
        columns = {"key": {"type": "int", "private_id": True}, "x": x, "g": {"type": "string"}}
        options = {"censor_dims": self.censored, "max_ids": 1}
        privacy = snsql.Privacy(epsilon=self.epsilon, delta=DELTA)
        if self.gaussian:
            privacy.mechanisms.map |= dict.fromkeys(
                (Stat.count, Stat.sum_int, Stat.sum_float, Stat.threshold), Mechanism.gaussian
            )
        frame = pandas.DataFrame(
            {"key": range(len(data)), "x": [x for x, _ in data], "g": [group for _, group in data]}
        )
        return snsql.from_connection(
            frame, privacy=privacy, metadata={"": {"t": {"t": {"rows": 10, **options, **columns}}}}
        )

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs: the noisy number, or the noisy number of each group. ``rng`` is not used.

        A query takes long to parse, so outputs are made in blocks. Each output is returned once.
        """
        kept = _KEPT.setdefault((self, tuple(data)), [])
        if len(kept) < n:
            kept += self._outputs(data, max(BLOCK, n))
        found = kept[:n]
        del kept[:n]
        return found

    def _outputs(self, data: Any, n: int) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = self.reader(data)
            subquery, _ = reader._rewrite(self.select)
            exact = reader.reader._execute_ast(subquery)
            header, rows = exact[0], [list(row) for row in exact[1:]]
            if "GROUP BY" not in self.select:
                return [row[0] for row in reader.execute(self.select, pre_aggregated=[header, *rows * n])[1:]]
            place = [str(name).lower() for name in header].index("g")
            marked = [
                [f"{run}|{value}" if at == place else value for at, value in enumerate(row)]
                for run in range(n)
                for row in rows
            ]
            found: list[Any] = [[] for _ in range(n)]
            for group, value in reader.execute(self.select, pre_aggregated=[header, *marked])[1:]:
                run, _, name = group.partition("|")
                found[int(run)].append((name, value))
            return [sorted(one) for one in found]


_KEPT: dict[tuple[Query, Any], list[Any]] = {}
"""Outputs that were made and not yet returned, by query and data set."""


@dataclass(frozen=True)
class Noise:
    """A noise mechanism by its class name and sensitivity, or ``approx_bounds`` on a list of numbers."""

    what: str
    sensitivity: float = 1.0

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs. The generator ``rng`` is not used."""
        place = importlib.import_module("snsql.sql._mechanisms")
        if self.what == "approx_bounds":
            bounds = importlib.import_module("snsql.sql._mechanisms.approx_bounds").approx_bounds
            return [[-1.0, -1.0] if None in (found := bounds(data, 1.0)) else list(found) for _ in range(n)]
        made = getattr(place, self.what)(1.0, delta=DELTA, sensitivity=self.sensitivity)
        return list(made.release([data] * n))


def _noise(what: str, sensitivity: float, delta: float = 0.0) -> Entry:
    return Entry(
        name=f"mechanisms.{what} (sensitivity {sensitivity:g})",
        sampler=Noise(what, sensitivity),
        epsilon=1.0,
        delta=delta,
        pairs=((0.0, sensitivity), (1.0, 1.0 + sensitivity)),
        budget=6_000,
        seeded=False,
    )


ENDS = ((-1.0, "a"), (1.0, "a"))
BASES: Sequence[Any] = ([(-1.0, "a"), (1.0, "a")],)
GROUPS: Sequence[Any] = ([(1.0, "a")] * 5,)
INTEGERS: Sequence[Any] = ([(0, "a"), (1, "a")],)


def _query(
    name: str, what: str, charged: float, delta: float = 0.0, *, bases: Sequence[Any] = BASES,
    records: Sequence[Any] = ENDS, budget: int = 2_000, **options: Any,
) -> Entry:  # fmt: skip
    grouped = "GROUP BY" in what
    select = f"SELECT {'g, ' if grouped else ''}{what.replace(' GROUP', ' AS n FROM t.t GROUP')}"
    return Entry(
        name=name,
        sampler=Query(select if grouped else f"{select} AS n FROM t.t", **options),
        epsilon=charged,
        delta=delta,
        bases=bases,
        records=records,
        relations=DATA,
        budget=budget,
        seeded=False,
        power=not grouped,
    )


GROUP = "COUNT(*) GROUP BY g"
ROWS = ((1.0, "a"), (1.0, "b"))
ENTRIES = (
    *(_noise("Laplace", sensitivity) for sensitivity in (1.0, 2.5)),
    *(_noise("Gaussian", sensitivity, DELTA) for sensitivity in (1.0, 2.5)),
    _query("COUNT(*)", "COUNT(*)", 1.0),
    _query("COUNT(x)", "COUNT(x)", 1.0),
    _query("COUNT(DISTINCT key)", "COUNT(DISTINCT key)", 1.0),
    _query("COUNT(DISTINCT x)", "COUNT(DISTINCT x)", 1.0),
    _query("SUM(x)", "SUM(x)", 1.0, budget=12_000),
    _query("SUM(x), integers", "SUM(x)", 1.0, bases=INTEGERS, records=((0, "a"), (1, "a")), integer=True),
    _query("SUM(DISTINCT x)", "SUM(DISTINCT x)", 1.0),
    _query("AVG(x)", "AVG(x)", 2.0),
    _query("VAR(x)", "VAR(x)", 3.0),
    _query("STDDEV(x)", "STDDEV(x)", 3.0),
    _query("SUM(x) / COUNT(x)", "SUM(x) / COUNT(x)", 2.0),
    _query("COUNT(*), Gaussian", "COUNT(*)", 1.0, DELTA, gaussian=True),
    _query("SUM(x), Gaussian", "SUM(x)", 1.0, DELTA, gaussian=True),
    _query("AVG(x), Gaussian", "AVG(x)", 2.0, 0.02, gaussian=True),
    _query("COUNT(*) by group, censored", GROUP, 2.0, DELTA, bases=GROUPS, records=ROWS, censored=True),
    _query(
        "COUNT(*) by group, censored, Gaussian", GROUP, 2.0, 0.03, bases=GROUPS, records=ROWS, censored=True,
        gaussian=True,
    ),
    Entry(
        name="mechanisms.approx_bounds",
        sampler=Noise("approx_bounds"),
        epsilon=1.0,
        bases=([0.5] * 12,),
        records=(4.5,),
        budget=400,
        seeded=False,
        power=False,
    ),
)  # fmt: skip
TABLE = Package(
    "smartnoise-sql",
    ENTRIES,
    "The files of the package name no neighbouring relation. Its sensitivities mean add-remove: the sensitivity of a "
    "sum is the largest absolute value of the bounds. The claim of a query is the epsilon of the package's "
    "get_privacy_cost. Records are persons with one row each. A query is slow, so the audits have few samples.",
    {
        "use_dpsu (set union)": "a query with it raises an AttributeError in this version",
        "MIN, MAX, JOIN, subqueries": "the package refuses them",
        "several rows for each person": "not yet in the table",
    },
    {
        ("SUM(x)", Adjacency.REPLACE): Meaning(
            "by design",
            "The noise is calibrated to the largest absolute value of the bounds. A replaced value changes the sum by "
            "the difference of the bounds. The package assumes add-remove (issue 326).",
            1,
            2.0,
        )
    },
)
