"""RLSVI's tables as they are released.

References: the law of the integers, enumerated from the conditional means and variances that the code asks
its sampler for, with normal tails by Arb; its delta against the account. The floating-point simulation, whose
bits give the data away, for the attacks. Two-sample Kolmogorov-Smirnov at a stated alpha for what is drawn.
"""

import itertools
import json
import pickle
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account, beta_above
from dpproof.audits.corpus.rlsvi import QuarterVariance
from dpproof.mechanisms.randomness import SimulationError
from dpproof.mechanisms.rl.rlsvi import release as rlsvi_release
from dpproof.mechanisms.rl.rlsvi.release import RLSVIStream
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI, log_likelihood_ratio
from dpproof.mechanisms.rl.rlsvi.users import Users

ALPHA = 1e-6
REWARDS = Adjacency.REWARDS_ONLY


def users(parameters, rewards, next_states=None):
    """Users who pay `rewards` (K, H) whatever they do, and stay in state 0 unless told otherwise."""
    shape = (parameters.episodes, parameters.horizon, parameters.states, parameters.actions)
    paid = np.broadcast_to(np.asarray(rewards, float)[:, :, None, None], shape)
    return Users(np.zeros(shape, int) if next_states is None else next_states, paid)


def chance(value, mean, variance, exponent):
    """The mass of an integer: that round((f + sigma Z)/2^exponent) is it."""
    unit = Fraction(2) ** exponent
    ends = [(value + side) * unit - mean for side in (Fraction(-1, 2), Fraction(1, 2))]
    spread = (2 * flint.arb(variance.numerator) / variance.denominator).sqrt()
    low, high = (flint.arb(end.numerator) / end.denominator / spread for end in ends)
    return float((low.erfc() - high.erfc()) / 2)


class Script:
    """A sampler that returns given integers and keeps the laws it was asked for."""

    def __init__(self, integers):
        self.left, self.laws = list(integers), []

    def __call__(self, means, variances, exponent, *, source):
        self.laws += zip(means, variances, strict=True)
        found = self.left[: len(means)]
        del self.left[: len(means)]
        return found


def laws(monkeypatch, parameters, data, integers, exponent=0):
    """Means and variances of all draws, given that the integers were released, in the order of the draws."""
    script = Script(integers)
    monkeypatch.setattr(rlsvi_release, "rounded_gaussian", script)
    RLSVI(parameters).publish(data, exponent=exponent)
    return script.laws


def joint(monkeypatch, parameters, data, blocks, exponent, prefix=()):
    """The mass of every sequence of integers in the ranges; a block is what one call of the sampler draws.

    Each block's law is asked of the code anew after each sequence before it.
    """
    block, *rest = blocks
    padding = [0] * sum(map(len, blocks))
    asked = laws(monkeypatch, parameters, data, [*prefix, *padding], exponent)
    own = asked[len(prefix) : len(prefix) + len(block)]
    tables = [[chance(v, *law, exponent) for v in values] for values, law in zip(block, own, strict=True)]
    masses = [np.prod(each) for each in itertools.product(*tables)]
    if not rest:
        return np.array(masses)
    paths = itertools.product(*block)
    return np.concatenate(
        [
            mass * joint(monkeypatch, parameters, data, rest, exponent, (*prefix, *path))
            for mass, path in zip(masses, paths, strict=True)
        ]
    )


def delta(first, second, epsilon):
    """The delta of two laws, of which `1 - sum` is not enumerated and counted in full."""
    one, two = first - np.exp(epsilon) * second, second - np.exp(epsilon) * first
    rest = 1 - min(first.sum(), second.sum())
    return max(one[one > 0].sum(), two[two > 0].sum()) + rest


def test_the_enumerated_law_of_two_actions_keeps_the_account(monkeypatch):
    """Every table of two episodes with two actions, on a coarse grid: the action is chosen by the first."""
    parameters = RLSVIParameters(states=1, actions=2, horizon=1, episodes=2)
    blocks = [[range(-5, 6)] * 2, [range(-6, 7)] * 2]
    pair = [joint(monkeypatch, parameters, users(parameters, [[r], [0]]), blocks, 0) for r in (0.0, 1.0)]
    assert min(each.sum() for each in pair) > 1 - 1e-4
    for epsilon in (0.0, 0.25, 0.5, 1.0):
        bound = account(parameters, REWARDS).guarantee.delta(epsilon)
        assert 0.5 * bound.lower < delta(*pair, epsilon) <= bound.upper + 1e-4


def test_the_enumerated_law_of_two_steps_keeps_the_account_and_nearly_attains_it(monkeypatch):
    """Two steps, so that the second mean is a function of the first released integer; grid 1/2."""
    parameters = RLSVIParameters(states=1, actions=1, horizon=2, episodes=2)
    started, pair = (0, 0), []  # with one action the first tables change nothing
    for reward in (0.0, 1.0):
        data = users(parameters, [[reward, reward], [0, 0]])
        blocks = [[range(-24, 29)], [range(-36, 41)]]
        pair.append(joint(monkeypatch, parameters, data, blocks, -1, started))
    assert min(each.sum() for each in pair) > 1 - 1e-6
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        bound = account(parameters, REWARDS).guarantee.delta(epsilon)
        assert 0.95 * bound.lower < delta(*pair, epsilon) <= bound.upper + 1e-6


