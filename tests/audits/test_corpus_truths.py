"""The corpus's truths: integrals in Arb against scipy's quadrature, and against the samplers themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpproof.accountant.numbers.enclosures import precision
from dpproof.audits.corpus import floating_cases, truths, vectors
from dpproof.audits.corpus.vectors import SparseVector
from dpproof.mechanisms.sparse_vector.technique import ABOVE, HALTED

ONES = [1] * 10
HALVES = [2] * 5 + [0] * 5
FIRST = SparseVector(0.5, 20, 40, cutoff=1)
FOURTH = SparseVector(1, 40, 40 / 3, cutoff=1)


@pytest.mark.parametrize(("variant", "expected"), [(FIRST, 0.0885), (FOURTH, 0.1725)])
def test_sparse_vectors_lose_what_others_computed(variant, expected):
    """Figures of the literature, to four digits."""
    assert truths.first_above_ratio(variant, ONES, HALVES).upper == pytest.approx(expected, abs=6e-5)


def test_the_chance_of_each_place_agrees_with_quadrature():
    rho, nu = stats.laplace(scale=20), stats.laplace(scale=40)
    with precision(truths.BITS):
        law = [float(p.mid()) for p in truths._first_above(FIRST, HALVES)]
    for k in (0, 4, 7):

        def integrand(x, k=k):
            below = np.prod([nu.cdf(0.5 + x - q) for q in HALVES[:k]])
            return rho.pdf(x) * below * nu.sf(0.5 + x - HALVES[k])

        value = quad(integrand, -800, 800, points=[0.0, -0.5, 1.5], limit=500)[0]
        assert value == pytest.approx(law[k], rel=1e-7)


@pytest.mark.parametrize("queries", [ONES, HALVES])
def test_the_sampler_has_the_law_that_was_integrated(queries):
    """Chi-square at alpha 1e-6 with 100,000 samples; the law of other queries is rejected."""
    answers = FIRST(queries, 100_000, np.random.default_rng(1))
    stopped = (answers == ABOVE).any(axis=1)
    place = np.where(stopped, (answers == ABOVE).argmax(axis=1), 10)
    counts = np.bincount(place, minlength=11)

    def chance(of):
        with precision(truths.BITS):
            law = np.array([float(p.mid()) for p in truths._first_above(FIRST, of)])
        return stats.chisquare(counts, law / law.sum() * counts.sum()).pvalue

    assert chance(queries) > 1e-6
    assert chance([-9] * 10) < 1e-6


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_argmax_has_the_law_that_was_integrated(one_sided):
    """Chi-square at alpha 1e-6 with 100,000 samples; twice the scale is rejected."""
    counts = [0, 2, 2, 1, 0]
    drawn = vectors.noisy_argmax(counts, 100_000, np.random.default_rng(2), scale=3.0, one_sided=one_sided)
    observed = np.bincount(drawn, minlength=5)

    def chance(scale):
        noise = truths._exponential if one_sided else truths._laplace
        with precision(truths.BITS):
            law = np.array([float(truths._wins(i, counts, scale, noise).mid()) for i in range(5)])
        return stats.chisquare(observed, law / law.sum() * observed.sum()).pvalue

    assert chance(3) > 1e-6
    assert chance(6) < 1e-6


def test_a_run_that_stopped_answers_no_more():
    answers = SparseVector(0.0, 1.0, 1.0, cutoff=2)(ONES, 500, np.random.default_rng(3))
    above = (answers == ABOVE).cumsum(axis=1)
    assert (answers[:, 1:][above[:, :-1] == 2] == HALTED).all()
    assert (answers[:, 1:][above[:, :-1] < 2] != HALTED).all()


def test_snapped_values_lie_on_the_grid_and_lose_no_more_than_the_scale_says():
    drawn = floating_cases.snapped(1.0, 10_000, np.random.default_rng(4), scale=10.0, limit=100.0)
    assert set(np.unique(drawn)) <= {*range(-96, 97, 16), -100.0, 100.0}
    assert floating_cases.snapped_ratio(0, 1, scale=10.0, limit=100.0).upper <= 0.1


def test_a_truth_of_another_mechanism_is_refused():
    with pytest.raises(ValueError, match="must stop at its first answer"):
        truths.first_above_ratio(SparseVector(0, 1, 1, cutoff=2), ONES, HALVES)
