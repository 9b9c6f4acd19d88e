"""Pairs beyond Gaussian and Laplace: masses against independent references, and what they dominate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs import discrete_gaussian
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import Cells, DominatingPair
from dpproof.accountant.pairs.binomial import ShiftedBinomial
from dpproof.accountant.pairs.coins_until_heads import CoinsUntilHeads
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.exponential_mechanism import (
    BoundedRange,
    exponential_mechanism,
    permute_and_flip,
)
from dpproof.accountant.pairs.fixed_size import (
    FixedSize,
    poisson_replaced,
    with_replacement,
    without_replacement,
)
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.randomised_response import RandomisedResponse, truthful_response
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.staircase import Staircase
from dpproof.accountant.pairs.subsampled import Nothing, VisibleChoice, visible_coin
from dpproof.accountant.pairs.unequal_gaussians import UnequalGaussians
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from tests.rows import rows, tiered


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    """Differences of tails are compared down to masses of 1e-270."""
    with mpmath.workdps(330):
        yield


Tails = Callable[[mpf], tuple[mpf, mpf]]
"""A threshold of losses -> the masses of P and Q at or above it (of finite losses)."""
_ABSOLUTE = mpf("1e-270")
"""What stands for masses that are told apart from none no more."""


def _ends(masses: np.ndarray, errors: float | np.ndarray) -> list[tuple[mpf, mpf]]:
    each = np.broadcast_to(errors, masses.shape)
    return [(mpf(m) * (1 - mpf(e)), mpf(m) * (1 + mpf(e))) for m, e in zip(masses, each, strict=True)]


def _agrees(cells: Cells, edges: np.ndarray, tails: Tails) -> bool:
    """Whether every mass is within its error, each edge moved by at most the slack."""
    slack = mpf(cells.slack)
    inner = [(tails(mpf(e) - slack), tails(mpf(e) + slack)) for e in edges]
    whole, none = tails(mpf("-inf")), tails(mpf("inf"))
    points = [(whole, whole), *inner, (none, none)]
    for side, (masses, errors) in enumerate([(cells.p, cells.p_error), (cells.q, cells.q_error)]):
        for i, (low, high) in enumerate(_ends(masses, errors)):
            most = points[i][0][side] - points[i + 1][1][side]
            least = points[i][1][side] - points[i + 1][0][side]
            if low > most * (1 + mpf("1e-40")) + _ABSOLUTE or high < least * (1 - mpf("1e-40")) - _ABSOLUTE:
                return False
    return True


def _phi(x: mpf) -> mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _unequal(mean: float, sp: float, sq: float) -> Tails:
    m, p, q = mpf(mean), mpf(sp), mpf(sq)
    a, b = (1 / q**2 - 1 / p**2) / 2, m / p**2
    c = mpmath.log(q / p) - m**2 / (2 * p**2)

    def tails(e: mpf) -> tuple[mpf, mpf]:
        if mpmath.isinf(e):
            return (mpf(e < 0),) * 2
        if a == 0:
            x = (e - c) / b
            return tuple(_phi(-(x - k) / s * mpmath.sign(b)) for k, s in ((m, p), (0, q)))
        square = b * b - 4 * a * (c - e)
        if square <= 0:
            return (mpf(a > 0),) * 2
        low, high = sorted(((-b - mpmath.sqrt(square)) / (2 * a), (-b + mpmath.sqrt(square)) / (2 * a)))
        found = []
        for k, s in ((m, p), (mpf(0), q)):
            outside = _phi((low - k) / s) + _phi(-(high - k) / s)
            found.append(outside if a > 0 else _between((low - k) / s, (high - k) / s))
        return tuple(found)

    return tails


@pytest.mark.parametrize("seed", range(6))
def test_unequal_gaussians_in_narrow_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, sp, sq = (float(x) for x in 10 ** rng.uniform(-1.5, 0.5, 3))
    x, width = rng.normal() * 2 * sq, 10.0 ** rng.uniform(-8, -2)
    centre = (
        x * x * (1 / sq**2 - 1 / sp**2) / 2 + mean * x / sp**2 + math.log(sq / sp) - mean**2 / (2 * sp**2)
    )
    edges = centre + width * np.arange(-3, 4)
    assert _agrees(UnequalGaussians(mean, sp, sq).cells(edges), edges, _unequal(mean, sp, sq))


def _between(low: mpf, high: mpf) -> mpf:
    return _phi(-low) - _phi(-high) if low > 0 else _phi(high) - _phi(low)


@pytest.mark.parametrize(
    ("mean", "sp", "sq"),
    tiered(
        [
            (0, 2, 1),
            (1.5, 2, 1),
            (1, 1, 2),
            (1, 1, 1),
            (-1, 1, 1.000001),
            (0.5, 0.01, 1),
            (3, 1.1, 1),
            (0, 1, 1.01),
        ],
        fast=2,
    ),
)
def test_unequal_gaussians_against_their_parabola(mean: float, sp: float, sq: float) -> None:
    pair = UnequalGaussians(mean, sp, sq)
    low, high = pair.loss_range()
    edges = np.linspace(max(low, -30) - 0.1, min(high, 30) + 0.1, 11)
    other = pair.reversed()
    assert _agrees(pair.cells(edges), edges, _unequal(mean, sp, sq))
    assert _agrees(other.cells(edges), edges, _unequal(mean, sq, sp))
    assert other.reversed() == pair
    assert other.loss_range()[1] == pytest.approx(-low)


def _replaced(q: float, s: float, kept: mpf | None = None) -> Tails:
    """The mixture of N(0) and N(1) against that with N(-1); ``kept`` is 1 - q, or something wrong."""
    rate, sigma = mpf(q), mpf(s)
    rest = 1 - rate if kept is None else kept

    def tails(e: mpf) -> tuple[mpf, mpf]:
        if mpmath.isinf(e):
            return (mpf(e < 0),) * 2
        k = rate * mpmath.exp(-1 / (2 * sigma**2))
        # k y^2 + (1 - q)(1 - E) y - E k = 0
        big, middle = mpmath.exp(e), (1 - rate) * (1 - mpmath.exp(e))
        root = mpmath.sqrt(middle**2 + 4 * big * k**2)
        y = (root - middle) / (2 * k) if middle <= 0 else 2 * big * k / (root + middle)
        x = sigma**2 * mpmath.log(y)
        away = _phi(-x / sigma)
        return rest * away + rate * _phi((1 - x) / sigma), rest * away + rate * _phi((-1 - x) / sigma)

    return tails


@pytest.mark.parametrize(
    ("q", "s"),
    tiered([(0.01, 1.0), (1.0, 2.0), (0.5, 0.1), (1e-6, 0.5), (0.999999, 3.0), (0.2, 1e6)], fast=2),
)
def test_replaced_gaussian_against_its_quadratic(q: float, s: float) -> None:
    pair = ReplacedGaussian(q, s)
    top = min(2.2 / s**2 + 10 / s, 40.0)
    edges = np.linspace(-top, top, 42)
    assert _agrees(pair.cells(edges), edges, _replaced(q, s))
    assert pair.reversed() == pair


def test_a_mixture_that_forgets_who_was_not_sampled_is_refused() -> None:
    edges = np.linspace(-2, 2, 12)
    assert not _agrees(ReplacedGaussian(0.1, 1.0).cells(edges), edges, _replaced(0.1, 1.0, mpf(1)))


def _listed(losses: list[mpf], p: list[mpf], q: list[mpf]) -> Tails:
    def tails(e: mpf) -> tuple[mpf, mpf]:
        kept = [i for i, loss in enumerate(losses) if loss >= e]
        return mpmath.fsum(p[i] for i in kept), mpmath.fsum(q[i] for i in kept)

    return tails


@pytest.mark.parametrize(("variance", "shift"), tiered([("1/3", 1), (1, 1), (1, 2), (40, 3)], fast=2))
def test_discrete_gaussian_against_enumeration(variance: float | str, shift: int) -> None:
    pair, v = (
        DiscreteGaussian(variance, shift),
        mpf(Fraction(variance).numerator) / Fraction(variance).denominator,
    )
    outcomes = range(-400, 400 + shift)
    weights = {k: mpmath.exp(-(mpf(k) ** 2) / (2 * v)) for k in range(-400 - shift, 401 + shift)}
    total = mpmath.fsum(weights.values())
    law = _listed(
        [(shift**2 - 2 * shift * x) / (2 * v) for x in outcomes],
        [weights[x] / total for x in outcomes],
        [weights[x - shift] / total for x in outcomes],
    )
    edges = np.sort(np.random.default_rng(1).normal(0, 6 * shift / float(v) ** 0.5, 60))
    assert _agrees(pair.cells(edges), edges, law)


def test_discrete_gaussian_of_a_large_variance() -> None:
    """The integrals against plain sums of a few thousand masses, and against the enumerating route."""
    variance = Fraction(20_000) ** 2
    bounds = np.array([-90_001.0, -90_000.0, -40_000.0, -38_000.0, 0.0, 3000.0, 100_000.0, 100_050.0])
    for centre in (0, 3):
        masses, errors = discrete_gaussian._integrated(variance, bounds, centre)
        total = mpf(20_000) * mpmath.sqrt(2 * mpmath.pi)  # times 1 + 2 exp(-2 pi^2 variance)
        for i in (0, 2, 4, 6):
            sums = mpmath.fsum(
                mpmath.exp(-(mpf(k - centre) ** 2) / (2 * mpf(20_000) ** 2))
                for k in range(int(bounds[i]) + 1, int(bounds[i + 1]) + 1)
            )
            assert abs(masses[i + 1] - sums / total) <= masses[i + 1] * mpf(errors[i + 1])
        here, its = discrete_gaussian._enumerated(Fraction(3000) ** 2, bounds / 8, centre)
        there, other = discrete_gaussian._integrated(Fraction(3000) ** 2, np.floor(bounds / 8), centre)
        assert np.all(np.abs(here - there) <= here * its + there * other)


@pytest.mark.parametrize("variance", tiered(["1/100", "1/2", "99/100", "1", "7", "1000"], fast=2))
def test_normalising_sum_against_plain_summation(variance: str) -> None:
    value = mpf(Fraction(variance).numerator) / Fraction(variance).denominator
    plain = mpmath.fsum(mpmath.exp(-(mpf(k) ** 2) / (2 * value)) for k in range(-1500, 1501))
    with precision(120):
        found = discrete_gaussian.normaliser(Fraction(variance))
        assert abs(mpf(found.mid().str(40, radius=False)) / plain - 1) < mpf("1e-33")


@pytest.mark.parametrize(("scale", "shift"), tiered([("1", 1), ("1/2", 1), ("3", 4), ("20", 20)], fast=2))
def test_geometric_against_enumeration(scale: str, shift: int) -> None:
    unit = 1 / mpf(scale) if "/" not in scale else mpf(2)
    step = mpmath.exp(-unit)
    weights = {k: step ** abs(k) for k in range(-2500, 2501)}
    total = mpmath.fsum(weights.values())
    outcomes = range(-2500 + shift, 2501)
    law = _listed(
        [(abs(x - shift) - abs(x)) * unit for x in outcomes],
        [weights[x] / total for x in outcomes],
        [weights[x - shift] / total for x in outcomes],
    )
    top = float(shift * unit)
    edges = np.linspace(-1.1 * top, 1.1 * top, 24)
    assert _agrees(Geometric(scale, shift).cells(edges), edges, law)


@pytest.mark.parametrize(("n", "share"), [(1, Fraction(1, 2)), (30, Fraction(1, 3)), (200, Fraction(9, 10))])
def test_binomial_against_fractions(n: int, share: Fraction) -> None:
    pair = ShiftedBinomial(n, share)
    mass = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    p = [_mp(mass[x]) for x in range(1, n + 1)]
    q = [_mp(mass[x - 1]) for x in range(1, n + 1)]
    losses = [mpmath.log(a / b) for a, b in zip(p, q, strict=True)]
    low, high = pair.loss_range()
    edges = np.sort(np.random.default_rng(n).uniform(low - 0.1, high + 0.1, 40))
    cells = pair.cells(edges)
    bottom = _mp(share**n)  # the outcome n + 1, of loss -infinity

    def tails(e: mpf) -> tuple[mpf, mpf]:
        first, second = _listed(losses, p, q)(e)
        return first, second + (bottom if e == mpf("-inf") else 0)

    assert _agrees(cells, edges, tails)
    assert cells.infinite[0] <= (1 - share) ** n <= cells.infinite[1]
    assert _mp(Fraction(low)) <= losses[-1]
    assert losses[0] <= _mp(Fraction(high))
    assert pair.reversed().probability == 1 - share


def test_binomial_of_a_million_trials() -> None:
    n, edge = 10**6, 0.004
    cells = ShiftedBinomial(n, 0.5).cells(np.array([edge, 0.006]))
    last = [math.floor((n + 1) / (1 + mpmath.exp(mpf(e)))) for e in (edge, 0.006)]  # exact: no atom is near
    log_mass = [
        mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1) - n * mpmath.log(2)
        for k in range(last[1], last[0] + 1)
    ]
    p, q = mpmath.fsum(map(mpmath.exp, log_mass[1:])), mpmath.fsum(map(mpmath.exp, log_mass[:-1]))
    for mass, found, error in ((p, cells.p, cells.p_error), (q, cells.q, cells.q_error)):
        allowed = float(np.broadcast_to(error, found.shape)[1])
        assert abs(mass - found[1]) <= mass * mpf(allowed)
        assert allowed < 1e-10


def _mp(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


@pytest.mark.parametrize(("truth", "k"), [("3/4", 2), ("1/2", 2), ("9/10", 5), ("1/3", 3)])
def test_randomised_response_against_its_table(truth: str, k: int) -> None:
    t, o = _mp(Fraction(truth)), _mp((1 - Fraction(truth)) / (k - 1))
    law = _listed(
        [mpmath.log(t / o), *[mpf(0)] * (k - 2), mpmath.log(o / t)], [t, *[o] * (k - 1)], [*[o] * (k - 1), t]
    )
    edges = np.array([-3.0, -0.7, 0.1, 0.4, 1.0, 4.0])
    assert _agrees(truthful_response(truth, k).cells(edges), edges, law)


def test_geometric_shifted_by_one_is_randomised_response() -> None:
    edges = np.array([-1.0, 0.3, 1.0])
    assert np.allclose(Geometric(2).cells(edges).p, RandomisedResponse("1/2").cells(edges).p, rtol=1e-14)


def _delta(pair: DominatingPair, epsilon: float) -> float:
    """The hockey-stick divergence of one step, from cells."""
    cells = pair.cells(np.array([epsilon]))
    return float(cells.p[1] + cells.infinite[1] - math.exp(epsilon) * cells.q[1])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_bounded_range_is_the_least_above_every_two_point_pair(epsilon: float) -> None:
    big = math.exp(epsilon)
    for x in np.linspace(-epsilon, epsilon, 9)[:-1] + 1e-3 * epsilon:
        best = 0.0
        for t in np.linspace(0, epsilon, 2001):
            p = (big - math.exp(t)) / (big - 1)
            best = max(
                best, p * max(1 - math.exp(x - t), 0) + (1 - p) * max(1 - math.exp(x - t + epsilon), 0)
            )
        ours = _delta(BoundedRange(epsilon), float(x))
        assert best <= ours + 1e-12
        assert ours <= best + 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_bounded_range_dominates_exponential_mechanisms_under_composition(seed: int) -> None:
    """Two exponential mechanisms of random utilities, against the product of two pairs (finely merged)."""
    rng, epsilon = np.random.default_rng(seed), 1.0
    laws = []
    for _ in range(2):
        utility = rng.uniform(0, 3, 4)
        near = utility + rng.uniform(-1, 1, 4)
        laws.append([_softmax(epsilon * u / 2) for u in (utility, near)])
    truth = [np.outer(laws[0][side], laws[1][side]).ravel() for side in (0, 1)]
    edges = np.linspace(-epsilon, epsilon, 401)
    cells = exponential_mechanism(epsilon).cells(edges)
    ours = [np.outer(x, x).ravel() for x in (cells.p, cells.q)]
    for alpha in np.exp(np.linspace(-2, 2, 21)):
        assert _hockey(truth[0], truth[1], alpha) <= _hockey(ours[0], ours[1], alpha) + 1e-4


def _softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max())
    return np.asarray(weights / weights.sum())


def _hockey(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return float(np.maximum(p - alpha * q, 0).sum())


def test_permute_and_flip_needs_more_than_bounded_range() -> None:
    """Two candidates by exact enumeration: within randomised response, above bounded range."""
    epsilon = 1.0
    y = math.exp(-epsilon)
    tied, apart = np.array([0.5, 0.5]), np.array([1 - y / 2, y / 2])
    below = 0
    for alpha in np.exp(np.linspace(-0.99, 0.99, 41)):
        truth = _hockey(tied, apart, alpha)
        assert truth <= _delta(permute_and_flip(epsilon), math.log(alpha)) + 1e-12
        below += truth > _delta(BoundedRange(epsilon), math.log(alpha)) + 1e-6
    assert below > 0


_SYMMETRIC: list[DominatingPair] = [
    SubsampledGaussian(1.0, 1.0),
    BoundedRange(1.0),
    Geometric(1, 2),
    truthful_response("9/10", 5),
    Staircase(1, 0.3, 0.8),
    DiscreteGaussian(4, 2),
    VisibleChoice((("1/3", SubsampledGaussian(1.0, 2.0)), ("2/3", Geometric(2)))),
]


@pytest.mark.parametrize("pair", _SYMMETRIC, ids=repr)
@pytest.mark.parametrize("rate", [0.01, 0.5, 0.999])
def test_fixed_size_has_the_amplified_profile(pair: DominatingPair, rate: float) -> None:
    """Theorem 9 of Balle, Barthe and Gaboardi at epsilon >= 0, its mirror image below."""
    sampled = FixedSize(pair, rate)
    for x in (0.013, 0.2, 0.7, 1.9):
        amplified = rate * _delta(pair, math.log1p(math.expm1(x) / rate))
        assert _delta(sampled, x) == pytest.approx(amplified, rel=1e-9, abs=1e-14)
        mirrored = 1 - math.exp(-x) + math.exp(-x) * amplified
        assert _delta(sampled, -x) == pytest.approx(mirrored, rel=1e-9)


@pytest.mark.parametrize("pair", _SYMMETRIC, ids=repr)
def test_sampling_everything_changes_nothing(pair: DominatingPair) -> None:
    edges = np.linspace(-3, 3, 11) + 0.01
    assert np.array_equal(FixedSize(pair, 1).cells(edges).p, pair.cells(edges).p)


def test_fixed_size_composes_where_one_of_its_halves_does_not() -> None:
    """Two steps, in which the other records look like the one neighbour's record, then like the other's."""
    epsilon, rate = 1.0, 0.25
    p, q = np.array([math.exp(epsilon), 1.0]), np.array([1.0, math.exp(epsilon)])
    p, q = p / p.sum(), q / q.sum()
    mixed, mirror = (1 - rate) * q + rate * p, (1 - rate) * p + rate * q
    truth = np.outer(mixed, p).ravel(), np.outer(q, mirror).ravel()
    losses = np.array([-10.0, -0.9, -0.05, 0.05, 0.9, 10])
    cells = FixedSize(RandomisedResponse(epsilon), rate).cells(np.linspace(-1, 1, 2000))
    ours = [np.outer(x, x).ravel() for x in (cells.p, cells.q)]
    wrong = [np.outer(x, x).ravel() for x in (mixed, q)]
    caught = 0
    for alpha in np.exp(np.concatenate((losses, np.linspace(-1, 1, 21)))):
        value = _hockey(truth[0], truth[1], alpha)
        assert value <= _hockey(ours[0], ours[1], alpha) + 1e-9
        caught += value > _hockey(wrong[0], wrong[1], alpha) + 1e-6
    assert caught > 0


@pytest.mark.parametrize(("records", "sample"), tiered([(3, 1), (3, 2), (4, 3)], fast=1))
def test_sampling_schemes_by_full_enumeration(records: int, sample: int) -> None:
    """Geometric noise on the sum of sampled bits: every data set, every replaced bit, all three schemes."""
    outcomes = np.arange(-60, 64)
    weights = np.exp(-np.abs(np.arange(-130, 131)))
    weights /= weights.sum()

    def noisy(total: int) -> np.ndarray:
        return weights[outcomes - total + 130]

    def law(data: tuple[int, ...], scheme: str) -> np.ndarray:
        if scheme == "without":
            sums = [(sum(s), 1.0) for s in itertools.combinations(data, sample)]
        elif scheme == "with":
            sums = [(sum(s), 1.0) for s in itertools.product(data, repeat=sample)]
        else:
            share = sample / records
            sums = [
                (
                    sum(x * c for x, c in zip(data, coins, strict=True)),
                    share ** sum(coins) * (1 - share) ** (records - sum(coins)),
                )
                for coins in itertools.product((0, 1), repeat=records)
            ]
        total = sum(w for _, w in sums)
        return np.asarray(sum((w / total * noisy(s) for s, w in sums), np.zeros(len(outcomes))))

    pairs: dict[str, DominatingPair] = {
        "without": without_replacement(Geometric(1), sample, records),
        "with": with_replacement(lambda k: Geometric(1, k), sample, records, sample),
        "poisson": poisson_replaced(Geometric(1), Fraction(sample, records)),
    }
    for scheme, pair in pairs.items():
        for data in itertools.product((0, 1), repeat=records):
            for changed in ((1 - data[0], *data[1:]),):
                p, q = law(data, scheme), law(changed, scheme)
                for x in np.linspace(-0.95, 0.95, 12):
                    assert _hockey(p, q, math.exp(x)) <= _delta(pair, float(x)) + 1e-12


def _plane(q: float, u: np.ndarray, v: np.ndarray, sigma: float, alphas: np.ndarray) -> list[float]:
    """Hockey-stick divergences in the plane by the trapezoidal rule (the integrand has compact support)."""
    axis = np.arange(-9, 9, 0.02) * sigma
    x, y = np.meshgrid(axis, axis, indexing="ij")

    def mixture(c: np.ndarray) -> np.ndarray:
        near = np.exp(-((x - c[0]) ** 2 + (y - c[1]) ** 2) / (2 * sigma**2))
        whole = (1 - q) * np.exp(-(x**2 + y**2) / (2 * sigma**2)) + q * near
        return np.asarray(whole / (2 * math.pi * sigma**2))

    p, r = mixture(u), mixture(v)
    return [float(np.maximum(p - a * r, 0).sum() * (0.02 * sigma) ** 2) for a in alphas]


@pytest.mark.parametrize("seed", range(4))
def test_opposite_unit_vectors_are_the_worst_replacement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angle, size, q, sigma = (
        rng.uniform(0, 2 * math.pi, 2),
        rng.uniform(0, 1, 2) ** 0.2,
        rng.uniform(0.05, 0.9),
        1.0,
    )
    u, v = (np.array([math.cos(a), math.sin(a)]) * s for a, s in zip(angle, size, strict=True))
    alphas = np.exp(np.array([-0.5, 0.0, 0.1, 0.5, 1.0]))
    found = _plane(q, u, v, sigma, alphas)
    pair = ReplacedGaussian(float(q), sigma)
    assert all(value <= _delta(pair, math.log(a)) + 3e-5 for value, a in zip(found, alphas, strict=True))
    worst = _plane(q, np.array([1.0, 0.0]), np.array([-1.0, 0.0]), sigma, alphas)
    assert worst == pytest.approx([_delta(pair, math.log(a)) for a in alphas], abs=3e-5)


def test_the_removal_pair_is_too_small_for_replacement() -> None:
    """The known-bad control: the pair for add/remove, on neighbours that replace."""
    truth = _delta(ReplacedGaussian(0.2, 1.0), 0.3)
    assert truth > _delta(SubsampledGaussian(0.2, 1.0), 0.3) * 1.05
    assert truth <= _delta(poisson_replaced(SubsampledGaussian(1.0, 0.5), 0.2), 0.3)


def test_a_visible_coin_scales_delta_and_a_hidden_one_scales_more() -> None:
    step = SubsampledGaussian(1.0, 1.0)
    for x in (0.1, 0.5, 1.0):
        assert _delta(visible_coin(step, 0.25), x) == pytest.approx(0.25 * _delta(step, x), rel=1e-12)
        assert _delta(visible_coin(step, 0.25), x) > _delta(SubsampledGaussian(0.25, 1.0), x) * 1.01
        assert _delta(visible_coin(step, 0.25), -x) == pytest.approx(
            0.25 * _delta(step, -x) + 0.75 * -math.expm1(-x), rel=1e-12
        )


def test_the_coin_of_a_step_is_no_sampling_rate() -> None:
    """Sampling within a visible coin's steps costs more than sampling at the product of the rates."""
    shown = visible_coin(SubsampledGaussian(0.1, 1.0), 0.5)
    assert _delta(shown, 0.3) > _delta(SubsampledGaussian(0.05, 1.0), 0.3)


