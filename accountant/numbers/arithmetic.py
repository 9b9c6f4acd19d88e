"""Arithmetic without assumptions about the machine's functions, and a record of exceptions.

Most bounds come from ball arithmetic. Faster ones use doubles, whose basic operations round to nearest (IEEE
754). Modules of bounds import ``np``, ``math`` and their caches from here: the elementary functions are then
those of ``elementary`` and ``scalars``, which have proved errors. A function of numpy or of the C library that
has none is assumed to err by at most 4 units in the last place, and each call is recorded. If a value comes
from a cache, the assumptions of its computation are recorded again. So an answer would list them.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import math
    from functools import cache, cached_property, lru_cache

    import numpy as np

__all__ = [
    "Assumption",
    "assume",
    "cache",
    "cached_property",
    "current",
    "in_words",
    "listed",
    "lru_cache",
    "math",
    "np",
    "recorded",
    "scoped",
]


class Assumption(enum.Enum):
    """An unproved assumption about the machine's arithmetic, on which a bound depends."""

    ELEMENTARY = "elementary-4ulp"
    """The error of elementary functions in double precision."""

    @property
    def text(self) -> str:
        """The assumption in words."""
        return _TEXTS[self]

    def as_json(self) -> dict[str, str]:
        """Return the assumption as JSON data, as in the JSON output of the command line."""
        return {"id": self.value, "assumes": self.text, "explained": _EXPLAINED}


_TEXTS = {
    Assumption.ELEMENTARY: "elementary functions of numpy and of the C library err by at most 4 ulp",
}
_EXPLAINED = "docs/explanation/trust.md#arithmetic"
_PROCESS: set[Assumption] = set()
_RECORD: ContextVar[set[Assumption]] = ContextVar("_RECORD", default=_PROCESS)


def assume(*assumptions: Assumption) -> None:
    """Record that the current computation uses these assumptions."""
    _RECORD.get().update(assumptions)


def current() -> frozenset[Assumption]:
    """Return the assumptions recorded so far in the current ``recorded`` block, or else in the whole process."""
    return frozenset(_RECORD.get())


@contextlib.contextmanager
def recorded() -> Iterator[set[Assumption]]:
    """Record the assumptions of the computations in one block, and yield their set.

    After the block, this set is added to the set of the enclosing block.

    >>> with recorded() as used:
    ...     one = np.cosh(0.0)
    >>> sorted(assumption.value for assumption in used)
    ['elementary-4ulp']
    """
    used: set[Assumption] = set()
    token = _RECORD.set(used)
    try:
        yield used
    finally:
        _RECORD.reset(token)
        assume(*used)


def scoped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``function`` and records the assumptions of each call separately."""

    @functools.wraps(function)
    def asked(*arguments: Any, **options: Any) -> Any:
        with recorded():
            return function(*arguments, **options)

    return asked


def listed(assumptions: Iterable[Assumption]) -> list[dict[str, str]]:
    """Return a list of assumptions as JSON data, in a fixed order.

    >>> [entry["id"] for entry in listed({Assumption.ELEMENTARY})]
    ['elementary-4ulp']
    """
    given = set(assumptions)
    return [assumption.as_json() for assumption in Assumption if assumption in given]


def in_words(assumptions: Iterable[Assumption]) -> str:
    """Return one line that names the unproved assumptions about the machine's arithmetic.

    >>> in_words([])
    "arithmetic: balls and doubles; nothing is assumed of the machine's functions"
    """
    assumed = "; ".join(entry["assumes"] for entry in listed(assumptions))
    if not assumed:
        return "arithmetic: balls and doubles; nothing is assumed of the machine's functions"
    return f"arithmetic, assumed and not proved: {assumed}; see {_EXPLAINED}"


_ELEMENTARY = frozenset(
    {"acos", "acosh", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh"}
    | {"asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2"}
    | {"expm1", "float_power", "gamma", "hypot", "i0", "lgamma", "log", "log10", "log1p", "log2"}
    | {"logaddexp", "logaddexp2", "logspace", "pow", "power", "sin", "sinc", "sinh", "tan", "tanh"}
)


_PROVED = {
    "numpy": frozenset(
        {"abs", "absolute", "angle", "arcsinh", "arctan", "arctan2", "cos", "exp", "expm1", "hypot", "log"}
        | {"log1p", "logaddexp", "sin"}
    ),
    "math": frozenset({"asinh", "exp", "expm1", "hypot", "lgamma", "log", "log1p", "log2"}),
}
"""The functions that ``elementary`` computes with a proved error. They replace those of numpy and of the C library."""


class _Recorded:
    """A module whose elementary functions have a proved error, or record each call."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self._name)  # when it is used: many answers do without numpy
        if name in _PROVED[self._name]:
            found = _proved(self._name, name)
        else:
            found = _calls(module, name) if name in _ELEMENTARY else getattr(module, name)
        setattr(self, name, found)
        return found


def _proved(module: str, name: str) -> Any:
    if module == "math":
        return importlib.import_module("dpproof.accountant.numbers.scalars").of_numbers(name)
    elementary = importlib.import_module("dpproof.accountant.numbers.elementary")
    return getattr(elementary, {"abs": "absolute"}.get(name, name))


def _calls(module: Any, name: str) -> Callable[..., Any]:
    def called(*arguments: Any, **options: Any) -> Any:
        assume(Assumption.ELEMENTARY)
        return getattr(module, name)(*arguments, **options)

    return called


def _lru_cache(maxsize: int | None = 128) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``functools.lru_cache`` whose cached values repeat the record of their computation."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.lru_cache(maxsize)
        def computed(*arguments: Any, **options: Any) -> tuple[Any, frozenset[Assumption]]:
            with recorded() as used:
                return function(*arguments, **options), frozenset(used)

        @functools.wraps(function)
        def remembered(*arguments: Any, **options: Any) -> Any:
            value, used = computed(*arguments, **options)
            assume(*used)
            return value

        shown: Any = remembered  # the type of a function has no attributes of its own
        shown.cache_clear, shown.cache_info = computed.cache_clear, computed.cache_info
        return remembered

    return decorate


class _CachedProperty:
    """``functools.cached_property`` whose cached value repeats the record of its computation."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._place = f"_cached_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        kept = instance.__dict__
        if self._place not in kept:
            with recorded() as used:
                value = self._function(instance)
            kept[self._place] = value, frozenset(used)
        value, before = kept[self._place]
        assume(*before)
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self._place.removeprefix('_cached_')} cannot be set, because it is computed")


if not TYPE_CHECKING:
    np, math = _Recorded("numpy"), _Recorded("math")
    lru_cache, cache, cached_property = _lru_cache, _lru_cache(None), _CachedProperty
