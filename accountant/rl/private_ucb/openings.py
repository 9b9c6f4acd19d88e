"""Transitions that are found by thresholds: what their discovery costs, and noise and threshold for a budget.

A pair of a cell and a next state has no counter at first. In each period of batches, a pair that was seen gets
noise on its count, and is opened if the noisy count reaches the threshold. Pairs that nobody visited are never
considered. A user may be the only one who visited some pairs. Such a pair can be opened in one of two
neighbouring worlds only. The probability of this is the failure probability of the openings.

Source: the stability-based histogram of Korolova et al. (2009); Wilkins, Kifer, Zhang and Karrer,
arXiv:2202.01100. The statement for batches and adaptive users is this project's own (docs/notes/found_support.md).
"""

from __future__ import annotations

from fractions import Fraction

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters, most_counts

__all__ = ["failure_of", "failure_probability"]

_BITS = 192


def failure_probability(parameters: BatchedCountsParameters) -> Bound:
    """Return bounds on the largest probability that a pair is opened which one user alone has visited.

    Let p(n) be the probability that n visits and the noise reach the threshold. The user's counts are at most
    m, the cap, and sum to at most T. Then the result is 1 - (1 - p)^(T/n) for n = 1 or n = m, whichever is
    larger. It is 0 if all transitions have counters from the start.

    >>> found = BatchedCountsParameters(6, 2, 20, 1000, sigma=99.0, cap=5, opening_sigma=9.0, threshold=50)
    >>> failure_probability(found).upper
    1.5272254e-06

    Raises:
        ValueError: for parameters without a threshold.
    """
    if parameters.threshold is None or parameters.opening_sigma is None:
        raise ValueError("threshold (None) must be given. Without it every transition has a counter.")
    with precision(_BITS):
        found = bound_of(failure_of(parameters, parameters.threshold))
        return Bound(max(found.lower, 0.0), found.upper)


def failure_of(parameters: BatchedCountsParameters, threshold: int) -> flint.arb:
    """Return the failure probability for another threshold. Call it inside ``precision``."""
    p = parameters
    cap = p.cap if p.pooled else 1
    total = most_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon
    sigma = exact(p.opening_sigma or 0)
    worst = flint.arb(0)
    for count in {1, cap}:
        passed = normal_tail(arb_of((threshold - Fraction(1, 2) - count) / sigma))
        if not passed < 1:  # the enclosure reaches 1, and so does the result
            return flint.arb(1)
        worst = worst.max(-(-passed).log1p() / count)
    return -(-total * worst).expm1()
