"""Integers that no double holds, and numbers packed into others, reach the scores without rounding.

Every mechanism adds two-sided geometric noise whose true epsilon is 4.6 and claims epsilon 1.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.exact import Wide, above, below, doubles, exactly, low_bytes, united
from dpproof.audits.data.outputs import as_block
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.atoms import float_bits, tokens
from dpproof.audits.engine.scores.classifiers import logistic, trees
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.protocol import Identity, Projection
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from tests.rows import tiered

DATA = Neighbours(np.array([0]), np.array([1]), "replace", "one number", lambda a, b: None)
RARE = 0.99
"""Of a geometric law: epsilon is -ln(1 - 0.99) = 4.6."""


def noise(rng, n, chance=RARE):
    return rng.geometric(chance, n) - rng.geometric(chance, n)


def shifted(by):
    return lambda x, n, rng: [by + int(x[0]) + int(z) for z in noise(rng, n)]


def packed(x, n, rng):
    """Two counters of 32 bits in one integer; the noise of the higher one is wide."""
    return (rng.integers(0, 2**30, n) << 32) + 1000 + x[0] + noise(rng, n)


OUTPUTS = {
    "int64": lambda x, n, rng: np.int64(2**60) + np.int64(x[0]) + noise(rng, n),
    "uint64": lambda x, n, rng: np.uint64(2**64 - 100) + (x[0] + noise(rng, n) + 20).astype(np.uint64),
    "negative": lambda x, n, rng: np.int64(-(2**63) + 100) + np.int64(x[0]) + noise(rng, n),
    "python, 2^200": shifted(2**200),
    "python, about 2^64": shifted(2**64),
    "packed": packed,
    "packed, in a vector": lambda x, n, rng: np.stack([packed(x, n, rng), packed([0], n, rng)], 1),
    "packed, of python": lambda x, n, rng: [int(p) + (1 << 100) for p in packed(x, n, rng)],
    "mixed": lambda x, n, rng: [
        float(z) if z < 0 else 2**60 + int(x[0]) + int(z) for z in noise(rng, n, 0.9)
    ],
    "vector": lambda x, n, rng: np.stack([2**60 + x[0] + noise(rng, n), 2**60 + noise(rng, n)], 1),
    "tuples": lambda x, n, rng: [(2**60 + int(x[0] + z), 3) for z in noise(rng, n)],
    "tuples of 2^200": lambda x, n, rng: [(2**200 + int(x[0] + z), 0.5) for z in noise(rng, n)],
    "dictionaries": lambda x, n, rng: [{"a": 2**62 + int(x[0] + z), "b": 2**61} for z in noise(rng, n)],
    "8 bytes": lambda x, n, rng: [(2**60 + int(x[0] + z)).to_bytes(8, "big") for z in noise(rng, n)],
    "16 bytes": lambda x, n, rng: [
        (int(p) + int(x[0] + z)).to_bytes(16, "little")
        for p, z in zip(rng.integers(0, 2**30, n) << 32, noise(rng, n), strict=True)
    ],
    "structured": lambda x, n, rng: np.array(
        [(2**60 + int(x[0] + z), 1.5) for z in noise(rng, n)], dtype=[("count", "i8"), ("mean", "f8")]
    ),
    "longdouble": lambda x, n, rng: np.longdouble(2**60) + (x[0] + noise(rng, n)).astype(np.longdouble),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_violation_in_integers_that_no_double_holds_is_found(kind):
    found = audit(kind, PureDP(1.0), OUTPUTS[kind], DATA, seed=0, budget=20_000)
    assert found.verdict is Finding.VIOLATION, found


@pytest.mark.parametrize(
    "score", [Identity(), Projection((1.0,)), tokens(), trees(), logistic(), float_bits()]
)
def test_every_score_sees_the_whole_integer(score):
    found = audit("int64", PureDP(1.0), OUTPUTS["int64"], DATA, [score], seed=0, budget=20_000)
    assert found.verdict is Finding.VIOLATION


def test_the_order_of_wide_integers_is_exact_under_wide_noise():
    """Half of the noise that is needed, of scale 2^57: no hash and no low bit tells the inputs apart."""

    def sampler(x, n, rng):
        return np.int64(2**58 * x[0]) + np.rint(rng.laplace(0, 2.0**57, n)).astype(np.int64)

    found = audit("wide noise", PureDP(1.0), sampler, DATA, seed=0, budget=20_000)
    assert found.verdict is Finding.VIOLATION
    assert found.score == "identity"


@pytest.mark.slow
@pytest.mark.parametrize("by", tiered([2**60, 2**200], fast=1))
def test_sound_integers_are_no_violation(by):
    def sampler(x, n, rng):
        return [by + int(x[0]) + int(z) for z in noise(rng, n, 1 - np.exp(-1.0))]

    for seed in range(5):
        found = audit("sound", PureDP(1.0), sampler, DATA, seed=seed, budget=3_000)
        assert not found.verdict.violated


@given(st.lists(st.integers(-(2**210), 2**210), min_size=2, max_size=20, unique=True))
def test_no_two_integers_have_the_same_columns(numbers):
    rows = np.array([*numbers, 2**210], object)[:, None]
    wide = Wide.of(rows)
    assert len(np.unique(wide.columns(rows), axis=0)) == len(set(rows[:, 0]))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integers_of_numpy_and_of_python_have_the_same_columns(numbers):
    rows = np.array([*numbers, 2**63 - 1], np.int64)[:, None]
    wide = Wide.of(rows)
    assert np.array_equal(wide.columns(rows), wide.columns(rows.astype(object)))


@given(st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False))
def test_what_lies_beside_a_number_is_not_the_number(number):
    array = np.array([number, None], object)[:1]
    assert below(array)[0] < number < above(array)[0]


def test_types_are_joined_only_where_nothing_is_rounded():
    assert united([np.array([2**60]), np.array([2**63], np.uint64)]) is None
    assert united([np.array([2**53 + 1]), np.array([0.5])]) is None
    assert united([np.array([3]), np.array([0.5])]).tolist() == [3.0, 0.5]
    assert exactly(np.array([0.5]), np.dtype(np.int64)) is None
    assert exactly(np.array([-1]), np.dtype(np.uint64)) is None
    assert exactly(np.array([2**2000], object), np.dtype(float)) is None


def test_a_list_of_mixed_numbers_is_no_array_of_doubles():
    assert as_block([2**53 + 1, 0.5]).dtype == object
    assert as_block([np.array([2**60 + 1]), np.array([0.5])]).dtype == object
    assert doubles(np.array([2**60 + 1], np.longdouble)).tolist() == [[2.0**60, 1.0, 0.0]]


def test_what_a_layout_has_no_room_for_is_an_event_of_its_own():
    layout = Layout.of([np.array([[1, 2]])])
    settled = layout.settled(as_block([[1, 2], [2**60, 2], [2**60 + 1, 0.5]]))
    assert settled.dtype == np.int64
    assert settled[1].tolist() == settled[2].tolist() == [30, 30]


def test_low_bytes_are_those_of_the_integer():
    assert low_bytes(np.array([[2**64 - 1]], np.uint64), 8).tolist() == [[7, *[255] * 8]]
    assert low_bytes(np.array([[2**200 + 5]], object), 1).tolist() == [[5, 5]]
