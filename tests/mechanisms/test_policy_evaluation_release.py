"""What DP-LSW and DP-LSL release, to the last bit.

References: every neighbour on small data in exact rationals, Fractions for sums and solutions, exact LDL for
norms, and the attacks that tell floating-point noise apart: low bits, exponents, the order of summation.
"""

import itertools
import json
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.rl.policy_evaluation.noise import Noise
from dpproof.mechanisms.randomness import SimulationError
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits, first_visits
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW, ReleasedValues, SimulatedValues
from dpproof.mechanisms.rl.policy_evaluation.exact import (
    exact_least_squares,
    norm_above,
    pseudo_inverse_norm_above,
)
from dpproof.mechanisms.rl.policy_evaluation.policy_evaluation import RidgeSquares, WeightedSquares

SEED = 1618
TARGET = {"epsilon": 1.0, "delta": 1e-6}
MODELS = {"lsw": (DPLSW, {}), "lsl": (DPLSL, {"ridge": 4.0})}


def model_of(name, states, **more):
    kind, own = MODELS[name]
    return kind(states=states, discount=0.5, **TARGET, **own, **more)


def batch_of(walks):
    """One trajectory each, of states and rewards."""
    states = np.array([s for walk, _ in walks for s in walk])
    rewards = np.array([r for _, earned in walks for r in earned], np.float64)
    lengths = np.array([len(walk) for walk, _ in walks])
    return Episodes(states, np.zeros_like(states), rewards, lengths, np.arange(len(walks)))


def attacked(reward=0.1):
    """Nobody in state 2 against one trajectory there; the others' returns are not dyadic."""
    rest = [((0, 1), (0.1, 0.3))] * 9
    return batch_of([*rest, ((0, 1), (0.2, 0.7))]), batch_of([*rest, ((2, 0), (reward, 0.7))])


@pytest.mark.parametrize("name", MODELS)
def test_no_bit_below_the_grid_is_ever_set(name):
    """At 0.1.0 a bit below 2^-53 was set with 5.6 % against 0 %."""
    model, counts = model_of(name, 3), []
    for batch in attacked():
        drawn = model.sample(batch, 4_000, np.random.default_rng(SEED))
        counts.append(int((np.ldexp(drawn, 53) != np.rint(np.ldexp(drawn, 53))).sum()))
    assert counts == [0, 0]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reward", [0.1, 1.0, 5e-324, 2.0**-1022, 1 / 3])
def test_the_grid_is_the_same_for_both_and_low_bits_are_uniform_for_both(name, reward):
    """Alpha 1e-6 for each chi-square test of 12,000 low bits; multiples of two are rejected."""
    model, grids = model_of(name, 3), set()
    for batch in attacked(reward):
        squares, data = model._squares(), model.statistics(batch)
        grids.add(squares.exponent(data.trajectories, data.bound, model.constants()))
        drawn = model.sample(batch, 4_000, np.random.default_rng([SEED, 2]))
        (exponent,) = grids
        multiples = np.ldexp(drawn, -exponent).astype(np.int64).ravel()
        assert (np.ldexp(multiples.astype(float), exponent) == drawn.ravel()).all()
        counts = np.bincount(multiples & 15, minlength=16)
        assert stats.chisquare(counts).pvalue > 1e-6
        assert stats.chisquare(np.bincount((2 * multiples) & 15, minlength=16)).pvalue < 1e-6


