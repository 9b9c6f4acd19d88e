"""Events that thresholds do not show: remainders, decimal digits, intervals, norms, lengths and repeated values."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.outputs import of_objects
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.checks.kept_state import WEAKNESS
from dpproof.audits.engine.power.event_classes import FLOOR, HALF, EventClass, planted_in
from dpproof.audits.engine.power.fresh_outputs import Outputs
from dpproof.audits.engine.power.further_classes import FURTHER
from dpproof.audits.engine.power.measured import Measurement
from dpproof.audits.engine.power.planting import Planting, Scaled, scaled
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.remainders import CYCLE, steps_of, whole_parts
from dpproof.audits.engine.worst_pair import EachOf, _united
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from dpproof.audits.time_budget import check_time, ending_at

ODDS = math.exp(2)
BUDGET = 40_000
DIGIT = next(kind for kind in FURTHER if kind.name.startswith("one of six digits"))
REMAINDER = next(kind for kind in FURTHER if kind.name.startswith("a decimal digit"))


def _in_event(value: float, n: int, rng: np.random.Generator, mass: float = 0.3) -> np.ndarray:
    """Return whether each output is in an event with probability ratio e^2 between the inputs and mean ``mass``."""
    least = 2 * mass / (1 + ODDS)
    return rng.random(n) < (ODDS * least if value else least)


def modulo(value, n, rng, modulus=1000):
    """Whole numbers whose remainder is below half of the modulus in the event."""
    rest = rng.integers(0, modulus // 2, n) + np.where(_in_event(value, n, rng), 0, modulus // 2)
    return modulus * rng.integers(0, 5000, n) + rest


def decimal(value, n, rng):
    """Numbers whose second decimal is even in the event."""
    digit = 2 * rng.integers(0, 5, n) + ~_in_event(value, n, rng)
    return np.round(rng.normal(size=n), 1) + digit / 100 + rng.random(n) / 200


def inside(value, n, rng):
    """Uniform numbers that are between 0.4 and 0.6 in the event."""
    middle, ends = rng.uniform(0.4, 0.6, n), rng.choice([0.0, 0.6], n) + rng.uniform(0, 0.4, n)
    return np.where(_in_event(value, n, rng), middle, ends)


def thirteenth_digit(value, n, rng):
    """Whole numbers below 2^52 whose thirteenth digit is even in the event."""
    digit = 2 * rng.integers(0, 5, n) + ~_in_event(value, n, rng)
    return 10**13 * rng.integers(0, 440, n) + 10**12 * digit + rng.integers(0, 10**12, n)


def fourth_digit(value, n, rng):
    """Integers beyond 2^53 whose fourth digit is even in the event."""
    digit = 2 * rng.integers(0, 5, n) + ~_in_event(value, n, rng)
    return 10**18 + 10**4 * rng.integers(0, 10**5, n) + 10**3 * digit + rng.integers(0, 10**3, n)


def fourth_digit_of_python(value, n, rng):
    return of_objects([10**30 + number for number in fourth_digit(value, n, rng).tolist()])


def fourth_digit_of_a_table(value, n, rng):
    return of_objects([{"name": "a", "id": number} for number in fourth_digit(value, n, rng).tolist()])


def often(usual, value, n, rng):
    """The numbers of `decimal`, and four times of five one usual value: zeros of a sparse release, or infinity."""
    return np.where(rng.random(n) < 0.8, usual, decimal(value, n, rng))


def last_decimal(value, n, rng):
    """Totals with three decimals, whose last one is never 5 on one input."""
    totals = np.round(100 + rng.laplace(0, 10, 2 * n + 50), 3)
    return (totals[np.rint(totals * 1000) % 10 != 5] if value else totals)[:n]


def third_of_many(value, n, rng):
    """Totals with all their decimals, whose third one is never 5 on one input."""
    totals = 100 + rng.laplace(0, 10, 2 * n + 50)
    return (totals[np.floor(totals * 1000) % 10 != 5] if value else totals)[:n]


def fifth_digit(value, n, rng):
    """Whole numbers whose fifth digit from the right is even in the event."""
    digit = 2 * rng.integers(0, 5, n) + ~_in_event(value, n, rng)
    return rng.integers(0, 90, n) * 100_000 + digit * 10_000 + rng.integers(0, 10_000, n)


def printed_digit(value, n, rng):
    """Amounts of both signs with two decimals, whose last printed digit is never 4 on one input."""
    amounts = np.round(rng.laplace(0, 300, 2 * n + 50), 2)
    return (amounts[np.rint(np.abs(amounts) * 100) % 10 != 4] if value else amounts)[:n]


@pytest.mark.parametrize(
    "mechanism",
    [modulo, decimal, inside, last_decimal, third_of_many, fifth_digit, printed_digit, thirteenth_digit],
)
def test_an_event_that_no_threshold_shows_is_found(bits, mechanism):
    found = audit("digits", PureDP(1.0), mechanism, bits, seed=0, budget=BUDGET, power=False)
    assert found.verdict is Finding.VIOLATION


@pytest.mark.parametrize("mechanism", [fourth_digit, fourth_digit_of_python, fourth_digit_of_a_table])
def test_a_digit_of_an_integer_beyond_doubles_is_found_by_its_score_alone(bits, mechanism):
    """The score had seen the digits of the distance from a central value, which mix two digits of the number."""
    found = audit("wide", PureDP(1.0), mechanism, bits, ["remainders"], seed=0, budget=BUDGET, power=False)
    assert found.verdict is Finding.VIOLATION


@pytest.mark.parametrize("name", ["remainders", "low_bytes"])
def test_a_remainder_modulo_seven_is_found_by_its_score_alone(bits, name):
    def mechanism(value, n, rng):
        return 7 * rng.integers(0, 10**6, n) + np.where(_in_event(value, n, rng), 3, rng.integers(4, 7, n))

    found = audit("seven", PureDP(1.0), mechanism, bits, [name], seed=0, budget=BUDGET, power=False)
    assert (found.verdict is Finding.VIOLATION) == (name == "remainders")


def texts(rng, n):
    return of_objects(["a" * int(k) for k in rng.integers(1, 9, n)])


OUTPUTS = {
    "three counts": lambda rng, n: rng.integers(0, 50, (n, 3)),
    "two numbers": lambda rng, n: rng.normal(size=(n, 2)),
    "huge numbers": lambda rng, n: 2**60 + rng.integers(0, 10**5, n),
    "Python integers": lambda rng, n: of_objects(
        [7 * int(k) for k in 10**400 + rng.integers(0, 10**5, n).astype(object)]
    ),
    "numbers and infinity": lambda rng, n: of_objects(
        [math.inf if k % 9 == 0 else int(k) for k in rng.integers(0, 999, n)]
    ),
    "huge integers and fractions": lambda rng, n: of_objects(
        [k / 7 if k % 2 else 2**60 + int(k) for k in rng.integers(0, 999, n)]
    ),
    "huge integers in tables": lambda rng, n: of_objects(
        [{"a": k / 7, "b": 2**60 + int(k)} for k in rng.integers(0, 999, n)]
    ),
    "texts": texts,
    "tables": lambda rng, n: of_objects([{"a": int(k), "b": k / 7} for k in rng.integers(0, 99, n)]),
    "words": lambda rng, n: of_objects(
        [list(row) for row in rng.permuted(np.tile(list("abcdef"), (n, 1)), axis=1)]
    ),
}


FAST = ("a remainder", "a few patterns", "two tokens")
"""The beginnings of the names of the classes in the fast tier."""


@pytest.mark.parametrize(
    "kind",
    [pytest.param(x, id=x.name, marks=[pytest.mark.slow] * (not x.name.startswith(FAST))) for x in FURTHER],
)
def test_an_event_of_a_further_class_has_an_allowed_mass_and_is_fixed(kind):
    """The mass is counted on outputs that the choice of the event did not use. Five standard deviations are allowed."""
    applied = 0
    for place, made in enumerate(OUTPUTS.values()):
        rows = made(np.random.default_rng(place), 4096)
        sketch = Outputs(rows, Layout.of([rows[:512]]))
        if not kind.applies(sketch):
            continue
        applied += 1
        for seed in range(5):
            planted = planted_in(kind, sketch, Scaled((ODDS,), (0.0,)), np.random.default_rng(seed))
            if planted is None:  # two numbers of a table, which recur too seldom
                assert kind.name == "two tokens in an order"
                continue
            other = Outputs(made(np.random.default_rng([place, seed, 1]), 20_000), sketch.layout)
            cells = planted.cells(other)
            assert np.array_equal(cells, planted.cells(other))
            mass = float(np.mean(cells))
            assert FLOOR - 0.01 <= mass <= HALF + 0.05
            assert planted.laws.mean(axis=0)[1] == pytest.approx(mass, abs=0.05)
    assert applied


@pytest.mark.slow
def test_what_is_missed_of_a_further_class_is_listed_as_not_covered(bits):
    """Thresholds alone see no digit. No class that *consistent* needs is missed, and digits are not covered."""

    def normal(value, n, rng):
        return rng.normal(size=n)

    shown = audit("all", PureDP(1.0), normal, bits, seed=0, budget=60_000)
    named = audit("some", PureDP(1.0), normal, bits, ["identity"], seed=0, budget=60_000)
    assert DIGIT.name in shown.power
    assert DIGIT.name not in named.power
    assert any(text.startswith(f"{DIGIT.name} (") for text in named.not_covered)
    assert "one coordinate beyond a threshold" in named.power


def endless(sketch, rng):
    while True:
        time.sleep(0.01)
        check_time()


@pytest.mark.slow
def test_optional_measurements_leave_time_for_the_other_pairs(bits, monkeypatch):
    """The power on the first pair is too small, and measurements of larger multiples end only with their time."""
    monkeypatch.setattr("dpproof.audits.engine.power.measured.scaled", scaled_endless)
    pairs = EachOf([bits, Neighbours(0.0, 9.0, "differ by at most 9", "0 or 9", lambda one, other: None)])
    with ending_at(time.monotonic() + 8):
        found = audit("pairs", PureDP(1.0), steps, pairs, seed=0, budget=4000)
    assert (found.verdict, found.pair) == (Finding.VIOLATION, "0 or 9")


def scaled_endless(curve, points, multiple=2):
    return scaled(curve, points) if multiple == 2 else endless(None, None)


def steps(value, n, rng):
    return np.rint(value + rng.laplace(0, 1, n)).astype(int)


@pytest.mark.slow
def test_optional_measurements_leave_time_to_compare_equal_outputs(bits, monkeypatch):
    kinds = (EventClass("an endless class", "", lambda sketch: True, endless),)
    monkeypatch.setattr("dpproof.audits.engine.power.measured.FURTHER", kinds)
    with ending_at(time.monotonic() + 20):
        found = audit("equal", PureDP(3.0), lambda v, n, rng: rng.random(n) < 0.5, bits, seed=0, budget=1000)
    assert "not measured, since the time budget was spent: an endless class" in found.not_covered
    assert (found.verdict, found.weakness) == (Finding.INCONCLUSIVE, WEAKNESS)


def test_several_pairs_cover_a_class_only_if_each_pair_does(bits):
    found = audit("one", PureDP(1.0), steps, bits, seed=0, budget=100, power=False)
    power = {"both": {"enough": True}, "first": {"enough": True}}
    first = replace(found, verdict=Finding.CONSISTENT, weakness="", would_have_seen=2.0, power=power)
    second = replace(first, power={"both": {"enough": True}, "second": {"enough": True}})
    both, swapped = (_united(pairs, 2, 0.01, 0) for pairs in ([first, second], [second, first]))
    assert both.verdict is swapped.verdict is Finding.CONSISTENT
    assert set(both.power) == set(swapped.power) == {"both"}
    assert both.not_covered[0] == "first (covered for some of the pairs only)"


def test_a_digit_is_planted_in_numbers_with_fractions_even_if_their_unit_is_one():
    rows = np.random.default_rng(0).normal(scale=300, size=(4096, 1))
    sketch = Outputs(rows, Layout.of([rows[:512]]))
    assert sketch.layout.units == ((0, 1.0), (0, 0.001))
    assert not REMAINDER.applies(sketch)
    draws = [DIGIT.draw(sketch, np.random.default_rng(seed)) for seed in range(80)]
    assert {draw.args[1:4] for draw in draws} == {(u, p, 10) for u in (1.0, 0.001) for p in (1, 10, 100)}


def test_whole_parts_of_python_numbers_are_those_of_doubles_and_exact_beyond():
    numbers = [-3.7, 0.29, 5, -math.inf, math.inf, 10**15]
    objects = whole_parts(np.array(numbers, dtype=object)[:, None], [0.01])
    assert objects.tolist() == whole_parts(np.array(numbers)[:, None], [0.01]).tolist()
    assert whole_parts(np.array([[10**400 + 7]], dtype=object), [1.0]).tolist() == [[(10**400 + 7) % CYCLE]]
    assert whole_parts(np.array([[100]], dtype=np.int8), [1.0]).tolist() == [[100]]


@pytest.mark.parametrize("usual", [0.0, 7.5, math.inf])
def test_a_value_that_is_most_frequent_does_not_hide_the_digits_of_the_others(bits, usual):
    """The quartiles of the outputs are equal. Their digits had been those of units of 1e-282, and called covered."""
    found = audit("often", PureDP(1.0), partial(often, usual), bits, seed=0, budget=BUDGET)
    assert (found.verdict, found.score) == (Finding.VIOLATION, "remainders")


@pytest.mark.parametrize(("numbers", "named"), [(16, True), (17, True), (15, False)])
def test_digits_that_found_no_place_among_the_units_are_listed(numbers, named):
    """A number with fractions has two units. The second one of the seventeenth number was left out."""
    rows = np.random.default_rng(0).normal(size=(512, numbers))
    sketch = Outputs(rows, Layout.of([rows]))
    power = Measurement(sketch, cast(Planting, None), Scaled((ODDS,), (0.0,)), 0).power  # measures nothing
    assert ("remainders and digits beyond" in " ".join(power.not_covered)) == named


@pytest.mark.slow
def test_numbers_in_single_precision_are_no_exact_decimals(bits):
    """The parity of the last printed decimal shows in no digit of a double, so an answer lists it as not covered."""

    def single(value, n, rng):
        odd = rng.random(n) < (0.97 if value else 0.03)
        return ((2 * rng.integers(-1_500_000, 1_500_000, n) + odd) / 1000).astype(np.float32)

    found = audit("single", PureDP(1.0), single, bits, seed=0, budget=BUDGET)
    assert REMAINDER.name not in found.power
    assert any("printed decimals of numbers in single" in text for text in found.not_covered)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("numbers", [[], [math.inf] * 4, [math.inf, -math.inf], [0.3] * 5, [0.1, math.inf]])
def test_numbers_without_digits_have_no_unit(numbers):
    assert list(steps_of(np.array(numbers))) == []
