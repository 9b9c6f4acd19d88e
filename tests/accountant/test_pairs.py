"""Dominating pairs against closed forms, and mixtures of Gaussians.

Cells of pairs against Arb and exact fractions; the map of losses under subsampling; bad input.

A user with several sampled records: the pair against exact masses in Arb, and against real sums.
"""

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.subsampled import Subsampled, loss_before_sampling
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.renyi.subsampled_gaussian import subsampled_gaussian_renyi
from dpproof.accountant.theorems.group_privacy import group_privacy
from tests.rows import tiered

RESPONSE = Atoms(["3/4", "1/4"], ["1/4", "3/4"])
PAIRS = [
    SubsampledGaussian(1.0, 2.0),
    SubsampledGaussian(0.01, 1.0),
    SubsampledGaussian(0.3, 0.5, removes=False),
    SubsampledGaussian(1e-6, 0.5),
    Laplace(0.7),
    RESPONSE,
    Subsampled(Laplace(1.0), 0.1),
    Subsampled(Laplace(1.0), 0.1, removes=False),
    Subsampled(RESPONSE, 0.2),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_masses_add_up_and_losses_lie_in_their_cells(pair):
    edges = np.linspace(-3.0, 3.0, 241)
    cells = pair.cells(edges)
    assert isinstance(pair, DominatingPair)
    assert cells.p.shape == cells.q.shape == (242,)
    assert cells.p.sum() == pytest.approx(1.0, abs=1e-12)
    assert cells.q.sum() == pytest.approx(1.0, abs=1e-12)
    inner = slice(1, -1)
    p, q = cells.p[inner], cells.q[inner]
    used = (p > 1e-200) & (q > 1e-200)
    losses = np.log(p[used] / q[used])
    assert np.all(losses >= edges[:-1][used] - cells.slack - 1e-9)
    assert np.all(losses <= edges[1:][used] + cells.slack + 1e-9)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_reverse_has_the_mirrored_cells(pair):
    edges = np.linspace(-2.03, 2.01, 57)
    forward, back = pair.cells(edges), pair.reversed().cells(-edges[::-1])
    np.testing.assert_allclose(back.p[::-1], forward.q, rtol=1e-9, atol=1e-250)
    np.testing.assert_allclose(back.q[::-1], forward.p, rtol=1e-9, atol=1e-250)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_no_mass_outside_the_range(pair):
    low, high = pair.loss_range()
    if np.isfinite(low):
        assert pair.cells(np.array([low - 1e-9])).p[0] < 1e-280
    if np.isfinite(high):
        assert pair.cells(np.array([high + 1e-9])).p[-1] < 1e-280


@pytest.mark.parametrize(
    ("rate", "noise", "loss"),
    [
        (0.01, 1.0, 0.5),
        (0.01, 1.0, -0.01),
        (0.5, 0.2, 30.0),
        (1e-6, 0.5, 1e-5),
        (0.9, 3.0, -2.0),
        (1.0, 0.05, 7.0),
    ],
)
def test_masses_above_a_loss_against_arb(rate, noise, loss):
    """P(L >= l) lies between the computed masses at l - slack and l + slack, with their relative errors."""
    pair = SubsampledGaussian(rate, noise)
    slack = pair.cells(np.array([loss])).slack
    with precision(300):
        q, s = flint.arb(rate), flint.arb(noise)
        for move, sense in ((-1.0, 1), (1.0, -1)):
            edge = np.array([loss + move * slack * 1.01])
            cells = pair.cells(edge)
            x = s * s * ((flint.arb(loss).exp() - 1 + q) / q).log() + flint.arb(1) / 2
            p, other = (((x - m) / s / flint.arb(2).sqrt()).erfc() / 2 for m in (1, 0))
            exact_p, exact_q = (1 - q) * other + q * p, other
            for given, error, exact in (
                (cells.p[1], np.max(cells.p_error), exact_p),
                (cells.q[1], np.max(cells.q_error), exact_q),
            ):
                scaled = flint.arb(float(given)) * (1 + sense * flint.arb(float(error)))
                assert (scaled >= exact) if sense > 0 else (scaled <= exact)


def test_subsampling_an_atom_is_exact():
    pair = Subsampled(RESPONSE, 0.25)
    mixed = [Fraction(3, 4) * Fraction(1, 4) + Fraction(1, 4) * Fraction(3, 4), None]
    mixed[1] = 1 - mixed[0]
    direct = Atoms(mixed, ["1/4", "3/4"])
    edges = np.linspace(-1.0, 1.0, 41)
    np.testing.assert_allclose(pair.cells(edges).p, direct.cells(edges).p, atol=1e-15)
    assert pair.loss_range() == pytest.approx(direct.loss_range(), rel=1e-12)


def test_the_generic_map_agrees_with_the_gaussian():
    edges = np.linspace(-0.2, 3.0, 100)
    ours = SubsampledGaussian(0.2, 0.8).cells(edges)
    generic = Subsampled(SubsampledGaussian(1.0, 0.8), 0.2).cells(edges)
    np.testing.assert_allclose(ours.p, generic.p, rtol=1e-9)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.999, 1.0])
