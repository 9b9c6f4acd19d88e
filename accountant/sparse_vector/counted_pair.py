"""One pair of neighbours of the Laplace sparse vector technique with many positive answers, and one event.

The first m queries have one value, and all of them must be answered "below". They move up, or stay. Then many queries
of another value follow, which move down, or stay. The event is that c of the first M of them are answered "above".
Given the noise of the threshold the answers are independent, so the number of positive answers is binomial. The
probability of the event is an integral over the noise of the threshold, which ball arithmetic encloses. The numbers
and the values are chosen by estimates in double precision. Every choice gives a valid lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down
from dpproof.accountant.numbers.normal import Floats, log_upper_tail

_BITS, _END = 192, 200
"""The precision of an integral, and where the noise of the threshold is cut off, in units of its scale."""
_MOST = 16
"""The largest number of positive answers for which the event is used, because the time grows with it."""
_NODES = np.linspace(-24.0, 24.0, 241)
_WEIGHTS = np.exp(-np.abs(_NODES)) * (0.2 / 2)
_Score = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Counted:
    """An event: ``below`` answers "below" first, then at least ``above`` of ``rest`` answers are "above"."""

    below: int
    rest: int
    above: int
    early: float
    """The value of the first queries, in units of the sensitivity. The threshold is 0."""
    late: float
    """The value of the other queries."""
    moves: tuple[int, int]
    """The changes of the two values between the two data sets."""


@dataclass(frozen=True)
class CountedPair(Profile):
    """Bounds on delta and epsilon of the sparse vector technique for neighbours that change many positive answers.

    ``threshold`` and ``query`` are the sensitivity divided by the noise scales, both above 0. The guarantee ``above``
    gives the upper bounds.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> pair = CountedPair(Fraction(1, 100), Fraction(1, 200), positives=10, monotone=False, above=PureDP(1))
    >>> pair.epsilon("1e-6").lower
    0.057634
    """

    threshold: Fraction
    query: Fraction
    positives: int
    monotone: bool
    above: Profile

    def _delta_at(self, point: Fraction) -> Bound:
        high = self.above.delta(point).upper
        if self.positives > _MOST:
            return Bound(0.0, high)
        factor = math.exp(min(float(point), 700.0))
        event = self._best(lambda p, q: p - factor * q)
        with precision(_BITS):
            p, q = self.chances(event)
            return Bound(min(max(round_down(p - arb_of(point).exp() * q), 0.0), high), high)

    def _epsilon_at(self, target: Fraction) -> Bound:
        high = self.above.epsilon(target).upper
        if self.positives > _MOST or not target:
            return Bound(0.0, high)
        delta = float(target)
        event = self._best(lambda p, q: np.maximum(p - delta, 0.0) / np.maximum(q, 1e-300))
        with precision(_BITS):
            p, q = self.chances(event)
            rest = p - arb_of(target)
            low = max(round_down((rest / q).log()), 0.0) if rest > 0 else 0.0
            return Bound(min(low, high), high)

    def chances(self, event: Counted) -> tuple[flint.arb, flint.arb]:
        """Return a lower bound on the probability under the first data set, and an upper bound under the second."""
        first, second = (self._integral(event, moves) for moves in ((0, 0), event.moves))
        return flint.arb(first.lower()), flint.arb(second.upper()) + (-flint.arb(_END)).exp()

    def _integral(self, event: Counted, moves: tuple[int, int]) -> flint.arb:
        early, late = self._place(event.early, moves[0]), self._place(event.late, moves[1])
        end, ratio = Fraction(_END), arb_of(self.query / self.threshold)
        inner = {place for place in (early, late, Fraction(0)) if -end < place < end}

        def piece(start: Fraction, stop: Fraction) -> flint.arb:
            middle = (start + stop) / 2

            def density(u: flint.acb, _: bool) -> flint.acb:
                weight = (-u if middle > 0 else u).exp() / 2
                under = _below(ratio * (u - arb_of(early)), middle < early)
                over = 1 - _below(ratio * (u - arb_of(late)), middle < late)
                return weight * under**event.below * _at_least(event.above, event.rest, over)

            ends, tiny = (flint.acb(arb_of(start)), flint.acb(arb_of(stop))), flint.arb(2)
            return flint.acb.integral(density, *ends, rel_tol=tiny**-40, abs_tol=tiny**-600).real

        return sum((piece(*ends) for ends in pairwise([-end, *sorted(inner), end])), flint.arb(0))

    def _place(self, value: float, move: int) -> Fraction:
        """Return a value after a move, in units of the scale of the threshold's noise."""
        return self.threshold * (exact(value) + move)

    def _best(self, score: _Score) -> Counted:
        """Return the event with the largest estimated score."""
        return max((self._on_grid(score, *shape) for shape in self._shapes()), key=lambda found: found[0])[1]

    def _shapes(self) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield numbers of first and of later queries, and how the two kinds move."""
        c = self.positives
        counts = {
            c,
            *(max(c, round(2 * c + s * math.sqrt(2 * c))) for s in (-4, -3, -2.5, -2, -1.5, -1, -0.5, 0, 1)),
        }
        for rest in sorted(counts):
            for below in (0, 1, 4, 16, 64, 512):
                if not self.monotone:
                    yield below, rest, (1, -1)
                elif below:
                    yield below, rest, (1, 0)
            if self.monotone:
                yield 0, rest, (0, -1)

    def _on_grid(self, score: _Score, below: int, rest: int, moves: tuple[int, int]) -> tuple[float, Counted]:
        """Return the largest score of this kind of event, with its event."""
        unit = 1 / float(self.query)
        early = np.linspace(-2.0, 3.0, 11) * unit if below else np.zeros(1)
        late = np.linspace(-2.0, 1.0, 13) * unit
        p, q = (self._estimates(below, rest, early + a, late + b) for a, b in ((0, 0), moves))
        scores = score(p, q)
        row, column = divmod(int(np.argmax(scores)), len(late))
        event = Counted(below, rest, self.positives, float(early[row]), float(late[column]), moves)
        return float(scores[row, column]), event

    def _estimates(self, below: int, rest: int, early: Floats, late: Floats) -> Floats:
        """Return estimates of the probability of the event, for all pairs of values."""
        ratio = float(self.query / self.threshold)
        under = _log_laplace(ratio * _NODES - float(self.query) * early[:, None])
        over = -np.expm1(_log_laplace(ratio * _NODES - float(self.query) * late[:, None]))
        spread = np.sqrt(rest * over * (1 - over)) + 1e-9
        tails = ((self.positives - 0.5 - rest * over) / spread).ravel()
        some = np.exp(log_upper_tail(tails)[0]).reshape(over.shape)
        return np.asarray((np.exp(below * under) * _WEIGHTS) @ some.T)


def _below(y: flint.acb, negative: bool) -> flint.acb:
    """Return the probability that Laplace noise of scale 1 is below y, by the formula for this sign of y."""
    return y.exp() / 2 if negative else 1 - (-y).exp() / 2


def _at_least(above: int, trials: int, chance: flint.acb) -> flint.acb:
    """Return the probability of at least ``above`` successes, as a polynomial of the probability of one."""
    if trials - above < above:
        return _fewer(trials - above + 1, trials, 1 - chance)
    return 1 - _fewer(above, trials, chance)


def _fewer(limit: int, trials: int, chance: flint.acb) -> flint.acb:
    """Return the probability of fewer than ``limit`` successes."""
    other, total = 1 - chance, flint.acb(0)
    for j in range(
        limit - 1, -1, -1
    ):  # Horner's rule: a sum of binomials times chance^j other^(limit - 1 - j)
        total = total * chance if j < limit - 1 else total
        total += math.comb(trials, j) * other ** (limit - 1 - j)
    return total * other ** (trials - limit + 1)


def _log_laplace(y: Floats) -> Floats:
    """Return estimates of the logarithm of the probability that Laplace noise of scale 1 is below y."""
    return np.asarray(np.where(y < 0, y - math.log(2), np.log1p(-np.exp(-np.maximum(y, 0.0)) / 2)))
