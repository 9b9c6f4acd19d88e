"""Parameters of mechanisms: fields with a domain, a unit and a help text, all checked in one place.

A domain is the set of allowed values: an interval of numbers, a few words or a truth value. An accountant's
parameters are one frozen dataclass derived from ``Parameters``. Command-line flags, claim-file keys, error
messages and reference tables are generated from its fields.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self

from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.numbers.enclosures import typed


class Values(Protocol):
    """The domain of a parameter: the values that it may take. Error messages show ``str(domain)``."""

    @property
    def kind(self) -> type:
        """The type of the values."""
        ...

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is in the domain."""
        ...

    def read(self, text: str) -> Any:
        """Return the value that ``text`` denotes, which may be outside the domain.

        Raise ValueError if it denotes no value.
        """
        ...

    def some(self) -> Any:
        """Return one value of the domain, as an example."""
        ...

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values. Names of files have the format ``path``."""
        ...


@dataclass(frozen=True)
class Domain:
    """The domain of a number in an interval.

    ``lower_open`` excludes ``lower``, and ``upper_open`` excludes ``upper``.
    """

    lower: float = -math.inf
    upper: float = math.inf
    lower_open: bool = False
    upper_open: bool = False
    kind: type = float

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is a number of the right type in the interval. NaN is never admitted."""
        numbers = int if self.kind is int else (int, float, Fraction)
        if isinstance(value, bool) or not isinstance(value, numbers):
            return False
        try:
            value = value if self.kind is int else float(value)
        except OverflowError:
            return False
        if self.kind is not int and not math.isfinite(value):
            return False
        above = value > self.lower if self.lower_open else value >= self.lower
        return above and (value < self.upper if self.upper_open else value <= self.upper)

    def read(self, text: str) -> Any:
        """Return the number that ``text`` denotes."""
        return typed(text) if self.kind is float else self.kind(text)

    def some(self) -> Any:
        """Return a number of the interval, as an example: 1 if the interval contains 1.

        >>> Reals(0, lower_open=True).some(), Integers(3).some(), Reals(0, 1, upper_open=True).some()
        (1.0, 3, 0.5)
        """
        tried = (1, (self.lower + self.upper) / 2, self.upper, self.lower, self.lower + 1)
        numbers = (self.kind(value) for value in tried if math.isfinite(value))
        return next(value for value in numbers if self.admits(value))

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the interval.

        >>> Reals(0, 1, upper_open=True).schema()
        {'type': 'number', 'minimum': 0, 'exclusiveMaximum': 1}
        """
        least = "exclusiveMinimum" if self.lower_open else "minimum"
        most = "exclusiveMaximum" if self.upper_open else "maximum"
        ends = {least: self.lower, most: self.upper}
        kind = "integer" if self.kind is int else "number"
        return {"type": kind, **{name: end for name, end in ends.items() if math.isfinite(end)}}

    def __str__(self) -> str:
        noun = "an integer" if self.kind is int else "a number"
        left, right = "(["[not self.lower_open], ")]"[not self.upper_open]
        if math.isinf(self.upper):
            return f"{noun} {'above' if self.lower_open else 'at least'} {self.lower:g}"
        return f"{noun} in {left}{self.lower:g}, {self.upper:g}{right}"


def Integers(lower: int, upper: float = math.inf) -> Domain:  # noqa: N802 (reads as the name of a set)
    """Return the domain of the integers that are at least ``lower``, and at most ``upper`` if given."""
    return Domain(lower, upper, kind=int)


def Reals(  # noqa: N802 (reads as the name of a set)
    lower: float, upper: float = math.inf, *, lower_open: bool = False, upper_open: bool = False
) -> Domain:
    """Return the domain of the finite real numbers between ``lower`` and ``upper``."""
    return Domain(lower, upper, lower_open, upper_open)


@dataclass(frozen=True)
class Choice:
    """The domain of a parameter whose value is one word of a fixed list.

    >>> str(Choice("laplace", "gaussian")), Choice("laplace", "gaussian").admits("cauchy")
    ('one of: laplace, gaussian', False)
    """

    words: tuple[str, ...]
    kind: type = str

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is one of the words, spelled in the same way."""
        return isinstance(value, str) and value in self.words

    def read(self, text: str) -> str:
        """Return ``text`` unchanged."""
        return text

    def some(self) -> str:
        """Return the first word of the list, as an example."""
        return self.words[0]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the words."""
        return {"enum": list(self.words)}

    def __str__(self) -> str:
        return f"one of: {', '.join(self.words)}"


@dataclass(frozen=True)
class Words:
    """The domain of a parameter whose value is a list of different words from a fixed list.

    >>> str(Words("a", "b")), Words("a", "b").admits(["b"]), Words("a", "b").admits([])
    ('a list of: a, b', True, False)
    """

    words: tuple[str, ...]
    kind: type = list

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is a list of at least one of the words, each at most once."""
        if not isinstance(value, list) or not value:
            return False
        return all(word in self.words for word in value) and len(set(value)) == len(value)

    def read(self, text: str) -> list[str]:
        """Return the words of ``text``, which are separated by commas."""
        return text.split(",")

    def some(self) -> list[str]:
        """Return a list that holds the first word only, as an example."""
        return [self.words[0]]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a list whose elements are allowed words."""
        return {"type": "array", "items": {"enum": list(self.words)}, "minItems": 1, "uniqueItems": True}

    def __str__(self) -> str:
        return f"a list of: {', '.join(self.words)}"


@dataclass(frozen=True)
class Ranges:
    """The domain of a parameter whose value is one range of numbers, or one range for each named column.

    >>> Ranges().admits([0, 100]), Ranges().admits({"age": [0, 120]}), Ranges().admits([1, 0])
    (True, True, False)
    """

    kind: type = list

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is one range, or a mapping from names of columns to ranges."""
        if isinstance(value, Mapping):
            return bool(value) and all(map(self._is_range, value.values()))
        return self._is_range(value)

    @staticmethod
    def _is_range(value: object) -> bool:
        if not isinstance(value, list | tuple) or len(value) != 2:
            return False
        return all(map(Domain().admits, value)) and bool(value[0] < value[1])

    def read(self, text: str) -> list[Any]:
        """Return the two numbers of ``text``, which are separated by a space."""
        return [typed(number) for number in text.split()]

    def some(self) -> list[int]:
        """Return the range from 0 to 1, as an example."""
        return [0, 1]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a range, or of a mapping from names of columns to ranges."""
        finite = {"type": "number", "minimum": -sys.float_info.max, "maximum": sys.float_info.max}
        one = {"type": "array", "items": finite, "minItems": 2, "maxItems": 2}
        return {"anyOf": [one, {"type": "object", "minProperties": 1, "additionalProperties": one}]}

    def __str__(self) -> str:
        return "two numbers, [low, high] with low below high, or a table of these by column"


@dataclass(frozen=True)
class Settings:
    """The domain of a parameter that gives, for each name, the values that are tried.

    >>> Settings().admits({"bins": [2, 8]}), Settings().admits({"bins": []}), Settings().admits([2, 8])
    (True, False, False)
    """

    kind: type = dict

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is a mapping from names to lists of numbers, texts, and true or false."""
        return (
            isinstance(value, Mapping)
            and bool(value)
            and all(str(name).isidentifier() and self._are_values(values) for name, values in value.items())
        )

    @staticmethod
    def _are_values(values: object) -> bool:
        kinds = bool | int | float | str
        return (
            isinstance(values, list | tuple)
            and bool(values)
            and all(isinstance(one, kinds) for one in values)
        )

    def read(self, text: str) -> dict[str, list[Any]]:
        """Return the values of ``text``, which has the form NAME=VALUE,VALUE."""
        name, _, values = text.partition("=")
        return {name: [typed(value) for value in values.split(",")]}

    def some(self) -> dict[str, list[int]]:
        """Return one name with two values, as an example."""
        return {"size": [1, 2]}

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a mapping from names to lists of values."""
        values = {"type": "array", "minItems": 1, "items": {"type": ["number", "string", "boolean"]}}
        names = {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
        return {"type": "object", "minProperties": 1, "propertyNames": names, "additionalProperties": values}

    def __str__(self) -> str:
        return "a table of lists of values, one for each parameter, such as {bins = [2, 8]}"


@dataclass(frozen=True)
class Flag:
    """The domain of a parameter that is true or false: ``--name`` or ``--no-name`` on the command line.

    >>> Flag().admits(True), Flag().admits(1), Flag().read("false")
    (True, False, False)
    """

    kind: type = bool

    def admits(self, value: object) -> bool:
        """Return whether ``value`` is True or False."""
        return isinstance(value, bool)

    def read(self, text: str) -> bool:
        """Return True for the text ``true``, and False for the text ``false``."""
        if text not in ("true", "false"):
            raise ValueError(f"text ({text!r}) must be {self}")
        return text == "true"

    def some(self) -> bool:
        """Return False, as an example."""
        return False

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a truth value."""
        return {"type": "boolean"}

    def __str__(self) -> str:
        return "true or false"


