"""Proved steps of the trapezoidal rule for a sampled Gaussian's loss, and the decay of its rare jumps.

The integrand is f(y) = phi(y) e^(s l(y)), with s = power + i t. On the line Im y = a, with the angle turn =
a/sigma, 1 - q + q e^w is multiplied by 1 - p + p e^(i turn), where p = p(Re y) is the sampled share. So
|f(y + i a)| is f(y) at t = 0, times e^(a^2/2), times powers of the size and the angle of that factor. Where
p is small, the factor is close to 1. ``Blocks`` are intervals of y with proved bounds on the integrand's
mass. They bound integrals along such lines from above. Derivations: docs/notes/rare_jumps.md, sections 2
and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.pairs.base import Floats
from dpproof.accountant.pairs.sampled_loss import REACH, SoftCut, high_end, log_ratio, low_end, sampled_share

_QUIET = 72.0
"""The steps are chosen so that the trapezoidal rule's relative error is at most about 2 exp(-72) = 1e-31."""
_FEW = 300
"""If the simple bound gives a rule with at most this many nodes, no better bound is computed."""
_FARTHEST, _SEEN, _PASSES, _MOST_BLOCKS, _LEAST_WIDTH = 38.0, 400.0, 5, 300, 1 / 8


@dataclass(frozen=True)
class Tilting:
    """The density of the output y, phi(y) e^(power l(y)) up to a factor, times the weights of the cuts."""

    rate: float
    sigma: float
    power: float
    cuts: tuple[SoftCut, ...] = ()

    @property
    def negative(self) -> float:
        """The size of a negative power, and 0 for a positive one."""
        return max(-self.power, 0.0)

    def reach(self) -> tuple[float, float, float]:
        """Return how far down and up a rule goes, and the logarithm of a bound on what is left out beyond blocks.

        Further down, the terms without the cuts' weights fall by at least ``REACH`` per unit of y (logarithmic).
        Where only jumps are kept, the rule begins near the cut.
        """
        low = low_end(self.rate, self.sigma, self.negative)
        if self.power <= 0:
            return low, REACH, 0.1 - REACH * REACH / 2 + self.power * self._loss(REACH)
        if not self.cuts:
            high = high_end(self.rate, self.sigma, self.power)
            return low, high, 0.1 - high * high / 2 + self.power * self._loss(high)
        edges = self.blocks.edges
        below, beyond, least = _log_tails(self, edges)
        far = (edges >= 1 / self.sigma + REACH) & (beyond - least <= -_QUIET - 10)
        last = int(np.argmax(far)) if far.any() else len(edges) - 1
        if not any(cut.keeps_jumps for cut in self.cuts):
            return low, float(edges[last]), float(beyond[last])
        first = max(int(np.argmin(below - least <= -_QUIET - 10)) - 1, 0)
        return -float(edges[first]), float(edges[last]), float(np.logaddexp(below[first], beyond[last]))

    def _loss(self, y: float) -> float:
        return float(log_ratio(self.rate, self.sigma, np.array([y]))[0][0])

    @property
    def blocks(self) -> Blocks:
        """Intervals of outputs with bounds on their masses."""
        return _blocks(self)

    def rule(self, frequency: float) -> tuple[float, float]:
        """Return a step of the trapezoidal rule with few bits, and a bound on the rule's relative error.

        The bound is valid for all t up to ``frequency`` in size. The error of the rule is at most twice the
        integral of |f| on the lines Im y = +-a, divided by exp(2 pi a/step) - 1 (Trefethen and Weideman 2014,
        Theorem 5.1).
        """
        a = np.minimum(_half_widths(), (0.49 if self.negative else 0.98) * np.pi * self.sigma)
        if not self.cuts:
            turn = a / self.sigma
            grown = a * a / 2 + frequency * turn - self.negative * np.log(np.cos(turn / 2))
            step, alias = _best(a, grown)
            low, high, _ = self.reach()
            if (low + high) / step <= _FEW:
                return step, alias
        some = a[::6]
        grown = self.blocks.log_growth(some, self, frequency)
        if self.cuts:  # for the probabilities of jumps, which belong to the density without a tilt
            plain = replace(self, power=1.0)
            grown = np.maximum(grown, plain.blocks.log_growth(some, plain, 0.0))
        found = _best(some, some * some / 2 + grown)
        return found if self.cuts else max((step, alias), found)

    def log_beyond(self, times: Floats) -> Floats:
        """Return logs of bounds on |int phi e^(s l)| over int phi e^(power l), for t beyond each of ``times``.

        Both integrands have the weights of the cuts. The path of integration moves to Im y = a, where
        the size of e^(i t l) is exp(-t times the angle), which falls in t. The best of several a is taken.
        """
        a = np.minimum(_half_widths()[::4], (0.49 if self.negative else 0.98) * np.pi * self.sigma)
        return self.blocks.log_shifted(a, self, times)


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
    even: Floats
    """The share in the block that is nearest to 1/2, where |1 - p + p e^(i turn)| is smallest."""

    def log_growth(self, a: Floats, tilting: Tilting, frequency: float) -> Floats:
        """Return logarithms of bounds on integrals along Im y = a, over exp(a^2/2) times the integral on the real line.

        If the power is negative, the angles a/sigma must be at most pi/2.
        """
        turn = (a / tilting.sigma)[:, None]
        return _log_sum(self._log_moved(a, tilting) + frequency * _angle(self.most, turn))

    def log_shifted(self, a: Floats, tilting: Tilting, times: Floats) -> Floats:
        """Return the smallest of the bounds for several a, for each time; see ``Tilting.log_beyond``."""
        fixed = self._log_moved(a, tilting) + (a * a)[:, None] / 2
        angles = _angle(self.least, (a / tilting.sigma)[:, None])
        return np.array([_log_sum(fixed - t * angles).min() for t in times])

    def _log_moved(self, a: Floats, tilting: Tilting) -> Floats:
        """Return the logarithms of the masses of the blocks on the lines Im y = a at t = 0, without exp(a^2/2)."""
        found = self.log_masses + self._log_cuts(a, tilting.cuts)
        if tilting.negative:
            shrunk = 4 * self.even * (1 - self.even) * np.sin((a / tilting.sigma)[:, None] / 2) ** 2
            found = found - tilting.negative / 2 * np.log1p(-shrunk)
        return np.asarray(found)

    def _weights(self, cut: SoftCut) -> tuple[Floats, Floats]:
        """Return logs of the largest weights in the blocks, of the part that is kept and of the other one."""
        kept = cut.between(cut.log_kept(self.edges)[0], rising=cut.keeps_jumps)
        return kept, cut.between(cut.log_dropped(self.edges)[0], rising=not cut.keeps_jumps)

    def _log_cuts(self, a: Floats, cuts: Sequence[SoftCut]) -> Floats:
        """Return the logarithms of the factors by which the cuts' weights may grow from the real line to Im y = a.

        With v = a/width, the size of a weight Q is at most e^(v^2/2) Q(x), and at most 1 + e^(v^2/2) (1 - Q(x)).
        """
        found = np.zeros((len(a), len(self.log_masses)))
        for cut in cuts:
            half = (a * a)[:, None] / (2 * cut.width * cut.width)
            kept, dropped = self._weights(cut)
            found += np.minimum(half, np.logaddexp(0.0, half + dropped) - kept) + 1e-9
        return found


