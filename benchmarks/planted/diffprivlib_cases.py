"""Mechanisms of diffprivlib, planted with faults and untouched."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.planted.case import ADD_REMOVE, AGES, BITS, FIVE, INF, REPLACE, WORDS, Cases, Event

M, T, L = (import_module(f"diffprivlib.{name}") for name in ("mechanisms", "tools", "models"))
CASES = Cases("diffprivlib")
planted, untouched = CASES.planted, CASES.untouched
ROWS = np.array(
    [[0.0, 0.1], [0.2, 0.9], [0.4, 0.4], [0.5, 0.3], [0.6, 0.8], [0.7, 0.1], [0.9, 0.5], [1.0, 1.0]]
)
WIDE = np.vstack([np.zeros(50), np.eye(50)[:6], np.ones(50)])
FROZEN = M.Laplace(epsilon=1, sensitivity=0.1).randomise(0.0)


def laplace(value: float, sensitivity: float, **rest: Any) -> float:
    """Return a value with the Laplace noise of diffprivlib for epsilon 1."""
    return float(M.Laplace(epsilon=1, sensitivity=sensitivity, **rest).randomise(float(value)))


def counts(words: list[str]) -> list[float]:
    """Return how often each of five words occurs."""
    return [float(Counter(words)[word]) for word in FIVE]


@planted(AGES, relation=REPLACE, loss=1.3, event=Event.THRESHOLD)
def mean_noise_13(data: Any) -> object:
    """The noise of a mean is 1.3 times too small."""
    return laplace(np.clip(data, 0, 1).mean(), 1 / (1.3 * len(data)))


HALVED = M.GaussianAnalytic(epsilon=1, delta=1e-5, sensitivity=0.5)


@planted(AGES, claim=(1.0, 1e-5), loss=2.15, event=Event.THRESHOLD)
def gaussian_half(data: Any) -> object:
    """Gaussian noise on a sum is calibrated to half the sensitivity."""
    return HALVED.randomise(float(np.clip(data, 0, 1).sum()))


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def mean_data_bounds(data: Any) -> object:
    """The bounds of a mean are the smallest and the largest value of the data."""
    return T.mean(data, epsilon=1)


@planted(AGES, loss=INF, event=Event.THRESHOLD)
def histogram_data_range(data: Any) -> object:
    """The range of a histogram is taken from the data, and its edges are released."""
    return np.concatenate(T.histogram(data, epsilon=1, bins=5))


@planted(WIDE, relation=ADD_REMOVE, loss=INF)
def one_noise_for_50(data: Any) -> object:
    """Fifty sums get the same noise, so their differences are exact."""
    return np.clip(data, 0, 1).sum(axis=0) + laplace(0, 50)


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def frozen_noise(data: Any) -> object:
    """The noise is drawn once when the module is imported, and used in all calls."""
    return np.clip(data, 0, 1).mean() + FROZEN


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def fixed_seed(data: Any) -> object:
    """The generator is seeded with the same number in each call."""
    return laplace(np.clip(data, 0, 1).mean(), 1 / len(data), random_state=7)


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def seed_from_data(data: Any) -> object:
    """The generator is seeded with the data."""
    return laplace(np.clip(data, 0, 1).mean(), 1 / len(data), random_state=int(1000 * sum(data)))


@planted(WORDS, relation=REPLACE, loss=2.0, event=Event.WORD)
def exponential_half(data: Any) -> object:
    """The exponential mechanism gets half the sensitivity of its utility."""
    return M.Exponential(epsilon=1, sensitivity=0.5, utility=counts(data), candidates=FIVE).randomise()


@planted(WORDS, loss=INF, event=Event.WORD)
def occurring_candidates(data: Any) -> object:
    """The candidates of the exponential mechanism are the words that occur in the data."""
    seen = Counter(data)
    return (
        M.Exponential(
            epsilon=1, sensitivity=1, utility=[float(n) for n in seen.values()], candidates=list(seen)
        ).randomise()
        if seen
        else ""
    )


@planted(WORDS, relation=REPLACE, loss=2.0, event=Event.WORD)
def wrongly_monotonic(data: Any) -> object:
    """Permute-and-flip is told that its utility is monotonic, though a replaced record moves two counts apart."""
    return M.PermuteAndFlip(
        epsilon=1, sensitivity=1, utility=counts(data), candidates=FIVE, monotonic=True
    ).randomise()


@planted(BITS, relation=REPLACE, loss=3.0)
def weak_seventh(data: Any) -> object:
    """Randomised response protects the seventh of ten persons with epsilon 3."""
    return [
        int(M.Binary(epsilon=3 if at == 6 else 1, value0="0", value1="1").randomise(str(bit)))
        for at, bit in enumerate(data)
    ]


@planted(BITS, loss=INF, event=Event.LOW)
def parity_kept(data: Any) -> object:
    """A count gets twice a geometric noise, so its parity is exact."""
    return int(sum(data)) + 2 * int(M.Geometric(epsilon=1, sensitivity=1).randomise(0))


@planted([*AGES, float("nan")], relation=REPLACE, loss=100.0, event=Event.THRESHOLD)
def nan_after_clipping(data: Any) -> object:
    """A missing value becomes 100 after the values were clipped to [0, 1]."""
    return laplace(np.nan_to_num(np.clip(data, 0, 1), nan=100.0).sum(), 1)


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def median_data_bounds(data: Any) -> object:
    """The bounds of a private median are taken from the data."""
    return T.quantile(data, 0.5, epsilon=1)


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def median_of_ties(data: Any) -> object:
    """A median is released without noise if three records are equal to it."""
    middle = sorted(data)[len(data) // 2]
    return middle if data.count(middle) > 2 else T.quantile(data, 0.5, epsilon=1, bounds=(0, 1))


@planted(ROWS, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def scaler_data_bounds(data: Any) -> object:
    """A standard scaler takes its bounds from the data."""
    return L.StandardScaler(epsilon=1).fit(data).mean_


@planted(ROWS, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def bayes_exact_prior(data: Any) -> object:
    """A naive Bayes classifier is released with the exact share of its first class."""
    labels = (data[:, 1] > 0.5).astype(int)
    model = L.GaussianNB(epsilon=1, bounds=(0, 1)).fit(data[:, :1], labels)
    return np.append(model.theta_.ravel(), labels.mean())


@planted(ROWS, relation=REPLACE)
def pca_data_norm(data: Any) -> object:
    """A principal component is computed with the largest norm of the data as its bound."""
    return L.PCA(1, epsilon=1, bounds=(0, 1)).fit(data).explained_variance_


second = partial(planted, author=2)


@second([0.0, 0.4, 1.0, 1.5, 2.0], relation=REPLACE, loss=2.0, event=Event.THRESHOLD)
def squares_half(data: Any) -> object:
    """A mean of the squares of values in [0, 2] gets noise for numbers in [0, 2], though squares reach 4."""
    return laplace((np.clip(data, 0, 2) ** 2).mean(), 2 / len(data))


@second(ROWS, loss=INF, event=Event.WORD)
def fitted_attributes(data: Any) -> object:
    """All fitted attributes of a standard scaler are written into a text, with the exact number of records."""
    model = L.StandardScaler(epsilon=1, bounds=(0, 1)).fit(data)
    return "\n".join(f"{name} = {value}" for name, value in vars(model).items() if name.endswith("_"))


@second([1], loss=1.21, event=Event.THRESHOLD)
def redrawn_count(data: Any) -> object:
    """A noisy count is drawn again until it is not negative."""
    noise = M.Geometric(epsilon=1, sensitivity=1)
    return next(count for count in iter(lambda: noise.randomise(len(data)), None) if count >= 0)


@second(AGES, relation=REPLACE, loss=INF)
def exact_if_negative(data: Any) -> object:
    """A noisy mean is replaced by the exact mean if it is negative."""
    mean = np.clip(data, 0, 1).mean()
    noisy = laplace(mean, 1 / len(data))
    return noisy if noisy >= 0 else mean


@second([0.137, 0.452, 0.71, 0.009, 0.33], relation=REPLACE, loss=INF)
def rounded_noise(data: Any) -> object:
    """The noise is rounded to two digits, and the sum to which it is added is not."""
    return sum(data) + round(laplace(0, 1), 2)


@cache
def remembered(count: int) -> float:
    """Return a noisy count; each count gets its noise once."""
    return laplace(count, 1)


@second(BITS, loss=INF, event=Event.THRESHOLD)
def cached_answer(data: Any) -> object:
    """The noisy answer for each true count is cached, so the same count has always the same noise."""
    return remembered(sum(data))


untouched("Laplace", lambda data: laplace(sum(data), 1), AGES)
untouched("Geometric", lambda data: M.Geometric(epsilon=1, sensitivity=1).randomise(sum(data)), BITS)
untouched(
    "LaplaceFolded",
    lambda data: M.LaplaceFolded(epsilon=1, sensitivity=0.1, lower=0, upper=1).randomise(
        float(np.mean(data))
    ),
    AGES,
    relation=REPLACE,
)
untouched("Staircase", lambda data: M.Staircase(epsilon=1, sensitivity=1).randomise(sum(data)), AGES)
untouched(
    "Gaussian",
    lambda data: M.Gaussian(epsilon=1, delta=1e-5, sensitivity=1).randomise(sum(data)),
    AGES,
    claim=(1.0, 1e-5),
)
untouched(
    "Exponential",
    lambda data: M.Exponential(epsilon=1, sensitivity=1, utility=counts(data), candidates=FIVE).randomise(),
    WORDS,
)
untouched(
    "PermuteAndFlip",
    lambda data: M.PermuteAndFlip(
        epsilon=1, sensitivity=1, utility=counts(data), candidates=FIVE
    ).randomise(),
    WORDS,
)
untouched("tools.mean", lambda data: T.mean(data, epsilon=1, bounds=(0, 1)), AGES, relation=REPLACE)
untouched(
    "models.StandardScaler",
    lambda data: L.StandardScaler(epsilon=1, bounds=(0, 1)).fit(data).mean_,
    ROWS,
    relation=REPLACE,
    author=2,
)
untouched(
    "tools.quantile", lambda data: T.quantile(data, 0.5, epsilon=1, bounds=(0, 1)), AGES, relation=REPLACE
)
