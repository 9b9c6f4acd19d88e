"""Pairs of two Gaussians with different variances in one dimension.

The privacy loss is a quadratic function of the output, so each interval of losses comes from two intervals of
outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Floats
from dpproof.accountant.pairs.lattice import charged

_ULP = 2.0**-52
_BITS = 256
_FAR = 100.0
"""Deviations beyond which no relevant mass is left: it is far below the smallest mass that is distinguished."""


@dataclass(frozen=True)
class UnequalGaussians:
    """The pair of two Gaussians in one dimension, P = N(mean, sigma_p^2) and Q = N(0, sigma_q^2).

    The privacy loss of the output x is L(x) = a x^2 + b x + c with a = (1/sigma_q^2 - 1/sigma_p^2)/2, b =
    mean/sigma_p^2 and c = log(sigma_q/sigma_p) - mean^2/(2 sigma_p^2). The caller must prove that this pair
    dominates the outputs of any two neighbours, also if their means or their variances differ by less.

    Source: the densities; thresholds and errors in docs/notes/pairs.md, section 1.

    >>> import numpy as np
    >>> UnequalGaussians(0, 2, 1).cells(np.array([0.0])).p
    array([0.503355, 0.496645])

    Raises:
        ValueError: if a standard deviation is not above 0, or the two Gaussians are the same.
    """

    mean: Number
    sigma_p: Number
    sigma_q: Number

    def __post_init__(self) -> None:
        mean = exact(self.mean, "mean")
        for name in ("sigma_p", "sigma_q"):
            if exact(getattr(self, name), name) <= 0:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be above 0")
        if mean == 0 and exact(self.sigma_p) == exact(self.sigma_q):
            raise ValueError(f"mean ({self.mean!r}) must not be 0 if sigma_p equals sigma_q")

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        mean, sigma_p, sigma_q = abs(exact(self.mean)), exact(self.sigma_p), exact(self.sigma_q)
        a, b, c = self._rounded()
        reach = 2 * _FAR * float(max(sigma_p, sigma_q) + mean)
        near, far, slack = _roots(a, b, c, reach, np.concatenate(([-np.inf], edges, [np.inf])))
        near, far = near / float(sigma_q), far / float(sigma_q)
        p, p_error = _two(near, far, float(mean / sigma_p), float(sigma_q / sigma_p))
        q, q_error = _two(near, far, 0.0, 1.0)
        return Cells(p, q, p_error, q_error, slack)

    def reversed(self) -> UnequalGaussians:
        """Return the pair (Q, P), whose standard deviations are exchanged."""
        if exact(self.sigma_p) == exact(self.sigma_q):
            return self
        return UnequalGaussians(self.mean, self.sigma_q, self.sigma_p)

    def loss_range(self) -> tuple[float, float]:
        """Return bounds on the losses. With unequal standard deviations, one of the bounds is finite."""
        if exact(self.sigma_p) == exact(self.sigma_q):
            return -math.inf, math.inf
        wider = exact(self.sigma_p) > exact(self.sigma_q)
        with precision(_BITS):
            a, b, c = self._coefficients()
            vertex = c - b * b / (4 * a)
            return (round_down(vertex), math.inf) if wider else (-math.inf, round_up(vertex))

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single use, at the current precision.

        The privacy loss is quadratic. So it exceeds epsilon either outside two roots or between them.
        """
        p, q = arb_of(exact(self.sigma_p)), arb_of(exact(self.sigma_q))
        mean = arb_of(abs(exact(self.mean)))
        a, b, c = self._coefficients()
        apart = b * b - 4 * a * (c - epsilon)
        if a == 0:
            x = (epsilon - c) / b
            return (normal_tail((x - mean) / p) - epsilon.exp() * normal_tail(x / q)).max(flint.arb(0))
        if not apart > 0:
            nowhere = flint.arb(0) if a < 0 else flint.arb(1) - epsilon.exp()
            return nowhere.max(flint.arb(0)) if apart < 0 else flint.arb(0).union(flint.arb(1))
        sign = 1 if a > 0 else -1
        low, high = ((-b + side * sign * apart.sqrt()) / (2 * a) for side in (-1, 1))
        outside = _outside((low - mean) / p, (high - mean) / p), _outside(low / q, high / q)
        inside = _inside((low - mean) / p, (high - mean) / p), _inside(low / q, high / q)
        first, second = outside if a > 0 else inside
        return (first - epsilon.exp() * second).max(flint.arb(0))

    def _coefficients(self) -> tuple[flint.arb, flint.arb, flint.arb]:
        mean, p, q = abs(exact(self.mean)), exact(self.sigma_p), exact(self.sigma_q)
        return (
            arb_of((1 / q**2 - 1 / p**2) / 2),
            arb_of(mean / p**2),
            arb_of(q / p).log() - arb_of(mean**2 / (2 * p**2)),
        )

    def _rounded(self) -> tuple[float, float, float]:
        """Return the rounded coefficients. They use the size of the mean: its sign only reflects the loss."""
        with precision(_BITS):
            a, b, c = (round_down(x) for x in self._coefficients())
        return a, b, c


