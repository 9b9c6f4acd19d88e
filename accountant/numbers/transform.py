"""The discrete Fourier transform of real sequences whose length is a power of two, with a proved error.

The transform uses additions, subtractions and multiplications in double precision only. Its twiddle factors
are rounded from Arb's enclosures. The error bound holds for rounding to nearest (IEEE 754), whether or not
the machine fuses multiplications with additions, and whether or not it flushes subnormal numbers to zero.
Derivation: docs/notes/transform.md.
"""

from __future__ import annotations

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import precision

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_U = 2.0**-53
_PRODUCT = 2.4143 * _U
"""The relative error of one complex product, (1 + sqrt(2)) u."""
_DIRECT, _MADE = 1.01 * _U, 4.45 * _U
"""The relative errors of twiddle factors: rounded from an enclosure, and multiplied from two such factors."""
UNDERFLOW = 1e-290
"""The absolute error by underflow, in the Euclidean norm, is at most this for lengths up to 2^30."""
_LONGEST, _LONGEST_DIRECT = 2**30, 2**11


def half_spectrum(x: Floats) -> Complexes:
    """Return entries 0 to n/2 of the discrete Fourier transform of a real sequence of length n.

    Entry k is the sum of x_j exp(-2 pi i j k/n). The length n is a power of two from 2 to 2^30.

    >>> half_spectrum(np.array([1.0, 2.0, 0.0, 0.0])).round(3).tolist()
    [(3+0j), (1-2j), (-1+0j)]

    The Euclidean norm of the error of all n entries is at most ``relative_error(n)`` times the norm of the
    exact transform, plus ``UNDERFLOW``.

    Source: Cooley and Tukey (1965), Stockham's order; this project, docs/notes/transform.md.
    """
    _checked(len(x))
    found = _transform(np.ascontiguousarray(x, dtype=np.float64).view(np.complex128))
    return _combined(np.append(found, found[0])) * 0.5


def from_half_spectrum(half: Complexes) -> Floats:
    """Return the real sequence of length n whose transform has the given entries 0 to n/2.

    The imaginary parts of the first and of the last entry do not count. The error has the bound of
    ``half_spectrum``, relative to the exact sequence.

    >>> from_half_spectrum(np.array([3, 1 - 2j, -1])).round(3).tolist()
    [1.0, 2.0, 0.0, 0.0]
    """
    n = _checked(2 * (len(half) - 1))
    turned = np.conj(half)
    turned[[0, -1]] = turned[[0, -1]].real
    found = _transform(_combined(turned)[:-1])
    np.conjugate(found, out=found)
    return np.asarray(found.view(np.float64) / n)


def relative_error(n: int) -> float:
    """Return a bound on the relative error of both transforms of length ``n``, in the Euclidean norm.

    >>> relative_error(2**20) < 98 * 2.0**-53
    True
    """
    m = _checked(n) // 2
    rows, columns = _shape(m)
    levels = m.bit_length() - 1
    twiddled = max(_passes(rows) - 1, 0) + max(_passes(columns) - 1, 0)
    crossed = 1 if rows > 1 else 0
    first_order = levels * _U + twiddled * (_PRODUCT + _DIRECT) + crossed * (_PRODUCT + _MADE)
    first_order += _PRODUCT + _MADE + 3 * _U
    return first_order * (1 + 1e-9)


def sizes(values: Complexes) -> Floats:
    """Return upper bounds on absolute values, which are larger by at most 6 units in the last place and 2e-150.

    >>> bool(sizes(np.array([3 + 4j]))[0] >= 5)
    True
    """
    real, imaginary = values.real, values.imag
    return np.asarray(np.sqrt(real * real + imaginary * imaginary) * (1 + 6 * _U) + 1e-150)


def _checked(n: int) -> int:
    if n < 2 or n > _LONGEST or n & (n - 1):
        raise ValueError(f"The length of the transform ({n}) must be a power of two from 2 to 2^30.")
    return n


def _combined(z: Complexes) -> Complexes:
    """Return z_k + conj(z_(m-k)) - i exp(-2 pi i k/(2m)) (z_k - conj(z_(m-k))) for k = 0, ..., m."""
    mirrored = np.conj(z[::-1])
    total = z + mirrored
    difference = np.subtract(z, mirrored, out=mirrored)
    difference *= _half_twiddles(2 * (len(z) - 1))
    total += difference
    return total


def _transform(z: Complexes) -> Complexes:
    """Return the complex transform of z: columns first, then twiddle factors, then rows."""
    rows, columns = _shape(len(z))
    if rows == 1:
        return _along_columns(z.reshape(-1, 1), None).reshape(-1)
    between = _along_columns(z.reshape(rows, columns), _crossing(rows, columns))
    return _along_columns(between, None).T.reshape(-1)


