"""The private mechanisms of diffprivlib: noise mechanisms, statistics ("tools") and models."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.table import Entry, Meaning, Package

BEYOND = "inertia_ beyond six records at 0"


@dataclass(frozen=True)
class Run:
    """A function or class of diffprivlib with its parameters, in the form in which an audit calls it.

    Attributes:
        what: the place below ``diffprivlib``, such as ``"tools.mean"``.
        parameters: the keyword arguments.
        data: for a mechanism, the keyword that takes the private value; empty for the argument of ``randomise``.
        released: for a model, the attributes that are released.
    """

    what: str
    parameters: Mapping[str, Any]
    data: str = ""
    released: Sequence[str] = field(default=())

    def __call__(self, data: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs. All randomness comes from ``rng``."""
        state = np.random.RandomState(rng.bit_generator)
        place, _, name = self.what.partition(".")
        made = getattr(importlib.import_module(f"diffprivlib.{place}"), name)
        # The package notes every use of a model in one list for the whole process, and a fit reads all of it.
        importlib.import_module("diffprivlib.accountant").BudgetAccountant.pop_default()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if place == "mechanisms":
                return self._mechanism(made, data, n, state)
            run = self._tool if place == "tools" else self._model
            return [run(made, data, state) for _ in range(n)]

    def _mechanism(self, made: Any, data: Any, n: int, state: np.random.RandomState) -> list[Any]:
        given = {self.data: data} if self.data else {}
        mechanism = made(**self.parameters, **given, random_state=state)
        if self.data:
            return [mechanism.randomise() for _ in range(n)]
        if self.what == "mechanisms.Vector":
            return [_minimiser(mechanism, data) for _ in range(n)]
        value = np.array(data) if isinstance(data, list) else data
        return [mechanism.randomise(value) for _ in range(n)]

    def _tool(self, made: Any, data: Any, state: np.random.RandomState) -> Any:
        columns = np.transpose(data) if self.what == "tools.histogram2d" else (np.array(data),)
        found = made(*columns, **self.parameters, random_state=state)
        return found[0] if isinstance(found, tuple) else found

    def _model(self, made: Any, data: Any, state: np.random.RandomState) -> Any:
        rows = np.array(data, float)
        given = (rows,) if self.data == "rows" else (rows[:, :-1], rows[:, -1])
        model = made(**self.parameters, random_state=state).fit(*given)
        return np.concatenate([np.ravel(_attribute(model, name)) for name in self.released])


def _attribute(model: Any, name: str) -> Any:
    """Return an attribute of a model.

    ``trees`` are the thresholds and the values of all trees. `BEYOND` is computed from two public attributes of KMeans:
    the part of the inertia that six records at 0 do not explain.
    """
    if name == BEYOND:
        return round(model.inertia_ - 6 * float(np.min(model.cluster_centers_**2)), 9)
    if name != "trees":
        return getattr(model, name)
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    return np.concatenate(
        [np.concatenate([np.ravel(tree.threshold), np.ravel(tree.value)]) for tree in trees]
    )


def _minimiser(vector: Any, label: float) -> float:
    """Return the minimiser of a logistic loss of one record with the label -1 or 1, perturbed by ``Vector``."""

    def objective(w: Any) -> tuple[float, Any]:
        loss = np.logaddexp(0, -label * w[0]) + vector.alpha / 2 * w[0] ** 2
        return loss, np.array([-label / (1 + np.exp(label * w[0])) + vector.alpha * w[0]])

    noisy = vector.randomise(objective)
    return float(brentq(lambda w: noisy(np.array([w]))[1][0], -1e6, 1e6))


def _mechanism(name: str, pairs: Sequence[tuple[Any, Any]], data: str = "", **parameters: Any) -> Entry:
    """Return the entry of a noise mechanism; its epsilon and delta are those among its parameters."""
    return Entry(
        name=f"mechanisms.{name}",
        sampler=Run(f"mechanisms.{name}", parameters, data),
        epsilon=parameters.get("epsilon", 0.0),
        delta=parameters.get("delta", 0.0),
        pairs=pairs,
    )


