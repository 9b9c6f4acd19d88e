""" "Consistent" is worth what it says: twice the claim is refuted within the budget that earned the word.

Alpha of the test .001: of 100 runs with power at least 0.9, fewer than 80 refute with that chance at most.
"""

from __future__ import annotations

import pytest
from scipy.stats import binom

from benchmarks.audits import seen
from dpproof.audits.recording.evidence import Finding
from tests.rows import tiered

RUNS, LEAST = 100, 80


def refuted(case, budget):
    return sum(row["refuted"] for row in (seen._one(case, seed, budget) for seed in range(1000, 1000 + RUNS)))


def test_the_least_number_is_a_quantile():
    assert binom.ppf(0.001, RUNS, 0.9) == LEAST


@pytest.mark.slow
@pytest.mark.parametrize("name", tiered(["Laplace, claim 1", "randomised response, claim 1"], fast=1))
def test_twice_the_claim_is_refuted_within_the_budget(name):
    case, (budget, would_have_seen) = seen.CASES[name], seen.budget_of(name)
    assert would_have_seen <= 2
    assert refuted(case, budget) >= LEAST


@pytest.mark.slow
def test_a_budget_too_small_for_the_word_does_not_do():
    case, (budget, _) = seen.CASES["Laplace, claim 1"], seen.budget_of("Laplace, claim 1")
    assert case.audited(case.exact, 0, budget // 3).verdict is Finding.INCONCLUSIVE
    assert refuted(case, budget // 3) < LEAST
