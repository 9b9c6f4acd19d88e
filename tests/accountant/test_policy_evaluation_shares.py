"""Smooth bounds where states are many or counts are large, against fractions, Arb and plain maxima."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.rl.policy_evaluation import bounds as shares
from dpproof.accountant.rl.policy_evaluation.bounds import RidgeBound, WeightedBound, _slack

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
    """The largest relative error, by fractions."""
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
