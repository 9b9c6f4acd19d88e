"""The certified privacy profile of a composition by a grid of privacy losses.

The profile is bounded from both sides. The probabilities of the losses are multiplied by an exponential
function, the tilt, and then composed by a Fourier transform. If a few rare large losses (jumps) dominate, no
tilt keeps the rounding noise of the transform below delta. In that case the distribution of the loss is split
into bulk and jumps: law^(*T) = sum_k C(T,k) bulk^(*(T-k)) jumps^(*k). Each term has its own tilt, and the
noise of each term is proportional to the small probability of the jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.checks import below_one, whole
from dpproof.accountant.numbers.inversion import LEAST_DELTA, crossing, neighbours
from dpproof.accountant.pairs.base import DominatingPair, Floats
from dpproof.accountant.privacy_loss.grid import LossLaw, law_above, law_below
from dpproof.accountant.privacy_loss.loss_sums import LossSum, Window, sum_of_losses
from dpproof.accountant.privacy_loss.planning import Guide, Parts, Plan, aim_at, best_tilt, plan
from dpproof.accountant.privacy_loss.single import infinite_mass

_U = 2.0**-53
_MOST_JUMPS = 8


@dataclass(frozen=True)
class JumpSum:
    """A bound on the privacy profile of a composition, as a sum over the number of large losses (jumps).

    ``terms[k]`` is for the compositions with exactly k jumps. It holds a weight and a sum of losses. The
    weight is the number of ways to choose which k losses are jumps. The sum bounds the part of delta that
    belongs to one such choice. ``sign`` is 1 for an upper bound on delta, and -1 for a lower bound.
    ``infinite`` is the probability of an infinite loss.
    """

    sign: int
    terms: tuple[tuple[float, LossSum], ...]
    rest: float
    """For an upper bound on delta: a bound on the probability of more jumps than in ``terms``. Otherwise 0."""
    infinite: float

    def delta(self, epsilon: float) -> float:
        """Return the bound on delta at ``epsilon`` >= 0."""
        values = [weight * term.delta(epsilon) for weight, term in self.terms]
        total = math.fsum([*values, self.rest, self.infinite]) * (1 + self.sign * 16 * _U)
        if self.sign > 0:
            return min(1.0, max(total, LEAST_DELTA))
        return min(1.0, total) if total >= LEAST_DELTA else 0.0


def sums_by_jumps(
    pair: DominatingPair, count: int, *, epsilon: float, delta: float, small: float, points: int
) -> tuple[JumpSum, JumpSum] | None:
    """Return an upper and a lower bound on the privacy profile of ``count`` compositions of ``pair``.

    The losses are grouped by the number of jumps, which are losses above a quarter of ``epsilon``. The bounds
    are most accurate near ``epsilon``, where delta is about ``delta``. Return None if jumps are too frequent
    for this method.

    Source: this project, docs/notes/loss_grid.md, section 6.
    """
    guide = Guide.of([(pair, count)])
    masses = np.exp(guide.logs[0])
    bound = epsilon / 4
    jumps = count * float(masses[guide.losses[0] >= bound].sum())
    most = next((k for k in range(1, _MOST_JUMPS) if jumps ** (k + 1) <= small * delta), None)
    beyond = np.cumsum(masses[::-1])[::-1] * count <= small * delta
    if most is None or count <= most:
        return None
    high = float(guide.lows[0][int(np.argmax(beyond))] if beyond.any() else guide.highs[0][-1])
    under = np.cumsum(masses) * count <= small * delta
    low = float(guide.lows[0][int(np.count_nonzero(under))])
    mantissa, exponent = math.frexp((high - low) / points)
    step = math.ldexp(math.ceil(mantissa * 2**16), exponent - 16)
    first, last, split = (math.floor(loss / step) for loss in (low - step, high + step, bound))
    if not first < split < last:
        return None
    origin = _bulk(pair, step) % step
    laws = law_above(pair, step, first, last), law_below(pair, step, first, last, 1 / epsilon, origin)
    above, below = (
        _sum_by_jumps(law, count, split, step, most, epsilon, sign, small)
        for law, sign in zip(laws, (1, -1), strict=True)
    )
    return above, below


def _bulk(pair: DominatingPair, step: float) -> float:
    """Return the loss of the cell around 0 if its P-mass and its Q-mass exceed 0.1, and 0 otherwise.

    The points of the lower distribution are aligned to it.
    """
    cells = pair.cells(np.array([-step / 2, step / 2]))
    return float(np.log(cells.p[1] / cells.q[1])) if min(cells.p[1], cells.q[1]) > 0.1 else 0.0


def _sum_by_jumps(
    law: LossLaw, count: int, split: int, step: float, most: int, epsilon: float, sign: int, small: float
) -> JumpSum:
    cut = split - law.first
    bulk = replace(law, masses=law.masses[:cut], infinite=0.0)
    jumps = LossLaw(split, law.masses[cut:], law.offset, 0.0)
    terms = []
    for k in range(most + 1):
        parts = [(bulk, count - k)] + ([(jumps, k)] if k else [])
        weight = float(math.comb(count, k)) * (1 + sign * 2 * _U)
        terms.append((weight, _term(parts, step, epsilon, sign, small)))
    total, jumping = (float(m.sum()) * (1 + 1e-12) for m in (law.masses, jumps.masses))
    grown = (most + 1) * math.log(jumping) + count * math.log(max(total, 1.0)) if jumping > 0 else -math.inf
    rest = float(math.comb(count, most + 1)) * math.exp(grown) * (1 + 1e-9)
    infinite = -math.expm1(count * math.log1p(-min(law.infinite, 1 - 1e-16))) * (1 + sign * 32 * _U)
    return JumpSum(sign, tuple(terms), rest if sign > 0 else 0.0, infinite)


def _term(
    parts: Sequence[tuple[LossLaw, int]], step: float, epsilon: float, sign: int, small: float
) -> LossSum:
    """Return the term of one number of jumps, with its own tilt and window."""
    aim = aim_at(_binned(parts, step), epsilon)
    tilt, low, high, slopes = best_tilt(aim, small)
    size = 1 << min(21, max(10, math.ceil(math.log2((high - low) / step + 8))))
    first = math.floor(low / step) - 1
    start = max(first, math.floor((epsilon - 300 / tilt) / step))
    return sum_of_losses(
        parts,
        step=step,
        tilt=tilt * step,
        window=Window(first, size),
        start=start,
        slopes=(slopes[0] * step, slopes[1] * step),
        sign=sign,
    )


_BINS = 500


def _binned(parts: Sequence[tuple[LossLaw, int]], step: float) -> Guide:
    """Return the distributions on fewer cells, which are finest near loss 0."""
    rows = [_bins(law, step) for law, _ in parts]
    longest = max(len(row[0]) for row in rows)
    stacked = [
        np.stack([np.pad(row[i], (0, longest - len(row[i])), constant_values=fill) for row in rows])
        for i, fill in ((0, 0.0), (1, -np.inf), (2, 0.0), (2, 0.0))
    ]
    ends = [step * np.array([side(law) for law, _ in parts]) for side in (_first, _last)]
    lows, highs = (np.broadcast_to(end[:, None], stacked[0].shape) for end in ends)
    return Guide(stacked[0], stacked[1], lows, highs, np.array([float(c) for _, c in parts]), 0.0)


def _first(law: LossLaw) -> int:
    return law.first


def _last(law: LossLaw) -> int:
    return law.first + len(law.masses) - 1


def _bins(law: LossLaw, step: float) -> tuple[Floats, Floats, Floats]:
    places = law.first + np.arange(len(law.masses))
    scale = _BINS / math.asinh(float(len(places)))
    keys = np.rint(np.arcsinh(places) * scale)
    starts = np.flatnonzero(np.append(True, np.diff(keys) > 0))
    masses = np.add.reduceat(law.masses, starts)
    means = np.add.reduceat(law.masses * places * step, starts)
    used = masses > 0
    losses = means[used] / masses[used]
    return losses, np.log(masses[used]), np.zeros_like(losses)


class Side(Protocol):
    """An upper or a lower bound on a privacy profile."""

    def delta(self, epsilon: float) -> float:
        """Return a bound on delta at ``epsilon`` >= 0."""
        ...


@dataclass(frozen=True)
class Composed:
    """Upper and lower bounds on the privacy profile of a composition, certified at every epsilon >= 0."""

    above: Side
    below: Side

    def upper(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``."""
        return self.above.delta(epsilon)

    def lower(self, epsilon: float) -> float:
        """Return a lower bound on delta at ``epsilon``."""
        return min(self.below.delta(epsilon), self.above.delta(epsilon))

    def epsilon(self, delta: float | Fraction) -> tuple[float, float]:
        """Return bounds on the smallest epsilon >= 0 whose delta is at most ``delta``.

        Raises:
            ValueError: unless 0 <= delta < 1.
        """
        if below_one(delta) == 0:
            return 0.0, math.inf
        return crossing(self.lower, self.upper, Fraction(delta))


