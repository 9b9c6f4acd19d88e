"""Shuffled randomised response: every data set enumerated; the vectorised tails; the closed form."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.binomial import tail_ratio, tail_ratios
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.shuffling.clones import general_randomiser
from dpproof.accountant.shuffling.compared import ShuffledResponse, closed_form_epsilon


def law(data, k, local):
    """The law of the histogram of messages, in double precision."""
    rare = 1 / (math.exp(local) + k - 1)
    current = {(0,) * k: 1.0}
    for value in data:
        following = Counter()
        for counts, weight in current.items():
            for j in range(k):
                more = tuple(c + (i == j) for i, c in enumerate(counts))
                following[more] += weight * rare * (math.exp(local) if j == value else 1)
        current = following
    return current


def divergence(n, k, local, epsilon, others):
    one, other = law((0, *others), k, local), law((1, *others), k, local)
    return sum(max(one[x] - math.exp(epsilon) * other[x], 0.0) for x in one)


def worst(n, k, local, epsilon):
    held = itertools.combinations_with_replacement(range(k), n - 1)
    return max(divergence(n, k, local, epsilon, others) for others in held)


@pytest.mark.parametrize(
    ("n", "k", "local", "epsilon"),
    [
        (4, 3, 1, 0.3),
        (5, 3, 2, 0),
        (5, 2, 1, 0.3),
        (8, 2, 3, 1.0),
        (4, 4, 1.5, 0.4),
        (6, 3, 1, 0.1),
        (1, 3, 1, 0.5),
    ],
)
def test_both_ends_hold_against_all_data_sets(n, k, local, epsilon):
    truth = worst(n, k, local, epsilon)
    found = ShuffledResponse(n, k, local).delta(epsilon)
    assert found.lower <= truth * (1 + 1e-12)
    assert truth <= found.upper * (1 + 1e-12)
    assert found.lower > 0.8 * truth


@pytest.mark.parametrize(
    ("n", "k", "local", "epsilon"),
    [
        (4, 4, 1, 0.9),
        (5, 4, 1, 0.9),
        (5, 3, 1, 0.9),
        (3, 3, 1, 0.9),
        (6, 3, 1, 0.8),
        (4, 3, 2, 1.9),
        (5, 3, 2, 0.2),
    ],
)
def test_the_pair_that_is_named_attains_the_lower_end(n, k, local, epsilon):
    found = ShuffledResponse(n, k, local).delta(epsilon)
    held = {"0": 0, "a third value": 2}[found.attained_by.split(" holding ")[1]]
    attained = divergence(n, k, local, epsilon, (held,) * (n - 1))
    assert found.of == "mechanism"
    assert found.lower <= attained * (1 + 1e-12)
    assert found.lower > 0.8 * worst(n, k, local, epsilon)


def test_at_delta_zero_epsilon_is_the_local_one():
    found = ShuffledResponse(7, 3, "0.1").epsilon(0)
    assert Fraction(found.lower) <= Fraction(1, 10) <= Fraction(found.upper)
    assert found.upper == math.nextafter(found.lower, 1)


@pytest.mark.parametrize(("k", "local", "epsilon", "gap"), [(3, 1, "0.05", 1.03), (10, 4, "0.3", 1.04)])
def test_the_ends_are_close_for_many_users(k, local, epsilon, gap):
    found = ShuffledResponse(10_000, k, local).delta(epsilon)
    assert 0 < found.lower <= found.upper < gap * found.lower
    assert found.upper < general_randomiser(10_000, local).delta(epsilon).upper


@pytest.mark.slow
def test_epsilon_lies_between():
    view = ShuffledResponse(10_000, 3, 1)
    assert isinstance(view, Profile)
    found = view.epsilon("1e-6")
    assert view.delta(found.lower).lower > 1e-6 >= view.delta(found.upper).upper
    assert found.upper < 1.01 * found.lower


def test_vectorised_tails_are_within_their_errors():
    trials = np.array([0, 1, 2, 3, 10, 10, 1000, 1000, 10**6, 10**6, 10**6, 10**9, 10**9])
    counts = np.array([0, 0, 1, 1, 5, 0, 499, 300, 499_999, 498_000, 10_000, 499_990_000, 499_900_000])
    ratios, errors = tail_ratios(trials, counts)
    with precision(200):
        for n, k, ratio, error in zip(trials, counts, ratios, errors, strict=True):
            truth = tail_ratio(int(n), Fraction(1, 2), int(k)) if n else flint.arb(1)
            assert abs(truth - flint.arb(ratio)) <= truth * flint.arb(error)
    assert errors[7] < 1e-11
    with pytest.raises(ValueError, match="counts"):
        tail_ratios(np.array([4]), np.array([3]))


def test_the_closed_form_is_above_the_exact_value_and_stops_where_its_theorem_does():
    for users, local in ((10**4, 1), (10**4, 2), (10**6, "0.5")):
        exact = general_randomiser(users, local).epsilon("1e-6")
        assert exact.upper < closed_form_epsilon(users, local, "1e-6").lower
    with pytest.raises(ValueError, match="the theorem stops there"):
        closed_form_epsilon(10**4, 4, "1e-6")


def test_refusals():
    for bad in ((0, 3, 1), (5, 1, 1), (5, True, 1), (5, 3, -1), (5, 3, 501), (5, 3, math.nan)):
        with pytest.raises(ValueError, match=r"users|categories|local_epsilon"):
            ShuffledResponse(*bad)
