"""The dominating pair of geometric (discrete Laplace) noise on the integers."""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, in_decimals, precision, round_up
from dpproof.accountant.pairs.base import Cells, Floats
from dpproof.accountant.pairs.lattice import floored
from dpproof.accountant.pairs.outcomes import Spaced, Support

_BITS = 192
_U = 2.0**-53
_MOST_SHIFT, _MOST_LOSS, _WIDEST, _MOST_EXPONENT = 10**5, 10**12, 10**290, 745


@dataclass(frozen=True)
class Geometric:
    """The dominating pair of geometric noise on the integers and the same noise shifted by ``shift``.

    The probability of x is proportional to exp(-|x|/scale). The privacy loss of x is (|x - shift| -
    |x|)/scale. This loss is shift/scale for x <= 0, -shift/scale for x >= shift, and (shift - 2 x)/scale
    between. So for shift 1 the pair is that of randomised response. The pair dominates every smaller integer
    shift. Both directions have the same privacy loss.

    Source: Ghosh, Roughgarden and Sundararajan, arXiv:0811.2841, Definition 2.1 (the distribution); the
        probabilities are geometric sums; smaller shifts: docs/notes/pairs.md, section 4.

    >>> import numpy as np
    >>> Geometric(1).cells(np.array([0.0])).p  # exp(1) : 1
    array([0.268941, 0.731059])

    Raises:
        ValueError: unless 0 < scale <= 1e290, shift is an integer in [1, 100000] and shift/scale <= 1e12.
    """

    scale: Number
    shift: int = 1

    def __post_init__(self) -> None:
        if not 0 < exact(self.scale, "scale") <= _WIDEST:
            raise ValueError(f"scale ({in_decimals(self.scale)}) must be above 0 and at most 1e290")
        whole(self.shift, "shift", 1, _MOST_SHIFT)
        if self.shift > _MOST_LOSS * exact(self.scale):
            raise ValueError(
                f"scale ({in_decimals(self.scale)}) must be at least shift/1e12, where shift is {self.shift}"
            )

    @property
    def lattice(self) -> float:
        """The spacing of the privacy losses. All losses are ``origin`` plus multiples of this number."""
        return float(2 / exact(self.scale))

    @property
    def origin(self) -> float:
        """One of the privacy losses. The others differ from it by multiples of ``lattice``."""
        return float(self.shift % 2 / exact(self.scale))

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        Outcomes with the same loss form a group. The groups are numbered from 0 (x <= 0) to shift (x >=
        shift), and the loss falls by 2/scale from each group to the next. The loss is at least e if x is at
        most (shift - e scale)/2. The probabilities between two edges are geometric sums.
        """
        scale, top = float(exact(self.scale)), float(self.shift / exact(self.scale))
        last = np.floor((self.shift - np.clip(edges, -2 * top, 2 * top) * scale) / 2)
        ends = np.concatenate(([self.shift], np.clip(last, -1, self.shift), [-1]))
        low, high = ends[1:] + 1, ends[:-1]
        error, some = _U * (2 * min(top, _MOST_EXPONENT) + 40), low <= high
        p, p_error = floored(self._masses(low, high), error, some)
        q, q_error = floored(self._masses(self.shift - high, self.shift - low), error, some)
        return Cells(p, q, p_error, q_error, 16 * _U * top)

    def _masses(self, low: Floats, high: Floats) -> Floats:
        """Return the P-masses of the groups from ``low`` to ``high``; 0 if low > high.

        Every argument of an exponential has at most 2 roundings, and is at most ``shift/scale`` in size. If it is
        above ``_MOST_EXPONENT``, the exponential underflows.
        """
        unit, shift = float(1 / exact(self.scale)), self.shift
        first = np.clip(low, 1, shift)
        count = np.maximum(np.minimum(high, shift - 1) - first + 1, 0)
        inner = np.exp(-first * unit) * -np.expm1(-count * unit)
        lowest = np.where((low <= 0) & (high >= 0), 1.0, 0.0)
        highest = np.where((low <= shift) & (high >= shift), math.exp(-shift * unit), 0.0)
        return np.asarray((inner + lowest + highest) / (1 + math.exp(-unit)))

    @property
    def support(self) -> Support:
        """The number of different losses. They are equally spaced."""
        return Support(self.shift + 1, spaced=True)

    def outcomes(self) -> Spaced:
        """Return the groups of ``cells`` at the current precision, group 0 first."""
        unit = arb_of(1 / exact(self.scale))
        share, inner = 1 / (1 + (-unit).exp()), -(-unit).expm1()
        powers = [share * (-unit * k).exp() for k in range(self.shift + 1)]
        masses = [powers[0], *(power * inner for power in powers[1:-1]), powers[-1]]
        return Spaced(unit, self.shift, -2, masses)

    def reversed(self) -> Geometric:
        """Return the pair itself: reflecting the output exchanges P and Q."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The bounds are minus and plus shift/scale, rounded outward.
        """
        with precision(_BITS):
            end = round_up(arb_of(self.shift / exact(self.scale)))
        return -end, end

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return
