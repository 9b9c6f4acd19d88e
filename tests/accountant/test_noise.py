"""Accountants of noise primitives: against references by other routes, and every refusal."""

import math
from fractions import Fraction

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.noise.dp_sgd import account as dp_sgd
from dpproof.accountant.noise.gaussian import GaussianParameters, mu
from dpproof.accountant.noise.gaussian import account as gaussian
from dpproof.accountant.numbers.bounds import exactly
from tests.rows import tiered

BAD = [math.nan, math.inf, -math.inf, -1.0, True, "1", None]


def true_delta(distance, epsilon):
    """The profile of a Gaussian pair, by mpmath at 80 digits."""
    with mpmath.workdps(80):
        first, second = (mpmath.ncdf(sign * distance / 2 - epsilon / distance) for sign in (1, -1))
        return first - mpmath.exp(epsilon) * second


@pytest.mark.parametrize(
    ("sigma", "compositions", "delta", "digits"),
    [
        (5.0, 1000, "1e-6", "49.319277"),
        (5.0, 1000, "1e-14", "67.732309"),
        (5.0, 1000, "1e-16", "71.361127"),
        (5.0, 1000, "1e-20", "77.964939"),
        (5.0, 1000, "1e-30", "91.934790"),
        (0.3, 100, "1e-6", "713.068417"),
        (0.3, 10_000, "1e-6", "57139.037391"),
        (0.05, 1, "1e-6", "294.171786"),
        (1e6, 10**9, "1e-6", "0.115928"),
        (100.0, 100_000, "1e-10", "24.569659"),
        (100.0, 10**6, "1e-9", "109.195597"),
        (100.0, 10_000, "1e-12", "7.238494"),
        (30.0, 10_000, "1e-12", "28.467267"),
        (1e8, 1, "1e-30", "0.000000"),
    ],
)
def test_gaussians_where_other_libraries_fail(sigma, compositions, delta, digits):
    bound = gaussian(GaussianParameters(sigma, compositions)).guarantee.epsilon(delta)
    assert f"{bound.lower:.6f}" == digits == f"{bound.upper:.6f}"
    assert bound.relative_width < 1e-12
    with mpmath.workdps(80):
        distance, target = mpmath.sqrt(compositions) / mpmath.mpf(sigma), mpmath.mpf(delta)
        assert true_delta(distance, mpmath.mpf(bound.lower)) > target
        assert true_delta(distance, mpmath.mpf(bound.upper)) <= target


@given(st.floats(1e-3, 1e8), st.integers(0, 10**7), st.floats(0, 1e6))
def test_mu_encloses_its_number(sigma, compositions, sensitivity):
    bound = mu(GaussianParameters(sigma, compositions, sensitivity))
    squared = compositions * (Fraction(sensitivity) / Fraction(sigma)) ** 2
    assert Fraction(bound.lower) ** 2 <= squared <= Fraction(bound.upper) ** 2
    assert bound.relative_width < 1e-15


def test_mu_beyond_double_precision_is_not_certified():
    with pytest.raises(ArithmeticError, match="beyond double precision"):
        gaussian(GaussianParameters(5e-324, 10**6, 1e300))


@pytest.mark.parametrize("changes", [{"compositions": 0}, {"sensitivity": 0.0}])
def test_what_releases_nothing_costs_nothing(changes):
    found = gaussian(GaussianParameters(sigma=5.0, **changes))
    for delta in ("0", "1e-30", "0.5"):
        assert found.guarantee.epsilon(delta) == exactly(0.0) == found.published.epsilon(delta)


def test_the_textbook_is_infinite_where_it_proves_nothing():
    found = gaussian(GaussianParameters(sigma=50.0, compositions=10))
    bound = found.published.epsilon("1e-6")
    exact = math.sqrt(10) / 50 * math.sqrt(2 * math.log(1.25e6))
    assert bound.lower <= exact * (1 + 1e-15)
    assert bound.upper >= exact * (1 - 1e-15)
    assert found.guarantee.epsilon("1e-6").upper < bound.lower
    assert gaussian(GaussianParameters(sigma=5.0)).published.epsilon("1e-6") == exactly(math.inf)
    assert found.published.epsilon(0) == exactly(math.inf)
    with pytest.raises(ValueError, match=r"delta \(1\) must be in \[0, 1\)"):
        found.published.epsilon(1)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_primitive_takes_any_relation_and_says_so(adjacency):
    found = gaussian(GaussianParameters(sigma=5.0, sensitivity=1.0), adjacency)
    assert found.adjacency is adjacency
    said = any(adjacency.value in note for note in found.notes)
    assert said == (adjacency is not Adjacency.BY_SENSITIVITY)


