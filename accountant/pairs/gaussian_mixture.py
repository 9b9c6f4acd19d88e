"""The dominating pair of a sum with Gaussian noise in which one user has several sampled records.

The user has k records of norm at most 1, each sampled with probability q, and s is the standard deviation of
the noise. Take the mixture of N(j, s^2) with the binomial weights Bin(k, q)(j), against N(0, s^2). This pair
dominates the removal of the user, and its reverse dominates the addition, whatever the records' directions
are (docs/notes/group_privacy.md, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import lru_cache, np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, double, sampling_rate, within
from dpproof.accountant.pairs.lattice import mixed
from dpproof.accountant.pairs.subsampled import swapped

_U = 2.0**-53
_NEWTON = 60


@dataclass(frozen=True)
class BinomialGaussianMixture:
    """The dominating pair of a sum with Gaussian noise in which one user has several records.

    Each of the records is sampled separately, with probability ``rate``.

    The mixture is the sum over j of Bin(records, rate)(j) N(j, s^2), where s is the ``noise_multiplier``. If
    ``removes`` is true, a user is removed: P is the mixture, and Q is N(0, s^2). Otherwise a user is added,
    and P and Q are exchanged.

    >>> pair = BinomialGaussianMixture(0.5, 1.0, 2)
    >>> cells = pair.cells(np.array([0.0]))
    >>> round(float(cells.p[1] - cells.q[1]), 6)
    0.353284

    Raises:
        ValueError: unless 1e-300 <= rate < 1, 1e-4 <= noise_multiplier <= 1e12 (both doubles) and
            1 <= records <= 256.

    Source: this project's statement classic.group_sampled_gaussian; docs/notes/group_privacy.md, sections 3
    and 4.
    """

    rate: float
    noise_multiplier: float
    records: int
    removes: bool = True

    def __post_init__(self) -> None:
        if sampling_rate(self.rate) == 1:
            raise ValueError(f"rate ({self.rate!r}) must be above 0 and below 1")
        noise = within(self.noise_multiplier, "noise_multiplier", 1e-4, 1e12)
        object.__setattr__(self, "rate", double(self.rate, "rate"))
        object.__setattr__(self, "noise_multiplier", noise)
        whole(self.records, "records", 1, 256)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        if not self.removes:
            mirrored = BinomialGaussianMixture(self.rate, self.noise_multiplier, self.records)
            return swapped(mirrored.cells(-edges[::-1]))
        outputs = np.maximum.accumulate(self._outputs(edges))
        weights, _ = _weights(self.rate, self.records)
        q, q_error = interval_masses(outputs)
        places = [j / self.noise_multiplier for j in range(1, self.records + 1)]
        moved = [interval_masses(outputs, (place, 1.01 * _U * place)) for place in places]
        p, p_error = mixed(
            [(weights[0], q, q_error), *((w, *x) for w, x in zip(weights[1:], moved, strict=True))]
        )
        return Cells(p, q, p_error, q_error, self._slack(outputs, edges))

    def _outputs(self, edges: Floats) -> Floats:
        """Return the outputs, in deviations, whose losses are close to ``edges``; -inf for edges below every loss.

        It uses Newton's method for log(exp(l - log w_0) - 1) = log sum over j >= 1 of (w_j/w_0) exp(e_j),
        which is convex with a slope between 1/s and k/s. No certified result depends on how close the outputs
        come.
        """
        _, logs = _weights(self.rate, self.records)
        above = edges - logs[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            goal = np.where(above < 30, np.log(np.expm1(np.minimum(above, 30.0))), above)
        solvable = np.isfinite(goal)
        y, s, j = goal[solvable], self.noise_multiplier, np.arange(1, self.records + 1)
        x = s * (y - logs[-1] + logs[0]) / self.records + self.records / (2 * s)
        x = np.maximum(x, s * (y - logs[1] + logs[0]) + 1 / (2 * s)) if self.records == 1 else x
        for _ in range(_NEWTON):
            t = (logs[1:] - logs[0] - j * j / (2 * s * s))[:, None] + (j / s)[:, None] * x
            top = t.max(axis=0)
            parts = np.exp(t - top)
            total = parts.sum(axis=0)
            step = (top + np.log(total) - y) * total / ((j / s)[:, None] * parts).sum(axis=0)
            x = x - step
            if not (np.abs(step) > 1e-15 * (np.abs(x) + 1e-3)).any():
                break
        found = np.full_like(edges, -np.inf)
        found[solvable] = x
        found[edges == np.inf] = np.inf
        return found

    def _slack(self, outputs: Floats, edges: Floats) -> float:
        """Return a bound on how far the losses at ``outputs`` are from ``edges``."""
        inside = np.isfinite(outputs) & np.isfinite(edges)
        below = -8 * _U * float(_weights(self.rate, self.records)[1][0])  # edges next to the least loss
        if not inside.any():
            return below
        loss, error = self._loss(outputs[inside])
        return below + float((np.abs(loss - edges[inside]) * (1 + 2 * _U) + error).max())

    def _loss(self, x: Floats) -> tuple[Floats, Floats]:
        """Return log of the sum of w_j exp(e_j), e_j = j x/s - j^2/(2 s^2), and a bound on its error."""
        weights, logs = _weights(self.rate, self.records)
        s, j = self.noise_multiplier, np.arange(self.records + 1)[:, None]
        shift, back = j * (x / s), j * j / (2 * s * s)
        exponents, wrong = shift - back, 6 * _U * (np.abs(shift) + back)
        few = (2 * self.records + 16) * _U
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.expm1(exponents) * weights[:, None]
            near = np.log1p(grown.sum(axis=0))
            moved = (weights[:, None] * np.exp(exponents) * wrong + few * np.abs(grown)).sum(axis=0)
            near_error = 1.1 * moved * np.exp(-near) + 8 * _U * np.abs(near)
        t = logs[:, None] + exponents
        top = t.max(axis=0)
        parts = np.exp(t - top)
        far = top + np.log(parts.sum(axis=0))
        each = wrong + 4 * _U * (np.abs(logs[:, None]) + np.abs(t) + np.abs(top))
        far_error = 1.1 * (parts * each).sum(axis=0) / parts.sum(axis=0) + few + 4 * _U * np.abs(far)
        small = np.abs(exponents).max(axis=0) <= 30
        return np.where(small, near, far), np.where(small, near_error, far_error)

    def reversed(self) -> BinomialGaussianMixture:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return BinomialGaussianMixture(self.rate, self.noise_multiplier, self.records, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        If a user is removed, all losses are above records log(1 - rate).
        """
        with precision(128):
            least = round_down((-arb_of(exact(self.rate))).log1p() * self.records)
        return (least, math.inf) if self.removes else (-math.inf, -least)

    def characteristic(self) -> Characteristic | None:
        """Return None: no characteristic function is computed, so composition uses a grid of losses."""
        return None


@lru_cache(maxsize=64)
def _weights(rate: float, records: int) -> tuple[Floats, Floats]:
    """Return the binomial weights and their logarithms, each within an ulp (or below 1e-300)."""
    with precision(256):
        q = arb_of(Fraction(rate))
        logs = [
            arb_of(Fraction(math.comb(records, j))).log() + j * q.log() + (records - j) * (-q).log1p()
            for j in range(records + 1)
        ]
        return np.array([float(x.exp()) for x in logs]), np.array([float(x) for x in logs])
