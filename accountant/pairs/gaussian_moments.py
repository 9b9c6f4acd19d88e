"""The moment-generating function of the privacy loss of a Poisson-sampled Gaussian, with proved errors.

Let y be standard normal with density phi, w = y/sigma - 1/(2 sigma^2) and l(y) = log(1 - q + q e^w), where q is
the sampling rate. If a record is removed, the loss is l(y) under the density phi(y) e^(l(y)). If a record is
added, the loss is -l(-y) under phi. If a record is replaced by its opposite, the loss is l(y) - l(-y) under the
density phi(y) e^(l(y)). All integrands are analytic in the strip |Im y| < pi sigma, where the trapezoidal rule
converges exponentially. Derivations: docs/notes/saddle_inversion.md, sections 2 to 4, and
docs/notes/rare_jumps.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.normal import log_upper_tail
from dpproof.accountant.pairs.base import Floats, Tilted, distinct
from dpproof.accountant.pairs.phases import EPS, layers, phases_minus_one
from dpproof.accountant.pairs.sampled_loss import REACH, Change, Record, Sample, SoftCut, loss_of
from dpproof.accountant.pairs.sampled_records import Records
from dpproof.accountant.pairs.strips import Tilting

_MOST_NODES = 400_000
_MOST_ENTRIES = 4_000_000
_MOST_ERROR = 0.02
"""The sums of relative errors are of first order, so each error must be small."""
_MOST_OUTPUTS = 2_000
"""How many outputs guide the choice of a cut, at most."""
_UNSEEN = 38.0
"""A normal variable exceeds this number with a probability below 1e-315."""
_NORMAL = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class SubsampledGaussianCharacteristic:
    """An object that computes the moment-generating function of the Poisson-subsampled Gaussian pair's loss.

    The pair is (1-q) N(0, sigma^2) + q N(1, sigma^2) against N(0, sigma^2), or the reverse, or against (1-q) N(0,
    sigma^2) + q N(-1, sigma^2). See ``Characteristic``.

    Args:
        rate: q in (0, 1].
        noise_multiplier: sigma above 0.
        change: whether the mixture is P, Q, or, with the reflected one, both.
        records: the number of the user's records. If there are several, no record is replaced.
        cuts: outputs count with the weight of the part that each of these cuts keeps. Without cuts, they count fully.

    >>> gaussian = SubsampledGaussianCharacteristic(1.0, 2.0, Change.REMOVED)
    >>> gaussian.tilted(3.0).log_mgf  # c (c + 1)/(2 sigma^2)
    1.5
    """

    rate: float
    noise_multiplier: float
    change: Change
    cuts: tuple[SoftCut, ...] = ()
    records: int = 1

    @property
    def sample(self) -> Sample:
        """The sampled records of the user."""
        if self.records == 1:
            return Record(self.rate, self.noise_multiplier)
        return Records(self.rate, self.noise_multiplier, self.records)

    @property
    def may_jump(self) -> bool:
        """Whether rare large losses can be separated: P is the mixture, and the sampling rate is below 1."""
        return self.change.in_p and self.rate < 1

    def bulk(self, cut: SoftCut) -> SubsampledGaussianCharacteristic:
        """Return the moment-generating function of the part of the loss's distribution that ``cut`` calls the bulk.

        The total mass of this part is below 1. Of several cuts in a row, the weights of the bulks multiply.
        """
        return replace(self, cuts=(*self.cuts, cut))

    def jumps(self, cut: SoftCut) -> SubsampledGaussianCharacteristic:
        """Return the moment-generating function of the part of the loss's distribution that ``cut`` calls jumps."""
        return replace(self, cuts=(*self.cuts, replace(cut, keeps_jumps=True)))

    def far_cuts(self, place: float, width: float) -> tuple[SoftCut, ...]:
        """Return cuts of all outputs with losses that are large in size."""
        cut = SoftCut(place, width)
        return (cut, replace(cut, reflected=True)) if self.change.in_q else (cut,)

    def outputs(self, high: float) -> tuple[Floats, Floats]:
        """Return at most 2,001 outputs y up to ``high``, evenly spaced, and logarithms of their probabilities under P.

        Their sums have the trapezoidal rule's error. Nothing certified may rest on them.
        """
        step = min(0.05, self.noise_multiplier / 4)
        y = np.linspace(-REACH, high, min(math.ceil((high + REACH) / step), _MOST_OUTPUTS) + 1)
        return y, self._log_masses(y)

    def _log_masses(self, y: Floats) -> Floats:
        """Return logarithms of the probabilities under P near outputs, by the trapezoidal rule."""
        density = self.sample.log_ratio(y)[0] if self.change.in_p else 0.0
        return np.asarray(np.log(_NORMAL * np.gradient(y)) - y * y / 2 + density)

    def losses(self, y: Floats) -> Floats:
        """Return the privacy losses of outputs."""
        return loss_of(self.change, self.sample, y)[0]

    def sketch(self) -> tuple[Floats, Floats]:
        """Return the logarithms of the probabilities of outputs, with the weights of the cuts, and the losses.

        Nothing certified may rest on them.
        """
        y = self.outputs(_UNSEEN + self.records / self.noise_multiplier)[0]
        step = y[1] - y[0]  # even steps are much more accurate, but may be too long for a steep cut
        for cut in (cut for cut in self.cuts if cut.width < 2 * step):
            near = cut.place + cut.width * np.linspace(-8, 8, 129)
            y = np.append(y, -near if cut.reflected else near)
        y = distinct(y)
        return sum((cut.log_kept(y)[0] for cut in self.cuts), self._log_masses(y)), self.losses(y)

    def log_jump_mass(self, cut: SoftCut) -> float:
        """Return an upper bound on the logarithm of the probability of the jumps of ``cut``."""
        value, error = _log_jump_mass(self.sample, cut)
        return value + error

    def tilted(self, c: float) -> Tilted:
        """Return the distribution of the privacy loss tilted at ``c``; see ``Characteristic.tilted``."""
        return _Line(self, c, 0.0).tilted()

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return the characteristic function minus 1 at multiples of ``step``; see ``Characteristic.minus_one``."""
        return _Line(self, c, step * count).minus_one(step, count)


class _Line:
    """The trapezoidal rule for one real part c. It is accurate for frequencies up to a given one."""

    def __init__(self, pair: SubsampledGaussianCharacteristic, c: float, frequency: float) -> None:
        self.c, self.sample, self.change = c, pair.sample, pair.change
        self.cuts = pair.cuts
        self.up, self.down = (1 + c) * self.change.in_p, c * self.change.in_q
        """The powers of e^(l(y)) and of e^(-l(-y)) in the tilted density, beside phi."""
        self.tilting = Tilting(self.sample, self.up, self.down, pair.cuts)
        self.step, self.alias = self.tilting.rule(frequency)
        low, high, self.log_beyond = self.tilting.reach()
        plain_beyond = float(
            np.logaddexp(self.log_beyond, 0.1 - high * high / 2)
        )  # phi e^l, for any sign of the loss
        self.normal_beyond = math.exp(min(plain_beyond, 700.0))
        most = self.sample.most
        if (low + high) / self.step > (_MOST_NODES if most == 1 else _MOST_ENTRIES / (1 + most)):
            raise OverflowError(
                f"the moment-generating function needs {(low + high) / self.step:.0f} nodes, "
                "more than are allowed"
            )
        first, last = -math.ceil(low / self.step), math.ceil(high / self.step)
        self.y = self.step * np.arange(first, last + 1, dtype=np.float64)
        self.loss, self.loss_error = loss_of(self.change, self.sample, self.y)
        square = self.y * self.y
        ratio, error = self.sample.log_ratio(self.y) if self.change.in_p else (0.0, 0.0)
        self.base = ratio - square / 2
        self.base_error = EPS * (square + np.abs(self.base)) + error
        self._cut_off()
        self._weigh()

    def _cut_off(self) -> None:
        """Multiply the density by the weights, and keep the mass of dropped jumps and its error.

        Where the jumps are kept, the dropped mass is not known here.
        """
        self.kept, masses, wrong = np.zeros_like(self.y), [0.0], 0.0
        self.only_jumps = any(cut.keeps_jumps for cut in self.cuts)
        for cut in self.cuts:
            kept, error = cut.log_kept(self.y)
            self.base_error = self.base_error + error + EPS * np.abs(self.base + kept)
            self.base = self.base + kept
            if cut.keeps_jumps:
                continue
            if not cut.reflected:
                self.kept = self.kept + kept
            log_mass, log_error = _log_jump_mass(self.sample, cut)
            masses.append(math.exp(log_mass))
            wrong += 1.01 * masses[-1] * (log_error + 8 * EPS)
        self.jumps, doubt = math.fsum(masses), math.fsum(masses) - max(masses)
        self.jumps_error = wrong + 1.01 * doubt

    def _weigh(self) -> None:
        """Compute the tilted weights, which add up to 1, their relative errors, and the total as a power of e."""
        exponent = self.exponent = self.base + self.c * self.loss
        self.peak = float(exponent.max())
        raw = np.exp(exponent - self.peak)
        error = self.base_error + self.c * (self.loss_error + EPS * np.abs(self.loss))
        error += EPS * (np.abs(exponent) + np.abs(exponent - self.peak) + 5)
        if not float(error[exponent > self.peak - 700].max()) < _MOST_ERROR:
            raise OverflowError("rounding hides the tilted density of the loss")
        self.total = float(raw.sum())
        self.weights = raw / self.total
        self.total_error = 1.01 * float((self.weights * error).sum()) + 80 * EPS
        self.relative = 1.01 * (error + self.total_error)
        beyond = math.exp(min(self.log_beyond - self.peak, 700.0)) / (self.total * self.step)
        first = max(float(self.weights[0]), 1e-290)  # a weight that is rounded to 0
        self.cut = _below(first * self._undone, self.step) + 1.01 * beyond

    @property
    def _undone(self) -> float:
        """One over the bulk's weight at the first node. Below, this weight is at most 1.

        Weights that grow in y fall there.
        """
        return math.exp(min(-float(self.kept[0]), 700.0))

    def tilted(self) -> Tilted:
        """Return the tilted distribution; see ``Tilted``."""
        log_mgf, error = self._large() if self.only_jumps or self.peak >= 30 else self._small()
        mean = float(self.weights @ self.loss)
        variance = float(self.weights @ (self.loss - mean) ** 2)
        return Tilted(log_mgf, error, mean, variance, self._layers, self.tilting.log_beyond)

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
            self.weights, self.relative, self.loss, 1.01 * self.loss_error, step, count
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
        error += grown * (self.c * self.loss_error + 3 * EPS * np.abs(moved))
        scale = self.step * _NORMAL
        value = scale * math.fsum(terms) - self.jumps
        left_out = _below(float(density[0] + grown[0]) * scale * self._undone, self.step)
        left_out += 1.01 * (self.normal_beyond + math.exp(min(self.log_beyond, 700.0)))
        wrong = 1.01 * (scale * math.fsum(error) + 4 * EPS * abs(value) + 3 * self.alias * (1 + abs(value)))
        wrong += left_out + self.jumps_error
        if wrong > (1 + value) / 4:
            return self._large()
        found = math.log1p(value)
        return found, 1.5 * wrong / (1 + value) + 5 * EPS * abs(found)

    def _layers(self) -> tuple[Floats, Floats]:
        """Return uniform distributions inside the tilted distribution of the loss.

        With S = p(y) + p(-y), or the one of them that the loss depends on, sigma L' = S. So the log-density per unit
        of L is the exponent less log S, plus a constant. Its second derivative in y is at most K = ((up + 1) b(p(y))
        + (1 - down)^+ b(p(-y)))/sigma^2 - 1, where b(p) = min(p, 1/4) >= p (1 - p). Between two nodes the log-density
        is at least the smaller of its values there, less K^+ step^2/8. The logarithms of the cuts' weights are
        concave, so they only lower the second derivative. With k records, b is min(k m, k^2/4), and the second
        derivative of -log S is at most 2 k^2/sigma^2.
        """
        share, other = (self.sample.shares(y)[0] for y in (self.y, -self.y))
        sigma, most = self.sample.sigma, self.sample.most
        log_weight = self.exponent - self.peak - math.log(self.total * self.step)
        log_density = log_weight - np.log((self.change.in_p * share + self.change.in_q * other) / sigma)
        bend = (self.up + 1) * np.minimum(most * share[1:], most**2 / 4) * self.change.in_p
        bend = bend + max(1 - self.down, 0.0) * np.minimum(most * other[:-1], most**2 / 4) * self.change.in_q
        bend = bend + (2 * most**2 if most > 1 else 0)
        between = np.maximum(bend / (sigma * sigma) - 1, 0.0) * self.step * self.step / 8
        lower = np.minimum(log_density[:-1], log_density[1:]) - between - 1e-6
        return layers(np.exp(np.minimum(lower, 600.0)), self.loss, self.loss_error)


def _below(first: float, step: float) -> float:
    """Bound the terms below the first one, which fall by ``REACH`` per unit of y or faster."""
    ratio = math.exp(-step * REACH * (1 - 1e-9))
    return 1.01 * first * ratio / -math.expm1(-step * REACH * (1 - 1e-9))


def _log_jump_mass(sample: Sample, cut: SoftCut) -> tuple[float, float]:
    """Return the logarithm of the probability of the jumps of ``cut``, and a bound on its absolute error.

    y minus a normal variable of deviation ``width`` has the variance 1 + width^2. It exceeds ``place`` with a
    jump. Its mean is j/sigma if j records are sampled, or -j/sigma if the cut is reflected. The place over the
    deviation errs by at most 3 EPS relatively, and the slope of log Q at x is at most max(x, 0) + 1.
    """
    moved = np.arange(sample.most + 1) / sample.sigma
    places = (cut.place + moved if cut.reflected else cut.place - moved) / math.hypot(1.0, cut.width)
    size = (cut.place + moved) / math.hypot(1.0, cut.width)
    value, error = log_upper_tail(places)
    logs = value + sample.log_weights()
    error = error + 1.01 * EPS * (4 * size * (np.maximum(places, 0.0) + 1) + 4 * np.abs(logs) + 8)
    top = float(logs.max())
    weights = np.exp(logs - top)
    found = top + math.log(float(weights.sum()))
    return found, 1.01 * float((weights * error).sum() / weights.sum()) + 8 * EPS * (2 + abs(found))
