"""Columns of own data as ids, integers, numbers and truth values, each checked row by row.

Ids of users and episodes are never converted to floating-point numbers. Two rows have the same user if and only
if their ids are equal as given. If two different ids may be meant as the same id, an error names the row.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import numpy as np
from numpy.exceptions import ComplexWarning
from numpy.typing import NDArray

from dpproof.accountant.rl.policy_evaluation.visits import decoded

Column = NDArray[Any]
USED = ("episode", "step", "user", "state", "action", "reward", "terminated", "truncated", "following")
"""Names of the columns that are used."""

_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "an integer",
    bytes: "bytes",
    Decimal: "a decimal",
    datetime: "a date with a time",
    date: "a date",
    time: "a time",
    timedelta: "a duration",
    UUID: "a UUID",
}
"""Types of ids. Equality of their values is exact."""
_MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "NaT"])
"""How programs write a missing value, as pandas reads it."""


@dataclass(frozen=True)
class Table:
    """A table of the user's data: columns by name, and the name of the data in error messages."""

    source: str
    columns: Mapping[str, Column]

    @property
    def rows(self) -> int:
        """Number of rows, which is the length of the column ``reward``."""
        return len(self.columns["reward"])

    def error(self, rule: str, row: int | None = None) -> ValueError:
        """Return an error that states the data, the row (counted from 1, without a header) and the rule."""
        return ValueError(f"{self.source}: {'' if row is None else f'row {row + 1}: '}{rule}")


def column(values: object) -> Column:
    """Return one column as an array. A list keeps its values as they are: numpy would turn [1, "1"] into texts."""
    if hasattr(values, "to_numpy") and not hasattr(values, "type"):
        return np.asanyarray(values.to_numpy())  # numpy alone would cut texts of polars at a final NUL
    if hasattr(values, "__array__"):
        return np.asanyarray(decoded(values))
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return np.fromiter(values, dtype=object)
    return np.asarray(values, dtype=object)


def plain(value: Any) -> Any:
    """Return a value of numpy as the equal value of Python, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def ids(table: Table, name: str) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number the ids in a column 0, 1, ... by first occurrence. Return the number in each row, and the ids.

    >>> ids(Table("data", {"user": column(["007", "7", "007"])}), "user")
    (array([0, 1, 0]), ('007', '7'))

    Raises:
        ValueError: naming the row and the rule: an id that is missing or of a type that is rounded or has no
            exact equality, ids of two types, or ids that look the same: they differ only in surrounding white
            space, in how accents are stored, or in invisible characters (Unicode category Cf).
    """
    given = table.columns[name]
    if given.ndim != 1:
        raise table.error(
            f"{name} (shape {given.shape}) must be one id for each step. Write an id of several parts as a tuple"
        )
    if given.dtype.kind in "iu" and not np.ma.isMaskedArray(given):
        return first_seen(given)
    values = (given.astype(str) if given.dtype.kind in "mM" else given).tolist()
    values = list(map(_exact, values)) if given.dtype.kind == "O" else values
    # Equal texts, and equal integers, need one check. Other equal values may differ in type, such as 1 and True.
    simple = set(map(type, values)) in ({str}, {int})
    places = np.arange(len(values)), tuple(values)
    _check_ids(table, name, *(first_seen(values) if simple else places))
    numbers, known = first_seen(values)
    _check_spaces(table, name, numbers, known)
    return numbers, known


def _exact(value: Any) -> Any:
    """Return an id as a value of Python. Dates of numpy are kept, because some of them become integers."""
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    return value if isinstance(value, np.datetime64 | np.timedelta64) else plain(value)


def _check_ids(table: Table, name: str, numbers: NDArray[np.int64], known: tuple[Any, ...]) -> None:
    """Raise an error unless all values can be ids, and are of one kind."""

    def error(number: int, given: str, rule: str) -> ValueError:
        return table.error(f"{name} ({given}) {rule}", int(np.argmax(numbers == number)))

    for number, value in enumerate(known):
        if _is_missing(value):
            raise error(number, repr(value), "must have a value in every row")
    first = _kind(known[0])
    for number, value in enumerate(known):
        kind = _kind(value)
        if not kind:
            rule = "must be a text, an integer, a date or a tuple of those. Convert the ids before reading"
            raise error(number, f"{value!r}, of type {type(value).__name__}", rule)
        if kind != first:
            rule = f"is {kind}, but {known[0]!r} in row 1 is {first}. Write all ids in the same way"
            raise error(number, repr(value), rule)


def _check_spaces(table: Table, name: str, numbers: NDArray[np.int64], known: tuple[Hashable, ...]) -> None:
    """Raise an error if two ids look the same."""
    seen: dict[Hashable, Hashable] = {}
    for number, value in enumerate(known):
        other = seen.setdefault(_bare(value), value)
        if other != value:
            hidden = _invisible(value), _invisible(other)
            signs = dict.fromkeys("".join(hidden)) if hidden[0] != hidden[1] else {}
            named = f"the invisible character {', '.join(f'U+{ord(sign):04X}' for sign in signs)}"
            how = named if signs else "surrounding white space or in how accents are stored"
            rule = f"looks like {other!r}. The two ids differ only in {how}"
            row = int(np.argmax(numbers == number))
            raise table.error(
                f"{name} ({value!r}) {rule}. Write the same id in the same way in all rows", row
            )


