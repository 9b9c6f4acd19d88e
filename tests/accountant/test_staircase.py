"""The staircase mechanism: its profile against the integral of its density, and against exact sums over steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.noise.staircase import ACCOUNTANT, StaircaseParameters, account
from dpproof.accountant.pairs.staircase import Staircase
from dpproof.mechanisms.noise.staircase import sample

SIZES = [  # scale, gamma, sensitivity, step
    (2.0, 0.5, 1.0, 1.0),
    (2.0, 0.25, 1.0, 1.0),
    (1.0, 0.75, 0.5, 1.0),
    (0.25, 0.125, 0.5, 1.5),
    (3.0, 0.0, 1.0, 1.0),
    (0.5, 1.0, 0.25, 1.0),
    (4.0, 0.375, 0.625, 1.0),
    (4.0, 0.375, 3.0, 4.0),
]


def level(x, gamma):
    """The number of ends gamma, 1 + gamma, ... that are at most |x|, x in widths."""
    return int(mpmath.floor(abs(x) - gamma)) + 1 if abs(x) >= gamma else 0


def density(x, e, gamma):
    f = mpmath.exp(-e)
    return (1 - f) / (2 * (gamma * (1 - f) + f)) * f ** level(x, gamma)


def pieces(gamma, shift, reach):
    """The intervals between all ends of steps of the noise and of the noise that is shifted."""
    ends = {sign * (k + gamma) for k in range(reach) for sign in (1, -1)}
    return pairwise(sorted(ends | {end + shift for end in ends}))


@pytest.mark.parametrize(("scale", "gamma", "sensitivity", "step"), SIZES)
def test_the_profile_is_the_integral_of_the_densities(scale, gamma, sensitivity, step):
    asked = StaircaseParameters(scale=scale, gamma=gamma, sensitivity=sensitivity, step=step)
    found = account(asked).guarantee
    with mpmath.workdps(50):
        e, g, u = mpmath.mpf(step) / mpmath.mpf(scale), mpmath.mpf(gamma), mpmath.mpf(sensitivity) / step
        reach = int(60 / e) + 2
        masses = [
            ((high - low) * density(mid, e, g), (high - low) * density(mid - u, e, g))
            for low, high in pieces(g, u, reach)
            for mid in [(low + high) / 2]
        ]
        assert abs(mpmath.fsum(p for p, _ in masses) - 1) < mpmath.mpf(10) ** -24
        for share in ("0", "0.3", "0.9", "0.999"):
            epsilon = mpmath.mpf(share) * e
            truth = mpmath.fsum(max(p - mpmath.exp(epsilon) * q, 0) for p, q in masses)
            bound = found.delta(Fraction(share) * Fraction(step) / Fraction(scale))
            assert bound.lower - mpmath.mpf(10) ** -22 <= truth <= bound.upper + mpmath.mpf(10) ** -22
            assert bound.width <= 1e-12
    assert found.epsilon(0).lower <= Fraction(step) / Fraction(scale) <= found.epsilon(0).upper


@pytest.mark.parametrize("gamma", [Fraction(k, 8) for k in range(9)])
def test_the_masses_are_those_of_an_exact_sum_over_steps(gamma):
    """At a rational factor f, in rational arithmetic; the tail beyond the last step is summed exactly."""
    f = Fraction(1, 3)
    for shift in (Fraction(k, 16) for k in range(1, 17)):
        total = 2 * (gamma * (1 - f) + f)
        p = ((1 - f) * min(shift, 2 * gamma) + shift * f) / total
        cells, reach = 0, 12
        for low, high in pieces(gamma, shift, reach):
            mid = (low + high) / 2
            if abs(mid) < reach - 2 and exact_level(mid - shift, gamma) > exact_level(mid, gamma):
                cells += (high - low) * (1 - f) / total * f ** exact_level(mid, gamma)
        missing = p - cells
        assert 0 <= missing <= 2 * f ** (reach - 4)
        near = (1 - f) * (2 * gamma - shift) + 2 * f * (1 - shift)
        far = f * ((1 - f) * (2 - 2 * gamma - shift) + 2 * f * (1 - shift))
        assert p * (1 + f) + (near if shift <= 2 * gamma else far) / total == 1
        assert far >= 0 or shift <= 2 * gamma


def exact_level(x, gamma):
    return (abs(x) - gamma) // 1 + 1 if abs(x) >= gamma else 0


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("gamma", ["0.2", "0.5", "0.9"])
def test_a_composition_is_the_sum_over_all_outcomes(count, gamma):
    found = account(StaircaseParameters(scale=1.5, gamma=float(gamma), compositions=count)).guarantee
    with mpmath.workdps(40):
        e, g = mpmath.mpf(1) / mpmath.mpf(1.5), mpmath.mpf(float(gamma))
        f = mpmath.exp(-e)
        p = ((1 - f) * min(1, 2 * g) + f) / (2 * (g * (1 - f) + f))
        law = {1: p, 0: 1 - p - f * p, -1: f * p}
        for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1)):
            grown = mpmath.exp(mpmath.mpf(float(epsilon)))
            outcomes = (
                (mpmath.fprod(law[s] for s in signs), sum(signs)) for signs in product(law, repeat=count)
            )
            truth = mpmath.fsum(max(mass * (1 - grown * f**times), 0) for mass, times in outcomes)
            bound = found.delta(epsilon)
            assert bound.lower <= truth + mpmath.mpf(10) ** -30
            assert truth <= bound.upper + mpmath.mpf(10) ** -30
            assert bound.width <= 1e-6


def test_half_a_width_is_randomised_response_and_less_moves_less():
    assert [round(float(x), 12) for x in Staircase(1, "1/2").cells(np.array([-0.5, 0.5])).p][1] == 0
    known = [account(StaircaseParameters(5.0, 0.5, 1.0, sensitivity=s)).guarantee for s in (0.25, 0.5, 1.0)]
    for epsilon in ("0", "0.1"):
        deltas = [one.delta(epsilon) for one in known]
        assert deltas[0].upper < deltas[1].lower
        assert deltas[1].upper < deltas[2].lower


def test_several_cells_that_move_are_several_answers():
    one = account(StaircaseParameters(5.0, step=1.0, query="histogram"), Adjacency.REPLACE)
    two = account(StaircaseParameters(5.0, step=1.0, sensitivity=1.0, compositions=2), Adjacency.REPLACE)
    assert one.guarantee.delta("0.1") == two.guarantee.delta("0.1")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"scale": 5.0, "step": 1.0, "sensitivity": 2.0}, r"step \(1\) must be at least 2"),
        ({"scale": 5.0, "query": "count"}, "step is missing"),
        ({"scale": 1e-3, "sensitivity": 1.0}, r"scale \(0.001\) must be at least step/600"),
        ({"scale": 5.0, "gamma": 1.5}, r"gamma \(1.5\) must be"),
    ],
)
def test_what_is_not_proved_is_refused_by_name(given, text):
    with pytest.raises(ValueError, match=text):
        ACCOUNTANT.account(ACCOUNTANT.parameters.read(given), Adjacency.REPLACE)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_samples_have_the_density_of_every_step(gamma):
    asked, n = StaircaseParameters(4.0, gamma, 2.0), 400_000
    drawn = sample(asked, [10.0], n, np.random.default_rng(7))[:, 0] - 10
    ends = sorted({sign * 2 * (k + gamma) for k in range(6) for sign in (1, -1)})
    counts, _ = np.histogram(drawn, ends)
    for (low, high), count in zip(pairwise(ends), counts, strict=True):
        chance = float(
            (high - low) / 2 * density(mpmath.mpf(low + high) / 4, mpmath.mpf(0.5), mpmath.mpf(gamma))
        )
        assert abs(count - n * chance) <= 5 * (n * chance * (1 - chance)) ** 0.5


def test_calibrated_noise_meets_a_pure_target_and_less_does_not():
    asked = StaircaseParameters(1.0, 0.3, sensitivity=2.0)
    meets, misses = ACCOUNTANT.least_noise(asked, Adjacency.REPLACE, 1, 0)
    assert account(meets, Adjacency.REPLACE).guarantee.epsilon(0).upper <= 1
    assert account(misses, Adjacency.REPLACE).guarantee.epsilon(0).upper > 1
    assert round(meets.scale, 9) == 2.0
