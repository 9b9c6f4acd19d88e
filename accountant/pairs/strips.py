"""Proved steps of the trapezoidal rule for a sampled Gaussian's loss, and the decay of its rare jumps.

The integrand is f(y) = phi(y) e^(up l(y) - down l(-y) + i t L(y)), where L is the loss. On the line Im y = a, with
the angle turn = a/sigma, 1 - q + q e^w is multiplied by 1 - p + p e^(i turn), where p = p(Re y) is the sampled
share. So |f(y + i a)| is f(y) at t = 0, times e^(a^2/2), times powers of the size and the angle of that factor,
and of the one at -y. Where p is small, a factor is close to 1. ``Blocks`` are intervals of y with proved bounds
on the integrand's mass. They bound integrals along such lines from above. Derivations: docs/notes/rare_jumps.md,
sections 2 to 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.pairs.base import Floats
from dpproof.accountant.pairs.sampled_loss import REACH, Sample, SoftCut, high_end, largest_pull

_QUIET = 72.0
"""The steps are chosen so that the trapezoidal rule's relative error is at most about 2 exp(-72) = 1e-31."""
_FEW = 300
"""If the simple bound gives a rule with at most this many nodes, no better bound is computed."""
_FARTHEST, _SEEN, _PASSES, _MOST_BLOCKS, _LEAST_WIDTH = 38.0, 400.0, 5, 300, 1 / 8


@dataclass(frozen=True)
class Tilting:
    """The density of the output y, phi(y) e^(up l(y) - down l(-y)) up to a factor, times the weights of the cuts.

    ``up`` and ``down`` are at least 0, and one of them is above 0. The loss contains l(y) if ``up`` is above 0, and
    -l(-y) if ``down`` is.
    """

    sample: Sample
    up: float
    down: float
    cuts: tuple[SoftCut, ...] = ()

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, in norms of a record."""
        return self.sample.sigma

    def log_tilt(self, y: Floats) -> Floats:
        """Return up l(y) - down l(-y)."""
        found = np.zeros_like(y)
        if self.up:
            found = found + self.up * self.sample.log_ratio(y)[0]
        if self.down:
            found = found - self.down * self.sample.log_ratio(-y)[0]
        return found

    def reach(self) -> tuple[float, float, float]:
        """Return how far down and up a rule goes, and the logarithm of a bound on what is left out beyond blocks.

        Further down, the terms without the cuts' weights fall by at least ``REACH`` per unit of y (logarithmic).
        Where only jumps are kept, the rule begins near the cut.
        """
        return _reach(self)

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
        a = np.minimum(_half_widths(), self.widest)
        if not self.cuts:
            turn = a / self.sigma
            turn, both = turn * self.sample.most, 2 if self.up and self.down else 1
            grown = a * a / 2 + both * frequency * turn - self.down * np.log(np.cos(turn / 2))
            step, alias = _best(a, grown)
            low, high, _ = self.reach()
            if (low + high) / step <= _FEW:
                return step, alias
        strips = _strips(self)
        grown = strips.log_growth(frequency)
        if self.cuts:  # for the probabilities of jumps, which belong to the density without a tilt
            grown = np.maximum(grown, _plain_growth(Tilting(self.sample, 1.0, 0.0, self.cuts), self.widest))
        found = _best(strips.a, strips.a * strips.a / 2 + grown)
        return found if self.cuts else max((step, alias), found)

    def log_beyond(self, times: Floats) -> Floats:
        """Return logs of bounds on |int f| over its value at t = 0, for t beyond each of ``times``.

        f is the integrand with the weights of the cuts. The path of integration moves to Im y = a, where the size of
        e^(i t L) is exp(-t times the angle), which falls in t. The best of several a is taken.
        """
        return _strips(self).log_shifted(times)

    @property
    def widest(self) -> float:
        """The largest half-width. The angle a/sigma times the number of records is below pi.

        It is below pi/2 if ``down`` is above 0, and for several records.
        """
        most = self.sample.most
        return (0.49 if self.down or most > 1 else 0.98) * math.pi * self.sigma / most


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
    masses, as shares of the whole mass. ``spread`` has upper bounds on the variances of the number of sampled
    records at -y.
    """

    edges: Floats
    log_masses: Floats
    spread: Floats

    def strips(self, tilting: Tilting, widest: float) -> Strips:
        """Return bounds on the lines Im y = a, for several a up to ``widest``.

        If ``down`` is above 0, the angles a/sigma must be at most pi/2.
        """
        a = np.minimum(_half_widths()[::5], widest)
        turn = (a / tilting.sigma)[:, None]
        return Strips(a, self._log_moved(a, tilting), *self._angles(tilting, turn))

    def _angles(self, tilting: Tilting, turn: Floats) -> tuple[Floats, Floats]:
        """Return the largest and the smallest angle of e^(i t L) over t in each block."""
        sample, none = tilting.sample, np.zeros_like(turn)
        largest, smallest = none, none
        if tilting.up:
            most, least = sample.angles(self.edges, turn)
            largest = largest + np.hstack((most, sample.most * turn))
            smallest = smallest + np.hstack((none, least))
        if tilting.down:
            most, least = sample.angles(-self.edges, turn)
            largest = largest + np.hstack((sample.most * turn, most))
            smallest = smallest + np.hstack((least, none))
        return largest, smallest

    def _log_moved(self, a: Floats, tilting: Tilting) -> Floats:
        """Return the logarithms of the masses of the blocks on the lines Im y = a at t = 0, without exp(a^2/2)."""
        found = self.log_masses + self._log_cuts(a, tilting.cuts)
        if tilting.down:
            half = (a / tilting.sigma)[:, None] / 2
            shrunk = np.minimum(4 * self.spread * np.sin(half) ** 2, np.sin(tilting.sample.most * half) ** 2)
            found = found - tilting.down / 2 * np.log1p(-shrunk)
        return np.asarray(found)

    def _weights(self, cut: SoftCut) -> tuple[Floats, Floats]:
        """Return logs of the largest weights in the blocks, of the part that is kept and of the other one."""
        kept = cut.between(cut.log_kept(self.edges)[0])
        return kept, cut.between(cut.log_dropped(self.edges)[0], kept=False)

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


