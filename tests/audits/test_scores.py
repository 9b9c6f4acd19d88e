"""Scores see what they are for: scales, near-constant directions, atoms, contexts."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.stream import ScoreStream
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.scores.atoms import Atoms, float_bits, tokens
from dpproof.audits.engine.scores.classifiers import logistic, trees
from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.protocol import Projection
from dpproof.audits.engine.scores.tails import BOTH, TailCounts


def labelled(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(0, 2, n)


def gap(scores, labels):
    """Difference of means over the largest spread within a label."""
    inside = [scores[labels == b] for b in (0, 1)]
    return (inside[1].mean() - inside[0].mean()) / max(max(s.std() for s in inside), 1e-300)


def test_the_sharp_discriminant_finds_a_residual_that_noise_hides():
    rng, labels = labelled(200)
    noise = 100 * rng.standard_normal((200, 3))
    outputs = np.column_stack([noise, noise[:, 0] / 2 + 1e-3 * labels])
    sharp, shrunk = (LinearDiscriminant(r).fit(outputs, labels)(outputs) for r in (1e-10, None))
    assert gap(sharp, labels) > 10
    assert abs(gap(shrunk, labels)) < 2


def test_a_discriminant_survives_constants_few_labels_and_high_dimension():
    rng, labels = labelled(40)
    outputs = np.hstack([np.full((40, 2), 0.1), rng.standard_normal((40, 900))])
    outputs[:, 5] += 50 * labels
    scores = LinearDiscriminant(None, limit=100).fit(outputs, labels)(outputs)
    assert gap(scores, labels) > 5
    one_sided = LinearDiscriminant().fit(outputs, np.zeros(40, int))(outputs)
    assert not one_sided.any()


def test_atoms_are_found_and_the_rest_ignored():
    rng, labels = labelled(300)
    outputs = rng.standard_normal((300, 2))
    struck = rng.random(300) < 0.1
    outputs[struck, 1] = labels[struck]
    scores = Atoms().fit(outputs, labels)(outputs)
    assert not scores[~struck].any()
    assert (np.sign(scores[struck]) == 2 * labels[struck] - 1).all()


def test_a_score_with_a_view_looks_nowhere_else():
    rng, labels = labelled(1000)
    outputs = np.column_stack([labels + rng.standard_normal(1000), rng.standard_normal(1000)])
    blind = LinearDiscriminant(view=lambda drawn: drawn[:, 1:])
    blocks = [(outputs[block::2], labels[block::2]) for block in range(2)]
    trial = run_trial((CurvePoint(1.0, 0.0),), blocks, [blind], 0.01)
    won, lost, _ = trial.counts[0, 0, BOTH]
    assert abs(won - lost) < 100
    assert blind.name == "linear-discriminant-sharp of <lambda>"


def test_a_projection_is_linear():
    scores = Projection((1.0, -1.0)).fit(np.empty(0), np.empty(0, int))(np.array([[3.0, 1.0]]))
    assert scores.tolist() == [2.0]


def test_no_sample_is_bet_on_by_a_score_it_trained():
    rng, labels = labelled(64)
    stream = ScoreStream(LinearDiscriminant())
    outputs = rng.standard_normal((64, 2)) + labels[:, None]
    stream.feed(outputs, labels)
    assert not stream.tails.counts.any()
    stream.feed(outputs, labels)
    assert stream.tails.counts[0, BOTH].sum() == 64


def test_a_block_is_counted_under_the_thresholds_of_earlier_ones():
    tails = TailCounts(oriented=True)
    zeros = np.zeros(100, np.int64)
    tails.learn(np.arange(100.0), zeros)
    tails.bet(np.array([1000.0, -1000.0, 60.0, 40.0]), np.array([1, 0, 0, 1]))
    won, lost, passed = tails.counts[0, BOTH]
    assert (won, lost, passed) == (2, 2, 0)


def test_tails_of_ties_do_not_overlap():
    tails = TailCounts(oriented=True)
    labels = np.arange(100) % 2
    tails.learn(np.zeros(100), labels)
    tails.bet(np.zeros(10), labels[:10])
    assert tails.counts[:, BOTH].sum(axis=-1).max() == 10
    assert (tails.counts >= 0).all()


@pytest.mark.parametrize("returned", [np.full(16, np.nan), np.zeros((16, 2))])
def test_a_score_that_is_no_number_is_refused(returned):
    from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio

    stream = ScoreStream(LogLikelihoodRatio(lambda outputs: returned))
    with pytest.raises(ValueError, match=r"score \(log-likelihood-ratio\)"):
        stream.feed(np.zeros((16, 1)), np.zeros(16, np.int64))


def held_out_gap(score, outputs, labels):
    """The gap on the second half of a score fitted to the first."""
    half, outputs = len(labels) // 2, score.view(outputs)
    return gap(score.fit(outputs[:half], labels[:half])(outputs[half:]), labels[half:])


def test_trees_see_an_interaction_that_no_sum_shows():
    rng, labels = labelled(4000)
    signs = rng.choice([-1.0, 1.0], 4000)
    outputs = np.column_stack(
        [signs * rng.exponential(size=4000), signs * (2 * labels - 1), rng.random(4000)]
    )
    assert held_out_gap(trees(), outputs, labels) > 2
    assert abs(held_out_gap(logistic(), outputs, labels)) < 0.3
    assert abs(held_out_gap(trees(), outputs, rng.permutation(labels))) < 0.3


def test_a_logistic_score_adds_up_what_many_coordinates_hint_at():
    rng, labels = labelled(8000)
    outputs = rng.standard_normal((8000, 60)) + 0.2 * labels[:, None]
    outputs[:, 0] *= 1e300
    assert held_out_gap(logistic(), outputs, labels) > 1


def test_a_token_is_a_whole_output():
    rng, labels = labelled(2000)
    first = rng.integers(0, 2, 2000)
    outputs = np.column_stack([first, first ^ labels])
    assert held_out_gap(tokens(), outputs, labels) > 10
    assert abs(held_out_gap(Atoms(), outputs, labels)) < 0.3


def test_bits_tell_where_floating_point_noise_was_added():
    rng, labels = labelled(20_000)
    noisy = labels + rng.laplace(0, 10, 20_000)
    bits = float_bits().view(noisy[:, None])
    scores = float_bits().fit(bits[:10_000], labels[:10_000])(bits[10_000:])
    fine = scores < -3  # only data 0 leaves bits so fine
    assert fine.sum() > 100
    assert not labels[10_000:][fine].any()
    lattice = np.rint(noisy * 1024) / 1024  # the noise of a lattice has the same bits wherever it is added
    assert abs(held_out_gap(float_bits(), lattice[:, None], labels)) < 0.1
