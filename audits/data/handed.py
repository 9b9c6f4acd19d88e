"""Copies of the inputs for an audited function, and a check whether the function has changed its copy.

If a function changes its input in place, later calls get another input. Both inputs of a pair may then become equal,
and the audit would miss a fault. So the function gets a copy of each input. After the first call and at the end, the
audit checks that the contents of the copy are unchanged.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np

from dpproof.audits.data.canonical import UnreadableOutputError, canonical_text
from dpproof.audits.data.records import frame_rows


class Handed:
    """The copy of an input that an audited function gets, with its contents before the first call.

    >>> mine = [1, 2]
    >>> handed = Handed(mine)
    >>> handed.value.pop(), mine, handed.changed
    (2, [1, 2], True)
    """

    def __init__(self, given: object) -> None:
        try:
            self.value: Any = _copied(given)
        except Exception:  # an object that cannot be copied, such as a lock
            self.value = given
        self._constant = _holds_constants(self.value)
        self._before = copy.copy(self.value) if self._constant else sealed(self.value)
        self.called = False

    @property
    def changed(self) -> bool:
        """Whether the contents of the copy have changed since it was made."""
        if not self._constant:
            return sealed(self.value) != self._before
        return not _same_parts(self.value, self._before) and sealed(self.value) != sealed(self._before)


def _same_parts(one: Any, other: Any) -> bool:
    """Whether two lists, tuples or dictionaries hold the same objects."""
    if len(one) != len(other) or not all(map(operator.is_, one, other)):
        return False
    return type(one) is not dict or all(map(operator.is_, one.values(), other.values()))


def _holds_constants(value: Any) -> bool:
    """Whether a value is a list, tuple or dictionary of plain values, or of tuples of plain values."""
    kind = type(value)
    if kind not in FLAT:
        return False
    kinds = _kinds([value])
    tuples = (one for one in (value.values() if kind is dict else value) if type(one) is tuple)
    return kinds <= {*PLAIN, tuple} and (tuple not in kinds or _kinds(tuples) <= PLAIN)


def _copied(value: Any) -> Any:
    """Return a deep copy. Plain values in one collection, or in collections in one list, are copied quickly."""
    if _holds_constants(value):
        return copy.copy(value)
    kinds = set(map(type, value)) if type(value) is list else set()
    if len(kinds) == 1 and kinds < FLAT and _kinds(value) <= PLAIN:
        return list(map(copy.copy, value))
    return copy.deepcopy(value, dict(_markers(value)))


def _kinds(several: Iterable[Any]) -> set[type]:
    """Return the types of all values, and of all keys, in some lists, tuples or dictionaries."""
    inside = ((*one, *one.values()) if type(one) is dict else one for one in several)
    return set(map(type, chain.from_iterable(inside)))


def _markers(value: Any) -> Iterator[tuple[int, object]]:
    """Generate the bare objects in a value, by their id. They are recognised by identity, so a copy keeps them."""
    if type(value) is object:
        yield id(value), value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _markers(part)
    elif isinstance(value, Mapping):
        for part in (*value.keys(), *value.values()):
            yield from _markers(part)


def sealed(value: object) -> str:
    """Return a text that is equal for two inputs exactly if their contents are equal.

    For an object of an unknown type, the attributes are its contents. An object that contains itself has an empty
    text.

    >>> sealed([-1, "a"]) == sealed([-1, "a"]), sealed([-1]) == sealed([-2])
    (True, False)
    """
    try:
        return _sealed(value)
    except RecursionError:
        return ""


PLAIN = frozenset((bool, int, float, str, bytes, type(None)))
FLAT = frozenset((list, tuple, dict))
SHORT = 16
"""The largest number of plain values whose text is not hashed."""


def _sealed(value: Any) -> str:
    if type(value) in PLAIN:
        return repr(value)
    frame = frame_rows(value)
    if frame is not None:
        header, rows = frame
        columns = _columns(value)
        return _joined(str(header), map(_sealed, [list(rows)] if columns is None else columns))
    match value:
        case np.ndarray():
            plain = not value.dtype.hasobject and not np.ma.isMaskedArray(value)
            inside = _hashed(np.ascontiguousarray(value).tobytes()) if plain else _sealed(value.tolist())
            return f"{value.shape} {value.dtype.str} {inside}"
        case list() | tuple():
            return _of_sequence(value)
        case Mapping():
            return _joined("mapping", (_sealed(list(value.keys())), _sealed(list(value.values()))))
    try:
        return f"{type(value).__name__} {digest(canonical_text(value))}"
    except UnreadableOutputError:
        attributes = (_sealed(part) for item in _attributes(value) for part in item)
        return _joined(f"{type(value).__name__} {value!r}", attributes)


def _of_sequence(value: Sequence[Any]) -> str:
    """Return the text of a list or tuple; collections of one type inside are joined first, which is fast."""
    kind, kinds = type(value), set(map(type, value))
    if len(value) > SHORT and len(kinds) == 1 and kinds < {bool, int, float}:
        array = np.array(value)
        if array.dtype == next(iter(kinds)):  # it is another one if the integers are large
            return f"{kind.__name__} {array.dtype.str} {_hashed(array.tobytes())}"
    if kinds <= PLAIN:
        text = f"{kind.__name__} {[*value]!r}"
        return text if len(value) <= SHORT else digest(text)
    if kinds == {dict}:
        return _joined(
            f"{kind.__name__} {kinds}",
            [_sealed([*map(tuple, value)]), _sealed([tuple(one.values()) for one in value])],
        )
    if len(kinds) == 1 and kinds < {list, tuple}:
        sizes = list(map(len, value))
        if len(set(sizes)) == 1 and len(sizes) > sizes[0]:
            return _joined(f"{kind.__name__} {kinds} {len(sizes)}", map(_sealed, zip(*value, strict=True)))
        return _joined(f"{kind.__name__} {kinds} {sizes}", [_sealed(list(chain.from_iterable(value)))])
    return _joined(kind.__name__, map(_sealed, value))


def _columns(frame: Any) -> Iterator[Any] | None:
    """Generate the index, the dtypes and the columns of a pandas frame as arrays; None for another frame."""
    if not hasattr(frame, "iloc"):
        return None
    columns = (np.asarray(frame.iloc[:, at]) for at in range(frame.shape[1]))
    return chain([np.asarray(frame.index), [*map(str, frame.dtypes)]], columns)


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    """Generate the attributes of an object, except those that are computed when they are first read."""
    held = dict(getattr(value, "__dict__", {}))
    slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
    held |= {name: getattr(value, name) for name in slots if hasattr(value, name)}
    for name, part in held.items():
        if not isinstance(getattr(type(value), name, None), cached_property):
            yield name, part


def _joined(kind: str, parts: Iterable[str]) -> str:
    return digest(f"{kind} {tuple(parts)!r}")


def digest(text: str) -> str:
    """Return a hash of a text."""
    return _hashed(text.encode("utf-8", "surrogatepass"))


def _hashed(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
