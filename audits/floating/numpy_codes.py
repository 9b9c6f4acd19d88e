"""Numpy's own noise on chosen random words, and the first outputs of any mechanism from a seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.enclosures import arb_of, precision, round_up
from dpproof.audits.floating.codes import ELEMENTARY, FloatCode, Words
from dpproof.audits.floating.lines import Line
from dpproof.audits.floating.sums import Floating

_UNIFORM_BITS = 53
_CHUNK = 312
"""The state of numpy's MT19937 has 624 words of 32 bits. A uniform double takes two."""


def uniforms(words: Words) -> Iterator[np.random.Generator]:
    """Return numpy generators, one for every 312 words, whose uniform doubles are the words times 2^-53.

    A word is in [0, 2^53). The generators share one Mersenne Twister, whose state is set so that it returns these
    words, so each must be used before the next one is asked for. So numpy's own code runs on chosen uniform doubles.

    >>> (rng,) = uniforms(np.array([1 << 52, 3]))
    >>> rng.random(2).tolist() == [0.5, 3 * 2.0**-53]
    True
    """
    source = np.random.MT19937(0)
    for start in range(0, len(words), _CHUNK):
        part = words[start : start + _CHUNK]
        yield raw(np.column_stack([part >> 26 << 5, (part & ((1 << 26) - 1)) << 6]).ravel(), source)


def raw(halves: NDArray[np.int64], source: np.random.MT19937 | None = None) -> np.random.Generator:
    """Return a numpy generator whose next words of 32 bits are given, at most 624 of them.

    Args:
        halves: the words.
        source: the bit generator whose state is set; a new one unless given.

    >>> raw(np.array([5, 7])).bit_generator.random_raw(2).tolist()
    [5, 7]
    """
    state = np.zeros(2 * _CHUNK, np.uint32)
    state[: len(halves)] = _untempered(halves.astype(np.uint32))
    source = np.random.MT19937(0) if source is None else source
    source.state = {"bit_generator": "MT19937", "state": {"key": state, "pos": 0}}
    return np.random.Generator(source)


