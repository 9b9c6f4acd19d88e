"""The cases. Each fault is of a kind that was found in a library; none is the code of a library."""

from __future__ import annotations

from collections.abc import Callable
from math import e, exp, inf, log, nan
from typing import Any

import numpy as np

from benchmarks.paired_runs.case import Case, Mechanism, noise
from dpproof.audits.paired.finding import Answer

CASES: list[Case] = []
ADDED = (np.array([0.9, 0.2, 0.7]), np.array([0.9, 0.2]))
"""One record is removed."""
REPLACED = (np.array([0.9, 0.2, 0.7]), np.array([0.9, 0.2, 0.1]))
"""One record is replaced."""
WIDE = (np.array([0.9, 0.2, 80.0]), np.array([0.9, 0.2]))
"""The removed record is out of bounds."""
FAR = (np.array([0.9, 0.2, -80.0]), np.array([0.9, 0.2, 0.1]))
"""One record is replaced by a record out of bounds."""
MANY = (np.array([0.1] * 12), np.array([0.1] * 11 + [0.9]))
"""One of twelve records is replaced."""
Pair = tuple[Any, Any]


def fault(
    what: str, line: str, pair: Pair = ADDED, epsilon: float = 1.0, delta: float = 0.0
) -> Callable[[Mechanism], Mechanism]:
    """Add a fault to the cases; the finding must point to a line that contains ``line``."""

    def add(mechanism: Mechanism) -> Mechanism:
        CASES.append(Case(mechanism, what, False, *pair, epsilon, delta, Answer.DIFFERENCE, line))
        return mechanism

    return add


def sound(
    what: str,
    pair: Pair = ADDED,
    epsilon: float = 1.0,
    delta: float = 0.0,
    answer: Answer = Answer.NO_DIFFERENCE,
) -> Callable[[Mechanism], Mechanism]:
    """Add a mechanism that keeps its claim to the cases."""

    def add(mechanism: Mechanism) -> Mechanism:
        CASES.append(Case(mechanism, what, True, *pair, epsilon, delta, answer, ""))
        return mechanism

    return add


@fault("a mean divides by the private number of records", "noise.laplace")
def private_size(data):
    noise.public(n=len(data))
    return noise.laplace(np.clip(data, 0, 1).sum(), 1, 1) / len(data)


@fault("the number of records is an output without noise", "return")
def size_beside(data):
    noise.public(n=len(data))
    return noise.laplace(np.clip(data, 0, 1).sum(), 1, 1), len(data)


@fault("the cells of a histogram are those in the data", "noise.laplace")
def observed_cells(data):
    cells, counts = np.unique(np.round(data, 1), return_counts=True)
    noise.public(cells=len(cells))
    return noise.laplace(counts.astype(float), 1, 1)


@fault("the bound for clipping is the largest value in the data", "noise.laplace", WIDE)
def bound_from_data(data):
    bound = float(np.max(data))
    noise.public(bound=bound)
    return noise.laplace(np.clip(data, 0, bound).sum(), bound, 1)


@fault("the result is shifted by the smallest value in the data", "noise.laplace", FAR)
def shifted(data):
    low = float(np.min(data))
    noise.public(low=low)
    return noise.laplace(float(len(data)), 1, 1) + low


@fault("an empty group raises an exception", "raise", (np.array([0.9, 0.2]), np.array([0.2])))
def raises(data):
    if not np.any(data > 0.5):
        raise ValueError("no record is above 0.5")
    return noise.laplace(float(len(data)), 1, 1)


@fault("the number of steps is the number of records", "noise.laplace")
def steps_from_size(data):
    noise.public(steps=len(data))
    return [noise.laplace(float(np.sum(data > 2)), 1, 1) for _ in range(len(data))]


@fault("the loop ends when the exact error is small", "noise.laplace")
def early_stop(data):
    answers = []
    for step in range(3):
        answers.append(noise.laplace(np.clip(data, 0, 1).sum(), 1, 1 / 3))
        if data.sum() < 1.5 and step == 1:
            break
    return answers


@fault("cells without records get no noise", "noise.laplace")
def empty_cells(data):
    counts = np.histogram(data, bins=(0, 0.5, 0.8, 1))[0]
    return [noise.laplace(float(count), 1, 1) if count else 0.0 for count in counts]


@fault("a sum of small groups is released as it is", "return", (np.array([0.9, 0.6]), np.array([0.9])))
def small_groups(data):
    total = noise.laplace(float(len(data)), 1, 1)
    return total, np.sum(data[data > 0.5])


@fault("the values are not clipped", "noise.laplace", WIDE)
def not_clipped(data):
    return noise.laplace(data.sum(), 1, 1)


