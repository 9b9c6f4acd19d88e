"""Selective DP-SGD: each reading of the coin against sums by hand, the printed rate below them, bad input."""

import math
from fractions import Fraction

import flint
import pytest

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.subsampled import visible_coin
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.renyi.subsampled_gaussian import SubsampledGaussianCurve
from dpproof.accountant.rl.expert.selective_dpsgd import (
    ACCOUNTANT,
    SelectiveDPSGDParameters,
    account,
    steps_within,
)
from dpproof.accountant.rl.expert.selective_steps import coined_step
from tests.rows import tiered

EXPERT, DELTA = Adjacency.EXPERT, "3.3333e-5"
SHEET = SelectiveDPSGDParameters(0.0853333, 0.5, 10.0, 100_000)
SMALL = SelectiveDPSGDParameters(0.3, 0.4, 1.5, 4)
RATE = 256 / 3000


def with_coin(parameters, **changes):
    values = {name: getattr(parameters, name) for name in parameters.__dataclass_fields__}
    return SelectiveDPSGDParameters(**values | changes)


def test_the_printed_and_the_true_epsilon_of_the_sheet():
    found = account(SHEET, EXPERT)
    true, printed = found.guarantee.epsilon(DELTA), found.published.epsilon(DELTA)
    assert 8.92509 < true.lower <= true.upper < 8.92510
    assert 6.3445 < printed.lower <= printed.upper < 6.3446
    assert found.published.exact.epsilon(DELTA).upper < 5.8484
    assert found.attained.guarantee is found.guarantee


def test_renyi_with_the_visible_coin_is_what_the_sheet_says():
    """N log(1 - p + p exp((a-1) eps(a)))/(a-1) at orders from 1.5 to 11, converted as Canonne et al. do."""
    curve, best = SubsampledGaussianCurve(Fraction("0.0853333"), Fraction(10)), math.inf
    with precision(128):
        for order in (k / 8 for k in range(12, 89)):
            moment = (curve(flint.arb(order)) * (order - 1)).exp()
            spent = 100_000 * float((1 - 0.5 + moment / 2).log()) / (order - 1)
            more = math.log1p(-1 / order) - (math.log(float(DELTA)) + math.log(order)) / (order - 1)
            best = min(best, spent + more)
    assert best == pytest.approx(9.64, abs=0.01)
    assert best > account(SHEET, EXPERT).guarantee.epsilon(DELTA).upper


def sum_over_coins(steps, epsilon, adjacency_pairs, probability):
    """delta of ``steps`` coined steps: the mean over the number of noisy ones, which everybody sees."""
    return [
        sum(
            math.comb(steps, k)
            * probability**k
            * (1 - probability) ** (steps - k)
            * PrivacyLoss([[(pair, k)]]).delta(epsilon).upper
            for k in range(1, steps + 1)
        )
        for pair in adjacency_pairs
    ]


@pytest.mark.parametrize("epsilon", tiered([0.05, 0.4], fast=1))
def test_a_visible_coin_is_the_mean_over_schedules(epsilon):
    step = SubsampledGaussian(0.3, 1.5)
    expected = max(sum_over_coins(4, epsilon, (step, step.reversed()), 0.4))
    found = account(SMALL, EXPERT).guarantee.delta(epsilon)
    assert found.lower <= expected * (1 + 1e-6)
    assert found.upper >= expected * (1 - 1e-6)
    assert found.upper <= expected * 1.01
    printed = account(with_coin(SMALL, coin="independent"), EXPERT).guarantee.delta(epsilon)
    assert printed.upper < found.lower


@pytest.mark.parametrize("removes", [True, False])
@pytest.mark.parametrize(
    ("rate", "noise", "probability", "steps"),
    tiered(
        [(0.01, 1.0, 0.5, 1000), (RATE, 2.0, 0.1, 3000), (RATE, 50.0, 0.9, 155_000), (0.2, 0.6, 0.999, 60)],
        fast=1,
    ),
)
def test_the_inversion_and_the_grid_of_losses_agree(rate, noise, probability, steps, removes):
    pair = SubsampledGaussian(rate, noise, removes)
    fast = PrivacyLoss([[(coined_step(pair, probability), steps)]]).epsilon(DELTA)
    grid = PrivacyLoss([[(visible_coin(pair, probability), steps)]]).epsilon(DELTA)
    assert fast.lower <= grid.upper
    assert grid.lower <= fast.upper
    assert fast.upper - fast.lower <= grid.upper - grid.lower


