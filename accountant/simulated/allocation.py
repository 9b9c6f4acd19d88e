"""Random allocation: each record is used in a fixed number of steps, chosen at random without replacement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from numpy.random import Generator

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.simulated.participation import Floats


@dataclass(frozen=True)
class Allocation:
    """Participation in ``uses`` of ``steps`` steps; all choices of the steps have the same probability.

    With one use this is the law of `MinSeparation` with as many bins as steps, whose bounds are sharper.

    Source: Feldman and Shenfeld, arXiv:2502.08202v2 (random allocation); Dong et al., arXiv:2605.07072v1
    (balanced iteration subsampling).

    Raises:
        ValueError: if ``uses`` is not between 1 and ``steps``.
    """

    steps: int
    uses: int
    separation = 1
    """Two uses may be in neighbouring steps."""
    fair_bins = False

    def __post_init__(self) -> None:
        if not 1 <= self.uses <= self.steps:
            raise ValueError(f"uses ({self.uses}) must be at least 1 and at most steps ({self.steps})")

    @property
    def most(self) -> int:
        """The number of steps in which one record is used."""
        return self.uses

    @property
    def logs(self) -> float:
        """The largest size of a logarithm of a chance, twice; for the bound on rounding."""
        return 2 * math.log(self.steps + 1)

    @property
    def start(self) -> Floats:
        """The probability of the only state at the start."""
        return np.ones(1)

    @property
    def rungs(self) -> int:
        """The number of states of one record. State s means that it was used s times."""
        return self.uses + 1

    @property
    def active(self) -> tuple[int, ...]:
        """The states in which a record may be used."""
        return tuple(range(self.uses))

    def chance(self, step: int, rung: int) -> float:
        """Return the probability that a record in a state is used in a step."""
        return min((self.uses - rung) / (self.steps - step), 1.0)

    def unused(self, rung: int) -> int:
        """Return the state after a step that did not use the record."""
        return rung

    def used(self, rung: int) -> int:
        """Return the state after a step that used the record."""
        return rung + 1

    def age(self, rung: int) -> int | None:
        """Return None: nothing depends on when a record was used."""
        return None

    def _sweep(self, gains: Floats) -> Iterator[Floats]:
        """Yield, from the last step to the first, the logarithms of the mean of exp(gains) for all states."""
        later = np.zeros((self.uses + 2, *gains.shape[1:]))
        yield later
        for i in range(self.steps - 1, -1, -1):
            now = np.zeros_like(later)
            for rung in range(self.uses):
                chance = self.chance(i, rung)
                used = math.log(chance) + gains[i] + later[rung + 1]
                now[rung] = used if chance == 1 else np.logaddexp(math.log1p(-chance) + later[rung], used)
            later = now
            yield later

    def log_mean(self, gains: Floats) -> Floats:
        """Return the logarithm of the mean of exp(sum of x_i gains_i) over x, for each column of ``gains``."""
        for later in self._sweep(gains):
            found = later[0]
        return np.asarray(found)

    def later(self, gains: Floats) -> Floats:
        """Return in row i the logarithms for all states of a record before step i."""
        return np.array(list(self._sweep(gains))[::-1])

    def draw(self, rng: Generator, count: int, gains: Floats, later: Floats) -> Floats:
        """Return ``count`` columns x from the law whose density is proportional to exp(sum of x_i gains_i).

        ``later`` is what the method of this name returns for the gains.
        """
        used = np.zeros((self.steps, count))
        rung = np.zeros(count, dtype=np.intp)
        for i in range(self.steps):
            plain = np.array([self.chance(i, one) for one in range(self.uses + 1)])
            chances = plain * np.exp(gains[i] + later[i + 1][1:] - later[i][:-1])
            takes = rng.random(count) < chances[rung]
            used[i][takes] = 1.0
            rung = rung + takes
        return used

    def means(self) -> Floats:
        """Return the probability of each step to use a given record."""
        return np.full(self.steps, self.uses / self.steps)