@fault("the clipped values are computed, but the others are used", "noise.laplace", WIDE)
def clipped_aside(data):
    clipped = np.clip(data, 0, 1)
    return noise.laplace(data.sum(), float(np.ptp([0, 1])), 1), clipped.size * 0


@fault("the values are clipped after the sum", "noise.laplace", WIDE)
def clipped_late(data):
    return np.clip(noise.laplace(data.sum(), 1, 1), -1000, 1000)


@fault("the lower bound is forgotten", "noise.laplace", (np.array([0.9, -4.0]), np.array([0.9])))
def lower_bound(data):
    return noise.laplace(np.clip(data, -5, 1).sum(), 1, 1)


@fault("a replaced record changes two cells, the noise is for one", "noise.laplace", REPLACED)
def replaced_record(data):
    return noise.laplace(np.histogram(data, bins=(0, 0.5, 1))[0].astype(float), 1, 1)


@fault(
    "Laplace noise for the L2 sensitivity of a vector", "noise.laplace", (np.ones((3, 4)), np.ones((2, 4)))
)
def wrong_norm(data):
    return noise.laplace(data.sum(axis=0), 2, 1)


@fault("a person may have several records, the noise is for one", "noise.laplace", ([[1, 1, 1], [1]], [[1]]))
def several_records(data):
    return noise.laplace(float(sum(map(len, data))), 1, 1)


@fault("NaN passes the clipping", "noise.laplace", (np.array([0.9, nan]), np.array([0.9])))
def not_a_number(data):
    return noise.laplace(np.clip(data, 0, 1).sum(), 1, 1)


@fault(
    "a sum of squares has the sensitivity of a sum", "noise.laplace", (np.array([1.0, 4.0]), np.array([1.0]))
)
def squares(data):
    return noise.laplace((np.clip(data, 0, 4) ** 2).sum(), 4, 1)


@fault("the noise is multiplied by epsilon, not divided", "noise.laplace", epsilon=0.1)
def inverted(data):
    return noise.laplace(float(len(data)), 1, 1 / 0.1)


