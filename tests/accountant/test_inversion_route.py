"""The inversion of the moment-generating function: against closed forms, and in the corners of its region.

The inversion route, against Arb's own quadrature and closed forms, one-sidedly.

Where the inversion was wide, slow or fell: gaps of very different sizes, targets of nearly 1.
"""

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.gaussian import gaussian_delta, gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.pairs.gaussian_moments import SubsampledGaussianCharacteristic as Loss
from dpproof.accountant.pairs.phases import decay, layers, phases_minus_one
from dpproof.accountant.pairs.sampled_loss import Change, log_ratio
from dpproof.accountant.privacy_loss.by_inversion import delta_by_inversion, epsilon_by_inversion
from dpproof.accountant.privacy_loss.saddle import Inapplicable
from dpproof.accountant.shuffling.counters import certain_mass

RATES = st.floats(math.log(1e-5), 0).map(math.exp)
SIGMAS = st.floats(math.log(0.2), math.log(1e3)).map(math.exp)
TILTS = st.integers(1, 400).map(lambda n: n / 32)


def moment(loss, c, t):
    """M(c + i t) by Arb's rigorous integration, on a range whose remainder is below 1e-40."""
    up, down = loss.change.in_p * (1 + flint.acb(c, t)), loss.change.in_q * flint.acb(c, t)
    sigma, rate = flint.acb(loss.noise_multiplier), flint.acb(loss.rate)

    def log_ratio_at(y):
        return (1 - rate + rate * (y / sigma - 1 / (2 * sigma * sigma)).exp()).log()

    def integrand(y, _):
        exponent = -y * y / 2 + up * log_ratio_at(y) - down * log_ratio_at(-y)
        return exponent.exp() / (2 * flint.acb.pi()).sqrt()

    reach = 15 + (1 + 2 * c) / loss.noise_multiplier
    with precision(140):
        return flint.acb.integral(integrand, -reach, reach)


def answered(loss, c, step, count):
    """The values where the route offers them: at small rates the strip is narrow and it may refuse."""
    try:
        return loss.minus_one(c, step, count)
    except OverflowError:
        assume(False)


@settings(max_examples=30, deadline=None)
@given(RATES, SIGMAS, TILTS, st.sampled_from(Change))
def test_log_mgf_is_within_its_error(rate, sigma, c, change):
    loss = Loss(rate, sigma, change)
    found = loss.tilted(c)
    with precision(140):
        exact = moment(loss, c, 0).real.log()
        assert abs(flint.arb(found.log_mgf) - exact) <= flint.arb(found.log_mgf_error)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(RATES, SIGMAS, TILTS, st.sampled_from(Change), st.integers(1, 40))
def test_characteristic_function_is_within_its_error(rate, sigma, c, change, place):
    loss = Loss(rate, sigma, change)
    step = 2.0 ** math.floor(math.log2(0.3 / math.sqrt(loss.tilted(c).variance + 1e-300)))
    values, errors = answered(loss, c, step, 41)
    with precision(140):
        exact = moment(loss, c, place * step) / moment(loss, c, 0) - 1
        gap = flint.acb(complex(values[place])) - exact
        assert abs(gap) <= flint.arb(float(errors[place]))


@settings(max_examples=40, deadline=None)
@given(RATES, SIGMAS, st.lists(st.floats(-40, 40), min_size=1, max_size=20))
def test_losses_are_within_their_errors(rate, sigma, points):
    y = np.array(points)
    values, errors = log_ratio(rate, sigma, y)
    with precision(300):
        for place, value, error in zip(y, values, errors, strict=True):
            u, q = 1 / flint.arb(sigma), flint.arb(rate)
            exact = (1 - q + q * (flint.arb(float(place)) * u - u * u / 2).exp()).log()
            assert abs(flint.arb(float(value)) - exact) <= flint.arb(float(error))


def test_phases_are_within_their_errors():
    rng = np.random.default_rng(1)
    weights, values, none = rng.dirichlet(np.ones(50)), rng.normal(size=50) * 1e-3, np.zeros(50)
    found, errors = phases_minus_one(weights, none, values, none, 0.25, 1000)
    with precision(200):
        for n in (1, 7, 500, 999):
            exact = sum(
                (
                    flint.arb(float(w)) * (flint.acb(0, 1) * flint.arb(float(v)) * n / 4).expm1()
                    for w, v in zip(weights, values, strict=True)
                ),
                flint.acb(0),
            )
            assert abs(flint.acb(complex(found[n])) - exact) <= flint.arb(float(errors[n]))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(RATES, SIGMAS, TILTS, st.sampled_from(Change), st.floats(0.2, 60), st.floats(1, 5))
def test_decay_bounds_the_characteristic_function_beyond(rate, sigma, c, change, t, further):
    loss = Loss(rate, sigma, change)
    tilted = loss.tilted(c)
    t /= math.sqrt(tilted.variance + 1e-300)
    weights, widths = tilted.uniform()
    assert weights.min() >= 0
    assert weights.sum() <= 1
    bound = math.exp(float(decay(weights, widths, np.array([t]))[0]))
    step = 2.0 ** math.floor(math.log2(t * further)) / 8
    places = np.arange(8, 17)
    values, errors = answered(loss, c, step, 17)
    sizes = np.abs(1 + values[places]) - errors[places]
    assert (sizes[places * step >= t] <= bound).all()


