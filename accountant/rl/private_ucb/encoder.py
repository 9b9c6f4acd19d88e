"""Encoders of batched counts: the matrix C whose noisy product C x is released, exact or on a lattice.

x holds the counts of each batch. C is lower triangular and Toeplitz, so its first column says all. On a
lattice the coefficients of C are rounded to the nearest multiples of 2^-bits, and half a unit is rounded up.
Rounded coefficients are rational, so the norm of a column is exact. They never increase, because rounding
keeps the order. Decoding with the inverse of the rounded C is post-processing (docs/notes/ucb_batches.md).
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from dpproof.accountant.counting.toeplitz import (
    Banded,
    SquareRoot,
    Strategy,
    banded_square_root,
    participation_norm,
    square_root_coefficient,
)
from dpproof.accountant.counting.tree import levels
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters

__all__ = ["encoder", "nodes", "squared_column", "strategy"]

_GUARD = 128


def encoder(parameters: BatchedCountsParameters) -> tuple[int, ...]:
    """Return the integers 2^bits C_0, 2^bits C_1, ..., where C_0, C_1, ... is the rounded first column of C.

    Column j of C is the first column, moved down by j. Coefficients beyond the returned ones are 0.

    >>> encoder(BatchedCountsParameters(2, 1, 3, 5, sigma=1.0, bits=3, grains=1))
    (8, 4, 3, 3)

    Raises:
        ValueError: for parameters without ``bits``, or with a tree, whose nodes are plain sums; see ``nodes``.
    """
    if parameters.counter == "tree":
        raise ValueError("counter ('tree') has no coefficients. Its nodes are sums of batches; see nodes.")
    if parameters.bits is None:
        raise ValueError("bits is missing. Only an encoder with a number of bits has integer coefficients.")
    count = parameters.batches if parameters.bands is None else parameters.bands
    return _rounded(count, parameters.bits)


def nodes(parameters: BatchedCountsParameters) -> int:
    """Return the largest number of complete tree nodes that contain one batch: the number of the tree's levels.

    >>> nodes(BatchedCountsParameters(2, 1, 3, 1001, sigma=1.0, counter="tree"))
    10
    """
    return levels(parameters.batches)


def strategy(parameters: BatchedCountsParameters) -> Strategy:
    """Return the factorisation B C of the running count over the batches, with the C that is released.

    >>> strategy(BatchedCountsParameters(2, 1, 3, 1001, sigma=1.0, bands=7)).bands
    7

    Raises:
        ValueError: for a tree.
    """
    if parameters.bits is not None or parameters.counter == "tree":
        unit = 1 << (parameters.bits or 0)
        return Banded(parameters.batches, tuple(Fraction(c, unit) for c in encoder(parameters)))
    if parameters.bands is None:
        return SquareRoot(parameters.batches)
    return banded_square_root(parameters.batches, parameters.bands)


def squared_column(parameters: BatchedCountsParameters) -> flint.arb:
    """Return an enclosure of the largest squared norm of a column of the released C. Call it inside ``precision``.

    It is an exact rational number for rounded coefficients, and the number of levels for a tree.

    >>> with precision(100): float(squared_column(BatchedCountsParameters(2, 1, 3, 5, 1.0, bits=3, grains=1)))
    1.53125
    """
    if parameters.counter == "tree":
        return flint.arb(nodes(parameters))
    if parameters.bits is None:
        return participation_norm(strategy(parameters))
    squares = sum(value * value for value in encoder(parameters))
    return arb_of(Fraction(squares, 4**parameters.bits))


@lru_cache(maxsize=8)
def _rounded(count: int, bits: int) -> tuple[int, ...]:
    """Return the first coefficients of the square root, times 2^bits, rounded to the nearest integers."""
    with precision(bits + _GUARD):
        column = SquareRoot(count).column().coeffs()
        half, unit = flint.arb(1) / 2, flint.arb(2) ** bits
        found = [(value * unit + half).floor().unique_fmpz() for value in column]
    return tuple(
        int(value) if value is not None else _decided(place, bits) for place, value in enumerate(found)
    )


def _decided(place: int, bits: int) -> int:
    """Return one rounded coefficient by exact arithmetic. It is needed near half a unit, so for few places."""
    exactly: Fraction = square_root_coefficient(place) * 2**bits + Fraction(1, 2)
    return math.floor(exactly)