EXACT = 0
"""The value of ``safer`` in ``parameter`` if the accountant uses the parameter as an exact rational number."""


def parameter(
    domain: Values, unit: str, help: str, default: Any = dataclasses.MISSING, *, safer: int | None = None
) -> Any:
    """Return a dataclass field for a parameter, with its ``domain``, ``unit`` and ``help``.

    A default of ``None`` makes the parameter optional. ``safer`` is 1 if a larger value is proved to be at
    least as private, and -1 if a smaller value is. ``safer`` is `EXACT` if the accountant uses the exact
    value, and None otherwise; see `dpproof.accountant.claims.decimals`.
    """
    metadata = {"domain": domain, "unit": unit, "help": help, "safer": safer}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Parameters:
    """The base class of every mechanism's parameters. The constructor checks each field against its domain."""

    def __post_init__(self) -> None:
        for field in self.fields():
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if not field.metadata["domain"].admits(value):
                raise ValueError(f"{field.name} ({value!r}) must be {field.metadata['domain']}")

    @classmethod
    def fields(cls) -> tuple[dataclasses.Field[Any], ...]:
        """Return the fields in order. The metadata of each has ``domain``, ``unit``, ``help`` and ``safer``."""
        return dataclasses.fields(cls)

    @classmethod
    def read(cls, values: Mapping[str, object]) -> Self:
        """Return parameters from a mapping of names to values, as a claim file holds them.

        Raises:
            ValueError: for a missing or unknown name, or a value outside its domain.
        """
        known = {field.name: field for field in cls.fields()}
        for name in values:
            if name not in known:
                raise ValueError(f"parameter ({name!r}) {one_of(name, known)}")
        for name, field in known.items():
            if name not in values and field.default is dataclasses.MISSING:
                raise ValueError(f"parameter ({name!r}) is missing. Give {field.metadata['domain']}.")
        return cls(**values)

    def as_json(self) -> dict[str, Any]:
        """Return the given values by name, without the optional fields that were not given."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
