"""KMeans of diffprivlib 0.6.6, computed exactly: its first centres, the law of its centres, and its inertia.

The model is written from a reading of the code. It uses fractions and rigorous enclosures (Arb), and neither the
package nor the audit engine. Its figures hold in real arithmetic, unless a test speaks of doubles. If the package is
installed, the last tests compare the model with it.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import pytest
from flint import arb, ctx

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.sweep.packages.diffprivlib import MEANINGS

RETRIES, EDGE = 100, Fraction(3, 8)
ADDED, REPLACED = (3, 3), (2, 1)
"""The records at 0 in the first data set and in the second, which has one more record at 1: the recorded pairs."""
RELATION = {ADDED: Adjacency.ADD_REMOVE, REPLACED: Adjacency.REPLACE}
LARGEST = 160
"""Noisy counts above this are left out of lower bounds."""


@pytest.fixture(autouse=True)
def digits():
    before, ctx.prec = ctx.prec, 128
    yield
    ctx.prec = before


def stage(k):
    """The margin 2^-k of stage k of the first centres, the width of the draw, and the least distance."""
    margin = Fraction(1, 2**k)
    return margin, 1 - 2 * margin, 2 * margin


def failure(k, retries=RETRIES):
    """The exact probability that all draws of a second centre are too near to the first one in stage k.

    The first centre is at u in [0, 1] of the width. A second one is refused with probability
    r(u) = min(1, u + s) - max(0, u - s), where s is the least distance in widths. This is the mean of r(u)^retries.
    """
    _, width, distance = stage(k)
    if width <= distance:
        return Fraction(1)
    s, power = distance / width, retries + 1
    assert s <= Fraction(1, 2)
    return (1 - 2 * s) * (2 * s) ** retries + 2 * ((2 * s) ** power - s**power) / power


def least_larger(k, distances=2):
    """The least possible value of the larger first centre if stage k accepts: the lowest draw plus the distance."""
    margin, _, _ = stage(k)
    return margin + distances * margin


def test_the_exact_probability_that_a_stage_fails():
    """The closed form agrees with a sum over a grid, and stages 1 and 2 fail with certainty."""
    assert [failure(k) for k in (1, 2)] == [1, 1]
    for k in (3, 4):
        _, width, distance = stage(k)
        s, grid = distance / width, [Fraction(2 * i + 1, 2000) for i in range(1000)]
        mean = sum((min(1, u + s) - max(0, u - s)) ** 3 for u in grid) / len(grid)
        assert abs(mean - failure(k, 3)) < Fraction(1, 10**5)
    assert Fraction(8, 10**19) < failure(3) < Fraction(9, 10**19)
    assert all(failure(k) <= Fraction(8, 2**k) ** RETRIES for k in range(4, 40))


def test_the_larger_first_centre_is_below_the_edge_only_if_a_stage_fails():
    """Stage 3 gives at least 3/8, so the argument that it is always at least 3/8 is right up to its failure."""
    assert least_larger(3) == EDGE
    assert least_larger(4) == EDGE / 2
    assert least_larger(3, distances=1) < EDGE  # a control: half the distance allows smaller centres


def runs_of(order, empty_is_redrawn=False):
    """The centres after two updates, if all records are 0. The order has the first two centres and all draws.

    A centre is drawn again if it has records. A record belongs to the nearest centre, and to the first of two equals.
    """
    centres, draws = list(order[:2]), iter(order[2:])
    for _ in range(2):
        nearest = min((0, 1), key=lambda i: centres[i])
        for i in (0, 1):
            if i == nearest or empty_is_redrawn:
                centres[i] = next(draws)
    return centres


def test_one_centre_stays_at_least_as_large_as_the_larger_first_centre_if_all_records_are_zero():
    """All weak orders of two first centres and two draws. A KMeans that redraws empty clusters is the control."""
    for order in itertools.product(range(4), repeat=4):
        assert max(runs_of(order)) >= max(order[:2]), order
    repaired = (
        runs_of((1, 2, *draws), empty_is_redrawn=True) for draws in itertools.product((0, 3), repeat=4)
    )
    assert any(max(centres) < 2 for centres in repaired)


def shares():
    """The epsilon of each noisy sum and of each noisy count: two updates with epsilon 1/2 each, in one dimension.

    The code unpacks its two shares in the other order than it returns them. So the count has the larger share.
    """
    ratio = (arb(81) / 400) ** (arb(1) / 3)  # the cube root of 4 * 0.225^2
    return ratio / (2 * (1 + ratio)), 1 / (2 * (1 + ratio))


def test_all_data_sets_have_two_updates():
    """The code makes floor(max(min(epsilon / m, 7), 2)) updates, where m depends on the number of records."""
    count = (arb(81) / 400) ** (arb(1) / 3)
    for n in (2, 3, 4, 6, 7):
        assert (1 / (arb(500 * 8) / n**2 * (1 + count) ** 3).sqrt()).upper() < 2


def count_law(count, noisy):
    """The probability of a noisy count of at least 1: two-sided geometric noise, folded at 1/2."""
    q = (-shares()[1]).exp()
    return (1 - q) / (1 + q) * (q ** abs(noisy - count) + q ** abs(1 - noisy - count))


@cache
def scale_of(noisy):
    """An enclosure of every scale that the code's equation allows for the domain [0, noisy] and sensitivity 1."""
    epsilon, _ = shares()

    def distance(s):
        ratio = (2 - (-1 / s).exp() - (-(noisy - 1) / s).exp()) / (1 - (-noisy / s).exp())
        return s * (epsilon - ratio.log()) - 1

    if noisy == 1:
        return 1 / epsilon
    boxes = [(5.0, 64.0)]  # the code looks from 1 / epsilon, which is 5.41, up to at most 35
    assert distance(arb(5)).upper() < 0 < distance(arb(64)).lower()
    while boxes[0][1] - boxes[0][0] > 1e-9:
        halves = [half for low, high in boxes for half in ((low, (low + high) / 2), ((low + high) / 2, high))]
        boxes = [half for half in halves if distance(between(*half)).contains(0)]
    return between(boxes[0][0], boxes[-1][1])