WALKS = [((0,), (0.0,)), ((0,), (1.0,)), ((1,), (0.1,)), ((0, 1), (0.3, 1.0)), ((1, 0), (1.0, 0.0))]
PHI = np.array([[1.0, 0.5], [-0.25, 2.0]])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("features", [None, PHI])
def test_every_neighbour_of_every_small_batch_is_within_the_released_noise(name, features):
    """In rationals: alpha |theta - theta'| <= sigma for both, and sigma^2 at most e^beta apart."""
    noise = Noise(3.0, 0.25)
    if name == "lsw":
        squares = WeightedSquares(np.eye(2) if features is None else features, np.array([0.5, 1.0]))
    else:
        squares = RidgeSquares(np.eye(2) if features is None else features, np.array([0.5, 1.0]), 5.0)
    found, worst = {}, Fraction(0)
    for chosen in itertools.combinations_with_replacement(range(len(WALKS)), 3):
        data = first_visits(batch_of([WALKS[i] for i in chosen]), 2, 0.5)
        found[chosen] = squares.exactly(data), squares.variance(data, noise)
    for one, other in itertools.combinations(found, 2):
        if sum(min(one.count(i), other.count(i)) for i in set(one)) != 2:
            continue
        (theta, sigma), (moved, wider) = found[one], found[other]
        apart = sum((x - y) ** 2 for x, y in zip(theta, moved, strict=True))
        worst = max(worst, Fraction(noise.alpha) ** 2 * apart / min(sigma, wider))
        with precision(300):
            assert bool(arb_of(max(sigma / wider, wider / sigma)) <= arb_of(Fraction(noise.beta)).exp())
    assert Fraction(1, 10**4) < worst <= 1  # DP-LSL's bound is loose
    assert len({sigma for _, sigma in found.values()}) > 1


def shuffled(rng, batch):
    parts = np.split(np.arange(len(batch.states)), np.cumsum(batch.lengths)[:-1])
    order = rng.permutation(len(parts))
    places = np.concatenate([parts[i] for i in order])
    return Episodes(batch.states[places], batch.actions[places], batch.rewards[places],
                    batch.lengths[order], batch.user[order])  # fmt: skip


def ragged(rng, count, states=4):
    lengths = rng.integers(1, 7, count)
    steps = int(lengths.sum())
    tiny = 10.0 ** -rng.integers(0, 320, steps)
    rewards = np.where(rng.random(steps) < 0.5, rng.random(steps), tiny)
    return Episodes(rng.integers(0, states, steps), np.zeros(steps, np.int64), rewards, lengths,
                    np.arange(count))  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_trajectories_does_not_change_a_bit_of_the_law(name):
    rng = np.random.default_rng(SEED)
    model, batch = model_of(name, 4), ragged(rng, 300)
    theta, deviation = model.law(batch)
    again = model.sample(batch, 50, np.random.default_rng(1))
    for _ in range(5):
        other = shuffled(rng, batch)
        moved, wider = model.law(other)
        assert moved.tobytes() == theta.tobytes()
        assert wider == deviation
        assert model.sample(other, 50, np.random.default_rng(1)).tobytes() == again.tobytes()


def test_sums_are_exact_however_they_are_added():
    rng = np.random.default_rng(SEED)
    batch = ragged(rng, 400)
    whole = first_visits(batch, 4, 0.9)
    ends = np.cumsum(batch.lengths)
    alone = [
        first_visits(Episodes(batch.states[a:b], batch.actions[a:b], batch.rewards[a:b],
                              np.array([b - a]), np.zeros(1, np.int64)), 4, 0.9)
        for a, b in zip(ends - batch.lengths, ends, strict=True)
    ]  # fmt: skip
    total = [sum(column, Fraction(0)) for column in zip(*(one.exact_sums for one in alone), strict=True)]
    assert whole.exact_sums == total
    for parts in (alone, alone[::-1], [alone[i] for i in rng.permutation(400)]):
        added = parts[0]
        for part in parts[1:]:
            added += part
        assert added.exact_sums == total
    assert any(one != 0 for one in whole.rest)
    assert all(0 <= value <= Fraction(one.bound) for one in alone for value in one.exact_sums)


