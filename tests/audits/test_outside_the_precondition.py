"""What is not independent sampling on a pair is an error, whatever its outputs look like, never a finding.

Each refusal is also shown not to be given to a sound neighbour of the refused case. Level of the probe:
1e-9 in each of two lots of 16 calls of 16 outputs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint, curve_points
from dpproof.audits.engine.betting.eprocess import LogWealth
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.checks.probing import looks_dependent
from dpproof.audits.engine.power.measured import unmeasured
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio
from dpproof.audits.engine.scores.tails import LEVELS, TailCounts
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from tests.rows import tiered

BITS = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", lambda _a, _b: None)


def shared(_value, n, rng):
    return np.full(n, rng.normal())


def batch_effect(_value, n, rng):
    return rng.normal() + 0.1 * rng.normal(size=n)


def walk(_value, n, rng):
    return np.cumsum(rng.laplace(0, 1, n))


def exiting(_value, _n, _rng):
    raise SystemExit(0)


def masked(_value, n, rng):
    return np.ma.masked_array(rng.normal(size=n), mask=np.arange(n) % 2)


@pytest.mark.parametrize("mechanism", [shared, batch_effect, walk])
def test_rows_that_depend_on_each_other_are_an_error(mechanism):
    for seed in range(5):
        with pytest.raises(MechanismError, match="depend on each other"):
            audit("dependent", PureDP(1.0), mechanism, BITS, seed=seed, budget=2000)


def test_independent_rows_of_every_kind_pass_the_probe():
    rng = np.random.default_rng(0)
    kinds = (
        lambda: rng.normal(size=(16, 16, 3)),
        lambda: rng.standard_cauchy(size=(16, 16, 1)),
        lambda: rng.integers(0, 2, size=(16, 16, 1)).astype(float),
        lambda: np.zeros((16, 16, 2)),
    )
    assert not any(looks_dependent(draw()) for draw in kinds for _ in range(500))


@pytest.mark.parametrize("power", [1, 0])
def test_a_seed_that_depends_on_the_data_is_found_by_calls_for_one_output(power):
    """The control has a seed that does not depend on the data, so its outputs reveal nothing."""

    def seeded_by_data(value, n, rng):
        return np.random.default_rng(int(value) * power).normal(size=n)

    for sampler in (seeded_by_data, lambda value, rng: seeded_by_data(value, 1, rng)[0]):
        found = audit("seed", PureDP(1.0), sampler, BITS, seed=0, budget=2000)
        assert found.verdict is (Finding.VIOLATION if power else Finding.INCONCLUSIVE)


@pytest.mark.parametrize(("mechanism", "why"), [(exiting, "raised SystemExit"), (masked, "masked array")])
def test_a_mechanism_that_leaves_or_hides_its_outputs_is_an_error(mechanism, why):
    with pytest.raises(MechanismError, match=why):
        audit("odd", PureDP(1.0), mechanism, BITS, seed=0, budget=2000)


def by_place(outputs):
    """A score that depends on nothing but a sample's place in its block, as rounding may."""
    return np.linspace(0, 1, len(outputs))


def in_order_of_labels(blocks):
    for outputs, labels in blocks:
        order = np.argsort(labels, kind="stable")
        yield outputs[order], labels[order]


def test_the_place_of_a_sample_tells_nothing_of_its_label():
    """Had each block its samples in the order of labels, the control shows what would come of it."""
    quiet, points = (lambda _v, n, rng: rng.normal(size=n)), (CurvePoint(0.2, 0.0),)
    score = [LogLikelihoodRatio(by_place)]
    for seed in range(20):
        drawn = [draw_blocks(quiet, BITS, seed, 2000, None) for _ in range(2)]
        assert not run_trial(points, drawn[0], score, 1e-4).refuted
        assert run_trial(points, in_order_of_labels(drawn[1]), score, 1e-4).refuted


@pytest.mark.slow
def test_equal_rows_whose_scores_differ_by_rounding_are_no_evidence(monkeypatch):
    """A word that comes at times, on both inputs alike; its score is a sum over many columns."""
    monkeypatch.setattr(
        "dpproof.audits.engine.runner.measured", lambda *_given, **_more: unmeasured("not asked here")
    )

    def word(_value, rng):
        return "abort" if rng.random() < 0.05 else 1.0

    for seed in range(10):
        assert audit("word", PureDP(0.2), word, BITS, seed=seed, alpha=1e-4, budget=1500).e_value < 1e4


