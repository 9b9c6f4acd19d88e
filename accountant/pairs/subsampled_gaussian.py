"""The moment-generating function of the Poisson-subsampled Gaussian, in double precision with proved errors.

With y standard normal, w = y/sigma - 1/(2 sigma^2) and l(y) = log(1 - q + q e^w), the loss is l under the
density phi(y) e^l when a record is removed, and -l under phi when one is added. Both integrands are
analytic in the strip |Im y| < pi sigma, where the trapezoidal rule converges exponentially.
Derivations: docs/notes/saddle_inversion.md, sections 2 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.pairs.base import Floats, Tilted
from dpproof.accountant.pairs.phases import EPS, phases_minus_one
from dpproof.accountant.pairs.uniform_layers import layers

__all__ = ["SubsampledGaussianCharacteristic", "log_ratio"]

_QUIET = 72.0
"""The trapezoidal rule's relative error is made at most about 2 exp(-72) = 1e-31."""
_REACH = 13.0
"""By how much per unit of y the terms fall beyond the points kept."""
_MOST_NODES = 400_000
_MOST_ENTRIES = 4_000_000
_NORMAL = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class SubsampledGaussianCharacteristic:
    """``Characteristic`` of (1-q) N(0, sigma^2) + q N(1, sigma^2) against N(0, sigma^2), or reversed.

    Args:
        rate: q in (0, 1].
        noise_multiplier: sigma above 0.
        removes: whether the mixture is P (a record is removed) or Q (one is added).

    >>> SubsampledGaussianCharacteristic(1.0, 2.0, removes=True).tilted(3.0).log_mgf  # c (c + 1)/(2 sigma^2)
    1.5
    """

    rate: float
    noise_multiplier: float
    removes: bool

    def tilted(self, c: float) -> Tilted:
        """See ``Characteristic.tilted``."""
        return _Line(self, c, 0.0).tilted()

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """See ``Characteristic.minus_one``."""
        return _Line(self, c, step * count).minus_one(step, count)


