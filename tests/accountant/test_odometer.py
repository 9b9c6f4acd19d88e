"""The odometer and the filter, against the same sums in mpmath at 40 digits."""

import mpmath
import numpy as np
import pytest

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.rl.rlsvi.odometer import RewardsFilter, rewards_odometer
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, attained_mu, rho

DIGITS = mpmath.MPContext()
DIGITS.dps = 40


def cost(p, n, k):
    log = DIGITS.log(2 * p.horizon * p.states * p.actions * int(k))
    twice_beta = DIGITS.mpf(p.beta_scale) * p.states * p.horizon**3 * log
    return (DIGITS.mpf(int(n)) + 1) / (twice_beta * DIGITS.mpf(int(n)) ** 2) if n else DIGITS.mpf(0)


def run(p, seed):
    rng = np.random.default_rng(seed)
    shape = (p.episodes, p.horizon)
    return Episodes.rectangular(
        rng.integers(p.states, size=shape), rng.integers(p.actions, size=shape), rng.uniform(size=shape)
    )


def exact(p, episodes):
    states, actions = episodes.table("states"), episodes.table("actions")
    spent = []
    for j in range(episodes.count):
        total = DIGITS.mpf(0)
        for h in range(p.horizon):
            same = (states[:, h] == states[j, h]) & (actions[:, h] == actions[j, h])
            seen = np.concatenate([[0], np.cumsum(same)])
            total += DIGITS.fsum(cost(p, seen[k - 1], k) for k in range(j + 2, episodes.count + 1))
        spent.append(total)
    return spent


@pytest.mark.parametrize("sizes", [(2, 2, 3, 40), (1, 1, 1, 60), (3, 1, 2, 25, 1e-8), (3, 1, 2, 25, 1e8)])
def test_the_odometer_is_never_below_the_exact_sum_and_close_to_it(sizes):
    p = RLSVIParameters(*sizes)
    episodes = run(p, 5)
    found = rewards_odometer(p, episodes)
    for ours, true in zip(found, exact(p, episodes), strict=True):
        assert DIGITS.mpf(float(ours)) >= true
        assert DIGITS.mpf(float(ours)) <= true + DIGITS.mpf(max(found)) * DIGITS.mpf("1e-11")
    assert max(found) <= rho(p).upper * (1 + 1e-11)


def test_in_the_one_cell_problem_the_odometer_is_what_is_attained():
    p = RLSVIParameters(1, 1, 1, 300)
    found = rewards_odometer(p, run(p, 1))
    assert found[0] == pytest.approx(attained_mu(p).lower ** 2 / 2, rel=1e-12)
    assert found.argmax() == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_filter_stops_exactly_before_the_budget(seed):
    p = RLSVIParameters(2, 2, 2, 50)
    states, actions = (run(p, seed).table(name) for name in ("states", "actions"))
    budget = float(rho(p).upper) * (0.04 + 0.02 * seed)
    spender = RewardsFilter(p, budget)
    counts = np.zeros((2, 2, 2))
    spent = np.array([[[DIGITS.mpf(0)] * 2] * 2] * 2, dtype=object)
    stopped = None
    for k in range(p.episodes):
        charge = np.vectorize(lambda n, k=k: cost(p, n, k + 1), otypes=[object])(counts)
        due = sum(max((spent + charge)[h].ravel()) for h in range(2))
        if spender.admits(counts):
            assert due <= budget
            spent = spent + charge
        else:
            assert due > budget * (1 - 1e-12)
            stopped = k
            break
        for h in range(2):
            counts[h, states[k, h], actions[k, h]] += 1
    assert stopped is not None
    before = spender.spent
    assert DIGITS.mpf(before) >= sum(max(spent[h].ravel()) for h in range(2))
    assert before <= budget
    assert not spender.admits(np.zeros((2, 2, 2)))
    assert spender.spent == before


@pytest.mark.parametrize("scale", [1e308, 1e300])
def test_noise_beyond_the_doubles_is_not_free(scale):
    p = RLSVIParameters(10, 1, 10, 10, scale)
    assert not RewardsFilter(p, 0.0).admits(np.ones((10, 10, 1)))
    spender = RewardsFilter(p, 1.0)
    assert spender.admits(np.ones((10, 10, 1)))
    assert DIGITS.mpf(spender.spent) >= 10 * cost(p, 1, 1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0, 0.5, 2.0**54])
def test_counts_are_whole_numbers(wrong):
    with pytest.raises(ValueError, match="counts must be whole numbers between 0 and"):
        RewardsFilter(RLSVIParameters(1, 1, 1, 10), 0.1).admits([[[wrong]]])


@pytest.mark.parametrize("budget", [-1.0, np.nan, np.inf])
def test_a_budget_is_a_finite_number(budget):
    with pytest.raises(ValueError, match=r"budget \(.*\) must be a finite number of at least 0"):
        RewardsFilter(RLSVIParameters(1, 1, 1, 10), budget)


def test_sizes_are_checked():
    p = RLSVIParameters(2, 2, 2, 5)
    with pytest.raises(ValueError, match=r"counts \(shape \(1,\)\)"):
        RewardsFilter(p, 1.0).admits([0])
    with pytest.raises(ValueError, match="horizon is 2"):
        rewards_odometer(p, run(RLSVIParameters(2, 2, 3, 5), 0))
    with pytest.raises(ValueError, match=r"states \(\d\) must be below 2"):
        rewards_odometer(p, run(RLSVIParameters(9, 2, 2, 30), 0))
