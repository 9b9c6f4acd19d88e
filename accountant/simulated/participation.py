"""Random participation: in which steps of a training run one record is used.

A record is used in the steps i with x_i = 1. This module has the law of x, the logarithm of a mean over x, and
samples of x under a tilted law (docs/notes/simulated.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np

Floats = NDArray[np.float64]
_MODERATE = 600.0
"""Products whose logarithms are at most this in size neither overflow nor underflow."""


def log_mean_exp(values: Floats, weights: Floats) -> Floats:
    """Return log(sum of weight exp(value)) over the first axis, for one weight a row."""
    top = values.max(axis=0)
    return np.asarray(top + np.log(weights @ np.exp(values - top)))


class Participation(Protocol):
    """A law of the steps in which one record is used, as a chain of states; `MinSeparation` explains the names."""

    @property
    def steps(self) -> int:
        """The number of steps of the run."""

    @property
    def separation(self) -> int:
        """The least distance of two uses of one record."""

    @property
    def most(self) -> int:
        """The largest number of uses."""

    @property
    def fair_bins(self) -> bool:
        """Whether each record is in one of ``separation`` bins of equally many steps."""

    @property
    def logs(self) -> float:
        """The sum of the sizes of the logarithms of all chances."""

    @property
    def start(self) -> Floats:
        """The probabilities of the states at the start."""

    @property
    def rungs(self) -> int:
        """The number of states."""

    @property
    def active(self) -> tuple[int, ...]:
        """The states in which a record may be used."""

    def chance(self, step: int, rung: int) -> float:
        """Return the probability that a record in a state is used in a step."""

    def unused(self, rung: int) -> int:
        """Return the state after a step that did not use the record."""

    def used(self, rung: int) -> int:
        """Return the state after a step that used the record."""

    def age(self, rung: int) -> int | None:
        """Return how many steps ago the record was used, or None if no band reaches that far."""

    def log_mean(self, gains: Floats) -> Floats:
        """Return the logarithm of the mean of exp(sum of x_i gains_i) over x."""

    def later(self, gains: Floats) -> Floats:
        """Return what ``draw`` needs of the gains."""

    def draw(self, rng: Generator, count: int, gains: Floats, later: Floats) -> Floats:
        """Return ``count`` columns x from the law whose density is proportional to exp(sum of x_i gains_i)."""

    def means(self) -> Floats:
        """Return the probability of each step to use a given record."""


@dataclass(frozen=True)
class MinSeparation:
    """Participation with a minimum separation: after each use, a record rests for ``separation - 1`` steps.

    A record that does not rest is used with probability ``rate`` in each step. At the start, either no record
    rests, or (``warm``) each record is in the state of a run that started long ago.

    Special cases: ``separation`` 1 is Poisson sampling. Rate 1 with a warm start is balls-in-bins sampling with
    ``separation`` bins. With as many bins as steps, it is the random allocation of each record to one step.

    Source: Dong and Ganesh, arXiv:2602.09338v2 (b-min-sep subsampling); Choquette-Choo et al.,
    arXiv:2410.06266 (balls in bins).

    Raises:
        ValueError: if a parameter is outside its domain.
    """

    steps: int
    separation: int
    rate: float = 1.0
    warm: bool = True

    def __post_init__(self) -> None:
        for name in ("steps", "separation"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} ({getattr(self, name)}) must be a whole number that is at least 1")
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate ({self.rate!r}) must be in (0, 1]")

    @property
    def most(self) -> int:
        """The largest number of steps in which one record is used."""
        return -(-self.steps // self.separation)

    @property
    def fair_bins(self) -> bool:
        """Whether each record is in one of ``separation`` bins of equally many steps."""
        return self.rate == 1 and self.warm and self.steps % self.separation == 0

    @property
    def logs(self) -> float:
        """The sum of the sizes of the logarithms of all chances; for the bound on rounding."""
        unused = abs(math.log1p(-self.rate)) if self.rate < 1 else 0.0
        return abs(math.log(self.rate)) + unused + math.log(self.separation + 1)

    @property
    def start(self) -> Floats:
        """The probabilities that a record rests for 0, 1, 2, ... steps at the start."""
        if not self.warm:
            return np.ones(1)
        waits = np.full(self.separation, self.rate)
        waits[0] = 1.0
        return np.asarray(waits / (1 + (self.separation - 1) * self.rate))

    def log_mean(self, gains: Floats) -> Floats:
        """Return the logarithm of the mean of exp(sum of x_i gains_i) over x, for each column of ``gains``."""
        if self.fair_bins:
            return log_mean_exp(gains.reshape(-1, self.separation, gains.shape[1]).sum(axis=0), self.start)
        waits = np.minimum(np.arange(self.start.size), self.steps)
        most = float(np.abs(gains).max()) * self.most - (
            self.steps * math.log1p(-self.rate) if self.rate < 1 else 0
        )
        if most < _MODERATE:
            return np.asarray(np.log(self.start @ self._plain(np.exp(gains))[waits]))
        return log_mean_exp(self.later(gains)[waits], self.start)

    def _plain(self, ratios: Floats) -> Floats:
        """Return exp(later), without logarithms: faster, and possible if nothing overflows."""
        later = np.ones((self.steps + 1, ratios.shape[1]))
        for i in range(self.steps - 1, -1, -1):
            after = later[min(i + self.separation, self.steps)]
            later[i] = (1 - self.rate) * later[i + 1] + (self.rate * ratios[i]) * after
        return later

    def later(self, gains: Floats) -> Floats:
        """Return in row i: the logarithm of the mean of exp(sum of x_j gains_j, j >= i) if a record is free at i."""
        later = np.zeros((self.steps + 1, *gains.shape[1:]))
        used, unused = math.log(self.rate), math.log1p(-self.rate) if self.rate < 1 else -math.inf
        for i in range(self.steps - 1, -1, -1):
            after = later[min(i + self.separation, self.steps)]
            later[i] = np.logaddexp(unused + later[i + 1], used + gains[i] + after)
        return later

    def draw(self, rng: Generator, count: int, gains: Floats, later: Floats) -> Floats:
        """Return ``count`` columns x from the law whose density is proportional to exp(sum of x_i gains_i).

        ``later`` is what the method of this name returns for the gains.
        """
        waits = np.minimum(np.arange(self.start.size), self.steps)
        free = rng.choice(self.start.size, size=count, p=_normed(np.log(self.start) + later[waits]))
        if self.rate == 1:
            each = np.arange(self.steps)[:, None]
            return np.asarray((each >= free) & ((each - free) % self.separation == 0), dtype=np.float64)
        used = np.zeros((self.steps, count))
        for i in range(self.steps):
            after = later[min(i + self.separation, self.steps)]
            chance = self.rate * float(np.exp(gains[i] + after - later[i]))
            takes = (free <= i) & (rng.random(count) < chance)
            used[i][takes] = 1.0
            free[takes] = i + self.separation
        return used

    def means(self) -> Floats:
        """Return the probability of each step to use a given record."""
        free = np.zeros(self.steps + self.separation)
        free[: self.start.size] = self.start
        for i in range(self.steps):
            free[i + 1] += (1 - self.rate) * free[i]
            free[i + self.separation] += self.rate * free[i]
        return np.asarray(self.rate * free[: self.steps])

    @property
    def rungs(self) -> int:
        """The number of states of one record. State s > 0 means that it rests for s steps, this one included."""
        return self.separation

    @property
    def active(self) -> tuple[int, ...]:
        """The states in which a record may be used."""
        return (0,)

    def chance(self, step: int, rung: int) -> float:
        """Return the probability that a record in a state is used in a step."""
        return 0.0 if rung else self.rate

    def unused(self, rung: int) -> int:
        """Return the state after a step that did not use the record."""
        return max(rung - 1, 0)

    def used(self, rung: int) -> int:
        """Return the state after a step that used the record."""
        return self.separation - 1

    def age(self, rung: int) -> int | None:
        """Return how many steps ago the record was used, or None if that is at least the separation."""
        return self.separation - rung if rung else None


def _normed(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
