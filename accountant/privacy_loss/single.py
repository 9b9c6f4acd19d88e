"""Privacy profile of a single dominating pair: delta = P[L > epsilon] - e^epsilon Q[L > epsilon].

L is the privacy loss log dP/dQ. Any threshold in place of epsilon gives a lower bound. If the threshold is
off by at most s, the difference is off by at most s times the probability under P between the two thresholds.
The reason is that 1 - e^epsilon dQ/dP has absolute value at most about s there. If a pair has a method
``profile`` or lists few outcomes, this closed form is evaluated in Arb instead, however small its
probabilities are.

This module also bounds the largest finite loss of a composition, and the probability of an infinite loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import arb_of, round_down, round_up
from dpproof.accountant.numbers.inversion import at_least, bracket, crossing, neighbours, refined
from dpproof.accountant.pairs.base import Cells, DominatingPair, Floats
from dpproof.accountant.pairs.outcomes import ProfileInArb, profile_of

_EPS = 2.0**-52


def delta_of_pair(pair: DominatingPair, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta of one dominating pair at ``epsilon``.

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> low, high = delta_of_pair(SubsampledGaussian(1.0, 1.0), Fraction(1))
    >>> high, high - low < 1e-13
    (0.126937, True)
    """
    if (profile := profile_of(pair)) is not None:
        return delta_in_closed_form(profile, epsilon)
    return delta_by_masses(pair, epsilon)


