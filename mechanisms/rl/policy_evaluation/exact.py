"""Least squares in exact rationals, and certified operator norms of public matrices.

Two columns of the feature matrix that are never nonzero in the same row belong to separate problems. With one feature
for each state, or for each group of states, every problem has one unknown, and its solution is a division.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dpproof.accountant.numbers.enclosures import arb_of, precision, round_up

Floats = NDArray[np.float64]
Rationals = Sequence[Fraction]
_BITS = 192
_MARGINS = (1e-9, 1e-6, 1e-3, 0.1, 0.5)
"""Margins by which the bound on an extreme eigenvalue is relaxed, in order, until Arb certifies it."""


def exact_least_squares(
    features: Floats, masses: Rationals, targets: Rationals, ridge: Fraction
) -> list[Fraction]:
    """Return the exact solution theta of (Phi^T diag(masses) Phi + ridge I) theta = Phi^T targets.

    Args:
        features: the matrix Phi (N, d). Each double is taken as an exact rational.
        masses: N rationals, at least 0.
        targets: N rationals.
        ridge: a rational, at least 0. It must be above 0 if the columns of diag(masses) Phi are dependent.

    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> exact_least_squares(np.array([[1.0], [2.0]]), [one, one], [half, one], Fraction(0))
    [Fraction(1, 2)]
    """
    found = [Fraction(0)] * features.shape[1]
    for rows, columns in _blocks(features, np.array([mass > 0 for mass in masses])):
        block = features[np.ix_(rows, columns)]
        solved = _solved(block, [masses[row] for row in rows], [targets[row] for row in rows], ridge)
        for column, value in zip(columns, solved, strict=True):
            found[column] = value
    return found


def _blocks(features: Floats, used: NDArray[np.bool_]) -> Iterator[tuple[list[int], list[int]]]:
    """Return rows and columns that belong together, by the nonzero entries in the used rows."""
    rows, columns = np.nonzero(features * used[:, None])
    count, width = features.shape
    joined = csr_array((np.ones(len(rows)), (rows, columns + count)), shape=(count + width, count + width))
    _, labels = connected_components(joined, directed=False)
    members: dict[int, tuple[list[int], list[int]]] = {int(label): ([], []) for label in labels[count:]}
    for row in np.unique(rows):
        members[int(labels[row])][0].append(int(row))
    for column in range(width):
        members[int(labels[count + column])][1].append(column)
    yield from members.values()


def _solved(block: Floats, masses: Rationals, targets: Rationals, ridge: Fraction) -> list[Fraction]:
    if block.shape[1] == 1:
        column = [Fraction(value) for value in block[:, 0].tolist()]
        square = sum((a * x * x for a, x in zip(masses, column, strict=True)), ridge)
        right = sum((b * x for b, x in zip(targets, column, strict=True)), Fraction(0))
        return [right / square if right else Fraction(0)]
    turned, size = _rational(block.T), block.shape[1]
    rows = zip(masses, block.tolist(), strict=True)
    weighted = flint.fmpq_mat(*block.shape, [_fmpq(a * Fraction(x)) for a, row in rows for x in row])
    identity = [_fmpq(ridge) if i == j else 0 for i in range(size) for j in range(size)]
    right = turned * flint.fmpq_mat(len(targets), 1, [_fmpq(b) for b in targets])
    solved = (turned * weighted + flint.fmpq_mat(size, size, identity)).solve(right)
    return [Fraction(int(value.p), int(value.q)) for value in solved.entries()]


def _rational(matrix: Floats) -> flint.fmpq_mat:
    return flint.fmpq_mat(*matrix.shape, [_fmpq(Fraction(x)) for x in matrix.ravel().tolist()])


def _fmpq(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


def norm_above(features: Floats) -> float:
    """Return a double that is certified to be at least the largest singular value of ``features``.

    >>> norm_above(np.array([[3.0], [4.0]]))
    5.0
    """
    return _root_above(max(_ends(features, np.ones(len(features)), "largest")))


def pseudo_inverse_norm_above(features: Floats, weights: Floats) -> float | None:
    """Return a double certified to be at least the norm of the pseudo-inverse of the weighted features.

    The weighted features are diag(weights)^(1/2) times ``features``. Return None if their full rank cannot be
    certified.

    >>> pseudo_inverse_norm_above(np.eye(2), np.array([0.25, 1.0]))
    2.0
    """
    least = min(_ends(features, weights, "least"))
    return _root_above(1 / least) if least > 0 else None


def _root_above(square: Fraction) -> float:
    """Return the square root of a rational as a double, rounded up."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        with precision(_BITS):
            return round_up(arb_of(Fraction(top, bottom)))
    with precision(_BITS):
        return round_up(arb_of(square).sqrt())


