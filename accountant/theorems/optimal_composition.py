"""The optimal composition of (epsilon, delta)-differentially private mechanisms, adaptively chosen.

Every (epsilon, delta)-DP mechanism is a post-processing of a coin that fails with probability delta and
otherwise is randomised response. So the composition is exactly as private as all coins together. At epsilon
x, 1 - delta_total(x) = (1 - H(x)) prod (1 - delta_i), where H is the hockey-stick divergence of the coins if
none of them fails. No smaller delta holds for all mechanisms with these parameters. Proof and limits:
docs/notes/composition.md.

Coins with the same epsilon are of one kind. If there are several kinds, all kinds but the most numerous are
convolved. Losses are exact rational numbers, and equal losses are merged. The most numerous kind enters
through its binomial tails. The optimum for arbitrary parts is #P-complete (Murtagh and Vadhan,
arXiv:1507.03113), so this is only for parts that ``affordable`` admits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import flint

from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.guarantees.profile import Profile, ends_of
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import PRECISIONS, bracket, refined
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.theorems.coins import Coins, mass

_MOST_STEPS = 1 << 19
_Law = dict[Fraction, flint.arb]
_Table = tuple[tuple[flint.arb, flint.arb], ...]


@dataclass(frozen=True)
class MixedCoins:
    """The composition of randomised responses (coins) of several ``kinds``, each with its own epsilon.

    The last kind is the most numerous one.
    """

    kinds: tuple[Coins, ...]

    @property
    def largest(self) -> Fraction:
        """The largest privacy loss, which occurs if every coin shows heads."""
        return sum((kind.largest for kind in self.kinds), Fraction(0))

    def hockey_stick(self, loss: Fraction) -> flint.arb:
        """Return the delta of all coins together at epsilon = ``loss``."""
        last, tails = self.kinds[-1], _tails(self.kinds[-1], flint.ctx.prec)
        scale, total = arb_of(loss).exp(), flint.arb(0)
        for other, p_mass, q_mass in _law(self.kinds[:-1], flint.ctx.prec):
            p, q = tails[last.heads_above(loss - other)]
            total += p_mass * p - scale * q_mass * q
        return total


def affordable(kinds: Sequence[Coins]) -> bool:
    """Return whether the exact composition of these kinds of coins can be computed in a short time.

    A coin is one use of randomised response. The answer is True if the total privacy loss has few possible
    values, for example because it is a multiple of one number.

    >>> affordable([Coins(Fraction(1, 7), 50), Coins(Fraction(1, 3), 5000)])
    True
    """
    shared = math.lcm(*(kind.epsilon.denominator for kind in kinds))
    lattice = Fraction(math.gcd(*(int(kind.epsilon * shared) for kind in kinds)), shared)
    steps, values, reach = kinds[-1].times, 1, Fraction(0)
    for kind in kinds[:-1]:
        steps += values * (kind.times + 1)
        reach += kind.largest
        values = min(values * (kind.times + 1), math.floor(reach / lattice) + 1)
    return steps + values <= _MOST_STEPS


@lru_cache(maxsize=8)
def _tails(coins: Coins, bits: int) -> _Table:
    """Return P(J >= j) and Q(J >= j) for j = 0 .. times + 1."""
    odds = arb_of(coins.epsilon).exp()
    columns = []
    for ratio in (odds, 1 / odds):
        term, masses = mass(coins.times, ratio, coins.times), []
        for heads in range(coins.times, -1, -1):
            masses.append(term)
            term *= heads / (ratio * (coins.times - heads + 1))
        tails = [flint.arb(0)]
        for term in masses:
            tails.append(tails[-1] + term)
        columns.append(tails[::-1])
    return tuple(zip(*columns, strict=True))


@lru_cache(maxsize=8)
def _law(kinds: tuple[Coins, ...], bits: int) -> tuple[tuple[Fraction, flint.arb, flint.arb], ...]:
    """Return (loss, P-mass, Q-mass) for each value of the joint loss of the kinds."""
    law: _Law = {Fraction(0): flint.arb(1)}
    for kind in kinds:
        law = _convolved(law, kind)
    return tuple((loss, p, p * arb_of(-loss).exp()) for loss, p in law.items())


def _convolved(law: _Law, kind: Coins) -> _Law:
    odds, total = arb_of(kind.epsilon).exp(), _Law()
    term = mass(kind.times, odds, 0)
    for heads in range(kind.times + 1):
        step = (2 * heads - kind.times) * kind.epsilon
        for loss, p in law.items():
            total[loss + step] = total.get(loss + step, flint.arb(0)) + p * term
        term *= odds * (kind.times - heads) / (heads + 1)
    return total


def compose_approx_optimal(parts: Sequence[tuple[ApproxDP, int]]) -> ComposedApproxDP:
    """Return the optimal guarantee of composed mechanisms, used in any adaptive order.

    ``parts`` holds pairs of a mechanism's guarantee and its number of uses.

    >>> compose_approx_optimal([(ApproxDP("0.1", 0), 100)]).epsilon("1e-6").upper
    4.774568
    >>> compose_approx_optimal([(ApproxDP("0.1", "1e-9"), 30), (ApproxDP(1, 0), 2)]).epsilon("1e-6").upper
    4.279225

    Source: Kairouz, Oh and Viswanath, arXiv:1311.0776v4, Theorem 3.3 (equal parts); Murtagh and Vadhan,
    arXiv:1507.03113, Theorem 1.5 (different parts). Statement classic.kairouz_oh_viswanath.

    If all parts have the same epsilon, or their losses take few values, the answer is exact to the last bit.
    Otherwise, and for more than 10^9 equal parts, a grid of losses (``PrivacyLoss``) is used. It is
    certified, too, but has fewer digits.

    Raises:
        ValueError: for a number of uses that is no integer of at least 0. The methods of the result raise
            ``GridTooLargeError`` if the grid of losses would be too large.
    """
    for _, times in parts:
        whole(times, "times", 0)
    return ComposedApproxDP(tuple(parts))


@dataclass(frozen=True)
class ComposedApproxDP(Profile):
    """The guarantee of composed approximate-DP mechanisms.

    No smaller delta or epsilon holds for all mechanisms with the given parameters. The answers are bounds on
    this optimum.
    """

    parts: tuple[tuple[ApproxDP, int], ...]

    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on delta with relative accuracy at any size of delta."""
        low, high = (end.delta(point) for end in self._ends())
        return Bound(max(low[0], 0.0), min(high[1], 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon over all real epsilon, not only the attained losses."""
        low, high = (end.epsilon(target) for end in self._ends())
        return Bound(low[0], high[1])

    def _ends(self) -> tuple[_Composed, _Composed]:
        """Return the compositions at the lower ends and at the upper ends of the parts' parameters."""
        return _composed(self.parts, 0), _composed(self.parts, 1)


def _composed(parts: Sequence[tuple[ApproxDP, int]], end: int) -> _Composed:
    coins: Counter[Fraction] = Counter()
    failures: Counter[Fraction] = Counter()
    for part, times in parts:
        coins[ends_of(part.epsilon_parameter, "epsilon")[end]] += times
        failures[ends_of(part.delta_parameter, "delta")[end]] += times
    kinds = [Coins(epsilon, times) for epsilon, times in coins.items() if epsilon and times]
    kept = tuple((failure, times) for failure, times in failures.items() if failure and times)
    return _Composed(tuple(sorted(kinds, key=lambda kind: kind.times)), kept)


_MOST_TIMES = 10**9
"""The largest number of equal coins that are summed directly, within seconds."""


_MOST_EPSILON = 600


@dataclass(frozen=True)
class _Composed:
    """Coins of each kind, and failure probabilities with their numbers of uses; all parameters are exact."""

    kinds: tuple[Coins, ...]
    failures: tuple[tuple[Fraction, int], ...]

    @property
    def largest(self) -> Fraction:
        return sum((kind.largest for kind in self.kinds), Fraction(0))

    def failure(self) -> flint.arb:
        """Return 1 - prod (1 - delta_i), without cancellation."""
        if any(failure == 1 for failure, _ in self.failures):
            return flint.arb(1)
        logs = (times * arb_of(-failure).log1p() for failure, times in self.failures)
        return -(sum(logs, flint.arb(0)).expm1())

    def delta(self, point: Fraction) -> tuple[float, float]:
        """Return bounds on the smallest delta at epsilon = ``point``."""
        if self._exactly(point):
            found = refined(partial(self.profile, point))
            return round_down(found), round_up(found)
        coins = self._grid().delta(point)
        with precision(128):
            failure = self.failure()
            low, high = (failure + (1 - failure) * arb_of(exact(end)) for end in (coins.lower, coins.upper))
            return round_down(low), round_up(high)

    def profile(self, point: Fraction) -> flint.arb:
        """Return the smallest delta at ``point``, at the precision in force."""
        failure = self.failure()
        if point >= self.largest:
            return failure
        coins = self.kinds[0] if len(self.kinds) == 1 else MixedCoins(self.kinds)
        return failure + (1 - failure) * coins.hockey_stick(point)

    def _exactly(self, point: Fraction) -> bool:
        return point >= self.largest or self._single() or self._affordable()

    def _single(self) -> bool:
        return len(self.kinds) == 1 and self.kinds[0].times <= _MOST_TIMES

    def _affordable(self) -> bool:
        return len(self.kinds) > 1 and affordable(self.kinds)

    def _grid(self) -> PrivacyLoss:
        """Return the coins without failures, as a distribution of losses on a grid.

        Raises:
            ValueError: for parts of an epsilon that the distribution of losses cannot hold.
        """
        for kind in self.kinds:
            if kind.epsilon > _MOST_EPSILON:
                size = f"epsilon ({float(kind.epsilon)!r}) of a part must be at most {_MOST_EPSILON}"
                raise ValueError(f"{size}, because the composition is too large to be summed exactly")
        return PrivacyLoss([[(RandomisedResponse(kind.epsilon), kind.times) for kind in self.kinds]])

    def epsilon(self, target: Fraction) -> tuple[float, float]:
        """Return bounds on the smallest epsilon >= 0 for which delta is at most ``target``."""
        fits = self._fits(target)
        if fits is False:
            return math.inf, math.inf
        with precision(128):
            top = round_down(arb_of(self.largest)), round_up(arb_of(self.largest))
        if fits is None:
            return top[0], math.inf
        if not self.kinds or target == self._exact_failure():
            return top
        if self._single():
            return self._inverse(self.kinds[0], target)
        if self._affordable():
            return bracket(self.profile, target, start=top[1] / 2)
        return self._by_grid(target)

    def _by_grid(self, target: Fraction) -> tuple[float, float]:
        with precision(256):
            failure = self.failure()
            goal = (arb_of(target) - failure) / (1 - failure)
            ends = max(round_down(goal), 0.0), round_up(goal)
        grid = self._grid()
        return grid.epsilon(ends[1]).lower if ends[1] < 1 else 0.0, grid.epsilon(ends[0]).upper

    def _inverse(self, coins: Coins, target: Fraction) -> tuple[float, float]:
        for bits in PRECISIONS:
            with precision(bits):
                found = self._root(coins, target)
                if found is not None:
                    return max(round_down(found), 0.0), round_up(found)
        raise ArithmeticError(f"No epsilon could be certified at delta ({float(target)!r}).")

    def _root(self, coins: Coins, target: Fraction) -> flint.arb | None:
        """Return the epsilon for ``target``; None if the precision in force does not give the accuracy of a double."""
        failure = self.failure()
        goal = (arb_of(target) - failure) / (1 - failure)
        start = coins.hockey_stick(Fraction(0))
        if start <= goal:
            return flint.arb(0)
        if not start > goal > 0:
            return None
        try:
            found = coins.inverse(goal)
        except ArithmeticError:
            return None
        return found if found.rel_accuracy_bits() > 64 else None

    def _fits(self, target: Fraction) -> bool | None:
        """Whether the failures alone fit into ``target``; None if no precision decides it."""
        known = self._exact_failure()
        if known is not None:
            return target >= known
        for bits in PRECISIONS:
            with precision(bits):
                failure = self.failure()
                if failure > arb_of(target):
                    return False
                if failure < arb_of(target):
                    return True
        return None

    def _exact_failure(self) -> Fraction | None:
        """Return 1 - prod (1 - delta_i) as a rational if it is short enough; otherwise None."""
        if sum(times for _, times in self.failures) > 64:
            return None
        return 1 - math.prod(((1 - failure) ** times for failure, times in self.failures), start=Fraction(1))
