"""Bandits: the mean of a clipped normal by quadrature, optimism against a plain loop, elimination's case."""

import numpy as np
import pytest
from scipy.integrate import quad

from dpproof.mechanisms.environments.bandit import bandit, clipped_mean, heterogeneous_bandit
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.bandit import PrivateBanditUCB
from dpproof.mechanisms.rl.sdp_pe.constants import BANDIT
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy


@pytest.mark.parametrize("mean", [0.0, 0.03, 0.5, 0.97, 1.2])
def test_the_mean_of_a_clipped_normal_variable(mean):
    def integrand(z):
        return np.clip(mean + 0.1 * z, 0, 1) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    kinks = sorted(np.clip([-mean / 0.1, (1 - mean) / 0.1], -9, 9))
    expected = sum(quad(integrand, a, b)[0] for a, b in zip([-10, *kinks], [*kinks, 10], strict=True))
    assert clipped_mean(mean, 0.1) == pytest.approx(expected, abs=1e-9)
    assert clipped_mean(mean, 0.0) == min(mean, 1.0)


@pytest.mark.slow
def test_optimism_is_the_plain_loop():
    means, K, width = np.array([0.2, 0.5, 0.8]), 300, 0.25
    run = PrivateBanditUCB(ExactCounts(1, 3, 1, K), width).run(bandit(means), np.random.default_rng(4))
    uniforms = np.random.default_rng(4).spawn(2)[0].random(K)
    visits, sums, regrets = np.zeros(3), np.zeros(3), []
    for k in range(K):
        n = np.maximum(1, visits)
        index = sums / n + width * np.sqrt(np.log(2 * 3 * K / 0.05) / n)
        arm = int(np.argmax(index))
        regrets.append(0.8 - means[arm])
        visits[arm] += 1
        sums[arm] += uniforms[k] < means[arm]
    assert np.allclose(run.regrets, regrets, atol=1e-15)


def test_elimination_in_a_bandit_drops_arms_and_covers_the_rest_evenly():
    environment = heterogeneous_bandit(np.random.default_rng(1))
    run = SDPPE(NoPrivacy(), 20_000, BANDIT).run(environment, np.random.default_rng(0))
    assert run.stages[-1].active < 5
    assert run.stages[-1].optimal_stays
    assert max(stage.coverage_gap for stage in run.stages) < 1e-9
    assert run.total_regret < 0.2 * 20_000 * np.ptp(environment.rewards)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bandit([]), "one mean for each arm"),
        (lambda: bandit([1.5]), "means at"),
        (lambda: clipped_mean(0.5, -0.1), "deviation"),
        (lambda: heterogeneous_bandit(np.random.default_rng(0), 0), "arms"),
        (
            lambda: PrivateBanditUCB(ExactCounts(1, 3, 1, 9)).run(bandit([0.5]), np.random.default_rng(0)),
            "bandit of 3 arms",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make()