def _shape(m: int) -> tuple[int, int]:
    """Return the rows and columns of the matrix that holds a sequence of length ``m``."""
    rows = 1 << (m.bit_length() - 1) // 2
    return (1, m) if m <= 16 else (rows, m // rows)


_BLOCK = 2**14
"""The number of entries that are transformed at a time, so that they fit into the processor's cache."""


def _along_columns(matrix: Complexes, twiddles: Complexes | None) -> Complexes:
    """Return the transforms of the columns, as rows, multiplied by the twiddle factors entry by entry."""
    n, columns = matrix.shape
    width = min(columns, max(8, _BLOCK // n))
    result = np.empty((columns, n), dtype=np.complex128)
    spaces = [np.empty(n * width, dtype=np.complex128) for _ in range(3)]
    for first in range(0, columns, width):
        block = slice(first, first + width)
        spaces[0].reshape(n, width)[:] = matrix[:, block]
        found = _stockham(spaces[0], spaces[1], spaces[2], n).reshape(n, width)
        if twiddles is not None:
            found *= twiddles[:, block]
        result[block] = found.T
    return result


def _stockham(values: Complexes, other: Complexes, scratch: Complexes, n: int) -> Complexes:
    """Return the transforms of the columns of ``values``, which has n rows. The three arrays are overwritten."""
    here = n
    while here > 1:
        _four(values, other, scratch, here) if here > 2 else _two(values, other)
        values, other = other, values
        here //= 4
    return values


def _two(values: Complexes, result: Complexes) -> None:
    (a, b), out = values.reshape(2, -1), result.reshape(2, -1)
    np.add(a, b, out=out[0])
    np.subtract(a, b, out=out[1])


def _four(values: Complexes, result: Complexes, scratch: Complexes, n: int) -> None:
    """Write one pass of radix 4: sums and differences of a, b, c, d, multiplied by twiddle factors."""
    a, b, c, d = values.reshape(4, n // 4, -1)
    even, difference, odd, turned = scratch.reshape(4, n // 4, -1)
    out = result.reshape(n // 4, 4, -1)
    np.add(a, c, out=even)
    np.subtract(a, c, out=difference)
    np.add(b, d, out=odd)
    np.subtract(b, d, out=turned)
    turned *= -1j  # exact
    np.add(even, odd, out=out[:, 0])
    if n == 4:
        np.subtract(even, odd, out=out[:, 2])
        np.add(difference, turned, out=out[:, 1])
        np.subtract(difference, turned, out=out[:, 3])
        return
    one, two, three = _pass_twiddles(n)
    np.subtract(even, odd, out=even)
    np.multiply(even, two, out=out[:, 2])
    np.add(difference, turned, out=odd)
    np.multiply(odd, one, out=out[:, 1])
    np.subtract(difference, turned, out=odd)
    np.multiply(odd, three, out=out[:, 3])


def _passes(n: int) -> int:
    """Return the number of passes over columns of ``n`` entries: of radix 4, and one of radix 2 for an odd power."""
    return n.bit_length() // 2


@lru_cache(maxsize=64)
def _pass_twiddles(n: int) -> tuple[Complexes, Complexes, Complexes]:
    """Return w^p, w^2p and w^3p for p = 0, ..., n/4 - 1 as columns, where w = exp(-2 pi i/n)."""
    roots, p = _direct_roots(n, n), np.arange(n // 4)
    one, two, three = (roots[power * p].reshape(-1, 1) for power in (1, 2, 3))
    return one, two, three


@lru_cache(maxsize=64)
def _direct_roots(n: int, count: int) -> Complexes:
    """Return exp(-2 pi i j/n) for j = 0, ..., count - 1, each component rounded from an enclosure."""
    with precision(128):
        return np.array([complex(flint.acb(flint.fmpq(-2 * j, n)).exp_pi_i()) for j in range(count)])


def _roots(n: int, count: int) -> Complexes:
    """Return exp(-2 pi i j/n) for j = 0, ..., count - 1 as products of two factors; entry 0 is exactly 1."""
    if n <= _LONGEST_DIRECT:
        return _direct_roots(n, count)
    fine = 1 << n.bit_length() // 2
    coarse = _direct_roots(n // fine, -(-count // fine))
    return np.multiply.outer(coarse, _direct_roots(n, fine)).reshape(-1)[:count]


@lru_cache(maxsize=4)
def _crossing(rows: int, columns: int) -> Complexes:
    """Return exp(-2 pi i j k/(rows columns)) for rows j and columns k."""
    roots = _roots(rows * columns, rows * columns)
    return roots[np.multiply.outer(np.arange(rows), np.arange(columns))]


@lru_cache(maxsize=4)
def _half_twiddles(n: int) -> Complexes:
    """Return -i exp(-2 pi i k/n) for k = 0, ..., n/2. The last one is exactly i."""
    found = np.append(_roots(n, n // 2), -1.0)
    return found * -1j
