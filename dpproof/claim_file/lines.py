"""Which line of a claim file an error speaks of.

The reader of TOML keeps no places, so they are found again: a prefix of the file that parses, and holds just
the claims before, ends where the claim begins; within the claim a key's line follows the longest prefix that
parses without it.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

__all__ = ["line_of"]

HEADER = re.compile(r"\s*\[\[\s*\"?claim\"?\s*\]\]")
LONGEST = 500
"""Lines of one claim that are looked at: each is parsed with those before."""
SUBJECT = re.compile(r"\W*(?:audit: |parameter |key )?\W*([\w-]+)")
"""What a refusal begins with: the key it is about, or ``parameter ('key')``."""


def line_of(text: str, place: int, refusal: str = "") -> int | None:
    r"""The line, counted from 1, of the key that a ``refusal`` of claim ``place`` begins with.

    That of the claim's header where it names no key of the claim; None where no line can be told.

    >>> line_of("[[claim]]\nname = 'a'\nepsilon = -1", 1, "epsilon (-1) must be at least 0")
    3
    >>> line_of("[[claim]]\nname = 'a'", 1, "adjacency is missing; there is no default")
    1
    """
    lines = text.split("\n")
    headers = [number for number, line in enumerate(lines) if HEADER.match(line)]
    if len(headers) < place or not _begins(lines, headers[place - 1], place):
        return None
    start, after = headers[place - 1], [*headers, len(lines)][place]
    named = SUBJECT.match(refusal)
    within = None if named is None else _line_of_key(lines[start:after][:LONGEST], named.group(1))
    return start + 1 + (within or 0)


def _begins(lines: list[str], start: int, place: int) -> bool:
    """Whether the claim of that place begins there: a header within a longer text is none."""
    before = _parsed(lines[:start])
    return before is not None and len(before.get("claim", [])) == place - 1


def _line_of_key(block: list[str], key: str) -> int | None:
    """The place in the claim's lines where ``key`` gets its value."""
    last = 0
    for number in range(1, len(block) + 1):
        found = _parsed(block[:number])
        if found is not None and _holds(found["claim"][0], key):
            return last
        last = last if found is None else number
    return None


def _holds(entry: dict[str, Any], key: str) -> bool:
    return key in entry or any(isinstance(table, dict) and key in table for table in entry.values())


def _parsed(lines: list[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None
