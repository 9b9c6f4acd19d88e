"""Rounding of the privacy loss of one dominating pair (P, Q) to the points of a grid, up or down.

A cell is an interval of losses of the width of a grid step. For upper bounds, the probability of each cell is
divided between its two ends so that its totals under P and under Q stay the same. For lower bounds, each cell
is centred at a grid point and merged into one outcome. In both cases the error is of second order in the
step.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.pairs.base import Cells, DominatingPair, Floats

_U = 2.0**-53


class StepTooSmallError(ValueError):
    """Raised if the numerical error of the privacy losses is not small against the step of a grid."""


@dataclass(frozen=True)
class LossLaw:
    """A distribution of privacy losses on a grid.

    ``masses[i]`` is the probability of the loss (first + i) step + offset. ``infinite`` is the probability of
    an infinite loss. The sum of all probabilities need not be 1: for upper bounds it may be a little above 1,
    for lower bounds below 1.
    """

    first: int
    masses: Floats
    offset: float
    infinite: float


def law_above(pair: DominatingPair, step: float, first: int, last: int, origin: float = 0.0) -> LossLaw:
    """Return a loss distribution on a grid for upper bounds on the privacy profiles of compositions of ``pair``.

    If this distribution replaces the pair in a composition, the profile is at least as large at every
    epsilon.

    Args:
        pair: the pair.
        step: the grid's step, above 0.
        first, last: the indices of the first and the last grid point. Losses below the first point are raised
            to this point. The probability of losses above the last point is shared between this point and
            infinity.
        origin: the loss of grid point 0, at least 0 and below the step.

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> law = law_above(SubsampledGaussian(1.0, 1.0), 0.125, -80, 80)
    >>> losses = 0.125 * np.arange(-80, 81)
    >>> round(float(law.masses @ losses), 6)  # the mean loss, 1/2, raised by little
    0.501302

    Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, arXiv:2207.04380v1, Section 3 (the splitting);
    this project, docs/notes/loss_grid.md, section 3 (rounding).
    """
    points = np.asarray(np.arange(first, last + 1) * step + origin, dtype=np.float64)
    cells = pair.cells(points)
    slack = cells.slack + 4 * _U * float(np.abs(points[[0, -1]]).max())
    mass = cells.p * (1 + cells.p_error) * (1 + 8 * _U)
    at_low = _share(cells, points, slack)
    width = -math.expm1(-step) * (1 - 8 * _U)
    up = mass[1:-1] * np.minimum((1 - at_low[:-1]) / width, 1.0)
    masses = np.zeros(len(points))
    masses[:-1] = mass[1:-1] * (1 - np.minimum((1 - at_low[:-1]) / width, 1.0))
    masses[1:] += up
    masses[0] += mass[0]
    masses[-1] += mass[-1] * at_low[-1]
    infinite = (mass[-1] * (1 - at_low[-1]) + cells.infinite[1]) * (1 + 8 * _U)
    return LossLaw(first, masses * (1 + 8 * _U), origin + slack + 2 * _U * abs(origin), float(infinite))


def _share(cells: Cells, points: Floats, slack: float) -> Floats:
    """Return lower bounds, in [0, 1], on q e^point / p for the cells above the points.

    The value 1 means that all mass is at the point.
    """
    p, q = cells.p[1:], cells.q[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(q) - np.log(p)
        charge = 8 * _U * (np.abs(np.log(q)) + np.abs(np.log(p)) + np.abs(points) + 4) + 4 * slack
        exponent = np.minimum(ratio + points - charge, 0.0)  # where Q's mass is not known at all it overflows
        value = np.exp(exponent) * (1 - _tail(cells.q_error)) / (1 + _tail(cells.p_error))
    value = np.where((p > 0) & (q > 0), value, np.where(p > 0, 0.0, 1.0))
    return np.asarray(np.clip(value - 8 * _U, 0.0, 1.0))


def _tail(error: float | Floats) -> float | Floats:
    return error if isinstance(error, float) else error[1:]


def law_below(
    pair: DominatingPair, step: float, first: int, last: int, tilt: float, origin: float = 0.0
) -> LossLaw:
    """Return a loss distribution on a grid for lower bounds on the privacy profiles of compositions of ``pair``.

    If this distribution replaces the pair in a composition, the profile is at most as large at every epsilon.
    Each cell is an interval of losses around a grid point. All outcomes in a cell are merged into one outcome.
    Its loss may lie beside the grid point. Then neighbouring merged outcomes give each other shares of their
    probability, so that their losses become grid points. All of this is post-processing. Some cells cannot be
    corrected in this way. Then either an offset lowers all losses, or the cell moves one grid point down. The
    function chooses what costs less accuracy.

    Args:
        pair: the pair.
        step: the grid's step, above 8 times the slack of the pair's edges.
        first, last: the indices of the first and the last grid point. Losses more than half a step below the
            first point are dropped. Losses more than half a step above the last point are lowered to this
            point.
        tilt: a number for the weights exp(tilt * loss) of the outcomes. These weights decide what costs less
            accuracy. Every finite number is valid.
        origin: the loss of grid point 0, at least 0 and below the step.

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> law = law_below(SubsampledGaussian(1.0, 1.0), 0.125, -80, 80, 1.0)
    >>> losses = 0.125 * np.arange(-80, 81)
    >>> round(float(law.masses @ losses), 6)  # the mean loss, 1/2, lowered by little
    0.49926

    Raises:
        StepTooSmallError: if the step is too small for the slack.

    Source: this project, docs/notes/loss_grid.md, section 4.
    """
    points = np.asarray(np.arange(first, last + 1) * step + origin, dtype=np.float64)
    cells = pair.cells(np.append(points - step / 2, points[-1] + step / 2))
    if cells.slack + 4 * _U * float(np.abs(points[[0, -1]]).max()) > step / 8:
        raise StepTooSmallError(
            f"step ({step!r}) must be at least 8 times the numerical error of the privacy losses. Use a larger step."
        )
    masses = np.maximum(cells.p * (1 - cells.p_error) * (1 - 8 * _U), 0.0)
    inner = masses[1:-1]
    residual = _residuals(cells, points) - _error_of_loss(cells, points)
    beta = _offset(np.where(_mended(inner, residual, step)[2], np.inf, residual), inner, points, step, tilt)
    up, down, kept = _mended(inner, residual + beta, step)
    placed = np.where(kept, inner * np.maximum(1 - up - down, 0.0), 0.0)
    placed[1:] += np.where(kept, inner * up, 0.0)[:-1]
    placed[:-1] += np.where(kept, inner * down, inner)[1:]
    placed[-1] += masses[-1]
    return LossLaw(
        first, placed * (1 - 16 * _U), origin - beta - 4 * _U * (origin + beta + step), cells.infinite[0]
    )


def _mended(masses: Floats, residual: Floats, step: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the shares that each outcome gives to the point above and below, and which outcomes keep their point.

    An outcome whose loss is too low takes a share of the one above. An outcome whose loss is too high takes a
    share of the one below.
    """
    sound = (np.abs(residual) < 0.75 * step) & (masses > 0)
    up, down, mended = np.zeros_like(masses), np.zeros_like(masses), sound & (residual >= 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        taken = masses[:-1] * np.expm1(-residual[:-1]) / (masses[1:] * -np.expm1(-step - residual[1:]))
        given = masses[1:] * -np.expm1(-residual[1:]) / (masses[:-1] * np.expm1(step - residual[:-1]))
    pairs = sound[1:] & sound[:-1]
    takes = pairs & (residual[:-1] < 0) & (taken < 0.5)
    down[1:] = np.where(takes, taken * (1 + 64 * _U), 0.0)
    mended[:-1] |= takes
    gives = pairs & (residual[1:] > 0)
    up[:-1] = np.where(gives, np.minimum(given * (1 - 64 * _U), 0.5), 0.0)
    # What an outcome gives away leaves it less surplus to take on with; the first guess is the larger one.
    left = np.maximum(1 - down[1:] - up[1:] - 4 * _U, 0.0)
    up[:-1] = np.where(gives, np.minimum(given * (1 - 64 * _U) * left, up[:-1]), 0.0)
    return up, down, mended


def _residuals(cells: Cells, points: Floats) -> Floats:
    """Return how far the loss of each merged cell lies above its grid point; 0 for empty cells."""
    p, q = cells.p[1:-1], cells.q[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(p) - np.log(q) - points
    return np.asarray(np.where((p > 0) & (q > 0), found, 0.0))


def _error_of_loss(cells: Cells, points: Floats) -> Floats:
    p, q = cells.p[1:-1], cells.q[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        given = np.log1p(_inner(cells.q_error)) - np.log1p(-np.minimum(_inner(cells.p_error), 1.0))
        rounding = 8 * _U * (np.abs(np.log(q)) + np.abs(np.log(p)) + np.abs(points) + 1)
    return np.asarray(np.where((p > 0) & (q > 0), given + rounding, 0.0))


def _inner(error: float | Floats) -> float | Floats:
    return error if isinstance(error, float) else error[1:-1]


def _offset(residual: Floats, masses: Floats, points: Floats, step: float, tilt: float) -> float:
    """Return the offset b that minimises b times all tilted mass plus a step times the mass below -b."""
    exponents = tilt * points
    top = exponents[masses > 0].max(initial=-np.inf)
    weights = masses * np.exp(np.minimum(exponents - (top if np.isfinite(top) else 0.0), 0.0))
    order = np.argsort(residual)
    sorted_residual, sorted_weights = residual[order], weights[order]
    below = np.cumsum(sorted_weights) - sorted_weights
    cost = np.maximum(-sorted_residual, 0.0) * sorted_weights.sum() + step * below
    cost = np.where(sorted_residual >= -step / 4, cost, np.inf)
    best = int(np.argmin(cost))
    return max(0.0, float(-sorted_residual[best])) if np.isfinite(cost[best]) else 0.0
