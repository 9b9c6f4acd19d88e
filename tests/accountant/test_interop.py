"""Bridges to dp-accounting and Opacus; their answers beside ours, one-sidedly."""

import math
from fractions import Fraction

import dp_accounting as dp
import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.interop.dp_accounting import CertifiedAccountant
from dpproof.accountant.interop.dp_events import (
    attained_by,
    event_of_training,
    parts_of,
    privacy_loss_of,
)
from dpproof.accountant.interop.dp_primitives import UnsupportedEventError

REPLACE_ONE = dp.NeighboringRelation.REPLACE_ONE
REPLACE_SPECIAL = dp.NeighboringRelation.REPLACE_SPECIAL
TRAINING = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)
EVENTS = {
    "gaussian": dp.SelfComposedDpEvent(dp.GaussianDpEvent(5.0), 100),
    "laplace": dp.SelfComposedDpEvent(dp.LaplaceDpEvent(10.0), 100),
    "discrete laplace": dp.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(0.1, 1), 20),
    "sampled laplace": dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(2.0)), 30),
    "training": TRAINING,
    "a bit of everything": dp.ComposedDpEvent(
        [
            TRAINING,
            dp.SelfComposedDpEvent(dp.LaplaceDpEvent(20.0), 5),
            dp.GaussianDpEvent(3.0),
            dp.NoOpDpEvent(),
        ]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVENTS)
def test_pessimistic_peers_are_not_below_our_lower_end(name):
    ours = CertifiedAccountant().compose(EVENTS[name]).epsilon(1e-6)
    peer = PLDAccountant(value_discretization_interval=1e-3).compose(EVENTS[name]).get_epsilon(1e-6)
    assert ours.lower <= peer + 1e-9
    assert ours.upper <= peer + 1e-4 * peer  # and ours is at most as loose
    assert ours.width <= 1e-4 * ours.upper


@pytest.mark.slow
def test_renyi_peer_is_above_ours():
    event = dp.ComposedDpEvent([TRAINING, dp.ZCDpEvent(0.01)])
    ours = CertifiedAccountant().compose(event).get_epsilon(1e-6)
    assert ours < RdpAccountant().compose(event).get_epsilon(1e-6)


@pytest.mark.slow
def test_zcdp_composes_with_what_no_renyi_accountant_takes():
    event = dp.ComposedDpEvent([dp.ZCDpEvent(0.005), dp.SelfComposedDpEvent(dp.LaplaceDpEvent(10.0), 20)])
    alone = CertifiedAccountant().compose(event.events[1]).get_epsilon(1e-6)
    both = CertifiedAccountant().compose(event).get_epsilon(1e-6)
    assert alone < both < alone + 0.6


def test_tree_is_known_where_records_have_places():
    event = dp.SingleEpochTreeAggregationDpEvent(10.0, 2**14)
    ours = CertifiedAccountant(REPLACE_SPECIAL).compose(event).epsilon(1e-6)
    assert ours.lower == pytest.approx(1.704618035, abs=1e-9)
    assert ours.width < 1e-12
    assert ours.upper < RdpAccountant(neighboring_relation=REPLACE_SPECIAL).compose(event).get_epsilon(1e-6)
    with pytest.raises(dp.UnsupportedEventError, match="other leaves"):
        CertifiedAccountant().compose(event)


@pytest.mark.slow
def test_replacing_costs_more_than_removing():
    removing = privacy_loss_of(TRAINING, Adjacency.ADD_REMOVE).epsilon("1e-6")
    replacing = privacy_loss_of(TRAINING, Adjacency.REPLACE).epsilon("1e-6")
    assert replacing.lower > removing.upper


def test_randomised_response_under_replace():
    event = dp_event.RandomizedResponseDpEvent(0.5, 4)
    ours, peer = CertifiedAccountant(REPLACE_ONE), PLDAccountant(REPLACE_ONE)
    for _ in range(10):
        peer.compose(event)
    ours.compose(event, 10)
    assert ours.epsilon(1e-3).lower <= peer.get_epsilon(1e-3) + 1e-9
    assert ours.get_epsilon(1e-3) <= peer.get_epsilon(1e-3) + 1e-3


