"""The record of one run of a mechanism: its draws, and what it released with each of them."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

BELOW = (str(Path(__file__).parents[1]), str(Path(np.__file__).parent), "random.py", "secrets.py")
"""Files and folders whose lines are never the place of a draw."""

RUNNER = str(Path(__file__).with_name("comparing.py"))
"""The file that calls the mechanism; the frames above it belong to the caller of the comparison."""
PACKAGE: ContextVar[str] = ContextVar("package", default="")
"""The installed package that is compared: its lines count as those of the user."""
SEEDS = (20_260_217, 20_260_218)
_LARGE = 1 << 16
"""A smaller seed may equal a drawn number by chance."""
_INTEGERS = ("integers", "randint", "randrange", "getrandbits", "randbelow", "randbits")


class Family(enum.Enum):
    """The law of a draw, as far as the comparison knows it."""

    LAPLACE = "Laplace noise"
    GAUSSIAN = "Gaussian noise"
    GUMBEL = "Gumbel noise"
    UNIFORM = "a uniform number"
    CHOICE = "a choice"
    DECLARED = "a mechanism of a library"
    OTHER = "another draw"


COINS = (Family.OTHER, Family.CHOICE, Family.UNIFORM, Family.GUMBEL)
"""Draws after which a mechanism may use its data without more noise, as randomised response does."""


@dataclass
class Draw:
    """One call of a noise primitive.

    Attributes:
        family: the law of the draw.
        name: the name of the primitive.
        fixed: everything that must not depend on the data, such as the shape.
        place: file name and line number of the call.
        values: for each number of the draw, the number it protects and the factor of its noise.
        released: for each number of the draw, what was released.
        escaped: where the bare noise was used in a way that the comparison does not follow; empty if nowhere.
        picked: what an argument of the maximum, a choice or a library's mechanism answered.
        declared: the sensitivity that a library's mechanism was given.
        priced: the epsilon that a library's mechanism states for a change of its input; None if it states none.
        stated: what the mechanism states its loss as, in words.
        order: the norm in which its sensitivity bounds the change.
        one_way: whether all numbers of its input must move in one direction.
    """

    family: Family
    name: str
    fixed: tuple[Any, ...]
    place: str
    values: dict[int, tuple[float, float]] = field(default_factory=dict)
    released: dict[int, float] = field(default_factory=dict)
    escaped: str = ""
    picked: Any = None
    scores: Any = None
    declared: float | None = None
    priced: Callable[[float], float | None] | None = None
    stated: str = ""
    order: float = 2
    one_way: bool = False


class DivergedError(Exception):
    """Raised inside a replay at the first draw that the recorded run did not make."""

    def __init__(self, text: str, place: str, *, doubtful: bool = False, always: bool = False) -> None:
        super().__init__(text)
        self.always = always
        self.place = place
        self.doubtful = doubtful


class Trace:
    """The draws of one run; with ``before``, a replay of that recorded run.

    ``seeded`` lists what got a seed in the run, the seed, and the file and line. ``entropies`` are those that
    seed sequences got from the operating system in the run.
    """

    def __init__(self, before: Trace | None = None) -> None:
        self.draws: list[Draw] = []
        self.before = before
        self.inside = False
        self.seeded: list[tuple[Any, Any, str]] = []
        self.entropies: set[Any] = set()
        self.main, self.aside = (np.random.Generator(np.random.PCG64(seed)) for seed in SEEDS)

    @property
    def source(self) -> np.random.Generator:
        """The generator of all draws; the mechanisms of libraries have one of their own."""
        return self.aside if self.inside else self.main

    def is_seeded(self, generator: Any) -> bool:
        """Return whether this run gave a generator (or a module with one) a seed."""
        return any(one is generator for one, _, _ in self.seeded)

    def drew(self, seed: Any) -> bool:
        """Return whether the run drew this seed: an integer that is too large to be drawn by chance."""
        if not isinstance(seed, int | np.integer) or seed < _LARGE:
            return False
        return any(seed in np.ravel(one.picked).tolist() for one in self.draws if one.name in _INTEGERS)

    def draw(self, made: Draw) -> Draw | None:
        """Add a draw; return the same draw of the recorded run.

        Raises:
            DivergedError: the recorded run made another draw at this point.
        """
        self.draws.append(made)
        if self.before is None:
            return None
        place = len(self.draws) - 1
        if place >= len(self.before.draws):
            raise DivergedError(
                f"The second run draws {made.family.value} ({made.name}) after the last draw of the first run.",
                made.place,
            )
        old = self.before.draws[place]
        if (old.family, old.name) != (made.family, made.name):
            raise DivergedError(
                f"The first run draws {old.family.value} ({old.name}, {old.place}) where the second run draws"
                f" {made.family.value} ({made.name}).",
                made.place,
            )
        if not same(old.fixed, made.fixed):
            first, second = _differing(old.fixed, made.fixed)
            raise DivergedError(
                f"The parameters of {made.name} depend on the data: {_said(first)} in the first run,"
                f" {_said(second)} in the second.",
                made.place,
                doubtful=made.family in COINS,
                always=made.family is Family.DECLARED,
            )
        return old


def _said(values: tuple[Any, ...]) -> str:
    return f"{', '.join(map(str, values))}"[:120]


def same(one: Any, other: Any) -> bool:
    """Return whether two values agree, numbers up to a relative difference of 1e-9.

    >>> same((1.0, [2]), (1.0 + 1e-12, [2])), same([1], [1, 2])
    (True, False)
    """
    return _parted(one, other, "") is None


def first_difference(one: Any, other: Any) -> str | None:
    """Return the path of the first difference of two outputs, such as "output[1]"; None if they agree.

    >>> first_difference((1, 2.0), (1, 3.0))
    'output[1]'
    """
    return _parted(one, other, "output")


def _parted(one: Any, other: Any, path: str) -> str | None:
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other):
            return f"the keys of {path}"
        return _first(_parted(one[key], other[key], f"{path}[{key!r}]") for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return f"the length of {path}"
        pairs = zip(one, other, strict=True)
        return _first(_parted(a, b, f"{path}[{place}]") for place, (a, b) in enumerate(pairs))
    return None if _alike(one, other) else path


def _first(found: Any) -> str | None:
    return next((path for path in found if path is not None), None)


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        left, right = np.asarray(one), np.asarray(other)
        if left.dtype.kind in "biufc" and right.dtype.kind in "biufc":
            return left.shape == right.shape and bool(
                np.allclose(left, right, rtol=1e-9, atol=0, equal_nan=True)
            )
        return bool(np.array_equal(left, right)) or repr(one) == repr(other)
    except (TypeError, ValueError):
        return repr(one) == repr(other)


def _differing(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the parameters that differ, or all if there are more of them in one run."""
    if len(one) != len(other):
        return one, other
    pairs = [pair for pair in zip(one, other, strict=True) if not same(*pair)]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def here() -> str:
    """Return the file and the line that call a primitive, and the line of the mechanism that led there."""
    frame: FrameType | None = sys._getframe(1)
    places: list[tuple[str, int]] = []
    while frame is not None and frame.f_code.co_filename != RUNNER:
        places.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return named(places)


def named(places: Iterable[tuple[str, int]]) -> str:
    """Return the innermost and the outermost of these places, the innermost first, that are code of the user.

    Code of the user is all code outside installed packages, or that of the package that is compared.
    """
    kept = [
        f"{name}:{line}"
        for name, line in places
        if not name.startswith(BELOW[:2]) and Path(name).name not in BELOW[2:]
    ]
    own = [place for place in kept if "site-packages" not in place] or kept or ["?"]
    if PACKAGE.get():
        own = [place for place in kept if f"/{PACKAGE.get()}/" in place.split("site-packages")[-1]] or own
    return own[0] if own[0] == own[-1] else f"{own[0]}, called from {own[-1]}"
