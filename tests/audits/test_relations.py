"""The stated relation of two inputs is checked by default, and what cannot be checked is said."""

from __future__ import annotations

from collections import Counter, deque, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.neighbours import check_one_record_more
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.targets.call import audit
from tests.rows import rows

REPLACE, MORE = "replace", "add-remove"
BASE = np.random.default_rng(0).normal(size=200)
ROWS = BASE.reshape(50, 4)


def with_value(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


class Frame:
    """What pandas shows of a data frame."""

    def __init__(self, rows, columns=("age", "income"), index=None):
        self.rows, self.columns = rows, list(columns)
        self.index = SimpleNamespace(name=index, nlevels=1)

    def itertuples(self, index, name):
        assert name is None
        return iter([(place, *row) if index else tuple(row) for place, row in enumerate(self.rows)])


class Table:
    """What pyarrow shows of a table."""

    def __init__(self, rows, columns=("age", "income")):
        self.rows, self.column_names = rows, list(columns)

    def to_pylist(self):
        return [dict(zip(self.column_names, row, strict=True)) for row in self.rows]


Record = namedtuple("Record", "name value")
PEOPLE = [Record(f"p{i}", float(i)) for i in range(6)]
COLUMNS = {"age": np.arange(9.0), "income": np.arange(9.0) * 2}

NEIGHBOURS = [
    (BASE, with_value(BASE, 3, 9.0), REPLACE, "1 of 200 elements differs"),
    (BASE, np.delete(BASE, 3), MORE, "one input has 1 element more than 199"),
    (np.empty(0), np.ones(1), MORE, "one input has 1 element more than 0"),
    (ROWS, with_value(ROWS, 7, 0.0), REPLACE, "1 of 50 rows differs"),
    (ROWS[1:], ROWS, MORE, "one input has 1 row more than 49"),
    (PEOPLE, [*PEOPLE[:5], Record("q", 1.0)], REPLACE, "1 of 6 elements differs"),
    (PEOPLE, PEOPLE[1:], "expert", "one input has 1 element more than 5"),
    ([1, float("nan")], [2, float("nan")], REPLACE, "1 of 2 elements differs"),
    (Frame([(1, 2), (3, 4)]), Frame([(1, 2), (3, 5)]), REPLACE, "1 of 2 rows differs"),
    (Table([(1, 2), (3, 4)]), Table([(3, 4)]), MORE, "one input has 1 row more than 1"),
    ({"a": (1, 2), "b": (3, 4)}, {"b": (9, 9), "a": (1, 2)}, REPLACE, "1 of 2 items differs"),
    ({"a": 1}, {"a": 1, "b": 2}, MORE, "one input has 1 item more than 1"),
    ({1, 2}, {2, 3}, REPLACE, "1 of 2 elements differs"),
    (Counter("aab"), Counter("ab"), MORE, "one input has 1 counted element more than 2"),
    (
        COLUMNS,
        {name: column[:-1] for name, column in COLUMNS.items()},
        MORE,
        "one input has 1 element more than 8",
    ),
    ((ROWS, BASE[:50]), (with_value(ROWS, 3, 0), with_value(BASE[:50], 3, 0)), REPLACE, "1 of 50 elements"),
    ((ROWS, BASE[:50]), (ROWS[:-1], BASE[:49]), MORE, "one input has 1 element more than 49"),
    ({"values": BASE, "clip": 1.0}, {"values": BASE[1:], "clip": 1.0}, MORE, "has 1 element more than 199"),
]
STRANGERS = [
    (BASE, BASE[:-1], REPLACE, "200 and 199 elements, but must have equally many"),
    (BASE, np.r_[BASE[10:], np.ones(10)], REPLACE, "differ, but exactly one must"),
    (BASE, with_value(BASE, slice(0, 10), 0.0), REPLACE, "10 of 200 elements differ, but exactly one must"),
    (BASE, np.r_[BASE[1:], 9.0], REPLACE, "only 1 would differ. Sort both inputs alike"),
    (np.array([0, 1]), np.array([1, 0]), REPLACE, "2 of 2 elements differ"),
    (BASE, np.r_[BASE, 1.0, 2.0], MORE, "200 and 202 elements, but one must have exactly one more"),
    (BASE, with_value(BASE, 0, 9.0), MORE, "one must have exactly one more"),
    (BASE, np.r_[9.0, 9.0, BASE[1:]], MORE, "of the smaller one, but 1 are missing"),
    (BASE, np.r_[BASE[::-1], 9.0], MORE, "but their order differs"),
    (BASE, BASE.copy(), REPLACE, "0 of 200 elements differ"),
    (ROWS, with_value(ROWS, slice(2), 0.0), REPLACE, "2 of 50 rows differ"),
    (ROWS, ROWS[:, :3], REPLACE, "the rows must have the same shape or columns"),
    (PEOPLE, PEOPLE[2:], MORE, "6 and 4 elements"),
    (PEOPLE, [*PEOPLE[2:], Record("q", 1.0)], "expert", "of the smaller one, but 1 are missing"),
    (PEOPLE, [Record("q", 1.0), Record("r", 1.0), *PEOPLE[2:]], "rewards-only", "2 of 6 elements differ"),
    (
        Frame([(1, 2)]),
        Frame([(1, 2)], columns=("age", "rent")),
        REPLACE,
        "the rows must have the same shape or columns",
    ),
    (Frame([(1, 2), (3, 4)]), Frame([(5, 6), (7, 8)]), REPLACE, "2 of 2 rows differ"),
    ({"a": 1, "b": 2}, {"a": 2, "b": 3}, REPLACE, "2 of 2 items differ"),
    (COLUMNS, {name: -column for name, column in COLUMNS.items()}, REPLACE, "9 of 9 elements differ"),
    ((ROWS, BASE[:50]), (ROWS[::-1], BASE[:50][::-1]), REPLACE, "50 of 50 elements differ"),
    ({"values": BASE, "clip": 1.0}, {"values": BASE, "clip": 2.0}, MORE, "one must have exactly one more"),
]
UNKNOWN = [
    (41.0, 42.0, MORE, "find records in an input of type float"),
    ("yes", "no", REPLACE, "find records in an input of type str"),
    (BASE, BASE + 1, "by-sensitivity", "the results that a mechanism computes"),
    (BASE, BASE + 1, "within 1 of each other", "given in words"),
    ([object()], [object()], REPLACE, "records of type object cannot be compared"),
    (PEOPLE, [*PEOPLE[:5], Record("p5", 9.0)], "rewards-only", "cannot see whether only its rewards differ"),
    (PEOPLE, PEOPLE[2:], "expert", "cannot see whether one expert has them all"),
    (COLUMNS, COLUMNS | {"age": np.ones(9)}, REPLACE, "but as the columns of a table, 8 of 9"),
    (
        {"values": BASE, "clip": 1},
        {"values": -BASE, "clip": 1},
        REPLACE,
        "but as the data set at 'values', 200",
    ),
]


@rows(("first", "second", "relation", "why"), NEIGHBOURS)
@rows("validator", [None, lambda _first, _second: None], ids=["none", "lax"])
def test_neighbours_are_checked(first, second, relation, why, validator):
    for pair in (
        Neighbours(first, second, relation, "x", validator),
        Neighbours(second, first, relation, "x", validator),
    ):
        assert pair.standing.checked
        assert why in pair.standing.why
        assert pair.as_json()["status"] == "checked"


@rows(("first", "second", "relation", "why"), STRANGERS)
@rows("validator", [None, lambda _first, _second: None], ids=["none", "lax"])
def test_what_breaks_the_relation_is_an_error(first, second, relation, why, validator):
    with pytest.raises(InvalidNeighboursError, match=why):
        Neighbours(first, second, relation, "x", validator)
    with pytest.raises(InvalidNeighboursError):
        Neighbours(second, first, relation, "x", validator)


@pytest.mark.parametrize(("first", "second", "relation", "why"), UNKNOWN)
def test_what_cannot_be_checked_is_taken_on_trust(first, second, relation, why):
    pair = Neighbours(first, second, relation, "x")
    assert pair.as_json()["status"] == "taken on trust"
    assert why in pair.as_json()["why"]


def test_a_validator_of_the_project_decides_for_its_kind_of_data():
    pair = Neighbours(np.array([3, 4]), np.array([3, 5]), MORE, "counts", check_one_record_more)
    assert (pair.standing.checked, pair.standing.why) == (True, "by check_one_record_more")


def test_a_validator_of_a_user_is_called_and_named():
    def at_most_one(first, second):
        if abs(first - second) > 1:
            raise ValueError("too far")

    with pytest.raises(InvalidNeighboursError, match="too far"):
        Neighbours(0.0, 3.0, MORE, "x", at_most_one)
    pair = Neighbours(0.0, 1.0, MORE, "x", at_most_one)
    assert not pair.standing.checked
    assert pair.standing.why.endswith("at_most_one, accepts it")


def laplace_sum(values, n, rng):
    return values.sum() + rng.laplace(0, 2.0, n)


def test_an_answer_names_its_pair_and_what_is_taken_on_trust():
    first = np.zeros(5)
    pair = Neighbours(first, with_value(first, 0, 1.0), REPLACE, "one of five")
    found = audit("sum", PureDP(1.0), laplace_sum, pair, seed=0, budget=2000).as_json()
    told = {"description": "one of five", "relation": REPLACE, "status": "checked"}
    assert found["pairs"] == [{**told, "why": "1 of 5 elements differs"}]
    assert len(found["taken_on_trust"]) == 1
    assert "independent" in found["taken_on_trust"][0]
    numbers = Neighbours(np.float64(0), np.float64(1), Adjacency.REPLACE, "two totals")
    trusting = audit("sum", PureDP(1.0), laplace_sum, numbers, seed=0, budget=2000).as_json()
    assert trusting["pairs"][0]["status"] == "taken on trust"
    assert trusting["taken_on_trust"][0].startswith("two totals: replace neighbours (")


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ({"age": [1, 2], "pay": [3, 4]}, {"age": [8, 9], "pay": [3, 4]}, "replace"),
        ({"a": [1], "b": [1], "c": [1]}, {"a": [1], "b": [1], "c": [1, 2]}, "replace"),
        ([np.array([1, 2, 3]), np.array([0, 1, 1])], [np.array([7, 8, 9]), np.array([0, 1, 1])], "replace"),
    ],
)
def test_small_tables_and_lists_of_arrays_are_not_taken_for_records_only(first, second, relation):
    pair = Neighbours(first, second, relation, "x")
    assert pair.standing.checked is (len(first) == 3)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ((i for i in range(3)), (i for i in range(4)), "read only once"),
        (iter([1, 2]), [1, 3], "read only once"),
        (deque([1, 2]), deque([3, 4]), "2 of 2 elements differ"),
        (range(3), range(5), "3 and 5 elements"),
        (np.ma.array([1, 2, 3], mask=[1, 0, 0]), np.ma.array([1, 2, 4], mask=[0, 1, 0]), "3 of 3 elements"),
        (np.ones(2, [("a", int), ("b", int)]), np.ones(2, [("b", int), ("a", int)]), "elements must have"),
    ],
)
def test_iterators_queues_masks_and_field_names_are_looked_at(first, second, why):
    with pytest.raises(InvalidNeighboursError, match=why):
        Neighbours(first, second, "replace", "x")