def test_replacing_without_sampling_is_a_gaussian_of_twice_the_shift() -> None:
    found = PrivacyLoss([[(ReplacedGaussian(1.0, 2.0), 10)]]).epsilon("1e-6")
    exactly = GaussianDP(Fraction(math.sqrt(10))).epsilon("1e-6")
    assert found.lower <= exactly.upper
    assert exactly.lower <= found.upper
    assert found.relative_width < 1e-6


def test_randomised_response_composes_as_two_points_do() -> None:
    """Against the binomial sum over 60 answers, in exact arithmetic up to the exponential."""
    epsilon, times, target = mpf("0.1"), 60, mpf("0.6")
    truth = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
    terms = [
        mpmath.binomial(times, k)
        * truth**k
        * (1 - truth) ** (times - k)
        * (1 - mpmath.exp(target - epsilon * (2 * k - times)))
        for k in range(times + 1)
    ]
    delta = mpmath.fsum(max(term, mpf(0)) for term in terms)
    found = PrivacyLoss([[(RandomisedResponse("0.1"), times)]]).delta("0.6")
    assert mpf(found.lower) <= delta <= mpf(found.upper)
    assert found.relative_width < 1e-6


def test_bounded_range_lies_between_two_points_and_randomised_response() -> None:
    ours = PrivacyLoss([[(BoundedRange("0.1"), 100)]]).epsilon("1e-6")
    assert ours.upper < PrivacyLoss([[(RandomisedResponse("0.1"), 100)]]).epsilon("1e-6").lower
    share = Fraction("0.5124")  # a two-point pair with t near 0.05
    one = Atoms((share, 1 - share), (1 - share, share))
    assert one.loss_range()[1] - one.loss_range()[0] <= 0.1
    assert PrivacyLoss([[(one, 100)]]).epsilon("1e-6").lower < ours.upper


