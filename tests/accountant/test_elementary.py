"""Elementary functions: errors certified over whole ranges, by running their code on numbers that carry an error.

A `Rounded` number holds an enclosure of the exact values of a computation over a range of arguments, and a bound
on the rounding error of the computed ones. Truncation errors are added as remainders of alternating or geometric
series. The functions as wholes are compared with Arb at single points, too.
"""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.numbers import elementary
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.numbers.scalars import of_numbers

U = 2.0**-53
CLAIMED = 8 * U
"""4 units in the last place."""
CONSTANTS = {1 / n: Fraction(1, n) for n in (3, 5, 6, 7, 24, 120, 720, 5040)}


class Rounded:
    """An enclosure of exact values, and a bound on the error of the computed ones."""

    def __init__(self, exact, wrong=0.0):
        self.exact, self.wrong = flint.arb(exact), flint.arb(wrong)

    @classmethod
    def of(cls, value):
        if isinstance(value, Rounded):
            return value
        near = CONSTANTS.get(value, Fraction(value))
        exact = flint.arb(flint.fmpq(near.numerator, near.denominator))
        return cls(exact, abs(flint.arb(value) - exact).upper())

    def _rounded(self, exact, wrong):
        size = (abs(exact) + wrong).upper()
        return Rounded(exact, (wrong + U * size).upper())

    def __add__(self, other):
        other = Rounded.of(other)
        return self._rounded(self.exact + other.exact, self.wrong + other.wrong)

    def __sub__(self, other):
        other = Rounded.of(other)
        return self._rounded(self.exact - other.exact, self.wrong + other.wrong)

    def __mul__(self, other):
        other = Rounded.of(other)
        a, b = abs(self.exact).upper(), abs(other.exact).upper()
        wrong = a * other.wrong + b * self.wrong + self.wrong * other.wrong
        return self._rounded(self.exact * other.exact, wrong)

    def __neg__(self):
        return Rounded(-self.exact, self.wrong)

    def __rsub__(self, other):
        return Rounded.of(other) - self

    __radd__, __rmul__ = __add__, __mul__


def between(low, high):
    return flint.arb((low + high) / 2, abs(high - low) / 2 * (1 + 1e-12))


def pieces(low, high, count):
    ends = np.linspace(low, high, count + 1)
    return [between(float(a), float(b)) for a, b in itertools.pairwise(ends)]


def around_zero(reach):
    """Ranges of both signs in quarters of octaves, from 2^-70 up to ``reach``."""
    ends = [reach * 2 ** (-k / 4) for k in range(260)]
    return [between(sign * a, sign * b) for a, b in zip(ends[1:], ends[:-1], strict=True) for sign in (1, -1)]


def relative(found, exact, truncated=0.0):
    """The certified relative error of a computation whose exact values lie in ``exact``, which excludes 0."""
    error = float((found.wrong + truncated).upper() / abs(exact).lower())
    assert math.isfinite(error)
    return error


@pytest.fixture(autouse=True)
def bits():
    with precision(160):
        yield


R_EXP = math.log(2) / 4096 * (1 + 1e-9)


def rests_of_exp(kind):
    """Ranges of the reduced argument r, with its error."""
    if kind == "near":
        return [Rounded(r) for r in around_zero(R_EXP)]
    return [Rounded(r, U * 1.75e-4) for r in pieces(-R_EXP, R_EXP, 4)]


def test_exp_is_certified():
    worst = 0.0
    for j in range(2048):
        exact = flint.arb(2) ** (flint.arb(j) / 2048)
        power = Rounded(exact, abs(flint.arb(float(elementary._POWER[j])) - exact).upper())
        for r in rests_of_exp("far"):
            found = elementary.exp_sum(power, r)
            worst = max(worst, relative(found, exact * r.exact.exp(), exact * 1.01 * R_EXP**5 / 120))
    assert worst <= 3 * U


