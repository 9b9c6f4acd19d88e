"""The privacy loss of a Poisson-sampled Gaussian as a function of the output, with soft cuts between losses.

Let y be the output in standard deviations, w = y/sigma - 1/(2 sigma^2) and l(y) = log(1 - q + q e^w), where q
is the sampling rate. Then sigma l'(y) = p(y) with p = q e^w/(1 - q + q e^w), the sampled share of the density
at y. It grows in y from 0 to 1. Derivations: docs/notes/saddle_inversion.md, section 3, and
docs/notes/rare_jumps.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.normal import log_upper_tail
from dpproof.accountant.pairs.base import Floats
from dpproof.accountant.pairs.phases import EPS

REACH = 13.0
"""Beyond the points that are kept, the terms fall by at least this rate per unit of y (logarithmic)."""


def log_ratio(rate: float, sigma: float, y: Floats) -> tuple[Floats, Floats]:
    """Return l(y) = log(1 - q + q exp(y/sigma - 1/(2 sigma^2))) and bounds on its absolute errors.

    q is ``rate``, and y is taken as exact.
    """
    w = y / sigma - 1 / (2 * sigma * sigma)
    w_error = 2 * EPS * (np.abs(y) / sigma + 1 / (2 * sigma * sigma))
    if rate == 1:
        return w, w_error
    far = max(1.0, 1 - math.log(rate))
    values, errors = np.empty_like(w), np.empty_like(w)
    low, high = w < -1, w > far
    for part, formula in ((low, _low), (~(low | high), _middle), (high, _high)):
        values[part], errors[part] = formula(rate, w[part], w_error[part])
    return values, errors


def _low(rate: float, w: Floats, w_error: Floats) -> tuple[Floats, Floats]:
    constant, part = math.log1p(-rate), rate * np.exp(w) / (1 - rate)
    second = np.log1p(part)
    value = constant + second
    error = 5 * EPS * (abs(constant) + np.abs(second)) + part / (1 + part) * (8 * EPS + 1.01 * w_error)
    return value, error + EPS * np.abs(value)


def _middle(rate: float, w: Floats, w_error: Floats) -> tuple[Floats, Floats]:
    moved = np.expm1(w)
    value = np.log1p(rate * moved)
    inner = rate * (5 * EPS * np.abs(moved) + 1.01 * np.exp(w) * w_error)
    return value, 5 * EPS * np.abs(value) + 1.01 * inner / (1 + rate * moved)


def _high(rate: float, w: Floats, w_error: Floats) -> tuple[Floats, Floats]:
    second = np.log(rate + (1 - rate) * np.exp(-w))
    value = w + second
    return value, 1.01 * w_error + 5 * EPS * np.abs(second) + 10 * EPS + EPS * np.abs(value)


def low_end(rate: float, sigma: float, negative: float, reach: float = REACH) -> float:
    """Return how far below 0 the terms phi e^(-negative l) begin to fall by ``reach`` per unit of y (logarithmic).

    Their logarithm is -y^2/2 - negative l(y), where sigma l'(y) is the sampled share.
    """
    return reach + negative / sigma * float(sampled_share(rate, sigma, np.array([-reach]))[0])


def high_end(rate: float, sigma: float, power: float) -> float:
    """Return a number above 0 from which on the terms phi e^(power l) fall by ``REACH`` per unit of y (logarithmic).

    The power is above 0. The number is the first of a list after which y_k - REACH >= power/sigma p(y_(k+1))
    up to the end of the list. Beyond the end, p <= 1 is enough.
    """
    pull = power / sigma
    points = REACH + pull * np.geomspace(min(0.1 / pull, 0.5), 1.0, 500)
    falling = points[:-1] - REACH >= pull * sampled_share(rate, sigma, points[1:])
    rising = np.flatnonzero(~falling)
    return float(points[rising[-1] + 1 if len(rising) else 0])


def sampled_share(rate: float, sigma: float, y: Floats) -> Floats:
    """Return a number that is at least q e^w/(1 - q + q e^w), and above it by less than a millionth of it."""
    if rate == 1:
        return np.ones_like(y)
    odds = np.exp(
        np.clip(math.log1p(-rate) - math.log(rate) - y / sigma + 1 / (2 * sigma * sigma), -700, 700)
    )
    return np.asarray(np.minimum((1 + 1e-6) / (1 + odds), 1.0))


@dataclass(frozen=True)
class SoftCut:
    """A smooth division of outputs into a bulk of small losses and rare large losses, the jumps.

    An output y belongs to the bulk with weight Q((y - place)/width), where Q is the upper tail of the normal
    distribution, and to the jumps with the remaining weight. Both weights are analytic in y. On the line
    Im y = a, each of them is at most exp(a^2/(2 width^2)) times its value at the real part of y.

    Attributes:
        place, width: where the division is, and how soft it is.
        keeps_jumps: whether a part that is made with this cut is that of the jumps, and not the bulk.
    """

    place: float
    width: float
    keeps_jumps: bool = False

    def log_kept(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the part that is kept, and bounds on their absolute errors."""
        return self.log_jumps(y) if self.keeps_jumps else self.log_bulk(y)

    def log_dropped(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the part that is not kept, and bounds on their absolute errors."""
        return self.log_bulk(y) if self.keeps_jumps else self.log_jumps(y)

    def between(self, weights: Floats, *, rising: bool) -> Floats:
        """Return the largest weight in each block between edges, from below the first edge to above the last one.

        Args:
            weights: logarithms of the weights at the edges.
            rising: whether the weight grows in y.
        """
        return np.append(weights, 0.0) if rising else np.append(0.0, weights)

    def log_bulk(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the bulk, and bounds on their absolute errors."""
        return _log_tail((y - self.place) / self.width)

    def log_jumps(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the jumps, and bounds on their absolute errors."""
        return _log_tail((self.place - y) / self.width)


def _log_tail(x: Floats) -> tuple[Floats, Floats]:
    """Return log Q(x), where x has a relative error of at most EPS, and a bound on the absolute error.

    The slope of log Q is at most max(x, 0) + 1 in size.
    """
    value, error = log_upper_tail(x)
    return value, error + 1.01 * EPS * np.abs(x) * (np.maximum(x, 0.0) + 1)
