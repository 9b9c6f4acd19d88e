"""The variation-ratio reduction against all multisets of messages of small randomisers, and its counterexample."""

import math
from collections import defaultdict

import numpy as np
import pytest

from dpproof.accountant.shuffling.clones import general_randomiser
from dpproof.accountant.shuffling.variation import variation_ratio


def multisets(laws):
    """The chance of each tuple of counts of messages, one law for each user."""
    found = {(0,) * len(laws[0]): 1.0}
    for law in laws:
        after = defaultdict(float)
        for counts, chance in found.items():
            for place, mass in enumerate(law):
                after[(*counts[:place], counts[place] + 1, *counts[place + 1 :])] += chance * mass
        found = after
    return found


def shuffled_delta(first, second, others, epsilon):
    p, q = multisets([first, *others]), multisets([second, *others])
    return sum(max(p[counts] - math.exp(epsilon) * q[counts], 0.0) for counts in p)


def randomiser(rng, p, messages):
    """Two laws whose masses have a ratio of at most p; many of the ratios are p, 1/p or 1."""
    ratios = rng.choice([p, 1 / p, 1.0, p ** rng.uniform(-1, 1)], messages)
    low = rng.dirichlet(np.ones(messages)) * 10 ** rng.uniform(-1.5, 0, messages)
    share = 1 / max(low.sum(), (low * ratios).sum())
    x, y = low * share, low * ratios * share
    first, second = np.append(x, 1 - x.sum()), np.append(y, 1 - y.sum())
    first, second = (np.maximum(law, 0) for law in (first, second))
    both = np.minimum(np.maximum(first, 1e-12), p * np.maximum(second, 1e-12))
    return both / both.sum(), second / second.sum()


def largest_ratio(first, second):
    return max((first / second).max(), (second / first).max())


@pytest.mark.parametrize("seed", range(25))
def test_no_small_randomiser_beats_the_bound(seed):
    """The others send as little as they may of what the user sends, and the rest at one message."""
    rng = np.random.default_rng(seed)
    first, second = randomiser(rng, rng.uniform(1.2, 6), int(rng.integers(1, 4)))
    first, second = np.maximum(first, 1e-9), np.maximum(second, 1e-9)
    first, second = first / first.sum(), second / second.sum()
    p = largest_ratio(first, second) * (1 + 1e-12)
    most = np.maximum(first, second)
    q = max(p, most.sum()) * rng.choice([1.0, 1.5])
    others = []
    for _ in range(int(rng.integers(1, 6))):
        law = most / q
        law[rng.integers(len(law))] += 1 - law.sum()
        others.append(law)
    distance = float(np.maximum(first - second, 0).sum())
    users, local, far = len(others) + 1, math.log(p), math.log(q)
    bounds = [
        variation_ratio(users, local, distance * (1 + 1e-12), least, max(far, local))
        for least in (0, distance * (1 - 1e-12))
    ]
    for epsilon in (0.0, 0.2 * local, 0.7 * local):
        truth = max(
            shuffled_delta(first, second, others, epsilon), shuffled_delta(second, first, others, epsilon)
        )
        assert all(truth <= bound.delta(epsilon).upper * (1 + 1e-9) + 1e-13 for bound in bounds)


def test_the_analyser_must_be_told_whether_the_user_sends_a_label():
    """Known-bad control: the reduction without this word. All 12 users are 1-LDP with the total variation (p - 1) u.

    A message that is no label is rare among the others, so it tells that the user sends no label.
    """
    p, users, epsilon = math.e, 12, 0.8
    u = 0.3 / (p + 1)
    first, second = [p * u, u, 1 - (p + 1) * u, 0], [u, p * u, 1 - (p + 1) * u, 0]
    others = [[u, u, (1 - (p + 1) * u) / p, 1 - 2 * u - (1 - (p + 1) * u) / p]] * (users - 1)
    truth = shuffled_delta(first, second, others, epsilon)
    untold = shuffled_delta(first[:3], second[:3], [[u, u, 1 - 2 * u]] * (users - 1), epsilon)
    assert untold < 3e-9 < 4e-4 < truth
    distance = (p - 1) * u
    for least in (0, distance * (1 - 1e-12)):
        assert truth <= variation_ratio(users, 1, distance * (1 + 1e-12), least).delta(epsilon).upper


def test_known_distances_give_more_than_every_randomiser_has():
    every = general_randomiser(100_000, 2).epsilon("1e-6").upper
    some = variation_ratio(100_000, 2, "0.7").epsilon("1e-6").upper
    known = variation_ratio(100_000, 2, "0.7", "0.7").epsilon("1e-6").upper
    assert known < 0.8 * every
    assert known < some <= every * (1 + 1e-9)
    assert variation_ratio(10, 0, 0).delta(0).upper == 0


@pytest.mark.parametrize(
    ("values", "name"),
    [((5, 1, "0.2", "0.3"), "least_variation"), ((5, 1, "0.2", 0, "0.5"), "others_epsilon")],
)
def test_contradictions_are_refused(values, name):
    with pytest.raises(ValueError, match=name):
        variation_ratio(*values)
