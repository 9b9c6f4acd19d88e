"""The Gaussian profile and its inverses, against mpmath at 400 digits (and dp-accounting, with slack).

The exact epsilons were found by bisection of the profile in 60 digits.
"""

import math
from fractions import Fraction

import flint
import mpmath
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.gaussian import gaussian_delta, gaussian_mu
from dpproof.accountant.guarantees.implied import approx_to_gaussian
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import arb_of, precision
from tests.rows import rows

REFERENCE = mpmath.MPContext()
REFERENCE.dps = 400
DELTAS = ("1e-300", "1e-100", "1e-30", "1e-6", "0.3", "0.999")
MUS = ("1e-6", "1e-3", "0.1", "1", "7", "30", "1000")


def number(value):
    fraction = Fraction(value)
    return REFERENCE.mpf(fraction.numerator) / fraction.denominator


def profile(mu, epsilon):
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), digits enough for the cancellation."""
    mu, epsilon = number(mu), number(epsilon)
    root = REFERENCE.sqrt(2)
    first = REFERENCE.erfc((epsilon / mu - mu / 2) / root)
    return (first - REFERENCE.exp(epsilon) * REFERENCE.erfc((epsilon / mu + mu / 2) / root)) / 2


@rows("mu", MUS)
@rows("delta", DELTAS)
def test_epsilon_encloses_the_crossing_of_the_profile(mu, delta):
    found = GaussianDP(mu).epsilon(delta)
    assert profile(mu, found.upper) <= number(delta)
    if found.upper > 0:
        assert profile(mu, found.lower) > number(delta)
        assert found.relative_width < 1e-12


@rows("mu", MUS)
@rows("multiple", ["0", "1e-9", "0.5", "3", "20", "36"])
def test_delta_encloses_the_profile(mu, multiple):
    epsilon = Fraction(mu) ** 2 / 2 + Fraction(multiple) * Fraction(mu)
    found, true = GaussianDP(mu).delta(epsilon), profile(mu, epsilon)
    assert number(found.lower) <= true <= number(found.upper)
    assert found.relative_width < 1e-12


@given(st.floats(1e-6, 1e3), st.floats(-30, 36))
def test_delta_encloses_the_profile_at_any_doubles(mu, deviations):
    epsilon = max(0.0, mu * mu / 2 + deviations * mu)
    found, true = GaussianDP(mu).delta(epsilon), profile(mu, epsilon)
    assert number(found.lower) <= true <= number(found.upper)


EXACT = [
    (Fraction(1000, 25), "1e-6", 49.319276660696, 1e-12),
    (Fraction(1000, 25), "1e-14", 67.732309, 1e-6),
    (Fraction(1000, 25), "1e-16", 71.361127, 1e-6),
    (Fraction(1000, 25), "1e-20", 77.964939, 1e-6),
    (Fraction(1000, 25), "1e-30", 91.934790, 1e-6),
    (Fraction(100) / Fraction("0.09"), "1e-6", 713.068417, 1e-6),
    (Fraction(10**4) / Fraction("0.09"), "1e-6", 57139.037391, 1e-6),
    (Fraction(400), "1e-6", 294.171786, 1e-6),
    (Fraction(1, 10**8), "1e-6", 1.938393e-4, 1e-10),
    (Fraction(1, 10**3), "1e-6", 0.11592841, 1e-8),
    (Fraction(1, 10**16), "1e-30", 9.508066846e-8, 1e-17),
]


@pytest.mark.parametrize(("square", "delta", "epsilon", "last_digit"), EXACT)
def test_exact_values(square, delta, epsilon, last_digit):
    root = math.isqrt(square.numerator * square.denominator * 10**60)
    mu = Fraction(root, square.denominator * 10**30)
    found = GaussianDP(mu).epsilon(delta)
    assert found.lower - last_digit <= epsilon <= found.upper + last_digit
    assert found.relative_width < 1e-12


@rows("epsilon", ["0", "1e-9", "0.1", "1", "50", "1e6"])
@rows("delta", ["1e-300", "1e-30", "1e-6", "0.3", "0.999"])
def test_mu_encloses_the_noise_that_just_meets_a_target(epsilon, delta):
    low, high = gaussian_mu(Fraction(epsilon), Fraction(delta))
    assert profile(low, epsilon) <= number(delta) < profile(high, epsilon)
    assert (high - low) / high < 1e-12


@pytest.mark.parametrize("mu", ["1e-3", "0.5", "4"])
def test_mu_undoes_epsilon(mu):
    epsilon = GaussianDP(mu).epsilon("1e-9")
    low, high = approx_to_gaussian(epsilon.lower, "1e-9"), approx_to_gaussian(epsilon.upper, "1e-9")
    assert Fraction(low.lower) <= Fraction(mu) <= Fraction(high.upper)
    assert high.upper - low.lower <= 1e-12 * high.upper


@pytest.mark.parametrize("delta", ["1", "1.5", "-0.1", "0"])
@pytest.mark.parametrize("ask", [approx_to_gaussian, lambda e, d: gaussian_mu(Fraction(e), Fraction(d))])
def test_mu_refuses_a_delta_outside_the_open_interval(delta, ask):
    with pytest.raises(ValueError, match="delta"):
        ask(1, delta)


def test_mu_refuses_a_negative_epsilon():
    with pytest.raises(ValueError, match=r"epsilon \(-1.0\) must be at least 0"):
        gaussian_mu(Fraction(-1), Fraction(1, 10))


def test_a_delta_that_is_the_profile_rounded_is_decided_on_both_sides():
    exact = GaussianDP(1).delta(1)
    for delta in (exact.lower, exact.upper):
        found = GaussianDP(1).epsilon(delta)
        assert profile(1, found.upper) <= number(delta) < profile(1, found.lower)
    assert GaussianDP(1).epsilon(exact.upper).lower <= 1 <= GaussianDP(1).epsilon(exact.lower).upper


def test_text_and_double_are_different_numbers():
    low, high = GaussianDP(Fraction(1, 10)), GaussianDP(0.1)
    assert GaussianDP("0.1").epsilon("1e-6") == low.epsilon("1e-6")
    assert Fraction(0.1) > Fraction(1, 10)
    assert high.epsilon("1e-6").upper >= low.epsilon("1e-6").lower


@pytest.mark.parametrize("epsilon", [10**6, 1e300])
def test_far_out_nothing_is_left(epsilon):
    assert GaussianDP(1).delta(epsilon).upper <= 5e-324
    assert gaussian_delta(Fraction(0), Fraction(1)) == 0


def test_the_largest_noise_levels_do_not_break_the_search():
    assert GaussianDP("1e160").epsilon("1e-6").upper == math.inf
    assert GaussianDP("1e-160").epsilon("1e-6").upper == 0


@pytest.mark.parametrize(("sigma", "delta"), [(0.5, 1e-6), (1.0, 1e-3), (5.0, 1e-9), (30.0, 1e-5)])
def test_agrees_with_dp_accounting(sigma, delta):
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss(sigma).get_delta_for_epsilon
    ours = GaussianDP(1 / Fraction(sigma)).epsilon(delta)
    slack = 1e-9  # of delta: theirs is float64 without a stated error
    assert theirs(ours.upper) <= delta * (1 + slack)
    assert theirs(ours.lower) >= delta * (1 - slack)


@pytest.mark.parametrize("mu", ["2000", "2100", "1e5"])
def test_far_tails_meet_the_error_function(mu):
    """Beyond 1,000 deviations a series takes over; the reference is Arb's error function."""
    point = Fraction(mu) ** 2 / 2 + 5 * Fraction(mu)
    with precision(8000):
        ratio, half, root = (
            arb_of(point) / arb_of(Fraction(mu)),
            arb_of(Fraction(mu)) / 2,
            flint.arb(2).sqrt(),
        )
        first, second = (((ratio + offset) / root).erfc() / 2 for offset in (-half, half))
        truth = first - arb_of(point).exp() * second
        assert gaussian_delta(Fraction(mu), point).overlaps(truth)
        assert truth > 0
    found = GaussianDP(Fraction(mu)).delta(point)
    assert found.relative_width < 1e-14
