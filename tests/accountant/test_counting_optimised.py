"""The errors of a strategy against matrices, and the error of all factorised releases together."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.counting.error import factorised_union_bound
from dpproof.accountant.counting.toeplitz import Banded, SquareRoot, banded_square_root, errors
from dpproof.accountant.numbers.enclosures import arb_of, precision


def test_what_is_certified_is_the_strategy_in_matrices():
    strategy = banded_square_root(60, 5)
    c = np.array([float(x) for x in strategy.exact_coefficients()])
    matrix = sum(np.diag(np.full(60 - k, value), -k) for k, value in enumerate(c))
    rows = np.tril(np.ones((60, 60))) @ np.linalg.inv(matrix)
    variances = (rows**2).sum(axis=1)
    found = errors(strategy, 3, 5)
    assert found.largest.upper == pytest.approx(variances.max(), rel=1e-10)
    assert found.mean.upper == pytest.approx(variances.mean(), rel=1e-10)
    assert found.squared_norm.upper == pytest.approx(3 * (c @ c), rel=1e-12)


def test_one_band_is_noise_on_every_leaf():
    found = errors(banded_square_root(50, 1))
    assert (found.squared_norm.upper, found.largest.upper) == (1.0, 50.0)


@pytest.mark.parametrize("strategy", [SquareRoot(300), banded_square_root(300, 4), Banded(7, (1, "0.3"))])
@pytest.mark.parametrize("beta", ["0.05", "1e-30"])
def test_the_union_over_releases_term_by_term(strategy, beta):
    found = factorised_union_bound(strategy, "1.5", beta)
    for end, below in ((found.upper, True), (found.lower, False)):
        with precision(192):
            total, variance = flint.arb(0), flint.arb(0)
            for value in strategy.row().coeffs():
                variance += value * value * arb_of(Fraction(9, 4))
                total += (arb_of(Fraction(end)) / (2 * variance).sqrt()).erfc()
            goal = arb_of(Fraction(beta))
            assert total <= goal if below else total >= goal
    assert found.relative_width < 0.01


def test_bad_questions_are_refused():
    for sigma in (0, -1, math.nan):
        with pytest.raises(ValueError, match="sigma"):
            factorised_union_bound(SquareRoot(5), sigma, "0.1")
    for beta in (0, 2, math.inf):
        with pytest.raises(ValueError, match="beta"):
            factorised_union_bound(SquareRoot(5), 1, beta)
