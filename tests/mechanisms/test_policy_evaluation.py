"""DP-LSW and DP-LSL: statistics against a plain transcription, sensitivity on neighbours, noise, refusals."""

import math
import pickle
import warnings

import numba
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.rl.policy_evaluation.noise import Noise
from dpproof.mechanisms.environments.chain import chain_values
from dpproof.mechanisms.own_data.episodes import read_episodes
from dpproof.mechanisms.rl.policy_evaluation import data as policy_evaluation_data
from dpproof.mechanisms.rl.policy_evaluation.chain import chain_episodes, chain_visits
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits, first_visits
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW, LSL, LSW
from dpproof.mechanisms.rl.policy_evaluation.features import (
    aggregation,
    norm,
    pseudo_inverse_norm,
    ridge,
    tabular,
)
from dpproof.mechanisms.rl.policy_evaluation.policy_evaluation import RidgeSquares, WeightedSquares
from tests.rows import rows

SEED, STATES, GAMMA = 314, 6, 0.8
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def ragged(rng, count=30, longest=9, states=STATES):
    lengths = rng.integers(1, longest + 1, count)
    steps = int(lengths.sum())
    return Episodes(
        rng.integers(0, states, steps),
        np.zeros(steps, np.int64),
        rng.random(steps),
        lengths,
        np.arange(count),
    )


def plainly(batch, states, discount, top=math.inf):
    visits, sums, end = np.zeros(states, np.int64), np.zeros(states), np.cumsum(batch.lengths)
    for first, last in zip(end - batch.lengths, end, strict=True):
        walked = batch.states[first:last].tolist()
        for state in set(walked):
            at = first + walked.index(state)
            rewards = batch.rewards[at:last]
            visits[state] += 1
            sums[state] += min(sum(r * discount**t for t, r in enumerate(rewards)), top)
    return visits, sums


@pytest.mark.parametrize("case", range(8))
def test_statistics_are_those_of_a_plain_transcription(case):
    batch = ragged(np.random.default_rng([SEED, case]), count=1 + 13 * case)
    top = (None, 0.7)[case % 2]
    found = first_visits(batch, STATES + 1, GAMMA, return_bound=top)
    visits, sums = plainly(batch, STATES + 1, GAMMA, top or math.inf)
    assert found.visits.tolist() == visits.tolist()
    np.testing.assert_allclose(found.sums, sums, rtol=1e-12)
    assert found.means[STATES] == 0


@pytest.mark.slow
def test_threads_do_not_change_the_result(monkeypatch):
    batch = ragged(np.random.default_rng(SEED), count=500)
    few = first_visits(batch, STATES, GAMMA)
    monkeypatch.setattr(policy_evaluation_data, "FEW", 0)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = first_visits(batch, STATES, GAMMA)
    finally:
        numba.set_num_threads(threads)
    assert one.sums.tobytes() == first_visits(batch, STATES, GAMMA).sums.tobytes() == few.sums.tobytes()


def test_batches_add_up():
    rng = np.random.default_rng(SEED)
    one, other = (first_visits(ragged(rng), STATES, GAMMA) for _ in range(2))
    both = one + other
    assert both.trajectories == 60
    np.testing.assert_array_equal(both.visits, one.visits + other.visits)
    with pytest.raises(ValueError, match="must be equal in both batches"):
        one + FirstVisits(one.visits, one.sums, 30, 6.0)


def replaced(rng, batch):
    """A neighbour: one trajectory becomes another."""
    parts = np.split(np.arange(len(batch.states)), np.cumsum(batch.lengths)[:-1])
    fresh = ragged(rng, 1, states=int(rng.integers(1, STATES + 1)))
    place = int(rng.integers(batch.count))

    def with_fresh(name):
        pieces = [getattr(batch, name)[part] for part in parts]
        pieces[place] = getattr(fresh, name)
        return np.concatenate(pieces)

    lengths = batch.lengths.copy()
    lengths[place] = fresh.lengths[0]
    return Episodes(*(with_fresh(n) for n in ("states", "actions", "rewards")), lengths, batch.user)


def squares(rng, algorithm):
    phi = rng.normal(size=(STATES, 3))
    weights = rng.random(STATES)
    if algorithm == "lsw":
        return WeightedSquares(phi, weights)
    return RidgeSquares(phi, weights, 1.5 * norm(phi) ** 2 * float(weights.max()) + rng.exponential(5))


