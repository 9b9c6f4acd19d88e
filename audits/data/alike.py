"""Fast conversion of outputs that all have the same form, such as dictionaries with the same keys.

An output is converted to cells, which are numbers with a kind, and to its canonical text. The results equal those of
`dpproof.audits.data.encoding.cells` and `dpproof.audits.data.canonical.canonical_text`, which convert one output at a
time. Converting all outputs column by column is several times faster.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.canonical import canonical_text, hashed, plain
from dpproof.audits.data.exact import EXACT

Cell = tuple[int, float | int]
MISSING, NOTHING, NUMBER, TEXT, SEQUENCE, TABLE, GROUP, FAILURE, RECORD, NAME, BYTES, INTEGER, HUGE = range(
    13
)
"""The kinds of cells, into which an output is split. A cell holds a number, the length of the collection that follows,
or the hash of a word in [0, 1). An integer that no double represents is held as its distance from a central value, or
hashed like a word."""
KNOWN = 1 << 14
"""The number of words whose conversions are cached."""
PART = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[^\W\d]+")
"""A number or a word in a text."""
Column = tuple[Any, Any]
"""One cell (a number or a word) of many outputs: its kinds and its values, as one number or an array each."""


class Form(ABC):
    """Many values that have the same form, one from each output, such as lists of equal length."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of cells (numbers, words and lengths) to which one value is converted."""

    @abstractmethod
    def columns(self) -> Iterator[Column]:
        """Generate the cells (numbers, words and lengths) of all values, one column for each cell."""

    @abstractmethod
    def texts(self) -> Sequence[str]:
        """Return the canonical text of each value."""


@dataclass(frozen=True)
class _Numbers(Form):
    """Numbers of one type, or None."""

    values: Sequence[Any]
    kind: int
    count = 1

    def columns(self) -> Iterator[Column]:
        yield self.kind, self._doubles if self.kind == NUMBER else 0.0

    @cached_property
    def _doubles(self) -> NDArray[np.float64]:
        return np.array(self.values, np.float64)

    def texts(self) -> Sequence[str]:
        if type(self.values[0]) is float:  # most of what is released, without a call
            return [canonical_text(one) if one.is_integer() else one.hex() for one in self.values]
        return list(map(str if type(self.values[0]) is int else canonical_text, self.values))


@dataclass(frozen=True)
class _Words(Form):
    """Texts, and the cells of their words."""

    values: Sequence[str]
    words: Sequence[Cell]
    count = 2

    def columns(self) -> Iterator[Column]:
        yield TEXT, np.array(list(map(len, self.values)), np.float64)
        first, second = ([cell[place] for cell in self.words] for place in (0, 1))
        yield np.array(first, np.float64), np.array(second, np.float64)

    def texts(self) -> Sequence[str]:
        return list(map(canonical_text, self.values))


@dataclass(frozen=True)
class _Parts(Form):
    """Sequences of one length, or dictionaries with the same keys, which are sorted by their texts."""

    names: Sequence[str]
    parts: Sequence[Form]
    values: int

    @property
    def count(self) -> int:
        return 1 + len(self.names) + sum(part.count for part in self.parts)

    def columns(self) -> Iterator[Column]:
        yield TABLE if self.names else SEQUENCE, float(len(self.parts))
        for place, part in enumerate(self.parts):
            if self.names:
                yield NAME, place_of(self.names[place])
            yield from part.columns()

    def texts(self) -> Sequence[str]:
        if not self.names:
            return [f"[{','.join(one)}]" for one in zip(*(part.texts() for part in self.parts), strict=True)]
        entries = sorted((f"{name}:", part) for name, part in zip(self.names, self.parts, strict=True))
        form = "{" + ",".join(entry.replace("%", "%%") + "%s" for entry, _ in entries) + "}"
        return [form % one for one in zip(*(part.texts() for _, part in entries), strict=True)]


