"""A run with a budget of rho stops releasing where the accountant's filter says so, neither before nor after.

Reference: `dpproof.accountant.rl.rlsvi.odometer`, which charges the same costs from the kept trajectories in numpy.
"""

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi.odometer import RewardsFilter, rewards_odometer
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, rho
from dpproof.audits.corpus.rlsvi import VARIANTS
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.rlsvi.users import Users

PARAMETERS = RLSVIParameters(states=4, actions=2, horizon=5, episodes=300)
SWIM = river_swim(4, 5)


def filtered_episodes(run, budget):
    """How many releases the accountant's filter admits along the kept trajectories."""
    spender = RewardsFilter(PARAMETERS, budget)
    counts = np.zeros((5, 4, 2))
    steps = np.arange(5)
    for k in range(300):
        if not spender.admits(counts):
            return k
        counts[steps, run.states[k, :-1], run.actions[k]] += 1
    return 300


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.8])
def test_the_run_stops_where_the_filter_says(share):
    budget = share * rho(PARAMETERS).upper
    run = RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(3), keep=True, budget=budget)
    assert run.released == filtered_episodes(run, budget)
    assert 1 <= run.released <= 300
    if run.released < 300:
        assert (run.regrets[run.released :] == run.regrets[run.released - 1]).all()


def test_the_worst_case_is_never_refused():
    budget = rho(PARAMETERS).upper * (1 + 1e-9)
    run = RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(4), budget=budget)
    assert run.released == 300


def test_a_budget_changes_nothing_before_it_is_spent():
    free = RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(5), keep=True)
    held = RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(5), keep=True, budget=0.02)
    assert 1 < held.released < 300
    assert (free.regrets[: held.released] == held.regrets[: held.released]).all()
    assert free.released == 300


def test_the_odometer_reads_the_run_and_stays_below_the_worst_case():
    run = RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(6), keep=True)
    spent = rewards_odometer(PARAMETERS, run.episodes())
    assert spent.shape == (300,)
    assert (spent >= 0).all()
    assert spent.max() < rho(PARAMETERS).lower


@pytest.mark.parametrize("budget", [-1.0, float("nan")])
def test_a_bad_budget_is_refused(budget):
    with pytest.raises(ValueError, match=r"budget .* must be a number of at least 0"):
        RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(0), budget=budget)


def test_trajectories_that_were_not_kept_are_not_made_up():
    run = RLSVI(PARAMETERS).run(SWIM, np.random.default_rng(0))
    with pytest.raises(ValueError, match="keep=True"):
        run.episodes()


@pytest.mark.parametrize("faulty", VARIANTS.values())
def test_a_subclass_with_other_noise_has_no_guarantee_budget_or_release(faulty):
    run = faulty(RLSVIParameters(states=6, actions=2, horizon=20, episodes=5))
    with pytest.raises(
        ValueError, match=r"must not replace noise_widths or normals. With other noise a guarantee"
    ):
        run.account(Adjacency.REWARDS_ONLY)
    with pytest.raises(ValueError, match="With other noise a budget"):
        run.run(river_swim(), budget=0.1)
    with pytest.raises(ValueError, match="With other noise a release"):
        run.publish(Users([[[[0]]], [[[0]]]], [[[[0.0]]], [[[0.0]]]]))
