"""Randomised response: the true answer with a given probability, otherwise another answer chosen uniformly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import RAREST, Cells, Floats
from dpproof.accountant.pairs.lattice import listed
from dpproof.accountant.pairs.outcomes import Spaced, Support

_BITS = 192
_MOST_EPSILON = 10**12


@dataclass(frozen=True)
class RandomisedResponse:
    """The dominating pair of randomised response with a privacy parameter ``epsilon``.

    The true answer is exp(epsilon) times as likely as each other answer. P and Q have different true answers.
    The privacy losses are epsilon and -epsilon. With more than two ``categories``, answers that are true for
    neither neighbour have loss 0. With two categories the pair dominates every epsilon-differentially private
    mechanism. Both directions have the same privacy loss.

    Source: Warner (1965); Kairouz, Oh and Viswanath, arXiv:1311.0776v4, Theorem 3.3 (its simulation, with
    delta 0), for the domination; the losses are ratios of the masses.

    >>> import numpy as np
    >>> RandomisedResponse(1, 3).cells(np.array([-0.5, 0.5])).p
    array([0.211942, 0.211942, 0.576117])

    Raises:
        ValueError: unless 1e-300 <= epsilon <= 1e12, and categories is an integer from 2 on.
    """

    epsilon: Number
    categories: int = 2

    def __post_init__(self) -> None:
        _check_categories(self.categories)
        if not RAREST <= exact(self.epsilon, "epsilon") <= _MOST_EPSILON:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be from 1e-300 to 1e12")

    @property
    def lattice(self) -> float:
        """The spacing of the privacy losses. All losses are multiples of this number."""
        return float(exact(self.epsilon))

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        with precision(_BITS):
            law = self.outcomes()
            return listed(edges, law.losses, law.masses, law.masses[::-1])

    @property
    def support(self) -> Support:
        """The number of different losses. They are equally spaced."""
        return Support(2 if self.categories == 2 else 3, spaced=True)

    def outcomes(self) -> Spaced:
        """Return the false answer, any answers of loss 0, and the true answer, at the current precision."""
        unit = arb_of(exact(self.epsilon))
        truth = 1 / (1 + (self.categories - 1) * (-unit).exp())
        other = truth * (-unit).exp()
        middle = [(self.categories - 2) * other] * (self.support.size - 2)
        return Spaced(unit, -1, 2 - len(middle), [other, *middle, truth])

    def reversed(self) -> RandomisedResponse:
        """Return the pair itself: the two answers are exchanged."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are minus and plus epsilon, rounded outward.
        """
        with precision(_BITS):
            end = round_up(arb_of(exact(self.epsilon)))
        return -end, end

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return


def truthful_response(truth: Number, categories: int = 2) -> Atoms:
    """Return the dominating pair of randomised response that gives the true answer with probability ``truth``.

    All other answers have equal probabilities.

    Source: Warner (1965); Kairouz, Bonawitz and Ramage, arXiv:1602.07387, for more than two categories.

    >>> import numpy as np
    >>> truthful_response("3/4").cells(np.array([0.0])).p
    array([0.25, 0.75])

    Raises:
        ValueError: unless categories is an integer from 2 on and 1/categories <= truth < 1.
    """
    _check_categories(categories)
    share = exact(truth, "truth")
    if not Fraction(1, categories) <= share < 1:
        raise ValueError(f"truth ({truth!r}) must be in [1/{categories}, 1)")
    other = (1 - share) / (categories - 1)
    rest = (categories - 2) * other
    return Atoms((share, rest, other), (other, rest, share))


def _check_categories(categories: int) -> None:
    whole(categories, "categories", 2)