@dataclass(frozen=True)
class _Better:
    """The tighter of two bounds from the same side."""

    sides: tuple[Side, Side]
    tighter: Callable[[float, float], float]

    def delta(self, epsilon: float) -> float:
        first, second = (side.delta(epsilon) for side in self.sides)
        return self.tighter(first, second)


def compose(parts: Parts, planned: Plan) -> Composed:
    """Return upper and lower bounds on the privacy profile of a composition, computed on the grid ``planned``.

    The bounds are valid for every grid.
    """
    counts = [count for _, count in parts]
    ranges, step = planned.ranges, planned.step
    rows = list(zip(parts, ranges, planned.origins, strict=True))
    above = [law_above(pair, step, *ends, origin) for (pair, _), ends, origin in rows]
    below = [law_below(pair, step, *ends, planned.tilt, origin) for (pair, _), ends, origin in rows]
    slopes = tuple(slope * step for slope in planned.slopes)
    sides = [
        sum_of_losses(
            list(zip(laws, counts, strict=True)),
            step=step,
            tilt=planned.tilt * step,
            window=planned.window,
            start=planned.start,
            slopes=(slopes[0], slopes[1]),
            sign=sign,
        )
        for laws, sign in ((above, 1), (below, -1))
    ]
    return Composed(*sides)


