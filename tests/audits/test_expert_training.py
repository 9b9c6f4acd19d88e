"""Selective DP-SGD as it is run, audited by canary experts. Alpha 0.01 an audit, fixed seeds, few coins."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account
from dpproof.audits.corpus.expert_trainings import CASES
from dpproof.audits.engine.betting.curves import Tabulated, tabulated
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.training import expert_training as experts
from dpproof.audits.training.dp_sgd import View
from dpproof.audits.training.expert_canaries import ExpertCanaries, Viewed
from dpproof.audits.training.expert_training import ExpertSettings, ExpertTraining, claim_for
from dpproof.cli import app
from tests.rows import tiered

PLAIN = SelectiveDPSGDParameters(0.5, 0.5, 1.0, 6)
ALONE = np.array([True])


@pytest.fixture
def loops():
    pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    from dpproof.audits.training.expert_loops import Watched, differ_by_one_expert, private_data

    return SimpleNamespace(
        Watched=Watched, private_data=private_data, differ_by_one_expert=differ_by_one_expert
    )


@pytest.mark.parametrize(
    "case",
    tiered([case for case in CASES if "canaries" not in case.name], fast=3),
    ids=lambda case: case.name,
)
def test_the_corpus_cases_come_out_as_expected(loops, case):
    """Each fault is found; with all 1000 coins the sound ones are consistent."""
    sound = case.target.settings.variant == "none"
    found = case.audit(seed=3, budget=150 if sound else None)
    assert found.verdict is case.expected or (sound and found.verdict is Finding.INCONCLUSIVE)
    assert found.epsilon_lower <= found.claimed_epsilon or not sound


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corpus_cases_come_out_as_expected_on_their_whole_budget(loops, case):
    assert case.audit(seed=4).verdict is case.expected


@pytest.mark.slow
def test_a_few_runs_of_canaries_tell_a_quarter_of_the_noise_from_all_of_it(loops):
    settings = ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 4.0, 64), canaries=500)
    assert audit(ExpertCanaries(settings, runs=4), seed=1).verdict is not Finding.VIOLATION
    broken = replace(settings, variant="unscaled noise")
    found = audit(ExpertCanaries(broken, runs=4), seed=1)
    assert found.verdict is Finding.VIOLATION
    assert replay(json.loads(json.dumps(found.witness()))) == found


@pytest.mark.parametrize(
    "view", tiered([View.STEP, View.TRACE, View.FINAL], fast=1), ids=lambda view: view.value
)
def test_a_finding_replays(loops, view):
    everybody = replace(PLAIN, sampling_rate=1.0, branch_probability=1.0)
    settings = ExpertSettings(everybody, variant="unscaled noise")
    found = audit(ExpertTraining(settings, view), seed=0, budget=15)
    assert replay(json.loads(json.dumps(found.witness()))) == found


@pytest.mark.parametrize(
    "changes",
    tiered(
        [
            {"coin": "hidden"},
            {"coin": "independent"},
            {"coin": "fixed"},
            {"batch": "exact"},
            {"sampling_rate": 1.0, "branch_probability": 1.0},
        ],
        fast=2,
    ),
    ids=str,
)
def test_every_kind_of_training_is_watched_and_not_called_broken(loops, changes):
    """Level 0.01 each: two alarms or more among the ten have a chance below 0.5 %."""
    settings = ExpertSettings(replace(PLAIN, **changes))
    views = {View.STEP: 100, View.TRACE: 30}
    found = [audit(ExpertTraining(settings, view), seed=0, budget=coins) for view, coins in views.items()]
    assert not any(one.verdict is Finding.VIOLATION for one in found)


@pytest.mark.slow
def test_the_sound_training_exactly_on_its_claim_keeps_the_level(loops):
    """Level 0.05, 20 seeds of 60 steps: more than 5 alarms have a chance below 0.1 %. A quarter: most."""
    tight = SelectiveDPSGDParameters(1.0, 1.0, 1.0, 60)
    alarms = {}
    for fault in ("none", "unscaled noise"):
        settings = ExpertSettings(tight, variant=fault)
        found = [
            audit(ExpertTraining(settings, View.STEP), seed=seed, alpha=0.05, budget=60) for seed in range(20)
        ]
        alarms[fault] = sum(one.verdict is Finding.VIOLATION for one in found)
    assert alarms["none"] <= 5
    assert alarms["unscaled noise"] >= 12


def test_a_canary_moves_its_own_weights_by_its_strength_and_others_not_at_all(loops):
    """With hardly any noise and everybody in the batch: 1 clip but for the second layer's share, and 0."""
    settings = ExpertSettings(SelectiveDPSGDParameters(1.0, 1.0, 2e-4, 3), canaries=3)
    coins = np.array([True, False, True])
    run = loops.Watched(settings, loops.private_data(settings, coins), np.random.default_rng(0))
    ways, strengths = run._moves()
    run.training.advance(1)
    moved = run._along(ways, run._heard[0])
    assert np.abs(moved - coins * strengths).max() < 2e-3
    assert (strengths > 0.9).all()
    assert (strengths < 1.0 + 1e-6).all()