def test_the_map_of_losses_is_within_its_slack(rate):
    losses = np.concatenate([-np.geomspace(1e-9, 30, 40), np.geomspace(1e-9, 30, 40)])
    before, slack, _ = loss_before_sampling(losses, rate)
    with precision(300):
        for loss, found in zip(losses, before, strict=True):
            if np.isfinite(found):
                again = (1 - flint.arb(rate) + flint.arb(rate) * flint.arb(float(found)).exp()).log()
                assert abs(again - flint.arb(float(loss))) <= slack


def test_outcomes_only_p_has_are_infinite_losses():
    cells = Atoms(["1/2", "1/2"], [0, 1]).cells(np.array([0.0]))
    assert cells.infinite == pytest.approx((0.5, 0.5))
    assert cells.p.sum() == 0.5


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: SubsampledGaussian(0.0, 1.0), "rate"),
        (lambda: SubsampledGaussian(1.1, 1.0), "rate"),
        (lambda: SubsampledGaussian(float("nan"), 1.0), "rate"),
        (lambda: SubsampledGaussian(0.5, 0.0), "noise_multiplier"),
        (lambda: SubsampledGaussian(0.5, float("nan")), "noise_multiplier"),
        (lambda: SubsampledGaussian(0.5, float("inf")), "noise_multiplier"),
        (lambda: Laplace(-1.0), "scale"),
        (lambda: Laplace(float("nan")), "scale"),
        (lambda: Atoms([1], [1, 0]), "same length"),
        (lambda: Atoms(["1/2", "1/4"], [1, 0]), "add up"),
        (lambda: Atoms(["3/2", "-1/2"], [1, 0]), "at least 0"),
        (lambda: Subsampled(Laplace(1.0), 2.0), "rate"),
    ],
)
def test_bad_input_is_refused_by_name(build, words):
    with pytest.raises(ValueError, match=words):
        build()


DIGITS = mpmath.MPContext()
DIGITS.dps = 40


def loss(x, weights, noise):
    """The loss at an output x, in Arb."""
    return sum(
        (w * (j * x / noise**2 - flint.arb(j * j) / (2 * noise**2)).exp() for j, w in enumerate(weights)),
        flint.arb(0),
    ).log()


def output_of(edge, weights, noise):
    """The output with that loss, by bisection between exact numbers; None below every loss."""
    if weights[0].log() >= edge:
        return None
    low, high = flint.arb(-1), flint.arb(1)
    while not loss(low, weights, noise) < edge:
        low *= 2
    while not loss(high, weights, noise) > edge:
        high *= 2
    for _ in range(250):
        middle = ((low + high) / 2).mid()
        if loss(middle, weights, noise) < edge:
            low = middle
        else:
            high = middle
    return high


def masses_above(edge, weights, noise):
    """The P- and Q-mass of the losses above ``edge``."""
    x = output_of(edge, weights, noise)
    if x is None:
        return flint.arb(1), flint.arb(1)
    root = flint.arb(2).sqrt()
    tails = [((x - j) / (noise * root)).erfc() / 2 for j in range(len(weights))]
    return sum((w * t for w, t in zip(weights, tails, strict=True)), flint.arb(0)), tails[0]