@fault("a sensitivity that rounds to 0", "noise.laplace")
def no_scale(data):
    return noise.laplace(float(len(data)), 1 // 2, 1)


@fault("the variance is used as the standard deviation", "noise.gaussian", epsilon=1, delta=1e-5)
def variance(data):
    return noise.gaussian(float(len(data)), 1, 1 / 3.73**2)


@fault("one draw of noise for two answers", "return")
def same_draw(data):
    noisy = noise.laplace(float(len(data)), 1, 1)
    return noisy, np.clip(data, 0, 1).sum() + (noisy - len(data))


@fault("two answers, each with the whole budget", "noise.laplace")
def spent_twice(data):
    return noise.laplace(float(len(data)), 1, 1), noise.laplace(np.clip(data, 0, 1).sum(), 1, 1)


@fault("the budget is not split among the columns", "noise.laplace", (np.ones((3, 4)), np.ones((2, 4))))
def each_column(data):
    return [noise.laplace(column.sum(), 1, 1) for column in data.T]


@fault("ten steps with the noise of five", "noise.gaussian", epsilon=1, delta=1e-5)
def wrong_count(data):
    return [noise.gaussian(float(len(data)), 1, 3.73 * 5**0.5) for _ in range(10)]


@fault("groups that overlap are treated as disjoint", "noise.laplace")
def overlapping(data):
    groups = [data[data > 0.1], data[data > 0.3], data[data > 0.6]]
    return [noise.laplace(float(len(group)), 1, 1) for group in groups]


@fault("the exponential mechanism without the factor 2", "np.random.choice", MANY)
def no_factor(data):
    scores = np.histogram(data, bins=(0, 0.5, 1))[0]
    weights = np.exp(scores.astype(float))
    return np.random.choice(2, p=weights / weights.sum())


@sound("a clipped sum")
def clipped_sum(data):
    return noise.laplace(np.clip(data, 0, 1).sum(), 1, 1)


@sound("a sum in a loop that clips with branches")
def branches(data):
    total = 0.0
    for value in data:
        total += 1.0 if value > 1 else max(float(value), 0.0)
    return noise.laplace(total, 1, 1)


@sound("a sum that grows from the noise")
def from_noise(data):
    total = noise.laplace(0.0, 1, 1)
    for value in data:
        total += min(max(float(value), 0.0), 1.0)
    return float(total)


@sound("a mean from a noisy sum and a noisy number")
def noisy_mean(data):
    count = noise.laplace(float(len(data)), 1, 0.5)
    return noise.laplace(np.clip(data, 0, 1).sum(), 1, 0.5) / max(float(count), 1.0)


@sound("a mean of a public number of records", REPLACED)
def public_size(data):
    return noise.laplace(np.clip(data, 0, 1).sum() / 3, 1 / 3, 1)


@sound("a histogram with fixed cells")
def fixed_cells(data):
    return noise.laplace(np.histogram(data, bins=(0, 0.5, 1))[0].astype(float), 1, 1)


@sound("disjoint groups")
def disjoint(data):
    return [noise.laplace(float(np.sum((data > low) & (data <= low + 0.5))), 1, 1) for low in (0, 0.5)]


@sound("a Gaussian vector", (np.ones((3, 4)) / 2, np.ones((2, 4)) / 2), delta=1e-5)
def gaussian_vector(data):
    return noise.gaussian(data.sum(axis=0), 1, 3.74)


@sound("a tree of partial sums", (np.array([1.0, 0, 1, 1]), np.array([1.0, 0, 0, 1])))
def tree(data):
    return [noise.laplace(data[a:b].sum(), 3, 1) for a, b in ((0, 4), (0, 2), (2, 4), (0, 1), (2, 3))]


@sound("noise around an exact shift", REPLACED)
def post_processed(data):
    noisy = noise.laplace(np.clip(data, 0, 1).sum(), 1, 1)
    return noisy, noisy + 1, 2 * noisy, bool(noisy > 0)


@sound("a branch on a noisy number")
def noisy_branch(data):
    first = noise.laplace(float(len(data)), 1, 0.5)
    return noise.laplace(np.clip(data, 0, 1).sum(), 1, 0.5) if first > 0 else 0.0


@sound("randomised response with two probabilities", ([1], [0]), epsilon=log(3) + 1e-9)
def two_probabilities(data):
    return bool(np.random.random() < (0.75 if data[0] else 0.25))


@sound("randomised response with two coins", ([1], [0]), epsilon=log(3) + 1e-9, answer=Answer.UNDECIDED)
def two_coins(data):
    if np.random.random() < 0.9999:
        return data[0] if np.random.random() < 0.5 else int(np.random.random() < 0.5)
    return data[0] if np.random.random() < 0.5 else int(np.random.random() < 0.5)


@sound("the exponential mechanism", REPLACED)
def exponential_mechanism(data):
    scores = np.histogram(data, bins=(0, 0.5, 1))[0] / 2
    weights = np.exp(scores)
    return np.random.choice(2, p=weights / weights.sum())


@sound("the place of the largest count with Gumbel noise", REPLACED)
def gumbel_choice(data):
    scores = np.histogram(data, bins=(0, 0.5, 1))[0].astype(float)
    return int(np.argmax(scores + np.random.gumbel(0, 2, 2)))


@sound("the place of the largest count with Laplace noise")
def noisy_largest(data):
    scores = np.histogram(data, bins=(0, 0.5, 1))[0].astype(float)
    return int(np.argmax(scores + np.random.laplace(0, 2, 2)))


@sound("the largest noisy count in plain Python", (np.ones(3), np.ones(2)), answer=Answer.UNDECIDED)
def largest_in_python(data):
    noisy = [len(data) + np.random.laplace(0, 2) for _ in range(5)]
    return max(range(5), key=lambda place: noisy[place])


@sound("the sparse vector technique", (np.ones(3), np.ones(2)), answer=Answer.UNDECIDED)
def sparse_vector(data):
    limit = 50 + np.random.laplace(0, 2)
    return [bool(len(data) + np.random.laplace(0, 4) >= limit) for _ in range(5)]


@sound("a histogram over the observed cells with a threshold", delta=0.01, answer=Answer.UNDECIDED)
def stable_histogram(data):
    cells, counts = np.unique(np.round(data, 1), return_counts=True)
    noisy = [noise.laplace(float(count), 1, 1) for count in counts]
    return {cell: value for cell, value in zip(cells, noisy, strict=True) if value > 6}


@sound("a sum of sampled records", epsilon=log(1 + 0.5 * (e - 1)), answer=Answer.UNDECIDED)
def sampled(data):
    kept = np.random.random(len(data)) < 0.5
    return noise.laplace(np.clip(data[kept], 0, 1).sum(), 1, 1)


@sound("two-sided geometric noise", answer=Answer.UNDECIDED)
def geometric(data):
    chance = 1 - exp(-1)
    return len(data) + np.random.geometric(chance) - np.random.geometric(chance)


@sound("Laplace noise from a uniform number", answer=Answer.UNDECIDED)
def by_inversion(data):
    uniform = np.random.random() - 0.5
    return len(data) - np.sign(uniform) * log(max(1 - 2 * abs(uniform), 1e-300))


@sound("no answer on the data at all", epsilon=0.0)
def constant(data):
    return [inf, "constant"]