@pytest.mark.parametrize("algorithm", ["lsw", "lsl"])
def test_a_neighbour_moves_the_solution_by_no_more_than_the_local_bound(algorithm):
    rng, worst = np.random.default_rng(SEED), 0.0
    for _ in range(150):
        batch = ragged(rng, count=int(rng.integers(1, 12)), longest=4)
        chosen = squares(rng, algorithm)
        one, other = (first_visits(x, STATES, GAMMA) for x in (batch, replaced(rng, batch)))
        moved = np.linalg.norm(chosen.solve(one) - chosen.solve(other))
        for data in (one, other):
            worst = max(worst, moved / (chosen.unit(one.bound) * math.sqrt(chosen.bound(data).local())))
    assert 0.01 < worst <= 1


def test_one_state_attains_the_bound():
    chosen = WeightedSquares(tabular(1), np.ones(1))
    one, other = (FirstVisits(np.array([4]), np.array([x]), 4, 2.0) for x in (6.0, 8.0))
    moved = abs(chosen.solve(one) - chosen.solve(other))[0]
    assert moved == pytest.approx(chosen.unit(2.0) * math.sqrt(chosen.bound(one).local()), rel=1e-12)


def test_solutions_satisfy_the_normal_equations():
    rng = np.random.default_rng(SEED)
    data = first_visits(ragged(rng), STATES, GAMMA)
    chosen = squares(rng, "lsw")
    gap = chosen.weights * (data.means - chosen.features @ chosen.solve(data))
    np.testing.assert_allclose(chosen.features.T @ gap, 0, atol=1e-12)
    chosen = squares(rng, "lsl")
    theta = chosen.solve(data)
    gap = chosen.weights * (data.sums - data.visits * (chosen.features @ theta))
    np.testing.assert_allclose(chosen.features.T @ gap, chosen.ridge / 2 * theta, atol=1e-10)


def risk(chosen, data, batch, theta):
    """The empirical risk by its definition."""
    values, total = chosen.features @ theta, 0.0
    ends = np.cumsum(batch.lengths)
    for first, last in zip(ends - batch.lengths, ends, strict=True):
        one = Episodes(*(getattr(batch, n)[first:last] for n in ("states", "actions", "rewards")),
                       np.array([last - first]), np.zeros(1, np.int64))  # fmt: skip
        visits, sums = plainly(one, STATES, GAMMA)
        total += (chosen.weights * visits * (sums - values) ** 2).sum()
    return total / batch.count + chosen.ridge / (2 * batch.count) * (theta**2).sum()


def test_excess_risk_is_a_difference_of_risks():
    rng = np.random.default_rng(SEED)
    batch = ragged(rng)
    data, error = first_visits(batch, STATES, GAMMA), rng.normal(size=3)
    chosen = squares(rng, "lsl")
    theta = chosen.solve(data)
    excess = risk(chosen, data, batch, theta + error) - risk(chosen, data, batch, theta)
    assert chosen.excess(data, error) == pytest.approx(excess, rel=1e-9)
    weighted = squares(rng, "lsw")
    theta = weighted.solve(data)

    def cost(at):
        return (weighted.weights * (data.means - weighted.features @ at) ** 2).sum()

    assert weighted.excess(data, error) == pytest.approx(cost(theta + error) - cost(theta), rel=1e-9)


@pytest.mark.parametrize("name", [DPLSW, DPLSL])
@pytest.mark.parametrize("calibration", ["room", "printed", "planned"])
def test_noise_has_the_stated_deviation(name, calibration):
    """Alpha 1e-6 for the chi-square test of 4,000 draws; ten per cent more noise is rejected."""
    data = first_visits(ragged(np.random.default_rng(SEED), 400), STATES, GAMMA)
    more = {"planned_visits": np.full(STATES, 200)} if calibration == "planned" else {}
    if calibration == "planned" and name is DPLSL:
        more["planned_trajectories"] = 400
    model = name(states=STATES, discount=GAMMA, calibration=calibration, **TARGET, **more)
    drawn = model.sample(data, 4000, np.random.default_rng(SEED))
    chosen = model._squares()
    scaled = (drawn - chosen.solve(data)) / chosen.deviation(data, model.constants())
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], drawn.size)
    assert low < (scaled**2).sum() < high
    assert not low < 1.21 * (scaled**2).sum() < high
    assert model.account(Adjacency.REPLACE).guarantee.delta(1).upper <= 1e-6


