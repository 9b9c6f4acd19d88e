"""Alternatives of policy evaluation: public rungs, noise in each coordinate, and shares of the noise.

The ladder: every pair of neighbouring visit counts on small data, with Arb and rationals as reference.

The definitions of phi are transcribed anew in rationals and Arb; all pairs of visit counts are tried.

Smooth bounds where states are many or counts are large, against fractions, Arb and plain maxima.

Heavy-tailed noise on coordinates: its zCDP covers numerically integrated divergences.
"""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.rl.policy_evaluation import bounds as shares
from dpproof.accountant.rl.policy_evaluation.alternatives import STEPS, Ladder
from dpproof.accountant.rl.policy_evaluation.bounds import MOST_BETA, RidgeBound, WeightedBound, _slack
from dpproof.accountant.smooth_sensitivity.coordinates import laplace_log_normal, least_coordinates, student
from tests.rows import rows, tiered

BETAS = (1e-9, 0.003, 0.1, 0.7, 3.0, 500.0)
WEIGHTS = (0.3, 1.0)
MOST, SHARE = 5, 0.21


def phi_weighted(visits):
    pairs = zip(WEIGHTS, visits, strict=True)
    return arb_of(sum(Fraction(w) / max(v, 1) ** 2 for w, v in pairs))


def phi_ridge(visits):
    total = sum(Fraction(w) * v for w, v in zip(WEIGHTS, visits, strict=True))
    root = sum(Fraction(w) ** 2 for w in WEIGHTS)
    return (arb_of(Fraction(SHARE)) * arb_of(total).sqrt() + arb_of(root).sqrt()) ** 2


KINDS = {
    "lsw": (
        lambda visits: WeightedBound(visits, WEIGHTS),
        phi_weighted,
        Fraction(sum(map(Fraction, WEIGHTS)), MOST**2),
    ),
    "lsl": (
        lambda visits: RidgeBound(visits, WEIGHTS, MOST, SHARE),
        phi_ridge,
        sum(Fraction(w) ** 2 for w in WEIGHTS),
    ),
}
ALL = list(itertools.product(range(MOST + 1), repeat=len(WEIGHTS)))
NEIGHBOURS = [(a, b) for a in ALL for b in ALL if max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 1]


def rungs(kind, beta, round_up=None):
    bound, _, floor = KINDS[kind]
    found = {}
    for visits in ALL:
        smooth = bound(np.array(visits))
        ladder = Ladder(floor, beta, smooth.allowance)
        value = smooth.squared(beta)
        found[visits] = ladder.at_least(value) if round_up is None else (0, round_up(value))
    return found


