"""RLSVI's accountant: sums and Renyi divergences of Gaussians by mpmath, and the values of the paper."""

from fractions import Fraction

import flint
import mpmath
import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.rl.rlsvi.rlsvi import (
    ACCOUNTANT,
    RLSVIParameters,
    account,
    attained_mu,
    published_rho,
    rho,
)

PAPER = RLSVIParameters(6, 2, 20, 1000)
DIGITS = mpmath.MPContext()
DIGITS.dps = 40


def beta(p, k):
    size = DIGITS.mpf(p.beta_scale) * p.states * p.horizon**3
    return size * DIGITS.log(2 * p.horizon * p.states * p.actions * k) / 2


def test_the_papers_example():
    found = account(PAPER, Adjacency.REWARDS_ONLY)
    for bound, value in (
        (found.published.epsilon("1e-6"), 11.080765),
        (found.published.exact.epsilon("1e-6"), 9.688165),
        (found.guarantee.epsilon("1e-6"), 1.633810),
    ):
        assert bound.upper == pytest.approx(value, abs=1e-6)
        assert bound.relative_width < 1e-9


def test_a_larger_problem():
    found = account(RLSVIParameters(50, 10, 50, 10**5), Adjacency.REWARDS_ONLY)
    assert found.published.epsilon("1e-6").upper == pytest.approx(137.86, abs=0.01)
    assert found.guarantee.epsilon("1e-6").upper == pytest.approx(1.7069, abs=1e-4)


@pytest.mark.parametrize("sizes", [(6, 2, 20, 1000), (1, 1, 1, 2), (3, 4, 1, 50), (50, 10, 50, 500)])
def test_rho_is_the_sum_over_later_episodes(sizes):
    p = RLSVIParameters(*sizes)
    true = DIGITS.fsum(p.horizon / beta(p, k) for k in range(2, p.episodes + 1))
    assert rho(p).lower <= true <= rho(p).upper
    assert rho(p).relative_width < 1e-14
    assert rho(p).upper <= published_rho(p).upper / (p.states * p.actions) * (1 + 1e-14)


@pytest.mark.parametrize("adjacency", [Adjacency.REWARDS_ONLY, Adjacency.REPLACE])
def test_one_episode_reveals_nothing(adjacency):
    found = account(RLSVIParameters(6, 2, 20, 1, clip=20.0), adjacency).guarantee
    assert found.epsilon("1e-300").upper == 0
    assert found.delta(0).upper == 0


@pytest.mark.parametrize("sizes", [(6, 2, 20, 1000), (1, 3, 5, 40), (2, 1, 1, 10), (1, 1, 1, 10**4)])
def test_what_a_pair_attains_is_below_the_guarantee(sizes):
    found = account(RLSVIParameters(*sizes), Adjacency.REWARDS_ONLY)
    assert found.attained.guarantee.epsilon("1e-6").lower <= found.guarantee.epsilon("1e-6").upper


def test_the_smallest_problem_is_accounted_exactly():
    p = RLSVIParameters(1, 1, 1, 2)
    with precision(100):
        mu = (2 * flint.arb(2) / flint.arb(4).log()).sqrt()
    assert attained_mu(p).lower <= float(mu.mid()) <= attained_mu(p).upper
    found = account(p, Adjacency.REWARDS_ONLY)
    assert found.attained.guarantee == GaussianDP(attained_mu(p))
    assert found.attained.guarantee.epsilon("1e-6").lower == pytest.approx(
        found.guarantee.epsilon("1e-6").upper, rel=1e-12
    )


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.EXPERT])
def test_unproved_relations_are_refused(adjacency):
    with pytest.raises(UnprovedAdjacencyError, match=r"Use one of: rewards-only, replace") as caught:
        account(PAPER, adjacency)
    assert caught.value.adjacency is adjacency


def test_replacement_needs_clipped_values():
    with pytest.raises(UnprovedAdjacencyError, match="Give clip"):
        account(PAPER, Adjacency.REPLACE)
    found = account(RLSVIParameters(6, 2, 20, 1000, clip=20.0), Adjacency.REPLACE)
    epsilon = found.guarantee.epsilon("1e-6")
    assert epsilon.upper < 6000
    assert epsilon.lower > 20 * 999 / 4  # the variance's own share, as the note on it says
    assert found.guarantee.epsilon(0).upper == float("inf")


