"""The Poisson-subsampled Gaussian pair, (1-q) N(0, sigma^2) + q N(1, sigma^2) against N(0, sigma^2).

q is the sampling rate. With q = 1 it is the Gaussian pair. The moment-generating function of the privacy loss
is computed in double precision with proved errors. Let y be standard normal with density phi, w = y/sigma -
1/(2 sigma^2) and l(y) = log(1 - q + q e^w). If a record is removed, the loss is l under the density phi(y)
e^l. If a record is added, the loss is -l under phi. Both integrands are analytic in the strip |Im y| < pi
sigma, where the trapezoidal rule converges exponentially. Derivations: docs/notes/saddle_inversion.md,
sections 2 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, Tilted, double, sampling_rate, within
from dpproof.accountant.pairs.lattice import mixed
from dpproof.accountant.pairs.phases import EPS, layers, phases_minus_one
from dpproof.accountant.pairs.subsampled import ends_after_sampling, loss_before_sampling, swapped

_QUIET = 72.0
"""The steps are chosen so that the trapezoidal rule's relative error is at most about 2 exp(-72) = 1e-31."""
_REACH = 13.0
"""Beyond the points that are kept, the terms fall by at least this rate per unit of y (logarithmic)."""
_MOST_NODES = 400_000
_MOST_ENTRIES = 4_000_000
_NORMAL = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class SubsampledGaussianCharacteristic:
    """An object that computes the moment-generating function of the Poisson-subsampled Gaussian pair's loss.

    The pair is (1-q) N(0, sigma^2) + q N(1, sigma^2) against N(0, sigma^2), or the reverse. See
    ``Characteristic``.

    Args:
        rate: q in (0, 1].
        noise_multiplier: sigma above 0.
        removes: if true, the mixture is P, and a record is removed. If false, the mixture is Q, and a record
            is added.

    >>> SubsampledGaussianCharacteristic(1.0, 2.0, removes=True).tilted(3.0).log_mgf  # c (c + 1)/(2 sigma^2)
    1.5
    """

    rate: float
    noise_multiplier: float
    removes: bool

    def tilted(self, c: float) -> Tilted:
        """Return the distribution of the privacy loss tilted at ``c``; see ``Characteristic.tilted``."""
        return _Line(self, c, 0.0).tilted()

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return the characteristic function minus 1 at multiples of ``step``; see ``Characteristic.minus_one``."""
        return _Line(self, c, step * count).minus_one(step, count)


class _Line:
    """The trapezoidal rule for one real part c. It is accurate for frequencies up to a given one."""

    def __init__(self, pair: SubsampledGaussianCharacteristic, c: float, frequency: float) -> None:
        self.c, self.rate, self.sigma = c, pair.rate, pair.noise_multiplier
        self.power = 1 + c if pair.removes else -c
        """The power of e^l in the tilted density, beside phi."""
        self.step, self.alias = _rule(self.sigma, max(-self.power, 0.0), frequency)
        low, high = _ends(self.rate, self.sigma, self.power)
        if (low + high) / self.step > _MOST_NODES:
            raise OverflowError(
                f"the moment-generating function needs {(low + high) / self.step:.0f} nodes, "
                f"more than {_MOST_NODES}"
            )
        first, last = -math.ceil(low / self.step), math.ceil(high / self.step)
        self.y = self.step * np.arange(first, last + 1, dtype=np.float64)
        self.ratio, self.ratio_error = log_ratio(pair.rate, self.sigma, self.y)
        self.loss = self.ratio if pair.removes else -self.ratio
        square = self.y * self.y
        self.base = (self.ratio if pair.removes else 0.0) - square / 2
        self.base_error = EPS * (square + np.abs(self.base)) + (self.ratio_error if pair.removes else 0.0)
        self._weigh()

    def _weigh(self) -> None:
        """Compute the tilted weights, which add up to 1, their relative errors, and the total as a power of e."""
        exponent = self.exponent = self.base + self.c * self.loss
        self.peak = float(exponent.max())
        raw = np.exp(exponent - self.peak)
        error = self.base_error + self.c * (self.ratio_error + EPS * np.abs(self.loss))
        error += EPS * (np.abs(exponent) + np.abs(exponent - self.peak) + 5)
        self.total = float(raw.sum())
        self.weights = raw / self.total
        self.total_error = 1.01 * float((self.weights * error).sum()) + 80 * EPS
        self.relative = 1.01 * (error + self.total_error)
        self.cut = _cut(self.weights, self.step)

    def tilted(self) -> Tilted:
        """Return the tilted distribution; see ``Tilted``."""
        log_mgf, error = self._small() if self.peak < 30 else self._large()
        mean = float(self.weights @ self.loss)
        variance = float(self.weights @ (self.loss - mean) ** 2)
        return Tilted(log_mgf, error, mean, variance, self._layers)

    def minus_one(self, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return the characteristic function minus 1 at multiples of ``step``; see ``Characteristic.minus_one``.

        Each error bound is a sum of two parts. The first part, for rounding, grows with t = n step. The second
        part, for the trapezoidal rule, covers the rule's error at t and at 0.
        """
        if math.isqrt(count) * len(self.y) > _MOST_ENTRIES or count * len(self.y) > 64 * _MOST_ENTRIES:
            raise OverflowError(
                f"the characteristic function needs too many values: {count} frequencies x {len(self.y)} nodes"
            )
        values, rounding = phases_minus_one(
            self.weights, self.relative, self.loss, 1.01 * self.ratio_error, step, count
        )
        return values, rounding + 2.1 * (self.alias + self.cut)

    def _large(self) -> tuple[float, float]:
        """Return the logarithm of M(c) and its error, from the sum of the weights."""
        value = self.peak + math.log(self.step * _NORMAL * self.total)
        error = (
            self.total_error + 1.01 * (self.alias + self.cut) + 8 * EPS * (1 + abs(value) + abs(self.peak))
        )
        return value, error

    def _small(self) -> tuple[float, float]:
        """Return log M(c) and its error from M(c) - 1 = E expm1(c L), without cancellation for small c L."""
        moved, density, grown = self.c * self.loss, np.exp(self.base), np.exp(self.exponent)
        terms = np.where(moved > 1, grown - density, density * np.expm1(np.minimum(moved, 1.0)))
        error = (np.abs(terms) + np.where(moved > 1, grown, 0.0)) * (self.base_error + 12 * EPS)
        error += grown * (self.c * self.ratio_error + 3 * EPS * np.abs(moved))
        scale = self.step * _NORMAL
        value = scale * math.fsum(terms)
        left_out = _cut(density * scale, self.step) + _cut(grown * scale, self.step)
        wrong = 1.01 * (scale * math.fsum(error) + 4 * EPS * abs(value) + 2 * self.alias * (1 + abs(value)))
        wrong += left_out
        if wrong > (1 + value) / 4:
            return self._large()
        found = math.log1p(value)
        return found, 1.5 * wrong / (1 + value) + 5 * EPS * abs(found)

    def _layers(self) -> tuple[Floats, Floats]:
        """Return uniform distributions inside the tilted distribution of the loss.

        Its log-density per unit of l is F = -y^2/2 - w + (power + 1) l plus a constant. The second derivative
        of F in y is at most K = (power + 1)^+/(4 sigma^2) - 1. Between two nodes F is at least the smaller of
        its values there, less K^+ step^2/8.
        """
        w = self.y / self.sigma - 1 / (2 * self.sigma**2)
        log_weight = self.exponent - self.peak - math.log(self.total * self.step)
        log_density = log_weight + self.ratio - w + math.log(self.sigma / self.rate)
        between = max(max(self.power + 1, 0.0) / (4 * self.sigma**2) - 1, 0.0) * self.step**2 / 8
        lower = np.minimum(log_density[:-1], log_density[1:]) - between - 1e-6
        return layers(np.exp(np.minimum(lower, 600.0)), self.ratio, self.ratio_error)


