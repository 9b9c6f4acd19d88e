"""The kernel's interval operations against Arb at 300 bits: a random point inside a random input."""

from fractions import Fraction

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.kernel import arithmetic as ia
from tests.rows import rows

MAGNITUDES = st.builds(
    lambda n, d, e: Fraction(n, d) * Fraction(10) ** e,
    st.integers(-(10**12), 10**12), st.integers(1, 10**12), st.integers(-300, 30),
)  # fmt: skip
MODERATE = st.builds(Fraction, st.integers(-(10**7), 10**7), st.integers(1, 10**4))


def around(x, left, right):
    lo, hi = x - abs(left), x + abs(right)
    return ia.Interval((0, lo), (0, hi), lo > 0 or hi < 0)


def contains(interval, ball):
    """Tell whether the ball meets the interval; a point outside by more than the ball is a violation."""
    low = interval.lo[0] == -1 or bool(arb(interval.lo[1]) <= ball.upper())
    return low and (interval.hi[0] == 1 or bool(ball.lower() <= arb(interval.hi[1])))


def arb(q):
    return flint.arb(flint.fmpq(q.numerator, q.denominator))


@pytest.fixture(autouse=True)
def precision():
    with flint.ctx.workprec(300):
        yield


@settings(max_examples=150, deadline=None)
@given(MODERATE, MODERATE, MODERATE, st.sampled_from([20, 53, 80]))
def test_exp_contains_the_true_value(x, left, right, prec):
    with flint.ctx.workprec(300):
        x, left, right = x / 1000, left / 10**6, right / 10**6
        assert contains(ia.exp(around(x, left, right), prec), arb(x).exp())


@settings(max_examples=150, deadline=None)
@given(MAGNITUDES, st.integers(0, 999), st.integers(0, 999), st.sampled_from([20, 53, 80]))
def test_log_and_sqrt_contain_the_true_value(x, left, right, prec):
    x = abs(x) + Fraction(1, 10**320)
    box = around(x, x * left / 1000, x * right / 1000)
    with flint.ctx.workprec(300):
        assert contains(ia.log(box, prec), arb(x).log())
        assert contains(ia.sqrt(box, prec), arb(x).sqrt())


@settings(max_examples=150, deadline=None)
@given(MAGNITUDES, MAGNITUDES, MAGNITUDES, MAGNITUDES, st.integers(-5, 5))
def test_field_operations_contain_the_true_value(x, y, left, right, n):
    a, b = around(x, left, right), around(y, right, left)
    with flint.ctx.workprec(300):
        assert contains(ia.add(a, b, 40), arb(x + y))
        assert contains(ia.mul(a, b, 40), arb(x * y))
        if b.nz:
            assert contains(ia.inverse(b, 40), arb(1 / y))
            assert contains(ia.power(b, n, 40), arb(y**n))


@pytest.mark.parametrize("q", ["1", "1/3", "7", "123456789/1000"])
def test_functions_are_tight(q):
    x = ia.point(Fraction(q))
    for f in (ia.exp, ia.log, ia.sqrt):
        low, high, _ = f(x, 80)
        assert high[1] - low[1] <= abs(high[1]) / 2**70


def test_relative_accuracy_survives_at_tiny_values():
    tiny = ia.point(Fraction(1, 10**300))
    low, high, nz = ia.mul(ia.exp(tiny, 80), tiny, 80)
    assert nz
    assert 0 < low[1] <= high[1] <= low[1] * (1 + Fraction(1, 2**70))


def test_exact_values_stay_exact():
    assert ia.exp(ia.point(Fraction(0)), 80)[:2] == ((0, 1), (0, 1))
    assert ia.log(ia.point(Fraction(1)), 80)[:2] == ((0, 0), (0, 0))
    assert ia.sqrt(ia.point(Fraction(9, 4)), 80)[:2] == ((0, Fraction(3, 2)),) * 2


@pytest.mark.parametrize("x", ["3893924827815215/1125899906842624", "1381846513289487/70368744177664"])
def test_exp_at_points_where_other_interval_code_fails(x):
    with flint.ctx.workprec(400):
        assert contains(ia.exp(ia.point(Fraction(x)), 53), arb(Fraction(x)).exp())


def test_rays_and_poles():
    ray = ia.Interval(ia.ZERO, ia.INF, False)
    assert ia.mul(ray, ia.point(Fraction(0)), 80)[:2] == (ia.ZERO, ia.ZERO)
    assert ia.exp(ia.neg(ray, 80), 80).lo == ia.ZERO
    assert ia.exp(ia.point(Fraction(10**9)), 80).hi == ia.INF
    for f in (ia.inverse, ia.log):
        with pytest.raises(Rejected):
            f(ray, 80)
    with pytest.raises(Rejected):
        ia.sqrt(ia.point(Fraction(-1)), 80)


@settings(max_examples=200, deadline=None)
@given(MODERATE, MODERATE, st.sampled_from([20, 53, 80, 200]), st.sampled_from([1, 30, 1000]))
def test_erfc_contains_the_true_value(x, left, prec, scale):
    with flint.ctx.workprec(3000):
        x, left = x / 10**5 / scale, left / 10**9
        assert contains(ia.erfc(around(x, left, left), prec), arb(x).erfc())


@rows("x", ["-130", "-101", "-99", "-3", "0", "1/1000", "2", "9", "21/2", "20", "50", "99"])
@rows("prec", [40, 80, 300])
def test_erfc_is_as_sharp_as_it_says(x, prec):
    low, high, nonzero = ia.erfc(ia.point(Fraction(x)), prec)
    with flint.ctx.workprec(30000):
        truth = arb(Fraction(x)).erfc()
        assert arb(low[1]) <= truth <= arb(high[1])
    assert nonzero
    assert high[1] - low[1] <= high[1] / 2 ** min(prec - 8, 40)


@pytest.mark.parametrize("prec", [20, 80, 1000])
def test_pi_is_enclosed(prec):
    low, high, _ = ia.pi(prec)
    with flint.ctx.workprec(4000):
        assert arb(low[1]) < flint.arb.pi() < arb(high[1])
    assert high[1] - low[1] < Fraction(1, 2 ** (prec - 4))
