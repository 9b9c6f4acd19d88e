"""The binomial mechanism: a count with binomial noise, against the same one higher."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import cached_property, np
from dpproof.accountant.numbers.binomial import check_law, log_masses
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import Cells, Floats
from dpproof.accountant.pairs.checks import check_chance
from dpproof.accountant.pairs.lattice import MOST_KEPT, MOST_OUTCOMES, between, with_impossible

__all__ = ["ShiftedBinomial"]

_ULP = 2.0**-52


@dataclass(frozen=True)
class ShiftedBinomial:
    """The pair Binomial(trials, probability), the same plus 1.

    The loss of the outcome x is log((trials + 1 - x) probability / (x (1 - probability))); of 0 it is
    infinite, with mass (1 - probability)^trials. It dominates a count of sensitivity 1 with this noise in
    one direction; ``reversed`` (the complement's probability) in the other.

    Source: the masses, from ``dpproof.accountant.numbers.binomial``; Dwork, Kenthapadi, McSherry, Mironov and Naor,
    EUROCRYPT 2006, Section 4, for the mechanism; docs/notes/pairs.md, section 5.

    >>> import numpy as np
    >>> ShiftedBinomial(4, "1/2").cells(np.array([0.0])).infinite
    (0.0625, 0.0625)

    Raises:
        ValueError: for trials that are no integer from 1 on, a probability outside [1e-270, 1 - 1e-270],
            or more than 2^24 outcomes of a mass above 1e-300.
    """

    trials: int
    probability: Number

    def __post_init__(self) -> None:
        share = exact(self.probability, "probability")
        check_law(self.trials, share)
        if self.trials < 1:
            raise ValueError(f"trials ({self.trials!r}) must be at least 1")
        check_chance(share)
        low, high = self._window()
        if high - low > MOST_OUTCOMES:
            raise ValueError(f"trials ({self.trials!r}) must leave at most {MOST_OUTCOMES} likely outcomes")

    def cells(self, edges: Floats) -> Cells:
        """See ``DominatingPair.cells``; loss at least e means x at most (trials + 1) r/(exp(e) + r), r the odds."""
        low, high = self._window()
        masses, errors = self._kept if high - low < MOST_KEPT else self._masses()
        starts = self._starts(edges, low, high)
        whole = low == 1 and high == self.trials
        p, p_error = between(masses[1:], errors[1:], starts, whole)
        q, q_error = between(masses[:-1], errors[:-1], starts, whole)
        q, q_error = with_impossible(q, q_error, -1, self._power(exact(self.probability)))  # trials + 1
        slack = _ULP * (
            16 + 2 * float(np.abs(edges).max(initial=0.0)) + 2 * abs(_log_odds(exact(self.probability)))
        )
        lost = self._power(1 - exact(self.probability))
        return Cells(p[::-1], q[::-1], p_error[::-1], q_error[::-1] + _ULP, slack, lost)

    @cached_property
    def _kept(self) -> tuple[Floats, Floats]:
        return self._masses()

    def _masses(self) -> tuple[Floats, Floats]:
        """The masses of the likely outcomes and the one below them, and relative errors."""
        low, high = self._window()
        found = log_masses(self.trials, exact(self.probability), np.arange(low - 1, high + 1))
        return np.exp(found.values), np.expm1(found.errors * (1 + 1e-9)) + 4 * _ULP

    def reversed(self) -> ShiftedBinomial:
        """See ``DominatingPair.reversed``: reflecting the outcomes gives the noise of the other probability."""
        if 2 * exact(self.probability) == 1:
            return self
        return ShiftedBinomial(self.trials, 1 - exact(self.probability))

    def loss_range(self) -> tuple[float, float]:
        """See ``DominatingPair.loss_range``, outward: the losses of the outcomes trials and 1."""
        share = exact(self.probability)
        odds = share / (1 - share)
        with precision(128):
            return round_down(arb_of(odds / self.trials).log()), round_up(arb_of(odds * self.trials).log())

    def characteristic(self) -> None:
        """None: the grid serves it."""
        return

    def _window(self) -> tuple[int, int]:
        """Outcomes of finite loss, but for 4e-300 of their mass under P and Q (Bernstein's inequality)."""
        share = exact(self.probability)
        spread = float(self.trials * share * (1 - share))
        reach = math.ceil(232 + math.sqrt(52900 + 1380 * spread) * (1 + 1e-9))
        middle = math.floor(self.trials * share)
        return max(1, middle - reach), min(self.trials, middle + reach)

    def _starts(self, edges: Floats, low: int, high: int) -> NDArray[np.int64]:
        """Where the cells begin among the outcomes ``low`` .. ``high``, from the largest losses down.

        The smaller of x and trials + 1 - x is computed, so that its relative error is that of exp(e)/r.
        """
        gap = np.clip(edges[::-1] - _log_odds(exact(self.probability)), -700, 700)
        side = (self.trials + 1) / (1 + np.exp(np.abs(gap)))
        last = np.where(gap > 0, np.floor(side), self.trials + 1 - np.ceil(side))
        inner = np.clip(last - low + 1, 0, high - low + 1).astype(np.int64)
        return np.concatenate(([0], inner, [high - low + 1]))

    def _power(self, base: Fraction) -> tuple[float, float]:
        with precision(128):
            value = (self.trials * arb_of(base).log()).exp()
            return round_down(value), round_up(value)


def _log_odds(share: Fraction) -> float:
    with precision(128):
        return round_down(arb_of(share / (1 - share)).log())
