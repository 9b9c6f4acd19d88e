"""The neighbours that attain the sparse vector's epsilon, with the chance of the answers that show it.

N queries answered below, then the positive ones. Unless the threshold's noise is large, some of the N would
have been above; so these answers make it likely to be large, where every Laplace tail is exactly exponential
and every inequality of the privacy proof an equality. All integrals are beta functions
(docs/notes/sparse_vector.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.notions import Guarantee, ends_of
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down

__all__ = ["AlternatingPair", "Moves"]

_BITS = 256
_MOST_QUERIES = 40
"""Powers of two of queries that are tried."""


@dataclass(frozen=True)
class Moves:
    """From the first data set to the second: by how many sensitivities each kind of query moves."""

    below: int
    """The queries answered below; 1 or 0."""
    above: int
    """The queries answered above; 1, 0 or -1."""

    def epsilon(self, threshold: Fraction, query: Fraction, answer: Fraction, positives: int) -> Fraction:
        """The log-ratio of the answers' chances in the limit of many queries."""
        return self.below * threshold + positives * (
            (self.below - self.above) * query + abs(self.above) * answer
        )


@dataclass(frozen=True)
class AlternatingPair:
    """What the pair reveals at least, as a notion: lower ends are the pair's, upper ends a pure guarantee's.

    ``rates`` are sensitivity over scale of threshold, query and numeric answer.
    """

    moves: Moves
    rates: tuple[Fraction, Fraction, Fraction]
    positives: int
    runs: int
    above: Guarantee

    def delta(self, epsilon: Number) -> Bound:
        """A lower bound on the chance of these answers beyond e^epsilon times the neighbour's."""
        point = ends_of(epsilon, "epsilon")[0]
        with precision(_BITS):
            gaps = (p - arb_of(point).exp() * q for p, q in self._chances())
            low = max(max(round_down(gap) for gap in gaps), 0.0)
        return Bound(low, self.above.delta(epsilon).upper)

    def epsilon(self, delta: Number) -> Bound:
        """A lower bound on the epsilon that these answers need at ``delta``."""
        target, high = exact(delta, "delta"), self.above.epsilon(delta).upper
        with precision(_BITS):
            ratios = ((p - arb_of(target)) / q for p, q in self._chances())
            low = max((round_down(ratio.log()) for ratio in ratios if ratio > 0), default=0.0)
        return Bound(max(low, 0.0), high)

    def _chances(self) -> list[tuple[flint.arb, flint.arb]]:
        """For numbers of queries below: chance of the answers, at least, and the neighbour's, at most.

        The neighbour's is A + B, with B from threshold noise too small for exact tails; the chance itself
        is at least e^epsilon A. Both are used at a lower end of A, which only lowers what follows.
        """
        if not self.rates[0]:
            return [(flint.arb(1), flint.arb(1))]
        factor = arb_of(self.moves.epsilon(*self.rates, self.positives)).exp()
        pairs = (self._parts(1 << power) for power in range(_MOST_QUERIES))
        return [((factor * a) ** self.runs, (a + b) ** self.runs) for a, b in pairs]

    def _parts(self, queries: int) -> tuple[flint.arb, flint.arb]:
        """A from below and B from above."""
        threshold, query, answer = (arb_of(rate) for rate in self.rates)
        below, above = self.moves.below, self.moves.above
        moved_tail = ((below + max(-above, -below)) * query).exp()
        sided = (-answer).exp() / 2 if self.rates[2] and above else flint.arb(1)
        power = threshold / query + self.positives
        beta = (power.lgamma() + flint.arb(queries + 1).lgamma() - (power + queries + 1).lgamma()).exp()
        rest = flint.arb(2) ** -(queries + 1) / (queries + 1)
        if not beta > rest:
            return flint.arb(0), flint.arb(1)  # too few queries for this bound to say anything
        integral = (beta - rest) * flint.arb(2) ** power
        a = (-below * threshold).exp() * (sided / (2 * moved_tail)) ** self.positives * integral
        b = flint.arb(2) ** -queries / queries * sided**self.positives
        unit = threshold / (2 * query)
        return flint.arb((unit * a).lower()), unit * b