def smooth(found, beta):
    """Whether Arb certifies that neighbours' rungs differ by a factor of at most e^beta."""
    with precision(300):
        most = flint.arb(beta).exp()
        return all(bool(arb_of(found[a][1] / found[b][1]) <= most) for a, b in NEIGHBOURS if a != b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", BETAS)
def test_every_pair_of_neighbours_has_smooth_rungs_above_its_sensitivity(kind, beta):
    found = rungs(kind, beta)
    assert smooth(found, beta)
    for a, b in NEIGHBOURS:
        assert abs(found[a][0] - found[b][0]) <= STEPS
    phi = KINDS[kind][1]
    with precision(300):
        for visits, (_, rung) in found.items():
            assert bool(arb_of(rung) >= phi(visits))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_test_sees_a_rounding_that_is_not_smooth(kind):
    """Rounding psi up to a power of two is coarser than e^beta; psi itself is smooth, phi(0) is not."""
    bound, phi, _ = KINDS[kind]
    assert smooth(rungs(kind, 0.1, Fraction), 0.1)
    assert not smooth(rungs(kind, 0.1, lambda x: Fraction(2) ** math.ceil(math.log2(x))), 0.1)
    local = {visits: (0, Fraction(bound(np.array(visits)).local())) for visits in ALL}
    assert not smooth(local, 0.1)
    with precision(300):
        assert all(float(phi(v).mid()) == pytest.approx(float(local[v][1])) for v in ALL)


@rows("beta", BETAS)
@rows("far", [0.0, 1e-9, 0.3, 40.0, 600.0])
def test_sixty_four_rungs_are_at_most_e_to_the_beta_and_more_than_psi_can_move(beta, far):
    room, place = 1e-12, int(far * STEPS / min(beta, MOST_BETA))
    ladder = Ladder(Fraction(3, 7), beta, room)
    least, most = ladder.rung(place), ladder.rung(place + STEPS)
    used = Fraction(min(beta, MOST_BETA))
    with precision(600):
        assert bool(arb_of(most / least) <= arb_of(used).exp())
        assert bool(arb_of(most / least) >= arb_of(used - Fraction(room) * 3 / 2).exp())
    assert ladder.rung(place) < ladder.rung(place + 1)
    assert most.denominator == 1 or most.numerator.bit_length() <= 128


def test_the_rung_is_the_least_at_or_above():
    rng = np.random.default_rng(27)
    for _ in range(300):
        beta = float(10 ** rng.uniform(-8, 1.5))
        ladder = Ladder(Fraction(float(10 ** rng.uniform(-12, 2))), beta, 1e-12)
        value = float(ladder.floor) * float(np.exp(min(rng.exponential(10), 600)))
        place, rung = ladder.at_least(value)
        assert rung == ladder.rung(place) >= Fraction(value)
        assert place == 0 or ladder.rung(place - 1) < Fraction(value)
    exactly = Ladder(Fraction(1, 4), 0.5, 1e-12)
    assert exactly.at_least(0.25) == (0, Fraction(1, 4))
    assert exactly.at_least(0.01)[0] == 0


def test_powers_of_the_discount_are_as_close_as_stated():
    """60 units of 2^-52, against Arb."""
    from dpproof.accountant.rl.policy_evaluation.bounds import _decay

    rng = np.random.default_rng(28)
    for beta in (1e-12, 1e-6, 0.01, 1.7, 64.0):
        offsets = np.unique((rng.random(200) * min(600 / beta, 2.0**52)).astype(np.int64))
        with precision(200):
            for k, found in zip(offsets.tolist(), _decay(beta, offsets).tolist(), strict=True):
                true = (-flint.arb(beta) * k).exp()
                assert bool(abs(flint.arb(found) / true - 1) <= flint.arb(60) * flint.arb(2) ** -52)


SEED, ULP = 40, 2.0**-52
LAYOUTS = {
    "spread evenly": lambda rng, n, top: rng.integers(1, top, n),
    "crowded at the bottom": lambda rng, n, top: 10 ** rng.uniform(0, np.log10(top), n),
    "crowded at the top": lambda rng, n, top: top - 10 ** rng.uniform(0, np.log10(top), n),
    "beside powers of 2": lambda rng, n, top: 2.0 ** rng.integers(0, 50, n) % top + rng.integers(-2, 3, n),
    "without gaps": lambda rng, n, top: rng.integers(1, 2 * n, n),
}


def drawn(layout, rng):
    top = int(10 ** rng.uniform(1, 15.9))
    levels = np.clip(LAYOUTS[layout](rng, int(rng.integers(1, 40)), top).astype(np.int64), 1, 2**53 - 1)
    levels = np.unique(levels)
    return levels, 10 ** rng.uniform(-12, 0, len(levels)), np.unique(np.append(levels - 1, 0))


def error(levels, masses, offsets, found):
    """The largest relative error, computed in exact fractions."""
    worst = Fraction(0)
    for k, value in zip(offsets.tolist(), found.tolist(), strict=True):
        pairs = zip(levels.tolist(), masses.tolist(), strict=True)
        exact = sum(Fraction(w) / max(v - k, 1) ** 2 for v, w in pairs)
        worst = max(worst, abs(Fraction(value) / exact - 1))
    return float(worst)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_from_afar_are_within_their_stated_error(layout):
    rng = np.random.default_rng([SEED, list(LAYOUTS).index(layout)])
    for _ in range(12):
        case = drawn(layout, rng)
        assert error(*case, shares._from_afar(*case)) <= 32 * ULP


def test_a_series_cut_short_is_seen(monkeypatch):
    monkeypatch.setattr(shares, "TERMS", 12)
    rng = np.random.default_rng(SEED)
    cases = [drawn("crowded at the top", rng) for _ in range(12)]
    assert max(error(*case, shares._from_afar(*case)) for case in cases) > 1e4 * ULP


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1e-4, 3e-3, 0.1])
def test_psi_of_many_states_is_the_maximum_over_all_k(beta):
    rng = np.random.default_rng(SEED)
    visits, weights = rng.permutation(6000)[:3000], rng.random(3000)
    shift = np.maximum(visits[:, None] - np.arange(6000), 1).astype(np.float64)
    plain = (np.exp(-beta * np.arange(6000)) * (weights[:, None] / shift**2).sum(axis=0)).max()
    found = WeightedBound(visits, weights).squared(beta)
    assert plain <= found * (1 + 1e-13) <= plain * (1 + 1e-7)


