"""Group privacy against brute force over randomised response on a chain, and the notions' closed forms."""

import itertools
import math
from fractions import Fraction

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import BestOf, Profile
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.renyi.subsampled_gaussian import subsampled_gaussian_renyi
from dpproof.accountant.theorems.group_privacy import GroupProfile, group_privacy
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal
from tests.accountant.renyi_curves import laplace_renyi, pure_renyi
from tests.rows import rows

DIGITS = mpmath.MPContext()
DIGITS.dps = 50


def responses(own, records, epsilon):
    """delta(epsilon) of ``records`` answers of randomised response, all turned: brute force over outcomes."""
    p = 1 / (1 + DIGITS.exp(-DIGITS.mpf(own)))
    total = DIGITS.mpf(0)
    for outcome in itertools.product((0, 1), repeat=records):
        ones = sum(outcome)
        first = p**ones * (1 - p) ** (records - ones)
        second = p ** (records - ones) * (1 - p) ** ones
        total += max(first - DIGITS.exp(DIGITS.mpf(epsilon)) * second, 0)
    return total


@pytest.mark.slow
@rows("records", [1, 2, 3, 5])
@rows("share", ["0", "0.3", "0.9", "1", "1.2"])
@rows("own", ["0.1", "1", "3"])
def test_never_below_answers_that_all_change(own, share, records):
    """Each answer is own-DP for its record; a user with ``records`` of them changes all."""
    epsilon = Fraction(own) * records * Fraction(share)
    true = responses(own, records, DIGITS.mpf(epsilon.numerator) / epsilon.denominator)
    for one in (PureDP(own), pure_renyi(own)):
        assert true <= group_privacy(one, records).delta(epsilon).upper + DIGITS.mpf(10) ** -30
    assert true <= GroupProfile(PureDP(own), records).delta(epsilon).upper + DIGITS.mpf(10) ** -30


@settings(max_examples=12, deadline=None)
@given(st.floats(0.02, 2.0), st.integers(2, 6), st.floats(0.0, 5.0))
def test_the_profile_along_the_chain_is_exact_for_gaussians(mu, records, deviations):
    whole = mu * records
    epsilon = whole * whole / 2 + (deviations - 1) * whole
    epsilon = max(epsilon, 0.0)
    exact = GaussianDP(Fraction(mu) * records).delta(epsilon)
    found = GroupProfile(GaussianDP(mu), records).delta(epsilon)
    assert exact.lower <= found.upper
    assert found.lower <= exact.upper
    assert found.upper <= exact.upper * (1 + 1e-6)
    if whole <= 4:  # the lower end reads trade-off functions as doubles, at k places
        assert found.lower >= exact.lower - 1e-6


def test_epsilon_of_the_chain():
    found = GroupProfile(GaussianDP("0.5"), 2).epsilon("1e-6")
    exact = GaussianDP(1).epsilon("1e-6")
    assert exact.lower <= found.upper <= exact.upper * (1 + 1e-8)
    assert found.lower <= exact.upper
    assert found.relative_width < 1e-5
    assert GroupProfile(GaussianDP("0.5"), 2).epsilon(0).upper == math.inf
    assert GroupProfile(PureDP("0.5"), 2).epsilon(0).upper == 1


def test_the_chain_is_no_worse_than_the_theorem_for_approximate_privacy():
    one = ApproxDP(1, "1e-3")
    for epsilon in (0, 1, 2, 3):
        theorem = group_privacy(one, 3).delta(epsilon).upper
        assert GroupProfile(one, 3).delta(epsilon).upper <= theorem * (1 + 1e-9)


def test_closed_forms():
    assert group_privacy(PureDP("0.5"), 4).epsilon(0).upper == 2
    assert group_privacy(ZCDP("0.5"), 3).rho.upper == 4.5
    assert group_privacy(GaussianDP(2), 3).mu.upper == 6
    approximate = group_privacy(ApproxDP(1, "1e-6"), 3)
    true = DIGITS.mpf("1e-6") * (DIGITS.exp(3) - 1) / (DIGITS.e - 1)
    delta = approximate.delta_parameter
    assert delta.lower <= true <= delta.upper < true * (1 + DIGITS.mpf(10) ** -14)
    assert group_privacy(ApproxDP(0, "0.1"), 4).delta(0).contains(0.4)
    assert group_privacy(ApproxDP(1, "0.5"), 9).delta(0).upper == 1


@pytest.mark.parametrize("records", [2, 5])
@pytest.mark.parametrize("order", ["1.01", "2", "7.5"])
def test_a_linear_curve_gives_the_square_of_the_records(order, records):
    curve = group_privacy(RenyiDP(lambda a: a / 3), records).curve
    with precision(200):
        a = arb_of(Fraction(order))
        assert abs(curve(a) - records**2 * a / 3) < flint.arb(2) ** -150


@pytest.mark.parametrize("records", [2, 4])
@pytest.mark.parametrize("own", ["0.2", "2"])
def test_the_renyi_chain_is_above_the_divergence_of_all_answers_turned(own, records):
    """D_order adds over independent answers: the true value for a user whose answers all change."""
    group, one = group_privacy(pure_renyi(own), records).routes[0], pure_renyi(own)
    with precision(200):
        for order in group.orders.listed[::9]:
            assert records * one.curve(arb_of(order)) <= group.curve(arb_of(order)) + flint.arb(2) ** -150


def test_orders_of_the_group_are_those_whose_links_are_known():
    listed = RenyiDP(lambda a: a, Orders(listed=tuple(Fraction(k) for k in range(2, 12))))
    assert group_privacy(listed, 2).orders.listed == tuple(1 + Fraction(k, 2) for k in range(1, 10))
    short = RenyiDP(lambda a: a, Orders(below=Fraction(5)))
    assert all(2 * order < 5 for order in group_privacy(short, 2).orders.listed)
    with pytest.raises(ValueError, match=r"^records \(5\) is too large"):
        group_privacy(short, 5)


def test_dp_sgd_for_two_records_costs_more_than_for_one():
    one = subsampled_gaussian_renyi("0.01", 1, 100)
    assert group_privacy(one, 2).delta(2).upper > one.delta(2).upper


def test_other_guarantees_go_along_the_chain():
    class Wrapped(Profile):
        def _delta_at(self, point):
            return GaussianDP("0.5").delta(point)

        def _epsilon_at(self, target):
            return GaussianDP("0.5").epsilon(target)

    found = group_privacy(Wrapped(), 2)
    assert isinstance(found, GroupProfile)
    assert isinstance(found, Profile)
    assert GaussianDP(1).delta(1).lower <= found.delta(1).upper
    assert found.delta(1).relative_width < 1e-5


@pytest.mark.parametrize("records", [0, -1, 1.5, True, "2", math.nan])
def test_a_wrong_number_of_records_is_refused(records):
    with pytest.raises(ValueError, match=r"^records \(.*\) must be an integer at least 1"):
        group_privacy(GaussianDP(1), records)


def test_one_record_is_the_guarantee_itself():
    one = GaussianDP(1)
    assert group_privacy(one, 1) is one


@pytest.mark.parametrize("wrong", [math.nan, -1, math.inf, "x"])
def test_wrong_questions_are_refused(wrong):
    group = GroupProfile(GaussianDP(1), 2)
    with pytest.raises(ValueError, match=r"^epsilon \("):
        group.delta(wrong)
    with pytest.raises(ValueError, match=r"^delta \("):
        group.epsilon(wrong)


@pytest.mark.parametrize(("epsilon", "true"), [("1", 0.22351), ("2", 0.0597425), ("3", 0.0074290)])
def test_splits_find_the_kinks_of_a_profile_on_a_lattice(epsilon, true):
    """Ten coins of 0.1, four records: the numbers are G composed four times, on a fine grid of slopes."""
    found = GroupProfile(compose_approx_optimal([(ApproxDP("0.1", 0), 10)]), 4).delta(epsilon)
    assert found.lower <= true * (1 + 1e-3)
    assert true * (1 - 1e-3) <= found.upper <= true * (1 + 1e-3)


def test_a_pure_group_is_never_above_its_records_times_epsilon():
    group = group_privacy(laplace_renyi(1), 3)
    assert group.epsilon("1e-12").upper <= 3
    assert group.epsilon(0).upper == 3
    assert group.delta(3).upper == 0


def test_the_chain_asks_for_few_deltas():
    class Counted(Profile):
        asked = 0

        def _delta_at(self, point):
            Counted.asked += 1
            return GaussianDP("0.5").delta(point)

        def _epsilon_at(self, target):
            return GaussianDP("0.5").epsilon(target)

    GroupProfile(Counted(), 3).delta(1)
    assert Counted.asked < 250


@pytest.mark.parametrize("mu", ["0.01", "0.1"])
def test_targets_just_below_delta_at_zero_are_answered(mu):
    """The split at epsilon 0 is refined by the search itself, which then ends there."""
    found = group_privacy(BestOf((GaussianDP(mu), PureDP(1))), 2)
    for beside in (1e-9, 1e-11, 1e-12):
        target = found.delta(0).upper * (1 - beside)
        end = found.epsilon(target)
        with mpmath.workdps(40):
            half = mpmath.mpf(mu) / mpmath.sqrt(2)  # delta of mu' = 2 mu at 0 is erf(mu'/(2 sqrt 2))
            truth = mpmath.erf(half)
            assert end.upper > 0 or truth <= target
        assert end.lower <= end.upper <= 1e-3
