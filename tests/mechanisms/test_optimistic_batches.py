"""Batched, capped counts: the norm by exhaustion, the noise's law, the guarantee, and what is learned."""

import itertools

import numpy as np
import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.rl.private_ucb.batched_counts import squared_counts
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.batched_privatizer import BatchedCounts
from dpproof.mechanisms.rl.private_ucb.constants import SPARSE

UNIT = BatchedCounts(6, 2, 20, 20_000, sigma=1.0, cost_factor=2.0, cap=7, every=100, until=10_000)


@pytest.mark.parametrize(("S", "A", "H"), [(1, 1, 4), (2, 1, 5), (2, 2, 6), (3, 1, 7)])
def test_the_norm_is_the_most_of_all_ways_to_spread_visits(S, A, H):
    for cap in range(1, H + 1):
        ways = itertools.product(range(cap + 1), repeat=S * A)
        assert squared_counts(S, A, H, cap) == max(sum(n * n for n in w) for w in ways if sum(w) <= H)


def test_the_guarantee_is_that_of_the_largest_change():
    sizes = BatchedCounts(2, 1, 3, 40, sigma=5.0, cost_factor=2.0, cap=2, every=10)
    R = len(sizes.releases)
    root = np.array([1.0, 0.5, 0.375])
    C = np.array([[root[i - j] if i >= j else 0.0 for j in range(R)] for i in range(R)])
    assert R == 3
    worst = 0.0
    users = [x for x in itertools.product(range(3), repeat=4) if x[0] + x[1] <= 2 and x[2] + x[3] <= 2]
    users = [np.array(x, float) for x in users if sum(x) <= 3]
    for batch, x, y in itertools.product(range(R), users, users):
        cells = x.reshape(2, 2).sum(axis=1)
        others = y.reshape(2, 2).sum(axis=1)
        for cost, other in ((cells, 0 * others), (cells, others), (0 * cells, others)):
            change = ((x - y) ** 2).sum() + ((cost - other) ** 2).sum() / 4
            worst = max(worst, (C[:, batch] ** 2).sum() * change / 25)
    found = sizes.account(Adjacency.REPLACE).guarantee.mu.upper
    assert worst <= found**2 <= 2 * worst
    assert sizes.account(Adjacency.ADD_REMOVE).guarantee.mu.upper == pytest.approx(found / np.sqrt(2))


def test_the_noise_is_the_square_root_s_and_silent_between_releases():
    sizes = BatchedCounts(2, 1, 4, 50, sigma=3.0, cost_factor=2.0, cap=2, every=10, until=30)
    assert sizes.releases.tolist() == [10, 20, 30]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(1500):
        blocks = [[np.array(x) for x in block[1:]] for block in sizes.noise(rng, 16)]
        visits, costs, transitions = (np.concatenate(part) for part in zip(*blocks, strict=True))
        assert not np.delete(transitions, [10, 20, 30], axis=0).any()
        np.testing.assert_allclose(visits, transitions.sum(axis=-1), rtol=1e-5, atol=1e-4)
        draws.append((transitions[[10, 20, 30], 0, 0, 0, 1], costs[[10, 20, 30], 0, 1, 0]))
    C = np.array([[1, 0, 0], [0.5, 1, 0], [0.375, 0.5, 1]])
    for place, scale in ((0, 3.0), (1, 6.0)):
        covariance = np.cov(np.array([draw[place] for draw in draws]).T)
        # 1500 draws, 12 entries in all: five standard errors fail with probability below 1e-5
        error = 5 * scale**2 * (C @ C.T).max() * np.sqrt(2 / 1500)
        assert abs(covariance - scale**2 * C @ C.T).max() < error
        assert abs(covariance - scale**2 * np.eye(3)).max() > error  # independent noise is not this


def test_levels_hold_and_cover_the_deviation():
    sizes = BatchedCounts(2, 1, 4, 200, sigma=3.0, cap=2, every=10)
    levels = sizes.levels(0.1)
    rng, failures = np.random.default_rng(1), 0
    for _ in range(300):
        block = next(iter(sizes.noise(rng, 200)))
        pairs = zip(block[1:], (levels.visits, levels.costs, levels.transitions), strict=True)
        failures += any(abs(x).max() > level for x, level in pairs)
    assert failures <= 50  # mean at most 30; more than 50 has probability below 1e-3
    assert levels.transitions > 3 * sizes.deviation
    with pytest.raises(ValueError, match="delta"):
        sizes.levels(0)


@pytest.mark.slow
def test_at_one_and_1e_6_it_learns_and_the_promise_is_kept():
    counts = UNIT.meeting(Adjacency.REPLACE, 1, "1e-6")
    assert counts.account(Adjacency.REPLACE).guarantee.epsilon("1e-6").upper <= 1
    never = river_swim().optimal_values()[0, 0] * 20_000
    for learner in (PrivateUCBVI, PrivateUCBPO):
        runs = learner(counts, SPARSE).run_many(river_swim(), 7, 2)
        assert np.mean([run.total_regret for run in runs]) < never / 3


def test_bad_input_is_refused_by_name():
    for fields, message in (
        ({"sigma": 0.0}, r"sigma \(0.0\)"),
        ({"cap": 21}, r"cap \(21\) must be at most horizon \(20\)"),
        ({"every": 30_000}, r"every \(30000\)"),
        ({"cost_factor": np.nan}, r"cost_factor \(nan\)"),
    ):
        with pytest.raises(ValueError, match=message):
            BatchedCounts(
                **{"states": 6, "actions": 2, "horizon": 20, "episodes": 20_000, "sigma": 1.0} | fields
            )
    with pytest.raises(UnprovedAdjacencyError):
        UNIT.account(Adjacency.EXPERT)


def test_the_catalogue_accounts_for_it_and_calibration_is_tight():
    accountant = accountant_for("batched-counts")
    sizes = {"states": 6, "actions": 2, "horizon": 20, "episodes": 20_000, "cap": 7, "every": 100}
    unit = accountant.parameters.read({**sizes, "sigma": 1.0, "cost_factor": 2.0, "until": 10_000})
    meets, misses = accountant.least_noise(unit, Adjacency.REPLACE, 1, "1e-6")
    assert meets.sigma == UNIT.meeting(Adjacency.REPLACE, 1, "1e-6").sigma
    assert accountant.account(meets, Adjacency.REPLACE).guarantee.epsilon("1e-6").upper <= 1
    assert accountant.account(misses, Adjacency.REPLACE).guarantee.epsilon("1e-6").lower > 1
    assert accountant.account(meets, Adjacency.REPLACE).attained is None
    assert meets.batches == len(UNIT.releases)
