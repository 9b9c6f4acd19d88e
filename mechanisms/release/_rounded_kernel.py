"""The compiled fast path of rounded noise. It makes a draw, or reports that the draw is undecided.

A draw is floor(f + s g(u)) or floor(f - s g(u)). Here g is the quantile function of the noise, and a random digit gives
the sign and an interval for the tail probability u. The kernel adds an integer and a small polynomial in double
precision to get g(u). The rest is integer arithmetic. It decides a draw only if all real numbers within a proved bound
of the computed number have the same floor. docs/notes/rounded_noise.md derives the bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpproof.mechanisms.compiled import borrowing, inlined

OCTAVES, SPLIT_BITS = 20, 6
"""The table covers u in [2^-21, 1/2): 20 intervals [a, 2a), each cut into 2^6 segments of equal width."""
SEGMENTS = OCTAVES << SPLIT_BITS
SIZE_BITS = 59
"""The size g(u) is held in units of 2^-59, so it must be below 16 in the table."""
OWN_ERROR = 5.0
"""Bound on the errors of a draw that do not depend on the noise scale, in units of 2^-64."""
_U = np.uint64
_ONE, _SIGN, _HALF_BITS, _WORD, _SPLIT = _U(1), _U(63), _U(32), _U(64), _U(SPLIT_BITS)
_LOW, _TAIL, _LEADING = _U((1 << 32) - 1), _U((1 << 63) - 1), _U((1 << 63) - (1 << 11))
_REST_BITS = 62 - SPLIT_BITS
_PART, _REST, _MIDDLE = _U(SEGMENTS // OCTAVES - 1), _U((1 << _REST_BITS) - 1), 1 << (_REST_BITS - 1)
_AT, _STEP, _UNIT, _HALF = _U(_REST_BITS), 2.0**-_REST_BITS, 2.0**SIZE_BITS, 2.0**63
_FIRST = 1023 + 63 - OCTAVES


@inlined
def _product(a: Any, b: Any, by: Any) -> Any:  # pragma: no cover - compiled
    """Return the high and the low word of a b, shifted right by ``by``, in [1, 127]."""
    a1, a0, b1, b0 = a >> _HALF_BITS, a & _LOW, b >> _HALF_BITS, b & _LOW
    low, middle = a0 * b0, a1 * b0
    middle += low >> _HALF_BITS
    other = a0 * b1 + (middle & _LOW)
    high = a1 * b1 + (middle >> _HALF_BITS) + (other >> _HALF_BITS)
    if by >= _WORD:
        return _U(0), high >> (by - _WORD)
    return high >> by, (((other << _HALF_BITS) | (low & _LOW)) >> by) | (high << (_WORD - by))


@borrowing
def rounded(
    digits: Any,
    missing: Any,
    centres: Any,
    table: Any,
    bounds: Any,
    laws: Any,
    scales: Any,
    found: Any,
    undecided: Any,
) -> Any:  # pragma: no cover - compiled
    """Write the draws that are decided into `found`, and the indices of the other draws into `undecided`.

    Draw number i has the law number i modulo the number of laws. ``digits[i] << missing`` is its random 64-bit word,
    whose last ``missing`` bits are not yet drawn. Return the number of undecided draws.
    """
    law, missed = 0, 0
    for draw in range(len(digits)):
        word = _U(digits[draw]) << missing
        tail = word & _TAIL
        octave = (np.float64(np.int64(tail & _LEADING)).view(np.int64) >> 52) - _FIRST
        decided = False
        if octave >= 0:
            tail <<= _U(OCTAVES - 1 - octave)
            k = (_U(octave) << _SPLIT) + ((tail >> _AT) & _PART)
            t = np.float64(np.int64(tail & _REST) - _MIDDLE) * _STEP
            more = table[k, 3] + t * (table[k, 4] + t * (table[k, 5] + t * table[k, 6]))
            more = t * (table[k, 0] + t * (table[k, 1] + t * (table[k, 2] + t * more)))
            size = max(centres[k] + np.int64(more * _UNIT), 0)
            whole, part = _product(_U(size), laws[law, 0], laws[law, 1])
            flip = _U(0) - (word >> _SIGN)
            part ^= flip
            low = laws[law, 2] + part
            error = scales[law] * bounds[k] + OWN_ERROR
            if error < _HALF:
                margin = _U(np.int64(error))
                decided = low >= margin and low <= ~margin
            if decided:
                found[draw] = np.int64((whole ^ flip) + _U(low < part))
        if not decided:
            undecided[missed] = draw
            missed += 1
        law += 1
        if law == len(scales):
            law = 0
    return missed
