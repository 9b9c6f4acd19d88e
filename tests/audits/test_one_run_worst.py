"""One-run bounds against the worst algorithm: all algorithms for few canaries, and one that attains the bound."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from dpproof.audits.training.guesses import Guesses
from dpproof.audits.training.one_run_audit import one_run_tail
from tests.rows import rows

ODDS = Fraction(3)
"""e^epsilon of the exact tests."""


def shown(m, r):
    """All outputs: for each canary 0, 1 or None, with r guesses."""
    return [one for one in itertools.product((0, 1, None), repeat=m) if one.count(None) == m - r]


def right(coins, output):
    return sum(guess == coin for guess, coin in zip(output, coins, strict=True))


def flipped(coins):
    return [(*coins[:i], 1 - coins[i], *coins[i + 1 :]) for i in range(len(coins))]


def largest_over_all_algorithms(m, r, v, epsilon, delta):
    """The largest P[W >= v] over all algorithms that are (epsilon, delta)-DP, by a linear programme.

    A variable for each input and output is its chance; another for each pair of neighbours and output is its excess.
    """
    inputs, outputs = list(itertools.product((0, 1), repeat=m)), shown(m, r)
    chance = {key: place for place, key in enumerate(itertools.product(inputs, outputs))}
    pairs = [(one, other) for one in inputs for other in flipped(one)]
    entries, limits = [], []
    excess = len(chance)
    for one, other in pairs:
        total = len(limits)
        limits.append(delta)
        for output in outputs:
            row = len(limits)
            limits.append(0.0)
            entries += [(row, chance[one, output], 1.0), (row, chance[other, output], -math.exp(epsilon))]
            entries += [(row, excess, -1.0), (total, excess, 1.0)]
            excess += 1
    aim = np.zeros(excess)
    for (coins, output), place in chance.items():
        aim[place] = -(right(coins, output) >= v) / 2**m
    laws = [(inputs.index(coins), place, 1.0) for (coins, _), place in chance.items()]
    matrices = [
        coo_matrix((value, (row, column)), shape=(height, excess))
        for (row, column, value), height in (
            (zip(*part, strict=True), height)
            for part, height in ((entries, len(limits)), (laws, len(inputs)))
        )
    ]
    return -linprog(aim, matrices[0], limits, matrices[1], np.ones(len(inputs))).fun


@rows(("m", "r"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 4)])
@rows(("epsilon", "delta"), [(0.0, 0.05), (0.7, 0.0), (0.7, 0.02), (2.0, 0.2)])
def test_the_bound_is_the_largest_probability_over_all_algorithms(m, r, epsilon, delta):
    for v in range(1, r + 1):
        bound = one_run_tail(Guesses(m, r, v), epsilon, delta)
        assert bound == pytest.approx(largest_over_all_algorithms(m, r, v, epsilon, delta), abs=1e-7)


def worst_law(m, r, v, delta):
    """The law of the number of right guesses of the note's Theorem 2a."""
    q = ODDS / (1 + ODDS)
    binomial = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    gap = m * delta / (v * binomial[v])
    low = 1 - sum(binomial[v:]) * gap
    return [mass * (low + gap * (k >= v)) for k, mass in enumerate(binomial)]


def largest_excess(m, r, law):
    """The largest P_s(E) - e^epsilon P_s'(E) over all neighbours s, s' and events E, by all outputs."""

    def chance(coins, output):
        k = right(coins, output)
        return law[k] / math.comb(r, k) / math.comb(m, r)

    first = (0,) * m
    return max(
        sum(max(Fraction(0), chance(one, output) - ODDS * chance(other, output)) for output in shown(m, r))
        for near in flipped(first)
        for one, other in ((first, near), (near, first))
    )


@pytest.mark.parametrize(("m", "r", "v"), [(3, 3, 3), (4, 3, 2), (5, 4, 3), (5, 5, 4), (6, 4, 4)])
def test_an_algorithm_attains_the_bound_exactly(m, r, v):
    delta = Fraction(1, 200)
    law = worst_law(m, r, v, delta)
    assert sum(law) == 1
    assert min(law) >= 0
    assert largest_excess(m, r, law) == delta
    bound = one_run_tail(Guesses(m, r, v), math.log(3), float(delta))
    assert bound == pytest.approx(float(sum(law[v:])), rel=1e-9)


def test_canaries_are_not_independent():
    """The numbers of the note: a rule for independent canaries is false four times as often as it says."""
    m, delta = 20, Fraction(1, 100)
    attained = float(sum(worst_law(m, m, m, delta)[m:]))
    independent = stats.binom.cdf(0, m - round(m * delta), 1 / 4)
    assert independent == pytest.approx(0.0032, abs=1e-4)
    assert attained == pytest.approx(0.0131, abs=1e-4)
    assert one_run_tail(Guesses(m, m, m), math.log(3), float(delta)) == pytest.approx(attained)
