"""The least noise on counts that meets a target: in closed form where there is one, else by a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import flint

from dpproof.accountant.claims.calibration import calibrate_noise
from dpproof.accountant.counting.gaussian_tree import calibrated_sigma
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import Guarantee
from dpproof.accountant.guarantees.targets import Target, UnreachableTargetError
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.rl.private_ucb.noise import Moved
from dpproof.accountant.rl.private_ucb.parameters import CountsParameters

__all__ = ["least_scale"]

_BITS = 192
_FEW, _A_LITTLE = 64, 2.0**-15
Chosen = TypeVar("Chosen", bound=CountsParameters)


def least_scale(
    unit: Chosen,
    moved: Moved,
    mu: flint.arb,
    guarantee_of: Callable[[Chosen], Guarantee],
    epsilon: Number,
    delta: Number,
) -> tuple[Chosen, Chosen]:
    """Parameters with the least ``scale`` that meets the target, and ones just below that do not.

    Args:
        unit: the parameters with noise of scale 1.
        moved: what one user changes.
        mu: the mu of Gaussian noise of scale 1.
        guarantee_of: the guarantee under given parameters.
        epsilon: the target.
        delta: where it is to be met.

    Raises:
        ValueError: for a bad target; an epsilon of 0, or Gaussian noise at delta 0, which no noise meets.
    """
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    if target.epsilon == 0 and target.delta == 0:
        raise UnreachableTargetError(f"{target} cannot be met: no noise hides a user completely")
    ends = _METHODS[unit.noise](unit, moved, mu, guarantee_of, target)
    return unit.with_scale(ends[1]), unit.with_scale(ends[0])


Ends = tuple[float, float]


def _gaussian(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Guarantee], target: Target
) -> Ends:
    if target.delta == 0:
        raise UnreachableTargetError(f"{target} cannot be met: Gaussian noise is never purely private")
    with precision(_BITS):
        found = calibrated_sigma([mu], target.epsilon, target.delta)
    return found.lower, found.upper


def _laplace(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Guarantee], target: Target
) -> Ends:
    if target.delta == 0:
        return _pure(moved.total(), target)
    pure = _nearly_pure(unit, moved, guarantee_of, target)
    return pure or _searched(unit, moved, mu, guarantee_of, target)


def _nearly_pure(
    unit: Chosen, moved: Moved, guarantee_of: Callable[[Chosen], Guarantee], target: Target
) -> Ends | None:
    """The pure scale, where already a little less is certified to miss; None elsewhere.

    All of ``moves`` values have their largest loss at once with probability 2^-moves or more, so that a
    delta far below that allows next to nothing. The guess saves a long search; certified is what misses.
    """
    moves = moved.nodes * sum(count for change, _ in moved.families() for _, count in change.dominating)
    if target.epsilon == 0 or moves > _FEW or target.delta > target.epsilon * _A_LITTLE / 2 ** (moves + 2):
        return None
    _, enough = _pure(moved.total(), target)
    short = enough * (1 - _A_LITTLE)
    misses = guarantee_of(unit.with_scale(short)).delta(target.above).lower > target.delta
    return (short, enough) if misses else None


def _discrete_gaussian(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Guarantee], target: Target
) -> Ends:
    if target.delta == 0:
        raise UnreachableTargetError(f"{target} cannot be met: Gaussian noise is never purely private")
    return _searched(unit, moved, mu, guarantee_of, target)


def _searched(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Guarantee], target: Target
) -> Ends:
    """The general search, begun at the Gaussian's answer."""
    with precision(_BITS):
        start = float((mu / arb_of(Fraction(gaussian_mu(target.epsilon, target.delta)[0]))).mid())
    pair = calibrate_noise(unit.with_scale(start), "scale", guarantee_of, target.epsilon, target.delta)
    meets, misses = (chosen.scale or math.nan for chosen in pair)
    return misses, meets


def _pure(total: Fraction, target: Target) -> Ends:
    """Doubles around total/epsilon: the loss at the one rounds to at most the target, at the other above."""
    with precision(_BITS):
        enough = round_up(arb_of(total / exact(target.below)))
        short = round_down(arb_of(total / exact(math.nextafter(target.above, math.inf))))
    if not 0 < short < enough < math.inf:
        raise UnreachableTargetError(f"{target} must be one that noise within double precision can meet")
    return short, enough


_METHODS = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "discrete-laplace": _laplace,
    "discrete-gaussian": _discrete_gaussian,
}
