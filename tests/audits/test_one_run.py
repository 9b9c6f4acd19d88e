"""One-run audits: bounds against linear programmes, alarms of sound mechanisms, violations of broken ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.data.pairs import InvalidNeighboursError
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.rlsvi.rlsvi import PUBLISHED
from dpproof.audits.training.canaries import Canaries, record_canaries
from dpproof.audits.training.guesses import Guesses, guess, guess_counts
from dpproof.audits.training.one_run_audit import (
    OneRun,
    _verdict,
    curve_lines,
    exceeds_one,
    one_run_epsilon_lower,
    one_run_refutes,
    one_run_tail,
    refuted_scale,
)
from tests.rows import rows, tiered


def largest_tail(m, r, v, points):
    """The largest P[W >= v] under all constraints of the note's Lemma 1, by a linear programme."""
    slacks = len(points) * r
    rows, bounds = [], []
    for place, (epsilon, delta) in enumerate(points):
        total = np.zeros(r + 1 + slacks)
        for k in range(r):
            row = np.zeros(r + 1 + slacks)
            row[k + 1], row[k] = k + 1, -math.exp(epsilon) * (r - k)
            row[r + 1 + place * r + k] = -1
            rows.append(row)
            bounds.append(0.0)
            total[r + 1 + place * r + k] = 1
        rows.append(total)
        bounds.append(m * delta)
    aim = np.zeros(r + 1 + slacks)
    aim[v : r + 1] = -1
    all_laws = np.concatenate([np.ones(r + 1), np.zeros(slacks)])[None]
    return -linprog(aim, np.array(rows), bounds, all_laws, [1.0]).fun


@rows("m", [12, 40])
@rows("v", [7, 9, 11])
@rows(("epsilon", "delta"), [(0.3, 0.0), (0.3, 1e-3), (1.0, 1e-2), (0.0, 1e-3)])
def test_the_tail_is_the_optimum_of_its_linear_programme(m, v, epsilon, delta):
    bound = one_run_tail(Guesses(m, 12, v), epsilon, delta)
    assert bound == pytest.approx(largest_tail(m, 12, v, [(epsilon, delta)]), rel=1e-6)


@pytest.mark.parametrize("mu", [0.1, 0.3, 1.0])
def test_the_recursion_is_above_the_linear_programme_of_its_points_and_not_far(mu):
    found = Guesses(40, 20, 17)
    points = curve_lines(GaussianDP(mu), 1e-4)[::3]
    below = [(-e, 1 - math.exp(-e) * (1 - d)) for e, d in points[1:]]
    optimum = largest_tail(40, 20, 17, [*points, *below])
    assert not exceeds_one(points, found, 0.999 * optimum)
    assert exceeds_one(points, found, 1.5 * optimum)


def test_without_delta_it_is_the_binomial_tail():
    law = stats.binom(100, 1 / (1 + math.exp(-0.5)))
    for right in (40, 60, 75, 90, 100):
        assert one_run_tail(Guesses(1000, 100, right), 0.5, 0.0) == pytest.approx(law.sf(right - 1), rel=1e-9)


def test_the_published_example_is_matched_and_more():
    """Arxiv:2305.08846, Appendix D, prints 0.673 for these numbers, by a larger bound on the tail."""
    found = one_run_epsilon_lower(Guesses(1000, 100, 75), 1e-4, 0.05)
    assert 0.673 < found < one_run_epsilon_lower(Guesses(1000, 100, 75), 0.0, 0.05)


def test_the_tail_grows_with_epsilon_and_delta_and_falls_with_right_guesses():
    grid = [[one_run_tail(Guesses(500, 60, 45), e, d) for d in (0, 1e-6, 1e-4)] for e in (0.0, 0.2, 0.5, 1)]
    assert (np.diff(grid, axis=0) >= 0).all()
    assert (np.diff(grid, axis=1) >= 0).all()
    tails = [one_run_tail(Guesses(500, 60, right), 0.2, 1e-4) for right in range(36, 61)]
    assert (np.diff(tails) <= 0).all()