@dataclass(frozen=True)
class Strips:
    """Bounds on the integrand in blocks (columns), on several lines Im y = a (rows)."""

    a: Floats
    log_masses: Floats
    """Upper bounds on the logarithms of the masses at t = 0, without the factor exp(a^2/2)."""
    largest: Floats
    """Upper bounds on the angle of e^(i t L) over t. ``smallest`` are lower ones."""
    smallest: Floats

    def log_growth(self, frequency: float) -> Floats:
        """Return logarithms of bounds on integrals along Im y = a, over exp(a^2/2) times the one on the real line."""
        return _log_sum(self.log_masses + frequency * self.largest)

    def log_shifted(self, times: Floats) -> Floats:
        """Return the smallest of the bounds for several a, for each time; see ``Tilting.log_beyond``."""
        fixed = self.log_masses + (self.a * self.a)[:, None] / 2
        return np.array([_log_sum(fixed - t * self.smallest).min() for t in times])


@lru_cache(maxsize=64)
def _strips(tilting: Tilting) -> Strips:
    """Return bounds on the lines Im y = a for the half-widths that are tried."""
    return tilting.blocks.strips(tilting, tilting.widest)


@lru_cache(maxsize=64)
def _plain_growth(plain: Tilting, widest: float) -> Floats:
    """Return ``Strips.log_growth`` at t = 0 of a density that is not tilted, for half-widths up to ``widest``."""
    return plain.blocks.strips(plain, widest).log_growth(0.0)


def _log_sum(exponents: Floats) -> Floats:
    """Return upper bounds on the logarithms of the sums of the rows' exponentials."""
    top = exponents.max(axis=1, keepdims=True)
    found = top[:, 0] + np.log(np.exp(exponents - top).sum(axis=1))
    return np.asarray(found + 1e-6 * (1 + np.abs(found)))


def _edges(tilting: Tilting) -> Floats:
    """Return edges from below all mass to above it, which are fine near the mass.

    Beyond them, the integrand falls by at least ``_FARTHEST`` per unit of y (logarithmic).
    """
    sample, sigma = tilting.sample, tilting.sigma
    # Beyond this output, nearly all records are sampled.
    even = sigma * math.log(sample.most / sample.rate) + sample.most / sigma
    fineness = min(sample.most, 4)  # the number of sampled records changes in several places
    high = _FARTHEST + max(largest_pull(sample, tilting.up, tilting.down, _FARTHEST), even)
    count = math.ceil(math.log(high / _FARTHEST) / 0.03) + 1
    further = np.geomspace(_FARTHEST, high, count)
    low = -further[::-1] if tilting.down else further[:0]
    coarse = edges = np.concatenate((low[:-1], np.linspace(-_FARTHEST, _FARTHEST, 200)[:-1], further))
    for _ in range(_PASSES):
        upper, lower, _, _ = _log_masses(tilting, edges)
        some = np.flatnonzero(upper > _log_least_sum(lower) - _SEEN)
        if not some.size:
            raise OverflowError("the density of the tilted loss leaves the range of doubles")
        first, last = edges[some[0]], edges[some[-1] + 1]
        count = math.ceil(min((last - first) / _LEAST_WIDTH, _MOST_BLOCKS) * fineness)
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
    share, least = tilting.sample.shares(-edges)
    # Further down, the size of 1 - q + q e^(w + i turn) at -y grows up to an angle of pi/2.
    low, high = np.append(least, 0.0), np.append(share[0], share)
    middle = np.clip(tilting.sample.most / 2, low, high)
    return Blocks(edges, masses, middle * (tilting.sample.most - middle))


