"""RLSVI against its claim: the correct one passes, every planted fault is caught, and power is as stated."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace as altered

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account
from dpproof.audits.corpus.rlsvi import CASES, ON_CLAIM, SMALL, VARIANTS, ReusedNoise
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours, rlsvi_pair
from dpproof.audits.engine.power.simulated import gaussian_mu
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.rlsvi.rlsvi import RLSVIAudit, first_path, last_cell, rlsvi_scores
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.rlsvi.users import differ_only_in_rewards_of_one_user
from tests.rows import tiered


@pytest.mark.parametrize("case", tiered(CASES, fast=2), ids=lambda case: case.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_corpus(case, seed):
    found = case.audit(seed=seed, budget=10_000)
    assert found.verdict is case.expected
    if found.verdict is Finding.CONSISTENT:
        claimed = account(case.target.parameters, Adjacency.REWARDS_ONLY).notion.epsilon(1e-5).upper
        assert found.epsilon_lower <= claimed < found.would_have_seen <= 2 * claimed


@pytest.mark.parametrize(
    "rule",
    tiered(list(VARIANTS), fast=1),
)
def test_every_fault_is_caught_with_one_cell(rule):
    parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=4)
    found = audit(RLSVIAudit(parameters, rule), seed=1, delta=1e-5, budget=20_000)
    assert found.verdict is Finding.VIOLATION


def test_a_reused_noise_is_caught_by_the_learned_direction_alone():
    pair = rlsvi_pair(SMALL)
    curve = account(SMALL, Adjacency.REWARDS_ONLY).notion
    sampler = ReusedNoise(SMALL).sample
    exact, *learned = rlsvi_scores(SMALL, pair)
    missed = audit("exact score", curve, sampler, pair, [exact], seed=1, delta=1e-5, budget=2000)
    found = audit("learned", curve, sampler, pair, learned, seed=1, delta=1e-5, budget=2000)
    assert missed.verdict is not Finding.VIOLATION
    assert found.verdict is Finding.VIOLATION


@pytest.mark.slow
def test_power_against_twice_the_epsilon_is_at_least_nine_tenths():
    runs, delta = 100, 1e-5
    curve = account(ON_CLAIM, Adjacency.REWARDS_ONLY).notion
    claimed = curve.epsilon(delta).upper
    ratio = gaussian_mu(2 * claimed, delta) / gaussian_mu(claimed, delta)
    quieter = RLSVI(altered(ON_CLAIM, beta_scale=ratio**-2))
    pair = rlsvi_pair(ON_CLAIM)
    found = [
        audit("twice", curve, quieter.sample, pair, rlsvi_scores(ON_CLAIM, pair), seed=seed, delta=delta)
        for seed in range(runs)
    ]
    assert sum(evidence.verdict is Finding.VIOLATION for evidence in found) >= 90
    assert np.mean([evidence.samples for evidence in found]) <= 2000


@pytest.mark.slow
def test_a_replay_reproduces_and_workers_do_not_matter():
    context = multiprocessing.get_context("spawn")
    rule = "VARIANCE_QUARTER"
    found = audit(RLSVIAudit(SMALL, rule), seed=5, delta=1e-5, budget=3000, sharpen=True)
    with ProcessPoolExecutor(2, context) as executor:
        shared = audit(
            RLSVIAudit(SMALL, rule), seed=5, delta=1e-5, budget=3000, sharpen=True, executor=executor
        )
    assert json.dumps(found.as_json()) == json.dumps(shared.as_json())
    witness = json.loads(json.dumps(found.as_json(), allow_nan=False))["witness"]
    again: Evidence = replay(witness)
    assert again == found


def test_a_wrong_pair_is_refused_with_the_difference():
    pair = rlsvi_pair(SMALL)
    other = pair.second.with_rewards(1, 0.5)
    with pytest.raises(
        InvalidNeighboursError, match=r"only one user's rewards may differ, not those of users \[0, 1\]"
    ):
        Neighbours(pair.first, other, Adjacency.REWARDS_ONLY, "two users", differ_only_in_rewards_of_one_user)
    with pytest.raises(InvalidNeighboursError, match=r"rewards-only.*are equal"):
        Neighbours(pair.first, pair.first, Adjacency.REWARDS_ONLY, "same", differ_only_in_rewards_of_one_user)


def test_no_noise_at_all_is_a_violation():
    found = audit(RLSVIAudit(ON_CLAIM, "FIRST_VISIT_UNPROTECTED"), seed=0, delta=1e-5)
    assert found.verdict is Finding.VIOLATION


def test_the_first_user_alone_reaches_the_last_state():
    pair = rlsvi_pair(RLSVIParameters(states=3, actions=2, horizon=4, episodes=5))
    assert (pair.first.next_states[0] == 2).all()
    assert not pair.first.next_states[1:].any()


def test_first_path_reads_the_cells_of_the_greedy_actions():
    parameters = RLSVIParameters(states=2, actions=2, horizon=2, episodes=2)
    tables = np.arange(32.0).reshape(2, 2, 2, 2, 2)
    tables[1, 0, :, :, 0] += 100
    users = rlsvi_pair(parameters).first
    assert first_path(tables, users).tolist() == [[[1, 7], [9, 15]], [[116, 122], [24, 30]]]
    assert last_cell(tables, users).tolist() == [[7, 15], [122, 30]]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["FIRST_VISIT_UNPROTECTED", "REUSED_NOISE"])
def test_a_big_problem_gives_its_faults_away_at_its_real_size(rule):
    parameters = RLSVIParameters(states=6, actions=2, horizon=10, episodes=100)
    found = audit(RLSVIAudit(parameters, rule), seed=1, delta=1e-5, budget=1000)
    assert found.verdict is Finding.VIOLATION


@pytest.mark.slow
def test_a_bigger_problem_runs_as_it_is():
    parameters = RLSVIParameters(states=3, actions=2, horizon=5, episodes=30)
    found = audit(RLSVIAudit(parameters), seed=0, delta=1e-5, budget=1500)
    assert found.verdict is not Finding.VIOLATION
    assert found.samples == 1500


def test_a_curve_of_ones_own_can_be_audited():
    found = audit(RLSVIAudit(ON_CLAIM, curve=GaussianDP(0.5)), seed=0, delta=1e-5, budget=5000)
    assert found.verdict is Finding.VIOLATION
