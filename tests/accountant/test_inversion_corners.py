"""Where the inversion was wide, slow or fell: gaps of very different sizes, targets of nearly 1."""

from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.shuffling.counters import certain_mass


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
