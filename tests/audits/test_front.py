"""`dpproof.audit(f, data)`: extreme neighbours of any kind of data, broken functions and their sound twins."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpproof
from benchmarks.audits.held_out import FAULTS, FILE, measured
from benchmarks.audits.own_data import BATCH, BUYERS, CITIES, FRAME, PEOPLE, ROWS, SHARES, TWINS
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.extremes import KINDS, MOST, Extremes
from dpproof.audits.data.tables import table_of
from dpproof.audits.engine.explaining import explanations
from dpproof.audits.engine.explaining.events import clearest
from dpproof.audits.engine.explaining.explanations import rates
from dpproof.audits.engine.explaining.facts import Fresh
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.rlsvi.users import Users
from tests.rows import rows, tiered

REPLACE, ADD_REMOVE, EXPERT, REWARDS = (
    Adjacency.of(word) for word in ("replace", "add-remove", "expert", "rewards-only")
)
TABLES = (
    SHARES,
    tuple(SHARES),
    np.array(SHARES),
    ROWS,
    (ROWS, np.arange(40) % 2),
    CITIES,
    BUYERS,
    PEOPLE,
    FRAME,
)
CASES = [
    *((data, relation) for data in TABLES for relation in (REPLACE, ADD_REMOVE)),
    *((BATCH, relation) for relation in (REPLACE, ADD_REMOVE, EXPERT, REWARDS)),
    (BUYERS, EXPERT),
    (Users.draw(river_swim(), 5, np.random.default_rng(0)), REWARDS),
]
FAST = ("half the noise", "column mean without clipping", "rewards, noise for one step")


@rows(("data", "relation"), CASES)
def test_extremes_are_validated_neighbours_of_the_same_kind_as_the_data(data, relation):
    pairs = Extremes(data, relation).pairs()
    assert 4 <= len(pairs) <= MOST + MOST // KINDS
    assert len({pair.description for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert type(pair.first) is type(pair.second) is type(data)
        assert pair.standing.word == "checked" or isinstance(data, dict)


@rows("data", [data for data in TABLES if data is not BUYERS])
def test_extremes_hold_observed_values_and_as_many_records_under_replace(data):
    table = table_of(data)
    observed = [set(map(repr, column)) for column in zip(*table.records, strict=True)]
    for pair in Extremes(data, REPLACE).pairs():
        for held in map(table_of, (pair.first, pair.second)):
            assert len(held.records) == len(table.records)
            assert all(
                set(map(repr, column)) <= seen
                for column, seen in zip(zip(*held.records, strict=True), observed, strict=True)
            )


def test_rows_that_combine_extremes_are_tried_only_within_the_norms_or_stated_bounds():
    """One-hot rows have sensitivity 2 under replace; a row of ones, which nobody has, would have more."""
    one_hot = np.eye(3)[[0, 1, 2, 0]]
    norms = {pair.first.sum(axis=1).max() for pair in Extremes(one_hot, REPLACE).pairs()}
    assert norms <= {0.0, 1.0}
    wide = Extremes(one_hot, REPLACE, (0.0, 1.0)).pairs()
    assert max(pair.second.sum(axis=1).max() for pair in wide) == 3
    assert Extremes([3, 4], REPLACE, (0, 9)).pairs()[0].second == [9, 0]


def test_a_table_of_pyarrow_keeps_its_schema():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"age": arrow.array([3, 4], arrow.int8()), "city": ["a", "b"]})
    for relation in (REPLACE, ADD_REMOVE):
        assert {pair.second.schema for pair in Extremes(table, relation).pairs()} == {table.schema}


@pytest.mark.parametrize(
    "twins",
    [pytest.param(one, marks=[] if one.name in FAST else pytest.mark.slow, id=one.name) for one in TWINS],
)
def test_a_broken_function_is_caught(twins):
    found = dpproof.audit(twins.broken, twins.data, adjacency=twins.adjacency, epsilon=1)
    assert found.verdict is Finding.VIOLATION
    assert found.samples < 40_000
    assert f"Of {found.replay['search']['pairs']} pairs" in repr(found)
    assert len(repr(found).splitlines()) <= 10
    assert Evidence.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("twins", TWINS, ids=lambda one: one.name)
def test_a_sound_twin_is_no_violation(twins, seed):
    asked = {"seed": seed, "alpha": 1e-4, "budget": 20_000, "power": False}
    found = dpproof.audit(twins.sound, twins.data, adjacency=twins.adjacency, epsilon=1, **asked)
    assert found.verdict is not Finding.VIOLATION


def test_the_witness_of_an_audit_of_data_replays():
    found = dpproof.audit(TWINS[0].broken, SHARES[:9], adjacency="replace", epsilon=1, budget=20_000)
    assert found.samples > 5000  # sharpened by itself
    assert found.epsilon_lower > 1
    witness = json.loads(json.dumps(found.witness()))
    assert dpproof.replay(witness).epsilon_lower == found.epsilon_lower


def picky(data, n, rng):
    if len(data) < 2:
        raise KeyError("too few")
    return np.sum(data) + rng.laplace(0, 1.0, n)


@pytest.mark.slow
def test_what_was_not_run_is_listed_and_a_failure_on_one_input_only_is_said():
    asked = {"adjacency": "add-remove", "epsilon": 2}
    found = dpproof.audit(picky, [0.0, 1.0, 0.5], **asked, budget=10_000, power=False)
    both, alone, values, more = found.not_covered[-4:]
    assert "one or two records" in alone
    assert "itself may distinguish the neighbours" in alone
    assert "one record, 1, is there or not" in both
    assert "itself may distinguish" not in both
    assert "values outside those in your data" in values
    assert "for which the budget is too small" in more
    counted = dpproof.audit(picky, [0.0, 1.0], **asked, failures="token")
    assert counted.verdict is Finding.VIOLATION


REFUSALS = [
    ({}, "adjacency is missing"),
    ({"adjacency": "replace"}, "epsilon is missing"),
    ({"adjacency": "replace", "epsilon": 1, "pair": (0, 1)}, "Give either data"),
    ({"adjacency": "rewards-only", "epsilon": 1}, "must be one of replace"),
    ({"adjacency": "replace", "epsilon": 1, "bounds": (0.2, 0.3)}, "must contain all values"),
    ({"adjacency": "replace", "epsilon": "one"}, "must be a finite number"),
    ({"adjacency": "replace", "guarantee": dpproof.GaussianDP(1)}, "delta .* such as 1e-5"),
    (
        {"adjacency": "replace", "epsilon": 1, "guarantee": dpproof.PureDP(1)},
        "must be left out if guarantee is given",
    ),
    ({"adjacency": "replace", "epsilon": 1, "timing": "yes"}, r"timing \('yes'\) must be True or False"),
    ({"adjacency": "replace", "epsilon": 1, "power": 1}, r"power \(1\) must be True or False"),
]


@rows(("asked", "rule"), REFUSALS)
def test_what_is_missing_or_too_much_is_named(asked, rule):
    with pytest.raises(ValueError, match=rule):
        dpproof.audit(TWINS[0].sound, SHARES, **{"epsilon": 1, **asked} if rule.startswith("adj") else asked)


def test_decimals_may_be_given_as_text():
    asked = {"adjacency": "replace", "budget": 2000, "seed": 1}
    typed = dpproof.audit(TWINS[0].broken, SHARES, epsilon="0.5", delta="1e-5", alpha="0.05", **asked)
    assert typed == dpproof.audit(TWINS[0].broken, SHARES, epsilon=0.5, delta=1e-5, alpha=0.05, **asked)


def test_data_may_be_given_by_name():
    asked = {"adjacency": "replace", "epsilon": 1, "budget": 2000}
    assert dpproof.audit(TWINS[0].broken, data=SHARES, **asked) == dpproof.audit(
        TWINS[0].broken, SHARES, **asked
    )


def test_an_opendp_measurement_is_told_its_adapter():
    with pytest.raises(ValueError, match="measurement_mechanism"):
        dpproof.audit(lambda data: data, SHARES, adjacency="replace", epsilon=1)


def test_kinds_of_data_without_known_records_are_refused():
    for data, rule in (
        (3.0, "must be a list"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "must be a list"),
        ({"a": [1, 2], "b": [3, 4]}, "one column for each key, or one record"),
        ([1, 1], "equal"),
    ):
        with pytest.raises(ValueError, match=rule):
            dpproof.audit(TWINS[0].sound, data, adjacency="replace", epsilon=1)


def test_a_pair_a_guarantee_and_a_target_are_audited_by_the_same_function():
    noisy = TWINS[0].broken
    by_hand = dpproof.audit(noisy, pair=([0.0, 0.0], [0.0, 1.0]), adjacency="replace", epsilon=1)
    one = dpproof.Neighbours([0.0], [1.0], "replace", "one record")
    assert by_hand.verdict is Finding.VIOLATION
    assert dpproof.audit(noisy, pair=one, guarantee=dpproof.GaussianDP(0.5), delta=1e-5).fails
    subject = dpproof.Subject(
        "laplace", dpproof.LaplaceParameters(1, 1), Adjacency.BY_SENSITIVITY, dpproof.PureDP(0.2)
    )
    assert dpproof.audit(dpproof.mechanism_target(subject), budget=5000).fails
    with pytest.raises(ValueError, match=r"epsilon \(1\) must be left out for a target"):
        dpproof.audit(dpproof.mechanism_target(subject), epsilon=1)


def event_of(twins, **asked):
    found = dpproof.audit(twins.broken, twins.data, adjacency=twins.adjacency, epsilon=1, **asked)
    return found, " ".join(found.words)


NAMED = {one.name: one for one in TWINS}


@pytest.mark.parametrize(
    ("name", "event", "looks_like"),
    tiered(
        [
            ("running sums, noise for one step", "is at", "times too small"),
            ("one noise for two counts", "the first number minus the second number is", "used twice"),
            ("number of records without noise", "the second number is exactly", "without noise"),
            ("count with Gaussian noise, delta 0", "the output is at", "delta 0"),
            ("list of the cities that occur", "the output is", "a sensitive record that decides"),
        ],
        fast=2,
    ),
)
def test_a_violation_says_which_event_and_what_it_looks_like(name, event, looks_like):
    found, said = event_of(NAMED[name])
    assert event in said
    assert looks_like in said
    assert found.shown.kind == NAMED[name].kind
    right, given = rates()[found.shown.kind]
    assert f"right in {right} of {given} faults" in said
    assert found._repr_html_().startswith(f"<p><b>{found.claim}: violation")
    assert found.plot().axes[0].get_xlabel() == found.shown.what
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_an_explanation_that_is_seldom_right_is_not_offered(monkeypatch):
    monkeypatch.setattr(explanations, "rates", lambda: {"scale": (7, 10)})
    assert not explanations.offered("scale", "too little noise")
    assert not explanations.offered("plain", "a kind that was never measured")
    monkeypatch.setattr(explanations, "rates", lambda: {"scale": (8, 10)})
    assert "8 of 10" in explanations.offered("scale", "too little noise")


@pytest.mark.slow
def test_most_explanations_are_right_on_faults_that_nobody_tuned_on():
    """Every sixteenth of the faults; ``python -m benchmarks.audits.held_out`` measures all and stores the rates."""
    found = [rate for kind, rate in measured(FAULTS[::16]).items() if kind]
    assert sum(rate.right for rate in found) >= 0.75 * sum(rate.given for rate in found) > 0
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert all(one["right"] <= one["given"] <= len(FAULTS) for one in stored.values())


def test_an_event_is_counted_on_outputs_that_did_not_choose_it():
    """Of a mechanism that keeps its claim, none is clear on the other half."""
    noise = np.random.default_rng(0).laplace(size=4000)
    fresh = Fresh(
        {"the output": noise}, {}, np.repeat([False, True], 2000), 0.1, 0.0, dpproof.PureDP(0.1), False
    )
    assert clearest(fresh) is None
    moved = replace(fresh, numbers={"the output": noise + fresh.second})
    assert clearest(moved) is not None


def test_data_without_two_different_records_have_neighbours_under_add_remove():
    for data in ([5.0], [5.0, 5.0]):
        pairs = Extremes(data, ADD_REMOVE).pairs()
        assert {len(pair.first) - len(pair.second) for pair in pairs} == {1}
        with pytest.raises(ValueError, match="no neighbours that differ"):
            Extremes(data, REPLACE).pairs()


@dataclass
class Reading:
    """A record that is an object."""

    value: float


class Queue:
    """An object whose contents are private."""

    def __init__(self, *rows):
        self._rows = list(rows)


MARK = object()


def drained(queues, n, rng):
    return sum(queue._rows.pop() if queue._rows else 0 for queue in queues) + rng.laplace(0, 0.01, n)


def marked(data, n, rng):
    mark, values = data
    return (sum(values) if mark is MARK else 100 * sum(values)) + rng.laplace(0, 2, n)


@pytest.mark.slow
@rows("missing", [math.nan, None])
@rows("relation", ["replace", "add-remove"])
def test_a_missing_value_that_is_treated_wrongly_is_found(missing, relation):
    def filled(data, n, rng):
        return sum(50.0 if one is None or one != one else one for one in data) + rng.laplace(0, 1, n)

    found = dpproof.audit(filled, [0.0, 0.4, 1.0, missing], adjacency=relation, epsilon=1, power=False)
    assert found.verdict is Finding.VIOLATION


def test_records_may_be_objects():
    def total(readings, n, rng):
        return sum(one.value for one in readings) + rng.laplace(0, 1, n)

    data = [Reading(0), Reading(50), Reading(0.25), Reading(0.5)]
    assert (
        dpproof.audit(total, data, adjacency="replace", epsilon=1, power=False).verdict is Finding.VIOLATION
    )
    with pytest.raises(MechanismError, match="changes its input"):
        dpproof.audit(drained, [Queue(1, 2), Queue(3), Queue(5)], adjacency="replace", epsilon=1)


def test_a_copy_keeps_what_is_recognised_by_identity():
    pair = ((MARK, [0.0, 1]), (MARK, [1.0, 1]))
    found = dpproof.audit(marked, pair=pair, adjacency="replace", epsilon=1, arithmetic="real", power=False)
    assert not found.fails