def _untempered(y: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Invert the tempering of the Mersenne Twister (Matsumoto & Nishimura 1998), a bijection of 32-bit words."""
    y = y ^ (y >> np.uint32(18))
    y = y ^ ((y << np.uint32(15)) & np.uint32(0xEFC60000))
    mask, x = np.uint32(0x9D2C5680), y
    for _ in range(4):
        x = y ^ ((x << np.uint32(7)) & mask)
    z = x
    for _ in range(2):
        z = x ^ (z >> np.uint32(11))
    return z


def numpy_laplace(scale: float) -> FloatCode:
    """Return the code of ``value + rng.laplace(0, scale)``, with numpy's own generator.

    Numpy draws one uniform double U = k 2^-53, and again if it is 0. Word w is k - 1. The noise is scale times
    log(U + U) below U = 1/2, and -scale times log(2 - U - U) above. Both arguments are monotone as they are rounded.

    >>> code = numpy_laplace(1.0)
    >>> code.release(0.0, np.array([2**52 - 1])).tolist() == [0.0]
    True
    """

    def release(value: float, words: Words) -> Floating:
        parts = [
            value + rng.laplace(0.0, scale, min(_CHUNK, len(words) - _CHUNK * i))
            for i, rng in enumerate(uniforms(words + 1))
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    every = ((0, (1 << _UNIFORM_BITS) - 1),)
    one = Fraction(1, 1 << _UNIFORM_BITS)
    return FloatCode(
        release=release, drawn=every, probability=one, pieces=every, lines=partial(_laplace_lines, scale)
    )


def _laplace_lines(scale: float, step: Fraction) -> Iterator[Line]:
    """Return lines for U = 1/2 - k 2^-53 with k > 0, where the noise is -scale times the size of log(1 - k 2^-52).

    A line is the tangent in the middle of its words. The second derivative bounds its distance from the noise.
    """
    s, unit = Fraction(scale), Fraction(1, 1 << 52)
    count = 1 << max(4, min(40, math.floor(math.log2(step / (s * unit**2 * 4))) // 2))
    for first in itertools.count(1, count):
        middle, end = first + count // 2, first + count
        if 16 * end > 1 << 52:
            return
        with precision(192):
            height = -arb_of(s) * arb_of(1 - middle * unit).log()
            start, radius = _ends(height)
        slope = s * unit / (1 - middle * unit)
        curved = s * unit**2 * Fraction(256, 225) * Fraction(count, 2) ** 2 / 2
        rounded = Fraction(ELEMENTARY) * s * end * unit * Fraction(16, 15)
        error = curved + rounded + radius
        yield Line(count, start - slope * (count // 2), slope, error, Fraction(1, 1 << _UNIFORM_BITS))


def _ends(number: flint.arb) -> tuple[Fraction, Fraction]:
    """Return the middle of an enclosure, and a bound on its radius."""
    man, exp = number.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp), Fraction(round_up(number.rad()))


def numpy_normal(sigma: float) -> FloatCode:
    """Return the code of ``value + rng.normal(0, sigma)``, with the table of numpy's own generator.

    Numpy draws one word of 64 bits: the branch (8 bits), the sign, and an integer r of 52 bits. In all branches the
    noise is sigma times (r times a number of the table), rounded after both products. If r is below a threshold of
    the branch, this is returned. Otherwise it is returned sometimes; in branch 0 numpy returns noise of more than
    3.654 sigma instead (Marsaglia & Tsang 2000). Word w is r + 2^52 (2 branch + sign).

    >>> code = numpy_normal(2.0)
    >>> code.release(0.0, code.at([2**51 - 1])).tolist() == [_table()[2] * 2.0**52]
    True
    """
    table = np.array(_table())

    def release(value: float, words: Words) -> Floating:
        r, rest = words & ((1 << _PRODUCT_BITS) - 1), words >> _PRODUCT_BITS
        size = sigma * (r * table[rest >> 1])
        outputs: Floating = value + np.where(rest & 1, -size, size)
        return outputs

    places = range(0, 512 << _PRODUCT_BITS, 1 << _PRODUCT_BITS)
    drawn = tuple((one + 1, one + _fast(one >> (_PRODUCT_BITS + 1))) for one in places[4:])
    every = tuple((one, one + (1 << _PRODUCT_BITS)) for one in places)
    return FloatCode(
        release=release, drawn=drawn, probability=Fraction(1, 1 << 61), pieces=every, error=0.0,
        reach=3.65 * sigma, lines=partial(_normal_lines, sigma),
    )  # fmt: skip


_PRODUCT_BITS = 52


@cache
def _table() -> list[float]:
    """Return the numbers by which numpy multiplies, in its 256 branches, as its generator shows them for r = 2^40."""
    products = [raw(np.array([1 << 17, branch, 0, 0])).standard_normal() for branch in range(256)]
    return [math.ldexp(one, -40) for one in products]


def _fast(branch: int) -> int:
    """Return a number below the threshold of a branch from 2 to 255; smaller r are returned at once."""
    table = _table()
    return int((table[branch - 1] / table[branch]) * (1 << _PRODUCT_BITS)) - 64


def _normal_lines(sigma: float, step: Fraction) -> Iterator[Line]:
    """Return lines of the noise in which it is small enough for the two roundings, the longest first."""
    for octave in range(_PRODUCT_BITS - 1, 20, -1):
        for branch in range(2, 256):
            first, end = 1 << octave, min(2 << octave, _fast(branch))
            slope = Fraction(sigma) * Fraction(_table()[branch])
            error = slope * end * Fraction(17, 1 << 56)
            if first < end and 4 * error < step:
                yield Line(end - first, slope * first, slope, error, Fraction(2, 1 << 61))


def seeded(
    mechanism: Callable[[float, int, np.random.Generator], Floating], seed: int, count: int
) -> FloatCode:
    """Return the first outputs of any mechanism of the form ``f(value, n, rng)``, from one seed, as a code.

    Word i stands for output i. Nothing is assumed of the noise. So only outputs are found that no noise can give on
    the other input.

    Args:
        mechanism: a function of the value, the number of outputs and a numpy generator.
        seed: the seed of the generator.
        count: the number of outputs.

    >>> seeded(lambda value, n, rng: value + rng.normal(size=n), 0, 100).words
    100
    """

    def release(value: float, words: Words) -> Floating:
        drawn: Floating = np.asarray(mechanism(value, count, np.random.default_rng(seed)))[words]
        return drawn

    return FloatCode(release=release, drawn=((0, count),))
