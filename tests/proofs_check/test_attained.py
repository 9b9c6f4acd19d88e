"""What a named pair attains: the facts of docs/notes/rlsvi_tight.md about a cell, and the sum of them."""

import math

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import ZCDP, GaussianDP
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, attained_mu, published_rho
from dpproof.proofs_check.search.provers import prove, refute
from dpproof.proofs_check.statement import make_goal

CELL = {"N": "[1, inf)", "k": "[2, inf)"}
LEAST = "(N+1)/N**2 >= k/(k-1)**2"


def test_a_cell_met_in_every_episode_costs_at_least_its_last_count():
    assert refute(make_goal(CELL, LEAST)) is not None  # without N <= k - 1 it is false
    claim = make_goal({"N": "[1, inf)", "e": "[0, inf)"}, "(N+1)/N**2 >= (N+1+e)/(N+e)**2")
    assert prove(claim) is not None


@pytest.mark.parametrize(("states", "shared"), [(1, 5), (3, 1)])
def test_attained_is_the_sum_of_the_least_distances(states, shared):
    horizon, episodes, actions = 5, 40, 2
    total = 0.0
    for k in range(2, episodes + 1):
        beta = states * horizon**3 * math.log(2 * horizon * states * actions * k) / 2
        total += ((horizon - shared) * 2 + shared * k / (k - 1) ** 2) / beta
    found = attained_mu(RLSVIParameters(states, actions, horizon, episodes))
    assert found.lower == pytest.approx(math.sqrt(total), rel=1e-12)


def test_scaled_releases_with_added_noise_are_the_smaller_gaussian_pair():
    """An adaptive chain whose distances depend on the past, brought down to distances fixed in advance."""
    draw, n, least = np.random.default_rng(7), 200_000, np.array([1.0, 0.5])
    for shift in (0.0, 1.0):
        first = draw.standard_normal(n) + shift * 1.5
        distance = np.where(first > 0.7, 2.0, 0.6)
        second = draw.standard_normal(n) + shift * distance
        z = []
        for x, mu, m in ((first, 1.5, least[0]), (second, distance, least[1])):
            c = m / mu
            z.append(c * x + np.sqrt(1 - c**2) * draw.standard_normal(n))
        assert np.mean(z, axis=1) == pytest.approx(shift * least, abs=5 / math.sqrt(n))
        assert np.cov(z) == pytest.approx(np.eye(2), abs=8 / math.sqrt(n))


def test_gaussian_accounting_says_more_than_lemma_12():
    """What rlsvi.printed_gaussian adds: at the same rho the zCDP curve alone converts to more."""
    rho = published_rho(RLSVIParameters(6, 2, 20, 1000)).upper
    gaussian, zcdp = GaussianDP(math.sqrt(2 * rho)).epsilon(1e-6), ZCDP(rho).epsilon(1e-6)
    assert gaussian.upper == pytest.approx(9.688165, abs=1e-6)
    assert zcdp.upper == pytest.approx(10.306671, abs=1e-6)
    assert zcdp.lower > gaussian.upper
