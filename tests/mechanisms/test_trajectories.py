"""Samples of the privatizers on trajectories: means, spread, the printed promise broken, bad data refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.mechanisms.primitives import HasGuarantee, Samples
from dpproof.mechanisms.rl.private_ucb.private_counts import user_counts
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.trajectories import Trajectories, differ_in_one_trajectory

ONE = Trajectories([[0, 1, 1], [0, 0, 1]], [[0, 0], [0, 0]], [[1.0, 1.0], [0.25, 0.5]])
OTHER = Trajectories([[0, 0, 0], [0, 0, 1]], [[0, 0], [0, 0]], [[0.0, 1.0], [0.25, 0.5]])


@pytest.mark.parametrize("words", [{}, {"visits": "summed"}, {"pooled": True}])
def test_counts_of_many_users_are_those_of_each(words):
    parameters = LocalCountsParameters(2, 1, 2, 2, scale=1.0, **words)
    for row, states, actions, costs in zip(
        ONE.counts(parameters), ONE.states, ONE.actions, ONE.costs, strict=True
    ):
        single = user_counts(parameters, states, actions, costs)
        expected = [getattr(single, name).ravel() for name in parameters.families]
        assert np.array_equal(row, np.concatenate(expected))


@pytest.mark.parametrize(
    "words",
    [{}, {"noise": "gaussian"}, {"noise": "gaussian", "counter": "honaker"}, {"cost_factor": 2.0},
     {"noise": "gaussian", "counter": "square-root"}],
)  # fmt: skip
def test_central_samples_are_running_counts_with_noise_of_the_scale(words):
    """20,000 runs: each mean and variance within 6 standard errors (alpha below 1e-6 over all)."""
    parameters = CentralCountsParameters(2, 1, 2, 2, scale=3.0, **words)
    privatizer = CentralPrivatizer(parameters)
    found = privatizer.sample(ONE, 20_000, np.random.default_rng(0))
    assert found.shape == (20_000, 1, parameters.counters)
    unit = 2 * 9 if parameters.noise == "laplace" else 9
    sizes = {"visits": 4, "costs": 4, "transitions": 8}
    each = [np.full(sizes[name], float(parameters.factor(name))) for name in parameters.families]
    factors = np.concatenate(each)
    spread = np.sqrt(unit) * factors
    assert (abs(found.mean(axis=0)[0] - ONE.counts(parameters)[0]) < 6 * spread / math.sqrt(20_000)).all()
    assert (abs(found.var(axis=0)[0] / spread**2 - 1) < 6 * math.sqrt(5 / 20_000)).all()
    assert (abs(found.var(axis=0)[0] / (2 * spread**2) - 1) > 6 * math.sqrt(5 / 20_000)).all()
    assert isinstance(privatizer, HasGuarantee)
    assert isinstance(privatizer, Samples)


@pytest.mark.slow
def test_the_printed_local_noise_breaks_its_promise_and_the_right_noise_keeps_it():
    """The orthant where every changed entry is on its own side: exp(1.5 eps) times likelier (H = 2).

    1,500,000 runs a side at eps 4: six standard errors between the claims eps and 1.5 eps.
    """
    epsilon, n, rng = 4.0, 1_500_000, np.random.default_rng(3)
    printed = LocalPrivatizer(LocalCountsParameters(2, 1, 2, 1, printed_epsilon=epsilon))
    right = LocalPrivatizer.meeting(
        LocalCountsParameters(2, 1, 2, 1, start="same"), Adjacency.REPLACE, epsilon, 0
    )

    def chances(privatizer):
        one, other = (Trajectories(x.states[:1], x.actions[:1], x.costs[:1]) for x in (ONE, OTHER))
        x, y = (user.counts(privatizer.parameters)[0] for user in (one, other))
        rise, fall = x > y, x < y

        def hits(data):
            count = 0
            for _ in range(30):
                sample = privatizer.sample(data, n // 30, rng)[:, 0]
                count += int(
                    ((sample >= 0.5)[:, rise].all(axis=1) & (sample <= 0.5)[:, fall].all(axis=1)).sum()
                )
            return count

        return hits(one), hits(other)

    def violates(a, b):
        bound = math.exp(epsilon) * b
        return a - bound > 6 * math.sqrt(a + math.exp(epsilon) * bound + 1)

    assert violates(*chances(printed))
    assert not violates(*chances(right))


def test_neighbours_differ_in_one_user():
    assert differ_in_one_trajectory(ONE, OTHER, same_start=True)
    assert differ_in_one_trajectory(ONE, ONE)
    moved = Trajectories([[1, 0, 0], [0, 0, 1]], OTHER.actions, OTHER.costs)
    assert differ_in_one_trajectory(ONE, moved)
    assert not differ_in_one_trajectory(ONE, moved, same_start=True)
    both = Trajectories([[0, 0, 0], [0, 1, 1]], OTHER.actions, OTHER.costs)
    assert not differ_in_one_trajectory(ONE, both)
    assert not differ_in_one_trajectory(ONE, Trajectories([[0, 1, 1]], [[0, 0]], [[1.0, 1.0]]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (([[0, 1]], [[0, 0]], [[1.0, 1.0]]), r"shape of states \(1, 2\) must be \(1, 3\)"),
        (([[0, 1, -1]], [[0, 0]], [[1.0, 1.0]]), "states"),
        (([[0, 1, 1]], [[0, 0]], [[1.0, 1.5]]), r"costs at \(0, 1\) \(1.5\)"),
        (([[0]], [[]], [[]]), "shape of costs"),
        (([[0, 1, 0.5]], [[0, 0]], [[1.0, 1.0]]), "dtype of states"),
    ],
)
def test_what_is_no_trajectory_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Trajectories(*fields)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((1, 1, 2, 2), "states"), ((2, 1, 3, 2), r"steps \(2\)"), ((2, 1, 2, 5), r"users \(2\)")],
)
def test_data_of_other_sizes_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        CentralPrivatizer(CentralCountsParameters(*sizes, scale=1.0)).sample(ONE, 1, np.random.default_rng(0))


def test_no_run_is_refused():
    for privatizer in (
        CentralPrivatizer(CentralCountsParameters(2, 1, 2, 2)),
        LocalPrivatizer(LocalCountsParameters(2, 1, 2, 2)),
    ):
        with pytest.raises(ValueError, match=r"n \(0\)"):
            privatizer.sample(ONE, 0, np.random.default_rng(0))
