"""The worst pair: its largest log-likelihood ratio is the certified epsilon, its spread the certified mu."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.mechanisms.rl.private_ucb.counted_users import (
    central_log_ratio_of_leaves,
    local_log_ratio_of_leaves,
    worst_pair,
)
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.trajectories import differ_in_one_trajectory
from tests.rows import rows

SIZES = [(1, 1, 3), (1, 2, 2), (2, 1, 1), (2, 1, 4), (3, 2, 3)]
WORDS = [
    dict(zip(("visits", "pooled", "start", "cost_factor"), chosen, strict=True))
    for chosen in itertools.product(("released", "summed"), (False, True), ("same", "any"), (1.0, 2.0))
]


def _central_ratio(outputs, parameters, one, other):
    leaves = (user.counts(parameters)[:-1] for user in (one, other))
    return central_log_ratio_of_leaves(outputs, parameters, *leaves)


@rows("words", WORDS, ids=str)
@rows("sizes", SIZES, ids=str)
def test_the_largest_ratio_is_the_pure_epsilon(sizes, words):
    """At outputs far beyond both means, in the direction of their difference, every entry pays in full."""
    local, central = LocalCountsParameters(*sizes, 5, **words), CentralCountsParameters(*sizes, 6, **words)
    one, other = worst_pair(local)
    far = 1e3 * (one.counts(local) - other.counts(local))
    found = local_log_ratio_of_leaves(far[None], local, one.counts(local), other.counts(local))
    certified = LocalPrivatizer(local).account(Adjacency.REPLACE).guarantee.epsilon(0)
    assert found[0] == pytest.approx(certified.upper, rel=1e-9)
    one, other = worst_pair(central, users=6)
    assert differ_in_one_trajectory(one, other, same_start=central.start == "same")
    nodes = np.sign((one.counts(central) - other.counts(central))[0]) * 1e3
    releases = np.array([t.bit_count() for t in range(1, 6)])[:, None] * nodes
    found = _central_ratio(releases[None], central, one, other)
    certified = CentralPrivatizer(central).account(Adjacency.REPLACE).guarantee.epsilon(0)
    assert found[0] == pytest.approx(certified.upper, rel=1e-9)


@pytest.mark.parametrize("counter", ["tree", "square-root"])
@pytest.mark.parametrize("words", WORDS[::3], ids=str)
def test_gaussian_ratios_have_the_mean_of_the_certified_mu(counter, words):
    """Under the first data the ratio is N(mu^2/2, mu^2): 4,000 runs, five standard errors; not 2 mu."""
    parameters = CentralCountsParameters(2, 2, 2, 5, scale=9.0, noise="gaussian", counter=counter, **words)
    privatizer, (one, other) = CentralPrivatizer(parameters), worst_pair(parameters, users=5)
    mu = privatizer.account(Adjacency.REPLACE).guarantee.mu.upper
    ratios = _central_ratio(privatizer.sample(one, 4000, np.random.default_rng(5)), parameters, one, other)
    assert abs(ratios.mean() - mu**2 / 2) < 5 * mu / math.sqrt(4000)
    assert abs(ratios.std() / mu - 1) < 5 / math.sqrt(2 * 4000)
    assert abs(ratios.std() / (2 * mu) - 1) > 5 / math.sqrt(2 * 4000)


def test_averaged_subtrees_have_no_ratio_here():
    parameters = CentralCountsParameters(2, 2, 2, 5, noise="gaussian", counter="honaker")
    one, other = worst_pair(parameters, users=5)
    with pytest.raises(ValueError, match="honaker"):
        _central_ratio(np.zeros((1, 4, 24)), parameters, one, other)
