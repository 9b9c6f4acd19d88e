"""The errors of a tree: sums of noise, the union over all releases, and the largest error of a run.

Errors of releases: Laplace sums by quadrature of the characteristic function, unions by enumeration.

The largest error over all releases: by quadrature on Gauss-Legendre nodes, and by sampling the tree.
"""

import itertools
import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from scipy import special

from dpproof.accountant.counting.error import (
    _union,
    union_bound,
)
from dpproof.accountant.counting.maximum import maximum_error_bound, maximum_error_probability
from dpproof.accountant.counting.noise import GaussianNoise, LaplaceNoise, laplace_sum_tail
from dpproof.accountant.counting.tree import releases_by_size
from dpproof.accountant.numbers.enclosures import arb_of, precision
from tests.rows import rows, tiered

DIGITS = mpmath.MPContext()
DIGITS.dps = 40


def by_characteristic_function(terms, point):
    """P(S > x) = 1/2 - (1/pi) int_0^inf sin(t x)/(t (1 + t^2)^m) dt, by Arb's certified quadrature."""
    with precision(200):
        x = flint.acb(arb_of(Fraction(point)))
        cut = 2**14  # beyond it the integrand is below t^(-2m-1)

        def integrand(t, analytic):
            return _sinc(t, x, terms)

        value = flint.acb.integral(integrand, 0, cut, rel_tol=2.0**-100, eval_limit=10**7).real
        rest = flint.arb(cut) ** (-2 * terms) / (2 * terms)
        return flint.arb(1) / 2 - (value + flint.arb(0, 1) * rest) / flint.arb.pi()


def _sinc(t, x, terms):
    return x * (t * x).sinc() / (1 + t * t) ** terms


@pytest.mark.parametrize("terms", [4, 7, 15])
@pytest.mark.parametrize("point", [0.25, 3, 11.5])
def test_the_tail_against_the_characteristic_function(terms, point):
    ours, theirs = laplace_sum_tail(terms, Fraction(point)), by_characteristic_function(terms, point)
    assert ours.overlaps(theirs)
    assert float(theirs.rad()) < 1e-30


@pytest.mark.parametrize("terms", tiered([1, 2, 5, 15, 40], fast=2))
@rows("point", [0.5, 40, 300, 690])
def test_the_tail_against_the_bessel_density(terms, point):
    """The density of the sum is |x|^(m-1/2) K_{m-1/2}(|x|) / (sqrt(pi) 2^(m-1/2) (m-1)!)."""
    half = DIGITS.mpf(terms) - DIGITS.mpf(1) / 2
    norm = DIGITS.sqrt(DIGITS.pi) * 2**half * DIGITS.factorial(terms - 1)
    scale = DIGITS.besselk(half, point) * DIGITS.mpf(point) ** half
    spans = [point, point + 1, point + 5, point + 20, point + 100, point + 400]
    integral = DIGITS.quad(lambda x: x**half * DIGITS.besselk(half, x) / scale, spans)
    expected = integral * scale / norm
    ours = laplace_sum_tail(terms, Fraction(point))
    with precision(300):
        assert abs(DIGITS.mpf(ours.mid().str(30, radius=False)) / expected - 1) < 1e-18


@pytest.mark.parametrize("terms", [1, 15, 20_000])
def test_symmetric_and_half_at_zero(terms):
    assert laplace_sum_tail(terms, Fraction(0)).overlaps(flint.arb(1) / 2)
    with precision(100):
        total = laplace_sum_tail(terms, Fraction(3)) + laplace_sum_tail(terms, Fraction(-3))
        assert total.overlaps(flint.arb(1))


def test_tails_far_below_the_smallest_double():
    found = laplace_sum_tail(15, Fraction(2000))
    assert found.rel_accuracy_bits() >= 64
    assert found < flint.arb(10) ** -800


@pytest.mark.parametrize("noise", [LaplaceNoise(2), GaussianNoise(3)])
@pytest.mark.parametrize("leaves", [1, 2, 6, 37, 64])
def test_the_union_is_the_sum_over_all_times(noise, leaves):
    with precision(128):
        tails = [2 * noise.tail(time.bit_count(), Fraction(9)) for time in range(1, leaves + 1)]
        total = sum(tails, flint.arb(0))
        found = _union(releases_by_size(leaves), noise, Fraction(9))
    assert found.overlaps(total)
    assert found.rel_accuracy_bits() > 100


