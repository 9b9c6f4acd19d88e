"""Amplification bounds beside exact values: order, the equal variance, refusals."""

import math

import pytest

from dpproof.accountant.shuffling import clones
from dpproof.accountant.shuffling.clones import general_randomiser
from dpproof.accountant.shuffling.compared import ShuffledResponse, amplification_bounds


@pytest.mark.parametrize(("users", "local"), [(10_000, 1), (10_000, 2), (278_566, 4)])
def test_the_routes_stand_in_order(users, local):
    found = amplification_bounds(users, local, "1e-6")
    assert found.exact.lower <= found.exact.upper
    assert found.closed_form is not None
    assert found.exact.upper < found.closed_form.lower


@pytest.mark.parametrize(("users", "local"), [(1000, 0.3), (10_000, 1), (10_000, 3)])
def test_the_noise_has_no_more_variance_than_the_flips(users, local):
    """With whole fair bits up to one bit a user less."""
    found = amplification_bounds(users, local, "1e-6")
    flip = 1 / (1 + math.exp(local))
    flips = users * flip * (1 - flip) / (1 - 2 * flip) ** 2
    half = found.threshold / 2
    noise = half / 2 if flips >= users / 4 else half * (1 - half / users)
    assert flips - users / 4 <= noise <= flips * (1 + 1e-9)


def test_outside_the_hypothesis_there_is_no_closed_form():
    assert amplification_bounds(100, 3, "1e-6").closed_form is None


def test_refusals():
    with pytest.raises(ValueError, match="local_epsilon"):
        amplification_bounds(100, 0, "1e-6")
    for delta in (0, 1, -1):
        with pytest.raises(ValueError, match="delta"):
            amplification_bounds(100, 1, delta)
    with pytest.raises(ValueError, match="users"):
        amplification_bounds(0, 1, "1e-6")


def test_an_epsilon_takes_few_sums_over_the_number_of_clones(monkeypatch):
    """These sums are what takes time; their epsilon is that of a search without them."""
    asked = []

    def counted(*arguments):
        asked.append(arguments)
        return steps(*arguments)

    steps = clones._steps
    monkeypatch.setattr(clones, "_steps", counted)
    response = ShuffledResponse(3 * 10**6, 2, 1)
    found = response.epsilon("1e-6")
    assert 5 < len(asked) < 60
    low, high = response.delta(found.upper * (1 - 1e-9)), response.delta(found.upper)
    assert low.upper > 1e-6 >= high.upper


def test_of_two_categories_the_own_clones_are_never_worse_than_those_of_any_randomiser():
    for users, local, epsilon in [
        (100, 1, "0.2"),
        (1000, "0.01", "0.0001"),
        (50, 5, "1.5"),
        (3000, 3, "0.1"),
    ]:
        own = ShuffledResponse(users, 2, local).delta(epsilon).upper
        assert own <= general_randomiser(users, local).delta(epsilon).upper * (1 + 1e-12)