@pytest.mark.parametrize("name", [LSW, LSL, DPLSW, DPLSL])
def test_an_estimator_is_one_of_scikit_learn(name):
    for check in ("get_params_invariance", "set_params", "parameters_default_constructible",
                  "no_attributes_set_in_init", "estimator_repr", "estimator_cloneable"):  # fmt: skip
        getattr(estimator_checks, f"check_{check}")(name.__name__, name())
    private = {**TARGET, "random_state": 1} if name in (DPLSW, DPLSL) else {}
    model = name(states=STATES, discount=GAMMA, **private)
    batch = ragged(np.random.default_rng(SEED))
    first, second = clone(model).fit(batch), model.fit(first_visits(batch, STATES, GAMMA))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.predict([[0, 1], [2, 3]]).shape == (2, 2)
    assert not any("dev" in key or "sigma" in key for key in vars(first))


MATRICES = {
    "check_fit_score_takes_y", "check_estimators_overwrite_params", "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self", "check_readonly_memmap_input", "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit", "check_estimators_dtypes", "check_complex_data",
    "check_dtype_object",
    "check_estimators_empty_data_messages", "check_pipeline_consistency", "check_estimators_nan_inf",
    "check_estimator_sparse_tag", "check_estimator_sparse_array", "check_estimator_sparse_matrix",
    "check_estimators_pickle", "check_f_contiguous_array_estimator", "check_methods_sample_order_invariance",
    "check_methods_subset_invariance", "check_fit2d_1sample", "check_fit2d_1feature", "check_dict_unchanged",
    "check_fit_idempotent", "check_fit_check_is_fitted", "check_n_features_in", "check_fit1d",
    "check_fit2d_predict1d",
}  # fmt: skip
"""Checks of scikit-learn that fit a matrix of samples by features; ours are fitted to trajectories."""


@pytest.mark.parametrize("name", [LSW, LSL, DPLSW, DPLSL])
def test_all_other_checks_of_scikit_learn_pass(name):
    private = TARGET if name in (DPLSW, DPLSL) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was skipped, and what failed below
        ran = estimator_checks.check_estimator(name(states=3, **private), on_fail=None, on_skip=None)
    failed = [check for check in ran if check["status"] == "failed"]
    assert {check["check_name"] for check in failed} <= MATRICES
    assert sum(check["status"] == "passed" for check in ran) >= 10
    with pytest.raises(ValueError, match=r"X \(ndarray\) must be Episodes or FirstVisits"):
        name(states=3, **private).fit(np.zeros((4, 3)))


