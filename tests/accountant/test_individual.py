"""Individual accounting: two adaptive sums by quadrature, and who is admitted."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.theorems.individual import IndividualGaussianFilter


def delta_of_two(first, second, epsilon):
    """The delta of N(a, 1), then N(b(y), 1) given the first output y, against noise alone, in both directions."""

    def inner(y, removed):
        """Given y: the hockey-stick of the second step, scaled by the first densities."""
        p, q = mpmath.npdf(y, first), mpmath.npdf(y)
        b = second(y)
        log = (first * y - mpmath.mpf(first) ** 2 / 2) * (1 if removed else -1)
        p, q = (p, q) if removed else (q, p)
        left = epsilon - log  # the loss that is left for the second step
        if b == 0:
            return max(p - mpmath.exp(epsilon) * q, 0)
        return p * mpmath.ncdf(b / 2 - left / b) - mpmath.exp(epsilon) * q * mpmath.ncdf(-b / 2 - left / b)

    cuts = [-9, -3, -1, 0, 0.5, 1, 2, 4, 9]
    return max(mpmath.quad(lambda y, way=way: inner(y, way), cuts) for way in (True, False))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_the_guarantee_holds_if_the_second_contribution_depends_on_the_first_sum(epsilon):
    start = IndividualGaussianFilter(1)
    after, users = start.admit({"x": "0.6"}, 1)
    assert users == ("x",)
    rest = math.sqrt(1 - after.spent["x"])
    assert after.admit({"x": Fraction(rest)}, 1)[1] in ((), ("x",))  # the root is rounded
    bound = start.guarantee.delta(epsilon).upper
    for choice in (lambda y: rest * (y > 0.5), lambda y: rest * (y < 0.5), lambda y: rest):
        assert delta_of_two(0.6, choice, epsilon) <= bound + 1e-8
    assert delta_of_two(0.6, lambda y: 1.6 + 0 * y, epsilon) > bound * 1.01  # without the filter


def test_a_user_with_short_contributions_takes_part_longer():
    state, counts = IndividualGaussianFilter(1), {"short": 0, "long": 0}
    for _ in range(20):
        state, users = state.admit({"short": "0.25", "long": "0.5"}, "1")
        for user in users:
            counts[user] += 1
    assert counts == {"short": 16, "long": 4}
    assert all(total <= 1 for total in state.spent.values())
    with pytest.raises(ValueError, match="deviation"):
        state.admit({"short": 1}, 0)
