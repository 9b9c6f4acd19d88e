"""The exact privacy profile of k composed uses of randomised response, which are described as k equal coins.

Each randomised response is a coin. Under P each coin shows heads with probability e^epsilon/(1 + e^epsilon),
under Q with 1/(1 + e^epsilon). If J coins show heads, the privacy loss is (2J - k) epsilon. So the
hockey-stick divergence is a difference of two binomial tails,

    H(x) = P(J >= j) - e^x Q(J >= j),   j the least number of heads with (2j - k) epsilon > x,

and for x between two neighbouring values of the loss, H has an inverse in closed form
(docs/notes/composition.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.numbers.inversion import first_whole


def upper_tail(times: int, ratio: flint.arb, start: int) -> flint.arb:
    """Return P(J >= start) for the number J of heads among ``times`` coins.

    ``ratio`` is the odds of heads of one coin. The function adds up the probabilities of J on the same side
    of the mean as ``start``. Away from the mean, the ratio of each probability to the one before it falls. So
    the omitted probabilities are below a geometric series. The result has the current working precision.

    >>> float(upper_tail(3, flint.arb(1), 2))
    0.5
    """
    if start <= 0:
        return flint.arb(1)
    if start > times:
        return flint.arb(0)
    if not start >= times * ratio / (1 + ratio):
        return 1 - upper_tail_direct(times, 1 / ratio, times - start + 1)
    return upper_tail_direct(times, ratio, start)


def upper_tail_direct(times: int, ratio: flint.arb, start: int) -> flint.arb:
    """Return ``upper_tail``, summed from ``start`` upwards. It is fast if ``start`` is not far below the mean."""
    if start > times:
        return flint.arb(0)
    smallest = flint.arb(2) ** -flint.ctx.prec
    term = total = flint.arb(1)
    for heads in range(start, times):
        quotient = ratio * (times - heads) / (heads + 1)
        term *= quotient
        total += term
        if heads % 32 == 0 and quotient < 1 and term < total * smallest * (1 - quotient):
            total += flint.arb(0).union(term / (1 - quotient))
            break
    return total * mass(times, ratio, start)


def mass(times: int, ratio: flint.arb, heads: int) -> flint.arb:
    """Return the probability of exactly ``heads`` heads among ``times`` coins whose odds of heads are ``ratio``."""
    ways = sum(
        (sign * flint.arb(n + 1).lgamma() for sign, n in ((1, times), (-1, heads), (-1, times - heads))),
        flint.arb(0),
    )
    return (ways + heads * ratio.log() - times * (1 + ratio).log()).exp()


@dataclass(frozen=True)
class Coins:
    """The composition of ``times`` randomised responses, each with a privacy loss of ``epsilon`` or -``epsilon``.

    ``epsilon`` must be above 0. A response with the loss ``epsilon`` is called heads.
    """

    epsilon: Fraction
    times: int

    @property
    def largest(self) -> Fraction:
        """The largest privacy loss, which occurs if all coins show heads."""
        return self.epsilon * self.times

    def heads_above(self, loss: Fraction) -> int:
        """Return the least number of heads whose privacy loss is above ``loss``; ``times`` + 1 if there is none."""
        return min(max((self.times + loss / self.epsilon) // 2 + 1, 0), self.times + 1)

    def tails(self, heads: int) -> tuple[flint.arb, flint.arb]:
        """Return the probability of at least ``heads`` heads under each of the two neighbours."""
        odds = arb_of(self.epsilon).exp()
        return upper_tail(self.times, odds, heads), upper_tail(self.times, 1 / odds, heads)

    def hockey_stick(self, loss: Fraction) -> flint.arb:
        """Return the delta of the composed coins at epsilon = ``loss``."""
        p, q = self.tails(self.heads_above(loss))
        return p - arb_of(loss).exp() * q

    def inverse(self, target: flint.arb) -> flint.arb:
        """Return the epsilon >= 0 at which the delta of the coins equals ``target``.

        The target must be above 0 and below the delta at epsilon 0.

        Raises:
            ArithmeticError: if the current working precision is too low to find it.
        """
        guess, width = self._guess(target), 1
        while not self._holds(guess, width, target):
            width *= 4
            if width > 4 * self.times + 4:
                raise ArithmeticError(
                    "The working precision is too low to find the epsilon at which delta equals the target."
                )
        first = max(guess - width, self.heads_above(Fraction(0)))
        return self._best(range(first, min(guess + width, self.times) + 1), target)

    def _best(self, heads: range, target: flint.arb) -> flint.arb:
        """Return the largest root over these events {J >= j}. The root of any event is at most the inverse."""
        best = flint.arb(0)
        for j in heads:
            p, q = self.tails(j)
            root = ((p - target) / q).log()
            if p - target > 0 and not root < best:
                best = root.max(best)
            elif not (p < target or root < best):
                raise ArithmeticError(
                    "The working precision is too low to find the epsilon at which delta equals the target."
                )
        return best

    def _holds(self, guess: int, width: int, target: flint.arb) -> bool:
        """Whether the inverse is certified to lie between the losses of ``guess`` -+ ``width`` heads."""
        below, above = ((2 * j - self.times) * self.epsilon for j in (guess - width - 1, guess + width))
        enough = above >= self.largest or self.hockey_stick(above) <= target
        return bool(enough and (below <= 0 or self.hockey_stick(below) > target))

    def _guess(self, target: flint.arb) -> int:
        """Return a number of heads near the inverse, by bisection. No certified result depends on it."""

        def beyond(heads: int) -> bool:
            stick = self.hockey_stick((2 * heads - self.times) * self.epsilon)
            return bool((stick - target).mid() <= 0)

        return first_whole(beyond, self.heads_above(Fraction(0)) - 1, self.times)