def _ends(rate: float, sigma: float, power: float) -> tuple[float, float]:
    """Return how far down and up the rule goes. Beyond, its terms fall by ``_REACH`` per unit of y (logarithmic).

    Their logarithm is power l(y) - y^2/2. The derivative satisfies sigma l'(y) = s(y), where s is the sampled
    share of the density and grows in y from 0 to 1.
    """
    pull = abs(power) / sigma
    if power <= 0:
        return _REACH + pull * float(_sampled_share(rate, sigma, np.array([-_REACH]))[0]), _REACH
    points = _REACH + pull * np.geomspace(min(0.1 / pull, 0.5), 1.0, 500)
    falling = points[:-1] - _REACH >= pull * _sampled_share(rate, sigma, points[1:])
    rising = np.flatnonzero(~falling)
    return _REACH, float(points[rising[-1] + 1 if len(rising) else 0])


def _sampled_share(rate: float, sigma: float, y: Floats) -> Floats:
    """Return a number that is at least q e^w/(1 - q + q e^w), and above it by less than a millionth of it."""
    if rate == 1:
        return np.ones_like(y)
    odds = np.exp(np.clip(math.log1p(-rate) - math.log(rate) - y / sigma + 1 / (2 * sigma**2), -700, 700))
    return np.asarray(np.minimum((1 + 1e-6) / (1 + odds), 1.0))


