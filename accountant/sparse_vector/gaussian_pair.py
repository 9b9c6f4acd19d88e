"""One pair of neighbours of the Gaussian sparse vector technique, and the events that tell them apart.

The first m queries have one value. All of them move up by the sensitivity, and all must be answered "below". The next n
queries have another value and move down, or do not move if all queries are monotone. The event is that one of them is
answered "above", or that all are. Given the noise of the threshold, the answers are independent. So the probability of
the event is a one-dimensional integral, which ball arithmetic encloses. The numbers and the two values are chosen by
estimates in double precision. Every choice gives a valid lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down
from dpproof.accountant.numbers.normal import Floats, log_upper_tail

_BITS, _END = 192, 40
"""The precision of an integral, and where the noise of the threshold is cut off, in standard deviations."""
_NODES = np.linspace(-16.0, 16.0, 161)
_WIDTH = 0.2
_Score = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Event:
    """An event: ``below`` answers "below" first, and then one or all of ``rest`` queries are answered "above"."""

    below: int
    rest: int
    every: bool
    """Whether all ``rest`` queries must be answered "above". Otherwise at least one must be."""
    early: float
    """The value of the first queries, in units of the sensitivity. The threshold is 0."""
    late: float
    """The value of the other queries."""


@dataclass(frozen=True)
class OneEvent(Profile):
    """Lower bounds on delta and epsilon of the Gaussian sparse vector technique. The upper bounds are 1 and infinity.

    ``threshold`` and ``query`` are the sensitivity divided by the standard deviations of the two noises.

    >>> OneEvent(Fraction(1, 10), Fraction(1, 30), queries=100, positives=1, monotone=False).epsilon("1e-6").lower
    0.395714
    """

    threshold: Fraction
    query: Fraction
    queries: int
    positives: int
    monotone: bool

    def _delta_at(self, point: Fraction) -> Bound:
        factor = math.exp(min(float(point), 700.0))
        event = self._best(lambda p, q: p - factor * q)
        with precision(_BITS):
            p, q = self.chances(event)
            return Bound(max(round_down(p - arb_of(point).exp() * q), 0.0), 1.0)

    def _epsilon_at(self, target: Fraction) -> Bound:
        if not target:
            return Bound(math.inf, math.inf)
        delta = float(target)
        event = self._best(lambda p, q: np.maximum(p - delta, 0.0) / np.maximum(q, 1e-300))
        with precision(_BITS):
            p, q = self.chances(event)
            rest = p - arb_of(target)
            return Bound(max(round_down((rest / q).log()), 0.0) if rest > 0 else 0.0, math.inf)

    def chances(self, event: Event) -> tuple[flint.arb, flint.arb]:
        """Return a lower bound on the probability under the first data set, and an upper bound under the second."""
        first = self._integral(event, (0, 0))
        second = self._integral(event, self._moves)
        cut = arb_of(Fraction(-(_END**2), 2)).exp()  # above the probability of larger noise
        return flint.arb(first.lower()), flint.arb(second.upper()) + cut

    @property
    def _moves(self) -> tuple[int, int]:
        return 1, 0 if self.monotone else -1

    def _integral(self, event: Event, moves: tuple[int, int]) -> flint.acb:
        noise, scale = arb_of(self.query / self.threshold), arb_of(self.query)
        root = flint.arb(2).sqrt()
        early, late = (
            scale * arb_of(exact(value) + move)
            for value, move in zip((event.early, event.late), moves, strict=True)
        )
        unit = (2 * flint.arb.pi()).sqrt()

        def density(z: flint.acb, _: bool) -> flint.acb:
            under = ((early - noise * z) / root).erfc() / 2
            over = ((noise * z - late) / root).erfc() / 2
            some = over**event.rest if event.every else 1 - (1 - over) ** event.rest
            return (-z * z / 2).exp() / unit * under**event.below * some

        found = flint.acb.integral(
            density, -_END, _END, rel_tol=flint.arb(2) ** -40, abs_tol=flint.arb(2) ** -1100
        )
        return found.real

    def _best(self, score: _Score) -> Event:
        """Return the event with the largest estimated score. Values are tried on a grid, and then on a finer one."""
        unit = math.hypot(1 / _double(self.threshold), 1 / _double(self.query))
        early, late = np.linspace(-5.0, 5.0, 21) * unit, np.linspace(-12.0, 6.0, 37) * unit
        _, event = max(
            (self._on_grid(score, *shape, early, late) for shape in self._shapes()),
            key=lambda found: found[0],
        )
        near = np.linspace(-0.5, 0.5, 11) * unit
        finer = self._on_grid(
            score, event.below, event.rest, event.every, event.early + near, event.late + near
        )
        return finer[1]

    def _shapes(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the numbers of first and of later queries, and whether all of these must be above."""
        for share in (0, 2, 4, 6, 7):
            below = (self.queries - 1) * share // 8
            yield below, self.queries - below, False
        yield self.queries - 1, 1, False
        if self.positives > 1:
            for below in {0, (self.queries - self.positives) // 2, self.queries - self.positives}:
                yield below, self.positives, True

    def _on_grid(
        self, score: _Score, below: int, rest: int, every: bool, early: Floats, late: Floats
    ) -> tuple[float, Event]:
        """Return the largest score of this kind of event, with its event."""
        p, q = (self._estimates(below, rest, every, early + a, late + b) for a, b in ((0, 0), self._moves))
        scores = score(p, q)
        row, column = divmod(int(np.argmax(scores)), len(late))
        return float(scores[row, column]), Event(below, rest, every, float(early[row]), float(late[column]))

    def _estimates(self, below: int, rest: int, every: bool, early: Floats, late: Floats) -> Floats:
        """Return estimates of the probability of the event, for all pairs of values."""
        noise, scale = _double(self.query / self.threshold), _double(self.query)
        weights = np.exp(-_NODES * _NODES / 2) * (_WIDTH / math.sqrt(2 * math.pi))
        under, over = (
            _log_tails(scale * early[:, None] - noise * _NODES),
            noise * _NODES - scale * late[:, None],
        )
        some = np.exp(rest * _log_tails(over)) if every else -np.expm1(rest * _log_tails(-over))
        return np.asarray((np.exp(below * under) * weights) @ some.T)


def _double(number: Fraction) -> float:
    """Return a number above 0 as a double, for estimates. It is moved to where products of two do not overflow."""
    return float(min(max(number, _SMALLEST), 1 / _SMALLEST))


_SMALLEST = Fraction(1, 10**150)


def _log_tails(y: Floats) -> Floats:
    return log_upper_tail(y.ravel())[0].reshape(y.shape)
