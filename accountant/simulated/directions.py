"""The pairs of laws that are simulated: removal, addition and replacement of one record.

Each direction has a loss, the logarithm of a ratio of two densities, and delta(x) is the mean of
(1 - exp(x - loss))_+ under the first law. Removal and addition together bound the add/remove relation, and
replacement alone bounds its own, because its pair is symmetric (docs/notes/simulated.md, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from numpy.random import Generator

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.simulated.bulk import Bulk
from dpproof.accountant.simulated.participation import Floats
from dpproof.accountant.simulated.powers import Power, orders
from dpproof.accountant.simulated.proposals import Cap, Component, FairPower, Mixture, Tilted
from dpproof.accountant.simulated.training import TrainingRun

_REACH, _ORDERS, _HARD = 7, 13, -3.0
_CONSTANTS = 1e-10
"""Relative error of the constants of densities: masses of tilted laws and of powers."""


@dataclass(frozen=True)
class Drawn:
    """Samples from a proposal. The losses, and logarithms of densities, are off by at most ``error`` together."""

    losses: Floats
    log_first: Floats
    """The logarithms of the density of the direction's first law."""
    log_density: Floats
    """The logarithms of the density of the proposal."""
    others: Floats
    """One row for each other component that was asked for: the logarithms of its density."""
    error: float


class Near(NamedTuple):
    """What is known before a direction is simulated."""

    delta: float
    """A delta near the one that is asked for."""
    epsilon: float
    """An epsilon below which the answer does not matter."""
    lower: float
    """A lower end of the answer, from other directions."""


class Direction(Protocol):
    """One of two ordered laws of what is released, and the proposals to simulate it with."""

    @property
    def training(self) -> TrainingRun:
        """The run."""

    def candidates(self, near: Near) -> tuple[Component, ...]:
        """Return components for a pilot run."""

    def certifiers(self) -> tuple[Component, ...]:
        """Return further components that have small caps."""

    def in_loss(self, cap: Cap) -> Cap:
        """Return the cap of a component, as a function of this direction's loss."""

    def losses(self, gains: Floats, log_ratio: Floats) -> tuple[Floats, Floats]:
        """Return the losses and the logarithms of the first density."""


@dataclass(frozen=True)
class Removal:
    """With the record against without it."""

    training: TrainingRun

    def candidates(self, near: Near) -> tuple[Component, ...]:
        """Return tilted laws whose contribution is moved by 0, 1, 2, ... standard deviations."""
        length = math.sqrt(2 * self.training.half)
        return tuple(Tilted(self.training, 1 + j / length) for j in range(_REACH))

    def certifiers(self) -> tuple[Component, ...]:
        """Return the powers of the density that have small tables."""
        return tuple(self._power(order, 0.0) for order in self._orders)

    @property
    def _orders(self) -> list[int]:
        return list(range(2, _ORDERS)) if self.training.one_of_many else orders(self.training)

    def _power(self, order: int, lean: float) -> Component:
        return (FairPower if self.training.one_of_many else Power)(self.training, order, lean)

    def in_loss(self, cap: Cap) -> Cap:
        """Return the cap itself: l is the loss."""
        return cap

    def losses(self, gains: Floats, log_ratio: Floats) -> tuple[Floats, Floats]:
        """Return the losses and the logarithms of the first density."""
        return log_ratio, log_ratio


@dataclass(frozen=True)
class Replacement(Removal):
    """With the record against with its opposite. By symmetry both orders have the same delta."""

    def certifiers(self) -> tuple[Component, ...]:
        """Return powers that lean to outcomes that the opposite record makes rare."""
        return tuple(self._power(order, float(order - 1)) for order in self._orders)

    def in_loss(self, cap: Cap) -> Cap:
        """Return the cap as a function of the loss, by l >= loss / 2 - half and <m, y> >= loss - l - half."""
        return Cap(cap.a + cap.b * self.training.half, (cap.b + cap.lean) / 2)

    def losses(self, gains: Floats, log_ratio: Floats) -> tuple[Floats, Floats]:
        """Return the losses and the logarithms of the first density."""
        opposite = -gains - self.training.squares[:, None]
        return log_ratio - self.training.participation.log_mean(opposite), log_ratio


