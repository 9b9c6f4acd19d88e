"""The Gaussian sparse vector against enumeration: all outcomes, by quadrature over the noise."""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.special import log_ndtr

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.sparse_vector.gaussian import FailingCoins, GaussianSparseVectorParameters, account
from dpproof.accountant.sparse_vector.gaussian_pair import Event, OneEvent
from dpproof.mechanisms.sparse_vector.gaussian import sample
from tests.rows import rows, tiered

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / math.sqrt(2 * math.pi)


def outcomes(queries, positives):
    """Every record of answers (True is above) of a run that halts after some positive answers, or after all queries."""
    for answers in itertools.product((False, True), repeat=queries):
        if sum(answers) < positives or (sum(answers) == positives and answers[-1]):
            yield answers
        for end in range(1, queries):
            if answers[end:] == (False,) * (queries - end) and answers[end - 1] and sum(answers) == positives:
                yield answers[:end]


def chances(values, positives, threshold, query):
    """The probability of each record, by 120 Gauss-Hermite nodes for the noise of the threshold."""
    places = (NODES[:, None] * threshold - np.asarray(values)) / query
    logs = {False: log_ndtr(places), True: log_ndtr(-places)}
    found = []
    for answers in outcomes(len(values), positives):
        total = sum(logs[answer][:, place] for place, answer in enumerate(answers))
        found.append(float(WEIGHTS @ np.exp(total)))
    return np.array(found)


def gain(epsilon, first, second):
    return first - math.exp(epsilon) * second


def divergence(first, second, epsilon):
    return float(np.maximum(gain(epsilon, first, second), 0).sum())


def test_the_records_are_a_partition():
    assert chances([0.3, -1.0, 2.0, 0.0], 2, 1.5, 2.0).sum() == pytest.approx(1, abs=1e-12)
    assert len(list(outcomes(3, 1))) == 4


@pytest.mark.parametrize("seed", tiered(range(16), fast=4))
def test_no_stream_beats_the_upper_bound(seed):
    """Random values and moves: extreme ones, of which streams that move up and then down are a part."""
    rng = np.random.default_rng(seed)
    queries, positives, monotone = int(rng.integers(1, 7)), int(rng.integers(1, 4)), bool(rng.integers(2))
    threshold, query = rng.uniform(0.7, 3, 2)
    first = rng.uniform(-3, 2, queries) * query
    up = np.arange(queries) < rng.integers(queries + 1) if seed % 2 else rng.integers(0, 2, queries)
    second = first + np.where(up, 1.0, 0.0 if monotone else -1.0)
    p, q = (chances(values, positives, threshold, query) for values in (first, second))
    coins = FailingCoins(
        Fraction(1 / threshold), Fraction((1 if monotone else 2) / query), queries, positives
    )
    all_answers = GaussianDP.of_square(Fraction(queries) / Fraction(query) ** 2)
    for epsilon in (0.0, 0.9):
        worst = max(divergence(p, q, epsilon), divergence(q, p, epsilon)) * (1 - 1e-9) - 1e-14
        assert worst <= all_answers.delta(epsilon).upper
        assert worst <= coins.delta(epsilon).upper


@rows("every", [False, True])
def test_the_event_has_the_probabilities_of_its_pair(every):
    pair = OneEvent(Fraction(2, 3), Fraction(1, 2), queries=5, positives=2, monotone=False)
    event = Event(3, 2, every, -0.5, -1.25)
    low, high = pair.chances(event)
    for bound, moves, side in ((low, (0, 0), 1), (high, (1, -1), -1)):
        values = [event.early + moves[0]] * 3 + [event.late + moves[1]] * 2
        records = list(outcomes(5, 2))
        asked = [not any(one[:3]) and (one[3:] == (True, True) if every else any(one[3:])) for one in records]
        truth = chances(values, 2, 1.5, 2.0)[asked].sum()
        assert float(bound) == pytest.approx(truth, rel=1e-9)
        assert side * float(bound) <= side * truth * (1 + side * 1e-12)


