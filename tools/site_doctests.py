"""An extension of the site's API reference: examples in docstrings become blocks of Python code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from griffe import Extension, Object

FENCE = "```"


class Doctests(Extension):
    """Puts each run of lines that begins with a prompt, up to the next empty line, into a fence."""

    def on_object(self, *, obj: Object, **_more: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(fenced(obj.docstring.value.splitlines()))


def fenced(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring, with its examples in fences.

    >>> list(fenced(["Text.", "", ">>> 1 + 1", "2"]))
    ['Text.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    inside = False
    for line in lines:
        if not inside and line.lstrip().startswith(">>>"):
            inside = True
            yield f"{_indent(line)}{FENCE}pycon"
            fence = f"{_indent(line)}{FENCE}"
        elif inside and not line.strip():
            inside = False
            yield fence
        yield line
    if inside:
        yield fence


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
