"""Kinds of neighbours: each kind reveals a fault that no other pair reveals, and the search finds it."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import partial

import numpy as np
import pytest

import dpproof
from dpproof import Between, Drawn, Schema
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import InvalidNeighboursError
from dpproof.audits.recording.evidence import Finding
from tests.rows import rows

SHARES = Schema(Between(0.0, 1.0, (None, math.nan)))
SIGNED = Schema(Between(-math.inf, math.inf))
CELLS = [(city, job) for city in "xy" for job in "ab"] * 3


def lone_cell(data):
    cells, cities, jobs = Counter(data), Counter(c for c, _ in data), Counter(j for _, j in data)
    return any(n == 1 and cities[c] > 1 and jobs[j] > 1 for (c, j), n in cells.items())


def lone_city(data):
    cities, jobs = Counter(c for c, _ in data), Counter(j for _, j in data)
    return 1 in cities.values() and len(jobs) == 2 and min(jobs.values()) > 1


def one_copy(data):
    return len(data) > 4 and len(set(data)) == len(data) - 1


def largest_alone(data):
    return len(data) > 4 and data[0] == 1.0 and set(data[1:]) == {0.0}


def single(data):
    return len(data) == 1 and data[0] == 1.0


def holds(test, data):
    return any(one is not None and test(one) for one in data)


def minus_zero(value):
    return value == 0 and math.copysign(1, value) < 0


def subnormal(value):
    return 0 < value < 2.0**-1022


def just_below_one(value):
    return 1 - 2.0**-52 < value < 1


def nothing(data):
    return None in data


FAULTS = [
    ("all 8 records are", SHARES, largest_alone),
    ("small data", SHARES, single),
    ("lone cell", CELLS, lone_cell),
    ("vanishing group", CELLS, lone_city),
    ("duplicate", SHARES, one_copy),
    ("boundary float", SHARES, partial(holds, minus_zero)),
    ("boundary float", SHARES, partial(holds, subnormal)),
    ("boundary float", SHARES, partial(holds, just_below_one)),
    ("boundary float", SIGNED, partial(holds, math.isinf)),
    ("further value", SHARES, partial(holds, math.isnan)),
    ("further value", SHARES, nothing),
]


def leaking(fault, data, n, rng):
    """Noise, and a step that only some data sets take."""
    return rng.laplace(0, 1, n) + 4 * fault(data)


def revealing(data, fault):
    """The descriptions of the pairs on which only one input meets the fault."""
    pairs = Extremes(data, Adjacency.REPLACE).pairs()
    return [pair.description for pair in pairs if fault(pair.first) != fault(pair.second)]


@rows(("kind", "data", "fault"), FAULTS)
def test_a_fault_that_only_one_kind_of_pair_reveals_has_such_a_pair(kind, data, fault):
    found = revealing(data, fault)
    assert found
    assert all(said.startswith(kind) for said in found)


@pytest.mark.slow
@rows(("kind", "data", "fault"), FAULTS)
def test_the_search_finds_a_fault_that_only_one_kind_of_pair_reveals(kind, data, fault):
    found = dpproof.audit(partial(leaking, fault), data, adjacency="replace", epsilon=1, power=False)
    assert found.verdict is Finding.VIOLATION
    assert found.pair in revealing(data, fault)
    assert found.epsilon_lower > 1


def count(data, n, rng):
    """A sound count of the records, under any relation."""
    return len(data) + rng.laplace(0, 1, n)


def clipped_sum(data, n, rng):
    """A sound sum of the numbers in [0, 1], whatever the records hold."""
    usable = [one for one in data if one is not None and one == one]
    return sum(min(max(one, 0.0), 1.0) for one in usable) + rng.laplace(0, 1, n)


@rows(
    ("function", "data", "relation"),
    [
        (clipped_sum, SHARES, "replace"),
        (clipped_sum, SIGNED, "add-remove"),
        (count, CELLS, "add-remove"),
        (count, Drawn(lambda n, rng: list(rng.random(n))), "add-remove"),
    ],
)
def test_a_sound_function_is_not_refuted_on_any_of_the_pairs(function, data, relation):
    asked = {"adjacency": relation, "epsilon": 1, "alpha": 1e-4, "power": False}
    assert dpproof.audit(function, data, **asked).verdict is not Finding.VIOLATION


@pytest.mark.slow
def test_a_sound_function_is_consistent_on_the_pair_that_was_chosen():
    found = dpproof.audit(clipped_sum, SHARES, adjacency="replace", epsilon=1, scores=("identity",))
    assert found.verdict is Finding.CONSISTENT


@rows("relation", ["replace", "add-remove"])
@rows(
    "schema",
    [
        SHARES,
        Schema(["a", "", "b"], (2, 5)),
        Schema({"age": Between(0, 120), "income": Between(0.0, math.inf), "city": ["a", "b"]}, made=tuple),
        Schema(Between(0.0, 1.0), made=np.array),
    ],
)
def test_pairs_of_a_schema_are_checked_neighbours_of_allowed_sizes(schema, relation):
    pairs = Extremes(schema, Adjacency.of(relation)).pairs()
    assert len({pair.description for pair in pairs}) == len(pairs) > 8
    least, most = schema.sizes
    for pair in pairs:
        assert pair.standing.word == "checked"
        assert all(least <= len(data) <= most for data in (pair.first, pair.second))
        assert type(pair.first) is type(schema.made([]))
    smallest = min(len(data) for pair in pairs for data in (pair.first, pair.second))
    assert smallest == (least if relation == "add-remove" else max(least, 1))


def rare(n, rng):
    """Diagnoses, of which one in a hundred is rare."""
    return [{"diagnosis": "rare" if part < 0.01 else "usual", "age": 10 * part} for part in rng.random(n)]


def rare_alone(data):
    return sum(one["diagnosis"] == "rare" for one in data) == 1


def test_a_fault_on_records_that_a_small_data_set_lacks_is_found_from_the_function_that_draws_them():
    alone = rare(8, np.random.default_rng(0))
    assert not any(
        rare_alone(pair.first) or rare_alone(pair.second)
        for pair in Extremes(alone, Adjacency.ADD_REMOVE).pairs()
    )
    found = dpproof.audit(
        partial(leaking, rare_alone), Drawn(rare), adjacency="add-remove", epsilon=1, power=False
    )
    assert found.verdict is Finding.VIOLATION
    assert dpproof.replay(json.loads(json.dumps(found.witness()))).epsilon_lower == found.epsilon_lower


def test_bounds_add_boundary_floats_after_the_pairs_of_the_data():
    plain, bounded = (Extremes([0.0, 0.5, 1.0], Adjacency.REPLACE, b).pairs() for b in (None, (0.0, 1.0)))
    assert not [pair for pair in plain if pair.description.startswith("boundary")]
    values = {repr(pair.first[0]) for pair in bounded if pair.description.startswith("boundary")}
    assert {"-0.0", "5e-324", repr(1 - 2.0**-53)} <= values
    whole = Extremes([0, 1, 2], Adjacency.REPLACE, (0, 2)).pairs()
    assert not [pair for pair in whole if pair.description.startswith("boundary")]


def ordered(records):
    return sorted(records, key=repr)


def short(n, rng):
    return list(rng.random(n - 1))


@rows(
    ("data", "asked", "rule"),
    [
        (Schema(Between(0.0, 1.0), made=ordered), {}, "is not a pair of neighbours .* order|must"),
        (Schema(Between(0.0, 1.0), made=set), {"adjacency": "rewards-only"}, "must be one of replace"),
        (SHARES, {"bounds": (0, 1)}, "the schema states all ranges"),
        (Schema([1, 2], (3, 3)), {"adjacency": "add-remove"}, "two different numbers"),
        (Drawn(short), {}, "returned 999 records"),
        (Drawn(lambda n: [0] * n), {}, "raised TypeError"),
    ],
)
def test_what_makes_no_neighbours_is_refused_in_words(data, asked, rule):
    with pytest.raises(ValueError, match=rule):
        dpproof.audit(count, data, **{"adjacency": "replace", "epsilon": 1, **asked})


@rows(
    ("made", "rule"),
    [
        (lambda: Between(1, 1), "low must be below high"),
        (lambda: Between("a", 1), "must be numbers"),
        (lambda: Between(math.nan, 1.0), "low must be below high"),
        (lambda: Between(0.0, 1.0, also=None), "must be a list of further allowed values"),
        (lambda: Schema({"a": []}), "list of the allowed values"),
        (lambda: Schema({"a": 3}), "list of the allowed values"),
        (lambda: Schema({}), "at least one column"),
        (lambda: Schema([1, 2], (4, 2)), "smallest and the largest number"),
        (lambda: Drawn(rare, (0, 0)), "smallest and the largest number"),
    ],
)
def test_a_schema_without_a_meaning_is_refused(made, rule):
    with pytest.raises(ValueError, match=rule):
        made()


def test_a_schema_whose_data_are_not_neighbours_is_an_error():
    with pytest.raises(InvalidNeighboursError, match="not a pair of neighbours"):
        Extremes(Schema(Between(0.0, 1.0), made=ordered), Adjacency.REPLACE).pairs()
