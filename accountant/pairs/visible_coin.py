"""A public choice between pairs: what is drawn first is part of the output, whatever the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import Cells, DominatingPair, Floats
from dpproof.accountant.pairs.checks import pair_of
from dpproof.accountant.pairs.lattice import mixed

__all__ = ["Nothing", "VisibleChoice", "visible_coin"]


@dataclass(frozen=True)
class Nothing:
    """The pair of an output that does not depend on the data: its loss is 0.

    >>> import numpy as np
    >>> Nothing().cells(np.array([-1.0, 1.0])).p.tolist()
    [0.0, 1.0, 0.0]
    """

    def cells(self, edges: Floats) -> Cells:
        """See ``DominatingPair.cells``: all mass lies in the cell of 0."""
        masses = np.zeros(len(edges) + 1)
        masses[np.searchsorted(edges, 0.0, side="right")] = 1.0
        return Cells(masses, masses.copy(), 0.0, 0.0, 0.0)

    def reversed(self) -> Nothing:
        """The pair itself."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """The loss is 0."""
        return 0.0, 0.0

    def characteristic(self) -> None:
        """None: nothing is asked of it."""
        return


@dataclass(frozen=True)
class VisibleChoice:
    """A pair drawn with known probabilities, the draw being shown: the profile is the weighted mean.

    Sound under every neighbouring relation under which the draw has one law on both neighbours and each
    ``pair`` dominates what follows its draw. What that excludes is in docs/notes/sampling.md, section 5.

    Source: the definition of the hockey-stick divergence; project statement classic.visible_choice.

    >>> import numpy as np
    >>> VisibleChoice((("1/4", Nothing()), ("3/4", Nothing()))).cells(np.array([0.0])).p.tolist()
    [0.0, 1.0]

    Raises:
        ValueError: if a weight is not above 0, or the weights do not add up to exactly 1.
    """

    branches: Sequence[tuple[Number, DominatingPair]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", tuple((weight, pair) for weight, pair in self.branches))
        for weight, pair in self.branches:
            pair_of(pair)
            if exact(weight, "weight") <= 0:
                raise ValueError(f"weight ({weight!r}) must be above 0")
        if (total := sum(exact(weight) for weight, _ in self.branches)) != 1:
            raise ValueError(f"weights (sum {total}) must add up to exactly 1")

    def cells(self, edges: Floats) -> Cells:
        """See ``DominatingPair.cells``; all terms are positive, so relative errors do not grow."""
        found = [(exact(weight), pair.cells(edges)) for weight, pair in self.branches]
        p, p_error = mixed([(float(w), x.p, x.p_error) for w, x in found])
        q, q_error = mixed([(float(w), x.q, x.q_error) for w, x in found])
        slack = max(x.slack for _, x in found)
        return Cells(p, q, p_error, q_error, slack, _weighted([(w, x.infinite) for w, x in found]))

    def reversed(self) -> VisibleChoice:
        """See ``DominatingPair.reversed``: every branch is."""
        return VisibleChoice(tuple((weight, pair.reversed()) for weight, pair in self.branches))

    def loss_range(self) -> tuple[float, float]:
        """See ``DominatingPair.loss_range``, outward: around the ranges of all branches."""
        lows, highs = zip(*(pair.loss_range() for _, pair in self.branches), strict=True)
        return min(lows), max(highs)

    def characteristic(self) -> None:
        """None: the grid serves it."""
        return


def visible_coin(pair: DominatingPair, probability: Number) -> VisibleChoice:
    """``pair`` with that probability, otherwise an output that does not depend on the data.

    The coin is fair to all records alike (it decides on a whole step) and everybody sees it. It scales
    delta, not epsilon: delta(epsilon) is ``probability`` times the pair's.

    >>> import numpy as np
    >>> visible_coin(Nothing(), 0.5).loss_range()
    (0.0, 0.0)

    Raises:
        ValueError: unless 0 < probability <= 1.
    """
    share = exact(probability, "probability")
    if not 0 < share <= 1:
        raise ValueError(f"probability ({probability!r}) must be above 0 and at most 1")
    idle: tuple[tuple[Number, DominatingPair], ...] = ((1 - share, Nothing()),) if share < 1 else ()
    return VisibleChoice(((share, pair), *idle))


def _weighted(terms: list[tuple[Fraction, tuple[float, float]]]) -> tuple[float, float]:
    with precision(128):
        low, high = (
            sum((arb_of(w * Fraction(ends[i])) for w, ends in terms), arb_of(Fraction(0))) for i in (0, 1)
        )
        return round_down(low), round_up(high)