@pytest.mark.slow
def test_a_visible_coin_costs_more_than_the_product_of_the_rates() -> None:
    shown = PrivacyLoss([[(visible_coin(SubsampledGaussian(0.01, 1.0), 0.5), 1000)]]).epsilon("1e-6")
    hidden = PrivacyLoss([[(SubsampledGaussian(0.005, 1.0), 1000)]]).epsilon("1e-6")
    assert shown.lower > 1.5 * hidden.upper


_ALL: list[DominatingPair] = [
    UnequalGaussians(1, 2, 1),
    UnequalGaussians(1, 1, 3),
    ReplacedGaussian(0.1, 1.0),
    DiscreteGaussian(2, 3),
    Geometric(2, 5),
    ShiftedBinomial(50, 0.3),
    truthful_response(0.7, 4),
    RandomisedResponse(2),
    Staircase(2, 0.2),
    Staircase(2, 0.5),
    CoinsUntilHeads(0.7),
    BoundedRange(2.0),
    FixedSize(DiscreteGaussian(2), 0.3),
    visible_coin(ShiftedBinomial(20, 0.5), 0.4),
    with_replacement(lambda k: DiscreteGaussian(9, k), 10, 40, 3),
]


@pytest.mark.parametrize("pair", _ALL, ids=repr)
@given(st.lists(st.floats(-6, 6), min_size=1, max_size=12, unique=True))
@settings(max_examples=20, deadline=None)
def test_cells_are_laws_whose_losses_lie_in_their_cells(pair: DominatingPair, places: list[float]) -> None:
    edges = np.sort(np.array(places))
    for one in (pair, pair.reversed()):
        cells = one.cells(edges)
        p_error, q_error = (np.broadcast_to(e, cells.p.shape) for e in (cells.p_error, cells.q_error))
        assert math.fsum(cells.p) + cells.infinite[0] <= 1 + math.fsum(cells.p * p_error) + 1e-14
        assert math.fsum(cells.p) + cells.infinite[1] >= 1 - math.fsum(cells.p * p_error) - 1e-14
        assert abs(math.fsum(cells.q) - 1) <= math.fsum(cells.q * q_error) + 1e-14
        lows, highs = np.append(-np.inf, edges), np.append(edges, np.inf)
        known = (cells.p > 1e-200) & (cells.q > 1e-200) & (p_error < 0.4) & (q_error < 0.4)
        for i in np.flatnonzero(known):
            loose = 1e-12 + 2 * cells.slack + (p_error[i] + q_error[i]) * 1.7
            loss = math.log(cells.p[i] / cells.q[i])
            assert loss <= highs[i] + loose
            assert i == 0 or loss >= lows[i] - loose  # the first cell may hold the loss -infinity
        assert cells.slack < 1e-9


