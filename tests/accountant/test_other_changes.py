"""Replaced records and several records of one user: Arb's quadrature, convolved steps, and the grid's answers."""

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.pairs.phases import decay
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.sampled_loss import Change
from dpproof.accountant.pairs.sampled_records import Records
from dpproof.accountant.privacy_loss.by_grid import epsilon_by_grid
from dpproof.accountant.privacy_loss.by_inversion import delta_by_inversion, epsilon_by_inversion
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from tests.quadrature import integral, loss_of
from tests.rows import rows


def two_replacing_steps(rate, sigma, epsilon):
    """The delta of two steps of a replaced record."""
    rate, sigma, epsilon = (mpmath.mpf(x) for x in (rate, sigma, epsilon))

    def tail(y):
        return mpmath.erfc(y / mpmath.sqrt(2)) / 2

    def output(x):
        k = (1 - rate) * mpmath.exp(1 / (2 * sigma**2)) / rate
        return sigma * (x / 2 + mpmath.asinh(k * mpmath.sinh(x / 2)))

    def one(x):
        y = output(x)
        p, q = ((1 - rate) * tail(y) + rate * tail(y - side / sigma) for side in (1, -1))
        return p - mpmath.exp(x) * q

    def term(y):
        up, down = (1 - rate + rate * mpmath.exp(side * y / sigma - 1 / (2 * sigma**2)) for side in (1, -1))
        return mpmath.npdf(y) * up * one(epsilon - mpmath.log(up / down))

    # Where the second step may have any loss, the integrand is nearly broken.
    corner = output(epsilon)
    near = [corner + side * mpmath.mpf(2) ** -k for k in range(-1, 20) for side in (-1, 1)]
    return mpmath.quad(term, sorted([*map(mpmath.mpf, range(-14, 30)), *near, corner]), maxdegree=4)


@pytest.mark.slow
@rows(("rate", "sigma", "delta"), [(3e-4, 0.3, "1e-20"), (1e-5, 2.0, "1e-40")])
def test_two_steps_of_a_replaced_record_lie_between_the_bounds(rate, sigma, delta):
    part = ReplacedGaussian(rate, sigma).characteristic()
    low, high = epsilon_by_inversion([(part, 2)], Fraction(delta))
    with mpmath.workdps(25):
        target = mpmath.mpf(delta)
        assert two_replacing_steps(rate, sigma, low) > target >= two_replacing_steps(rate, sigma, high)
    assert high - low <= 1e-6 * high


@rows(
    ("rate", "sigma", "steps", "delta"),
    [
        (6.837605403825598e-09, 100.76, 1549835, 1e-69),
        (0.0019004478091532862, 0.19733684, 54374465, 8.5e-09),
        (2.0673128600765462e-07, 12.4, 3434, 1.1e-232),
    ],
)
def test_answers_are_narrow_for_replaced_records(rate, sigma, steps, delta):
    found = PrivacyLoss([[(ReplacedGaussian(rate, sigma), steps)]]).epsilon(delta)
    assert found.upper - found.lower <= 1e-6 * found.upper


