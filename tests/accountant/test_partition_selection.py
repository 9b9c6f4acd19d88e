"""Partition selection: the rule against a linear program, and its guarantee against all outcomes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.selection.partition_selection import (
    PartitionSelectionParameters,
    account,
    keep_probabilities,
    least_users,
)
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal
from dpproof.mechanisms.selection.partition_selection import sample

CASES = [(1.0, 0.01), (0.2, 0.001), (2.0, 0.3)]


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_no_rule_with_the_same_guarantee_keeps_a_group_more_often(epsilon, delta):
    """The largest pi(n) under the four inequalities for all neighbouring numbers of users, for each n."""
    most, grown = 12, math.exp(epsilon)
    found = [float(x) for x in keep_probabilities(PartitionSelectionParameters(epsilon, delta), most)]
    rows, limits = [], []
    for n in range(most):
        for sign, limit in ((1, delta), (-1, delta + grown - 1)):  # of keeping, and of not keeping
            for one, other in ((n, n + 1), (n + 1, n)):
                row = np.zeros(most + 1)
                row[other if sign > 0 else one], row[one if sign > 0 else other] = (
                    (1, -grown) if sign > 0 else (-1, grown)
                )
                rows.append(row)
                limits.append(limit)
    for n in range(1, most + 1):
        aim = np.zeros(most + 1)
        aim[n] = -1
        best = linprog(aim, A_ub=np.array(rows), b_ub=limits, bounds=[(0, 0), *[(0, 1)] * most])
        assert best.x[n] == pytest.approx(found[n], abs=1e-7)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_the_guarantee_holds_for_all_outcomes_together(groups):
    """Every choice of sizes of the groups, in both directions; with less delta it does not hold."""
    asked = PartitionSelectionParameters(0.5, 0.01, groups)
    kept = [float(x) for x in keep_probabilities(asked, 6)]
    claimed = account(asked).guarantee
    largest = 0.0
    for epsilon in (0.0, 0.3, 0.5, 1.0):
        bound = claimed.delta(epsilon).upper
        for sizes in product(range(6), repeat=groups):
            laws = [
                [math.prod(kept[n + one] if k else 1 - kept[n + one] for n, k in zip(sizes, keep, strict=True))
                 for keep in product((0, 1), repeat=groups)]
                for one in (0, 1)
            ]  # fmt: skip
            for p, q in (laws, laws[::-1]):
                delta = sum(max(a - math.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
                assert delta <= bound + 1e-12
                if epsilon == 0.5 * groups:
                    largest = max(largest, delta / bound)
    assert groups > 2 or largest > 0.99  # so a claim of half the delta would be violated


@pytest.mark.parametrize("groups", [1, 2])
def test_tables_reach_the_lower_bound(groups):
    """The largest delta of all numbers of users, in both directions. Arbitrary decisions reach more."""
    epsilon, delta = 1.0, 0.01
    asked = PartitionSelectionParameters(epsilon, delta, groups)
    kept = [float(x) for x in keep_probabilities(asked, 40)]
    laws = [np.array([[x, 1 - x] for x in some]) for some in (kept[1:], kept[:-1])]
    if groups == 2:
        laws = [np.einsum("ai,bj->abij", law, law).reshape(-1, 4) for law in laws]
    for at in (0.0, 0.4, 0.9 * groups, 1.0 * groups):
        gaps = (p - math.exp(at) * q for p, q in (laws, laws[::-1]))
        most = max(np.maximum(gap, 0).sum(axis=1).max() for gap in gaps)
        found = account(asked).guarantee.delta(at)
        assert found.lower == pytest.approx(most, rel=1e-9)
        assert most <= found.upper * (1 + 1e-12)
    optimum = compose_approx_optimal([(ApproxDP(epsilon, delta), groups)])
    assert account(asked).guarantee.delta(0).lower < 0.99 * optimum.delta(0).lower


def test_many_groups_have_a_lower_bound_from_new_groups():
    found = account(PartitionSelectionParameters(0.5, 1e-7, 2000)).guarantee.delta(1000)
    assert found.lower == pytest.approx(1 - (1 - 1e-7) ** 2000, rel=1e-9)
    assert found.lower == pytest.approx(found.upper, rel=1e-9)


def test_a_tiny_epsilon_has_the_lower_bound_of_a_new_group():
    """The intervals around the other probabilities are too wide to tell them apart. There was an error."""
    for epsilon in (5e-324, 1e-60):
        found = account(PartitionSelectionParameters(epsilon, 1e-300)).guarantee.delta(1)
        assert found.lower <= 1e-300 <= found.upper <= 1.1e-300
        assert found.lower >= 0.9e-300


def test_the_sampler_keeps_groups_as_often_as_stated():
    """Five standard deviations of each of six counts: alpha below 1e-5. Seed 5."""
    asked, n = PartitionSelectionParameters(1.0, 0.05), 100_000
    users = np.array([0, 1, 2, 3, 5, 10**9])
    found = sample(asked, users, n, np.random.default_rng(5)).sum(axis=0)
    chances = [float(x) for x in keep_probabilities(asked, 5)]
    for count, chance in zip(found, [chances[k] for k in (0, 1, 2, 3, 5)] + [1.0], strict=True):
        assert abs(count - n * chance) <= 5 * math.sqrt(n * chance * (1 - chance)) + 1e-9
    with pytest.raises(ValueError, match="whole numbers"):
        sample(asked, [-1], 1, np.random.default_rng(5))


def test_what_is_not_proved_is_refused():
    with pytest.raises(UnprovedAdjacencyError, match="count such a user twice"):
        account(PartitionSelectionParameters(1.0, 0.1), Adjacency.REPLACE)
    assert least_users(PartitionSelectionParameters(1.0, 1e-5)) == 12
