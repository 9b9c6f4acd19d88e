"""Discrete Gaussian noise on the integers: its normalising sum and its dominating pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Floats
from dpproof.accountant.pairs.lattice import between, charged, floored
from dpproof.accountant.pairs.outcomes import Spaced, Support

_ULP = 2.0**-52
_REACH = 38
"""The number of deviations within which outcomes are enumerated. The rest weighs below exp(-38^2/2) < 1e-313."""
_ENUMERATED = 2**14
"""The largest deviation whose outcomes (1.2 million) are enumerated. Integrals are used beyond it."""
_LARGEST = 1e24
_TAIL = 850
"""The listed outcomes leave out a probability below 2 exp(-850), which is about 1e-369."""


def normaliser(variance: Fraction) -> flint.arb:
    """Return an interval around the sum of exp(-k^2/(2 variance)) over all integers k, at the current precision.

    For a variance below 1 the function adds term by term. From 1 on, it uses Poisson's summation formula. The
    omitted part lies between 0 and twice the first omitted term.

    Source: Canonne, Kamath and Steinke, arXiv:2004.00010, Fact 18 (Poisson summation).

    >>> with precision(80): float(normaliser(Fraction(1)))
    2.50663
    """
    small, two = variance < 1, flint.arb(2)
    scale = flint.arb(1) if small else (two * flint.arb.pi() * arb_of(variance)).sqrt()
    rate = 1 / (two * arb_of(variance)) if small else two * flint.arb.pi() ** 2 * arb_of(variance)
    total, j, term = flint.arb(1), 0, flint.arb(1)
    while term > two ** -(flint.ctx.prec + 2):
        j += 1
        term = (-rate * j * j).exp()
        total += 2 * term
    return scale * (total + (2 * term).union(flint.arb(0)))


@dataclass(frozen=True)
class DiscreteGaussian:
    """The dominating pair of discrete Gaussian noise on the integers, for an integer sensitivity ``shift``.

    The distributions are N_Z(0, variance) and N_Z(shift, variance), with probabilities proportional to
    exp(-(x - mean)^2/(2 variance)). The privacy loss of the outcome x is (shift^2 - 2 shift x)/(2 variance).
    The pair dominates every smaller integer shift. Both directions have the same privacy loss.

    Source: Canonne, Kamath and Steinke, arXiv:2004.00010, Definition 1 and Theorem 7; the domination of
    smaller shifts: docs/notes/pairs.md, section 4.

    >>> import numpy as np
    >>> DiscreteGaussian(1).cells(np.array([0.0])).p  # x at least 1; x at most 0
    array([0.300529, 0.699471])

    Raises:
        ValueError: unless 0 < variance <= 1e24, shift is an integer from 1 on, and
            shift^2/variance is at most 1e8.
    """

    variance: Number
    shift: int = 1

    def __post_init__(self) -> None:
        variance = exact(self.variance, "variance")
        if not 0 < variance <= _LARGEST:
            raise ValueError(f"variance ({self.variance!r}) must be above 0 and at most {_LARGEST:g}")
        whole(self.shift, "shift", 1)
        if self.shift**2 > 10**8 * variance:
            raise ValueError(
                f"variance ({self.variance!r}) must be at least shift^2/10^8, where shift is {self.shift}"
            )

    @property
    def lattice(self) -> float:
        """The spacing of the privacy losses. All losses are ``origin`` plus multiples of this number."""
        return float(self.shift / exact(self.variance))

    @property
    def origin(self) -> float:
        """The loss of the largest integer up to shift/2. Losses differ by multiples of ``lattice``."""
        return float(self.shift * (self.shift % 2) / (2 * exact(self.variance)))

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``.

        The function adds the probabilities of single outcomes. For a large variance, it uses integrals with a
        proved error instead.
        """
        variance = float(exact(self.variance))
        # loss at least e means x at most shift/2 - variance e/shift
        reach = _REACH * math.sqrt(variance) + self.shift + 1
        bounds = np.floor(np.clip(self.shift / 2 - variance * (edges / self.shift), -reach, reach))[::-1]
        size = float(np.abs(edges).max(initial=0.0))
        slack = 8 * _ULP * (size + self.shift**2 / (2 * variance))
        masses = _enumerated if variance <= _ENUMERATED**2 else _integrated
        p, p_error = masses(exact(self.variance), bounds, 0)
        q, q_error = masses(exact(self.variance), bounds, self.shift)
        return Cells(p[::-1], q[::-1], p_error[::-1], q_error[::-1], slack)

    @property
    def support(self) -> Support:
        """The number of listed outcomes. Their losses are equally spaced."""
        return Support(2 * self._reach() + 1, spaced=True)

    def outcomes(self) -> Spaced:
        """Return the likely outcomes at the current precision, the largest loss first.

        All other outcomes together have at most the probability 2 exp(-m^2/(2 variance)), where m is the first
        integer left out, because (m + j)^2 is at least m^2 + j^2 for j >= 0.
        """
        variance, reach = exact(self.variance), self._reach()
        rate, total = arb_of(1 / (2 * variance)), normaliser(variance)
        side = [(-rate * x * x).exp() / total for x in range(reach + 1)]
        left = 2 * (-rate * (reach + 1) ** 2).exp()
        unit = arb_of(self.shift / (2 * variance))
        return Spaced(
            unit,
            self.shift + 2 * reach,
            -2,
            [*side[:0:-1], *side],
            left.union(flint.arb(0)).max(flint.arb(0)),
        )

    def _reach(self) -> int:
        """Return the largest listed integer. The next one has exp(-m^2/(2 variance)) at most exp(-_TAIL)."""
        return math.isqrt(math.ceil(2 * _TAIL * exact(self.variance)))

    def reversed(self) -> DiscreteGaussian:
        """Return the pair itself: reflecting the output exchanges P and Q."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        The losses are unbounded on both sides.
        """
        return -math.inf, math.inf

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return