def between(low, high):
    return arb(low).union(arb(high))


def number(fraction):
    return arb(Fraction(fraction).numerator) / Fraction(fraction).denominator


def chance_below(edge, value, noisy):
    """The probability that a noisy sum is below edge * noisy: Laplace noise around value, drawn within [0, noisy]."""
    scale = scale_of(noisy)

    def mass(end):
        below = (number(min(end, value) - value) / scale).exp() - (-number(value) / scale).exp()
        return below + (1 - (number(value - end) / scale).exp() if end > value else 0)

    return mass(edge * noisy) / mass(Fraction(noisy))


def below(edge, count, value):
    """An enclosure of the probability that the centre of a cluster with this count and sum is below an edge."""
    known = [count_law(count, noisy) for noisy in range(1, LARGEST)]
    found = sum((p * chance_below(edge, value, i + 1) for i, p in enumerate(known)), arb(0))
    return found.union(found + 1 - sum(known, arb(0)))


@pytest.mark.parametrize("sizes", RELATION)
def test_epsilon_and_delta_of_the_centres(sizes):
    """Both centres are below 3/8: with one more record at 1 often, and if all records are 0 if stage 3 fails only.

    With the record at 1, both clusters have records before each update, because the record at 1 belongs to the larger
    centre and the others to the smaller one. So the last two centres are independent, whatever the first ones are.
    """
    found, (_, zeros) = MEANINGS["models.KMeans", RELATION[sizes]], sizes
    second = below(EDGE, zeros, 0) * below(EDGE, 1, 1)
    epsilon = ((second - arb(found.delta)) / number(failure(3))).log()
    assert epsilon.lower() > found.exact
    assert (second.upper() - second.lower()) < 1e-8
    assert math.isclose(float(second.mid()), {3: 0.171615, 1: 0.168542}[zeros], abs_tol=1e-6)


def test_the_probability_on_seven_records_that_the_draft_names():
    found = below(EDGE, 6, 0) * below(EDGE, 1, 1)
    assert math.isclose(float(found.mid()), 0.180937, abs_tol=1e-6)