def delta_in_closed_form(profile: ProfileInArb, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta at ``epsilon`` of a profile that is evaluated in Arb."""
    value = refined(lambda: profile(arb_of(epsilon)))
    return max(round_down(value), 0.0), min(round_up(value), 1.0)


def epsilon_in_closed_form(profile: ProfileInArb, delta: Fraction) -> tuple[float, float]:
    """Return certified bounds on the smallest epsilon >= 0 at ``delta`` in (0, 1), of a profile in Arb."""
    return bracket(lambda epsilon: profile(arb_of(epsilon)), delta)


def delta_by_masses(pair: DominatingPair, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta of one dominating pair at ``epsilon``, in double precision.

    The bounds come from the same probabilities of privacy losses that compositions on a grid use.
    """
    below, above = neighbours(epsilon)
    return _ends(pair, above)[0], min(_ends(pair, below)[1], 1.0)


def epsilon_of_pair(pair: DominatingPair, delta: Fraction) -> tuple[float, float]:
    """Return certified bounds on the smallest epsilon >= 0 of one dominating pair at ``delta`` in (0, 1).

    Both bounds are infinite if the privacy loss is infinite with a probability above ``delta``.
    """
    if (profile := profile_of(pair)) is not None:
        return epsilon_in_closed_form(profile, delta)
    if pair.cells(np.zeros(1)).infinite[0] > delta:
        return math.inf, math.inf
    return crossing(lambda e: _ends(pair, e)[0], lambda e: _ends(pair, e)[1], delta)


def _ends(pair: DominatingPair, epsilon: float) -> tuple[float, float]:
    slack, cells = _near(pair, epsilon)
    p, q = cells.p[1:], cells.q[1:]
    p_error, q_error = _last_two(cells.p_error), _last_two(cells.q_error)
    if q[1] == 0 or q_error[1] > 0.5:
        return _by_cells(pair, epsilon)
    log_q = math.log(q[1])
    moved = math.exp(min(epsilon + log_q, 1.0))
    rounding = 12 * _EPS * (float(p[1]) + moved * (1 + epsilon - min(log_q, 0.0)))
    wrong = float(p[1] * p_error[1]) + moved * float(q_error[1]) + rounding
    value = float(p[1]) - moved
    near = float(p @ (1 + p_error)) * (2 * slack + 4 * _EPS * epsilon)
    low = max(value - wrong, 0.0) + cells.infinite[0]
    return low * (1 - _EPS), (max(value, 0.0) + wrong + near + cells.infinite[1]) * (1 + _EPS) + 1e-300


def _near(pair: DominatingPair, epsilon: float) -> tuple[float, Cells]:
    """Return a bound on the slack, and cells whose last edge is ``epsilon`` and whose first is below all slack.

    The slack depends on the edges, so the second one may be larger.
    """
    slack = pair.cells(np.array([epsilon])).slack
    while True:
        cells = pair.cells(np.array([epsilon - 4 * slack - 4 * _EPS * epsilon, epsilon]))
        if not cells.slack > 2 * slack:
            return max(slack, cells.slack), cells
        slack = cells.slack


_SPAN, _CELLS = 40.0, 4096


def _by_cells(pair: DominatingPair, epsilon: float) -> tuple[float, float]:
    """Return ``_ends`` if Q's mass underflows: the sum over cells of P-mass times 1 - e^(epsilon - L)."""
    edges = epsilon + _SPAN * np.arange(_CELLS + 1) / _CELLS
    slack = 2 * pair.cells(edges).slack + 4 * _EPS * float(edges[-1])
    edges = np.append(epsilon - 2 * slack, edges)  # an atom at epsilon may be counted just below it
    cells = pair.cells(edges)
    if cells.slack > slack:
        raise ArithmeticError(
            f"Privacy losses near epsilon ({epsilon!r}) are indistinguishable in double precision."
        )
    gain = (
        -np.expm1(np.minimum(epsilon - edges + slack, 0.0)),
        -np.expm1(np.minimum(epsilon - edges - slack, 0.0)),
    )
    p = cells.p[1:]
    error = np.asarray(cells.p_error)[1:] if np.ndim(cells.p_error) else cells.p_error
    low = float((p * (1 - error) * gain[0]).sum()) + cells.infinite[0]
    high = float((p * (1 + error) * np.append(gain[1][1:], 1.0)).sum()) + cells.infinite[1]
    return max(low * (1 - 1e-12), 0.0), high * (1 + 1e-12) + 1e-300


def _last_two(error: float | Floats) -> Floats:
    return np.broadcast_to(np.asarray(error, dtype=np.float64), (3,))[1:]


_CHARGE = 1e-14
_SHARES = (1e-14, 1e-12, 1e-9, 1e-6, 1e-3)


def largest_loss(parts: Sequence[tuple[DominatingPair, int]]) -> tuple[float, float]:
    """Return bounds, which are at least 0, on the largest finite privacy loss of a composition.

    The bounds are infinite if the losses are unbounded. The upper bound is the sum of the upper bounds of all
    pairs. Each pair exceeds some known loss with a probability above 0, and the lower bound is the sum of
    these losses.
    """
    high = math.fsum(count * pair.loss_range()[1] for pair, count in parts)
    if math.isinf(high):
        return math.inf, math.inf
    low = math.fsum(count * _reached(pair) for pair, count in parts)
    charge = _CHARGE * math.fsum(count * abs(pair.loss_range()[1]) for pair, count in parts)
    return max(low - charge, 0.0), max(high + charge, 0.0)


def _reached(pair: DominatingPair) -> float:
    """Return a loss, near the largest one, such that the pair certainly has mass beyond it."""
    top = pair.loss_range()[1]
    for share in _SHARES:
        edge = top - share * abs(top)
        cells = pair.cells(np.array([edge]))
        error = np.broadcast_to(np.asarray(cells.p_error, dtype=np.float64), cells.p.shape)[-1]
        if cells.p[-1] * (1 - error) > 0:
            return edge - cells.slack
    return -math.inf


def infinite_mass(parts: Sequence[tuple[DominatingPair, int]]) -> tuple[float, float]:
    """Return bounds on the probability that the privacy loss of a composition is infinite.

    This probability is 1 - prod (1 - p)^count, where p is the probability of an infinite loss of one pair.

    >>> from dpproof.accountant.pairs.atoms import Atoms
    >>> leak = Atoms(["1/4", "3/4"], [0, 1])
    >>> low, high = infinite_mass([(leak, 2)])
    >>> low <= 1 - 0.75**2 <= high
    True
    """
    ends = [_infinite(pair) for pair, _ in parts]
    low, high = (
        1.0 if any(e[side] >= 1 for e in ends)
        else -math.expm1(math.fsum(n * math.log1p(-e[side]) for e, (_, n) in zip(ends, parts, strict=True)))
        for side in (0, 1)
    )  # fmt: skip
    return (1.0 if low >= 1 else abs(low) * (1 - _CHARGE)), min(abs(high) * (1 + _CHARGE), 1.0)


def epsilon_by_shares(parts: Sequence[tuple[DominatingPair, int]], delta: Fraction) -> float:
    """Return an upper bound on epsilon by basic composition: each use of a pair has an equal share of ``delta``.

    All but ``share`` of P_i lies below exp(epsilon_i) Q_i. The product of these parts lies below the product of the
    exp(epsilon_i) Q_i, and the rest has at most the mass ``delta``.

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> epsilon_by_shares([(SubsampledGaussian(1.0, 100.0), 2)], Fraction(1, 10**6))
    0.07087246244900415
    """
    share = delta / sum(count for _, count in parts)
    ends = [(epsilon_of_pair(pair, share)[1], count) for pair, count in parts]
    if any(end == math.inf for end, _ in ends):
        return math.inf
    return at_least(sum((Fraction(end) * count for end, count in ends), Fraction(0)))


def _infinite(pair: DominatingPair) -> tuple[float, float]:
    cells = pair.cells(np.zeros(1))
    return cells.infinite if cells.p.any() else (1.0, 1.0)
