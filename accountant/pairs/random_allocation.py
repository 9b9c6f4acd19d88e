"""Pairs that enclose the pair of random allocation: a record takes part in one of several Gaussian steps.

The exact pair is P = the mean of N(e_i, s^2 I) over i = 1..t, against Q = N(0, s^2 I), where e_i is a unit vector.
dP/dQ is the mean of t independent likelihood ratios exp(G/s - 1/(2 s^2)) with G standard normal. Its law is rounded
outward and inward in the convex order (``ratio_means``).
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.pairs.base import Cells, Floats, within
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.ratio_means import sum_above, sum_below
from dpproof.accountant.pairs.subsampled import swapped

_U = 2.0**-53
LEAST_NOISE, MOST_STEPS = 0.05, 100_000
_POINTS = 4096
_DEVIATIONS = 14.0
"""The grid covers this many standard deviations under P and under Q. The mass beyond is below 1e-44."""


@dataclass(frozen=True)
class OutcomeTable:
    """The outcomes of a pair: privacy losses, and probabilities under P and Q within the relative ``error``."""

    losses: Floats
    p: Floats
    q: Floats
    zero: float
    """The probability under Q of the outcomes that are impossible under P."""
    infinite: tuple[float, float]
    error: float
    slack: float
    """A bound on the error of the privacy losses."""
    step: float
    """The distance between two points of the grid on which the losses are, or to which they are close."""

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        places = np.searchsorted(edges, self.losses, side="right")
        p, q = (
            np.asarray(np.bincount(places, x, len(edges) + 1), dtype=np.float64) for x in (self.p, self.q)
        )
        q[0] += self.zero
        error = self.error + (len(self.losses) + 4) * _U
        return Cells(p, q, error, error, self.slack, self.infinite)

    @property
    def range(self) -> tuple[float, float]:
        """Lower and upper bounds on the finite privacy losses."""
        return float(self.losses.min()) - 2 * self.slack, float(self.losses.max()) + 2 * self.slack


@dataclass(frozen=True)
class RandomAllocation:
    """A pair that encloses the mean over i of N(e_i, s^2 I) against N(0, s^2 I), for one of ``steps`` coordinates i.

    s is the ``noise_multiplier``. If ``above`` is true, the delta of this pair, and of its compositions, is at least
    that of the exact pair at every epsilon; otherwise it is at most that. If ``removes`` is false, P and Q are
    exchanged.

    >>> low, high = (RandomAllocation(2, 1.0, above) for above in (False, True))
    >>> [float(pair.cells(np.array([1.0])).p[1].round(4)) for pair in (low, high)]
    [0.1814, 0.1814]

    Raises:
        ValueError: unless 1 <= steps <= 100000 and 0.05 <= noise_multiplier <= 1e12 (a double).

    Source: this project's statement classic.participation; docs/notes/sampling_schemes.md, sections 2 and 3.
    """

    steps: int
    noise_multiplier: float
    above: bool
    removes: bool = True

    def __post_init__(self) -> None:
        whole(self.steps, "steps", 1, MOST_STEPS)
        noise = within(self.noise_multiplier, "noise_multiplier", LEAST_NOISE, 1e12)
        object.__setattr__(self, "noise_multiplier", noise)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        if not self.removes:
            return swapped(self.reversed().cells(-edges[::-1]))
        return self._table.cells(edges)

    def reversed(self) -> RandomAllocation:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return RandomAllocation(self.steps, self.noise_multiplier, self.above, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses."""
        low, high = self._table.range
        return (low, high) if self.removes else (-high, -low)

    def characteristic(self) -> None:
        """Return None: no characteristic function is computed, so composition uses a grid of losses."""
        return

    @property
    def lattice(self) -> float:
        """The distance between two points of the grid of the privacy losses."""
        return self._table.step

    @property
    def origin(self) -> float:
        """A privacy loss that is a point of the grid."""
        return -math.log(self.steps) if self.removes else math.log(self.steps)

    @property
    def _table(self) -> OutcomeTable:
        return (_above if self.above else _below)(self.steps, self.noise_multiplier)


def _ends(noise: float) -> tuple[float, float]:
    """Return the privacy losses between which a single ratio lies, but for rare outcomes."""
    half = 1 / (2 * noise * noise)
    return -_DEVIATIONS / noise - half, _DEVIATIONS / noise + half


@lru_cache(maxsize=64)
def _above(steps: int, noise: float) -> OutcomeTable:
    found = sum_above(SubsampledGaussian(1.0, noise), steps, _ends(noise), _POINTS)
    some = found.masses > 0
    logs = ((found.first + np.arange(len(found.masses))) * found.step)[some]
    losses = np.asarray(logs - math.log(steps), dtype=np.float64)
    q = found.masses[some]
    rounding = 8 * _U * (float(np.abs(logs).max()) + math.log(steps) + 1)
    p = q * np.exp(losses)
    infinite = found.infinite / steps
    error = found.error + 2 * (found.slack + rounding)
    ends = infinite * (1 - 1e-3), infinite * (1 + 4 * _U)
    return OutcomeTable(
        losses, p, q, found.zero * (1 + error), ends, error, found.slack + rounding, found.step
    )


@lru_cache(maxsize=64)
def _below(steps: int, noise: float) -> OutcomeTable:
    found = sum_below(SubsampledGaussian(1.0, noise), steps, _ends(noise), _POINTS)
    some = found.masses > 0
    p, q = found.means[some] / steps, found.masses[some]
    losses = np.log(p) - np.log(q)
    size = float(np.abs(np.log(p)).max() + np.abs(np.log(q)).max())
    error = found.error + 4 * _U
    return OutcomeTable(losses, p, q, 0.0, (0.0, 0.0), error, 2.1 * error + 8 * _U * size, found.step)