@pytest.mark.slow
def test_the_enumerated_law_of_changed_states_keeps_its_account(monkeypatch):
    """One user goes to the other state: counts and variances change, as the account of `replace` allows."""
    parameters = RLSVIParameters(states=2, actions=1, horizon=2, episodes=2, clip=8.0)
    pair = []
    for after in (0, 1):
        nexts = np.zeros((2, 2, 2, 1), int)
        nexts[0] = after
        data = users(parameters, [[after, after], [0, 0]], nexts)
        asked = laws(monkeypatch, parameters, data, [0] * 8, 2)[4:]
        pair.append(joint(monkeypatch, parameters, data, [[range(-6, 7)] * 2] * 2, 2, (0,) * 4))
        assert asked[0][1] != asked[1][1]  # the visited cell has less noise
    assert min(each.sum() for each in pair) > 1 - 1e-4
    profile = account(parameters, Adjacency.REPLACE).guarantee
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        assert 1e-6 < delta(*pair, epsilon) <= profile.delta(epsilon).upper + 1e-4


def test_less_noise_by_five_percent_would_be_seen(monkeypatch):
    parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
    less = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2, beta_scale=0.95)
    data = [users(parameters, [[reward], [0]]) for reward in (0.0, 1.0)]
    for planted, seen in ((parameters, False), (less, True)):
        given = [laws(monkeypatch, planted, each, [0, 0], -5)[1] for each in data]
        pair = [np.array([chance(v, *law, -5) for v in range(-200, 240)]) for law in given]
        bound = account(parameters, REWARDS).guarantee.delta(0.5).upper
        assert (delta(*pair, 0.5) > bound + 1e-9) == seen


def test_means_are_exact_and_the_order_of_users_is_not_told(monkeypatch):
    """In doubles the order of a sum changes its last bits; here means are rationals."""
    parameters = RLSVIParameters(states=2, actions=1, horizon=2, episodes=5)
    rewards = np.array([[0.1, 0.3], [0.2, 0.7], [1 / 3, 0.9], [0.6, 1e-9], [0, 0]])
    path = list(range(-10, 10))
    found = [
        laws(monkeypatch, parameters, users(parameters, rewards[[*order, 4]]), path, -20)[-4:]
        for order in itertools.permutations(range(4))
    ]
    assert all(each == found[0] for each in found)
    after = path[-4]  # V in state 0 at the last step is the integer released there
    grains = sum(round(Fraction(r) * 2**30) for r in rewards[:4, 0])
    assert found[0][2][0] == Fraction(grains, 4 * 2**30) + Fraction(after, 2**20)
    assert found[0][2][1] == beta_above(parameters, 5) / 5


def test_variances_do_not_change_with_rewards_given_the_tables_released(monkeypatch):
    """Not that they are public: they follow the visit counts, which rewards leave as they are."""
    parameters, rng = RLSVIParameters(states=3, actions=2, horizon=3, episodes=4), np.random.default_rng(5)
    shape = (4, 3, 3, 2)
    data = Users(rng.integers(0, 3, shape), rng.random(shape))
    path = rng.integers(-50, 50, 4 * 18).tolist()
    one, other = (
        laws(monkeypatch, parameters, each, path)
        for each in (data, data.with_rewards(1, rng.random(shape[1:])))
    )
    assert [law[1] for law in one] == [law[1] for law in other]
    moved = [abs(a[0] - b[0]) for a, b in zip(one, other, strict=True)]
    assert 0 < max(moved) <= 1
    assert all(np.count_nonzero(moved[at : at + 6]) <= 1 for at in range(0, len(moved), 6))


def finest(tables):
    """Whether an output has a bit below 2^-53."""
    scaled = np.ldexp(tables, 53)
    return scaled != np.rint(scaled)


def test_low_bits_give_the_simulation_away_and_not_the_release():
    """A mean of 0 keeps all bits of small noise, a mean of 1 none below 2^-53: delta > .1 in doubles."""
    parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
    rlsvi, data = RLSVI(parameters), [users(parameters, [[reward], [0]]) for reward in (0.0, 1.0)]
    rng = np.random.default_rng(3)
    shares = [finest(rlsvi.release(each, rng, 4000)[:, 1]).mean() for each in data]
    bound = account(parameters, REWARDS).guarantee.delta(3.0).upper
    assert shares[0] - np.exp(3.0) * shares[1] > bound + 0.05
    for each in data:
        tables = np.array([rlsvi.publish(each).tables for _ in range(300)])
        assert not finest(tables).any()
        assert np.array_equal(np.ldexp(tables, 20), np.rint(np.ldexp(tables, 20)))


