"""The page about other people's code: its exact recomputations, its neighbours, and a missing library."""

import importlib
import math

import numpy as np
import pytest

from benchmarks.paired_runs.libraries import __main__ as section
from benchmarks.paired_runs.libraries import exact


def test_the_events_recompute_with_laws_drawn_from_the_formulas():
    low, high = map(float, exact.normalised_information(records=200))
    n = 200
    sensitivity = 2 / n * math.log((n + 1) / 2) + (1 - 1 / n) * math.log1p(2 / (n - 1))
    score = 1 / (2 * sensitivity * 3 / 0.5)
    assert (low, high) == pytest.approx((2 / 3 / (1 + math.exp(score)), 1 / 3))
    rng = np.random.default_rng(0)
    zeros, ones = (count + rng.laplace(0, 8 / 20, 10**6) for count in (19, 21))
    # the variance of a Laplace difference and its tail are those of the formula, at a scale where the tail is seen
    assert np.mean(zeros > ones) == pytest.approx(float(exact.noise_on_counts(20)[0]), rel=0.05)


def test_each_neighbour_differs_in_one_record():
    pytest.importorskip("pandas")
    neighbours = importlib.import_module("benchmarks.paired_runs.libraries.neighbours")
    domain = {"a": 3, "b": 2}
    data = neighbours.table(domain, 9)
    added = dict(neighbours.unbounded(data, domain))
    assert [len(one) - len(data) for one in added.values()] == [1] * 7 + [-1] * 2
    for one in dict(neighbours.bounded(data, domain)).values():
        assert (one.to_numpy() != data.to_numpy()).any(axis=1).sum() <= 1


def test_a_missing_library_has_a_visible_row():
    text = "\n".join(section.lines([]))
    for name in ("dpmm", "mbi", "synthcity"):
        assert f"| {name} | skipped: not installed |" in text
