"""Thompson sampling as it is released: every draw on a public grid, exactly, round after round.

A draw is round(f + sigma Z) on the grid 2^exponent, by `mechanisms.release.rounded_gaussian`. Its mean
S_i/(n_i + 1) is an exact rational, because rewards are rounded to multiples of 2^-30 when a user arrives; the
variance c/(n_i + 1) is one, too. The arms pulled follow from the integers. docs/notes/thompson.md has the
argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountant.adjacency import Adjacency
from accountant.enclosures import exact
from accountant.rl.thompson import ThompsonParameters, guarantee
from mechanisms.randomness import Randomness, Source, guaranteed
from mechanisms.release.grid import GRID, REWARD_BITS, checked_exponent, doubles, grains, how_released
from mechanisms.release.rounded_gaussian import rounded_gaussian
from mechanisms.release.words import words_of

if TYPE_CHECKING:
    from accountant.accounted import Accounted

__all__ = ["ThompsonRelease", "publish"]


@dataclass(frozen=True, eq=False, repr=False)
class ThompsonRelease:
    """The draws of one run, and whether they are a simulation.

    Attributes:
        parameters: those of the learner.
        integers: the draws in steps of the grid, nested lists (T, N).
        exponent: the grid is all multiples of 2^exponent.
        simulated: whether a seed or a given generator drew them: then no guarantee holds.
    """

    parameters: ThompsonParameters
    integers: list[list[int]]
    exponent: int
    simulated: bool

    @property
    def draws(self) -> NDArray[np.float64]:
        """The draws as doubles (T, N): functions of the integers, and so as private."""
        return doubles(self.integers, self.exponent)

    @property
    def arms(self) -> list[int]:
        """The arm of the first largest draw of each round, which is pulled."""
        return [row.index(max(row)) for row in self.integers]

    def guarantee(self, adjacency: Adjacency) -> Accounted:
        """Return the guarantee of all draws, to the last bit.

        Raises:
            SimulationError: a seed or a generator was given.
            UnprovedAdjacencyError: nothing is proved under this adjacency.
        """
        return guaranteed(self.simulated, lambda: guarantee(self.parameters, adjacency))

    def __repr__(self) -> str:
        return f"<ThompsonRelease of {len(self.integers)} rounds; {how_released(self.simulated)}>"

    def as_json(self) -> dict[str, Any]:
        """The release as JSON data: neither seed nor generator state is part of it."""
        return {
            "parameters": self.parameters.as_json(),
            "integers": self.integers,
            "exponent": self.exponent,
            "simulated": self.simulated,
            "covers_released_bits": not self.simulated,
            "released_bits": how_released(self.simulated),
        }


def publish(
    parameters: ThompsonParameters, rewards: ArrayLike, seed: Source = None, *, exponent: int = GRID
) -> ThompsonRelease:
    """Release the draws of one run; see `mechanisms.rl.thompson.Thompson.publish`."""
    exponent, randomness = checked_exponent(exponent), Randomness.of(seed)
    paid, words = grains(rewards), words_of(randomness)
    arms, before = parameters.arms, parameters.arms * parameters.pulls
    counts, sums = [0] * arms, [0] * arms
    released: list[list[int]] = []
    for user, row in enumerate(paid.tolist()):
        arm = user % arms
        if user >= before:
            means = [Fraction(s, n + 1 << REWARD_BITS) for s, n in zip(sums, counts, strict=True)]
            variances = [exact(parameters.variance) / (n + 1) for n in counts]
            released.append(rounded_gaussian(means, variances, exponent, source=words))
            arm = released[-1].index(max(released[-1]))
        counts[arm] += 1
        sums[arm] += row[arm]
    return ThompsonRelease(parameters, released, exponent, randomness.simulated)
