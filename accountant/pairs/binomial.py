"""Dominating pairs of binomial counts: a count with binomial noise, and a shuffled binary sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import cached_property, np
from dpproof.accountant.numbers.binomial import UNIT, check_law, log_masses, mass
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    exact,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.pairs.base import Cells, Floats, check_chance
from dpproof.accountant.pairs.lattice import MOST_KEPT, MOST_OUTCOMES, between, with_impossible
from dpproof.accountant.pairs.outcomes import Listed, Support

_ULP = 2.0**-52


@dataclass(frozen=True)
class ShiftedBinomial:
    """The dominating pair of P = Binomial(trials, probability) and Q, the same distribution plus 1.

    The privacy loss of the outcome x is log((trials + 1 - x) probability / (x (1 - probability))). The
    outcome 0 has an infinite loss, and its probability under P is (1 - probability)^trials. The pair
    dominates a count of sensitivity 1 with this noise, in one direction of the neighbouring relation.
    ``reversed`` returns the pair for the other direction.

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
            raise ValueError(
                f"trials ({self.trials!r}) is too large, because more than {MOST_OUTCOMES} outcomes are likely. "
                "Use fewer trials."
            )

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        The loss of the outcome x is at least e if x is at most (trials + 1) r/(exp(e) + r), where r =
        probability/(1 - probability).
        """
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
        """Return the masses of the likely outcomes and of the one below them, and relative errors."""
        low, high = self._window()
        found = log_masses(self.trials, exact(self.probability), np.arange(low - 1, high + 1))
        return np.exp(found.values), np.expm1(found.errors * (1 + 1e-9)) + 4 * _ULP

    @property
    def support(self) -> Support:
        """The number of outcomes with a finite loss."""
        return Support(self.trials, spaced=False)

    def outcomes(self) -> Listed:
        """Return all outcomes at the current precision."""
        return _outcomes(self.trials, exact(self.probability), Fraction(0), Fraction(1))

    def reversed(self) -> ShiftedBinomial:
        """Return the pair (Q, P), for the other direction of the neighbouring relation.

        Reflecting the outcomes gives the pair with 1 - probability.
        """
        if 2 * exact(self.probability) == 1:
            return self
        return ShiftedBinomial(self.trials, 1 - exact(self.probability))

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are the losses of the outcomes ``trials`` and 1.
        """
        share = exact(self.probability)
        odds = share / (1 - share)
        with precision(128):
            return round_down(arb_of(odds / self.trials).log()), round_up(arb_of(odds * self.trials).log())

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return

    def _window(self) -> tuple[int, int]:
        """Return the range of likely outcomes of finite loss. The others have mass at most 4e-300 (Bernstein)."""
        share = exact(self.probability)
        spread = float(self.trials * share * (1 - share))
        reach = math.ceil(232 + math.sqrt(52900 + 1380 * spread) * (1 + 1e-9))
        middle = math.floor(self.trials * share)
        return max(1, middle - reach), min(self.trials, middle + reach)

    def _starts(self, edges: Floats, low: int, high: int) -> NDArray[np.int64]:
        """Return the indices at which the cells begin among the outcomes ``low`` .. ``high``, largest losses first.

        The smaller of x and trials + 1 - x is computed, so its relative error is that of exp(e)/r.
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


def _outcomes(trials: int, share: Fraction, first: Fraction, second: Fraction) -> Listed:
    """Return the outcomes of Binomial(trials, share) plus a bit, 1 with probability ``first`` or ``second``.

    The noise's masses b(k) and b(k - 1) are as (trials + 1 - k) share to k (1 - share). All ratios are
    computed from integers.
    """
    heads, tails = share.numerator, share.denominator - share.numerator
    whole = math.lcm(first.denominator, second.denominator)
    bits = [int(bit * whole) for bit in (first, second)]
    losses, masses, infinite = [], [], flint.arb(0)
    noise = mass(trials, share, 0)
    for k in range(trials + 2):
        stays, goes = (trials + 1 - k) * heads, k * tails
        p, q = ((whole - bit) * stays + bit * goes for bit in bits)
        one = noise * p / (whole * stays) if stays else noise * bits[0] / whole
        if q == 0:
            infinite += one
        elif p:
            losses.append(_log_ratio(p, q))
            masses.append(one)
        if k < trials:
            noise = noise * (stays - heads) / (goes + tails)
    return Listed(losses, masses, infinite)


def _log_ratio(p: int, q: int) -> flint.arb:
    """Return log(p/q), with full relative accuracy near 0 too."""
    return (flint.arb(p - q) / q).log1p() if 2 * abs(p - q) < q else (flint.arb(p) / q).log()


def _log_odds(share: Fraction) -> float:
    with precision(128):
        return round_down(arb_of(share / (1 - share)).log())


@dataclass(frozen=True)
class ShuffledBinary:
    """The dominating pair of a shuffled sum of bits: Binomial(trials, probability) plus one user's bit.

    The user's bit is 1 with probability ``first`` under P and with probability ``second`` > ``first`` under
    Q. So the privacy loss falls as the sum grows. An example is randomised response that sends a false bit
    with the given probability. If all other users hold the bit 0, then first = probability and second = 1 -
    probability. If first is 0 and second is 1, the pair is that of ``ShiftedBinomial``.

    Source: docs/notes/shuffling.md, section 1; the masses from ``dpproof.accountant.numbers.binomial``.

    >>> import numpy as np
    >>> ShuffledBinary(4, "1/2", "1/4", "3/4").cells(np.array([0.0])).p
    array([0.40625, 0.59375])

    Raises:
        ValueError: for trials outside 1 .. 10^15, or a probability outside [1e-270, 1 - 1e-270]; unless 0 <=
            first < second <= 1; for a first or second that is within 1e-270 of 0 or 1 but not equal to it;
            for more than 2^24 outcomes of a probability above 1e-300.
    """

    trials: int
    probability: Number
    first: Number = 0
    second: Number = 1

    def __post_init__(self) -> None:
        share = exact(self.probability, "probability")
        check_law(self.trials, share)
        if self.trials < 1:
            raise ValueError(f"trials ({self.trials!r}) must be at least 1")
        check_chance(share)
        if not 0 <= exact(self.first, "first") < exact(self.second, "second") <= 1:
            raise ValueError(f"first ({self.first!r}) must be in [0, 1] and below second ({self.second!r})")
        if self.first:
            check_chance(exact(self.first), "first")
        if exact(self.second) != 1:
            check_chance(exact(self.second), "second")
        low, high = self._window()
        if high - low > MOST_OUTCOMES:
            raise ValueError(
                f"trials ({self.trials!r}) is too large, because more than {MOST_OUTCOMES} outcomes are likely. "
                "Use fewer trials."
            )

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        The function computes the loss of every likely sum. The slack is the rounding error of these losses.
        """
        p, a, c = self._exact()
        low, high = self._window()
        losses, masses, wrong = self._kept if high - low < MOST_KEPT else self._law()
        here, before = (masses[:-1], wrong[:-1]), (masses[1:], wrong[1:])
        starts = np.concatenate(([0], np.searchsorted(losses, edges), [len(losses)])).astype(np.int64)
        whole = low == (1 if c == 1 else 0) and high == self.trials + (1 if a > 0 else 0)
        errors = np.expm1(np.maximum(here[1], before[1]) * (1 + 1e-9)) + 16 * UNIT
        sides = []
        for chance in (a, c):
            masses = float(1 - chance) * here[0] + float(chance) * before[0]
            sides.append(between(masses, errors, starts, whole))
        (p_sums, p_error), (q_sums, q_error) = sides
        if a == 0:
            last = tuple(float(c) * end for end in self._power(p))  # of the sum trials + 1
            q_sums, q_error = with_impossible(q_sums, q_error, 0, (last[0] * (1 - 2 * UNIT), last[1]))
        lost = self._power(1 - p) if c == 1 else (0.0, 0.0)
        ends = float(1 - a) * lost[0] * (1 - 4 * UNIT), float(1 - a) * lost[1] * (1 + 4 * UNIT)
        slack = 64 * UNIT * (1 + float(np.abs(losses).max(initial=0.0)))
        return Cells(p_sums, q_sums, p_error, q_error + 4 * UNIT, slack, ends)

    @cached_property
    def _kept(self) -> tuple[Floats, Floats, Floats]:
        return self._law()

    def _law(self) -> tuple[Floats, Floats, Floats]:
        """Return the losses of the likely sums, last sum first; the noise's masses there and one below; and errors."""
        low, high = self._window()
        sums = np.arange(high, low - 2, -1, dtype=np.int64)
        return np.maximum.accumulate(self._losses(sums[:-1])), *self._masses(sums)

    @property
    def support(self) -> Support:
        """The largest possible number of outcomes with a finite loss."""
        return Support(self.trials + 2, spaced=False)

    def outcomes(self) -> Listed:
        """Return all outcomes at the current precision."""
        return _outcomes(self.trials, *self._exact())

    def reversed(self) -> ShuffledBinary:
        """Return the pair (Q, P), for the other direction of the neighbouring relation.

        Reflecting the sum exchanges the two distributions.
        """
        p, a, c = self._exact()
        if 2 * p == 1 and a + c == 1:
            return self
        return ShuffledBinary(self.trials, 1 - p, 1 - c, 1 - a)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are log(first/second) and log((1 - first)/(1 - second)) if these are finite, rounded
        outward.
        """
        p, a, c = self._exact()
        odds, n = (1 - p) / p, self.trials
        least, most = odds * n, odds / n  # the ratios b(k-1)/b(k) of the sums n and 1
        with precision(128):
            low = arb_of(a / c if a > 0 else 1 / (1 - c + c * least)).log()
            high = arb_of((1 - a) / (1 - c) if c < 1 else (1 - a + a * most) / most).log()
            return round_down(low), round_up(high)

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return

    def _exact(self) -> tuple[Fraction, Fraction, Fraction]:
        return exact(self.probability), exact(self.first), exact(self.second)

    def _window(self) -> tuple[int, int]:
        """Return the range of likely sums of finite loss. The others have mass at most 4e-300 (Bernstein)."""
        p, a, c = self._exact()
        spread = float(self.trials * p * (1 - p))
        reach = math.ceil(233 + math.sqrt(52900 + 1380 * spread) * (1 + 1e-9))
        middle = math.floor(self.trials * p)
        last = self.trials + 1 if a > 0 else self.trials
        return max(1 if c == 1 else 0, middle - reach), min(last, middle + reach)

    def _masses(self, sums: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return the noise's masses and the absolute errors of their logarithms; 0 outside the noise's range."""
        inside = (sums >= 0) & (sums <= self.trials)
        found = log_masses(self.trials, exact(self.probability), np.clip(sums, 0, self.trials))
        return np.where(inside, np.exp(found.values), 0.0), np.where(inside, found.errors, 0.0)

    def _losses(self, sums: NDArray[np.int64]) -> Floats:
        p, a, c = self._exact()
        kept, moved = sums.astype(np.float64), (self.trials + 1 - sums).astype(np.float64)
        stays, goes = moved * float(p), kept * float(1 - p)  # b(k) : b(k-1)
        found: Floats = np.log(
            (float(1 - a) * stays + float(a) * goes) / (float(1 - c) * stays + float(c) * goes)
        )
        return found

    def _power(self, base: Fraction) -> tuple[float, float]:
        with precision(128):
            value = mass(self.trials, base, self.trials)
            return round_down(value), round_up(value)
