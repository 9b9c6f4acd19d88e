"""Every event of dp-accounting, in and out, and configurations of jax_privacy; docs/reference/interop.md lists them."""

from __future__ import annotations

import enum
import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import attr
import pytest
from dp_accounting import dp_event as dp

from dpproof import account
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, RenyiDP
from dpproof.accountant.interop import jax_privacy
from dpproof.accountant.interop.dp_events import REFUSED, mapped, parts_of, privacy_loss_of
from dpproof.accountant.interop.dp_events_out import event_of
from dpproof.accountant.interop.dp_primitives import UnsupportedEventError
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.pairs.randomised_response import RandomisedResponse, truthful_response
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.sampling import truncated
from dpproof.accountant.theorems.runs import Runs
from dpproof.accountant.theorems.selection import Selected

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "interop.md"


@attr.s(frozen=True, auto_attribs=True)
class EpsilonDeltaDpEvent(dp.DpEvent):
    """The event of newer versions of dp-accounting, with the same attributes."""

    epsilon: float
    delta: float


@attr.s(frozen=True, auto_attribs=True)
class DiscreteGaussianDpEvent(dp.DpEvent):
    """The event of newer versions of dp-accounting, with the same attributes."""

    sigma: float
    sensitivity: float = 1.0
    dimension: int | None = None


@attr.s(frozen=True, auto_attribs=True)
class ExponentialMechanismDpEvent(dp.DpEvent):
    """The event of newer versions of dp-accounting, with the same attributes."""

    epsilon: float


@attr.s(frozen=True, auto_attribs=True)
class PermuteAndFlipDpEvent(dp.DpEvent):
    """The event of newer versions of dp-accounting, with the same attributes."""

    epsilon: float


NEWER = [EpsilonDeltaDpEvent, DiscreteGaussianDpEvent, ExponentialMechanismDpEvent, PermuteAndFlipDpEvent]


def classes():
    """The names of all classes of events of the installed dp-accounting, and of newer versions."""
    found = [one for _, one in inspect.getmembers(dp, inspect.isclass) if issubclass(one, dp.DpEvent)]
    return {one.__name__ for one in (*found, *NEWER)}


def table(heading):
    """The first two cells of each row of the table below a heading of the page."""
    part = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return {name: answer == "yes" for name, answer in re.findall(r"^\| `(\w+)` \| (yes|no) \|", part, re.M)}


def test_every_class_of_events_is_mapped_or_refused_and_listed():
    assert classes() <= mapped() | set(REFUSED)
    assert not mapped() & set(REFUSED)
    rows = table("Events of dp-accounting")
    assert rows == {name: name in mapped() for name in (mapped() | set(REFUSED)) - {"DpEvent"}}


@pytest.mark.parametrize("name", sorted(set(REFUSED) - {"DpEvent"}))
def test_a_refusal_says_what_is_missing(name):
    with pytest.raises(UnsupportedEventError, match=re.escape(REFUSED[name][:30])):
        privacy_loss_of(getattr(dp, name)(), Adjacency.REPLACE)


GAUSS, LAPLACE = dp.GaussianDpEvent(2.0), dp.LaplaceDpEvent(2.0)
BOTH = dp.SelfComposedDpEvent(dp.DiscreteLaplaceDpEvent(0.5, 1), 2)


@pytest.mark.parametrize(
    ("event", "adjacency", "reason"),
    [
        (dp.RandomizedResponseDpEvent(0.5, 2), "add-remove", "no answer"),
        (dp.PoissonSampledDpEvent(0.1, dp.RandomizedResponseDpEvent(0.5, 2)), "replace", "no answer"),
        (dp.PoissonSampledDpEvent(0.1, dp.ZCDpEvent(0.1)), "replace", "leaves out a record"),
        (
            dp.PoissonSampledDpEvent(0.1, dp.SingleEpochTreeAggregationDpEvent(1.0, 4)),
            "by-sensitivity",
            "leaves",
        ),
        (dp.SampledWithoutReplacementDpEvent(100, 5, GAUSS), "add-remove", "adjacency replace only"),
        (dp.SampledWithReplacementDpEvent(100, 5, GAUSS), "add-remove", "adjacency replace only"),
        (dp.SampledWithReplacementDpEvent(100, 5, dp.ZCDpEvent(0.1)), "replace", "only known for Gaussian"),
        (dp.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.5]), "replace", "added or removed"),
        (dp.ZCDpEvent(0.1, 0.1), "replace", "xi"),
        (GAUSS, "expert", "Use one of"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, dp.DpEvent) else None,
)
def test_events_without_a_theorem_under_a_relation_are_refused(event, adjacency, reason):
    with pytest.raises(UnsupportedEventError, match=reason):
        parts_of(event, Adjacency.of(adjacency))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace", "by-sensitivity"])
