"""The ladder: every pair of neighbouring visit counts on small data, with Arb and rationals as reference.

The definitions of phi are transcribed anew in rationals and Arb; all pairs of visit counts are tried.
"""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.rl.policy_evaluation.alternatives import STEPS, Ladder
from dpproof.accountant.rl.policy_evaluation.bounds import MOST_BETA, RidgeBound, WeightedBound
from tests.rows import rows

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
