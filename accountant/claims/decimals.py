"""Bounds for typed decimals, such as 0.1, that are not doubles.

Accountants compute with doubles (64-bit floating-point numbers), but a typed decimal means the exact rational
number. For many parameters it is known whether a larger value is more or less private (the parameter's
``safer``). Then the exact mechanism lies between two mechanisms whose parameters are the doubles on both
sides. The less private one bounds the guarantee from above. The more private one bounds it from below. Proofs
of the directions: docs/notes/typed_decimals.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.parameters import EXACT
from dpproof.accountant.numbers.enclosures import Written
from dpproof.accountant.numbers.inversion import neighbours_of


def sides(parameters: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return two sets of parameters, one on each side of ``parameters`` in privacy, and notes on rounding.

    The first set is at least as private as ``parameters``. The second set is at most as private.

    Each typed decimal that is not a double is replaced by values on both sides of the decimal. If no safe
    direction is known, the decimal is rounded instead, and a note says this. Without typed decimals, the
    function returns ``parameters`` twice.

    >>> from dpproof.accountant.numbers.enclosures import Written
    >>> from dpproof.accountant.noise.dp_sgd import DPSGDParameters
    >>> more, less, notes = sides(DPSGDParameters(Written("0.1"), Written("0.7"), 10))
    >>> more.sampling_rate < less.sampling_rate, more.noise_multiplier > less.noise_multiplier, notes
    (True, True, ())
    """
    more: dict[str, Any] = {}
    less: dict[str, Any] = {}
    notes = []
    known = {field.name: field.metadata for field in parameters.fields()}
    for name, value in _typed(parameters).items():
        ends = _around(value, known[name]["safer"], known[name]["domain"])
        if ends is None:
            ends = float(value), float(value)
            notes.append(_rounded(name, value))
        less[name], more[name] = ends
    if not more:
        return parameters, parameters, ()
    return replace(parameters, **more), replace(parameters, **less), tuple(notes)


def _typed(parameters: Any) -> dict[str, Written]:
    """The parameters that are typed decimals, by name."""
    values = ((field.name, getattr(parameters, field.name)) for field in parameters.fields())
    return {name: value for name, value in values if isinstance(value, Written)}


def _rounded(name: str, value: Written) -> str:
    """Return the note about a decimal that is rounded because no two doubles are known to enclose it."""
    return f"{name} is taken to be the double nearest to {value.text}: {Fraction(float(value))}"


def at_nearest_doubles(parameters: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the parameters with each decimal replaced by the nearest double, and a note on each decimal."""
    typed = _typed(parameters)
    return doubles(parameters), tuple(_rounded(name, value) for name, value in typed.items())


def _around(value: Written, safer: int | None, domain: Any) -> tuple[Any, Any] | None:
    """Return the values to compute with, the less private one first; None if neither direction is known."""
    if safer == EXACT:
        return value.rational, value.rational
    low, high = neighbours_of(value.rational)
    if safer is None or not (domain.admits(low) and domain.admits(high)):
        return None
    return (low, high) if safer > 0 else (high, low)


def doubles(parameters: Any) -> Any:
    """Return the parameters with each typed decimal replaced by the nearest double, as an implementation uses them."""
    changed = {name: float(value) for name, value in _typed(parameters).items()}
    return replace(parameters, **changed) if changed else parameters


def as_typed(found: Any, given: Any, noise: str) -> Any:
    """Return the parameters ``found`` by calibration, with the typed decimals of ``given`` put back.

    Only the parameter named ``noise`` keeps its value in ``found``.
    """
    return replace(found, **{name: value for name, value in _typed(given).items() if name != noise})


def beyond_decimals(parameters: Any, noise: str, side: int) -> Any:
    """Return the parameters with the noise moved to the next double, if the noise is not printed exactly.

    ``noise`` is the name of the parameter. Its value moves up if ``side`` is 1, and down if ``side`` is -1.
    The decimal that is printed for the moved double lies beyond the original double. So if calibration has
    certified that the original double meets (or misses) the target, the printed decimal does so too.

    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> Fraction(repr(beyond_decimals(GaussianParameters(0.07), "sigma", 1).sigma)) > Fraction(0.07)
    True
    """
    value = getattr(parameters, noise)
    if not isinstance(value, float) or Fraction(repr(value)) == Fraction(value):
        return parameters
    return replace(parameters, **{noise: math.nextafter(value, side * math.inf)})