TABLE, OTHER = np.arange(30.0).reshape(10, 3), np.zeros((10, 3))
LABELS = np.arange(10)
BUNDLES = [
    ({"data": {"X": TABLE, "y": LABELS}, "n": 10}, {"data": {"X": OTHER, "y": LABELS}, "n": 10}),
    (([1, 2, 3], [7, 7]), ([4, 5, 6], [7, 7])),
    ({"train": TABLE, "test": TABLE[:4]}, {"train": OTHER, "test": TABLE[:4]}),
]


@pytest.mark.parametrize(("first", "second"), BUNDLES)
def test_a_data_set_of_many_changes_in_a_bundle_is_not_called_checked(first, second):
    """It is one part of a bundle that differs, but ten records of the data set in it."""
    assert not Neighbours(first, second, "replace", "x").standing.checked


def test_one_record_more_in_a_nested_bundle_is_checked():
    small = {"data": {"X": TABLE[:9], "y": LABELS[:9]}, "k": 3}
    assert Neighbours({"data": {"X": TABLE, "y": LABELS}, "k": 3}, small, "add-remove", "x").standing.checked


@pytest.mark.parametrize("word", ["Replace", " replace", "REPLACE"])
def test_a_relation_is_known_however_its_word_is_written(word):
    with pytest.raises(InvalidNeighboursError, match="10 of 10 rows"):
        Neighbours(TABLE + 1, OTHER, word, "x")
    with pytest.raises(InvalidNeighboursError, match="5 and 9"):
        Neighbours(list(range(5)), list(range(9)), "add_remove", "x")


@pytest.mark.parametrize("hold", [lambda data: [data], lambda data: {"data": data, "n": 2}])
def test_an_iterator_within_an_input_is_refused(hold):
    """After the first call it is empty, so that all later ones would see equal inputs."""
    with pytest.raises(InvalidNeighboursError, match="holds an iterator"):
        Neighbours(hold(iter([1, 2])), hold(iter([1, 3])), "replace", "x")
