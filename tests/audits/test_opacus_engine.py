"""A real Opacus run by its steps: what the canary's weight shows, the sound engine, one with half the noise.

Each audit declares alpha = 0.01 and at most 1,000 coins; seeds are fixed. The law of a step is compared with
the normal law that the noise multiplier says (600 steps, Kolmogorov and Smirnov's test at 1e-4).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpproof.audits.corpus.opacus import CASES, HalfNoise
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import ReplayError, replay
from dpproof.audits.targets.call import audit
from dpproof.audits.training.dp_sgd import Settings
from dpproof.audits.training.opacus import EngineRun, OpacusAudit
from tests.rows import tiered

pytest.importorskip("opacus")


@pytest.mark.slow
@pytest.mark.parametrize("case", tiered(CASES, fast=1), ids=lambda case: case.name)
def test_the_engine_keeps_its_claim_and_half_the_noise_is_caught(case):
    assert case.audit(seed=0).verdict is case.expected


def test_the_canary_moves_its_weight_by_one_clipping_norm():
    run = EngineRun(Settings(noise_multiplier=1e-4), np.random.default_rng(0))
    shown = [(present, run.step(present)) for present in (False, True, True, False, True, True, True)]
    assert [seen for _, seen in shown] == pytest.approx([float(present) for present, _ in shown], abs=2e-3)


@pytest.mark.slow
def test_the_sampler_leaves_the_canary_out_as_often_as_it_says():
    run = EngineRun(Settings(noise_multiplier=1e-4, sampling_rate=0.3), np.random.default_rng(0))
    drawn = sum(run.step(True) > 0.5 for _ in range(600))
    assert stats.binomtest(drawn, 600, 0.3).pvalue > 1e-4


@pytest.mark.parametrize(("engine", "fits"), tiered([(EngineRun, True), (HalfNoise, False)], fast=1))
def test_the_noise_of_a_step_is_normal_with_the_multiplier(engine, fits):
    run = engine(Settings(noise_multiplier=2.0), np.random.default_rng(1))
    seen = [run.step(False) for _ in range(600)]
    assert bool(stats.kstest(seen, stats.norm(0.0, 2.0).cdf).pvalue > 1e-4) == fits


def test_a_finding_replays():
    found = audit(OpacusAudit(Settings(variant="half noise")), seed=3, budget=300)
    assert found.verdict is Finding.VIOLATION
    assert replay(found.witness()) == found
    with pytest.raises(ReplayError, match="samples"):
        replay({**found.witness(), "samples": 1})


def test_a_fault_that_opacus_is_not_given_is_refused():
    with pytest.raises(ValueError, match=r"variant \('no clipping'\) must be one of: none, half noise"):
        audit(OpacusAudit(Settings(variant="no clipping")), seed=0)
