"""Policy evaluation's noise: exact where printed is loose, psi against all k, bad files refused by name."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.rl.policy_evaluation import noise as policy_evaluation_noise
from dpproof.accountant.rl.policy_evaluation.alternatives import alternatives
from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, WeightedBound
from dpproof.accountant.rl.policy_evaluation.noise import (
    Noise,
    data_needed,
    guarantee_of,
    jointly,
    last_place,
    least,
    printed,
    with_room,
)
from dpproof.accountant.rl.policy_evaluation.policy_evaluation import (
    ACCOUNTANT,
    PolicyEvaluationParameters,
    account,
)
from dpproof.accountant.rl.policy_evaluation.visits import read_visits
from dpproof.accountant.smooth_sensitivity.coordinates import laplace_log_normal, least_coordinates, student
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian
from tests.rows import rows

TARGETS = [(1, "1e-6", 1), (1, "1e-6", 40), ("0.1", "0.1", 40), (5, "1e-6", 1000)]
SEED = 20160


@pytest.mark.parametrize(("epsilon", "delta", "dimension"), TARGETS)
def test_the_printed_constants_promise_far_too_little(epsilon, delta, dimension):
    found = guarantee_of(printed(epsilon, delta, dimension), dimension).delta(epsilon)
    assert 0 < found.lower <= found.upper < 1e-20
    assert found.upper / found.lower < 1 + 1e-12


@pytest.mark.parametrize(
    ("epsilon", "delta", "dimension", "ratio"), [(1, "1e-6", 40, 6.08), ("0.1", "0.1", 40, 42.9)]
)
def test_the_least_noise_at_the_printed_smoothing(epsilon, delta, dimension, ratio):
    theirs = printed(epsilon, delta, dimension)
    meets, misses = least(epsilon, delta, dimension, theirs.beta)
    assert theirs.alpha / meets.alpha > ratio
    assert guarantee_of(meets, dimension).delta(epsilon).upper <= float(delta)
    assert guarantee_of(misses, dimension).delta(epsilon).lower > float(delta) * (1 - 1e-9)
    strong = least(epsilon, delta, dimension, 4 * theirs.beta)[0]
    assert theirs.alpha / strong.alpha > 0.8 * ratio


def weighted_plainly(visits, weights, beta):
    phis = (
        np.exp(-k * beta) * (weights / np.maximum(visits - k, 1) ** 2).sum() for k in range(visits.max() + 1)
    )
    return max(phis)


def ridged_plainly(bound, beta):
    norm, rho, most = np.linalg.norm(bound.weights), bound.weights, bound.trajectories
    totals = [(rho * np.minimum(bound.visits + k, most)).sum() for k in range(most + 1)]
    return max(
        math.exp(-k * beta) * (bound.share * math.sqrt(total) + norm) ** 2 for k, total in enumerate(totals)
    )


@rows("case", range(60))
def test_psi_is_the_maximum_over_all_k(case):
    rng = np.random.default_rng([SEED, case])
    states, most = int(rng.integers(1, 12)), int(rng.integers(1, 400))
    visits, weights = rng.integers(0, most + 1, states), rng.random(states) * rng.integers(0, 2, states)
    weights[0] = 1.0
    beta = 10 ** rng.uniform(-5, 0.5)
    found = WeightedBound(visits, weights).squared(beta)
    exact = weighted_plainly(visits, weights, beta)
    assert exact <= found * (1 + 1e-13) <= exact * (1 + 1e-9)
    ridged = RidgeBound(visits, weights, most, float(rng.uniform(0, 3)))
    exact = ridged_plainly(ridged, beta)
    assert exact <= ridged.squared(beta) * (1 + 1e-13) <= exact * (1 + 1e-9)


def changed(rng, visits, most):
    """The signature of a neighbour: every entry moves by at most 1."""
    return np.clip(visits + rng.integers(-1, 2, len(visits)), 0, most)


def log_change(make, squared, visits, other):
    return abs(math.log(squared(make(visits)) / squared(make(other))))


def test_psi_is_smooth_and_the_local_bound_is_not():
    rng, beta, worst = np.random.default_rng(SEED), 0.02, 0.0
    for _ in range(300):
        most, states = int(rng.integers(2, 300)), int(rng.integers(1, 8))
        visits = rng.integers(0, min(most, int(rng.integers(1, most + 1))) + 1, states)
        other, weights = changed(rng, visits, most), np.full(states, 1 / states)

        def weighted(v, weights=weights):
            return WeightedBound(v, weights)

        def ridged(v, weights=weights, most=most):
            return RidgeBound(v, weights, most, 0.7)

        for make in (weighted, ridged):
            assert log_change(make, lambda b: b.squared(beta), visits, other) <= beta
        worst = max(worst, log_change(weighted, lambda b: b.local(), visits, other))
        for value in (visits, other):
            assert weighted(value).squared(beta) >= weighted(value).local()
            assert ridged(value).squared(beta) >= ridged(value).local() * (1 - 1e-13)
    assert worst > 10 * beta


def test_smoothing_chosen_with_the_noise_meets_the_target_with_less():
    visits = WeightedBound(np.full(40, 3000), np.full(40, 1 / 40))
    for epsilon, delta in (("0.1", "0.1"), (1, "1e-6")):
        chosen = jointly(epsilon, delta, 40, visits)
        assert guarantee_of(chosen, 40).delta(epsilon).upper <= float(delta)
        others = (printed(epsilon, delta, 40), with_room(epsilon, delta, 40))
        assert all(chosen.deviation(visits) <= other.deviation(visits) for other in others)


def test_room_is_certified_and_used_up():
    found = with_room(1, "1e-6", 7)
    assert guarantee_of(found, 7).delta(1).upper <= 1e-6
    assert guarantee_of(Noise(found.alpha, 1.001 * found.beta), 7).delta(1).lower > 1e-6


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, "1e-6"), (1, 0), (-1, "1e-6"), (1, 1), (math.nan, "1e-6")]
)
def test_a_target_without_room_for_noise_is_refused(epsilon, delta):
    for calibrate in (printed, with_room):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            calibrate(epsilon, delta, 4)


def test_a_smoothing_that_no_noise_makes_private_is_refused():
    with pytest.raises(UnreachableTargetError, match="epsilon"):
        least(1, "1e-6", 40, 5.0)
    with pytest.raises(ValueError, match="beta"):
        WeightedBound([3], [1.0]).squared(1e-14)


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.EXPERT, Adjacency.BY_SENSITIVITY])
def test_only_replacement_is_proved(adjacency):
    with pytest.raises(UnprovedAdjacencyError, match="replace"):
        account(PolicyEvaluationParameters(3), adjacency)


def test_the_published_epsilon_is_the_one_it_was_set_by_and_infinite_beyond_fifty():
    theirs = account(PolicyEvaluationParameters(40, printed_epsilon=2.0), Adjacency.REPLACE).published
    assert theirs.epsilon("1e-6").upper == pytest.approx(2.0, rel=1e-12)
    beyond = account(PolicyEvaluationParameters(40, printed_epsilon=51.0), Adjacency.REPLACE).published
    assert beyond.epsilon("1e-6").lower == math.inf


@pytest.fixture
def visits_file(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("state,visits\n" + "".join(f"{i},{900 + i}\n" for i in range(40)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"algorithm": "lsl", "trajectories": 1000, "ridge": 50.0}])
def test_calibration_on_a_file_says_what_is_printed(visits_file, more):
    asked = PolicyEvaluationParameters(40, visits=str(visits_file), **more)
    meets, misses = ACCOUNTANT.least_noise(asked, Adjacency.REPLACE, "0.1", "0.1")
    assert misses.noise < meets.noise < 1.000001 * misses.noise
    found = ACCOUNTANT.compare(meets, "0.1", "0.1")
    assert found["noise"]["ratio"] > 20
    assert found["deviation"]["ratio"] > 20
    assert found["deviation"]["exact"] == meets.constants.deviation(meets.bound())
    assert ("data_needed" in found) == (asked.algorithm == "lsw")


@pytest.mark.slow
def test_the_data_needed_are_enough_and_hardly_more(visits_file):
    asked = PolicyEvaluationParameters(40, visits=str(visits_file))
    meets, _ = ACCOUNTANT.least_noise(asked, Adjacency.REPLACE, "0.1", "0.1")
    found = ACCOUNTANT.compare(meets, "0.1", "0.1")
    more = found["data_needed"]["ratio"]
    plenty, short = (
        replace(meets.bound(), visits=np.rint(x * meets.bound().visits).astype(int))
        for x in (more, 0.99 * more)
    )
    theirs = printed("0.1", "0.1", asked.dimension)
    assert theirs.deviation(plenty) <= found["deviation"]["exact"] < theirs.deviation(short)
    assert more > 1


def test_no_amount_of_data_is_enough_where_nobody_goes():
    visits = WeightedBound([5000, 0], [0.5, 0.5])
    assert data_needed(printed(1, "1e-6", 2), visits, with_room(1, "1e-6", 2).deviation(visits)) == math.inf
    assert data_needed(with_room(1, "1e-6", 2), visits, 1e9) == 1


def test_columns_of_a_visits_file(tmp_path):
    path = tmp_path / "visits.npz"
    np.savez(path, visits=np.array([3, 0]), weight=np.array([0.25, 0.75]))
    visits, weights = read_visits(path)
    assert (visits.tolist(), weights.tolist()) == ([3, 0], [0.25, 0.75])
    path = tmp_path / "visits.csv"
    path.write_text("visits,weight\n3,0.25\n0,0.75\n", encoding="utf-8-sig")
    assert read_visits(path)[0].tolist() == [3, 0]
    path.write_text("visits\n1é\n", encoding="latin1")
    with pytest.raises(ValueError, match=r"visits\.csv: byte 9 \(0xe9\) is not text in UTF-8"):
        read_visits(path)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "the first line must name the columns"),
        ("visits,visits\n1,2\n", "each once"),
        ("visits\n", "at least one"),
        ("count\n1\n", "columns"),
        ("visits\n1.5\n", "one integer of at least 0"),
        ("visits\n-1\n", "one integer of at least 0"),
        ("visits\nmany\n", "many"),
        ("visits,weight\n1,-1\n", "weight must be one number"),
        ("visits,weight\n1,nan\n", "weight must be one number"),
        ("visits\n1\n#2\n", "#2"),
        ("state,visits\n1,3\n", "column state must be 0"),
    ],
)
def test_a_bad_visits_file_is_refused(tmp_path, text, rule):
    path = tmp_path / "visits.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=rule):
        read_visits(path)


def test_files_of_another_kind_are_refused(tmp_path):
    for name in ("visits.npz", "visits.parquet", "visits.txt"):
        (tmp_path / name).write_text("no such thing")
        with pytest.raises(ValueError, match=r"visits\."):
            read_visits(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_visits(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"noise": 1.0, "printed_epsilon": 1.0}, "noise"),
        ({"visits": "visits.txt"}, "must be the name of a file"),
        ({"visits": "v.csv", "algorithm": "lsl"}, "trajectories"),
        ({"algorithm": "lsq"}, "one of: lsw, lsl"),
        ({"dimension": 0}, "dimension"),
    ],
)
def test_bad_parameters_are_refused(given, rule):
    with pytest.raises(ValueError, match=rule):
        PolicyEvaluationParameters(**{"dimension": 3, **given})


def test_noise_without_smoothing_and_a_small_ridge_are_refused(visits_file):
    with pytest.raises(ValueError, match="beta"):
        _ = PolicyEvaluationParameters(3, noise=1.0).constants
    small = PolicyEvaluationParameters(
        3, visits=str(visits_file), algorithm="lsl", trajectories=1000, ridge=0.025
    )
    with pytest.raises(ValueError, match="ridge"):
        small.bound()


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: WeightedBound([], []), "visits"),
        (lambda: WeightedBound([1.5], [1.0]), "visits"),
        (lambda: WeightedBound([-1], [1.0]), "visits"),
        (lambda: WeightedBound([1], [0.0]), "weights"),
        (lambda: WeightedBound([1], [math.nan]), "weights"),
        (lambda: WeightedBound([1, 2], [1.0]), "weights"),
        (lambda: RidgeBound([3], [1.0], 2, 0.1), "trajectories"),
        (lambda: RidgeBound([1], [1.5], 2, 0.1), "rho"),
        (lambda: RidgeBound([1], [1.0], 2, math.nan), "share"),
        (lambda: RidgeBound([1], [1.0], 2, 0.1).squared(0), "beta"),
    ],
)
def test_bad_bounds_are_refused(make, rule):
    with pytest.raises(ValueError, match=rule):
        make()


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "0.1"), (1, "1e-6")])
def test_joint_choice_takes_few_evaluations(monkeypatch, epsilon, delta):
    """About 80 instead of the 400 of a plain bisection at every place; and no place nearby does better."""
    visits, count, plain = (
        WeightedBound(np.arange(2000, 6000, 100), np.full(40, 1 / 40)),
        [0],
        SmoothGaussian.profile,
    )

    def counted(self, at):
        count[0] += 1
        return plain(self, at)

    policy_evaluation_noise._roomy.cache_clear()
    monkeypatch.setattr(SmoothGaussian, "profile", counted)
    chosen = jointly(epsilon, delta, 40, visits)
    assert count[0] < 130
    assert guarantee_of(chosen, 40).delta(epsilon).upper <= float(delta)
    others = [with_room(epsilon, delta, 40, 1 + 2.0 ** (place / 4)) for place in range(-36, -4, 3)]
    assert all(chosen.deviation(visits) <= 1.002 * other.deviation(visits) for other in others)


def test_many_features_are_counted_as_one_more_where_they_are_even():
    noise = printed(1, "1e-6", 20_000)
    even, odd, fewer = (guarantee_of(noise, d).delta(1).upper for d in (20_000, 20_001, 19_999))
    assert fewer < even == odd
    with pytest.raises(ValueError, match=r"dimension \(100001\) must be"):
        PolicyEvaluationParameters(100_001)


@pytest.mark.slow
def test_other_noise_is_the_best_of_all_that_was_tried():
    """Against the certified deviation of every family and smoothing of a coarse grid."""
    visits = WeightedBound([3000] * 5, [0.2] * 5)
    found = {one.name.split(",")[0]: one for one in alternatives(1, "1e-6", 5, visits)}
    for family in (student(4), student(10), laplace_log_normal(0.1), laplace_log_normal(0.3)):
        for beta in printed(1, "1e-6", 5).beta * 2.0 ** np.arange(-12, 9, 4):
            best = found[family.name.split(",")[0]]
            try:
                scale = least_coordinates(family, 1, "1e-6", 5, float(beta) / 2)
            except UnreachableTargetError:
                continue
            other = scale * family.deviation * math.sqrt(visits.squared(float(beta)))
            assert best.deviation <= other * (1 + 1e-6)


@pytest.mark.parametrize(
    "rise", [lambda x: x, lambda x: math.expm1(9 * x), lambda x: math.copysign(1, x - 0.3)]
)
def test_last_place_takes_few_steps_and_never_too_many(rise):
    asked = []

    def gap(place):
        asked.append(place)
        return rise(place)

    place = last_place(gap, -1.0, -99, 1e-6)
    assert rise(place) <= 0 < rise(place + 1.01e-6)
    assert len(asked) < 30
    assert last_place(lambda _: 1.0, 0.0, -9.0, 1e-6) is None
