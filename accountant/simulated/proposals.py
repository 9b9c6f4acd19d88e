"""Proposals of importance sampling, each with a certified bound on its weights.

P is the law of what is released with the record, N the law without it, and l = log dP/dN. A component R of a
proposal has a density with respect to N, and constants (a, b) with log dP/dR <= a - b l everywhere. The proofs
are in docs/notes/simulated.md, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from numpy.random import Generator

from dpproof.accountant.numbers.arithmetic import cached_property, math, np
from dpproof.accountant.simulated.participation import Floats
from dpproof.accountant.simulated.training import TrainingRun


class Cap(NamedTuple):
    """A bound: log dP/dR <= a - b l - lean <m, y>, with the mean contribution m and what is released, y."""

    a: float
    b: float
    start: float = -math.inf
    """The bound holds where the loss is at least this."""
    lean: float = 0.0


class Component(Protocol):
    """One law of a mixture from which the simulation draws."""

    @property
    def cap(self) -> Cap:
        """Constants with log dP/dR <= a - b l."""

    @property
    def scale(self) -> float:
        """The factor by which the logarithm of the density grows faster than l; for the bound on rounding."""

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` columns from this law."""

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN at released columns, from their gains and from l."""


@dataclass(frozen=True)
class Tilted:
    """The record's contribution multiplied by ``theta`` >= 1, and participation tilted so that the weights are bounded.

    With theta 1 this is P itself.
    """

    training: TrainingRun
    theta: float

    @cached_property
    def _tilt(self) -> Floats:
        return np.asarray((self.theta**2 - self.theta) / 2 * self.training.squares)

    @cached_property
    def _later(self) -> Floats:
        return self.training.participation.later(self._tilt)

    @cached_property
    def _log_mass(self) -> float:
        return float(self.training.participation.log_mean(self._tilt[:, None])[0])

    @property
    def cap(self) -> Cap:
        """Constants with log dP/dR <= a - b l."""
        return Cap(self._log_mass, self.theta - 1)

    @property
    def scale(self) -> float:
        """The factor by which the logarithm of the density grows faster than l."""
        return self.theta**2

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` columns from this law."""
        used = self.training.participation.draw(rng, count, self._tilt, self._later)
        return self.training.released(rng, self.theta * used)

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN."""
        if self.theta == 1:
            return log_ratio
        return self.training.participation.log_mean(self.theta * gains) - self._log_mass


@dataclass(frozen=True)
class FairPower:
    """The law with density (dP/dN)^order exp(lean <m, y>), up to a factor, if each record is in one of equal bins.

    The order is a whole number, and m the mean contribution. A sample adds the contributions of ``order`` copies
    of the record. The number of copies that share bins follows from the partitions of the order.
    """

    training: TrainingRun
    order: int
    lean: float = 0.0

    @cached_property
    def _partitions(self) -> tuple[list[tuple[int, ...]], Floats]:
        """The partitions of the order into at most as many parts as bins, and the logarithms of their weights."""
        bins = self.training.participation.separation
        square = float(self.training.squares[::bins].sum())
        parts = [one for one in partitions(self.order) if len(one) <= bins]
        return parts, np.array([_log_ways(one, bins) + square * _pairs(one) for one in parts])

    @cached_property
    def _log_mass(self) -> float:
        logs = self._partitions[1]
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum())) + self._leaning

    @property
    def _leaning(self) -> float:
        return self.lean * (self.order + self.lean / 2) * self.training.mean_square

    @property
    def cap(self) -> Cap:
        """Constants with log dP/dR <= a - b l. Here both sides are equal."""
        return Cap(self._log_mass, self.order - 1.0, lean=self.lean)

    @property
    def scale(self) -> float:
        """The factor by which the logarithm of the density grows faster than l."""
        return float(self.order**2)

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` columns from this law."""
        parts, logs = self._partitions
        law = self.training.participation
        chances = np.exp(logs - self._log_mass + self._leaning)
        copies = np.zeros((len(parts), law.separation))
        for row, one in zip(copies, parts, strict=True):
            row[: len(one)] = one
        chosen = copies[rng.choice(len(parts), size=count, p=chances / chances.sum())]
        bins = rng.permuted(chosen, axis=1).T
        found = self.training.released(rng, np.tile(bins, (law.steps // law.separation, 1)))
        return np.asarray(found + self.lean * self.training.mean[:, None])

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN."""
        return np.asarray(self.order * log_ratio + self.lean * self.training.along(gains) - self._log_mass)


def partitions(total: int, largest: int | None = None) -> list[tuple[int, ...]]:
    """Return the ways to write ``total`` as a sum of whole numbers in falling order.

    >>> partitions(3)
    [(3,), (2, 1), (1, 1, 1)]
    """
    if total == 0:
        return [()]
    top = min(total, largest or total)
    return [(first, *rest) for first in range(top, 0, -1) for rest in partitions(total - first, first)]


def _log_ways(parts: tuple[int, ...], bins: int) -> float:
    """The logarithm of the probability that independent uniform bins are shared like this partition."""
    ways = math.lgamma(bins + 1) - math.lgamma(bins - len(parts) + 1) + math.lgamma(sum(parts) + 1)
    ways -= sum(math.lgamma(part + 1) for part in parts)
    ways -= sum(math.lgamma(parts.count(part) + 1) for part in set(parts))
    return ways - sum(parts) * math.log(bins)


def _pairs(parts: tuple[int, ...]) -> float:
    return sum(part * (part - 1) for part in parts) / 2


@dataclass(frozen=True)
class Mixture:
    """A mixture of components with equal shares."""

    components: tuple[Component, ...]

    @property
    def caps(self) -> tuple[Cap, ...]:
        """The caps of the mixture: that of each component, which has only its share of the mass."""
        share = math.log(len(self.components))
        return tuple(one.cap._replace(a=one.cap.a + share) for one in self.components)

    @property
    def scale(self) -> float:
        """The largest scale of a component."""
        return max(one.scale for one in self.components)

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` independent columns. Those of one component stand together."""
        shares = rng.multinomial(count, [1 / len(self.components)] * len(self.components))
        return np.hstack([one.draw(rng, int(n)) for one, n in zip(self.components, shares, strict=True)])

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN."""
        logs = np.array([one.log_density(gains, log_ratio) for one in self.components])
        top = logs.max(axis=0)
        return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)))