def test_a_plain_step_moves_no_canary_and_says_nothing(loops):
    settings = ExpertSettings(replace(PLAIN, branch_probability=1e-9))
    run = loops.Watched(settings, loops.private_data(settings, ALONE), np.random.default_rng(0))
    assert run.trace() == 0.0
    assert float(run._heard[0].norm()) > 0


def test_the_faults_are_what_their_names_say(loops):
    settings = ExpertSettings(SelectiveDPSGDParameters(1.0, 1.0, 3.0, 5), clip=2.0)
    data = loops.private_data(settings, ALONE)

    def training(fault):
        return loops.Watched(replace(settings, variant=fault), data, np.random.default_rng(0)).training

    sound, twice = training("none"), training("two transitions")
    counts = [
        np.bincount(data.expert[one._batch(data, 1.0, np.random.default_rng(0))]) for one in (sound, twice)
    ]
    assert (counts[0] == 1).all()
    assert (counts[1] == 2).all()
    quiet = training("unscaled noise")._noise(np.random.default_rng(1))
    assert np.allclose(2 * quiet.numpy(), sound._noise(np.random.default_rng(1)).numpy())
    hidden = replace(PLAIN, coin="hidden", branch_probability=1e-9)
    shown = loops.Watched(
        replace(settings, parameters=hidden, variant="shown coin"), data, np.random.default_rng(0)
    ).training
    assert not shown._branch(np.random.default_rng(0)).noisy


def test_other_pairs_are_no_neighbours(loops):
    settings = ExpertSettings(PLAIN, canaries=3)
    one, two, other = (
        loops.private_data(settings, np.array(coins)) for coins in ([1, 0, 0], [1, 1, 0], [0, 1, 0])
    )
    loops.differ_by_one_expert(one, two)
    loops.differ_by_one_expert(two, other)
    for first, second in ((one, other), (one, one)):
        with pytest.raises(ValueError, match="Exactly one expert must be in only one"):
            loops.differ_by_one_expert(first, second)
    moved = loops.private_data(settings, np.array([1, 1, 0]))
    moved.rewards[0] += 1
    with pytest.raises(ValueError, match="rewards must be equal for the experts"):
        loops.differ_by_one_expert(one, moved)


def test_claims_are_the_accountants():
    settings = ExpertSettings(replace(PLAIN, coin="fixed"))
    step = claim_for(settings, View.STEP).guarantee
    noisy = account(replace(PLAIN, branch_probability=1.0, steps=1), Adjacency.EXPERT).guarantee
    assert step.epsilon(1e-5).upper == pytest.approx(noisy.epsilon(1e-5).upper, rel=1e-9)
    whole = account(settings.parameters, Adjacency.EXPERT).guarantee
    assert claim_for(settings, View.FINAL).guarantee.epsilon(1e-5).upper == whole.epsilon(1e-5).upper
    with pytest.raises(ValueError, match=r"view \('epoch'\) must be 'step', 'trace' or 'final'"):
        claim_for(settings, View.EPOCH)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clip": 0.0}, r"clip \(0.0\)"),
        ({"canaries": 0}, r"canaries \(0\)"),
        ({"parameters": replace(PLAIN, steps=0)}, "must be above 0 for an audit"),
        ({"parameters": replace(PLAIN, sampling_rate=1e-5, batch="exact")}, r"sampling_rate \(1e-05\)"),
    ],
)
def test_what_is_not_audited_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        ExpertSettings(**{"parameters": PLAIN, **changes})


def test_exact_batches_of_a_small_share_have_experts_enough(loops):
    settings = ExpertSettings(replace(PLAIN, sampling_rate=0.01, batch="exact"))
    assert (settings.others, settings.batch) == (100, 1)
    found = audit(ExpertTraining(settings, View.STEP), seed=0, budget=10)
    assert found.verdict is not Finding.VIOLATION


