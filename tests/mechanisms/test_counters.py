"""Counters: the stream and the paths are one law, their variances the accountant's, memory is O(log K)."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.counting.error import from_below
from dpproof.accountant.counting.toeplitz import SquareRoot, banded_square_root
from dpproof.mechanisms.counting.paths import (
    FactorisedPaths,
    HonakerPaths,
    TreePaths,
    WalkPaths,
    gaussian,
    laplace,
)
from dpproof.mechanisms.counting.streaming import SecureNoise, StreamingTree, secure_noise
from dpproof.mechanisms.counting.tree import tree_noise


def whole(paths, times, counters, block, seed=0):
    """All blocks as one array (times, counters)."""
    blocks = paths.blocks(np.random.default_rng(seed), times, counters, block)
    return np.concatenate([rows.copy() for rows in blocks])


def basis(columns):
    """Noise with one coordinate for each node drawn, in order; ``columns`` coordinates in all."""
    drawn = iter(np.eye(columns, dtype=np.float32))

    def draw(_rng, out):
        for row in out.reshape(-1, columns):
            row[:] = next(drawn)

    return draw


def nodes_of(paths, times, block):
    """The matrix that makes a path from independent noises: (times, noises)."""
    columns = 8 * times + 4 * block
    return whole(paths(basis(columns)), times, columns, block)


@given(st.integers(1, 70), st.integers(1, 16))
def test_a_stream_and_the_paths_are_the_same_function_of_fresh_noise(leaves, block):
    """Both draw one noise a leaf, in order: equal matrices, hence equal laws for any noise."""
    columns = leaves + 1
    drawn = iter(np.eye(columns))
    tree = StreamingTree(leaves, columns, lambda _count: next(drawn))
    rows = [tree.release()]
    for _ in range(leaves):
        tree.update(np.zeros(columns))
        rows.append(tree.release())
    paths = whole(TreePaths(basis(columns)), leaves + 1, columns, block)
    assert np.array_equal(np.array(rows), paths)


@given(st.integers(1, 60), st.integers(1, 16))
def test_the_paths_of_blocks_have_the_law_of_the_tree_s_noise(leaves, block):
    """Each node is one coordinate: equal columns, up to their order, are equal laws for any noise."""
    columns = []

    def draw(shape):
        columns.append(shape[-1])
        return np.zeros(shape)

    tree_noise(leaves, (), draw)
    eye = iter(np.split(np.eye(sum(columns)), np.cumsum(columns)[:-1], axis=1))
    theirs = tree_noise(leaves, (sum(columns),), lambda _: next(eye)).T
    ours = nodes_of(TreePaths, leaves + 1, block)[1:]
    assert np.array_equal(ours @ ours.T, theirs @ theirs.T)
    used = [matrix[:, np.abs(matrix).sum(axis=0) > 0] for matrix in (ours, theirs)]
    assert sorted(map(tuple, used[0].T.tolist())) == sorted(map(tuple, used[1].T.tolist()))


@given(st.integers(1, 60), st.integers(1, 16))
def test_averaged_subtrees_have_the_accountant_s_variance_and_are_unbiased(leaves, block):
    rows = nodes_of(HonakerPaths, leaves + 1, block).astype(float)
    expected = [0.0, *(float(from_below(t)) for t in range(1, leaves + 1))]
    assert np.allclose((rows**2).sum(axis=1), expected, rtol=1e-5)


@given(st.integers(1, 30))
def test_averaged_subtrees_are_paths_over_complete_nodes(leaves):
    """Each noise enters releases from the end of its node on only: a path never looks ahead."""
    small, large = (nodes_of(HonakerPaths, times, 4) for times in (leaves + 1, leaves + 9))
    shared = np.abs(large[: leaves + 1]).sum(axis=0) > 0
    assert np.allclose(np.sort((small**2).sum(axis=1)), np.sort((large[: leaves + 1] ** 2).sum(axis=1)))
    assert shared.sum() <= 2 * leaves


@pytest.mark.parametrize("strategy", [SquareRoot(40), banded_square_root(40, 5)])
def test_factorised_paths_have_the_accountant_s_variance(strategy):
    rows = whole(FactorisedPaths(basis_by_counter(40), strategy), 41, 40, 8)
    squares = [float(value.mid()) ** 2 for value in strategy.row().coeffs()]
    variances = np.cumsum([0.0, *squares, *[0.0] * (40 - len(squares))])
    assert np.allclose((rows.astype(float) ** 2).sum(axis=1), variances, rtol=1e-4)


def basis_by_counter(leaves):
    """Counter j has noise 1 on entry j of C x, and no other."""
    start = 0

    def draw(_rng, out):
        nonlocal start
        out[...] = 0
        for row in range(len(out)):
            out[row, (start + row) % leaves] = 1
        start += len(out)

    return draw


def test_more_times_than_leaves_are_refused():
    paths = FactorisedPaths(gaussian, SquareRoot(4))
    with pytest.raises(ValueError, match=r"times \(6\) must be at most 5"):
        whole(paths, 6, 1, 2)


@given(st.integers(2, 40), st.integers(1, 9))
def test_a_walk_adds_one_noise_a_leaf(times, block):
    rows = whole(WalkPaths(lambda _rng, out: out.fill(1)), times, 3, block)
    assert rows[:, 0].tolist() == list(range(times))


@pytest.mark.parametrize(
    ("draw", "variance", "beyond"), [(laplace, 2.0, math.exp(-3)), (gaussian, 1.0, 0.0027)]
)
def test_draws_have_their_law(draw, variance, beyond):
    """400,000 samples; alpha below 1e-6 each (5 standard errors); noise of twice the scale is refused."""
    out = np.empty(400_000, np.float32)
    draw(np.random.default_rng(1), out)

    def fits(sample):
        errors = np.array(
            [
                abs(sample.mean()) / math.sqrt(variance / len(sample)),
                abs((abs(sample) > 3).mean() - beyond) / math.sqrt(beyond / len(sample)),
                abs((sample > 0).mean() - 0.5) * 2 * math.sqrt(len(sample)),
            ]
        )
        return bool((errors < 5).all())

    assert fits(out)
    assert not fits(2 * out)
    assert abs(np.corrcoef(out[:-1], out[1:])[0, 1]) < 5 / math.sqrt(len(out))


def test_memory_is_two_numbers_a_level_at_a_billion_leaves():
    tree = StreamingTree(10**9, 1000, lambda count: np.ones(count))
    levels = (10**9).bit_length()
    assert tree.numbers_held == 2 * levels * 1000
    tree.skip(10**9 - 5)
    tree.update(np.arange(1000.0))
    for _ in range(4):
        tree.update(np.zeros(1000))
    assert tree.time == 10**9
    assert tree.release().tolist() == [value + (10**9).bit_count() for value in range(1000)]
    assert tree.numbers_held == 2 * levels * 1000


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_skipping_keeps_sums_and_the_nodes_that_stay(steps):
    """Skipped or updated one by one: the same true sums, and as many nodes, those above left alone."""
    leaves = sum(steps) + len(steps) + 1
    ticket = iter(range(10**6))
    tree = StreamingTree(leaves, 1, lambda _: np.array([float(next(ticket))]))
    exact = StreamingTree(leaves, 1, lambda _: np.zeros(1))
    plain = StreamingTree(leaves, 1, lambda _: np.zeros(1))
    for step in steps:
        for counted in (tree, exact, plain):
            counted.update([2.0])
        before, held = tree.time, tree._noises.copy()
        tree.skip(step)
        exact.skip(step)
        for _ in range(step):
            plain.update([0.0])
        assert exact.release().tolist() == plain.release().tolist()
        top = (before ^ tree.time).bit_length()
        assert np.array_equal(tree._noises[top:], held[top:])
        assert np.count_nonzero(exact._sums) <= exact.time.bit_count()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda tree: tree.update([1.0]), r"shape of leaf \(\(1,\)\)"),
        (lambda tree: tree.update([1.0, math.nan]), r"leaf \(nan\) must be a finite number"),
        (lambda tree: tree.release(2), r"time \(2\) must be 1, the number"),
        (lambda tree: tree.release(0), r"time \(0\) must be 1, the number"),
        (lambda tree: tree.skip(3), r"leaf number 4 cannot be added"),
        (lambda tree: tree.skip(-1), r"count \(-1\)"),
    ],
)
def test_a_bad_call_leaves_the_stream_as_it_is(act, message):
    tree = StreamingTree(3, 2, np.ones)
    tree.update([1.0, 2.0])
    before = tree.release()
    with pytest.raises(ValueError, match=message):
        act(tree)
    assert tree.time == 1
    assert tree.release().tolist() == before.tolist()


def test_the_stream_ends_with_its_last_leaf():
    tree = StreamingTree(1, 1, np.ones)
    tree.update([1.0])
    with pytest.raises(ValueError, match=r"leaf number 2 cannot be added"):
        tree.update([1.0])
    with pytest.raises(ValueError, match=r"leaves \(0\)"):
        StreamingTree(0, 1, np.ones)


@pytest.mark.parametrize(("law", "scale"), [("discrete-laplace", 3.0), ("discrete-gaussian", 3.0)])
def test_secure_noise_is_whole_and_of_its_law(law, scale):
    """20,000 samples each; alpha below 1e-6 (5 standard errors); noise of half the scale is refused."""
    pytest.importorskip("opendp")
    sample = SecureNoise()(law, scale)(20_000)
    assert np.array_equal(sample, np.rint(sample))
    points = np.arange(-400, 401)
    weights = (
        np.exp(-abs(points) / scale) if law == "discrete-laplace" else np.exp(-(points**2) / (2 * scale**2))
    )
    chance = weights[abs(points) > scale].sum() / weights.sum()

    def fits(values):
        return abs((abs(values) > scale).mean() - chance) < 5 * math.sqrt(chance / len(values))

    assert fits(sample)
    assert not fits(np.rint(sample / 2))


@pytest.mark.parametrize(
    ("law", "scale", "message"),
    [
        ("cauchy", 1.0, "law"),
        ("laplace", 1.0, r"law \('laplace'\) must be integer noise, one of: discrete-laplace"),
        ("discrete-laplace", 0.0, r"scale \(0.0\)"),
        ("discrete-gaussian", math.nan, r"scale \(nan\)"),
        ("discrete-laplace", -1.0, r"scale \(-1.0\)"),
    ],
)
def test_bad_secure_noise_is_refused(law, scale, message):
    with pytest.raises(ValueError, match=message):
        secure_noise(law, scale)


def test_without_opendp_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ModuleNotFoundError, match=r"dpproof\[release\]"):
        secure_noise("discrete-laplace", 1.0)


def test_a_node_s_weights_are_those_of_least_variance():
    assert from_below(2) == Fraction(2, 3)