def _enumerated(variance: Fraction, bounds: Floats, centre: int) -> tuple[Floats, Floats]:
    """Return the masses of the integers up to the first bound, between the bounds, and above the last."""
    reach = math.ceil(_REACH * math.sqrt(variance)) + 1
    outcomes = np.arange(centre - reach, centre + reach + 1, dtype=np.float64)
    with precision(128):
        total = float(normaliser(variance))
    exponents = (outcomes - centre) ** 2 / (2 * float(variance))
    errors = _ULP * (2 * exponents + 6)
    inner = np.clip(bounds - outcomes[0] + 1, 0, len(outcomes)).astype(np.int64)
    starts: NDArray[np.int64] = np.concatenate(([0], inner, [len(outcomes)]))
    return between(np.exp(-exponents) / total, errors, starts)


def _integrated(variance: Fraction, bounds: Floats, centre: int) -> tuple[Floats, Floats]:
    """Return the same masses as integrals between half-integers.

    The midpoint rule is off by (1 + z^2)/(24 variance) at z. Each end is rounded, and the resulting error is
    added to both adjacent cells (docs/notes/pairs.md, section 4).
    """
    deviation = math.sqrt(variance)
    z = (bounds + 0.5 - centre) / deviation
    masses, errors = interval_masses(z)
    moved = 3 * _ULP * (np.abs(z) + 2 * centre / deviation) * np.exp(-z * z / 2)
    squares = np.minimum(np.abs(z), _REACH + 1.0) ** 2
    ends = np.concatenate((squares[:1] + 9 + 2 * _REACH, squares, squares[-1:] + 9 + 2 * _REACH))
    rule = 1.05 * (1 + np.maximum(ends[:-1], ends[1:])) / (24 * float(variance))
    charge = np.concatenate((moved, [0.0])) + np.concatenate(([0.0], moved))
    return floored(*charged(masses, errors + rule + 4 * _ULP, charge), np.ones(masses.shape, dtype=bool))
