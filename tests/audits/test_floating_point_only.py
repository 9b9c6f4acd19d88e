"""What is found through floating-point bits alone says so; what exists without them never does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.atoms import float_bits, lowest_bit, only_bits
from dpproof.audits.engine.scores.protocol import Identity, Projection
from dpproof.audits.engine.worst_pair import EachOf, WorstOf, _united
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from tests.rows import tiered

BITS = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", lambda a, b: None)


def laplace(value, n, rng):
    return value + rng.laplace(0, 1.0, n)


def halved(value, n, rng):
    return value + rng.laplace(0, 0.5, n)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "budget", "without"), [(1, 40_000, Finding.CONSISTENT), (3, 10_000, Finding.INCONCLUSIVE)]
)
def test_noise_of_numpy_is_refuted_by_its_bits_alone_and_typed_so(width, budget, without):
    def sampler(value, n, rng):
        return np.column_stack([laplace(value, n, rng)] + [rng.laplace(0, 1, n) for _ in range(width - 1)])

    found = audit("numpy", PureDP(1.0), sampler, BITS, seed=0, budget=budget)
    assert found.verdict is Finding.FLOATING_POINT
    assert found.verdict.violated
    assert "lowest_bit" in found.score
    assert found.samples == budget, "what is left of the budget looks for a violation without bits"
    assert found.without_bits is without
    assert found.as_json()["verdict"] == "violation (floating point only)"


def quarters(value, n, rng):
    """A number with two decimals; the last ones are quarters with probability e^2 / (1 + e^2) or 1 / (1 + e^2)."""
    chance = 1 / (1 + math.exp(-2.0 if value else 2.0))
    cents = np.where(rng.random(n) < chance, rng.choice([0, 25, 50, 75], n), rng.choice([13, 37, 61, 87], n))
    return rng.integers(0, 2**20, n) + cents / 100


KNOWN = ["identity", "float_bits"]
"""Scores that do not see decimals, but in the bits."""


def test_decimals_that_show_the_input_are_no_matter_of_floating_point():
    assert audit("quarters", PureDP(1.0), quarters, BITS, seed=0, budget=5_000).verdict is Finding.VIOLATION
    found = audit("quarters", PureDP(1.0), quarters, BITS, KNOWN, seed=0, budget=5_000)
    assert (found.verdict, found.without_bits) == (Finding.FLOATING_POINT, Finding.INCONCLUSIVE)
    assert "decimals of the output may show the input" in found.weakness
    assert not any("looks like" in text for text in found.words)


def test_pairs_are_consistent_without_bits_only_if_each_pair_is():
    found = audit("quarters", PureDP(1.0), quarters, BITS, KNOWN, seed=0, budget=5_000, power=False)
    louder = replace(found, without_bits=Finding.CONSISTENT, weakness="", e_value=2 * found.e_value)
    both = _united([louder, found], 2, 0.01, 0)
    assert (both.without_bits, both.weakness) == (Finding.INCONCLUSIVE, found.weakness)
    assert _united([louder, louder], 2, 0.01, 0).without_bits is Finding.CONSISTENT


def test_bits_that_are_not_bet_on_again_are_not_explained():
    scores = [Identity(), Projection((1.0,), view=lowest_bit)]
    found = audit("quarters", PureDP(1.0), quarters, BITS, scores, seed=0, budget=5_000)
    assert (found.verdict, found.without_bits) == (Finding.FLOATING_POINT, Finding.INCONCLUSIVE)


@pytest.mark.slow
def test_noise_in_objects_is_seen_in_its_bits_too():
    def sampler(value, n, rng):
        return [{"mean": float(number), "unit": "m"} for number in laplace(value, n, rng)]

    found = audit("records", PureDP(1.0), sampler, BITS, seed=0, budget=5_000)
    assert found.verdict is Finding.FLOATING_POINT


@pytest.mark.parametrize("scores", tiered([None, [float_bits()], [float_bits(), Identity()]], fast=1))
def test_what_exists_without_bits_is_never_called_floating_point_only(scores):
    """Bits refute first, but whoever looks only at them is given scores that see more."""
    for seed in range(20):
        found = audit("half the noise", PureDP(1.0), halved, BITS, scores, seed=seed, budget=20_000)
        assert found.verdict is Finding.VIOLATION
        assert "lowest_bit" not in found.score


@pytest.mark.slow
def test_numbers_on_a_lattice_have_no_bits_to_look_at():
    def sampler(value, n, rng):
        return value + rng.geometric(0.6, n) - rng.geometric(0.6, n) + 0.0

    found = audit("geometric", PureDP(1.0), sampler, BITS, seed=0, budget=20_000)
    assert found.verdict is Finding.CONSISTENT


def test_several_pairs_are_compared_by_what_is_found_without_bits():
    pairs = [
        Neighbours(0.0, high, "at most 1 apart", f"0 and {high}", lambda a, b: None) for high in (0.25, 1.0)
    ]
    for several in (EachOf, WorstOf):
        found = audit("half the noise", PureDP(1.0), halved, several(pairs), seed=0, budget=20_000)
        assert (found.verdict, found.pair) == (Finding.VIOLATION, "0 and 1.0")


@pytest.mark.slow
def test_alarms_without_bits_keep_their_level():
    """alpha .05, 100 seeds, a claim that real numbers keep exactly and bits do not."""
    found = [audit("exact", PureDP(1.0), laplace, BITS, seed=s, alpha=0.05, budget=4000) for s in range(100)]
    assert sum(one.verdict is Finding.VIOLATION for one in found) <= 13  # 99.9 % of what the level allows
    assert sum(one.verdict is Finding.FLOATING_POINT for one in found) >= 95


def test_scores_of_bits_are_told_apart():
    assert only_bits(float_bits())
    assert not only_bits(Identity())


def test_the_first_line_says_that_the_low_bits_refute_the_claim():
    from dpproof.wording import worth

    found = audit("exact", PureDP(1.0), laplace, BITS, seed=0, alpha=0.05, budget=4000)
    found = replace(
        found, verdict=Finding.FLOATING_POINT, power={}, weakness="power was not measured: no time"
    )
    assert "the low bits of floating-point numbers refute the claim" in worth(found)
    assert "nothing was found" not in worth(found).partition(" and nothing was found without them")[0]
