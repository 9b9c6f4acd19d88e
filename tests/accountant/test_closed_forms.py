"""Closed forms of single steps and the exact square of mu, against mpmath.

The tests compare one-sided without a tolerance. mpmath works with so many digits that its own rounding is
below every distance that is compared.
"""

import math
import re
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpproof import account
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.pairs.fixed_size import (
    Everything,
    FixedSize,
    with_replacement,
    without_replacement,
)
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import MOST_ANSWERS, Laplace
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.subsampled import Nothing, Subsampled, VisibleChoice
from dpproof.accountant.pairs.unequal_gaussians import UnequalGaussians
from dpproof.accountant.privacy_loss import notion
from dpproof.accountant.privacy_loss.by_grid import epsilon_by_grid
from dpproof.accountant.privacy_loss.notion import PrivacyLoss, composed
from dpproof.accountant.privacy_loss.saddle import Inapplicable
from dpproof.accountant.privacy_loss.single import delta_by_masses, infinite_mass
from dpproof.accountant.theorems.composition import compose_gaussian
from dpproof.accountant.theorems.group_privacy import group_privacy
from tests.rows import rows

SCALES = ["1e-290", "1e-12", "1/1000", "0.0572", "1", "7", "1e12", "1e290"]
DELTAS = ["1e-300", "1e-20", "4.68e-6", "0.1", "0.5", "0.999"]


def number(value):
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


@rows("scale", SCALES)
def test_one_laplace_at_any_delta(scale):
    """Epsilon is 1/b + 2 log(1 - delta), or 0 if this is negative."""
    with mpmath.workdps(700):
        for delta in DELTAS:
            exact = max(1 / number(scale) + 2 * mpmath.log(1 - number(delta)), mpmath.mpf(0))
            found = composed(1, Laplace(scale)).epsilon(delta)
            assert found.lower <= exact <= found.upper
            assert found.width <= max(1e-15 * float(exact), 5e-16 / float(number(scale)))


@rows("scale", SCALES)
def test_the_delta_of_one_laplace(scale):
    with mpmath.workdps(700):
        for share in (0.0, 0.25, 0.5, 1 - 2.0**-40, 1 - 2.0**-52):
            epsilon = share * float(1 / number(scale))
            exact = max(-mpmath.expm1((number(epsilon) - 1 / number(scale)) / 2), mpmath.mpf(0))
            found = composed(1, Laplace(scale)).delta(epsilon)
            assert found.lower <= exact <= found.upper
            assert found.relative_width <= 5e-16


def test_the_closed_form_of_laplace_is_what_its_outputs_give():
    """The formula against numeric integrals of the two densities."""
    with mpmath.workdps(30):
        for scale, epsilon in ((0.5, 0.3), (2.0, 0.1), (1.0, 0.9)):

            def gain(x, b=scale, e=epsilon):
                p, q = mpmath.exp(-abs(x) / b) / (2 * b), mpmath.exp(-abs(x - 1) / b) / (2 * b)
                return max(p - mpmath.exp(e) * q, 0)

            cut = (1 - epsilon * scale) / 2
            exact = mpmath.quad(gain, [-mpmath.inf, 0, cut])
            found = composed(1, Laplace(scale)).delta(epsilon)
            assert abs(found.upper - exact) <= 1e-15


def test_a_small_laplace_scale_is_answered_by_account():
    with mpmath.workdps(60):
        exact = number(10**12) + 2 * mpmath.log(number("0.7"))
        found = account("laplace", scale="1e-12", sensitivity=1).epsilon("0.3")
        assert found.lower <= exact <= found.upper
        assert found.relative_width <= 1e-15
        ratio = account("laplace", scale="0.3", sensitivity="0.1").epsilon(0)
        assert ratio.lower <= number("1/3") <= ratio.upper


def delta_of_laplaces(count, scale, epsilon):
    """Delta at any real epsilon. The two inputs may be exchanged, which gives the negative ones."""
    if epsilon < 0:
        return -math.expm1(epsilon) + math.exp(epsilon) * delta_of_laplaces(count, scale, -epsilon)
    return composed(count, Laplace(scale)).delta(epsilon).upper


