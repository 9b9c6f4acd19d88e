"""The choice of counters: errors from dense matrices and least squares, calibrated candidates, sensible winners."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.rl.private_ucb.batched_counts import account
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.choice import cheapest_counters, counter_error
from dpproof.accountant.rl.private_ucb.encoder import encoder
from tests.rows import rows

RELATIONS = ("rewards-only", "replace", "add-remove")


def variances(parameters, decoder):
    """The variance of every released running count for noise of variance 1, by dense linear algebra."""
    count = parameters.batches
    if parameters.counter == "square-root":
        kept = parameters.bands or count
        column = np.array(
            [float(np.prod([(2 * j - 1) / (2 * j) for j in range(1, k + 1)])) for k in range(count)]
        )
        column[kept:] = 0
        if parameters.bits:
            column = np.zeros(count)
            column[: len(encoder(parameters))] = np.array(encoder(parameters)) / 2**parameters.bits
        made = sum(np.diag(np.full(count - k, column[k]), -k) for k in range(count))
        decode = np.tril(np.ones((count, count))) @ np.linalg.inv(made)
        return (decode**2).sum(axis=1)
    return np.array([tree_variance(time, decoder) for time in range(1, count + 1)])


def tree_variance(time, decoder):
    """The error of the nodes' sum, or of the least squares estimate from all complete nodes up to this time."""
    if decoder == "nodes":
        return bin(time).count("1")
    nodes = [
        [start <= leaf < start + 2**level for leaf in range(time)]
        for level in range(time.bit_length())
        for start in range(0, time - 2**level + 1, 2**level)
    ]
    seen = np.array(nodes, float)
    ones = np.ones(time)
    return ones @ np.linalg.inv(seen.T @ seen) @ ones


def mean_square(parameters, decoder, support, visits, noisy):
    """The mean squared error over all episodes, episode by episode."""
    p, found = parameters, variances(parameters, decoder)
    units = (float(p.payoff_unit or 0), float(p.transition_unit or 0))
    factor = 2 if p.noise == "laplace" else 1
    payoffs = factor * (p.cost_factor * p.sigma + units[0] / 2) ** 2
    moved = support * factor * (p.sigma + units[1] / 2) ** 2
    noise = (payoffs + moved) / 2 if noisy else payoffs
    total = 0.0
    for episode in range(p.episodes):
        release = min(episode // p.every, p.batches)
        seen = release * p.every
        cap = p.cap if p.pooled else 1
        missing = (episode - seen) * visits + seen * max(0, visits - cap)
        total += (noise * found[release - 1] if release else 0.0) + missing**2
    return total / p.episodes


CASES = [
    ({}, "inverse"),
    ({"bands": 3}, "inverse"),
    ({"bits": 3, "grains": 5}, "inverse"),
    ({"bits": 3, "grains": 5, "counter": "tree", "noise": "laplace"}, "averaged"),
    ({"counter": "tree"}, "nodes"),
    ({"counter": "tree"}, "averaged"),
    ({"counter": "tree", "noise": "laplace"}, "nodes"),
    ({"pooled": False}, "inverse"),
]


@rows(("shape", "decoder"), CASES, ids=str)
@rows("every", [1, 2, 3, 5])
def test_the_error_is_that_of_dense_matrices(shape, decoder, every):
    for episodes, visits, noisy in itertools.product((17, 30), (0.5, 2.5), (False, True)):
        parameters = BatchedCountsParameters(
            2, 2, 4, episodes, 1.5, cap=2, every=every, cost_factor=1.25, **shape
        )
        bound = counter_error(parameters, decoder, support=3, visits=visits, noisy_transitions=noisy)
        true = mean_square(parameters, decoder, 3, visits, noisy) ** 0.5
        assert bound.lower * (1 - 1e-9) <= true <= bound.upper * (1 + 1e-9)


@rows("relation", RELATIONS)
@rows("delta", ["1e-6", "0"])
def test_every_candidate_meets_the_target_and_the_least_error_comes_first(relation, delta):
    found = cheapest_counters(3, 2, 5, 300, epsilon=1, delta=delta, adjacency=relation, support=2)
    errors = [one.error.upper for one in found.candidates]
    assert errors == sorted(errors)
    assert found.parameters is found.candidates[0].parameters
    assert {one.parameters.noise for one in found.candidates} == (
        {"laplace"} if delta == "0" else {"laplace", "gaussian"}
    )
    for one in found.candidates:
        result = account(one.parameters, Adjacency.of(relation))
        assert result.guarantee.epsilon(delta).upper <= 1
        assert one.parameters.public_transitions == (relation == "rewards-only")


def test_the_table_names_every_candidate_in_one_line():
    found = cheapest_counters(3, 2, 5, 300, epsilon=1, delta="1e-6", adjacency="rewards-only")
    lines = str(found).splitlines()
    assert len(lines) == len(found.candidates) + 1
    assert "square-root" in lines[1]
    kinds = {(one.parameters.counter, one.parameters.noise, one.decoder) for one in found.candidates}
    assert len(kinds) == 5


def test_a_cell_with_more_visits_gets_a_larger_cap_and_fresher_counts():
    average, busy = (
        cheapest_counters(6, 2, 20, 2000, epsilon=1, delta="1e-6", adjacency="rewards-only", visits=visits)
        for visits in (None, 20)
    )
    assert (average.parameters.cap, busy.parameters.cap) == (2, 20)
    assert busy.parameters.every <= average.parameters.every


def test_counters_on_a_lattice_cost_little_more():
    free, bound = (
        cheapest_counters(3, 2, 5, 300, epsilon=1, delta="1e-6", adjacency="replace", **lattice)
        for lattice in ({}, {"bits": 16, "grains": 1024})
    )
    assert free.best.error.upper < bound.best.error.upper < free.best.error.upper * 1.001
    assert account(bound.parameters, Adjacency.REPLACE).covers_released_bits


def test_the_cost_factor_is_near_the_best_one():
    best = cheapest_counters(3, 2, 5, 300, epsilon=1, delta="1e-6", adjacency="replace").best
    from dpproof.accountant.rl.private_ucb.batched_counts import ACCOUNTANT

    def error(factor):
        unit = replace(best.parameters, cost_factor=best.parameters.cost_factor * factor)
        chosen, _ = ACCOUNTANT.least_noise(unit, Adjacency.REPLACE, 1, "1e-6")
        visits = Fraction(5, 6)
        return counter_error(chosen, best.decoder, support=3, visits=visits, noisy_transitions=True).upper

    assert error(1.0) == best.error.upper
    assert error(1.0) < min(error(0.9), error(1.1))


def test_bad_input_is_refused_by_name():
    sizes = {"epsilon": 1, "delta": "1e-6", "adjacency": "replace"}
    with pytest.raises(UnprovedAdjacencyError, match="expert"):
        cheapest_counters(3, 2, 5, 300, **{**sizes, "adjacency": "expert"})
    with pytest.raises(ValueError, match="support"):
        cheapest_counters(3, 2, 5, 300, support=4, **sizes)
    with pytest.raises(ValueError, match=r"every"):
        cheapest_counters(3, 2, 5, 1, **sizes)
    with pytest.raises(ValueError, match="decoder"):
        counter_error(
            BatchedCountsParameters(3, 2, 5, 30, 1.0), "nodes", support=1, visits=1, noisy_transitions=False
        )
