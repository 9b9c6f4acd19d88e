"""Counters in batches under every relation: changes enumerated over all trajectories, norms and laws otherwise."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import TargetError
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.rl.private_ucb.batched_counts import ACCOUNTANT, account
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.encoder import encoder, nodes, squared_column, strategy
from tests.rows import rows

ADD, REPLACE, REWARDS = Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.REWARDS_ONLY
SMALL = [(1, 1, 3), (1, 2, 3), (2, 1, 3), (2, 1, 4), (2, 2, 2), (3, 1, 3)]
SHAPES = [
    {},
    {"pooled": False},
    {"bands": 3},
    {"counter": "tree"},
    {"counter": "tree", "noise": "laplace"},
    {"bits": 6, "grains": 10},
    {"bits": 6, "grains": 10, "counter": "tree", "noise": "laplace"},
]


def small(sizes, **given):
    states, actions, horizon = sizes
    return BatchedCountsParameters(states, actions, horizon, **{"episodes": 9, "sigma": 3.0, **given})


def counted(parameters, states, actions, payoffs):
    """What one user adds to the payoffs and to the transitions, by running through the episode."""
    p = parameters
    paid = np.zeros((p.tables, p.states, p.actions))
    moved = np.zeros((p.tables, p.states, p.actions, p.states))
    seen = np.zeros((p.tables, p.states, p.actions))
    for h, (s, a, y) in enumerate(zip(states, actions, payoffs, strict=False)):
        place = (0 if p.pooled else h, s, a)
        if seen[place] < p.cap:
            seen[place] += 1
            paid[place] += y
            moved[(*place, states[h + 1])] += 1
    return paid.ravel(), moved.ravel()


def users(parameters):
    p, steps = parameters, parameters.horizon
    return itertools.product(
        itertools.product(range(p.states), repeat=steps + 1),
        itertools.product(range(p.actions), repeat=steps),
    )


def changes(parameters, relation):
    """Every pair of neighbours with payoffs 0 or 1, where a convex norm is largest: changes of both families."""
    corners = list(itertools.product((0, 1), repeat=parameters.horizon))
    if relation is REWARDS:
        for states, actions in users(parameters):
            for one in corners:  # against payoffs 0, and against the opposite of each payoff
                for other in (np.zeros_like(one), 1 - np.array(one)):
                    first = counted(parameters, states, actions, one)
                    second = counted(parameters, states, actions, other)
                    yield first[0] - second[0], first[1] - second[1]
        return
    ones = [counted(parameters, *user, payoffs) for user in users(parameters) for payoffs in corners]
    others = [tuple(0 * table for table in ones[0])] if relation is ADD else ones
    kinds = {tuple(np.concatenate(one)) for one in ones}
    split = len(ones[0][0])
    against = {tuple(np.concatenate(other)) for other in others}
    for one, other in itertools.product(kinds, against):
        change = np.array(one) - np.array(other)
        yield change[:split], change[split:]


def worst(parameters, relation, power):
    """The largest weighted change of one batch, without the counter: payoffs weigh 1/cost_factor."""
    weight = parameters.cost_factor**-power
    moved = changes(parameters, relation)
    return max(weight * (abs(y) ** power).sum() + (abs(x) ** power).sum() for y, x in moved)


def proved(parameters, relation):
    """The largest weighted change of one batch that the account pays for."""
    guarantee = account(parameters, relation).guarantee
    if parameters.noise == "laplace":
        return guarantee.epsilon(0).upper * parameters.sigma / nodes(parameters)
    with precision(100):
        column = float(squared_column(parameters))
    return (guarantee.mu.upper * parameters.sigma) ** 2 / column


@rows("sizes", SMALL, ids=str)
@rows("pooled", [True, False])
def test_under_rewards_only_the_proved_change_is_the_largest_of_all_pairs(sizes, pooled):
    for cap in range(1, sizes[2] + 1):
        parameters = small(sizes, cap=cap, pooled=pooled, cost_factor=2.0)
        for chosen, power in ((parameters, 2), (replace(parameters, counter="tree", noise="laplace"), 1)):
            for public in (False, True):
                chosen = replace(chosen, public_transitions=public)
                assert proved(chosen, REWARDS) == pytest.approx(worst(chosen, REWARDS, power), rel=1e-12)


@rows("relation", [ADD, REPLACE])
@rows("sizes", [(1, 2, 3), (2, 1, 3), (3, 1, 2)], ids=str)
@rows("pooled", [True, False])
def test_no_pair_of_other_users_moves_further_than_is_proved(sizes, relation, pooled):
    for cap, noise in itertools.product(range(1, sizes[2] + 1), ("gaussian", "laplace")):
        parameters = small(sizes, cap=cap, pooled=pooled, counter="tree", noise=noise)
        found = worst(parameters, relation, 1 if noise == "laplace" else 2)
        assert 0.49 * proved(parameters, relation) <= found <= proved(parameters, relation) * (1 + 1e-12)


@rows("shape", SHAPES, ids=str)
@rows("relation", [ADD, REPLACE, REWARDS])
def test_calibration_is_tight(shape, relation):
    parameters = BatchedCountsParameters(6, 2, 20, 2000, 1.0, cap=5, every=7, **shape)
    for delta in ("1e-6", "0") if parameters.noise == "laplace" else ("1e-6",):
        meets, misses = ACCOUNTANT.least_noise(parameters, relation, 1, delta)
        assert account(meets, relation).guarantee.epsilon(delta).upper <= 1
        assert account(misses, relation).guarantee.epsilon(delta).lower > 1
        assert misses.sigma < meets.sigma < misses.sigma * (1 + 1e-6)


def test_rewards_only_needs_less_noise_than_the_other_relations():
    parameters = BatchedCountsParameters(6, 2, 20, 2000, 1.0, cap=5, every=7)
    found = [ACCOUNTANT.least_noise(parameters, one, 1, "1e-6")[0].sigma for one in (REWARDS, ADD, REPLACE)]
    assert found[0] * math.sqrt(2) == pytest.approx(found[1], rel=1e-12)
    assert found[1] * math.sqrt(2) == pytest.approx(found[2], rel=1e-12)


@pytest.mark.parametrize("relation", [ADD, REPLACE, Adjacency.EXPERT, Adjacency.BY_SENSITIVITY])
def test_public_transitions_are_refused_where_they_are_private(relation):
    parameters = small((2, 1, 3), public_transitions=True)
    with pytest.raises(UnprovedAdjacencyError, match="rewards-only"):
        account(parameters, relation)
    with pytest.raises(UnprovedAdjacencyError, match="rewards-only"):
        ACCOUNTANT.least_noise(parameters, relation, 1, "1e-6")
    assert "states and actions" in account(parameters, REWARDS).released


def test_parameters_that_do_not_fit_are_refused_by_name():
    for given, message in (
        ({"noise": "laplace"}, "needs counter tree"),
        ({"bands": 2, "counter": "tree"}, r"bands \(2\) must be left out"),
        ({"bands": 9}, r"bands \(9\) must be at most 8"),
        ({"bits": 8}, "grains is missing"),
        ({"grains": 8}, r"grains \(8\) must be left out"),
        ({"cap": 4, "pooled": False}, r"cap \(4\) must be at most horizon \(3\)"),
        ({"bits": 61, "grains": 1}, "bits"),
    ):
        with pytest.raises(ValueError, match=message):
            small((2, 1, 3), **given)
    with pytest.raises(TargetError):
        ACCOUNTANT.least_noise(small((2, 1, 3), counter="tree", noise="laplace"), REWARDS, 0, 0)
    with pytest.raises(ValueError, match="bits is missing"):
        encoder(small((2, 1, 3)))
    with pytest.raises(ValueError, match="no coefficients"):
        encoder(small((2, 1, 3), counter="tree", bits=3, grains=1))


def test_encoders_are_the_nearest_multiples_and_their_norm_is_the_largest_column():
    for bits, bands in itertools.product((1, 2, 3, 8, 20, 60), (None, 5)):
        parameters = small((2, 1, 3), episodes=301, bits=bits, grains=7, bands=bands)
        found = encoder(parameters)
        exact = [Fraction(math.comb(2 * k, k), 4**k) for k in range(bands or 300)]
        assert [math.floor(value * 2**bits + Fraction(1, 2)) for value in exact] == list(found)
        column = [*found, *([0] * (300 - len(found)))]
        norms = [sum(value * value for value in column[: 300 - j]) for j in range(300)]
        with precision(300):
            scaled = squared_column(parameters) * 4**bits
            low, high = scaled.lower(), scaled.upper()
            assert low <= max(norms) <= high
            assert float(high - low) < 1e-30


def test_the_decoder_inverts_the_rounded_encoder():
    parameters = small((2, 1, 3), episodes=41, bits=4, grains=1)
    with precision(100):
        row = np.array([float(value) for value in strategy(parameters).row().coeffs()])
        column = np.array([float(value) for value in strategy(parameters).column().coeffs()])
    column = np.append(column, np.zeros(40 - len(column)))
    assert np.allclose(np.convolve(row, column)[:40], 1.0, atol=1e-12)


@pytest.mark.parametrize("relation", [REWARDS, ADD])
def test_the_exact_law_on_a_lattice_is_no_less_private_than_the_account(relation):
    """Two releases, one cell, one step: the law of both integers, summed over a grid of all likely outcomes."""
    parameters = small((1, 1, 1), episodes=3, sigma=1.5, bits=2, grains=1)
    unit = float(parameters.payoff_unit)
    shifts = [value for value in encoder(parameters) for _ in ((0,) if relation is REWARDS else (0, 1))]
    grid, likely = np.arange(-35, 36), np.ones(1)
    ratio = np.zeros(1)
    for shift in shifts:
        p, q = (
            stats.norm.cdf((grid + 0.5 - m) * unit / 1.5) - stats.norm.cdf((grid - 0.5 - m) * unit / 1.5)
            for m in (shift, 0)
        )
        likely = np.outer(likely, p).ravel()
        ratio = np.add.outer(ratio, np.log(q) - np.log(p)).ravel()
        kept = likely > 1e-9
        likely, ratio = likely[kept], ratio[kept]
    guarantee = account(parameters, relation).guarantee
    for epsilon in (0.25, 0.5, 1.0):
        delta = (likely * np.maximum(0, 1 - np.exp(epsilon + ratio))).sum()
        assert 0.9 * guarantee.delta(epsilon).upper < delta <= guarantee.delta(epsilon).upper + 1e-9


def test_only_a_lattice_names_a_sampler_that_covers_the_bits():
    for shape in SHAPES:
        result = account(small((2, 1, 3), **shape), REWARDS)
        assert result.exact_sampler == ("dpproof.agent" if "bits" in shape else None)
        assert any("ucb_batches" in note for note in result.notes)


def test_numbers_of_the_first_parameters_stay():
    """The guarantee before these parameters existed, by its own formula in floating point."""
    parameters = BatchedCountsParameters(6, 2, 20, 20000, 100.0, cost_factor=2.0, cap=7, every=100)
    column = math.fsum((math.comb(2 * k, k) / 4**k) ** 2 for k in range(199))
    mu = math.sqrt(2 * (49 + 49 + 36) * 1.25 * column) / 100
    assert float(account(parameters, REPLACE).guarantee.mu.upper) == pytest.approx(mu, rel=1e-12)
    assert accountant_for("batched-counts").relations == (ADD, REPLACE, REWARDS)
