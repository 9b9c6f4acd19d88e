"""Checks of arguments. Each returns the exact value, or raises a ValueError that names the argument and the rule."""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant.numbers.enclosures import Number, exact


def at_least_zero(value: Number, name: str = "epsilon") -> Fraction:
    """Return the exact value of a number that must be at least 0.

    >>> at_least_zero("-1")
    Traceback (most recent call last):
    ValueError: epsilon ('-1') must be at least 0
    """
    found = exact(value, name)
    if found < 0:
        raise ValueError(f"{name} ({_shown(value)!r}) must be at least 0")
    return found


def below_one(value: Number, name: str = "delta") -> Fraction:
    """Return the exact value of a number that must be in [0, 1), such as a delta."""
    found = exact(value, name)
    if not 0 <= found < 1:
        raise ValueError(f"{name} ({_shown(value)!r}) must be in [0, 1)")
    return found


def inside_unit(value: Number, name: str = "delta") -> Fraction:
    """Return the exact value of a number that must be in (0, 1), such as a failure probability."""
    found = exact(value, name)
    if not 0 < found < 1:
        raise ValueError(f"{name} ({_shown(value)!r}) must be in (0, 1)")
    return found


def probability(value: Number, name: str) -> Fraction:
    """Return the exact value of a number that must be in [0, 1]."""
    found = exact(value, name)
    if not 0 <= found <= 1:
        raise ValueError(f"{name} ({_shown(value)!r}) must be in [0, 1]")
    return found


def whole(value: int, name: str, least: int = 0, most: int | None = None) -> int:
    """Return ``value``, which must be an integer from ``least`` to ``most``. True and False are rejected.

    >>> whole(7, "users", 1, 6)
    Traceback (most recent call last):
    ValueError: users (7) must be an integer in [1, 6]
    """
    integer = isinstance(value, int) and type(value) is not bool
    if integer and least <= value and (most is None or value <= most):
        return value
    rule = f"at least {least}" if most is None else f"in [{least}, {_power(most)}]"
    raise ValueError(f"{name} ({value!r}) must be an integer {rule}")


def _power(value: int) -> str:
    """Return a power of ten as "10^n" if it has more than four digits, any other integer in its digits."""
    digits = str(value)
    return f"10^{len(digits) - 1}" if len(digits) > 4 and digits == "1" + "0" * (len(digits) - 1) else digits


def _shown(value: Number) -> Number:
    """Return the number as a message prints it. A fraction becomes the nearest double."""
    return float(value) if type(value) is Fraction else value
