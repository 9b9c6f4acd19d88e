"""The tree's noise: which nodes a release adds up, and what is shared between releases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.counting.tree import Nodes, nodes_with, releases_by_size
from dpproof.mechanisms.counting.tree import tree_noise


@given(st.integers(1, 200))
def test_a_release_adds_up_one_node_for_each_binary_digit(leaves):
    sizes = tree_noise(leaves, (), np.ones)
    assert sizes.tolist() == [float(t.bit_count()) for t in range(1, leaves + 1)]
    assert np.bincount(sizes.astype(int))[1:].tolist() == list(releases_by_size(leaves))[1:]


@given(st.integers(1, 40))
def test_neighbouring_streams_differ_in_the_nodes_that_hold_the_leaf(leaves):
    """Releases are a one-to-one image of the nodes used; a leaf moves as many as the accountant counts."""
    matrix = tree_noise(leaves, (leaves,), lambda shape: np.eye(leaves)).T
    nodes = matrix[:, np.abs(matrix).sum(axis=0) > 0]
    assert nodes.shape == (leaves, leaves)
    for leaf in range(1, leaves + 1):
        moved = np.linalg.solve(nodes, (np.arange(1, leaves + 1) >= leaf).astype(float))
        assert np.allclose(moved, np.rint(moved))
        assert int(np.rint(moved).sum()) == nodes_with(leaf, leaves, Nodes.USED)


def test_the_variance_is_that_of_the_nodes_added_up():
    """Alpha 1e-6 for each of 13 times; a wrong scale is seen."""
    rng = np.random.default_rng(0)
    paths = tree_noise(13, (40_000,), lambda shape: rng.laplace(0, 2, shape))
    expected = 8 * tree_noise(13, (), np.ones)
    ratio = paths.var(axis=0) / expected
    assert (abs(ratio - 1) < 0.06).all()
    assert (abs(ratio * 1.5 - 1) > 0.06).all()


def test_an_empty_stream_is_refused():
    with pytest.raises(ValueError, match=r"leaves \(0\)"):
        tree_noise(0, (), np.ones)