def test_layers_of_a_triangle_stay_below_it():
    points = np.linspace(-1, 1, 2001)
    density = np.minimum(1 - np.abs(points[:-1]), 1 - np.abs(points[1:]))
    weights, widths = layers(density, points, np.zeros_like(points))
    assert 0.97 <= weights.sum() <= 1
    for x in (0.0, 0.5, 0.9):
        inside = (weights[widths >= 2 * x] / widths[widths >= 2 * x]).sum()
        assert inside <= 1 - x + 1e-9


@settings(max_examples=40, deadline=None)
@given(
    st.floats(math.log(0.02), math.log(50)).map(math.exp),
    st.integers(30, 10**7),
    st.floats(math.log(1e-30), math.log(0.3)),
)
def test_gaussian_compositions_enclose_the_closed_form(mu, count, log_delta):
    delta = Fraction(math.exp(log_delta))
    low, high = epsilon_by_inversion([(Loss(1.0, math.sqrt(count) / mu, Change.REMOVED), count)], delta)
    own = count / Fraction(math.sqrt(count) / mu) ** 2  # mu^2, exactly
    assert high - low <= 1e-8 * high + 1e-12
    with precision(200):
        root = arb_of(own).sqrt()
        ends = [
            Fraction(float(root.lower())) * (1 - Fraction(1, 2**50)),
            Fraction(float(root.upper())) * (1 + Fraction(1, 2**50)),
        ]
    assert not gaussian_delta(ends[0], Fraction(high)) > arb_of(delta)
    assert low == 0 or not gaussian_delta(ends[1], Fraction(low)) < arb_of(delta)


@pytest.mark.parametrize(
    ("rate", "sigma", "count", "delta", "expected"),
    [
        (0.01, 1.0, 1_000, "1e-6", 2.12451517),
        (0.01, 1.0, 10_000, "1e-6", 6.90738450),
        (0.01, 1.0, 100_000, "1e-6", 27.6725977),
        (0.01, 1.0, 1_000, "1e-30", 9.341896),
        (1.0, 5.0, 1_000, "1e-30", 91.934790),
        (1.0, 100.0, 100_000, "1e-10", 24.569659),
        (1.0, 0.3, 10_000, "1e-6", 57139.037391),
        (0.5, 1e8, 10**16, "1e-6", 2.254083),
    ],
)
def test_reference_values(rate, sigma, count, delta, expected):
    low, high = epsilon_by_inversion([(Loss(rate, sigma, Change.REMOVED), count)], Fraction(delta))
    assert high - low <= 1e-5 * expected if count > 10**9 else high - low <= 1e-9 * expected
    assert low - 1e-6 * expected <= expected <= high + 1e-6 * expected


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.001, 1.0),
    st.floats(0.6, 5.0),
    st.integers(200, 10**6),
    st.floats(0, 20),
    st.sampled_from(Change),
)
def test_delta_and_epsilon_are_inverse(rate, sigma, count, epsilon, change):
    parts = [(Loss(rate, sigma, change), count)]
    try:
        low, high = delta_by_inversion(parts, Fraction(epsilon))
        if not 1e-280 < low <= high < 0.99:
            return
        back = epsilon_by_inversion(parts, Fraction(low)), epsilon_by_inversion(parts, Fraction(high))
    except Inapplicable:
        return
    assert back[1][0] <= epsilon <= back[0][1]


def test_parts_multiply_in_any_grouping():
    whole = epsilon_by_inversion([(Loss(0.02, 1.0, Change.REMOVED), 3000)], Fraction("1e-9"))
    split = epsilon_by_inversion([(Loss(0.02, 1.0, Change.REMOVED), 1000)] * 3, Fraction("1e-9"))
    assert max(whole[0], split[0]) <= min(whole[1], split[1])


def test_a_single_composition_encloses_the_closed_form():
    low, high = epsilon_by_inversion([(Loss(1.0, 1.0, Change.REMOVED), 1)], Fraction("1e-6"))
    with precision(200):
        ends = [gaussian_delta(Fraction(1), Fraction(end)) for end in (low, high)]
        assert ends[0] > arb_of(Fraction("1e-6")) >= ends[1]


def delta(mu, epsilon):
    """delta(epsilon) of the Gaussian pair, by mpmath at 400 digits."""
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    tails = (mpmath.erfc((epsilon / mu + half) / mpmath.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
    first, second = tails
    return first - mpmath.exp(epsilon) * second


@pytest.mark.parametrize(
    ("mu", "failure"),
    [
        (1e5, Fraction("0.99999999")),
        (1e6, Fraction("0.9999")),
        (1e7, Fraction("0.9")),
        (1e8, Fraction("0.3")),
        (100.0, 1 - Fraction(1, 10**40)),
        (1e3, 1 - Fraction(1, 10**43)),
    ],
)
def test_epsilons_of_large_distances_are_tight_and_enclose_the_truth(mu, failure):
    bound = GaussianDP(mu).epsilon(failure)
    assert bound.relative_width < 1e-14
    with mpmath.workdps(400):
        goal = mpmath.mpf(failure.numerator) / failure.denominator
        assert delta(mu, bound.upper) <= goal < delta(mu, bound.lower)


def test_the_distance_for_a_delta_of_nearly_1_is_tight():
    low, high = gaussian_mu(Fraction(0), 1 - Fraction(1, 10**34))
    assert high - low < 1e-14 * high


@pytest.mark.parametrize("p", [Fraction(1, 10**60), 1 - Fraction(1, 10**60)])
def test_a_counter_almost_without_noise_reveals_its_user(p):
    low, high = certain_mass(1, 1, p)
    assert 1 - 1e-15 < low <= high <= 1
    with mpmath.workdps(200):
        chance = mpmath.mpf(p.numerator) / p.denominator
        assert low <= 1 - chance * (1 - chance) <= high
