"""Compositions of discrete Gaussian noise: upper bounds on delta, computed with whole numbers.

A noisy answer is a whole number plus noise with mass proportional to exp(-x^2/(2 v)) at x. Two inputs shift it by one,
and the privacy loss of the noise x is (1 - 2 x)/(2 v). A law of losses lives on a grid. Every rounding makes delta
larger. docs/notes/carried_numbers.md has the proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import floor, isqrt

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.arithmetic import Rejected

MAX_POINTS = 200_000
MAX_NOISE, MAX_SUMS = 10**7, 6 * 10**10
"""Limits on the work for the noise (values times bits) and for the sums (bytes to the power of 3/2)."""
_SPARE = 64
"""The number of bits by which enclosures are finer than masses."""


@dataclass(frozen=True)
class Grid:
    """A grid of losses: its step, the bits of a mass, and how much mass a sum may move at each end (2^-tail)."""

    step: Fraction
    bits: int
    tail: int

    @property
    def precision(self) -> int:
        """The bits of the enclosures of exponentials."""
        return self.bits + _SPARE

    def units(self, mass: Fraction) -> int:
        """Return a mass in units of 2^-bits, rounded up."""
        return -(-(mass.numerator << self.bits) // mass.denominator)

    def product(self, value: int) -> int:
        """Return a product of two masses in units of 2^-bits, rounded up."""
        return -(-value >> self.bits)

    @property
    def tiny(self) -> int:
        """The mass that a sum may move at each end, in units of 2^-bits."""
        return 1 << (self.bits - self.tail)


@dataclass(frozen=True)
class Law:
    """Masses at the losses (first + i) step, and the mass of an infinite loss, in units of 2^-bits."""

    first: int
    masses: Sequence[int]
    infinite: int

    @property
    def total(self) -> int:
        """The sum of all masses."""
        return sum(self.masses) + self.infinite


def composed(answers: Sequence[tuple[Fraction, int]], grid: Grid) -> Law:
    """Return a law for the sum of the losses of all answers. An item is the parameter v and a number of answers.

    Reject a plan that needs too much work: the noise reaches at most isqrt(2 v bits) + 2.
    """
    if sum(isqrt(floor(2 * v * grid.bits)) + 2 for v, _ in answers) * grid.precision > MAX_NOISE:
        raise Rejected("the noise has too many values for this certificate's plan: use fewer bits")
    work = _Work(MAX_SUMS)
    laws = [_power(noise(v, grid), count, grid, work) for v, count in answers]
    return reduce(lambda a, b: _sum(a, b, grid, work), sorted(laws, key=lambda law: len(law.masses)))


@dataclass
class _Work:
    """The work that is left for the sums of one certificate."""

    left: int

    def spend(self, size: int) -> None:
        """Count one product of ``size`` bytes. Reject it if too little work is left."""
        self.left -= size * isqrt(size)
        if self.left < 0:
            raise Rejected("the sums need too much work: use a larger step or fewer bits")


def certainly(law: Law, grid: Grid, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the sum of mass (1 - exp(epsilon - loss)) over all losses above epsilon is certainly <= delta."""
    found = law.infinite << _SPARE
    for k in range(max(floor(epsilon / grid.step) + 1, law.first), law.first + len(law.masses)):
        share = 1 - _exp(epsilon - k * grid.step, _SPARE)[0]
        found += law.masses[k - law.first] * -(-(share.numerator << _SPARE) // share.denominator)
    return found * delta.denominator <= delta.numerator << (grid.bits + _SPARE)


def noise(v: Fraction, grid: Grid) -> Law:
    """Return a law for the loss of one answer.

    The mass of x is exp(-x^2/(2 v)) over a lower bound of the sum of all. The noise beyond the last listed x has at
    most twice the exponential of the next one. Its loss counts as infinite.
    """
    rate = 1 / (2 * v)
    weights = _weights(rate, grid)
    total = weights[0][0] + 2 * sum(low for low, _ in weights[1:-1])
    masses: dict[int, int] = {}
    for x in range(2 - len(weights), len(weights) - 1):
        loss, mass = (1 - 2 * x) * rate, weights[abs(x)][1] / total
        k = floor(loss / grid.step)
        for place, share in enumerate(_shares(loss - k * grid.step, grid), k):
            masses[place] = masses.get(place, 0) + grid.units(mass * share)
    first, last = min(masses), max(masses)
    if last - first >= MAX_POINTS:
        raise Rejected("the grid has too many points")
    law = Law(first, [masses.get(k, 0) for k in range(first, last + 1)], grid.units(2 * weights[-1][1]))
    return _trimmed(law, grid)


def _exp(x: Fraction, prec: int) -> tuple[Fraction, Fraction]:
    """Return bounds on exp(x)."""
    low, high, _ = ia.exp(ia.point(x), prec)
    return low[1], high[1]


def _weights(rate: Fraction, grid: Grid) -> list[tuple[Fraction, Fraction]]:
    """Return bounds on exp(-rate x^2) for x = 0, 1, ..., until one is below 2^-bits."""
    found = [_exp(Fraction(0), grid.precision)]
    while found[-1][1] * (1 << grid.bits) >= 1:
        if len(found) >= MAX_POINTS:
            raise Rejected("the noise has too many values")
        found.append(_exp(-rate * len(found) ** 2, grid.precision))
    return found


def _shares(rest: Fraction, grid: Grid) -> tuple[Fraction, Fraction]:
    """Return upper bounds on the shares of a loss that go to the grid points below and above it.

    ``rest`` is the distance from the point below. The shares keep the mass and the mean of exp(-loss).
    """
    near, far = _exp(-rest, grid.precision), _exp(-grid.step, grid.precision)
    least = 1 - far[1]
    if least <= 0:
        raise Rejected("the step is too small for this precision")
    return (near[1] - far[0]) / least, (1 - near[0]) / least


def _trimmed(law: Law, grid: Grid) -> Law:
    """Return the law without unlikely losses: small ones move up to the first kept one, large ones become infinite."""
    masses, low, below, above = list(law.masses), 0, 0, 0
    while len(masses) > 1 and above + masses[-1] <= grid.tiny:
        above += masses.pop()
    while low < len(masses) - 1 and below + masses[low] <= grid.tiny:
        below, low = below + masses[low], low + 1
    masses[low] += below
    return Law(law.first + low, masses[low:], law.infinite + above)


def _sum(a: Law, b: Law, grid: Grid, work: _Work) -> Law:
    """Return a law for the sum of two independent losses.

    All products of masses come from one product of whole numbers, in which each mass has ``size`` bytes.
    """
    count = len(a.masses) + len(b.masses) - 1
    if count > MAX_POINTS:
        raise Rejected("the grid has too many points")
    size = (sum(a.masses).bit_length() + sum(b.masses).bit_length()) // 8 + 1
    work.spend(count * size)
    product = (_packed(a.masses, size) * _packed(b.masses, size)).to_bytes((count + 1) * size, "little")
    sums = (int.from_bytes(product[i * size : (i + 1) * size], "little") for i in range(count))
    infinite = a.infinite * b.total + (a.total - a.infinite) * b.infinite
    return _trimmed(Law(a.first + b.first, [grid.product(x) for x in sums], grid.product(infinite)), grid)


def _packed(masses: Sequence[int], size: int) -> int:
    return int.from_bytes(b"".join(mass.to_bytes(size, "little") for mass in masses), "little")


def _power(law: Law, count: int, grid: Grid, work: _Work) -> Law:
    """Return a law for the sum of ``count`` independent losses, by repeated squaring."""
    found = law
    for bit in f"{count:b}"[1:]:
        found = _sum(found, found, grid, work)
        found = _sum(found, law, grid, work) if bit == "1" else found
    return found
