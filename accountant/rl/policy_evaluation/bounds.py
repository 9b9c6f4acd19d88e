"""Smooth upper bounds on the sensitivity to one trajectory, for the algorithms DP-LSW and DP-LSL.

Both bounds, called psi, are maxima over k >= 0 of exp(-k beta) phi(k). phi(k) bounds the squared sensitivity
on data that differ from the given data in k trajectories. beta is the smoothing of the squared sensitivity,
and therefore of the variance. For DP-LSW the maximum is at k = 0 or at a k such that k + 1 is the number of
visits of a state. For DP-LSL the logarithm is concave in k. So the code does not try every k
(docs/notes/policy_evaluation.md).

DP-LSW needs sum_s w_s/max(v_s - k, 1)^2 at many k. v_s is the number of visits of state s, w_s its weight.
All sums take O(n log K) altogether. The whole numbers above k + 1 are split into intervals (boxes), at most
two for each length 2^j. The middle of a box is at least 1.5 of its lengths away from k, so 1/(v - k)^2 is a
short power series about the middle. A box of length 1 holds one number, so nothing is omitted
(docs/notes/policy_evaluation.md, section 1).

The computed number is a valid bound, rounding included: it is at least phi(0), and its logarithm changes by
at most beta between neighbours. This assumes IEEE 754 arithmetic for sums, products, quotients and square
roots of doubles. Powers of exp(-beta) are products of a few numbers that Arb certifies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import flint
import numpy as np
import numpy.typing as npt

from dpproof.accountant.numbers.arithmetic import cached_property
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.numbers.inversion import first_whole

Reals = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
TERMS = 40
"""The number of terms of the power series, whose ratio is below 1/3. The omitted part is below 2^-54 of the sum."""
_FEW = 2**20
"""Up to this number of pairs of a level and an offset, the pairs are added one by one, which is faster."""


def inverse_square_sums(levels: Counts, masses: Reals, offsets: Counts) -> Reals:
    """Return, for each offset k, the sum of mass(v)/max(v - k, 1)^2 over all levels v.

    The relative error is at most (2n + 1024) 2^-52, where n is the number of levels.

    Args:
        levels: an array of shape (n,) with increasing whole numbers in [1, 2^53).
        masses: an array of shape (n,) with the mass of each level, at least 0. The largest is between 2^-500
            and 2^500.
        offsets: an array of shape (q,) with whole numbers of at least 0 and below the largest level.

    >>> inverse_square_sums(np.array([1, 5, 9]), np.ones(3), np.array([0, 4]))
    array([1.0523..., 2.04...])
    """
    if len(levels) * len(offsets) <= _FEW:
        gaps = np.maximum(levels[None, :] - offsets[:, None], 1).astype(np.float64)
        plain: Reals = (masses / np.square(gaps)).sum(axis=1)
        return plain
    return _from_afar(levels, masses, offsets)


def _from_afar(levels: Counts, masses: Reals, offsets: Counts) -> Reals:
    """Return ``inverse_square_sums`` computed by boxes; levels up to k + 1 count in full."""
    near = np.append(0.0, np.cumsum(masses))
    found: Reals = near[np.searchsorted(levels, offsets + 1, side="right")]
    for scale in range(int(levels[-1]).bit_length()):
        here = offsets >> scale
        boxes, starts = np.unique(levels >> scale, return_index=True)
        moments = _moments(levels, masses, boxes, starts, scale)
        for step in (2, 3):  # what the next scale does not cover: two boxes on, and from an even one three
            place = np.searchsorted(boxes, here + step)
            seen = (boxes[np.minimum(place, len(boxes) - 1)] == here + step) & ((step == 2) | (here % 2 == 0))
            found[seen] += _series(boxes[place[seen]], moments[:, place[seen]], offsets[seen], scale)
    return found


def _moments(levels: Counts, masses: Reals, boxes: Counts, starts: Counts, scale: int) -> Reals:
    """Return sums of mass x^p (p, box); x in (-1/2, 1/2) is the place of a level in its box, in box lengths."""
    length = 2.0**scale
    ends = np.append(starts[1:], len(levels))
    place = ((levels - np.repeat(boxes << scale, ends - starts)) - (length - 1) / 2) / length
    powers, rows = masses.copy(), []
    for _ in range(1 if scale == 0 else TERMS):
        rows.append(np.add.reduceat(powers, starts))
        powers *= place
    return np.array(rows)


def _series(boxes: Counts, moments: Reals, offsets: Counts, scale: int) -> Reals:
    """Return the sum over p of (-1)^p (p + 1) moment_p y^p / distance^2, y the box length over the distance."""
    length = 2.0**scale
    distance = ((boxes << scale) - offsets) + (length - 1) / 2
    ratio, total = -length / distance, np.zeros(len(boxes))
    for power in range(len(moments) - 1, -1, -1):
        total = total * ratio + (power + 1) * moments[power]
    found: Reals = total / np.square(distance)
    return found


_LEAST, _MOST = 2.0**-500, 2.0**500
_EPS = 2.0**-52
_MOST_SHARE = 2.0**300
MOST_BETA = 64.0
"""The largest smoothing that is used. A larger smoothing is lowered to it, so psi changes even less."""


class SmoothBound(Protocol):
    """A smooth bound psi on a squared sensitivity phi, as a function of the smoothing beta.

    Between neighbours, log psi changes by at most beta.
    """

    def squared(self, beta: float) -> float:
        """Return the smooth bound on the squared sensitivity at the smoothing ``beta`` > 0, rounded up."""
        ...

    def local(self) -> float:
        """Return the bound on the squared sensitivity without smoothing. It reveals private data."""
        ...

    @property
    def allowance(self) -> float:
        """The room t that is left for rounding.

        Between neighbours the log of ``squared(beta)`` changes by at most beta - 3t/2.
        """
        ...


def _counts(visits: npt.ArrayLike) -> Counts:
    found = np.asarray(visits)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(
            f"visits (shape {found.shape}, dtype {found.dtype}) must be integers, one for each state"
        )
    if int(found.min()) < 0:
        raise ValueError(f"visits ({int(found.min())}) must be at least 0")
    if int(found.max()) >= 2**53:
        raise ValueError(f"visits ({int(found.max())}) must be below 2^53")
    return found.astype(np.int64)


def _weights(name: str, weights: npt.ArrayLike, states: int) -> Reals:
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (states,):
        raise ValueError(f"{name} (shape {found.shape}) must have shape ({states},)")
    wrong = ~(np.isfinite(found) & (found >= 0))
    if wrong.any():
        raise ValueError(f"{name} ({float(found[wrong][0])!r}) must be finite and at least 0")
    if not found.any():
        raise ValueError(f"{name} (all 0) must hold at least one number above 0")
    if not _LEAST <= float(found.max()) <= _MOST:
        raise ValueError(f"{name} (largest {float(found.max())!r}) must be in [2^-500, 2^500]")
    return found


def _slack(states: int) -> float:
    """Return a bound on the relative error of psi, from sums over ``states`` and powers of exp(-beta)."""
    return (2 * states + 2048) * _EPS


def _decay(beta: float, offsets: Counts) -> Reals:
    """Return exp(-beta k) for each k below 2^53, with relative error 60 units of 2^-52; underflow may give 0."""
    with precision(128):
        squares = [float((-flint.arb(beta) * 2**bit).exp().mid()) for bit in range(53)]
    found = np.ones(len(offsets))
    for bit in range(int(offsets.max()).bit_length()):
        found *= np.where(offsets >> bit & 1, squares[bit], 1.0)
    return found


def _reduced(beta: float, slack: float) -> float:
    """Return the smoothing to compute with, so that errors of ``slack`` on both sides stay within ``beta``."""
    if not 0 < beta < math.inf:
        raise ValueError(f"beta ({beta!r}) must be a number above 0")
    if beta <= 8 * slack:
        raise ValueError(f"beta ({beta!r}) must be above {8 * slack:.3g}, the possible rounding error")
    return min(beta, MOST_BETA) - 4 * slack


@dataclass(frozen=True, eq=False)
class WeightedBound:
    """The smooth bound of DP-LSW: the largest exp(-k beta) phi(k) over k >= 0.

    phi(k) = sum_s w_s/max(v_s - k, 1)^2, where w_s is the weight of state s, and v_s is the number of
    trajectories that visit state s.

    >>> WeightedBound([100, 40], [0.5, 0.5]).squared(0.01)
    0.37157...

    Args:
        visits: integers (N,), at least 0.
        weights: w (N,), at least 0 and not all 0.

    Raises:
        ValueError: naming the argument and the rule it breaks.

    Source: this project's statements eval.lemma5, eval.lemma5.candidates and eval.lemma4.
    """

    visits: Counts
    weights: Reals
    _levels: Counts = field(init=False, repr=False)
    _masses: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        visits = _counts(self.visits)
        weights = _weights("weights", self.weights, len(visits))
        levels, place = np.unique(np.maximum(visits, 1), return_inverse=True)
        masses = np.bincount(place, weights)
        for name, value in (
            ("visits", visits),
            ("weights", weights),
            ("_levels", levels),
            ("_masses", masses),
        ):
            object.__setattr__(self, name, value)

    def local(self) -> float:
        """See ``SmoothBound.local``."""
        return float((self._masses / np.square(self._levels.astype(np.float64))).sum())

    def squared(self, beta: float) -> float:
        """See ``SmoothBound.squared``."""
        slack = _slack(len(self.visits))
        offsets, shares = self._envelope
        best = (_decay(_reduced(beta, slack), offsets) * shares).max()
        return float(best * (1 + 2 * slack))

    @property
    def allowance(self) -> float:
        """See ``SmoothBound.allowance``."""
        return _slack(len(self.visits))

    @cached_property
    def _envelope(self) -> tuple[Counts, Reals]:
        """Every k at which the maximum can be, with phi(k). They are the same for each smoothing."""
        offsets = np.unique(np.append(self._levels - 1, 0))
        return offsets, inverse_square_sums(self._levels, self._masses, offsets)


@dataclass(frozen=True, eq=False)
class RidgeBound:
    """The smooth bound of DP-LSL: the largest exp(-k beta) phi(k) over k >= 0.

    phi(k) = (c sqrt(sum_s rho_s min(v_s + k, m)) + ||rho||_2)^2, where
    c = ||Phi|| ||rho||_inf/sqrt(2 lambda). v_s is the number of trajectories that visit state s, Phi are the
    features, and lambda is the ridge.

    The paper's Lemma 9 prints max instead of min. With max there is no smooth bound (eval.lemma9.constant,
    refuted). The paper's algorithm uses min, for which the bound is proved (eval.lemma9.corrected).

    >>> RidgeBound([30, 40], [1.0, 1.0], 50, 0.1).squared(0.01)
    5.071...

    Args:
        visits: integers (N,), in [0, trajectories].
        weights: rho (N,), in [0, 1] and not all 0.
        trajectories: m, at least 1.
        share: c, at least 0.

    Raises:
        ValueError: naming the argument and the rule it breaks.
    """

    visits: Counts
    weights: Reals
    trajectories: int
    share: float
    _norm: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        visits = _counts(self.visits)
        weights = _weights("rho", self.weights, len(visits))
        if float(weights.max()) > 1:
            raise ValueError(f"rho ({float(weights.max())!r}) must be in [0, 1]")
        if int(visits.max()) > self.trajectories:
            raise ValueError(
                f"visits ({int(visits.max())}) must be at most trajectories ({self.trajectories})"
            )
        if not 0 <= self.share <= _MOST_SHARE * float(weights.max()):
            rule = "must be at least 0, and at most 2^300 times the largest rho"
            raise ValueError(f"share ({self.share!r}) {rule}")
        found = {"visits": visits, "weights": weights, "_norm": float(np.sqrt(np.square(weights).sum()))}
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def local(self) -> float:
        """See ``SmoothBound.local``."""
        return self._at(0)

    def squared(self, beta: float) -> float:
        """See ``SmoothBound.squared``.

        Bisection finds the maximum, because the logarithm of exp(-k beta) phi(k) is concave in k.
        """
        slack = _slack(len(self.visits))
        rate = _reduced(beta, slack)
        high = max(self.trajectories - int(self.visits.min()), 0)
        high = first_whole(lambda k: self._slope(k) <= rate, 0, high) if high else 0
        low = max(high - 1, 0)
        shares = np.array([self._at(k) for k in (low, high)])
        return float((_decay(rate, np.array([low, high])) * shares).max() * (1 + 2 * slack))

    @property
    def allowance(self) -> float:
        """See ``SmoothBound.allowance``."""
        return _slack(len(self.visits))

    def _slope(self, k: int) -> float:
        """Return the right-hand derivative of log phi at k, whose sums have no negative terms.

        A difference of two values of the logarithm would lose a slow rise in its rounding error.
        """
        root = math.sqrt(self._total(k))
        rise = self.share * float(self.weights[self.visits + k < self.trajectories].sum())
        return rise / (root * (self.share * root + self._norm)) if rise else 0.0

    def _at(self, k: int) -> float:
        """phi(k)."""
        root = self.share * math.sqrt(self._total(k)) + self._norm
        return root * root

    def _total(self, k: int) -> float:
        """sum_s rho_s min(v_s + k, m)."""
        return float((self.weights * np.minimum(self.visits + k, self.trajectories)).sum())