@pytest.mark.parametrize("value", [*BAD, 0.0])
@pytest.mark.parametrize(
    ("kind", "name", "others"),
    [
        (GaussianParameters, "sigma", {}),
        (DPSGDParameters, "noise_multiplier", {"sampling_rate": 0.1, "steps": 1}),
    ],
)
def test_noise_is_a_number_above_0(kind, name, others, value):
    with pytest.raises(
        ValueError, match=rf"^{name} \(.*\) must be a number (above 0|in \[0.0001, 1e\+12\])$"
    ):
        kind(**{name: value}, **others)


@pytest.mark.parametrize("value", [*BAD, 1.0, -1, 0.5])
def test_counts_are_whole_numbers(value):
    for kind, name, others in (
        (GaussianParameters, "compositions", {"sigma": 1.0}),
        (DPSGDParameters, "steps", {"sampling_rate": 0.1, "noise_multiplier": 1.0}),
    ):
        with pytest.raises(ValueError, match=rf"^{name} \(.*\) must be an integer at least 0$"):
            kind(**{name: value}, **others)


@pytest.mark.parametrize("value", [*BAD, 1.0000001])
def test_a_sampling_rate_is_a_probability(value):
    with pytest.raises(ValueError, match=r"^sampling_rate \(.*\) must be a number in \[0, 1\]$"):
        DPSGDParameters(value, 1.0, 10)


def trained(rate, noise, steps, adjacency=Adjacency.ADD_REMOVE):
    return dp_sgd(DPSGDParameters(rate, noise, steps), adjacency).guarantee


@pytest.mark.parametrize(
    ("steps", "delta", "digits"),
    [
        (1000, "1e-6", "2.12451517"),
        (10_000, "1e-6", "6.9073845"),
        (100_000, "1e-6", "27.6725977"),
        (1000, "1e-30", "9.341896"),
    ],
)
def test_training_where_the_answer_is_known(steps, delta, digits):
    bound = trained(0.01, 1.0, steps).epsilon(delta)
    places = len(digits.split(".")[1])
    assert abs(bound.lower - float(digits)) <= 10**-places
    assert 0 < bound.width <= 1e-6 * bound.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "noise", "steps"), tiered([(0.01, 1.0, 1000), (0.1, 2.0, 300), (0.5, 10.0, 1000)], fast=1)
)
def test_training_lies_between_the_ends_of_another_library(rate, noise, steps):
    ends = [
        pld.from_gaussian_mechanism(noise, sampling_prob=rate, pessimistic_estimate=side)
        .self_compose(steps)
        .get_epsilon_for_delta(1e-6)
        for side in (False, True)
    ]
    bound = trained(rate, noise, steps).epsilon("1e-6")
    assert ends[0] <= bound.upper
    assert bound.lower <= ends[1]


def test_nobody_sampled_or_nothing_run_costs_nothing():
    for found in (trained(0.0, 1.0, 1000), trained(0.3, 1.0, 0)):
        assert found.epsilon(0) == exactly(0.0) == found.delta(0)


def test_everybody_sampled_is_the_gaussian_mechanism():
    assert trained(1.0, 5.0, 1000) == gaussian(GaussianParameters(5.0, 1000)).guarantee


def test_replacing_a_user_moves_a_sum_twice_as_far():
    assert trained(1.0, 5.0, 1000, Adjacency.REPLACE) == gaussian(GaussianParameters(2.5, 1000)).guarantee
    replaced = trained(0.01, 1.0, 1000, Adjacency.REPLACE).epsilon("1e-6")
    assert 3.214 < replaced.lower <= replaced.upper < 3.215
    assert replaced.lower > trained(0.01, 1.0, 1000).epsilon("1e-6").upper


@pytest.mark.parametrize("relation", ["rewards-only", "expert", "by-sensitivity"])
def test_training_refuses_relations_without_a_proof(relation):
    with pytest.raises(UnprovedAdjacencyError, match=r"no proved guarantee for dp-sgd\. Use one of: add"):
        trained(0.1, 1.0, 10, Adjacency.of(relation))


def test_a_relation_is_required_where_there_are_users():
    with pytest.raises(ValueError, match=r"dp-sgd has no default\. Give one of: add-remove, replace$"):
        accountant_for("dp-sgd").relation(None)
    assert accountant_for("gaussian").relation("replace") is Adjacency.REPLACE