def _is_missing(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_missing, value))
    return not isinstance(value, int) and (value is None or str(_bare(value)).strip() in _MISSING)


def _kind(value: Any) -> str:
    """Return the kind of an id, or nothing for a value that cannot be one."""
    if isinstance(value, tuple):
        kinds = [_kind(one) for one in value]
        return f"a tuple of ({', '.join(kinds)})" if kinds and all(kinds) else ""
    if isinstance(value, bool):
        return ""
    return next((kind for type_, kind in _KINDS.items() if isinstance(value, type_)), "")


def _bare(value: Any) -> Hashable:
    """Return an id as it looks: without invisible characters and outer white space, accents stored in one way."""
    if isinstance(value, tuple):
        return tuple(map(_bare, value))
    if isinstance(value, str):
        hidden = _invisible(value)
        return unicodedata.normalize("NFC", "".join(sign for sign in value if sign not in hidden)).strip()
    return value.strip() if isinstance(value, bytes) else value


def _invisible(value: Any) -> str:
    """Return the characters of the Unicode category Cf in an id, such as U+200B. They have no width."""
    if isinstance(value, tuple):
        return "".join(map(_invisible, value))
    if not isinstance(value, str) or value.isascii():
        return ""
    return "".join(sign for sign in value if unicodedata.category(sign) == "Cf")


def first_seen(values: Iterable[Any]) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number the values 0, 1, ... by first occurrence. Return the number of each entry, and the values in that order.

    An array must hold integers.

    >>> first_seen(["u7", "u1", "u7"])
    (array([0, 1, 0]), ('u7', 'u1'))
    """
    if isinstance(values, np.ndarray):
        _, firsts, places = np.unique(values, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(firsts))[places].astype(np.int64), tuple(
            values[np.sort(firsts)].tolist()
        )
    known: dict[Any, int] = {}
    numbers = [known.setdefault(value, len(known)) for value in values]
    return np.array(numbers, dtype=np.int64), tuple(known)


def flags(table: Table, name: str) -> NDArray[np.bool_]:
    """Return a column of truth values, which may be written as 0, 1, true or false. A missing column is all false.

    Raises:
        ValueError: naming the first row that holds another value.
    """
    values = table.columns[name].tolist() if name in table.columns else [False] * table.rows
    words = [str(value).strip().lower() for value in values]
    for row, word in enumerate(words):
        if word not in _TRUTH:
            raise table.error(f"{name} ({plain(values[row])!r}) must be true or false, or 1 or 0", row)
    return np.array([_TRUTH[word] for word in words], dtype=bool)


_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def integers(table: Table, name: str) -> NDArray[np.int64]:
    """Return a column of integers.

    Raises:
        ValueError: naming the first row that holds another value.
    """
    given = table.columns[name]
    if given.ndim != 1:
        raise table.error(f"{name} (shape {given.shape}) {_ONE}")
    if given.dtype.kind == "i" and not np.ma.isMaskedArray(given):
        return given.astype(np.int64)
    values = given.tolist()
    if set(map(type, values)) == {int} and -(2**63) <= min(values) <= max(values) < 2**63:
        return np.array(values, dtype=np.int64)
    found = []
    for row, value in enumerate(values):
        whole = _whole(plain(value))
        if whole is None:
            single = isinstance(value, str) or not hasattr(value, "__len__")
            rule = "must be an integer below 2**63" if single else _ONE
            raise table.error(f"{name} ({plain(value)!r}) {rule}", row)
        found.append(whole)
    return np.array(found, dtype=np.int64)


_ONE = "must be one integer for each step. Map observations to states first"


def _whole(value: Any) -> int | None:
    """Return a value as an integer if it is one of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    if not isinstance(value, int):
        try:
            exact = Decimal(value)
        except InvalidOperation:
            return None
        if not exact.is_finite() or exact.adjusted() > 18 or exact != exact.to_integral_value():
            return None
        value = int(exact)
    return value if -(2**63) <= value < 2**63 else None


def reals(table: Table, name: str, kind: type) -> NDArray[Any]:
    """Return a column of real numbers in the floating-point type ``kind``: one number or array for each step.

    Raises:
        ValueError: naming the first row that holds something else, or an array of another shape.
    """
    given = table.columns[name]
    if given.dtype.kind in "biuf":
        return np.ma.filled(given.astype(kind), np.nan)
    if given.dtype.kind in "mM":
        raise table.error(f"{name} (dtype {given.dtype}) must hold real numbers only")
    values = given.tolist()
    try:
        return _real(values, kind)
    except _NO_NUMBER:
        pass
    for row, value in enumerate(values):
        try:
            shape = _real(value, kind).shape
        except _NO_NUMBER:
            raise table.error(f"{name} ({plain(value)!r}) must hold real numbers only", row) from None
        if shape != np.shape(values[0]):
            rule = f"must have the shape {np.shape(values[0])} of row 1"
            raise table.error(f"{name} (shape {shape}) {rule}", row)
    raise table.error(
        f"{name} must hold real numbers, or arrays of real numbers that all have the same shape"
    )


_NO_NUMBER = (TypeError, ValueError, OverflowError, ComplexWarning)


def _real(value: Any, kind: type) -> NDArray[Any]:
    """Return a value as real numbers. An imaginary part raises an error."""
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error", ComplexWarning)
        return np.asarray(value, dtype=kind)
