"""Noise and thresholds for the release of stable prefixes: the paper's, or those that release the most.

Each round draws a trajectory. It releases a prefix of the trajectory (a stable prefix) only if a noisy count
of experts is above a noisy threshold.

A ``Design`` consists of four floating-point numbers, and the accountant uses exactly these numbers. The
formula and the rounding that produced them affect how much is released. They never affect whether the
guarantee is valid.

One round is described by its largest privacy loss in each direction and by a failure probability. The
composition of T such rounds is computed exactly (docs/notes/expert_accounting.md, sections 4 and 5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import (
    arb_of,
    bound_of,
    exact,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.numbers.inversion import bracket, last_where, refined
from dpproof.accountant.published import published
from dpproof.accountant.theorems.coins import upper_tail

_BITS = 256


@dataclass(frozen=True)
class Design:
    """The noise and the thresholds of one round, which releases a stable prefix of a trajectory.

    A round releases a prefix only if a noisy count of experts is above ``cutoff`` plus noise.

    Attributes:
        threshold_scale, count_scale: Laplace scales of the noise on the threshold and on each count.
        least_count: c_min, above 1. If a prefix has at least this count, one expert is only a small share of
            the count.
        cutoff: the public threshold for noisy counts: c_min/pmin plus a margin. pmin is the least probability
            with which an expert plays an action.
    """

    threshold_scale: float
    count_scale: float
    least_count: float
    cutoff: float

    def margin(self, least_probability: float) -> Fraction:
        """Return the exact difference between ``cutoff`` and ``least_count / least_probability``."""
        return exact(self.cutoff) - exact(self.least_count) / exact(least_probability)


def rare_top(design: Design, least_probability: float) -> flint.arb:
    """Return an upper bound on the probability that a low count passes the noisy threshold.

    A low count is one below ``least_count / least_probability``. Call this inside ``precision``.

    The noise U on a count and the noise V on the threshold are Laplace variables of scales a and b. A low
    count passes with probability at most Pr(U - V > g), where g is the margin. It is (a^2 e^(-g/a) - b^2
    e^(-g/b))/(2 (a^2 - b^2)), and (2 + g/a) e^(-g/a)/4 where a = b (docs/notes/expert_accounting.md, section
    4).

    >>> from dpproof.accountant.numbers.enclosures import precision
    >>> with precision(64):
    ...     round(float(rare_top(Design(2.0, 4.0, 10.0, 120.0), 0.1)), 9)
    0.004484398

    Raises:
        ValueError: for a margin below 0.
    """
    gap = design.margin(least_probability)
    if gap < 0:
        raise ValueError(f"cutoff ({design.cutoff!r}) must not be below least_count / least_probability")
    return _difference_tail(exact(design.count_scale), exact(design.threshold_scale), gap)


def _difference_tail(a: Fraction, b: Fraction, gap: Fraction) -> flint.arb:
    if a == b:
        scaled = arb_of(gap / a)
        return (2 + scaled) * (-scaled).exp() / 4
    wide, narrow = (arb_of(scale**2) * (-arb_of(gap / scale)).exp() for scale in (a, b))
    return (wide - narrow) / (2 * arb_of(a**2 - b**2))


def margin_for(ratio: float, chance: float) -> float:
    """Return the distance below a threshold at which a count passes with probability about ``chance``.

    Both the count and the threshold have Laplace noise. The distance is in units of the noise scale of a
    count. ``ratio`` is the noise scale of the threshold divided by that of a count.

    >>> round(margin_for(0.5, 1e-6), 4)
    13.41
    """

    def tail(gap: float) -> float:
        if abs(ratio - 1) < 1e-4:
            return (2 + gap) * math.exp(-gap) / 4
        narrow = ratio**2 * math.exp(-gap / ratio)
        return (math.exp(-gap) - narrow) / (2 * (1 - ratio**2))

    most = 4 * max(1.0, ratio) * (2 - math.log(chance))
    return last_where(lambda gap: tail(gap) > chance, 0.0, most, close=0.0)[1]


def printed_design(
    epsilon: float, delta: float, rounds: int, length: int, least_probability: float
) -> Design:
    """Return the noise and the thresholds that Algorithm 2 (lines 2 to 7) of the paper sets for a budget.

    The budget is (``epsilon``, ``delta``) for ``rounds`` trajectories of ``length`` steps.

    >>> design = printed_design(7.5, 3e-4, 25, 200, 0.02)
    >>> round(design.cutoff)
    1360
    """
    values = {"E": epsilon, "delta": delta, "T": float(rounds), "L": float(length)}
    each = published("expert.each_epsilon").formula.float(**{k: values[k] for k in ("E", "delta", "T")})
    rare = published("expert.each_delta").formula.float(**{k: values[k] for k in ("delta", "T", "L")})
    least = published("expert.least_count").formula.float(epsilon=each)
    margin = published("expert.margin").formula.float(epsilon=each, beta=rare)
    return Design(2 / each, 4 / each, least, least / least_probability + margin)


def shaped(least_probability: float, chance: float) -> tuple[float, float]:
    """Return a ratio and a cost for ``shaped_design`` with which the cutoff is low.

    The ratio is the noise scale of the threshold divided by that of a count. The cost is the epsilon of
    drawing an expert, times the noise scale of a count.

    Let b_t and b_q be the noise scales of threshold and count, epsilon_d the epsilon of a draw, and pmin
    ``least_probability``. The range of a round's losses, 1/b_t + 2/b_q + epsilon_d, determines the
    composition. For a fixed range the function finds the least cutoff 1/(epsilon_d pmin) + b_q margin
    (docs/notes/expert_accounting.md, section 5). The result is only a proposal: the accountant is valid for
    any two numbers.

    >>> ratio, cost = shaped(0.02, 1e-6)
    >>> 0.8 < ratio < 1.0, 3 < cost < 4
    (True, True)
    """

    def best(ratio: float) -> tuple[float, float]:
        margin, noise = margin_for(ratio, chance), 2 + 1 / ratio
        cost = math.sqrt(noise / (least_probability * margin))
        return (1 / (cost * least_probability) + margin) * (noise + cost), cost

    ratio = min((0.02 * k for k in range(5, 100)), key=lambda x: best(x)[0])
    return ratio, best(ratio)[1]


def shaped_design(scale: float, ratio: float, cost: float, chance: float, least_probability: float) -> Design:
    """Return the design whose counts have Laplace noise of ``scale``.

    ``ratio`` and ``cost`` are the two numbers that ``shaped`` returns. ``chance`` is about the probability
    with which a low count passes the threshold in one round.

    >>> shaped_design(50.0, 0.5, 2.5, 1e-6, 0.02).count_scale
    50.0
    """
    least = max(1 / -math.expm1(-cost / scale), math.nextafter(1.0, 2.0))
    return Design(ratio * scale, scale, least, least / least_probability + scale * margin_for(ratio, chance))


def round_losses(design: Design, least_probability: float, experts: int) -> tuple[Bound, Bound, Bound]:
    """Return the largest privacy losses of one round, and its failure probability.

    A round releases the prefix of a trajectory whose noisy counts of experts pass a noisy threshold. The
    first loss is for an expert who leaves, the second for one who joins. A round fails if a count below
    ``least_count / least_probability`` passes. If a round fails and an expert leaves, the loss may be larger.
    In all other cases the two losses are upper bounds.

    >>> design = Design(threshold_scale=20.0, count_scale=40.0, least_count=12.0, cutoff=1300.0)
    >>> gone, come, failure = round_losses(design, 0.02, 2999)
    >>> gone.upper, come.upper, failure.upper
    (0.162011, 0.025333, 1.673999e-08)

    Raises:
        ValueError: for a least count of 1 or less, because one expert may then be the whole count.
    """
    if design.least_count <= 1:
        raise ValueError(
            f"least count ({design.least_count!r}) must be above 1. Use more noise, such as a larger scale."
        )
    with precision(_BITS):
        threshold, count = (1 / arb_of(exact(x)) for x in (design.threshold_scale, design.count_scale))
        drawn = -(-(1 / arb_of(exact(design.least_count)))).log1p()
        come = count + (1 / arb_of(Fraction(experts))).log1p()
        failure = rare_top(design, least_probability)
        return bound_of(threshold + count + drawn), bound_of(come), bound_of(failure)


@dataclass(frozen=True)
class Rounds(Profile):
    """The guarantee of adaptive rounds whose privacy losses are bounded, except in a failure.

    ``rounds`` is the number of rounds. ``gone`` is the largest loss of a round if an expert leaves, and
    ``come`` is the largest loss if an expert joins. So the loss for an expert who leaves is in [-``come``,
    ``gone``]. ``failure`` is the probability of a failure in one round. In a failure the loss may be larger.

    The guarantee compares two sets of experts, and one of them has one expert more. The worst round has only
    three outcomes: the loss ``gone``, the loss -``come``, and a failure, which only the larger set can
    produce. If no round fails and j rounds have the loss ``gone``, all others have the loss -``come``. So the
    hockey-stick divergence in each direction is a difference of binomial tails.

    >>> Rounds(25, Fraction(1, 10), Fraction(1, 10), Fraction(0)).epsilon("1e-4").upper
    1.639379

    Raises:
        ValueError: unless both losses are above 0 and the failure below 1 - exp(-come).
    """

    rounds: int
    gone: Fraction
    come: Fraction
    failure: Fraction

    def __post_init__(self) -> None:
        with precision(_BITS):
            room = -((-arb_of(self.come)).expm1()) - arb_of(self.failure)
        if not (self.gone > 0 and self.come > 0 and self.failure >= 0 and room > 0):
            raise ValueError(
                f"The losses gone and come must be above 0, and failure ({float(self.failure)!r}) must be in "
                "[0, 1 - exp(-come)). A larger cutoff makes failure smaller."
            )

    def _delta_at(self, point: Fraction) -> Bound:
        found = [refined(lambda side=side: side(point)) for side in self._sides()]  # type: ignore[misc] # bound now
        return Bound(
            max(max(round_down(x) for x in found), 0.0), min(max(max(round_up(x) for x in found), 0.0), 1.0)
        )

    def _epsilon_at(self, target: Fraction) -> Bound:
        lost = refined(self._lost)
        if not lost < arb_of(target):
            low = math.inf if lost > arb_of(target) else float(self.rounds * self.gone) * (1 - 1e-15)
            return Bound(low, math.inf)
        ends = [bracket(side, target, start=max(float(self.gone), 1e-6)) for side in self._sides()]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))

    def _sides(self) -> tuple[Callable[[Fraction], flint.arb], Callable[[Fraction], flint.arb]]:
        return self._gone, self._come

    def _lost(self) -> flint.arb:
        """Return the probability of a failure in some round, computed without cancellation."""
        return -((self.rounds * (-arb_of(self.failure)).log1p()).expm1())

    def _odds(self) -> tuple[flint.arb, flint.arb]:
        """Return the odds of the larger loss for the larger set (without a failure) and for the smaller set."""
        low, high = (-arb_of(self.come)).exp(), arb_of(self.gone).exp()
        rare = (1 - low - arb_of(self.failure)) / (high - low)
        return high * rare / (low * (1 - rare)), rare / (1 - rare)

    def _gone(self, point: Fraction) -> flint.arb:
        """Return the hockey-stick divergence of the larger set against the smaller one."""
        first = (point + self.rounds * self.come) // (self.gone + self.come) + 1
        larger, smaller = (upper_tail(self.rounds, odds, int(first)) for odds in self._odds())
        lost = self._lost()
        return lost + (1 - lost) * larger - arb_of(point).exp() * smaller

    def _come(self, point: Fraction) -> flint.arb:
        """Return the hockey-stick divergence of the smaller set against the larger one.

        It counts the rounds with the loss -``come``.
        """
        first = (point + self.rounds * self.gone) // (self.gone + self.come) + 1
        larger, smaller = (upper_tail(self.rounds, 1 / odds, int(first)) for odds in self._odds())
        return smaller - arb_of(point).exp() * (1 - self._lost()) * larger
