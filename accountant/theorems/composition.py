"""Adaptive composition, one theorem for each notion, and advanced composition.

Parameters are added as exact rational numbers. If a root is taken, the result is rounded outward. Advanced
composition accepts a slightly larger delta, and epsilon then grows with the square root of the number of
mechanisms. Its epsilon is an upper bound on the optimum, which ``compose_approx_optimal`` computes. Advanced
composition is included because papers use it.

Source: Dwork and Roth 2014, Theorem 3.20 and Corollary 3.21.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

import flint

from dpproof.accountant.guarantees.conversion import OPTIMAL, Conversion
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import ends_of
from dpproof.accountant.guarantees.profile import ends_of as _ends
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import inside_unit, whole
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    bound_of,
    precision,
    round_down,
    round_up,
)


def compose_approx(*parts: ApproxDP) -> ApproxDP:
    """Return the guarantee of basic composition, in which epsilons and deltas are added.

    Source: Dwork and Roth 2014, Theorem 3.16.

    >>> compose_approx(ApproxDP(1, 0), ApproxDP(0.5, 0)).epsilon(0).upper
    1.5
    """
    epsilon = _sum([_ends(part.epsilon_parameter, "epsilon") for part in parts])
    low, high = _total([_ends(part.delta_parameter, "delta") for part in parts])
    return ApproxDP(epsilon, narrowed(min(low, Fraction(1)), min(high, Fraction(1))))


def compose_parallel(*parts: ApproxDP) -> ApproxDP:
    """Return the guarantee of mechanisms that read disjoint records: the largest epsilon and the largest delta.

    There are two conditions. The record alone determines which mechanism reads it. Neighbours differ by the
    presence of one record. If a record may be replaced by one that another mechanism reads, both mechanisms
    see a change. In that case compose the guarantees of these two mechanisms instead.

    >>> compose_parallel(ApproxDP(1, 0), ApproxDP("0.5", "1e-6")).epsilon("1e-6").upper
    1.0

    Source: McSherry 2009, "Privacy integrated queries", Theorem 4.
    """
    ends = [
        (*_ends(part.epsilon_parameter, "epsilon"), *_ends(part.delta_parameter, "delta")) for part in parts
    ]
    low, high, least, most = (
        (max(column) for column in zip(*ends, strict=True)) if ends else (Fraction(0),) * 4
    )
    return ApproxDP(narrowed(low, high), narrowed(least, most))


def compose_zcdp(*parts: ZCDP) -> ZCDP:
    """Return the composition of zCDP guarantees: their rhos are added.

    Source: Bun and Steinke, arXiv:1605.02065v1, Lemma 1.7.
    """
    return ZCDP(_sum([_ends(part.rho, "rho") for part in parts]), _common_conversion(parts))


def compose_gaussian(*parts: GaussianDP) -> GaussianDP:
    """Return the composition of Gaussian DP guarantees: the squares of their mus are added.

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Corollary 2.

    >>> compose_gaussian(GaussianDP(3), GaussianDP(4)).delta(0).upper == GaussianDP(5).delta(0).upper
    True
    """
    low, high = (sum((part.squares[i] for part in parts), Fraction(0)) for i in (0, 1))
    if low == high:
        return GaussianDP.of_square(low)
    with precision(128):
        return GaussianDP(Bound(round_down(arb_of(low).sqrt()), round_up(arb_of(high).sqrt())))


def compose_renyi(*parts: RenyiDP) -> RenyiDP:
    """Return the composition of Renyi guarantees: their curves are added at every order at which all are known.

    Source: Mironov, arXiv:1702.07476v3, Proposition 1.
    """
    curves = [part.curve for part in parts]
    orders = reduce(Orders.meet, (part.orders for part in parts), Orders())
    return RenyiDP(
        lambda order: sum((curve(order) for curve in curves), flint.arb(0)), orders, _common_conversion(parts)
    )


def _common_conversion(parts: Sequence[ZCDP | RenyiDP]) -> Conversion:
    """Return the conversion that all parts use, or the optimal one if they differ."""
    asked = {part.conversion.name: part.conversion for part in parts}
    return next(iter(asked.values())) if len(asked) == 1 else OPTIMAL


def _total(ends: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    return sum((low for low, _ in ends), Fraction(0)), sum((high for _, high in ends), Fraction(0))


def _sum(ends: list[tuple[Fraction, Fraction]]) -> Bound:
    return _bound(*_total(ends))


def narrowed(low: Fraction, high: Fraction) -> Fraction | Bound:
    """Return the number itself if its lower and upper bound are equal, otherwise a ``Bound``.

    A ``Bound`` rounds the number outward. An exact number must not be rounded: an exact delta, rounded up,
    would be above a target that is equal to it.
    """
    return low if low == high else _bound(low, high)


def _bound(low: Fraction, high: Fraction) -> Bound:
    with precision(128):
        return Bound(round_down(arb_of(low)), round_up(arb_of(high)))


_BITS = 192
_Formula = Callable[[flint.arb], flint.arb]


def advanced_epsilon(part: ApproxDP, times: int, slack: Number) -> Bound:
    """Return the epsilon of ``times`` adaptive uses of a mechanism by advanced composition.

    Let ``part`` be (epsilon, delta)-DP and k = ``times``. Then k uses are (epsilon', k delta + slack)-DP with
    epsilon' = sqrt(2 k ln(1/slack)) epsilon + k epsilon (e^epsilon - 1). This holds for every epsilon >= 0,
    delta in [0, 1] and slack in (0, 1), and for epsilon' of any size. The upper bound is infinite if it
    exceeds the largest double.

    >>> advanced_epsilon(ApproxDP("1e5", 0), 10, "0.5").upper
    inf

    Source: Dwork and Roth 2014, Theorem 3.20; statement classic.advanced.

    Raises:
        ValueError: for a slack outside (0, 1), or a count that is no integer of at least 0.
    """
    added, count = inside_unit(slack, "slack"), _count(times)

    def total(epsilon: flint.arb) -> flint.arb:
        root = (-2 * count * arb_of(added).log()).sqrt()
        return root * epsilon + count * epsilon * epsilon.expm1()

    return _epsilon(part, total)


def _part(goal: Fraction, times: int, added: Fraction) -> flint.arb:
    return arb_of(goal) / (2 * (-2 * times * arb_of(added).log()).sqrt())


def advanced_corollary_holds(target: Number, times: int, slack: Number) -> bool:
    """Return whether Dwork and Roth's Theorem 3.20 implies their Corollary 3.21 for these parameters.

    The corollary gives an epsilon e for each of ``times`` mechanisms. It says that their composition then has
    at most the epsilon ``target``. The theorem implies the corollary exactly if target (e^e - 1)/e <= 4
    ln(1/slack). This holds for every target up to 1 with a slack up to 7/10 (statement
    classic.advanced_corollary), and for some larger targets.

    >>> advanced_corollary_holds(10, 25, "1.5e-4"), advanced_corollary_holds("0.9", 1, "0.9")
    (True, False)

    Raises:
        ValueError: as ``advanced_epsilon``, or for a negative target.
    """
    goal, added = ends_of(target, "target")[0], inside_unit(slack, "slack")
    if _count(times) == 0 or goal == 0:
        return True
    with precision(_BITS):
        each = _part(goal, times, added)
        return bool(arb_of(goal) * each.expm1() / each <= -4 * arb_of(added).log())


def _epsilon(part: ApproxDP, total: _Formula) -> Bound:
    """Return bounds on the composed epsilon, which increases in the part's epsilon, from both ends of the latter."""
    with precision(_BITS):
        low, high = (bound_of(total(arb_of(end))) for end in ends_of(part.epsilon_parameter, "epsilon"))
    return Bound(low.lower, high.upper)


def _count(times: int) -> int:
    return whole(times, "times", 0)
