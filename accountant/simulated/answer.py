"""``ConfidentBound``: two floats that enclose one number with a stated confidence. It is never a certified bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NoReturn

from dpproof.accountant.numbers.arithmetic import Assumption, current, listed
from dpproof.accountant.numbers.written import finite, rounded

Quantity = Literal["epsilon", "delta"]
SAMPLER = "numpy's generator is random, and its normal variates have the law that they are named after"
"""What every simulated answer assumes of the machine's randomness."""


@dataclass(frozen=True, slots=True)
class ConfidentBound:
    """An interval ``[lower, upper]`` that contains one number with probability at least ``1 - alpha``.

    The probability is over the random numbers of the simulation. A caller who chooses a seed after looking at
    the answers of several seeds has no such confidence. So the answer says whether the seed was stated by the
    caller or drawn from entropy. Each answer has its own ``alpha``: two answers together fail with probability
    at most the sum of both.

    This type is not a `Bound`. It cannot be compared with numbers or with certified bounds, and functions that
    compose certified results do not accept it. A caller who wants to use it as if it were certain says so by
    reading ``upper`` or ``lower``.

    >>> print(ConfidentBound("epsilon", 0.8123, 0.8301, Fraction(1, 10**9), 65536, 7, False))
    0.8123000 <= epsilon <= 0.8301000 with confidence 1 - 1e-9 (simulated, 65536 samples, stated seed 7)

    Raises:
        ValueError: if the bounds are no interval, or ``alpha`` is not in (0, 1).
    """

    quantity: Quantity
    lower: float
    upper: float
    alpha: Fraction
    """The probability that the interval misses the number is at most this."""
    samples: int
    seed: int
    from_entropy: bool
    """Whether the seed was drawn from entropy. Otherwise the caller stated it."""
    assumptions: frozenset[Assumption] = field(default_factory=current, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"lower ({self.lower!r}) must be at most upper ({self.upper!r})")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha ({self.alpha}) must be in (0, 1)")

    @property
    def confidence(self) -> str:
        """The confidence in words, such as ``1 - 1e-9``."""
        return f"1 - {self._alpha}"

    @property
    def _alpha(self) -> str:
        return f"{float(self.alpha):g}".replace("e-0", "e-")

    @property
    def width(self) -> float:
        """The difference ``upper - lower``."""
        return self.upper - self.lower

    def __str__(self) -> str:
        seed = f"seed {self.seed} from entropy" if self.from_entropy else f"stated seed {self.seed}"
        ends = [f"{rounded(self.lower, up=False)} <= {self.quantity}"] if self.lower > 0 else [self.quantity]
        ends += [f"<= {rounded(self.upper, up=True)}"] if self.upper < math.inf else []
        return (
            f"{' '.join(ends)} with confidence {self.confidence} (simulated, {self.samples} samples, {seed})"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the answer under the key ``simulated``, which no certified answer has."""
        told = {end: finite(getattr(self, end)) for end in ("lower", "upper")}
        run = {"samples": self.samples, "seed": str(self.seed), "seed_from_entropy": self.from_entropy}
        rests = {"assumes": [SAMPLER], "arithmetic": listed(self.assumptions)}
        named = {"quantity": self.quantity, "alpha": self._alpha}
        return {"simulated": named | told | run | rests}

    def _not_certified(self, *_: object) -> NoReturn:
        raise TypeError(
            "A simulated answer holds only with a confidence, so it is not compared or combined with other "
            "answers. To use it as if it were certain, read .lower or .upper."
        )

    __lt__ = __le__ = __gt__ = __ge__ = __float__ = _not_certified
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _not_certified
    __truediv__ = __rtruediv__ = _not_certified