@rows(
    ("make", "words"),
    [
        (lambda: UnequalGaussians(0, 1, 1), "mean"),
        (lambda: UnequalGaussians(1, -1, 1), "sigma_p"),
        (lambda: UnequalGaussians(math.nan, 1, 1), "mean"),
        (lambda: UnequalGaussians(1, 1, math.inf), "sigma_q"),
        (lambda: ReplacedGaussian(0.0, 1.0), "rate"),
        (lambda: ReplacedGaussian(math.nan, 1.0), "rate"),
        (lambda: ReplacedGaussian(0.1, 0.0), "noise_multiplier"),
        (lambda: DiscreteGaussian(0), "variance"),
        (lambda: DiscreteGaussian(1, 0), "shift"),
        (lambda: DiscreteGaussian(1, True), "shift"),
        (lambda: DiscreteGaussian("1e-12"), "variance"),
        (lambda: Geometric(-1), "scale"),
        (lambda: Geometric("1e-13", 1), "scale"),
        (lambda: ShiftedBinomial(0, 0.5), "trials"),
        (lambda: ShiftedBinomial(10, 1), "probability"),
        (lambda: ShiftedBinomial(10**14, 0.5), "trials"),
        (lambda: truthful_response(0.3, 2), "truth"),
        (lambda: truthful_response(1, 2), "truth"),
        (lambda: truthful_response(0.5, 1), "categories"),
        (lambda: RandomisedResponse(-1), "epsilon"),
        (lambda: BoundedRange(0), "epsilon"),
        (lambda: exponential_mechanism(701), "epsilon"),
        (lambda: FixedSize(BoundedRange(1), 0), "rate"),
        (lambda: FixedSize(SubsampledGaussian(0.1, 1.0), 0.5), "pair"),
        (lambda: FixedSize(ShiftedBinomial(5, 0.3), 0.5), "pair"),
        (lambda: without_replacement(BoundedRange(1), 5, 4), "sample"),
        (lambda: without_replacement(BoundedRange(1), 0, 4), "sample"),
        (lambda: with_replacement(BoundedRange, 1, 2, 0), "most"),
        (lambda: visible_coin(Nothing(), 0), "probability"),
        (lambda: visible_coin(Nothing(), 1.1), "probability"),
        (lambda: VisibleChoice((("1/2", Nothing()),)), "weights"),
        (lambda: VisibleChoice(((-1, Nothing()), (2, Nothing()))), "weight"),
    ],
)
def test_bad_input_is_named(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=rf"^{words} \("):
        make()