def test_a_return_is_cut_off_at_the_bound_exactly():
    for bound in (1.0, 0.1, 1 / 3, 9.3, 1e-250, math.nextafter(2, 3)):
        batch = batch_of([((0,) * 40, (1.0,) * 40)] * 3)
        found = first_visits(batch, 1, 0.9, return_bound=bound)
        assert found.exact_sums == [3 * Fraction(found.bound)]


@pytest.mark.parametrize("value", [-1, -4, 2])
def test_a_state_changed_after_the_batch_was_made_is_refused(value):
    batch = batch_of(WALKS)
    batch.states[1] = value
    for name in MODELS:
        with pytest.raises(ValueError, match=rf"states \({value}\) must be one of 0, ..., 1"):
            model_of(name, 2).fit(batch)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1e-300, math.nextafter(1, 2)])
def test_a_reward_changed_after_the_batch_was_made_is_refused(value):
    batch = batch_of(WALKS)
    batch.rewards[2] = value
    for name in MODELS:
        with pytest.raises(ValueError, match="rewards"):
            model_of(name, 2).fit(batch)


def fitted(name, batch, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three trajectories are far too few
        return model_of(name, 3, **more).fit(batch)


@pytest.mark.parametrize("name", MODELS)
def test_a_release_is_integers_with_a_guarantee_and_nothing_private(name):
    first, second = (fitted(name, batch) for batch in attacked())
    release = first.released_
    assert isinstance(release, ReleasedValues)
    given = set(first.get_params())
    for model in (first, second):
        assert set(vars(model)) - given == {"coef_", "released_", "n_features_in_", "unit_"}
        assert all(type(value) is int for value in model.released_.integers)
    public = [{k: v for k, v in m.released_.as_json().items() if k != "integers"} for m in (first, second)]
    assert public[0] == public[1]
    assert json.loads(json.dumps(release.as_json()))["exponent"] == release.exponent
    assert (first.coef_ == [k * 2.0**release.exponent for k in release.integers]).all()
    assert release.account(Adjacency.REPLACE).guarantee.delta(1).upper <= 1e-6
    assert first.account(Adjacency.REPLACE).covers_released_bits
    assert pickle.loads(pickle.dumps(release)) == release
    assert fitted(name, attacked()[0]).released_.integers != release.integers


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 7, np.random.default_rng(0), np.random.SeedSequence(3)])
def test_a_seed_makes_a_simulation_without_a_guarantee(name, seed):
    model = fitted(name, attacked()[0], random_state=seed)
    with pytest.raises(SimulationError, match="A simulation has no guarantee"):
        model.account(Adjacency.REPLACE)
    model.set_params(random_state=None)  # what was fitted stays a simulation
    with pytest.raises(SimulationError, match="A simulation has no guarantee"):
        model.account(Adjacency.REPLACE)
    assert type(model.released_) is SimulatedValues
    with pytest.raises(SimulationError, match="A simulation has no guarantee"):
        model.released_.account(Adjacency.REPLACE)
    assert "no guarantee" in repr(model.released_)
    stored = model.released_.as_json()
    assert stored["simulated"]
    assert not stored["covers_released_bits"]
    assert "no guarantee" in stored["released_bits"]


@pytest.mark.parametrize("name", MODELS)
def test_sums_that_may_have_been_rounded_are_simulated_but_not_released(name):
    data = FirstVisits(np.array([4, 4, 4]), np.full(3, 0.7), 4, 2.0)
    with pytest.raises(ValueError, match="must hold exact sums for a release"):
        model_of(name, 3).fit(data)
    assert model_of(name, 3, random_state=0).fit(data).coef_.shape == (3,)


def test_predictions_stay_in_the_public_range_unless_told_otherwise():
    model = fitted("lsw", attacked()[0], random_state=0)
    assert (model.coef_ < 0).any() or (model.coef_ > 2).any()
    assert ((model.predict([0, 1, 2]) >= 0) & (model.predict([0, 1, 2]) <= 2)).all()
    np.testing.assert_array_equal(model.set_params(clip=False).predict([0, 1, 2]), model.coef_)


