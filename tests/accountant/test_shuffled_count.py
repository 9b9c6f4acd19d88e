"""The shuffled count: both encodings enumerated, the issue's numbers, calibration and refusals."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from accountant.adjacency import Adjacency, UnprovedAdjacencyError
from accountant.calibration import UnreachableTargetError
from accountant.rl.sdp_pe import ACCOUNTANT, ShuffledCountParameters, guarantee, view

REPLACE = Adjacency.REPLACE


def found(users, threshold, encoding):
    return guarantee(ShuffledCountParameters(users, threshold, encoding), REPLACE)


def multiset_law(bits, tau, encoding):
    """The law of what the shuffler shows, by enumerating every noise bit."""
    n = len(bits)
    tries, chance = (math.ceil(tau / n), Fraction(1, 2)) if n <= tau else (1, Fraction(tau) / (2 * n))
    law = Counter()
    for noise in itertools.product((0, 1), repeat=n * tries):
        weight = math.prod((chance if y else 1 - chance for y in noise), start=Fraction(1))
        sums = [sum(noise[i * tries : (i + 1) * tries]) for i in range(n)]
        if encoding == "bits":
            seen = sum(bits) + sum(noise)
        else:
            seen = tuple(sorted(d + z for d, z in zip(bits, sums, strict=True)))
        law[seen] += weight
    return law


def stick(one, other, scale):
    return sum(max(float(one[x] - Fraction(scale) * other[x]), 0.0) for x in one)


@pytest.mark.parametrize("encoding", ["bits", "sum"])
@pytest.mark.parametrize(("n", "tau"), [(3, 1.0), (4, 3.0), (2, 2.0), (3, 5.5), (1, 3.0)])
def test_the_guarantee_covers_every_pair_and_its_pair_attains_it(n, tau, encoding):
    accounted = found(n, tau, encoding)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        worst = 0.0
        for others in itertools.product((0, 1), repeat=n - 1):
            zero, one = (multiset_law((bit, *others), tau, encoding) for bit in (0, 1))
            worst = max(worst, stick(zero, one, math.exp(epsilon)), stick(one, zero, math.exp(epsilon)))
        bound, attained = accounted.guarantee.delta(epsilon), accounted.attained.guarantee.delta(epsilon)
        assert worst <= bound.upper * (1 + 1e-12)
        assert attained.lower <= worst * (1 + 1e-12)
        if encoding == "bits" or n > tau:
            assert attained.lower == pytest.approx(worst, rel=1e-9)
            assert bound.upper == pytest.approx(worst, rel=1e-9)


def test_the_printed_encoding_leaks_three_quarters_at_twice_the_threshold():
    accounted = found(278566, 139283.0, "sum")
    for epsilon in ("0.1", "10", "700"):
        assert accounted.attained.guarantee.delta(epsilon).lower >= 0.75
        assert accounted.guarantee.delta(epsilon).upper == pytest.approx(0.75)
    assert found(278566, 139283.0, "bits").guarantee.delta("0.1").upper < 1e-100


@pytest.mark.parametrize(
    ("users", "epsilon", "tau"), [(278566, "0.1", 2829.7), (11142, "0.5", 180.5), (7274, "0.1", 3636.8)]
)
def test_the_smallest_threshold(users, epsilon, tau):
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets, misses = ACCOUNTANT.calibrate(start, REPLACE, epsilon, "1e-6")
    assert meets.threshold == pytest.approx(tau, abs=0.06)
    assert 0 < meets.threshold - misses.threshold < 1e-8 * tau
    assert view(meets).delta(epsilon).upper <= 1e-6 < view(misses).delta(epsilon).lower
    for more in (1.0001, 1.001, 1.01, 1.1, 2.0):
        behind = ShuffledCountParameters(users, meets.threshold * more, "bits")
        assert view(behind).delta(epsilon).upper <= 1e-6


def test_delta_is_not_monotone_in_the_threshold():
    values = [view(ShuffledCountParameters(100, tau / 10, "bits")).delta(1).lower for tau in range(50, 300)]
    assert any(later > before for before, later in itertools.pairwise(values))


@pytest.mark.parametrize(("users", "encoding"), [(1000, "bits"), (50, "sum"), (7, "bits")])
def test_calibration_by_whole_fair_bits(users, encoding):
    start = ShuffledCountParameters(users, 3.0, encoding)
    meets, misses = ACCOUNTANT.calibrate(start, REPLACE, "0.1", "1e-6")
    assert meets.noise_bits == misses.noise_bits + 1
    assert view(meets).delta("0.1").upper <= 1e-6 < view(misses).delta("0.1").lower


def test_what_is_printed():
    published = found(278566, 139283.0, "bits").published
    assert published.epsilon("1e-6").upper == pytest.approx(0.1, rel=1e-6)
    assert published.epsilon(0).upper == math.inf
    assert found(50, 10.0, "bits").published.epsilon("1e-6").lower == math.inf  # the proof stops at 1
    assert found(50, 10.0, "sum").published.statement == "classic.printed_sums"


def test_refusals():
    with pytest.raises(UnprovedAdjacencyError, match="add-remove"):
        guarantee(ShuffledCountParameters(5, 1.0, "bits"), Adjacency.ADD_REMOVE)
    for users, tau, encoding in ((0, 1.0, "bits"), (5, 0.0, "bits"), (5, math.nan, "sum"), (5, 1.0, "words")):
        with pytest.raises(ValueError, match=r"users|threshold|encoding"):
            ShuffledCountParameters(users, tau, encoding)
    start = ShuffledCountParameters(100, 1.0, "bits")
    with pytest.raises(UnreachableTargetError, match="delta"):
        ACCOUNTANT.calibrate(start, REPLACE, 1, 0)
    with pytest.raises(ValueError, match="epsilon"):
        ACCOUNTANT.calibrate(start, REPLACE, -1, "1e-6")
