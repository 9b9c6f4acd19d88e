"""One direction of a simulation: a pilot run chooses a proposal and a stake, and a main run tests.

Nothing that the pilot finds can make an answer wrong. Its samples are not used again, and the tests are valid for
every proposal and every stake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from numpy.random import Generator

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.accountant.simulated.answer import Quantity
from dpproof.accountant.simulated.confidence import SAFE, Bets, first, last
from dpproof.accountant.simulated.directions import Direction, Drawn, Near, caps, draw, log_bound, reached
from dpproof.accountant.simulated.participation import Floats, log_mean_exp
from dpproof.accountant.simulated.proposals import Cap, Component, Mixture

PILOT = 2**14
"""The number of samples of the pilot run."""
_CELLS = 2**20
_CAREFUL, _MARGIN, _LARGEST = 0.02, 0.5, 500.0
Components = tuple[Component, ...]


@dataclass(frozen=True)
class Question:
    """Which epsilon belongs to a delta, or which delta belongs to an epsilon."""

    asked: Quantity
    """The quantity that is asked for."""
    at: Fraction
    """The value of the other quantity."""
    alpha: Fraction
    samples: int
    tolerance: float | None = None

    @property
    def around(self) -> tuple[float, float]:
        """The largest double that is at most the other quantity, and the smallest one above it."""
        return neighbours_of(self.at)


@dataclass(frozen=True)
class Ends:
    """A lower and an upper bound, and the number of samples of the main run."""

    lower: float
    upper: float
    samples: int


@dataclass(frozen=True)
class _Plan:
    proposal: Mixture
    bets: Bets
    horizon: int


def ends(direction: Direction, question: Question, rng: Generator, near: Near, sides: int) -> Ends:
    """Return bounds for one direction. The lower one fails with probability at most alpha / (2 ``sides``)."""
    plan = _plan(direction, question, rng, near)
    horizon = plan.horizon
    while True:
        for drawn in _blocks(direction, plan.proposal, rng, horizon - plan.bets.count):
            plan.bets.add(drawn.losses, drawn.log_first - drawn.log_density, drawn.error)
        lower, upper = _tested(direction, plan, question, sides)
        if horizon >= question.samples or upper - max(lower, near.lower) <= (question.tolerance or 0.0):
            return Ends(lower, upper, horizon)
        horizon = min(2 * horizon, question.samples)


def known(direction: Direction, question: Question, near: Near) -> bool:
    """Return whether the caps alone show that the answer is at most the lower end of other directions."""
    each = [_alone(direction, one) for one in direction.candidates(near)]
    below = question.around[0]
    if question.asked == "epsilon":
        return any(reached(one, below) <= near.lower for one in each)
    return near.lower > 0 and any(log_bound(one, below) <= math.log(near.lower) for one in each)


def _alone(direction: Direction, component: Component) -> tuple[Cap, ...]:
    return caps(direction, Mixture((component,)))


def _blocks(
    direction: Direction, proposal: Mixture, rng: Generator, count: int, others: tuple[Component, ...] = ()
) -> Iterator[Drawn]:
    """Yield samples in blocks that fit into the cache."""
    size = max(64, _CELLS // direction.training.participation.steps)
    for done in range(0, count, size):
        yield draw(direction, proposal, rng, min(size, count - done), others)


@dataclass(frozen=True)
class _Pilot:
    """Samples of the pilot run, with the densities of all components that the main run may use."""

    losses: Floats
    log_first: Floats
    log_density: Floats
    others: Floats

    def values(self, x: float, log_density: Floats) -> Floats:
        """Return the values W(x) of the samples, if they had been drawn from another proposal."""
        over = np.maximum(self.losses - x, 0.0)
        return np.asarray(np.exp(np.minimum(self.log_first - log_density, 500.0)) * -np.expm1(-over))

    def delta(self, x: float) -> float:
        """Return an estimate of delta at the epsilon ``x``."""
        return float(self.values(x, self.log_density).mean())

    def where(self, delta: float) -> float:
        """Return an estimate of the epsilon that belongs to a delta."""
        return last(lambda x: self.delta(x) >= delta, 0.0, max(float(self.losses.max()), 0.0))

    def variance(self, x: float, log_density: Floats) -> float:
        """Return an estimate of the variance of W(x) under another proposal."""
        square = float((self.values(x, self.log_density) * self.values(x, log_density)).mean())
        return max(square - self.delta(x) ** 2, 1e-4 * square)


def _pilot(direction: Direction, candidates: Components, others: Components, rng: Generator) -> _Pilot:
    blocks = list(_blocks(direction, Mixture(candidates), rng, PILOT, candidates + others))
    return _Pilot(
        np.concatenate([one.losses for one in blocks]),
        np.concatenate([one.log_first for one in blocks]),
        np.concatenate([one.log_density for one in blocks]),
        np.hstack([one.others for one in blocks]),
    )


def _plan(direction: Direction, question: Question, rng: Generator, near: Near) -> _Plan:
    """Choose the proposal that needs the fewest samples for the accuracy that is asked for."""
    candidates, certifiers = direction.candidates(near), direction.certifiers()
    pilot = _pilot(direction, candidates, certifiers, rng)
    x = pilot.where(float(question.at)) if question.asked == "epsilon" else question.around[0]
    x = max(x, near.epsilon)
    best = sorted(range(len(certifiers)), key=lambda j: log_bound(_alone(direction, certifiers[j]), x))[:1]
    choices = []
    for i, one in enumerate(candidates):
        for more in [[], best] if best else [[]]:
            mixture = Mixture((one, *(certifiers[j] for j in more)))
            rows = [i, *(len(candidates) + j for j in more)]
            density = log_mean_exp(pilot.others[rows], np.full(len(rows), 1 / len(rows)))
            choices.append((*_need(direction, mixture, pilot, x, density, question), mixture))
    need, variance, proposal = min(choices, key=lambda one: one[0])
    return _Plan(
        proposal,
        *_bets(direction, proposal, (x, near.epsilon), variance, min(need, question.samples), question),
    )


def _need(
    direction: Direction, proposal: Mixture, pilot: _Pilot, x: float, density: Floats, question: Question
) -> tuple[float, float]:
    """Return how many samples a proposal needs for the accuracy that is asked for, and its variance."""
    delta = max(pilot.delta(x), 1e-30)
    width = _CAREFUL * delta
    if question.tolerance is not None:
        slope = 1.0 if question.asked == "delta" else (delta - pilot.delta(x + 0.01)) / 0.01
        width = max(question.tolerance * slope / 3, 1e-3 * delta)
    if question.asked == "epsilon":  # at an x that others have reached, delta(x) may be far below
        width = max(width, (float(question.at) - delta) / 2)
    variance, evidence = pilot.variance(x, density), math.log(2 / question.alpha)
    bound = math.exp(min(log_bound(caps(direction, proposal), x), 700.0))
    return evidence * (2 * variance / width**2 + bound / width), variance


def _bets(
    direction: Direction,
    proposal: Mixture,
    at: tuple[float, float],
    variance: float,
    need: float,
    question: Question,
) -> tuple[Bets, int]:
    """Return the bets, and the number of samples at which they are best.

    ``at`` holds the epsilon that is expected, and the one below which the answer does not matter.
    """
    horizon = question.samples if question.tolerance is None else max(PILOT, math.ceil(need))
    x, floor = at
    all_caps = caps(direction, proposal)
    slope = (log_bound(all_caps, x) - log_bound(all_caps, x + 1e-3)) / 1e-3
    least = x
    if question.asked == "epsilon":
        least = max(floor, x - _MARGIN / slope) if slope > 0 else floor
    largest = _certified(log_bound(all_caps, least))
    best = math.sqrt(2 * math.log(2 / question.alpha) / (max(variance, 1e-300) * horizon))
    return Bets(min(best, SAFE / largest), least, largest), horizon


def _certified(log_largest: float) -> float:
    """Return the largest weight.

    Raises:
        ValueError: if none is certified. An outcome with a large weight that no sample shows could then hide.
    """
    if not log_largest <= _LARGEST:
        raise ValueError(
            f"The logarithm of the weights of the proposal has no certified bound up to {_LARGEST:g}, got "
            f"{log_largest:g}. Mix a law with bounded weights into the proposal, such as the first law itself."
        )
    return math.exp(log_largest)


def _tested(direction: Direction, plan: _Plan, question: Question, sides: int) -> tuple[float, float]:
    """Return the ends of what the bets have not refuted."""
    bets, known = plan.bets, caps(direction, plan.proposal)
    high, low = float(question.alpha) / 2, float(question.alpha) / 2 / sides
    below, above = question.around
    if question.asked == "epsilon":
        top = max([bets.least, *(float(one.max()) for one in bets.losses if one.size)]) + 1e-3
        upper = first(lambda x: bets.refutes_at_least(x, below, high), bets.least, top)
        lower = last(lambda x: bets.refutes_at_most(x, above, low), 0.0, top)
        upper = min(upper, reached(known, below))
    else:
        upper = first(lambda m: bets.refutes_at_least(below, m, high), 0.0, 1.0)
        lower = last(lambda m: bets.refutes_at_most(above, m, low), 0.0, 1.0)
        upper = min(upper, math.exp(min(log_bound(known, below), 0.0)) * (1 + 1e-9))
    return min(lower, upper), max(lower, upper)