def _tool(
    name: str,
    bases: Sequence[Any],
    records: Sequence[Any],
    word: str = "",
    budget: int = 20_000,
    **parameters: Any,
) -> Entry:
    return Entry(
        name=f"tools.{name}" + (f" ({word})" if word else ""),
        sampler=Run(f"tools.{name}", {"epsilon": 1.0, **parameters}),
        epsilon=1.0,
        bases=bases,
        records=records,
        budget=budget,
    )


def _model(
    name: str,
    released: Sequence[str],
    bases: Sequence[Any],
    records: Sequence[Any],
    word: str = "",
    data: str = "",
    budget: int = 4_000,
    steps: int = 2,
    **parameters: Any,
) -> Entry:
    return Entry(
        name=f"models.{name}" + (f" ({word})" if word else ""),
        sampler=Run(f"models.{name}", {"epsilon": 1.0, **parameters}, data, released),
        epsilon=1.0,
        bases=bases,
        records=records,
        budget=budget,
        power=False,
        steps=steps,
    )


UNIT, WHOLE = ((0.0, 1.0), (0.5, 1.0)), ((0, 1), (3, 4))
NUMBERS = ([0.0], [0.0, 1.0], [0.0] * 4)
ENDS = (0.0, 1.0)
HIGH = ([5.0], [5.0, 6.0])
NAMES = [["a", "b", 1.0], ["a", "c", 2.0], ["b", "c", 2.0]]
POINTS = ([[0.0]] * 6,)
LABELLED = ([[0.0, 0.0], [1.0, 1.0]] * 2,)
CORNERS = tuple([x, y] for x in ENDS for y in ENDS)
PLANE = ([[1.0, 0.0]] * 4,)

SLOPES = ([[1.0, 1.0], [0.0, 1.0]],)

