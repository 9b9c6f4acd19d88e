"""Random allocation where the bound of a known draw is the better one, and its lower bounds there."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dpproof
from dpproof.accountant.guarantees.notions import GaussianDP


def allocated(adjacency="add-remove", noise=1.0, steps=3, **given):
    return dpproof.account("allocated-sgd", adjacency=adjacency, noise_multiplier=noise, steps=steps, **given)


def test_a_lower_bound_needs_a_pair():
    """With two bands no pair is known to attain the bound of a known draw. The identity has at most two bands."""
    banded, plain = (allocated(fresh=False, bands=bands) for bands in (2, 1))
    for epsilon in (0, 1):
        assert banded.delta(epsilon).lower <= plain.delta(epsilon).upper < banded.delta(epsilon).upper
    little = allocated("replace", noise=0.05, column_norm=2.0).delta(1)
    assert (little.lower, little.upper) == (0, 1)


@pytest.mark.parametrize(
    ("adjacency", "moved"), [("add-remove", 1), pytest.param("replace", 2, marks=pytest.mark.slow)]
)
def test_a_known_draw_bounds_epsilon_at_the_smallest_delta(adjacency, moved):
    """The upper bound was infinite. One output has the density ratio 9/10 + X/10, where X is that of one Gaussian.

    So P(X > 10 t) - t Q(X > 10 t) is at most the true delta at log t. It is at least a tenth of the delta of
    X at log 10 t.
    """
    found = allocated(adjacency, steps=10).epsilon("1e-300")
    assert found.upper <= GaussianDP(moved).epsilon("1e-300").upper
    assert found.upper >= GaussianDP(1).epsilon("1e-299").lower - math.log(10)


def test_too_little_noise_is_named():
    """The message was that mu must be finite, which no caller gives."""
    with pytest.raises(ArithmeticError, match="Use more noise"):
        GaussianDP.of_square(Fraction(10) ** 620)
    with pytest.raises(ArithmeticError, match="Use more noise"):
        dpproof.account("gaussian-sparse-vector", query_sigma=1e-300, queries=10, sensitivity=1e300)