@pytest.mark.parametrize("sizes", RELATION)
def test_a_k_means_that_redraws_empty_clusters_has_the_event_with_both_data_sets(sizes):
    """The repair gives an empty cluster a noisy count and sum, too. Then the event does not show the record."""
    before, zeros = sizes
    repaired = below(EDGE, before, 0) * below(EDGE, 0, 0)
    second = below(EDGE, zeros, 0) * below(EDGE, 1, 1)
    assert repaired.lower() > 0.17
    assert abs((second / repaired).log()).upper() < 1


def test_no_finite_epsilon_holds_at_delta_0_for_the_centres():
    """Both centres are below 3/2^k: if all records are 0, stages 3 to k fail. Else the probability is above c 4^-k.

    A sum of 0 has a falling density, so its centre is below t with probability at least t. A sum of 1 with a noisy
    count of 1 has a density of at least the one at 0. The bound grows by at least 98 log 2 with each k, for k from 3:
    a refused share is at most twice the least distance, so failure(k) is at most (8/2^k)^100 for k above 3.
    """
    scale = scale_of(1)
    least = (-1 / scale).exp() / (scale * (1 - (-1 / scale).exp()))
    bounds, failed = [], arb(0)
    for k in range(3, 24):
        failed += number(failure(k)).log()
        edge = number(least_larger(k))
        bounds.append((count_law(1, 1) * least * edge**2).log() - failed)
        assert (below(least_larger(k), 1, 0) - edge).lower() > 0
    assert bounds[0].lower() > 36
    assert all((after - before).lower() > 98 * math.log(2) for before, after in itertools.pairwise(bounds))


def inertia(centres, records):
    """The least squared distances, added up in order. With floats it rounds as numpy does for up to 7 records."""
    total = type(centres[0])(0)
    for one in records:
        total += min((one - centre) * (one - centre) for centre in centres)
    return total


def known_from(centres, zeros):
    """The inertia of records at 0, computed from the released centres alone."""
    return inertia(centres, [type(centres[0])(0)] * zeros)


def test_inertia_shows_the_record_at_one_in_exact_arithmetic():
    """It is n c^2 for records at 0. A further record at 1 adds (1 - c)^2, and one in place of a 0 changes the sum.

    The added record is hidden only by a centre at 1, and the replaced one only if the distances of 0 and 1 are equal.
    The larger centre and the smaller one have a joint density, so both have probability 0.
    """
    grid = [Fraction(i, 12) for i in range(13)]
    for centres, zeros in itertools.product(itertools.product(grid, repeat=2), (1, 2, 3)):
        records, expected = [Fraction(0)] * zeros, known_from(centres, zeros)
        assert inertia(centres, records) == expected == zeros * min(centres) ** 2
        assert (inertia(centres, [*records, Fraction(1)]) != expected) == (1 not in centres)
        differs = inertia(centres, [*records[1:], Fraction(1)]) != expected
        assert differs == (min(centres) != 1 - max(centres))


def test_inertia_shows_the_added_record_in_doubles_unless_a_centre_is_very_near_to_one():
    """Rounding hides (1 - c)^2 only if it is below half of the last place of a sum of at most 3, so below 2^-52."""
    near = [2.0**-power for power in (1, 2, 3, 10, 20, 24, 25)]
    shown = [*(1 - gap for gap in near), *near, 0.1, 0.3, 0.7, 2.0**-600]
    for centres, zeros in itertools.product(itertools.product(shown, repeat=2), (1, 2, 3)):
        expected = known_from(centres, zeros)
        assert inertia(centres, [0.0] * zeros) == expected
        assert inertia(centres, [*[0.0] * zeros, 1.0]) > expected
    assert all(top + 2.0**-50 > top for top in (math.nextafter(2.0**power, 0) for power in range(-1074, 3)))
    hidden = (
        1 - 2.0**-28,
    ) * 2  # a control: such a centre hides the record, so doubles leave a chance of this
    assert inertia(hidden, [0.0, 0.0, 0.0, 1.0]) == known_from(hidden, 3)


