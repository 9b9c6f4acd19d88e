"""Ends of losses are outward and cells are numbers: every pair at random parameters and at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs import fixed_size
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.binomial import ShiftedBinomial, ShuffledBinary
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.pairs.fixed_size import Everything, FixedSize, with_replacement
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.lattice import charged, mixed
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.spherical_gaussians import SphericalGaussians
from dpproof.accountant.pairs.staircase import Staircase
from dpproof.accountant.pairs.subsampled import Nothing, Subsampled, VisibleChoice, visible_coin
from dpproof.accountant.pairs.unequal_gaussians import UnequalGaussians
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from tests.rows import rows, tiered

Case = tuple[DominatingPair, arb | float, arb | float]
"""A pair, the infimum and the supremum of its finite losses."""
Rng = np.random.Generator
_BITS = 1500


def _of(value: Fraction | float) -> arb:
    number = Fraction(value)
    return arb(flint.fmpq(number.numerator, number.denominator))


def _power(rng: Rng, low: float, high: float) -> float:
    return float(10 ** rng.uniform(low, high))


def _laplace(rng: Rng) -> Case:
    scale = _power(rng, -2.6, 12)
    return Laplace(scale), -1 / _of(scale), 1 / _of(scale)


def _after(loss: arb, rate: float) -> arb:
    return (1 - _of(rate) + _of(rate) * loss.exp()).log()


def _sampled_laplace(rng: Rng) -> Case:
    scale, rate, removes = _power(rng, -2.6, 3), _power(rng, -16, 0), bool(rng.integers(2))
    low, high = (_after(side / _of(scale), rate) for side in (-1, 1))
    return Subsampled(Laplace(scale), rate, removes), *((low, high) if removes else (-high, -low))


def _fixed_laplace(rng: Rng) -> Case:
    scale, rate = _power(rng, -2.6, 3), _power(rng, -16, 0)
    end = _after(1 / _of(scale), rate)
    return FixedSize(Laplace(scale), rate), -end, end


def _fixed_range(rng: Rng) -> Case:
    epsilon, rate = _power(rng, -20, 2.7), _power(rng, -200, 0)
    end = _after(_of(epsilon), rate)
    return FixedSize(BoundedRange(epsilon), rate), -end, end


def _atoms(rng: Rng) -> Case:
    size = int(rng.integers(2, 6))
    p, q = (
        [
            Fraction(int(x) + 1)
            * Fraction(1, 10) ** int(rng.choice([0, 0, 1, 30, 400]))
            * Fraction(10**6 + int(rng.integers(2)), 10**6)
            for x in rng.integers(0, 10**6, size)
        ]
        for _ in range(2)
    )
    p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    losses = [_of(a / b).log() for a, b in zip(p, q, strict=True)]
    return Atoms(p, q), _least(losses), -_least([-x for x in losses])


def _close_atoms(rng: Rng) -> Case:
    """Losses like 1e-100, from two outcomes with almost equal odds."""
    gap = Fraction(1, 10 ** int(rng.integers(5, 300)))
    p = Fraction(int(rng.integers(1, 10**6)), 10**6 + 1)
    return Atoms([p * (1 + gap), 1 - p * (1 + gap)], [p, 1 - p]), *sorted_pair(
        _of(1 + gap).log(), _of((1 - p * (1 + gap)) / (1 - p)).log()
    )


def sorted_pair(one: arb, other: arb) -> tuple[arb, arb]:
    return (one, other) if one < other else (other, one)


def _least(values: list[arb]) -> arb:
    found = values[0]
    for value in values:
        found = value if value < found else found
    return found


def _sampled_atoms(rng: Rng) -> Case:
    pair, _, _ = _atoms(rng)
    rate = _power(rng, -250, 0)
    p, q = ([Fraction(x) for x in side] for side in (pair.p, pair.q))
    losses = [_after(_of(a / b).log(), rate) for a, b in zip(p, q, strict=True)]
    return Subsampled(pair, rate), _least(losses), -_least([-x for x in losses])


def _gaussian(rng: Rng) -> Case:
    rate = _power(rng, -290, 0)
    return SubsampledGaussian(rate, _power(rng, -2, 3)), _of(1 - Fraction(rate)).log(), math.inf


def _mixture(rng: Rng) -> Case:
    rate, records = _power(rng, -290, -1e-9), int(rng.integers(1, 9))
    pair = BinomialGaussianMixture(rate, _power(rng, -1, 2), records)
    return pair, records * _of(1 - Fraction(rate)).log(), math.inf


def _unequal(rng: Rng) -> Case:
    mean, p, q = float(rng.normal()), _power(rng, -3, 3), _power(rng, -3, 3)
    m, a, b = _of(mean), _of(p), _of(q)
    slope = (1 / b**2 - 1 / a**2) / 2
    vertex = (b / a).log() - m * m / (2 * a**2) - (m / a**2) * (m / a**2) / (4 * slope)
    return UnequalGaussians(mean, p, q), *((vertex, math.inf) if p > q else (-math.inf, vertex))


def _spherical(rng: Rng) -> Case:
    shift, ratio, d = _power(rng, -2, 1), float(rng.normal()), int(rng.integers(1, 8))
    h = 2 * _of(ratio)
    moved = _of(shift) if ratio > 0 else _of(shift) * (h / 2).exp()
    vertex = -moved * moved / (2 * (h.exp() - 1)) - d * h / 2
    return SphericalGaussians(shift, ratio, d), *((vertex, math.inf) if ratio > 0 else (-math.inf, vertex))


def _geometric(rng: Rng) -> Case:
    shift = int(rng.integers(1, 9))
    scale = _power(rng, -1.5, 200)
    return Geometric(scale, shift), -shift / _of(scale), shift / _of(scale)


def _response(rng: Rng) -> Case:
    epsilon = _power(rng, -299, 2.7)
    return RandomisedResponse(epsilon, int(rng.integers(2, 5))), -_of(epsilon), _of(epsilon)


def _staircase(rng: Rng) -> Case:
    epsilon, gamma = _power(rng, -299, 2.7), Fraction(int(rng.integers(0, 9)), 8)
    return Staircase(epsilon, gamma, _power(rng, -299, 0)), -_of(epsilon), _of(epsilon)


def _bounded(rng: Rng) -> Case:
    epsilon = Fraction(int(rng.integers(1, 10**9)), int(rng.integers(10**7, 10**12)))
    return BoundedRange(epsilon), -_of(epsilon), _of(epsilon)


def _binomial(rng: Rng) -> Case:
    n, share = int(rng.integers(1, 10**6)), Fraction(int(rng.integers(1, 999)), 1000)
    odds = share / (1 - share)
    return ShiftedBinomial(n, share), _of(odds / n).log(), _of(odds * n).log()


def _shuffled(rng: Rng) -> Case:
    n, p = int(rng.integers(1, 12)), Fraction(int(rng.integers(1, 999)), 1000)
    a, c = sorted({Fraction(int(rng.integers(0, 500)), 1000), Fraction(int(rng.integers(501, 1001)), 1000)})
    law = [Fraction(0), *(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)), Fraction(0)]
    one, other = ([(1 - x) * law[k + 1] + x * law[k] for k in range(n + 2)] for x in (a, c))
    losses = [_of(x / y).log() for x, y in zip(one, other, strict=True) if x and y]
    return ShuffledBinary(n, p, a, c), _least(losses), -_least([-x for x in losses])


def _choice(rng: Rng) -> Case:
    (one, low, high), rate = _sampled_laplace(rng), _power(rng, -3, -0.1)
    zero = arb(0)
    return visible_coin(one, rate), (low if low < 0 else zero), (high if high > 0 else zero)


MAKERS: list[Callable[[Rng], Case]] = [
    _laplace,
    _sampled_laplace,
    _fixed_laplace,
    _fixed_range,
    _atoms,
    _close_atoms,
    _sampled_atoms,
    _gaussian,
    _mixture,
    _unequal,
    _spherical,
    _geometric,
    _response,
    _staircase,
    _bounded,
    _binomial,
    _shuffled,
    _choice,
]


@pytest.mark.parametrize("make", MAKERS)
def test_ends_of_losses_are_outward_and_close(make: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(7)
    with precision(_BITS):
        for _ in range(120):
            pair, low, high = make(rng)
            found = pair.loss_range()
            for end, true, sign in ((found[0], low, -1), (found[1], high, 1)):
                if isinstance(true, float):
                    assert end == true, pair
                    continue
                assert sign * arb(end) >= sign * true, (pair, end)
                assert sign * arb(end) <= sign * true + abs(true) * 1e-11 + 1e-320, (pair, end)
            back = pair.reversed().loss_range()
            assert back[0] == pytest.approx(-found[1], rel=1e-14)
            assert back[1] == pytest.approx(-found[0], rel=1e-14)


OTHERS: list[Callable[[Rng], DominatingPair]] = [
    lambda rng: ReplacedGaussian(min(_power(rng, -12, 0.2), 1.0), _power(rng, -2, 3)),
    lambda rng: DiscreteGaussian(_power(rng, -3, 4), int(rng.integers(1, 4))),
    lambda rng: DiscreteGaussian(int(_power(rng, 9, 20)), int(_power(rng, 0, 5))),
    lambda rng: FixedSize(DiscreteGaussian(_power(rng, -2, 3), 2), _power(rng, -3, 0)),
    lambda rng: FixedSize(SubsampledGaussian(1.0, _power(rng, -2, 3)), _power(rng, -3, 0)),
    lambda rng: with_replacement(lambda k: Geometric(2, k), int(rng.integers(1, 9)), 5, 3),
    lambda rng: VisibleChoice((("1/3", Everything()), ("2/3", Nothing()))),
    lambda rng: SubsampledGaussian(_power(rng, -300, 0), _power(rng, -4, 12), bool(rng.integers(2))),
    lambda rng: UnequalGaussians(_power(rng, -9, 4), _power(rng, -4, 4), _power(rng, -4, 4)),
    lambda rng: BoundedRange(600),
    lambda rng: Laplace(2e-3),
]


def _edges(pair: DominatingPair, rng: Rng) -> np.ndarray:
    """Scattered, next to each other, next to 0, and at the ends of the losses."""
    ends = [x for x in pair.loss_range() if math.isfinite(x)]
    near = [x + y for x in [0.0, *ends] for y in (-1e-12, -1e-300, 0.0, 1e-300, 1e-15, 1e-9)]
    wide = rng.normal(0, float(10 ** rng.uniform(-3, 3)), 8)
    return np.unique(np.concatenate([near, wide, wide[:2] + 1e-13, [-1e5, 1e5]]))


@pytest.mark.parametrize("number", tiered(range(len(MAKERS) + len(OTHERS)), fast=8))
def test_cells_are_numbers_that_add_up(number: int) -> None:
    rng = np.random.default_rng(number)
    makers = [*(lambda rng, make=make: make(rng)[0] for make in MAKERS), *OTHERS]
    for _ in range(25):
        pair = makers[number](rng)
        for one in (pair, pair.reversed()):
            for edges in (_edges(one, rng), np.zeros(1)):
                cells = one.cells(edges)
                for masses, error, rest in (
                    (cells.p, cells.p_error, cells.infinite),
                    (cells.q, cells.q_error, (0.0, 0.0)),
                ):
                    wrong = np.broadcast_to(error, masses.shape)
                    assert masses.shape == (len(edges) + 1,)
                    assert np.all((masses >= 0) & (masses < np.inf)), one
                    assert np.all((wrong >= 0) & (wrong < np.inf)), one
                    doubt = float(np.sum(masses * wrong)) + 1e-13
                    assert float(masses.sum()) + rest[0] <= 1 + doubt, one
                    assert float(masses.sum()) + rest[1] >= 1 - doubt, one
                assert 0 <= cells.slack < math.inf


def test_atoms_that_underflow_are_not_taken_for_exact() -> None:
    tiny = Fraction(76, 10) * Fraction(2) ** -1074  # as a double 5% more
    cells = Atoms(["1/2", "1/2"], [tiny, 1 - tiny]).cells(np.array([0.0]))
    assert cells.q[1] * (1 - np.broadcast_to(cells.q_error, cells.q.shape)[1]) <= tiny
    assert tiny <= Fraction(float(cells.q[1])) * 2
    pair = Atoms(["1/2", "1/2"], [tiny, 1 - tiny])
    with precision(400):
        x = float((1 / (2 * _of(tiny))).log()) - 1e-2
        exactly = arb(1) / 2 - arb(x).exp() * _of(tiny)
        assert arb(PrivacyLoss([[(pair, 1)]]).delta(x).upper) >= exactly


def test_outcomes_that_underflow_still_reveal() -> None:
    gone = Fraction(1, 10**400)
    cells = Atoms([gone, 1 - gone], [0, 1]).cells(np.array([0.0]))
    assert cells.infinite[0] <= gone <= Fraction(cells.infinite[1])
    assert cells.infinite[1] > 0


def test_what_only_one_law_produces_is_charged_with_its_ends() -> None:
    """A mass of 1e-400 is no double; and so when P and Q are exchanged."""
    cells = ShiftedBinomial(10, Fraction(1, 10**40)).cells(np.array([-94.4]))
    assert cells.q[0] * (1 - np.asarray(cells.q_error)[0]) <= 1e-400
    gone = Fraction(1, 10**400)
    pair = Subsampled(Atoms([gone, 1 - gone], [0, 1]), 0.5, removes=False)
    cells = pair.cells(np.array([-1.0]))
    assert Fraction(float(cells.q[0] * (1 - np.asarray(cells.q_error)[0]))) <= gone / 2


def test_the_mass_of_a_cell_narrower_than_its_rounding() -> None:
    """Near the mean of a Gaussian far away: each end is off by more than the cell is wide."""
    edges = 0.9244103 + 1e-12 * np.arange(3)
    cells = UnequalGaussians(3, 1, "1e-4").cells(edges)
    assert np.all(cells.p_error <= 1)
    masses, errors = charged(np.array([1e-20]), np.array([1e-15]), np.array([1e-15]))
    assert masses[0] * (1 + errors[0]) >= 1e-20 + 1e-15


def test_a_negligible_component_does_not_spoil_a_mixture() -> None:
    _, errors = mixed([(0.5, np.array([1.0]), 1e-15), (0.5, np.array([1e-285]), 1.0)])
    assert errors[0] < 1e-14
    cells = ReplacedGaussian(0.5, 0.02).cells(np.array([-1.0, 0.0, 1.0]))
    assert np.asarray(cells.p_error)[-1] < 1e-9
    assert np.asarray(SubsampledGaussian(0.5, 0.02).cells(np.array([0.0])).p_error)[-1] < 1e-9


def test_an_error_above_one_raises_the_mass() -> None:
    masses, errors = mixed([(1.0, np.array([1.0]), 9.0)])
    assert masses[0] * (1 - errors[0]) <= 0
    assert masses[0] * (1 + errors[0]) >= 10


@pytest.mark.parametrize("noise", [0.02, 0.5, 3.0])
def test_replaced_gaussians_without_sampling_compose_in_closed_form(noise: float) -> None:
    assert ReplacedGaussian(1.0, noise).square == 4 / Fraction(noise) ** 2
    assert ReplacedGaussian(0.5, noise).square is None
    one, twice = (
        PrivacyLoss([[(pair, 2)]]).epsilon("1e-6")
        for pair in (ReplacedGaussian(1.0, noise), SubsampledGaussian(1.0, noise / 2))
    )
    assert one.lower <= twice.upper
    assert twice.lower <= one.upper


ASYMMETRIC = Atoms(["0.85", "0.05", "0.1"], ["0.0999", "0.0001", "0.9"])


@pytest.mark.parametrize(
    "pair",
    [
        ASYMMETRIC,
        ASYMMETRIC.reversed(),
        Atoms([Fraction(1, 10**11), 1 - Fraction(1, 10**11)], [0, 1]),
        SphericalGaussians(1, "0.1", 5),
        UnequalGaussians(0, 1, 2),
        SubsampledGaussian(0.5, 1.0),
        ShuffledBinary(4, "1/2", "1/4", "1/2"),
    ],
    ids=repr,
)
def test_fixed_size_refuses_a_pair_that_is_not_its_reverse(pair: DominatingPair) -> None:
    """The first has almost the tail masses of its reverse, but not the losses."""
    with pytest.raises(ValueError, match=r"^pair \(.*the same privacy loss"):
        FixedSize(pair, "1/2")


def test_fixed_size_takes_pairs_that_are_their_reverse() -> None:
    for pair in (
        Atoms(["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"]),
        Atoms(["1/2", "1/3", "1/6"], ["1/2", "1/6", "1/3"]),
        ShiftedBinomial(5, "1/2"),
        ShuffledBinary(4, "1/2", "1/4", "3/4"),
        UnequalGaussians(1, 2, 2),
        Everything(),
        Nothing(),
    ):
        assert FixedSize(pair, "1/2").reversed() == FixedSize(pair, "1/2")


def test_an_atom_at_no_loss_is_in_one_cell() -> None:
    for pair in (DiscreteGaussian("1.5", 2), Nothing(), RandomisedResponse(1, 3)):
        for edges in ([0.0, 1e-300], [-1e-300, 0.0, 1e-300], [0.0], [-1e-17, 1e-17]):
            cells = FixedSize(pair, "0.9").cells(np.array(edges))
            assert math.fsum(cells.p) == pytest.approx(1, abs=1e-13)
            assert math.fsum(cells.q) == pytest.approx(1, abs=1e-13)


def test_weights_of_samples_with_replacement_enclosed_and_exact() -> None:
    for sample, records in ((5, 9), (100, 70), (1, 3)):
        share, counts = Fraction(1, records), range(1, min(sample, 20) + 1)
        rate, chances = fixed_size._copies(sample, share, counts)
        most, least = fixed_size._copies_enclosed(sample, share, counts)
        assert 0 <= most - rate <= rate / 10**60
        assert all(0 <= x - y <= x / 10**50 for x, y in zip(chances, least, strict=True))


def test_large_samples_with_replacement() -> None:
    """At 10^5 out of 10^5 the number of copies is a Poisson variable but for 1e-5 of it."""
    pair = with_replacement(lambda k: BoundedRange(k), 10**5, 10**5, 10)
    assert float(pair.rate) == pytest.approx(-math.expm1(-1), rel=1e-5)
    weights = [float(Fraction(w)) for w, _ in pair.pair.branches]
    assert weights[:3] == pytest.approx([1 / math.expm1(1) / math.factorial(k) for k in (1, 2, 3)], rel=1e-4)
    assert with_replacement(lambda k: BoundedRange(k), 10**5, 1, 1).rate == 1


def test_spherical_cells_at_no_loss() -> None:
    """Where the sphere is as large as the distance of its centre: a ball around 0 is squared."""
    for shift, log_ratio, dimension in ((1, "0.1", 5), (1, "0.1", 7), (1, "-0.1", 3), (2, "0.3", 1)):
        cells = SphericalGaussians(shift, log_ratio, dimension).cells(np.array([0.0]))
        near = SphericalGaussians(shift, log_ratio, dimension).cells(np.array([1e-9]))
        assert cells.p == pytest.approx(near.p, abs=1e-8)


def test_a_list_of_branches_is_as_good_as_a_tuple() -> None:
    pair = VisibleChoice([("1/2", Laplace(1.0)), ("1/2", Nothing())])
    assert hash(pair) == hash(VisibleChoice((("1/2", Laplace(1.0)), ("1/2", Nothing()))))


@rows(
    ("make", "words"),
    [
        (lambda: ReplacedGaussian("0.1", 1.0), "rate"),
        (lambda: ReplacedGaussian(True, 1.0), "rate"),
        (lambda: ReplacedGaussian(0.1, "1.1"), "noise_multiplier"),
        (lambda: SubsampledGaussian("x", 1.0), "rate"),
        (lambda: SubsampledGaussian(True, 1.0), "rate"),
        (lambda: SubsampledGaussian(0.1, True), "noise_multiplier"),
        (lambda: SubsampledGaussian(1e-301, 1.0), "rate"),
        (lambda: BinomialGaussianMixture("0.1", 1.0, 2), "rate"),
        (lambda: BinomialGaussianMixture(1.0, 1.0, 2), "rate"),
        (lambda: Subsampled(Laplace(1.0), "0.1"), "rate"),
        (lambda: Subsampled(Laplace(1.0), True), "rate"),
        (lambda: Subsampled("x", 0.1), "pair"),
        (lambda: FixedSize("x", 0.1), "pair"),
        (lambda: VisibleChoice(((1, "x"),)), "pair"),
        (lambda: FixedSize(BoundedRange(1), Fraction(1, 10**400)), "rate"),
        (lambda: Laplace(True), "scale"),
        (lambda: BoundedRange(601), "epsilon"),
        (lambda: BoundedRange("1e-301"), "epsilon"),
        (lambda: RandomisedResponse("1e-400"), "epsilon"),
        (lambda: ShiftedBinomial(10, "1e-400"), "probability"),
        (lambda: ShiftedBinomial(10, 1 - Fraction(1, 10**400)), "probability"),
        (lambda: ShuffledBinary(10, "1/2", "1e-400", "1/2"), "first"),
        (lambda: ShuffledBinary(10, "1/2", "1/4", 1 - Fraction(1, 10**400)), "second"),
        (lambda: ShuffledBinary(10, "1e-400"), "probability"),
        (lambda: Geometric("1e500"), "scale"),
        (lambda: Staircase(601, 0), "epsilon"),
        (lambda: Staircase(1, "1.1"), "gamma"),
        (lambda: Staircase(1, 0, "1e-301"), "shift"),
    ],
)
def test_what_is_no_number_here_is_refused_by_name(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=rf"^{words} \("):
        make()