def _outside(low: flint.arb, high: flint.arb) -> flint.arb:
    """Return the mass of N(0, 1) below ``low`` and above ``high``."""
    return normal_tail(-low) + normal_tail(high)


def _inside(low: flint.arb, high: flint.arb) -> flint.arb:
    """Return the mass between ``low`` and ``high``, as a difference on the side where both tails are small."""
    return normal_tail(low) - normal_tail(high) if low + high > 0 else normal_tail(-high) - normal_tail(-low)


def _roots(a: float, b: float, c: float, reach: float, edges: Floats) -> tuple[Floats, Floats, float]:
    """Return the two points of loss e for each edge, and how far the loss there may be from e.

    The first point grows with the edge, and the second falls. Without such an outcome both are the vertex.
    """
    vertex = -b * b / (4 * a) if a else math.inf
    height = np.maximum(edges - c, vertex) if a > 0 else np.minimum(edges - c, vertex)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        total = b + np.sqrt(np.maximum(b * b + 4 * a * height, 0))
        near = np.where(total > 0, 2 * height / total, 0.0)
        far = -total / (2 * a) if a else np.full_like(height, -np.inf)
    for end in (np.isposinf(height), np.isneginf(height)):
        near[end] = height[end]
        far[end] = -height[end] if a else -np.inf
    if a:  # both exactly there, and on their own sides of it: no mass is lost or counted twice
        middle = -b / (2 * a)
        near[height == vertex] = far[height == vertex] = middle
        right, left = (np.maximum, np.minimum) if a > 0 else (np.minimum, np.maximum)
        near, far = right(near, middle), left(far, middle)
    near, far = np.maximum.accumulate(near), np.minimum.accumulate(far)
    return near, far, _slack(a, b, c, height, near, far, reach)


def _slack(a: float, b: float, c: float, height: Floats, near: Floats, far: Floats, reach: float) -> float:
    """Bound the error of the loss at the roots, recomputed from them, including the error of this computation.

    Roots beyond ``reach`` have no mass beyond them, wherever they are.
    """
    worst = 0.0
    for root in (near, far):
        known = np.isfinite(height) & (np.abs(root) <= reach)
        x, e = root[known], height[known]
        miss = np.abs(x * (a * x + b) - e)
        size = np.abs(a) * x * x + np.abs(b * x) + abs(c) + np.abs(e)
        moved = np.abs((2 * a * x + b) * x)
        worst = max(worst, float(np.max(miss + _ULP * (8 * size + 4 * moved), initial=0.0)))
    return worst


def _two(near: Floats, far: Floats, mean: float, ratio: float) -> tuple[Floats, Floats]:
    """Return the mass of both intervals of each cell, and its relative error; an end y means the point y sigma_q.

    The mass is that of N(0, 1) between the points ratio y - mean.
    """
    first, one = _one(near, mean, ratio)
    second, other = _one(far[::-1], mean, ratio)
    left, right = first[1:-1], second[-2:0:-1]
    total = left + right
    error = (left * one[1:-1] + right * other[-2:0:-1]) / total + 4 * _ULP
    return total, np.minimum(error, 1.0)


def _one(ends: Floats, mean: float, ratio: float) -> tuple[Floats, Floats]:
    """Return masses as in ``interval_masses``. The rounding of each end adds to the error of both adjacent cells.

    An end that moves by e moves at most e times the largest density within e of it.
    """
    y = np.clip(ends * ratio - mean, -_FAR, _FAR)
    masses, errors = interval_masses(y)
    if ratio == 1 and mean == 0:
        return masses, errors
    off = 3 * _ULP * (np.abs(y) + 2 * mean)
    nearest = np.maximum(np.abs(y) - off, 0.0)
    moved = off * np.exp(-nearest * nearest / 2)  # the density without 1/sqrt(2 pi), as room for rounding
    return charged(masses, errors, np.concatenate((moved, [0.0])) + np.concatenate(([0.0], moved)))