@rows("scale, count", [(0.5, 2), (2.0, 3), (16.0, 3), (8.0, 40)])
def test_the_delta_of_many_laplaces_is_a_mean_over_the_loss_of_one(scale, count):
    """By induction from the closed form of one answer. The mean is an integral by Gauss's rule between the kinks."""
    top = 1 / scale
    nodes, weights = np.polynomial.legendre.leggauss(16)
    for share in (0.0, 0.3, 0.6, 0.95):
        epsilon = share * count * top

        def rest(loss, e=epsilon):
            return delta_of_laplaces(count - 1, scale, e - loss)

        kinks = sorted({-top, top, *(x for k in range(-count, count) if abs(x := epsilon - k * top) < top)})
        mean = rest(top) / 2 + math.exp(-top) * rest(-top) / 2
        for low, high in pairwise(kinks):
            losses = (low + high) / 2 + (high - low) / 2 * nodes
            values = np.exp((losses - top) / 2) / 4 * [rest(loss) for loss in losses]
            mean += (high - low) / 2 * float(weights @ values)
        found = composed(count, Laplace(scale)).delta(epsilon)
        assert found.upper == pytest.approx(mean, rel=1e-12)
        assert found.relative_width <= 1e-15


@rows("share", [1.9, 1.0, 1e-3, 1e-12])
def test_the_tail_of_thirty_laplaces_is_a_sum_over_the_losses_below_the_largest(share):
    """The sums that exceed epsilon are less than twice the largest loss below the largest sum."""
    count = 30
    with mpmath.workdps(30):
        top = number("1/10")
        epsilon = float(count * top - share * top)
        room = count * top - number(epsilon)
        exact = mpmath.mpf(2) ** -count * -mpmath.expm1(-room)
        for below in range(1, count + 1):

            def gain(y, k=below):
                return y ** (k - 1) * mpmath.exp(-y / 2) * -mpmath.expm1(y - room)

            ways = mpmath.binomial(count, below) * mpmath.mpf(2) ** (-count - below)
            exact += ways / mpmath.factorial(below - 1) * mpmath.quad(gain, [0, room])
        found = composed(count, Laplace(10)).delta(epsilon)
        assert found.lower <= exact <= found.upper
        assert found.relative_width <= 1e-15


@rows("scale, count", [("0.01", 5), ("0.5", 60), ("10", MOST_ANSWERS)])
def test_many_laplaces_agree_with_a_grid_of_losses(scale, count):
    for delta in ("0.3", "1e-9"):
        low, high = epsilon_by_grid([(Laplace(scale), count)], Fraction(delta))
        found = composed(count, Laplace(scale)).epsilon(delta)
        assert low <= found.upper
        assert found.lower <= high
        assert found.relative_width <= 1e-15


def test_more_laplaces_have_no_closed_form():
    assert Laplace(10).composed_profile(MOST_ANSWERS + 1) is None


def replaced(rate, noise, epsilon):
    """The profile of the two mixtures, with the threshold found by bisection on the privacy loss."""
    q, s = number(rate), number(noise)

    def loss(x):
        up, down = (q * mpmath.exp((sign * 2 * x - 1 / s) / (2 * s)) for sign in (1, -1))
        return mpmath.log(1 - q + up) - mpmath.log(1 - q + down)

    low, high = mpmath.mpf(0), s * (number(epsilon) + 1 / s**2 + 10) - s * mpmath.log(q)
    for _ in range(int(mpmath.mp.prec)):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) < number(epsilon) else (low, middle)
    p = (1 - q) * tail(high) + q * tail(high - 1 / s)
    other = (1 - q) * tail(high) + q * tail(high + 1 / s)
    return p - mpmath.exp(number(epsilon)) * other


def sampled(rate, inner, epsilon):
    """The profile of ((1 - rate) Q + rate P, Q) by the formula of its definition."""
    share = number(rate)
    return share * inner(mpmath.log(1 + (mpmath.exp(number(epsilon)) - 1) / share))


