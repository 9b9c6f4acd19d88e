"""Proved steps of the trapezoidal rule for a sampled Gaussian's loss, and the decay of its rare jumps.

The integrand is f(y) = phi(y) e^(s l(y)), with s = power + i t. On the line Im y = a, with the angle turn =
a/sigma, 1 - q + q e^w is multiplied by 1 - p + p e^(i turn), where p = p(Re y) is the sampled share. So
|f(y + i a)| is f(y) at t = 0, times e^(a^2/2), times powers of the size and the angle of that factor. Where
p is small, the factor is close to 1. ``Blocks`` are intervals of y with proved bounds on the integrand's
mass. They bound integrals along such lines from above. Derivations: docs/notes/rare_jumps.md, sections 2
and 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import cached_property, lru_cache, math, np
from dpproof.accountant.pairs.base import Floats
from dpproof.accountant.pairs.sampled_loss import SoftCut, ends, log_ratio, sampled_share

_QUIET = 72.0
"""The steps are chosen so that the trapezoidal rule's relative error is at most about 2 exp(-72) = 1e-31."""
_FEW = 300
"""If the simple bound gives a rule with at most this many nodes, no better bound is computed."""
_FARTHEST, _MOST_BLOCKS, _LEAST_WIDTH = 38.0, 600, 1 / 16


@dataclass(frozen=True)
class Tilting:
    """The density of the output y, phi(y) e^(power l(y)) up to a factor, times the weight of the bulk if there is a cut."""

    rate: float
    sigma: float
    power: float
    cut: SoftCut | None = None

    @property
    def negative(self) -> float:
        """The size of a negative power, and 0 for a positive one."""
        return max(-self.power, 0.0)

    @cached_property
    def blocks(self) -> Blocks:
        """Intervals of outputs with bounds on their masses."""
        return _blocks(self)

    def rule(self, frequency: float) -> tuple[float, float]:
        """Return a step of the trapezoidal rule with few bits, and a bound on the rule's relative error.

        The bound is valid for all t up to ``frequency`` in size. The error of the rule is at most twice the
        integral of |f| on the lines Im y = +-a, divided by exp(2 pi a/step) - 1 (Trefethen and Weideman 2014,
        Theorem 5.1).
        """
        a = np.minimum(_half_widths(), 0.98 * np.pi * self.sigma)
        own = self._own_growth(a)
        grown = own + frequency * a / self.sigma - self.negative * np.log(np.cos(a / self.sigma / 2))
        step, alias = _best(a, grown)
        low, high = ends(self.rate, self.sigma, self.power)
        if (low + high) / step > _FEW:
            some = a[::4]
            found = _best(some, own[::4] + self.blocks.log_growth(some / self.sigma, self.negative, frequency))
            step, alias = max((step, alias), found)
        return step, alias

    def log_jump(self, cut: SoftCut, times: Floats) -> Floats:
        """Return logarithms of bounds on |int phi chi e^(s l)| over int phi e^(power l), for t beyond each of ``times``.

        The weight chi is that of the jumps of ``cut``. The path of integration moves to Im y = a > 0, where
        the size of e^(i t l) is exp(-t times the angle), which falls in t. The best of several a is taken.
        """
        a = np.minimum(_half_widths()[::2], 0.98 * np.pi * self.sigma)
        own = a * a / 2 * (1 + cut.width**-2)
        return self.blocks.log_shifted_jump(a / self.sigma, own, cut, times)

    def _own_growth(self, a: Floats) -> Floats:
        """Return the exponent by which phi, and the weight of the bulk, grow on the line Im y = a."""
        return np.asarray(a * a / 2 * (1 + (self.cut.width**-2 if self.cut else 0.0)))


@lru_cache(maxsize=1)
def _half_widths() -> Floats:
    """Return the half-widths of the strips in which the rule is tried."""
    return np.geomspace(0.02, 24, 96)


def _best(a: Floats, grown: Floats) -> tuple[float, float]:
    """Return the largest step found for the half-widths ``a``, with few bits, and the rule's relative error."""
    steps = 2 * np.pi * a / (_QUIET + grown)
    best = int(np.argmax(np.where(np.isfinite(steps), steps, 0.0)))
    mantissa, exponent = math.frexp(float(steps[best]))
    step = math.ldexp(math.floor(mantissa * 1024), exponent - 10)
    quiet = 2 * math.pi * float(a[best]) / step - float(grown[best])
    return step, 2.1 * math.exp(-quiet * (1 - 1e-9) + 1e-9 * float(grown[best]))


