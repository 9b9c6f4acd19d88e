"""Mechanisms of PyDP (python-dp), planted with faults and untouched."""

from __future__ import annotations

import secrets
from collections import Counter
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.planted.case import AGES, BITS, FIVE, INF, REPLACE, WORDS, Cases, Event

A, N, S = (
    import_module(f"pydp.algorithms.{name}")
    for name in ("laplacian", "numerical_mechanisms", "partition_selection")
)
CASES = Cases("python-dp")
planted, untouched = CASES.planted, CASES.untouched
USERS = {"ada": ["tea"], "bob": ["tea", "milk"], "cyd": ["tea", "salt", "rice", "figs", "oil"]}
WIDE = np.vstack([np.zeros((3, 100)), np.ones((3, 100))])


def laplace(value: float, sensitivity: float = 1.0) -> float:
    """Return a value with the Laplace noise of PyDP for epsilon 1."""
    return float(N.LaplaceMechanism(1.0, sensitivity).add_noise(float(value)))


def bounded(kind: str, data: Any, high: float = 1.0, epsilon: float = 1.0) -> float:
    """Return a bounded statistic of PyDP with values in [0, high]."""
    make = getattr(A, kind)
    return float(
        make(epsilon=epsilon, lower_bound=0, upper_bound=high, dtype="float").quick_result(list(data))
    )


@planted(AGES, loss=INF, event=Event.TAIL)
def sum_data_bound(data: Any) -> object:
    """The upper bound of a bounded sum is the largest value of the data."""
    return bounded("BoundedSum", data, max(data, default=1.0) or 1.0)


@planted(USERS, loss=5.0, event=Event.THRESHOLD)
def many_contributions(data: Any) -> object:
    """All purchases are counted with noise for one purchase; a user makes up to five."""
    return A.Count(epsilon=1, dtype="float").quick_result([1.0 for bought in data.values() for _ in bought])


@planted(AGES, relation=REPLACE, event=Event.THRESHOLD)
def median_local(data: Any) -> object:
    """A median gets noise for its local sensitivity."""
    near = sorted([0.0, *data, 1.0])
    middle = len(near) // 2
    return laplace(near[middle], max(near[middle + 1] - near[middle - 1], 1e-6))


@planted(WIDE, claim=(1.0, 1e-6), loss=13.5, event=Event.WEIGHTED)
def gaussian_linf(data: Any) -> object:
    """A hundred sums get Gaussian noise for a change of norm 1; a record changes each of them by 1."""
    noise = N.GaussianMechanism(1.0, 1e-6, 1.0)
    return [noise.add_noise(float(total)) for total in np.clip(data, 0, 1).sum(axis=0)]


@planted(AGES, loss=INF, event=Event.THRESHOLD)
def maximum_peeks(data: Any) -> object:
    """A private maximum is cut off at the true maximum."""
    return min(bounded("Max", data), max(data, default=0.0))


@planted(USERS, claim=(1.0, 0.01), loss=INF, event=Event.WORD)
def partitions_of_a_user(data: Any) -> object:
    """Goods are selected as if a user bought one kind; a user buys up to five kinds."""
    keep = S.create_truncated_geometric_partition_strategy(1.0, 0.01, 1).should_keep
    sold = Counter(good for bought in data.values() for good in bought)
    return tuple(sorted(good for good, times in sold.items() if keep(times)))


@planted([*AGES, 1.7], loss=INF, event=Event.WORD)
def refusal_counts(data: Any) -> object:
    """Data outside the bounds are refused, with a message that counts the wrong values."""
    wrong = sum(not 0 <= value <= 1 for value in data)
    return f"{wrong} of {len(data)} values are outside [0, 1]" if wrong else bounded("BoundedSum", data)


@planted(WORDS, loss=INF, event=Event.WORD)
def keys_that_occur(data: Any) -> object:
    """A dictionary of noisy counts has the words that occur as its keys."""
    return {
        word: A.Count(epsilon=1, dtype="int").quick_result([1] * times)
        for word, times in Counter(data).items()
    }


@planted(AGES, relation=REPLACE, loss=INF)
def grid_of_data(data: Any) -> object:
    """A noisy sum is rounded to multiples of a tenth of the mean of the data."""
    grid = sum(data) / len(data) / 10 or 0.1
    return round(laplace(sum(data)) / grid) * grid


@planted(AGES, loss=2.0, event=Event.WEIGHTED)
def epsilon_twice(data: Any) -> object:
    """A sum and a count get the whole epsilon each."""
    return bounded("BoundedSum", data), A.Count(epsilon=1, dtype="float").quick_result(data)


@planted(AGES, loss=INF, event=Event.TAIL)
def rare_exact_2_percent(data: Any) -> object:
    """The sum is released without noise, and negative, in two of 100 runs."""
    return -100.0 - sum(data) if secrets.randbelow(50) == 0 else bounded("BoundedSum", data)


@planted(AGES, loss=INF)
def rare_exact_1_permille(data: Any) -> object:
    """The sum is released without noise in one of 1000 runs."""
    return sum(data) if secrets.randbelow(1000) == 0 else bounded("BoundedSum", data)


