"""Cases of synthcity: PrivBayes and AIM of its privacy plugins."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks.paired_runs.libraries.case import LibraryCase
from benchmarks.paired_runs.libraries.neighbours import BROKEN, bounded, table, unbounded

EPSILON, DELTA = 1.0, 1e-9
DOMAIN = {"a": 3, "b": 3, "c": 3}
WEAK, OURS = "Equality Failure @ 'is_weak_mi'", "not in its tests"
COUNTS = (
    "the noise on counts has the scale for probabilities: it is too small by the number of records. Known in"
    " DataSynthesizer (issue 34), not found in synthcity's tracker"
)
ZERO = "K equals the number of columns, so that the scale of the noise is 0 (the paper names this fault)"
SEED = "`fit` of each plugin sets the seed of numpy to 0 by default, so that the noise can be computed"
CELLS = "the domain is the set of observed values, and counts of 0 get no noise"


FEW = ("add:copy_random", "add:insert_nan")
"""The neighbours of AIM: a comparison takes minutes."""


class _PublicRandom:
    """The module `numpy.random`, in which the choice of a public name is fixed."""

    def choice(self, names: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Return a choice by probabilities, else the first name."""
        return names[0] if p is None else np.random.choice(names, size, replace, p)

    def __getattr__(self, name: str) -> Any:
        return getattr(np.random, name)


class _PublicNumpy:
    """The module `numpy`, with this choice."""

    random = _PublicRandom()

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _privbayes(**settings: Any) -> Callable[[pd.DataFrame], Any]:
    """Return a function that fits PrivBayes, and returns its network and its noisy tables."""
    module = import_module("synthcity.plugins.privacy.plugin_privbayes")

    def fitted(data: pd.DataFrame) -> Any:
        with mock.patch.object(module, "np", _PublicNumpy()):
            model = module.PrivBayes(epsilon=EPSILON, **settings).fit(data)
        return _released(model)

    return fitted


def _released(model: Any) -> Any:
    network = [(str(node), [str(one) for one in parents]) for node, parents in model.dag]
    return network, [np.asarray(one.get_values()) for one in model.network.get_cpds()]


def _plugin(data: pd.DataFrame) -> Any:
    """Fit the plugin with its default settings, and return the network and the noisy tables."""
    plugins = import_module("synthcity.plugins.privacy.plugin_privbayes")
    loader = import_module("synthcity.plugins.core.dataloader").GenericDataLoader
    plugin = plugins.PrivBayesPlugin(epsilon=EPSILON, K=1)
    plugin.fit(loader(data))
    return _released(plugin.model)


def _aim(data: pd.DataFrame) -> Any:
    """Fit AIM with three rounds, and return the measurements."""
    module = import_module("synthcity.plugins.core.models.aim")
    tabular = import_module("synthcity.plugins.core.models.tabular_aim").TabularAIM
    made: list[Any] = []

    class Engine(module.FactoredInference):  # type: ignore[name-defined,misc]  # a class of a module that is loaded at run time
        """The inference of synthcity with few steps, which notes what it is given."""

        def __init__(self, domain: Any, **settings: Any) -> None:
            super().__init__(domain, **settings | {"iters": 5})

        def estimate(self, measurements: Any, *rest: Any, **more: Any) -> Any:
            made[:] = [([*clique], np.asarray(y)) for _, y, _, clique in measurements]
            known = [(matrix, np.asarray(y), sigma, clique) for matrix, y, sigma, clique in measurements]
            return super().estimate(known, *rest, **more)

    model = import_module("synthcity.plugins.core.models.mbi.graphical_model").GraphicalModel
    with (
        mock.patch.object(module, "FactoredInference", Engine),
        mock.patch.object(model, "synthetic_data", return_value=mock.Mock(df=None)),
        contextlib.suppress(ImportError),
    ):
        fitted = tabular(data, epsilon=EPSILON, delta=DELTA).fit(data)
        fitted.model.rounds = 3
        fitted.generate(10)
    return made


def cases() -> Iterator[LibraryCase]:
    """Generate the cases.

    Raises:
        ImportError: synthcity is not installed.
    """
    import_module("synthcity.plugins.privacy.plugin_privbayes")
    made = "synthcity", version("synthcity"), "synthcity"
    data = table(DOMAIN, 60)
    replaced = dict(bounded(data, DOMAIN))
    put = partial(LibraryCase, *made)
    other = replaced["replace:uniform_supported"]
    yield put(
        "PrivBayes, K=1", "replace:uniform_supported", _privbayes(K=1), data, other, EPSILON, 0.0, WEAK,
        meaning=COUNTS,
    )  # fmt: skip
    yield put(
        "PrivBayes, K=3", "replace:uniform_supported", _privbayes(K=3), data, other, EPSILON, 0.0, OURS,
        meaning=ZERO,
    )  # fmt: skip
    yield put(
        "PrivBayes plugin, K=1", "replace:uniform_supported", _plugin, data, other, EPSILON, 0.0, OURS,
        meaning=SEED,
    )  # fmt: skip
    for change, second in replaced.items():
        if change.split(":")[1] != "uniform_supported":
            outside = change.split(":")[1] in BROKEN
            yield put(
                "PrivBayes, K=1", change, _privbayes(K=1), data, second, EPSILON, 0.0, WEAK, not outside,
                CELLS if outside else COUNTS,
            )  # fmt: skip
    for change, second in unbounded(data, DOMAIN):
        if change not in FEW:
            continue
        outside = change.split(":")[1] in BROKEN
        yield put(
            "AIM", change, _aim, data, second, EPSILON, DELTA, "passed", not outside, CELLS if outside else ""
        )