@pytest.mark.parametrize("noise", [LaplaceNoise(15), GaussianNoise(10)])
@pytest.mark.parametrize("beta", ["0.5", "1e-6", "1e-300"])
def test_the_union_bound_is_the_least(noise, beta):
    found = union_bound(16384, noise, beta)
    with precision(192):
        low, high = (
            _union(releases_by_size(16384), noise, Fraction(end)) for end in (found.lower, found.upper)
        )
        assert high <= arb_of(Fraction(beta)) < low
    assert found.relative_width < 1e-13


def test_noise_of_any_size():
    small, large = LaplaceNoise("1e-200"), GaussianNoise("1e200")
    assert union_bound(100, small, "1e-6").upper == pytest.approx(
        1e-200 * union_bound(100, LaplaceNoise(1), "1e-6").upper, rel=1e-12
    )
    assert math.isfinite(union_bound(100, large, "1e-6").upper)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", True])
def test_bad_noise_is_refused(bad):
    with pytest.raises(ValueError, match="sigma"):
        GaussianNoise(bad)
    with pytest.raises(ValueError, match="scale"):
        LaplaceNoise(bad)


def test_bad_questions_are_refused():
    noise = LaplaceNoise(1)
    for beta in (0, -1, 1.5, math.nan):
        with pytest.raises(ValueError, match="beta"):
            union_bound(8, noise, beta)
    with pytest.raises(ValueError, match="leaves"):
        union_bound(0, noise, "0.1")


@pytest.mark.slow
def test_samples_agree_at_alpha_1e_6():
    """400,000 sums: a binomial count within its exact two-sided bound at alpha = 1e-6, by Bernstein."""
    generator, runs, wrong = np.random.default_rng(7), 400_000, 1.1
    for terms, point in itertools.product((3, 14), (2.0, 12.0)):
        sums = generator.laplace(size=(runs, terms)).sum(axis=1)
        p = float(laplace_sum_tail(terms, Fraction(point)).mid())
        share = float((sums > point).mean())
        log = math.log(2 / 1e-6)
        room = math.sqrt(2 * p * log / runs) + log / (3 * runs)
        assert abs(share - p) <= room
    p = wrong * float(laplace_sum_tail(3, Fraction(2)).mid())
    shares = float((generator.laplace(size=(runs, 3)).sum(axis=1) > 2).mean())
    assert abs(shares - p) > math.sqrt(2 * p * log / runs) + log / (3 * runs)  # known to be wrong