def _cut(weights: Floats, step: float) -> float:
    """Bound the part that a rule omits beyond both ends, where its terms fall by ``_REACH`` per unit of y."""
    ratio = math.exp(-step * _REACH * (1 - 1e-9))
    return 1.01 * float(weights[0] + weights[-1]) * ratio / (1 - ratio)


@lru_cache(maxsize=1)
def _half_widths() -> Floats:
    """Return the half-widths of the strips in which the rule is tried."""
    return np.geomspace(0.02, 24, 96)


def _rule(sigma: float, negative: float, frequency: float) -> tuple[float, float]:
    """Return the largest step found, with few bits so that all nodes are exact, and the rule's relative error.

    On the line Im y = a an integrand is at most exp(a^2/2 + |t| a/sigma) times its modulus on the real line.
    If e^l has the negative power -c, there is another factor cos(a/(2 sigma))^(-c). The error of the rule is
    at most twice the integral there, divided by exp(2 pi a/step) - 1 (Trefethen and Weideman 2014, Theorem
    5.1).
    """
    a = np.minimum(_half_widths(), 0.98 * np.pi * sigma)
    turn = a / sigma
    grown = a * a / 2 + frequency * turn - negative * np.log(np.cos(turn / 2))
    steps = 2 * np.pi * a / (_QUIET + grown)
    best = int(np.argmax(steps))
    mantissa, exponent = math.frexp(float(steps[best]))
    step = math.ldexp(math.floor(mantissa * 1024), exponent - 10)
    quiet = 2 * math.pi * float(a[best]) / step - float(grown[best])
    return step, 2.1 * math.exp(-quiet * (1 - 1e-9) + 1e-9 * float(grown[best]))


def log_ratio(rate: float, sigma: float, y: Floats) -> tuple[Floats, Floats]:
    """Return l(y) = log(1 - q + q exp(y/sigma - 1/(2 sigma^2))) and bounds on its absolute errors.

    q is ``rate``, and y is taken as exact.
    """
    w = y / sigma - 1 / (2 * sigma * sigma)
    w_error = 2 * EPS * (np.abs(y) / sigma + 1 / (2 * sigma * sigma))
    if rate == 1:
        return w, w_error
    far = max(1.0, 1 - math.log(rate))
    values, errors = np.empty_like(w), np.empty_like(w)
    low, high = w < -1, w > far
    for part, formula in ((low, _low), (~(low | high), _middle), (high, _high)):
        values[part], errors[part] = formula(rate, w[part], w_error[part])
    return values, errors


def _low(rate: float, w: Floats, w_error: Floats) -> tuple[Floats, Floats]:
    constant, part = math.log1p(-rate), rate * np.exp(w) / (1 - rate)
    second = np.log1p(part)
    value = constant + second
    error = 5 * EPS * (abs(constant) + np.abs(second)) + part / (1 + part) * (8 * EPS + 1.01 * w_error)
    return value, error + EPS * np.abs(value)


def _middle(rate: float, w: Floats, w_error: Floats) -> tuple[Floats, Floats]:
    moved = np.expm1(w)
    value = np.log1p(rate * moved)
    inner = rate * (5 * EPS * np.abs(moved) + 1.01 * np.exp(w) * w_error)
    return value, 5 * EPS * np.abs(value) + 1.01 * inner / (1 + rate * moved)


def _high(rate: float, w: Floats, w_error: Floats) -> tuple[Floats, Floats]:
    second = np.log(rate + (1 - rate) * np.exp(-w))
    value = w + second
    return value, 1.01 * w_error + 5 * EPS * np.abs(second) + 10 * EPS + EPS * np.abs(value)


_U = 2.0**-53


