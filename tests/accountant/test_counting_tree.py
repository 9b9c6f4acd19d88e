"""The tree's counts and norms against enumeration of all nodes and all patterns, and its accountant."""

import collections
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.counting import sensitivity as separated
from dpproof.accountant.counting.gaussian_tree import ACCOUNTANT, TreeParameters, account, squared_norm
from dpproof.accountant.counting.sensitivity import (
    absolute_sensitivity,
    replacement_sensitivity,
    separated_replacement,
    separated_sensitivity,
    squared_sensitivity,
)
from dpproof.accountant.counting.tree import Nodes, levels, nodes_with, releases_by_size
from tests.rows import rows


def all_nodes(leaves, nodes):
    """Every complete node as a set of leaves, level by level."""
    found = []
    for size in (2**level for level in range(leaves.bit_length())):
        starts = range(0, leaves - size + 1, size if nodes is Nodes.COMPLETE else 2 * size)
        found += [frozenset(range(start + 1, start + size + 1)) for start in starts]
    return found


def subsets(leaves, most):
    sizes = range(most + 1)
    return [frozenset(s) for size in sizes for s in itertools.combinations(range(1, leaves + 1), size)]


@rows("nodes", Nodes)
@rows("leaves", range(1, 34))
def test_nodes_around_each_leaf(leaves, nodes):
    every = all_nodes(leaves, nodes)
    counts = [sum(leaf in node for node in every) for leaf in range(1, leaves + 1)]
    assert [nodes_with(leaf, leaves, nodes) for leaf in range(1, leaves + 1)] == counts
    assert max(counts) == counts[0] == levels(leaves)


@rows("leaves", range(1, 66))
def test_releases_by_size_is_the_distribution_of_binary_digits(leaves):
    seen = collections.Counter(time.bit_count() for time in range(1, leaves + 1))
    assert releases_by_size(leaves) == tuple(seen[m] for m in range(max(seen) + 1))


def test_a_stream_too_long_to_enumerate():
    counts = releases_by_size(10**18)
    assert sum(counts) == 10**18
    assert len(counts) == 60


@rows("nodes", Nodes)
@rows("leaves", range(1, 13))
def test_worst_patterns_by_enumeration(leaves, nodes):
    every = all_nodes(leaves, nodes)
    for most in (1, 2, 3, 4):
        profiles = [[len(node & s) for node in every] for s in subsets(leaves, most)]
        assert squared_sensitivity(leaves, most, nodes) == max(sum(c * c for c in p) for p in profiles)
        assert absolute_sensitivity(leaves, most, nodes) == max(map(sum, profiles))


@pytest.mark.parametrize("nodes", Nodes)
@pytest.mark.parametrize(("leaves", "most"), [(1, 1), (2, 1), (3, 2), (7, 2), (8, 1), (8, 2), (9, 2), (6, 3)])
def test_worst_replacements_by_enumeration(leaves, most, nodes):
    every = all_nodes(leaves, nodes)
    profiles = [[len(node & s) for node in every] for s in subsets(leaves, most)]
    worst = max(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for p in profiles for q in profiles)
    assert replacement_sensitivity(leaves, most, nodes) == worst


def signed_changes(leaves, most, separation=1):
    """Every change of the leaves by a user who leaves with +-1 or 0 and enters with +-1 or 0."""
    values = [
        value
        for value in itertools.product((-1, 0, 1), repeat=leaves)
        if sum(map(abs, value)) <= most
        and all(b - a >= separation for a, b in itertools.pairwise(i for i, x in enumerate(value) if x))
    ]
    return {tuple(b - a for a, b in zip(u, v, strict=True)) for u in values for v in values}


@rows("separation", [1, 2, 3])
@rows(("leaves", "most"), [(1, 1), (2, 1), (3, 2), (4, 1), (5, 2), (6, 1), (6, 2)])
def test_signed_replacement_by_enumeration(leaves, most, separation):
    every = all_nodes(leaves, Nodes.COMPLETE)
    moved = [
        [sum(x[leaf - 1] for leaf in node) for node in every]
        for x in signed_changes(leaves, most, separation)
    ]
    worst = max(sum(c * c for c in row) for row in moved)
    p = TreeParameters(leaves, 1.0, sensitivity=1.0, participations=most, separation=separation)
    assert squared_norm(p, Adjacency.REPLACE) == (worst, worst)
    assert worst > squared_norm(replace(p, contributions="nonnegative"), Adjacency.REPLACE)[1]


