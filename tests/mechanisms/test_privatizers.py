"""Privatizers: shapes and laws of their noise, levels kept, bad users refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.error import from_below, honaker_union_bound, union_bound
from dpproof.accountant.counting.noise import LaplaceNoise
from dpproof.accountant.rl.private_ucb.central_counts import account as central_guarantee
from dpproof.accountant.rl.private_ucb.levels import central_levels, local_levels
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.mechanisms.counting.streaming import SecureNoise
from dpproof.mechanisms.rl.private_ucb.private_counts import (
    PrivateCounts,
    SimulatedNoise,
    local_report,
    user_counts,
)
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from tests.rows import rows, tiered

SIZES = {"states": 3, "actions": 2, "horizon": 4, "episodes": 70}
KINDS = [
    CentralPrivatizer(CentralCountsParameters(**SIZES, **words))
    for words in (
        {"printed_epsilon": 1.0},
        {"printed_epsilon": 1.0, "pooled": True, "visits": "summed", "cost_factor": 0.5},
        {"scale": 5.0, "noise": "gaussian", "counter": "honaker"},
        {"scale": 5.0, "noise": "gaussian", "counter": "square-root", "visits": "summed"},
        {"scale": 5.0, "noise": "gaussian", "counter": "square-root", "bands": 4, "pooled": True},
    )
] + [
    LocalPrivatizer(LocalCountsParameters(**SIZES, **words))
    for words in ({"printed_epsilon": 1.0}, {"scale": 2.0, "noise": "gaussian", "visits": "summed"})
]


def paths(privatizer, seed=0, block=16):
    """The noise of all episodes: visits, costs, transitions."""
    found, first = [], 0
    for noise in privatizer.noise(np.random.default_rng(seed), block):
        assert noise.first == first
        first += len(noise.costs)
        found.append([array.copy() for array in noise[1:]])
    assert first == privatizer.parameters.episodes
    return [np.concatenate(arrays_) for arrays_ in zip(*found, strict=True)]


@pytest.mark.parametrize("privatizer", KINDS, ids=str)
def test_noise_has_the_shape_of_the_tables_and_begins_at_nothing(privatizer):
    p = privatizer.parameters
    visits, costs, transitions = paths(privatizer)
    cells = (p.episodes, p.tables, p.states, p.actions)
    assert (visits.shape, costs.shape, transitions.shape) == (cells, cells, (*cells, p.states))
    assert not any(array[0].any() for array in (visits, costs, transitions))
    assert all(array[1:].all() for array in (visits, costs, transitions))
    assert all(array.dtype == np.float32 for array in (visits, costs, transitions))
    agree = np.allclose(transitions.sum(axis=-1), visits, atol=1e-3)
    assert agree == (p.visits == "summed")


@pytest.mark.parametrize("privatizer", KINDS, ids=str)
def test_noise_is_a_function_of_the_seed(privatizer):
    first, again, other = (paths(privatizer, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    assert not np.array_equal(first[1], other[1])


@pytest.mark.parametrize("privatizer", tiered(KINDS, fast=1), ids=str)
def test_levels_hold_together_and_are_not_much_larger_than_needed(privatizer):
    """delta 0.2, 300 runs: failures above 0.33 have chance below 1e-7; half the levels fail nearly always."""
    levels = privatizer.levels(0.2)

    def fails(seed, factor):
        wide = [abs(array).max() for array in paths(privatizer, seed)]
        limits = (levels.visits, levels.costs, levels.transitions)
        return any(w > factor * limit for w, limit in zip(wide, limits, strict=True))

    assert sum(fails(seed, 1) for seed in range(300)) < 100
    assert sum(fails(seed, 0.5) for seed in range(50)) > 25
    assert max(levels.visits, levels.costs) == levels.E1
    assert levels.transitions == levels.E2


def test_levels_lie_below_the_union_bound_and_their_ends_are_near():
    parameters = CentralCountsParameters(6, 2, 20, 20000, printed_epsilon=1.0)
    found = central_levels(parameters, "0.1").costs
    counters = LaplaceNoise(parameters.used_scale())
    assert found.relative_width < 0.05
    assert found.upper <= union_bound(19999, counters, "1/7200").upper


@pytest.mark.slow
def test_local_levels_lie_between_one_release_and_twice_its_chance():
    """Beyond 100,000 terms Chernoff's bound serves: a little larger than the tail where both are known."""
    small, large = (LocalCountsParameters(1, 1, 1, episodes) for episodes in (100_001, 100_002))
    known, bounded = (local_levels(p, "0.1").costs for p in (small, large))
    assert known.lower < known.upper < bounded.upper < 1.4 * known.upper
    assert bounded.lower == 0


