"""Answers as flat rows: ``pandas.DataFrame(rows(answer))``, a CSV writer, or anything else with columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

LISTS = ("audits", "statements", "claims", "papers", "what_if")
"""Keys whose lists are the rows of an answer."""


def rows(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of an answer of the command line (``--json``), nested keys joined by dots.

    >>> rows({"schema": 1, "audits": [{"claim": "a", "witness": {"seed": 0}}]})
    [{'claim': 'a', 'witness.seed': 0}]
    >>> rows({"name": "gaussian", "epsilon": {"lower": 1.0, "upper": 1.5}})
    [{'name': 'gaussian', 'epsilon.lower': 1.0, 'epsilon.upper': 1.5}]

    Lists within a row are joined by "; ", infinity is a float.
    """
    name = next((name for name in LISTS if name in answer), None)
    return [dict(_flat(row)) for row in ([answer] if name is None else answer[name])]


def _flat(row: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{key}", "; ".join(map(str, value))
        else:
            yield f"{prefix}{key}", float("inf") if value == "inf" else value
