"""A training run with Gaussian noise, as seen by one record: a mixture of Gaussians with random means.

The run releases the vector C x g + noise, where x says in which steps the record is used (`participation`) and
C is the strategy matrix of a matrix factorisation, or the identity. Everything is in units of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.random import Generator

from dpproof.accountant.numbers.arithmetic import cached_property, np
from dpproof.accountant.simulated.participation import Floats, Participation

UNIT = 2.0**-53


@dataclass(frozen=True)
class TrainingRun:
    """A run whose step i releases the sum of ``strategy[r]`` times the clipped sum of batch i - r, plus noise.

    The noise of different steps is independent. ``strategy`` is the first column of a lower triangular Toeplitz
    matrix C. With ``strategy`` (1,) the noise added to the sums is independent from step to step. One record
    changes a sum by at most the clipping norm, and ``noise_multiplier`` is in units of this norm.

    >>> from dpproof.accountant.simulated.participation import MinSeparation
    >>> TrainingRun(MinSeparation(10, 2), noise_multiplier=2.0).squares[:2].tolist()
    [0.25, 0.25]

    Raises:
        ValueError: if a parameter is outside its domain.
    """

    participation: Participation
    noise_multiplier: float
    strategy: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if not (0 < self.noise_multiplier < math.inf):
            raise ValueError(f"noise_multiplier ({self.noise_multiplier!r}) must be a finite number above 0")
        if not self.strategy or not all(0 <= one < math.inf for one in self.strategy) or not self.strategy[0]:
            raise ValueError(
                f"strategy ({self.strategy!r}) must hold finite numbers that are at least 0, and the first above 0. "
                "The pair of a matrix with negative entries is not known to dominate."
            )
        if len(self.strategy) > self.participation.separation:
            raise ValueError(
                f"strategy ({len(self.strategy)} bands) must have at most as many bands as the separation "
                f"({self.participation.separation}). Otherwise two uses of one record overlap."
            )

    @property
    def one_of_many(self) -> bool:
        """Whether the record's contribution is one of several equally long orthogonal vectors, each as likely."""
        return self.participation.fair_bins and len(self.strategy) == 1

    @cached_property
    def column(self) -> Floats:
        """The first column of the strategy matrix, in units of the noise."""
        return np.array(self.strategy[: self.participation.steps]) / self.noise_multiplier

    @cached_property
    def squares(self) -> Floats:
        """The squared length of each column of the strategy matrix, in units of the noise."""
        sums, steps = np.cumsum(self.column**2), self.participation.steps
        return np.asarray(sums[np.minimum(np.arange(steps)[::-1], len(sums) - 1)])

    def gram(self, step: int, age: int) -> float:
        """Return the inner product of the columns of ``step`` and of the step ``age`` steps before it."""
        rows = min(len(self.column) - age, self.participation.steps - step)
        return float(self.column[:rows] @ self.column[age : age + rows])

    @cached_property
    def half(self) -> float:
        """Half of the mean squared length of the record's contribution."""
        return float(self.participation.means() @ self.squares) / 2

    @cached_property
    def mean(self) -> Floats:
        """The mean contribution of the record, in units of the noise."""
        means = self.participation.means()
        found = np.zeros(len(means))
        for lag, size in enumerate(self.column):
            found[lag:] += size * means[: len(means) - lag]
        return found

    @cached_property
    def mean_square(self) -> float:
        """The squared length of the mean contribution."""
        return float(self.mean @ self.mean)

    def along(self, gains: Floats) -> Floats:
        """Return the inner product of the mean contribution with what is released, from its gains."""
        return np.asarray(self.participation.means() @ gains + self.half)

    def released(self, rng: Generator, used: Floats) -> Floats:
        """Return noise plus the contribution of a record that is used ``used[i]`` times in step i."""
        found = rng.standard_normal(used.shape)
        for lag, size in enumerate(self.column):
            found[lag:] += size * used[: len(used) - lag]
        return found

    def products(self, released: Floats) -> Floats:
        """Return the inner products of each column of the strategy matrix with what is released."""
        found = self.column[0] * released
        for lag in range(1, len(self.column)):
            found[:-lag] += self.column[lag] * released[lag:]
        return np.asarray(found)

    def rounding(self, released: Floats, scale: float) -> float:
        """Return a bound on the rounding error of ``log_mean``, if its argument is at most ``scale`` times larger.

        See docs/notes/simulated.md, section 5.
        """
        law = self.participation
        largest = float(np.abs(released).max()) * float(self.column.sum()) + float(self.squares.max())
        size = 1 + scale * (law.most + 1) * largest + law.logs
        return 8 * UNIT * (law.steps + len(self.column) + 32) * size
