"""Accountants of the discrete primitives and of selection: against exact enumeration of their outcomes."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Enclosed
from dpproof.accountant.numbers.bounds import exactly
from tests.rows import rows, tiered

PRIMITIVES = {
    "laplace": {"scale": 2.0},
    "geometric": {"scale": 2.0},
    "discrete-gaussian": {"sigma": 2.0},
    "binomial": {"trials": 20},
    "randomised-response": {"randomness": 0.5},
    "exponential": {"scale": 4.0},
    "permute-and-flip": {"scale": 4.0},
}


def answer(name, **values):
    accountant = accountant_for(name)
    return accountant.account(accountant.parameters.read(values), Adjacency.BY_SENSITIVITY)


def hockey_stick(pairs, epsilon):
    """The sum of the positive parts of p - e^epsilon q, over (p, q)."""
    return mpmath.fsum(max(p - mpmath.exp(epsilon) * q, 0) for p, q in pairs)


def product(pairs, count):
    """The masses of ``count`` independent draws."""
    rows = itertools.product(pairs, repeat=count)
    return [(mpmath.fprod(p for p, _ in row), mpmath.fprod(q for _, q in row)) for row in rows]


@mpmath.workdps(40)
def geometric(scale, shift, reach=400):
    mass = [mpmath.exp(-abs(x) / mpmath.mpf(scale)) for x in range(-reach, reach + 1)]
    total = mpmath.fsum(mass)
    return [(mass[i] / total, mass[i - shift] / total) for i in range(shift, len(mass))]


@mpmath.workdps(40)
def discrete_gaussian(sigma, shift, reach=60):
    def mass(x):
        return mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2))

    total = mpmath.fsum(mass(x) for x in range(-reach, reach + 1))
    return [(mass(x) / total, mass(x - shift) / total) for x in range(-reach, reach + 1)]


@mpmath.workdps(40)
def binomial(trials):
    mass = [mpmath.mpf(math.comb(trials, x)) / 2**trials for x in range(trials + 1)]
    return list(zip([*mass, 0], [0, *mass], strict=True))


@mpmath.workdps(40)
def response(randomness, categories):
    other = mpmath.mpf(randomness) / categories
    truth = 1 - mpmath.mpf(randomness) + other
    return [(truth, other), (other, truth), *[(other, other)] * (categories - 2)]


def range_profile(length, epsilon):
    return (mpmath.exp(length / 2) - mpmath.exp(epsilon / 2)) ** 2 / (mpmath.exp(length) - 1)


@pytest.mark.slow
@rows("epsilon", [0.05, 0.25, 0.45])
@rows(
    ("name", "values", "pairs", "count"),
    [
        ("geometric", {"scale": 2.0}, geometric(2, 1), 1),
        ("geometric", {"scale": 3.5, "sensitivity": 3}, geometric(3.5, 3), 1),
        ("discrete-gaussian", {"sigma": 2.0}, discrete_gaussian(2, 1), 1),
        ("discrete-gaussian", {"sigma": 2.0, "compositions": 2}, discrete_gaussian(2, 1, 25), 2),
        ("discrete-gaussian", {"sigma": 5.0, "sensitivity": 2}, discrete_gaussian(5, 2), 1),
        ("binomial", {"trials": 20}, binomial(20), 1),
        ("binomial", {"trials": 20, "compositions": 2}, binomial(20), 2),
        ("randomised-response", {"randomness": 0.5}, response(0.5, 2), 1),
        ("randomised-response", {"randomness": 0.75, "compositions": 7}, response(0.75, 2), 7),
        ("randomised-response", {"randomness": 0.5, "categories": 4, "compositions": 5}, response(0.5, 4), 5),
    ],
)
def test_the_profile_is_that_of_its_outcomes(name, values, pairs, count, epsilon):
    with mpmath.workdps(40):
        truth = hockey_stick(product(pairs, count), mpmath.mpf(epsilon))
        bound = answer(name, **values).guarantee.delta(epsilon)
        assert bound.lower <= truth * (1 + mpmath.mpf(10) ** -25)
        assert bound.upper >= truth * (1 - mpmath.mpf(10) ** -25)
    assert bound.relative_width <= 1e-2


@pytest.mark.parametrize("sensitivity", [1.0, 3.0, 0.1])
def test_one_laplace_answer_has_its_closed_form(sensitivity):
    found = answer("laplace", scale=2.0, sensitivity=sensitivity)
    most = Fraction(sensitivity) / 2
    for part in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
        with mpmath.workdps(40):
            gap = (most - part * most) / 2
            truth = -mpmath.expm1(-mpmath.mpf(gap.numerator) / gap.denominator)
            bound = found.guarantee.delta(part * most)
            assert bound.lower <= truth <= bound.upper
    assert found.guarantee.delta(most) == exactly(0.0)
    assert Fraction(found.guarantee.epsilon(0).lower) <= most <= Fraction(found.guarantee.epsilon(0).upper)


@pytest.mark.parametrize("monotone", [False, True])
def test_one_choice_has_the_profile_of_its_range(monotone):
    found = answer("exponential", scale=4.0, monotone=monotone).guarantee
    length = 0.25 if monotone else 0.5
    for epsilon in (0.0, 0.1, 0.2):
        with mpmath.workdps(40):
            truth = range_profile(mpmath.mpf(length), mpmath.mpf(epsilon))
            bound = found.delta(epsilon)
            assert bound.lower <= truth <= bound.upper
            assert bound.width <= 1e-6


@pytest.mark.parametrize("name", PRIMITIVES)
def test_nothing_released_costs_nothing(name):
    assert answer(name, **PRIMITIVES[name], compositions=0).guarantee.epsilon(0) == exactly(0.0)


@pytest.mark.parametrize("name", ["laplace", "exponential", "permute-and-flip"])
def test_what_nobody_moves_costs_nothing(name):
    assert answer(name, **PRIMITIVES[name], sensitivity=0.0).guarantee.epsilon(0) == exactly(0.0)


def test_answers_that_are_always_random_cost_nothing():
    assert answer("randomised-response", randomness=1.0).guarantee.epsilon(0) == exactly(0.0)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_pair_is_named_only_where_one_attains_the_guarantee(name):
    found = answer(name, **PRIMITIVES[name])
    chosen = name in ("exponential", "permute-and-flip")
    assert (found.attained is None) == chosen
    assert found.adjacency is Adjacency.BY_SENSITIVITY


@rows("name", PRIMITIVES)
@rows("value", [math.nan, math.inf, -1.0, 0, True, "1", None])
def test_noise_out_of_its_domain_is_refused_by_name(name, value):
    accountant = accountant_for(name)
    with pytest.raises(ValueError, match=rf"^{accountant.noise} \(.*\) must be"):
        accountant.parameters.read({accountant.noise: value})


@pytest.mark.parametrize("name", tiered(["laplace", "exponential"], fast=2))
def test_calibration_meets_the_target_and_a_little_less_does_not(name):
    accountant = accountant_for(name)
    start = accountant.parameters.read({**PRIMITIVES[name], "compositions": 20})
    meets, misses = accountant.least_noise(start, Adjacency.BY_SENSITIVITY, 1, "1e-6")
    ends = [accountant.account(p, Adjacency.BY_SENSITIVITY).guarantee.delta(1) for p in (meets, misses)]
    assert ends[0].upper <= 1e-6 < ends[1].lower
    assert 0 < meets.scale - misses.scale <= 1e-5 * meets.scale


def test_a_bounded_loss_is_exact_at_its_end():
    found = BoundedLoss(Fraction(1, 3), PureDP(Fraction(1, 3)))
    assert found.delta("1/3") == exactly(0.0)
    assert found.delta("1/4").upper > 0
    assert found.epsilon("1/100").upper <= found.epsilon(0).upper
    with pytest.raises(ValueError, match="delta"):
        found.epsilon(1)


def test_a_guarantee_between_two_others_is_enclosed_by_them():
    found = Enclosed(PureDP(1), PureDP(2))
    assert (found.epsilon(0).lower, found.epsilon(0).upper) == (1.0, 2.0)
    assert found.delta(0).lower == PureDP(1).delta(0).lower
    assert found.delta(0).upper == PureDP(2).delta(0).upper
