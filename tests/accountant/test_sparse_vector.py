"""Sparse vector: the exact epsilon against numerical integration, from both sides, and known-bad controls."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import calibrate_noise
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.pairs.coins_until_heads import CoinsUntilHeads
from dpproof.accountant.pairs.fixed_size import FixedSize
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.subsampled import Subsampled
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.sparse_vector.counted_pair import Counted, CountedPair
from dpproof.accountant.sparse_vector.technique import (
    ACCOUNTANT,
    SparseVectorParameters,
    account,
    loss_of_runs,
    pure_epsilon,
)
from dpproof.accountant.theorems.mixed_composition import _sides
from tests.rows import tiered

SCALES = st.floats(0.2, 50)
RUNS = st.builds(
    SparseVectorParameters,
    query_scale=SCALES,
    positives=st.integers(1, 8),
    threshold_scale=SCALES,
    answer_scale=st.none() | SCALES,
    monotone=st.booleans(),
    redraw=st.booleans(),
    sensitivity=st.floats(0.1, 3),
)


def below(x):
    """Chance that Laplace noise of scale 1 is below x."""
    return mpmath.exp(x) / 2 if x < 0 else 1 - mpmath.exp(-x) / 2


def chance(queries, answers, threshold_scale, query_scale):
    """Chance of the answers (True is above) to queries against threshold 0, one threshold noise."""

    def density(z):
        value = mpmath.exp(-abs(z) / threshold_scale) / (2 * threshold_scale)
        for query, answer in zip(queries, answers, strict=True):
            low = below((z - query) / query_scale)
            value *= 1 - low if answer else low
        return value

    corners = sorted({0, *queries, -40 * threshold_scale, 40 * threshold_scale, 5, 10, 20, 40})
    return mpmath.quad(density, corners)


QUERY = st.tuples(st.floats(-4, 4), st.sampled_from([-1.0, -0.5, 0.0, 1.0]), st.booleans())


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(st.lists(QUERY, min_size=1, max_size=5), st.floats(0.5, 4), st.floats(0.5, 4), st.booleans())
def test_no_stream_of_answers_beats_epsilon(stream, threshold_scale, query_scale, monotone):
    mpmath.mp.dps = 15
    moves = [abs(move) if monotone else move for _, move, _ in stream]
    answers = [answer for _, _, answer in stream]
    first = [query for query, _, _ in stream]
    second = [query + move for query, move in zip(first, moves, strict=True)]
    p, q = (chance(queries, answers, threshold_scale, query_scale) for queries in (first, second))
    parameters = SparseVectorParameters(
        query_scale, max(sum(answers), 1), threshold_scale=threshold_scale, monotone=monotone
    )
    assert abs(mpmath.log(p / q)) <= float(pure_epsilon(parameters)) + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("monotone", "positives"), tiered([(False, 1), (False, 3), (True, 1), (True, 4)], fast=1)
)
def test_the_worst_pair_by_integration(monotone, positives):
    """What the closed form says of the pair is what numerical integration finds, and it is near epsilon."""
    mpmath.mp.dps = 20
    parameters = SparseVectorParameters(2.0, positives, threshold_scale=1.5, monotone=monotone)
    queries = 64
    first = [0.0] * (queries + positives)
    second = [1.0] * queries + [0.0 if monotone else -1.0] * positives
    answers = [False] * queries + [True] * positives
    p, q = (chance(stream, answers, 1.5, 2.0) for stream in (first, second))
    pair = account(parameters).attained.guarantee.cases[0]
    p_low, q_high = pair._chances()[6]
    assert p >= float(p_low.mid()) * (1 - 1e-8)
    assert q <= float(q_high.mid()) * (1 + 1e-8)
    assert p / float(p_low.mid()) < 1.0001
    assert (
        float(pure_epsilon(parameters)) - 1e-6 < mpmath.log(p / q) <= float(pure_epsilon(parameters)) + 1e-9
    )


@settings(deadline=None, max_examples=60)
@given(RUNS)
def test_epsilon_is_attained(parameters):
    found = account(parameters)
    upper = found.guarantee.epsilon(0).upper
    assert upper * (1 - 1e-12) <= found.attained.guarantee.epsilon(0).lower <= upper
    assert Fraction(upper) >= pure_epsilon(parameters)
    assert found.guarantee.epsilon(0).lower <= found.published.epsilon(0).upper


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(RUNS)
def test_the_profile_lies_between_the_pair_and_the_published(parameters):
    found = account(parameters)
    epsilon, delta = found.guarantee.epsilon("1e-3"), found.guarantee.delta(1)
    assert found.attained.guarantee.epsilon("1e-3").lower <= epsilon.upper
    assert found.attained.guarantee.delta(1).lower <= delta.upper
    assert epsilon.lower <= found.published.epsilon("1e-3").upper
    assert epsilon.lower <= found.published.exact.epsilon("1e-3").upper


def test_the_published_budgets_add_up():
    one = SparseVectorParameters(query_scale=8.0, positives=2, threshold_scale=2.0, answer_scale=4.0)
    assert pure_epsilon(one) == Fraction(1, 2) + Fraction(4, 8) + Fraction(2, 4)
    assert account(one).published.epsilon(0).upper == 1.5


def test_monotone_queries_pay_for_comparison_or_answer():
    """Numeric answers to monotone queries: moving a query reveals it in its answer or in the comparison."""
    one = SparseVectorParameters(8.0, 2, threshold_scale=2.0, answer_scale=4.0, monotone=True)
    assert pure_epsilon(one) == max(Fraction(1, 2) + Fraction(2, 4), Fraction(2, 8) + Fraction(2, 4))
    assert account(one).published.epsilon(0).upper == 1.25
    wide = SparseVectorParameters(8.0, 2, threshold_scale=1000.0, answer_scale=4.0, monotone=True)
    assert pure_epsilon(wide) == Fraction(3, 4)


def test_half_the_noise_is_refuted():
    """Known-bad control (Lyu et al., Algorithm 4): queries scaled for one positive answer, many given."""
    claimed = pure_epsilon(SparseVectorParameters(4.0, 1, threshold_scale=2.0))
    real = account(SparseVectorParameters(4.0, 5, threshold_scale=2.0)).attained.guarantee
    assert real.epsilon(0).lower > claimed


@pytest.mark.parametrize(("positives", "monotone"), [(1, False), (25, False), (25, True)])
def test_calibration_finds_the_best_split(positives, monotone):
    start = SparseVectorParameters(1.0, positives, monotone=monotone)
    meets, misses = calibrate_noise(start, "query_scale", lambda p: account(p).guarantee, 1, 0)
    assert pure_epsilon(meets) <= 1 < pure_epsilon(misses)
    paid = (1 if monotone else 2) * positives
    best = meets.threshold**2 + meets.query_scale**2
    for share in (0.02, 0.1, 0.2, 0.3, 0.5, 0.8):
        assert best <= ((1 / share) ** 2 + (paid / (1 - share)) ** 2) * (1 + 1e-9)
    exactly = 1 / (1 + paid ** (2 / 3))
    assert math.isclose(1 / meets.threshold, exactly, rel_tol=1e-9)


@pytest.mark.parametrize("moves", [(1, -1), (1, 0), (0, -1)])
def test_counted_answers_have_the_probabilities_of_their_pair(moves):
    """Every record of answers of one early query and three later ones, by quadrature, against the binomial tail."""
    mpmath.mp.dps = 15
    pair = CountedPair(Fraction(2, 3), Fraction(1, 2), positives=2, monotone=False, above=PureDP(9))
    event = Counted(below=1, rest=3, above=2, early=0.25, late=-0.75, moves=moves)
    low, high = pair.chances(event)
    late = [answers for answers in itertools.product((False, True), repeat=3) if sum(answers) >= 2]
    for bound, (up, down), side in ((low, (0, 0), 1), (high, moves, -1)):
        queries = [event.early + up, *[event.late + down] * 3]
        truth = float(sum(chance(queries, [False, *answers], 1.5, 2.0) for answers in late))
        assert float(bound) == pytest.approx(truth, rel=1e-8)
        assert side * float(bound) <= side * truth + 1e-8 * truth


@pytest.mark.parametrize("monotone", [False, True])
def test_low_queries_in_turn_are_randomised_response(monotone):
    """The kind of the first answer above, in an endless row of two kinds in turn, by quadrature over the threshold."""
    scale, threshold, low = 4.0, 3.0, 60.0
    z = np.linspace(-60, 60, 24_001)
    weights = np.exp(-np.abs(z) / threshold) / (2 * threshold) * (z[1] - z[0])

    def first_kind(moves):
        one, two = (np.exp(np.minimum(move - low - z, 0) / scale) / 2 for move in moves)
        return float(weights @ (one / (one + (1 - one) * two)))

    ends = first_kind((0, 0)), first_kind((1, 0 if monotone else -1))
    odds = [chance / (1 - chance) for chance in ends]
    assert odds[0] == pytest.approx(1, abs=1e-3)
    assert math.log(odds[1] / odds[0]) == pytest.approx((1 if monotone else 2) / scale, abs=1e-3)


@pytest.mark.parametrize(
    ("positives", "monotone", "share"), [(10, False, 0.45), (10, True, 0.45), (1000, True, 0.3)]
)
def test_many_answers_have_a_lower_end_at_small_delta(positives, monotone, share):
    found = account(SparseVectorParameters(100.0 * math.sqrt(positives), positives, monotone=monotone))
    ends = found.attained.guarantee.epsilon("1e-6").lower, found.guarantee.epsilon("1e-6").upper
    assert share * ends[1] < ends[0] <= ends[1]
    redrawn = account(SparseVectorParameters(10.0, positives, monotone=monotone, redraw=True))
    delta = redrawn.guarantee.delta("0.5")
    assert 0 < redrawn.attained.guarantee.delta("0.5").lower <= delta.upper


def coins_until(heads, epsilon, tails):
    """(P, Q) chances of each number of tails before the last of the heads, enumerated far enough."""
    a = 1 / (1 + math.exp(-epsilon))
    ways = [math.comb(heads - 1 + n, n) for n in range(tails)]
    return [(w * a**heads * (1 - a) ** n, w * (1 - a) ** heads * a**n) for n, w in enumerate(ways)]


@pytest.mark.parametrize(("heads", "epsilon"), [(1, 0.5), (4, 0.3), (3, 2.0)])
def test_coins_until_heads_against_enumeration(heads, epsilon):
    composed = PrivacyLoss([[(CoinsUntilHeads(epsilon), heads)]])
    pairs = coins_until(heads, epsilon, 200)
    for point in (0.0, 0.1, 0.7):
        truth = sum(max(p - math.exp(point) * q, 0.0) for p, q in pairs)
        found = composed.delta(point)
        assert found.lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= found.upper
        assert found.width < 0.01 * truth + 1e-12


@pytest.mark.parametrize(("heads", "epsilon"), [(1, 0.5), (4, 0.3), (3, 2.0)])
def test_exchanged_coins_against_sixty_digits(heads, epsilon):
    """The odds of heads are exp(-epsilon) first. The loss of n tails is (n - heads) epsilon."""
    pair = CoinsUntilHeads(epsilon).reversed()
    assert pair.reversed() == CoinsUntilHeads(epsilon)
    composed = PrivacyLoss([[(pair, heads)]])
    with mpmath.workdps(60):
        unlikely = 1 / (1 + mpmath.exp(epsilon))
        for point in (-0.4, 0.1, 0.7, 3.3):
            few = range(
                heads + math.floor(point / epsilon) + 1
            )  # all other numbers of tails have larger losses
            more = [
                1 - sum(math.comb(heads - 1 + n, n) * odds**heads * (1 - odds) ** n for n in few)
                for odds in (unlikely, 1 - unlikely)
            ]
            if heads == 1:
                cells = pair.cells(np.array([point]))
                assert abs(cells.p[1] - more[0]) <= cells.p_error[1] * more[0]
                assert abs(cells.q[1] - more[1]) <= cells.q_error[1] * more[1]
            if point >= 0:
                truth, found = more[0] - mpmath.exp(point) * more[1], composed.delta(point)
                assert found.lower <= truth <= found.upper
                assert found.width < 0.01 * truth + 1e-12


def test_everything_that_exchanges_a_pair_takes_coins():
    coins, step = CoinsUntilHeads(1.0), SubsampledGaussian(0.01, 1.0)
    unlike = PrivacyLoss([[(step, 1), (coins, 1)], [(step.reversed(), 1), (coins.reversed(), 1)]])
    assert _sides(unlike, lower=False) is None  # coins do not state which of the two loses a record
    assert Subsampled(coins, 0.5).reversed().loss_range()[1] == pytest.approx(math.log(2))
    with pytest.raises(ValueError, match="both directions"):
        FixedSize(coins, "1/2")


@settings(deadline=None, max_examples=200)
@given(st.floats(-30, 30), st.floats(0, 1), st.floats(1e-3, 5))
def test_a_comparison_is_made_of_coins(place, share, epsilon):
    """The weights of tails for sure, heads for sure and a coin are not negative and give both chances."""
    above = [1 - below(place + shift) if place + shift < 0 else mpmath.exp(-place - shift) / 2
             for shift in (0.0, share * epsilon)]  # fmt: skip
    a, b = above
    r = mpmath.exp(epsilon)
    coin, heads, tails = (a - b) * (r + 1), r * b - a, r * (1 - a) - (1 - b)
    assert min(coin, heads, tails) >= -1e-12
    assert mpmath.almosteq(coin + heads + tails, r - 1, 1e-9)
    assert mpmath.almosteq(heads + coin * r / (1 + r), (r - 1) * a, 1e-9, 1e-12)


def exact_profile(steps, positives, epsilon, point):
    """delta of a stream of equal comparisons, threshold noise left out: chances a and b of "above"."""
    a, b = 0.5, math.exp(-epsilon) / 2
    total = 0.0
    for count in range(positives):  # the stream ends with fewer than all positive answers
        p, q = (math.comb(steps, count) * x**count * (1 - x) ** (steps - count) for x in (a, b))
        total += max(p - math.exp(point) * q, 0.0)
    for length in range(positives, steps + 1):
        ways = math.comb(length - 1, positives - 1)
        p, q = (ways * x**positives * (1 - x) ** (length - positives) for x in (a, b))
        total += max(p - math.exp(point) * q, 0.0)
    return total


@pytest.mark.parametrize(("positives", "steps"), tiered([(1, 5), (5, 40), (20, 80)], fast=1))
def test_real_comparisons_stay_within_the_profile_and_come_close(positives, steps):
    rate = Fraction(1, 20)
    profile = loss_of_runs(
        (Fraction(1, 10**6), rate, Fraction(0)), monotone=True, runs=1, positives=positives
    )
    for point in (0.01, 0.05, 0.1):
        truth = exact_profile(steps, positives, float(rate), point)
        assert truth <= profile.delta(point).upper
    assert exact_profile(steps, positives, float(rate), 0.01) > profile.delta(0.01).lower / 3


def test_answers_cost_about_the_root_of_their_number():
    one, many = (
        account(SparseVectorParameters(1000.0, c, threshold_scale=1000.0)).guarantee for c in (1, 400)
    )
    assert many.epsilon(0).lower > 200 * one.epsilon(0).upper
    assert many.epsilon("1e-6").upper < many.epsilon(0).lower / 3


def test_noise_beyond_the_pairs_keeps_the_pure_guarantee():
    loud = account(SparseVectorParameters(1e-4, threshold_scale=1e-4)).guarantee
    assert loud.epsilon("1e-6").upper <= loud.epsilon(0).upper == 30000


def test_several_thresholds_compose_below_their_sum():
    run = SparseVectorParameters(40.0, 100, redraw=True)
    found = account(run)
    assert found.guarantee.epsilon("1e-6").upper < found.guarantee.epsilon(0).upper / 2
    assert found.guarantee.epsilon("1e-6").upper < found.published.epsilon("1e-6").upper


def test_nothing_moves_nothing_is_revealed():
    still = account(SparseVectorParameters(1.0, sensitivity=0.0))
    assert still.guarantee.epsilon(0).upper == still.attained.guarantee.epsilon(0).upper == 0


@pytest.mark.parametrize(
    ("values", "name"),
    [({"query_scale": 0.0}, "query_scale"), ({"query_scale": 1.0, "positives": 0}, "positives"),
     ({"query_scale": math.nan}, "query_scale"), ({"query_scale": 1.0, "answer_scale": -1.0}, "answer_scale"),
     ({"query_scale": 1.0, "threshold_scale": math.inf}, "threshold_scale"),
     ({"query_scale": 1.0, "monotone": 2}, "monotone")],
)  # fmt: skip
def test_bad_parameters_are_refused(values, name):
    with pytest.raises(ValueError, match=name):
        SparseVectorParameters(**values)


def test_a_named_relation_is_repeated():
    found = account(SparseVectorParameters(1.0, sensitivity=1.0), Adjacency.REPLACE)
    assert found.adjacency is Adjacency.REPLACE
    assert "replace" in found.notes[0]
    assert ACCOUNTANT.relation(None) is Adjacency.BY_SENSITIVITY
