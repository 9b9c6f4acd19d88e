"""When an audit looks: sizes add up, small near the end, and the same whoever draws the blocks."""

from __future__ import annotations

import math
import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.betting.schedule import AHEAD, FIRST, SHARES, SINGLY, Blocks, Pace
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import as_mechanism, each, outputs
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from dpproof.audits.time_budget import OutOfTimeError, ending_at
from dpproof.audits.training.steps import labelled_steps
from dpproof.executors import executor_for
from tests.rows import tiered

wealth = st.floats(-1e6, 1e6)


@pytest.mark.slow
@given(st.integers(1, 10**7), st.integers(1, 1000), st.integers(1, 10**6), st.lists(wealth, max_size=60))
def test_blocks_spend_the_budget_exactly_and_what_is_foretold_comes(budget, smallest, largest, told):
    blocks, seen, settled = Blocks(budget, Pace(), largest, smallest), 0, None
    for (size, *foretold), reached in zip(blocks, told, strict=False):
        seen += size
        assert 1 <= size <= max(largest, FIRST)
        assert size >= min(smallest, largest) or seen == budget
        assert settled in (None, size)
        assert sum(foretold) <= budget - seen
        assert bool(foretold) == (SINGLY <= seen < budget)
        settled = foretold[0] if foretold else None
        blocks.pace.heed(reached, 4.6)
    assert sum(size for size, *_ in blocks) == budget


def test_only_where_blocks_are_the_largest_at_the_first_pace_more_than_two_are_foretold():
    blocks = Blocks(10_000, largest=100)
    for size, *foretold in blocks:
        assert size <= 100
        assert len(foretold) <= 1 or set(foretold[:-1]) == {100}
    assert max(len(sizes) for sizes in blocks) == AHEAD
    blocks.pace.heed(4.0, 4.6)
    assert max(len(sizes) for sizes in blocks) == 2


@given(wealth, wealth, st.floats(0.01, 1e3))
def test_the_nearer_the_wealth_the_smaller_the_block(one, other, hurdle):
    near, far = Pace(), Pace()
    near.heed(max(one, other), hurdle)
    far.heed(min(one, other), hurdle)
    assert SHARES[-1] <= near.share <= far.share <= SHARES[0]


def test_a_wealth_that_falls_doubles_the_samples_and_one_that_has_arrived_looks_at_once():
    pace = Pace()
    pace.heed(-5.0, 4.6)
    assert pace.share == 1
    pace.heed(4.6, 4.6)
    assert pace.share == SHARES[-1]


def test_blocks_drawn_ahead_are_those_drawn_in_turn_also_when_the_pace_changes(bits, laplace):
    """A pace that changes every other block drops what was drawn ahead, and nothing is lost or repeated."""

    def walked(executor):
        pace, found = Pace(), []
        for block, (drawn, labels) in enumerate(
            draw_blocks(laplace(1.0), bits, 3, 5000, executor, pace=pace)
        ):
            found.append((drawn, labels))
            pace.heed((-5.0, 0.0, 3.0, 4.5)[block // 2 % 4], 4.6)
        return found

    alone = walked(None)
    with ThreadPoolExecutor(3) as executor:
        ahead = walked(executor)
    assert len({len(labels) for _, labels in alone}) > 5
    assert sum(len(labels) for _, labels in alone) == 5000
    assert len(alone) == len(ahead)
    for first, second in zip(alone, ahead, strict=True):
        assert all(map(np.array_equal, first, second))


def test_a_violation_is_the_same_with_workers(bits, laplace):
    alone = audit("false", PureDP(1.0), laplace(1.5), bits, seed=5)
    with ThreadPoolExecutor(3) as executor:
        ahead = audit("false", PureDP(1.0), laplace(1.5), bits, seed=5, executor=executor)
    assert alone == ahead
    assert alone.verdict is Finding.VIOLATION


def test_a_sound_audit_looks_a_logarithmic_number_of_times(bits, laplace):
    calls = []

    def counted(value, n, rng):
        calls.append(n)
        return laplace(1.0)(value, n, rng)

    audit("true", PureDP(1.0), counted, bits, [Identity()], seed=1, budget=10**6, power=False)
    assert len(calls) < 42 + 2 * (3 * math.log2(10**6 / FIRST) + 10**6 / (1 << 17))


def test_no_block_is_so_large_that_seven_workers_wait_for_the_eighth(bits, laplace):
    for budget in (1000, 100_000):
        sizes = [len(labels) for _, labels in draw_blocks(laplace(1.0), bits, 0, budget, None)]
        assert sum(sizes) == budget
        assert max(sizes) <= budget // 8


def slow(value, rng):
    time.sleep(1e-3)
    return value + rng.normal()


@pytest.mark.parametrize("made", [each(slow), each(slow, failures="token")])
def test_a_block_of_a_slow_scalar_mechanism_ends_with_the_time(bits, made):
    """A block may hold as many samples as there were before: the clock is looked at between its calls."""
    begun = time.monotonic()
    with ending_at(begun + 0.2), pytest.raises(OutOfTimeError):
        made(0.0, 10_000, np.random.default_rng(0))
    assert time.monotonic() < begun + 2


def test_a_long_block_of_training_steps_ends_with_the_time():
    def start(rng):
        return lambda canary: slow(float(canary), rng)

    begun = time.monotonic()
    with ending_at(begun + 0.2), pytest.raises(OutOfTimeError):
        list(labelled_steps(start, 0, 10_000))
    assert time.monotonic() < begun + 2


@pytest.mark.slow
@pytest.mark.parametrize("true", tiered([1.0, 1.5], fast=1))
def test_workers_draw_hardly_more_than_is_used(bits, true):
    """What was drawn ahead in vain is at most one block and, at the end of a sound audit, nothing."""
    drawn = []

    def counted(value, n, rng):
        drawn.append(n)
        return value + rng.laplace(0, 1 / true, n)

    for seed in range(5):
        alone = audit("same", PureDP(1.0), counted, bits, seed=seed, budget=5000)
        spent = sum(drawn)
        drawn.clear()
        with ThreadPoolExecutor(4) as executor:
            ahead = audit("same", PureDP(1.0), counted, bits, seed=seed, budget=5000, executor=executor)
        assert ahead == alone
        assert sum(drawn) <= 2.1 * spent
        drawn.clear()


def test_running_out_of_time_in_a_worker_is_told_outside(bits, monkeypatch):
    """A new process, which is spawned and not forked, does not inherit the time budget."""
    spawning = multiprocessing.get_context("spawn")
    monkeypatch.setattr("dpproof.executors._start_method", lambda: spawning)
    with executor_for(2) as executor, ending_at(time.monotonic() + 1), pytest.raises(OutOfTimeError):
        executor.submit(outputs, as_mechanism(each(slow)), bits, 0, 10_000, np.random.default_rng(0)).result()