@pytest.mark.parametrize("scale", [1e-300, 5e-324, 1e-12, 1e200])
def test_noise_far_below_or_above_the_grid_is_still_the_account_s(scale, monkeypatch):
    """Denormal and huge noise: the variance asked for is never below the accounted one."""
    parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=3, beta_scale=scale)
    data = users(parameters, [[1.0], [0.5], [0]])
    with flint.ctx.workprec(200):
        for k, (_, variance) in enumerate(laws(monkeypatch, parameters, data, [0, 0, 0], -20), 1):
            beta = flint.arb(scale) * flint.arb(2 * k).log() / 2
            assert bool(flint.arb(variance.numerator) / variance.denominator * k > beta)
    monkeypatch.undo()
    assert np.isfinite(RLSVI(parameters).publish(data).tables).all()


def test_ties_and_clipping_are_functions_of_the_released_integers(monkeypatch):
    """The policy takes the first best integer; V is clipped on the grid, never above the clip."""
    parameters = RLSVIParameters(states=2, actions=2, horizon=2, episodes=2, clip=0.3)
    monkeypatch.setattr(rlsvi_release, "rounded_gaussian", Script([7, 7, -3, -9, 1, 2, 2, 1] * 2))
    stream = RLSVIStream(parameters, exponent=-2)
    assert stream.policy().tolist() == [[1, 0], [0, 0]]
    stream.see([0, 1, 1], [1, 0], [0.0, 0.0])
    stream.table()
    monkeypatch.undo()
    data = users(parameters, [[0, 0]] * 2)
    found = laws(monkeypatch, parameters, data, [7, 7, -3, -9, 1, 2, 2, 1] * 2, -2)
    assert found[8 + 4 + 1][0] == Fraction(1, 4)  # (h, s, a) = (0, 0, 1): V of state 0, clipped to 1/4 <= .3


def test_the_release_has_the_law_of_the_simulation():
    """The exact log likelihood ratios of both by Kolmogorov-Smirnov; a quarter of the variance is seen."""
    parameters = RLSVIParameters(states=2, actions=2, horizon=2, episodes=3)
    rng = np.random.default_rng(2)
    shape = (3, 2, 2, 2)
    data = Users(rng.integers(0, 2, shape), rng.random(shape))
    other = data.with_rewards(0, 1 - np.round(data.rewards[0]))
    rlsvi = RLSVI(parameters)
    exactly = np.array([rlsvi.publish(data).tables for _ in range(1500)])
    half = QuarterVariance(parameters).release(data, rng, 1500)
    scores = [
        log_likelihood_ratio(parameters, tables, data, other)
        for tables in (exactly, rlsvi.release(data, rng, 1500), half)
    ]
    assert stats.ks_2samp(scores[0], scores[1]).pvalue > ALPHA
    assert stats.ks_2samp(scores[0], scores[2]).pvalue < ALPHA


def test_a_release_draws_from_entropy_and_says_that_its_bits_are_covered():
    parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
    data = users(parameters, [[1.0], [0]])
    one, other = RLSVI(parameters).publish(data), RLSVI(parameters).publish(data)
    assert one.integers != other.integers
    found = one.account(REWARDS)
    assert found.covers_released_bits
    assert found.guarantee == account(parameters, REWARDS).guarantee
    assert "every released bit covered" in repr(one)
    assert one.as_json()["covers_released_bits"]


def test_a_seed_makes_a_simulation_of_a_release():
    parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
    data = users(parameters, [[1.0], [0]])
    seeds = 123456789, np.random.default_rng(123456789)
    one, other = (RLSVI(parameters).publish(data, seed) for seed in seeds)
    assert one.integers == other.integers
    for each in (one, other):
        assert "no guarantee holds" in repr(each)
        assert not each.as_json()["covers_released_bits"]
        with pytest.raises(SimulationError, match="no guarantee"):
            each.account(REWARDS)
    raw = pickle.dumps(one) + json.dumps(one.as_json()).encode()
    assert b"123456789" not in raw
    assert (123456789).to_bytes(4, "little") not in raw
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(RLSVIStream(parameters))


def test_a_stream_refuses_what_is_out_of_turn():
    stream = RLSVIStream(RLSVIParameters(states=1, actions=1, horizon=1, episodes=1))
    with pytest.raises(ValueError, match="has no table yet"):
        stream.see([0, 0], [0], [0.0])
    table = stream.table()
    assert np.array_equal(stream.table(), table)
    with pytest.raises(ValueError, match="the shape of rewards"):
        stream.see([0, 0], [0], [0.0, 0.0])
    with pytest.raises(ValueError, match="rewards"):
        stream.see([0, 0], [0], [1.5])
    stream.see([0, 0], [0], [0.0])
    with pytest.raises(ValueError, match=r"episodes \(1\) are over"):
        stream.table()
    with pytest.raises(ValueError, match=r"exponent \(0.5\) must be an integer"):
        RLSVIStream(stream.parameters, exponent=0.5)
