"""The best of a random number of runs, against exact laws of selections from small mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.accountant.noise import dp_sgd
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.selection import private_selection, tuned_dp_sgd
from dpproof.accountant.theorems.runs import Runs
from dpproof.accountant.theorems.selection import Selected
from dpproof.mechanisms.selection.private_selection import number_of_runs, sample, select_best

LAWS = [
    Runs(4, 1),
    Runs(30, 1),
    Runs(6, 0),
    Runs("3.5", "-0.5"),
    Runs(8, 4),
    Runs(3),
    Runs("0.4"),
    Runs(1, 1),
]


def masses(runs, most):
    """The probabilities of 0, ..., most - 1 runs, by the formulas of Papernot and Steinke, Definitions 1 and 2."""
    if runs.shape is None:
        mean = mpmath.mpf(str(runs.mean))
        return [mpmath.exp(-mean) * mean**k / mpmath.factorial(k) for k in range(most)]
    eta, gamma = mpmath.mpf(str(runs.shape)), mpmath.mpf(float(runs.stop))
    if eta == 0:
        return [mpmath.mpf(0), *((1 - gamma) ** k / (k * mpmath.log(1 / gamma)) for k in range(1, most))]
    found, term = [mpmath.mpf(0)], mpmath.mpf(1)
    for k in range(1, most):
        term *= (k - 1 + eta) / k
        found.append((1 - gamma) ** k / (gamma**-eta - 1) * term)
    return found


@pytest.mark.parametrize("runs", LAWS[:-1], ids=str)
def test_the_law_of_the_number_of_runs_has_the_stated_mean_and_generating_function(runs):
    law = masses(runs, 4000)
    mean = mpmath.fsum(k * mass for k, mass in enumerate(law))
    assert abs(mean / mpmath.mpf(str(runs.mean)) - 1) < 1e-9
    for missing in ("0", "0.1", "0.9"):
        x = 1 - mpmath.mpf(missing)
        with precision(128):
            at = arb_of(Fraction(missing))
            power, slope = float(runs.none_above(at)), float(runs.weight(at))
        assert abs(power - mpmath.fsum(mass * x**k for k, mass in enumerate(law))) < 1e-9
        terms = (k * mass * x ** (k - 1) for k, mass in enumerate(law) if k)
        assert abs(slope / mpmath.fsum(terms) - 1) < 1e-9


def selected(runs, chances):
    """The law of the best output, from the distribution function of one run."""
    with precision(128):
        upto = [float(runs.none_above(arb_of(1 - sum(chances[:k])))) for k in range(1, len(chances) + 1)]
    return np.diff([float(runs.none), *upto], prepend=0.0)


def delta_of(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def randoms(seed, outputs=5):
    """Two random laws with exact probabilities, one output of which may be impossible under the second one."""
    rng = np.random.default_rng(seed)
    laws = []
    for _ in range(2):
        weights = rng.integers(1, 1000, outputs) ** rng.integers(1, 3, outputs)
        laws.append([Fraction(int(w), int(weights.sum())) for w in weights])
    return laws


@pytest.mark.parametrize("seed", range(12))
def test_no_selection_from_a_small_mechanism_exceeds_the_bound(seed):
    p, q = randoms(seed)
    pair = Atoms(p, q)
    base = PrivacyLoss([[(pair, 1)], [(pair.reversed(), 1)]])
    runs = LAWS[seed % len(LAWS)]
    found, rng = Selected(base, runs), np.random.default_rng(seed)
    beyond_base = 0
    for order in [
        sorted(range(5), key=lambda k: p[k] / q[k], reverse=True),
        *(rng.permutation(5) for _ in range(8)),
    ]:
        one, other = (selected(runs, [law[k] for k in order]) for law in (p, q))
        for epsilon in ("0", "0.3", "1", "2", "3.5"):
            at = float(epsilon)
            bound = found.delta(epsilon)
            for truth in (delta_of(one, other, at), delta_of(other, one, at)):
                assert truth <= bound.upper + 1e-12
                beyond_base += truth > base.delta(epsilon).upper + 1e-9
    assert beyond_base or runs.shape is None or runs.mean == 1  # one run's guarantee does not hold


def arranged(runs, epsilon, trade_off, points):
    """The largest delta of three outputs with the likelihood ratios of a trade-off function, over a grid."""
    v = [1 - trade_off(x) for x in points]  # v[i]: probability under Q of the complement of a set
    best = 0.0
    f = np.vectorize(lambda x: float(runs.none_above(arb_of(Fraction(float(1 - x))))))
    for i, x1 in enumerate(points):
        x2 = points[i:]
        v1, v2 = trade_off(1 - x1), np.array([trade_off(1 - x) for x in x2])
        gain = f(x2) - f(x2 - x1) - math.exp(epsilon) * (f(v2) - f(v2 - v1))
        best = max(best, float(gain.max()))
    assert v
    return best


@pytest.mark.parametrize("runs", [Runs(5, 1), Runs(4)], ids=str)
def test_the_bounds_enclose_the_best_run_with_three_outputs(runs):
    def trade_off(alpha):
        return max(0.0, 1 - math.e * alpha, (1 - alpha) / math.e)

    found = Selected(PureDP(1), runs)
    points = np.linspace(0.02, 0.98, 49)
    for epsilon in ("0.5", "1.5"):
        with precision(64):
            grid = arranged(runs, float(epsilon), trade_off, points)
        bound = found.delta(epsilon)
        assert grid <= bound.upper
        assert bound.lower <= max(grid * 1.2, 1e-3)
        assert bound.lower > 0.3 * grid


@pytest.mark.parametrize(("mean", "shape"), [(10, 1), (100, 1), (20, 0), (5, 3)])
def test_pure_privacy_has_the_closed_form(mean, shape):
    runs, p = Runs(mean, shape), math.e / (1 + math.e)
    gamma = float(runs.stop)
    epsilon = 1 + (1 + shape) * math.log((gamma + (1 - gamma) * p) / (gamma + (1 - gamma) * (1 - p)))
    found = Selected(PureDP(1), runs).epsilon(0)
    assert abs(found.lower - epsilon) < 1e-9
    assert abs(found.upper - epsilon) < 1e-9
    assert epsilon < 2 + shape  # the epsilon of Papernot and Steinke, Corollary 3
    poisson = Selected(PureDP(1), Runs(mean)).epsilon(0)
    assert abs(poisson.upper - (1 + mean * math.tanh(0.5))) < 1e-9


def koskela(base, runs, target):
    """The epsilon of Koskela, Redberg and Wang, arXiv:2402.06701v1, for this law of runs, by search."""
    gamma, eta = float(runs.stop), float(runs.shape)
    one = base.epsilon(Fraction(target) / Fraction(runs.mean)).upper
    grid = (k / 50 for k in range(1, 200))
    return one + (eta + 1) * min(
        math.log(math.exp(e) + (1 - gamma) / gamma * base.delta(Fraction(e)).upper) for e in grid
    )


def papernot_steinke(mu, runs, target):
    """The epsilon of Papernot and Steinke, Theorem 2, for a Gaussian base, with the optimal orders."""
    gamma, eta = float(runs.stop), float(runs.shape)
    orders = np.concatenate([1 + np.geomspace(1e-2, 1, 60), np.linspace(2.1, 300, 3000)])
    extra = ((1 + eta) * ((1 - 1 / orders) * orders * mu**2 / 2 + math.log(1 / gamma) / orders)).min()
    curve = orders * mu**2 / 2 + extra + math.log(float(runs.mean)) / (orders - 1)
    rest = np.log1p(-1 / orders) - (math.log(target) + np.log(orders)) / (orders - 1)
    return float((curve + rest).min())


@pytest.mark.parametrize("runs", [Runs(10, 1), Runs(100, 1), Runs(20, 0), Runs(16, "-0.5")], ids=str)
def test_the_epsilon_is_below_the_published_ones_and_narrow(runs):
    base = GaussianDP("0.5")
    found = Selected(base, runs).epsilon("1e-6")
    assert base.epsilon("1e-6").upper < found.lower
    assert found.upper < 1.03 * found.lower
    assert found.upper < koskela(base, runs, "1e-6") - 0.2
    assert found.upper < papernot_steinke(0.5, runs, 1e-6) - 0.2


def test_a_single_run_keeps_its_guarantee():
    base = GaussianDP(1)
    found = Selected(base, Runs(1, 1))
    assert abs(found.epsilon("1e-6").upper / base.epsilon("1e-6").upper - 1) < 1e-8
    assert found.delta(1).lower <= base.delta(1).upper <= found.delta(1).upper * (1 + 1e-12)


def test_failures_are_selected_more_often():
    found = Selected(ApproxDP(1, "1e-3"), Runs(10, 1))
    assert found.delta(20).upper >= 9e-3
    assert found.delta(20).lower >= 1e-3
    assert found.epsilon("1e-3").lower == math.inf
    assert math.isfinite(found.epsilon("0.011").upper)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"mean": 0.5, "shape": 1}, r"mean \(0.5\) must be at least 1"),
        ({"mean": 0}, r"mean \(0\) must be above 0"),
        ({"mean": 2, "shape": -1}, r"shape \(-1\) must be above -1"),
    ],
)
def test_no_law_has_these_parameters(given, text):
    with pytest.raises(ValueError, match=text):
        Runs(**given)


def test_tuned_training_is_the_selection_from_one_training():
    asked = tuned_dp_sgd.TunedDPSGDParameters(1.0, 10.0, 4, mean_runs=5.0)
    found = tuned_dp_sgd.account(asked, Adjacency.ADD_REMOVE)
    same = Selected(GaussianDP("0.2"), Runs(5, 1)).epsilon("1e-5")
    assert abs(found.epsilon("1e-5").upper - same.upper) < 1e-8
    assert found.statement == "classic.private_selection"
    with pytest.raises(ValueError, match="steps"):
        tuned_dp_sgd.account(tuned_dp_sgd.TunedDPSGDParameters(1.0, 10.0, 0, 5.0), Adjacency.ADD_REMOVE)


def test_the_lower_bound_of_tuned_training_is_that_of_a_known_pair_and_score():
    """Under add-remove with sampling, only a score that is a random number is known: one training, or nothing."""
    asked = tuned_dp_sgd.TunedDPSGDParameters(0.01, 1.0, 1000, mean_runs=1.5, poisson=True)
    training = dp_sgd.account(tuned_dp_sgd.training(asked), Adjacency.ADD_REMOVE).guarantee
    found = tuned_dp_sgd.account(asked, Adjacency.ADD_REMOVE)
    low, chance = found.attained.guarantee, 1 - math.exp(-1.5)
    assert low.delta(1).lower == pytest.approx(chance * training.delta(1).lower, rel=1e-9)
    assert low.epsilon("1e-4").lower == pytest.approx(training.epsilon(1e-4 / chance).lower, rel=1e-9)
    assert low.epsilon("1e-4").lower <= found.guarantee.epsilon("1e-4").lower * (1 + 1e-6)
    symmetric = tuned_dp_sgd.account(asked, Adjacency.REPLACE)
    assert symmetric.attained.guarantee == symmetric.guarantee


@pytest.mark.parametrize("change", [{}, {"shape": 0.0}, {"shape": -0.5}, {"poisson": True}], ids=str)
def test_the_sampler_draws_the_law_of_the_selection(change):
    """Five standard deviations of each count, 4 outputs and 5 numbers of runs: alpha below 1e-5. Seed 3."""
    asked = private_selection.PrivateSelectionParameters(base_epsilon=1.0, mean_runs=4.0, **change)
    chances, n = [0.4, 0.3, 0.2, 0.1], 100_000
    truth = selected(private_selection.runs_of(asked), [Fraction(str(c)) for c in chances])
    drawn = sample(asked, chances, n, np.random.default_rng(3))[:, 0]
    for index, chance in enumerate(truth, start=-1):
        assert abs((drawn == index).sum() - n * chance) <= 5 * math.sqrt(n * chance * (1 - chance)) + 1e-6
    counts = number_of_runs(asked, n, np.random.default_rng(3))
    for k, mass in enumerate(masses(private_selection.runs_of(asked), 5)):
        assert abs((counts == k).sum() - n * mass) <= 5 * math.sqrt(n * float(mass)) + 1e-6


def test_the_best_run_is_released():
    asked = private_selection.PrivateSelectionParameters(base_epsilon=1.0, mean_runs=50.0)
    seen = []

    def run(rng):
        score = float(rng.random())
        seen.append(score)
        return score, score

    assert select_best(run, asked, np.random.default_rng(4)) == max(seen)
    none = private_selection.PrivateSelectionParameters(base_epsilon=1.0, mean_runs=1e-9, poisson=True)
    assert select_best(run, none, np.random.default_rng(4)) is None


@pytest.mark.parametrize(
    ("base", "runs", "target"),
    [(ApproxDP(1, "1e-3"), Runs(10, 1), "1e-2"), (GaussianDP(2000), Runs(10, 1), "1e-6")],
)
def test_no_epsilon_in_reach_is_infinite(base, runs, target):
    assert Selected(base, runs).epsilon(target).upper == math.inf


def test_numbers_of_runs_that_cannot_be_drawn_are_refused():
    asked = private_selection.PrivateSelectionParameters(base_epsilon=1.0, mean_runs=3e7)
    with pytest.raises(ValueError, match="Choose a smaller mean_runs"):
        number_of_runs(asked, 1, np.random.default_rng(0))
