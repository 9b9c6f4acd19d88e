"""Mechanisms with exactly twice the claimed epsilon are not called consistent, wherever the fault is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.audits.misses import EPSILON, FAULTS, misses
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit

ALPHA, MOST = 0.05, 0.1
RUNS = math.ceil(math.log(ALPHA) / math.log(1 - MOST))
"""So many runs without a miss reject "at least a share `MOST` is missed" at level `ALPHA`."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_each_class_of_events_is_hardly_ever_called_consistent(name):
    counts = misses(name, 32_000 if name == "a tail of one coordinate" else 6_000, RUNS)
    assert counts["consistent"] == 0
    assert counts["violation"] >= 0.5 * RUNS  # most of what is not called consistent is found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_the_mass_and_the_ratio_that_it_is_meant_to_have(name):
    """Inside and outside are told apart by nothing but the event; its chances have ratio e^(2 epsilon)."""
    fault, mass = FAULTS[name]
    outputs = fault(np.random.default_rng([0, 1]))
    one, again = (outputs(np.ones(50, bool), np.random.default_rng(7)) for _ in range(2))
    other = outputs(np.zeros(50, bool), np.random.default_rng(7))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    least = 2 * mass / (1 + math.exp(2 * EPSILON))
    assert least * (1 + math.exp(2 * EPSILON)) / 2 == pytest.approx(mass)
    assert math.exp(2 * EPSILON) * least < 1


@pytest.mark.parametrize(("chance", "runs", "found"), [(0.03, 5, True), (0.001, 1, False)])
def test_a_rare_tail_may_show_another_input_than_its_side(bits, chance, runs, found):
    """Large values show input 1. The largest ones show input 0, with ratio 60, or with ratio 2, which is allowed."""

    def mechanism(value, n, rng):
        rare = rng.random(n) < (0.0005 if value else chance)
        return np.where(rare, 1e6, value + rng.laplace(0, 1, n))

    claim = PureDP(1.0)
    for seed in range(runs):
        evidence = audit("rare", claim, mechanism, bits, [Identity()], seed=seed, budget=40_000)
        assert (evidence.verdict is Finding.VIOLATION) == found