def gaussian_by_quadrature(leaves, x):
    """The same recursion for p = 1 - r on 200 nodes: spectrally exact for smooth noise, not certified."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    nodes, weights = nodes * x, weights * x
    points = np.append(nodes, 0.0)
    kernel = np.exp(-((points[:, None] - nodes[None, :]) ** 2) / 2) / math.sqrt(2 * math.pi) * weights
    full, partial, times = np.ones(201), None, leaves + 1
    for level in range(times.bit_length()):
        if times >> level & 1:
            partial = full if partial is None else full * (kernel @ partial[:-1])
        full = full * (kernel @ full[:-1])
    return 1 - partial[-1]


def by_union(leaves, noise, x):
    with precision(128):
        return float(_union(releases_by_size(leaves), noise, Fraction(x)).mid())


@pytest.mark.slow
@pytest.mark.parametrize("leaves", tiered([1, 2, 3, 5, 37, 64, 1000], fast=3))
@rows("x", [1.0, 4.0, 9.5])
def test_gaussian_maximum_by_quadrature(leaves, x):
    found, reference = (
        maximum_error_probability(leaves, GaussianNoise(1), x),
        gaussian_by_quadrature(leaves, x),
    )
    assert found.lower <= reference + 1e-12
    assert found.upper >= reference - 1e-12
    assert found.upper <= min(by_union(leaves, GaussianNoise(1), x) * 1.03, 1)


@pytest.mark.parametrize("noise", [GaussianNoise(2), LaplaceNoise(2)])
@pytest.mark.parametrize("x", [1, 10, 60])
def test_one_and_two_releases_are_independent_nodes(noise, x):
    p = 2 * noise.tail(1, Fraction(x))
    for leaves, exact in ((1, p), (2, 2 * p - p * p)):
        found = maximum_error_probability(leaves, noise, x, cells=64)
        assert found.lower <= float(exact.mid()) * (1 + 1e-13)
        assert found.upper >= float(exact.mid()) * (1 - 1e-13)
        assert found.relative_width < 1e-9


def test_three_laplace_releases_by_hand():
    """Times 2 and 3 share a node Z, time 1 has its own: P(|Z| <= x, |Z + Y| <= x) by direct integration."""
    x = 3.0
    inside = 1 - math.exp(-x)  # P(|Z| <= x)
    # E[1{|Z| <= x} P(|Z + Y| > x | Z)] = int_{-x}^{x} e^-|z|/2 (e^-(x-z) + e^-(x+z))/2 dz
    leaving = math.exp(-x) / 2 * (x + (1 - math.exp(-2 * x)) / 2)
    exact = 1 - inside * (inside - leaving)
    found = maximum_error_probability(3, LaplaceNoise(1), x)
    assert found.lower <= exact <= found.upper
    assert found.relative_width < 1e-3


@pytest.mark.parametrize("noise", [GaussianNoise(1), LaplaceNoise(1)])
@pytest.mark.parametrize(("leaves", "beta"), [(5, "0.1"), (1000, "0.01"), (20000, "1e-30")])
def test_the_quantile_is_below_the_union_bound_and_tight(noise, leaves, beta):
    found, union = maximum_error_bound(leaves, noise, beta, cells=512), union_bound(leaves, noise, beta)
    assert found.upper <= union.upper
    assert found.relative_width < 0.03
    low = maximum_error_probability(leaves, noise, found.lower, cells=512)
    assert low.upper > float(beta)
    assert maximum_error_probability(leaves, noise, found.upper * 1.02, cells=512).lower <= float(beta)


def test_more_cells_are_tighter_and_nested_around_the_truth():
    coarse, fine = (maximum_error_probability(100, LaplaceNoise(1), 12, cells=n) for n in (64, 1024))
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    assert maximum_error_bound(100, LaplaceNoise(1), "0.5", cells=2).upper > 0


def test_bad_questions_are_refused_maximum():
    noise = LaplaceNoise(1)
    for error in (0, -1, math.nan):
        with pytest.raises(ValueError, match="error"):
            maximum_error_probability(8, noise, error)
    for beta in (0, 1, -1, math.inf):
        with pytest.raises(ValueError, match="beta"):
            maximum_error_bound(8, noise, beta)
    for cells in (1, 0, 2.0, True):
        with pytest.raises(ValueError, match="cells"):
            maximum_error_bound(8, noise, "0.1", cells)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_sampled_trees_agree_at_alpha_1e_6(kind):
    """40,000 trees of 37 leaves against the enclosure, with Bernstein's bound at alpha = 1e-6."""
    generator, runs, leaves, x = np.random.default_rng(11), 40_000, 37, 7.0
    errors = np.zeros((runs, leaves + 1))
    for level in range(leaves.bit_length()):
        for start in range(0, leaves - 2**level + 1, 2 ** (level + 1)):
            node = getattr(generator, kind)(size=(runs, 1))
            errors[:, start + 2**level : start + 2 ** (level + 1)] += node
    share = float((np.abs(errors).max(axis=1) > x).mean())
    noise = {"normal": GaussianNoise(1), "laplace": LaplaceNoise(1)}[kind]
    found = maximum_error_probability(leaves, noise, x)
    log = math.log(2 / 1e-6)
    room = math.sqrt(2 * found.upper * log / runs) + log / (3 * runs)
    assert found.lower - room <= share <= found.upper + room
    wrong = by_union(leaves, noise, x / 2)  # known to be wrong
    assert not wrong - room <= share <= wrong + room


def test_the_reference_itself_for_one_release():
    assert gaussian_by_quadrature(1, 2.0) == pytest.approx(2 * special.ndtr(-2.0), rel=1e-10)


def test_an_error_beyond_double_precision_is_refused_by_name():
    with pytest.raises(ValueError, match="beta"):
        maximum_error_bound(8, GaussianNoise(1.5e308), 0.1, cells=64)
