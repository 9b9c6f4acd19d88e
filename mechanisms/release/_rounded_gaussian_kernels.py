"""The compiled fast path of `rounded_gaussian`, which reads one 64-bit word of each uniform random number.

Intervals are 128 bits wide. If the first words do not decide a comparison, the attempt ends, and the exact
path repeats it from the same words. There is no floating-point operation.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ALL, MORE_WORDS, UNDECIDED = 0, 1, 2
"""Reasons why `rounded` returned: all draws are made, the words have run out, or a draw is undecided."""
_U = np.uint64
_ZERO, _ONE, _TWO, _SIX, _HALF_BITS = _U(0), _U(1), _U(2), _U(6), _U(32)
_HALF = _U(1 << 63)
_LOW, _TOP = _U(0xFFFFFFFF), _U(0xFFFFFFFFFFFFFFFF)
_YES, _NO, _TIE, _END = 1, 0, 2, 3
_LARGEST = 60


@numba.njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator] # numba has no types
def _product(a: Any, b: Any) -> Any:  # pragma: no cover - compiled
    """Return the high and the low word of a b."""
    a1, a0, b1, b0 = a >> _HALF_BITS, a & _LOW, b >> _HALF_BITS, b & _LOW
    low, middle = a0 * b0, a1 * b0
    middle += low >> _HALF_BITS
    other = a0 * b1 + (middle & _LOW)
    high = a1 * b1 + (middle >> _HALF_BITS) + (other >> _HALF_BITS)
    return high, (other << _HALF_BITS) | (low & _LOW)


@numba.njit(cache=True, nogil=True, inline="always")  # type: ignore[untyped-decorator] # numba has no types
def _shifted(high: Any, low: Any, by: Any) -> Any:  # pragma: no cover - compiled
    """Return both words shifted right by ``by``, in [1, 127]."""
    if by < _U(64):
        return high >> by, (low >> by) | (high << (_U(64) - by))
    return _ZERO, high >> (by - _U(64))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _half_coin(words: Any, at: int) -> Any:  # pragma: no cover - compiled
    """Toss a coin of probability exp(-1/2): the falling run 1/2 > u1 > u2 > ... has even length."""
    last, length = _HALF, 0
    while True:
        if at >= len(words):
            return _END, at
        word = words[at]
        at += 1
        if length > 0 and word == last:
            return _TIE, at
        if word >= last:
            return (_YES if length % 2 == 0 else _NO), at
        last, length = word, length + 1


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _below(words: Any, at: int, k: Any, x: Any) -> Any:  # pragma: no cover - compiled
    """Toss a coin of probability (2k + x)/(2k + 2)."""
    sides = _TWO * k + _TWO
    while True:
        if at >= len(words):
            return _END, at
        word = words[at]
        at += 1
        if word <= _TOP - (_TOP % sides + _ONE) % sides:
            break
    side = word % sides
    if side != _TWO * k:
        return (_YES if side < _TWO * k else _NO), at
    if at >= len(words):
        return _END, at
    word = words[at]
    at += 1
    if word == x:
        return _TIE, at
    return (_YES if word < x else _NO), at


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _step_coin(words: Any, at: int, k: Any, x: Any) -> Any:  # pragma: no cover - compiled
    """Toss a coin of probability exp(-x (2k + x)/(2k + 2))."""
    last, even = x, True
    while True:
        if at >= len(words):
            return _END, at
        word = words[at]
        at += 1
        if word == last:
            return _TIE, at
        if word > last:
            return (_YES if even else _NO), at
        found, at = _below(words, at, k, x)
        if found > _YES:
            return found, at
        if found == _NO:
            return (_YES if even else _NO), at
        last, even = word, not even


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _whole(words: Any, at: int) -> Any:  # pragma: no cover - compiled
    """Return the outcome, k with probability proportional to exp(-k^2/2), and the index of the next word."""
    k = 0
    while True:
        found, at = _half_coin(words, at)
        if found > _YES:
            return found, k, at
        if found == _NO:
            break
        k += 1
    for _ in range(k * (k - 1)):
        found, at = _half_coin(words, at)
        if found != _YES:
            return found, k, at
    return _YES, k, at


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _candidate(words: Any, at: int) -> Any:  # pragma: no cover - compiled
    """Make one attempt at (k, first word of x), by steps N1 to N4 of Karney's algorithm."""
    found, k, at = _whole(words, at)
    if found != _YES:
        return found, k, _ZERO, at
    if at >= len(words):
        return _END, k, _ZERO, at
    x = words[at]
    at += 1
    for _ in range(k + 1):
        found, at = _step_coin(words, at, _U(k), x)
        if found != _YES:
            return found, k, x, at
    return _YES, k, x, at


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _offset(k: int, x: Any, minus: bool, fraction: Any, scale: Any, shift: Any) -> Any:  # pragma: no cover
    """Return whether floor(fraction -+ scale (k + x)) is decided, and its value."""
    near = (_U(k) << _U(58)) | (x >> _SIX)
    high, low = _product(near, scale)
    one_high, one_low = _shifted(high, low, shift)
    high, low = _product(near + _ONE, scale + _ONE)
    two_high, two_low = _shifted(high, low, shift)
    two_low += _ONE
    two_high += _ONE if two_low == _ZERO else _ZERO
    upper = fraction + _ONE
    carry = _ONE if upper == _ZERO else _ZERO
    if minus:
        first = -np.int64(two_high) - np.int64(1 if fraction < two_low else 0)
        second = np.int64(carry) - np.int64(one_high) - np.int64(1 if upper < one_low else 0)
        return first == second, first
    first = np.int64(one_high) + np.int64(1 if fraction + one_low < fraction else 0)
    second = np.int64(two_high) + np.int64(carry) + np.int64(1 if upper + two_low < upper else 0)
    return first == second, first


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def rounded(
    words: Any, at: int, which: Any, begin: int, fractions: Any, scales: Any, shifts: Any, found: Any
) -> Any:  # pragma: no cover - compiled
    """Make draws from random 64-bit words, and write them into `found`. The first draw has the number `begin`.

    The first word that is used is `words[at]`. The function stops for one of three reasons: `ALL`, `MORE_WORDS` or
    `UNDECIDED`. Return the reason, the number of the next draw, and the index of the first word of that draw.
    """
    draw = begin
    while draw < len(which):
        law, start = which[draw], at
        if scales[law] == _ZERO:
            return UNDECIDED, draw, start
        went = _NO
        while went == _NO:
            went, k, x, at = _candidate(words, at)
        if went == _TIE or k > _LARGEST:
            return UNDECIDED, draw, start
        if went == _END or at >= len(words):
            return MORE_WORDS, draw, start
        minus = words[at] & _ONE == _ONE
        at += 1
        decided, offset = _offset(k, x, minus, fractions[law], scales[law], shifts[law])
        if not decided:
            return UNDECIDED, draw, start
        found[draw] = offset
        draw += 1
    return ALL, draw, at
