"""PRIVATE-UCB's privatizers, audited: printed noise refuted, honest noise not, pairs that are neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.batched_counts import account as batched
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.audits.corpus.reinforcement_cases import (
    CASES,
    FreshNoise,
    OneNoiseForTwoFamilies,
    SharedNoise,
    short_levels,
)
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.target import Subject, mechanism_target
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.private_ucb import batched_counts, central_counts, local_counts
from dpproof.audits.targets.rl.private_ucb.central_counts import EARLY, node_ends
from dpproof.mechanisms.counting.paths import column_coefficients
from dpproof.mechanisms.counting.tree import tree_nodes
from dpproof.mechanisms.rl.private_ucb.batched_counts import over_batches, payoffs_apart, users_apart
from dpproof.mechanisms.rl.private_ucb.batched_privatizer import BatchedCounts
from dpproof.mechanisms.rl.private_ucb.counted_users import differ_in_one_user, released, worst_users
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer

REPLACE, ADD_REMOVE = Adjacency.REPLACE, Adjacency.ADD_REMOVE
CENTRAL = CentralCountsParameters(2, 1, 1, 2, printed_epsilon=1.0)
LOCAL = LocalCountsParameters(2, 1, 1, 1, printed_epsilon=1.0)
PRIVATIZERS = [("central-counts", CENTRAL, CentralPrivatizer), ("local-counts", LOCAL, LocalPrivatizer)]
SIZES = [
    CentralCountsParameters(2, 2, 3, 9, scale=50.0),
    CentralCountsParameters(3, 1, 2, 5, scale=50.0, pooled=True, visits="summed", cost_factor=2.0),
    CentralCountsParameters(1, 1, 2, 6, scale=50.0, start="any"),
    LocalCountsParameters(2, 2, 3, 1, scale=50.0),
    LocalCountsParameters(1, 2, 2, 1, scale=50.0, start="same"),
]


@pytest.mark.parametrize(("name", "printed", "privatizer"), PRIVATIZERS)
def test_the_printed_noise_breaks_its_epsilon_and_the_calibrated_keeps_it(name, printed, privatizer):
    broken = audit(mechanism_target(Subject(name, printed, REPLACE, PureDP(1))), seed=0, budget=20_000)
    assert (broken.verdict.value, broken.claimed_epsilon) == ("violation", 1.0)
    honest = privatizer.meeting(printed, REPLACE, 1, 0).parameters
    kept = audit(mechanism_target(Subject(name, honest, REPLACE, PureDP(1))), seed=0, budget=20_000)
    assert kept.verdict.value == "consistent"


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE, Adjacency.REWARDS_ONLY])
@pytest.mark.parametrize("parameters", SIZES, ids=str)
def test_the_pair_pays_the_certified_epsilon(parameters, relation):
    """Far out in the direction of the change every counter looked at pays in full: nothing is lost."""
    central = isinstance(parameters, CentralCountsParameters)
    setting = (central_counts if central else local_counts).TARGET
    pair = setting.pair(parameters, relation)
    change = 1e3 * np.sign(pair.second.leaves(parameters) - pair.first.leaves(parameters))[0]
    adds = np.array([t.bit_count() for t in range(1, parameters.leaves + 1)]) if central else np.ones(1)
    found = setting.ratio((adds[:, None] * change)[None], parameters, pair.first, pair.second)
    privatizer = (CentralPrivatizer if central else LocalPrivatizer)(parameters)
    assert found[0] == pytest.approx(privatizer.account(relation).guarantee.epsilon(0).upper, rel=1e-9)


def test_a_part_of_the_counters_has_the_law_of_that_part():
    """Means and spreads of 4,000 runs in the moved columns, against those of whole runs: six errors."""
    parameters = CentralCountsParameters(2, 2, 2, 6, scale=1.0)
    privatizer, (first, _) = CentralPrivatizer(parameters), worst_users(parameters, 5, replaced=True)
    part = released(privatizer, first, 4000, np.random.default_rng(1))
    leaves = first.users.counts(parameters)
    whole = privatizer.release(leaves, 4000, np.random.default_rng(2))[..., first.columns]
    errors = np.sqrt((part.var(axis=0) + whole.var(axis=0)) / 4000)
    assert (abs(part.mean(axis=0) - whole.mean(axis=0)) < 6 * errors).all()
    assert (abs(part.mean(axis=0) + 1 - whole.mean(axis=0)) > 6 * errors).all()
    assert np.allclose(part.std(axis=0) / whole.std(axis=0), 1, atol=0.15)


def test_of_a_long_stream_the_first_users_are_looked_at():
    parameters = CentralCountsParameters(6, 2, 20, 20_000)
    pair = central_counts.TARGET.pair(parameters, REPLACE)
    assert pair.first.users.count == EARLY
    assert pair.first.columns.size == 6 * 20 - 3
    assert f"the first {EARLY} users" in pair.description


def test_the_counts_after_powers_of_two_are_nodes():
    counts = np.random.default_rng(0).normal(size=(3, 6, 2))
    nodes = tree_nodes(counts.swapaxes(1, 2)).swapaxes(1, 2)
    assert np.array_equal(node_ends(counts), nodes[:, [0, 1, 3]])


def test_users_further_apart_are_refused():
    parameters = CentralCountsParameters(2, 1, 2, 4)
    first, second = worst_users(parameters, 3, replaced=True)
    absent = replace(worst_users(parameters, 3, replaced=False)[1], columns=second.columns)
    both = replace(second, users=replace(second.users, costs=1 - second.users.costs))
    few = replace(second, columns=second.columns[:2])
    for one, other, says in (
        (first, both, "in one user only"),
        (first, few, "counters"),
        (second, absent, "leaves out"),
    ):
        with pytest.raises(InvalidNeighboursError, match=says):
            Neighbours(one, other, REPLACE, "further apart", differ_in_one_user)


def test_faults_stand_in_the_real_privatizers():
    """Each fault changes the noise alone: fresh noise has the spread of one draw, exact parts show."""
    rng = np.random.default_rng(3)
    long = CentralCountsParameters(1, 1, 1, 9, scale=3.0, visits="summed")
    fresh = FreshNoise(long).release(np.zeros((8, 2)), 20_000, rng)
    assert np.allclose(fresh.std(axis=0), 3 * np.sqrt(2), rtol=0.05)
    tree = CentralPrivatizer(long).release(np.zeros((8, 2)), 20_000, rng)
    assert not np.allclose(tree.std(axis=0), 3 * np.sqrt(2), rtol=0.05)
    shared = SharedNoise(LOCAL).release(np.zeros((1, LOCAL.counters)), 10, rng)
    assert (np.ptp(shared, axis=-1) == 0).all()
    one = OneNoiseForTwoFamilies(LOCAL).release(np.zeros((1, LOCAL.counters)), 10, rng)
    assert np.array_equal(one[..., :2], one[..., 2:4])
    assert not np.array_equal(one[..., :2], one[..., 4:6])
    assert short_levels(5) < CentralCountsParameters(1, 1, 1, 5).levels


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_comes_out_as_expected(case):
    found = case.audit(seed=7)
    assert found.verdict is case.expected
    truth = None if case.truth is None else case.truth()
    assert truth is None or (truth.upper > found.claimed_epsilon * (1 + 1e-9)) is (
        case.expected.value == "violation"
    )
    assert truth is None or found.epsilon_lower <= truth.upper


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE, Adjacency.REWARDS_ONLY])
@pytest.mark.parametrize(
    "sizes", [(6, 2, 20, 1000, 9.0, 2.0, 7), (2, 1, 5, 9, 9.0, 1.0, 5), (3, 2, 4, 9, 9.0)]
)
def test_batched_users_are_no_further_apart_than_the_guarantee(sizes, relation):
    """The pair's mu, from column coefficients and the moved counts, is most of what is proved."""
    parameters = BatchedCountsParameters(*sizes, every=3)
    if relation is Adjacency.REWARDS_ONLY:
        first, second = payoffs_apart(parameters)
    else:
        first, second = users_apart(parameters, replaced=relation is REPLACE)
    moved = (first.leaves(parameters) - second.leaves(parameters))[0]
    costs = first.columns < parameters.states * parameters.actions
    units = np.where(costs, parameters.cost_factor, 1.0)
    column = column_coefficients(over_batches(parameters).strategy)[: len(first.leaves(parameters))]
    mu = np.linalg.norm(column) * np.linalg.norm(moved / units) / parameters.sigma
    proved = batched(parameters, relation).guarantee.mu.upper
    assert 0.5 * proved < mu <= proved * (1 + 1e-12)