def test_what_is_assumed_of_contributions_is_said():
    p = TreeParameters(16384, 1.0, sensitivity=1.0)
    assert squared_norm(p, Adjacency.REPLACE) == (60, 60)
    assert "[-sensitivity, sensitivity]" in account(p, Adjacency.REPLACE).notes[0]
    counts = account(replace(p, contributions="nonnegative"), Adjacency.REPLACE)
    assert "never less than 0" in counts.notes[0]
    assert counts.guarantee.mu.upper**2 == pytest.approx(28)
    with pytest.raises(ValueError, match="contributions"):
        replace(p, contributions="any")


@rows("nodes", Nodes)
@rows("separation", [1, 2, 3, 4, 5, 7])
@rows("leaves", [1, 2, 5, 8, 11, 13, 16])
def test_worst_separated_patterns_by_enumeration(leaves, separation, nodes):
    every = all_nodes(leaves, nodes)
    for most in (1, 2, 3):
        apart = [
            s
            for s in subsets(leaves, most)
            if all(b - a >= separation for a, b in itertools.pairwise(sorted(s)))
        ]
        worst = max(sum(len(node & s) ** 2 for node in every) for s in apart)
        assert separated_sensitivity(leaves, most, separation, nodes) == (worst, worst)


@pytest.mark.parametrize("nodes", Nodes)
@pytest.mark.parametrize("separation", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("leaves", [5, 8, 14, 23])
def test_coarse_blocks_enclose_the_finest(leaves, separation, nodes, monkeypatch):
    exact = separated_sensitivity(leaves, 4, separation, nodes)[0]
    free = (separation & -separation).bit_length() - 1
    for level in (*range(separation.bit_length()), None):
        monkeypatch.setattr(separated, "_block_level", lambda count, gap, level=level: level)
        low, high = separated_sensitivity(leaves, 4, separation, nodes)
        assert low <= exact <= high
        assert level is None or level > free or low == high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leaves", "most", "gap"), [(8, 3, 2), (12, 3, 3), (13, 2, 5), (16, 3, 4), (11, 2, 4)]
)
def test_separated_moves_by_enumeration(leaves, most, gap):
    """All pairs of patterns, each with its distances; the nodes are summed leaf by leaf."""
    nodes = np.array(
        [
            [first <= leaf < first + (1 << level) for leaf in range(leaves)]
            for level in range(leaves.bit_length())
            for first in range(0, leaves - (1 << level) + 1, 1 << level)
        ],
        dtype=int,
    )
    changes = [
        nodes[:, list(pattern)].sum(axis=1)
        for count in range(most + 1)
        for pattern in itertools.combinations(range(leaves), count)
        if all(b - a >= gap for a, b in itertools.pairwise(pattern))
    ]
    worst = max(int(((one - other) ** 2).sum()) for one in changes for other in changes)
    low, high = separated_replacement(leaves, most, gap)
    assert low <= worst <= high <= 1.1 * low


def test_separated_moves_are_known_up_to_a_few_percent():
    assert separated_replacement(16384, 10, 1638) == (302, 306)
    assert replacement_sensitivity(16384, 10) == 2268
    assert separated_replacement(1024, 100, 4)[1] <= 2 * separated_replacement(1024, 100, 4)[0]


@pytest.mark.slow
def test_large_separations_are_answered_tightly():
    low, high = separated_sensitivity(16384, 10, 1638)
    assert low <= high <= low * 1.02
    low, high = separated_sensitivity(2**40, 4000, 1001)
    assert 0 < low <= high
    with pytest.raises(ValueError, match="at most 4096"):
        separated_sensitivity(2**40, 5000, 1001)
    p = TreeParameters(
        16384, 1.0, sensitivity=1.0, participations=3, separation=1001, contributions="nonnegative"
    )
    assert squared_norm(p, Adjacency.REPLACE) == (124, 124)
    assert replacement_sensitivity(16384, 3) == 232
    found = account(replace(p, participations=10, separation=1638), Adjacency.REPLACE)
    assert found.attained.guarantee.mu.upper < found.guarantee.mu.upper


