"""Elementary functions of arrays of doubles, computed by + - x / and square roots only, with proved errors.

Each result errs by at most 4 units in the last place (relatively by at most 2^-50). Exceptions are named at
the function. Arguments are reduced by tables that are rounded from Arb's enclosures; a short series does the
rest. Derivation: docs/notes/elementary.md. A test certifies the errors over whole ranges in ball arithmetic.
The functions need rounding to nearest (IEEE 754); they raise no warnings about overflow or NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.numbers.scalars import BALLS, of_numbers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_least, _largest = np.minimum.reduce, np.maximum.reduce
_BLOCK = 2**13
"""The number of entries that are computed at a time, so that they fit into the processor's cache."""


def _elementwise(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays of any shape from one of short arrays with one axis. Scalars give scalars."""
    alone = of_numbers(kernel.__name__) if kernel.__name__ in BALLS else None

    @functools.wraps(kernel)
    def function(*arguments: ArrayLike) -> Any:
        given = [np.asarray(argument, dtype=np.float64) for argument in arguments]
        if len(given) > 1:
            given = list(np.broadcast_arrays(*given))
        shape, flat = given[0].shape, [array.reshape(-1) for array in given]
        size = flat[0].size
        if alone and size <= _FEW:
            return _one_by_one(alone, kernel, flat).reshape(shape)[()]
        if size <= _BLOCK:
            return kernel(*flat).reshape(shape)[()]
        result = np.empty(size)
        for first in range(0, size, _BLOCK):
            block = slice(first, first + _BLOCK)
            result[block] = kernel(*[array[block] for array in flat])
        return result.reshape(shape)

    return function


def _one_by_one(alone: Callable[..., float], kernel: Callable[..., Any], flat: list[Floats]) -> Any:
    """Return the values of a few numbers: from ball arithmetic, or from the kernel where ``math`` has no value."""
    try:
        return np.array(
            [alone(*numbers) for numbers in zip(*[array.tolist() for array in flat], strict=True)]
        )
    except (ValueError, OverflowError):
        return kernel(*flat)


_FEW = 8

_PARTS, _CELLS, _TURN, _SLOPES = 2048, 512, 128, 64
"""The tables: of 2^(j/2048), of logarithms of 512 cells of [0.707, 1.414), of 128 angles, of arctan(j/64)."""


def _split(value: flint.arb, bits: int) -> tuple[float, float]:
    """Return two doubles with the sum ``value``. The first one is a multiple of 2^-bits."""
    high = round(float(value * 2**bits)) / 2.0**bits
    return high, float(value - high)


def _powers_of_two() -> tuple[Floats, Floats]:
    with precision(200):
        exact = [flint.arb(2) ** (flint.arb(j) / _PARTS) for j in range(_PARTS)]
        high = [float(value) for value in exact]
        low = [float(value - first) for value, first in zip(exact, high, strict=True)]
    return np.array(high), np.array(low)


def _logarithms() -> tuple[Floats, Floats, Floats]:
    """Return, for each cell, a number c of at most 21 bits near 1 over its centre, and -log c in two parts."""
    widths = np.where(np.arange(_CELLS) < _BELOW_ONE, 0.5**10, 0.5**9)
    starts = _LEAST + np.append(0.0, widths.cumsum()[:-1])
    inverse = np.rint(2.0**20 / (starts + widths / 2)) / 2.0**20
    inverse[_BELOW_ONE - 1 : _BELOW_ONE + 1] = 1.0
    with precision(200):
        parts = [_split(-flint.arb(c).log(), 42) for c in inverse.tolist()]
    return inverse, np.array([high for high, _ in parts]), np.array([low for _, low in parts])


def _angles() -> tuple[Floats, Floats]:
    with precision(200):
        pairs = [(flint.arb(2 * j) / _TURN).sin_cos_pi() for j in range(_TURN)]
    return np.array([float(sine) for sine, _ in pairs]), np.array([float(cosine) for _, cosine in pairs])


def _arctangents() -> tuple[Floats, Floats]:
    with precision(200):
        exact = [(flint.arb(j) / _SLOPES).atan() for j in range(_SLOPES + 1)]
        parts = [(float(value), float(value - float(value))) for value in exact]
    return np.array([high for high, _ in parts]), np.array([low for _, low in parts])


def _thirds(value: flint.arb, bits: int) -> tuple[float, float, float]:
    """Return three doubles with the sum ``value``. Two of them are multiples of 2^-bits and of 2^-2bits."""
    first, _ = _split(value, bits)
    second, third = _split(value - first, 2 * bits)
    return first, second, third


_LEAST, _BELOW_ONE, _OFFSET = 0.70703125, 300, 0x3FE6A00000000000
"""The start of the first cell of logarithms, the number of cells below 1, and the start's bits."""
with precision(200):
    _LN2 = flint.arb.const_log2()
    _PER_PART, _LN2_HIGH, _LN2_LOW = float(_PARTS / _LN2), *_split(_LN2, 42)
    _PART_HIGH, _PART_LOW = _split(_LN2 / _PARTS, 42)
    _STEP = 2 * flint.arb.pi() / _TURN
    _PER_STEP, (_STEP_1, _STEP_2, _STEP_3) = float(1 / _STEP), _thirds(_STEP, 28)
    _PI, _HALF_PI = float(flint.arb.pi()), float(flint.arb.pi() / 2)
_POWER, _POWER_LOW = _powers_of_two()
_INVERSE, _LOG_HIGH, _LOG_LOW = _logarithms()
_SINE, _COSINE = _angles()
_ARC, _ARC_LOW = _arctangents()
_TINY, _UPPER_BITS = 2.0**-1022, -(1 << 27)
_1_3, _1_5, _1_6, _1_7, _1_24, _1_120, _1_720, _1_5040 = (1 / n for n in (3, 5, 6, 7, 24, 120, 720, 5040))


def _in_parts(x: Floats) -> tuple[Integers, Integers, Floats]:
    """Return m, j and r with exp(x) = 2^m 2^(j/2048) exp(r), for x from -746 to 710."""
    k = np.rint(x * _PER_PART)
    r = (x - k * _PART_HIGH) - k * _PART_LOW
    whole = k.astype(np.int64)
    return whole >> 11, whole & (_PARTS - 1), r


def _two_to(m: Integers) -> Floats:
    """Return 2^m for m from -1022 to 1023."""
    return ((m + 1023) << 52).view(np.float64)


def exp_rest(r: Any) -> Any:
    """Return exp(r) - 1 for |r| <= 0.00017."""
    return r + (r * r) * (0.5 + r * (_1_6 + r * _1_24))


def exp_sum(power: Any, r: Any) -> Any:
    """Return power exp(r)."""
    return power + power * exp_rest(r)


def expm1_sum(power: Any, low: Any, r: Any) -> Any:
    """Return (power + low) exp(r) - 1."""
    return (power - 1) + (low + power * exp_rest(r))


@_elementwise
def exp(x: Floats) -> Any:
    """Return e^x. A result below 2^-1022 has an absolute error of at most 2^-1074.

    >>> float(exp(1.0))
    2.718281828459045
    """
    if _least(x) >= -708 and _largest(x) <= 709:
        m, j, r = _in_parts(x)
        return exp_sum(_POWER[j], r) * _two_to(m)
    m, j, r = _in_parts(np.where(np.isnan(x), 0.0, np.clip(x, -746.0, 710.0)))
    with np.errstate(over="ignore", under="ignore"):
        found = exp_sum(_POWER[j], r) * _two_to(m >> 1) * _two_to(m - (m >> 1))
    return np.where(np.isnan(x), x, found)


@_elementwise
def expm1(x: Floats) -> Any:
    """Return e^x - 1.

    >>> float(expm1(1e-20))
    1e-20
    """
    if not _largest(x) <= 709:
        return np.where(x <= 709, expm1(np.where(x <= 709, x, 0.0)), exp(x))
    m, j, r = _in_parts(np.maximum(x, -60.0))
    scale = _two_to(m)
    return expm1_sum(_POWER[j] * scale, _POWER_LOW[j] * scale, r)


def log_rest(r: Any) -> Any:
    """Return log(1 + r) - r for r from -1/1024 to 1/512."""
    return (r * r) * (r * (_1_3 + r * (r * (_1_5 - r * _1_6) - 0.25)) - 0.5)


def log_sum(high: Any, low: Any, r: Any) -> Any:
    """Return high + low + log(1 + r)."""
    return high + (r + (low + log_rest(r)))


def _log_normal(s: Floats, more: Floats | float = 0.0) -> Any:
    """Return log(s) + more for normal s. The number ``more`` is at most u."""
    bits = s.view(np.int64)
    shifted = bits - _OFFSET
    exponent, cell = shifted >> 52, (shifted >> 43) & (_CELLS - 1)
    z = bits - (exponent << 52)
    first = (z & _UPPER_BITS).view(np.float64)
    inverse = _INVERSE[cell]
    r = (first * inverse - 1) + (z.view(np.float64) - first) * inverse
    e = exponent.astype(np.float64)
    return log_sum(e * _LN2_HIGH + _LOG_HIGH[cell], (e * _LN2_LOW + _LOG_LOW[cell]) + more, r)


@_elementwise
def log(x: Floats) -> Any:
    """Return the natural logarithm: minus infinity at 0, NaN below.

    >>> float(log(10.0))
    2.302585092994046
    """
    if _least(x) >= _TINY and _largest(x) < np.inf:
        return _log_normal(x)
    small = (x > 0) & (x < _TINY)
    with np.errstate(over="ignore"):
        usual = np.where((x > 0) & (x < np.inf), np.where(small, x * 2.0**54, x), 1.0)
    found = _log_normal(usual) - np.where(small, _LN2_54, 0.0)
    return np.where(x > 0, np.where(x < np.inf, found, x), np.where(x == 0, -np.inf, np.nan))


@_elementwise
def log1p(x: Floats) -> Any:
    """Return log(1 + x): minus infinity at -1, NaN below.

    >>> float(log1p(1e-20))
    1e-20
    """
    if not (_least(x) > -1 and _largest(x) < 1e300):
        usual = (x > -1) & (x < 1e300)
        return np.where(usual, log1p(np.where(usual, x, 0.0)), log(1 + x))
    s = 1 + x
    back = s - 1
    return _log_normal(s, ((1 - (s - back)) + (x - back)) / s)  # the parenthesis is 1 + x - s exactly


def _turned(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return sine and cosine of a multiple of pi/64, and r from -0.0246 to 0.0246, with the sum x modulo 2 pi."""
    near, rest = (x, 0.0) if _largest(np.abs(x)) <= _LARGE_ANGLE else _less_turns(x)
    k = np.rint(near * _PER_STEP)
    r = ((near - k * _STEP_1) - k * _STEP_2) - (k * _STEP_3 + rest)
    place = k.astype(np.int64) & (_TURN - 1)
    return _SINE[place], _COSINE[place], r


def _less_turns(x: Floats) -> tuple[Floats, Floats]:
    """Return two arrays whose difference is x less multiples of 2^17 turns. The first one is exact."""
    k = np.rint(x * (_PER_STEP / _MANY))
    return (x - k * (_MANY * _STEP_1)) - k * (_MANY * _STEP_2), k * (_MANY * _STEP_3)


def sin_rest(r: Any) -> Any:
    """Return sin(r) for |r| <= 0.0246."""
    square = r * r
    return r + (r * square) * (square * (_1_120 - square * _1_5040) - _1_6)


def versine(r: Any) -> Any:
    """Return 1 - cos(r) for |r| <= 0.0246."""
    square = r * r
    return square * (0.5 - square * (_1_24 - square * _1_720))


def turned_sum(own: Any, other: Any, r: Any) -> Any:
    """Return own cos(r) + other sin(r)."""
    return own + (other * sin_rest(r) - own * versine(r))


@_elementwise
def sin(x: Floats) -> Any:
    """Return the sine of x. Where |x| is above 0.02, the absolute error may be larger by 2^-80, above 1e6 by 2^-60.

    >>> float(sin(1.0))
    0.8414709848078965
    """
    if not _largest(np.abs(x)) <= _FARTHEST_ANGLE:
        return _by_ball(x, flint.arb.sin)
    sine, cosine, r = _turned(x)
    return turned_sum(sine, cosine, r)


@_elementwise
def cos(x: Floats) -> Any:
    """Return the cosine of x. The absolute error may be larger by 2^-80, where |x| is above 1e6 by 2^-60.

    >>> float(cos(1.0))
    0.540302305868
    """
    if not _largest(np.abs(x)) <= _FARTHEST_ANGLE:
        return _by_ball(x, flint.arb.cos)
    sine, cosine, r = _turned(x)
    return turned_sum(cosine, sine, -r)


_LARGE_ANGLE, _FARTHEST_ANGLE, _MANY = 1e6, 1e13, 2.0**24
"""Sines of still larger angles come from ball arithmetic, one by one."""


def _by_ball(x: Floats, function: Callable[[flint.arb], flint.arb]) -> Floats:
    with precision(2200):
        found = [function(flint.arb(value)) for value in x.tolist()]
        return np.array([float(value) if value.rad() < 0.5 else np.nan for value in found])


def arc_rest(d: Any) -> Any:
    """Return arctan(d) - d for |d| <= 0.0079."""
    square = d * d
    return (d * square) * (square * (_1_5 - square * _1_7) - _1_3)


def arc_sum(arc: Any, low: Any, d: Any) -> Any:
    """Return arc + low + arctan(d)."""
    return arc + (d + (low + arc_rest(d)))


@_elementwise
def arctan2(y: Floats, x: Floats) -> Any:
    """Return the angle of the point (x, y), for finite coordinates from 1e-290 to 1e290 in size, or 0.

    >>> float(arctan2(1.0, -1.0))
    2.356194490192345
    """
    width, height = np.abs(x), np.abs(y)
    steep = height > width
    small, large = np.where(steep, width, height), np.where(steep, height, width)
    large = np.where(large > 0, large, 1.0)
    place = np.rint(small / large * _SLOPES)
    slope = place * (1 / _SLOPES)
    first = (large.view(np.int64) & _UPPER_BITS).view(np.float64)
    d = ((small - slope * first) - slope * (large - first)) / (large + slope * small)
    cell = np.where(np.isnan(place), 0.0, place).astype(np.int64)
    angle = arc_sum(_ARC[cell], _ARC_LOW[cell], d)
    angle = np.where(steep, _HALF_PI - angle, angle)
    return np.copysign(np.where(np.signbit(x), _PI - angle, angle), y)


@_elementwise
def hypot(x: Floats, y: Floats) -> Any:
    """Return the square root of x^2 + y^2.

    >>> float(hypot(3.0, 4.0))
    5.0
    """
    width, height = np.abs(x), np.abs(y)
    large = np.maximum(width, height)
    ratio = np.minimum(width, height) / np.where(large > 0, large, 1.0)
    return large * np.sqrt(1 + ratio * ratio)


@_elementwise
def arcsinh(x: Floats) -> Any:
    """Return the inverse hyperbolic sine. It errs by at most 6 units in the last place.

    >>> float(arcsinh(1e-20)), float(arcsinh(1.0))
    (1e-20, 0.881373587019543)
    """
    size = np.abs(x)
    near = np.minimum(size, 1e9)
    square = near * near
    found = log1p(near + square / (1 + np.sqrt(1 + square)))
    far = log(np.maximum(size, 1.0)) + _LN2_1
    return np.copysign(np.where(size > 1e9, far, found), x)


_LN2_1, _LN2_54 = float(_LN2), float(54 * _LN2)


def exp_of_complex(z: ArrayLike) -> NDArray[np.complex128]:
    """Return e^z for complex numbers, each component with the errors of its two factors and of their product."""
    size, turn = exp(np.real(z)), np.imag(z)
    return np.asarray(size * cos(turn) + 1j * (size * sin(turn)))


def arctan(x: ArrayLike) -> Any:
    """Return the angle whose tangent is x."""
    return arctan2(x, 1.0)


def angle(z: ArrayLike) -> Any:
    """Return the angles of complex numbers."""
    return arctan2(np.imag(z), np.real(z))


def absolute(z: ArrayLike) -> Any:
    """Return absolute values: exactly for real numbers, by `hypot` for complex ones."""
    complex_numbers = getattr(z, "dtype", None) == np.complex128
    return hypot(np.real(z), np.imag(z)) if complex_numbers else np.abs(z)


def logaddexp(x: ArrayLike, y: ArrayLike) -> Any:
    """Return log(e^x + e^y). The error is at most 2^-50 of the result and of log 2."""
    high, low = np.maximum(x, y), np.minimum(x, y)
    with np.errstate(invalid="ignore"):
        return high + log1p(exp(np.where(high == low, 0.0, low - high)))
