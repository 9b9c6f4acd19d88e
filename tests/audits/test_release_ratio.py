"""The exact score of the sparse vector that releases what it compared, by its mean under either law.

E exp(ratio) = 1 on the first input and E exp(-ratio) = 1 on the second, only for a likelihood ratio. Within
six standard errors of 400,000 samples (alpha 1e-8 each); a ratio to another law is told apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.audits.corpus.vectors import SparseVector, first_release_ratio

INPUTS = [1.0] * 4, [2.0] * 2 + [0.0] * 2
VARIANT = SparseVector(1.0, 2.0, 2.0, 1, released=True)
RUNS = 400_000


def apart(ratio, label):
    """How many standard errors the mean of exp(+-ratio) is away from 1."""
    values = np.exp((1 - 2 * label) * ratio(VARIANT(INPUTS[label], RUNS, np.random.default_rng(label))))
    return abs(values.mean() - 1) / (values.std() / np.sqrt(RUNS))


@pytest.mark.parametrize("label", [0, 1])
def test_the_likelihood_ratio_has_mean_one(label):
    assert apart(first_release_ratio(VARIANT, *INPUTS), label) < 6


@pytest.mark.parametrize("label", [0, 1])
def test_a_ratio_to_another_law_has_not(label):
    other = [list(values) for values in INPUTS]
    other[label] = [3.0, 0.0, 1.0, 1.0]
    assert apart(first_release_ratio(VARIANT, *other), label) > 6