def test_a_centre_is_seldom_so_near_to_one():
    """A centre has a density of at most d near 1, where only a sum of 1 with a noisy count of 1 has more than 1."""
    scale = scale_of(1)
    density = 1 / (scale * (1 - (-1 / scale).exp()))
    assert ((1 + density) * arb(2) ** -25).upper() < 2**-23


@pytest.mark.parametrize("sizes", RELATION)
def test_the_audited_part_of_the_inertia_is_above_zero_with_a_record_at_one_only(sizes):
    """The sweep audits the inertia minus six times the least squared centre, rounded to nine decimals."""
    before, zeros = sizes

    def audited(centres, records):
        return round(inertia(centres, records) - 6 * min(c * c for c in centres), 9)

    for centres in itertools.product([i / 64 for i in range(65)], repeat=2):
        assert audited(centres, [0.0] * before) <= 0
    low, middle, high = Fraction(1, 5), Fraction(1, 4), Fraction(1, 2)
    assert (1 - high) ** 2 - (6 - zeros) * low**2 >= Fraction(
        1, 20
    )  # the smaller and the larger centre at their worst
    event = below(low, zeros, 0) * (below(high, 1, 1) - below(middle, 1, 1))
    assert event.lower() > 0.05


def test_labels_show_the_record_at_one_and_the_number_of_records():
    """Records at 0 have one label. A record at 1 has another one, unless the centres are equal."""
    for centres in itertools.product([Fraction(i, 12) for i in range(13)], repeat=2):
        labels = [min((0, 1), key=lambda i: abs(one - centres[i])) for one in (0, 0, 1)]
        assert labels[0] == labels[1]
        assert (labels[2] != labels[0]) == (centres[0] != centres[1])


class Scripted:
    """A random state that returns the same numbers for each stage of the first centres, one after the other."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def random(self, size):
        return [next(self.numbers) for _ in range(size)]


@pytest.fixture
def k_means():
    models = pytest.importorskip("diffprivlib.models")
    return lambda **more: models.KMeans(n_clusters=2, epsilon=1.0, bounds=(0.0, 1.0), **more)


def test_the_package_draws_a_larger_first_centre_below_the_edge_if_stage_3_fails(k_means):
    """A run of the package with given uniform numbers: 101 equal ones in each of three stages, then a good pair."""
    import numpy as np

    model = k_means()
    model.bounds = (np.zeros(1), np.ones(1))
    numbers = [np.float64(0.5)] * (3 * (RETRIES + 1)) + [np.float64(0), np.float64(0.15)]
    assert model._init_centers(1, Scripted(numbers)).max() < EDGE
    once = [np.float64(0.5)] * (2 * (RETRIES + 1)) + [np.float64(0), np.float64(0.34)]
    assert model._init_centers(1, Scripted(once)).max() >= EDGE


def test_the_package_has_the_shares_the_scales_and_the_counts_of_the_model(k_means):
    from diffprivlib.mechanisms import LaplaceBoundedDomain

    model, (total, count) = k_means(), shares()
    assert [float(one) for one in (count, total)] == pytest.approx(model._split_epsilon(1, 2), rel=1e-12)
    assert [model._calc_iters(1, n) for n in (2, 3, 4)] == [2, 2, 2]
    for noisy in (1, 2, 3, 20):
        mechanism = LaplaceBoundedDomain(epsilon=float(total), sensitivity=1.0, lower=0.0, upper=float(noisy))
        assert mechanism._find_scale() == pytest.approx(float(scale_of(noisy)), rel=1e-8)


def test_the_inertia_of_the_package_is_that_of_the_model(k_means):
    for seed in range(20):
        for records in ([0.0] * 3, [0.0] * 3 + [1.0], [0.0] * 2, [0.0, 1.0]):
            model = k_means(random_state=seed).fit([[one] for one in records])
            centres = model.cluster_centers_.ravel().tolist()
            assert model.inertia_ == inertia(centres, records)
            zeros = 1.0 not in records
            assert (model.inertia_ == known_from(centres, len(records) - (len(records) == 4))) == zeros
            assert (len(set(model.labels_)) == 1) == zeros
            assert not zeros or max(centres) >= EDGE
