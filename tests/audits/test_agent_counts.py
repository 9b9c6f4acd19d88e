"""Audits of the counters of agents: honest code keeps its claim, and each fault is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpproof import agent
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_counts import ACCOUNTANT, BatchedCountsParameters, account
from dpproof.audits.corpus.agent_cases import CASES, SIZES, KeptNoise, SharedNoise
from dpproof.audits.target import Subject, mechanism_target
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.private_ucb import batched_counts
from dpproof.mechanisms.agents.learner import Path
from dpproof.mechanisms.agents.many_runs import AgentCounts

RELATIONS = [Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY]
SHAPES: list[dict[str, Any]] = [
    {},
    {"bands": 2},
    {"pooled": False},
    {"most_payoff": 1.0},
    {"counter": "tree"},
    {"counter": "tree", "noise": "laplace"},
]


def sizes(relation: Adjacency, **shape: Any) -> BatchedCountsParameters:
    """Return the least noise for epsilon 1."""
    public = relation is Adjacency.REWARDS_ONLY
    unit = BatchedCountsParameters(
        2, 2, 2, 5, sigma=1.0, cost_factor=1.5, cap=2, public_transitions=public, bits=16, grains=1024, **shape
    )  # fmt: skip
    return ACCOUNTANT.least_noise(unit, relation, 1, 0 if unit.noise == "laplace" else "1e-3")[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_comes_out_as_expected(case):
    """With a false claim, an honest audit is wrong with probability at most its alpha of 0.05."""
    found = case.audit(seed=7)
    assert found.verdict is case.expected
    truth = None if case.truth is None else case.truth()
    assert truth is None or found.epsilon_lower <= truth.upper
    assert truth is None or (truth.upper > found.claimed_epsilon * (1 + 1e-9)) is (
        case.expected.value == "violation"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.expected.value == "violation"], ids=lambda case: case.name
)
def test_a_fault_is_found_at_nearly_every_seed(case):
    """10 seeds for each of 11 faults. No miss in all 110 audits rejects "2.7% are missed on average" at level 0.05.

    No miss has probability prod(1 - p)^10 for the shares p of the faults, at most (1 - mean p)^110 < 0.05. The
    10 seeds of one fault alone reject at the same level that 26% of its audits miss it.
    """
    assert all(case.audit(seed=seed).verdict.value == "violation" for seed in range(100, 110))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_agents_keep_their_claim_in_an_audit(shape, relation):
    """4,000 samples at alpha 0.05. The agent's own code draws them."""
    parameters = sizes(relation, **shape)
    delta = 0.0 if parameters.noise == "laplace" else 1e-3
    found = audit(
        mechanism_target(Subject("batched-counts", parameters, relation)), seed=0, budget=4000, delta=delta
    )
    assert found.verdict.value == "consistent"
    assert found.epsilon_lower > 0.1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_pair_uses_at_least_half_of_the_guarantee(shape, relation):
    parameters = sizes(relation, **shape)
    pair = batched_counts.TARGET.pair(parameters, relation)
    counts = AgentCounts(parameters)
    apart = (counts.means(pair.first.path) - counts.means(pair.second.path)) / counts.scales
    found = account(parameters, relation).guarantee
    laplace = parameters.noise == "laplace"
    moved = abs(apart).sum() if laplace else np.linalg.norm(apart)
    proved = found.epsilon(0).upper if laplace else found.mu.upper
    assert 0.5 * proved < moved <= proved * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
@pytest.mark.parametrize("counter", ["square-root", "tree"])
def test_one_run_is_what_an_agent_releases_from_the_same_words(counter):
    given = replace(SIZES, counter=counter, episodes=5)
    one = agent(
        "private-ucb-vi", observations=2, actions=1, episodes=5, horizon=1, epsilon=2, delta="1e-5",
        adjacency="replace", reward_range=(0, 1), privatizer=given, seed=3,
    )  # fmt: skip
    with one.user() as user:
        user.act(1)
        user.observe(1.0, 0)
    for _ in range(4):  # each user who begins ends the batch of the one before
        one.user().abort()
    parameters = one.promise.releases[0]
    path = Path(np.array([1, 0]), np.array([0]), np.ones(1))
    found = AgentCounts(parameters).release(path, 1, np.random.default_rng(3))[0]
    gains = one._learner._counters._gains
    if counter == "tree":
        whole = found[:, :2] * 1024  # nodes of times 1, 2, 2, 3, 4, 4, 4
        estimate = sum_of_estimates(whole)
        assert gains.running == pytest.approx(estimate, rel=1e-12)
    else:
        assert np.array_equal(np.array(gains._released), found[:, :2] * 1024 * 2**16)


def sum_of_estimates(nodes):
    """Return the running sum of four leaves from the seven nodes, in the order of their times, level by level."""
    first, second, pair, third, fourth, other, top = nodes
    halves = [
        (2 * own + left + right) / 3 for own, left, right in ((pair, first, second), (other, third, fourth))
    ]
    return (4 / 3 * top + sum(halves)) / (7 / 3)


def test_noise_has_the_scale_of_the_claim_and_the_grid():
    """Standard deviations of 4,000 runs within 6%, which is more than five standard errors."""
    counts = AgentCounts(replace(SIZES, sigma=3.0, cost_factor=2.0, bits=4))
    found = counts.release(None, 4000, np.random.default_rng(1))
    assert found.std(axis=0) == pytest.approx(np.broadcast_to(counts.scales, found.shape[1:]), rel=0.06)
    units = np.where(np.arange(found.shape[2]) < 2, 1024 * 2**4, 2**4)
    assert np.array_equal(found * units, np.rint(found * units))
    assert counts.scales.tolist() == [6.0, 6.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]


def test_faults_of_noise_change_the_noise_alone():
    path = Path(np.array([0, 1]), np.array([0]), np.ones(1))
    for fault in (SharedNoise, KeptNoise):
        assert np.array_equal(fault(SIZES).means(path), AgentCounts(SIZES).means(path))
    shared = SharedNoise(SIZES).release(None, 5, np.random.default_rng(1))
    assert (np.ptp(shared[..., :2], axis=-1) == 0).all()
    assert (np.ptp(shared[..., 2:], axis=-1) == 0).all()
    kept = KeptNoise(SIZES).release(None, 5, np.random.default_rng(1))
    assert (np.ptp(kept, axis=1) == 0).all()


def test_parameters_that_no_agent_uses_are_refused():
    with pytest.raises(ValueError, match="grains=1024"):
        batched_counts.TARGET.pair(replace(SIZES, grains=10), Adjacency.REPLACE)
    exact = BatchedCountsParameters(2, 1, 1, 4, 1.0, pooled=False)
    target = mechanism_target(Subject("batched-counts", exact, Adjacency.REPLACE))
    with pytest.raises(ValueError, match="bits=16 and grains=1024"):
        audit(target, seed=0, budget=100)
    with pytest.raises(ValueError, match="at most 1000000"):
        AgentCounts(BatchedCountsParameters(100, 10, 2, 4000, 1.0, bits=4, grains=1024))
