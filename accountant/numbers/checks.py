"""Checks of arguments: each returns the exact value, or raises a ValueError that names the argument and its rule."""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant.numbers.enclosures import Number, exact

__all__ = ["at_least_zero", "below_one", "inside_unit", "probability", "whole"]


def at_least_zero(value: Number, name: str = "epsilon") -> Fraction:
    """The exact value of a number at least 0.

    >>> at_least_zero("-1")
    Traceback (most recent call last):
    ValueError: epsilon ('-1') must be at least 0
    """
    found = exact(value, name)
    if found < 0:
        raise ValueError(f"{name} ({_shown(value)!r}) must be at least 0")
    return found


def below_one(value: Number, name: str = "delta") -> Fraction:
    """The exact value of a number in [0, 1), such as a delta."""
    found = exact(value, name)
    if not 0 <= found < 1:
        raise ValueError(f"{name} ({_shown(value)!r}) must be in [0, 1)")
    return found


def inside_unit(value: Number, name: str = "delta") -> Fraction:
    """The exact value of a number in (0, 1), such as a failure probability."""
    found = exact(value, name)
    if not 0 < found < 1:
        raise ValueError(f"{name} ({_shown(value)!r}) must be in (0, 1)")
    return found


def probability(value: Number, name: str) -> Fraction:
    """The exact value of a number in [0, 1]."""
    found = exact(value, name)
    if not 0 <= found <= 1:
        raise ValueError(f"{name} ({_shown(value)!r}) must be in [0, 1]")
    return found


def whole(value: object, least: int = 0, most: float = float("inf")) -> bool:
    """Whether a value is an integer from ``least`` to ``most``; a truth value is none.

    >>> whole(3, 1), whole(True, 1), whole(2.0), whole(7, 1, 6)
    (True, False, False, False)
    """
    return type(value) is not bool and isinstance(value, int) and least <= value <= most


def _shown(value: Number) -> Number:
    """The number as a message prints it: a fraction by the nearest double."""
    return float(value) if type(value) is Fraction else value