def profile(
    parts: Parts,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    accuracy: float = 1e-6,
    points: int = 2**20,
) -> Composed:
    """Return certified bounds on the privacy profile of a composition.

    The bounds are most accurate near ``epsilon``, or near the epsilon at which the profile equals ``delta``.

    >>> from dpproof.accountant.pairs.laplace import Laplace
    >>> composed = profile([(Laplace(10.0), 100)], delta=1e-6)
    >>> low, high = composed.epsilon(1e-6)
    >>> round(low, 6), high - low < 1e-6
    (4.692667, True)

    Args:
        parts: dominating pairs, each with the number of times it is composed, at least 1.
        epsilon, delta: give exactly one of them, with epsilon >= 0 or 0 <= delta < 1.
        accuracy: the desired relative distance of the two bounds on delta. It is not always reached.
        points: the largest number of grid points, a power of two. A point needs about 100 bytes of memory.

    Raises:
        GridTooLargeError: if ``points`` points are far too few.
        ValueError: for no parts, a count that is no positive whole number, or an epsilon or delta outside its
            range.

    Source: this project, docs/notes/loss_grid.md.
    """
    _check(parts, epsilon, delta, points)
    composed = compose(parts, plan(parts, epsilon=epsilon, delta=delta, accuracy=accuracy, points=points))
    return _with_jumps(composed, parts, epsilon, delta, points)


_WIDE = 3e-3


def _with_jumps(
    composed: Composed, parts: Parts, epsilon: float | None, delta: float | None, points: int
) -> Composed:
    """Return the better of the plain grid's answer and the answer by numbers of jumps.

    The second answer is computed only if the first one is wide.
    """
    at = epsilon or sum(composed.epsilon(delta or 0.0)) / 2
    (pair, count), *others = parts
    high, low = composed.upper(at), composed.lower(at)
    if others or not 0 < at < math.inf or high - low <= _WIDE * high or pair.cells(np.array([at])).p[1] <= 0:
        return composed
    found = sums_by_jumps(pair, count, epsilon=at, delta=delta or high, small=1e-3, points=points)
    return (
        composed
        if found is None
        else Composed(_Better((composed.above, found[0]), min), _Better((composed.below, found[1]), max))
    )


def _check(parts: Parts, epsilon: float | None, delta: float | None, points: int) -> None:
    if not parts:
        raise ValueError("parts must hold at least one pair")
    for _, count in parts:
        whole(count, "count", 1)
    if (epsilon is None) == (delta is None):
        raise ValueError("exactly one of epsilon and delta must be given")
    if epsilon is not None and not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon ({epsilon!r}) must be finite and at least 0")
    if delta is not None:
        below_one(delta)
    if points < 2**10 or points & (points - 1):
        raise ValueError(f"points ({points!r}) must be a power of two, at least 1024")


_BEYOND = 1e300
"""A loss beyond all finite losses on any grid."""


def delta_by_grid(parts: Sequence[tuple[DominatingPair, int]], epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta of a composition at ``epsilon``, by a grid of losses.

    Raises:
        GridTooLargeError: if no grid of the allowed size covers the losses.
    """
    if _reveals_all(parts):
        return 1.0, 1.0
    below, above = neighbours(epsilon)
    found = profile(parts, epsilon=below)
    return found.lower(above), min(found.upper(below), 1.0)


def epsilon_by_grid(parts: Sequence[tuple[DominatingPair, int]], delta: Fraction) -> tuple[float, float]:
    """Return certified bounds on the smallest epsilon >= 0 whose delta is at most ``delta``, by a grid of losses.

    Raises:
        GridTooLargeError: if no grid of the allowed size covers the losses.
    """
    if _reveals_all(parts):
        return math.inf, math.inf
    found = profile(parts, delta=min(float(delta), 1 - 2.0**-53))
    if found.lower(_BEYOND) > delta:  # more than delta of the mass has an infinite loss
        return math.inf, math.inf
    return found.epsilon(delta)


def _reveals_all(parts: Sequence[tuple[DominatingPair, int]]) -> bool:
    """Whether the loss of some pair is certainly infinite."""
    return infinite_mass(parts)[0] >= 1