MECHANISMS = (
    _mechanism("Binary", (("a", "b"),), epsilon=1.0, value0="a", value1="b"),
    _mechanism(
        "Bingham",
        (
            ([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]),
            ([[2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]),
        ),
        epsilon=1.0,
    ),
    _mechanism(
        "Exponential",
        (([0.0, 0.0], [1.0, 0.0]), ([0.0, 1.0], [1.0, 0.0])),
        "utility",
        epsilon=1.0,
        sensitivity=1.0,
    ),
    _mechanism("ExponentialCategorical", (("a", "b"), ("a", "c")), epsilon=1.0, utility_list=NAMES),
    _mechanism(
        "ExponentialHierarchical", (("a", "b"), ("a", "c")), epsilon=1.0, hierarchy=[["a", "b"], ["c", "d"]]
    ),
    _mechanism("Gaussian", UNIT, epsilon=1.0, delta=0.01, sensitivity=1.0),
    _mechanism("GaussianAnalytic", UNIT, epsilon=1.0, delta=0.01, sensitivity=1.0),
    _mechanism("GaussianDiscrete", WHOLE, epsilon=1.0, delta=0.01),
    _mechanism("Geometric", WHOLE, epsilon=1.0),
    _mechanism("GeometricFolded", WHOLE, epsilon=1.0, lower=0, upper=4),
    _mechanism("GeometricTruncated", WHOLE, epsilon=1.0, lower=0, upper=4),
    _mechanism("Laplace", UNIT, epsilon=1.0, sensitivity=1.0),
    _mechanism("LaplaceBoundedDomain", UNIT, epsilon=1.0, sensitivity=1.0, lower=0.0, upper=2.0),
    _mechanism("LaplaceBoundedNoise", UNIT, epsilon=1.0, delta=0.05, sensitivity=1.0),
    _mechanism("LaplaceFolded", UNIT, epsilon=1.0, sensitivity=1.0, lower=0.0, upper=2.0),
    _mechanism("LaplaceTruncated", UNIT, epsilon=1.0, sensitivity=1.0, lower=0.0, upper=2.0),
    _mechanism(
        "PermuteAndFlip",
        (([0.0, 0.0], [1.0, 0.0]), ([0.0, 1.0], [1.0, 0.0])),
        "utility",
        epsilon=1.0,
        sensitivity=1.0,
    ),
    _mechanism("Snapping", ((0.0, 1.0), (-1.0, 0.0)), epsilon=1.0, sensitivity=1.0, lower=-4.0, upper=4.0),
    _mechanism("Staircase", UNIT, epsilon=1.0, sensitivity=1.0),
    _mechanism("Uniform", UNIT, delta=0.1, sensitivity=1.0),
    _mechanism("Vector", ((-1.0, 1.0),), epsilon=1.0, function_sensitivity=0.25, dimension=1, alpha=1.0),
)
BOUNDED: Mapping[str, Any] = {"bounds": (0.0, 1.0)}
TOOLS = (
    _tool("count_nonzero", NUMBERS, ENDS),
    _tool("histogram", NUMBERS, ENDS, bins=2, range=(0.0, 1.0)),
    _tool("histogram2d", ([[0.0, 0.0]], [[0.0, 0.0]] * 3), CORNERS, bins=2, range=((0.0, 1.0), (0.0, 1.0))),
    _tool("histogramdd", ([[0.0, 0.0]], [[0.0, 0.0]] * 3), CORNERS, bins=2, range=((0.0, 1.0), (0.0, 1.0))),
    _tool("mean", NUMBERS, ENDS, **BOUNDED),
    _tool("mean", ([[0.0, 0.0]], [[0.0, 0.0]] * 3), CORNERS, "of two columns", axis=0, **BOUNDED),
    _tool("median", NUMBERS, ENDS, **BOUNDED),
    _tool("nanmean", NUMBERS, ENDS, **BOUNDED),
    _tool("nanmean", ([0.0, 1.0], [0.0, 0.0, 1.0]), (0.0, 1.0, float("nan")), "with NaN", **BOUNDED),
    _tool("nanstd", NUMBERS, ENDS, **BOUNDED),
    _tool("nansum", NUMBERS, ENDS, **BOUNDED),
    _tool("nanvar", NUMBERS, ENDS, **BOUNDED),
    _tool("percentile", NUMBERS, ENDS, percent=25, **BOUNDED),
    _tool("quantile", NUMBERS, ENDS, quant=0.9, **BOUNDED),
    _tool("std", NUMBERS, ENDS, **BOUNDED),
    _tool("sum", NUMBERS, ENDS, **BOUNDED),
    _tool("sum", HIGH, (5.0, 6.0), "bounds 5 and 6", bounds=(5.0, 6.0)),
    _tool("var", NUMBERS, ENDS, **BOUNDED),
)
MODELS = (
    _model("KMeans", ("cluster_centers_",), POINTS, ([0.0], [1.0]), data="rows", n_clusters=2, **BOUNDED),
    _model("KMeans", (BEYOND,), POINTS, ([0.0], [1.0]), "inertia_", data="rows", n_clusters=2, **BOUNDED),
    _model("GaussianNB", ("theta_", "var_", "class_count_"), LABELLED, CORNERS, **BOUNDED),
    _model("LinearRegression", ("coef_", "intercept_"), SLOPES, CORNERS, steps=0,
           bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0)),
    _model(
        "LinearRegression", ("coef_",), SLOPES, CORNERS, "no intercept", budget=30_000, steps=0,
        fit_intercept=False, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0),
    ),
    _model("LogisticRegression", ("coef_", "intercept_"), LABELLED, CORNERS, data_norm=1.0),
    _model("PCA", ("components_", "explained_variance_"), PLANE, ([1.0, 0.0], [0.0, 1.0]), data="rows",
           n_components=1, centered=True, data_norm=1.0),
    _model("StandardScaler", ("mean_", "var_"), POINTS, ([0.0], [1.0]), data="rows", **BOUNDED),
    _model("DecisionTreeClassifier", ("trees",), LABELLED, CORNERS, max_depth=1, classes=(0.0, 1.0), **BOUNDED),
    _model("RandomForestClassifier", ("trees",), LABELLED[:1], CORNERS[:2], budget=1_500, max_depth=1, n_estimators=2,
           classes=(0.0, 1.0), **BOUNDED),
)  # fmt: skip
ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
INF = math.inf
SIZE = Meaning(
    "by design",
    "The range of the result, or its noise, depends on the number of records, which is private under add-remove.",
    1,
    INF,
    1.0,
)
BINS = Meaning(
    "by design",
    "The noise of each count is calibrated to sensitivity 1. A replaced record changes two counts, so the true epsilon "
    "is twice the claim.",
    2,
    2.0,
)
LEAVES = Meaning(
    "by design",
    "PermuteAndFlip is called with monotonic=True. A replaced record lowers one count and raises another, so "
    "the counts are not monotonic.",
    3,
    math.log(2 * math.e - 1),
)
BORDERS = Meaning(
    "new",
    "The records are divided among the trees by their place and the number of records. So an added record also moves "
    "others to another tree.",
    10,
    1 + math.log(2 * math.e - 1),
)
SQUARE = Meaning(
    "known",
    "The sensitivity of a squared feature is computed from its lower bound alone (issues 104 and 105).",
    4,
    INF,
)
EMPTY = Meaning(
    "new",
    "A cluster without records keeps its first centre, without noise. It may be known: issue 104 names k-means, and "
    "the stored copy does not show that item.",
    5,
    36.0,
    0.16,
)
INERTIA = Meaning(
    "new",
    "inertia_ is computed from the records without noise. The figure is for inertia_ together with cluster_centers_.",
    6,
    INF,
    1.0,
)
LABELS = Meaning(
    "new",
    "The counts of the labels add up to the true number of records, which is private under add-remove. (The set of "
    "labels is read from the data, too, as issue 106 says of LogisticRegression. These inputs do not show that.)",
    7,
    INF,
    1.0,
)
BITS = Meaning(
    "float only", "The last bits of the sum of a value and noise show the value (issues 19 and 94).", 9
)
AROUND = ("Laplace", "LaplaceTruncated", "LaplaceFolded", "LaplaceBoundedDomain", "Staircase")
"""Mechanisms that return a value plus noise, and claim delta 0."""
STATISTICS = (
    "mean",
    "mean (of two columns)",
    "nanmean",
    "nanmean (with NaN)",
    "nansum",
    "nanvar",
    "sum",
    "var",
)
"""Statistics that return a number plus such noise."""
SIZED = {"count_nonzero": 0.268, "sum": 0.5, "nansum": 0.5}
"""The statistics of which one record can give the same result as two. The others have the figure of `SIZE`."""
MEANINGS = {
    **{(f"tools.{name}", ADD): SIZE for name in ("sum (bounds 5 and 6)", "var", "nanvar", "std", "nanstd")},
    **{(f"tools.{name}", ADD): replace(SIZE, delta=below) for name, below in SIZED.items()},
    **{(f"tools.{name}", REPLACE): BINS for name in ("histogram", "histogram2d", "histogramdd")},
    ("models.DecisionTreeClassifier", REPLACE): LEAVES,
    ("models.GaussianNB", ADD): LABELS,
    ("models.KMeans", ADD): EMPTY,
    ("models.KMeans", REPLACE): EMPTY,
    ("models.KMeans (inertia_)", ADD): INERTIA,
    ("models.KMeans (inertia_)", REPLACE): INERTIA,
    ("models.LinearRegression (no intercept)", ADD): SQUARE,
    ("models.LinearRegression (no intercept)", REPLACE): SQUARE,
    ("models.RandomForestClassifier", ADD): BORDERS,
    ("models.RandomForestClassifier", REPLACE): LEAVES,
}


TABLE = Package(
    "diffprivlib",
    (*MECHANISMS, *TOOLS, *MODELS),
    "The documentation of the tools and models names no neighbouring relation. The audits pass a seeded random_state, "
    "so that violations replay. By default the package uses the generator of the system.",
    {
        "mechanisms.DPMechanism, DPMachine, TruncationAndFoldingMixin": "base classes",
        "mechanisms.transforms": "wrappers that convert the type of a value",
        "models.covariance_eig": "a part of PCA",
        "tools.quantile with several quantiles": "calls quantile once for each",
    },
    MEANINGS,
    BITS,
    compared=True,
    bits_exact=(
        *((f"mechanisms.{name}", Adjacency.BY_SENSITIVITY) for name in AROUND),
        ("tools.mean", ADD),
        *((f"tools.{name}", REPLACE) for name in STATISTICS),
        ("models.StandardScaler", REPLACE),
    ),
    bits_seen={
        ("mechanisms.Gaussian", Adjacency.BY_SENSITIVITY): 0.06,
        ("mechanisms.GaussianAnalytic", Adjacency.BY_SENSITIVITY): 0.11,
        ("mechanisms.LaplaceBoundedNoise", Adjacency.BY_SENSITIVITY): 0.15,
    },
)
