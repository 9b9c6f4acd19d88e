"""Attacks on the sparse vector technique: all outcomes of streams, and the events of its lower bounds by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr
from scipy.stats import binom

import dpproof
from benchmarks.soundness.attack import Attack, Floats, Seen, between, hockey, judged
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.sparse_vector.counted_pair import Counted, CountedPair
from dpproof.accountant.sparse_vector.gaussian_pair import Event, OneEvent
from dpproof.accountant.sparse_vector.technique import AlternatingPair, Moves

Tail = Callable[[Floats], Floats]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _laplace_tail(x: Floats) -> Floats:
    return np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def _normal_tail(x: Floats) -> Floats:
    return np.asarray(ndtr(-x))


def _nodes(kinks: Floats, scales: tuple[float, float], gaussian: bool) -> tuple[Floats, Floats]:
    """Return nodes and weights for the noise of the threshold: a Gauss rule on pieces that are short near the kinks."""
    scale, far = scales[0], (12 if gaussian else 200) * scales[0]
    near = np.concatenate(
        [np.geomspace(0.25, 100, 12) * scales[1], [0.0], np.geomspace(0.25, 100, 12) * -scales[1]]
    )
    inner = (np.unique(kinks.round(12))[:, None] + near).ravel()
    steps = np.sinh(np.linspace(-7, 7, 81)) / math.sinh(7) * far
    ends = np.unique(np.concatenate([steps, inner[np.abs(inner) < far], [0.0]]))
    half = np.diff(ends) / 2
    places = (ends[:-1] + half)[:, None] + half[:, None] * _NODES
    if gaussian:
        density = np.exp(-((places / scale) ** 2) / 2) / math.sqrt(2 * math.pi)
    else:
        density = np.exp(-np.abs(places) / scale) / 2
    return places.ravel(), (density * half[:, None] * _WEIGHTS / scale).ravel()


def _outcomes(
    values: Floats, moves: Floats, scales: tuple[float, float], positives: int, gaussian: bool
) -> tuple[Floats, Floats]:
    """Return the probabilities of all outcomes of a stream under both data sets: the places of the answers above."""
    z, weights = _nodes(np.concatenate([values, values + moves]), scales, gaussian)
    tail = _normal_tail if gaussian else _laplace_tail
    laws = []
    for queries in (values, values + moves):
        over = tail((z - queries[:, None]) / scales[1])
        ends: list[float] = []
        alive: dict[tuple[int, ...], Floats] = {(): weights}
        for above in over:
            following: dict[tuple[int, ...], Floats] = {}
            for seen, mass in alive.items():
                following[(*seen, 0)] = mass * (1 - above)
                if sum(seen) + 1 == positives:
                    ends.append(float((mass * above).sum()))
                else:
                    following[(*seen, 1)] = mass * above
            alive = following
        laws.append(np.array([*ends, *(float(mass.sum()) for mass in alive.values())]))
    return laws[0], laws[1]


def _worst(
    epsilon: float,
    scales: tuple[float, float],
    positives: int,
    gaussian: bool,
    monotone: bool,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Return the largest delta of streams of three blocks of equal queries, and the number of queries."""
    shapes = (
        [(4, 2, 0), (2, 2, 2), (6, 4, 0), (1, 3, 3)]
        if positives > 1
        else [(12, 12, 0), (40, 20, 0), (8, 8, 8), (1, 9, 0)]
    )
    counts = shapes[int(rng.integers(len(shapes)))]
    moves = np.repeat([1.0, 0.0 if monotone else -1.0, 1.0], counts)

    def missed(levels: Floats) -> float:
        return -hockey(*_outcomes(np.repeat(levels, counts), moves, scales, positives, gaussian), epsilon)

    starts = [np.array([0.0, -2.0, -2.0]), np.array([-1.5, -1.5, -1.5]), rng.normal(size=3) * 2]
    found = [minimize(missed, at * scales[1], method="Nelder-Mead", options={"maxfev": 40}) for at in starts]
    return -min(float(one.fun) for one in found), sum(counts)


