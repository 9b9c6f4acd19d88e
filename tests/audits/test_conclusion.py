"""What an audit concludes: a refuted promise of one point is a bound, that of a curve is none at a point."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.targets.call import audit

BITS = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", lambda _first, _second: None)


def laplace(value, n, rng):
    return value + rng.laplace(0, 1 / 2, n)


def gaussian(value, n, rng):
    return value + rng.normal(0, 1 / 2, n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("claim", [PureDP(1.0), ApproxDP(1.0, 0.01)])
def test_who_is_not_private_at_the_claimed_point_has_at_least_its_epsilon(claim, seed):
    delta = claim.delta_parameter
    found = audit("half the noise", claim, laplace, BITS, seed=seed, delta=delta)
    assert found.verdict.value == "violation"
    assert 1.0 <= found.epsilon_lower <= 2.0


def test_a_refuted_curve_says_nothing_at_one_point():
    found = audit("half the noise", GaussianDP(1.0), gaussian, BITS, seed=0, delta=1e-5)
    assert found.verdict.value == "violation"
    assert found.epsilon_lower < found.claimed_epsilon


def test_what_is_not_refuted_keeps_its_own_bound():
    # alpha .01, one seed: the bound may be anything up to the truth.
    found = audit("enough", PureDP(2.0), laplace, BITS, [Identity()], seed=0, known_ratio=True)
    assert found.verdict.value == "consistent"
    assert found.epsilon_lower <= 2.0
    assert np.isfinite(found.epsilon_lower)
