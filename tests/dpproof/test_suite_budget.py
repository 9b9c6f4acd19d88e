"""A whole session of privacy tests errs no more often than it says, whatever is audited in it."""

from __future__ import annotations

import pytest
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.privacy_tests import Privacy

SESSIONS, TESTS, AUDITS = 200, 3, 2
ALPHA = 0.2
"""Far above the default, so that false alarms could be seen at all."""


def on_the_limit(truth, n, rng):
    """Randomised response whose loss is exactly 1."""
    return (rng.random(n) < 0.7310585786300049) == truth


def beyond(truth, n, rng):
    return (rng.random(n) < 0.9) == truth


def alarms(mechanism, seed):
    """Whether a session of several tests with several audits each sees a violation anywhere."""
    for test in range(TESTS):
        claim = Claim(f"test {test}", "the:test", {}, Adjacency.REPLACE, {"epsilon": 1.0})
        privacy = Privacy(claim, ALPHA / TESTS, seed, budget=2000)
        for _ in range(AUDITS):
            try:
                privacy.audit(mechanism, True, False, power=False)  # alarms are counted, power is not asked
            except pytest.fail.Exception:
                return True
    return False


@pytest.mark.slow
def test_sessions_on_the_limit_err_no_more_often_than_alpha():
    # 200 sessions at alpha 0.2: at most the 99.9% quantile of their number may see a violation.
    seen = sum(alarms(on_the_limit, seed) for seed in range(SESSIONS))
    assert seen <= stats.binom(SESSIONS, ALPHA).ppf(0.999)


def test_sessions_beyond_it_see_it():
    assert all(alarms(beyond, seed) for seed in range(5))
