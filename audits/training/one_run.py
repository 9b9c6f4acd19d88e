"""One-run auditing: what the number of right guesses about m canaries says of a claim.

Each canary takes part by a fair coin of its own; of the output r guesses are made, v come out right. Under a
claim of (epsilon, delta)-DP, with q = e^epsilon / (1 + e^epsilon) and B ~ Binomial(r, q),

    P[right >= v] <= b + m delta b (1 - b) / (v P[B = v]),   b = P[B >= v],

whatever the mechanism and the guessing; for a whole privacy curve a recursion says more. Both are proved in
docs/notes/audit_one_run.md. What comes out is a weaker bound than that of many runs: canaries disturb each
other, and a bound for all mechanisms has to allow for worse than what happens.

Source: Steinke, Nasr and Jagielski, arXiv:2305.08846 (the game and, with 2 m delta and another factor, the
tail, Theorem 5.2); Mahloujifar, Melis and Chaudhuri, arXiv:2410.22235 (privacy curves).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import flint

from dpproof.accountant.numbers.binomial import lower_tail, mass
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.training.curve_recursion import curve_lines, exceeds_one
from dpproof.audits.training.guesses import Guesses

__all__ = ["one_run_epsilon_lower", "one_run_refutes", "one_run_tail", "refuted_scale"]

_BITS = 128
_FARTHEST = 40.0
_POINTS = 9
"""The points of a curve that are tried singly, besides the recursion over all of them."""


def one_run_tail(found: Guesses, epsilon: float, delta: float) -> float:
    """An upper bound on the chance of so many right guesses, under (epsilon, delta)-DP; at most 1.

    Args:
        found: the guesses.
        epsilon: at least 0.
        delta: in [0, 1).

    Raises:
        ValueError: a number outside its range.

    >>> one_run_tail(Guesses(1000, 100, 75), 0.0, 0.0)
    2.8e-07
    """
    if not 0 <= epsilon < float("inf"):
        raise ValueError(f"epsilon ({epsilon!r}) must be a finite number of at least 0")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    if found.right == 0:
        return 1.0
    with precision(_BITS):
        chance = Fraction(round_up(1 / (1 + (-arb_of(exact(epsilon))).exp())))
        return min(1.0, round_up(_tail(found, chance, exact(delta))))


def _tail(found: Guesses, chance: Fraction, delta: Fraction) -> flint.arb:
    """The bound for guesses that are right with ``chance``; larger chances give larger bounds."""
    if chance >= 1:
        return flint.arb(1)
    tail = lower_tail(found.guesses, 1 - chance, found.wrong)
    if delta == 0:
        return tail
    at = mass(found.guesses, 1 - chance, found.wrong)
    return tail + found.canaries * arb_of(delta) * (tail / at) * (1 - tail) / found.right


def one_run_epsilon_lower(found: Guesses, delta: float, alpha: float) -> float:
    """A lower confidence bound on epsilon at ``delta``, above the truth with probability at most ``alpha``.

    The bound on the tail grows with epsilon (docs/notes/audit_one_run.md), so what is refuted is an interval.

    Raises:
        ValueError: delta outside [0, 1), or alpha outside (0, 1).

    >>> one_run_epsilon_lower(Guesses(1000, 100, 75), 0.0, 0.05)
    0.702209
    """
    _check_level(alpha)

    def refuted(epsilon: float) -> bool:
        return one_run_tail(found, epsilon, delta) <= alpha

    return _last(refuted, _FARTHEST)


def one_run_refutes(found: Guesses, curve: PrivacyCurve, alpha: float) -> bool:
    """Whether so many right guesses have a chance of at most ``alpha`` under the whole curve.

    Args:
        found: the guesses.
        curve: the claim; the upper ends of its ``delta(epsilon)`` are used.
        alpha: the level, in (0, 1).

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> one_run_refutes(Guesses(1000, 100, 75), GaussianDP(0.1), 0.01)
    True

    Raises:
        ValueError: alpha outside (0, 1).
    """
    _check_level(alpha)
    if found.right == 0:
        return False
    points = curve_lines(curve, alpha * found.right / (20 * found.canaries))
    some = points[:: max(1, len(points) // _POINTS)] + points[-1:]
    if any(one_run_tail(found, epsilon, delta) <= alpha for epsilon, delta in some if delta < 1):
        return True
    return exceeds_one(points, found, alpha)


def refuted_scale(
    family: Callable[[float], PrivacyCurve], found: Guesses, alpha: float, most: float
) -> float:
    """The largest refuted member of a family of curves, such as ``GaussianDP``, that weaken as it grows.

    If the mechanism satisfies ``family(x)``, the result exceeds x with probability at most ``alpha``. It says
    nothing of the epsilon of a mechanism whose curve has another shape.

    Args:
        family: from a number above 0 to a curve; larger numbers promise less.
        found: the guesses.
        alpha: the level.
        most: the largest number tried.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> refuted_scale(GaussianDP, Guesses(1000, 100, 75), 0.01, 8.0)
    0.2...
    """
    return _last(lambda scale: scale > 0 and one_run_refutes(found, family(scale), alpha), most)


def _last(refuted: Callable[[float], bool], most: float) -> float:
    """The lower end of a bracket around the last refuted number; 0 if there is none."""
    low, high = 0.0, most
    while high - low > 1e-4 * (0.02 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _check_level(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in (0, 1)")