def laplace_streams(rng: np.random.Generator, fine: int) -> Seen:
    """Attack the upper bound by streams whose values an optimiser chooses, with all outcomes."""
    positives, monotone = int(rng.integers(1, 3)), bool(rng.integers(2))
    scales = between(rng, 0.7, 10), between(rng, 0.7, 10)
    given: dict[str, Any] = {
        "threshold_scale": scales[0], "query_scale": scales[1], "positives": positives, "monotone": monotone,
        "sensitivity": 1,
    }  # fmt: skip
    answer = dpproof.account("sparse-vector", **given)
    epsilon = rng.uniform(0, 1) * answer.epsilon(0).upper
    reached, _ = _worst(epsilon, scales, positives, False, monotone, rng)
    return judged(answer.delta(epsilon), reached, f"sparse vector {given} {epsilon}")


def gaussian_streams(rng: np.random.Generator, fine: int) -> Seen:
    """Attack the upper bound of the Gaussian technique likewise."""
    positives, monotone = int(rng.integers(1, 3)), bool(rng.integers(2))
    scales = between(rng, 0.7, 10), between(rng, 0.7, 10)
    epsilon = between(rng, 0.05, 3)
    reached, queries = _worst(epsilon, scales, positives, True, monotone, rng)
    given: dict[str, Any] = {
        "threshold_sigma": scales[0], "query_sigma": scales[1], "positives": positives, "monotone": monotone,
        "sensitivity": 1, "queries": queries,
    }  # fmt: skip
    return judged(
        dpproof.account("gaussian-sparse-vector", **given).delta(epsilon), reached, f"{given} {epsilon}"
    )


def _counted(event: Counted, scales: tuple[float, float], moves: tuple[int, int]) -> float:
    """Return the probability of an event of `CountedPair`, with the binomial law of scipy."""
    early, late = event.early + moves[0], event.late + moves[1]
    z, weights = _nodes(np.array([early, late]), scales, False)
    under = 1 - _laplace_tail((z - early) / scales[1])
    over = _laplace_tail((z - late) / scales[1])
    return float((weights * under**event.below * binom.sf(event.above - 1, event.rest, over)).sum())


def _within(pair: Any, event: Any, truth: tuple[float, float], detail: str) -> Seen:
    """Compare the certified ends of an event's two probabilities with quadrature."""
    with precision(192):
        low, high = (float(end) for end in pair.chances(event))
    wrong = low > truth[0] * (1 + 1e-7) or high < truth[1] * (1 - 1e-7)
    return Seen(
        wrong, low / truth[0] if truth[0] else 0.0, f"{detail} {event}: {low} {high} {truth}" if wrong else ""
    )


def counted(rng: np.random.Generator, fine: int) -> Seen:
    """Recompute the probabilities of an event of counted answers, on which a lower bound rests."""
    scales = between(rng, 3, 300), between(rng, 3, 300)
    monotone, above = bool(rng.integers(2)), int(rng.integers(1, 11))
    moves = ((1, 0), (0, -1))[int(rng.integers(2))] if monotone else (1, -1)
    below = int(rng.integers(0, 500)) * moves[0]
    early, late = (float(x) * scales[1] for x in rng.uniform(-2, 2, 2))
    event = Counted(below, above + int(rng.integers(0, 30)), above, early, late, moves)
    rates = 1 / Fraction(scales[0]), 1 / Fraction(scales[1])
    pair = CountedPair(*rates, above, monotone, PureDP(600))
    truth = _counted(event, scales, (0, 0)), _counted(event, scales, moves)
    return _within(pair, event, truth, f"counted {scales}")


def one_event(rng: np.random.Generator, fine: int) -> Seen:
    """Recompute the probabilities of an event of the Gaussian technique, on which its lower bound rests."""
    scales, monotone = (between(rng, 0.5, 50), between(rng, 0.5, 50)), bool(rng.integers(2))
    below, rest, every = int(rng.integers(0, 300)), int(rng.integers(1, 30)), bool(rng.integers(2))
    event = Event(below, rest, every, *(float(x) * sum(scales) for x in rng.uniform(-2, 2, 2)))
    pair = OneEvent(1 / Fraction(scales[0]), 1 / Fraction(scales[1]), below + rest, rest, monotone)
    truth = []
    for early, late in ((0, 0), (1, 0 if monotone else -1)):
        z, weights = _nodes(np.array([event.early + early, event.late + late]), scales, True)
        under = ndtr((z - event.early - early) / scales[1])
        over = ndtr((event.late + late - z) / scales[1])
        some = over**rest if every else -np.expm1(rest * log_ndtr((z - event.late - late) / scales[1]))
        truth.append(float((weights * under**below * some).sum()))
    return _within(pair, event, (truth[0], truth[1]), f"one event {scales}")