@pytest.mark.parametrize("order", ["1.001", "1.3", "1.7", "1.99"])
def test_the_state_curve_is_the_largest_divergence_over_all_counts(order):
    """One cell loses a visit, one gains one: D of N(m1, v1) from N(m2, v2), maximised over N = 1..50."""
    p = RLSVIParameters(2, 2, 3, 4, clip=1.5)
    found = account(p, Adjacency.REPLACE).guarantee
    a = DIGITS.mpf(order)

    def divergence(gap, v1, v2):
        mixed = a * v2 + (1 - a) * v1
        variance = DIGITS.log(DIGITS.sqrt(v2 / v1)) + DIGITS.log(v2 / mixed) / (2 * (a - 1))
        return variance + a * gap**2 / (2 * mixed)

    total = DIGITS.mpf(0)
    for k in range(2, p.episodes + 1):
        for h in range(p.horizon):
            span = DIGITS.mpf(1) if h == p.horizon - 1 else 1 + DIGITS.mpf(p.clip)
            b = beta(p, k)
            loses = max(divergence(span / n, b / (n + 1), b / n) for n in range(1, 51))
            gains = max(divergence(span / n, b / n, b / (n + 1)) for n in range(1, 51))
            stays = max(divergence(span / n, b / (n + 1), b / (n + 1)) for n in range(1, 51))
            total += max(loses + gains, stays)
    with precision(192):
        ours = found.curve(flint.arb(order))
        assert abs(float(ours.mid()) - float(total)) <= 1e-12 * float(total)
        assert ours.upper() >= flint.arb(str(total * (1 - DIGITS.mpf(10) ** -30)))
    assert found.orders.below == Fraction(2)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "1e-6"), ("1e-6", "1e-300"), (1e6, "1e-6"), (0, "0.1"), (2, 0.999)]
)
def test_calibration_meets_the_target_and_the_value_below_misses_it(epsilon, delta):
    meets, misses = ACCOUNTANT.calibrate(PAPER, Adjacency.REWARDS_ONLY, epsilon, delta)
    goal, allowed = Fraction(epsilon), Fraction(delta)
    enough, short = (account(p, Adjacency.REWARDS_ONLY).guarantee for p in (meets, misses))
    assert enough.epsilon(delta).upper <= goal
    assert enough.delta(goal).upper <= allowed * (1 + Fraction(1, 2**51))  # rounded outwards itself
    assert short.epsilon(delta).upper > goal
    assert short.delta(goal).upper > allowed
    assert 0 < meets.beta_scale - misses.beta_scale <= 1e-12 * meets.beta_scale


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (1, 0, "delta"),
        (1, 1, "delta"),
        (-1, 0.1, "epsilon"),
        (float("nan"), 0.1, "epsilon"),
        (1, -0.1, "delta"),
    ],
)
def test_calibration_refuses_wrong_targets(epsilon, delta, message):
    with pytest.raises(ValueError, match=rf"^{message} \(.*\) must be"):
        ACCOUNTANT.calibrate(PAPER, Adjacency.REWARDS_ONLY, epsilon, delta)


def test_calibration_refuses_what_no_noise_changes():
    with pytest.raises(ValueError, match=r"episodes \(1\) must be at least 2"):
        ACCOUNTANT.calibrate(RLSVIParameters(6, 2, 20, 1), Adjacency.REWARDS_ONLY, 1, 0.1)
    clipped = RLSVIParameters(6, 2, 20, 10, clip=1.0)
    with pytest.raises(ValueError, match="more noise does not lower epsilon"):
        ACCOUNTANT.calibrate(clipped, Adjacency.REPLACE, 1, 0.1)


@pytest.mark.parametrize("delta", [1, 2, -1, float("nan")])
def test_the_published_epsilon_refuses_a_delta_outside(delta):
    with pytest.raises(ValueError, match=r"^delta \(.*\) must be"):
        account(PAPER, Adjacency.REWARDS_ONLY).published.epsilon(delta)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e300])
def test_extreme_noise_is_answered(scale):
    found = account(RLSVIParameters(6, 2, 20, 1000, scale), Adjacency.REWARDS_ONLY)
    epsilon = found.guarantee.epsilon("1e-6")
    assert 0 <= epsilon.lower <= epsilon.upper
    assert found.published is None


def test_a_billion_episodes():
    found = account(RLSVIParameters(6, 2, 20, 10**9), Adjacency.REWARDS_ONLY).guarantee.epsilon("1e-6")
    assert found.relative_width < 1e-9


def test_the_catalogue():
    assert accountant_for("rlsvi") is ACCOUNTANT
    with pytest.raises(ValueError, match=r"mechanism \('dqn'\) must be one of: rlsvi"):
        accountant_for("dqn")
