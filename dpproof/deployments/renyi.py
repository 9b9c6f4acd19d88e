"""The epsilon of DP-SGD as libraries print it: Renyi divergences at a list of orders, and a conversion.

These values are upper bounds, as every conversion gives. They are not tight. They say which printed figure comes
from which procedure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.renyi.subsampled_gaussian import SubsampledGaussianCurve

_BITS = 128
_Term = Callable[[flint.arb, flint.arb], flint.arb]
_TENTHS = tuple(Fraction(10 + x, 10) for x in range(1, 100))
_ORDERS: Mapping[str, tuple[Fraction, ...]] = {
    "Opacus": (*_TENTHS, *map(Fraction, range(12, 64))),
    "TensorFlow Privacy": (
        *(Fraction(x, 4) for x in (5, 6, 7, 8, 9, 10, 12, 14, 16, 18)),
        *map(Fraction, (*range(5, 64), 128, 256, 512)),
    ),
}
"""The orders at which the libraries evaluate the Renyi divergence, facts of their interfaces."""


def _first(order: flint.arb, log_inverse: flint.arb) -> flint.arb:
    """Return what the conversion of Mironov adds: log(1/delta)/(order - 1)."""
    return log_inverse / (order - 1)


def _improved(order: flint.arb, log_inverse: flint.arb) -> flint.arb:
    """Return what the conversion of Canonne, Kamath and Steinke adds, by its Proposition 12."""
    return (log_inverse - order.log()) / (order - 1) + (1 - 1 / order).log()


_TERMS: Mapping[str, _Term] = {
    "the conversion of Canonne, Kamath and Steinke": _improved,
    "the conversion of Mironov": _first,
}
WAYS = [(library, name) for library in _ORDERS for name in _TERMS]
"""Pairs of a library and a conversion."""


@dataclass(frozen=True)
class Training:
    """DP-SGD with a sampling rate and a noise multiplier."""

    rate: float
    noise: float

    def epsilon(self, steps: int, library: str, conversion: str, delta: str) -> float:
        """Return the epsilon that this procedure gives after ``steps`` steps, rounded up.

        >>> Training(0.004, 1.3).epsilon(3750, "Opacus", "the conversion of Mironov", "1e-5")
        1.1597493985896183
        """
        with precision(_BITS):
            log_inverse, term = -arb_of(exact(delta)).log(), _TERMS[conversion]
            return min(
                round_up(steps * renyi + term(order, log_inverse))
                for order, renyi in _one_step(self, library)
            )


@lru_cache(maxsize=64)
def _one_step(training: Training, library: str) -> tuple[tuple[flint.arb, flint.arb], ...]:
    curve = SubsampledGaussianCurve(Fraction(training.rate), Fraction(training.noise))
    return tuple((arb_of(order), curve(arb_of(order))) for order in _ORDERS[library])


def double_above(value: Fraction) -> float:
    """Return the smallest double that is at least ``value``, for a positive value.

    >>> double_above(Fraction(1, 4))
    0.25
    """
    found = float(value)
    return found if Fraction(found) >= value else math.nextafter(found, math.inf)
