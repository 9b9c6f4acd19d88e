"""Scores for rich outputs: what they see, that their bets stay fair, and what was measured."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.audits import rich
from benchmarks.audits.rich_faults import FAULTS, SOUND
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.outputs import of_objects
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.eprocess import LogWealth
from dpproof.audits.engine.betting.stream import ScoreStream
from dpproof.audits.engine.scores.boosting import BoostedTrees
from dpproof.audits.engine.scores.kernel import Kernel
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.names import EDITION
from dpproof.audits.engine.scores.parts import bag, tiles
from dpproof.audits.engine.scores.products import Norm, Products, SparseProjection, Spread
from dpproof.audits.plan import AuditPlan
from dpproof.audits.targets.call import audit

SCORES = {
    score.name: score
    for score in (SparseProjection(), Products(), Norm(), Spread(), BoostedTrees(), Kernel())
}
scores = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
EPSILON = 1.0
POINT = CurvePoint(EPSILON, 0.0)
OUTPUTS = np.array(list(itertools.product((0.0, 1.0), repeat=2)))


def log_wealth(stream):
    """The log of the average wealth of the bets on tails, and of those on the learned posterior."""
    bets = LogWealth((POINT,))
    parts = bets.parts(stream.tails.counts[None]), stream.posterior.parts()[None]
    return [float(np.logaddexp.reduce(part.ravel())) for part in parts]


def means_after_two_samples(score, laws, fitted):
    """The mean wealth after two further samples over the wealth before, enumerated over labels and outputs.

    The first one completes the samples for a refit, so that the second is bet on by a score that has seen the first.
    """
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 127)
    outputs = OUTPUTS[[rng.choice(4, p=fitted[label]) for label in labels]]
    before = ScoreStream(score, EPSILON)
    for size in (slice(0, 64), slice(64, 96), slice(96, 127)):
        before.feed(outputs[size], labels[size])
    start, total = log_wealth(before), np.zeros(2)
    for first in itertools.product(range(4), (0, 1)):
        middle = copy.deepcopy(before)
        middle.feed(OUTPUTS[[first[0]]], np.array([first[1]]))
        for second in itertools.product(range(4), (0, 1)):
            after = copy.deepcopy(middle)
            after.feed(OUTPUTS[[second[0]]], np.array([second[1]]))
            chance = math.prod(laws[label, place] / 2 for place, label in (first, second))
            total += chance * np.exp(np.array(log_wealth(after)) - start)
    return total


def claimed_laws():
    """Two laws on four outputs with the ratio e or 1 / e at three of them: epsilon is exactly 1."""
    e = math.e
    zero = np.array([0.4, 0.2, 0.2 / e, 0.0])
    one = np.array([0.4 / e, 0.2 / e, 0.2, 0.0])
    zero[3], one[3] = 1 - zero.sum(), 1 - one.sum()
    assert max(one[3] / zero[3], zero[3] / one[3]) <= e
    return np.stack([zero, one])


@scores
def test_the_mean_wealth_does_not_grow_at_the_boundary_of_the_claim(score):
    laws = claimed_laws()
    for fitted in (laws, np.array([[0.4, 0.1, 0.1, 0.4], [0.1, 0.4, 0.4, 0.1]])):
        assert (means_after_two_samples(score, laws, fitted) <= 1 + 1e-9).all()


def test_the_mean_wealth_grows_where_the_claim_is_violated():
    laws = np.array([[0.85, 0.05, 0.05, 0.05], [0.05, 0.05, 0.05, 0.85]])
    assert (means_after_two_samples(SparseProjection(), laws, laws) > 1).all()


@scores
def test_a_score_sees_neither_the_labels_nor_the_other_outputs_of_its_block(score):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 300)
    outputs = rng.normal(size=(300, 3)) * (1 + labels[:, None]) + labels[:, None]
    one, other = ScoreStream(score), ScoreStream(score)
    fresh = rng.integers(0, 2, 100)
    for stream, told in ((one, fresh), (other, 1 - fresh)):
        stream.feed(outputs[:200], labels[:200])
        stream.feed(outputs[200:], told)
    assert (one.tails.counts[..., [1, 0, 2]] == other.tails.counts).all()
    scorer = score.fit(outputs[:200], labels[:200])
    alone = np.concatenate([scorer(row[None]) for row in outputs[200:]])
    assert np.allclose(scorer(outputs[200:]), alone)


def held_out(score, draw, n=3000):
    """How far the means of the two labels are apart, in standard deviations, on samples that were not fitted."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, n)
    seen, half = score.view(draw(labels, rng)), n // 2
    found = score.fit(seen[:half], labels[:half])(seen[half:])
    parts = [found[labels[half:] == b] for b in (0, 1)]
    return abs(parts[1].mean() - parts[0].mean()) / max(found.std(), 1e-300)