@lru_cache(maxsize=64)
def _reach(tilting: Tilting) -> tuple[float, float, float]:
    """Return ``Tilting.reach``."""
    if not tilting.cuts:
        high = high_end(tilting.sample, tilting.up, tilting.down)
        return REACH, high, 0.1 - high * high / 2 + float(tilting.log_tilt(np.array([high]))[0])
    edges = tilting.blocks.edges
    below, beyond, least = _log_tails(tilting, edges)
    far = (edges >= tilting.sample.most / tilting.sigma + REACH) & (beyond - least <= -_QUIET - 10)
    last = int(np.argmax(far)) if far.any() else len(edges) - 1
    if not any(cut.keeps_jumps for cut in tilting.cuts):
        return REACH, float(edges[last]), float(beyond[last])
    first = max(int(np.argmin(below - least <= -_QUIET - 10)) - 1, 0)
    return -float(edges[first]), float(edges[last]), float(np.logaddexp(below[first], beyond[last]))


def _log_masses(tilting: Tilting, edges: Floats, more: float = 0.0) -> tuple[Floats, Floats, float, float]:
    """Return upper and lower logarithms of the integrals between edges, and upper ones below and above all edges.

    The integrand is that of the real line, without the factor of the normal density. Without the cuts, its
    logarithm g has the slope -y + (up p(y) + down p(-y))/sigma. So on a block that begins at u, g(y) is at most g(u)
    plus the largest slope times y - u. Each cut's weight is monotone, so it is at most that
    of an end. Its logarithm is concave. So the second derivative of the whole exponent is at most K =
    (up/sigma^2) p (1 - p) - 1, and the exponent is at least its chord less K^+ width^2/8. The upper
    bounds are for intervals that are longer by ``more``.
    """
    sigma, up, most_records = tilting.sigma, tilting.up, tilting.sample.most
    loss = tilting.log_tilt(edges)
    kept, most = np.zeros_like(edges), np.zeros(len(edges) + 1)
    for cut in tilting.cuts:
        weights = cut.log_kept(edges)[0]
        kept, most = kept + weights, most + cut.between(weights)
    share, other = tilting.sample.shares(edges)[0], tilting.sample.shares(-edges)[0]
    plain, widths = loss - edges * edges / 2, np.diff(edges)
    value = plain + kept
    slope = (up * share[1:] + tilting.down * other[:-1]) / sigma - edges[:-1]
    bend = up / (sigma * sigma) * np.minimum(most_records * share[1:], most_records**2 / 4) - 1
    grown = (
        np.maximum(slope, 0.0) * widths + np.log(widths + more) if more else _log_exponential(slope, widths)
    )
    upper = plain[:-1] + most[1:-1] + grown
    chord = _log_exponential(np.diff(value) / widths, widths)
    lower = value[:-1] + chord - np.maximum(bend, 0.0) * widths**2 / 8
    outside = math.log(1 / _FARTHEST + more)
    first, last = plain[0] + most[0], plain[-1] + most[-1]
    rounding = 1e-6 + 1e-14 * (np.abs(loss) + edges * edges + np.abs(kept))
    between = np.maximum(rounding[:-1], rounding[1:])
    ends = first + outside + rounding[0], last + outside + rounding[-1]
    return upper + between, lower - between, float(ends[0]), float(ends[1])


def _log_exponential(slope: Floats, width: Floats) -> Floats:
    """Return the logarithm of the integral of exp(slope x) for x from 0 to the width."""
    turn = slope * width
    size = np.maximum(np.abs(turn), 1e-9)
    # (e^t - 1)/t for t > 0. For t < 0 it is e^t times this.
    factor = np.where(size > 30, size - np.log(size), np.log(np.expm1(np.minimum(size, 30.0)) / size))
    return np.asarray(np.log(width) + factor + np.minimum(turn, 0.0))


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
    """Return upper bounds on the logarithms of the cumulative sums of exponentials.

    After each pass, an entry is the sum of twice as many terms. Each pass errs by at most 2^-50 (log 2 + the mean size
    of the sums that it adds), and this mean is at most the size of the result plus the logarithm of their number.
    """
    found, terms = exponents, 1
    while terms < len(exponents):
        found = np.append(found[:terms], np.logaddexp(found[terms:], found[:-terms]))
        terms *= 2
    return np.asarray(found + 1e-6 + 1e-12 * np.abs(found))
