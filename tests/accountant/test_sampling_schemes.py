"""Every way a batch is drawn, against integrals over all draws of a small run.

The references condition on all Gaussians but one. The remaining integral has a closed form, the others are
sums over a grid or mpmath quadratures. They share no code with the accountant.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from benchmarks import sampling_schemes
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.random_allocation import RandomAllocation
from dpproof.accountant.pairs.ratio_means import Merged, Spread, sum_above, sum_below
from dpproof.accountant.pairs.threshold_counts import ThresholdCounts
from dpproof.accountant.privacy_loss.enclosed_loss import EnclosedLoss
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.sampling.between import divided
from dpproof.accountant.sampling.truncated import Coupled
from tests.rows import tiered

ADD, SWAP = Adjacency.ADD_REMOVE, Adjacency.REPLACE


def guarantee(name, relation=ADD, **given):
    accountant = accountant_for(name)
    return accountant.account(accountant.parameters(**given), relation).guarantee


def linear(slope, rest, a, s):
    """E (slope X + rest - a)+ for arrays, with X = exp(G/s - 1/(2 s^2)) and G standard normal."""
    c = a - rest
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(c > 0, s * np.log(np.maximum(c, 1e-300) / slope) + 1 / (2 * s), -np.inf)
    return slope * ndtr(1 / s - at) - c * ndtr(-at)


def gaussian_ratios(s, nodes):
    """Equally spaced values of G, as exp(G/s - 1/(2 s^2)), and their weights: smooth integrals converge fast."""
    x = np.linspace(-9, 9, nodes)
    w = np.exp(-x * x / 2)
    return np.exp(x / s - 1 / (2 * s * s)), w / w.sum()


def allocated_delta(epsilon, s, t, k, removes, nodes):
    """The delta of the mean over all sets of k of t steps, by sums over t - 1 Gaussians.

    It is E (R - e^epsilon)+ if a record is removed. If one is added, it is E (1 - e^epsilon R)+, which is
    e^epsilon (E (R - e^-epsilon)+ - 1) + 1.
    """
    ratios, w = gaussian_ratios(s, nodes)
    grids = np.meshgrid(*[ratios] * (t - 1), indexing="ij") if t > 1 else []
    weights = np.ones(())
    for _ in range(t - 1):
        weights = np.multiply.outer(weights, w)
    ways = math.comb(t, k)

    def symmetric(order):
        if order < 0:
            return 0.0
        return sum(
            math.prod(grids[i] for i in chosen) for chosen in itertools.combinations(range(t - 1), order)
        )

    slope, rest = symmetric(k - 1) / ways, symmetric(k) / ways
    point = math.exp(epsilon if removes else -epsilon)
    excess = float((weights * linear(slope, rest, point, s)).sum())
    return excess if removes else math.exp(epsilon) * (excess - 1) + 1


def one_of_two(epsilon, s, removes):
    """The delta of one of two steps, by an mpmath quadrature over the second Gaussian."""
    a = mpmath.e ** (epsilon if removes else -epsilon)

    def inner(g):
        other = mpmath.exp(g / s - 1 / (2 * s * s))
        c = 2 * a - other
        if c <= 0:
            return 1 - c
        at = s * mpmath.log(c) + 1 / (2 * mpmath.mpf(s))
        return mpmath.ncdf(1 / mpmath.mpf(s) - at) - c * mpmath.ncdf(-at)

    kink = s * mpmath.log(2 * a) + 1 / (2 * mpmath.mpf(s))
    excess = mpmath.quad(lambda g: inner(g) * mpmath.npdf(g), [-30, -5, 0, kink, kink + 4, kink + 30]) / 2
    return float(excess if removes else mpmath.e**epsilon * (excess - 1) + 1)


def enclosed(t, s, count=1, removes=True):
    low, high = (RandomAllocation(t, s, above, removes) for above in (False, True))
    return EnclosedLoss((low,), (high,), count)


@pytest.mark.parametrize("removes", [True, False])
@pytest.mark.parametrize("s", tiered([0.4, 1.0, 3.0], fast=1))
def test_one_of_two_steps_encloses_a_quadrature(s, removes):
    for epsilon in (0.0, 0.3, 1.0 / s, 3.0 / s):
        reference = one_of_two(epsilon, s, removes)
        found = enclosed(2, s, removes=removes).delta(epsilon)
        assert found.lower <= reference * (1 + 1e-12)
        assert reference <= found.upper * (1 + 1e-12)
        assert found.upper - found.lower <= 3e-3 * found.upper
        assert not reference >= enclosed(1, s, removes=removes).delta(epsilon).lower  # a known-bad control


@pytest.mark.parametrize(
    ("t", "nodes", "s"), [(3, 300, 1.0), pytest.param(4, 90, 2.0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("removes", [True, False])
def test_one_of_a_few_steps_encloses_sums_over_all_draws(t, nodes, s, removes):
    for epsilon in (0.25, 0.5, 1.0):
        reference = allocated_delta(epsilon, s, t, 1, removes, nodes)
        found = enclosed(t, s, removes=removes).delta(epsilon)
        assert found.lower * (1 - 1e-6) <= reference <= found.upper * (1 + 1e-6)
        assert found.upper - found.lower <= 1e-3 * found.upper


def test_one_of_one_step_is_one_gaussian():
    for s in (0.3, 1.0, 20.0):
        for epsilon in (0, "0.1", 2):
            exact, found = GaussianDP(1 / Fraction(s)).delta(epsilon), enclosed(1, s).delta(epsilon)
            assert found.lower <= exact.upper
            assert exact.lower <= found.upper
            assert found.upper - found.lower <= 1e-2 * found.upper + 1e-40


@pytest.mark.slow
def test_two_epochs_enclose_sums_over_all_draws():
    """R = R_1 R_2 is linear in one Gaussian, given the other three."""
    s = 1.0
    ratios, w = gaussian_ratios(s, 100)
    first, second, third = np.meshgrid(ratios, ratios, ratios, indexing="ij")
    weights = np.multiply.outer(np.multiply.outer(w, w), w)
    other = (second + third) / 2
    for epsilon in (0.2, 1.0):
        a = math.exp(epsilon)
        reference = float((weights * linear(other / 2, other * first / 2, a, s)).sum())
        found = enclosed(2, s, 2).delta(epsilon)
        assert found.lower * (1 - 1e-6) <= reference <= found.upper * (1 + 1e-6)
        assert found.upper - found.lower <= 3e-3 * found.upper


@pytest.mark.parametrize(("t", "k"), [(3, 2), (4, 2), (4, 3)])
def test_several_of_a_few_steps_are_between_the_bounds(t, k):
    """The reference is the larger delta of both directions."""
    for epsilon in (0.25, 1.0):
        reference = max(
            allocated_delta(epsilon, 1.5, t, k, removes, 60 if t == 4 else 200) for removes in (True, False)
        )
        found = guarantee("allocated-sgd", noise_multiplier=1.5, steps=t, chosen=k).delta(epsilon)
        assert 0 < found.lower * (1 - 1e-6) <= reference <= found.upper * (1 + 1e-6)
        assert found.of == "mechanism"


def test_a_count_above_a_threshold_is_a_sum_of_coins():
    pair = ThresholdCounts(3, 2, 1.0, 0.5)
    taking, resting = ndtr(0.5), ndtr(-0.5)
    p = [0.0] * 4
    for coins in itertools.product((0, 1), repeat=3):
        chances = [taking, taking, resting]
        p[sum(coins)] += math.prod(c if x else 1 - c for c, x in zip(chances, coins, strict=True))
    q = [math.comb(3, j) * resting**j * (1 - resting) ** (3 - j) for j in range(4)]
    for epsilon in (0.0, 0.4):
        expected = sum(max(a - math.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
        assert EnclosedLoss((pair,), (pair,), 1).delta(epsilon).upper == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", [0.05, 0.077])
def test_a_count_knows_probabilities_far_below_one_ulp_of_one(noise):
    """Both steps of the record are below the threshold: a probability of 1e-46 and less."""
    with mpmath.workdps(100):
        below = mpmath.ncdf(mpmath.mpf(-0.5) / mpmath.mpf(noise))
        losses = float(2 * mpmath.log(below / (1 - below)))
    cells = ThresholdCounts(2, 2, noise, 0.5).cells(np.array([losses / 2, -losses / 2]))
    np.testing.assert_allclose(
        cells.p, [float(below**2), float(2 * below * (1 - below)), float((1 - below) ** 2)], rtol=1e-12
    )


def test_no_lower_bound_comes_from_a_theorem_for_less_noise():
    """0.0707... over the root of 2 is between two doubles, and only the upper one has a grid of its own."""
    noise, least = float.fromhex("0x1.21a1851ff630ap-4"), 0.05
    low, high = divided(noise, Fraction(2))
    assert low < least <= high
    found, near = (
        guarantee("allocated-sgd", noise_multiplier=x, steps=2, epochs=2, fresh=False)
        for x in (noise, 1.000001 * noise)
    )
    assert found.delta(150).lower <= near.delta(150).upper <= 0.9925


def test_more_steps_and_more_noise_are_more_private():
    epsilons = [guarantee("allocated-sgd", noise_multiplier=1.0, steps=t).epsilon("1e-5") for t in (1, 4, 15)]
    assert all(
        more.lower < less.upper and more.upper < less.lower for less, more in itertools.pairwise(epsilons)
    )
    assert all(bound.lower <= bound.upper <= bound.lower * 1.001 for bound in epsilons)


def test_the_same_step_in_each_epoch_is_less_noise():
    same = guarantee("allocated-sgd", noise_multiplier=2.0, steps=9, epochs=4, fresh=False)
    assert same == guarantee("allocated-sgd", noise_multiplier=1.0, steps=9)
    fresh = guarantee("allocated-sgd", noise_multiplier=2.0, steps=9, epochs=4)
    assert fresh.epsilon("1e-5").upper < same.epsilon("1e-5").lower


def test_bands_reduce_the_steps_and_the_column_norm_the_noise():
    banded = guarantee(
        "allocated-sgd", noise_multiplier=3.0, steps=11, epochs=4, fresh=False, bands=2, column_norm=1.5
    )
    plain = guarantee("allocated-sgd", noise_multiplier=1.0, steps=5)
    assert (banded.epsilon("1e-5").lower, banded.epsilon("1e-5").upper) == (0, plain.epsilon("1e-5").upper)


def test_replacement_of_a_record_that_is_always_used_is_exact():
    found = guarantee("allocated-sgd", SWAP, noise_multiplier=2.0, steps=4, chosen=4).epsilon("1e-5")
    exact = GaussianDP(2).epsilon("1e-5")
    assert found.lower == exact.lower
    assert exact.upper <= found.upper <= exact.upper * (1 + 1e-12)


@pytest.mark.slow
def test_replacement_is_removal_and_addition():
    one, two = (guarantee("allocated-sgd", r, noise_multiplier=1.0, steps=5) for r in (ADD, SWAP))
    low, high = one.epsilon("1e-5"), two.epsilon("1e-5")
    assert (
        low.lower
        <= high.lower
        < high.upper
        <= guarantee("gaussian", SWAP, sigma=1.0, compositions=1, sensitivity=2.0).epsilon("1e-5").upper * 1.2
    )
    assert low.upper * 2 < high.upper


def test_sums_are_rounded_outward_and_inward_in_the_convex_order():
    """The sum of three ratios of a pair with few distinct values is between both laws, for convex functions."""
    pair, t = SubsampledGaussian(1.0, 1.0), 3
    above, below = (sum_of(pair, t, (-8.0, 8.0), 512) for sum_of in (sum_above, sum_below))
    assert isinstance(above, Spread)
    assert isinstance(below, Merged)
    values = np.exp((above.first + np.arange(len(above.masses))) * above.step)
    some = below.masses > 0
    means = below.means[some] / below.masses[some]
    assert above.masses.sum() + above.zero == pytest.approx(1) == below.masses.sum()
    assert above.masses @ values + above.infinite == pytest.approx(t) == below.means.sum()
    variance = t * (math.e - 1)
    assert below.masses[some] @ (means - t) ** 2 < variance < above.masses @ (values - t) ** 2
    assert below.masses[some] @ (means - t) ** 2 == pytest.approx(variance, rel=1e-2)


def test_groups_that_take_turns_are_fewer_steps():
    asked = {"sampling_rate": 0.2, "noise_multiplier": 1.0}
    for relation in (ADD, SWAP):
        cyclic = guarantee("cyclic-sgd", relation, steps=10, groups=3, **asked)
        assert cyclic == guarantee("dp-sgd", relation, steps=4, **asked)
    banded = guarantee(
        "cyclic-sgd", sampling_rate=0.2, noise_multiplier=2.0, steps=10, groups=3, column_norm=2.0
    )
    assert banded == guarantee("dp-sgd", steps=4, **asked)


def test_a_truncated_batch_costs_its_probability():
    """The exact delta of two records, one of which is dropped from a batch of two, is below the upper bound."""
    q, s = 0.3, 1.0
    asked = {"sampling_rate": q, "noise_multiplier": s, "steps": 1}
    found = guarantee("truncated-sgd", largest_batch=1, largest_dataset=2, **asked)
    wide = guarantee("truncated-sgd", largest_batch=150, largest_dataset=200, **asked)
    poisson = guarantee("dp-sgd", **asked)
    x = np.linspace(-12, 12, 200_001)

    def density(weights):
        return sum(w * np.exp(-((x - m) ** 2) / 2) for m, w in weights.items()) / math.sqrt(2 * math.pi)

    one = q * (1 - q) + q * q / 2
    both, other = density({0: (1 - q) ** 2, 1: one, -1: one}), density({0: 1 - q, -1: q})
    for epsilon in (0.0, 0.5, 1.0):
        gain = max(
            np.maximum(p - math.exp(epsilon) * r, 0).sum() * (x[1] - x[0])
            for p, r in ((both, other), (other, both))
        )
        assert gain <= found.delta(epsilon).upper
        assert found.delta(epsilon).lower == poisson.delta(epsilon).lower
        assert wide.delta(epsilon).upper <= poisson.delta(epsilon).upper + 1e-12
    assert found.delta(0).upper > poisson.delta(0).upper


def test_a_rare_difference_is_charged_in_epsilon_too():
    inner = GaussianDP(1)
    for rare in (1e-9, 2e-8):
        found = Coupled(inner, rare)
        epsilon = found.epsilon("1e-5").upper
        assert inner.epsilon("1e-5").upper < epsilon
        assert found.delta(epsilon).upper <= 1.0000001e-5
    assert Coupled(inner, 1e-3).epsilon("1e-5").upper == math.inf
    twice = PrivacyLoss([[(SubsampledGaussian(0.5, 1.0), 2)]])  # it refuses half of this delta
    assert Coupled(twice, 1e-9).epsilon("1e-300").upper == math.inf


@pytest.mark.parametrize("replacement", [False, True])
def test_one_batch_of_two_records_is_between_the_bounds(replacement):
    """Batches of one (of two with replacement) of two records. The other record sends w."""
    m, s = (2 if replacement else 1), 1.0
    found = guarantee(
        "fixed-batch-sgd", SWAP, noise_multiplier=s, steps=1, batch=m, dataset=2, replacement=replacement
    )
    x = np.linspace(-16, 16, 200_001)
    chances = [math.comb(m, j) / 2**m for j in range(m + 1)]

    def density(vector, other):
        means = [j * vector + (m - j) * other for j in range(m + 1)]
        return sum(w * np.exp(-((x - c) ** 2) / 2) for w, c in zip(chances, means, strict=True)) / math.sqrt(
            2 * math.pi
        )

    for epsilon in (0.2, 1.0):
        gains = {}
        for w in (-1.0, -0.4, 0.0, 1.0):
            p, r = density(1.0, w), density(-1.0, w)
            gains[w] = max(
                np.maximum(a - math.exp(epsilon) * b, 0).sum() * (x[1] - x[0]) for a, b in ((p, r), (r, p))
            )
        assert max(gains.values()) <= found.delta(epsilon).upper * (1 + 1e-6)
        assert found.delta(epsilon).lower == pytest.approx(gains[-1.0], rel=1e-3)


def test_two_shuffled_batches_are_between_the_bounds():
    """Two records in two batches. The other record sends w. Under add/remove it is alone in the first batch."""
    s = 1.5
    x = np.linspace(-9, 9, 901)
    first, second = np.meshgrid(x, x)

    def density(*means):
        parts = [np.exp(-((first - a) ** 2 + (second - b) ** 2) / (2 * s * s)) for a, b in means]
        return sum(parts) / len(parts) / (2 * math.pi * s * s)

    replaced, removed = (guarantee("shuffled-sgd", r, noise_multiplier=s, steps=2) for r in (SWAP, ADD))
    for epsilon in (0.3, 1.0):
        for found, pairs in (
            (replaced, [(w, density((1, w), (w, 1)), density((-1, w), (w, -1))) for w in (-1, 0, 1)]),
            (removed, [(w, density((1, w), (w, 1)), density((w, 0))) for w in (-1, 0, 1)]),
        ):
            gains = {
                w: max(
                    np.maximum(a - math.exp(epsilon) * b, 0).sum() * (x[1] - x[0]) ** 2
                    for a, b in ((p, r), (r, p))
                )
                for w, p, r in pairs
            }
            assert max(gains.values()) <= found.delta(epsilon).upper
            assert found.delta(epsilon).lower == pytest.approx(
                gains[-1 if found is replaced else 0], rel=3e-3
            )


def test_shuffled_batches_refute_the_claim_of_poisson_samples():
    """The claim as if each batch were a Poisson sample at rate 1/steps, at one epoch with little noise."""
    claimed = guarantee("dp-sgd", sampling_rate=0.01, noise_multiplier=0.5, steps=100).epsilon("1e-5").upper
    assert guarantee("shuffled-sgd", noise_multiplier=0.5, steps=100).epsilon("1e-5").lower < claimed * 2
    swapped = (
        guarantee("dp-sgd", SWAP, sampling_rate=0.01, noise_multiplier=0.5, steps=100).epsilon("1e-5").upper
    )
    assert guarantee("shuffled-sgd", SWAP, noise_multiplier=0.5, steps=100).epsilon("1e-5").lower > swapped


def test_division_by_a_square_root_is_enclosed():
    low, high = divided(1.0, Fraction(2))
    assert Fraction(low) ** 2 * 2 < 1 < Fraction(high) ** 2 * 2
    assert high == math.nextafter(low, 1)


@pytest.mark.parametrize(
    "name", ["cyclic-sgd", "allocated-sgd", "truncated-sgd", "fixed-batch-sgd", "shuffled-sgd"]
)
def test_an_unproved_relation_is_refused(name):
    with pytest.raises(UnprovedAdjacencyError, match="Use"):
        accountant_for(name).account(accountant_for(name).example, Adjacency.EXPERT)


def test_the_page_shows_what_the_benchmark_prints():
    """All rows are there; one of them is computed again."""
    page = (Path(__file__).parents[2] / "docs/how-to/batches.md").read_text(encoding="utf-8")
    shown = [
        line.split(" | ") for line in page.splitlines() if line.startswith("| ") and line.count(" | ") == 3
    ]
    rows = {cells[0].removeprefix("| "): cells for cells in shown[1:]}
    assert list(rows) == [row.words for row in sampling_schemes.ROWS]
    chosen = next(row for row in sampling_schemes.ROWS if row.given.get("fresh") is False)
    assert rows[chosen.words][1] == sampling_schemes.cell(chosen, "add-remove")
