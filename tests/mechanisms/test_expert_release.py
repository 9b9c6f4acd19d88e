"""The release on logged data: counts by hand, its law by quadrature, tight against printed, bad input."""

import math

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.rl.expert.release import ACCOUNTANT, ExpertReleaseParameters
from dpproof.mechanisms.rl.expert.policies import CallableExperts, TabularExperts, prefix_counts
from dpproof.mechanisms.rl.expert.release import DataRelease, stable_lengths

SEED = 1719


def parameters(**changes):
    given = {
        "trajectories": 4,
        "length": 6,
        "least_probability": 0.1,
        "experts": 30,
        "per_expert": 2,
        "scale": 0.5,
    }
    return ExpertReleaseParameters(**{**given, **changes})


def logged(experts=30, each=2, steps=6, actions=None):
    table = np.zeros((experts * each, steps), dtype=np.int64)
    batch = Episodes.rectangular(table, table if actions is None else actions, np.zeros(table.shape))
    owner = np.repeat(np.arange(experts), each)
    return Episodes(batch.states, batch.actions, batch.rewards, batch.lengths, owner)


def agreeing(experts=30, least=0.1):
    return TabularExperts(np.tile([[[1 - least, least]]], (experts, 1, 1)))


def test_counts_are_sums_of_products():
    rng = np.random.default_rng(SEED)
    table = rng.dirichlet(np.ones(3), size=(7, 4))
    states, actions = rng.integers(0, 4, 5), rng.integers(0, 3, 5)
    plain = [
        sum(math.prod(table[i, s, a] for s, a in zip(states[:k], actions[:k], strict=True)) for i in range(7))
        for k in range(1, 6)
    ]
    calls = CallableExperts([lambda s, i=i: table[i, s] for i in range(7)], 3)
    for experts in (TabularExperts(table), calls):
        np.testing.assert_allclose(prefix_counts(experts, states, actions), plain, rtol=1e-12)


