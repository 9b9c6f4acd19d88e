"""Violations through floating-point bits, shown exactly: results that only one of two inputs can give.

Let a result be a value v > 0 plus any double, rounded to a double. If it is above 0, it is a multiple of half of the
last place of v. Proof: if it is at least v / 2, its own last place is at least that. Else the double is between -v and
-v / 2, so it is such a multiple, and the sum needs no rounding. Truncating and folding at 0, 1 or 2 keep the grid.
Around a smaller value the noise also gives results off this grid, so no finite epsilon holds at delta 0 in doubles.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.sweep.packages.diffprivlib import TABLE
from dpproof.audits.sweep.packages.multi_freq_ldpy import TABLE as LOCAL
from dpproof.audits.sweep.record import recorded

VALUE, ADD, REPLACE = Adjacency.BY_SENSITIVITY, Adjacency.ADD_REMOVE, Adjacency.REPLACE
PAIRS = {
    ("mechanisms.Laplace", VALUE): (1.0, 0.0, 1.0),
    ("mechanisms.LaplaceTruncated", VALUE): (1.0, 0.0, 1.0),
    ("mechanisms.LaplaceFolded", VALUE): (1.0, 0.5, 1.0),
    ("mechanisms.LaplaceBoundedDomain", VALUE): (1.0, 0.5, 1.0),
    ("mechanisms.Staircase", VALUE): (1.0, 0.0, 1.0),
    ("tools.mean", ADD): ([0.0] * 4 + [1.0], [0.0] * 4, 0.2),
    ("tools.mean", REPLACE): ([0.0, 1.0], [0.0, 0.0], 0.5),
    ("tools.mean (of two columns)", REPLACE): ([[1.0, 1.0]], [[0.0, 0.0]], 1.0),
    ("tools.nanmean", REPLACE): ([0.0, 0.0, 0.0, 1.0], [0.0] * 4, 0.25),
    ("tools.nanmean (with NaN)", REPLACE): ([0.0, 0.0, 1.0], [0.0, 0.0, float("nan")], 1 / 3),
    ("tools.nansum", REPLACE): ([1.0], [0.0], 1.0),
    ("tools.nanvar", REPLACE): ([0.0, 1.0], [0.0, 0.0], 0.25),
    ("tools.sum", REPLACE): ([0.0, 1.0], [0.0, 0.0], 1.0),
    ("tools.var", REPLACE): ([0.0, 1.0], [0.0, 0.0], 0.25),
}
"""The input on the grid, the other input, and the value whose last place sets the grid. They are the recorded pairs."""


def off_the_grid(result, value, place=math.ulp):
    """Whether a result is above 0 and no multiple of half of the last place of a value."""
    return result > 0 and (Fraction(result) / (Fraction(place(value)) / 2)).denominator > 1


def short_floats(bits, least, most):
    """All numbers with so many bits and an exponent from least to most, with both signs, and 0."""
    steps = range(2 ** (bits - 1), 2**bits)
    sizes = [step * Fraction(2) ** exponent for exponent in range(least, most) for step in steps]
    return [Fraction(0), *sizes, *(-one for one in sizes)]


def place_of(bits):
    """The last place of a number with so many bits."""

    def place(number):
        return Fraction(2) ** (math.frexp(float(number))[1] - bits)

    return place


def rounded(number, bits):
    """The nearest number with so many bits, the even one of two."""
    return Fraction(0) if number == 0 else round(number / place_of(bits)(number)) * place_of(bits)(number)


def test_all_sums_of_short_floats_with_a_value_are_on_its_grid():
    """The lemma for all numbers with five bits. A control: around 0, and around half of a value, some are off it."""
    bits = 5
    noises, place = short_floats(bits, -12, 2), place_of(bits)
    for value in short_floats(bits, -5, -3)[1:33]:
        sums = {rounded(value + noise, bits) for noise in noises}
        assert not any(off_the_grid(one, value, place) for one in sums)
        for other in (Fraction(0), value / 2):
            assert any(off_the_grid(rounded(other + noise, bits), value, place) for noise in noises)


def laplace(u):
    """Laplace noise of scale 1 from four uniform numbers, as in arXiv 2107.10138."""
    return math.log(1 - u[0]) * math.cos(math.pi * u[1]) + math.log(1 - u[2]) * math.cos(math.pi * u[3])


@pytest.mark.parametrize(
    ("value", "other"), [(1.0, 0.0), (1.0, 0.5), (0.5, 0.0), (0.25, 0.0), (1 / 3, 0.0), (0.2, 0.0)]
)
def test_doubles_with_laplace_noise_are_on_the_grid_of_their_value_only(value, other):
    """Noise from a grid of uniform numbers, which all have a positive probability."""
    noises = [laplace(u) for u in itertools.product((0.03, 0.17, 0.31, 0.59, 0.87), repeat=4)]
    for scale in (0.25, 1 / 3, 0.5, 1.0, 2.0):
        assert not any(off_the_grid(value + scale * one, value) for one in noises)
        assert any(off_the_grid(other + scale * one, value) for one in noises)


def test_the_table_names_the_pairs_that_are_shown_here_and_they_are_recorded():
    rows = recorded("diffprivlib").rows
    assert set(TABLE.bits_exact) == set(PAIRS)
    for (name, relation), (on, other, _) in PAIRS.items():
        row = rows[name, relation.value]
        assert row["verdict"] == Finding.FLOATING_POINT.value
        assert row["delta"] == 0
        assert row["pair"] in (f"{on} and {other}", f"{other} and {on}")


@pytest.mark.parametrize(("name", "relation"), PAIRS)
def test_the_package_gives_results_off_the_grid_for_the_other_input_only(name, relation):
    """One such result of the package shows that its probability is positive: its uniform numbers are from a grid."""
    pytest.importorskip("diffprivlib")
    on, other, value = PAIRS[name, relation]
    (entry,) = (one for one in TABLE.entries if one.name == name)
    results = [np.ravel(entry.sampler(data, 400, np.random.default_rng(0))) for data in (on, other)]
    assert not any(off_the_grid(float(one), value) for one in results[0])
    assert any(off_the_grid(float(one), value) for one in results[1])


def test_histogram_encoding_gives_such_results_for_the_other_input_only():
    """multi-freq-ldpy adds noise to a row with a 1 at the place of the input. The first place is 1 for the input 0."""
    assert set(LOCAL.bits_exact) == {("HE", VALUE)}
    row = recorded("multi-freq-ldpy").rows["HE", VALUE.value]
    assert (row["verdict"], row["pair"]) == (Finding.FLOATING_POINT.value, "0 and 1")
    pytest.importorskip("multi_freq_ldpy")
    (entry,) = (one for one in LOCAL.entries if one.name == "HE")
    results = [[one[0] for one in entry.sampler(data, 400, np.random.default_rng(0))] for data in (0, 1)]
    assert not any(off_the_grid(float(one), 1.0) for one in results[0])
    assert any(off_the_grid(float(one), 1.0) for one in results[1])
