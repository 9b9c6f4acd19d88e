"""Implications between notions: parameters against exact fractions, profiles one below the other."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PureDP,
    gaussian_to_zcdp,
    pure_to_zcdp,
    zcdp_to_renyi,
)


@given(st.fractions(0, 1000))
def test_half_the_square(parameter):
    for rho in (gaussian_to_zcdp(GaussianDP(parameter)).rho, pure_to_zcdp(PureDP(parameter)).rho):
        assert Fraction(rho.lower) <= parameter**2 / 2 <= Fraction(rho.upper)
        assert rho.relative_width < 1e-15


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
def test_what_is_implied_is_weaker(epsilon):
    assert GaussianDP(0.8).delta(epsilon).lower <= gaussian_to_zcdp(GaussianDP(0.8)).delta(epsilon).upper
    assert PureDP(0.8).delta(epsilon).lower <= pure_to_zcdp(PureDP(0.8)).delta(epsilon).upper


def test_only_pure_privacy_implies_zcdp():
    with pytest.raises(ValueError, match=r"delta \('1e-300'\) must be 0"):
        pure_to_zcdp(ApproxDP(1, "1e-300"))


def test_zcdp_is_its_renyi_curve():
    assert zcdp_to_renyi(ZCDP("0.3")).delta(1) == ZCDP("0.3").delta(1)
