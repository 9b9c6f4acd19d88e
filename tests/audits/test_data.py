"""Inputs that an audited function gets: copies of the data, observed records, and values within stated bounds."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import time
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

import dpproof
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.episodes import Episodes
from dpproof.answers.audit import audit_claim
from dpproof.audits.data.changes import shown
from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.handed import Handed, sealed
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.data.tables import table_of
from dpproof.audits.engine.checks.kept_state import MOST, SHARE, STATE, WEAKNESS, unless_alike
from dpproof.audits.engine.sampling.callables import ChangedInputError, Mechanism
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.time_budget import OutOfTimeError
from dpproof.claim_file.entry import claim_from
from dpproof.cli.audit_jobs import told_of
from dpproof.privacy_tests import Privacy
from tests.rows import rows

REPLACE = Adjacency.REPLACE
ASKED = {"adjacency": "replace", "epsilon": 1.0, "power": False}


def geometric(epsilon, rng, n):
    p = 1 - np.exp(-epsilon)
    return rng.geometric(p, n) - rng.geometric(p, n)


def popping(data, n, rng):
    total = 0
    for values in data.values():
        while values:
            total += min(values.pop(), 5)
    return total + geometric(1 / 15, rng, n)


def in_place(data, n, rng):
    data /= 100
    return np.rint(1000 * data.sum()) + geometric(1 / 1000, rng, n)


def framed(data, n, rng):
    data["x"] = data.x.clip(0, 1)
    return data.x.sum() + geometric(1, rng, n)


def scalar(data, rng):
    return data.pop() + int(geometric(1, rng, 1)[0])


def late():
    """Return a function that changes its input at its 60th call."""
    calls = []

    def function(data, n, rng):
        calls.append(0)
        if len(calls) == 60:
            data[0] = 7
        return sum(data) + geometric(1 / 10, rng, n)

    return function


LISTS = {"u1": [1, 2, 3], "u2": [5], "u3": [4] * 4}


@rows(
    ("function", "data", "options"),
    [
        (popping, LISTS, {}),
        (in_place, np.array([0.0, 100.0, 100.0, 0.0]), {}),
        (scalar, [1, 2, 3], {}),
        (scalar, [1, 2, 3], {"failures": "token"}),
        (late(), [1, 2, 5], {}),
    ],
)
def test_a_function_that_changes_its_input_is_refused_and_the_data_stay(function, data, options):
    before = copy.deepcopy(data)
    with pytest.raises(ChangedInputError, match="changes its input"):
        dpproof.audit(function, data, **ASKED, **options)
    assert sealed(data) == sealed(before)


@rows(
    ("function", "pair"), [(popping, ({0: [1]}, {0: [5]})), (scalar, ([1, 2], [1, 3])), (late(), ([1], [2]))]
)
def test_a_pair_is_copied_too(function, pair):
    before = copy.deepcopy(pair)
    with pytest.raises(ChangedInputError, match="changes its input"):
        dpproof.audit(function, pair=pair, **ASKED)
    assert pair == before


def test_a_frame_is_copied_and_a_copying_function_is_audited():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ChangedInputError):
        dpproof.audit(framed, pandas.DataFrame({"x": [0, 5, 2]}), **ASKED)
    found = dpproof.audit(lambda d, n, rng: popping(copy.deepcopy(d), n, rng), LISTS, **ASKED)
    assert found.verdict is not Finding.CONSISTENT


@dataclass
class Person:
    age: int


class Holder:
    def __init__(self, rows):
        self.rows, self._last = rows, None

    @cached_property
    def total(self):
        return sum(self.rows)


def test_every_kind_of_change_is_seen_and_a_cached_property_is_none():
    changes = [
        ([1, 2], lambda v: v.reverse()),
        ([[1], [2]], lambda v: v[1].append(3)),
        ({"a": {1, 2}}, lambda v: v["a"].add(3)),
        ([Person(3)], lambda v: setattr(v[0], "age", 4)),
        (Holder([1]), lambda v: v.rows.append(2)),
        (Holder([1]), lambda v: setattr(v, "_last", 5)),
        (np.array([None, {"a": 1}], object), lambda v: v[1].update(a=2)),
        (np.zeros((300, 300)), lambda v: v.__setitem__((150, 150), 1)),
    ]
    for value, change in changes:
        handed = Handed(value)
        assert not handed.changed
        change(handed.value)
        assert handed.changed
        assert not Handed(value).changed
    held = Handed(Holder([1]))
    assert held.value.total == 1
    assert not held.changed


def episodes(rewards):
    rows = {"episode": [0, 1, 2], "user": list("abc"), "state": [0, 0, 0], "reward": rewards}
    return dpproof.read_episodes(rows)


def test_episodes_from_files_are_data_and_their_pairs_are_checked():
    data = episodes([0.0, 1.0, 0.0])
    pairs = Extremes(data, REPLACE).pairs()
    assert {pair.standing.word for pair in pairs} == {"checked"}
    assert isinstance(pairs[0].first, type(data))
    plain = Episodes(*(getattr(data, name) for name in ("states", "actions", "rewards", "lengths", "user")))
    assert [p.description for p in Extremes(plain, REPLACE).pairs()] == [p.description for p in pairs]
    with pytest.raises(InvalidNeighboursError, match="one user only"):
        dpproof.audit(scalar, pair=(episodes([0, 0, 0]), episodes([1, 1, 1])), **ASKED)


def test_negative_numbers_are_different_records():
    assert Extremes([-1, -2, -1], REPLACE).pairs()
    assert len({sealed(n) for n in (-1, -2, 0, 1, 2)}) == 5


SPANS = [(100, 110), (5, 20), (50, 58)]


@rows("bounds", [None, (0, 200), {1: (0, 200)}])
def test_records_are_observed_or_within_bounds_and_the_words_say_which(bounds):
    for pair in Extremes(SPANS, REPLACE, bounds).pairs():
        made = {one for data in (pair.first, pair.second) for one in data} - set(SPANS)
        if bounds is None or isinstance(bounds, dict):
            assert {start for start, _ in made} <= {start for start, _ in SPANS}
        assert not made or bounds is not None
        assert all(shown(one) in pair.description.partition("not in your data")[2] for one in made)


@rows(
    ("data", "bounds", "left"),
    [
        ([[1, 2], [3], [4, 5]], (0, 100), "more parts"),
        (np.arange(12.0).reshape(3, 2, 2), (0, 100), ""),
        ([("a", 1), ("b", 5)], (0, 100), "in column 0"),
        ([(True, 1), (False, 5)], (0, 100), "in column 0"),
        ({"u": {"x": [1, 2], "y": 3}, "v": {"x": [], "y": 5}}, (0, 100), "more parts"),
    ],
)
def test_bounds_apply_to_all_numbers_and_what_they_leave_out_is_said(data, bounds, left):
    made = Extremes(data, REPLACE, bounds)
    texts = [shown(record) for pair in made.pairs() for record in table_of(pair.second).records]
    assert any("100" in text for text in texts)
    assert left in made.untried[0]


@rows(
    ("data", "bounds", "rule"),
    [
        ([1, 2], (1, 0), "low must be below high"),
        ([1, 2], 5, "two finite numbers"),
        ([1, 2], (None, None), "two finite numbers"),
        ([1, 2], (0, 1, 2), "two finite numbers"),
        ([1, 2], (0, np.inf), "two finite numbers"),
        ([1, 2], (2, 3), "all values of the data, 1 to 2. Clip the data first, or give wider bounds"),
        ([1, 2], (0, 2.5), "the same type as the values, int"),
        ([(1, 2), (3, 4)], {5: (0, 9)}, "must be one of: 0, 1"),
        ([(1, 2), (3, 4)], {1: (3, 9)}, "all values of column 1, 2 to 4"),
        (np.array([1, 2], np.uint8), (0, 300), "fit the type"),
        (["a", "b"], (0, 1), "for numbers only, but the data hold no numbers"),
        ([0, np.inf], (0, 1), "but inf is outside all bounds"),
        ([[1, np.inf], [2]], (0, 2), "but inf is outside all bounds"),
        ([("a", 1), ("b", 2)], {0: (0, 1)}, "column 0 holds no numbers"),
    ],
)
def test_bounds_that_cannot_be_used_are_refused(data, bounds, rule):
    with pytest.raises(ValueError, match=rule):
        Extremes(data, REPLACE, bounds).pairs()


@rows(
    ("data", "rule"),
    [
        ({1, 2}, "Give sorted"),
        (Counter({"a": 2.5}), "whole counts above 0"),
        (np.array(3.0), "without dimensions"),
        ([json.loads("[" * 200 + "]" * 200)], "inside each other"),
        (np.array([(1, 2.0)], [("a", int), ("b", float)]), "structured array"),
        ("ab", "must be a list"),
    ],
)
def test_kinds_of_data_that_are_not_read_are_named(data, rule):
    with pytest.raises(ValueError, match=rule):
        Extremes(data, REPLACE).pairs()


def test_a_series_and_missing_values_of_pandas_are_data():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, None, 5], index=[7, 7, 9], dtype="Int64", name="x")
    for data in (series, series.to_frame()):
        for relation in (REPLACE, Adjacency.ADD_REMOVE):
            for pair in Extremes(data, relation).pairs():
                assert pair.standing.word == "checked"
                assert type(pair.first) is type(data)
                held = pair.first if isinstance(data, pandas.Series) else pair.first["x"]
                assert (held.dtype, held.name) == (series.dtype, "x")
                assert set(held.index) <= {7, 9}


Row = namedtuple("Row", "age height")


class Named(list):
    def __init__(self, name, values):
        super().__init__(values)
        self.name = name


@rows(
    "data",
    [
        Row(1.5, 2.5),
        Row(np.arange(3.0), np.ones(3)),
        [OrderedDict(a=1), OrderedDict(a=2)],
        Counter("aab"),
        Named("x", [1, 2]),
    ],
)
@pytest.mark.parametrize("bounds", [None, (0, 9)])
def test_a_rebuilt_data_set_keeps_its_type(data, bounds):
    bounds = None if isinstance(data, Counter) else bounds
    for pair in Extremes(data, REPLACE, bounds).pairs():
        assert type(pair.first) is type(data)
        assert pair.standing.word == "checked" or isinstance(data, Row)
        assert getattr(pair.first, "name", None) == getattr(data, "name", None)
        if isinstance(data, list):
            assert {type(one) for one in pair.second} == {type(one) for one in data}


def test_data_that_cannot_be_rebuilt_or_compared_are_refused_in_words():
    with pytest.raises(ValueError, match=r"can hold 1 records. .* Give the records in a list"):
        Extremes(Row(1, 2), Adjacency.ADD_REMOVE).pairs()
    with pytest.raises(InvalidNeighboursError, match="inside each other"):
        dpproof.audit(scalar, pair=(json.loads("[" * 900 + "]" * 900), []), **ASKED)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"'a' is not. Rename the columns"):
        Extremes(pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), REPLACE).pairs()


def test_large_data_cost_little_per_pair():
    """Data with equal contents have equal seals, and the parts that two inputs share are not compared again."""
    values = np.random.default_rng(0).random(20_000).tolist()
    for data in (values, list(zip(values, range(20_000), strict=True)), dict(enumerate(values))):
        begin = time.process_time()
        pairs = Extremes(data, REPLACE).pairs()
        assert all(not pair.handed(label).changed for pair in pairs for label in (0, 1))
        assert time.process_time() - begin < 3
        assert {pair.standing.why[:10] for pair in pairs} == {"1 of 20000"}
    one, other = [2**63, 1], [2**63 + 1, 1]
    assert sealed(one * 20) != sealed(other * 20)
    assert sealed([0.0] * 20) != sealed([-0.0] * 20)
    assert sealed([[1], [2, 3]] * 20) != sealed([[1, 2], [3]] * 20)
    handed = Handed(values)
    handed.value[7] = float(repr(values[7]))
    assert not handed.changed
    handed.value[7] += 1
    assert handed.changed


def test_a_dictionary_keeps_its_type():
    data = defaultdict(list, {"u": [1], "v": [2, 3]})
    for pair in Extremes(data, REPLACE).pairs():
        assert pair.first["nobody"] == []


@rows(
    ("seconds", "fast", "during"),
    [
        (50, 0, "the audit of the pair"),
        (200, 0, "the first calls"),
        (500, 5, "the first runs on"),
        (9_000, 0, "the search among"),
    ],
)
def test_an_audit_whose_time_ends_is_inconclusive_and_says_what_was_done(seconds, fast, during):
    """After some fast calls, a call takes 50 seconds, however many outputs it returns."""
    clock, calls = [0.0], itertools.count()

    def slow(data, n, rng):
        clock[0] += 50 if next(calls) >= fast else 1
        return sum(data) + geometric(1, rng, n)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.monotonic", lambda: clock[0])
        found = dpproof.audit(slow, [0, 1, 1, 0], **ASKED, seconds=seconds)
    assert found.verdict is Finding.INCONCLUSIVE
    assert during in found.weakness
    assert found.not_covered
    assert type(found).from_json(found.to_json()) == found


@rows(
    ("options", "rule"),
    [({"seed": -1}, "seed"), ({"seed": "a"}, "seed"), ({"alpha": 0}, "alpha"), ({"budget": 0}, "budget")],
)
def test_options_are_checked_before_any_work(options, rule):
    with pytest.raises(ValueError, match=rf"^{rule} \("):
        dpproof.audit(None, [1, 2], **ASKED, **options)
    with pytest.raises(ValueError, match="must come from to_json"):
        Evidence.from_json("")


def noisy_total(data, n, rng):
    return sum(data) + geometric(1, rng, n)


NUMBERS = [1, 2, 3]


@rows("bounds", [[0, 9], {"0": [0, 9]}])
def test_bounds_in_a_claim_reach_the_audit_and_its_replay(bounds):
    here = f"{__name__}:"
    audit = {"bounds": bounds, "budget": 20_000}
    entry = {"name": "a", "mechanism": f"{here}noisy_total", "data": f"{here}NUMBERS", "adjacency": "replace"}
    claim = claim_from({**entry, "epsilon": 1, "audit": audit})
    found = audit_claim(claim, seed=0, alpha=0.01)
    assert "(not in your data: " in found.pair
    assert dpproof.replay(json.loads(json.dumps(found.witness()))).pair == found.pair
    with pytest.raises(ValueError, match="must be two numbers"):
        claim_from({**entry, "epsilon": 1, "audit": {"bounds": [9, 0]}})


def test_bounds_of_the_command_line_and_of_the_fixture():
    assert told_of(None, None, None, (0, 9)) == {"bounds": [0, 9]}
    with pytest.raises(ValueError, match="low below high"):
        told_of(None, None, None, (9, 0))
    claim = Claim("a", "a", {}, REPLACE, {"epsilon": 8})
    found = Privacy(claim, 0.01, 0, 20_000).audit(noisy_total, data=NUMBERS, bounds=(0, 9), power=False)
    assert "(not in your data: " in found.pair


def some_data(rng):
    """Return random data of one of the kinds that are read."""
    values = {
        "whole": lambda: rng.randint(-3, 5),
        "any": lambda: rng.choice([0.0, -0.0, 0.5, math.nan, math.inf, 5e-324]),
        "text": lambda: rng.choice(["", "a", "b"]),
        "some": lambda: rng.choice([None, 1, 2.5]),
    }
    columns = [values[rng.choice(sorted(values))] for _ in range(rng.randint(1, 3))]
    table = [tuple(one() for one in columns) for _ in range(rng.choice([2, 3, 5]))]
    kinds = {
        "list": lambda: [row[0] for row in table],
        "tuples": lambda: table,
        "dictionaries": lambda: [dict(zip("abc", row, strict=False)) for row in table],
        "by key": lambda: {f"u{place}": row for place, row in enumerate(table)} | {"v": (1,) * 9},
        "ragged": lambda: [[rng.randint(0, 3) for _ in range(rng.randint(0, 3))] for _ in table],
        "array": lambda: np.array([row[0] for row in table], object),
    }
    return kinds[rng.choice(sorted(kinds))]()


def keys_of(data):
    return [sealed(one) for one in (data.items() if isinstance(data, dict) else data)]


def test_all_pairs_of_random_data_are_neighbours_and_the_data_stay():
    rng = random.Random(0)
    for _ in range(60):
        data = some_data(rng)
        before = sealed(data)
        for relation in (REPLACE, Adjacency.ADD_REMOVE):
            try:
                pairs = Extremes(data, relation).pairs()
            except ValueError as refused:
                assert "no neighbours that differ" in str(refused)  # noqa: PT017 (other data are not refused)
                continue
            for first, second in ((keys_of(pair.first), keys_of(pair.second)) for pair in pairs):
                small, large = sorted((first, second), key=len)
                if relation is REPLACE:
                    assert len(first) == len(second) == len(data)
                    assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
                else:
                    assert any(small == large[:at] + large[at + 1 :] for at in range(len(large)))
        assert sealed(data) == before


KEPT = []


def first_only(data, n, rng):
    """Keep the first input, as one number."""
    KEPT or KEPT.append(sum(data))
    return KEPT[0] + rng.integers(2, size=n)


def test_a_function_that_keeps_its_first_input_is_never_called_consistent_and_replays():
    KEPT.clear()
    here = f"{__name__}:"
    entry = {"name": "a", "mechanism": f"{here}first_only", "data": f"{here}NUMBERS", "adjacency": "replace"}
    claim = claim_from({**entry, "epsilon": 1, "audit": {"budget": 20_000}})
    found = audit_claim(claim, seed=0, alpha=0.01)
    assert (found.verdict, found.weakness) == (Finding.INCONCLUSIVE, WEAKNESS)
    assert found.not_covered[0] == STATE
    assert dpproof.replay(json.loads(json.dumps(found.witness()))) == found  # a second audit in this process


def nothing(data, n, rng):
    return geometric(1, rng, n)


def failing(data, n, rng):
    raise ValueError


def spent(data, n, rng):
    raise OutOfTimeError


PAIRS = [Neighbours([0], [one], REPLACE, "a pair") for one in (1, 7)]


@rows(
    ("function", "alike"),
    [
        (nothing, True),
        (lambda data, rng: rng.normal(), True),
        (noisy_total, False),
        (lambda data, n, rng: (data[0] > 6) + geometric(1, rng, n), False),
        (Mechanism(nothing, seeded=False), False),
        (failing, False),
        (spent, False),
    ],
)
def test_only_a_function_with_equal_outputs_on_all_pairs_is_inconclusive(function, alike):
    found = dpproof.audit(noisy_total, pair=([0], [1]), **ASKED, budget=1000)
    assert found.not_covered[0] == STATE
    assert unless_alike(found, function, PAIRS, AuditPlan(seed=0)) == found
    found = replace(found, verdict=Finding.CONSISTENT)
    left = unless_alike(found, function, PAIRS, AuditPlan(seed=0))
    assert left == (replace(found, verdict=Finding.INCONCLUSIVE, weakness=WEAKNESS) if alike else found)


@rows("budget", [1, 100, 5000, 10**6])
def test_the_comparison_draws_at_most_its_share_of_the_budget(budget):
    drawn = []

    def counted(data, n, rng):
        drawn.append(n)
        return nothing(data, n, rng)

    found = dpproof.audit(noisy_total, pair=([0], [1]), **ASKED, budget=1000)
    found = replace(found, verdict=Finding.CONSISTENT)
    left = unless_alike(found, counted, PAIRS, AuditPlan(seed=0, budget=budget))
    assert (left.verdict is Finding.INCONCLUSIVE) == bool(drawn) == (budget > 100 * len(PAIRS) / 5)
    assert sum(drawn) <= min(SHARE * budget, 2 * MOST * len(PAIRS))