@pytest.mark.parametrize("name", MODELS)
def test_noise_that_drowns_the_range_is_told_from_public_numbers_alone(name):
    for batch in attacked():
        with pytest.warns(
            UserWarning, match=r"the noise has a standard deviation of at least .* in \[0, 2\]"
        ):
            model_of(name, 3).fit(batch)
    enough = batch_of([((0, 1, 2), (0.1, 0.3, 0.2))] * 2_000)
    kind = DPLSW(states=3, discount=0.5, **TARGET)
    kind.fit(enough)  # warnings are errors
    low, high = kind.noise_range(2_000)
    assert low <= kind.expected_noise([2_000] * 3, 2_000) <= low * 1.05
    assert kind.expected_noise([2_000, 2_000, 0], 2_000) > 100 * low
    assert high >= kind.expected_noise([0, 0, 0], 2_000)


@pytest.mark.parametrize("name", MODELS)
def test_the_noise_lies_in_its_public_range(name):
    rng = np.random.default_rng(SEED)
    model = model_of(name, 4)
    for _ in range(20):
        batch = ragged(rng, int(rng.integers(2, 60)))
        low, high = model.noise_range(batch.count)
        assert low * (1 - 1e-9) <= model.law(batch)[1] <= high * (1 + 1e-9)


def in_rationals(phi, masses, targets, ridge):
    """Gaussian elimination on the normal equations in Fractions."""
    size = phi.shape[1]
    rows = [[Fraction(x) for x in row] for row in phi.tolist()]
    table = [[sum(m * r[i] * r[j] for m, r in zip(masses, rows, strict=True)) + (ridge if i == j else 0)
              for j in range(size)] + [sum(t * r[i] for t, r in zip(targets, rows, strict=True))]
             for i in range(size)]  # fmt: skip
    for i in range(size):
        pivot = next(k for k in range(i, size) if table[k][i])
        table[i], table[pivot] = table[pivot], table[i]
        for k in range(size):
            if k != i:
                factor = table[k][i] / table[i][i]
                table[k] = [x - factor * y for x, y in zip(table[k], table[i], strict=True)]
    return [table[i][size] / table[i][i] for i in range(size)]


@pytest.mark.parametrize("case", range(6))
def test_solutions_are_those_of_elimination_in_fractions(case):
    rng = np.random.default_rng([SEED, case])
    phi = rng.normal(size=(7, 4)) * (rng.random((7, 4)) < (1.0, 0.6)[case % 2])
    phi[np.arange(4), np.arange(4)] += 1
    masses = [Fraction(float(x)) for x in rng.random(7)]
    targets = [Fraction(float(x)) / int(rng.integers(1, 50)) for x in rng.normal(size=7)]
    for ridge in (Fraction(0), Fraction(1, 3)):
        found = exact_least_squares(phi, masses, targets, ridge)
        assert found == in_rationals(phi, masses, targets, ridge)
    masses[2:5] = [Fraction(0)] * 3
    targets[2:5] = [Fraction(0)] * 3
    assert exact_least_squares(phi, masses, targets, Fraction(1, 3)) == in_rationals(
        phi, masses, targets, Fraction(1, 3)
    )


def is_positive(matrix):
    """Whether a symmetric matrix of Fractions is positive semi-definite with pivots, by exact LDL."""
    table = [list(row) for row in matrix]
    for i in range(len(table)):
        if table[i][i] <= 0:
            return False
        for k in range(i + 1, len(table)):
            factor = table[k][i] / table[i][i]
            table[k] = [x - factor * y for x, y in zip(table[k], table[i], strict=True)]
    return True


def gram(phi, weights):
    rows = [[Fraction(x) for x in row] for row in phi.tolist()]
    masses = [Fraction(x) for x in weights.tolist()]
    size = phi.shape[1]
    return [[sum(m * r[i] * r[j] for m, r in zip(masses, rows, strict=True)) for j in range(size)]
            for i in range(size)]  # fmt: skip


