"""Inputs on which other libraries fail: values below the truth, infinities, negative epsilons, no answer.

The truth is the closed form where there is one (Gaussians), otherwise the grid, which shares nothing with the
inversion but the statement of the pair.
"""

import math
from fractions import Fraction

import flint
import pytest

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.by_grid import epsilon_by_grid
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.renyi.subsampled_gaussian import SubsampledGaussianCurve
from dpproof.accountant.shuffling.clones import general_randomiser
from tests.rows import rows, tiered


def training(rate, sigma, steps):
    pair = SubsampledGaussian(rate, sigma)
    return PrivacyLoss([[(pair, steps)], [(pair.reversed(), steps)]])


def gaussians(sigma, count):
    with precision(200):
        mu = arb_of(Fraction(count)).sqrt() / arb_of(exact(sigma))
        return GaussianDP(Bound(round_down(mu), round_up(mu)))


GAUSSIANS = [
    # (sigma, count, delta, the exact epsilon)
    (100.0, 100_000, "1e-8", None),
    (100.0, 100_000, "1e-10", 24.569659),
    (100.0, 100_000, "1e-11", None),
    (100.0, 100_000, "1e-12", None),
    (100.0, 100_000, "1e-14", None),
    (50.0, 10_000, "1e-12", None),
    (100.0, 1_000_000, "1e-9", 109.1956),
    (100.0, 10_000, "1e-12", 7.2385),
    (30.0, 10_000, "1e-12", 28.467),
    (5.0, 10, "1e-6", 2.921601),
    (5.0, 1_000, "1e-6", 49.319276660696),
    (5.0, 1_000, "1e-14", 67.732309),
    (5.0, 1_000, "1e-16", 71.361127),
    (5.0, 1_000, "1e-20", 77.964939),
    (5.0, 1_000, "1e-30", 91.934790),
    (0.3, 100, "1e-6", 713.068417),
    (0.3, 10_000, "1e-6", 57139.037391),
    (0.05, 1, "1e-6", 294.171786),
    (1e4, 1, "1e-6", 1.938393e-4),
    (1e6, 10**9, "1e-6", 0.11592841),
    (1e8, 1, "1e-30", 9.508066846e-8),
]


@rows(("sigma", "count", "delta", "expected"), GAUSSIANS)
def test_gaussians_enclose_the_truth(sigma, count, delta, expected):
    truth = gaussians(sigma, count).epsilon(delta)
    ours = PrivacyLoss([[(SubsampledGaussian(1.0, sigma), count)]]).epsilon(delta)
    assert ours.lower <= truth.upper
    assert ours.upper >= truth.lower
    assert ours.relative_width <= 1e-6
    if expected is not None:
        assert truth.lower == pytest.approx(expected, rel=1e-6, abs=5e-4 if expected > 1 else 0)


TRAININGS = [
    # (rate, sigma, steps, delta, an epsilon that a peer gave and that is too small, or None)
    (0.01, 1.0, 100_000, "1e-12", 36.845),
    (0.01, 2.0, 1_000_000, "1e-11", None),
    (0.01, 1.0, 1_000, "1e-6", 1.836),
    (0.01, 0.7, 1_000, "1e-6", 3.895),
    (0.01, 0.5, 1_000, "1e-6", 13.14),
    (0.01, 1.0, 1_000, "1e-20", None),
    (0.01, 1.0, 1_000, "1e-30", None),
    (0.01, 0.5, 1_000_000, "1e-6", None),
    (0.1, 0.5, 100, "1e-6", None),
]


@pytest.mark.parametrize(("rate", "sigma", "steps", "delta", "too_small"), tiered(TRAININGS, fast=3))
def test_training_is_answered_and_not_below_the_grid(rate, sigma, steps, delta, too_small):
    ours = training(rate, sigma, steps).epsilon(delta)
    assert ours.relative_width <= 1e-6
    pair = SubsampledGaussian(rate, sigma)
    low, high = epsilon_by_grid([(pair, steps)], Fraction(delta))
    assert ours.lower <= high
    assert ours.upper >= low
    if too_small is not None:
        assert ours.lower > too_small


@pytest.mark.slow
def test_next_to_no_privacy_loss_is_not_zero():
    found = training(0.5, 1e8, 10**16).epsilon("1e-6")
    assert 2.2539 < found.lower <= found.upper < 2.2542


def test_no_sampling_costs_nothing():
    from dpproof.accountant.catalogue import accountant_for
    from dpproof.accountant.claims.adjacency import Adjacency

    dp_sgd = accountant_for("dp-sgd")
    idle = dp_sgd.parameters(sampling_rate=0.0, noise_multiplier=1.0, steps=1000)
    assert dp_sgd.account(idle, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper == 0


def test_bounded_losses_are_finite_at_delta_zero():
    found = PrivacyLoss([[(Laplace(10.0), 100)]]).epsilon(0)
    assert found.lower <= 10 <= found.upper < 10 + 1e-12


@pytest.mark.parametrize("delta", ["0.9", "0.5", "0.99999"])
def test_epsilon_is_never_negative(delta):
    found = training(0.01, 5.0, 10).epsilon(delta)
    assert 0 <= found.lower <= found.upper


@pytest.mark.parametrize("delta", [math.nan, -0.1, 1.0, 2.0, math.inf, -math.inf])
def test_bad_deltas_are_refused(delta):
    with pytest.raises(ValueError, match="delta"):
        training(0.01, 1.0, 10).epsilon(delta)


@pytest.mark.parametrize("epsilon", [math.nan, -0.1, math.inf, -math.inf])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        training(0.01, 1.0, 10).delta(epsilon)


@pytest.mark.parametrize(
    ("rate", "sigma"),
    [(math.nan, 1.0), (-0.1, 1.0), (1.1, 1.0), (0.1, 0.0), (0.1, -1.0), (0.1, math.nan), (0.1, math.inf)],
)
def test_bad_pairs_are_refused(rate, sigma):
    with pytest.raises(ValueError, match=r"rate|noise_multiplier"):
        SubsampledGaussian(rate, sigma)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_bad_counts_are_refused(count):
    with pytest.raises(ValueError, match="count"):
        PrivacyLoss([[(SubsampledGaussian(0.1, 1.0), count)]])


def test_renyi_divergence_is_not_below_the_truth_by_rounding():
    """At order 2 it is log(1 + q^2 (exp(1/sigma^2) - 1)); a peer is 3.6e-9 of it below."""
    with precision(300):
        q, sigma = arb_of(exact(1e-4)), arb_of(exact(100.0))
        truth = (1 + q**2 * (1 / sigma**2).expm1()).log()
        ours = SubsampledGaussianCurve(exact(1e-4), exact(100.0))(flint.arb(2))
        assert round_up(ours) >= round_up(truth) * (1 - 1e-15)
        assert ours.overlaps(truth)


@pytest.mark.parametrize(
    ("users", "local", "epsilon", "expected"),
    [(1000, 1, "0.2", 2.0598082e-7), (2000, 2, "0.8", 2.9117271e-18)],
)
def test_clones_lower_end_is_not_above_the_truth(users, local, epsilon, expected):
    found = general_randomiser(users, local).delta(epsilon)
    assert found.lower <= expected * (1 + 5e-8)
    assert found.upper >= expected * (1 - 5e-8)
    assert found.relative_width < 1e-9
