"""RLSVI: what a named pair attains, and the curve for replaced trajectories, as the statements' obligations say."""

import math

import flint
import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ZCDP, GaussianDP
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account, attained_mu, published_rho
from dpproof.proofs_check.registry import lookup
from dpproof.proofs_check.search import prove, refute
from tests.proofs_check.hints import make_goal

CELL = {"N": "[1, inf)", "k": "[2, inf)"}
LEAST = "(N+1)/N**2 >= k/(k-1)**2"
VARIANCES = (
    "((log(1+1) - log(1))/2 + (log(1+1) - log(1+alpha))/(2*(alpha-1)))"
    " + ((log(1) - log(1+1))/2 + (log(1) - log(1+1-alpha))/(2*(alpha-1)))"
)
"""The variance terms of rlsvi.state_neighbours when a cell of one visit loses one, and when a cell gains its first."""


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


def value(text, **numbers):
    """A formula's value in double precision."""
    return eval(text, {"log": math.log}, numbers)


@pytest.mark.parametrize("order", [1.01, 1.5, 1.9])
@pytest.mark.parametrize(("horizon", "episodes", "clip"), [(1, 2, 3.0), (4, 2, 0.0), (4, 7, 2.5)])
def test_curve_is_the_sum_of_the_steps(order, horizon, episodes, clip):
    sizes = RLSVIParameters(states=3, actions=2, horizon=horizon, episodes=episodes, clip=clip)
    found = account(sizes, Adjacency.REPLACE).guarantee
    total = 0.0
    for k in range(2, episodes + 1):
        beta = 3 * horizon**3 * math.log(2 * horizon * 3 * 2 * k) / 2
        for step in range(1, horizon + 1):
            moved = 1.0 if step == horizon else 1 + clip
            means = value(
                "alpha*B**2/(beta*(1+alpha)) + alpha*B**2/(beta*(2-alpha))", alpha=order, B=moved, beta=beta
            )
            total += means + value(VARIANCES, alpha=order)
    assert float(found.curve(flint.arb(order)).mid()) == pytest.approx(total, rel=1e-12)


def test_statement_ties_the_curve_to_the_divergences():
    entry = lookup("rlsvi.state_neighbours")
    assert {"curve_means", "curve_variances", "curve_episode"} <= {x.name for x in entry.obligations}
    assert "H (K-1) steps" in entry.says
