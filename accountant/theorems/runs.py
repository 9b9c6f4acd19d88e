"""The distribution of the number of runs of a private selection, and its generating function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import cached_property
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision

_BITS = 192
_SMALLEST_STOP = 1e-300


@dataclass(frozen=True)
class Runs:
    """The distribution of the number K of runs.

    With a ``shape`` eta above -1, K has the truncated negative binomial distribution: K is at least 1, and the
    probability of k is proportional to (1 - gamma)^k Gamma(k + eta)/k!. The number gamma follows from the ``mean``.
    The shape 1 is the geometric distribution, and the shape 0 the logarithmic one. Without a shape, K has the
    Poisson distribution. Then K may be 0, and nothing is released.

    >>> float(Runs(10, 1).stop), float(Runs(10, "0.5").stop), float(Runs(1).none)
    (0.1, 0.0625, 0.367879...)

    Raises:
        ValueError: for a mean outside (0, 1e9], or below 1 with a shape; for a shape outside (-1, 1000].
    """

    mean: Number
    shape: Number | None = None

    def __post_init__(self) -> None:
        if not 0 < exact(self.mean, "mean") <= 10**9:
            raise ValueError(f"mean ({self.mean!r}) must be above 0 and at most 1e9")
        if self.shape is None:
            return
        if exact(self.mean) < 1:
            raise ValueError(f"mean ({self.mean!r}) must be at least 1, because there is always one run")
        if not -1 < exact(self.shape, "shape") <= 1000:
            raise ValueError(f"shape ({self.shape!r}) must be above -1 and at most 1000")

    @cached_property
    def stop(self) -> flint.arb:
        """An interval around gamma, the parameter of the truncated negative binomial distribution; 1 for Poisson."""
        with precision(_BITS):
            return flint.arb(1) if self.shape is None else _stop(exact(self.mean), exact(self.shape))

    @property
    def none(self) -> flint.arb:
        """An interval around the probability that there is no run."""
        return (-self._mean).exp() if self.shape is None else flint.arb(0)

    def weight(self, missing: flint.arb) -> flint.arb:
        """Return f'(1 - missing), the weight of an output that a run exceeds with probability ``missing``."""
        return self._mean / self.ratio(flint.arb(0), missing)

    def ratio(self, missing: flint.arb, other: flint.arb) -> flint.arb:
        """Return the quotient of two weights, f'(1 - missing)/f'(1 - other)."""
        if self.shape is None:
            return (self._mean * (other - missing)).exp()
        return (self._still(other) / self._still(missing)) ** (1 + arb_of(exact(self.shape)))

    def none_above(self, missing: flint.arb) -> flint.arb:
        """Return f(1 - missing), the probability that no run exceeds the output of this rank."""
        if self.shape is None:
            return (-self._mean * missing).exp()
        if exact(self.mean) == 1:
            return 1 - missing
        shape, logs = exact(self.shape), (self._still(missing).log(), self.stop.log())
        if shape == 0:
            return logs[0] / logs[1]
        left, right = ((-arb_of(shape) * log).expm1() for log in logs)
        return left / right

    def _still(self, missing: flint.arb) -> flint.arb:
        return self.stop + (1 - self.stop) * missing

    @property
    def _mean(self) -> flint.arb:
        return arb_of(exact(self.mean))


def _stop(mean: Fraction, shape: Fraction) -> flint.arb:
    """Return an interval around the gamma that gives the mean. The mean falls as gamma grows."""
    if mean == 1:
        return flint.arb(1)
    if shape == 1:
        return 1 / arb_of(mean)
    low, high, goal = _SMALLEST_STOP, 1.0, arb_of(mean)
    if not _mean_at(low, shape) > goal:
        raise ValueError(f"mean ({float(mean)!r}) is too large for shape ({float(shape)!r})")
    while (middle := math.sqrt(low * high) if high > 2 * low else (low + high) / 2) not in (low, high):
        if not _mean_at(middle, shape) > goal:
            high = middle
        else:
            low = middle
    high = math.nextafter(high, 1.0)
    if not (high == 1 or _mean_at(high, shape) < goal):
        raise ArithmeticError(f"No gamma could be certified for the mean {float(mean)!r}.")
    return flint.arb(low).union(flint.arb(high))


def _mean_at(stop: float, shape: Fraction) -> flint.arb:
    """Return the mean number of runs, eta (1 - gamma)/(gamma (1 - gamma^eta)), or its limit at the shape 0."""
    gamma, eta = flint.arb(stop), arb_of(shape)
    spent = -gamma.log() if shape == 0 else -(eta * gamma.log()).expm1() / eta
    return (1 - gamma) / (gamma * spent)
