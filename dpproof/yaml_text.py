"""YAML text of nested maps, lists of texts, texts and numbers, without a library for YAML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z_][\w ()-]*")
"""Keys that need no quotes."""
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def yaml_text(node: Mapping[str, Any], bare: Collection[str] = ()) -> str:
    """Return data as YAML text. Texts are in quotes, except under the keys in ``bare``.

    >>> print(yaml_text({"unit": "user", "delta": 1e-05, "seen": ["a: b"], "1e-5": {"upper": 2.0}}), end="")
    unit: "user"
    delta: 1.0e-05
    seen:
      - "a: b"
    "1e-5":
      upper: 2.0
    """
    return "\n".join(_lines(node, 0, bare)) + "\n"


def _lines(node: Mapping[str, Any], depth: int, bare: Collection[str]) -> Iterator[str]:
    pad = "  " * depth
    for name, value in node.items():
        key = name if _BARE.fullmatch(name) and name.lower() not in _WORDS else json.dumps(name)
        match value:
            case Mapping() if value:
                yield f"{pad}{key}:"
                yield from _lines(value, depth + 1, bare)
            case Mapping():
                yield f"{pad}{key}: {{}}"
            case list() if value:
                yield f"{pad}{key}:"
                yield from (f"{pad}  - {_scalar(one)}" for one in value)
            case list():
                yield f"{pad}{key}: []"
            case _ if name in bare:
                yield f"{pad}{key}: {value}"
            case _:
                yield f"{pad}{key}: {_scalar(value)}"


def _scalar(value: str | float) -> str:
    """Return text in quotes, as JSON writes it, and numbers so that YAML 1.1 reads them as numbers."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if math.isinf(value):
        return ".inf"
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
