"""The privacy loss of a Poisson-sampled Gaussian as a function of the output, with soft cuts between losses.

Let y be the output in standard deviations, w = y/sigma - 1/(2 sigma^2) and l(y) = log(1 - q + q e^w), where q
is the sampling rate. Then sigma l'(y) = p(y) with p = q e^w/(1 - q + q e^w), the sampled share of the density
at y. It grows in y from 0 to 1. The loss is l(y) if a record is removed, -l(-y) if a record is added, and
l(y) - l(-y) if a record is replaced. So it grows in y. Derivations: docs/notes/saddle_inversion.md, section 3,
and docs/notes/rare_jumps.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

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


class Change(Enum):
    """How the data change from P to Q: whether the record's sum is in P, and whether (another) one is in Q.

    P has the density phi(y) e^(l(y)) if the record is in P, and phi(y) otherwise. Q has the density
    phi(y) e^(l(-y)) if a record is in Q, and phi(y) otherwise. If a record is added, outputs are reflected for this.
    """

    REMOVED = (True, False)
    ADDED = (False, True)
    REPLACED = (True, True)

    @property
    def in_p(self) -> bool:
        """Whether P is the mixture."""
        return self.value[0]

    @property
    def in_q(self) -> bool:
        """Whether Q is the reflected mixture."""
        return self.value[1]


class Sample(Protocol):
    """The records of one user, each sampled with the same probability, and a noise: what l(y) depends on.

    K is the number of sampled records, given the output y. Its mean m(y) is sigma l'(y), and it grows in y.
    """

    @property
    def rate(self) -> float:
        """The probability to be sampled."""
        ...

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, in norms of a record."""
        ...

    @property
    def most(self) -> int:
        """The number of records, which is the largest K."""
        ...

    def log_ratio(self, y: Floats) -> tuple[Floats, Floats]:
        """Return l(y) and bounds on its absolute errors."""
        ...

    def shares(self, y: Floats) -> tuple[Floats, Floats]:
        """Return an upper and a lower bound on m(y). The first is above 0."""
        ...

    def angles(self, y: Floats, turn: Floats) -> tuple[Floats, Floats]:
        """Return upper and lower bounds on the argument of E e^(i turn K), for each ``turn`` (rows) and y (columns)."""
        ...

    def log_weights(self) -> Floats:
        """Return the logarithms of the probabilities that j records are sampled, j = 0 .. ``most``.

        They err by at most 4 EPS (1 + their size).
        """
        ...


@dataclass(frozen=True)
class Record:
    """The ``Sample`` of a user with one record."""

    rate: float
    sigma: float
    most = 1

    def log_ratio(self, y: Floats) -> tuple[Floats, Floats]:
        """Return l(y) and bounds on its absolute errors."""
        return log_ratio(self.rate, self.sigma, y)

    def shares(self, y: Floats) -> tuple[Floats, Floats]:
        """Return an upper and a lower bound on the sampled share p(y)."""
        share = sampled_share(self.rate, self.sigma, y)
        return share, np.where(share > 1e-290, share * (1 - 2e-6), 0.0)

    def angles(self, y: Floats, turn: Floats) -> tuple[Floats, Floats]:
        """Return bounds on the angle of 1 - p + p e^(i turn), which grows in p."""
        most, least = self.shares(y)
        return _angle(most, turn), _angle(least, turn)

    def log_weights(self) -> Floats:
        """Return the logarithms of 1 - q and q."""
        return np.asarray(np.log(np.array([1 - self.rate, self.rate])))


def _angle(share: Floats, turn: Floats) -> Floats:
    return np.asarray(np.arctan2(share * np.sin(turn), 1 - share + share * np.cos(turn)))


def loss_of(change: Change, sample: Sample, y: Floats) -> tuple[Floats, Floats]:
    """Return the privacy losses of outputs, and bounds on their absolute errors."""
    value, error = np.zeros_like(y), np.zeros_like(y)
    if change.in_p:
        value, error = sample.log_ratio(y)
    if change.in_q:
        other, other_error = sample.log_ratio(-y)
        value, error = value - other, error + other_error + EPS * np.abs(value - other)
    return value, error


def high_end(sample: Sample, up: float, down: float, reach: float = REACH) -> float:
    """Return a number above 0 from which on the terms phi e^(up l(y) - down l(-y)) fall by ``reach`` per unit of y.

    The rate of the fall is that of the logarithm. The number is the first y_k of a list after which y_k - reach
    >= (up m(y_(k+1)) + down m(-y_k))/sigma up to the end of the list. Beyond the end, the largest m is enough.
    """
    pull = largest_pull(sample, up, down, reach)
    points = reach + pull * np.geomspace(min(0.1 / pull, 0.5), 1.0, 500)
    share, other = sample.shares(points)[0], sample.shares(-points)[0]
    falling = points[:-1] - reach >= (up * share[1:] + down * other[:-1]) / sample.sigma
    rising = np.flatnonzero(~falling)
    return float(points[rising[-1] + 1 if len(rising) else 0])


def largest_pull(sample: Sample, up: float, down: float, y: float) -> float:
    """Return an upper bound on the slope of up l - down l(-) further up than ``y``."""
    other = float(sample.shares(np.array([-y]))[0][0])
    return max(up * sample.most + down * other, 1e-9) / sample.sigma


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
        reflected: whether -y takes the place of y, so that the jumps are outputs below -place.
    """

    place: float
    width: float
    keeps_jumps: bool = False
    reflected: bool = False

    def log_kept(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the part that is kept, and bounds on their absolute errors."""
        return self.log_jumps(y) if self.keeps_jumps else self.log_bulk(y)

    def log_dropped(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the part that is not kept, and bounds on their absolute errors."""
        return self.log_bulk(y) if self.keeps_jumps else self.log_jumps(y)

    def between(self, weights: Floats, *, kept: bool = True) -> Floats:
        """Return the largest weight in each block between edges, from below the first edge to above the last one.

        Args:
            weights: logarithms of the weights at the edges.
            kept: whether they are the weights of the part that is kept, and not of the other one.
        """
        rising = (self.keeps_jumps == kept) != self.reflected
        return np.append(weights, 0.0) if rising else np.append(0.0, weights)

    def log_bulk(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the bulk, and bounds on their absolute errors."""
        return _log_tail((self._along(y) - self.place) / self.width)

    def log_jumps(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of the jumps, and bounds on their absolute errors."""
        return _log_tail((self.place - self._along(y)) / self.width)

    def _along(self, y: Floats) -> Floats:
        return -y if self.reflected else y


def _log_tail(x: Floats) -> tuple[Floats, Floats]:
    """Return log Q(x), where x has a relative error of at most EPS, and a bound on the absolute error.

    The slope of log Q is at most max(x, 0) + 1 in size.
    """
    value, error = log_upper_tail(x)
    return value, error + 1.01 * EPS * np.abs(x) * (np.maximum(x, 0.0) + 1)
