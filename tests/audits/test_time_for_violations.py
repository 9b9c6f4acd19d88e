"""A refuted claim is not lost where time is short, and is no violation before its outputs were checked."""

from __future__ import annotations

import dataclasses
import itertools
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits import time_budget
from dpproof.audits.engine.sampling.callables import Mechanism, MechanismError, draw
from dpproof.audits.engine.worst_pair import EachOf, WorstOf
from dpproof.audits.recording.evidence import UNCONFIRMED, Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.time_budget import OutOfTimeError, ending_at
from dpproof.wording import worth
from tests.rows import tiered


@dataclasses.dataclass
class Clock:
    """A clock that only the mechanism moves on."""

    now: float = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(time_budget.time, "monotonic", made.monotonic)
    return made


def slow_laplace(clock, seconds, scale=0.25):
    """Laplace noise whose every row takes its time, whatever the call."""

    def mechanism(value, n, rng):
        clock.now += n * seconds
        return value + rng.laplace(0, scale, n)

    return mechanism


def audited(clock, sampler, bits, until, **options):
    with ending_at(clock.now + until):
        return audit("slow", PureDP(1.0), sampler, bits, seed=0, **options)


@pytest.mark.parametrize("until", [0.001, 0.1, 1.0])
def test_what_is_found_in_time_is_told_or_none_is(clock, bits, until):
    """A third of a millisecond a row: the probe takes .2 s, a finding and its checks as they were 3 s."""
    try:
        found = audited(clock, slow_laplace(clock, 3e-4), bits, until)
    except OutOfTimeError:
        assert until < 0.2
        return
    assert found.verdict is Finding.VIOLATION
    assert "instead of" in found.taken_on_trust[-1]


def test_without_a_time_budget_the_checks_are_as_long_as_ever(clock, bits):
    found = audit("slow", PureDP(1.0), slow_laplace(clock, 3e-4), bits, seed=0)
    assert (found.verdict, found.shortened) == (Finding.VIOLATION, "")
    assert audited(clock, slow_laplace(clock, 3e-4), bits, 600.0).shortened == ""


def times(clock, bits):
    """When the probe ends, and when the bets have refuted: found by shorter and shorter budgets."""
    for until in np.arange(1.0, 0.0, -0.01):
        try:
            yield until, audited(clock, slow_laplace(clock, 3e-4), bits, float(until))
        except OutOfTimeError:
            return


@pytest.mark.slow
def test_a_refutation_without_its_checks_is_kept_as_a_suspicion(clock, bits):
    """Some budget ends between the refutation and the checks: no violation, no bound, exit code 3."""
    every = dict(times(clock, bits))
    verdicts = [found.verdict for found in every.values()]
    assert Finding.VIOLATION in verdicts
    late = [found for found in every.values() if found.unconfirmed]
    assert late
    for found in late:
        assert (found.verdict, found.weakness) == (Finding.INCONCLUSIVE, UNCONFIRMED)
        assert found.epsilon_lower <= found.claimed_epsilon
        assert found.e_value > 1 / found.alpha
        assert found.event is not None
        assert found.as_json()["unconfirmed"] is True
        assert "nothing was found" not in worth(found)


@pytest.mark.parametrize("rows", tiered([16, 100], fast=1))
def test_shared_randomness_is_no_violation_however_short_the_time_is(clock, bits, rows):
    def tiled(value, n, rng):
        clock.now += n * 3e-4
        noise = np.round(rng.laplace(0, 1.0, min(rows, n)) * 1024) / 1024  # its low bits reveal nothing
        return value + np.resize(noise, n)

    for until in (0.001, 0.1, 0.3, 0.4, 0.5, 1.0, 3.0, 10.0):
        for seed in range(5):
            try:
                with ending_at(clock.now + until):
                    found = audit("tiled", PureDP(1.0), tiled, bits, seed=seed, budget=5000)
            except (OutOfTimeError, MechanismError):
                continue
            assert not found.verdict.violated


def test_samples_for_a_larger_bound_leave_time_for_the_checks(clock, bits):
    """A million rows would take 300 s; the bound is what a part of the time after the refutation gives."""
    found = audited(clock, slow_laplace(clock, 3e-4), bits, 10.0, sharpen=True, budget=1_000_000)
    assert found.verdict is Finding.VIOLATION
    assert 2_000 < found.samples < 20_000


def test_bits_that_refute_are_told_though_the_rest_of_the_budget_takes_too_long(clock, bits):
    """Numpy's Laplace noise: bits refute it soon, and without them there is nothing to be found."""
    found = audited(clock, slow_laplace(clock, 3e-4, 1.0), bits, 30.0, budget=1_000_000)
    assert found.verdict is Finding.FLOATING_POINT
    assert found.without_bits is Finding.INCONCLUSIVE


