"""Cells of pairs against Arb and exact fractions; the map of losses under subsampling; bad input."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.subsampled import Subsampled, loss_before_sampling

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
        (lambda: Atoms([1], [1, 0]), "long"),
        (lambda: Atoms(["1/2", "1/4"], [1, 0]), "add up"),
        (lambda: Atoms(["3/2", "-1/2"], [1, 0]), "at least 0"),
        (lambda: Subsampled(Laplace(1.0), 2.0), "rate"),
    ],
)
def test_bad_input_is_refused_by_name(build, words):
    with pytest.raises(ValueError, match=words):
        build()
