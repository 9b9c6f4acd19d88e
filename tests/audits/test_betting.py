"""The bets: their level on a null that lies exactly on its claim, and what they catch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.accountant.rl.rlsvi.rlsvi import account
from dpproof.audits.corpus.rlsvi import ON_CLAIM
from dpproof.audits.data.pairs import rlsvi_pair
from dpproof.audits.engine.betting.curves import CurvePoint, curve_points
from dpproof.audits.engine.betting.eprocess import LogWealth, _log_wealth_against, epsilon_lower, log_gains
from dpproof.audits.engine.betting.reference import gaussian_mu, reference_tails
from dpproof.audits.engine.betting.schedule import Pace
from dpproof.audits.engine.betting.stream import COARSE, FINE, PosteriorBets, log_factors
from dpproof.audits.engine.betting.trial import VERDICT, run_trial
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.engine.scores.tails import LEVELS, tally
from dpproof.audits.targets.rl.rlsvi.rlsvi import rlsvi_scores
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from tests.rows import tiered

ALPHA, REPETITIONS, ALARMS = 0.01, 1000, 21
HURDLE = -math.log(ALPHA)
"""Trials run at ALPHA / VERDICT, so this is where they alarm."""


def wealths(points, sampler, pair, scores, *, samples, seeds=range(REPETITIONS)):
    level = ALPHA / VERDICT
    return np.array([paced(points, sampler, pair, seed, samples, scores, level).log_wealth for seed in seeds])


def paced(points, sampler, pair, seed, samples=20_000, scores=None, alpha=ALPHA):
    """As an audit does it: how large a block is depends on the wealth before it."""
    pace = Pace()
    blocks = draw_blocks(sampler, pair, seed, samples, None, pace=pace)
    return run_trial(points, blocks, scores or [Identity()], alpha, pace=pace)


def test_alarms_allowed_are_the_binomial_quantile():
    assert binom.ppf(0.999, REPETITIONS, ALPHA) == ALARMS


@pytest.mark.slow
def test_level_on_a_pure_claim_that_is_exact(bits, laplace):
    found = wealths((CurvePoint(1.0, 0.0),), laplace(1.0), bits, [Identity()], samples=200)
    assert (found >= HURDLE).sum() <= ALARMS


@pytest.mark.slow
def test_level_on_a_gaussian_claim_that_is_exact():
    curve = account(ON_CLAIM, Adjacency.REWARDS_ONLY).notion
    points = curve_points(curve, 1e-5, curve.epsilon(1e-5).upper)
    pair = rlsvi_pair(ON_CLAIM)
    exact = rlsvi_scores(ON_CLAIM, pair)[:1]
    found = wealths(points, RLSVI(ON_CLAIM).sample, pair, exact, samples=300, seeds=range(150))
    assert (found >= HURDLE).sum() <= binom.ppf(0.999, 150, ALPHA)


@pytest.mark.slow
def test_level_with_learned_scores_on_a_gaussian_claim_that_is_exact():
    curve = account(ON_CLAIM, Adjacency.REWARDS_ONLY).notion
    points = curve_points(curve, 1e-5, curve.epsilon(1e-5).upper)
    pair = rlsvi_pair(ON_CLAIM)
    learned = rlsvi_scores(ON_CLAIM, pair)[1:]
    found = wealths(points, RLSVI(ON_CLAIM).sample, pair, learned, samples=300, seeds=range(50))
    assert (found >= HURDLE).sum() <= binom.ppf(0.999, 50, ALPHA)


@pytest.mark.slow
def test_level_on_randomised_response_where_every_tail_is_an_atom(bits):
    def respond(value, n, rng):
        return np.where(rng.random(n) < 1 / (1 + math.exp(-1.0)), value, 1 - value)

    found = wealths((CurvePoint(1.0, 0.0),), respond, bits, [Identity()], samples=300, seeds=range(150))
    assert (found >= HURDLE).sum() <= binom.ppf(0.999, 150, ALPHA)


@pytest.mark.parametrize(("true", "most"), tiered([(1.5, 600), (2.0, 180)], fast=1))
def test_too_little_laplace_noise_is_refuted_fast(bits, laplace, true, most):
    points, spent = (CurvePoint(1.0, 0.0),), []
    for seed in range(100):
        trial = paced(points, laplace(true), bits, seed)
        assert trial.refuted
        spent.append(trial.samples)
    assert np.mean(spent) <= most


@pytest.mark.slow
def test_half_the_gaussian_noise_is_refuted_fast_along_the_curve(bits, gauss):
    mu = gaussian_mu(1.0, 1e-5)
    points, spent = curve_points(GaussianDP(mu), 1e-5, 1.0), []
    for seed in range(100):
        trial = paced(points, gauss(2 * mu), bits, seed)
        assert trial.refuted
        spent.append(trial.samples)
    assert np.mean(spent) <= 1000


@pytest.mark.parametrize("reversed_", [False, True])
def test_a_score_without_direction_finds_it(bits, laplace, reversed_):
    def sampler(value, n, rng):
        drawn = laplace(3.0)(value, n, rng)
        return -drawn if reversed_ else drawn

    blocks = draw_blocks(sampler, bits, 1, 20_000, None)
    assert run_trial((CurvePoint(1.0, 0.0),), blocks, [Identity()], ALPHA).refuted


def test_a_difference_of_scale_alone_is_found(bits):
    blocks = draw_blocks(lambda v, n, rng: rng.laplace(0, 1 + 4 * v, n), bits, 1, 20_000, None)
    assert run_trial((CurvePoint(0.5, 0.0),), blocks, [Identity()], ALPHA).refuted


@pytest.mark.parametrize(("delta", "truth"), tiered([(0.0, 1.0), (1e-2, 1.0)], fast=1))
def test_epsilon_lower_keeps_its_level(bits, laplace, gauss, delta, truth):
    alpha, runs = 0.05, 100
    sampler = laplace(truth) if delta == 0 else gauss(gaussian_mu(truth, delta))
    lower = []
    for seed in range(runs):
        blocks = draw_blocks(sampler, bits, seed, 600, None)
        trial = run_trial((CurvePoint(truth, delta),), blocks, [Identity()], alpha, further=math.inf)
        lower.append(epsilon_lower(trial.counts, delta, alpha))
    assert (np.array(lower) > truth).sum() <= binom.ppf(0.999, runs, alpha)
    assert np.median(lower) > 0.15 * truth


outcomes = st.lists(st.integers(0, 10_000), min_size=9, max_size=9)


@settings(max_examples=50, deadline=None)
@given(outcomes, st.floats(0, 0.5), st.floats(0, 12), st.floats(0, 3))
def test_wealth_of_the_interval_falls_in_epsilon(numbers, delta, epsilon, step):
    counts = np.zeros((1, LEVELS.size, 3, 3), np.int64)
    counts[0, 2] = np.array(numbers).reshape(3, 3)
    before, after = map(_log_wealth_against(counts, delta, np.ones(1)), (epsilon, epsilon + step))
    assert after <= before or after == pytest.approx(before, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("point", [CurvePoint(0.0, 0.0), CurvePoint(1.0, 0.1), CurvePoint(30.0, 1e-9)])
def test_no_bet_gains_on_average_at_the_edge_of_its_claim(point):
    bets = LogWealth((point,))
    likely = min(1.0, math.exp(point.epsilon) * 1e-14 + point.delta) if point.epsilon > 20 else 0.5
    seldom = (likely - point.delta) / math.exp(point.epsilon)
    won, lost = likely / 2, seldom / 2
    start = bets.components(np.zeros((LEVELS.size, 3, 3), np.int64))
    mean = np.zeros_like(start)
    for outcome, chance in enumerate((won, lost, 1 - won - lost)):
        counts = np.zeros((LEVELS.size, 3, 3), np.int64)
        counts[..., outcome] = 1
        mean += chance * np.exp(bets.components(counts) - start)
    assert mean.max() <= 1 + 1e-12


def each_outcome():
    """Counts of one sample won, lost, in the shell of each level of the upper tail, and of one in no tail."""
    inside = np.zeros((2 * LEVELS.size + 1, 2, 2, LEVELS.size), np.int64)
    for shell in range(LEVELS.size):
        inside[shell, 0, 1, : shell + 1] = 1
        inside[LEVELS.size + shell, 0, 0, : shell + 1] = 1
    return tally(inside, np.zeros((2, 1), bool), np.zeros((2, 1), bool), np.ones(len(inside), np.int64))


def chances(epsilon, delta):
    lost, won = reference_tails(epsilon, delta)
    shells = [tails - np.append(tails[1:], 0) for tails in (won, lost)]
    return np.concatenate([*shells, [1 - won[0] - lost[0]]])


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (10.0, 0.0), (1.0, 1e-5), (3.0, 0.05)]
)
def test_no_portfolio_gains_on_average_at_the_edge_of_its_claim_and_each_gains_beyond(epsilon, delta):
    curve = PureDP(epsilon) if delta == 0 else GaussianDP(gaussian_mu(epsilon, delta) * (1 + 1e-9))
    points = curve_points(curve, delta, curve.epsilon(delta).upper)
    growth = tuple((math.exp(p.epsilon), p.delta) for p in points)
    gains = np.exp(np.tensordot(each_outcome(), log_gains(points, growth), ((1, 2, 3), (1, 2, 3))))
    assert (chances(epsilon, delta) @ gains).max() <= 1 + 1e-9
    assert (chances(6 * epsilon, delta) @ gains).min() > 1


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 1 - 1e-6), st.floats(0, 30), st.floats(0, 1))
def test_no_guess_of_the_posterior_gains_on_average_under_a_pure_claim(guess, epsilon, place):
    low, high = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-epsilon))
    posterior = low + place * (high - low)
    factors = np.exp(log_factors(np.array(guess), np.arange(2), epsilon))
    assert (1 - posterior) * factors[0] + posterior * factors[1] <= 1 + 1e-9


def test_a_guess_beyond_the_claim_gains_where_the_truth_is_beyond_it():
    factors = np.exp(log_factors(np.array(0.88), np.arange(2), 1.0))
    assert 0.12 * factors[0] + 0.88 * factors[1] > 1.05


@pytest.mark.parametrize(("true", "refuted"), [(2.0, True), (1.0, False)])
def test_a_parity_that_tails_cannot_see_is_found_by_the_posterior(bits, true, refuted):
    def parity(value, n, rng):
        return 2 * rng.integers(0, 8, n) + np.where(
            rng.random(n) < 1 / (1 + math.exp(-true)), value, 1 - value
        )

    trial = run_trial((CurvePoint(1.0, 0.0),), draw_blocks(parity, bits, 1, 3000, None), [Identity()], ALPHA)
    assert trial.refuted is refuted
    assert trial.bets(trial.counts).max() < HURDLE / 2


def test_no_evidence_gives_wealth_one_and_bound_zero():
    counts = np.zeros((2, LEVELS.size, 3, 3), np.int64)
    assert LogWealth((CurvePoint(1.0, 0.1),))(counts) == pytest.approx([0, 0])
    assert epsilon_lower(counts, 0.0, 0.05) == 0.0


def test_a_step_curve_and_a_pure_one_give_points_they_imply():
    assert curve_points(PureDP(1.0), 0.0, 1.0) == (CurvePoint(1.0, 0.0),)
    assert curve_points(ApproxDP(1.0, 1e-5), 1e-5, 1.0) == (CurvePoint(1.0, pytest.approx(1e-5, rel=1e-12)),)
    points = curve_points(GaussianDP(0.268), 1e-5, 1.0)
    assert len(points) == 5
    assert sorted(points, key=lambda p: -p.delta) == sorted(points)


def test_a_claim_that_promises_nothing_at_delta_zero_is_refused():
    with pytest.raises(ValueError, match=r"delta \(0.0\)"):
        curve_points(GaussianDP(1.0), 0.0, math.inf)


@pytest.mark.parametrize(("histograms", "goes_on"), [(COARSE, False), (FINE, True)])
def test_bets_on_the_posterior_go_on_after_two_to_the_sixteenth_samples_since_edition_4(histograms, goes_on):
    """Before edition 4 they ended there, so a later and better fit of a score was never bet on."""
    rng = np.random.default_rng(0)
    bets = PosteriorBets(1.0, histograms)
    wealth = []
    for _ in range(20):
        labels = rng.integers(0, 2, 8192)
        scores = np.where(rng.random(8192) < 0.95, labels, 1 - labels).astype(float)
        bets.bet(scores, labels)
        bets.learn(scores, labels)
        wealth.append(bets.log_wealth)
    assert wealth[7] > 100
    assert (wealth[-1] > wealth[-2] > wealth[-3]) is goes_on
    assert (wealth[-1] == wealth[-3]) is not goes_on
