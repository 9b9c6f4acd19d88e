"""The accountant's curve for replaced trajectories is the one that the statement's obligations speak of."""

import math

import flint
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account
from dpproof.proofs_check.papers.rlsvi.project import backward, forward
from dpproof.proofs_check.registry import lookup


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
            total += means + value(f"{forward('1')} + {backward('1')}", alpha=order)
    assert float(found.curve(flint.arb(order)).mid()) == pytest.approx(total, rel=1e-12)


def test_statement_ties_the_curve_to_the_divergences():
    entry = lookup("rlsvi.state_neighbours")
    assert {"curve_means", "curve_variances", "curve_episode"} <= {x.name for x in entry.obligations}
    assert "H (K-1) steps" in entry.says