def gaussian(noise):
    s = number(noise)
    return lambda e: tail(e * s - 1 / (2 * s)) - mpmath.exp(e) * tail(e * s + 1 / (2 * s))


STEPS = {
    "replaced": (ReplacedGaussian(0.125, 1.0), lambda e: replaced(0.125, 1.0, e)),
    "replaced, rare": (ReplacedGaussian(2.0**-40, 0.75), lambda e: replaced(2.0**-40, 0.75, e)),
    "replaced, little noise": (ReplacedGaussian(0.5, 0.03125), lambda e: replaced(0.5, 0.03125, e)),
    "replaced, always": (ReplacedGaussian(1.0, 2.0), lambda e: gaussian(1)(number(e))),
    "fixed size": (FixedSize(SubsampledGaussian(1.0, 2.0), "1/3"), lambda e: sampled("1/3", gaussian(2), e)),
    "fixed size, rare": (
        FixedSize(SubsampledGaussian(1.0, 0.5), "1e-20"),
        lambda e: sampled("1e-20", gaussian("0.5"), e),
    ),
    "subset": (
        without_replacement(SubsampledGaussian(1.0, 1.0), 3, 10),
        lambda e: sampled("3/10", gaussian(1), e),
    ),
}


@rows("name", list(STEPS))
def test_one_step_of_replace_and_of_fixed_size_at_any_delta(name):
    pair, truth = STEPS[name]
    with mpmath.workdps(60):
        for delta in ("1e-300", "1e-100", "1e-12", "1e-3"):
            found = composed(1, pair).epsilon(delta)
            assert truth(found.upper) <= number(delta)
            assert found.lower == 0 or truth(found.lower) >= number(delta)
            assert found.relative_width <= 1e-15
        for epsilon in (0.25, 1.5):
            exact, found = truth(epsilon), composed(1, pair).delta(epsilon)
            assert found.lower <= exact <= found.upper
            assert found.relative_width <= 5e-16


SAMPLED = [
    FixedSize(Laplace(1.0), 0.25),
    FixedSize(Geometric(2, 3), 0.25),
    FixedSize(BoundedRange(1.0), "1/3"),
    Subsampled(Laplace(1.0), 0.25),
    Subsampled(Laplace(1.0), 0.25, removes=False),
    Subsampled(SubsampledGaussian(1.0, 1.0), 0.25),
    Subsampled(SubsampledGaussian(1.0, 1.0), 0.25, removes=False),
    Subsampled(Everything(), 0.25),
    with_replacement(lambda k: SubsampledGaussian(1.0, 4.0 / k), 5, 9, 3),
    VisibleChoice((("1/4", Laplace(1.0)), ("1/2", Geometric(2)), ("1/4", Nothing()))),
    BoundedRange(2.0),
    ReplacedGaussian(0.25, 1.0),
    Laplace(0.7),
]


@rows("pair", SAMPLED)
def test_the_closed_form_agrees_with_the_probabilities_of_losses(pair):
    """The same delta by two routes: in Arb from the formula, and in double precision from ``cells``."""
    for epsilon in (Fraction(1, 16), Fraction(1, 4), Fraction(3, 4), Fraction(5, 4)):
        low, high = delta_by_masses(pair, epsilon)
        found = composed(1, pair).delta(epsilon)
        assert found.relative_width <= 1e-15
        assert low <= found.upper
        assert found.lower <= high
        assert high - low <= 1e-11 or high == 1


def test_subsampling_one_gaussian_has_one_profile():
    """The general formula for a sampled pair, and the formula of the sampled Gaussian."""
    for removes in (True, False):
        general = composed(1, Subsampled(SubsampledGaussian(1.0, 0.5), 0.125, removes))
        own = composed(1, SubsampledGaussian(0.125, 0.5, removes))
        for epsilon in (0.0625, 0.125):
            one, two = general.delta(epsilon), own.delta(epsilon)
            assert one.lower <= two.upper
            assert two.lower <= one.upper
            assert one.relative_width <= 5e-16


def test_a_pair_without_a_closed_form_inside_has_none():
    inner = Subsampled(UnequalGaussians(1.0, 1.0, 2.0), 0.5)
    assert (inner.profile is None) == (getattr(inner.pair, "profile", None) is None)
    assert FixedSize(Laplace(1.0), 0.5).profile is not None


