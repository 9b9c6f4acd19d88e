"""Audits of transitions that are found: honest code keeps its claim, each fault is found, and the samples are right.

Fixed seeds. An honest audit is wrong with probability at most its alpha of 0.05.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpproof import agent
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.thresholds import with_openings
from dpproof.audits.corpus.opening_cases import ALONE, CASES, NEAR, OPEN, SIZES
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.target import Subject, mechanism_target
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.private_ucb import batched_counts
from dpproof.mechanisms.agents.learner import Path
from dpproof.mechanisms.agents.many_found_runs import FoundCounts, FoundUsers, found_ratio, found_users
from tests.rows import tiered

RELATIONS = [Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY]
NAMED = {"ids": lambda case: case.name}
FAULTS = [case for case in CASES if case.expected is Finding.VIOLATION]


@pytest.mark.parametrize("case", tiered(CASES, fast=3), **NAMED)
def test_every_case_comes_out_as_expected(case):
    found = case.audit(seed=7)
    assert found.verdict is case.expected
    truth = None if case.truth is None else case.truth()
    assert truth is None or found.epsilon_lower <= truth.upper
    assert truth is None or (truth.lower > found.claimed_epsilon) is (case.expected is Finding.VIOLATION)
    if case.expected is Finding.VIOLATION:
        assert replay(found.witness()) == found


@pytest.mark.slow
@pytest.mark.parametrize("case", FAULTS, **NAMED)
def test_a_fault_is_found_at_nearly_every_seed(case):
    """14 seeds without a miss reject "a share of 20% is missed" at level 0.05."""
    assert all(case.audit(seed=seed).verdict is Finding.VIOLATION for seed in range(100, 114))


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in FAULTS], **NAMED)
def test_honest_code_is_not_accused(case):
    """An audit that is wrong with probability 0.05 is wrong more than 4 of 29 times with probability below 0.02."""
    wrong = sum(case.audit(seed=seed).verdict is Finding.VIOLATION for seed in range(100, 129))
    assert wrong <= 4


def chosen(relation: Adjacency, **shape: object) -> BatchedCountsParameters:
    """Return counters for three steps, with openings for epsilon 2."""
    sizes = BatchedCountsParameters(3, 1, 3, 5, sigma=3.0, bits=16, grains=1024, **shape)
    given = Adjacency.REPLACE if relation is Adjacency.REWARDS_ONLY else relation
    return with_openings(sizes, given, 2, "1e-2")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", tiered([{"cap": 2}, {}, {"pooled": False}]), ids=str)
def test_the_target_samples_openings_and_the_claim_stands(relation, shape):
    """8,000 samples. Before, the audit sampled counters that were all open, whatever the threshold was."""
    target = mechanism_target(Subject("batched-counts", chosen(relation, **shape), relation))
    found = audit(target, seed=0, budget=8000, delta=1e-2)
    assert found.verdict is Finding.CONSISTENT
    assert found.epsilon_lower > 0.02


def test_counters_that_are_not_on_a_lattice_are_refused():
    exact = replace(SIZES, bits=None, grains=None)
    target = mechanism_target(Subject("batched-counts", exact, Adjacency.REPLACE))
    with pytest.raises(ValueError, match="grains"):
        audit(target, seed=0, budget=100)


def runs(sizes: BatchedCountsParameters, steps: tuple[int, int], n: int) -> tuple[np.ndarray, ...]:
    """Return both inputs and ``n`` outputs of each."""
    users = found_users(sizes, Adjacency.ADD_REMOVE, *steps)
    rng = np.random.default_rng(4)
    return *users, *(FoundCounts(sizes).sample(one, n, rng) for one in users)


def test_openings_happen_as_often_as_the_normal_law_says():
    """20,000 runs. A binomial test at level 1e-4 for each share; a threshold that is lower by 1 fails it."""
    for sizes, rejected in ((SIZES, False), (replace(SIZES, threshold=4), True)):
        users = found_users(SIZES, Adjacency.ADD_REMOVE, *NEAR)
        for world, visits in zip(users, (5, 4), strict=True):
            found = FoundCounts(sizes).sample(world, 20_000, np.random.default_rng(8))
            opened = int(FoundCounts(sizes).parts(found)[2][:, 1].sum())
            p = stats.norm.sf((5 - 0.5 - visits) / 1.2)
            assert bool(stats.binomtest(opened, 20_000, p).pvalue < 1e-4) is rejected


@pytest.mark.parametrize("steps", [OPEN, NEAR])
def test_the_likelihood_ratio_has_mean_one_under_the_first_input(steps):
    """E0[p1/p0] = 1 and E1[p0/p1] = 1, within five standard errors of 20,000 runs."""
    sizes = replace(SIZES, sigma=4.0, opening_sigma=3.0)
    first, second, zeros, ones = runs(sizes, steps, 20_000)
    for outputs, sign in ((zeros, 1), (ones, -1)):
        ratio = np.exp(sign * found_ratio(outputs, sizes, first, second))
        assert ratio.std() > 0.1
        assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(len(ratio))


def test_nobody_elses_pair_opens_only_with_the_user():
    _, _, zeros, ones = runs(replace(SIZES, threshold=2), ALONE, 2000)
    opened = [FoundCounts(SIZES).parts(outputs)[2].sum() for outputs in (zeros, ones)]
    assert opened[0] > 0
    assert opened[1] == 0


@pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
def test_one_run_is_what_an_agent_finds_from_the_same_words():
    given = replace(SIZES, episodes=5, threshold=2, opening_sigma=1.0)
    one = agent(
        "private-ucb-vi", observations=2, actions=1, episodes=5, horizon=1, epsilon=9, delta="0.5",
        adjacency="replace", reward_range=(0, 1), support="found", privatizer=given, seed=3,
    )  # fmt: skip
    for state in (0, 0, 1):
        with one.user() as user:
            user.act(state)
            user.observe(1.0, 0)
    for _ in range(2):  # each user who begins ends the batch of the one before
        one.user().abort()
    parameters = one.promise.releases[0]
    assert isinstance(parameters, BatchedCountsParameters)
    paths = [Path(np.array([state, 0]), np.array([0]), np.ones(1)) for state in (0, 0, 1)]
    users = FoundUsers((*(((path, 1),) for path in paths), ()), None, 0)
    counts = FoundCounts(parameters)
    found = counts.sample(users, 1, np.random.default_rng(3)).reshape(4, -1)[3]
    learned = one._learner._counters
    assert found[:2].tolist() == (learned._gains.running / 1024).tolist()
    opened = np.zeros(6)
    opened[list(learned._counter)] = learned._moves.running
    assert found[2:8].tolist() == opened.tolist()
    assert found[8:].sum() == learned.possible > 0


def test_inputs_with_other_companions_are_no_neighbours():
    one, other = (found_users(SIZES, Adjacency.ADD_REMOVE, *steps)[0] for steps in (NEAR, ALONE))
    with pytest.raises(InvalidNeighboursError, match="same other users"):
        Neighbours(
            one, other, Adjacency.ADD_REMOVE, "others differ", batched_counts._differ_in_one_found_user
        )