def expm1_error(m, j, kind):
    exact = flint.arb(2) ** (flint.arb(j) / 2048 + m)
    high, low = (float(table[j]) * 2.0**m for table in (elementary._POWER, elementary._POWER_LOW))
    parts = Rounded(high), Rounded(exact - high, abs(exact - high - low).upper())
    worst = 0.0
    for r in rests_of_exp(kind):
        found = elementary.expm1_sum(*parts, r)
        remainder = exact.upper() * 1.01 * abs(r.exact).upper() ** 5 / 120
        worst = max(
            worst, relative(found, exact * r.exact.exp() - 1 if kind == "far" else r.exact.expm1(), remainder)
        )
    return worst


def test_expm1_is_certified():
    """Every cell near 0, and every 16th of others. Beyond them 2^m is far above 1 or far below, and errors fall."""
    assert expm1_error(0, 0, "near") <= CLAIMED
    near = [(m, j) for m, js in ((0, range(1, 300)), (-1, range(1748, 2048))) for j in js]
    far = [(m, j) for m in (-87, -50, -2, -1, 0, 1, 2, 500, 1022) for j in range(5, 2048, 16)]
    assert max(expm1_error(m, j, "far") for m, j in near + far if (m, j) != (0, 0)) <= CLAIMED


def log_cells():
    starts = [0.70703125 + i / 1024 if i < 300 else 1 + (i - 300) / 512 for i in range(512)]
    return [(i, a, a + (1 / 1024 if i < 300 else 1 / 512)) for i, a in enumerate(starts)]


def log_error(exponent, cell, low, high):
    inverse = float(elementary._INVERSE[cell])
    exact = exponent * flint.arb.const_log2() - flint.arb(inverse).log()
    first = exponent * elementary._LN2_HIGH + float(elementary._LOG_HIGH[cell])
    second = exponent * elementary._LN2_LOW + float(elementary._LOG_LOW[cell])
    assert Fraction(first) == exponent * Fraction(elementary._LN2_HIGH) + Fraction(
        float(elementary._LOG_HIGH[cell])
    )
    wrong = abs(exact - first - second).upper()
    whole = inverse == 1 and exponent == 0
    ranges = (
        [r for r in around_zero(1 / 512) if low - 1 <= r.mid() <= high - 1]
        if whole
        else pieces(low * inverse - 1, high * inverse - 1, 4)
    )
    worst = 0.0
    for r in ranges:
        assert abs(r).upper() <= 1 / 512 + 1e-12
        argument = Rounded(r, 0.0 if inverse == 1 else U * abs(r).upper())
        found = elementary.log_sum(Rounded(first), Rounded(exact - first, wrong), argument)
        worst = max(worst, relative(found, exact + (1 + r).log(), abs(r).upper() ** 7 / 6.9))
    return worst


def test_log_is_certified():
    assert max(log_error(0, *cell) for cell in log_cells()) <= 4 * U
    for exponent in (-1075, -1, 1, 1024):
        assert max(log_error(exponent, *cell) for cell in log_cells()[::5]) <= 3 * U


R_SIN = math.pi / 128 * (1 + 1e-9)


def test_sine_and_cosine_are_certified():
    worst = 0.0
    for j in range(128):
        sine, cosine = (flint.arb(2 * j) / 128).sin_cos_pi()
        tables = zip((sine, cosine), (elementary._SINE, elementary._COSINE), strict=True)
        own, other = (
            Rounded(exact, abs(flint.arb(float(table[j])) - exact).upper()) for exact, table in tables
        )
        ranges = around_zero(R_SIN) if j in (0, 64) else pieces(-R_SIN, R_SIN, 8)
        for r in ranges:
            size = abs(r).upper()
            # What 2^-84 of the argument moves counts as an absolute error, not here.
            argument = Rounded(r, U * size)
            found = elementary.turned_sum(own, other, argument)
            remainder = abs(other.exact) * size**9 / 362880 + abs(own.exact) * size**8 / 40320
            worst = max(worst, relative(found, own.exact * r.cos() + other.exact * r.sin(), remainder))
    assert worst <= CLAIMED