def test_peer_forgets_how_often_a_randomised_response_is_used():
    """Ten answers, each true with probability 5/8: by enumeration delta > 0.9 at its epsilon."""
    event = dp_event.RandomizedResponseDpEvent(0.5, 4)
    peer = PLDAccountant(REPLACE_ONE).compose(event, 10).get_epsilon(1e-3)
    ours = CertifiedAccountant(REPLACE_ONE).compose(event, 10).account()
    assert peer < 1.61
    assert ours.epsilon(1e-3).lower > 10
    assert ours.delta(peer).lower > 0.9


def test_no_noise_is_no_privacy():
    assert math.isinf(CertifiedAccountant().compose(dp.GaussianDpEvent(0.0)).get_epsilon(1e-6))
    assert math.isinf(CertifiedAccountant().compose(dp.NonPrivateDpEvent()).get_epsilon(1e-6))


@pytest.mark.parametrize(
    "event",
    [
        dp.NoOpDpEvent(),
        dp.ComposedDpEvent([]),
        dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 0),
        dp.ComposedDpEvent([dp.NoOpDpEvent(), dp.SelfComposedDpEvent(TRAINING, 0)]),
        dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, dp.NoOpDpEvent()), 9),
        dp.PoissonSampledDpEvent(0.1, dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 0)),
        dp.PoissonSampledDpEvent(0.1, dp.ComposedDpEvent([])),
        dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0, dp.GaussianDpEvent(1.0)), 9),
    ],
)
def test_an_event_in_which_nothing_was_run_is_refused(event):
    with pytest.raises(ValueError, match="must hold at least one step"):
        privacy_loss_of(event, Adjacency.ADD_REMOVE)
    with pytest.raises(ValueError, match=r"must hold at least one step|must be positive"):
        CertifiedAccountant().compose(event).get_epsilon(1e-6)


@pytest.mark.parametrize(
    "event",
    [
        dp.SampledWithoutReplacementDpEvent(100, 5, dp.NoOpDpEvent()),
        dp.SampledWithoutReplacementDpEvent(100, 0, dp.GaussianDpEvent(1.0)),
        dp_event.SingleEpochTreeAggregationDpEvent(1.0, []),
        dp_event.SingleEpochTreeAggregationDpEvent(1.0, [0]),
    ],
)
def test_so_it_is_under_replace(event):
    with pytest.raises(ValueError, match=r"must hold at least one step|sample \(0\)"):
        privacy_loss_of(event, Adjacency.REPLACE)


def test_accountant_calibrates_with_the_peer_s_own_search():
    found = dp.calibrate_dp_mechanism(
        CertifiedAccountant,
        lambda sigma: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(sigma)), 1000),
        1.0,
        1e-6,
        dp.LowerEndpointAndGuess(0.5, 1.0),
    )
    assert 1.562665 <= found <= 1.562666 + 2e-6


def test_unknown_events_are_refused_by_name():
    with pytest.raises(UnsupportedEventError, match="TruncatedSubsampledGaussianDpEvent"):
        parts_of(dp_event.TruncatedSubsampledGaussianDpEvent(9, 0.1, 2, 1.0), Adjacency.BY_SENSITIVITY)
    with pytest.raises(dp.UnsupportedEventError, match="UnsupportedDpEvent"):
        CertifiedAccountant().compose(dp.UnsupportedDpEvent())


