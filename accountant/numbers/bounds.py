"""``Bound``: two floats that enclose one number. Comparisons of bounds are true, false or undecided."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from numbers import Real
from typing import Literal, NoReturn

from dpproof.accountant.numbers.arithmetic import Assumption, current
from dpproof.accountant.numbers.written import finite, rounded

End = Literal["lower", "upper"]
Of = Literal["guarantee", "mechanism"]


class UndecidedError(ArithmeticError):
    """Raised if an undecided comparison is used as true or false."""


class Truth(enum.Enum):
    """The answer of a comparison of bounds: proved, refuted or undecided.

    ``bool`` of an undecided answer raises an error.

    >>> bool(Truth.PROVED), bool(Truth.REFUTED)
    (True, False)
    >>> bool(Truth.UNDECIDED)
    Traceback (most recent call last):
    dpproof.accountant.numbers.bounds.UndecidedError: The bounds leave this undecided. Compare .upper or .lower.
    """

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"

    def __bool__(self) -> bool:
        if self is Truth.UNDECIDED:
            raise UndecidedError("The bounds leave this undecided. Compare .upper or .lower.")
        return self is Truth.PROVED

    def __invert__(self) -> Truth:
        """Return the answer to the opposite question."""
        opposite = {Truth.PROVED: Truth.REFUTED, Truth.REFUTED: Truth.PROVED}
        return opposite.get(self, self)


@dataclass(frozen=True, slots=True)
class Bound:
    """A closed interval ``[lower, upper]`` certified to contain one number.

    ``of`` says which number is enclosed. If ``of`` is ``guarantee``, the number is the best value that a
    proved guarantee implies. If ``of`` is ``mechanism``, the number is the supremum over all neighbouring
    data sets. ``attained_by`` describes a pair of neighbours whose value is at least ``lower``. Without such
    a pair, ``lower`` only shows how exactly the guarantee was computed.

    Operations such as ``+`` and ``*`` on a bound raise an error. ``<``, ``<=``, ``>`` and ``>=`` compare a
    bound with a number; see `Truth`. ``float`` returns the end of the interval that is safe to rely on: the
    upper bound of an epsilon or a delta, the lower bound of a trade-off function. ``format`` with a number of
    digits rounds this end in the safe direction.

    >>> Bound(1.0, 1.5).at_most(2.0), Bound(1.0, 1.5).at_most(1.2)
    (<Truth.PROVED: 'proved'>, <Truth.UNDECIDED: 'undecided'>)
    >>> float(Bound(1.0, 1.5)), str(Bound(1.0, 1.5)), str(Bound(1.6338091, 1.6338092))
    (1.5, 'between 1 and 1.5', '1.633810 (certified, 7 digits)')
    >>> f"{Bound(1.0, 1.0001):.3f}", bool(Bound(1.0, 1.5) < 2)
    ('1.001', True)

    Raises:
        ValueError: if ``lower`` or ``upper`` is NaN, or ``lower > upper``.
    """

    lower: float
    upper: float
    of: Of = "guarantee"
    attained_by: str | None = None
    assumptions: frozenset[Assumption] = field(default_factory=current, compare=False, repr=False)
    """Unproved assumptions about the machine's arithmetic; see `dpproof.accountant.numbers.arithmetic`."""
    safe: End = field(default="upper", compare=False, repr=False)
    """Which of the two bounds is safe to rely on: ``lower`` or ``upper``."""

    def __float__(self) -> float:
        return self.upper if self.safe == "upper" else self.lower

    def __format__(self, spec: str) -> str:
        """Return the safe end, rounded in the safe direction; without a kind of number in ``spec``, the text."""
        if spec[-1:] not in _NUMBERS:
            return format(str(self), spec)
        if math.isinf(float(self)):
            return format(float(self), spec)
        with localcontext(rounding=ROUND_CEILING if self.safe == "upper" else ROUND_FLOOR):
            return format(Decimal(float(self)), spec)

    def _repr_html_(self) -> str:
        return f"<span title='between {self.lower!r} and {self.upper!r}'>{self}</span>"

    def __lt__(self, limit: float | Bound) -> Truth:
        """Whether the enclosed number is below ``limit``. Using an undecided answer as true or false is an error."""
        return ~self.at_least(limit) if _is_number(limit) else NotImplemented

    def __le__(self, limit: float | Bound) -> Truth:
        """Whether the enclosed number is at most ``limit``."""
        return self.at_most(limit) if _is_number(limit) else NotImplemented

    def __gt__(self, limit: float | Bound) -> Truth:
        """Whether the enclosed number is above ``limit``."""
        return ~self.at_most(limit) if _is_number(limit) else NotImplemented

    def __ge__(self, limit: float | Bound) -> Truth:
        """Whether the enclosed number is at least ``limit``."""
        return self.at_least(limit) if _is_number(limit) else NotImplemented

    def _no_arithmetic(self, *_: object) -> NoReturn:
        raise TypeError(
            "A Bound has no arithmetic. Use float(bound), its safe end, or bound.lower or bound.upper."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __pow__ = __neg__ = __abs__ = __round__ = _no_arithmetic

    def __str__(self) -> str:
        if self.lower == math.inf:
            return "infinite"
        if self.lower == self.upper:
            return (
                f"{self.upper:g} (exact)"
                if float(f"{self.upper:g}") == self.upper
                else f"{self.upper!r} (exact)"
            )
        digits = -math.log10(self.relative_width) if self.relative_width < 1 else 0
        if digits < 3:
            return f"between {rounded(self.lower, up=False)} and {rounded(self.upper, up=True)}"
        return f"{rounded(float(self), up=self.safe == 'upper')} (certified, {math.floor(digits)} digits)"

    def __post_init__(self) -> None:
        for end in ("lower", "upper"):
            object.__setattr__(self, end, float(getattr(self, end)))
            if math.isnan(getattr(self, end)):
                raise ValueError(f"{end} must not be NaN, because a bound encloses a number")
        if self.lower > self.upper:
            raise ValueError(f"lower ({self.lower!r}) must be at most upper ({self.upper!r})")

    def at_most(self, limit: float | Bound) -> Truth:
        """Return whether the enclosed number is at most ``limit``, which is a number or another bound."""
        low, high = _ends(limit)
        if self.upper <= low:
            return Truth.PROVED
        return Truth.REFUTED if self.lower > high else Truth.UNDECIDED

    def at_least(self, limit: float | Bound) -> Truth:
        """Return whether the enclosed number is at least ``limit``, which is a number or another bound."""
        low, high = _ends(limit)
        if self.lower >= high:
            return Truth.PROVED
        return Truth.REFUTED if self.upper < low else Truth.UNDECIDED

    def contains(self, value: float) -> bool:
        """Return whether ``value`` lies between ``lower`` and ``upper``, both included."""
        low, high = _ends(value)
        return self.lower <= low and high <= self.upper

    @property
    def width(self) -> float:
        """The difference ``upper - lower``; 0 if both are the same infinity."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def relative_width(self) -> float:
        """The width divided by the size of ``upper``.

        The result is 0 if ``lower`` equals ``upper``. If they differ, the result is infinite if ``upper`` is
        0 or the width is infinite.
        """
        if self.width == 0:
            return 0.0
        return self.width / abs(self.upper) if self.upper and math.isfinite(self.width) else math.inf

    def as_json(self) -> dict[str, float | str | None]:
        """Return the lower and the upper bound as a dictionary, with the same keys as the command line's JSON output.

        Infinity is the string ``"inf"``.
        """
        ends: dict[str, float | str | None] = {end: finite(getattr(self, end)) for end in ("lower", "upper")}
        return ends | {"of": self.of, "attained_by": self.attained_by}


def exactly(value: float) -> Bound:
    """Return the bound whose ``lower`` and ``upper`` are both ``value``.

    >>> exactly(0.5).width
    0.0
    """
    return Bound(value, value)


_NUMBERS = tuple("eEfFgG%")
"""The kinds of numbers at the end of a format."""


def _is_number(limit: object) -> bool:
    return isinstance(limit, Bound | Real)


def _ends(limit: float | Bound) -> tuple[float, float]:
    if isinstance(limit, Bound):
        return limit.lower, limit.upper
    # numpy would round the bound to the type of its scalar
    number = limit.item() if hasattr(limit, "item") else limit
    if number != number:
        raise ValueError("limit must not be NaN, because a comparison needs a number")
    return number, number
