"""Integer noise on counts: its own pairs, against exact masses in mpmath and in rational numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.central_counts import account as central
from dpproof.accountant.rl.private_ucb.levels import central_levels
from dpproof.accountant.rl.private_ucb.local_counts import account as local
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from tests.rows import rows, tiered

REPLACE = Adjacency.REPLACE
SMALL = CentralCountsParameters(2, 1, 1, 2)
WIDTH = 60


def masses(scale, shift):
    """(P, Q) of the outcomes 0..shift of a shifted count, with all outcomes beyond put to the ends."""
    s = mpmath.exp(-1 / mpmath.mpf(scale))
    p = [1 / (1 + s), *(s**k * (1 - s) / (1 + s) for k in range(1, shift)), s**shift / (1 + s)]
    return list(zip(p, reversed(p), strict=True))


def exact_delta(entries, epsilon):
    """delta(epsilon) of independent counts, (scale, shift) each: the sum over all outcomes, 60 digits."""
    with mpmath.workdps(WIDTH):
        total = mpmath.mpf(0)
        for outcome in itertools.product(*(masses(*entry) for entry in entries)):
            p, q = (mpmath.fprod(side) for side in zip(*outcome, strict=True))
            total += max(p - mpmath.exp(epsilon) * q, 0)
        return total


@pytest.mark.slow
def test_a_scale_for_continuous_noise_is_too_small_for_integer_noise():
    """S=2, A=H=1, K=2: one cost and two transitions move by one."""
    plain, _ = accountant_for("central-counts").least_noise(SMALL, REPLACE, 1, "0.01")
    truth = exact_delta([(plain.scale, 1)] * 3, 1)
    assert abs(truth - mpmath.mpf("0.0154205")) < 1e-7
    assert central(plain, REPLACE).guarantee.delta(1).upper <= 0.01  # of the continuous law
    whole = CentralCountsParameters(2, 1, 1, 2, scale=plain.scale, noise="discrete-laplace", grains=1)
    found = central(whole, REPLACE).guarantee.delta(1)
    assert found.lower <= truth <= found.upper <= truth * (1 + 1e-6)


@pytest.mark.parametrize(("grains", "delta"), tiered([(1, "0.01"), (3, "0.01"), (10, "1e-6")], fast=1))
def test_calibrated_integer_noise_meets_its_target_exactly(grains, delta):
    asked = CentralCountsParameters(2, 1, 1, 2, noise="discrete-laplace", grains=grains)
    meets, misses = accountant_for("central-counts").least_noise(asked, REPLACE, 1, delta)

    def truth(scale):
        return exact_delta([(mpmath.mpf(scale) * grains, grains), (scale, 1), (scale, 1)], 1)

    assert truth(meets.scale) <= mpmath.mpf(delta) < truth(misses.scale)
    assert truth(meets.scale * 0.99) > mpmath.mpf(delta)


@pytest.mark.slow
@pytest.mark.parametrize(("delta", "referee"), [("1e-6", 1.6147e-6)])
def test_a_local_report_s_integer_noise(delta, referee):
    """S=2, A=H=1: two visits, two costs and two transitions move by one."""
    account = accountant_for("local-counts")
    plain, _ = account.least_noise(LocalCountsParameters(2, 1, 1, 1), REPLACE, 1, delta)
    assert float(exact_delta([(plain.scale, 1)] * 6, 1)) == pytest.approx(referee, rel=1e-4)
    asked = LocalCountsParameters(2, 1, 1, 1, noise="discrete-laplace", grains=1)
    meets, misses = account.least_noise(asked, REPLACE, 1, delta)
    assert (
        exact_delta([(meets.scale, 1)] * 6, 1) <= mpmath.mpf(delta) < exact_delta([(misses.scale, 1)] * 6, 1)
    )


@pytest.mark.parametrize("noise", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize("account", [central, local])
def test_an_integer_law_is_never_better_than_its_pairs(noise, account):
    """Discrete Gaussian noise: the sum over all outcomes within 60 of the mean, below the zCDP bound."""
    made = CentralCountsParameters if account is central else LocalCountsParameters
    parameters = made(2, 1, 1, 2, scale=2.5, noise=noise, grains=2)
    found = account(parameters, REPLACE).guarantee
    entries = [(5.0, 2)] * (1 if account is central else 2) + [(2.5, 1)] * 2
    for epsilon in (0.5, 1.0):
        if noise == "discrete-laplace":
            truth = exact_delta(entries, epsilon)
            entered = found.delta(epsilon)
            assert entered.upper >= truth
            if account is central:
                assert entered.lower <= truth
        else:
            assert found.delta(epsilon).upper > gaussian_delta(*entries[0], epsilon)


def gaussian_delta(scale, shift, epsilon):
    k = np.arange(-60, 61)
    p, q = (np.exp(-((k - move) ** 2) / (2 * scale**2)) for move in (0, shift))
    return float(np.maximum(p / p.sum() - math.exp(epsilon) * q / q.sum(), 0).sum())


def base(s, shift):
    """The masses of ``masses`` over s^k, for a rational s: symmetric in k."""
    return [1, *([1 - s] * (shift - 1)), 1]


def hockey(law, s, a):
    """H_a of a law whose outcome k has the masses s^k law[k], s^(n-k) law[k]."""
    n = len(law) - 1
    return sum(max(s**k * c - a * s ** (n - k) * c, 0) for k, c in enumerate(law))


def convolved(one, other):
    found = [Fraction(0)] * (len(one) + len(other) - 1)
    for (i, x), (j, y) in itertools.product(enumerate(one), enumerate(other)):
        found[i + j] += x * y
    return found


@rows("s", [Fraction(1, 20), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
@rows(("u", "v"), [(1, 1), (1, 2), (2, 2), (3, 4), (1, 9), (6, 6)])
def test_a_whole_shift_dominates_its_parts(s, u, v):
    """In rational numbers, at every kink of H_a; the parts do not dominate the whole."""
    whole = [c / (1 + s) for c in base(s, u + v)]
    parts = [c / (1 + s) ** 2 for c in convolved(base(s, u), base(s, v))]
    assert sum(s**k * c for k, c in enumerate(whole)) == sum(s**k * c for k, c in enumerate(parts)) == 1
    kinks = [s ** (2 * k - u - v) for k in range(u + v + 1)]
    gaps = [hockey(whole, s, a) - hockey(parts, s, a) for a in kinks]
    assert min(gaps) >= 0
    assert max(gaps) > 0


@pytest.mark.parametrize("shift", [1, 2, 5])
def test_more_noise_is_more_private(shift):
    for s, more in itertools.pairwise([Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)]):
        laws = [(r, [c / (1 + r) for c in base(r, shift)]) for r in (s, more)]
        for a in (Fraction(1, 7), Fraction(1), Fraction(3, 2), Fraction(4)):
            assert hockey(laws[0][1], s, a) >= hockey(laws[1][1], more, a)


@pytest.mark.parametrize("pooled", [True, False])
def test_rounded_costs_move_no_more_than_the_grains_of_what_is_counted(pooled):
    """600 random pairs of users of the same first state and action; a step less would be refuted."""
    rng, H, grains = np.random.default_rng(3), 4, 3
    most = (2 * H - 1) * grains
    changes = []
    for _ in range(600):
        cells, costs = rng.integers(0, 3, (2, H)), rng.choice([0.0, 1.0, 0.5, 1 / 6, 0.9], (2, H))
        cells[:, 0] = 0
        tables = np.zeros((2, 1 if pooled else H, 3))
        for user, h in itertools.product(range(2), range(H)):
            tables[user, 0 if pooled else h, cells[user, h]] += costs[user, h]
        changes.append(abs(np.diff(np.rint(tables * grains), axis=0)).sum())
    assert most - grains < max(changes) <= most
    one = CentralCountsParameters(
        3, 1, H, 9, scale=1.0, noise="discrete-laplace", grains=grains, pooled=pooled
    )
    assert (
        central(one, REPLACE).guarantee.epsilon(0).upper
        == central(CentralCountsParameters(3, 1, H, 9, scale=1.0, pooled=pooled), REPLACE)
        .guarantee.epsilon(0)
        .upper
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"noise": "discrete-laplace"}, r"grains is missing"),
        ({"noise": "discrete-gaussian", "grains": 0}, r"grains \(0\)"),
        ({"noise": "laplace", "grains": 4}, r"grains \(4\) must be left out"),
        (
            {"noise": "discrete-gaussian", "grains": 4, "counter": "square-root"},
            r"noise \('discrete-gaussian'\)",
        ),
    ],
)
def test_bad_integer_noise_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        CentralCountsParameters(2, 1, 1, 4, **words)


def test_levels_of_integer_noise_are_refused():
    parameters = CentralCountsParameters(2, 1, 1, 4, noise="discrete-laplace", grains=1)
    with pytest.raises(ValueError, match=r"noise \('discrete-laplace'\) must be laplace or gaussian"):
        central_levels(parameters, 0.1)


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
@pytest.mark.parametrize("account", [central, local])
def test_what_is_out_of_the_composed_range_is_said(noise, account):
    made = CentralCountsParameters if account is central else LocalCountsParameters
    words = {} if noise == "laplace" else {"grains": 1}
    far, near = (account(made(2, 1, 1, 4, scale=x, noise=noise, **words), REPLACE) for x in (1e-3, 1e-1))
    said = "the scale is out of the range that is composed"
    assert any(said in note for note in far.notes)
    assert not any(said in note for note in near.notes)
    assert far.attained is None
    assert far.guarantee.epsilon("1e-6").upper > far.guarantee.epsilon(0).upper - 1e-3


@pytest.mark.parametrize("epsilon", [1, "1e-9"])
@pytest.mark.parametrize("name", ["central-counts", "local-counts", "batched-counts", "gaussian"])
def test_gaussian_noise_is_certified_at_a_delta_near_one(name, epsilon):
    """Epsilon's ends, not only the noise: a flat profile must be inverted as exactly as a steep one."""
    account = accountant_for(name)
    sizes = {} if name == "gaussian" else {"states": 6, "actions": 2, "horizon": 20, "episodes": 20000}
    noise = {"central-counts": {"noise": "gaussian"}, "local-counts": {"noise": "gaussian"}}
    parameters = account.parameters(**sizes, **noise.get(name, {"sigma": 1.0}))
    relation = REPLACE if sizes else Adjacency.BY_SENSITIVITY
    meets, misses = account.least_noise(parameters, relation, epsilon, "0.999")
    met, missed = (account.account(p, relation).guarantee.epsilon("0.999") for p in (meets, misses))
    assert met.upper <= Fraction(epsilon) < missed.lower


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
def test_a_tiny_delta_allows_no_less_noise_than_none(noise):
    """Few values at their largest loss weigh more than 1e-30: the least scale is the pure one, 117."""
    words = {} if noise == "laplace" else {"noise": noise, "grains": 2}
    asked = LocalCountsParameters(6, 2, 20, 9, pooled=True, start="same", **words)
    meets, misses = accountant_for("local-counts").least_noise(asked, REPLACE, 1, "1e-30")
    assert 117 <= meets.scale < 117 * (1 + 1e-12)
    assert meets.scale * (1 - 1e-4) < misses.scale < meets.scale
    assert local(meets, REPLACE).guarantee.delta(1).upper <= 1e-30
    assert local(misses, REPLACE).guarantee.delta(1).lower > 1e-30
