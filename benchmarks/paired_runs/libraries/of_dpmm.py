"""Cases of dpmm: AIM, PrivBayes and MST, with a domain inferred from the data and with a given domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paired_runs.libraries.case import LibraryCase
from benchmarks.paired_runs.libraries.neighbours import BROKEN, table, unbounded

EPSILON, DELTA = 1.0, 1e-5
DOMAIN = {"a": 3, "b": 3, "c": 3}
MODELS = {
    "AIM": ("aim", "AIMGM", {"rounds": 3, "n_iters": 20}),
    "PrivBayes": ("priv_bayes", "PrivBayesGM", {"n_iters": 20}),
    "MST": ("mst", "MSTGM", {"n_iters": 20}),
}
NOISY = ("models.aim", "models.mst", "models.base.mechanisms.mechanism")
"""Modules that draw noise with dpmm's function `gaussian_noise`, which makes a list of numbers of OpenDP."""
FEW = ("add:insert_nan", "remove:randidx(s=2)")
"""The neighbours of MST, which dp-recorder's repository does not list."""
CAST, INFERRED = "IntCastingNaNError", "Equality Failure @ '_domain'"
PUBLISHED = {
    ("AIM", "add:insert_nan"): CAST,
    ("AIM", "add:insert_inf"): CAST,
    ("AIM", "add:insert_shifted_outliers"): INFERRED,
    ("PrivBayes", "add:insert_nan"): CAST,
    ("PrivBayes", "add:insert_inf"): CAST,
    ("PrivBayes", "add:insert_large_outliers"): "shapes of Q and y are not compatible",
    ("PrivBayes", "add:insert_shifted_outliers"): INFERRED,
}
"""The failed tests in the listing of the repository's appendix; the other tests of these two files passed."""


class PublicDraws:
    """The random numbers of dpmm: choices with probabilities are drawn, public ones are fixed."""

    def choice(self, names: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Return a choice by probabilities, else the first names."""
        if p is None:
            return names[0] if size is None else np.arange(int(names))[:size]
        picked = np.random.choice(len(np.atleast_1d(p)), p=p)
        return picked if size is None else np.array([picked])


def noise(sigma: float, size: Any = None) -> Any:
    """Return Gaussian noise of the law that dpmm's function states."""
    shape = size if size is None or isinstance(size, tuple) else int(size)
    return np.random.normal(0, sigma, shape)


def _fit(name: str, domain: dict[str, int] | None) -> Callable[[pd.DataFrame], Any]:
    """Return a function that fits a model, and returns the chosen marginals and their noisy counts."""
    module, kind, settings = MODELS[name]

    def fitted(data: pd.DataFrame) -> Any:
        model = getattr(import_module(f"dpmm.models.{module}"), kind)(
            epsilon=EPSILON, delta=DELTA, domain=domain, random_state=PublicDraws(), n_jobs=1, **settings
        )
        model.fit(data, marginals_only=True)
        made = model.generator
        return [list(one) for one in made.cliques], [np.asarray(y) for _, y, _, _ in made.measures]

    return fitted


def _short_inference(original: Any, domain: Any, **settings: Any) -> Any:
    """Return dpmm's inference with few steps. It computes with released numbers only."""
    return original(domain, **settings | {"iters": 20})


def cases() -> Iterator[LibraryCase]:
    """Generate the cases.

    Raises:
        ImportError: dpmm is not installed.
    """
    for name in NOISY:
        import_module(f"dpmm.{name}").gaussian_noise = noise
    made = "dpmm", version("dpmm"), "dpmm"
    mst = import_module("dpmm.models.mst")
    mst.FactoredInference = partial(_short_inference, mst.FactoredInference)
    data = table(DOMAIN, 30)
    for name in MODELS:
        for change, other in unbounded(data, DOMAIN):
            if name == "MST" and change not in FEW:
                continue
            told = PUBLISHED.get((name, change), "passed" if name != "MST" else "not in its tests")
            outside = change.split(":")[1] in BROKEN
            meaning = _meaning(change) if outside else ""
            run = _fit(name, None)
            yield LibraryCase(
                *made, name, change, run, data, other, EPSILON, DELTA, told, not outside, meaning
            )
    yield from _of_normalised_information(made)


def _meaning(change: str) -> str:
    if "shifted" in change:
        return (
            "the domain is the largest value of the data plus 1. Known: issue 18, repaired in pull request 19 (after"
            " 0.1.9)"
        )
    return "`fit` does not check its input. `check_fit`, which the pipeline calls, rejects such a record"


def _of_normalised_information(made: tuple[str, str, str]) -> Iterator[LibraryCase]:
    """Generate the pairs on which the normalised mutual information changes most."""
    alone = pd.DataFrame({"a": [0] * 1999 + [1], "b": [0] * 1999 + [1], "c": [0] * 2000})
    other = pd.DataFrame({"a": [0] * 2000, "b": [0] * 2000, "c": [0] * 2000})
    meaning = (
        "the scores are *normalised* mutual informations, which one record changes by up to 1. The scale is that of"
        " the information without the normalisation"
    )
    for change, second in (("replace: a rare pair", other),):
        run = _fit("PrivBayes", {"a": 2, "b": 2, "c": 2})
        yield LibraryCase(
            *made, "PrivBayes, given domain", change, run, alone, second, EPSILON, DELTA, "not in its tests",
            meaning=meaning,
        )  # fmt: skip