@pytest.mark.parametrize("leaves", [1, 2, 7, 100])
def test_the_union_of_averaged_subtrees_encloses_the_plain_sum(leaves):
    found = honaker_union_bound(leaves, 2, "0.01")

    def union(x):
        return sum(math.erfc(x / (2 * math.sqrt(2 * float(from_below(t))))) for t in range(1, leaves + 1))

    assert union(found.lower) >= 0.01 * (1 - 1e-9)
    assert union(found.upper) <= 0.01 * (1 + 1e-9)
    assert found.relative_width < 0.02


@pytest.mark.parametrize(
    ("privatizer", "delta", "message"),
    [
        (KINDS[0], 0.0, r"delta \(0.0\)"),
        (KINDS[0], 1.0, r"delta \(1.0\)"),
        (KINDS[-1], 2.0, r"delta \(2.0\)"),
        (CentralPrivatizer(CentralCountsParameters(2, 2, 2, 9, counter="honaker")), 0.1, "honaker"),
        (LocalPrivatizer(LocalCountsParameters(2, 2, 2, 1)), 0.1, r"episodes \(1\)"),
    ],
)
def test_levels_without_a_meaning_are_refused(privatizer, delta, message):
    with pytest.raises(ValueError, match=message):
        privatizer.levels(delta)


def test_the_printed_levels_are_the_paper_s():
    found = CentralPrivatizer(CentralCountsParameters(6, 2, 20, 20000, printed_epsilon=1.0)).printed_levels(
        0.1
    )
    cells = math.log(6 * 6 * 2 * 400_000 / 0.1)
    assert pytest.approx(60 * math.sqrt(8 * math.log(20000) ** 3 * cells)) == found.E1
    local = LocalPrivatizer(LocalCountsParameters(6, 2, 20, 20000, printed_epsilon=2.0)).printed_levels(0.1)
    assert pytest.approx(30 * math.sqrt(8 * 20000 * (cells + math.log(6)))) == local.E2


@pytest.mark.parametrize("delta", [0.0, 1.5])
def test_printed_levels_need_a_probability(delta):
    with pytest.raises(ValueError, match=rf"delta \({delta}\)"):
        KINDS[0].printed_levels(delta)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 0.1), "leaves"),
        ((4, 0, 0.1), r"sigma \(0\)"),
        ((4, 1, 0), r"beta \(0\)"),
        ((4, 1, 2), r"beta \(2\)"),
    ],
)
def test_a_union_without_a_meaning_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        honaker_union_bound(*arguments)


@pytest.mark.parametrize("kind", [CentralPrivatizer, LocalPrivatizer])
def test_the_noise_that_a_promise_needs_keeps_it(kind):
    sizes = {CentralPrivatizer: CentralCountsParameters, LocalPrivatizer: LocalCountsParameters}[kind]
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
        made = kind.meeting(sizes(**SIZES), adjacency, 1, 0)
        assert made.account(adjacency).guarantee.epsilon(0).upper <= 1
        printed = kind(sizes(**SIZES, printed_epsilon=1.0))
        kept = printed.account(adjacency).guarantee.epsilon(0).upper <= 1
        assert kept == (kind is LocalPrivatizer and adjacency is Adjacency.ADD_REMOVE)


