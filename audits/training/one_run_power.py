"""What an audit in one run would have seen, if canaries did not disturb each other.

The reference is that of `engine.power.simulated`: each canary's score is drawn from one of two standard laws, here
independently of the others. Real canaries disturb each other, so this is the best case. No certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.power.simulated import RUNS, smallest_seen
from dpproof.audits.engine.sampling.calls import POWER, generator
from dpproof.audits.training.guesses import Guesses

Floats = NDArray[np.float64]


def needed_right(canaries: int, guesses: int, refuted: Callable[[Guesses], bool]) -> int:
    """The fewest right guesses that refute; ``guesses`` + 1 if none do."""
    low, high = 0, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(Guesses(canaries, guesses, middle)) else (middle, high)
    return high


def one_run_would_have_seen(
    canaries: int, needed: dict[int, int], claimed: float, delta: float, seed: int
) -> float:
    """The smallest epsilon at ``delta``, within 3 %, that is seen with power 0.9; infinity if none is.

    Args:
        canaries: how many there are.
        needed: from numbers of guesses to the fewest right ones that refute.
        claimed: the claimed epsilon at ``delta``.
        delta: in [0, 1).
        seed: the audit's.
    """
    return smallest_seen(
        lambda epsilon: _seen(canaries, needed, epsilon, delta, generator(seed, POWER)), claimed
    )


def _seen(
    canaries: int, needed: dict[int, int], epsilon: float, delta: float, rng: np.random.Generator
) -> int:
    """In how many of the simulated runs some number of right guesses refutes."""
    sizes = np.array(sorted(needed))
    right = np.diff(_accuracies(sizes / canaries, epsilon, delta) * sizes, prepend=0.0)
    shells = np.diff(sizes, prepend=0)
    counts = rng.binomial(shells, np.clip(right / shells, 0, 1), (RUNS, sizes.size)).cumsum(axis=1)
    return int((counts >= [needed[int(size)] for size in sizes]).any(axis=1).sum())


def _accuracies(shares: Floats, epsilon: float, delta: float) -> Floats:
    """How often a guess is right, where a share of all canaries is guessed about, half of it at each end."""
    shift, above = (epsilon, _laplace) if delta == 0 else (gaussian_mu(epsilon, delta), _gaussian)

    def excess(x: float, mass: float) -> float:
        return (above(x) + above(x - shift)) / 2 - mass

    cuts = [brentq(excess, shift / 2 - 1e-9, 60.0 + shift, (min(share / 2, 0.5),)) for share in shares]
    return np.array([above(x - shift) / (above(x) + above(x - shift)) for x in cuts])


def _gaussian(x: float) -> float:
    return float(ndtr(-x))


def _laplace(x: float) -> float:
    return math.exp(-x) / 2 if x > 0 else 1 - math.exp(x) / 2