def _angle(share: Floats, turn: Floats) -> Floats:
    """Return the angle of 1 - p + p e^(i turn), which grows in p."""
    return np.asarray(np.arctan2(share * np.sin(turn), 1 - share + share * np.cos(turn)))


def _log_sum(exponents: Floats) -> Floats:
    """Return upper bounds on the logarithms of the sums of the rows' exponentials."""
    top = exponents.max(axis=1, keepdims=True)
    found = top[:, 0] + np.log(np.exp(exponents - top).sum(axis=1))
    return np.asarray(found + 1e-6 * (1 + np.abs(found)))


def _edges(tilting: Tilting) -> Floats:
    """Return edges from below all mass to above it, which are fine near the mass.

    Beyond them, the integrand falls by at least ``_FARTHEST`` per unit of y (logarithmic).
    """
    low = low_end(tilting.rate, tilting.sigma, tilting.negative, _FARTHEST)
    even = (
        tilting.sigma * max(-math.log(tilting.rate), 0.0) + 1 / tilting.sigma
    )  # the sampled share is near 1/2
    high = _FARTHEST + max(tilting.power / tilting.sigma, even)
    count = math.ceil(math.log(high / _FARTHEST) / 0.03) + 1
    coarse = edges = np.concatenate(
        (np.linspace(-low, _FARTHEST, 200)[:-1], np.geomspace(_FARTHEST, high, count))
    )
    for _ in range(_PASSES):
        upper, lower, _, _ = _log_masses(tilting, edges)
        some = np.flatnonzero(upper > _log_least_sum(lower) - _SEEN)
        if not some.size:
            raise OverflowError("the density of the tilted loss leaves the range of doubles")
        first, last = edges[some[0]], edges[some[-1] + 1]
        count = math.ceil(min((last - first) / _LEAST_WIDTH, _MOST_BLOCKS))
        fine = first + (last - first) / count * np.arange(count)
        edges = np.concatenate((coarse[coarse < first], fine, coarse[coarse >= last]))
        if (last - first) / count <= 2 * _LEAST_WIDTH:
            break
    return np.asarray(edges)


