"""Shuffled counts and clones against enumeration, and at the extremes of their parameters.

Shuffled views and clones: against rational enumeration, Arb and the published anchors.

Shuffled views at the ends of what can be asked: against sums in mpmath with a thousand bits and more.
"""

import itertools
import math
import time
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.binomial import UNIT
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.shuffling.clones import CloneView, excess, general_randomiser
from dpproof.accountant.shuffling.peaks import _last_peak, peak
from dpproof.accountant.shuffling.view import BinomialView, fair_coins
from tests.rows import rows

CHANCES = st.fractions(min_value=0, max_value=1, max_denominator=12)
EPSILONS = st.fractions(min_value=0, max_value=4, max_denominator=8)


def laws(n, p, a, c):
    base = [Fraction(math.comb(n, k)) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    padded = [Fraction(0), *base, Fraction(0)]
    return [
        [(1 - x) * padded[k + 1] + x * padded[k] for k in range(n + 2)] for x in (Fraction(a), Fraction(c))
    ]


def sticks(one, other, scale):
    """Both hockey sticks; ``scale`` is exp(epsilon) as an Arb number."""
    value = flint.arb(0)
    total = []
    for p, q in ((one, other), (other, one)):
        value = flint.arb(0)
        for x, y in zip(p, q, strict=True):
            term = arb_of(x) - scale * arb_of(y)
            value += term if term > 0 else flint.arb(0)
        total.append(value)
    return total


@pytest.mark.slow
@given(st.integers(0, 14), CHANCES, CHANCES, CHANCES, EPSILONS)
@settings(max_examples=150, deadline=None)
def test_the_view_encloses_enumeration(n, p, a, c, epsilon):
    found = BinomialView(n, p, a, c).delta(epsilon)
    with precision(256):
        truth = sticks(*laws(n, p, a, c), arb_of(epsilon).exp())
        assert all(value.lower() <= flint.arb(found.upper) for value in truth)
        assert any(value.upper() >= flint.arb(found.lower) for value in truth)
    assert found.width <= 1e-15


@given(st.integers(0, 14), CHANCES, CHANCES, CHANCES, st.sampled_from(["0", "1e-9", "0.01", "0.2", "0.7"]))
@settings(max_examples=80, deadline=None)
def test_epsilon_is_the_inverse(n, p, a, c, delta):
    view = BinomialView(n, p, a, c)
    found = view.epsilon(delta)
    if math.isfinite(found.upper):
        with precision(256):
            truth = sticks(*laws(n, p, a, c), flint.arb(found.upper).exp())
            assert all(value.lower() <= flint.arb(delta) + flint.arb("1e-60") for value in truth)
    if 0 < found.lower < math.inf:
        below = math.nextafter(found.lower, 0) * (1 - 1e-9)
        assert view.delta(below).upper >= float(Fraction(delta))


def test_the_view_against_a_long_sum():
    n, s = 20_000, "0.05"
    with precision(200):
        p, q = ([flint.arb(0)] * (n + 2) for _ in range(2))
        term = flint.arb(1) / flint.arb(2) ** n
        for k in range(n + 1):
            p[k], q[k + 1] = term, term
            term = term * (n - k) / (k + 1)
        scale = flint.arb(s).exp()
        truth = sum((x - scale * y for x, y in zip(p, q, strict=True) if x > scale * y), flint.arb(0))
        found = BinomialView(n, "1/2").delta(s)
        assert flint.arb(found.lower) <= truth.upper()
        assert flint.arb(found.upper) >= truth.lower()
    assert found.relative_width < 1e-15


@pytest.mark.parametrize("epsilon", ["3e-4", "1e-3", "2.3e-3"])
def test_relative_accuracy_far_out_and_speed_at_a_thousand_million(epsilon):
    view = BinomialView(10**9, "1/2")
    start = time.perf_counter()
    found = view.delta(epsilon)
    assert time.perf_counter() - start < 0.5
    assert found.relative_width < 1e-14
    assert found.lower > 0


def test_anchor_of_a_million():
    found = BinomialView(10**6, Fraction(222, 2 * 10**6)).delta("0.5")
    assert 1e-7 < found.upper < 3e-7
    assert found.relative_width < 1e-14


def test_known_bad_the_wrong_direction_is_smaller():
    """The second direction alone would be too low for rare noise: both are looked at."""
    n, p = 50, Fraction(1, 50)
    with precision(128):
        one, other = sticks(*laws(n, p, 0, 1), flint.arb("0.5").exp())
    assert float(other) < BinomialView(n, p).delta("0.5").lower <= float(one) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("users", "local", "epsilon", "delta"), [(1000, 1, "0.2", 2.0598082e-7), (2000, 2, "0.8", 2.9117271e-18)]
)
def test_clones_at_the_anchors(users, local, epsilon, delta):
    found = general_randomiser(users, local).delta(epsilon)
    assert found.lower == pytest.approx(delta, rel=1e-7)
    assert found.relative_width < 1e-9


def mean_over_clones(n, local, epsilon):
    rate = (-arb_of(local)).exp()
    terms = (
        math.comb(n - 1, c) * rate**c * (1 - rate) ** (n - 1 - c) * fair_coins(c, local, epsilon)
        for c in range(n)
    )
    return sum(terms, flint.arb(0))


@given(
    st.integers(1, 60),
    st.fractions(min_value=Fraction(1, 10), max_value=8, max_denominator=10),
    st.fractions(min_value=0, max_value=Fraction(11, 10), max_denominator=10),
)
@settings(max_examples=60, deadline=None)
def test_clones_enclose_the_mean_over_their_number(n, local, part):
    epsilon = local * part
    found = general_randomiser(n, local).delta(epsilon)
    with precision(300):
        truth = mean_over_clones(n, local, epsilon)
        assert flint.arb(found.lower) <= truth.upper()
        assert flint.arb(found.upper) >= truth.lower()
    assert found.upper == 0 or found.relative_width < 1e-8


@rows("c", [0, 1, 2, 7, 40])
@rows("epsilon", ["0", "1/10", "1", "19/10"])
def test_fair_coins_against_enumeration(c, epsilon):
    local, point = Fraction(2), Fraction(epsilon)
    with precision(200):
        most = arb_of(local).exp()
        rare = 1 / (1 + most)
        coins = [flint.arb(math.comb(c, k)) / flint.arb(2) ** c for k in range(c + 1)]
        padded = [flint.arb(0), *coins, flint.arb(0)]
        total = flint.arb(0)
        for k in range(c + 2):
            one = (1 - rare) * padded[k + 1] + rare * padded[k]
            other = rare * padded[k + 1] + (1 - rare) * padded[k]
            excess = one - arb_of(point).exp() * other
            total += excess if excess > 0 else flint.arb(0)
        assert fair_coins(c, local, point).overlaps(total)


@given(st.integers(1, 3000), st.floats(0.05, 9), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_more_users_and_less_local_epsilon_are_more_private(n, local, part):
    view, larger = general_randomiser(n, local), general_randomiser(2 * n, local)
    epsilon = local * part
    assert larger.delta(epsilon).lower <= view.delta(epsilon).upper
    assert general_randomiser(n, local * 0.9).delta(epsilon).lower <= view.delta(epsilon).upper


@pytest.mark.parametrize(("local", "peer"), [(1, (0.006130, 0.006316)), (4, (0.0643, 0.0652))])
def test_a_million_users_are_below_the_peers_upper_end(local, peer):
    found = general_randomiser(10**6, local).epsilon("1e-8")
    assert peer[0] * 0.98 < found.upper < peer[1]
    assert found.relative_width < 1e-9


def test_a_deep_tail_keeps_its_relative_accuracy():
    found = general_randomiser(10**6, 4).delta("0.5")
    assert 2e-261 < found.lower < found.upper < 3e-261
    assert found.relative_width < 1e-8


def test_notions_keep_the_protocol_and_refuse_bad_input():
    for view in (BinomialView(10, "1/2"), general_randomiser(10, 1)):
        assert isinstance(view, Profile)
        for bad in (-1, math.nan, math.inf, "x"):
            with pytest.raises(ValueError, match="epsilon"):
                view.delta(bad)
        for bad in (-0.1, 1, math.nan):
            with pytest.raises(ValueError, match="delta"):
                view.epsilon(bad)
    for trials, p, a in ((-1, "1/2", 0), (3, 2, 0), (3, "1/2", -1)):
        with pytest.raises(ValueError, match=r"trials|probability|first"):
            BinomialView(trials, p, a)
    for users, local in ((0, 1), (True, 1), (5, -1), (5, math.nan)):
        with pytest.raises(ValueError, match=r"users|local_epsilon"):
            general_randomiser(users, local)
    with pytest.raises(ValueError, match="clone"):
        CloneView(5, 1, Bound(0.5, 1.5))


def test_delta_zero_asks_for_pure_privacy():
    assert BinomialView(10, "1/2").epsilon(0).upper == math.inf
    assert BinomialView(10, "1/2", "1/4", "3/4").epsilon(0).upper == pytest.approx(math.log(3))
    assert general_randomiser(10, "1.5").epsilon(0) == Bound(1.5, 1.5)


@pytest.mark.parametrize(("n", "epsilon"), [(200, "0.1"), (200, "2"), (1000, "0.01"), (11142, "0.5")])
def test_the_peaks_fall_and_lie_above_their_neighbourhood(n, epsilon):
    scale = Fraction(epsilon)
    heights = [peak(n, scale, k) for k in range(0, _last_peak(n, scale) + 1, 1 + n // 300)]
    assert all(float(x[1]) >= float(y[1]) for x, y in itertools.pairwise(heights))
    for where, height in heights[1:4]:
        for move in ("0.9", "0.99", "1.01", "1.1"):
            beside = peak_value(n, where * Fraction(move), scale, math.floor(where * n * 2))
            assert beside <= float(height) * (1 + 1e-12) or Fraction(move) < 1


def peak_value(n, p, epsilon, most):
    """The best of all lower events in one direction at p, by brute force."""
    from dpproof.accountant.numbers.binomial import lower_tail

    with precision(128):
        scale = arb_of(epsilon).exp()
        return max(
            float(lower_tail(n, p, k) - scale * lower_tail(n, p, k - 1)) for k in range(min(most, 40) + 1)
        )


def big(value):
    return mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator


def mean_over_clones_extremes(n, local, clone, epsilon):
    """E delta_C, every excess added up as it stands."""
    most, scale = mpmath.exp(big(local)), mpmath.exp(big(epsilon))
    stay, move = (most - scale) / (1 + most), (scale * most - 1) / (1 + most)
    total, chance = mpmath.mpf(0), (1 - big(clone)) ** (n - 1)
    for c in range(n):
        mass, before = mpmath.mpf(2) ** -c, mpmath.mpf(0)
        for k in range(c + 1):
            if stay * mass <= move * before:
                break
            total += chance * (stay * mass - move * before)
            mass, before = mass * (c - k) / (k + 1), mass
        chance *= big(clone) / (1 - big(clone)) * (n - 1 - c) / (c + 1)
    return total


LOCALS = [
    (Fraction(1, 10**45), Fraction(3, 10**46)),
    (Fraction(1, 10**50), Fraction(1, 2 * 10**50)),
    (Fraction(1, 3 * 10**49), Fraction(1, 7 * 10**49)),
    (Fraction(1, 10**200), Fraction(7, 10**201)),
    (Fraction(1), 1 - Fraction(1, 10**50)),
    (Fraction(2), 2 - Fraction(1, 7 * 10**49)),
    (Fraction(900), Fraction(650)),
]


@pytest.mark.parametrize(("local", "epsilon"), LOCALS)
@pytest.mark.parametrize(("n", "clone"), [(60, Fraction(1, 8)), (120, Fraction(1, 2))])
def test_clones_of_a_tiny_local_epsilon(n, clone, local, epsilon):
    with mpmath.workprec(1500):
        exact = mean_over_clones_extremes(n, local, clone, epsilon)
        found = CloneView(n, local, Bound(float(clone), float(clone))).delta(epsilon)
        assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
        assert found.upper <= max(exact * (1 + mpmath.mpf(10) ** -9), 1e-300)


@pytest.mark.parametrize("gap", [Fraction(1, 10**41), Fraction(1, 10**200), Fraction(1, 10**2000)])
def test_two_inputs_that_hardly_differ(gap):
    found = BinomialView(1000, "1/2", "0.5", Fraction(1, 2) + gap).delta(0)
    with mpmath.workprec(200):
        exact = big(gap) * mpmath.binomial(1000, 500) / mpmath.mpf(2) ** 1000
        assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
        assert found.upper <= max(exact * (1 + mpmath.mpf(10) ** -14), 5e-324)


@pytest.mark.parametrize("epsilon", [700, 1e18, 1e300, "1e9999"])
def test_epsilons_beyond_every_loss(epsilon):
    found = BinomialView(1000, "1/2").delta(epsilon)
    assert Fraction(found.lower) <= Fraction(1, 2**1000) <= Fraction(found.upper)
    assert found.upper <= 2.0**-1000 * (1 + 1e-14)
    assert BinomialView(1000, "1/2", "0.25", "0.75").delta(epsilon).upper == 0


@pytest.mark.parametrize("local", [1e-57, 1e-60, 1e-300, 1e4, 1e300])
def test_any_local_epsilon_is_answered(local):
    found = general_randomiser(1000, local).delta(0)
    assert found.relative_width < 1e-4
    with mpmath.workprec(200):
        alone = -mpmath.expm1(-big(local)) / (1 + mpmath.exp(-big(local)))
        assert found.upper <= alone * (1 + mpmath.mpf(10) ** -12)
    assert general_randomiser(1000, local).delta(local).upper == 0


@pytest.mark.parametrize("s", [1, 2, 5, 30])
def test_a_place_that_rounds_up_to_the_sum_is_charged(s):
    """Next to tilt = s the one event is N0 = s; doubles within 4 units cannot tell whether it gains."""
    slope = 1.0  # stands for any number within 4 units of it
    high = excess(s, Fraction(1, 2), (slope, 0.0))[1]
    below = 1 - Fraction(4 * UNIT)
    gain = Fraction(s) * (1 - below) / 2  # s - place at the true tilt
    chance = Fraction(1, 4**s)  # s of s messages, all of them 0
    assert Fraction(high) >= gain * chance
    assert high < 1e-12
    assert np.isfinite(high)
    assert math.isfinite(excess(s, Fraction(1, 2), (2.0, 0.0))[1])