class TestOpacus:
    @pytest.fixture
    def accountant(self):
        pytest.importorskip("opacus", reason="the extra torch is not installed")
        from dpproof.accountant.interop.opacus import CertifiedOpacusAccountant

        return CertifiedOpacusAccountant()

    def test_an_engine_without_steps_is_refused(self, accountant):
        with pytest.raises(ValueError, match="must hold at least one step"):
            accountant.get_epsilon(1e-6)
        accountant.step(noise_multiplier=1.0, sample_rate=0)
        with pytest.raises(ValueError, match="must hold at least one step"):
            accountant.get_epsilon(1e-6)

    def test_steps_count_and_state_survives(self, accountant):
        for _ in range(1000):
            accountant.step(noise_multiplier=1.0, sample_rate=0.01)
        assert len(accountant) == 1000
        assert accountant.epsilon(1e-6).lower <= 2.12451517 + 1e-8
        again = type(accountant)()
        again.load_state_dict(accountant.state_dict())
        assert again.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)

    def test_opacus_finds_it_by_name(self, accountant):
        from opacus.accountants import create_accountant

        assert type(create_accountant("dpproof")) is type(accountant)

    def test_opacus_upper_end_is_not_below_ours(self, accountant):
        from opacus.accountants import PRVAccountant

        accountant.history = [(1.0, 0.01, 1000), (0.8, 0.02, 100)]
        peer = PRVAccountant()
        peer.history = list(accountant.history)
        assert accountant.epsilon(1e-6).lower <= peer.get_epsilon(1e-6)

    def test_central_limit_accountant_is_refuted(self, accountant):
        from opacus.accountants import GaussianAccountant

        accountant.history = [(0.5, 0.01, 1000)]
        with pytest.warns(UserWarning, match="can underestimate"):
            peer = GaussianAccountant()
        peer.history = list(accountant.history)
        assert peer.get_epsilon(1e-6) < 14 < accountant.epsilon(1e-6).lower


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_a_sampled_sum_without_noise_reveals_either_record(epsilon):
    """A replaced record is seen with the probability of its sample; otherwise only the noisy release is left."""
    seen = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(0.0))
    found = privacy_loss_of(
        dp_event.ComposedDpEvent([seen, dp_event.GaussianDpEvent(2.0)]), Adjacency.REPLACE
    ).delta(epsilon)
    noisy = GaussianDP(1).delta(epsilon)  # replaced: twice the contribution over twice the noise
    rate = Fraction(0.1)
    assert Fraction(found.lower) <= rate + (1 - rate) * Fraction(noisy.upper)
    assert Fraction(found.upper) >= rate + (1 - rate) * Fraction(noisy.lower)
    assert found.width < 1e-4


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 0.65, 1.0])
def test_what_is_left_of_a_leaking_sample_has_one_loss(epsilon):
    """Outside the sample the loss is log(0.7), so Laplace noise of scale 1 is asked at epsilon - log(0.7)."""
    seen = dp_event.PoissonSampledDpEvent(0.3, dp_event.GaussianDpEvent(0.0))
    event = dp_event.ComposedDpEvent([seen, dp_event.LaplaceDpEvent(1.0)])
    found = privacy_loss_of(event, Adjacency.ADD_REMOVE).delta(epsilon)
    with mpmath.workdps(60):
        left = 1 - mpmath.mpf(0.3)
        true = 1 - left * min(mpmath.exp((epsilon - mpmath.log(left) - 1) / 2), 1)
        assert found.lower <= true <= found.upper
    assert found.width < 1e-4


def test_a_certain_leak_is_decided_before_anything_is_composed():
    seen = dp_event.PoissonSampledDpEvent(0.3, dp_event.GaussianDpEvent(0.0))
    event = dp_event.ComposedDpEvent([seen, event_of_training(0.5, 0.5, 10**9)])
    assert privacy_loss_of(event, Adjacency.ADD_REMOVE).epsilon(0.29).lower == math.inf


NOTHING = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), 0)
WITH_NOTHING = dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(1.0), dp_event.NoOpDpEvent(), NOTHING])


@pytest.mark.parametrize(
    ("event", "attained"),
    [
        (WITH_NOTHING, True),
        (dp_event.PoissonSampledDpEvent(0.1, WITH_NOTHING), True),
        (dp_event.DiscreteLaplaceDpEvent(0.5, 1), True),
        (dp_event.DiscreteLaplaceDpEvent(0.0, 1), False),
        (dp_event.PoissonSampledDpEvent(0.1, dp_event.DiscreteLaplaceDpEvent(0.0, 1)), False),
    ],
)
def test_steps_without_records_leave_a_guarantee_attained(event, attained):
    privacy_loss_of(event, Adjacency.ADD_REMOVE)
    assert (attained_by(event, Adjacency.ADD_REMOVE) is not None) is attained


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
@pytest.mark.parametrize(
    ("rate", "noise", "rule"),
    [(1e-308, 0.0, "must be at least 1e-300"), (0.1, Fraction(1, 10), "must be exactly equal to a float")],
)
def test_a_sampled_event_is_not_rounded(rate, noise, rule, adjacency):
    with pytest.raises(ValueError, match=rule):
        privacy_loss_of(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)), adjacency)