def test_the_order_of_the_readings():
    """Coins of each expert hide most; a hidden coin is no worse than a visible one."""
    readings = {
        coin: account(with_coin(SHEET, coin=coin), EXPERT)
        for coin in ("visible", "hidden", "independent", "fixed")
    }
    ends = {coin: found.guarantee.epsilon(DELTA) for coin, found in readings.items()}
    assert ends["independent"].upper < ends["fixed"].lower < ends["visible"].lower
    assert ends["hidden"].upper <= ends["visible"].upper
    assert readings["hidden"].attained is None
    exact = account(with_coin(SHEET, batch="exact"), EXPERT).guarantee.epsilon(DELTA)
    half = account(with_coin(SHEET, noise_multiplier=5.0), EXPERT).guarantee.epsilon(DELTA)
    assert exact == half


@pytest.mark.slow
@pytest.mark.parametrize(
    ("probability", "noise", "epsilon", "printed", "honest"),
    tiered(
        [
            (0.5, 80.0, 1.875, 768_432, 452_590),
        ],
        fast=1,
    ),
)
def test_steps_that_the_papers_budgets_pay_for(probability, noise, epsilon, printed, honest):
    training = SelectiveDPSGDParameters(RATE, probability, noise, printed)
    assert account(training, EXPERT).published.epsilon(DELTA).upper <= epsilon
    longer = with_coin(training, steps=printed + 1)
    assert account(longer, EXPERT).published.epsilon(DELTA).lower > epsilon
    assert steps_within(training, EXPERT, epsilon, DELTA) == honest


def test_calibration_says_what_the_printed_noise_costs():
    meets, misses = ACCOUNTANT.least_noise(SHEET, EXPERT, "2.5", DELTA)
    assert account(meets, EXPERT).guarantee.epsilon(DELTA).upper <= 2.5
    assert account(misses, EXPERT).guarantee.epsilon(DELTA).lower > 2.5
    beside = ACCOUNTANT.compare(meets, "2.5", DELTA)
    assert beside["epsilon at the printed noise"]["exact"] > 3.7
    assert beside["steps at the printed noise"]["exact"] < 50_000


def test_replacing_an_expert_costs_more_than_removing_one():
    for batch in ("poisson", "exact"):
        parameters = with_coin(SMALL, batch=batch)
        removed, replaced = (
            account(parameters, a).guarantee.epsilon("1e-4") for a in (EXPERT, Adjacency.REPLACE)
        )
        assert removed.upper < replaced.lower


def test_no_noisy_step_reveals_nothing():
    for change in ({"branch_probability": 0.0}, {"steps": 0}, {"sampling_rate": 0.0}):
        found = account(with_coin(SMALL, **change), EXPERT)
        assert found.guarantee.epsilon(0).upper == 0
        assert found.published.epsilon(0).upper == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coin": "seen"}, "coin ('seen') must be one of"),
        ({"branch_probability": 1.5}, "branch_probability (1.5) must be"),
        ({"batch": "exact", "coin": "independent"}, "coin ('independent')"),
        ({"batch": "exact", "sampling_rate": 1.0}, "sampling_rate (1) must be below 1"),
        ({"steps": -1}, "steps (-1) must be"),
        ({"sampling_rate": 1e-170, "branch_probability": 1e-170}, "must be 0 or at least 1e-300"),
        ({"sampling_rate": 1e-310}, "must be 0 or at least 1e-300"),
        ({"noise_multiplier": 0.0}, "noise_multiplier (0.0) must be"),
    ],
)
def test_bad_input_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=r".") as refused:
        with_coin(SMALL, **change)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "adjacency", [Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY, Adjacency.BY_SENSITIVITY]
)
def test_other_relations_are_refused(adjacency):
    with pytest.raises(UnprovedAdjacencyError, match="expert"):
        account(SMALL, adjacency)


