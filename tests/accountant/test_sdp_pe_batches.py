"""One batch of counters: the composed loss against enumeration, thresholds, levels, printed figures."""

import itertools
import math

import pytest
from scipy.stats import binom

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, batch_loss, printed_budget, printed_threshold
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold, precision_level, printed_level
from tests.rows import tiered

FULL, LAYER = ReleaseShape(6, 4, 2), ReleaseShape(1, 4, 2, rewards=False)


def enumerated(users, chance, falls, rises, epsilon):
    """The hockey stick of all counters that one user changes, each outcome by itself."""
    law = binom.pmf(range(users + 1), users, chance)
    low, high = [*law, 0.0], [0.0, *law]
    total = 0.0
    for seen in itertools.product(range(users + 2), repeat=falls + rises):
        one = math.prod((high if i < falls else low)[x] for i, x in enumerate(seen))
        other = math.prod((low if i < falls else high)[x] for i, x in enumerate(seen))
        total += max(one - math.exp(epsilon) * other, 0.0)
    return total


@pytest.mark.parametrize(("users", "tau", "changes"), [(6, 3.0, 1), (4, 4.0, 2), (3, 1.5, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_the_composed_loss_is_that_of_all_changed_counters(users, tau, changes, epsilon):
    shape = ReleaseShape(changes, 1, 2, rewards=False, own_visits=False)
    found = batch_loss(shape, users, tau).delta(epsilon)
    truth = enumerated(users, tau / (2 * users), changes, changes, epsilon)
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)
    assert found.upper - found.lower < 0.05 * truth + 1e-9


def test_known_bad_one_change_a_step_is_too_few():
    truth = enumerated(6, 0.25, 1, 1, 0.4)
    assert enumerated(6, 0.25, 1, 0, 0.4) < 0.9 * truth


@pytest.mark.parametrize(
    ("shape", "users"), tiered([(FULL, 3), (FULL, 4096), (LAYER, 3), (LAYER, 4096)], fast=1)
)
def test_a_batch_threshold_meets_and_the_one_below_misses(shape, users):
    meets, misses = batch_threshold(shape, users, 1.0, 1e-6)
    assert batch_loss(shape, users, meets).delta(1.0).upper <= 1e-6
    assert misses < meets
    assert batch_loss(shape, users, misses).delta(1.0).lower > 1e-6


@pytest.mark.slow
def test_a_user_is_in_one_batch_so_that_every_batch_may_spend_all():
    """The weakest of several batches is what all of them promise."""
    users = (64, 1024, 8192)
    deltas = [batch_loss(LAYER, n, batch_threshold(LAYER, n, 1.0, 1e-6)[0]).delta(1.0).upper for n in users]
    assert max(deltas) <= 1e-6


@pytest.mark.slow
def test_noise_at_the_same_guarantee_is_at_least_ten_times_smaller():
    """H = 6, X = 4, A = 2, a full release under replacement: standard deviations of one counter."""
    for epsilon, factor in (("0.1", 17), ("0.5", 13), ("0.999", 18)):
        printed = printed_threshold(6, 4, 2, epsilon, "1e-6")
        own = batch_threshold(FULL, 4096, epsilon, "1e-6")[0]
        assert math.sqrt(printed / own) > factor


@pytest.mark.parametrize("own_visits", [True, False])
@pytest.mark.parametrize(("users", "tau"), [(5000, 900.0), (16, 400.0), (1, 3.0)])
def test_a_level_is_the_least_quarter_that_the_tails_allow(users, tau, own_visits):
    shape = ReleaseShape(6, 4, 2, own_visits=own_visits)
    found = precision_level(shape, users, tau, "0.05") / 4
    trials, chance = (users, tau / 2 / users) if users > tau else (users * math.ceil(tau / users), 0.5)

    def outside(away):
        laws = {trials: shape.counters}
        if not own_visits:
            laws[trials * 4] = shape.cells
        return sum(
            count * (binom.cdf(math.ceil(n * chance - away) - 1, n, chance)
                     + binom.sf(math.floor(n * chance + away), n, chance))
            for n, count in laws.items()
        )  # fmt: skip

    assert outside(found) <= 0.05
    assert outside(found - 0.25) > 0.05


def test_printed_figures():
    one, failure = printed_budget(6, 4, 2, "0.9", "1e-6")
    tau = 96 * math.log(2 / float(failure)) / float(one) ** 2
    assert printed_threshold(6, 4, 2, "0.9", "1e-6") == pytest.approx(tau, rel=1e-12)
    sides = math.log(2 * FULL.counters / 0.05)
    assert printed_level(FULL, 900.0, "0.05") == pytest.approx(4 * math.sqrt(2700 * sides), rel=1e-12)
    assert printed_level(FULL, 900.0, "0.05") > 2 * precision_level(FULL, 5000, 900.0, "0.05")


def test_refusals():
    for epsilon in ("1", "2", "0", "-1"):
        with pytest.raises(ValueError, match=r"epsilon .* must be in \(0, 1\): Lemma 10 stops there"):
            printed_threshold(6, 4, 2, epsilon, "1e-6")
    assert printed_threshold(6, 4, 2, "2", "1e-6", beyond_proof=True) > 0
    with pytest.raises(ValueError, match="beta"):
        printed_threshold(6, 4, 2, "0.5", "1")
    for bad in ((0, 1.0, 1e-6), (10, 0, 1e-6), (10, 1.0, 0), (10, 1.0, 1)):
        with pytest.raises(ValueError, match=r"users|epsilon|delta"):
            batch_threshold(LAYER, *bad)
    with pytest.raises(ValueError, match=r"steps \(0\)"):
        ReleaseShape(0, 4, 2)
    with pytest.raises(ValueError, match="failure"):
        precision_level(LAYER, 10, 5.0, 0)
    with pytest.raises(ValueError, match="threshold"):
        printed_level(LAYER, 0.0, "0.1")