def test_the_reduced_angle_has_exact_products():
    """Multiples of the first two parts of pi/64, up to the largest angle, have at most 53 bits."""
    largest = int(elementary._LARGE_ANGLE / math.pi * 64) + 1
    turns = int(elementary._FARTHEST_ANGLE / math.pi * 64 / elementary._MANY) + 1
    assert max(turns, elementary._MANY) < largest
    for part in (elementary._STEP_1, elementary._STEP_2):
        assert abs(Fraction(part)).numerator.bit_length() + largest.bit_length() <= 53
    parts = [elementary._STEP_1, elementary._STEP_2, elementary._STEP_3]
    missed = abs(sum((flint.arb(part) for part in parts), flint.arb(0)) - flint.arb.pi() / 64)
    assert largest * (float(missed.upper()) + U * abs(parts[2])) < 2.0**-84
    assert turns * elementary._MANY * (float(missed.upper()) + U * abs(parts[2])) < 2.0**-61


def test_large_angles():
    points = np.concatenate([spread(1e6, 1e13), [1e6, 1e13, -1e13]])
    for ours, reference in ((elementary.sin, flint.arb.sin), (elementary.cos, flint.arb.cos)):
        for found, x in zip(ours(points), points, strict=True):
            exact = reference(flint.arb(float(x)))
            assert abs(flint.arb(float(found)) - exact) <= CLAIMED * abs(exact) + 2.0**-60
    huge = np.array([1e300, 1e20, 2.0**1000] * 5)
    with precision(2400):
        assert (
            max(ulps(f, flint.arb(float(x)).sin()) for f, x in zip(elementary.sin(huge), huge, strict=True))
            <= 1
        )


def test_arctangents_are_certified():
    worst = 0.0
    for j in range(65):
        exact = (flint.arb(j) / 64).atan()
        high, low = float(elementary._ARC[j]), float(elementary._ARC_LOW[j])
        parts = Rounded(high), Rounded(exact - high, abs(exact - high - low).upper())
        for d in around_zero(0.0079) if j == 0 else pieces(-0.0079, 0.0079, 8):
            size = abs(d).upper()
            argument = Rounded(d, U * size if j == 0 else U * (5 * size + 2.0**-26))
            found = elementary.arc_sum(*parts, argument)
            angle = exact + d.atan()
            remainder = Rounded(found.exact, (found.wrong + size**9 / 9).upper())
            worst = max(worst, relative(remainder, angle))
            for turned in (elementary._HALF_PI, elementary._PI):
                whole = flint.arb.pi() * round(2 * turned / math.pi) / 2
                other = Rounded(whole, abs(whole - turned).upper()) - remainder
                worst = max(worst, relative(other, whole - angle))
    assert worst <= CLAIMED


def test_a_wrong_table_is_noticed(monkeypatch):
    """The same check with one entry wrong by 2e-15."""
    wrong = elementary._POWER.copy()
    wrong[5] *= 1 + 2e-15
    monkeypatch.setattr(elementary, "_POWER", wrong)
    with pytest.raises(AssertionError):
        test_exp_is_certified()


RNG = np.random.default_rng(20260)
COUNT = 3000


def spread(low, high):
    """Both signs, magnitudes log-uniform."""
    size = np.exp(RNG.uniform(math.log(low), math.log(high), COUNT))
    return size * RNG.choice([-1.0, 1.0], COUNT)


POSITIVE = np.abs(spread(1e-300, 1e300))
FUNCTIONS = {
    "arcsinh": (flint.arb.asinh, spread(1e-300, 1e300)),
    "exp": (flint.arb.exp, spread(1e-12, 700)),
    "expm1": (flint.arb.expm1, spread(1e-12, 709)),
    "log": (flint.arb.log, np.concatenate([POSITIVE, [5e-324, 1e-310]])),
    "log1p": (
        flint.arb.log1p,
        np.concatenate([POSITIVE, -np.abs(spread(1e-300, 0.999999)), [U, 2 * U, U - 1]]),
    ),
    "sin": (flint.arb.sin, spread(1e-12, 1e6)),
    "cos": (flint.arb.cos, spread(1e-12, 1e6)),
}


