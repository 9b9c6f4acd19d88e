"""Mechanisms of OpenDP, planted with faults and untouched."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.planted.case import ADD_REMOVE, AGES, BITS, FIVE, INF, REPLACE, WORDS, Cases, Event

dp = import_module("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")
CASES = Cases("opendp")
planted, untouched = CASES.planted, CASES.untouched
VISITS = [0, 1, 2, 3, 4, 5, 7, 9, 10, 40]
TEXTS = (dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
WHOLE = (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
REAL = (dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance())


def whole(scale: float) -> Any:
    """Return OpenDP's integer Laplace mechanism of a scale."""
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=scale)


ONE, TEN, TENTH = whole(1.0), whole(10.0), whole(0.1)


@planted(VISITS, loss=4.0, event=Event.THRESHOLD)
def sum_unclamped(data: Any) -> object:
    """A sum of visits gets noise for at most 10 visits of a person, but is not clamped; one person has 40."""
    return TEN(sum(data))


RANDOMISED = dp.m.make_randomized_response(categories=FIVE, prob=math.e / (1 + math.e))


@planted(["ant", "bee"], relation=REPLACE, loss=1 + math.log(4), event=Event.WORD)
def response_of_five(data: Any) -> object:
    """Randomised response with five categories keeps the truth with the probability that is right for two."""
    return RANDOMISED(data[0])


BINS = dp.t.make_count_by_categories(*TEXTS, categories=FIVE, null_category=False) >> dp.m.then_laplace(
    scale=1.0
)


@planted(WORDS, loss=INF, event=Event.THRESHOLD)
def largest_bin_exact(data: Any) -> object:
    """The largest bin of a noisy histogram is replaced by its true count."""
    noisy = BINS(data)
    word, times = Counter(data).most_common(1)[0] if data else ("ant", 0)
    noisy[FIVE.index(word)] = times
    return noisy


COUNTS = (
    dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)),
    dp.l01inf_distance(dp.absolute_distance(T=int)),
)
LOW = dp.m.make_laplace_threshold(*COUNTS, scale=1.0, threshold=3)


@planted(WORDS, claim=(1.0, 1e-6), loss=INF, event=Event.WORD)
def low_threshold(data: Any) -> object:
    """Words are released above a noisy count of 3, which is too low for delta 1e-6."""
    return tuple(sorted(LOW(dict(Counter(data)))))


NORMAL = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


@planted(BITS, claim=(1.0, 1e-6), loss=4.9, event=Event.THRESHOLD)
def gaussian_without_delta(data: Any) -> object:
    """The scale of a discrete Gaussian is sensitivity / epsilon, without the factor for delta."""
    return NORMAL(sum(data))


def quantile(candidates: list[float], scale: float) -> Any:
    """Return OpenDP's median among candidates, chosen by noisy scores."""
    scores = dp.t.make_quantile_score_candidates(*REAL, candidates, 0.5)
    return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale)


@planted(AGES, relation=REPLACE, loss=INF, event=Event.THRESHOLD)
def candidates_of_data(data: Any) -> object:
    """The candidates of a median are the values in the data."""
    values = sorted(set(map(float, data)))
    return values[quantile(values, 4.0)(list(data))] if len(values) > 1 else values[0]


TENTHS = [step / 10 for step in range(11)]
MEDIAN = quantile(TENTHS, 1.0)


@planted(AGES, loss=2.0, event=Event.THRESHOLD)
def median_half_scale(data: Any) -> object:
    """A median is chosen with half of the noise that its scores need (OpenDP's own map gives epsilon 2)."""
    return TENTHS[MEDIAN(list(data))]


TREE = dp.t.make_b_ary_tree(
    dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), leaf_count=8, branching_factor=2
) >> dp.m.then_laplace(scale=1.0)


@planted([0, 1, 1, 3, 4, 6, 7, 7], loss=4.0, event=Event.WEIGHTED)
def tree_one_level(data: Any) -> object:
    """A tree of counts with four levels gets the noise that one level needs."""
    return TREE([list(data).count(leaf) for leaf in range(8)])


@planted(BITS, loss=INF, event=Event.THRESHOLD)
def sparse_vector_one_noise(data: Any) -> object:
    """The first of ten prefix sums above a noisy threshold is released; only the threshold has noise."""
    threshold = 3 + ONE(0)
    return next((at for at in range(len(data)) if sum(data[: at + 1]) >= threshold), len(data))