def test_the_audited_noise_of_batches_is_the_privatizer_s():
    """Spreads of 400 runs of 30 counters each before every release, within 5%."""
    batched_counts = BatchedCounts(2, 3, 4, 12, sigma=3.0, every=2, cost_factor=2.0)
    central = CentralPrivatizer(over_batches(batched_counts.parameters))
    rng = np.random.default_rng(5)
    one, costs = [], []
    for _ in range(400):
        (block,) = batched_counts.noise(rng, 64)
        one.append(block.transitions[batched_counts.releases].reshape(5, -1))
        costs.append(block.costs[batched_counts.releases].reshape(5, -1))
    other = central.release(np.zeros((5, 18)), 400, rng)
    assert np.std(one, axis=(0, 2)) == pytest.approx(other[..., 6:].std(axis=(0, 2)), rel=0.07)
    assert np.std(costs, axis=(0, 2)) == pytest.approx(other[..., :6].std(axis=(0, 2)), rel=0.07)


def test_streams_of_batches_that_look_elsewhere_are_no_neighbours():
    parameters = BatchedCountsParameters(2, 1, 2, 9, 1.0)
    pair = batched_counts.TARGET.pair(parameters, REPLACE)
    with pytest.raises(InvalidNeighboursError):
        Neighbours(
            pair.first, replace(pair.second, columns=pair.second.columns[1:]), REPLACE, "", pair.validator
        )
