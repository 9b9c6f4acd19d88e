"""The quoted rules of probability: proved without assumptions, and true of laws computed exactly."""

from fractions import Fraction
from itertools import product
from math import comb, exp, log, sqrt

import pytest
from flint import arb, ctx

from dpproof.proofs_check.verdict import Verdict
from tests.verified import verified

VERDICTS = {
    "classic.union_bound": Verdict.PROVED,
    "classic.markov": Verdict.PROVED,
    "classic.independent_sum": Verdict.PROVED,
    "classic.post_processing": Verdict.PROVED,
    "classic.post_processing_renyi": Verdict.PROVED,
    "classic.total_variance": Verdict.PROVED,
    "classic.simulation": Verdict.PROVED,
}
HALF = Fraction(1, 2)


def test_all_are_proved_without_an_assumption():
    found = verified(VERDICTS)
    assert {x.id: x.verdict for x in found} == VERDICTS
    assert not any(x.assumptions for x in found)


def binomial(n, p):
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("p", [Fraction(1, 20), HALF, Fraction(9, 10)])
def test_chernoff_and_hoeffding_hold_for_the_binomial_law(n, p):
    law, m = binomial(n, p), n * p
    for d in (Fraction(j, 10) for j in range(11)):
        above = sum(x for k, x in enumerate(law) if k >= (1 + d) * m)
        below = sum(x for k, x in enumerate(law) if k <= (1 - d) * m)
        far = sum(x for k, x in enumerate(law) if k - m >= n * d)
        assert above <= exp(-m * d * d / 3)
        assert below <= exp(-m * d * d / 2)
        assert far <= exp(-2 * n * d * d)


def test_hoeffdings_eighth_is_needed():
    """With a little less than 1/8 the lemma fails: the constant is sharp."""
    low, p = 0.1, 0.5
    assert p * exp(low * (1 - p)) + (1 - p) * exp(-low * p) > exp(0.9 * low**2 / 8)


def walks(n):
    """All paths of a martingale whose next step depends on the sign of its sum, with their chances."""
    for signs in product((-1, 1), repeat=n):
        total, used, chance = 0.0, 0.0, 1.0
        for sign in signs:
            up, down = (1.0, 0.25) if total >= 0 else (0.5, 0.5)  # steps up and down, of mean zero
            likely = down / (up + down)
            used += likely * up**2 + (1 - likely) * down**2
            total += up if sign > 0 else -down
            chance *= likely if sign > 0 else 1 - likely
        yield total, used, chance


@pytest.mark.parametrize("delta", [0.5, 0.1, 0.01])
def test_azuma_and_freedman_hold_for_a_martingale(delta):
    paths = list(walks(10))
    assert sum(x for *_, x in paths) == pytest.approx(1)
    assert sum(x for total, _, x in paths if total > sqrt(2 * 10 * log(1 / delta))) <= delta
    for rate in (0.1, 0.5, 1.0):
        assert sum(x for total, used, x in paths if total > rate * used + log(1 / delta) / rate) <= delta


@pytest.mark.parametrize("d", [1, 2, 7, 50])
@pytest.mark.parametrize("t", [0.01, 1, 10])
def test_chi_square_tails(d, t):
    with ctx.workprec(128):
        half = arb(d) / 2
        upper = (half + (arb(d) * arb(t)).sqrt() + arb(t)).gamma_upper(half, regularized=1)
        edge = arb(d) - 2 * (arb(d) * arb(t)).sqrt()
        assert upper < (-arb(t)).exp()
        if edge > 0:
            assert (edge / 2).gamma_lower(half, regularized=1) < (-arb(t)).exp()


def test_l1_deviation_of_three_points():
    n, level = 8, 1.0
    far = sum(
        Fraction(comb(n, i) * comb(n - i, j), 3**n)
        for i in range(n + 1)
        for j in range(n + 1 - i)
        if sum(abs(Fraction(k, n) - Fraction(1, 3)) for k in (i, j, n - i - j)) >= level
    )
    assert 0 < far <= 6 * exp(-n * level**2 / 2)
