"""Filters and odometers: what fits, what was spent, and the odometer of rewards.

Filters and the odometer: budgets as fractions, adaptive runs by exact enumeration, known-bad controls.

The odometer and the filter, against the same sums in mpmath at 40 digits.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.rl.rlsvi.odometer import RewardsFilter, _cost, rewards_odometer
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, attained_mu, rho
from dpproof.accountant.theorems.filters import (
    ApproxFilter,
    ApproxOdometer,
    BudgetExceededError,
    GaussianFilter,
    RenyiFilter,
    ZCDPFilter,
)

COSTS = st.lists(st.fractions(0, 2, max_denominator=64), max_size=12)


@pytest.mark.slow
@given(st.fractions(0, 4, max_denominator=64), COSTS)
def test_what_is_admitted_adds_up_to_the_budget_at_most(budget, costs):
    for spender, notion, power in (
        (ZCDPFilter(budget), ZCDP, 1),
        (GaussianFilter(budget), GaussianDP, 2),
        (ApproxFilter(budget, 0), PureDP, 1),
    ):
        total, now = Fraction(0), spender
        for cost in costs:
            fits = total + cost**power <= budget**power
            assert now.admits(notion(cost)) is fits
            if fits:
                now, total = now.spend(notion(cost)), total + cost**power
        assert sum(now.spent[:1], Fraction(0)) == total


def test_a_refused_cost_is_not_spent():
    spender = ZCDPFilter(1).spend(ZCDP("0.75"))
    with pytest.raises(BudgetExceededError, match="left of the budget"):
        spender.spend(ZCDP("0.5"))
    assert spender.spend(ZCDP("0.25")).spent == (Fraction(1),)


def test_bounds_are_charged_at_their_upper_ends():
    assert not ZCDPFilter(1).admits(ZCDP(Bound(0.5, 1.5)))
    assert ZCDPFilter(1).admits(ZCDP(Bound(0.5, 1.0)))


def test_a_release_fits_at_every_order():
    spender = RenyiFilter(((2, 1), ("4/3", "0.5")))
    flat = RenyiDP(lambda order: order * 0 + 0.5)
    assert not spender.spend(flat).admits(flat)
    assert spender.guarantee.orders.listed == (Fraction(2), Fraction(4, 3))
    table = {"2": 1.0, "4/3": 0.5}
    for order, budget in table.items():
        alone = RenyiFilter(((order, budget),)).guarantee
        assert spender.guarantee.epsilon("1e-5").upper <= alone.epsilon("1e-5").upper


def test_a_curve_must_be_known_at_the_orders():
    known = RenyiDP(lambda order: order, Orders(listed=(Fraction(2),)))
    with pytest.raises(ValueError, match="order"):
        RenyiFilter(((3, 1),)).admits(known)


def adaptive_run(spender, choose, history=()):
    """All (P, Q) chances of the outcomes of adaptively chosen coins that the filter admits."""
    epsilon = choose(history)
    if len(history) >= 9 or not spender.admits(PureDP(epsilon)):
        return [(1.0, 1.0)]
    heads = math.exp(epsilon) / (1 + math.exp(epsilon))
    after = spender.spend(PureDP(epsilon))
    pairs = []
    for sign, p, q in ((1, heads, 1 - heads), (-1, 1 - heads, heads)):
        pairs += [(p * a, q * b) for a, b in adaptive_run(after, choose, (*history, sign))]
    return pairs


def delta_of(pairs, epsilon):
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pairs)


CHOICES = st.lists(st.sampled_from([0.125, 0.25, 0.5, 1.0]), min_size=3, max_size=5)


@settings(deadline=None, max_examples=25)
@given(CHOICES, st.sampled_from(["0.5", "1", "2"]), st.sampled_from(["0.01", "0.2"]))
def test_adaptive_runs_keep_the_budget(sizes, epsilon, slack):
    def choose(history):
        return sizes[(sum(history) + len(history)) % len(sizes)]

    for spender in (ApproxFilter(epsilon, 0), ApproxFilter(epsilon, slack, slack)):
        found = delta_of(adaptive_run(spender, choose), float(epsilon))
        assert found <= float(spender.delta) + 1e-12


def test_a_filter_with_too_large_a_budget_is_seen():
    """Known-bad control: the same enumeration finds a run that leaves a smaller guarantee."""
    pairs = adaptive_run(ApproxFilter(4, "0.01", "0.01"), lambda history: 0.25)
    assert delta_of(pairs, 1.0) > 0.01


@pytest.mark.slow
@given(st.fractions("0.01", 20), st.floats(-60, -0.1).map(math.exp))
def test_the_budget_of_a_slack_is_certified(epsilon, slack):
    spender = ApproxFilter(epsilon, slack, slack)
    rho = spender.rho
    assert rho + 2 * math.sqrt(rho * -math.log(slack)) == pytest.approx(float(epsilon), rel=1e-12)
    assert ZCDP(rho).delta(epsilon).lower <= slack


def test_a_slack_pays_for_many_small_costs():
    small, cost = Fraction(1, 100), PureDP("0.01")
    basic, advanced = ApproxFilter(1, "1e-6"), ApproxFilter(1, "1e-6", "1e-6")
    assert basic.spent == advanced.spent == ()
    assert int(basic._limits()[0] / small) == 100
    assert int(advanced._limits()[0] / (small**2 / 2)) > 340
    assert advanced.admits(cost)


def test_deltas_count():
    spender = ApproxFilter(1, "1e-6")
    assert spender.admits(ApproxDP("0.1", "1e-6"))
    assert not spender.admits(ApproxDP("0.1", "1.000001e-6"))
    assert not ApproxFilter(1, "1e-6", "5e-7").admits(ApproxDP("0.1", "6e-7"))


@given(COSTS)
def test_the_odometer_never_turns_back(costs):
    meter, before = ApproxOdometer("1e-6"), 0.0
    for cost in costs:
        meter = meter.spend(ZCDP(cost))
        assert meter.epsilon >= before
        before = meter.epsilon
    spent = float(sum(costs))
    assert before >= spent + 2 * math.sqrt(spent * -math.log(1e-6)) * (1 - 1e-12) or not spent


def test_the_odometer_holds_at_all_moments():
    """Exact enumeration of coins: the chance that the loss is ever above the reading is at most delta."""
    delta, epsilon, coins = Fraction(1, 5), 0.5, 14
    heads = math.exp(epsilon) / (1 + math.exp(epsilon))
    meter, alive, ever = ApproxOdometer(delta, Fraction(1, 8)), {0: 1.0}, 0.0
    for _ in range(coins):
        meter = meter.spend(ZCDP(Fraction(epsilon) ** 2 / 2))
        after = {}
        for loss, chance in alive.items():
            for step, p in ((1, heads), (-1, 1 - heads)):
                if (loss + step) * epsilon > meter.epsilon:
                    ever += chance * p
                else:
                    after[loss + step] = after.get(loss + step, 0.0) + chance * p
        alive = after
    assert ever <= float(delta)
    assert sum(alive.values()) + ever == pytest.approx(1)


def test_threads_share_a_filter():
    spender = ZCDPFilter(10)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda k: spender.spend(ZCDP(Fraction(k, 10))).spent, range(50)))
    assert found == {(Fraction(k, 10),) for k in range(50)}
    assert spender.spent == ()


@pytest.mark.parametrize(
    ("make", "name"),
    [(lambda: ZCDPFilter(-1), "rho"), (lambda: GaussianFilter(math.nan), "mu"),
     (lambda: ApproxFilter(1, 1), "delta"), (lambda: ApproxFilter(1, "0.1", "0.2"), "slack"),
     (lambda: ApproxFilter(math.inf, 0), "epsilon"), (lambda: RenyiFilter(()), "order"),
     (lambda: RenyiFilter(((1, 1),)), "order"), (lambda: RenyiFilter(((2, -1),)), "budget"),
     (lambda: ApproxOdometer(0), "delta"), (lambda: ApproxOdometer("0.5", 0), "first")],
)  # fmt: skip
def test_bad_budgets_are_refused(make, name):
    with pytest.raises(ValueError, match=name):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ZCDPFilter(1, spent=(Fraction(-5),)),
        lambda: GaussianFilter(1, spent=(Fraction(-1, 10**9),)),
        lambda: RenyiFilter(((2, 1), (3, 1)), spent=(Fraction(0), Fraction(-1))),
        lambda: ApproxFilter(1, "1e-6", spent=(Fraction(0), Fraction(-1))),
        lambda: ApproxOdometer("1e-6", spent=Fraction(-5)),
        lambda: ZCDPFilter(1, spent=(Fraction(0), Fraction(0))),
        lambda: ZCDPFilter(1, spent=(math.nan,)),
    ],
)
def test_what_was_spent_is_checked(make):
    """A negative amount would be a gift to every later release."""
    with pytest.raises(ValueError, match=r"^spent \(.*\) must"):
        make()


DIGITS = mpmath.MPContext()
DIGITS.dps = 40


def cost(p, n, k):
    log = DIGITS.log(2 * p.horizon * p.states * p.actions * int(k))
    twice_beta = DIGITS.mpf(p.beta_scale) * p.states * p.horizon**3 * log
    return (DIGITS.mpf(int(n)) + 1) / (twice_beta * DIGITS.mpf(int(n)) ** 2) if n else DIGITS.mpf(0)


def run(p, seed):
    rng = np.random.default_rng(seed)
    shape = (p.episodes, p.horizon)
    return Episodes.rectangular(
        rng.integers(p.states, size=shape), rng.integers(p.actions, size=shape), rng.uniform(size=shape)
    )


def exact(p, episodes):
    states, actions = episodes.table("states"), episodes.table("actions")
    spent = []
    for j in range(episodes.count):
        total = DIGITS.mpf(0)
        for h in range(p.horizon):
            same = (states[:, h] == states[j, h]) & (actions[:, h] == actions[j, h])
            seen = np.concatenate([[0], np.cumsum(same)])
            total += DIGITS.fsum(cost(p, seen[k - 1], k) for k in range(j + 2, episodes.count + 1))
        spent.append(total)
    return spent


@pytest.mark.parametrize("sizes", [(2, 2, 3, 40), (1, 1, 1, 60), (3, 1, 2, 25, 1e-8), (3, 1, 2, 25, 1e8)])
def test_the_odometer_is_never_below_the_exact_sum_and_close_to_it(sizes):
    p = RLSVIParameters(*sizes)
    episodes = run(p, 5)
    found = rewards_odometer(p, episodes)
    for ours, true in zip(found, exact(p, episodes), strict=True):
        assert DIGITS.mpf(float(ours)) >= true
        assert DIGITS.mpf(float(ours)) <= true + DIGITS.mpf(max(found)) * DIGITS.mpf("1e-11")
    assert max(found) <= rho(p).upper * (1 + 1e-11)


def test_in_the_one_cell_problem_the_odometer_is_what_is_attained():
    p = RLSVIParameters(1, 1, 1, 300)
    found = rewards_odometer(p, run(p, 1))
    assert found[0] == pytest.approx(attained_mu(p).lower ** 2 / 2, rel=1e-12)
    assert found.argmax() == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_filter_stops_exactly_before_the_budget(seed):
    p = RLSVIParameters(2, 2, 2, 50)
    states, actions = (run(p, seed).table(name) for name in ("states", "actions"))
    budget = float(rho(p).upper) * (0.04 + 0.02 * seed)
    spender = RewardsFilter(p, budget)
    counts = np.zeros((2, 2, 2))
    spent = np.array([[[DIGITS.mpf(0)] * 2] * 2] * 2, dtype=object)
    stopped = None
    for k in range(p.episodes):
        charge = np.vectorize(lambda n, k=k: cost(p, n, k + 1), otypes=[object])(counts)
        due = sum(max((spent + charge)[h].ravel()) for h in range(2))
        if spender.admits(counts):
            assert due <= budget
            spent = spent + charge
        else:
            assert due > budget * (1 - 1e-12)
            stopped = k
            break
        for h in range(2):
            counts[h, states[k, h], actions[k, h]] += 1
    assert stopped is not None
    before = spender.spent
    assert DIGITS.mpf(before) >= sum(max(spent[h].ravel()) for h in range(2))
    assert before <= budget
    assert not spender.admits(np.zeros((2, 2, 2)))
    assert spender.spent == before


@pytest.mark.parametrize("scale", [1e308, 1e300])
def test_noise_beyond_the_doubles_is_not_free(scale):
    p = RLSVIParameters(10, 1, 10, 10, scale)
    assert not RewardsFilter(p, 0.0).admits(np.ones((10, 10, 1)))
    spender = RewardsFilter(p, 1.0)
    assert spender.admits(np.ones((10, 10, 1)))
    assert DIGITS.mpf(spender.spent) >= 10 * cost(p, 1, 1)


@pytest.mark.parametrize("scale", [5e-324, 1.5e-323, 4e-308, 1e-300, 8e307, 1.7e308])
@pytest.mark.parametrize("visits", [1, 2, 2**53])
def test_noise_at_the_ends_of_the_doubles_is_charged_in_full(scale, visits):
    """Doubles below 2^-1022 lose digits: the cost was a third too small there."""
    p = RLSVIParameters(1, 1, 1, 10, scale)
    charged = _cost(p, np.array([float(visits)]), 1)[0]
    assert charged == np.inf or DIGITS.mpf(charged) >= cost(p, visits, 1) * (1 - DIGITS.mpf(2) ** -49)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0, 0.5, 2.0**54])
def test_counts_are_whole_numbers(wrong):
    with pytest.raises(ValueError, match="counts must be whole numbers between 0 and"):
        RewardsFilter(RLSVIParameters(1, 1, 1, 10), 0.1).admits([[[wrong]]])


@pytest.mark.parametrize("budget", [-1.0, np.nan, np.inf])
def test_a_budget_is_a_finite_number(budget):
    with pytest.raises(ValueError, match=r"budget \(.*\) must be a finite number of at least 0"):
        RewardsFilter(RLSVIParameters(1, 1, 1, 10), budget)


def test_sizes_are_checked():
    p = RLSVIParameters(2, 2, 2, 5)
    with pytest.raises(ValueError, match=r"counts \(shape \(1,\)\)"):
        RewardsFilter(p, 1.0).admits([0])
    with pytest.raises(ValueError, match=r"must have horizon \(2\) steps"):
        rewards_odometer(p, run(RLSVIParameters(2, 2, 3, 5), 0))
    with pytest.raises(ValueError, match=r"states \(\d\) must be below 2"):
        rewards_odometer(p, run(RLSVIParameters(9, 2, 2, 30), 0))
