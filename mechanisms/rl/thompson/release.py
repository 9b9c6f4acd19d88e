"""Thompson sampling as it is released: every draw on a public grid, exactly, round after round.

A draw is round(f + sigma Z) on the grid 2^exponent, by `dpproof.mechanisms.release.rounded_gaussian`. Its mean
S_i/(n_i + 1) is an exact rational, because rewards are rounded to multiples of 2^-30 when a user arrives; the
variance c/(n_i + 1) is one, too. The arms pulled follow from the integers. docs/notes/thompson.md has the
argument.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.release.grid import GRID, REWARD_BITS, checked_exponent, doubles, grains
from dpproof.mechanisms.release.on_grid import OnGrid, Released, Simulated
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import words_of


class _Draws(OnGrid):
    """The draws of one run: integers (T, N) in steps of the grid."""

    mechanism = "thompson"

    @property
    def draws(self) -> NDArray[np.float64]:
        """The draws as doubles (T, N): functions of the integers, and so as private."""
        return doubles(self.integers, self.exponent)

    @property
    def arms(self) -> list[int]:
        """The arm of the first largest draw of each round, which is pulled."""
        return [row.index(max(row)) for row in self.integers]


class ThompsonRelease(_Draws, Released):
    """The draws of one run, drawn from entropy by an exact sampler: private to the last bit."""


class ThompsonSimulation(_Draws, Simulated):
    """The draws of one run, drawn from a seed or a given generator: without a guarantee."""


def publish(
    parameters: ThompsonParameters, rewards: ArrayLike, seed: Source = None, *, exponent: int = GRID
) -> ThompsonRelease | ThompsonSimulation:
    """Release the draws of one run; see `dpproof.mechanisms.rl.thompson.thompson.Thompson.publish`."""
    exponent, randomness = checked_exponent(exponent), Randomness.of(seed)
    paid, words = grains(rewards), words_of(randomness)
    arms, before = parameters.arms, parameters.arms * parameters.pulls
    counts, sums = [0] * arms, [0] * arms
    released: list[tuple[int, ...]] = []
    for user, row in enumerate(paid.tolist()):
        arm = user % arms
        if user >= before:
            means = [Fraction(s, n + 1 << REWARD_BITS) for s, n in zip(sums, counts, strict=True)]
            variances = [exact(parameters.variance) / (n + 1) for n in counts]
            released.append(tuple(rounded_gaussian(means, variances, exponent, source=words)))
            arm = released[-1].index(max(released[-1]))
        counts[arm] += 1
        sums[arm] += row[arm]
    kind = ThompsonSimulation if randomness.simulated else ThompsonRelease
    return kind(parameters, tuple(released), exponent, randomness)