@dataclass(frozen=True)
class Blocks:
    """Intervals of outputs y that cover the line, with bounds on the tilted masses and the sampled shares.

    The first and the last interval are unbounded. ``log_masses`` are upper bounds on the logarithms of the
    masses, as shares of the whole mass. Shares p(y) in a block are between ``least`` and ``most``.
    """

    edges: Floats
    log_masses: Floats
    least: Floats
    most: Floats

    def log_growth(self, turns: Floats, negative: float, frequency: float) -> Floats:
        """Return the logarithm of the mean of |1 - p + p e^(i turn)|^(-negative) exp(frequency angle), for each turn."""
        turn = turns[:, None]
        exponents = self.log_masses + frequency * _angle(self.most, turn)
        if negative:
            nearest = np.clip(0.5, self.least, self.most)
            shrunk = 4 * nearest * (1 - nearest) * np.sin(turn / 2) ** 2
            exponents = exponents - negative / 2 * np.log1p(-shrunk)
        return _log_sum(exponents)

    def log_shifted_jump(self, turns: Floats, own: Floats, cut: SoftCut, times: Floats) -> Floats:
        """Return the smallest of the bounds for several turns, for each time; see ``Tilting.log_jump``."""
        weights = np.append(cut.log_jumps(self.edges)[0] + 1e-9, 0.0)
        fixed = (self.log_masses + weights)[None, :] + own[:, None]
        angles = _angle(self.least, turns[:, None])
        return np.array([_log_sum(fixed - t * angles).min() for t in times])


def _angle(share: Floats, turn: Floats) -> Floats:
    """Return the angle of 1 - p + p e^(i turn), which grows in p."""
    return np.asarray(np.arctan2(share * np.sin(turn), 1 - share + share * np.cos(turn)))


def _log_sum(exponents: Floats) -> Floats:
    """Return upper bounds on the logarithms of the sums of the rows' exponentials."""
    top = exponents.max(axis=1, keepdims=True)
    found = top[:, 0] + np.log(np.exp(exponents - top).sum(axis=1))
    return np.asarray(found + 1e-6 * (1 + np.abs(found)))


def _blocks(tilting: Tilting) -> Blocks:
    """Return blocks that are fine near the mass. The integrand is monotone in each factor on each of them."""
    rate, sigma, power, cut = tilting.rate, tilting.sigma, tilting.power, tilting.cut
    low, high = ends(rate, sigma, power, _FARTHEST)
    count = math.ceil(min((low + high) / _LEAST_WIDTH, _MOST_BLOCKS))
    edges = -low + (low + high) / count * np.arange(count + 1)
    loss = power * log_ratio(rate, sigma, edges)[0]
    kept = cut.log_bulk(edges)[0] if cut else np.zeros_like(edges)
    size = np.abs(edges)
    nearest = np.where(edges[:-1] * edges[1:] < 0, 0.0, np.minimum(size[:-1], size[1:]))
    width = np.log(np.diff(edges))
    upper = np.maximum(loss[:-1], loss[1:]) - nearest**2 / 2 + kept[:-1] + width
    lower = np.minimum(loss[:-1], loss[1:]) - np.maximum(size[:-1], size[1:]) ** 2 / 2 + kept[1:] + width
    least_loss = max(loss[0], power * math.log1p(-rate)) if rate < 1 else loss[0]
    outside = -math.log(_FARTHEST)
    first = least_loss - edges[0] ** 2 / 2 + outside
    last = loss[-1] - edges[-1] ** 2 / 2 + kept[-1] + outside
    whole = -_log_least_sum(lower)
    masses = np.concatenate(([first], upper, [last])) + whole
    share = sampled_share(rate, sigma, edges)
    down = np.where(share > 1e-290, share * (1 - 2e-6), 0.0)
    rounding = 1e-6 + 1e-14 * float(np.abs(loss).max() + size.max() ** 2 + np.abs(kept).max())
    return Blocks(edges, masses + rounding, np.append(0.0, down), np.append(share, 1.0))


def _log_least_sum(exponents: Floats) -> float:
    """Return a lower bound on the logarithm of the sum of the exponentials."""
    top = float(exponents.max())
    found = top + math.log(float(np.exp(exponents - top).sum()))
    return found - 1e-6 * (1 + abs(found))
