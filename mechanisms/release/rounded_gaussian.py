"""Gaussian noise that is exact after rounding to a public grid: no released bit has a rounding error.

**Theorem.** Let f and sigma be real functions of the data and Z a real standard normal variable. Let the real
mechanism M = f + sigma Z have some privacy guarantee. Then the integer round(M / 2^exponent) has the same
guarantee, because it is a function of M alone (post-processing). So the guarantee of the real Gaussian mechanism
holds unchanged for all f and sigma. The one condition is that the f and sigma given here are exactly the
functions of the data for which the guarantee was computed. Everything that is computed from the integers alone has
the same guarantee, also the released doubles (2^exponent times the integers).

The integers have exactly this distribution. Karney's algorithm draws Z ("Sampling exactly from the normal
distribution", ACM Trans. Math. Softw. 42, 2016). It compares uniform numbers and draws only as many bits of
them as the comparison needs. It returns Z = +-(k + x) with the first bits of x. Further bits are drawn until
integer arithmetic decides the rounding. Each comparison ends with probability one. No step uses floating
point. The compiled fast path reads one 64-bit word of each uniform number. If this word does not decide a
comparison, the exact path reads the same words again. So both paths give the same integers.

Not covered: the time that a draw takes, and an operating system whose entropy is not uniform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpproof.mechanisms.release._rounded_gaussian_kernels import ALL, MORE_WORDS, rounded
from dpproof.mechanisms.release.words import Words, WordSource, WordStream, system_words

_BLOCK = 1 << 16
_WORDS_PER_DRAW = 24
"""Estimate of the words that one draw reads. It only sets how many words are requested at a time."""
_WIDEST = 53
"""Noise of more than about 2^53 grid steps is drawn by the exact path."""


def rounded_gaussian(
    means: Sequence[Fraction],
    variances: Sequence[Fraction],
    exponent: int,
    *,
    times: int = 1,
    source: WordSource = system_words,
) -> list[int]:
    """Return draws of round((f + sigma Z) / 2^exponent), Z standard normal, for each mean f and variance sigma^2.

    Args:
        means: the means f, exact rationals.
        variances: sigma^2, exact rationals above 0, one for each mean; sigma may be irrational.
        exponent: the public grid is all multiples of 2^exponent.
        times: how often the vector (one draw for each mean) is drawn. The returned list holds all vectors in a row.
        source: the source of random 64-bit words. Draws from another source than the default are a simulation.

    Returns:
        The nearest integers. The released numbers are 2^exponent times them.

    Raises:
        ValueError: a variance is not above 0, or a mean or variance is not an exact rational. Or there are more or
            fewer variances than means.

    >>> from dpproof.mechanisms.release.words import seeded_words
    >>> source = seeded_words(np.random.default_rng(0))
    >>> rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -2, times=3, source=source)
    [-11, 9, -6]
    """
    laws, stream = _laws(means, variances, exponent), WordStream(source)
    found = np.empty(len(laws) * times, np.int64)
    which = np.tile(np.arange(len(laws)), times)
    exactly: dict[int, int] = {}
    tables = _tables(laws)
    at, draw = 0, 0
    while True:
        why, draw, at = rounded(stream.held, at, which, draw, *tables, found)
        stream.drop(int(at))
        at = 0
        if why == ALL:
            break
        if why == MORE_WORDS:
            stream.more(max(64, min(_BLOCK, _WORDS_PER_DRAW * (len(which) - draw))))
            continue
        exactly[int(draw)] = _exactly(laws[which[draw]], stream)
        stream.drop_read()
        draw += 1
    whole = [law.whole for law in laws] * times
    values = [start + offset for start, offset in zip(whole, found.tolist(), strict=True)]
    for place, value in exactly.items():
        values[place] = value
    return values


def exact_rounded_gaussian(
    means: Sequence[Fraction], variances: Sequence[Fraction], exponent: int, stream: WordStream
) -> list[int]:
    """Return the integers of `rounded_gaussian`, drawn from a stream of words by the slower exact algorithm alone.

    >>> from dpproof.mechanisms.release.words import seeded_words
    >>> stream = WordStream(seeded_words(np.random.default_rng(0)))
    >>> exact_rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -2, stream)
    [-11]
    """
    return [_exactly(law, stream) for law in _laws(means, variances, exponent)]


@dataclass(frozen=True)
class _Law:
    """Distribution of floor(whole + c/d + sqrt(p/q) Z).

    Here f/2^exponent + 1/2 is whole + c/d, with 0 <= c < d.
    """

    whole: int
    c: int
    d: int
    p: int
    q: int


def _laws(means: Sequence[Fraction], variances: Sequence[Fraction], exponent: int) -> list[_Law]:
    if len(means) != len(variances):
        raise ValueError(
            f"variances ({len(variances)}) must have the same number of entries as means ({len(means)})"
        )
    return [_law(mean, variance, exponent) for mean, variance in zip(means, variances, strict=True)]


def _law(mean: Fraction, variance: Fraction, exponent: int) -> _Law:
    if not all(isinstance(number, (Fraction, int)) for number in (mean, variance)):
        given = f"mean ({mean!r}) and variance ({variance!r})"
        raise ValueError(f"{given} must be exact rationals: fractions.Fraction, or integers")
    if variance <= 0:
        raise ValueError(f"variance ({variance!r}) must be above 0")
    up, down = max(-exponent, 0), max(exponent, 0)
    d = mean.denominator << (down + 1)
    whole, c = divmod((mean.numerator << (up + 1)) + (d >> 1), d)
    return _Law(whole, c, d, variance.numerator << 2 * up, variance.denominator << 2 * down)


def _tables(laws: Sequence[_Law]) -> tuple[Words, Words, Words]:
    """Return fractions, scales and shifts for the fast path. A scale of 0 selects the exact path."""
    fractions = np.array([(law.c << 64) // law.d for law in laws], np.uint64)
    rows = np.array([_scale(law.p, law.q) for law in laws], np.uint64).reshape(-1, 2)
    return fractions, rows[:, 0].copy(), rows[:, 1].copy()


@lru_cache(maxsize=1024)
def _scale(p: int, q: int) -> tuple[int, int]:
    """Return B and t - 6 such that sqrt(p/q) is in [B, B + 1] 2^-t and B is in [2^61, 2^63)."""
    exponent = (p.bit_length() - q.bit_length() + 1) // 2  # log2 sqrt(p/q) is within [-1, 1/2] of it
    if exponent > _WIDEST:
        return 0, 0
    t = 62 - exponent
    return math.isqrt((p << 2 * t) // q), min(t - 6, 127)  # beyond 127 the fast path sees 0 all the same


@dataclass(eq=False)
class _Uniform:
    """A uniform number in (0, 1) whose words are drawn only when they are requested."""

    stream: WordStream
    words: list[int] = field(default_factory=list)

    def word(self, place: int) -> int:
        """Return the word at this place of the number's binary expansion. A word has 64 binary digits."""
        while len(self.words) <= place:
            self.words.append(self.stream.next())
        return self.words[place]

    def below(self, other: _Uniform) -> bool:
        """Return whether this number is smaller than another. Read further words while the words agree."""
        place = 0
        while (one := self.word(place)) == (two := other.word(place)):
            place += 1
        return one < two