def test_the_lower_bound_is_attained_by_its_pair_and_below_the_upper_one():
    found = account(GaussianSparseVectorParameters(3.0, 6, 1, 1.5))
    pair = found.attained.guarantee
    for epsilon in (0.2, 1.0):
        event = pair._best(partial(gain, epsilon))
        first = [event.early] * event.below + [event.late] * event.rest
        second = [event.early + 1] * event.below + [event.late - 1] * event.rest
        whole = divergence(*(chances(values, 1, 1.5, 3.0) for values in (first, second)), epsilon)
        assert 0 < pair.delta(epsilon).lower <= whole * (1 + 1e-9)
        assert pair.delta(epsilon).lower <= found.guarantee.delta(epsilon).upper


def test_long_streams_cost_little_more_and_have_two_ends():
    ends = []
    for queries in (100, 10_000):
        found = account(GaussianSparseVectorParameters(15.0, queries, 1, 5.0)).guarantee.epsilon("1e-6")
        ends.append((found.lower, found.upper))
        assert found.lower > 0.4 * found.upper
    assert ends[1][1] < 1.3 * ends[0][1]


def test_the_corners():
    asked = GaussianSparseVectorParameters(1.0, 50, sensitivity=1.0)
    assert account(asked).guarantee.epsilon(0).lower == math.inf
    still = account(GaussianSparseVectorParameters(1.0, 50, sensitivity=0.0)).guarantee
    assert still.epsilon(0).upper == 0


@rows(("query", "threshold"), [(1e-300, None), (1.0, 1e-300), (1.0, 1e-3)])
def test_extreme_noise_and_the_smallest_delta_are_answered(query, threshold):
    found = account(GaussianSparseVectorParameters(query, 10, 1, threshold)).guarantee.epsilon("1e-300")
    assert found.lower <= found.upper
    assert (found.upper == math.inf) == (query == 1e-300)


@rows(
    ("sensitivity", "query", "threshold", "delta_at_0"),
    [
        (1e-300, 1e300, None, 0.0),
        (1e-160, 1e160, None, 0.0),
        (5e-324, 1e300, 1e-300, 0.0),
        (1e10, 1e10, 1e-300, 0.38292492254802624),  # the query alone has noise: mu = 1
        (1.0, 1e-150, 1e300, 3.989422804014327e-301),  # the threshold hides the query: mu = 1e-300
    ],
)
def test_ratios_that_no_double_holds_are_answered(sensitivity, query, threshold, delta_at_0):
    asked = GaussianSparseVectorParameters(query, 1, 1, threshold, sensitivity=sensitivity)
    guarantee = account(asked).guarantee
    found = guarantee.delta(0)
    assert found.lower * (1 - 1e-12) <= delta_at_0 <= found.upper * (1 + 1e-12)
    assert guarantee.epsilon("1e-30").lower <= guarantee.epsilon("1e-30").upper


def test_samples_have_the_enumerated_law():
    """40,000 runs, level 1e-6: the chi-squared distance to the enumeration, and a control with another threshold."""
    parameters = GaussianSparseVectorParameters(2.0, 4, 2, 1.5)
    values = [0.5, -1.0, 1.0, 0.0]
    drawn = sample(parameters, values, 40_000, np.random.default_rng(5))
    records = list(outcomes(4, 2))
    codes = [(*map(float, one), *[-1.0] * (4 - len(one))) for one in records]
    counts = np.array([(drawn == code).all(axis=1).sum() for code in codes])
    assert counts.sum() == 40_000

    def distance(threshold):
        expected = 40_000 * chances(values, 2, threshold, 2.0)
        return ((counts - expected) ** 2 / expected).sum()

    assert distance(1.5) < 60 < distance(0.8)  # of at most 10 degrees of freedom


def test_more_queries_than_accounted_are_refused():
    with pytest.raises(ValueError, match="at most 3"):
        sample(GaussianSparseVectorParameters(1.0, 3), [0.0] * 4, 1, np.random.default_rng(0))