@lru_cache(maxsize=64)
def _blocks(tilting: Tilting) -> Blocks:
    """Return blocks that are fine near the mass."""
    edges = _edges(tilting)
    upper, lower, first, last = _log_masses(tilting, edges)
    masses = np.concatenate(([first], upper, [last])) - _log_least_sum(lower)
    share, down = _shares(tilting, edges)
    least, most = np.append(0.0, down), np.append(share, 1.0)
    even = np.clip(0.5, least, most)
    if tilting.negative:  # up to an angle of pi/2, |1 - q + q e^(w + i turn)| grows in y
        even[-1] = np.clip(0.5, down[-1], share[-1])
    return Blocks(edges, masses, least, most, even)


def _shares(tilting: Tilting, y: Floats) -> tuple[Floats, Floats]:
    """Return upper and lower bounds on the sampled share p(y)."""
    share = sampled_share(tilting.rate, tilting.sigma, y)
    return share, np.where(share > 1e-290, share * (1 - 2e-6), 0.0)


def _log_masses(tilting: Tilting, edges: Floats, more: float = 0.0) -> tuple[Floats, Floats, float, float]:
    """Return upper and lower logarithms of the integrals between edges, and upper ones below and above all edges.

    The integrand is that of the real line, without the factor of the normal density. Without the cuts, its
    logarithm g has the slope -y + (power/sigma) p(y). So g is at most g(u) plus the largest slope, if that is
    positive, times the width, on a block that begins at u. Each cut's weight is monotone, so it is at most that
    of an end. Its logarithm is concave. So the second derivative of the whole exponent is at most K =
    (power/sigma^2) p (1 - p) - 1, and the exponent is at least its smaller end less K^+ width^2/8. The upper
    bounds are for intervals that are longer by ``more``.
    """
    rate, sigma, power = tilting.rate, tilting.sigma, tilting.power
    loss = power * log_ratio(rate, sigma, edges)[0]
    kept, most = np.zeros_like(edges), np.zeros(len(edges) + 1)
    for cut in tilting.cuts:
        weights = cut.log_kept(edges)[0]
        kept, most = kept + weights, most + cut.between(weights, rising=cut.keeps_jumps)
    share, down = _shares(tilting, edges)
    plain, widths = loss - edges * edges / 2, np.diff(edges)
    value = plain + kept
    slope = power / sigma * (share[1:] if power > 0 else down[:-1]) - edges[:-1]
    bend = max(power, 0.0) / (sigma * sigma) * np.minimum(share[1:], 0.25) - 1
    upper = plain[:-1] + most[1:-1] + np.maximum(slope, 0.0) * widths + np.log(widths + more)
    lower = np.minimum(value[:-1], value[1:]) - np.maximum(bend, 0.0) * widths**2 / 8 + np.log(widths)
    outside = math.log(1 / _FARTHEST + more)
    first, last = plain[0] + most[0], plain[-1] + most[-1]
    rounding = 1e-6 + 1e-14 * (np.abs(loss) + edges * edges + np.abs(kept))
    between = np.maximum(rounding[:-1], rounding[1:])
    ends = first + outside + rounding[0], last + outside + rounding[-1]
    return upper + between, lower - between, float(ends[0]), float(ends[1])


def _log_tails(tilting: Tilting, edges: Floats) -> tuple[Floats, Floats, float]:
    """Return log bounds on the trapezoidal sums below and above each edge, and a lower one on the whole mass."""
    upper, lower, first, last = _log_masses(tilting, edges, 1.0)
    below = _log_sums(np.append(first, upper))
    above = _log_sums(np.append(upper, last)[::-1])[::-1]
    return below, above, _log_least_sum(lower)


def _log_least_sum(exponents: Floats) -> float:
    """Return a lower bound on the logarithm of the sum of the exponentials."""
    top = float(exponents.max())
    found = top + math.log(float(np.exp(exponents - top).sum()))
    return found - 1e-6 * (1 + abs(found))


def _log_sums(exponents: Floats) -> Floats:
    """Return upper bounds on the logarithms of the cumulative sums of exponentials."""
    top = np.maximum.accumulate(exponents)
    shares = np.exp(np.minimum(exponents[None, :] - top[:, None], 0.0))
    found = top + np.log(np.tril(shares).sum(axis=1))
    return np.asarray(found + 1e-6)
