"""The dominating pair of a coin that is thrown until it shows heads."""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.pairs.base import Cells, Floats
from dpproof.accountant.pairs.subsampled import swapped

_U = 2.0**-53
_NEGLIGIBLE = 1e-280


@dataclass(frozen=True)
class CoinsUntilHeads:
    """The dominating pair (P, Q) of a coin that is thrown until it shows heads.

    The accountant of the sparse vector technique uses this pair. The odds of heads are exp(epsilon) under P
    and exp(-epsilon) under Q. If n tails come before the first heads, the privacy loss is (1 - n) epsilon.
    The probability of n tails or more is (1 - a)^n under P and a^n under Q, with a = 1/(1 + exp(-epsilon)).

    >>> cells = CoinsUntilHeads(math.log(3)).cells(np.array([0.5]))
    >>> [round(float(p), 6) for p in cells.p]
    [0.25, 0.75]

    Raises:
        ValueError: unless 1e-9 <= epsilon <= 600.
    """

    epsilon: float
    exchanged: bool = False
    """Whether P and Q are exchanged. All privacy losses then have the opposite sign."""

    def __post_init__(self) -> None:
        if not 1e-9 <= self.epsilon <= 600:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be from 1e-9 to 600")

    @property
    def lattice(self) -> float:
        """The spacing of the privacy losses. All losses are multiples of this number."""
        return self.epsilon

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        Each outcome is a number of tails.
        """
        if self.exchanged:
            return swapped(CoinsUntilHeads(self.epsilon).cells(-edges[::-1]))
        upto = np.maximum(np.floor(1 - edges / self.epsilon) + 1, 0.0)
        first = np.concatenate([upto, [0.0]])
        last = np.concatenate([[np.inf], upto])
        rest = math.log1p(math.exp(-self.epsilon))
        (p, p_error), (q, q_error) = (_between(first, last, log) for log in (-self.epsilon - rest, -rest))
        slack = 8 * _U * (float(np.abs(edges).max()) + self.epsilon)
        return Cells(p, q, p_error, q_error, slack)

    def reversed(self) -> CoinsUntilHeads:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return CoinsUntilHeads(self.epsilon, not self.exchanged)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses."""
        return (-self.epsilon, math.inf) if self.exchanged else (-math.inf, self.epsilon)

    def characteristic(self) -> None:
        """Return None: no characteristic function is computed, so composition uses a grid of losses."""
        return


def _between(first: Floats, last: Floats, log: float) -> tuple[Floats, Floats]:
    """Return exp(first log) - exp(last log) and its relative error: 8 ulp of the exponent, 32 for the rest."""
    with np.errstate(invalid="ignore", under="ignore"):
        masses = np.exp(first * log) * -np.expm1((last - first) * log)
    errors = (16 * np.abs(first * log) + 64) * _U
    empty, tiny = last <= first, masses < _NEGLIGIBLE
    masses = np.where(empty, 0.0, np.where(tiny, _NEGLIGIBLE, masses))
    return masses, np.where(tiny & ~empty, 1.0, np.minimum(errors, 1.0))
