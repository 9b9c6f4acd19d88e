"""Convert the arguments of an audit to JSON data, so that an audit from Python can be replayed from a file.

The supported values are numbers, texts, lists, tuples, dictionaries, arrays, fractions, enumeration members,
dataclasses, ``functools.partial`` objects, bound methods of these, and functions by the name under which they are
imported. A lambda or a function inside another function has no such name. The witness (the record) of its audit then
does not contain the call.
"""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache, partial
from importlib import import_module
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 1_000_000
"""The largest number of characters of all arguments together. Longer arguments are not stored."""


class UnwritableError(TypeError):
    """Raised for a value that cannot be converted to JSON data."""


def call_of(function: str, **arguments: object) -> dict[str, Any]:
    """Return a call of a dpproof function as JSON data; empty if an argument cannot be converted.

    >>> call_of("audit", claim="a")
    {'audit': 'call', 'function': 'audit', 'arguments': {'claim': 'a'}}
    >>> call_of("audit", sampler=lambda value, n, rng: value)
    {}
    """
    try:
        found = {name: written(value) for name, value in arguments.items()}
    except (UnwritableError, RecursionError):
        return {}
    if len(json.dumps(found)) > LONGEST:
        return {}
    return {"audit": "call", "function": function, "arguments": found}


def written(value: object) -> Any:
    """Return a value as JSON data.

    Raises:
        UnwritableError: the value cannot be converted.

    >>> read(written((Fraction(1, 3), [np.arange(2)])))
    (Fraction(1, 3), [array([0, 1])])
    """
    kind: Any = type(value)
    return _writer(kind)(value)


def _array(array: NDArray[np.generic], *, alone: bool) -> Any:
    if array.dtype.kind not in "biuf" or array.size * 4 > LONGEST:
        raise UnwritableError(f"An array of type {array.dtype} and shape {array.shape} cannot be stored.")
    listed = [written(one) for one in array.ravel().tolist()]
    return {"array": listed, "dtype": array.dtype.str, "shape": list(array.shape), "alone": alone}


def _dataclass(value: Any) -> Any:
    parts = {field.name: written(getattr(value, field.name)) for field in fields(value) if field.init}
    return {"made": _name(type(value)), "fields": parts}


@lru_cache(1 << 10)
def _writer(of: type) -> Callable[[Any], Any]:
    """Return the function that writes values of a type: an exact entry for it, or the first entry that fits."""
    if of in _EXACTLY:
        return _EXACTLY[of]
    named = issubclass(of, enum.Enum)
    found = (writer for types, writer in _WRITERS if issubclass(of, types) and not (named and types is _SAME))
    return next(found, _dataclass if is_dataclass(of) else lambda value: {"name": _name(value)})


_SAME = (type(None), bool, int, str)
_EXACTLY: Mapping[type, Callable[[Any], Any]] = {
    dict: lambda value: {"dict": [[written(key), written(one)] for key, one in value.items()]},
    tuple: lambda value: {"tuple": [written(one) for one in value]},
}
_WRITERS: Sequence[tuple[type | tuple[type, ...], Callable[[Any], Any]]] = (
    (_SAME, lambda value: value),
    (np.generic, lambda value: _array(np.asarray(value), alone=True)),
    (np.ndarray, lambda value: _array(np.asarray(value), alone=False)),
    (float, lambda value: value if np.isfinite(value) else {"float": str(value)}),
    (list, lambda value: [written(one) for one in value]),
    (Fraction, lambda value: {"fraction": str(value)}),
    (enum.Enum, lambda value: {"member": [_name(type(value)), value.name]}),
    (partial, lambda value: {"partial": written((value.func, value.args, value.keywords))}),
    (MethodType, lambda value: {"method": [written(value.__self__), value.__name__]}),
)


def _name(value: object) -> str:
    """Return the name under which this object is imported."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module in (None, "__main__") or not str(name).isidentifier():
        raise UnwritableError(f"{value!r:.80} cannot be stored, because it cannot be imported by a name")
    if getattr(sys.modules.get(str(module)), name, None) is not value:
        raise UnwritableError(f"{value!r:.80} cannot be stored, because {module}:{name} is another object")
    return f"{module}:{name}"


def _loaded(name: str) -> Any:
    module, _, inside = name.partition(":")
    try:
        return getattr(import_module(module), inside)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"name ({name!r}) must name an object that can be imported: {error}") from None


def read(data: object) -> Any:
    """Return the value that `written` converted to ``data``.

    Raises:
        ValueError: the data do not come from `written`.
    """
    if isinstance(data, list):
        return [read(one) for one in data]
    if not isinstance(data, dict):
        return data
    for kind, reader in _READERS.items():
        if kind in data:
            return reader(data)
    raise ValueError(f"argument ({data!r:.80}) is not in the format of a witness")


def _read_array(data: Mapping[str, Any]) -> Any:
    array = np.array([read(one) for one in data["array"]], data["dtype"]).reshape(data["shape"])
    return array[()] if data["alone"] else array


def _read_partial(data: Mapping[str, object]) -> Any:
    function, args, keywords = read(data["partial"])
    return partial(function, *args, **keywords)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "float": lambda data: float(data["float"]),
    "dict": lambda data: {read(key): read(one) for key, one in data["dict"]},
    "array": _read_array,
    "tuple": lambda data: tuple(read(one) for one in data["tuple"]),
    "fraction": lambda data: Fraction(data["fraction"]),
    "member": lambda data: _loaded(data["member"][0])[data["member"][1]],
    "partial": _read_partial,
    "method": lambda data: getattr(read(data["method"][0]), data["method"][1]),
    "made": lambda data: _loaded(data["made"])(**{k: read(v) for k, v in data["fields"].items()}),
    "name": lambda data: _loaded(data["name"]),
}
