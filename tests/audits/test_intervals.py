"""Fixed samples: the bound keeps its level at every threshold at once, and is useful."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpproof.audits.engine.betting.intervals import fixed_sample_epsilon_lower


def test_level_and_use_on_laplace():
    alpha, runs, n, truth = 0.05, 400, 2000, 1.0
    rng = np.random.default_rng(0)
    found = np.array(
        [
            fixed_sample_epsilon_lower(rng.laplace(0, 1, n), rng.laplace(1, 1, n), 0.0, alpha)
            for _ in range(runs)
        ]
    )
    assert (found > truth).sum() <= binom.ppf(0.999, runs, alpha)
    assert np.median(found) > 0.6


def test_level_on_atoms_with_delta():
    alpha, runs, n = 0.05, 400, 500
    rng = np.random.default_rng(1)
    truth = math.log((0.8 - 0.05) / 0.3)
    found = np.array(
        [
            fixed_sample_epsilon_lower(rng.random(n) < 0.3, rng.random(n) < 0.8, 0.05, alpha)
            for _ in range(runs)
        ]
    )
    assert (found > truth).sum() <= binom.ppf(0.999, runs, alpha)
    assert np.median(found) > 0.5


def test_a_known_bad_control_exceeds_its_claim():
    rng = np.random.default_rng(2)
    lower = fixed_sample_epsilon_lower(rng.laplace(0, 0.5, 4000), rng.laplace(1, 0.5, 4000), 0.0, 0.01)
    assert 1.0 < lower <= 2.0


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_small_samples_say_nothing_wild(n):
    assert 0 <= fixed_sample_epsilon_lower(np.zeros(n), np.ones(n), 0.0, 0.01) < math.log(100 * n)


@pytest.mark.parametrize(
    ("first", "delta", "alpha"), [([], 0, 0.1), ([math.nan], 0, 0.1), ([1], 1, 0.1), ([1], 0, 0)]
)
def test_bad_input_is_refused(first, delta, alpha):
    with pytest.raises(ValueError, match=r"first|delta"):
        fixed_sample_epsilon_lower(first, [1.0], delta, alpha)
