"""Privacy loss of the sparse vector at delta > 0: a Laplace pair for each threshold, coins for its comparisons.

Given the threshold's noise, a comparison is a coin that always shows heads, always shows tails, or is randomised
response of the queries' epsilon. So c positive answers are a post-processing of coins that are thrown until the c-th
head. They cost about sqrt(c) times one answer, not c times. Proof: docs/notes/sparse_vector.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.pairs.base import Cells, DominatingPair, Floats
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.notion import PrivacyLoss

_U = 2.0**-53
_NEGLIGIBLE = 1e-280


@dataclass(frozen=True)
class CoinsUntilHeads:
    """Coins thrown until one shows heads, with odds exp(epsilon) under P and exp(-epsilon) under Q.

    After n tails the loss is (1 - n) epsilon. P and Q of n tails or more are (1 - a)^n and a^n, with
    a = 1/(1 + exp(-epsilon)).

    >>> cells = CoinsUntilHeads(math.log(3)).cells(np.array([0.5]))
    >>> [round(float(p), 6) for p in cells.p]
    [0.25, 0.75]

    Raises:
        ValueError: unless 1e-9 <= epsilon <= 600.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 1e-9 <= self.epsilon <= 600:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be from 1e-9 to 600")

    @property
    def lattice(self) -> float:
        """The losses are multiples of it."""
        return self.epsilon

    def cells(self, edges: Floats) -> Cells:
        """See ``DominatingPair.cells``; a cell holds the numbers of tails between two whole numbers."""
        upto = np.maximum(np.floor(1 - edges / self.epsilon) + 1, 0.0)
        first = np.concatenate([upto, [0.0]])
        last = np.concatenate([[np.inf], upto])
        rest = math.log1p(math.exp(-self.epsilon))
        (p, p_error), (q, q_error) = (_between(first, last, log) for log in (-self.epsilon - rest, -rest))
        slack = 8 * _U * (float(np.abs(edges).max()) + self.epsilon)
        return Cells(p, q, p_error, q_error, slack)

    def reversed(self) -> CoinsUntilHeads:
        """See ``DominatingPair.reversed``."""
        raise NotImplementedError("the sparse vector's coins are used in one direction")

    def loss_range(self) -> tuple[float, float]:
        """See ``DominatingPair.loss_range``."""
        return -math.inf, self.epsilon

    def characteristic(self) -> None:
        """None: the losses lie on a lattice, and the grid serves it."""
        return


def _between(first: Floats, last: Floats, log: float) -> tuple[Floats, Floats]:
    """exp(first log) - exp(last log) and its relative error: 8 ulp of the exponent, and 32 for the rest."""
    with np.errstate(invalid="ignore", under="ignore"):
        masses = np.exp(first * log) * -np.expm1((last - first) * log)
    errors = (16 * np.abs(first * log) + 64) * _U
    empty, tiny = last <= first, masses < _NEGLIGIBLE
    masses = np.where(empty, 0.0, np.where(tiny, _NEGLIGIBLE, masses))
    return masses, np.where(tiny & ~empty, 1.0, np.minimum(errors, 1.0))


def loss_of_runs(
    rates: tuple[Fraction, Fraction, Fraction], monotone: bool, runs: int, positives: int
) -> PrivacyLoss:
    """The privacy profile of ``runs`` thresholds that serve ``positives`` answers each; an upper bound.

    >>> one = (Fraction(1, 100), Fraction(1, 100), Fraction(0))
    >>> loss_of_runs(one, monotone=False, runs=1, positives=50).epsilon("1e-6").upper
    0.65

    Source: statement classic.sparse_vector_profile.

    Raises:
        ValueError: for noise beyond the ranges of the pairs, or no sensitivity at all.
    """
    threshold, query, answer = rates
    if not threshold:
        raise ValueError("sensitivity (0) must be above 0 for there to be a loss")
    parts: list[tuple[DominatingPair, int]] = [
        (_laplace(threshold), runs),
        (_coins(query * (1 if monotone else 2)), runs * positives),
    ]
    if answer:
        parts.append((_laplace(answer), runs * positives))
    return PrivacyLoss([parts])


def _laplace(rate: Fraction) -> Laplace:
    """The pair of Laplace noise with the scale rounded down, which is no more private."""
    with precision(128):
        return Laplace(round_down(arb_of(1 / rate)))


def _coins(epsilon: Fraction) -> CoinsUntilHeads:
    with precision(128):
        return CoinsUntilHeads(round_up(arb_of(epsilon)))
