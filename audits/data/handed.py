"""Copies of the inputs for an audited function, and a check whether the function has changed its copy.

If a function changes its input in place, later calls get another input. Both inputs of a pair may then become equal,
and the audit would miss a fault. So the function gets a copy of each input. After the first call and at the end, the
audit checks that the contents of the copy are unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
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
            self.value: Any = copy.deepcopy(given, dict(_markers(given)))
        except Exception:  # an object that cannot be copied, such as a lock
            self.value = given
        self._before = sealed(self.value)
        self.called = False

    @property
    def changed(self) -> bool:
        """Whether the contents of the copy have changed since it was made."""
        return sealed(self.value) != self._before


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


def _sealed(value: Any) -> str:
    if type(value) in PLAIN:
        return repr(value)
    frame = frame_rows(value)
    if frame is not None:
        header, rows = frame
        return _joined(str(header), [sealed(getattr(value, "index", None)), *map(_sealed, rows)])
    match value:
        case np.ndarray():
            plain = not value.dtype.hasobject and not np.ma.isMaskedArray(value)
            inside = _hashed(np.ascontiguousarray(value).tobytes()) if plain else _sealed(value.tolist())
            return f"{value.shape} {value.dtype.str} {inside}"
        case list() | tuple():
            return _joined(type(value).__name__, map(_sealed, value))
        case Mapping():
            return _joined("mapping", (_sealed(part) for item in value.items() for part in item))
    try:
        return f"{type(value).__name__} {_hashed(canonical_text(value).encode('utf-8', 'surrogatepass'))}"
    except UnreadableOutputError:
        attributes = (_sealed(part) for item in _attributes(value) for part in item)
        return _joined(f"{type(value).__name__} {value!r}", attributes)


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    """Generate the attributes of an object, except those that are computed when they are first read."""
    held = dict(getattr(value, "__dict__", {}))
    slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
    held |= {name: getattr(value, name) for name in slots if hasattr(value, name)}
    for name, part in held.items():
        if not isinstance(getattr(type(value), name, None), cached_property):
            yield name, part


def _joined(kind: str, parts: Iterable[str]) -> str:
    return _hashed(f"{kind} {tuple(parts)!r}".encode("utf-8", "surrogatepass"))


def _hashed(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
