"""From which threshold on: heights of peaks against their integral, certificates against fine grids."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.sdp_pe.shuffled_count import ACCOUNTANT, ShuffledCountParameters, view
from dpproof.accountant.shuffling import peaks as peak_heights
from dpproof.accountant.shuffling.peaks import UndecidedError, height, meets_from
from dpproof.accountant.shuffling.view import BinomialView
from tests.rows import tiered

HEIGHTS = [(20, 1, 3), (100, "0.5", 40), (100, "0.5", 90), (7, 2, 1), (50, 1, 49), (300, "0.1", 120)]


@pytest.mark.parametrize(("n", "epsilon", "last"), HEIGHTS)
def test_a_height_is_its_integral(n, epsilon, last):
    with mpmath.workdps(30):
        s, share = mpmath.exp(mpmath.mpf(str(epsilon))), mpmath.mpf(last) / n
        mass = mpmath.binomial(n, last) * share**last * (1 - share) ** (n - last)

        def integrand(r):
            away = mpmath.log(1 + (r - 1) * share) - share * mpmath.log(r)
            return (s - 1) / (r - 1) ** 2 * mpmath.exp(-n * away)

        truth = mass * mpmath.quad(integrand, [s, s * 1.1, s * 1.5, s * 3, s * 10, s * 100, mpmath.inf])
    assert float(height(n, Fraction(epsilon), last)) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("n", [1, 3, 8, 30])
@pytest.mark.parametrize("epsilon", ["0", "0.05", "1", "2.5"])
def test_certificates_agree_with_a_fine_grid(n, epsilon):
    """What is certified has no larger delta on the grid; 1% above the grid's largest it is certified."""
    taus = [n * i / 200 for i in range(1, 201)]
    deltas = [BinomialView(n, Fraction(tau) / (2 * n)).delta(epsilon) for tau in taus]
    for i in random.Random(n).sample(range(200), 12):
        worst = max(found.upper for found in deltas[i:])
        assert not meets_from(n, Fraction(epsilon), Fraction(worst * 0.999), taus[i])
        assert worst * 1.01 >= 1 or meets_from(n, Fraction(epsilon), Fraction(worst * 1.01), taus[i])


@pytest.mark.parametrize(
    ("users", "epsilon", "printed", "least"),
    [(278566, "0.1", 139283, 2829.7), (11142, "0.5", 5571, 180.5)],
)
def test_the_smallest_threshold_holds_from_there_on_and_not_a_thousandth_below(
    users, epsilon, printed, least
):
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets, misses = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, epsilon, "1e-6")
    target, point = Fraction(1, 10**6), Fraction(epsilon)
    assert meets.threshold == pytest.approx(least, abs=0.05)
    assert printed / meets.threshold > 30
    assert meets_from(users, point, target, meets.threshold)
    below = ShuffledCountParameters(users, 0.999 * meets.threshold, "bits")
    for lower in (misses, below):
        assert view(lower).delta(epsilon).lower > 1e-6
        assert not meets_from(users, point, target, lower.threshold)


def test_known_bad_a_threshold_that_meets_but_not_from_there_on():
    """A trough: the target is met there, and a later peak misses it."""
    n, epsilon = 50, Fraction(1, 2)
    taus = [n * i / 2000 for i in range(200, 2000)]
    deltas = [BinomialView(n, Fraction(tau) / (2 * n)).delta(epsilon) for tau in taus]
    trough = next(i for i in range(1, 1500) if deltas[i].upper < deltas[i + 40].lower)
    target = Fraction((deltas[trough].upper + deltas[trough + 40].lower) / 2)
    assert deltas[trough].upper <= target
    assert not meets_from(n, epsilon, target, taus[trough])


@pytest.mark.parametrize(
    ("users", "epsilon", "least"), [(10**9, "0.001", 1.19528e7), (10**12, "0.1", 2817.33)]
)
def test_huge_batches(users, epsilon, least):
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, epsilon, "1e-6")[0]
    assert meets.threshold == pytest.approx(least, rel=1e-4)
    assert meets_from(users, Fraction(epsilon), Fraction(1, 10**6), meets.threshold)


@pytest.mark.parametrize(
    ("users", "epsilon", "delta"),
    tiered(
        [
            (767_896, 0.243, 7.7e-11),
            (419_161_561, 4.57, 1e-12),
            (665_626_295, 0.0153, 7.5e-12),
            (400_000, 0.01, 1e-6),
        ],
        fast=1,
    ),
)
def test_many_peaks_near_the_middle_are_decided_by_few_ranges(users, epsilon, delta):
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, epsilon, delta)[0]
    assert meets_from(users, Fraction(epsilon), Fraction(delta), meets.threshold)


def test_refusals(monkeypatch):
    for bad in (0.0, -1.0, 11.0, math.inf):
        with pytest.raises(ValueError, match="threshold"):
            meets_from(10, Fraction(1), Fraction(1, 2), bad)
    monkeypatch.setattr(peak_heights, "_MOST", 0)
    with pytest.raises(UndecidedError, match="do not decide whether"):
        meets_from(278566, Fraction(1, 10), Fraction(1, 10**6), 2829.68)


@pytest.mark.parametrize("n", [7, 24, 61])
@pytest.mark.parametrize("epsilon", ["0.02", "0.5", "2"])
def test_bounds_over_ranges_hold_for_every_peak_in_them(n, epsilon):
    point, scale = Fraction(epsilon), math.exp(float(epsilon))
    falling, mirrored = math.floor(n / (1 + scale)), min(math.floor(n * scale / (1 + scale)), n - 1)
    for bound, most, place in (
        (peak_heights._falling, falling, lambda k: k),
        (peak_heights._mirrored, mirrored, lambda k: n - k),
    ):
        heights = {k: height(n, point, place(k)) for k in range(1, most + 1)}
        for low, high in itertools.combinations(range(1, most + 1), 2):
            top = max(float(heights[k]) for k in range(low, high + 1))
            assert float(bound(n, point, low, high)) >= top * (1 - 1e-12)


@pytest.mark.parametrize("users", [1000, 10**9])
@pytest.mark.parametrize("epsilon", ["36", "37", "40", "100", "700"])
def test_large_epsilons_leave_the_outcome_that_one_input_alone_has(users, epsilon):
    """From where exp(-epsilon) is below a double's unit on: (1 - tau/(2n))^n = delta."""
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets, misses = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, epsilon, "1e-6")
    with mpmath.workdps(40):
        truth = float(2 * users * -mpmath.expm1(mpmath.log(mpmath.mpf("1e-6")) / users))
    assert meets.threshold == pytest.approx(truth, rel=1e-9)
    assert meets_from(users, Fraction(epsilon), Fraction(1, 10**6), meets.threshold)
    assert misses.threshold < meets.threshold


@pytest.mark.parametrize(("users", "scale"), [(100_000, 6.359837e11), (1, 6.359837e11)])
def test_tiny_epsilons_are_answered(users, scale):
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets, misses = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, "1e-9", "1e-6")
    assert meets.threshold == pytest.approx(scale, rel=1e-6)
    assert view(misses).delta("1e-9").lower > 1e-6 >= view(meets).delta("1e-9").upper
