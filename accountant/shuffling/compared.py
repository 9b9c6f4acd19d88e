"""Amplification by shuffling beside the exact divergence, for counts of randomised bits.

n users flip their bits with chance 1/(1 + e^e0), which is e0-private alone; shuffled, what is seen is their
sum, and unbiased counts have the variance n f (1 - f)/(1 - 2 f)^2, f the chance of a flip. The profile where
all others hold 0, the upper end for all data (clones) and the printed closed form answer one question; beside
them stands SDP-PE's protocol with noise of at most that variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.binomial import MOST_TRIALS
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision
from dpproof.accountant.shuffling.closed_form import closed_form_epsilon
from dpproof.accountant.shuffling.response import ShuffledResponse
from dpproof.accountant.shuffling.view import BinomialView

__all__ = ["AmplificationBounds", "amplification_bounds"]


@dataclass(frozen=True)
class AmplificationBounds:
    """Epsilon of one shuffled count of randomised bits at one delta, by several routes."""

    exact: Bound
    """Between a pair of data sets that attains the lower end and the clones' bound."""
    closed_form: Bound | None
    """Theorem 3.1 of Feldman, McMillan and Talwar; None outside its hypothesis."""
    same_noise: Bound
    """Plain and noise bits, shuffled (SDP-PE), exactly; whole fair bits where a rare one is too little."""
    threshold: float
    """The tau of ``same_noise``."""


def amplification_bounds(users: int, local_epsilon: Number, delta: Number) -> AmplificationBounds:
    """The routes side by side.

    >>> found = amplification_bounds(10_000, 1, "1e-6")
    >>> found.same_noise.upper < found.exact.upper < found.closed_form.upper
    True

    Raises:
        ValueError: see ``ShuffledResponse`` and ``closed_form_epsilon``; for a delta outside (0, 1).
    """
    if not 0 < exact(delta, "delta") < 1:
        raise ValueError(f"delta ({delta!r}) must be in (0, 1)")
    response = ShuffledResponse(users, 2, local_epsilon)
    with precision(128):
        flip = float((1 / (1 + arb_of(exact(local_epsilon)).exp())).mid())
    trials, chance = _noise_bits(users, flip)
    return AmplificationBounds(
        response.epsilon(delta),
        _closed_form(users, local_epsilon, delta),
        BinomialView(trials, Fraction(chance)).epsilon(delta),
        2 * trials * chance,
    )


def _noise_bits(users: int, flip: float) -> tuple[int, float]:
    """How many noise bits of what chance have the variance of the unbiased count, or a little less."""
    if flip >= 0.5:
        raise ValueError("local_epsilon (0) must be positive: answers that ignore the bit count nothing")
    share = flip * (1 - flip) / (1 - 2 * flip) ** 2
    bits = math.floor(4 * share)
    if bits < 1:
        return users, (1 - math.sqrt(1 - 4 * share)) / 2
    if users * bits > MOST_TRIALS:
        raise ValueError(f"flip ({flip!r}) must need at most {MOST_TRIALS:.0e} noise bits for its variance")
    return users * bits, 0.5


def _closed_form(users: int, local_epsilon: Number, delta: Number) -> Bound | None:
    try:
        return closed_form_epsilon(users, local_epsilon, delta)
    except ValueError as refused:
        if "the theorem stops there" in str(refused):
            return None
        raise