def alternating(rng: np.random.Generator, fine: int) -> Seen:
    """Recompute the lower bound of queries at the threshold, all answered below, and lower ones answered above."""
    scales = between(rng, 1, 30), between(rng, 1, 30)
    positives, monotone = int(rng.integers(1, 6)), bool(rng.integers(2))
    moves = (Moves(1, 0), Moves(0, -1))[int(rng.integers(2))] if monotone else Moves(1, -1)
    rates = 1 / Fraction(scales[0]), 1 / Fraction(scales[1]), Fraction(0)
    pure = float(moves.epsilon(*rates, positives))
    pair = AlternatingPair(moves, rates, positives, 1, PureDP(pure))
    delta = between(rng, 1e-12, 1e-3)
    z, weights = _nodes(np.arange(-5.0, 50.0) * scales[1], scales, False)
    late = -max(-moves.above, -moves.below)
    best = 0.0
    for power in range(30):
        laws = [
            _alternated(z, scales[1], 2**power, positives, early, value) @ weights
            for early, value in ((0, late - moves.above), (moves.below, late))
        ]
        if laws[0] > delta and laws[1] > 0:
            best = max(best, math.log((laws[0] - delta) / laws[1]))
    found = pair.epsilon(delta)
    return judged(found, found.lower, f"alternating {scales} {positives} {moves} {delta}", best, 1e-6)


def _alternated(z: Floats, scale: float, below: int, above: int, early: float, late: float) -> Floats:
    under = below * np.log1p(-np.minimum(_laplace_tail((z - early) / scale), 1 - 1e-16))
    return np.asarray(np.exp(under) * _laplace_tail((z - late) / scale) ** above)


def in_turn(rng: np.random.Generator, fine: int) -> Seen:
    """Reach the lower bound of low queries that move up and down in turn, by a long stream with all outcomes."""
    monotone, scale = bool(rng.integers(2)), between(rng, 1, 20)
    epsilon = rng.uniform(0, 1) / scale / (2 if monotone else 1)
    given: dict[str, Any] = {
        "threshold_scale": scale / 5,
        "query_scale": scale,
        "monotone": monotone,
        "sensitivity": 1,
    }
    lower = PureDP(Fraction(1) / Fraction(scale) / (2 if monotone else 1)).delta(epsilon)
    moves = np.array([1.0, 0.0 if monotone else -1.0])
    share = 1 / (1 + math.exp(-(moves[0] - moves[1]) / scale / 2))
    kinds = (
        np.diff(np.floor(np.arange(1501) * share)) < 0.5
    )  # True for the first kind, w_1 : w_2 = e^(-L/2) : 1
    stream = np.where(kinds, moves[0], moves[1])
    laws = _outcomes(np.full(1500, -scale * math.log(100.0)), stream, (scale / 5, scale), 1, False)
    reached = hockey(*laws, epsilon)
    answer = dpproof.account("sparse-vector", **given).delta(epsilon)
    return judged(Bound(lower.lower, answer.upper), reached, f"in turn {given} {epsilon}", reached, 0.02)


_ALL = "all outcomes by quadrature; streams chosen by an optimiser"
_EVENT = "the pair's event recomputed by quadrature in scipy"
ATTACKS = (
    Attack("sparse vector, upper bound", _ALL, 60, laplace_streams),
    Attack("sparse vector, lower bound by alternating queries", _EVENT, 100, alternating),
    Attack("sparse vector, lower bound by counted answers", _EVENT, 200, counted),
    Attack(
        "sparse vector, lower bound by low queries in turn",
        "streams of 1,500 queries, all outcomes",
        40,
        in_turn,
    ),
    Attack("Gaussian sparse vector, upper bound", _ALL, 60, gaussian_streams),
    Attack("Gaussian sparse vector, lower bound", _EVENT, 200, one_event),
)
