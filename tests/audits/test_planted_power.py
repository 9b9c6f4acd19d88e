""" "Consistent" is said only where planted violations are seen: controls that must not get the word."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.power.event_classes import _bits_of
from dpproof.audits.engine.power.measured import LEVEL, enough_seen, measured
from dpproof.audits.engine.scores.protocol import Identity, Projection
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from dpproof.audits.time_budget import check_time, ending_at


def counts(width):
    """Two-sided geometric noise, epsilon 1, on the first of several numbers; the others are noise."""

    def mechanism(value, n, rng):
        drawn = rng.geometric(1 - np.exp(-1), (n, width)) - rng.geometric(1 - np.exp(-1), (n, width))
        drawn[:, 0] += int(value)
        return drawn if width > 1 else drawn[:, 0]

    return mechanism


@pytest.mark.slow
def test_every_required_class_is_seen_and_the_answer_lists_them(bits):
    found = audit("count", PureDP(1.0), counts(1), bits, seed=0, budget=40_000)
    answer = found.as_json()
    assert found.verdict is Finding.CONSISTENT
    classes = {
        "a tail of one coordinate",
        "one coordinate beyond a threshold",
        "adjacent low bits of a number",
    }
    assert answer["power"].keys() >= classes
    for one in answer["power"].values():
        assert one["enough"]
        assert one["seen"] >= 0.95 * one["runs"]
        assert (one["multiple"], one["mass_floor"]) == (2, 0.01)
    assert any("parities of three" in text for text in answer["not_covered"])


def test_scores_that_cannot_see_a_required_class_are_not_enough(bits):
    """The second number is not looked at: events of it are missed, and the answer says which."""
    only_first = [Projection((1.0, 0.0))]
    found = audit("count", PureDP(1.0), counts(2), bits, only_first, seed=0, budget=20_000)
    assert found.verdict is Finding.INCONCLUSIVE
    assert "a tail of one coordinate" in found.weakness
    assert "raise the budget, or give scores" in found.weakness


def test_a_budget_that_sees_only_large_events_is_not_enough(bits):
    """At 1,000 samples the reference pair at twice the claim is seen, a tail of mass .01 is not."""
    asked = ("count", PureDP(1.0), counts(1), bits, [Identity()])
    simulated = audit(*asked, seed=0, budget=1000, known_ratio=True)
    planted = audit(*asked, seed=0, budget=1000)
    assert (simulated.verdict, planted.verdict) == (Finding.CONSISTENT, Finding.INCONCLUSIVE)


def missed_at_twice(bits):
    return audit("count", PureDP(1.0), counts(1), bits, seed=0, budget=10_000)


def test_a_larger_multiple_of_the_claim_is_named_if_twice_the_claim_is_missed(bits):
    found = missed_at_twice(bits)
    assert found.verdict is Finding.INCONCLUSIVE
    assert 2 < found.would_have_seen < math.inf
    assert f"violations of {found.would_have_seen:g} times the claim are seen" in found.weakness


@pytest.mark.slow
def test_a_mechanism_with_the_named_multiple_is_refuted(bits):
    """It is refuted in 20 of 20 runs; with power 0.7 this has probability 8e-4."""
    found = missed_at_twice(bits)
    odds, mass = math.exp(found.would_have_seen), 0.03

    def tail(value, n, rng):
        chance = 2 * mass / (1 + odds) * (odds if value else 1)
        return np.where(rng.random(n) < chance, 50, 0) + rng.integers(0, 40, n)

    for seed in range(20):
        again = audit("tail", PureDP(1.0), tail, bits, seed=seed, budget=10_000, power=False)
        assert again.verdict is Finding.VIOLATION


def test_twice_a_claim_of_zero_is_no_violation(bits):
    found = audit("quiet", PureDP(0.0), lambda v, n, rng: rng.integers(0, 9, n), bits, seed=0, budget=500)
    assert found.verdict is Finding.INCONCLUSIVE
    assert "twice an epsilon of 0" in found.weakness
    assert found.would_have_seen == math.inf
    known = audit(
        "quiet",
        PureDP(0.0),
        lambda v, n, rng: rng.integers(0, 9, n),
        bits,
        seed=0,
        budget=500,
        known_ratio=True,
    )
    assert known.would_have_seen == math.inf


def test_power_that_there_is_no_time_for_is_not_claimed():
    with ending_at(time.monotonic() - 1):
        found = measured(check_time, PureDP(1.0), (CurvePoint(1.0, 0.0),), 0)
    assert not found.enough
    assert "time budget" in found.why


@pytest.mark.parametrize(("power", "most"), [(0.9, 3 * LEVEL), (0.85, LEVEL)])
def test_too_little_power_is_seldom_called_enough(power, most):
    """2,000 counts; the bound is 1 %, three times that is beyond a binomial quantile of 1 - 1e-9."""
    rng = np.random.default_rng(0)
    called = [enough_seen(lambda _run: bool(rng.random() < power))[2] for _ in range(2000)]
    assert np.mean(called) <= most


def test_high_power_is_called_enough_and_quickly():
    rng = np.random.default_rng(1)
    counted = [enough_seen(lambda _run: bool(rng.random() < 0.995)) for _ in range(200)]
    assert np.mean([enough for _, _, enough in counted]) >= 0.98
    assert np.mean([runs for _, runs, _ in counted]) < 80


@given(
    st.lists(st.floats(allow_nan=True) | st.integers(-(2**80), 2**80), min_size=1, max_size=8),
    st.integers(0, 5),
    st.integers(3, 8),
)
def test_bits_of_doubles_are_those_of_the_integers_they_are(numbers, shift, size):
    doubles = np.array([float(number) for number in numbers])
    size = min(size, 8 - shift)
    exact = [(int(x) >> shift) & ((1 << size) - 1) if x.is_integer() else 0 for x in doubles.tolist()]
    assert _bits_of(doubles, shift, size).tolist() == exact
    assert _bits_of(np.array(doubles.tolist(), dtype=object), shift, size).tolist() == exact
    for kind in (np.uint64, np.int8):
        whole = np.array([int(x) & 0x7F if x.is_integer() else 0 for x in doubles.tolist()], dtype=kind)
        same = [(int(x) >> shift) & ((1 << size) - 1) for x in whole.tolist()]
        assert _bits_of(whole, shift, size).tolist() == same