@planted(BITS, claim=(0.1, 0.0), loss=10.0, event=Event.THRESHOLD)
def scale_is_epsilon(data: Any) -> object:
    """The scale of the noise is epsilon / sensitivity, and not sensitivity / epsilon."""
    return TENTH(sum(data))


@planted(AGES, loss=3.0, event=Event.WEIGHTED)
def quartiles_thrice(data: Any) -> object:
    """Three counts of the same records get the whole epsilon each."""
    return [ONE(sum(value >= low for value in data)) for low in (0.0, 0.1, 0.15)]


@planted(WORDS, loss=INF, event=Event.LOW)
def count_and_checksum(data: Any) -> object:
    """A noisy count is packed into an integer with the exact number of records modulo 16 as its lowest digits."""
    return (ONE(len(data)) + 1000) * 16 + len(data) % 16


second = partial(planted, author=2)
COIN = dp.m.make_randomized_response_bool(prob=math.e / (1 + math.e))


@second(["ant", "bee"], relation=REPLACE, loss=2.0, event=Event.WEIGHTED)
def unary_whole_epsilon(data: Any) -> object:
    """A word becomes five bits, one for each word, and each bit is randomised with the whole epsilon."""
    return [int(COIN(word == data[0])) for word in FIVE]


HALF = whole(1 / math.log(1 + 2 * (math.e - 1)))


@second(BITS, relation=REPLACE, loss=1.49, event=Event.THRESHOLD)
def even_rows(data: Any) -> object:
    """The noise counts on a random half of the records, but the half is always that of the even rows."""
    return HALF(sum(data[::2]))


@second(WORDS, loss=INF, event=Event.WEIGHTED)
def exact_total(data: Any) -> object:
    """Noisy counts of words are scaled so that they add up to the exact number of records."""
    noisy = [max(count, 0) for count in BINS(data)]
    return [len(data) * count / max(sum(noisy), 1) for count in noisy]


@second(WORDS, loss=INF, event=Event.THRESHOLD)
def empty_cells(data: Any) -> object:
    """Words that do not occur get a count of 0 without noise."""
    times = Counter(data)
    return [ONE(times[word]) if times[word] else 0 for word in FIVE]


LETTERS = list("abcdefghijklmnopqrstuvwxyz")
LETTER = dp.m.make_randomized_response(categories=LETTERS, prob=math.exp(0.1) / (25 + math.exp(0.1)))


@second(["bo", "christina", "eva"], relation=REPLACE, loss=INF)
def length_of_name(data: Any) -> object:
    """Each letter of a name of at most ten letters is randomised with a tenth of epsilon; its length is kept."""
    return "".join(LETTER(letter) for letter in data[0])


@second(BITS, loss=INF, event=Event.TAIL)
def bounded_noise(data: Any) -> object:
    """The noise of a count is drawn again until it is at most 3 in size."""
    return sum(data) + next(noise for noise in iter(lambda: ONE(0), None) if abs(noise) <= 3)


SUM = dp.t.make_clamp(*WHOLE, bounds=(0, 10)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)
MAX = dp.m.make_noisy_max(
    dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int), dp.max_divergence(), scale=2.0
)
DISTINCT = dp.t.make_count_distinct(*TEXTS) >> dp.m.then_laplace(scale=1.0)
RIGHT = dp.m.make_randomized_response(categories=FIVE, prob=math.e / (4 + math.e))
HIGH = dp.m.make_laplace_threshold(*COUNTS, scale=1.0, threshold=16)
untouched("make_sum", lambda data: SUM(data), VISITS, relation=ADD_REMOVE)
untouched("make_noisy_max", lambda data: MAX([data.count(word) for word in FIVE]), WORDS, relation=REPLACE)
untouched("make_count_distinct", lambda data: DISTINCT(data), WORDS)
untouched("make_randomized_response", lambda data: RIGHT(data[0]), ["ant", "bee"], relation=REPLACE)
untouched(
    "make_laplace_threshold",
    lambda data: tuple(sorted(HIGH(dict(Counter(data))).items())),
    WORDS * 3,
    claim=(1.0, 1e-6),
)
untouched("make_count_by_categories", lambda data: BINS(data), WORDS)
BIT = dp.m.make_randomized_response_bool(prob=math.exp(0.5) / (1 + math.exp(0.5)))
untouched(
    "make_randomized_response_bool",
    lambda data: [int(BIT(word == data[0])) for word in FIVE],
    ["ant", "bee"],
    relation=REPLACE,
    author=2,
)