def test_the_law_of_the_stable_length():
    """Chances of each length by quadrature over the threshold's noise; 200 000 draws, alpha 1e-6."""
    chosen, counts, n = parameters(scale=2.0, round_delta=1e-2), np.array([90.0, 60.0, 45.0, 44.0]), 200_000
    design = chosen.design
    counts += design.cutoff - 60
    noise = np.linspace(-50, 50, 100_001)
    passed = np.exp(-np.abs(noise)) / 2 * (noise[1] - noise[0])
    expected = []
    for count in counts:
        gap = (design.cutoff + design.threshold_scale * noise - count) / design.count_scale
        top = np.where(gap > 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
        expected.append((passed * (1 - top)).sum())
        passed = passed * top
    expected.append(passed.sum())
    found = np.bincount(stable_lengths(design, counts, n, np.random.default_rng(SEED)), minlength=5) / n
    band = math.sqrt(math.log(2 * 5 / 1e-6) / (2 * n))
    assert np.abs(found - expected).max() < band
    wrong = np.bincount(stable_lengths(design, counts + 2, n, np.random.default_rng(SEED)), minlength=5) / n
    assert np.abs(wrong - expected).max() > band


@pytest.mark.parametrize("draws", ["walk", "fresh"])
def test_what_everybody_does_is_released_and_nothing_else(draws):
    everybody = DataRelease(parameters(draws=draws, experts=100, scale=0.5))
    rng = np.random.default_rng(SEED)
    found = everybody.release(logged(120), agreeing(120, 0.1), rng)
    assert (found.lengths > 0).all()
    assert found.mask(120 * 2 * 6).sum() == found.lengths.sum() == len(found.steps)
    assert len(set(found.drawn.tolist())) == 4
    assert found.prefixes(logged(120)).lengths.tolist() == found.lengths.tolist()
    rare = np.ones((240, 6), dtype=np.int64)
    nothing = everybody.release(logged(120, actions=rare), agreeing(120, 0.1), rng)
    assert nothing.lengths.tolist() == [0] * 4
    assert nothing.prefixes(logged(120)) is None
    assert not nothing.mask(1440).any()


def test_an_expert_drawn_too_often_releases_nothing_more():
    seeds = (np.random.default_rng(seed) for seed in range(30))
    drawn = [
        DataRelease(parameters(draws="fresh", experts=2, per_expert=1, trajectories=2))
        .release(logged(2, 1), agreeing(2), rng)
        .drawn
        for rng in seeds
    ]
    assert any(-1 in chosen.tolist() for chosen in drawn)


def test_equal_seeds_release_alike():
    runs = [
        DataRelease(parameters()).release(logged(), agreeing(), np.random.default_rng(5)) for _ in range(2)
    ]
    assert runs[0].drawn.tolist() == runs[1].drawn.tolist()
    assert runs[0].lengths.tolist() == runs[1].lengths.tolist()


@pytest.mark.slow
def test_the_least_noise_releases_more():
    """3 000 experts who agree but for 2%, T = 25, L = 200, (7.5, 3e-4): printed noise, and the least."""
    rng = np.random.default_rng(SEED)
    sizes = {"trajectories": 25, "length": 200, "least_probability": 0.02, "experts": 2999, "per_expert": 4}
    printed = ExpertReleaseParameters(**sizes, printed_epsilon=7.5, printed_delta=3e-4)
    tight = ACCOUNTANT.least_noise(
        ExpertReleaseParameters(**sizes, scale=10.0, draws="fresh"), Adjacency.EXPERT, "7.5", "3e-4"
    )[0]
    actions = (rng.random((12_000, 200)) < 0.02).astype(np.int64)
    data = logged(3000, 4, 200, actions)
    released = [
        DataRelease(p).release(data, agreeing(3000, 0.02), rng).lengths.sum() for p in (printed, tight)
    ]
    assert released[1] > 1.2 * released[0] > 0


@pytest.mark.parametrize(
    ("change", "data", "experts", "words"),
    [
        ({"experts": 31}, logged(), agreeing(), "experts (30) must be at least"),
        ({}, logged(29), agreeing(), "expert 29 must have at least one trajectory"),
        ({"per_expert": 3}, logged(), agreeing(), "must have at least 3 trajectories, as per_expert says"),
        ({"length": 5}, logged(), agreeing(), "the longest trajectory (6 steps) must have at most 5 steps"),
        ({"least_probability": 0.2}, logged(), agreeing(), "chance of action 1 (0.1) must be at least 0.2"),
        ({"actions": 3}, logged(), agreeing(), "actions (2) must be 3, as in the parameters"),
        ({}, logged(31), agreeing(), "user (30) must be one of 0, ..., 29"),
    ],
)
def test_bad_input_is_refused_by_name(change, data, experts, words):
    with pytest.raises(ValueError, match=r".") as refused:
        DataRelease(parameters(**change)).release(data, experts, np.random.default_rng(0))
    assert words in str(refused.value)


def test_continuous_actions_and_bad_policies_are_refused():
    with pytest.raises(ValueError, match="actions"):
        Episodes.rectangular([[0]], [[0.5]], [[0.0]])
    with pytest.raises(ValueError, match="expert 1: chances"):
        TabularExperts(np.array([[[0.5, 0.5]], [[0.7, 0.7]]]))
    with pytest.raises(ValueError, match="policies"):
        CallableExperts([], 2)
    with pytest.raises(ValueError, match="states"):
        DataRelease(parameters()).release(logged(), agreeing(), np.random.default_rng(0), np.zeros((3, 2)))
    uneven = logged()
    owner = uneven.user.copy()
    owner[2] = 0
    uneven = Episodes(uneven.states, uneven.actions, uneven.rewards, uneven.lengths, owner)
    with pytest.raises(ValueError, match="the same number of trajectories"):
        DataRelease(parameters(per_expert=1)).release(uneven, agreeing(), np.random.default_rng(0))
