"""An audit from end to end on noisy bits: verdicts, power, errors, workers and replay."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import binom

from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.trial import VERDICT, run_trial
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.replaying import ReplayError, replay
from dpproof.audits.targets.call import audit

CONTRACT = {
    "claim",
    "verdict",
    "epsilon_lower",
    "delta",
    "confidence",
    "samples",
    "would_have_seen",
    "power",
    "not_covered",
    "weakness",
    "witness",
}

VALUES = [Identity()]
"""Numpy's floating-point noise keeps these claims on real numbers only; see `test_floating_point_only`."""


def test_an_exact_claim_is_consistent_and_says_what_would_have_been_seen(bits, laplace):
    evidence = audit("exact", PureDP(1.0), laplace(1.0), bits, VALUES, seed=3, budget=40_000)
    assert evidence.verdict is Finding.CONSISTENT
    assert evidence.samples == 40_000
    assert evidence.epsilon_lower <= 1 < evidence.would_have_seen <= 2


def test_a_false_claim_is_a_violation_and_sharpening_bounds_epsilon_above_it(bits, laplace):
    fast = audit("false", PureDP(1.0), laplace(1.5), bits, seed=3)
    assert fast.verdict is Finding.VIOLATION
    assert fast.e_value >= 1 / (VERDICT * 0.01)
    assert fast.would_have_seen is None
    sharp = audit("false", PureDP(1.0), laplace(1.5), bits, VALUES, seed=3, budget=20_000, sharpen=True)
    assert sharp.samples == 20_000
    assert 1.3 < sharp.epsilon_lower <= 1.5


def test_too_few_samples_are_inconclusive(bits, laplace):
    evidence = audit("short", PureDP(1.0), laplace(1.0), bits, seed=3, budget=60)
    assert evidence.verdict is Finding.INCONCLUSIVE
    assert evidence.would_have_seen > 2
    assert audit("none", PureDP(1.0), laplace(1.0), bits, seed=3, budget=1).event is None


@pytest.mark.slow
def test_the_stated_power_is_the_measured_one(bits, laplace):
    runs, samples = 200, 1500
    known = {"seed": 5, "budget": samples, "known_ratio": True}
    stated = audit("power", PureDP(1.0), laplace(1.0), bits, VALUES, **known).would_have_seen
    points = (CurvePoint(1.0, 0.0),)
    seen = 0
    for seed in range(1000, 1000 + runs):
        pace = Pace()
        blocks = draw_blocks(laplace(stated), bits, seed, samples, None, pace=pace)
        seen += run_trial(points, blocks, [Identity()], 0.01, pace=pace).refuted
    assert seen >= binom.ppf(0.001, runs, 0.9)


@pytest.mark.parametrize("broken", [
    (lambda v, n, r: np.full(n, np.nan), "64 of 64 outputs are or contain NaN"),
    (lambda v, n, r: r.standard_normal(n + 1), "must begin with 64"),
    (lambda v, n, r: float(r.standard_normal()), "must be an array or a list"),
    (lambda v, n, r: [object()] * n, "type object cannot be read. Return numbers"),
    (lambda v, n, r: None, "Is a return missing"),
    (lambda v, n, r: np.frombuffer(os.urandom(8 * n), np.uint64), "It uses other randomness"),
    (lambda v, n, r: 1 / 0, "raised ZeroDivisionError .* on the first input .* 100 of 100 further calls"),
    (lambda v: v, "requires 1 argument"),
])  # fmt: skip
def test_a_mechanism_that_cannot_be_audited_is_an_error_not_a_finding(bits, broken):
    sampler, message = broken
    with pytest.raises(MechanismError, match=message):
        audit("broken", PureDP(1.0), sampler, bits, seed=0, budget=100)


def test_nan_on_one_input_only_is_an_error(bits):
    def sampler(value, n, rng):
        return np.where(value > 0, np.nan, rng.standard_normal(n))

    with pytest.raises(MechanismError, match="NaN"):
        audit("broken", PureDP(1.0), sampler, bits, seed=0, budget=100)


@pytest.mark.parametrize(("argument", "value"), [
    ("alpha", 0.0), ("alpha", float("nan")), ("budget", 0), ("delta", 1.0), ("delta", -0.1), ("seed", -1),
])  # fmt: skip
def test_bad_arguments_are_named(bits, laplace, argument, value):
    given = {"seed": 0} | {argument: value}
    with pytest.raises(ValueError, match=rf"^{argument} \("):
        audit("bad", PureDP(1.0), laplace(1.0), bits, **given)


def test_scores_that_are_not_numbers_are_named(bits, laplace):
    with pytest.raises(ValueError, match="at least one"):
        audit("bad", PureDP(1.0), laplace(1.0), bits, [], seed=0)
    with pytest.raises(ValueError, match=r"score \(identity\)"):
        audit("bad", PureDP(1.0), lambda v, n, r: r.random((n, 2)), bits, [Identity()], seed=0)


@pytest.mark.slow
def test_infinite_outputs_are_outputs(bits):
    def sampler(value, n, rng):
        drawn = rng.laplace(value, 1.0, n)
        return np.where(drawn > 2, np.inf, drawn)

    found = audit("censored", PureDP(1.0), sampler, bits, VALUES, seed=0, budget=40_000)
    assert found.verdict is Finding.CONSISTENT
    json.dumps(found.as_json(), allow_nan=False)


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_workers(bits, laplace):
    alone = audit("same", PureDP(1.0), laplace(1.0), bits, seed=7, budget=60_000)
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as executor:
            found = audit("same", PureDP(1.0), laplace(1.0), bits, seed=7, budget=60_000, executor=executor)
        assert json.dumps(found.as_json()) == json.dumps(alone.as_json())


def test_an_early_stop_leaves_an_executor_usable(bits, laplace):
    with ThreadPoolExecutor(2) as executor:
        found = audit("stop", PureDP(0.5), laplace(3.0), bits, seed=7, executor=executor)
        assert found.verdict is Finding.VIOLATION
        assert executor.submit(int, "3").result() == 3


def test_evidence_has_the_contract_keys_and_replays(bits, laplace):
    def run(witness) -> Evidence:
        return audit(
            witness["claim"],
            PureDP(1.0),
            laplace(2.0),
            bits,
            seed=witness["seed"],
            delta=witness["delta"],
            alpha=witness["alpha"],
            budget=witness["replay"]["budget"],
        )

    found = audit("false", PureDP(1.0), laplace(2.0), bits, seed=11).as_json()
    assert found.keys() == CONTRACT | {"claimed_epsilon", "pairs", "taken_on_trust", "words", "shown"}
    witness = json.loads(json.dumps(found, allow_nan=False))["witness"]
    assert replay(witness, run).as_json() == found
    with pytest.raises(ReplayError, match="counts"):
        replay({**witness, "counts": {"won": 1, "lost": 0, "passed": 0}}, run)
    with pytest.raises(ReplayError, match="cannot be imported by a name"):
        replay(witness)


def test_gaussian_and_approximate_claims(bits, gauss):
    known = {"seed": 1, "delta": 1e-3, "budget": 5000, "known_ratio": True}
    found = audit("gdp", GaussianDP(1.0), gauss(1.0), bits, VALUES, **known)
    assert found.verdict is Finding.CONSISTENT
    found = audit("approximate", ApproxDP(1.0, 1e-3), gauss(3.0), bits, seed=1, delta=1e-3)
    assert found.verdict is Finding.VIOLATION