@dataclass(frozen=True)
class SubsampledGaussian:
    """The dominating pair of a sum of sensitivity 1 after Poisson sampling at ``rate``, with Gaussian noise.

    The noise has standard deviation s = ``noise_multiplier``, and q is the ``rate``. If ``removes`` is true,
    a user is removed: P is the mixture (1-q) N(0, s^2) + q N(1, s^2), and Q is N(0, s^2). Otherwise a user is
    added, and P and Q are exchanged.

    >>> pair = SubsampledGaussian(1.0, 1.0)
    >>> cells = pair.cells(np.array([0.5]))  # the loss of N(1,1) against N(0,1) is N(1/2, 1)
    >>> [float(p) for p in cells.p]
    [0.5, 0.5]

    Raises:
        ValueError: unless both are doubles, 1e-300 <= rate <= 1 and 1e-4 <= noise_multiplier <= 1e12.

    Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 11 (the dominating pairs); this project,
    docs/notes/loss_grid.md, section 2.
    """

    rate: float
    noise_multiplier: float
    removes: bool = True

    def __post_init__(self) -> None:
        sampling_rate(self.rate)
        noise = within(self.noise_multiplier, "noise_multiplier", 1e-4, 1e12)
        object.__setattr__(self, "rate", double(self.rate, "rate"))
        object.__setattr__(self, "noise_multiplier", noise)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        if not self.removes:
            return swapped(SubsampledGaussian(self.rate, self.noise_multiplier).cells(-edges[::-1]))
        outputs, slack = self._outputs(edges)
        distance = 1 / self.noise_multiplier
        without, without_error = interval_masses(outputs)
        sampled, sampled_error = interval_masses(outputs, (distance, 1.01 * _U * distance))
        if self.rate == 1:
            return Cells(sampled, without, sampled_error, without_error, slack)
        p, error = mixed([(1 - self.rate, without, without_error), (self.rate, sampled, sampled_error)])
        return Cells(p, without, error, without_error, slack)

    def _outputs(self, edges: Floats) -> tuple[Floats, float]:
        """Return the outputs, in deviations, whose losses are ``edges``, and a bound on their error in loss."""
        s = self.noise_multiplier
        exponents, slack, share = loss_before_sampling(edges, self.rate)
        size = np.where(np.isfinite(exponents), np.abs(exponents), 0.0)
        rounding = float((share * (8 * size + 4 / (s * s))).max())
        return s * exponents + 1 / (2 * s), slack + 2 * _U * rounding

    def reversed(self) -> SubsampledGaussian:
        """Return the pair (Q, P), for the other direction of the neighbouring relation.

        At rate 1 this is the pair itself, because reflecting the output exchanges P and Q.
        """
        if self.rate == 1:
            return self
        return SubsampledGaussian(self.rate, self.noise_multiplier, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        If a user is removed, all losses are above log(1 - rate).
        """
        least = ends_after_sampling((-math.inf, 0.0), exact(self.rate))[0]
        return (least, math.inf) if self.removes else (-math.inf, -least)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single step, at the current precision.

        The loss is monotone in the output. So the outputs with a loss above epsilon lie beyond one number x,
        where 1 - q + q e^w = e^(+-epsilon) with w = x/s - 1/(2 s^2). Here q is the ``rate`` and s the
        ``noise_multiplier``.
        """
        rate, sigma = arb_of(exact(self.rate)), arb_of(exact(self.noise_multiplier))
        side = 1 if self.removes else -1
        share = (side * epsilon).expm1() / rate + 1
        if not share > 0:
            return flint.arb(0) if share <= 0 else flint.arb(0).union(flint.arb(1))
        x = sigma * share.log() + 1 / (2 * sigma)
        without, moved = (normal_tail(side * y) for y in (x, x - 1 / sigma))
        mixed = (1 - rate) * without + rate * moved
        p, q = (mixed, without) if self.removes else (without, mixed)
        return (p - epsilon.exp() * q).max(flint.arb(0))

    @property
    def square(self) -> Fraction | None:
        """The squared distance of the two means in standard deviations, or None if the rate is below 1.

        If Gaussian steps are composed, their squared distances are added.
        """
        return 1 / exact(self.noise_multiplier) ** 2 if self.rate == 1 else None

    def characteristic(self) -> Characteristic | None:
        """Return the moment-generating function of the loss, which a proved quadrature computes."""
        found: Characteristic = SubsampledGaussianCharacteristic(
            self.rate, self.noise_multiplier, removes=self.removes
        )
        return found
