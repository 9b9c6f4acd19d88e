"""Rare large losses: one pair's composition, sorted by how many losses are jumps.

Where a few jumps decide, no tilt keeps the transform's noise below delta. With a law split into bulk and
jumps, law^(*T) = sum_k C(T,k) bulk^(*(T-k)) jumps^(*k); each term has a tilt of its own, and noise in
proportion to the jumps' small mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.pairs.base import DominatingPair, Floats
from dpproof.accountant.privacy_loss.coarse import Guide
from dpproof.accountant.privacy_loss.crossing import LEAST_DELTA
from dpproof.accountant.privacy_loss.grid import LossLaw, law_above, law_below
from dpproof.accountant.privacy_loss.loss_sums import LossSum, Window, sum_of_losses
from dpproof.accountant.privacy_loss.planning import aim_at, best_tilt

__all__ = ["JumpSum", "sums_by_jumps"]

_U = 2.0**-53
_MOST_JUMPS = 8


@dataclass(frozen=True)
class JumpSum:
    """A composed law as a weighted sum of others, and its privacy profile from one side."""

    sign: int
    terms: tuple[tuple[float, LossSum], ...]
    rest: float
    """Above the mass of what has more jumps, for an upper bound; 0 for a lower one."""
    infinite: float

    def delta(self, epsilon: float) -> float:
        """The bound on delta at ``epsilon`` >= 0."""
        values = [weight * term.delta(epsilon) for weight, term in self.terms]
        total = math.fsum([*values, self.rest, self.infinite]) * (1 + self.sign * 16 * _U)
        if self.sign > 0:
            return min(1.0, max(total, LEAST_DELTA))
        return min(1.0, total) if total >= LEAST_DELTA else 0.0


def sums_by_jumps(
    pair: DominatingPair, count: int, *, epsilon: float, delta: float, small: float, points: int
) -> tuple[JumpSum, JumpSum] | None:
    """The composition from above and below, most accurate near ``epsilon``, where delta is near ``delta``.

    None where jumps above a quarter of epsilon are too frequent for this.

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
    """The loss of the cell around 0, where most of the mass is: the lower law's points are put there."""
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
    rest = float(math.comb(count, most + 1)) * jumping ** (most + 1) * max(total, 1.0) ** count * (1 + 1e-9)
    infinite = -math.expm1(count * math.log1p(-min(law.infinite, 1 - 1e-16))) * (1 + sign * 32 * _U)
    return JumpSum(sign, tuple(terms), rest if sign > 0 else 0.0, infinite)


def _term(
    parts: Sequence[tuple[LossLaw, int]], step: float, epsilon: float, sign: int, small: float
) -> LossSum:
    """One number of jumps, at its own tilt and in its own window."""
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
    """The laws on fewer cells, finest near loss 0."""
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
