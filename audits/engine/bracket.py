"""A lower bound on epsilon from one set of samples, beside the certified upper bound.

The score of an output is its log-likelihood ratio under the pair of distributions that dominates the mechanism; if the
output is a whole training, its score is one number. The event is "the score is above a threshold", or below one. The
threshold comes from the claimed guarantee. One in a hundred samples only serves to choose the direction, and to see
whether the claim describes the scores. The other samples are tested at once. The numbers of events on both inputs are
binomial, and a hypothesis "P(event) <= b(Q(event))" is rejected if the largest probability of counts as extreme as the
observed ones is at most alpha, for all pairs of probabilities that it allows. Each guarantee implies such a hypothesis
with b(q) = delta + exp(epsilon) q. The first bound assumes no more. The second one assumes that the mechanism has the
claimed guarantee with some amount of noise. Source: docs/notes/audit_bracket.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.written import rounded
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.coin_tests import extreme, interval, least_favourable, weights_at, weights_between
from dpproof.audits.engine.sampling.callables import generator

Floats = NDArray[np.float64]
Sampler = Callable[[Any, int, np.random.Generator], NDArray[Any]]
Ratio = Callable[[NDArray[Any]], Floats]
SAMPLES = 100_000
_PIECES, _THRESHOLDS, _LARGEST, _NOISIEST = 200, 40, 60.0, 2.0
FEWEST, _PILOT = 2_000, 100
"""The fewest samples, and one part in how many only decides in which direction the event is sought."""
_EXPECTED, _FEW = 8, 20
"""Scores contradict the claimed law if so many events are expected, and at most a quarter of them is seen."""
_SHARES = (0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
_NUISANCE = 0.02
"""The share of alpha that bounds the two unknown probabilities themselves."""
_STREAM = 77


@dataclass(frozen=True)
class Event:
    """The event that the score is above ``threshold``.

    Attributes:
        threshold: the number that the score is compared with.
        weights: the statistic of the test is ``weights[0]`` times the number of events on the input where they are more
            likely, minus ``weights[1]`` times the number on the other input.
    """

    threshold: float
    weights: tuple[float, float]

    def counts(self, first: Floats, second: Floats) -> tuple[int, int]:
        """Return the number of events among the scores on the second input and on the first one."""
        return int((second > self.threshold).sum()), int((first > self.threshold).sum())


@dataclass(frozen=True)
class Bracket:
    """A certified upper and a measured lower bound on epsilon.

    Attributes:
        claimed: the certified upper bound on epsilon at `delta`.
        lower: with confidence 1 - `alpha`, the mechanism is not (x, delta)-DP for any x below it.
        limit: about the largest lower bound that a test on one event shows with probability 1/2, if the mechanism
            attains its guarantee: the test that knows the least favourable probabilities, at the expected counts.
        given_family: the lower bound if the mechanism has the guarantee of the claim with some amount of noise. The
            confidence holds for this number by itself. None if the noise cannot be changed.
        delta: the delta at which epsilon is stated.
        alpha: the probability that `lower` is too large is at most `alpha`.
        samples: the number of samples, of both inputs together.
        counts: how often the event of `lower` happened on the input where it is more likely, and on the other one.
        threshold: the event of `lower` is that the score is above this number, or below it.
        above: whether it is above. The event is then more likely on the second input, and otherwise on the first one.
        seed: the seed of all randomness.
    """

    claimed: float
    lower: float
    limit: float
    given_family: float | None
    delta: float
    alpha: float
    samples: int
    counts: tuple[int, int]
    threshold: float
    above: bool
    seed: int

    @property
    def violated(self) -> bool:
        """Whether the lower bound is above the certified upper bound."""
        return self.lower > self.claimed

    def as_json(self) -> Mapping[str, Any]:
        """Return all numbers by their names."""
        return {**asdict(self), "violated": self.violated}

    def __str__(self) -> str:
        sure = f"{100 * (1 - self.alpha):g} %"
        lines = [
            f"epsilon at delta {self.delta:g} is at most {rounded(self.claimed, up=True, digits=5)} (certified)",
            f"epsilon is at least {rounded(self.lower, up=False, digits=5)} "
            f"(measured, confidence {sure}, {self.samples:,} samples)",
            f"  with so many samples the best test of one event shows about {self.limit:.4g} in half of its runs",
        ]
        if self.given_family is not None:
            lines.append(
                f"epsilon is at least {rounded(self.given_family, up=False, digits=5)} (measured, confidence {sure}) "
                "if the mechanism has the claimed guarantee with some other noise"
            )
        if self.violated:
            lines.append("VIOLATION: the mechanism is less private than its certified guarantee")
        return "\n".join(lines)


def bracket(
    name: str,
    parameters: Parameters,
    adjacency: Adjacency,
    sample: Sampler,
    pair: Neighbours,
    ratio: Ratio,
    *,
    delta: float = 1e-5,
    alpha: float = 0.05,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Bracket:
    """Return a measured lower and a certified upper bound on epsilon for an implementation of a mechanism.

    Args:
        name, parameters, adjacency: the claim: a mechanism of dpproof, as for `dpproof.account`.
        sample: ``sample(data, n, rng)`` returns ``n`` independent outputs of the implementation.
        pair: the two neighbouring inputs.
        ratio: the log-likelihood ratio of each output, large where the second input is more likely. Any function gives
            a correct bound. The bound is large if the function is right.
        delta: the delta at which epsilon is stated, above 0 or 0.
        alpha: the largest probability that a lower bound is too large.
        samples: the number of samples of both inputs together.
        seed: the source of all randomness.

    Raises:
        ValueError: a number is outside its range, or the guarantee has no finite epsilon at ``delta``.

    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> pair = Neighbours(0.0, 1.0, "by-sensitivity", "two numbers")
    >>> def noisy(data, n, rng):
    ...     return data + rng.normal(0, 4.0, n)
    >>> found = bracket(
    ...     "gaussian", GaussianParameters(4.0), Adjacency.BY_SENSITIVITY, noisy, pair, lambda x: x / 16 - 1 / 32
    ... )
    >>> found.lower < found.claimed, found.violated
    (True, False)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be above 0 and below 1")
    if samples < FEWEST:
        raise ValueError(f"samples ({samples!r}) must be at least {FEWEST}")
    family = _Family(name, parameters, adjacency)
    curve = family.guarantee(1.0)
    claimed = curve.epsilon(delta).upper
    if not 0 < claimed < _LARGEST:
        raise ValueError(
            f"epsilon ({claimed!r}) of the claim at delta {delta:g} must be above 0 and below {_LARGEST:g}"
        )
    pilot = samples // _PILOT
    plan = _Plan(list(_choices(curve, claimed)), samples // 2 - pilot, delta, alpha)
    scores = (
        ratio(sample(data, plan.each + pilot, generator(seed, _STREAM, place)))
        for place, data in enumerate((pair.first, pair.second))
    )
    first, second = (np.asarray(one, dtype=np.float64).reshape(-1) for one in scores)
    for one in (first, second):
        if one.size != plan.each + pilot:
            raise ValueError(
                f"ratio returned {one.size} numbers for {plan.each + pilot} outputs. "
                "It must return one number for each."
            )
    scored, ways = second, [(first, second), (-second, -first)]
    first, second = max(ways, key=lambda way: plan.events(way[0][:pilot], way[1][:pilot]))
    limit, plan = plan.event_and_limit()[1], plan.after(first[:pilot], second[:pilot])
    above = second is scored
    first, second, event = first[pilot:], second[pilot:], plan.event_and_limit()[0]
    counts = event.counts(first, second)
    lower = _end_of(lambda epsilon: plan.rejects(event, counts, epsilon, delta), 0.0, _LARGEST)
    given = None
    if family.varies:
        wide = plan.event_of_family(family)
        given = plan.least_given_family(wide, wide.counts(first, second), family)
    threshold = event.threshold if above else -event.threshold
    return Bracket(
        claimed, lower, limit, given, delta, alpha, 2 * (plan.each + pilot), counts, threshold, above, seed
    )


@dataclass(frozen=True)
class _Family:
    """The claimed mechanism with other amounts of noise."""

    name: str
    parameters: Parameters
    adjacency: Adjacency

    @property
    def varies(self) -> bool:
        """Whether the parameter for the noise is a real number."""
        return isinstance(getattr(self.parameters, accountant_for(self.name).noise), float)

    def guarantee(self, factor: float) -> Profile:
        """Return the guarantee with ``factor`` times the noise, or with the epsilon divided by it."""
        accountant = accountant_for(self.name)
        changed = self.parameters
        if factor != 1:
            value = getattr(changed, accountant.noise)
            changed = replace(changed, **{accountant.noise: float(value * factor**accountant.safer)})
        return accountant.account(changed, self.adjacency).guarantee


def _choices(curve: Profile, claimed: float) -> Iterator[tuple[float, float, float]]:
    """Yield thresholds t, with P(score > t) and Q(score > t) if the claim is attained: from delta and its slope."""
    ends = np.linspace(0.0, min(1.4 * claimed, _LARGEST), _THRESHOLDS)
    deltas = [curve.delta(float(end)).upper for end in ends]
    for (low, above), (high, below) in pairwise(zip(ends.tolist(), deltas, strict=True)):
        q = (above - below) / (math.exp(high) - math.exp(low))
        threshold = (low + high) / 2
        p = (above + below) / 2 + math.exp(threshold) * q
        if 1e-12 < q < p < 1:
            yield threshold, p, q


def _observed(first: Floats, second: Floats) -> Iterator[tuple[float, float, float]]:
    """Yield quantiles of the scores on the first input, with the shares of scores above them on both inputs."""
    for share in _SHARES:
        threshold = max(float(np.quantile(first, 1 - share)), 0.0)
        counts = (int((scores > threshold).sum()) + 0.5 for scores in (second, first))
        p, q = (count / (len(first) + 1) for count in counts)
        if q < p:
            yield threshold, p, q


@dataclass(frozen=True)
class _Plan:
    """What is decided before the tested samples are seen."""

    choices: list[tuple[float, float, float]]
    each: int
    """The number of samples on each input."""
    delta: float
    alpha: float

    def events(self, first: Floats, second: Floats) -> int:
        """Return how many of some scores are above a threshold that few of them are expected to reach."""
        threshold = min(self.choices, key=lambda one: abs(len(first) * one[1] - _FEW))[0]
        return int((first > threshold).sum() + (second > threshold).sum())

    def after(self, first: Floats, second: Floats) -> _Plan:
        """Return the plan for the other scores.

        If these scores contradict the claimed law, the thresholds are their quantiles. The shares of these scores above
        the thresholds then stand for the probabilities.
        """
        n = len(first)
        for threshold, p, _ in self.choices:
            if n * p >= _EXPECTED and (second > threshold).sum() <= n * p / 4:
                return replace(self, choices=list(_observed(first, second)) or self.choices)
        return self

    def event_and_limit(self) -> tuple[Event, float]:
        """Return the event whose bound is largest in a slightly unlucky case, and the limit of all tests."""
        limits = [self._limit(*one, unlucky=0.0) for one in self.choices]
        unlucky = [self._limit(*one, unlucky=0.5) for one in self.choices]
        place = int(np.argmax(unlucky))
        threshold, p, q = self.choices[place]
        return Event(threshold, weights_at(p, q, unlucky[place], self.delta)), max(limits)

    def _limit(self, _: float, p: float, q: float, unlucky: float) -> float:
        """Return the largest epsilon that these counts reject, tested by its least favourable probabilities only.

        The counts are the expected ones, less favourable by ``unlucky`` standard deviations.
        """
        n = self.each
        seen = (
            max(n * p - unlucky * math.sqrt(n * p * (1 - p)), 0.0),
            n * q + unlucky * math.sqrt(n * q * (1 - q)),
        )

        def rejected(epsilon: float) -> bool:
            if p <= self.delta + math.exp(epsilon) * q:
                return False
            nearest = least_favourable(p, q, epsilon, self.delta)
            weights = weights_between((p, q), nearest)
            return extreme(seen, n, weights, nearest) <= self.alpha

        return _end_of(rejected, 0.0, _LARGEST)

    def rejects(self, event: Event, counts: tuple[int, int], epsilon: float, delta: float) -> bool:
        """Whether the counts reject P(event) <= delta + exp(epsilon) Q(event) at level `alpha`.

        The probabilities are first enclosed with a small share of alpha. In each piece of the interval of Q(event)
        the smallest Q and the largest P are taken together, which makes the counts at least as likely.
        """
        n, spent = self.each, self.alpha * _NUISANCE
        low, high = interval(counts[1], n, spent / 4)
        least = interval(counts[0], n, spent / 2)[0]
        edges = np.geomspace(max(low, 1e-15), high, _PIECES + 1)
        if low < edges[0]:
            edges = np.append(low, edges)
        for q, beyond in pairwise(edges.tolist()):
            p = min(delta + math.exp(epsilon) * beyond, 1.0)
            if p >= least and extreme(counts, n, event.weights, (p, q)) + spent > self.alpha:
                return False
        return True

    def event_of_family(self, family: _Family) -> Event:
        """Return the event on which a little more noise makes the largest difference, in standard deviations."""
        noisier = family.guarantee(1.03)
        best, found = -1.0, None
        for threshold, p, q in self.choices:
            line = noisier.delta(threshold).upper
            odds = math.exp(threshold)
            gap = p - odds * q - line
            size = gap / math.sqrt(p * (1 - p) + odds * odds * q * (1 - q))
            if size > best and gap > 0:
                best, found = size, Event(threshold, weights_at(p, q, threshold, line))
        return found or Event(self.choices[0][0], (1.0, 1.0))

    def least_given_family(self, event: Event, counts: tuple[int, int], family: _Family) -> float:
        """Return epsilon at the least noise that the counts reject; 0 if they reject none."""

        def rejected(factor: float) -> bool:
            try:
                line = family.guarantee(math.exp(-factor)).delta(event.threshold).upper
            except ValueError:  # no mechanism has so much, or so little, noise
                return factor < 0
            return self.rejects(event, counts, event.threshold, line)

        end = _end_of(rejected, -_NOISIEST, _NOISIEST, 1e-3)
        if end == -_NOISIEST and not rejected(end):
            return 0.0
        return family.guarantee(math.exp(-end)).epsilon(self.delta).lower


def _end_of(rejected: Callable[[float], bool], low: float, high: float, width: float = 1e-4) -> float:
    """Return the end of the interval from ``low`` on in which hypotheses are rejected; ``low`` if none is."""
    if not rejected(low):
        return low
    while high - low > width:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