@pytest.mark.parametrize(
    ("epsilon", "delta", "rule"),
    [(-1.0, 0.0, "epsilon"), (math.nan, 0.0, "epsilon"), (1.0, 1.0, "delta"), (1.0, -0.1, "delta")],
)
def test_numbers_outside_their_range_are_refused(epsilon, delta, rule):
    with pytest.raises(ValueError, match=rule):
        one_run_tail(Guesses(10, 10, 5), epsilon, delta)


@pytest.mark.parametrize("wrong", [(20, 10, 11), (9, 10, 5), (20, 10, -1), (20, 0, 0)])
def test_impossible_guesses_are_refused(wrong):
    with pytest.raises(ValueError, match=rf"right \({wrong[2]}\), guesses \({wrong[1]}\)"):
        Guesses(*wrong)


@pytest.mark.parametrize(
    ("seen", "finding"),
    [
        (None, Finding.VIOLATION),
        (2.0, Finding.CONSISTENT),
        (4.0, Finding.CONSISTENT),
        (4.5, Finding.INCONCLUSIVE),
        (math.inf, Finding.INCONCLUSIVE),
    ],
)
def test_nothing_found_needs_power_against_twice_the_claim(seen, finding):
    assert _verdict(seen, claimed=2.0) is finding


def test_guesses_are_a_function_of_the_scores_and_their_number_is_fixed():
    scores, coins = np.zeros(10), np.arange(10) < 5
    assert guess(scores, coins, 4) == Guesses(10, 4, 0)
    assert all(number % 2 == 0 and 2 <= number <= m for m in range(2, 60) for number in guess_counts(m))


def randomised_response(epsilon, delta):
    """Each coin in the clear with probability delta, else by randomised response: exactly on its claim."""

    def release(coins, n, rng):
        truthful = rng.random((n, coins.size)) < 1 / (1 + math.exp(-epsilon))
        clear = rng.random((n, coins.size)) < delta
        return np.where(clear, 2.0 * coins - 1, np.where(truthful, coins, ~coins) - 0.5)

    return release


def gaussian(noise):
    return lambda coins, n, rng: coins + rng.normal(0, noise, (n, coins.size))


def bits(m):
    return Canaries(m, lambda coins: coins, lambda output: output, "one bit", f"{m} bits", one_bit)