class _Line:
    """The trapezoidal rule for one real part c, good for frequencies up to a given one."""

    def __init__(self, pair: SubsampledGaussianCharacteristic, c: float, frequency: float) -> None:
        self.c, self.rate, self.sigma = c, pair.rate, pair.noise_multiplier
        self.power = 1 + c if pair.removes else -c
        """The power of e^l in the tilted density, beside phi."""
        self.step, self.alias = _rule(self.sigma, max(-self.power, 0.0), frequency)
        low, high = _ends(self.rate, self.sigma, self.power)
        if (low + high) / self.step > _MOST_NODES:
            raise OverflowError(f"the moment-generating function needs {(low + high) / self.step:.0f} nodes")
        first, last = -math.ceil(low / self.step), math.ceil(high / self.step)
        self.y = self.step * np.arange(first, last + 1, dtype=np.float64)
        self.ratio, self.ratio_error = log_ratio(pair.rate, self.sigma, self.y)
        self.loss = self.ratio if pair.removes else -self.ratio
        square = self.y * self.y
        self.base = (self.ratio if pair.removes else 0.0) - square / 2
        self.base_error = EPS * (square + np.abs(self.base)) + (self.ratio_error if pair.removes else 0.0)
        self._weigh()

    def _weigh(self) -> None:
        """Tilted weights, their sum 1, and their relative errors; the total as a power of e."""
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
        """The law's summary: see ``Tilted``."""
        log_mgf, error = self._small() if self.peak < 30 else self._large()
        mean = float(self.weights @ self.loss)
        variance = float(self.weights @ (self.loss - mean) ** 2)
        return Tilted(log_mgf, error, mean, variance, self._layers)

    def minus_one(self, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """See ``Characteristic.minus_one``: rounding grows with t, the rule errs at t and at 0."""
        if math.isqrt(count) * len(self.y) > _MOST_ENTRIES or count * len(self.y) > 64 * _MOST_ENTRIES:
            raise OverflowError(f"the characteristic function needs {count} x {len(self.y)} values")
        values, rounding = phases_minus_one(
            self.weights, self.relative, self.loss, 1.01 * self.ratio_error, step, count
        )
        return values, rounding + 2.1 * (self.alias + self.cut)

    def _large(self) -> tuple[float, float]:
        """The log of M(c) from the sum of the weights."""
        value = self.peak + math.log(self.step * _NORMAL * self.total)
        error = (
            self.total_error + 1.01 * (self.alias + self.cut) + 8 * EPS * (1 + abs(value) + abs(self.peak))
        )
        return value, error

    def _small(self) -> tuple[float, float]:
        """The log of M(c) from M(c) - 1 = E expm1(c L), without cancellation where c L is small."""
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
        """Uniform laws inside the tilted law of the loss.

        Its log-density per unit of l is F = -y^2/2 - w + (power + 1) l and a constant, whose second
        derivative in y is at most K = (power + 1)^+/(4 sigma^2) - 1; between two nodes F is at least the
        smaller of its values there, less K^+ step^2/8.
        """
        w = self.y / self.sigma - 1 / (2 * self.sigma**2)
        log_weight = self.exponent - self.peak - math.log(self.total * self.step)
        log_density = log_weight + self.ratio - w + math.log(self.sigma / self.rate)
        between = max(max(self.power + 1, 0.0) / (4 * self.sigma**2) - 1, 0.0) * self.step**2 / 8
        lower = np.minimum(log_density[:-1], log_density[1:]) - between - 1e-6
        return layers(np.exp(np.minimum(lower, 600.0)), self.ratio, self.ratio_error)


def _ends(rate: float, sigma: float, power: float) -> tuple[float, float]:
    """How far down and up the rule goes: beyond, its terms fall by ``_REACH`` per unit of y.

    Their logarithm is power l(y) - y^2/2, and sigma l'(y) = s(y), the sampled share of the density, which
    grows in y from 0 to 1.
    """
    pull = abs(power) / sigma
    if power <= 0:
        return _REACH + pull * float(_sampled_share(rate, sigma, np.array([-_REACH]))[0]), _REACH
    points = _REACH + pull * np.geomspace(min(0.1 / pull, 0.5), 1.0, 500)
    falling = points[:-1] - _REACH >= pull * _sampled_share(rate, sigma, points[1:])
    rising = np.flatnonzero(~falling)
    return _REACH, float(points[rising[-1] + 1 if len(rising) else 0])


def _sampled_share(rate: float, sigma: float, y: Floats) -> Floats:
    """At least q e^w/(1 - q + q e^w), and less than a millionth of it above."""
    if rate == 1:
        return np.ones_like(y)
    odds = np.exp(np.clip(math.log1p(-rate) - math.log(rate) - y / sigma + 1 / (2 * sigma**2), -700, 700))
    return np.asarray(np.minimum((1 + 1e-6) / (1 + odds), 1.0))


def _cut(weights: Floats, step: float) -> float:
    """What a rule leaves out beyond both ends: there its terms fall by ``_REACH`` per unit of y."""
    ratio = math.exp(-step * _REACH * (1 - 1e-9))
    return 1.01 * float(weights[0] + weights[-1]) * ratio / (1 - ratio)


@lru_cache(maxsize=1)
def _half_widths() -> Floats:
    """Strips that the rule is tried in."""
    return np.geomspace(0.02, 24, 96)


def _rule(sigma: float, negative: float, frequency: float) -> tuple[float, float]:
    """The largest step found, few bits long so that all nodes are exact, and the rule's relative error.

    On the line Im y = a an integrand is at most exp(a^2/2 + |t| a/sigma) times its modulus on the real
    line, and cos(a/(2 sigma))^(-c) times that where e^l has the negative power -c; the rule errs by at
    most twice the integral there, divided by exp(2 pi a/step) - 1 (Trefethen and Weideman 2014, Theorem
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
    """l(y) = log(1 - q + q exp(y/sigma - 1/(2 sigma^2))), with absolute errors; y is taken as exact."""
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