@planted(BITS, relation=REPLACE, loss=INF, event=Event.PARITY)
def parity_of_two(data: Any) -> object:
    """The first person's bit is masked with a random bit that is released, too."""
    mask = secrets.randbits(1)
    return mask, mask ^ data[0], A.Count(epsilon=1, dtype="int").quick_result(data)


@planted(BITS, relation=REPLACE, loss=INF)
def parity_of_three(data: Any) -> object:
    """The first person's bit is masked with two random bits that are released, too."""
    one, two = secrets.randbits(1), secrets.randbits(1)
    return one, one ^ two ^ data[0], two


@planted([0.7], loss=INF, event=Event.THRESHOLD)
def empty_is_zero(data: Any) -> object:
    """The mean of no data is 0 without noise."""
    return bounded("BoundedMean", data) if data else 0.0


@planted(AGES, loss=INF)
def one_output_a_record(data: Any) -> object:
    """Each value gets noise, and the number of outputs is the number of records."""
    return [laplace(value) for value in data]


@planted(WORDS, loss=INF, event=Event.WORD)
def true_order(data: Any) -> object:
    """Words with noisy counts are listed in the order of their true counts."""
    times = Counter(data)
    order = sorted(FIVE, key=lambda word: (-times[word], word))
    return " ".join(
        f"{word}:{A.Count(epsilon=1, dtype='int').quick_result([1] * times[word])}" for word in order
    )


@planted(AGES, relation=REPLACE, loss=INF)
def type_of_output(data: Any) -> object:
    """A rounded sum is an integer if all records are whole, and otherwise a float."""
    noisy = round(laplace(sum(data)))
    return noisy if all(float(value).is_integer() for value in data) else float(noisy)


@planted(AGES, relation=REPLACE, loss=INF)
def low_digits(data: Any) -> object:
    """The exact sum is written into the digits of a noisy sum after the sixth."""
    return round(laplace(sum(data)), 6) + sum(data) * 1e-8


@planted(AGES, relation=REPLACE, loss=INF)
def noise_reused(data: Any) -> object:
    """The same noise is added to the sum and to the sum of squares."""
    noise = laplace(0.0, 2.0)
    return sum(data) + noise, sum(value * value for value in data) + noise


second = partial(planted, author=2)


@second([0.3, 0.8], loss=INF, event=Event.TAIL)
def exact_divisor(data: Any) -> object:
    """A noisy sum is divided by the exact number of records."""
    return laplace(sum(data)) / max(len(data), 1)


THRESHOLD, QUESTION = N.LaplaceMechanism(0.5, 1.0), N.LaplaceMechanism(0.25, 1.0)


@second(BITS, relation=REPLACE, loss=9.96, event=Event.WEIGHTED)
def never_stops(data: Any) -> object:
    """Forty counts are compared with a noisy threshold, with the noise for a comparison that stops after one."""
    threshold = THRESHOLD.add_noise(len(data) / 2)
    ones = float(sum(data))
    return [
        int(QUESTION.add_noise(count) >= threshold) for count in (ones, len(data) - ones) for _ in range(20)
    ]


@second(["ant", "ant", "bee"], loss=INF, event=Event.TAIL)
def scale_of_groups(data: Any) -> object:
    """Epsilon is split among the words that occur, so the noise of five counts shows how many words occur."""
    noise = N.LaplaceMechanism(1.0 / max(len(set(data)), 1), 1.0)
    return [noise.add_noise(float(Counter(data)[word])) for word in FIVE]


@second([0.1, 0.5, 0.9], loss=INF)
def small_group_raises(data: Any) -> object:
    """A group of fewer than three records is refused with an exception."""
    if len(data) < 3:
        raise ValueError("The group is too small.")
    return bounded("BoundedMean", data)


@second(WORDS, relation=REPLACE, loss=INF, event=Event.WORD)
def order_of_arrival(data: Any) -> object:
    """Words with noisy counts are listed in the order in which they first occur in the data."""
    times = Counter(data)
    return [(word, round(laplace(times[word], 2.0))) for word in dict.fromkeys([*data, *FIVE])]


@second([40, 35, 10, 20, 12, 30], loss=2.55, event=Event.THRESHOLD)
def eight_bits(data: Any) -> object:
    """A sum of values in [0, 100] is kept in eight bits and wraps around at 128; the noise is for a change of 100."""
    total = np.clip(data, 0, 100).astype(np.int8).sum(dtype=np.int8)
    return laplace(int(total), 100.0)


untouched("LaplaceMechanism", lambda data: laplace(sum(data)), AGES)
untouched(
    "GaussianMechanism",
    lambda data: N.GaussianMechanism(1.0, 1e-6, 1.0).add_noise(float(sum(data))),
    AGES,
    claim=(1.0, 1e-6),
)
for name in ("BoundedSum", "BoundedMean", "BoundedVariance", "BoundedStandardDeviation", "Max", "Median"):
    untouched(name, lambda data, name=name: bounded(name, data), AGES)
untouched("Count", lambda data: A.Count(epsilon=1, dtype="int").quick_result(data), BITS)