def one_bit(first, second):
    if np.count_nonzero(first != second) != 1:
        raise ValueError(f"{np.count_nonzero(first != second)} bits differ, not 1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "mechanism"),
    tiered(
        [
            (PureDP(0.5), randomised_response(0.5, 0.0)),
            (ApproxDP(0.5, 2e-3), randomised_response(0.5, 2e-3)),
            (GaussianDP(0.5), gaussian(2.0)),
        ],
        fast=1,
    ),
    ids=["pure", "approximate", "Gaussian"],
)
def test_sound_mechanisms_exactly_on_their_claim_keep_the_level(claim, mechanism):
    """Level 0.05, 100 seeds of 100 canaries: more than 13 alarms have a chance below 0.1 %."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        coins = rng.random(100) < 0.5
        scores = mechanism(coins, 1, rng)[0]
        found = [guess(scores, coins, number) for number in guess_counts(100)]
        alarms += any(one_run_refutes(outcome, claim, 0.05 / len(found)) for outcome in found)
    assert alarms <= 13


@pytest.mark.parametrize(
    ("claim", "mechanism", "delta"),
    [
        (PureDP(0.5), randomised_response(1.5, 0.0), 0.0),
        (ApproxDP(0.5, 1e-6), randomised_response(0.5, 0.2), 1e-6),
        (GaussianDP(0.25), gaussian(1.0), 1e-5),
    ],
    ids=["pure", "approximate", "Gaussian"],
)
def test_broken_mechanisms_are_caught_in_one_run(claim, mechanism, delta):
    evidence = audit("broken", claim, mechanism, bits(2000), seed=0, delta=delta)
    assert evidence.verdict is Finding.VIOLATION
    assert evidence.samples == 1
    assert evidence.event["method"] == "one run"


def test_a_sound_mechanism_is_not_called_broken_and_power_is_stated():
    evidence = audit("sound", GaussianDP(0.25), gaussian(4.0), bits(2000), seed=0, delta=1e-5)
    assert evidence.verdict is not Finding.VIOLATION
    assert evidence.epsilon_lower <= evidence.claimed_epsilon < evidence.would_have_seen < math.inf


def test_runs_are_pooled_and_equal_seeds_give_equal_evidence():
    one, other = (
        audit("pooled", PureDP(0.5), randomised_response(1.5, 0.0), OneRun(bits(40), runs=50), seed=3)
        for _ in range(2)
    )
    assert one.verdict is Finding.VIOLATION
    assert one.as_json() == other.as_json()
    assert sum(one.counts.values()) == 2000


def test_records_are_added_or_left_out():
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(400, 400)))[0]

    def noisy_mean(records, n, rng):
        return np.sum(records, axis=0) + rng.normal(0, 0.5, (n, 400))

    canaries = record_canaries(list(directions), list(rng.normal(size=(50, 400)) / 50), directions.__matmul__)
    evidence = audit("sum", GaussianDP(0.5), noisy_mean, canaries, seed=0, delta=1e-5)
    assert evidence.verdict is Finding.VIOLATION
    sound = audit("sum", GaussianDP(2.0), noisy_mean, canaries, seed=0, delta=1e-5)
    assert sound.verdict is not Finding.VIOLATION


def test_coins_that_change_more_than_their_canary_are_refused():
    two = Canaries(10, lambda coins: np.repeat(coins, 2), lambda x: x[::2], "one bit", "10 bits", one_bit)
    with pytest.raises(InvalidNeighboursError, match="2 bits differ"):
        audit("pair", PureDP(1.0), gaussian(1.0), two, seed=0)


def test_bad_scores_and_failing_mechanisms_are_errors():
    short = Canaries(10, lambda coins: coins, lambda x: x[1:], "one bit", "10 bits", one_bit)
    with pytest.raises(ValueError, match="score returned an array of shape"):
        audit("scores", PureDP(1.0), gaussian(1.0), short, seed=0)
    with pytest.raises(MechanismError, match="NaN"):
        audit("nan", PureDP(1.0), lambda d, n, rng: np.full((n, 10), np.nan), bits(10), seed=0)
    with pytest.raises(ValueError, match="count \\(1\\)"):
        bits(1)


@pytest.mark.parametrize(
    ("name", "value"), [("alpha", 0.0), ("delta", 1.0), ("runs", 0), ("seed", -1), ("shares", (0.0,))]
)
def test_arguments_outside_their_range_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        audit(
            "bad",
            PureDP(1.0),
            gaussian(1.0),
            OneRun(bits(10), **({name: value} if name in ("runs", "shares") else {})),
            **{"seed": 0, **({} if name in ("runs", "shares") else {name: value})},
        )


def test_a_family_of_curves_is_refuted_up_to_a_member_below_the_truth():
    rng = np.random.default_rng(5)
    coins = rng.random(3000) < 0.5
    found = guess(coins + rng.normal(size=3000), coins, 300)
    assert 0.4 < refuted_scale(GaussianDP, found, 0.01, 8.0) < 1.0


class TestRewards:
    """Rewards of RLSVI's users as canaries."""

    @pytest.fixture
    def audit(self):
        from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
        from dpproof.audits.training.reward_canaries import RewardCanaries

        parameters = RLSVIParameters(states=61, actions=1, horizon=2, episodes=120)
        return lambda rule, seed: RewardCanaries(parameters, rule).audit(AuditPlan(seed=seed))

    def test_a_cell_without_noise_is_caught_in_one_run_and_replays(self, audit):
        evidence = audit("FIRST_VISIT_UNPROTECTED", seed=0)
        assert evidence.verdict is Finding.VIOLATION
        assert replay(evidence.witness()) == evidence

    @pytest.mark.slow
    def test_the_correct_noise_is_not(self, audit):
        """Level 0.01 a seed: three alarms or more in 6 seeds have a chance of about 0.002 %."""
        found = [audit(PUBLISHED, seed=seed) for seed in range(6)]
        assert sum(evidence.verdict is Finding.VIOLATION for evidence in found) <= 2

    def test_too_few_states_are_refused(self):
        from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
        from dpproof.audits.training.reward_canaries import reward_canaries

        with pytest.raises(ValueError, match="states \\(2\\)"):
            reward_canaries(RLSVIParameters(states=2, actions=1, horizon=2, episodes=9))
