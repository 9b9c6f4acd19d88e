"""Noise and threshold for transitions that are found, chosen for a budget (docs/notes/found_support.md)."""

from __future__ import annotations

from dataclasses import replace

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.accountant.numbers.inversion import first_whole
from dpproof.accountant.rl.private_ucb.batched_counts import ACCOUNTANT
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.encoder import squared_column
from dpproof.accountant.rl.private_ucb.openings import failure_of

__all__ = ["least_threshold", "with_openings"]

_BITS = 192


def least_threshold(parameters: BatchedCountsParameters, failure: Number) -> int:
    """Return the least threshold whose failure probability is certified to be at most ``failure``.

    >>> sizes = BatchedCountsParameters(6, 2, 20, 1000, sigma=99.0, cap=5, opening_sigma=9.0, threshold=1)
    >>> least_threshold(sizes, "1.7e-6")
    50

    Raises:
        UnreachableTargetError: for a failure probability of 0.
    """
    goal = exact(failure, "failure")
    if not goal > 0:
        raise UnreachableTargetError(
            f"failure ({failure!r}) must be above 0, because no threshold hides a pair with certainty. Use a delta "
            "above 0, or declare the possible transitions."
        )

    def enough(threshold: int) -> bool:
        return exact(round_up(failure_of(parameters, threshold))) <= goal

    with precision(_BITS):
        most = 1
        while not enough(most):
            most *= 2
        return first_whole(enough, 0, most)


def with_openings(
    parameters: BatchedCountsParameters, adjacency: Adjacency, epsilon: Number, delta: Number
) -> BatchedCountsParameters:
    """Return the parameters with noise and threshold for openings, and the least sigma that meets (epsilon, delta).

    Half of delta is for openings. Their noise is sigma/|C|, where |C| is the norm of the first column of the
    encoder, and sigma is what (epsilon, delta/2) needs. So a visit moves an opening at most as far as a counter, in
    units of the noise, and openings need no larger sigma. The threshold is the least one for half of delta.
    What it leaves of delta is for the counters (docs/notes/found_support.md).

    >>> sizes = BatchedCountsParameters(6, 2, 20, 1000, sigma=1.0, cap=5, every=100)
    >>> found = with_openings(sizes, Adjacency.REPLACE, 5, "1e-5")
    >>> found.threshold, round(found.sigma / found.opening_sigma, 3)
    (94, 1.324)

    Raises:
        UnreachableTargetError: for delta 0, because an opening always has a chance to fail.
        UnprovedAdjacencyError: for ``rewards-only``, under which transitions are public.
    """
    if adjacency is Adjacency.REWARDS_ONLY:
        raise UnprovedAdjacencyError(
            "found support",
            adjacency,
            "Transitions are public there, so leave opening_sigma and threshold out.",
        )
    half = exact(delta, "delta") / 2
    plain = replace(parameters, opening_sigma=None, threshold=None)
    if half == 0:
        least_threshold(replace(plain, opening_sigma=1.0, threshold=1), half)
    first, _ = ACCOUNTANT.least_noise(plain, adjacency, epsilon, half / (1 - half))
    with precision(_BITS):
        scale = round_up(arb_of(exact(first.sigma)) / squared_column(plain).sqrt())
    opened = replace(first, opening_sigma=scale, threshold=1)
    opened = replace(opened, threshold=least_threshold(opened, half))
    fitted: BatchedCountsParameters = ACCOUNTANT.least_noise(opened, adjacency, epsilon, delta)[0]
    return fitted