End = Literal["least", "largest"]


def _ends(features: Floats, weights: Floats, end: End) -> Rationals:
    """Return certified bounds on this eigenvalue of Phi^T diag(weights) Phi, one for each block."""
    return _ends_of(features.tobytes(), features.shape, weights.tobytes(), end)


@lru_cache(maxsize=16)
def _ends_of(phi: bytes, shape: tuple[int, int], masses: bytes, end: End) -> Rationals:
    features = np.frombuffer(phi).reshape(shape)
    weights = np.frombuffer(masses)
    return tuple(
        _end(features[np.ix_(rows, columns)], weights[rows], end)
        for rows, columns in _blocks(features, weights > 0)
    )


def _end(block: Floats, weights: Floats, end: End) -> Fraction:
    """Return a lower bound on the least eigenvalue, or an upper bound on the largest.

    It is exact for one column, and otherwise certified by Arb.
    """
    if block.shape[1] == 1:
        pairs = zip(weights.tolist(), block[:, 0].tolist(), strict=True)
        return sum((Fraction(w) * Fraction(x) ** 2 for w, x in pairs), Fraction(0))
    scale = int(math.frexp(float(np.abs(block).max()))[1])  # so that doubles neither overflow nor underflow
    scaled = np.ldexp(block, -scale)
    rough = np.linalg.eigvalsh(scaled.T @ (weights[:, None] * scaled))
    near, sign = (float(rough[0]), -1) if end == "least" else (float(rough[-1]), 1)
    with precision(_BITS):
        gram = _arb(block.T, -scale) * _weighted(_arb(block, -scale), weights)
        for margin in _MARGINS:
            tried = Fraction(near * (1 + sign * margin))
            if tried > 0 and _certainly_positive(gram, sign * tried, -sign):
                return tried * Fraction(4) ** scale
        trace = sum((gram[i, i] for i in range(len(rough))), flint.arb(0))
        return Fraction(0) if end == "least" else Fraction(round_up(trace)) * Fraction(4) ** scale


def _arb(matrix: Floats, power: int = 0) -> flint.arb_mat:
    """Return the matrix times 2^power, without rounding."""
    unit = flint.arb(2) ** power
    return flint.arb_mat(*matrix.shape, [flint.arb(x) * unit for x in matrix.ravel().tolist()])


def _weighted(matrix: flint.arb_mat, weights: Floats) -> flint.arb_mat:
    """Return the rows times their weights."""
    count, width = matrix.nrows(), matrix.ncols()
    rows = [[matrix[i, j] * flint.arb(w) for j in range(width)] for i, w in enumerate(weights.tolist())]
    return flint.arb_mat(count, width, [value for row in rows for value in row])


def _certainly_positive(gram: flint.arb_mat, shift: Fraction, sign: int) -> bool:
    """Return whether sign gram + shift I is certified to be positive definite.

    It is enough that X (sign gram + shift I) X^T is within distance 1 of I for some matrix X. Here X is
    approximately the inverse of a Cholesky factor.
    """
    size = gram.nrows()
    moved = flint.arb_mat(size, size, [sign * gram[i, j] + (arb_of(shift) if i == j else 0)
                          for i in range(size) for j in range(size)])  # fmt: skip
    near = np.array([float(value.mid()) for value in moved.entries()]).reshape(size, size)
    try:
        inverse = np.linalg.inv(np.linalg.cholesky((near + near.T) / 2))
    except np.linalg.LinAlgError:
        return False
    if not np.isfinite(inverse).all():
        return False
    product = _arb(inverse) * moved * _arb(inverse.T)
    apart = sum(((product[i, j] - (i == j)) ** 2 for i in range(size) for j in range(size)), flint.arb(0))
    return bool(apart < 1)
