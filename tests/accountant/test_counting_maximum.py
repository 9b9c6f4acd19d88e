"""The largest error over all releases: by quadrature on Gauss-Legendre nodes, and by sampling the tree."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from dpproof.accountant.counting.error import _union, union_bound
from dpproof.accountant.counting.maximum import maximum_error_bound, maximum_error_probability
from dpproof.accountant.counting.noise import GaussianNoise, LaplaceNoise
from dpproof.accountant.counting.tree import releases_by_size
from dpproof.accountant.numbers.enclosures import precision
from tests.rows import rows, tiered


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


def test_bad_questions_are_refused():
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
