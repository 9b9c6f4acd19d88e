"""Noise scaled by a smooth bound: the worst pair, bounds against other routes, calibration and refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.gaussian import gaussian_delta
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.enclosures import precision, round_down, round_up
from dpproof.accountant.numbers.inversion import refined
from dpproof.accountant.smooth_sensitivity import cauchy, gaussian, laplace, log_normal, student
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian, SmoothGaussianParameters
from dpproof.accountant.smooth_sensitivity.heavy_tails import cauchy_epsilon, student_epsilon
from dpproof.accountant.smooth_sensitivity.laplace import SmoothLaplace, laplace_delta
from dpproof.accountant.smooth_sensitivity.log_normal import log_normal_rho
from dpproof.accountant.smooth_sensitivity.notion import smooth_bound
from dpproof.accountant.smooth_sensitivity.spherical import spherical_delta

MODULES = (gaussian, laplace, student, cauchy, log_normal)
shares = st.fractions(0, 1, max_denominator=50)
noises = st.fractions("1/3", 20, max_denominator=20)
smoothings = st.fractions(0, 1, max_denominator=100)
epsilons = st.fractions(0, 3, max_denominator=20)


def printed(epsilon, delta, dimension):
    """The constants of Balle, Gomrokchi and Precup, Lemma 1, whose beta is that of the variance."""
    noise = 5 * math.sqrt(2 * math.log(2 / delta)) / epsilon
    return noise, epsilon / (4 * (dimension + math.log(2 / delta))) / 2


@pytest.mark.slow
@given(noises, smoothings, st.integers(1, 7), epsilons, shares, st.fractions(-1, 1, max_denominator=50))
@settings(max_examples=80, deadline=None)
def test_no_admissible_gaussian_pair_is_worse(noise, smoothing, dimension, epsilon, part, lean):
    bound = SmoothGaussian(noise, smoothing, dimension).delta(epsilon)
    pair = refined(lambda: spherical_delta(part / noise, lean * smoothing, dimension, epsilon))
    assert round_down(pair) <= bound.upper


@given(noises, smoothings, epsilons, shares, st.fractions(-1, 1, max_denominator=50))
@settings(max_examples=80, deadline=None)
def test_no_admissible_laplace_pair_is_worse(noise, smoothing, epsilon, part, lean):
    bound = SmoothLaplace(noise, smoothing).delta(epsilon)
    pair = refined(lambda: laplace_delta(part / noise, lean * smoothing, epsilon))
    assert round_down(pair) <= bound.upper


@pytest.mark.parametrize("dimension", [1, 4])
def test_the_two_ends_of_the_ratio_alone_are_too_small(dimension):
    """A known-bad control: without the pair of equal scales the guarantee would be below the truth."""
    noise, beta, epsilon = Fraction(2), Fraction(1, 50), Fraction(0)
    ends = [refined(lambda s=s: spherical_delta(1 / noise, s, dimension, epsilon)) for s in (beta, -beta)]
    equal = gaussian_delta(1 / noise, epsilon)
    assert all(round_up(end) < round_down(equal) for end in ends)
    assert SmoothGaussian(noise, beta, dimension).delta(epsilon).lower >= round_down(equal)


def test_the_worst_of_the_three_pairs_changes():
    def deltas(noise, beta, epsilon):
        ratios = (Fraction(0), Fraction(beta), -Fraction(beta))
        return [
            float(refined(lambda s=s: spherical_delta(1 / Fraction(noise), s, 3, Fraction(epsilon))))
            for s in ratios
        ]

    assert np.argmax(deltas(2, "1/50", 0)) == 0
    assert np.argmax(deltas(2, "1/5", 2)) == 1


@pytest.mark.slow
@given(noises, smoothings.filter(bool), st.integers(1, 6), st.fractions("1/50", 3, max_denominator=50))
@settings(max_examples=40, deadline=None)
def test_delta_first_falls_then_rises_with_the_ratio(noise, smoothing, dimension, epsilon):
    for sign in (1, -1):
        ratios = [sign * smoothing * Fraction(k, 8) for k in range(9)]
        values = [refined(lambda s=s: spherical_delta(1 / noise, s, dimension, epsilon)) for s in ratios]
        rises = [later > earlier for earlier, later in itertools.pairwise(values)]
        falls = [later < earlier for earlier, later in itertools.pairwise(values)]
        assert not any(rise and any(falls[i:]) for i, rise in enumerate(rises))


@pytest.mark.parametrize("dimension", [1, 2, 40])
def test_without_smoothing_it_is_the_gaussian_mechanism(dimension):
    for delta in (1e-6, 1e-30):
        assert SmoothGaussian(5, 0, dimension).epsilon(delta) == GaussianDP(Fraction(1, 5)).epsilon(delta)


@pytest.mark.parametrize(
    ("point", "below", "ratio"),
    [
        ((1, 1e-6, 1), 1e-20, 5.47),
        ((1, 1e-6, 40), 1e-44, 6.09),
        ((0.1, 0.1, 40), 1e-21, 42.9),
        ((5, 1e-6, 1000), 1e-134, 5.47),
    ],
)
def test_printed_constants_waste_most_of_the_noise(point, below, ratio):
    epsilon, delta, dimension = point
    noise, beta = printed(*point)
    bound = SmoothGaussian(noise, beta, dimension).delta(epsilon)
    assert bound.upper < below
    assert bound.relative_width < 1e-14
    parameters = SmoothGaussianParameters(noise, beta, dimension)
    meets, misses = gaussian.ACCOUNTANT.least_noise(parameters, Adjacency.BY_SENSITIVITY, epsilon, delta)
    assert noise / meets.noise > ratio
    assert SmoothGaussian(meets.noise, beta, dimension).delta(epsilon).upper <= delta
    assert SmoothGaussian(misses.noise, beta, dimension).delta(epsilon).lower > delta
    assert (meets.noise - misses.noise) / meets.noise < 1e-9


@pytest.mark.parametrize("dimension", [1, 2, 999, 1000])
def test_epsilon_at_delta_1e_30_is_tight(dimension):
    notion = SmoothGaussian(10, "0.01", dimension)
    bound = notion.epsilon("1e-30")
    assert bound.relative_width < 1e-14
    assert notion.delta(bound.upper).upper <= 1e-30 < notion.delta(bound.lower).lower


def test_delta_grows_with_dimension_smoothing_and_less_noise():
    base = SmoothGaussian(10, "0.05", 10).delta(1)
    assert SmoothGaussian(10, "0.05", 11).delta(1).lower > base.upper
    assert SmoothGaussian(10, "0.06", 10).delta(1).lower > base.upper
    assert SmoothGaussian("9.9", "0.05", 10).delta(1).lower > base.upper
    assert SmoothGaussian(10, "0.05", 10).delta("1.1").upper < base.lower


@pytest.mark.parametrize(
    ("shift", "log_ratio", "epsilon"),
    list(itertools.product([0.3, 2.0], [0.5, -0.5, 0.02, -0.02], [0.0, 0.25])),
)
def test_laplace_agrees_with_a_sum_over_a_fine_grid(shift, log_ratio, epsilon):
    r = math.exp(abs(log_ratio))
    p, q = (r, 1.0) if log_ratio > 0 else (1.0, r)
    x, step = np.linspace(-80, 80, 800_001, retstep=True)
    loss = np.exp(-abs(x) / p) / (2 * p) - math.exp(epsilon) * np.exp(-abs(x - shift) / q) / (2 * q)
    value = np.maximum(loss, 0).sum() * step
    exact = refined(lambda: laplace_delta(Fraction(shift), Fraction(log_ratio), Fraction(epsilon)))
    assert abs(float(exact) - value) < 1e-7


def largest_loss(phi, noise, smoothing):
    """The largest loss over a grid of outcomes, ratios and shifts: a lower bound on the pure epsilon."""
    x = np.concatenate(
        [-np.logspace(-6, 8, 40_001), np.linspace(-30, 30, 40_001), np.logspace(-6, 8, 40_001)]
    )
    best = 0.0
    for s, m in itertools.product(np.linspace(-smoothing, smoothing, 9), (0.5 / noise, 1 / noise)):
        p, q = (math.exp(s), 1.0) if s > 0 else (1.0, math.exp(-s))
        best = max(best, float(np.max(math.log(q / p) - phi(abs(x) / p) + phi(abs(x - m) / q))))
    return best


@pytest.mark.parametrize(
    ("noise", "smoothing", "degrees"), [(3, 0.125, 3), (1, 0.5, 1), (0.5, 0.25, 10), (2, 0, 0.5)]
)
def test_student_epsilon_is_the_largest_loss(noise, smoothing, degrees):
    found = student_epsilon(noise, smoothing, degrees)
    brute = largest_loss(lambda z: (degrees + 1) / 2 * np.log1p(z * z / degrees), noise, smoothing)
    assert brute - 1e-12 <= found.upper <= brute + 1e-4
    assert (
        found.upper <= max(1, degrees) * smoothing + (degrees + 1) / (2 * math.sqrt(degrees)) / noise + 1e-15
    )


@pytest.mark.parametrize(
    ("noise", "smoothing", "exponent"), [(6, 0.125, 2), (10, 0.125, 4), (1, 0.5, 2.5), (3, 0, 1.25)]
)
def test_cauchy_epsilon_is_the_largest_loss(noise, smoothing, exponent):
    found = cauchy_epsilon(noise, smoothing, exponent)
    brute = largest_loss(lambda z: np.log1p(z**exponent), noise, smoothing)
    assert brute - 1e-12 <= found.upper <= brute + 1e-4


def test_cauchy_of_exponent_two_is_student_of_one_degree():
    one, two = cauchy_epsilon(6, "0.1"), student_epsilon(6, "0.1", 1)
    assert one.lower <= two.upper
    assert two.lower <= one.upper


def test_published_conditions_are_sound_and_loose():
    noise, beta = 2 / 0.5, 0.5 / (2 * math.log(2 / 1e-6))
    assert SmoothLaplace(noise, beta).delta(0.5).upper <= 1e-6
    assert cauchy_epsilon(6 / 0.5, 0.5 / 6).upper <= 0.5
    noise, beta = printed(0.5, 1e-6, 5)
    assert (
        SmoothGaussian(noise, 2 * beta, 5).delta(0.5).upper <= 1e-6
    )  # as Nissim, Raskhodnikova and Smith print it


def test_log_normal_rho_dominates_what_quadrature_finds():
    noise, beta, spread, order = 4.0, 0.05, 0.4, 3.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    scales, weights = np.exp(spread * nodes), weights / weights.sum()
    x, step = np.linspace(-400, 400, 80_001, retstep=True)

    def density(y, scale):
        return sum(
            w * np.exp(-abs(y) / (scale * v)) / (2 * scale * v) for v, w in zip(scales, weights, strict=True)
        )

    rho = log_normal_rho(noise, beta, spread).lower
    for s in (beta, -beta):
        p, q = density(x, 1.0), density(x - math.exp(min(s, 0)) / noise, math.exp(s))
        renyi = math.log(float((p**order * q ** (1 - order)).sum()) * step) / (order - 1)
        assert 0.01 * rho * order < renyi <= rho * order


@pytest.mark.parametrize("dimension", [1, 40])
def test_the_renyi_curve_at_order_one_is_the_divergence_of_kullback_and_leibler(dimension):
    """Of N(m, v) from N(0, 1), each coordinate (v - 1 - log v)/2 and m^2/2 once."""
    curve = SmoothGaussian(10, "0.01", dimension).renyi().curve
    with precision(192):
        v = (flint.arb(2) / 100).exp()
        found, true = curve(flint.arb(1)), (v - 1 - v.log()) * dimension / 2 + flint.arb(1) / 200
        assert abs(found - true) < 1e-50
        near = curve(1 + flint.arb(2) ** -60)
        assert 0 < near - found < 1e-15


def test_extreme_tails_have_their_largest_loss():
    """Three times a large smoothing, with 3 degrees; generalised Cauchy noise at 0, or at its scale."""
    assert student_epsilon(1, "1e6", 3).contains(3e6)
    assert student_epsilon(1, "1e300", 3).contains(3e300)
    heavy, steep = (cauchy_epsilon(1, "0.1", exponent) for exponent in ("1.00001", "1e6"))
    with precision(192):
        wide, gamma = (flint.arb(1) / 10).exp(), 1 + flint.arb(1) / 10**5
        at_zero = wide.log() + (1 + wide**-gamma).log()  # the narrower law's density over the wider one's
        assert at_zero < heavy.upper
        assert heavy.lower < at_zero + 1e-4
        at_scale = 10**6 * (1 + wide).log() - wide.log() - flint.arb(2).log()
        assert at_scale < steep.upper
        assert steep.lower < at_scale + 16
    assert steep.relative_width < 1e-14


def test_spreads_and_scales_far_apart_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^spread \(100\)"):
        log_normal_rho(1, "0.1", 100)


def test_every_notion_is_a_guarantee_and_falls_in_epsilon():
    for module in MODULES:
        given_ = {f.name: 0.3 for f in module.ACCOUNTANT.parameters.fields() if f.name == "spread"}
        found = module.account(module.ACCOUNTANT.parameters(4.0, 0.02, **given_)).guarantee
        assert isinstance(found, Profile)
        assert found.delta(0.1).upper >= found.delta(1).upper
        assert found.delta(found.epsilon(1e-6).upper).upper <= 1e-6


def test_smooth_bound_is_smooth_and_a_bound():
    profile = [1, 1, 5, 6, 20]
    for beta in ("0", "0.1", "2"):
        here, there = smooth_bound(profile, beta), smooth_bound(profile[1:], beta)
        assert here.upper >= profile[0]
        with precision(100):
            assert there.lower <= math.exp(float(beta)) * here.upper * (1 + 1e-15)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, 0])
def test_bad_noise_is_refused_by_name(bad):
    for build in (SmoothGaussian, SmoothLaplace):
        with pytest.raises(ValueError, match="noise"):
            build(bad, 0.1)
    for compute in (
        lambda: student_epsilon(bad, 0, 3),
        lambda: cauchy_epsilon(bad, 0),
        lambda: log_normal_rho(bad, 0, 1),
    ):
        with pytest.raises(ValueError, match="noise"):
            compute()


def test_other_bad_input_is_refused_by_name():
    with pytest.raises(ValueError, match="smoothing"):
        SmoothGaussian(1, -0.1)
    with pytest.raises(ValueError, match="dimension"):
        SmoothGaussian(1, 0.1, 0)
    with pytest.raises(ValueError, match="epsilon"):
        SmoothGaussian(1, 0.1).delta(-1)
    with pytest.raises(ValueError, match="delta"):
        SmoothGaussian(1, 0.1).epsilon(1)
    with pytest.raises(ValueError, match="degrees"):
        student_epsilon(1, 0, 0)
    with pytest.raises(ValueError, match="exponent"):
        cauchy_epsilon(1, 0, 1)
    with pytest.raises(ValueError, match="profile"):
        smooth_bound([2, 1], 0.1)
    with pytest.raises(ValueError, match="spread"):
        log_normal_rho(1, 0, 0)


def test_pure_privacy_is_asked_for_by_delta_zero():
    assert SmoothGaussian(1, 0.1).epsilon(0).upper == math.inf
    assert SmoothLaplace(1, 0.1).epsilon(0).upper == math.inf
    assert SmoothLaplace(4, 0).epsilon(0).upper == 0.25
