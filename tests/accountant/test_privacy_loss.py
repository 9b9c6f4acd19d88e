"""The composed loss as a notion, and bounds of sums of losses in logarithms.

The notion that stands before the routes: extremes, fallbacks, refusals; what the grid once got wrong.

Sums of reciprocal logarithms, against direct sums in mpmath at 40 digits.
"""

import functools
import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb

from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.fixed_size import Everything
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.spherical_gaussians import SphericalGaussians
from dpproof.accountant.pairs.subsampled import visible_coin
from dpproof.accountant.privacy_loss.by_grid import delta_by_grid, profile
from dpproof.accountant.privacy_loss.chernoff import Coarse
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.rl.rlsvi import rlsvi as log_sums
from dpproof.accountant.smooth_sensitivity.spherical import spherical_delta
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal


def response(odds):
    """Two answers, one ``odds`` times as likely as the other."""
    return Atoms([f"{odds}/{odds + 1}", f"1/{odds + 1}"], [f"1/{odds + 1}", f"{odds}/{odds + 1}"])


def exact_response_delta(odds, count, epsilon):
    """Binomial sum, in Arb: sum over j of C(T, j) (o^j - e^epsilon o^(T - j))^+ / (o + 1)^T."""
    with precision(4000):
        gain, total = arb_of(epsilon).exp(), arb(0)
        term = 1 / arb(odds + 1) ** count
        first = 0
        for j in range(count + 1):
            worth = arb(odds) ** j - gain * arb(odds) ** (count - j)
            if worth > 0:
                first = first or j
                total += term * worth
            term = term * (count - j) / (j + 1)
        return total


@pytest.mark.parametrize(("odds", "count", "epsilon"), [(3, 2000, 1100), (20, 1500, 4000), (5, 1200, 1300)])
def test_large_losses_are_read_relative_to_their_own_place(odds, count, epsilon):
    """Epsilon far above the start of the window: e^epsilon once left the range of doubles there."""
    truth = exact_response_delta(odds, count, Fraction(epsilon))
    low, high = delta_by_grid([(response(odds), count)], Fraction(epsilon))
    assert arb(low) <= truth <= arb(high)
    assert high - low <= 1e-3 * high


def test_below_alone_is_below_where_no_loss_lies_on_the_grid():
    """A chain of losses, each above its grid point, must not give the same surplus away twice."""
    step, count = 0.05, 40
    losses = [(k + 0.4) * step for k in range(-count // 2, count // 2)]
    q = [math.exp(-(x**2)) for x in losses]
    p = [mass * math.exp(x) for mass, x in zip(q, losses, strict=True)]
    ps, qs = ([Fraction(mass) / Fraction(math.fsum(masses)) for mass in masses] for masses in (p, q))
    ps[-1] += 1 - sum(ps)
    qs[-1] += 1 - sum(qs)
    composed = profile([(Atoms(ps, qs), 1)], epsilon=0.5, points=2**10)
    for epsilon in (0.0, 0.25, 0.5, 0.75):
        with precision(300):
            gain = arb_of(exact(epsilon)).exp()
            gains = (arb_of(a) - gain * arb_of(b) for a, b in zip(ps, qs, strict=True))
            truth = sum((one for one in gains if one > 0), arb(0))
        assert not arb(composed.below.delta(epsilon)) > truth
        assert not arb(composed.above.delta(epsilon)) < truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "log_ratio", "count", "epsilon"),
    [
        (0.028666685955427387, -0.0141856028006213, 4, 0.010556935062577011),
        (0.0035759573036477383, -0.04667932959944663, 9, 0.05695009904020066),
    ],
)
def test_spherical_gaussians_compose_to_one_of_more_dimensions(shift, log_ratio, count, epsilon):
    a, s, e = exact(shift), exact(log_ratio), exact(epsilon)
    found = PrivacyLoss([[(SphericalGaussians(a, s, 1), count)]]).delta(e)
    with precision(200):
        truth = spherical_delta(a * math.isqrt(count), s, count, e)
        assert not arb(found.lower) > truth
        assert not arb(found.upper) < truth


def test_optimal_composition_is_enclosed():
    loss = PrivacyLoss([[(response(3), 50)]])
    with precision(200):
        log3 = arb(3).log()
    own = Bound(float(log3.lower()) * (1 - 1e-15), float(log3.upper()) * (1 + 1e-15))
    truth = compose_approx_optimal([(ApproxDP(own, 0), 50)]).epsilon("1e-6")
    found = loss.epsilon("1e-6")
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower


@pytest.mark.parametrize("pair", [Everything(), Atoms([1, 0], [0, 1])])
def test_what_reveals_all_is_infinite(pair):
    loss = PrivacyLoss([[(pair, 3), (Laplace(1.0), 2)]])
    assert loss.delta(1) == Bound(1.0, 1.0)
    assert loss.epsilon("0.5") == Bound(math.inf, math.inf)


def test_a_rare_revelation_is_a_delta():
    loss = PrivacyLoss([[(visible_coin(Everything(), "1/1000"), 3)]])
    truth = 1 - 0.999**3
    assert loss.delta(1).lower <= truth * (1 + 1e-12)
    assert loss.delta(1).upper >= truth * (1 - 1e-12)
    assert loss.epsilon("0.01").upper == 0
    assert loss.epsilon("0.001").lower == math.inf


def test_beyond_the_largest_loss_nothing_is_left():
    loss = PrivacyLoss([[(Laplace(1.0), 3)]])
    assert loss.delta(4).upper == 0
    assert loss.epsilon(0).lower <= 3 <= loss.epsilon(0).upper
    assert loss.epsilon(0).width < 1e-10


def test_identical_neighbours_reveal_nothing():
    assert PrivacyLoss([[(Atoms([1], [1]), 10)]]).epsilon("1e-6") == Bound(0.0, 0.0)


def test_coarse_ends_enclose_the_fine_ones():
    pair, count = SubsampledGaussian(0.01, 1.0), 1000
    coarse, fine = Coarse.of([(pair, count)]), PrivacyLoss([[(pair, count)]])
    low, high = coarse.epsilon(Fraction(1, 10**6))
    assert low <= fine.epsilon("1e-6").lower <= fine.epsilon("1e-6").upper <= high < 2.7
    low, high = coarse.delta(Fraction(2))
    assert low <= fine.delta(2).lower <= fine.delta(2).upper <= high < 1e-4


@pytest.mark.parametrize("epsilon", [-1, math.nan, Bound(1.0, 2.0)])
def test_epsilons_that_are_no_number_at_least_zero_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        PrivacyLoss([[(Laplace(1.0), 3)]]).delta(epsilon)


def test_deltas_below_the_doubles_are_refused():
    with pytest.raises(ValueError, match="1e-300"):
        PrivacyLoss([[(Laplace(1.0), 3)]]).epsilon("1e-310")


def test_no_alternatives_are_refused():
    with pytest.raises(ValueError, match="alternatives"):
        PrivacyLoss([])


DIGITS = mpmath.MPContext()
DIGITS.dps = 40


@functools.cache
def direct(scale, first, last):
    return DIGITS.fsum(1 / DIGITS.log(scale * k) for k in range(first, last + 1))


def encloses(value, true, slack=0):
    with precision(192):
        low, high = (DIGITS.mpf(end.str(45, radius=False)) for end in (value.lower(), value.upper()))
    rounding = DIGITS.mpf(10) ** -36 * true
    assert low - rounding <= true <= high + rounding
    if slack:
        assert high - low <= slack * true + 2 * rounding


@pytest.mark.parametrize("scale", [2, 480, 10**9])
@pytest.mark.parametrize("last", [1, 2, 3, 500])
def test_short_sums_are_direct(scale, last):
    with precision(192):
        value = log_sums.sum_of_reciprocal_logs(scale, 2, last)
    encloses(value, direct(scale, 2, last), 1e-38 if last > 1 else 0)


@pytest.mark.parametrize("beyond", [-1, 0, 1, 2, 3000])
def test_the_switch_is_seamless(beyond):
    last = 1 + 16384 + beyond
    with precision(192):
        value = log_sums.sum_of_reciprocal_logs(2, 2, last)
    encloses(value, direct(2, 2, last), 1e-10)


@pytest.mark.parametrize("head", [1, 2, 7, 50])
@pytest.mark.parametrize("scale", [2, 480])
def test_the_integrals_enclose_from_the_first_term_on(head, scale, monkeypatch):
    monkeypatch.setattr(log_sums, "_DIRECT", head)
    with precision(192):
        for last in (head + 2, head + 3, 400, 4000):
            encloses(log_sums.sum_of_reciprocal_logs(scale, 2, last), direct(scale, 2, last), 0.05)


def test_a_billion_terms_are_known_to_ten_digits():
    with precision(192):
        value = log_sums.sum_of_reciprocal_logs(480, 2, 10**9)
        assert value.rad() / value < 1e-10