def test_an_event_that_states_its_guarantee_keeps_it(adjacency):
    found = privacy_loss_of(EpsilonDeltaDpEvent(1.0, 1e-4), adjacency)
    assert 1 - 1e-3 <= found.epsilon("1.001e-4").upper < 1 + 1e-9
    for share in ("0.2", "0.7"):
        assert abs(found.delta(share).upper - ApproxDP(1.0, 1e-4).delta(share).upper) < 1e-9
    assert privacy_loss_of(PermuteAndFlipDpEvent(0.5), adjacency).epsilon(0).upper == pytest.approx(0.5)
    assert privacy_loss_of(ExponentialMechanismDpEvent(0.5), adjacency).epsilon(0).upper == pytest.approx(0.5)
    many = privacy_loss_of(DiscreteGaussianDpEvent(10.0), adjacency).epsilon("1e-6").upper
    one = privacy_loss_of(DiscreteGaussianDpEvent(10.0, 1.0, 1), adjacency).epsilon("1e-6").upper
    plain = GaussianDP(0.1).epsilon("1e-6").upper
    assert one == pytest.approx(plain, rel=1e-3)
    assert plain < many < 1.2 * plain


@pytest.mark.slow
def test_several_events_on_one_sample_are_amplified_together():
    """Sampling at the rate 1/4 maps the profile of both events together."""
    for sampled, relation in (
        (lambda inner: dp.PoissonSampledDpEvent(0.25, inner), "add-remove"),
        (lambda inner: dp.SampledWithoutReplacementDpEvent(4, 1, inner), "replace"),
    ):
        whole = privacy_loss_of(BOTH, relation).delta(1).upper
        found = privacy_loss_of(sampled(BOTH), relation)
        at = math.log1p(0.25 * math.expm1(1))
        assert found.delta(at).upper == pytest.approx(0.25 * whole, rel=2e-2)
        assert found.delta(at).upper >= 0.25 * whole * (1 - 1e-9)


def test_a_sample_with_replacement_is_not_better_than_one_without():
    one = privacy_loss_of(dp.SampledWithoutReplacementDpEvent(20, 4, GAUSS), "replace").delta("0.5")
    two = privacy_loss_of(dp.SampledWithReplacementDpEvent(20, 4, GAUSS), "replace").delta("0.5")
    assert one.upper <= two.upper
    for inner in (LAPLACE, dp.DiscreteLaplaceDpEvent(0.5, 1)):
        assert (
            privacy_loss_of(dp.SampledWithReplacementDpEvent(20, 4, inner), "replace").delta("0.5").upper < 1
        )


@pytest.mark.slow
def test_truncated_samples_have_the_guarantee_of_their_accountant():
    step = dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 60, 2.0)
    found = privacy_loss_of(dp.SelfComposedDpEvent(step, 4), "add-remove")
    training = truncated.TruncatedSGDParameters(0.1, 2.0, 4, 60, 100)
    own = truncated.account(training, Adjacency.ADD_REMOVE).guarantee
    exact = own.delta("0.5")
    assert exact.lower <= found.delta("0.5").upper <= exact.upper * 1.02 + 1e-9


