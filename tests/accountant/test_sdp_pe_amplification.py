"""Amplification bounds beside exact values: order, the equal variance, refusals."""

import math

import pytest

from accountant.shuffling.compared import amplification_bounds


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