LARGE = {"sigma": "0.0016743", "sensitivity": "8014.29", "compositions": 40909213381}


@rows("offset", [-20, -2, 0, 2, 20])
def test_the_delta_of_a_large_mu_is_tight(offset):
    """Rounding mu to a double made this answer wide by up to one per cent."""
    with mpmath.workdps(120):
        square = number("8014.29") ** 2 * 40909213381 / number("0.0016743") ** 2
        mu = mpmath.sqrt(square)
        epsilon = int(square / 2 + offset * mu)
        exact = tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)
        found = account("gaussian", **LARGE).delta(epsilon)
        assert found.lower <= exact <= found.upper
        assert found.relative_width <= 1e-12
        back = account("gaussian", **LARGE).epsilon(Fraction("0.3"))
        assert back.relative_width <= 1e-15


def test_the_square_of_mu_survives_composition_and_groups():
    one = GaussianDP.of_square(Fraction(2))
    assert compose_gaussian(one, one).square == 4
    assert group_privacy(one, 3).square == 18
    assert compose_gaussian(GaussianDP(3), GaussianDP(4)).square == 25
    assert compose_gaussian(GaussianDP(Bound(1.0, 2.0)), one).square is None
    assert composed(3, SubsampledGaussian(1.0, 2.0)).delta(1) == GaussianDP.of_square(Fraction(3, 4)).delta(1)
    assert GaussianDP.of_square(Fraction(4)).delta(1) == GaussianDP(2).delta(1)


def test_a_square_that_is_not_that_of_mu_is_refused():
    with pytest.raises(ValueError, match=r"square \(Fraction\(5, 1\)\)"):
        GaussianDP(2, Fraction(5))


def test_the_trade_off_of_a_root_encloses_that_of_doubles():
    exact = GaussianDP.of_square(Fraction(2)).trade_off("0.1")
    wide = GaussianDP(Bound(math.nextafter(math.sqrt(2), 0), math.nextafter(math.sqrt(2), 2))).trade_off(
        "0.1"
    )
    assert wide.lower <= exact.lower
    assert exact.upper <= wide.upper


def test_sampling_every_record_keeps_outcomes_of_one_side():
    """With rate 1 the two datasets of the pair change places, and so do the outcomes that only one of them has."""
    added = Subsampled(Atoms([0, "1/2", "1/2"], ["1/4", "1/4", "1/2"]), 1.0, removes=False)
    low, high = infinite_mass([(added, 1)])
    assert low <= 0.25 <= high < 0.2501
    assert PrivacyLoss([[(added, 1)]]).epsilon("0.1").lower == math.inf
    twice = PrivacyLoss([[(added, 2)]]).delta(10**6)
    assert twice.lower <= 0.4375 <= twice.upper < 0.4376


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Laplace(Fraction(10) ** 320), "1.00000e+320"),
        (lambda: Geometric("1e-400"), "1.00000e-400"),
        (lambda: GaussianDP.of_square(Fraction(-1)), "square (-1.00000) must be at least 0"),
    ],
)
def test_numbers_beyond_doubles_are_named_in_messages(make, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        make()


def test_a_direction_that_chernoff_settles_is_not_asked_on_a_grid(monkeypatch):
    def fail(*_):
        raise AssertionError("a grid was made")

    step = SubsampledGaussian(1e-4, 0.8)
    expected = PrivacyLoss([[(step, 200_000)]]).epsilon("1e-10")
    monkeypatch.setattr(notion, "epsilon_by_grid", fail)
    monkeypatch.setattr(notion, "epsilon_by_inversion", _refusing(notion.epsilon_by_inversion, after=1))
    both = PrivacyLoss([[(step, 200_000)], [(step.reversed(), 200_000)]]).epsilon("1e-10")
    assert both == expected


def _refusing(function, after):
    """Return a function that has no answer after so many calls."""
    calls = []

    def asked(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            raise Inapplicable("no answer")
        return function(*arguments)

    return asked