@dataclass(frozen=True)
class Shifted:
    """Noise that is moved against the mean contribution, ``size`` times."""

    training: TrainingRun
    size: float

    @property
    def cap(self) -> Cap:
        """Constants with log dN/dR <= a + b l."""
        size, run = self.size, self.training
        return Cap(size * run.half + size**2 * run.mean_square / 2, size)

    @property
    def scale(self) -> float:
        """The factor by which the logarithm of the density grows faster than l."""
        return self.size + 1

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` columns from this law."""
        noise = rng.standard_normal((self.training.participation.steps, count))
        return np.asarray(noise - self.size * self.training.mean[:, None])

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN."""
        moved = self.size**2 / 2 * self.training.mean_square
        return np.asarray(-self.size * self.training.along(gains) - moved)


@dataclass(frozen=True)
class Addition:
    """Without the record against with it."""

    training: TrainingRun

    def candidates(self, near: Near) -> tuple[Component, ...]:
        """Return noise that is not moved, that is moved to where the caps reach the hint, and changed in bulk."""
        size = math.sqrt(2 * math.log(1 / near.delta) / self.training.mean_square)
        found: list[Component] = [Shifted(self.training, share * size) for share in (0.0, 0.5, 1.0)]
        if self.training.one_of_many and near.epsilon > 0:
            bulk = Bulk(self.training, near.epsilon)
            found += [bulk] if bulk.log_mass > _HARD else []
        return tuple(found)

    def certifiers(self) -> tuple[Component, ...]:
        """Return nothing: the candidates have the caps that are known."""
        return ()

    def in_loss(self, cap: Cap) -> Cap:
        """Return the cap itself: the loss is -l."""
        return cap

    def losses(self, gains: Floats, log_ratio: Floats) -> tuple[Floats, Floats]:
        """Return the losses and the logarithms of the first density."""
        return -log_ratio, np.zeros_like(log_ratio)


def draw(
    direction: Direction, proposal: Mixture, rng: Generator, count: int, others: tuple[Component, ...] = ()
) -> Drawn:
    """Return ``count`` independent samples from a proposal, and the densities of other components there."""
    training = direction.training
    released = proposal.draw(rng, count)
    gains = training.products(released) - training.squares[:, None] / 2
    log_ratio = training.participation.log_mean(gains)
    losses, log_first = direction.losses(gains, log_ratio)
    rows = [one.log_density(gains, log_ratio) for one in others]
    error = 4 * training.rounding(released, 1 + proposal.scale) + _CONSTANTS
    density = proposal.log_density(gains, log_ratio)
    return Drawn(losses, log_first, density, np.array(rows).reshape(len(rows), count), error)


def caps(direction: Direction, proposal: Mixture) -> tuple[Cap, ...]:
    """Return the caps of a proposal as functions of the loss, rounded upward."""
    found = (direction.in_loss(cap) for cap in proposal.caps)
    return tuple(one._replace(a=one.a + 1e-9 * (1 + abs(one.a))) for one in found)


def log_bound(known: tuple[Cap, ...], x: float) -> float:
    """Return the logarithm of a bound on weight (1 - exp(x - loss)), over all losses above x."""
    return min((a - b * x + _log_peak(b) for a, b, start, _ in known if x >= start), default=math.inf) + 1e-9


def reached(known: tuple[Cap, ...], delta: float) -> float:
    """Return an x at which the bound is at most delta: then delta(x) is at most delta, too."""
    found = [start for a, b, start, _ in known if a - b * start + _log_peak(b) + 1e-9 <= math.log(delta)]
    for a, b, start, _ in known:
        if b > 0:
            place = max(0.0, (a + _log_peak(b) + 1e-9 - math.log(delta)) / b)
            found.append(max(start, place * (1 + 1e-9) + 1e-12))
    return min((max(one, 0.0) for one in found), default=math.inf)


def _log_peak(b: float) -> float:
    """The logarithm of the largest exp(-b u) (1 - exp(-u)) over u >= 0."""
    return (b * math.log(b) if b else 0.0) - (1 + b) * math.log1p(b)


def directions(training: TrainingRun, adjacency: Adjacency) -> tuple[Direction, ...]:
    """Return the directions whose deltas together bound the neighbouring relation.

    Raises:
        UnprovedAdjacencyError: for a relation other than add-remove and replace.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return Removal(training), Addition(training)
    if adjacency is Adjacency.REPLACE:
        return (Replacement(training),)
    raise UnprovedAdjacencyError("simulated training", adjacency, "Use add-remove or replace.")