class Silent:
    """Noise of 0: what is released is the truth."""

    def __init__(self, integer=False):
        self.integer = integer

    def __call__(self, _law, _scale):
        return np.zeros


USER = {"states": [0, 1, 2, 0, 1], "actions": [0, 1, 0, 1], "costs": [0.5, 1, 0, 1]}


@pytest.mark.parametrize("words", [{}, {"visits": "summed"}, {"pooled": True}])
def test_a_stream_without_noise_releases_the_counts_of_the_users_before(words):
    parameters = CentralCountsParameters(**SIZES, scale=1.0, **words)
    counts = PrivateCounts(parameters, Silent())
    one = user_counts(parameters, **USER)
    for episode in range(3):
        for found, own in zip(counts.release(episode), one, strict=True):
            assert np.array_equal(found, episode * own)
        counts.update(episode, **USER)


@pytest.mark.slow
def test_a_stream_with_noise_has_the_law_of_the_paths():
    """Variance of one release before episode 7 (three nodes), 2,000 runs: five standard errors."""
    parameters = CentralCountsParameters(2, 1, 1, 8, scale=3.0, visits="summed")
    found = []
    for seed in range(2000):
        counts = PrivateCounts(parameters, SimulatedNoise(np.random.default_rng(seed)))
        for episode in range(7):
            counts.update(episode, states=[0, 1], actions=[0], costs=[1.0])
        found.append(counts.release(7).costs[0, 0, 0] - 7)
    variance = np.var(found)
    assert abs(variance / (3 * 18) - 1) < 5 * math.sqrt(3.0 / 2000)
    assert abs(variance / (2 * 18) - 1) > 5 * math.sqrt(3.0 / 2000)


def test_integer_noise_gives_whole_numbers_of_grains():
    pytest.importorskip("opendp")
    parameters = CentralCountsParameters(**SIZES, scale=4.0, noise="discrete-laplace", grains=4)
    counts = PrivateCounts(parameters, SecureNoise())
    counts.update(0, **USER)
    found = counts.release(1)
    assert np.array_equal(4 * found.costs, np.rint(4 * found.costs))
    assert np.array_equal(found.transitions, np.rint(found.transitions))
    assert counts.account(Adjacency.REPLACE) == central_guarantee(parameters, Adjacency.REPLACE)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_only_noise_of_the_accounted_kind_is_drawn(law):
    """At delta above 0 the guarantee of a continuous law is not that of integer noise."""
    plain = {"scale": 4.0, "noise": law}
    whole = {"scale": 4.0, "noise": f"discrete-{law}", "grains": 4}
    rules = (
        r"must be discrete, because integer noise",
        r"must be laplace or gaussian, because this function draws noise that is a real number, not an integer",
    )
    for words, integer, rule in ((plain, True, rules[0]), (whole, False, rules[1])):
        with pytest.raises(ValueError, match=rule):
            PrivateCounts(CentralCountsParameters(**SIZES, **words), Silent(integer))
        with pytest.raises(ValueError, match=rule):
            local_report(LocalCountsParameters(**SIZES, **words), Silent(integer), **USER)
    for privatizer, made in (
        (CentralPrivatizer, CentralCountsParameters),
        (LocalPrivatizer, LocalCountsParameters),
    ):
        with pytest.raises(ValueError, match=r"must be laplace or gaussian for simulated noise"):
            privatizer(made(**SIZES, **whole))


class Asked(Silent):
    """Noise of 0 that keeps what it was asked for."""

    def __init__(self):
        super().__init__(integer=True)
        self.scales = []

    def __call__(self, law, scale):
        self.scales.append(scale)
        return np.zeros