def test_a_suspicion_on_one_pair_stands_for_all(clock, bits, monkeypatch):
    def late(*_arguments):
        raise OutOfTimeError

    monkeypatch.setattr("dpproof.audits.engine.runner.check_fresh_calls", late)
    found = audit("slow", PureDP(1.0), slow_laplace(clock, 3e-4), EachOf([bits, bits]), seed=0)
    assert found.unconfirmed


@pytest.mark.parametrize(("scale", "sharpen"), [(0.25, True), (1.0, False)])
def test_a_witness_of_an_audit_that_the_time_ended_replays(clock, bits, scale, sharpen):
    """What is drawn after a refutation, also by bits alone, ends with the time; a replay ends there, too."""
    sampler, asked = slow_laplace(clock, 1, scale), {"budget": 10**6, "sharpen": sharpen}
    found = audited(clock, sampler, bits, 50_000, **asked)
    assert found.verdict.violated
    assert found.samples < 10**6
    assert replay(found.witness(), again(sampler, bits, **asked)).samples == found.samples


def test_a_suspicion_that_had_no_time_to_be_confirmed_replays_and_is_settled(clock, bits):
    sampler = slow_laplace(clock, 1)
    found = audited(clock, sampler, bits, math.inf, budget=2000).left_unconfirmed()
    assert replay(found.witness(), again(sampler, bits, budget=2000)).verdict is Finding.VIOLATION


def again(sampler, bits, **asked):
    """The same audit with no end of time, and with the budget that was planned for its time."""

    def run(witness):
        call = {key: value for key, value in witness["replay"].items() if key not in (*asked, "last")}
        planned = {
            **asked,
            "budget": witness["replay"]["budget"],
            "sparing": witness["replay"].get("sparing"),
        }
        return audit("slow", PureDP(1.0), sampler, bits, seed=0, power=False, replay=call, **planned)

    return run


def black_box(clock, seconds, scale):
    """A slow function with one output a call; its noise is rounded, so that low bits reveal nothing."""

    def mechanism(value, rng):
        clock.now += seconds
        return float(value + np.round(rng.laplace(0, scale), 3))

    return mechanism


@pytest.mark.parametrize("seconds", [0.1, 10.0])
def test_a_slow_function_is_audited_within_its_budget(clock, bits, seconds):
    """Time for 300 calls: the probe alone would make 2,000. The sound function is the control."""
    until = 300 * seconds
    ends = clock.now + until
    found = audited(clock, black_box(clock, seconds, 0.25), bits, until)
    assert (found.verdict, clock.now <= ends) == (Finding.VIOLATION, True)
    ends = clock.now + until
    found = audited(clock, black_box(clock, seconds, 1.0), bits, until)
    assert (found.verdict, clock.now <= ends) == (Finding.INCONCLUSIVE, True)
    assert 100 <= found.samples <= 150
    assert f"the audit drew {found.samples} samples" in found.weakness
    assert "power 90 %" in found.weakness
    assert found.would_have_seen == math.inf


def test_a_sparing_audit_replays(clock, bits):
    sampler = black_box(clock, 1.0, 0.25)
    found = audited(clock, sampler, bits, 300)
    assert found.witness()["replay"]["sparing"] == (300 - 2) // 60
    began = clock.now
    assert replay(found.witness(), again(sampler, bits)).samples == found.samples
    assert clock.now - began < 300


def test_a_search_among_slow_pairs_runs_those_that_fit(clock, bits):
    other = dataclasses.replace(bits, description="again 0 or 1")
    found = audited(clock, black_box(clock, 1.0, 0.25), WorstOf([bits, other]), 300)
    assert (found.verdict, found.pair) == (Finding.VIOLATION, bits.description)
    assert found.not_covered[-1].startswith("1 more pairs")


def test_several_cores_make_the_calls_of_a_sparing_audit_and_change_nothing(bits):
    lock, now, most = threading.Lock(), [0], [0]

    def watched(value, rng):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(1e-4)
        with lock:
            now[0] -= 1
        return float(value + np.round(rng.laplace(0, 0.5), 3))

    asked = {"seed": 0, "budget": 400, "sparing": 4}
    alone = audit("slow", PureDP(1.0), watched, bits, **asked)
    assert most == [1]
    with ThreadPoolExecutor(4) as executor:
        assert audit("slow", PureDP(1.0), watched, bits, **asked, executor=executor) == alone
    assert 2 <= most[0] <= 4


@pytest.mark.parametrize("seeded", [False, True])
def test_a_drift_of_own_randomness_does_not_tell_inputs_apart(bits, seeded):
    """Each output is the number of its call. In the order of the coins, this number and the label are independent."""
    count = itertools.count()
    made = Mechanism(lambda _value, n, _rng: [next(count) for _ in range(n)], seeded=seeded, sparing=4)
    calls, labels = draw(made, bits, 64, 0, 0)
    in_order = list(calls) == list(range(64))
    apart = max(calls[labels == 0]) < min(calls[labels == 1])
    assert (in_order, apart) == (not seeded, seeded)
