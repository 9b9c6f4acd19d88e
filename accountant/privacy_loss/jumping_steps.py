"""The outcomes of several steps with at least one jump, as a measure with a moment-generating function.

With m = b + j for one step (bulk and jumps), T steps have m^T - b^T. All values are accurate relative to themselves,
however rare jumps are. Derivation: docs/notes/rare_jumps.md, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.elementary import exp_of_complex
from dpproof.accountant.pairs.base import Floats, Tilted
from dpproof.accountant.pairs.phases import EPS
from dpproof.accountant.privacy_loss.jump_outlook import Jumping
from dpproof.accountant.privacy_loss.saddle import (
    Inapplicable,
    Line,
    log_expm1,
    log_of_one_plus,
    rough_line_at,
)


@dataclass(frozen=True)
class JumpingSteps:
    """The outcomes of several steps with at least one jump: m^T - b^T, with m = b + j."""

    bulk: Jumping
    jumps: Jumping
    times: int
    log_mass: float
    """An upper bound on the logarithm of their probability."""
    known: dict[float, tuple[Tilted, Tilted]] = field(default_factory=dict, repr=False, compare=False)
    """The tilted distributions of bulk and jumps, stored by line, because each line needs them several times."""

    def ratio(self, c: float) -> tuple[float, float]:
        """Return j(c)/b(c), and a bound on its relative error.

        Raises:
            Inapplicable: if a moment-generating function is not known at ``c``.
        """
        b, j = self._tilts(c)
        error = b.log_mgf_error + j.log_mgf_error + 4 * EPS * (abs(b.log_mgf) + abs(j.log_mgf) + 1)
        if error > 0.01:
            raise Inapplicable("the probability of jumps is not known accurately enough")
        return math.exp(min(j.log_mgf - b.log_mgf, 600.0)), 1.02 * error

    def _tilts(self, c: float) -> tuple[Tilted, Tilted]:
        if c not in self.known:
            try:
                self.known[c] = self.bulk.tilted(c), self.jumps.tilted(c)
            except OverflowError as refused:
                raise Inapplicable(str(refused)) from refused
        return self.known[c]

    def line(self, c: float) -> Line:
        """Return the logarithm of m(c)^T - b(c)^T and its error, and moments of the tilted loss."""
        (b, j), (ratio, error), n = self._tilts(c), self.ratio(c), self.times
        found = self._line(c, b, j)
        size = n * abs(b.log_mgf) + n * math.log1p(ratio) + abs(found.log_mgf - n * b.log_mgf)
        wrong = n * b.log_mgf_error + self._slope(c) * error + 8 * EPS * (size + 2)
        return replace(found, log_mgf_error=1.01 * wrong)

    def rough_line(self, c: float) -> Line:
        """Return an estimate of ``line``. Its error is not known and counts as infinite."""
        return self._line(c, *(rough_line_at([(part, 1)], c) for part in (self.bulk, self.jumps)))

    def _line(self, c: float, b: Tilted | Line, j: Tilted | Line) -> Line:
        """Return the line of all steps from the lines of bulk and jumps for one step. Its error counts as infinite.

        The number of jumps has a binomial law, given that it is not 0. The moments of the loss follow from its moments.
        """
        n, rise = self.times, max(j.log_mgf - b.log_mgf, -600.0)
        exponent = n * float(np.logaddexp(0.0, rise))
        share = math.exp(rise - exponent / n)
        number = n * share / -math.expm1(-exponent)
        spread = max(number * (1 - share) - number * number * math.exp(-exponent), 0.0)
        mean = n * b.mean + number * (j.mean - b.mean)
        variance = (n - number) * b.variance + number * j.variance + spread * (j.mean - b.mean) ** 2
        return Line(
            c,
            n * b.log_mgf + float(log_expm1(n, np.array(j.log_mgf - b.log_mgf))),
            math.inf,
            mean,
            variance,
            (),
        )

    def _slope(self, c: float) -> float:
        """Return a bound on the slope of log((1 + x)^T - 1) in log x, at x = j(c)/b(c), within the error of x."""
        return min(1 + 1.02 * self.times * self.ratio(c)[0], self.times)

    def log_beyond(self, c: float, times: Floats) -> Floats:
        """Return logs of bounds on |m^T - b^T| beyond each of ``times``, over its value at c.

        On the line it is at most T |j| m(c)^(T-1), and its value at c is T j(c) m(c)^(T-1) over the slope.
        """
        tilt = self._tilts(c)[1]
        if tilt.beyond is None:
            raise Inapplicable("the decay of the jumps is not known")
        return np.asarray(np.minimum(tilt.beyond(times), 0.0) + math.log(1.0001 * self._slope(c)))

    def values(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return the log of (m^T - b^T) at c + i n step over its value at c, and absolute errors of this quotient.

        With u = b(c + it)/b(c), v = j(c + it)/j(c) and r = j(c)/b(c), it is ((u + r v)^T - u^T)/((1 + r)^T - 1).

        Raises:
            Inapplicable: if r is below the smallest double, or a moment-generating function is not known.
        """
        n, (r, error) = self.times, self.ratio(c)
        if r == 0:
            raise Inapplicable("the ratio of jumps to all other outcomes is below the smallest double")
        (u, u_error), (v, v_error) = (_with_error(part, c, step, count) for part in (self.bulk, self.jumps))
        log_u = log_of_one_plus(u)
        exponent = n * log_of_one_plus(r * (1 + v) * exp_of_complex(-log_u))
        log_scale = float(log_expm1(n, np.array(math.log(r))))
        found = n * log_u + _log_of_expm1(exponent) - log_scale
        size = np.exp(np.minimum(found.real, 600.0))
        v_error = v_error + 2 * EPS
        largest_v = np.abs(1 + v) + v_error
        largest = log_u.real + np.log1p((u_error + 1.02 * r * largest_v) * np.exp(-log_u.real))
        lead = math.log(n * r) - log_scale
        wrong = _exp(lead + (n - 1) * largest) * (
            v_error + largest_v * (error + EPS * (120 + 2 * np.abs(log_u)))
        )
        if n > 1:
            wrong = wrong + _exp(lead + (n - 2) * largest) * (n - 1) * largest_v * u_error
        scale = n * log_u.real - log_scale
        rounding = 24 * EPS * np.abs(exponent) * _exp(np.maximum(exponent.real, 0) + scale)
        rounding = rounding + _exp(scale + math.log(2.02 * _LEAST))
        turned = EPS * (12 * n * np.abs(log_u) + 8 * np.abs(found) + 8 * abs(log_scale) + 8) * size
        return found, 1.02 * (wrong + rounding + turned)


def _exp(exponent: Floats) -> Floats:
    return np.asarray(np.exp(np.minimum(exponent, 600.0)))


def _with_error(part: Jumping, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
    try:
        found, error = part.minus_one(c, step, count)
    except OverflowError as refused:
        raise Inapplicable(str(refused)) from refused
    return found, 1.01 * (error + 80 * EPS * np.abs(found))


_LEAST = 1e-300
"""The smallest size whose logarithm is taken."""


def _log_of_expm1(exponent: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return a logarithm of exp(exponent) - 1.

    The latter errs by at most 24 EPS |exponent| exp(max(real part, 0)), and by 2 times ``_LEAST`` where it is smaller.
    """
    a, b = np.minimum(exponent.real, 40.0), exponent.imag
    grown = np.empty_like(exponent)
    grown.real = np.expm1(a) * np.cos(b) - 2 * np.sin(b / 2) ** 2
    grown.imag = np.exp(a) * np.sin(b)
    size = np.maximum(np.abs(grown), _LEAST)
    near = np.log(size) + 1j * np.angle(grown)
    return np.asarray(np.where(exponent.real > 40, exponent, near))