@pytest.mark.parametrize(
    ("score", "fault", "blind"),
    [
        (Products(), "20 numbers: correlation of two", LinearDiscriminant(None)),
        (SparseProjection(), "200 numbers: five coordinates", Norm()),
        (Norm(), "200 numbers: norm", LinearDiscriminant(None)),
        (Spread(), "20 numbers: covariance", LinearDiscriminant(None)),
        (Kernel(), "3 numbers: product of three signs", Products()),
        (
            BoostedTrees(),
            "3 numbers: a box",
            SparseProjection(view=lambda drawn: drawn[:, 3:].sum(1, keepdims=True)),
        ),
        (LinearDiscriminant(None, view=tiles), "image: texture", LinearDiscriminant(None)),
        (SparseProjection(view=bag), "text: order of two words", Norm(view=lambda x: np.zeros((len(x), 1)))),
    ],
    ids=lambda given: given if isinstance(given, str) else given.name,
)
def test_a_score_sees_what_it_is_for(score, fault, blind):
    draw = FAULTS[fault]
    assert held_out(score, draw) > 0.4
    assert held_out(blind, draw) < 0.25
    assert held_out(score, lambda labels, rng: draw(rng.permutation(labels), rng)) < 0.15


@scores
def test_a_fit_survives_constants_one_label_and_extreme_numbers(score):
    rng = np.random.default_rng(3)
    outputs = np.column_stack([np.full(80, 0.1), rng.normal(size=80), rng.standard_cauchy(80) * 1e300])
    for labels in (np.arange(80) % 2, np.zeros(80, np.int64), np.arange(80) // 79):
        assert np.isfinite(score.fit(outputs, labels)(outputs)).all()
    assert np.isfinite(score.fit(np.zeros((80, 1)), np.arange(80) % 2)(np.ones((2, 1)))).all()


def test_the_bag_of_an_output_depends_on_this_output_alone():
    some = [{"a": [1, 2.5, None]}, "two words", ("x", math.nan, math.inf), b"raw", {3, 4}, [[], {}], 10**400]
    together = bag(of_objects(some))
    alone = np.concatenate([bag(of_objects([one])) for one in some])
    assert (together == alone).all()
    assert np.isfinite(together).all()
    assert len({row.tobytes() for row in together}) == len(some)


def test_objects_that_vary_get_the_bag_and_tables_of_one_form_do_not():
    varied = Layout.of([of_objects([{"a": 1}, {"b": 1}, {"a": 2, "b": 1}])])
    alike = Layout.of([of_objects([{"a": 1.5, "b": i} for i in range(50)])])
    assert (varied.loose, alike.loose) == (True, False)
    assert any(score.view is bag for score in varied.scores())


@pytest.mark.parametrize("fault", ["20 numbers: correlation of two", "text: order of two words"])
def test_the_default_scores_find_a_rich_fault(fault):
    draw = FAULTS[fault]
    layout = rich.layout_of(draw)
    assert rich.samples(draw, layout, layout.scores(), seed=77, budget=3000) < math.inf


def test_every_stored_fault_was_found_within_three_times_the_samples_of_the_best_score():
    rows = rich.stored()
    assert {row["name"] for row in rows["faults"]} == set(FAULTS)
    for row in rows["faults"]:
        assert row["runs"] >= 20
        assert None not in row["default"]
        assert np.mean(row["default"]) <= 3 * np.mean([rich.BUDGET if x is None else x for x in row["alone"]])
    for row in rows["sound"]:
        assert row["alarms"] <= binom.ppf(0.999, row["runs"], rich.LEVEL)
    assert "\n".join(rich.section(rows)) in rich.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_mechanism_is_seldom_accused(name):
    """20 runs at level 0.05 (rich.json has these and 40 more); the known-bad control is the fault test above."""
    found = rich.sound(name, SOUND[name], 20)
    assert found["alarms"] <= binom.ppf(0.999, 20, rich.LEVEL)


def test_a_witness_of_an_earlier_edition_replays_with_the_scores_of_its_time(bits):
    def draw(value, n, rng):
        return rng.laplace(size=(n, 4)) + 3 * value

    def run(**asked):
        return audit("shifted", PureDP(1.0), draw, bits, seed=3, budget=2000, power=False, **asked)

    found = run()
    assert found.witness()["replay"]["edition"] == EDITION
    assert AuditPlan.of_witness(found.witness()).edition == EDITION
    assert run(edition=1).witness()["replay"].keys() == found.witness()["replay"].keys() - {"edition"}
    assert AuditPlan.of_witness(run(edition=1).witness()).edition == 1
    with pytest.raises(ValueError, match="edition"):
        AuditPlan.of_witness({**found.witness(), "replay": {"edition": EDITION + 1}})
