"""Private sums of gradients: the part of policy-gradient agents on which their guarantee rests.

Each user adds one vector of L2 norm at most 1, a vector of whole multiples of 2^-20. The sum over the users of a batch
gets Gaussian noise that is exact after rounding. A user is in one batch at most, so all sums of a run together are one
Gaussian release for this user. docs/notes/policy_gradient.md has the theorem and its proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.noise.gaussian import ACCOUNTANT, GaussianParameters
from dpproof.mechanisms.agents.learner import Floats, Ints
from dpproof.mechanisms.release.rounded_noise import RoundedNormal
from dpproof.mechanisms.release.words import WordSource

BITS = 20
"""Sums of gradients are multiples of 2^-BITS."""
ONE = 1 << BITS
_WIDEST = 1 << BITS
"""The largest noise multiplier: the sampler's largest standard deviation is 2^40 grid steps."""
MECHANISM = ACCOUNTANT.name
"""The mechanism that has the guarantee. Only agents of policy gradients release by it."""
SENSITIVITY: Mapping[Adjacency, float] = {Adjacency.REPLACE: 2.0, Adjacency.ADD_REMOVE: 1.0}
"""The largest change of a sum in L2 norm, in units of the clipping norm, if one user changes."""


def clipped(vector: Floats) -> Ints:
    """Return a vector clipped to L2 norm 1, in units of 2^-20. The norm of the integers is at most 2^20 exactly.

    A vector with entries that are not finite becomes 0. Entries are rounded towards 0, which lowers the norm. The
    rounding errors of the division could raise it, so it is compared in integers.

    >>> found = clipped(np.array([3.0, -4.0]))
    >>> found.tolist(), int(found @ found) <= 2**40
    ([629145, -838860], True)
    """
    if not np.isfinite(vector).all():
        return np.zeros(vector.shape, np.int64)
    with np.errstate(over="ignore"):
        norm = max(1.0, float(np.linalg.norm(vector)))
    found = np.trunc(vector / norm * ONE).astype(np.int64)
    while int(found @ found) > ONE * ONE:
        found -= np.sign(found)
    return found


class GradientSums:
    """The sums of the users' vectors in one batch after another. Each sum is released with noise.

    Args:
        size: the number d of entries of a vector.
        draw: a function that draws a number of integers of noise.

    >>> sums = GradientSums(2, lambda count: np.zeros(count, np.int64))
    >>> sums.add(np.array([1, 2]))
    >>> sums.close().tolist(), sums.close().tolist()
    ([1, 2], [0, 0])
    """

    def __init__(self, size: int, draw: Callable[[int], Ints]) -> None:
        self._draw = draw
        self._sum = np.zeros(size, np.int64)

    def add(self, vector: Ints) -> None:
        """Add the vector of one user to the present batch."""
        self._sum = self._sum + vector

    def close(self) -> Ints:
        """Return the noisy sum of the present batch, in units of 2^-20, and begin the next batch."""
        found = self._sum + self._draw(self._sum.size)
        self._sum = np.zeros_like(self._sum)
        return found


def noise_of(parameters: GaussianParameters, words: WordSource) -> Callable[[int], Ints]:
    """Return a function that draws the noise of sums: round(2^20 sigma Z), where Z is a standard normal variable."""
    return partial(RoundedNormal(Fraction(parameters.sigma) * ONE).draw, source=words)


def least_noise(adjacency: Adjacency, epsilon: Any, delta: Any) -> GaussianParameters:
    """Return the Gaussian mechanism that all sums of a run are, for one user, with the least noise.

    >>> least_noise(Adjacency.REPLACE, 1, "1e-5").sigma
    7.461...

    Raises:
        UnprovedAdjacencyError: for a relation other than ``replace`` and ``add-remove``.
        ValueError: no noise is enough at delta 0, or epsilon is too small for the sampler.
    """
    if adjacency not in SENSITIVITY:
        raise UnprovedAdjacencyError("policy-gradient", adjacency, "Use replace or add-remove.")
    unit = GaussianParameters(sigma=1.0, sensitivity=SENSITIVITY[adjacency])
    found, _ = ACCOUNTANT.least_noise(unit, adjacency, epsilon, delta)
    sigma: float = found.sigma
    if not sigma <= _WIDEST:
        raise ValueError(
            f"epsilon ({epsilon!r}) needs noise of {sigma:.3g} clipping norms, but at most {_WIDEST} can be drawn. "
            "Use a larger epsilon."
        )
    return GaussianParameters(sigma=sigma, sensitivity=unit.sensitivity)


def as_released(found: PrivacyResult) -> PrivacyResult:
    """Return the guarantee of the Gaussian mechanism as that of the sums of a run, which agents draw exactly."""
    return replace(
        found,
        released="the noisy sum of clipped gradients of every batch, and with it every policy",
        statement="classic.adaptive_gaussians",
        joint_statement="rlsvi.lemma9",
        published=None,
        attained=None,
        notes=(
            "each user's trajectory adds one vector to one batch (docs/notes/policy_gradient.md)",
            *found.notes[1:],
        ),
        exact_sampler="dpproof.agent",
        unit="user",
    )
