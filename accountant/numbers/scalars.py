"""Elementary functions of single numbers, rounded from Arb's enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable

import flint

from dpproof.accountant.numbers.enclosures import precision

BALLS: dict[str, Callable[..., flint.arb]] = {
    "asinh": flint.arb.asinh,
    "cos": flint.arb.cos,
    "exp": flint.arb.exp,
    "expm1": flint.arb.expm1,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "lgamma": flint.arb.lgamma,
    "log": flint.arb.log,
    "log1p": flint.arb.log1p,
    "sin": flint.arb.sin,
    "log2": lambda x: x.log() / flint.arb.const_log2(),
}
"""The functions in ball arithmetic, by their names in ``math``."""


def of_numbers(name: str) -> Callable[..., float]:
    """Return the function ``math.name`` of finite numbers, rounded from Arb's enclosure to a nearest double.

    Errors, infinities and NaN are those of ``math``.

    >>> of_numbers("log")(10**400)
    921.034037197618
    """
    plain, ball = getattr(math, name), BALLS[name]

    def function(*numbers: float) -> float:
        usual = float(plain(*numbers))
        if not -math.inf < usual < math.inf:
            return usual
        exact = [
            flint.arb(number if isinstance(number, (int, float)) else float(number)) for number in numbers
        ]
        found = ball(*exact)
        if found.rel_accuracy_bits() < _KNOWN:
            with precision(_ENOUGH):
                found = ball(*exact)
                if found.rel_accuracy_bits() < _KNOWN:
                    raise ArithmeticError(f"{name}{numbers} is not known to {_KNOWN} bits. Please report it.")
        return float(found)

    return function


_KNOWN, _ENOUGH = 51, 1200
"""An enclosure may err by 2^-51 relatively. At 1,200 bits the enclosures of all finite doubles are narrower."""