@pytest.mark.parametrize(
    ("rate", "noise", "records"),
    tiered([(0.5, 1.0, 2), (0.01, 1.0, 4), (1e-6, 0.3, 8), (0.1, 1e4, 3), (0.9, 2.0, 5)], fast=2),
)
def test_cells_hold_the_exact_masses(rate, noise, records):
    pair = BinomialGaussianMixture(rate, noise, records)
    size = records * min(rate * (1 / noise + records), 5)
    edges = np.linspace(-size, 4 * size, 12)
    cells = pair.cells(edges)
    assert cells.slack <= 1e-10 * size
    with precision(400):
        q, s = arb_of(Fraction(rate)), arb_of(Fraction(noise))
        weights = [math.comb(records, j) * q**j * (1 - q) ** (records - j) for j in range(records + 1)]
        for side, given_, errors in ((0, cells.p, cells.p_error), (1, cells.q, cells.q_error)):
            for i in range(1, len(edges)):
                left = masses_above(flint.arb(edges[i - 1]) - flint.arb(cells.slack), weights, s)[side]
                right = masses_above(flint.arb(edges[i]) + flint.arb(cells.slack), weights, s)[side]
                inner_left = masses_above(flint.arb(edges[i - 1]) + flint.arb(cells.slack), weights, s)[side]
                inner_right = masses_above(flint.arb(edges[i]) - flint.arb(cells.slack), weights, s)[side]
                mass, spread = flint.arb(given_[i]), flint.arb(given_[i]) * flint.arb(errors[i])
                assert mass - spread <= left - right + flint.arb("1e-100")
                assert mass + spread >= inner_left - inner_right - flint.arb("1e-100")


def test_one_record_is_the_subsampled_gaussian():
    for steps in (1, 50):
        mixed, plain = BinomialGaussianMixture(0.1, 1.0, 1), SubsampledGaussian(0.1, 1.0)
        found, known = (PrivacyLoss([[(pair, steps)]]).delta("0.5") for pair in (mixed, plain))
        assert found.lower <= known.upper
        assert known.lower <= found.upper


def directed(weights_of_sums, noise, epsilon):
    """The hockey-stick divergence of a one-dimensional sum with these (weight, mean), by mpmath."""
    s = DIGITS.mpf(noise)

    def ratio(x):
        return sum(w * DIGITS.exp(m * x / s**2 - m * m / (2 * s * s)) for w, m in weights_of_sums)

    def excess(x):
        return DIGITS.npdf(x, 0, s) * max(ratio(x) - DIGITS.exp(DIGITS.mpf(epsilon)), 0)

    return DIGITS.quad(excess, [k * s / 2 for k in range(-24, 40)])


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.floats(-1, 1), st.floats(-1, 1), st.sampled_from([0.1, 0.5]), st.sampled_from([0.0, 0.3, 1.0]))
def test_no_records_of_norm_at_most_1_are_less_private(first, second, rate, epsilon):
    q = DIGITS.mpf(rate)
    a, b = DIGITS.mpf(first), DIGITS.mpf(second)
    sums = [((1 - q) ** 2, DIGITS.mpf(0)), (q * (1 - q), a), (q * (1 - q), b), (q * q, a + b)]
    found = PrivacyLoss([[(BinomialGaussianMixture(rate, 1.0, 2), 1)]]).delta(epsilon)
    assert directed(sums, 1.0, epsilon) <= found.upper + 1e-9  # the quadrature has a kink


@pytest.mark.slow
def test_a_user_with_two_records_in_dp_sgd():
    """Between one record's guarantee and what the chain of two neighbours gives."""
    step = BinomialGaussianMixture(0.01, 1.0, 2)
    user = PrivacyLoss([[(step, 200)], [(step.reversed(), 200)]]).epsilon("1e-6")
    record = PrivacyLoss([[(SubsampledGaussian(0.01, 1.0), 200)]]).epsilon("1e-6")
    chain = group_privacy(subsampled_gaussian_renyi("0.01", 1, 200), 2).epsilon("1e-6")
    assert record.upper < user.lower <= user.upper < chain.upper


def test_the_pair_keeps_its_protocol():
    pair = BinomialGaussianMixture(0.3, 2.0, 3)
    assert isinstance(pair, DominatingPair)
    assert pair.reversed().reversed() == pair
    assert pair.characteristic().records == 3
    low, high = pair.loss_range()
    assert low <= 3 * math.log1p(-0.3)
    assert high == math.inf
    assert pair.reversed().loss_range() == (-math.inf, -low)


@pytest.mark.parametrize(
    ("rate", "noise", "records", "name"),
    [
        (0.0, 1.0, 2, "rate"),
        (1.0, 1.0, 2, "rate"),
        (math.nan, 1.0, 2, "rate"),
        (0.5, 0.0, 2, "noise_multiplier"),
        (0.5, math.nan, 2, "noise_multiplier"),
        (0.5, 1.0, 0, "records"),
        (0.5, 1.0, 1.5, "records"),
        (0.5, 1.0, True, "records"),
    ],
)
def test_wrong_parameters_are_refused(rate, noise, records, name):
    with pytest.raises(ValueError, match=rf"^{name} \("):
        BinomialGaussianMixture(rate, noise, records)
