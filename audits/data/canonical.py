"""Any output as canonical text, and as a 64-bit token: the same in every process and on every machine.

Both are functions of one output alone, fixed before any sample is bet on: post-processing, which keeps every
privacy guarantee (docs/notes/audit_pairs.md). What they do not tell apart costs power, never soundness:
numbers are compared as numbers (1 is 1.0 is True) and lists as arrays as tuples.
"""

from __future__ import annotations

import enum
import hashlib
import json
import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.exact import doubles

PLAIN = frozenset((bool, int, float, str, bytes, list, tuple, dict, type(None)))
"""Built-in types whose values are kept unchanged."""


class UnreadableOutputError(ValueError):
    """Raised for an output of a type that has no canonical text."""


def canonical_text(value: object) -> str:
    """The same text for the same output, in every process and on every machine.

    Raises:
        UnreadableOutputError: for an object that is no number, text, bytes, None, enumeration member,
            dataclass, array, nor a sequence, mapping or set of these.

    >>> canonical_text((True, None, "a", [0.5, -0.0]))
    '[1,none,"a",[0x1.0000000000000p-1,-0]]'
    """
    value = plain(value)
    if value is None:
        return "none"
    if isinstance(value, bool | int | float) and not isinstance(value, enum.Enum):
        return _number_text(value)
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return json.dumps(value)
    return _compound_text(value)


def plain(value: object) -> Any:
    """An array or a number of numpy as lists and numbers of Python; those longer than a double as several.

    >>> plain(np.arange(2)), plain(np.longdouble(1))
    ([0, 1], [1.0, 0.0, 0.0])
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc" and value.dtype.itemsize > 16:
        value = np.stack([value.real, value.imag], axis=-1)  # complex numbers of longdouble
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f" and value.dtype.itemsize > 8:
        value = doubles(np.asarray(value))
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _number_text(value: float) -> str:
    """A whole number by its value, whatever its type, any other by its bits; all NaN alike."""
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if isinstance(value, int) or value.is_integer():
        return str(int(value)) if abs(value) < 2**53 else hex(int(value))
    return value.hex()


def _compound_text(value: object) -> str:
    if isinstance(value, complex):
        return f"complex({_number_text(value.real)},{_number_text(value.imag)})"
    if isinstance(value, bytes | bytearray):
        return f"bytes({bytes(value).hex()})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical_text, value)) + "]"
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(sorted(f"{canonical_text(k)}:{canonical_text(x)}" for k, x in value.items())) + "}"
        )
    if isinstance(value, Set):
        return "<" + ",".join(sorted(map(canonical_text, value))) + ">"
    if is_dataclass(value) and not isinstance(value, type):
        inside = (f"{f.name}:{canonical_text(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({','.join(inside)})"
    if hasattr(value, "__array__"):
        return canonical_text(np.asarray(value))
    raise UnreadableOutputError(
        f"an output of type {type(value).__name__} cannot be read; return numbers, texts, bytes, None,"
        " members of an enumeration, or lists, dictionaries, sets, arrays or dataclasses of these"
    )


def tokens(outputs: NDArray[np.generic]) -> NDArray[np.uint64]:
    """The 64-bit hash of the canonical text of each output, ``(n, 1)``.

    Equal outputs have equal tokens in every run; others hardly ever.

    >>> bool(tokens(np.array([1, 2]))[0, 0] == tokens(np.array([[3], 1], dtype=object))[1, 0])
    True
    """
    return np.array([[hashed(canonical_text(value))] for value in outputs], np.uint64).reshape(-1, 1)


def hashed(text: str) -> int:
    """A hash of 64 bits that does not depend on the process."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )
