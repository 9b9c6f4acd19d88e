"""Shuffled views at the ends of what can be asked: against sums in mpmath with a thousand bits and more."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.numbers.binomial import UNIT
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.shuffling.clones import CloneView, excess, general_randomiser
from dpproof.accountant.shuffling.view import BinomialView


def big(value):
    return mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator


def mean_over_clones(n, local, clone, epsilon):
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
        exact = mean_over_clones(n, local, clone, epsilon)
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
