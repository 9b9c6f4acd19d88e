"""Pairs: all that are generated are adjacent by a rule of the test's own; near misses are refused."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.episode_relations import EPISODE_CHECKS
from dpproof.audits.data.neighbours import (
    VECTOR_PATTERNS,
    Distance,
    StreamRelation,
    VectorRelation,
    check_one_record_more,
    check_one_record_moved,
    vector_pairs,
)
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours, check_pair, episodes_pair
from tests.rows import rows

BATCH = Episodes(
    np.array([0, 1, 2, 0, 1]),
    np.array([0, 1, 0, 0, 1]),
    np.array([0.5, 0.25, 1.0, 0.0, 1.0]),
    np.array([2, 1, 2]),
    np.array([4, 7, 4]),
)


@rows("distance", Distance)
@rows("size", [1.0, 0.1, 3.0])
@rows("base", [1.0, 0.0, 0.3, 1e6])
def test_vectors_are_as_far_apart_as_allowed(distance, size, base):
    measure = {
        Distance.ONE: lambda gap: np.abs(gap).max(),
        Distance.ALL: lambda gap: np.abs(gap).max(),
        Distance.L1: lambda gap: np.abs(gap).sum(),
        Distance.L2: lambda gap: np.linalg.norm(gap),
    }[distance]
    pairs = vector_pairs(5, distance, size, base)
    assert {pair.description for pair in pairs} <= set(VECTOR_PATTERNS)
    assert len(pairs) == (3 if distance is Distance.ONE else 10)
    for pair in pairs:
        assert measure(pair.second - pair.first) == pytest.approx(size, abs=1e-8)


def test_the_patterns_on_ones_are_those_of_the_literature():
    found = {
        pair.description: (pair.first.tolist(), pair.second.tolist())
        for pair in vector_pairs(5, Distance.ALL)
    }
    ones = [1.0] * 5
    assert found["one above, rest below"] == (ones, [2.0, 0.0, 0.0, 0.0, 0.0])
    assert found["half-half"] == (ones, [0.0, 0.0, 2.0, 2.0, 2.0])
    assert found["all above"] == (ones, [2.0] * 5)
    assert found["X"] == ([1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0])


def test_a_dimension_of_one_has_no_pattern_twice():
    assert [pair.description for pair in vector_pairs(1, Distance.L2)] == ["one above", "one below"]


@pytest.mark.parametrize(
    ("distance", "second", "why"),
    [
        (Distance.ONE, [2.0, 2.0], r"Coordinates \[0, 1\] differ"),
        (Distance.ONE, [1.0, 2.5], "Coordinate 1 differs by 1.5"),
        (Distance.ALL, [1.0, np.nextafter(2, 3)], r"Coordinate 1 differs by 1\.0000000000000004"),
        (Distance.L1, [1.5, 1.625], r"The L1 distance is 1\.125"),
        (Distance.L2, [2.0, 1.5], r"The L2 distance is 1\.118"),
        (Distance.L2, [1.0, 1.0], "are equal"),
        (Distance.L2, [1.0], "shapes"),
        (Distance.L2, [1.0, np.nan], "finite"),
        (Distance.L2, ["a", "b"], "must hold numbers"),
    ],
)
def test_a_vector_too_far_away_is_refused_with_the_difference(distance, second, why):
    with pytest.raises(InvalidNeighboursError, match=why):
        Neighbours(
            np.ones(2), np.array(second), Adjacency.BY_SENSITIVITY, "too far", VectorRelation(distance)
        )


def test_one_ulp_decides():
    relation = VectorRelation(Distance.L1, 0.1)
    relation([0.0], [0.1])
    with pytest.raises(ValueError, match="L1"):
        relation([0.0], [np.nextafter(0.1, 1)])


@given(
    st.lists(st.integers(0, 3), min_size=3, max_size=3), st.lists(st.integers(0, 3), min_size=3, max_size=3)
)
def test_histograms_are_judged_by_what_one_record_can_do(first, second):
    added = [[c + (i == j) for i, c in enumerate(first)] for j in range(3)]
    removed = [[c - (i == j) for i, c in enumerate(first)] for j in range(3)]
    moved = [
        [c - (i == j) + (i == k) for i, c in enumerate(first)] for j in range(3) for k in range(3) if j != k
    ]
    for check, reach in ((check_one_record_more, added + removed), (check_one_record_moved, moved)):
        if second in reach:
            check(first, second)
        else:
            with pytest.raises(ValueError, match="The counts differ by"):
                check(first, second)


@pytest.mark.parametrize(
    ("first", "why"), [([0.5, 0], "whole numbers"), ([-1, 1], "at least 0"), ([1], "shapes")]
)
def test_what_is_no_histogram_is_refused(first, why):
    with pytest.raises(ValueError, match=why):
        check_one_record_more(first, [1, 1])


@pytest.mark.parametrize(
    ("relation", "second", "why"),
    [
        (StreamRelation(), [1, 1, 0], r"Events \[0, 1\] differ"),
        (StreamRelation(0.5), [1, 0, 0], "Event 0 differs by 1. It must differ by at most 0.5"),
        (StreamRelation(users=(1, 2, 1)), [1, 1, 0], r"users \[1, 2\] differ"),
        (StreamRelation(users=(1, 2)), [1, 0, 0], "one entry for each of 3 events"),
        (StreamRelation(), [0, 0, 0], "equal"),
        (StreamRelation(), [0, 0], "shapes"),
    ],
)
def test_streams_that_are_not_neighbours_are_refused(relation, second, why):
    with pytest.raises(InvalidNeighboursError, match=why):
        Neighbours(np.zeros(3), np.array(second), Adjacency.REPLACE, "no", relation)


@pytest.mark.parametrize(
    ("adjacency", "changed", "why"),
    [
        (Adjacency.REWARDS_ONLY, {"states": np.array([1, 1, 2, 0, 1])}, r"states at step 0 .* not 0 and 1"),
        (Adjacency.REWARDS_ONLY, {"rewards": np.zeros(5)}, r"steps of users \[4, 7\] differ"),
        (Adjacency.REPLACE, {"user": np.array([4, 7, 7])}, "user must be equal in both batches"),
        (Adjacency.REPLACE, {}, "are equal"),
        (Adjacency.ADD_REMOVE, {}, "must have exactly one additional user"),
        (Adjacency.EXPERT, {"user": np.array([4, 4, 4])}, "must have exactly one additional user"),
    ],
)
def test_batches_that_are_not_neighbours_are_refused(adjacency, changed, why):
    with pytest.raises(InvalidNeighboursError, match=why):
        episodes_pair(BATCH, replace(BATCH, **changed), adjacency, "no")


def test_every_relation_of_people_has_a_validator():
    assert EPISODE_CHECKS.keys() == set(Adjacency) - {Adjacency.BY_SENSITIVITY}


class Unlike:
    """Cannot be compared, as a dictionary of tensors cannot."""

    def __eq__(self, other):
        raise RuntimeError("neither equal nor unequal")


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        ("a", "a\0", True),
        ([1, "a"], ["1", "a"], True),
        ([1.0, 2.0], [1.0, 3.0], True),
        (Unlike(), Unlike(), True),
        (UNLIKE := Unlike(), UNLIKE, False),
        ([np.zeros(2), np.ones(2)], [np.zeros(2), np.ones(2)], False),
        ([1.0, 2.0], np.array([1.0, 2.0]), False),
        ({"a": 1}, {"a": 1}, False),
        ("a", "a", False),
    ],
)
def test_inputs_that_are_plainly_the_same_are_refused_and_no_others(first, second, differ):
    with (
        contextlib.nullcontext()
        if differ
        else pytest.raises(InvalidNeighboursError, match=r"differ\b|two different inputs")
    ):
        check_pair(Neighbours(first, second, Adjacency.REPLACE, "x"), Adjacency.REPLACE)