@rows("scale", [0.1, 1 / 3, 176.82482476438568, 1e6 / 7])
@rows("factor", [1.0, 1.3, 0.7])
@rows("grains", [1, 7, 1000])
def test_what_is_drawn_has_no_less_noise_than_what_is_accounted(scale, factor, grains):
    asked = Asked()
    words = {"scale": scale, "noise": "discrete-laplace", "grains": grains, "cost_factor": factor}
    parameters = CentralCountsParameters(**SIZES, **words)
    PrivateCounts(parameters, asked)
    for drawn, name in zip(asked.scales, parameters.families, strict=True):
        exactly = Fraction(scale) * (Fraction(factor) * grains if name == "costs" else 1)
        assert exactly <= Fraction(drawn) <= exactly * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda c: c.update(0, **USER), r"episode \(0\) must be 1. The user of episode 0 is already counted"),
        (lambda c: c.update(2, **USER), r"episode \(2\) must be 1. Give the users in order"),
        (lambda c: c.update(1, **{**USER, "states": [0, 1, 3, 0, 1]}), r"states at \(2,\) \(3\)"),
        (lambda c: c.update(1, **{**USER, "actions": [0, 1, 0, -1]}), r"actions at \(3,\) \(-1\)"),
        (lambda c: c.update(1, **{**USER, "costs": [0, 1, 0, 1.5]}), r"costs at \(3,\) \(1.5\)"),
        (lambda c: c.update(1, **{**USER, "costs": [0, 1, 0, math.nan]}), "costs"),
        (lambda c: c.update(1, **{**USER, "states": [0, 1]}), r"shape of states \(2,\) must be \(5,\)"),
        (lambda c: c.release(2), r"time \(2\) must be 1, the number"),
        (lambda c: c.release(0), r"time \(0\) must be 1, the number"),
    ],
)
def test_a_bad_user_or_release_leaves_the_counts_as_they_are(act, message):
    counts = PrivateCounts(
        CentralCountsParameters(**SIZES, scale=1.0), SimulatedNoise(np.random.default_rng(0))
    )
    counts.update(0, **USER)
    before = counts.release(1)
    with pytest.raises(ValueError, match=message):
        act(counts)
    assert counts.episode == 1
    assert all(np.array_equal(x, y) for x, y in zip(before, counts.release(1), strict=True))


def test_the_last_user_is_not_counted():
    counts = PrivateCounts(CentralCountsParameters(1, 1, 1, 2, scale=1.0), Silent())
    user = {"states": [0, 0], "actions": [0], "costs": [1.0]}
    counts.update(0, **user)
    with pytest.raises(ValueError, match=r"episode \(1\) must be below 1, because no release counts"):
        counts.update(1, **user)


def test_another_counter_than_the_tree_is_no_stream():
    parameters = CentralCountsParameters(**SIZES, scale=1.0, noise="gaussian", counter="square-root")
    with pytest.raises(ValueError, match=r"counter \('square-root'\) must be tree"):
        PrivateCounts(parameters, Silent())


def test_memory_is_two_numbers_a_level_and_counter_at_a_billion_users():
    parameters = CentralCountsParameters(6, 2, 20, 10**9, printed_epsilon=1.0)
    counts = PrivateCounts(parameters, Silent())
    assert counts.numbers_held == 2 * parameters.counters * 30
    assert parameters.counters == 1920


def test_a_local_report_is_one_user_s_counts_with_noise():
    parameters = LocalCountsParameters(**SIZES, scale=1.0)
    true = user_counts(parameters, **USER)
    found = local_report(parameters, Silent(), **USER)
    assert all(np.array_equal(x, y) for x, y in zip(found, true, strict=True))
    noisy = local_report(parameters, SimulatedNoise(np.random.default_rng(0)), **USER)
    assert all((x != y).all() for x, y in zip(noisy, true, strict=True))
    pytest.importorskip("opendp")
    grained = LocalCountsParameters(**SIZES, scale=1.0, noise="discrete-laplace", grains=2)
    whole = local_report(grained, SecureNoise(), **USER)
    assert np.array_equal(2 * whole.costs, np.rint(2 * whole.costs))