def ulps(found, exact):
    return abs(float((flint.arb(float(found)) - exact) / exact)) * 2.0**52


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_four_ulp(name):
    reference, points = FUNCTIONS[name]
    found = getattr(elementary, name)(points)
    assert max(ulps(f, reference(flint.arb(float(x)))) for f, x in zip(found, points, strict=True)) <= 4
    few = getattr(elementary, name)(points[:3])
    assert max(ulps(f, reference(flint.arb(float(x)))) for f, x in zip(few, points[:3], strict=True)) <= 2


def test_angle_and_length_are_within_four_ulp():
    x, y = spread(1e-9, 1e3), spread(1e-9, 1e3)
    for a, b, angle, length in zip(x, y, elementary.arctan2(y, x), elementary.hypot(x, y), strict=True):
        u, v = flint.arb(float(a)), flint.arb(float(b))
        assert ulps(angle, flint.arb.atan2(v, u)) <= 4
        assert ulps(length, (u * u + v * v).sqrt()) <= 4


EDGES = np.array(
    [-np.inf, -1000.0, -745.5, -2.0, -1.0, -0.0, 0.0, 5e-324, 1.0, 709.7, 709.8, 1e305, np.inf, np.nan]
)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
@pytest.mark.parametrize("many", [False, True])
def test_edges_are_those_of_numpy(name, many):
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(EDGES)
    given = np.repeat(EDGES, 3) if many else EDGES[:, None]
    found = (
        np.array([getattr(elementary, name)(x) for x in given]).ravel()
        if not many
        else getattr(elementary, name)(given)[::3]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=5e-324)


def test_sines_of_infinities_are_nan():
    given = np.repeat([np.inf, -np.inf, np.nan], 4)
    assert np.isnan([elementary.sin(given), elementary.cos(given)]).all()


def test_axes_of_angles_are_those_of_numpy():
    ends = [0.0, -0.0, 1.0, -1.0]
    y, x = (grid.ravel() for grid in np.meshgrid(ends, ends))
    found, expected = elementary.arctan2(y, x), np.arctan2(y, x)
    usual = (x != 0) | (y != 0)
    np.testing.assert_allclose(found[usual], expected[usual], rtol=1e-15)


def test_shapes_are_kept():
    assert elementary.exp(0).shape == ()
    assert isinstance(elementary.exp(0), float)
    assert elementary.log1p(np.ones((3, 0, 2))).shape == (3, 0, 2)
    wide = np.linspace(-1, 1, 30_000).reshape(3, 100, 100)
    np.testing.assert_allclose(elementary.exp(wide.T), np.exp(wide.T), rtol=1e-15)
    np.testing.assert_allclose(elementary.hypot(wide[:, :1], wide), np.hypot(wide[:, :1], wide), rtol=1e-15)


def test_sums_of_exponentials_and_complex_numbers():
    with np.errstate(all="ignore"):
        a, b = np.meshgrid([-np.inf, -800.0, 0.0, 1.0, 700.0], [-np.inf, -800.0, 0.0, 1.0, 700.0])
        np.testing.assert_allclose(elementary.logaddexp(a, b), np.logaddexp(a, b), rtol=1e-15)
    z = RNG.normal(size=50) + 1j * RNG.normal(size=50)
    np.testing.assert_allclose(elementary.exp_of_complex(z), np.exp(z), rtol=4e-15)
    np.testing.assert_allclose(elementary.absolute(z), np.abs(z), rtol=1e-15)
    np.testing.assert_allclose(elementary.angle(z), np.angle(z), rtol=1e-15)


def test_numbers_are_rounded_from_enclosures():
    assert of_numbers("exp")(-800) == 0.0 == of_numbers("log")(1)
    assert of_numbers("log")(10**400) == pytest.approx(400 * math.log(10), rel=1e-15)
    assert of_numbers("log")(Fraction(1, 3)) == pytest.approx(-math.log(3), rel=1e-15)
    assert of_numbers("exp")(math.inf) == math.inf
    with pytest.raises(ValueError, match="domain"):
        of_numbers("log")(0.0)
    with pytest.raises(OverflowError):
        of_numbers("exp")(1000.0)
