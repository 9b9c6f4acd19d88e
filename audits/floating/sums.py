"""Floating-point numbers that are no sum of a given number and any other (docs/notes/reachable_doubles.md).

A mechanism that adds noise to a value in one floating-point addition cannot return such a number, whatever its noise
is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floating = NDArray[np.floating[Any]]


def is_sum(value: float, outputs: Floating) -> NDArray[np.bool_]:
    """Return for each output whether it is the rounded sum of ``value`` and some floating-point number.

    The arithmetic is that of the type of ``outputs``, rounded to nearest. Three numbers are tried for each output:
    the rounded difference and its two neighbours. No other number has to be tried (Lemma 1 of the note).

    Args:
        value: a number that the type of ``outputs`` represents.
        outputs: finite numbers, of dtype float16, float32 or float64.

    Raises:
        ValueError: the value is not a number of this type, or an output is not finite.

    >>> is_sum(1.0, np.array([2.0**-53, 2.0**-54, 1.5]))
    array([ True, False,  True])
    """
    kind = outputs.dtype.type
    start = kind(value)
    if float(start) != float(value) or not math.isfinite(value):
        raise ValueError(f"value ({value!r}) must be a finite number of type {outputs.dtype.name}")
    if not np.isfinite(outputs).all():
        raise ValueError("outputs must be finite numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = outputs - start
        tried = (nearest, np.nextafter(nearest, kind(-np.inf)), np.nextafter(nearest, kind(np.inf)))
        hits = [np.isfinite(one) & (start + one == outputs) for one in tried]
    return np.asarray(np.logical_or.reduce(hits))


def lattice(value: float) -> Fraction:
    """Return h such that the rounded sum of ``value`` and any double is a multiple of h (Lemma 2 of the note).

    h is half of the distance from ``value`` to the next double of larger size.

    Args:
        value: a double that is not 0, of size at least 2^-1000.

    Raises:
        ValueError: the value is smaller, or not finite.

    >>> lattice(1.0) == Fraction(1, 2**53)
    True
    """
    if not (math.isfinite(value) and abs(value) >= 2.0**-1000):
        raise ValueError(f"value ({value!r}) must be a finite double of size at least 2^-1000")
    return Fraction(math.ulp(value)) / 2


def needed(value: float, output: float) -> tuple[Fraction, Fraction]:
    """Return the ends of an interval that contains every double whose rounded sum with ``value`` is ``output``.

    >>> low, high = needed(1.0, 1.0)
    >>> low == -Fraction(1, 2**54), high == Fraction(1, 2**53)
    (True, True)
    """
    below, above = math.nextafter(output, -math.inf), math.nextafter(output, math.inf)
    middle = (Fraction(one) + Fraction(output) for one in (below, above))
    low, high = (one / 2 - Fraction(value) for one in middle)
    return low, high