@pytest.mark.slow
def test_a_mixture_of_gaussians_is_the_pair_of_a_user_with_several_records():
    binomial = BinomialGaussianMixture(0.25, 2.0, 2)
    exact = PrivacyLoss([[(binomial, 1)], [(binomial.reversed(), 1)]])
    event = dp.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 2.0], [0.5625, 0.375, 0.0625])
    found = privacy_loss_of(event, "add-remove")
    for epsilon in ("0", "0.2", "0.6"):
        assert exact.delta(epsilon).lower <= found.delta(epsilon).upper <= exact.delta(epsilon).upper * 1.01
    single = dp.MixtureOfGaussiansDpEvent(2.0, [1.0], [1.0])
    assert privacy_loss_of(single, "add-remove").delta(1).upper == GaussianDP("0.5").delta(1).upper


@pytest.mark.slow
def test_a_selection_is_an_event_in_both_directions():
    event = dp.RepeatAndSelectDpEvent(GAUSS, 10.0, 1.0)
    own = Selected(GaussianDP("0.5"), Runs(10, 1))
    found = privacy_loss_of(event, "add-remove").epsilon("1e-6").upper
    assert own.epsilon("1e-6").upper <= found < own.epsilon("1e-6").upper * 1.02
    assert event_of(own, "add-remove") == event
    poisson = event_of(Selected(GaussianDP("0.5"), Runs(4)), "add-remove")
    assert poisson == dp.RepeatAndSelectDpEvent(GAUSS, 4.0, math.inf)


def loss(pair):
    return PrivacyLoss([[(pair, 1)]])


OUT: Sequence[tuple[object, str, object]] = [
    (ApproxDP(1, "0.25"), "replace", EpsilonDeltaDpEvent(1.0, 0.25)),
    (loss(RandomisedResponse(1)), "replace", EpsilonDeltaDpEvent(1.0, 0.0)),
    (loss(BoundedRange(1)), "add-remove", ExponentialMechanismDpEvent(1.0)),
    (loss(DiscreteGaussian(4, 3)), "replace", DiscreteGaussianDpEvent(2.0, 3.0, 1)),
    (loss(truthful_response("0.625", 4)), "replace", dp.RandomizedResponseDpEvent(0.5, 4)),
]


@pytest.mark.parametrize(("guarantee", "adjacency", "event"), OUT, ids=[type(row[2]).__name__ for row in OUT])
def test_guarantees_have_events(guarantee, adjacency, event, monkeypatch):
    if not hasattr(dp, type(event).__name__):
        with pytest.raises(UnsupportedEventError, match="Install a newer version"):
            event_of(guarantee, adjacency)
        monkeypatch.setattr(dp, type(event).__name__, type(event), raising=False)
    made = event_of(guarantee, adjacency)
    assert made == event
    assert privacy_loss_of(made, adjacency).delta("0.5").upper >= guarantee.delta("0.5").lower


def test_a_guarantee_without_an_event_is_refused():
    with pytest.raises(UnsupportedEventError, match="RenyiDP"):
        event_of(RenyiDP(lambda order: order), "replace")


class NeighboringRelation(enum.Enum):
    REPLACE_ONE = "replace"


@dataclass
class DPExecutionPlan:
    dp_event: dp.DpEvent
    neighboring_relation: NeighboringRelation


@dataclass
class PlanOfVersion2:
    dp_event: dp.DpEvent
    batch_selection_strategy: object


@dataclass
class BandMFConfig:
    iterations: int
    expected_participations: float
    strategy: Sequence[float]
    noise_multiplier: float | None = None
    truncated_batch_size: int | None = None
    num_examples: int | None = None


class PartitionType(enum.Enum):
    INDEPENDENT = 1
    EQUAL_SPLIT = 2


@dataclass
class CyclicPoissonSampling:
    sampling_prob: float
    iterations: int
    truncated_batch_size: int | None = None
    cycle_length: int = 1
    partition_type: PartitionType = PartitionType.EQUAL_SPLIT


@dataclass
class FixedBatchSampling:
    batch_size: int
    iterations: int
    replace: bool = False


TRAINING = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.5, GAUSS), 4)