@pytest.mark.parametrize("case", range(12))
def test_norms_are_certified_upper_bounds_and_close(case):
    """Against exact LDL: the bound is one, a little less is none; nearly dependent columns cost closeness."""
    rng = np.random.default_rng([SEED, 3, case])
    phi, weights = rng.normal(size=(8, 4)), rng.random(8)
    phi[:, 3] = phi[:, 2] + 10.0 ** -(case % 6) * phi[:, 3]
    eye = np.eye(4)
    above, inverse = norm_above(phi), pseudo_inverse_norm_above(phi, weights)
    full, weighted = gram(phi, np.ones(8)), gram(phi, weights)

    def shifted(matrix, by, sign):
        return [[sign * x + by * int(e) for x, e in zip(row, unit, strict=True)]
                for row, unit in zip(matrix, eye, strict=True)]  # fmt: skip

    less = 1 - (1e-6 if case % 6 < 4 else 1e-2)
    for factor, expected in ((1 + 1e-8, True), (less, False)):
        wide, narrow = Fraction(above * factor) ** 2, 1 / Fraction(inverse * factor) ** 2
        assert is_positive(shifted(full, wide, -1)) is expected
        assert is_positive(shifted(weighted, -narrow, 1)) is expected
    assert is_positive(shifted(full, Fraction(above) ** 2, -1))
    assert is_positive(shifted(weighted, -1 / Fraction(inverse) ** 2, 1))


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_norms_of_very_large_and_small_features_are_upper_bounds(scale):
    phi = np.array([[3.0, 1.0], [1.0, 2.0]])
    norm, inverse = np.linalg.norm(phi, 2) * scale, 1 / np.linalg.norm(phi, -2) / scale
    assert norm * (1 - 1e-14) <= norm_above(phi * scale) <= 1.0001 * norm
    found = pseudo_inverse_norm_above(phi * scale, np.ones(2))
    assert found is not None
    assert inverse * (1 - 1e-14) <= found <= 1.0001 * inverse


def test_columns_that_depend_on_each_other_are_not_certified():
    assert pseudo_inverse_norm_above(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), np.ones(3)) is None
    assert pseudo_inverse_norm_above(np.eye(2), np.array([1.0, 0.0])) is None
    with pytest.raises(ValueError, match=r"rank 1 .* must have rank 2"):
        WeightedSquares(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2))


@pytest.mark.parametrize("name", MODELS)
def test_the_guarantee_is_that_of_what_was_released_and_not_of_what_was_set_since(name):
    model = fitted(name, attacked()[0])
    held = model.account(Adjacency.REPLACE).guarantee.epsilon(1e-6).upper
    model.set_params(epsilon=model.epsilon / 100)
    assert model.account(Adjacency.REPLACE).guarantee.epsilon(1e-6).upper == held
    model.set_params(random_state=0)  # the release stays one
    assert model.account(Adjacency.REPLACE).guarantee.epsilon(1e-6).upper == held


@pytest.mark.parametrize("rest", [1e-300, 1e9, -1.0])
def test_exact_sums_that_no_returns_have_are_refused(rest):
    """Otherwise a release would go beyond the sensitivity that its noise hides."""
    visits = np.array([4, 0])
    with pytest.raises(ValueError, match=r"sums \+ rest .* must be in"):
        FirstVisits(visits, np.array([8.0, 0.0]), 4, 2.0, np.array([0.0, rest]))
    assert FirstVisits(visits, np.array([8.0, 0.0]), 4, 2.0, np.zeros(2)).exact_sums == [8, 0]


def test_features_without_a_finite_pseudo_inverse_are_refused_before_any_data():
    model = DPLSW(features=[[5e-324, 0], [0, 5e-324]], discount=0.5, epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="pseudo-inverse must have a finite norm"):
        model.noise_range(30)