@given(st.integers(1, 10**6), st.integers(1, 12))
def test_norms_grow_with_the_stream_and_with_participation(leaves, most):
    worst = squared_sensitivity(leaves, most)
    assert worst <= squared_sensitivity(leaves + 1, most)
    assert worst <= squared_sensitivity(leaves, most + 1)
    assert worst >= squared_sensitivity(leaves, most, Nodes.USED)
    assert worst <= most**2 * levels(leaves)


def test_the_values_of_the_anchor():
    for leaves, epsilon in ((16384, 1.704618035), (16383, 1.641765249)):
        found = account(TreeParameters(leaves, 10.0)).guarantee.epsilon("1e-6")
        assert found.lower <= found.upper
        assert found.lower == pytest.approx(epsilon, abs=6e-10)
        assert found.relative_width < 1e-14


def test_relations():
    p = TreeParameters(16, 1.0, sensitivity=1.0)
    norms = {
        a: squared_norm(p, a) for a in (Adjacency.BY_SENSITIVITY, Adjacency.ADD_REMOVE, Adjacency.REPLACE)
    }
    assert list(norms.values()) == [(5, 5), (5, 5), (20, 20)]
    with pytest.raises(UnprovedAdjacencyError, match="by-sensitivity, add-remove, replace"):
        account(p, Adjacency.REWARDS_ONLY)


def test_restarts_add_and_sensitivity_scales():
    p = TreeParameters(100, 3.0, sensitivity=1.0)
    once, five = (squared_norm(replace(p, restarts=n), Adjacency.REPLACE) for n in (0, 4))
    assert five == (5 * once[0], 5 * once[1])
    scaled = replace(p, sensitivity=6.0, sigma=18.0)
    assert account(scaled).guarantee == account(p).guarantee


@pytest.mark.parametrize("relation", [Adjacency.BY_SENSITIVITY, Adjacency.REPLACE])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-30"), ("20", "1e-3")])
def test_calibration_meets_and_a_little_less_misses(relation, epsilon, delta):
    p = TreeParameters(1000, 1.0, sensitivity=1.0, participations=2)
    meets, misses = ACCOUNTANT.calibrate(p, relation, epsilon, delta)
    assert account(meets, relation).guarantee.epsilon(delta).upper <= float(epsilon)
    assert account(misses, relation).guarantee.epsilon(delta).lower > float(epsilon)
    assert meets.sigma == pytest.approx(misses.sigma, rel=1e-13)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"leaves": 0}, "leaves"),
        ({"leaves": 2.5}, "leaves"),
        ({"sigma": float("nan")}, "sigma"),
        ({"sigma": float("inf")}, "sigma"),
        ({"sigma": -1.0}, "sigma"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"participations": 0}, "participations"),
        ({"restarts": -1}, "restarts"),
        ({"restarts": 10**400}, "restarts"),
    ],
)
def test_bad_parameters_are_named(values, named):
    with pytest.raises(ValueError, match=named):
        TreeParameters(**{"leaves": 8, "sigma": 1.0} | values)


def test_a_loss_beyond_double_precision_is_refused_by_name():
    with pytest.raises(ValueError, match=r"sigma \(1e-308\)"):
        account(TreeParameters(4, 1e-308, sensitivity=1e308))


@pytest.mark.parametrize("bad", [0, -1, True, 1.0])
def test_bad_leaves_are_refused(bad):
    for function in (levels, releases_by_size, squared_sensitivity, absolute_sensitivity):
        with pytest.raises(ValueError, match="leaves"):
            function(bad)
    with pytest.raises(ValueError, match="participations"):
        squared_sensitivity(8, bad)
    with pytest.raises(ValueError, match="leaf"):
        nodes_with(9, 8)
    with pytest.raises(ValueError, match="at most 64"):
        replacement_sensitivity(100, 65)