def _exactly(law: _Law, stream: WordStream) -> int:
    """Make one draw in integers of any size."""
    while True:
        k = _whole(stream)
        if k is None:
            continue
        x = _Uniform(stream)
        x.word(0)
        if all(_step_coin(k, x, stream) for _ in range(k + 1)):
            return law.whole + _floor(law, k, x, minus=bool(stream.next() & 1))


def _floor(law: _Law, k: int, x: _Uniform, *, minus: bool) -> int:
    """Return floor(fraction -+ sqrt(square) (k + x)), reading as many words of x as needed."""
    known = 0
    for place in range(len(x.words)):
        known = (known << 64) | x.word(place)
    place = len(x.words)
    while True:
        ends = (Fraction((k << (64 * place)) + known + step, 1 << (64 * place)) for step in (0, 1))
        one, two = (_root_floor(law, end, minus=minus) for end in ends)
        if one == two:
            return one
        known = (known << 64) | x.word(place)
        place += 1


def _root_floor(law: _Law, size: Fraction, *, minus: bool) -> int:
    """Return floor(c/d -+ sqrt(p/q) size) = floor((c r -+ sqrt(inside))/(d r)) by an integer square root."""
    r = law.q * size.denominator
    inside = law.p * law.q * (law.d * size.numerator) ** 2
    root = math.isqrt(inside)
    if minus:
        return (law.c * r - root - (root * root < inside)) // (law.d * r)
    return (law.c * r + root) // (law.d * r)


def _whole(stream: WordStream) -> int | None:
    """Return k with probability proportional to exp(-k^2/2), or None if the candidate is rejected."""
    k = 0
    while _half_coin(stream):
        k += 1
    return k if all(_half_coin(stream) for _ in range(k * (k - 1))) else None


def _half_coin(stream: WordStream) -> bool:
    """Toss a coin of probability exp(-1/2): the falling run 1/2 > u1 > u2 > ... has even length."""
    last = _Uniform(stream)
    if last.word(0) >= 1 << 63:
        return True
    length = 1
    while (following := _Uniform(stream)).below(last):
        last, length = following, length + 1
    return length % 2 == 0


def _step_coin(k: int, x: _Uniform, stream: WordStream) -> bool:
    """Toss a coin of probability exp(-x (2k + x)/(2k + 2)).

    A falling run starts at x, and each of its steps must also pass a coin of `_below`. The coin comes up if
    the length is even.
    """
    last, length = x, 0
    while (following := _Uniform(stream)).below(last) and _below(k, x, stream):
        last, length = following, length + 1
    return length % 2 == 0


def _below(k: int, x: _Uniform, stream: WordStream) -> bool:
    """Toss a coin of probability (2k + x)/(2k + 2)."""
    sides = 2 * k + 2
    while (word := stream.next()) >= 2**64 - 2**64 % sides:
        pass
    side = word % sides
    return side < 2 * k or (side == 2 * k and _Uniform(stream).below(x))
