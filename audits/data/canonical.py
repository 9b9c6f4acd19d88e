"""Canonical text and 64-bit token of any output, the same in every process and on every machine.

The token is a hash of the text. The text and the token depend on one output alone, and are fixed before any sample is
drawn. So they are post-processing, which keeps every privacy guarantee (docs/notes/audit_pairs.md). Some different
outputs have the same text: 1, 1.0 and True, or a list, an array and a tuple of the same values. An audit may then
miss a violation, but it never raises a false alarm.
"""

from __future__ import annotations

import enum
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.exact import doubles

PLAIN = frozenset((bool, int, float, str, bytes, list, tuple, dict, type(None)))
"""The built-in types whose values `plain` returns unchanged."""


class UnreadableOutputError(ValueError):
    """Raised for an output of a type that has no canonical text."""


class Kind(enum.Enum):
    """The kind of an output, such as a number, a text or a sequence; several types can be of one kind."""

    NOTHING, NUMBER, TEXT, COMPLEX, BYTES, MEMBER, SEQUENCE, TABLE, GROUP, RECORD, OTHER = range(11)


_KINDS: Sequence[tuple[type | tuple[type, ...], Kind]] = (
    (type(None), Kind.NOTHING),
    (complex, Kind.COMPLEX),
    ((bytes, bytearray), Kind.BYTES),
    (enum.Enum, Kind.MEMBER),
    ((bool, int, float), Kind.NUMBER),
    (str, Kind.TEXT),
    ((list, tuple), Kind.SEQUENCE),
    (Mapping, Kind.TABLE),
    (Set, Kind.GROUP),
)
"""Types and their kinds. The first entry that fits a type is used."""


@lru_cache(1 << 10)
def _kind_of(of: type) -> Kind:
    found = (kind for types, kind in _KINDS if issubclass(of, types))
    return next(found, Kind.RECORD if is_dataclass(of) else Kind.OTHER)


def kind_of(value: object) -> Kind:
    """Return the kind of a value that `plain` returned.

    >>> kind_of({"a": 1}).name
    'TABLE'
    """
    kind: Any = type(value)
    return _kind_of(kind)


def content_kind(value: object) -> Kind:
    """Return the kind of a value; an enumeration member that is also a collection has the collection's kind."""
    kind, of = kind_of(value), type(value)
    if kind is not Kind.MEMBER:
        return kind
    inside = (other for types, other in _KINDS if other in _COLLECTIONS and issubclass(of, types))
    return next(inside, Kind.RECORD if is_dataclass(of) else kind)


_COLLECTIONS = (Kind.SEQUENCE, Kind.TABLE, Kind.GROUP)


def canonical_text(value: object) -> str:
    """Return the canonical text of an output, the same in every process and on every machine.

    Raises:
        UnreadableOutputError: for an object that is no number, text, bytes, None, enumeration member,
            dataclass, array, nor a sequence, mapping or set of these.

    >>> canonical_text((True, None, "a", [0.5, -0.0]))
    '[1,none,"a",[0x1.0000000000000p-1,-0]]'
    """
    value = plain(value)
    return _TEXTS[kind_of(value)](value)


def plain(value: object) -> Any:
    """Return a numpy value as Python lists and numbers; a number longer than a double becomes several numbers.

    >>> plain(np.arange(2)), plain(np.longdouble(1))
    ([0, 1], [1.0, 0.0, 0.0])
    """
    if type(value) in PLAIN or not isinstance(value, np.ndarray | np.generic):
        return value
    if value.dtype.kind in "fc" and value.dtype.itemsize > 16:
        value = np.stack([value.real, value.imag], axis=-1)  # complex numbers of longdouble
    if value.dtype.kind == "f" and value.dtype.itemsize > 8:
        value = doubles(np.asarray(value))
    return value.tolist()


def is_whole(number: SupportsFloat) -> bool:
    """Return whether a number of any type has an integer value.

    >>> is_whole(1.0), is_whole(np.uint8(1)), is_whole(0.5), is_whole(np.inf)
    (True, True, False, False)
    """
    return isinstance(number, (int, np.integer)) or float(number).is_integer()


def _number_text(value: float) -> str:
    """Return the text of a number: the value of a whole number, or the bits of any other number; NaN has one text."""
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if is_whole(value):
        return str(int(value)) if abs(value) < 2**53 else hex(int(value))
    return value.hex()


def _record_text(value: Any) -> str:
    inside = (f"{f.name}:{canonical_text(getattr(value, f.name))}" for f in fields(value))
    return f"{type(value).__name__}({','.join(inside)})"


def _other_text(value: object) -> str:
    if hasattr(value, "__array__"):
        return canonical_text(np.asarray(value))
    raise UnreadableOutputError(
        f"an output of type {type(value).__name__} cannot be read. Return numbers, texts, bytes, None,"
        " members of an enumeration, or lists, dictionaries, sets, arrays or dataclasses of these"
    )


_TEXTS: Mapping[Kind, Callable[[Any], str]] = {
    Kind.NOTHING: lambda value: "none",
    Kind.NUMBER: _number_text,
    Kind.TEXT: json.dumps,
    Kind.COMPLEX: lambda value: f"complex({_number_text(value.real)},{_number_text(value.imag)})",
    Kind.BYTES: lambda value: f"bytes({bytes(value).hex()})",
    Kind.MEMBER: lambda value: f"{type(value).__name__}.{value.name}",
    Kind.SEQUENCE: lambda value: f"[{','.join(map(canonical_text, value))}]",
    Kind.TABLE: lambda value: "{" + ",".join(sorted(map(_entry_text, value.items()))) + "}",
    Kind.GROUP: lambda value: f"<{','.join(sorted(map(canonical_text, value)))}>",
    Kind.RECORD: _record_text,
    Kind.OTHER: _other_text,
}


def _entry_text(entry: tuple[object, object]) -> str:
    name, value = entry
    return f"{canonical_text(name)}:{canonical_text(value)}"


def hashed(text: str) -> int:
    """Return a 64-bit hash of a text, the same in every process."""
    return int.from_bytes(_digest(text), "big")


def hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return the hash of each text.

    >>> hashes(["a"])[0] == hashed("a")
    np.True_
    """
    return np.frombuffer(b"".join(map(_digest, texts)), ">u8").astype(np.uint64)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