def alike(values: Sequence[Any]) -> Form | None:
    """Return the values as a `Form`; None if they have different forms, or an unusual one.

    >>> found = alike([{"b": 1, "a": [2.5]}, {"a": [0.5], "b": 3}])
    >>> found.count, list(found.texts())[0]
    (6, '{"a":[0x1.4000000000000p+1],"b":1}')
    """
    kinds = set(map(type, values))
    only = kinds.pop() if len(kinds) == 1 else object
    made = _MAKERS.get(only)
    if made is not None:
        return made(values)
    if only in _SCALARS:
        return _numbers(np.array(values, only).tolist())
    plainer = (
        list(map(plain, values)) if len(values) and isinstance(values[0], np.generic | np.ndarray) else []
    )
    return None if not plainer or type(plainer[0]) is type(values[0]) else alike(plainer)


def _numbers(values: Sequence[Any]) -> Form | None:
    whole = type(values[0]) is int
    return None if whole and not -EXACT <= min(values) <= max(values) <= EXACT else _Numbers(values, NUMBER)


def _words(values: Sequence[str]) -> Form | None:
    words = list(map(word, values))
    usual = all(abs(value) <= EXACT for _, value in words)
    return _Words(values, words) if usual and max(len(parts_of(one)) for one in set(values)) < 2 else None


def _sequences(values: Sequence[Any]) -> Form | None:
    if len(set(map(len, values))) > 1 or not values[0]:
        return None
    return _of_parts([], zip(*values, strict=True), len(values))


def _tables(values: Sequence[Any]) -> Form | None:
    keys = values[0].keys()
    if not keys or not all(map(keys.__eq__, map(dict.keys, values))):
        return None
    if set(map(type, chain.from_iterable(values))) not in (
        {str},
        {int},
    ):  # others may be equal, and have other texts
        return None
    names = {canonical_text(key): key for key in keys}
    ordered = sorted(names)
    columns = (list(map(itemgetter(names[name]), values)) for name in ordered)
    return _of_parts(ordered, columns, len(values))


def _of_parts(names: Sequence[str], columns: Iterator[Any], count: int) -> Form | None:
    parts = []
    for column in columns:
        part = alike(column)
        if part is None:
            return None
        parts.append(part)
    return _Parts(names, parts, count)


_SCALARS = frozenset(np.dtype(code).type for code in "?bBhHiIlLefd")
"""The numpy types that are converted together to Python numbers."""
_MAKERS: dict[type, Callable[[Sequence[Any]], Form | None]] = {
    int: _numbers,
    float: _numbers,
    bool: _numbers,
    type(None): lambda values: _Numbers(values, NOTHING),
    str: _words,
    list: _sequences,
    tuple: _sequences,
    dict: _tables,
}


def matrices(form: Form, rows: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first cells of all values as two arrays of shape (rows, width): the cells' kinds and values.

    A cell is a number, a word or a length.
    """
    kinds, values = np.zeros((rows, width)), np.zeros((rows, width))
    for place, (kind, value) in enumerate(islice(form.columns(), width)):
        kinds[:, place], values[:, place] = kind, value
    return kinds, values


@lru_cache(KNOWN)
def word(text: str) -> Cell:
    """Return a text as a pair ``(kind, value)``.

    If the text is a finite number, the value is this number, otherwise it is a hash of the text.
    """
    try:
        return NUMBER, int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return (NUMBER, number) if math.isfinite(number) else (NAME, place_of(text))


@lru_cache(KNOWN)
def parts_of(text: str) -> tuple[str, ...]:
    """Return the numbers and words in a text, in their order.

    >>> parts_of("bee:3, ant -1.5")
    ('bee', '3', 'ant', '-1.5')
    """
    return tuple(PART.findall(text))


@lru_cache(KNOWN)
def place_of(text: str) -> float:
    """Return the hash of a text as a number in [0, 1)."""
    return (hashed(text) >> 11) / 2**53