@pytest.mark.parametrize(
    ("given", "more", "event", "relation"),
    [
        (DPExecutionPlan(TRAINING, NeighboringRelation.REPLACE_ONE), {}, TRAINING, "replace"),
        (PlanOfVersion2(TRAINING, CyclicPoissonSampling(0.5, 4)), {}, TRAINING, "add-remove"),
        (PlanOfVersion2(TRAINING, CyclicPoissonSampling(0.5, 8, None, 2)), {}, TRAINING, "by-sensitivity"),
        (BandMFConfig(8, 2, [1.0, 0.5], 2.0), {}, TRAINING, "add-remove"),
        (BandMFConfig(7, 1.75, [1.0, 0.5], 2.0, num_examples=9), {}, TRAINING, "by-sensitivity"),
        (CyclicPoissonSampling(0.5, 4), {"noise_multiplier": 2.0}, TRAINING, "add-remove"),
        (
            CyclicPoissonSampling(0.5, 8, cycle_length=2),
            {"noise_multiplier": 2.0},
            TRAINING,
            "by-sensitivity",
        ),
        (
            CyclicPoissonSampling(0.5, 8, None, 2, PartitionType.INDEPENDENT),
            {"noise_multiplier": 2.0},
            TRAINING,
            "add-remove",
        ),
        (
            FixedBatchSampling(5, 4),
            {"noise_multiplier": 2.0, "records": 10},
            dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(10, 5, GAUSS), 4),
            "replace",
        ),
    ],
    ids=str,
)
def test_configurations_of_jax_privacy_are_events(given, more, event, relation):
    assert jax_privacy.described(given, **more) == (event, Adjacency.of(relation))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (BandMFConfig(8, 2, [1.0]), "noise_multiplier is not set"),
        (BandMFConfig(8, 2, [1.0], 2.0, truncated_batch_size=5, num_examples=9), "truncated"),
        (CyclicPoissonSampling(0.5, 4), "noise_multiplier is not set"),
        (FixedBatchSampling(5, 4), "noise_multiplier is not set"),
        (PlanOfVersion2(TRAINING, CyclicPoissonSampling(0.5, 4, 9)), "truncated"),
        *((type(name, (), {})(), "not supported") for name in ("BMinSepSampling", "DPKerasConfig", "Other")),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_other_configurations_are_refused(given, reason):
    with pytest.raises(jax_privacy.UnsupportedConfigurationError, match=reason):
        jax_privacy.guarantee_of(given)


def test_a_plan_is_the_claim_of_a_training_under_add_remove_only():
    plan = PlanOfVersion2(TRAINING, CyclicPoissonSampling(0.5, 4))
    assert jax_privacy.dp_sgd_of(plan) == DPSGDParameters(0.5, 2.0, 4)
    for other in (
        DPExecutionPlan(TRAINING, NeighboringRelation.REPLACE_ONE),
        PlanOfVersion2(GAUSS, CyclicPoissonSampling(0.5, 4)),
    ):
        with pytest.raises(
            jax_privacy.UnsupportedConfigurationError, match="steps of DP-SGD under add-remove"
        ):
            jax_privacy.dp_sgd_of(other)


@dataclass
class BallsInBinsSampling:
    iterations: int
    cycle_length: int


@dataclass
class RandomAllocationSampling:
    total_participations: int
    iterations: int


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (BallsInBinsSampling(20, 8), {"steps": 8, "epochs": 3, "fresh": False}),
        (RandomAllocationSampling(1, 8), {"steps": 8}),
        (RandomAllocationSampling(3, 8), {"steps": 8, "chosen": 3}),
    ],
    ids=str,
)
def test_steps_that_a_record_draws_once_have_the_guarantee_of_random_allocation(given, same):
    found = jax_privacy.guarantee_of(given, noise_multiplier=4.0).delta(1)
    assert found == account("allocated-sgd", noise_multiplier=4.0, adjacency="add-remove", **same).delta(1)
    with pytest.raises(jax_privacy.UnsupportedConfigurationError, match="no event for it"):
        jax_privacy.described(given, noise_multiplier=4.0)


def test_the_page_lists_the_configurations():
    rows = table("Configurations of jax_privacy")
    assert {name for name, answer in rows.items() if answer} == {
        "DPExecutionPlan",
        *jax_privacy.READ,
        *jax_privacy.ALLOCATED,
    }
    assert {name for name, answer in rows.items() if not answer} == set(jax_privacy.REFUSED)