def test_fixed_batches_attain_twice_the_move():
    """One step, b = 1 of m = 2: gradients 1 and -1, in Arb. The doubled pair is the mechanism's own."""
    found = account(SelectiveDPSGDParameters(0.5, 1.0, 1.0, 1, batch="exact"), EXPERT).guarantee.delta(
        math.log(1.25)
    )
    with precision(128):
        odds = 1 + flint.arb("0.25") / flint.arb("0.5")
        low, high = ((odds.log() / 2 + sign) / flint.arb(2).sqrt() for sign in (-1, 1))
        exact = flint.arb("0.5") * (low.erfc() - odds * high.erfc()) / 2
    assert found.lower - 1e-12 <= float(exact) <= found.upper + 1e-12
    assert float(exact) == pytest.approx(0.308, abs=1e-3)


def test_noise_in_every_step_hides_no_coin_where_the_others_agree():
    """Two parameters, 60 others along the second one, plain steps with noise and the mean of an empty batch.

    The event: along the second more than 8, along the first where the divergence at e^epsilon = 5/4 is.
    """
    rate, others, level = 0.5, 60, math.log(1.25)
    far = sum(
        math.comb(others, j) * rate**j * (1 - rate) ** (others - j) * math.erfc((8 - j) / math.sqrt(2)) / 2
        for j in range(others + 1)
    )
    mistaken = math.erfc(8 / math.sqrt(2)) / 2
    noisy = account(SelectiveDPSGDParameters(rate, 1.0, 1.0, 1), EXPERT).guarantee.delta(level).lower
    seen = 0.5 * far * noisy - math.exp(level) * 0.5 * mistaken
    hidden = account(SelectiveDPSGDParameters(rate, 0.5, 1.0, 1, "hidden"), EXPERT).guarantee.delta(level)
    printed = account(SelectiveDPSGDParameters(rate, 0.5, 1.0, 1, "independent"), EXPERT).guarantee.delta(
        level
    )
    assert printed.upper < 0.0478 < 0.0659 < seen <= hidden.upper < 0.066


@pytest.mark.parametrize("coin", ["visible", "hidden", "independent"])
def test_chances_whose_product_a_double_hardly_holds_are_not_taken_for_zero(coin):
    """delta(0) = p q TV(N(0), N(1)) is above 0 however small p q is, and no epsilon makes delta 0."""
    found = account(SelectiveDPSGDParameters(1e-150, 1e-149, 1.0, 1, coin), EXPERT)
    assert found.guarantee.delta(0).upper >= 1e-299 * math.erf(1 / math.sqrt(8))
    assert found.guarantee.epsilon(0).upper == math.inf


@pytest.mark.slow
def test_a_fixed_schedule_without_a_noisy_step_is_refused():
    none = with_coin(SMALL, coin="fixed", branch_probability=0.04)
    with pytest.raises(ValueError, match=r"branch_probability \(0.04\) must be 0, or above 0.5"):
        account(none, EXPERT)
    with pytest.raises(ValueError, match="the fixed schedule has no noisy step"):
        ACCOUNTANT.least_noise(none, EXPERT, "1", "1e-5")
    assert account(with_coin(none, branch_probability=0.0), EXPERT).guarantee.epsilon(0).upper == 0
    assert steps_within(with_coin(none, noise_multiplier=3.0, steps=100), EXPERT, 1, "1e-5") == 112


@pytest.mark.parametrize("batch", tiered(["poisson", "exact"], fast=1))
def test_little_noise_has_a_finite_epsilon(batch):
    """At noise 2e-4 no grid holds the losses: what bounds them is the whole move, unsampled."""
    training = SelectiveDPSGDParameters(0.1, 0.5, 2e-4, 2, batch=batch)
    moved = 1 if batch == "poisson" else 2
    found = account(training, EXPERT).guarantee.epsilon("1e-5")
    mu = math.sqrt(2) * moved / 2e-4
    assert found.lower <= found.upper <= mu**2 / 2 + 6 * mu
    assert found.upper > moved**2 / (2 * 2e-4**2)
