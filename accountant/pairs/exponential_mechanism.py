"""Pairs of mechanisms of bounded range, such as the exponential mechanism, and the pair of permute-and-flip.

A mechanism has range epsilon if its privacy losses on any two neighbours lie in an interval [t - epsilon, t].
The number t may depend on the neighbours. One pair dominates such mechanisms for all t at once, and so also
under adaptive composition. Section 2 of docs/notes/pairs.md derives this pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.accountant.pairs.base import RAREST, Cells, Floats
from dpproof.accountant.pairs.lattice import floored
from dpproof.accountant.pairs.randomised_response import RandomisedResponse

_LARGEST = 600
_ULP = 2.0**-52


@dataclass(frozen=True)
class BoundedRange:
    """The tightest pair that dominates every mechanism of range ``epsilon``.

    A mechanism has this range if its privacy losses on any two neighbours lie in an interval of length
    ``epsilon``. On [-epsilon, epsilon] the losses of the pair have the density exp((epsilon + x)/2) / (2
    (exp(epsilon) - 1)) under P and the mirrored density under Q. The privacy profile of the pair is delta(x)
    = (exp(epsilon/2) - exp(x/2))^2 / (exp(epsilon) - 1).

    Source: project statement classic.bounded_range, docs/notes/pairs.md, section 2; the two-point pairs it
    dominates are those of Dong, Durfee and Rogers, arXiv:1909.13830, Section 3.

    >>> import numpy as np
    >>> BoundedRange(1.0).cells(np.array([-1.0, 0.0, 1.0])).p.tolist()
    [0.0, 0.377541, 0.622459, 0.0]

    Raises:
        ValueError: unless 1e-300 <= epsilon <= 600.
    """

    epsilon: Number

    def __post_init__(self) -> None:
        if not RAREST <= exact(self.epsilon, "epsilon") <= _LARGEST:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be from 1e-300 to {_LARGEST}")

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        The density is integrated in closed form.
        """
        width = float(exact(self.epsilon))
        ends = np.clip(np.concatenate(([-np.inf], edges, [np.inf])), -width, width)
        share = np.expm1((ends[:-1] - ends[1:]) / 2) / np.expm1(-width)
        # exp of an argument of size up to epsilon: its rounding costs epsilon/2 ulp, that of epsilon as much.
        error = (16 + 2 * width) * _ULP
        some = ends[:-1] < ends[1:]
        p, p_error = floored(np.exp((ends[1:] - width) / 2) * share, error, some)
        q, q_error = floored(np.exp((-width - ends[:-1]) / 2) * share, error, some)
        return Cells(p, q, p_error, q_error, width * _ULP)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single step, at the current precision.

        It is (e^(w/2) - e^(epsilon/2))^2/(e^w - 1) with w the range, or 0 beyond w.
        """
        width = arb_of(exact(self.epsilon))
        root = (-((epsilon - width) / 2).expm1()).max(flint.arb(0))
        return root**2 / -(-width).expm1()

    def reversed(self) -> BoundedRange:
        """Return the pair itself: both directions have the same privacy loss."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are minus and plus epsilon, rounded outward.
        """
        with precision(128):
            width = round_up(arb_of(exact(self.epsilon)))
        return -width, width

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return


def exponential_mechanism(epsilon: Number, *, monotone: bool = False) -> BoundedRange:
    """Return a pair that dominates the exponential mechanism.

    The mechanism draws r with a probability proportional to exp(epsilon u(r)/(2 Delta)). u(r) is the utility
    of r, and Delta is its largest change between neighbours. If ``monotone`` is true, the utilities of any
    two neighbours must differ in one direction only. Then all losses lie in an interval of length epsilon/2.

    Source: McSherry and Talwar, FOCS 2007, for the mechanism; project statement classic.exponential_range,
    after Durfee and Rogers, arXiv:1905.04273, for the range; ``BoundedRange`` for the pair.

    >>> exponential_mechanism(1.0, monotone=True)
    BoundedRange(epsilon=Fraction(1, 2))

    Raises:
        ValueError: unless 1e-300 <= epsilon <= 600, or half of it with ``monotone``.
    """
    BoundedRange(epsilon)
    return BoundedRange(exact(epsilon) / 2 if monotone else exact(epsilon))


def permute_and_flip(epsilon: Number) -> RandomisedResponse:
    """Return a pair that dominates permute-and-flip: that of randomised response at ``epsilon``.

    Permute-and-flip is epsilon-differentially private, so randomised response dominates it. No pair with a
    smaller privacy profile is proved to dominate it. ``BoundedRange(epsilon)`` would be unsound. An example
    shows this: two candidates have equal utilities for one neighbour, and utilities 2 Delta apart for the
    other neighbour, where Delta is the sensitivity. The losses are epsilon and -log(2 - exp(-epsilon)), which
    are more than epsilon apart.

    Source: McKenna and Sheldon, arXiv:2010.12603, Theorem 1; docs/notes/pairs.md, section 3.

    >>> permute_and_flip(1.0).loss_range()[1] >= 1
    True

    Raises:
        ValueError: see ``RandomisedResponse``.
    """
    return RandomisedResponse(epsilon)