def test_psi_of_a_ridge_is_exact_for_large_counts():
    """Against a search with 300 bits; doubles' logarithms rise too slowly there to compare."""
    rng = np.random.default_rng(SEED)
    for _ in range(40):
        most = int(10 ** rng.uniform(6, 14))
        visits, rho, share = rng.integers(0, most, 3), rng.random(3), 10 ** rng.uniform(-6, 1)
        beta, slack = 10 ** rng.uniform(-10, -3), _slack(3)
        exact = largest(visits.tolist(), rho.tolist(), most, share, beta - 4 * slack)
        found = RidgeBound(visits, rho, most, share).squared(beta)
        assert abs(float(flint.arb(found) / exact) / (1 + 2 * slack) - 1) <= slack


def largest(visits, rho, most, share, rate):
    with flint.ctx.workprec(300):
        norm = sum((flint.arb(x) ** 2 for x in rho), flint.arb(0)).sqrt()

        def gain(k):
            total = sum(
                (flint.arb(x) * min(v + k, most) for v, x in zip(visits, rho, strict=True)), flint.arb(0)
            )
            return 2 * (flint.arb(share) * total.sqrt() + norm).log() - flint.arb(rate) * k

        low, high = 0, most
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if gain(middle + 1) > gain(middle) else (low, middle)
        return gain(low).exp()


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_that_would_leave_the_range_of_doubles_are_refused(weight):
    with pytest.raises(ValueError, match=r"largest .* must be in"):
        WeightedBound([3], [weight])


GRID = np.sinh(np.linspace(-16, 16, 400_001))


def divergence(order, shift, log_ratio, degrees=3):
    """Renyi divergence of Student's t at ``shift`` from one of scale exp(log_ratio), by trapezia."""
    p, q = stats.t.logpdf(GRID, degrees, shift), stats.t.logpdf(GRID, degrees, 0, math.exp(log_ratio))
    return math.log(np.trapezoid(np.exp(order * p + (1 - order) * q), GRID)) / (order - 1)


@pytest.mark.parametrize("order", tiered([1.1, 2.0, 5.0], fast=1))
def test_two_coordinates_stay_below_the_proved_curve(order):
    noise, smoothing = 4.0, 0.05
    rho = student(3).account(noise, smoothing, 2).rho.upper
    worst = 0.0
    for angle, ratio in itertools.product((0.0, 0.4, math.pi / 4), (-smoothing, 0.0, smoothing)):
        shifts = (math.cos(angle) / noise, math.sin(angle) / noise)
        worst = max(worst, sum(divergence(order, shift, ratio) for shift in shifts))
    assert 0.01 * rho * order < worst <= rho * order


def test_a_rho_without_the_shift_would_be_too_small():
    rho = student(3).account(1e9, 0.05, 1).rho.upper
    assert divergence(2.0, 1.0, 0.05) > 2 * rho


def meets(family, scale, dimension):
    pure = family.bounded and family.pure(scale, "1e-4", dimension).epsilon(0).upper <= 1
    return pure or family.account(scale, "1e-4", dimension).delta(1).upper <= 1e-6


def test_the_pure_bound_covers_the_largest_loss_of_two_coordinates():
    noise, smoothing = 2.0, 0.05
    bound = student(3).pure(noise, smoothing, 2).epsilon(0).upper
    moved = [
        stats.t.logpdf(GRID, 3, 1 / noise / math.sqrt(2)),
        stats.t.logpdf(GRID, 3, 0, math.exp(smoothing)),
    ]
    worst = 2 * np.abs(moved[0] - moved[1]).max()
    assert 0.5 * bound < worst <= bound
    with pytest.raises(ValueError, match="pure differential privacy"):
        laplace_log_normal(0.2).pure(1, 0, 1)


@pytest.mark.parametrize("family", [student(3), student(10), laplace_log_normal(0.2)])
@pytest.mark.parametrize("dimension", [1, 40])
def test_the_least_scale_meets_the_target_and_less_does_not(family, dimension):
    scale = least_coordinates(family, 1, "1e-6", dimension, "1e-4")
    assert meets(family, scale, dimension)
    assert not meets(family, 0.99 * scale, dimension)


def test_what_cannot_be_is_refused():
    with pytest.raises(UnreachableTargetError, match="smoothing"):
        least_coordinates(student(3), 1, "1e-6", 40, 1)
    with pytest.raises(ValueError, match="degrees"):
        student(2)
    with pytest.raises(ValueError, match="spread"):
        laplace_log_normal(0)
    with pytest.raises(ValueError, match="dimension"):
        student(3).account(1, 0, 0)
