"""Factorised counters: sensitivity and errors against matrices, averaged subtrees, the error of all releases."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.counting.error import factorised_union_bound, from_below, full, node_variance
from dpproof.accountant.counting.matrix_counting import ACCOUNTANT, MatrixCountingParameters, account
from dpproof.accountant.counting.toeplitz import (
    Banded,
    SquareRoot,
    banded_square_root,
    errors,
    participation_norm,
    square_root_coefficient,
)
from dpproof.accountant.numbers.enclosures import arb_of, precision
from tests.rows import rows


def matrix(coefficients, leaves):
    """The lower triangular Toeplitz matrix, as rows of Fractions."""
    padded = [Fraction(c) for c in coefficients] + [Fraction(0)] * leaves
    return [[padded[i - j] if i >= j else Fraction(0) for j in range(leaves)] for i in range(leaves)]


def patterns(leaves, most, separation):
    for size in range(1, most + 1):
        for chosen in itertools.combinations(range(leaves), size):
            if all(b - a >= separation for a, b in itertools.pairwise(chosen)):
                yield chosen


def worst(coefficients, leaves, most, separation):
    rows = matrix(coefficients, leaves)
    return max(sum(sum(row[j] for j in s) ** 2 for row in rows) for s in patterns(leaves, most, separation))


def encloses(value, rational):
    with precision(200):
        return value.contains(arb_of(rational)) or value.overlaps(arb_of(rational))


@rows("leaves", [1, 2, 5, 9])
@rows(("most", "separation"), [(1, 1), (2, 1), (3, 2), (2, 4), (4, 3)])
def test_the_worst_pattern_of_the_square_root(leaves, most, separation):
    roots = [square_root_coefficient(k) for k in range(leaves)]
    for bands in {1, min(2, leaves), min(3, leaves), leaves}:
        with precision(150):
            found = participation_norm(banded_square_root(leaves, bands), most, separation)
        assert encloses(found, worst(roots[:bands], leaves, most, separation))
    with precision(150):
        found = participation_norm(SquareRoot(leaves), most, separation)
    assert encloses(found, worst(roots, leaves, most, separation))


@pytest.mark.slow
@given(st.lists(st.fractions(-3, 3, max_denominator=7), min_size=0, max_size=2), st.integers(1, 3))
def test_any_bands_up_to_the_separation(more, most):
    coefficients = (Fraction(2), *more)
    with precision(150):
        found = participation_norm(Banded(9, coefficients), most, 3)
    assert encloses(found, worst(coefficients, 9, most, 3))


def test_no_norm_without_a_proof():
    rising = Banded(9, ("1", "-0.5", "0.25"))
    with (
        precision(100),
        pytest.raises(ValueError, match=r"separation .2. must be at least the number of bands .3."),
    ):
        participation_norm(rising, 2, 2)
    assert worst(("1", "-0.5", "0.25"), 9, 2, 1) < 4  # the leftmost pattern would not be the worst
    with precision(100):
        assert encloses(participation_norm(rising, 1, 1), Fraction(21, 16))


@pytest.mark.parametrize("coefficients", [(1,), (1, "0.5"), ("2", "1", "0.75"), (1, "-0.9"), ("1", "1.5")])
def test_rows_invert_the_strategy_exactly(coefficients):
    leaves = 12
    strategy = Banded(leaves, coefficients)
    with precision(192):
        row = strategy.row().coeffs()
    exact = [Fraction(0)] * leaves  # B C = running sums: sum_j b_{k-j} c_j = 1 for every k
    cs = strategy.exact_coefficients()
    for k in range(leaves):
        known = sum(exact[k - j] * cs[j] for j in range(1, min(k + 1, len(cs))))
        exact[k] = (1 - known) / cs[0]
        assert encloses(row[k], exact[k])
        assert float(row[k].rad()) <= 1e-30 * max(1, abs(float(exact[k])))


def test_the_square_root_is_the_inverse_of_its_own_series():
    with precision(192):
        found = banded_square_root(300, 300).row().coeffs()
        for k, value in enumerate(found):
            assert value.overlaps(arb_of(square_root_coefficient(k)))


@pytest.mark.parametrize("leaves", [1, 2, 17])
def test_errors_of_the_square_root_in_rationals(leaves):
    squares = [square_root_coefficient(k) ** 2 for k in range(leaves)]
    sums = list(itertools.accumulate(squares))
    found = errors(SquareRoot(leaves))
    for bound, value in (
        (found.squared_norm, sums[-1]),
        (found.largest, sums[-1]),
        (found.mean, sum(sums) / leaves),
        (found.largest_at_mu_1, sums[-1] ** 2),
    ):
        assert Fraction(bound.lower) <= value <= Fraction(bound.upper)
        assert bound.relative_width < 1e-15


def test_the_square_root_beats_the_tree_and_follows_its_asymptote():
    """sum_{k<n} r_k^2 = (log(16 n) + gamma)/pi + O(1/n)."""
    found = errors(SquareRoot(2**14))
    asymptote = (math.log(16 * 2**14) + np.euler_gamma) / math.pi
    assert found.squared_norm.upper == pytest.approx(asymptote, abs=1e-4)
    assert found.largest_at_mu_1.upper < 15 * from_below(2**14 - 1)


def test_a_series_that_grows_cannot_be_certified():
    with precision(192), pytest.raises(ArithmeticError, match="grows too fast"):
        Banded(5000, ("1", "-3")).row()


@pytest.mark.parametrize("leaves", range(1, 18))
def test_variances_by_least_squares(leaves):
    sizes = [2**level for level in range(leaves.bit_length())]
    nodes = [(s, s + size) for size in sizes for s in range(0, leaves - size + 1, size)]
    design = np.array([[start <= i < end for i in range(leaves)] for start, end in nodes], float)
    covariance = np.linalg.inv(design.T @ design)
    for time in range(1, leaves + 1):
        prefix = np.arange(leaves) < time
        assert float(full(time, leaves)) == pytest.approx(prefix @ covariance @ prefix, rel=1e-9)
        seen = design[[end <= time for _, end in nodes]][:, :time]
        now = np.linalg.inv(seen.T @ seen)
        assert float(from_below(time)) == pytest.approx(now.sum(), rel=1e-9)


@given(st.integers(1, 10**5), st.integers(0, 10**5))
def test_more_nodes_never_hurt(time, later):
    assert full(time, time + later) <= from_below(time) <= time.bit_count()


def test_the_accountant():
    p = MatrixCountingParameters(16384, 10.0, sensitivity=1.0)
    found = account(p)
    with precision(192):
        square = participation_norm(SquareRoot(16384))
    assert found.guarantee.mu.upper == pytest.approx(math.sqrt(float(square.mid())) / 10, rel=1e-15)
    assert found.attained is not None
    signed = account(p, Adjacency.REPLACE)
    assert signed.attained is not None
    assert signed.guarantee.mu.upper == pytest.approx(2 * found.guarantee.mu.upper, rel=1e-14)
    counts = account(replace(p, contributions="nonnegative"), Adjacency.REPLACE)
    assert counts.attained is None
    assert counts.guarantee.mu.upper == pytest.approx(math.sqrt(2) * found.guarantee.mu.upper, rel=1e-14)
    assert "never less than 0" in counts.notes[0]
    with pytest.raises(UnprovedAdjacencyError, match="by-sensitivity, add-remove, replace"):
        account(p, Adjacency.EXPERT)


@pytest.mark.parametrize("most", [1, 2])
def test_replacement_is_below_its_bound(most):
    rows = matrix([square_root_coefficient(k) for k in range(7)], 7)
    sets = [(), *patterns(7, most, 1)]
    moved = max(
        sum((sum(row[j] for j in a) - sum(row[j] for j in b)) ** 2 for row in rows)
        for a in sets
        for b in sets
    )
    p = MatrixCountingParameters(7, 1.0, sensitivity=1.0, participations=most, contributions="nonnegative")
    assert moved <= Fraction(account(p, Adjacency.REPLACE).guarantee.mu.upper) ** 2


@pytest.mark.parametrize("most", [1, 2])
def test_signed_replacement_is_attained_and_not_exceeded(most):
    rows = matrix([square_root_coefficient(k) for k in range(5)], 5)
    values = [v for v in itertools.product((-1, 0, 1), repeat=5) if sum(map(abs, v)) <= most]
    moved = max(
        sum(sum(row[j] * (v[j] - u[j]) for j in range(5)) ** 2 for row in rows)
        for u in values
        for v in values
    )
    p = MatrixCountingParameters(5, 1.0, sensitivity=1.0, participations=most)
    mu = account(p, Adjacency.REPLACE).guarantee.mu
    assert Fraction(mu.lower) ** 2 <= moved <= Fraction(mu.upper) ** 2
    counts = account(replace(p, contributions="nonnegative"), Adjacency.REPLACE)
    assert moved > Fraction(counts.guarantee.mu.upper) ** 2


@pytest.mark.parametrize("relation", [Adjacency.BY_SENSITIVITY, Adjacency.REPLACE])
def test_calibration_meets_and_a_little_less_misses(relation):
    p = MatrixCountingParameters(
        1000, 1.0, sensitivity=1.0, bands=50, participations=3, separation=100, restarts=1
    )
    meets, misses = ACCOUNTANT.calibrate(p, relation, "1", "1e-6")
    assert account(meets, relation).guarantee.epsilon("1e-6").upper <= 1
    assert account(misses, relation).guarantee.epsilon("1e-6").lower > 1
    assert meets.sigma == pytest.approx(misses.sigma, rel=1e-13)
    assert account(replace(meets, restarts=3), relation).guarantee.epsilon("1e-6").lower > 1


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"leaves": 0}, "leaves"),
        ({"leaves": 2**20 + 1}, "leaves"),
        ({"sigma": math.nan}, "sigma"),
        ({"bands": 0}, "bands"),
        ({"bands": 9}, "bands"),
        ({"separation": 0}, "separation"),
        ({"participations": 1.5}, "participations"),
        ({"sensitivity": -1.0}, "sensitivity"),
    ],
)
def test_bad_parameters_are_named(values, named):
    with pytest.raises(ValueError, match=named):
        MatrixCountingParameters(**{"leaves": 8, "sigma": 1.0} | values)


@pytest.mark.parametrize("separation", [1, 2, 3, 7])
def test_a_user_of_every_leaf_costs_the_sum_of_all_columns(separation):
    coefficients = [square_root_coefficient(k) for k in range(20)]
    moved = [sum(coefficients[row - j] for j in range(0, row + 1, separation)) for row in range(20)]
    with precision(128):
        for most in (-(-20 // separation), 10**30):
            found = participation_norm(SquareRoot(20), most, separation)
            assert found.overlaps(arb_of(sum(value**2 for value in moved)))
            assert found.rel_accuracy_bits() > 100


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="index"):
        square_root_coefficient(-1)
    with pytest.raises(ValueError, match="not text"):
        Banded(3, "11")
    with pytest.raises(ValueError, match=r"sigma \(1e-308\)"):
        account(MatrixCountingParameters(4, 1e-308, sensitivity=1e308))
    with pytest.raises(ValueError, match="at most 1048576"):
        SquareRoot(2**21)
    for coefficients in ((), (0, 1), ("-1",), (math.nan,), (1,) * 9):
        with pytest.raises(ValueError, match=r"bands|coefficient"):
            Banded(8, coefficients)
    for bad in (0, 9, True, 1.0):
        with pytest.raises(ValueError, match="bands"):
            banded_square_root(8, bad)
    for bad in (0, 1.0, True):
        with precision(64), pytest.raises(ValueError, match="participations"):
            participation_norm(SquareRoot(8), bad)
    with pytest.raises(ValueError, match="level"):
        node_variance(-1)
    with pytest.raises(ValueError, match="time"):
        full(9, 8)


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