@pytest.mark.parametrize("name", [LSW, LSL, DPLSW, DPLSL])
def test_what_those_checks_ask_for_holds_with_trajectories(name):
    private = {**TARGET, "random_state": 1} if name in (DPLSW, DPLSL) else {}
    model, batch = name(states=STATES, discount=GAMMA, **private), ragged(np.random.default_rng(SEED))
    with pytest.raises(NotFittedError):
        model.predict([0])
    given = model.get_params()
    assert model.fit(batch) is model  # returns itself, keeps its parameters, knows how many features it has
    assert model.get_params() == given
    assert model.n_features_in_ == STATES
    held = dict(vars(model))
    values = model.predict(np.arange(STATES))
    assert vars(model) == held  # predicting changes nothing
    np.testing.assert_array_equal(model.predict(np.arange(STATES)[::-1]), values[::-1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(np.arange(STATES)), values)
    np.testing.assert_array_equal(model.fit(batch).predict(np.arange(STATES)), values)


@pytest.mark.slow
def test_the_chain_is_evaluated():
    data = chain_visits(10, 30_000, 0.9, np.random.default_rng(SEED))
    values = LSW(states=10, discount=0.9).fit(data).predict(np.arange(10))
    np.testing.assert_allclose(values, chain_values(10, 0.9), atol=0.01)
    assert data.visits[-1] == data.visits[-2] == 30_000


BATCH = Episodes.rectangular([[0, 1], [1, 0]], [[0, 0]] * 2, [[0.0, 1.0], [1.0, 0.0]])
SINGLE = Episodes.rectangular([[0, 1]], [[0, 0]], [[0.0, 1.0]])
TWICE = Episodes(BATCH.states, BATCH.actions, BATCH.rewards, BATCH.lengths, np.zeros(2, np.int64))


@rows(
    ("batch", "given", "rule"),
    [
        (BATCH, {"reward_bound": 0.5}, r"rewards \(1.0\) must be in \[0, 0.5\]"),
        (BATCH, {"discount": 1.0}, r"discount \(1.0\) must be in \(0, 1\)"),
        (BATCH, {"discount": 0.0}, r"discount \(0.0\) must be in \(0, 1\)"),
        (BATCH, {"states": 1}, r"states \(1\) must be one of 0, ..., 0"),
        (BATCH, {"features": [[1.0, 1.0], [1.0, 1.0]]}, r"features \(rank 1"),
        (BATCH, {"features": [[1.0, math.nan], [0.0, 1.0]]}, r"features \(nan\) must be finite"),
        (BATCH, {"weights": [1.0, 2.0]}, r"weights \(2.0\) must be in \[0, 1\]"),
        (BATCH, {"weights": [1.0]}, r"weights \(shape"),
        (BATCH, {"return_bound": 0.0}, r"return_bound \(0.0\)"),
        (BATCH, {"states": None}, r"states is missing"),
        (SINGLE, {}, r"trajectories \(m = 1\) must be at least 2"),
        (TWICE, {}, "user must differ"),
        (BATCH, {"epsilon": None}, r"epsilon \(None\)"),
        (BATCH, {"epsilon": 16.0, "calibration": "printed"}, r"epsilon \(16.0\) must be at most 15"),
        (BATCH, {"calibration": "best"}, "calibration"),
        (BATCH, {"calibration": "planned"}, "planned_visits"),
        (BATCH, {"planned_visits": [1, 1]}, "planned_visits"),
        (BATCH, {"reward_bound": 10.0}, r"reward_bound \(10.0\) must be at most 1. Divide"),
        (BATCH, {"discount": "a"}, r"discount \('a'\) must be in \(0, 1\)"),
        (BATCH, {"return_bound": "a"}, r"return_bound \('a'\)"),
        (BATCH, {"epsilon": "a"}, r"epsilon \('a'\)"),
        (
            BATCH,
            {"epsilon": None, "delta": None, "noise": (3.0, 0.1)},
            r"noise \(\(3.0, 0.1\)\) must be a Noise",
        ),
        (FirstVisits(np.array([2, 2]), np.ones(2), 2, 1.0), {}, r"bound of the batch \(1.0\) must be 2.0"),
        (FirstVisits(np.array([2, 2]), np.ones(2), 2, 2.0), {"discount": 2.0}, r"discount \(2.0\)"),
        (BATCH, {"noise": Noise(3.0, 0.1)}, r"noise \(Noise\(alpha=3.0, beta=0.1\)\) must be left out"),
    ],
)
def test_bad_input_is_refused_before_noise_is_drawn(batch, given, rule):
    untouched = np.random.default_rng(0)
    before = untouched.bit_generator.state
    arguments = {"states": 2, "discount": 0.5, **TARGET, "random_state": untouched, **given}
    with pytest.raises(ValueError, match=rule):
        DPLSW(**arguments).fit(batch)
    assert untouched.bit_generator.state == before


@pytest.mark.parametrize("value", [1.0, 0.5, math.nan, math.inf])
def test_a_ridge_too_small_is_refused_before_noise_is_drawn(value):
    untouched = np.random.default_rng(0)
    before = untouched.bit_generator.state
    with pytest.raises(ValueError, match=r"ridge .* must be above"):
        DPLSL(states=2, discount=0.5, ridge=value, random_state=untouched, **TARGET).fit(BATCH)
    assert untouched.bit_generator.state == before


def test_the_same_estimator_draws_where_the_input_is_good():
    """Otherwise nothing would follow from a generator that is untouched."""
    drawn = np.random.default_rng(0)
    before = drawn.bit_generator.state
    for model in (DPLSW, DPLSL):
        model(states=2, discount=0.5, random_state=drawn, **TARGET).fit(BATCH)
        assert drawn.bit_generator.state != before
        before = drawn.bit_generator.state


@pytest.mark.parametrize(("reward", "state"), [(-0.5, 0), (1.5, 0), (math.nan, 0), (0.5, -1)])
def test_rewards_and_states_that_no_batch_may_hold_are_refused(reward, state):
    with pytest.raises(ValueError, match=r"rewards|states"):
        Episodes.rectangular([[0, state]], [[0, 0]], [[0.0, reward]])


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="at least one episode"):
        Episodes(*(np.zeros(0, kind) for kind in ("int64", "int64", "float64", "int64", "int64")))


