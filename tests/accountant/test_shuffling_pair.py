"""The shuffled binary sum as a pair: its cells against enumeration, and composed by the engine."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.binomial import ShiftedBinomial, ShuffledBinary
from dpproof.accountant.privacy_loss.by_grid import delta_by_grid
from dpproof.accountant.shuffling.view import BinomialView

CASES = [
    (7, Fraction(1, 3), Fraction(1, 4), Fraction(2, 3)),
    (12, Fraction(1, 2), Fraction(0), Fraction(1)),
    (5, Fraction(1, 9), Fraction(0), Fraction(1, 2)),
    (9, Fraction(3, 4), Fraction(1, 5), Fraction(1)),
]
EDGES = np.array([-2.0, -0.7, -0.1, 0.0, 0.05, 0.33, 0.9, 2.5])


def laws(n, p, a, c):
    base = [Fraction(math.comb(n, k)) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    padded = [Fraction(0), *base, Fraction(0)]
    return [[(1 - x) * padded[k + 1] + x * padded[k] for k in range(n + 2)] for x in (a, c)]


@pytest.mark.parametrize("case", CASES)
def test_cells_hold_the_masses(case):
    one, other = laws(*case)
    cells = ShuffledBinary(*case).cells(EDGES)
    p, q, lost = np.zeros(len(EDGES) + 1), np.zeros(len(EDGES) + 1), 0.0
    for x, y in zip(one, other, strict=True):
        if y == 0:
            lost += float(x)
            continue
        place = np.searchsorted(EDGES, math.log(x / y) if x else -math.inf, side="right")
        p[place] += float(x)
        q[place] += float(y)
    assert np.all(np.abs(cells.p - p) <= cells.p_error * cells.p + 1e-16)
    assert np.all(np.abs(cells.q - q) <= cells.q_error * cells.q + 1e-16)
    assert cells.infinite[0] <= lost * (1 + 1e-15)
    assert cells.infinite[1] >= lost * (1 - 1e-15)


def test_a_changed_bit_is_the_shifted_binomial():
    edges = np.linspace(-0.3, 0.3, 61) + 1e-5
    one, other = (pair.cells(edges) for pair in (ShuffledBinary(4000, "1/3"), ShiftedBinomial(4000, "1/3")))
    np.testing.assert_allclose(one.p, other.p, rtol=1e-9, atol=1e-200)
    np.testing.assert_allclose(one.q, other.q, rtol=1e-9, atol=1e-200)


@pytest.mark.parametrize("case", CASES)
def test_reversed_exchanges_the_laws(case):
    pair = ShuffledBinary(*case)
    back = pair.reversed()
    assert isinstance(pair, DominatingPair)
    assert back.reversed() == pair
    edges = np.array([-0.31, 0.17])
    one, other = pair.cells(edges), back.cells(-edges[::-1])
    np.testing.assert_allclose(one.q[1:], other.p[::-1][1:], atol=1e-12)


@pytest.mark.parametrize(("n", "p", "a", "c"), [(2000, "1/4", 0, 1), (3000, "1/4", "1/4", "3/4")])
def test_the_engine_composes_it_around_the_exact_view(n, p, a, c):
    view = BinomialView(n, p, a, c)
    pairs = [ShuffledBinary(*direction) for direction in view.directions()]
    for pair in pairs:
        low, high = delta_by_grid([(pair, 1)], Fraction(1, 10))
        assert low <= view.delta("0.1").upper
        assert high - low <= 0.02 * high + 1e-300
    ends = [delta_by_grid([(pair, 1)], Fraction(1, 10)) for pair in pairs]
    assert max(high for _, high in ends) >= view.delta("0.1").lower


def test_two_counters_against_enumeration():
    n, p = 40, Fraction(1, 2)
    one, other = laws(n, p, Fraction(0), Fraction(1))
    truth = sum(
        max(float(x * u) - math.exp(0.5) * float(y * v), 0)
        for x, y in zip(one, other, strict=True)
        for u, v in zip(one, other, strict=True)
    )
    low, high = delta_by_grid([(ShuffledBinary(n, p), 2)], Fraction(1, 2))
    assert low <= truth * (1 + 1e-12)
    assert high >= truth * (1 - 1e-12)
    assert high - low < 0.02 * truth


def test_refusals():
    for bad in (
        (0, "1/2"),
        (5, 0),
        (5, 1),
        (5, "1/2", "1/2", "1/2"),
        (5, "1/2", "3/4", "1/4"),
        (10**15, "1/2"),
    ):
        with pytest.raises(ValueError, match=r"trials|probability|first"):
            ShuffledBinary(*bad)
