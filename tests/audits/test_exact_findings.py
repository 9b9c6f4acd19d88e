"""Exact computations of findings of the sweeps whose events or ratios have a closed form, or can be enumerated.

Models are written from a reading of the published code. They use neither the packages nor the audit engine. Figures
hold in real arithmetic. Where a package is installed, a test compares it with the model.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from flint import arb

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.sweep import record as records
from dpproof.audits.sweep.table import package_named
from dpproof.report.sweeps import meaning_of

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
RECORDED = sorted(path.stem for path in records.RECORDS.glob("*.json"))
SIZES = [(n, k) for n in range(1, 6) for k in range(1, n + 1)]


def meaning(package, name, relation):
    return package_named(package).meanings[name, relation]


@pytest.mark.parametrize("name", RECORDED)
def test_every_violation_that_is_not_float_only_has_an_exact_figure(name):
    table = package_named(name)
    for row in records.recorded(name).violations:
        found = meaning_of(row, table)
        if row["verdict"] == Finding.VIOLATION.value:
            assert found.exact is not None, (row["mechanism"], row["relation"])
            assert found.exact > row["epsilon"]


def settled(counts, total, order):
    """The counts of `GaussianNB` after its loop, and its number of steps, for labels in this order of their counts.

    While the sum differs from the number of records, the loop moves one count by one towards it, within [1, total].
    """
    counts, steps = list(counts), 0
    i = 0 if sum(counts) > total else len(counts) - 1
    while sum(counts) != total:
        sign = 1 if sum(counts) < total else -1
        counts[order[i]] = min(max(counts[order[i]] + sign, 1), total)
        i, steps = (i - sign) % len(counts), steps + 1
        assert steps <= len(counts) * total * len(counts)
    return counts, steps


@pytest.mark.parametrize(("total", "labels"), SIZES)
def test_the_counts_of_gaussian_naive_bayes_always_sum_to_the_number_of_records(total, labels):
    """All noisy counts in [1, total], in every order that sorts them. Each label has a record, so labels <= total.

    The loop ends, because each round over the labels moves the sum by at least one: not all counts are at the bound.
    It ends only if the sum is the number of records. So the probability is 1, and with another number of records 0.
    """
    for counts in itertools.product(range(1, total + 1), repeat=labels):
        groups = [[i for i in range(labels) if counts[i] == one] for one in sorted(set(counts))]
        for orders in itertools.product(*map(itertools.permutations, groups)):
            found, steps = settled(counts, total, list(itertools.chain(*orders)))
            assert sum(found) == total
            assert min(found) >= 1
            assert steps <= labels * abs(sum(counts) - total)
    assert meaning("diffprivlib", "models.GaussianNB", ADD).delta == 1


def test_noisy_counts_without_the_loop_do_not_show_the_number_of_records():
    """A control: the sums of two counts in [1, 3] and in [1, 4] overlap, so that no sum shows the number."""
    sums = [{sum(counts) for counts in itertools.product(range(1, n + 1), repeat=2)} for n in (3, 4)]
    assert {3, 4} <= sums[0] & sums[1]


def given(total, counts):
    """A class in place of the noise of the package, which returns these counts one after the other."""
    left = iter(counts)

    class Given:
        def __init__(self, lower, upper, **_):
            assert (lower, upper) == (1, total)

        def randomise(self, _):
            return next(left)

    return Given


def test_the_loop_of_the_package_gives_the_counts_of_the_model(monkeypatch):
    """All noisy counts of up to four records, given to the package in place of its noise."""
    import numpy as np

    bayes = pytest.importorskip("diffprivlib.models.naive_bayes")
    for total, labels in (one for one in SIZES if one[0] <= 4):
        for counts in itertools.product(range(1, total + 1), repeat=labels):
            monkeypatch.setattr(bayes, "GeometricTruncated", given(total, counts))
            y = np.array([*range(labels), *[0] * (total - labels)])
            found = bayes.GaussianNB(epsilon=1.0)._noisy_class_counts(y, None)
            assert sum(found) == total
            assert found.tolist() == settled(counts, total, np.argsort(counts))[0]


def test_gaussian_naive_bayes_of_the_package_releases_the_number_of_records():
    models = pytest.importorskip("diffprivlib.models")
    for n, seed in itertools.product((1, 2, 5), range(5)):
        labels = [i % 2 for i in range(n)]
        model = models.GaussianNB(epsilon=1.0, bounds=(0.0, 1.0), random_state=seed).fit([[0.0]] * n, labels)
        assert model.class_count_.sum() == n


def test_the_sums_of_diffprivlib_have_a_range_of_the_number_of_records():
    """Laplace noise of scale 1 around the sum, truncated to n times the bounds."""
    for bounds, first, second in (((0, 1), [0], [0, 1]), ((5, 6), [5], [5, 6])):
        most = bounds[1] * len(first)
        least = bounds[0] * len(second)
        if least > most:
            event = Fraction(1)  # the ranges are disjoint
        else:
            assert (
                sum(second) == most
            )  # noise is positive with probability 1/2, and n = 1 never exceeds its range
            event = Fraction(1, 2)
        name = "sum" if bounds == (0, 1) else "sum (bounds 5 and 6)"
        assert meaning("diffprivlib", f"tools.{name}", ADD).delta == event
    assert meaning("diffprivlib", "tools.nansum", ADD).delta == Fraction(1, 2)


def test_the_count_of_diffprivlib_is_two_for_two_records_only():
    """Geometric noise around 1 on [0, 1], truncated to [0, 2]: it reaches 2 with probability q / (1 + q)."""
    q = arb(-1).exp()
    assert meaning("diffprivlib", "tools.count_nonzero", ADD).delta < (q / (1 + q)).lower()


def test_the_variances_of_diffprivlib_have_no_noise_for_one_record():
    """The sensitivity is ((upper - lower) / n)^2 (n - 1), so it is 0 for one record, and the result is exactly 0.

    For two records the noise has a density on [0, 1/4], so 0 has probability 0. The square root keeps both events.
    """
    sensitivity = {n: Fraction(1, n) ** 2 * (n - 1) for n in (1, 2)}
    assert sensitivity == {1: 0, 2: Fraction(1, 4)}
    for name in ("var", "nanvar", "std", "nanstd"):
        assert meaning("diffprivlib", f"tools.{name}", ADD).delta == 1


def test_the_variances_of_the_package_are_zero_for_one_record_only():
    tools = pytest.importorskip("diffprivlib.tools")
    for name, seed in itertools.product(("var", "nanvar", "std", "nanstd"), range(5)):
        call = getattr(tools, name)
        assert call([0.0], epsilon=1.0, bounds=(0.0, 1.0), random_state=seed) == 0
        for data in ([0.0, 1.0], [0.0, 0.0]):
            assert call(data, epsilon=1.0, bounds=(0.0, 1.0), random_state=seed) > 0


def test_the_slopes_of_the_package_have_an_exact_sum_of_squares():
    """The sum of squares has no noise, so it is 1 and 2. The ratio of the densities is in `test_sweep.py`."""
    models = pytest.importorskip("diffprivlib.models")
    bounds = {"bounds_X": (0.0, 1.0), "bounds_y": (0.0, 1.0)}
    for seed, (data, squares) in itertools.product(
        range(5), (([1.0, 0.0], 1), ([1.0, 0.0, 1.0], 2), ([1.0, 1.0], 2))
    ):
        model = models.LinearRegression(fit_intercept=False, random_state=seed, **bounds)
        products, sums = model.fit([[x] for x in data], [1.0] * len(data))._obj_coefs[1:]
        assert sums.item() == squares
        assert products.item() != squares
        assert model.coef_.item() == pytest.approx(products.item() / squares, rel=1e-6)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_the_least_epsilon_of_two_histogram_counts_under_replace_is_two(kept):
    """All pairs of counts up to 12 of geometric noise truncated at 0. The replaced record changes both counts.

    A count k above 0 has probability (1 - q) / (1 + q) q^|k - value|, and a count of 0 has q^value / (1 + q).
    """

    def log_ratio(first, second, seen):
        """The logarithm of the ratio of the two probabilities of a count, in units of epsilon."""
        return abs(seen - second) - abs(seen - first)

    q = Fraction(1, 3)  # the two formulas are one law: its sum is 1
    for value in range(4):
        above = sum((1 - q) / (1 + q) * q ** abs(k - value) for k in range(1, 60))
        assert 0 < 1 - above - q**value / (1 + q) < Fraction(1, 10**20)
    outputs = itertools.product(range(13), repeat=2)
    ratios = [log_ratio(kept + 1, kept, a) + log_ratio(kept, kept + 1, b) for a, b in outputs]
    assert max(map(abs, ratios)) == 2
    only_one = [
        log_ratio(kept + 1, kept, a) for a in range(13)
    ]  # a control: under add-remove one count changes
    assert max(map(abs, only_one)) == 1
    for name in ("histogram", "histogram2d", "histogramdd"):
        assert meaning("diffprivlib", f"tools.{name}", REPLACE).exact == 2


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("pipeline-dp", "aggregate: SUM; bounds -1 and 1"),
        ("python-dp", "laplacian.BoundedSum (float, bounds -1 and 1)"),
        ("smartnoise-sql", "SUM(x)"),
    ],
)
def test_the_least_epsilon_of_a_sum_with_bounds_minus_one_and_one_under_replace_is_two(package, name):
    """Laplace noise of the scale of the largest absolute value, around sums that differ by the whole width.

    The loss at x is (|x - second| - |x - first|) / scale. It is constant beyond -1 and 1, and linear between them.
    """
    lower, upper = Fraction(-1), Fraction(1)

    def largest_loss(scale):
        return max(
            abs(abs(x - upper) - abs(x - lower)) / scale for x in (Fraction(i, 4) for i in range(-9, 10))
        )

    assert largest_loss(max(abs(lower), abs(upper))) == 2 == meaning(package, name, REPLACE).exact
    assert largest_loss(upper - lower) == 1  # a control: the scale that replace needs


def test_clipping_keeps_values_that_are_not_numbers():
    """The clip, the sum, the mean and the sum of squares of NaN are NaN with any noise, and a number else."""
    import numpy as np

    nan = float("nan")
    for noise in (-1e300, -1.0, 0.0, 1.0, 1e300):
        clipped = float(np.clip(nan, 0.0, 1.0))
        assert math.isnan(clipped + 0.0 + noise)
        assert math.isnan((clipped - 0.5) ** 2 + noise)
        assert not math.isnan(float(np.clip(0.0, 0.0, 1.0)) + noise)
    repaired = float(np.clip(np.nan_to_num(nan), 0.0, 1.0))  # a control: a fixed value within the bounds
    assert not math.isnan(repaired)
    for name, relation in itertools.product(("SUM", "MEAN", "VARIANCE"), (ADD, REPLACE)):
        assert meaning("pipeline-dp", f"aggregate: {name}; with NaN", relation).delta == 1


def test_the_deltas_of_the_parity_and_of_the_order_are_below_the_exact_probabilities():
    """Laplace noise of scale 1 rounds to 1; and a value other than the true one is at the second place of ten."""
    rounds_to_one = ((-arb(1) / 2).exp() - (-arb(3) / 2).exp()) / 2
    assert meaning("python-dp", "laplacian.BoundedMean (int)", ADD).delta < rounds_to_one.lower()
    for name, others in (("SS (10 values)", 9), ("SPL_SS (two attributes)", 3)):
        found = meaning("multi-freq-ldpy", name, Adjacency.BY_SENSITIVITY)
        assert found.delta < Fraction(1, others)
