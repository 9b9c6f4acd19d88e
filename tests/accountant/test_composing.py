"""Compositions at every epsilon, answers that share work, disjoint parts, and certificates by a second route."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from dpproof import PrivacyResult, account, compose
from dpproof.accountant.checking import Certificate, CheckOutcome, certificate_from_json
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.outcomes import finite_profile
from dpproof.accountant.privacy_loss import notion
from dpproof.accountant.privacy_loss.by_integers import composed_by_integers
from dpproof.accountant.privacy_loss.chernoff import _TRIED, Coarse, _by_cells, _moments
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.privacy_loss.single import delta_in_closed_form
from dpproof.accountant.theorems.mixed_composition import compose_guarantees, compose_opposed
from tests.rows import rows

STEP = SubsampledGaussian(0.01, 1.0)
SIDES = (STEP, STEP.reversed())
REVIEWED = PrivacyLoss(
    [[(side, 1000), (Laplace(1.0), 1), (SubsampledGaussian(1.0, 2.0), 1)] for side in SIDES]
)
"""The case of a review of 0.1.0: GridTooLargeError at epsilon 25,000, and 44 s for a trade-off value."""
TRAINING = PrivacyLoss([[(STEP, 1000)], [(STEP.reversed(), 1000)]])
MIXED = PrivacyLoss([[(STEP, 100), (Laplace(10.0), 1)]])


@rows("epsilon", [25_000, "1e9"])
def test_far_epsilons_are_answered(epsilon):
    found = REVIEWED.delta(epsilon)
    assert found.lower == 0
    assert found.upper <= 1e-280


@pytest.mark.slow
def test_an_epsilon_beyond_every_grid_has_the_coarse_bounds():
    """0.1.0: GridTooLargeError. Delta is about 1e-165 there."""
    assert REVIEWED.delta(50).upper < 1e-150


@pytest.mark.slow
def test_the_reviewed_trade_off_is_found():
    found = REVIEWED.trade_off("0.01")
    assert 0.91 < found.lower <= found.upper < 0.912
    assert found.width < 1e-4


@rows("parts, epsilon", [([(Laplace(10.0), 40)], 1), ([(Geometric(3, 1), 5)], 1), ([(STEP, 1000)], 2)])
def test_coarse_bounds_enclose_the_fine_ones(parts, epsilon):
    low, high = Coarse.of(parts).delta(Fraction(epsilon))
    fine = PrivacyLoss([parts]).delta(epsilon)
    assert low <= fine.lower <= fine.upper <= high < 1
    least, most = Coarse.of(parts).epsilon(Fraction(1, 100))
    epsilons = PrivacyLoss([parts]).epsilon("0.01")
    assert least <= epsilons.lower <= epsilons.upper <= most


def test_cells_bound_the_moment_generating_function():
    cells, beyond = _by_cells(STEP)
    exact, _ = _moments(STEP)
    assert beyond < 1e-279
    rows = zip(_TRIED, cells, exact, strict=True)
    known = [
        (a, b) for c, a, b in rows if c <= 4 and math.isfinite(b)
    ]  # losses beyond 1e-280 weigh nothing there
    assert len(known) > 40
    assert all(b - 1e-8 <= a <= b + 0.1 * abs(b) + 1e-3 for a, b in known)


def test_ten_deltas_are_answered_by_one_integral_or_one_grid(monkeypatch):
    """Once the first is answered, no other route is asked, and no second integral or grid is made."""
    monkeypatch.setattr(notion, "_first_route", lambda *_: pytest.fail("an answer was computed for itself"))
    for loss in (TRAINING, MIXED):
        shared = loss.sharing()
        for power in range(1, 11):
            shared.epsilon(Fraction(1, 10**power))
        assert all(len(way.shared._ranges) == 1 for way in shared._ways)


@pytest.mark.slow
def test_shared_answers_agree_with_single_ones_and_do_not_depend_on_the_order():
    points = ("0.1", "1e-4", "1e-8")
    for loss in (TRAINING, MIXED):
        one, other = PrivacyLoss(loss.alternatives).sharing(), PrivacyLoss(loss.alternatives).sharing()
        found = {point: one.epsilon(point) for point in points}
        assert [other.epsilon(point) for point in reversed(points)] == [found[p] for p in reversed(points)]
        for point in points:
            own = loss.epsilon(point)
            assert max(own.lower, found[point].lower) <= min(own.upper, found[point].upper)
            assert found[point].relative_width < 1e-5


def test_an_upper_bound_of_the_other_direction_is_taken_only_where_it_is_proved():
    shared = TRAINING.sharing()._ways[1].shared
    delta = Fraction(1, 10**6)
    low, high = shared.epsilon(delta)
    assert shared.epsilon(delta, high * 1.001) == (0.0, high * 1.001)
    assert shared.epsilon(delta, low * 0.999) == (low, high)


@pytest.mark.slow
def test_random_allocation_composes_with_other_mechanisms():
    """The sum over grids of an upper bound is above the bound of one mechanism, and below that of basic composition."""
    drawn = account("allocated-sgd", noise_multiplier=2, steps=10, chosen=2, adjacency="add-remove")
    noise = account("gaussian", sigma=8, sensitivity=1, adjacency="add-remove")
    found = compose(drawn, noise).epsilon("1e-6").upper
    one, other = (result.epsilon("5e-7").upper for result in (drawn, noise))
    assert drawn.epsilon("1e-6").lower < found < one + other


def counts(relation="replace"):
    return [account("gaussian", sigma=sigma, query="count", adjacency=relation) for sigma in (3, 4)]


def test_parts_cost_the_largest_if_records_are_added_or_removed():
    parts = counts("add-remove")
    assert compose(*parts, parallel=True).epsilon("1e-6") == parts[0].epsilon("1e-6")


def test_a_replaced_record_moves_between_parts():
    """It leaves one count and enters the other: mu^2 = 1/9 + 1/16, which is (5/12)^2, more than in one part."""
    found = compose(*counts(), parallel=True)
    moved = GaussianDP(Fraction(5, 12))
    assert found.delta("0.5") == moved.delta("0.5")
    assert found.delta("0.5").lower > max(one.delta("0.5").upper for one in counts())


def test_a_moved_record_is_removed_from_one_part_and_added_to_the_other():
    other = SubsampledGaussian(0.3, 1.0)
    parts = [
        PrivacyLoss([[(pair, 1)], [(pair.reversed(), 1)]]) for pair in (SubsampledGaussian(0.1, 2.0), other)
    ]
    found = compose_opposed(*parts)
    truth = PrivacyLoss([[(SubsampledGaussian(0.1, 2.0), 1), (other.reversed(), 1)]])
    assert found.delta("0.1").upper == truth.delta("0.1").upper
    together = compose_guarantees(*parts).delta("0.1")
    assert found.delta("0.1").upper <= together.upper  # both in the worse direction is worse


def test_parts_under_replace_need_a_query():
    with pytest.raises(ValueError, match="query instead of sensitivity"):
        compose(account("gaussian", sigma=3, sensitivity=1, adjacency="replace"), parallel=True)
    with pytest.raises(ValueError, match="must be add-remove or replace"):
        compose(account("gaussian", sigma=3), parallel=True)


def test_compositions_come_back_from_json():
    inner = compose(*counts())
    whole = compose(
        inner, account("gaussian", sigma="0.7", query="count", adjacency="replace"), parallel=True
    )
    again = PrivacyResult.from_json(whole.to_json())
    assert again == whole
    assert again.parallel
    assert again.epsilon("1e-6") == whole.epsilon("1e-6")
    assert again.to_json() == whole.to_json()


@rows("count, epsilon", [(1, "0.1"), (4, "0.5"), (9, 1)])
def test_integers_are_on_both_sides_of_the_listed_outcomes(count, epsilon):
    pair, at = Geometric(3, 1), float(Fraction(epsilon))
    low, high = delta_in_closed_form(finite_profile([(pair, count)], 4096), Fraction(at))
    found = composed_by_integers([(pair, count)], at, high)
    assert found.lower(at) <= low <= high <= found.upper(at)
    assert found.upper(at) - found.lower(at) <= 1e-6 * high


CHECKED = {
    "gaussian": (account("gaussian", sigma="0.7", compositions=3), {"delta": "1e-6"}, 14),
    "laplace": (account("laplace", scale=2), {"epsilon": "0.25"}, 9),
    "geometric": (account("geometric", scale=3, compositions=4), {"delta": "1e-3"}, 6),
    "(epsilon, delta)": (account("smooth-cauchy", noise=10.0, smoothing=0.01), {"epsilon": "0.01"}, 14),
    "inversion": (
        account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=100, adjacency="add-remove"),
        {"delta": "1e-6"},
        5,
    ),
}


@pytest.mark.slow
@rows("name", list(CHECKED))
def test_a_second_route_confirms(name):
    result, asked, digits = CHECKED[name]
    found = result.check(**asked)
    assert found.outcome is CheckOutcome.CONFIRMED, found.words
    assert found.digits >= digits
    assert certificate_from_json(found.to_json()) == found


def test_a_wrong_certificate_is_contradicted():
    data = json.loads(CHECKED["gaussian"][0].check(delta="1e-6").to_json())
    for factor in (1 - 1e-9, 1 + 1e-9):
        wrong = {name: repr(float(data[name]) * factor) for name in ("lower", "upper")}
        assert certificate_from_json(json.dumps({**data, **wrong})).outcome is CheckOutcome.CONTRADICTED
    with pytest.raises(ValueError, match="to_json of a certificate"):
        certificate_from_json("{}")
    with pytest.raises(ValueError, match="must be epsilon or delta"):
        certificate_from_json(json.dumps({**data, "quantity": "advantage"}))


def test_no_second_route_is_said_and_no_tick():
    found = account("smooth-log-normal", noise=10.0, smoothing=0.01, spread=1.0).check(delta="1e-3")
    assert found.outcome is CheckOutcome.NO_SECOND_ROUTE
    assert not found.confirmed
    assert found.words == "no second route: this answer was not checked again"
    with pytest.raises(ValueError, match="exactly one of epsilon and delta"):
        account("gaussian", sigma=2).check()


def test_infinite_bounds_agree_but_have_no_digits():
    found = Certificate({}, "epsilon", "0", math.inf, math.inf, "another route", math.inf, math.inf)
    assert found.confirmed
    assert found.digits == 0
    assert found.words == "confirmed to be infinite by another route"
