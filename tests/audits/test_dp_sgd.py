"""White-box audits of training: each classic fault is seen, the sound loop is not called broken."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.audits.corpus.dp_sgd import CASES, VARIANTS
from dpproof.audits.engine.betting.curves import curve_points
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.engine.scores.protocol import Identity, Projection
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import ReplayError, replay
from dpproof.audits.targets.call import audit
from dpproof.audits.training.dp_sgd import (
    Loop,
    LoopAudit,
    Settings,
    View,
    one_thread,
    started,
    step_claim,
)
from dpproof.audits.training.steps import Steps, labelled_steps
from tests.rows import tiered


@pytest.fixture
def torch():
    found = pytest.importorskip("torch", reason="torch, an extra, is not installed")
    with one_thread():
        yield found


def noisy(deviation):
    """A training run without a model: each step shows the canary under noise."""
    return lambda rng: lambda canary: canary + rng.normal(0, deviation)


def drifting(rng):
    """Every step depends on all earlier ones, and is still a Gaussian mechanism given them."""
    state = {"place": 0.0, "scale": 1.0}

    def step(canary):
        seen = state["place"] + state["scale"] * (canary + rng.normal())
        state["place"], state["scale"] = 0.7 * seen, 0.5 + (abs(seen) % 1.0)
        return seen

    return step


def alarms(start, curve, seeds, budget, alpha=0.05):
    """In how many seeds the bets refute the curve, at level 0.95 alpha; no power is worked out."""
    points = curve_points(curve, 0.1, curve.epsilon(0.1).upper)
    refuted = 0
    for seed in range(seeds):
        pace = Pace()
        steps = labelled_steps(start, seed, budget, pace)
        refuted += run_trial(points, steps, (Identity(oriented=True),), alpha, pace=pace).refuted
    return refuted


def test_half_the_noise_is_seen_in_one_run():
    evidence = audit("half", GaussianDP(1.0), noisy(0.5), Steps(), seed=1, delta=1e-5, budget=1000)
    assert evidence.verdict is Finding.VIOLATION
    assert evidence.samples < 500


@pytest.mark.parametrize("start", [noisy(1.0), drifting], ids=["alike", "drifting"])
def test_sound_runs_exactly_on_their_claim_keep_the_level(start):
    """Level 0.05, 60 seeds: more than 9 alarms have a chance below 0.1 %."""
    assert alarms(start, GaussianDP(1.0), 60, 400) <= 9


def test_rows_may_be_seen_and_equal_seeds_give_equal_evidence():
    def start(rng):
        return lambda canary: canary * np.array([1.0, 1.0]) + rng.normal(0, 0.5, 2)

    one, other = (
        audit("rows", GaussianDP(1.0), start, Steps(), seed=4, delta=1e-5, scores=(Projection((1.0, 1.0)),))
        for _ in range(2)
    )
    assert one.verdict is Finding.VIOLATION
    assert one.as_json() == other.as_json()


def test_a_step_that_is_not_a_number_is_an_error():
    with pytest.raises(MechanismError, match="NaN"):
        audit("nan", GaussianDP(1.0), noisy(math.nan), Steps(), seed=0, delta=1e-5)


def test_the_claim_of_a_step_is_the_accountants():
    pair = SubsampledGaussian(0.25, 2.0)
    expected = PrivacyLoss([[(pair, 4)], [(pair.reversed(), 4)]]).delta(0.5)
    claim = step_claim(Settings(sampling_rate=0.25, noise_multiplier=2.0), 4).guarantee
    assert claim.delta(0.5).upper == expected.upper


@pytest.mark.parametrize(
    ("name", "value"), [("sampling_rate", 1.5), ("clip", 0.0), ("noise_multiplier", math.inf), ("records", 0)]
)
def test_settings_outside_their_range_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        Settings(**{name: value})


def test_the_canary_is_clipped_and_nothing_else_is_in_its_direction(torch):
    loop = Loop(Settings(noise_multiplier=1e-6), np.random.default_rng(0))
    (without,), moved = loop.run(1, canary=False)
    (seen,), moved_with = loop.run(1, canary=True)
    assert abs(without) < 1e-4
    assert seen == pytest.approx(1.0, abs=1e-4)
    assert (moved, moved_with) == pytest.approx((without, seen), abs=1e-3)


@pytest.mark.parametrize("fault", ["none", *VARIANTS])
def test_empty_batches_are_noise_only(torch, fault):
    settings = Settings(sampling_rate=0.1, records=2, noise_multiplier=1e-6, variant=fault)
    trace, _ = started(settings, np.random.default_rng(0)).run(20, canary=False)
    with_canary, _ = started(settings, np.random.default_rng(0)).run(20, canary=True)
    assert abs(trace).max() < 1e-2
    assert np.isfinite(with_canary).all()


def test_the_loop_learns(torch):
    loop = Loop(Settings(noise_multiplier=0.5, clip=1.0, learning_rate=0.5), np.random.default_rng(0))

    def right():
        first, last = loop.weights[:320].view(16, 20), loop.weights[320:]
        return float((torch.tanh(loop._inputs @ first.T) @ last * loop._labels > 0).float().mean())

    before = right()
    loop.run(60, canary=False)
    assert right() > max(before, 0.85)


FAULTS = ["half noise", "no clipping", "unscaled noise", "batch clipping"]


@pytest.mark.parametrize("fault", tiered(FAULTS, fast=1))
def test_a_fault_is_seen_by_its_steps_under_sampling(torch, fault):
    evidence = audit(LoopAudit(Settings(sampling_rate=0.5, variant=fault), View.STEP), seed=0, budget=1500)
    assert evidence.verdict is Finding.VIOLATION


EPOCHS = {"sampling_rate": 0.25, "noise_multiplier": 0.2}


@pytest.mark.slow
def test_shuffled_batches_are_seen_by_epochs_and_replay(torch):
    settings = Settings(variant="shuffled batches", **EPOCHS)
    evidence = audit(LoopAudit(settings, View.EPOCH), seed=0, delta=0.3, budget=400)
    assert evidence.verdict is Finding.VIOLATION
    assert replay(evidence.witness()) == evidence
    with pytest.raises(ReplayError, match="samples"):
        replay({**evidence.witness(), "samples": 1})


def test_every_record_is_in_one_batch_of_a_shuffled_epoch(torch):
    settings = Settings(variant="shuffled batches", sampling_rate=0.25, records=10)
    loop = started(settings, np.random.default_rng(0))
    batches = [loop.next_batch(11) for _ in range(4)]
    assert sorted(np.concatenate(batches)) == list(range(11))


@pytest.mark.slow
def test_the_sound_loop_exactly_on_its_claim_keeps_the_level(torch):
    """Level 0.05, 20 seeds of 100 steps: more than 5 alarms have a chance below 0.1 %."""
    settings = Settings(records=12)
    curve = step_claim(settings).guarantee

    def start(rng):
        loop = Loop(settings, rng)
        return lambda canary: loop.run(1, canary)[0][0]

    assert alarms(start, curve, 20, 100) <= 5


@pytest.mark.slow
def test_the_sound_loop_is_not_called_broken_by_its_epochs(torch):
    evidence = audit(LoopAudit(Settings(**EPOCHS), View.EPOCH), seed=0, delta=0.3, budget=200)
    assert evidence.verdict is not Finding.VIOLATION


@pytest.mark.slow
@pytest.mark.parametrize("view", [View.TRACE, View.FINAL], ids=lambda view: view.value)
def test_whole_runs_show_half_the_noise_and_nothing_where_it_is_right(torch, view):
    settings = {"noise_multiplier": 3.0, "records": 12}
    broken = Settings(variant="half noise", **settings)
    assert audit(LoopAudit(broken, view, steps=4), seed=0, budget=600).verdict is Finding.VIOLATION
    assert (
        audit(LoopAudit(Settings(**settings), view, steps=4), seed=0, budget=150).verdict
        is not Finding.VIOLATION
    )


@pytest.mark.parametrize("case", tiered(CASES, fast=1), ids=lambda case: case.name)
def test_the_corpus_cases_come_out_as_expected(case):
    if case.requires:
        pytest.importorskip(case.requires, reason=f"{case.requires}, an extra, is not installed")
    assert case.audit(seed=0).verdict is case.expected
