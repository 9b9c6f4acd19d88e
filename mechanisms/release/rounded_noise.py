"""Fast draws of real Gaussian or Laplace noise that is rounded to integers. The distribution of the integers is exact.

**Theorem.** Let f be an integer function of the data, sigma > 0 a public number and Z a real standard normal variable.
Then f + round(sigma Z) = round(f + sigma Z). This integer is a function of the real Gaussian mechanism f + sigma Z
alone (post-processing). So the guarantee of the real mechanism, such as mu-GDP, holds for every bit of f plus the
noise drawn here. The same holds for the Laplace mechanism. The noise does not depend on the data, so it may be drawn
before the data are known.

A draw is round(sigma g(U)), up to its sign, where U is a uniform real number and g is the quantile function. Only the
first 32 or 64 binary digits of U are drawn at first. The compiled fast path decides the integer if a proved bound shows
that every U with these digits gives this integer. Otherwise Arb encloses sigma g(U), and further digits are drawn until
the integer is decided. So no released bit depends on a rounding error. docs/notes/rounded_noise.md has the proof.

Not covered: the time that a draw takes, an operating system whose entropy is not uniform, and errors in Arb, in numba
or in the processor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpproof.accountant.numbers.enclosures import precision
from dpproof.mechanisms.release._rounded_kernel import SIZE_BITS, rounded
from dpproof.mechanisms.release.quantiles import LAPLACE, NORMAL, Quantile, table_of
from dpproof.mechanisms.release.words import Words, WordSource, system_words

_BLOCK = 1 << 15
"""About as many draws as are made at a time."""
_NARROW = 12
"""Up to a noise scale of about 2^12, draws start with 32 binary digits. These decide nearly all draws."""
_WIDEST = 53
"""Noise of more than about 2^53 grid steps is drawn by the exact path alone."""
_LEAST, _MOST = Fraction(1, 1 << 20), Fraction(1 << 40)


class _Rounded:
    """Integer noise: real noise with one scale, rounded. A subclass has the scale as its only field."""

    quantile: ClassVar[Quantile]

    def __post_init__(self) -> None:
        """Refuse a scale that is not an exact rational in (2^-20, 2^40]."""
        for name, scale in vars(self).items():
            if type(scale) not in (Fraction, int) or not _LEAST < scale <= _MOST:
                raise ValueError(
                    f"{name} ({scale!r}) must be a fractions.Fraction or an integer in (2^-20, 2^40]"
                )

    def draw(self, count: int, source: WordSource = system_words) -> NDArray[np.int64]:
        """Return ``count`` independent draws.

        Args:
            count: number of draws, at least 0.
            source: the source of random 64-bit words. Draws from another source than the default are a simulation.

        Raises:
            ValueError: ``count`` is not an integer of at least 0.
        """
        (scale,) = vars(self).values()
        return _drawn(self.quantile, scale, count, source)


@dataclass(frozen=True)
class RoundedNormal(_Rounded):
    """The distribution of round(sigma Z), where Z is a standard normal variable.

    Args:
        sigma: standard deviation before rounding, in grid steps. It is an exact rational in (2^-20, 2^40].

    Raises:
        ValueError: sigma is not an exact rational, or is outside this interval.

    >>> from dpproof.mechanisms.release.words import seeded_words
    >>> RoundedNormal(Fraction(5, 2)).draw(6, seeded_words(np.random.default_rng(0)))
    array([-1, -3, -6,  2,  1,  4])
    """

    quantile = NORMAL

    sigma: Fraction


@dataclass(frozen=True)
class RoundedLaplace(_Rounded):
    """The distribution of round(scale L), where L is a Laplace variable of scale 1 (density exp(-abs(x))/2).

    Args:
        scale: scale before rounding, in grid steps. It is an exact rational in (2^-20, 2^40].

    Raises:
        ValueError: scale is not an exact rational, or is outside this interval.

    >>> from dpproof.mechanisms.release.words import seeded_words
    >>> RoundedLaplace(Fraction(5, 2)).draw(6, seeded_words(np.random.default_rng(0)))
    array([ -1,  -3, -10,   2,   1,   6])
    """

    quantile = LAPLACE

    scale: Fraction


def _drawn(quantile: Quantile, scale: Fraction, count: int, source: WordSource) -> NDArray[np.int64]:
    if type(count) is not int or count < 0:
        raise ValueError(f"count ({count!r}) must be an integer of at least 0")
    law = Law(1, 2, scale.numerator**2, scale.denominator**2)
    found, exactly = floors(quantile, [law], count, source)
    for place, value in exactly.items():
        found[place] = value
    return found


class Law(NamedTuple):
    """Distribution of floor(c/d + sqrt(p/q) X), where X is noise of scale 1, 0 <= c < d, p > 0 and q > 0."""

    c: int
    d: int
    p: int
    q: int


def floors(
    quantile: Quantile, laws: Sequence[Law], times: int, source: WordSource
) -> tuple[NDArray[np.int64], dict[int, int]]:
    """Draw all laws, in order, ``times`` times.

    Returns:
        The draws of the fast path, and the draws of the exact path by their indices in the array. The entries of the
        array at these indices have no meaning.

    >>> found, exactly = floors(NORMAL, [Law(1, 2, 9, 1), Law(0, 1, 2, 3)], 5, system_words)
    >>> found.shape, len(exactly)
    ((10,), 0)
    """
    found, exactly = np.empty(len(laws) * times, np.int64), {}
    scales = [_scale(law.p, law.q) for law in laws]
    narrow = all(scale.exponent <= _NARROW for scale in scales)
    digits = 32 if narrow else 64
    table = table_of(quantile)
    fixed = [
        (scale.leading, scale.shift, (law.c << 64) // law.d) for law, scale in zip(laws, scales, strict=True)
    ]
    tables = (
        table.centres,
        table.coefficients,
        table.bounds(digits),
        np.array(fixed, np.uint64),
        np.array([scale.upper for scale in scales]),
    )
    for part in _blocks(len(laws), times):
        block = found[part]
        undecided = np.empty(len(block), np.int64)
        drawn = _digits(source, len(block), narrow=narrow)
        missed = rounded(drawn, np.uint64(64 - digits), *tables, block, undecided)
        for place in undecided[:missed].tolist():
            law = laws[place % len(laws)]
            exactly[part.start + place] = _exactly(quantile, law, int(drawn[place]), digits, source)
    return found, exactly


def _blocks(laws: int, times: int) -> Iterator[slice]:
    """Cut the draws into blocks, each of which begins with the first law."""
    size = laws * max(1, _BLOCK // max(1, laws))
    return (slice(begin, min(begin + size, laws * times)) for begin in range(0, laws * times, max(1, size)))


def _digits(source: WordSource, count: int, *, narrow: bool) -> NDArray[np.uint32] | Words:
    """Draw ``count`` numbers of 32 or of 64 random bits."""
    return source((count + 1) // 2).view(np.uint32)[:count] if narrow else source(count)


class _Scale(NamedTuple):
    """Fixed-point form of a noise scale sqrt(p/q) for the fast path.

    Attributes:
        exponent: the base-2 logarithm of the scale is in [exponent - 1, exponent + 1/2].
        leading: B in [2^61, 2^63), where the scale is in [B, B + 1] 2^-m. It is 0 for scales that are too large.
        shift: m + 59 - 64, at most 127. It turns units of 2^(-m - 59) into units of 2^-64.
        upper: upper bound on 2^64 times the scale. Infinity selects the exact path.
    """

    exponent: int
    leading: int
    shift: int
    upper: float


@lru_cache(maxsize=1024)
def _scale(p: int, q: int) -> _Scale:
    exponent = (p.bit_length() - q.bit_length() + 1) // 2
    if exponent > _WIDEST:
        return _Scale(exponent, 0, 1, math.inf)
    m = 62 - exponent
    leading = math.isqrt((p << 2 * m) // q)
    upper = max(math.ldexp(leading + 1, 64 - m) * (1 + 2.0**-50), 2.0**-900)
    return _Scale(exponent, leading, min(m + SIZE_BITS - 64, 127), upper)


def _exactly(quantile: Quantile, law: Law, digit: int, digits: int, source: WordSource) -> int:
    """Return the draw that begins with these binary digits. Draw further digits until the integer is decided."""
    minus, tail = digit >> (digits - 1), digit & ((1 << (digits - 1)) - 1)
    while True:
        with precision(digits + 64):
            noise = (arb(law.p) / law.q).sqrt() * quantile.size(
                (arb(tail).union(arb(tail + 1))) / (1 << digits)
            )
            decided = (arb(law.c) / law.d + (-noise if minus else noise)).floor().unique_fmpz()
        if decided is not None:
            return int(decided)
        tail = (tail << 64) | int(source(1)[0])
        digits += 64