def test_runs_too_long_and_other_numbers_of_canaries_are_refused(loops):
    with pytest.raises(NoAuditError, match=r"steps \(2001\)"):
        audit(ExpertTraining(ExpertSettings(replace(PLAIN, steps=2001)), View.TRACE), seed=0)
    with pytest.raises(NoAuditError, match=r"steps \(20001\)"):
        audit(ExpertCanaries(ExpertSettings(replace(PLAIN, steps=20_001), canaries=9)), seed=0)
    with pytest.raises(ValueError, match=r"canaries \(2\)"):
        audit(ExpertTraining(ExpertSettings(PLAIN, canaries=2), View.STEP), seed=0)


def test_without_torch_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(experts, "find_spec", lambda name: None)
    with pytest.raises(NoAuditError, match=r"pip install 'dpproof\[torch\]'"):
        audit(ExpertTraining(ExpertSettings(PLAIN), View.STEP), seed=0)
    assert {case.requires for case in CASES} == {"torch"}


@pytest.mark.parametrize("curve", [GaussianDP(1.0), ApproxDP(1.0, 1e-6)], ids=["Gaussian", "approximate"])
def test_a_table_of_a_curve_never_promises_more_than_the_curve(curve):
    table = tabulated(curve, 1e-5)
    reach = curve.epsilon(1e-5).upper
    for epsilon in np.linspace(0, 1.2 * reach, 101):
        above = table.delta(float(epsilon)).upper
        assert above >= curve.delta(float(epsilon)).upper or epsilon > reach
        assert above <= 1
    for delta in (0.3, 0.01, 1e-5):
        assert table.epsilon(delta).upper >= curve.epsilon(delta).lower
    assert table.epsilon(1e-5).upper == reach
    assert table.epsilon(0.0).upper == math.inf


def test_a_table_between_its_points_is_close_to_a_convex_curve_and_needs_a_finite_one():
    table = tabulated(GaussianDP(1.0), 1e-5)
    apart = [table.delta(e).upper - GaussianDP(1.0).delta(e).upper for e in np.linspace(0.05, 4.3, 40)]
    assert 0 <= min(apart) <= max(apart) < 2e-3
    assert Tabulated((0.5, 1.0), (0.2, 0.1)).delta(0.2).upper == 1.0
    with pytest.raises(ValueError, match="at most 700"):
        tabulated(GaussianDP(1.0), 0.0)
    assert tabulated(PureDP(0), 0.0).delta(1.0).upper == 0.0


@pytest.mark.parametrize("ends", [(0.5, 1e-15), (0.9, 0.0), (1e-3, 1e-300)])
def test_a_table_is_never_below_its_chord(ends):
    """By mpmath with 60 digits: where delta falls by orders of magnitude, a difference loses them."""
    left, right = (mpmath.mpf(end) for end in ends)
    with mpmath.workdps(60):
        for power in range(1, 50):
            epsilon = 3.0 - 2.0**-power
            share = mpmath.expm1(epsilon) / mpmath.expm1(3)
            found = Tabulated((0.0, 3.0), ends).delta(epsilon).upper
            chord = left * (1 - share) + right * share
            assert chord <= found <= chord * (1 + 1e-11) + 1e-322


def test_views_by_their_words(loops):
    gaussian = replace(PLAIN, sampling_rate=1.0, branch_probability=1.0)
    found = audit(Viewed(gaussian, "step"), seed=0, delta=1e-5, budget=10, claim="a step")
    assert (found.claim, found.samples) == ("a step", 10)
    assert (
        found.claimed_epsilon == claim_for(ExpertSettings(gaussian), View.STEP).guarantee.epsilon(1e-5).upper
    )
    with pytest.raises(ValueError, match=r"view \('epoch'\) must be one of: step, trace, final, canaries"):
        audit(Viewed(PLAIN, "epoch"), seed=0)
    with pytest.raises(ValueError, match="sharpen must be left out"):
        audit(Viewed(PLAIN, "canaries"), seed=0, sharpen=True)


@pytest.mark.slow
def test_the_command_line_audits_the_training_in_a_view(loops):
    values = {
        "adjacency": "expert",
        "sampling-rate": 1,
        "branch-probability": 1,
        "noise-multiplier": 2,
        "steps": 2,
    }
    flags = [word for name, value in values.items() for word in (f"--{name}", str(value))]
    for view in ("step", "canaries"):
        done = CliRunner().invoke(
            app, ["audit", "selective-dpsgd", *flags, "--view", view, "--budget", "3", "--json"]
        )
        (found,) = json.loads(done.stdout)["audits"]
        assert (done.exit_code, found["samples"]) == (0, 3)
    refused = CliRunner().invoke(
        app, ["audit", "selective-dpsgd", *flags, "--view", "step", "--epsilon", "1"]
    )
    assert "view ('step') must be left out" in str(refused.exception)