def test_norms_and_the_schedule_of_the_ridge():
    phi = aggregation(7, 2)
    assert phi.sum(axis=0).tolist() == [2, 2, 2, 1]
    assert norm(phi) == pytest.approx(math.sqrt(2))
    assert norm(phi) >= math.sqrt(2)
    assert pseudo_inverse_norm(phi, np.full(7, 0.25)) == pytest.approx(2)
    assert ridge(100, phi, np.full(7, 0.5)) == pytest.approx(20)
    for bad in ({"power": 2.0}, {"factor": 1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            ridge(100, phi, np.ones(7), **bad)


@pytest.mark.parametrize(("states", "count", "stay"), [(1, 1, 0.5), (3, 0, 0.5), (3, 1, 1.0)])
def test_a_chain_that_is_none_is_refused(states, count, stay):
    with pytest.raises(ValueError, match="must be"):
        chain_episodes(states, count, np.random.default_rng(0), stay)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"bound": 0.0}, r"bound \(0.0\) must be a number above 0"),
        ({"bound": math.nan}, r"bound \(nan\)"),
        ({"sums": np.array([8.1, 0.0])}, r"sums \(8.1\) must be in \[0, visits \* 2.0\]"),
        ({"sums": np.array([math.nan, 0.0])}, r"sums \(nan\)"),
        ({"sums": np.array([1.0, -0.1])}, r"sums \(-0.1\)"),
        ({"sums": np.array([1.0, 0.1])}, r"sums \(0.1\)"),
        ({"sums": np.ones(3)}, "sums .* one for each state"),
        ({"visits": np.array([5, 0])}, r"visits \(5\) must be in \[0, 4\]"),
        ({"visits": np.array([-1, 0])}, r"visits \(-1\)"),
        ({"visits": np.array([1.5, 0.0])}, "visits .* integers"),
        ({"trajectories": 0}, r"trajectories \(0\)"),
    ],
)
def test_statistics_that_no_batch_has_are_refused(given, rule):
    good = {"visits": np.array([4, 0]), "sums": np.array([8.0, 0.0]), "trajectories": 4, "bound": 2.0}
    assert FirstVisits(**good).means.tolist() == [2.0, 0.0]
    with pytest.raises(ValueError, match=rule):
        FirstVisits(**{**good, **given})


def test_sums_of_many_returns_may_round():
    """A million returns of the bound itself, added one by one."""
    total = float(np.cumsum(np.full(10**6, 0.1))[-1])
    assert total > 0.1 * 10**6
    FirstVisits(np.array([10**6]), np.array([total]), 10**6, 0.1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "a", None, True])
def test_noise_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match=r"alpha \("):
        Noise(value, 0.1)
    with pytest.raises(ValueError, match=r"beta \("):
        Noise(1.0, value)


@pytest.mark.parametrize(("name", "value"), [("ridge", "a"), ("planned_trajectories", "a")])
def test_text_for_a_number_is_refused_by_name(name, value):
    planned = {"calibration": "planned", "planned_visits": [1, 1]} if name != "ridge" else {}
    with pytest.raises(ValueError, match=rf"{name} \('a'\) must be"):
        DPLSL(states=2, discount=0.5, **{name: value}, **planned, **TARGET).fit(BATCH)


@pytest.mark.filterwarnings("ignore:For any data")
@pytest.mark.parametrize(("columns", "unit"), [({"user": list("abc")}, "user"), ({}, "episode")])
def test_a_guarantee_is_of_the_unit_of_the_data(columns, unit):
    table = {"episode": [0, 1, 2], "state": [0, 1, 0], "action": [0, 0, 0], "reward": [0.0, 1.0, 0.0]}
    data = read_episodes(table | columns, unit=unit)
    model = DPLSW(states=2, epsilon=1.0, delta=0.01, discount=0.5).fit(data)
    assert model.account("replace").unit == unit
    assert model.released_.account("replace").unit == "trajectory"
    assert model.fit(first_visits(data, 2, 0.5)).account("replace").unit == "trajectory"