def test_thresholds_keep_their_mass_over_a_million_samples():
    """The tails' true masses stay within 15% of their levels (from .01 up), on N(0, 1)."""
    rng, tails = np.random.default_rng(1), TailCounts(oriented=True)
    pool = np.sort(rng.normal(size=2_000_000))
    for _ in range(40):
        scores = rng.normal(size=25_000)
        tails.learn(scores, rng.integers(0, 2, 25_000))
    for level in range(8):
        lower = np.searchsorted(pool, tails.describe(level, 1)["at_most"]) / pool.size
        upper = 1 - np.searchsorted(pool, tails.describe(level, 0)["at_least"]) / pool.size
        assert lower == pytest.approx(LEVELS[level], rel=0.15)
        assert upper == pytest.approx(LEVELS[level], rel=0.15)


@pytest.mark.parametrize("side", tiered([1.0, -1.0], fast=1))
@pytest.mark.filterwarnings("error")
def test_infinite_outputs_are_outputs(side):
    """More than half are infinite, so the thresholds are; a claim that holds stands, another one falls."""

    def burst(value, n, rng):
        return np.where(rng.random(n) < 0.6 + 0.2 * value, side * np.inf, rng.normal(size=n))

    def audited(epsilon):
        return audit("infinite", PureDP(epsilon), burst, BITS, seed=0, budget=20_000).verdict

    assert audited(math.log(0.4 / 0.2)) is not Finding.VIOLATION
    assert audited(0.3) is Finding.VIOLATION


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("atoms", [(0.0, 1.0, np.inf), (-np.inf, 0.0, np.inf), (-np.inf, -np.inf, 2.0)])
def test_tails_count_what_lies_in_them(atoms, many):
    """Held against sums over all samples; blocks of few and of many samples are counted differently."""
    rng, tails = np.random.default_rng(3), TailCounts(oriented=True)
    past, fresh = (rng.choice(np.array([*atoms, *rng.normal(size=5)]), n) for n in (500, 300 + 4700 * many))
    labels = rng.integers(0, 2, fresh.size)
    tails.learn(past, rng.integers(0, 2, past.size))
    tails.bet(fresh, labels)
    highest = float(tails.describe(0, 0)["at_least"])
    for level in range(LEVELS.size):
        upper = fresh >= float(tails.describe(level, 0)["at_least"])
        lower = (fresh <= float(tails.describe(level, 1)["at_most"])) & (fresh < highest)
        for kind, inside, label in ((0, upper, 1), (1, lower, 0)):
            won, lost = (inside & (labels == b) for b in (label, 1 - label))
            expected = [won.sum(), lost.sum(), (~inside).sum()]
            assert tails.counts[level, kind].tolist() == expected


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_rare_leak_is_seen_on_either_side(side):
    def leak(value, n, rng):
        return np.where(rng.random(n) < 0.02 * value, side * 100, rng.normal(size=n))

    found = audit("leak", ApproxDP(1.0, 2e-3), leak, BITS, seed=0, delta=2e-3, budget=400_000)
    assert found.verdict is Finding.VIOLATION


def test_points_that_no_sample_refutes_are_left_out():
    points = curve_points(GaussianDP(40.0), 1e-6, GaussianDP(40.0).epsilon(1e-6).upper)
    assert points
    assert max(point.epsilon for point in points) <= 700
    assert np.isfinite(LogWealth(points)(np.zeros((LEVELS.size, 3, 3), np.int64))).all()
    with pytest.raises(ValueError, match="at most 700"):
        curve_points(PureDP(800.0), 0.0, 800.0)


@pytest.mark.parametrize(
    "bad",
    [
        {"alpha": 5e-324},
        {"budget": float("nan")},
        {"budget": 100.5},
        {"seed": 1.5},
        {"seed": -1},
        {"budget": 0},
    ],
)
def test_bad_settings_are_named(bad):
    settings = {"seed": 0, "budget": 1000, **bad}
    with pytest.raises(ValueError, match=next(iter(bad))):
        audit("settings", PureDP(1.0), lambda v, n, r: v + r.laplace(size=n), BITS, **settings)


def test_outputs_of_several_numbers_are_scored_by_learning():
    def spread(value, n, rng):
        return value / np.sqrt(3) + rng.normal(scale=0.3, size=(n, 3))

    claim = GaussianDP(1.0)
    assert (
        audit("vector", claim, spread, BITS, seed=0, delta=1e-5, budget=20_000).verdict is Finding.VIOLATION
    )
