"""The released tables have the law that the privacy proof assumes, and the planted faults have not.

Every statistical test declares its rate of false alarms and its sample size, and rejects a known-bad control.
"""

import numpy as np
import pytest
from scipy import stats

from dpproof.audits.corpus.rlsvi import VARIANTS, QuarterVariance
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI, log_likelihood_ratio
from dpproof.mechanisms.rl.rlsvi.users import Users
from tests.rows import tiered

ALPHA = 1e-9
RUNS = 2000


def _residuals(plain, rlsvi, users, seed):
    """Return (x - mean) / deviation under the correct law for RUNS releases: (RUNS, K, H, S, A)."""
    tables = rlsvi.release(users, np.random.default_rng(seed), RUNS)
    replays = [plain.replay(rlsvi.parameters, users, table) for table in tables]
    return np.array([(x - mean) / width for x, (mean, width) in zip(tables, replays, strict=True)])


def _p_values(residuals):
    """Return p-values for: all are standard normal; those of successive episodes are uncorrelated."""
    shape = stats.kstest(residuals.ravel(), "norm").pvalue
    score = (residuals[:, :-1] * residuals[:, 1:]).sum() / np.sqrt(residuals[:, 1:].size)
    return shape, 2 * stats.norm.sf(abs(score))


@pytest.mark.parametrize("run", tiered([RLSVI, *VARIANTS.values()], fast=2))
def test_noise_is_normal_with_the_claimed_deviation_and_independent(plain, run):
    correct, users = plain.instance(4, S=2, A=2, H=2, K=5, beta_scale=1e-2)
    residuals = _residuals(plain, run(correct.parameters), users, seed=9)
    shape, independence = _p_values(residuals)
    assert (min(shape, independence) > ALPHA / 2) == (run is RLSVI)


def test_the_law_test_sees_a_deviation_five_percent_off(plain):
    correct, users = plain.instance(4, S=2, A=2, H=2, K=5, beta_scale=1e-2)
    residuals = _residuals(plain, correct, users, seed=9)
    assert _p_values(1.05 * residuals)[0] < ALPHA


def _neighbours(plain, seed, **sizes):
    rlsvi, users = plain.instance(seed, **sizes)
    rewards = np.random.default_rng(seed + 100).uniform(size=users.rewards.shape[1:])
    return rlsvi, users, users.with_rewards(seed % users.count, rewards)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", [{}, {"beta_scale": 1e-3}, {"beta_scale": 1e-2, "clip": 1.0}])
def test_the_likelihood_ratio_is_the_ratio_of_the_densities(plain, seed, options):
    rlsvi, users, other = _neighbours(plain, seed, **options)
    tables = rlsvi.release(users, np.random.default_rng(seed), 5)
    expected = [
        sum(
            sign * stats.norm.logpdf(table, *plain.replay(rlsvi.parameters, data, table)).sum()
            for sign, data in ((1, other), (-1, users))
        )
        for table in tables
    ]
    ratios = log_likelihood_ratio(rlsvi.parameters, tables, users, other)
    np.testing.assert_allclose(ratios, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        log_likelihood_ratio(rlsvi.parameters, tables, other, users), -ratios, rtol=1e-9, atol=1e-12
    )


def _mean_of_ratio(rlsvi, users, other, runs=200_000):
    """Return the mean of exp(log ratio) over releases on `users`, and its standard error."""
    tables = rlsvi.release(users, np.random.default_rng(17), runs)
    ratios = np.exp(log_likelihood_ratio(rlsvi.parameters, tables, users, other))
    return ratios.mean(), ratios.std() / np.sqrt(runs)


@pytest.mark.slow
def test_the_likelihood_ratio_has_mean_one_and_a_fault_breaks_it(plain):
    correct, users = plain.instance(1, S=2, A=2, H=2, K=4, beta_scale=0.2)
    users = users.with_rewards(0, 0.0)
    other = users.with_rewards(0, 1.0)
    beyond = stats.norm.isf(ALPHA / 2)
    mean, error = _mean_of_ratio(correct, users, other)
    assert error < 0.01
    assert abs(mean - 1) < beyond * error
    mean, error = _mean_of_ratio(QuarterVariance(correct.parameters), users, other)
    assert abs(mean - 1) > beyond * error


def test_a_user_no_table_follows_leaves_no_trace(plain):
    rlsvi, users = plain.instance(0)
    other = users.with_rewards(users.count - 1, 0.0)
    tables = rlsvi.release(users, np.random.default_rng(0), 3)
    assert (log_likelihood_ratio(rlsvi.parameters, tables, users, other) == 0).all()


def test_foreign_tables_are_refused(plain):
    rlsvi, users, other = _neighbours(plain, 0)
    tables = rlsvi.release(users, np.random.default_rng(0), 1)
    with pytest.raises(ValueError, match="the shape of tables"):
        log_likelihood_ratio(rlsvi.parameters, tables[0], users, other)
    with pytest.raises(ValueError, match="the shape of tables"):
        log_likelihood_ratio(rlsvi.parameters, tables[:, :-1], users, other)
    tables[0, 0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="tables must be finite"):
        log_likelihood_ratio(rlsvi.parameters, tables, users, other)
    with pytest.raises(ValueError, match="are equal"):
        log_likelihood_ratio(
            rlsvi.parameters, tables, users, Users(users.next_states, users.rewards, users.start)
        )
