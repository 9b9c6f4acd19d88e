"""Certified values of the binomial distribution: probabilities in double precision, and also tails in Arb.

A mass is the probability of one value, P[X = k] for X ~ Binomial(N, p).

The lower tail P[X <= k] is the mass of k times the ratio S = P[X <= k] / P[X = k]. S is a continued fraction
with positive tails. Some hundred terms give full precision for any number of trials. The masses of many
counts at once come from Stirling's series and the deviance, each with an error bound.

Near the mean, a tail follows from the same tail at a larger success probability ``other``. As a function of
the probability t, P[X <= k] has the derivative -(N - k) C(N, k) t^k (1 - t)^(N - k - 1). Let w = other - p, and
let m be the mass of k. Then

    S(p) = S(other) m(other)/m(p) + (N - k) w/(1 - p) * integral over x in (0, 1) of exp(g(x)),
    g(x) = k log(1 + w x/p) + (N - k - 1) log(1 - w x/(1 - p)).

The two first-order terms of g nearly cancel. They are added exactly, and the rest is computed by its series,
so the enclosures of g stay narrow. Proofs: docs/notes/binomial.md (section 1 for this integral).

Source: Loader, Fast and accurate computation of binomial probabilities (2000), for the deviance; DLMF 15.7.5
(Gauss) for the continued fraction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import cache, np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, precision


def shifted_ratio(
    trials: int, probability: Fraction, count: int, other: Fraction, ratio: flint.arb
) -> flint.arb:
    """Return P[X <= count] / P[X = count] for X ~ Binomial(trials, probability).

    The result is computed from ``ratio``, the same quotient at the larger probability ``other``. It has the
    current working precision, and always contains the true value. It is narrow if the difference w of the two
    probabilities is far below ``probability`` and 1 - ``probability``.

    >>> round(float(shifted_ratio(4, Fraction(1, 2), 1, Fraction(33, 64), 1 + flint.arb(31) / 132)), 12)
    1.25
    """
    rest, width = trials - count, other - probability
    steps = width / probability, -width / (1 - probability)
    powers = count, rest - 1
    slope = arb_of(powers[0] * steps[0] + powers[1] * steps[1])
    bends = [arb_of(power * step**2) for power, step in zip(powers, steps, strict=True)]
    arbs = [arb_of(step) for step in steps]

    def density(x: flint.acb, _: bool) -> flint.acb:
        curved = sum((b * _curve(s * x) for b, s in zip(bends, arbs, strict=True)), flint.acb(0))
        return (slope * x - curved * x * x).exp()

    logs = count * arb_of(other / probability).log() + rest * arb_of((1 - other) / (1 - probability)).log()
    area = flint.acb.integral(density, 0, 1).real
    return ratio * logs.exp() + arb_of(rest * width / (1 - probability)) * area


def _curve(z: flint.acb) -> flint.acb:
    """(z - log(1 + z))/z^2 = 1/2 - z/3 + z^2/4 - ..., by its series with a bound on the omitted terms."""
    size = z.abs_upper()
    if not size < _NEAR:
        return flint.acb("nan")
    total, terms = flint.acb(0), 2
    while size**terms > flint.arb(2) ** -flint.ctx.prec and terms < _TERMS:
        terms += 1
    for j in range(terms - 1, -1, -1):
        total = flint.acb(1) / (j + 2) - z * total
    cut = (size**terms).upper()
    error = flint.arb(0, cut)
    return total + flint.acb(error, error)


_NEAR, _TERMS = 0.25, 128


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
MOST_TRIALS = 10**15
"""The largest number of trials. Counts up to this number, and their differences, are exact in double precision."""
UNIT = 2.0**-53
"""The largest relative error of one rounded operation in double precision."""


def check_law(trials: int, probability: Fraction) -> None:
    """Raise ValueError unless ``trials`` and ``probability`` are allowed for a binomial distribution.

    Raises:
        ValueError: for trials outside 0 .. 10^15 or a probability outside [0, 1].
    """
    whole(trials, "trials", 0, MOST_TRIALS)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability ({probability!r}) must be in [0, 1]")


def mass(trials: int, probability: Fraction, count: int) -> flint.arb:
    """Return P[X = count] for X ~ Binomial(trials, probability), at the current working precision.

    >>> with precision(80): float(mass(4, Fraction(1, 2), 1))
    0.25
    """
    if not 0 <= count <= trials:
        return flint.arb(0)
    if probability in (0, 1):
        return flint.arb(int(count == trials * probability))
    ways = (flint.arb(j + 1).lgamma() for j in (trials, count, trials - count))
    logs = count * arb_of(probability).log() + (trials - count) * arb_of(1 - probability).log()
    return (next(ways) - next(ways) - next(ways) + logs).exp()


def tail_ratio(trials: int, probability: Fraction, count: int) -> flint.arb:
    """Return P[X <= count] / P[X = count] for X ~ Binomial(trials, probability), at the current working precision.

    The count must be at most (trials + 1) probability.

    >>> with precision(80): float(tail_ratio(4, Fraction(1, 2), 1))
    1.25

    Raises:
        ValueError: for a count outside [0, (trials + 1) probability], or equal to trials.
    """
    if not 0 <= count <= (trials + 1) * probability or count >= trials:
        raise ValueError(f"count ({count!r}) must be in [0, (trials + 1) * probability] and below trials")
    spread = math.sqrt(trials * probability * (1 - probability))
    if spread > _WIDE and count > trials * probability - 2 * spread:
        other = Fraction(count + math.ceil(3 * spread), trials)
        return shifted_ratio(trials, probability, count, other, _refined_ratio(trials, other, count))
    start = _far_enough(trials, probability, count)
    odds, ratio = (1 - probability) / probability, _refined_ratio(trials, probability, start)
    for j in range(start + 1, count + 1):  # S_j = 1 + (mass(j - 1) / mass(j)) S_{j-1}
        ratio = 1 + ratio * (j * odds.numerator) / ((trials - j + 1) * odds.denominator)
    return ratio


_WIDE = 2048
"""From this standard deviation on, the integral near the mean takes less time than the recurrence."""


def _far_enough(trials: int, probability: Fraction, count: int) -> int:
    """Return a count at which the continued fraction converges fast: half a standard deviation below the mean."""
    spread = math.sqrt(trials * probability * (1 - probability))
    return max(0, min(count, math.floor(trials * probability - spread / 2)))


def _refined_ratio(trials: int, probability: Fraction, count: int) -> flint.arb:
    depth = 32
    while True:
        ratio = _gauss(trials, probability, count, min(depth, count))
        if depth >= count or ratio.rel_accuracy_bits() >= flint.ctx.prec - 48:
            return ratio
        depth *= 2
        if depth > _MOST_TERMS:
            return ratio  # still an enclosure


_MOST_TERMS = 1 << 14


def _gauss(trials: int, probability: Fraction, count: int, depth: int) -> flint.arb:
    """Gauss's continued fraction for S. Its exact tail at ``depth`` lies in [1 - A, 1].

    1/S = t_0, t_m = 1 - A_m / (1 + B_m / t_{m+1}), all t_m in (0, 1], and t_count = 1.
    """
    odds, rest = arb_of((1 - probability) / probability), trials - count

    def falling(m: int) -> flint.arb:
        return odds * ((count - m) * (rest + m)) / ((rest + 2 * m) * (rest + 2 * m + 1))

    tail = flint.arb(1).union(1 - falling(depth))
    if depth == count:
        tail = flint.arb(1)
    for m in range(depth - 1, -1, -1):
        rising = odds * ((m + 1) * (trials + m + 1)) / ((rest + 2 * m + 1) * (rest + 2 * m + 2))
        tail = 1 - falling(m) / (1 + rising / tail)
    return 1 / tail


def tail_ratios(trials: Counts, counts: Counts) -> tuple[Floats, Floats]:
    """Return P[X <= count] / P[X = count] for many X ~ Binomial(trials, 1/2), and proved relative errors.

    The results are in double precision.

    >>> ratios, errors = tail_ratios(np.array([1000, 2001]), np.array([450, 900]))
    >>> bool(errors.max() < 1e-9)
    True

    Raises:
        ValueError: for a count outside 0 .. trials/2.
    """
    if np.any(counts < 0) or np.any(2 * counts > trials):
        raise ValueError("counts must be at least 0 and at most half of the trials")
    start, depth = np.maximum(counts - _STEPS, 0), 64
    while True:
        one, other = (_gauss_of_coins(trials, start, depth, cut) for cut in (False, True))
        gap = np.abs(one - other) / np.minimum(one, other)
        if np.max(gap, initial=0.0) < 1e-13 or depth >= _DEEPEST:
            break
        depth *= 2
    kept = 1 - start / (trials - start + 1.0)  # 1 - A_0, the least of all 1 - A_m
    ratio = np.maximum(one, other)
    for step in range(1, _STEPS + 1):  # S_j = 1 + (mass(j - 1) / mass(j)) S_{j-1}
        j = np.minimum(start + step, counts)
        ratio = np.where(start + step <= counts, 1 + ratio * j / (trials - j + 1.0), ratio)
    return ratio, gap + UNIT * (depth + 2) * (16 + 8 / kept)


_STEPS = 3
_DEEPEST = 2048


def _gauss_of_coins(trials: Counts, counts: Counts, depth: int, cut: bool) -> Floats:
    """``_gauss`` in double precision, with the tail at ``depth`` set to one end of its interval.

    t_m = ((1 - A) t + B)/(t + B) has only positive terms, and its relative derivative is at most A < 1.
    """
    hits, rest = counts.astype(np.float64), np.maximum(trials - counts, 1).astype(np.float64)

    def falling(m: int) -> Floats:
        found: Floats = np.maximum(hits - m, 0) * (rest + m) / ((rest + 2 * m) * (rest + 2 * m + 1))
        return found

    tail = 1 - falling(depth) if cut else np.ones(len(hits))
    for m in range(depth - 1, -1, -1):
        rising = (m + 1) * (hits + rest + m + 1) / ((rest + 2 * m + 1) * (rest + 2 * m + 2))
        tail = np.where(hits > m, ((1 - falling(m)) * tail + rising) / (tail + rising), 1.0)
    return 1 / tail


def lower_tail(trials: int, probability: Fraction, count: int) -> flint.arb:
    """Return P[X <= count] for X ~ Binomial(trials, probability), at the current working precision.

    The result has a small relative error if ``count`` is at most the mean. Above the mean, the function
    returns one minus the upper tail.

    >>> with precision(80): float(lower_tail(4, Fraction(1, 2), 1))
    0.3125
    """
    if count < 0 or (probability == 1 and count < trials):
        return flint.arb(0)
    if count >= trials or probability == 0:
        return flint.arb(1)
    if count <= (trials + 1) * probability:
        return mass(trials, probability, count) * tail_ratio(trials, probability, count)
    return 1 - lower_tail(trials, 1 - probability, trials - count - 1)


@dataclass(frozen=True)
class LogMasses:
    """Logarithms of binomial probabilities. Each true value is within ``errors`` (absolute, proved) of ``values``."""

    values: Floats
    errors: Floats


def log_masses(trials: int | Counts, probability: Fraction, counts: Counts) -> LogMasses:
    """Return the logarithms of P[X = k] for the ``counts`` k in 0 .. trials, and proved absolute errors.

    ``trials`` may be an array of the same shape as ``counts``, if ``trials`` times the denominator of
    ``probability`` fits into 62 bits.

    >>> found = log_masses(4, Fraction(1, 2), np.arange(5))
    >>> bool(np.all(abs(np.exp(found.values) - np.array([1, 4, 6, 4, 1]) / 16) < 1e-14))
    True

    Raises:
        ValueError: see ``check_law``; and for a probability within 1e-270 of 0 or 1.
    """
    most = trials if isinstance(trials, int) else int(np.max(trials, initial=0))
    check_law(most, probability)
    if not _RAREST <= probability <= 1 - _RAREST:
        raise ValueError(
            f"probability ({float(probability)!r}) must be in [1e-270, 1 - 1e-270] to compute logarithms of masses"
        )
    away = _away(trials, most, probability, counts)
    tries, hits = np.asarray(trials, dtype=np.float64), counts.astype(np.float64)
    first = _deviance(hits, tries * float(probability), away)
    second = _deviance(tries - hits, tries * float(1 - probability), -away)
    whole, left, right = _stirling(tries), _stirling(hits), _stirling(tries - hits)
    values = whole - left - right - first[0] - second[0]
    sizes = whole + left + right + first[0] + second[0]
    return LogMasses(values, first[1] + second[1] + UNIT * (16 * sizes + 16))


_RAREST = Fraction(1, 10**270)


def _away(trials: int | Counts, most: int, probability: Fraction, counts: Counts) -> Floats:
    """Distances of the counts from the mean, by exact integer differences and at most two rounded operations."""
    over, under = probability.numerator, probability.denominator
    if most * under < 2**62:
        difference: Counts = counts * under - trials * over
        return difference.astype(np.float64) / under
    if not isinstance(trials, int):
        raise ValueError(
            f"probability ({probability!r}) must have a denominator below {2**62 // most} if trials is an array"
        )
    base = math.floor(trials * probability)
    return (counts - base).astype(np.float64) - float(trials * probability - base)


def _deviance(count: Floats, mean: Floats, away: Floats) -> tuple[Floats, Floats]:
    """Return x log(x/M) + M - x and its proved error, for x = ``count``, M = ``mean`` and x - M = ``away``."""
    whole = count + mean
    slant = away / np.where(whole > 0, whole, 1.0)
    square = slant * slant
    series = square * np.polynomial.polynomial.polyval(square, _ODD)
    near = away * slant + 2 * count * slant * series
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(count > 0, count * np.log(count / np.where(mean > 0, mean, 1.0)), 0.0) - away
    close = np.abs(slant) < 0.1
    value = np.maximum(np.where(close, near, far), 0.0)
    return value, UNIT * (np.where(close, 16.0, 256.0) * value + 8.0)


_ODD = np.array([1 / (2 * j + 1) for j in range(1, 10)])
_TABLE = 16


def _stirling(count: Floats) -> Floats:
    """log(k!) - k log k + k, from a table below 16 and by Stirling's enveloping series from 16 on."""
    safe = np.maximum(count, _TABLE)
    inverse = 1 / (safe * safe)
    series = np.polynomial.polynomial.polyval(inverse, _BERNOULLI) / safe
    large = 0.5 * np.log(2 * np.pi * safe) + series
    return np.where(count < _TABLE, _small()[np.minimum(count, _TABLE - 1).astype(np.int64)], large)


_BERNOULLI = np.array([1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188])


@cache
def _small() -> Floats:
    """The first values of ``_stirling``, each the double nearest to an Arb enclosure of 128 bits."""
    with precision(128):
        rest = (flint.arb(k + 1).lgamma() - (k * flint.arb(k).log() - k if k else 0) for k in range(_TABLE))
        return np.array([float(value.mid()) for value in rest])