@rows(
    ("change", "rate", "sigma", "c", "cuts", "records"),
    [
        (Change.REMOVED, 0.02, 1.5, 2.0, [], 3),
        (Change.ADDED, 0.3, 4.0, 3.0, [], 5),
        (Change.REMOVED, 1e-4, 0.8, 3.0, [(12.0, 0.125), (7.0, 0.05)], 2),
        (Change.REMOVED, 1e-4, 0.8, 3.0, [(12.0, 0.125), (7.0, 0.05, True)], 2),
        (Change.REMOVED, 3e-8, 40.0, 1e6, [(14.0, 0.02)], 4),
    ],
)
def test_several_records_have_the_mgf_and_the_decay_that_are_claimed(change, rate, sigma, c, cuts, records):
    loss = loss_of(change, rate, sigma, cuts, records)
    found, step = loss.tilted(c), 2.0 ** math.floor(math.log2(c / 16))
    values, errors = loss.minus_one(c, step, 30)
    with precision(200):
        whole = integral(loss, flint.acb(c))
        assert abs(flint.arb(found.log_mgf) - whole.real.log()) <= flint.arb(found.log_mgf_error)
        assert found.log_mgf_error <= 1e-10 * (1 + abs(found.log_mgf))
        weights, widths = found.uniform()
        for place in (1, 11, 29):
            share = integral(loss, flint.acb(c, place * step)) / whole
            assert abs(flint.acb(complex(values[place])) - share + 1) <= flint.arb(float(errors[place]))
            time = np.array([place * step])
            assert abs(share) <= flint.arb(min(float(found.beyond(time)[0]), 0.0)).exp()
            assert abs(share) <= flint.arb(float(decay(weights, widths, time)[0])).exp()


def one_of(most, rate, sigma, y, turn):
    """log E e^(i turn K) e^l and l of several records, by mpmath."""
    terms = [
        mpmath.binomial(most, j)
        * rate**j
        * (1 - rate) ** (most - j)
        * mpmath.exp(j * y / sigma - j * j / (2 * sigma**2))
        for j in range(most + 1)
    ]
    total = mpmath.fsum(terms)
    mean = mpmath.fsum(j * term for j, term in enumerate(terms)) / total
    return (
        mpmath.log(total),
        mean,
        mpmath.arg(mpmath.fsum(t * mpmath.expj(j * turn) for j, t in enumerate(terms))),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 40),
    st.floats(math.log(1e-9), -0.01).map(math.exp),
    st.floats(math.log(0.2), math.log(1e3)).map(math.exp),
    st.floats(-60, 200),
    st.floats(0.01, 1),
)
def test_losses_shares_and_angles_of_several_records_are_within_their_errors(most, rate, sigma, y, share):
    some, turn = Records(rate, sigma, most), share * 0.49 * math.pi / most
    value, error = some.log_ratio(np.array([y]))
    with mpmath.workdps(60):
        loss, mean, angle = one_of(most, mpmath.mpf(rate), mpmath.mpf(sigma), mpmath.mpf(y), mpmath.mpf(turn))
        assert abs(mpmath.mpf(float(value[0])) - loss) <= float(error[0])
        high, low = some.shares(np.array([y]))
        assert low[0] <= mean <= high[0]
        high, low = some.angles(np.array([y]), np.array([[turn]]))
        assert low[0, 0] <= angle <= high[0, 0] + 1e-15
    assert error[0] <= 1e-13 * (1 + abs(loss) + most * abs(y) / sigma + most**2 / sigma**2)


@rows(
    "pair",
    [
        ReplacedGaussian(0.2, 2.0),
        BinomialGaussianMixture(0.2, 20.0, 3),
        BinomialGaussianMixture(1e-7, 300.0, 2),
    ],
    ids=["replaced", "three records", "rare records"],
)
def test_an_epsilon_of_0_is_certain_above_a_bound_on_the_total_variation_distance(pair):
    distance = math.sqrt(pair.divergence() * 30 / 2)
    assert PrivacyLoss([[(pair, 30)], [(pair.reversed(), 30)]]).epsilon(1.001 * distance).upper == 0
    low, high = delta_by_inversion([(pair.characteristic(), 30)], Fraction(0))
    assert 0 < low <= high <= distance


@pytest.mark.slow
def test_an_answer_for_several_records_is_narrow_and_that_of_the_grid():
    pair = BinomialGaussianMixture(0.01, 1.0, 2)
    low, high = epsilon_by_inversion([(pair.characteristic(), 1000)], Fraction("1e-6"))
    other = epsilon_by_grid([(pair, 1000)], Fraction("1e-6"))
    assert high - low <= 1e-8 * high
    assert max(low, other[0]) <= min(high, other[1])
