"""Which line of a claim file an error speaks of.

The reader of TOML keeps no places, so they are found again, in one pass over the text: it is cut into its
statements (a header, or a key with its value), which may take several lines; strings, comments and brackets
are told apart as TOML 1.0 says. A text is expected that the reader of TOML takes, or nearly so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Lines", "readable"]

TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}]|\n|[^\"'#\[\]{}\n]+|.",
    re.DOTALL,
)
"""A string, a comment, a bracket, the end of a line, or anything between them."""
ENDLESS = re.compile(r"(?<![\w.:+-])[+-]?(?:\d[\d_]{4000,}|0[xob][0-9A-Fa-f_]{3000,})(?![\w.:+-])(?!\s*[=.])")
"""An integer that Python would not read or could not write: its limit is 4,300 digits."""
SUBJECT = re.compile(r"\W*(?:audit: |parameter |key )?\W*([\w-]+)")
"""What a refusal begins with: the key it is about, or ``parameter ('key')``."""


def readable(text: str) -> str:
    """The text with a word in the place of each integer that is too long for Python.

    The word stands in lists, so that it is no value of any key: whatever the key, its claim is refused.

    >>> readable("a = 1" + 4999 * "0" + " # b")
    "a = [['an integer of 5000 digits']] # b"
    """
    tokens = (token.group() for token in TOKEN.finditer(text))
    return "".join(token if token[0] in "\"'#" else ENDLESS.sub(_word, token) for token in tokens)


def _word(integer: re.Match[str]) -> str:
    digits = integer.group().lstrip("+-").replace("_", "")
    return f"[['an integer of {len(digits)} digits']]"


@dataclass(frozen=True)
class Statement:
    """A header, or a key with its value, and the line it begins on, counted from 1."""

    line: int
    text: str

    @property
    def holds(self) -> dict[str, Any]:
        """What it says, read for itself; nothing where it cannot be read so."""
        try:
            return tomllib.loads(self.text)
        except ValueError:
            return {}

    @property
    def begins_claim(self) -> bool:
        """Whether it is ``[[claim]]``."""
        return self.text.startswith("[[") and self.holds == {"claim": [{}]}


def _statements(text: str) -> Iterator[Statement]:
    """The statements of a text: a line ends one unless it is in a string or between brackets."""
    line, depth, start, parts = 1, 0, 1, list[str]()
    for match in TOKEN.finditer(text + "\n"):
        token = match.group()
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and depth <= 0:
            if whole := "".join(parts).strip():
                yield Statement(start, whole)
            depth, parts = 0, []
        elif not token.startswith("#"):
            start = start if parts else line
            parts.append(token)
        line += token.count("\n")


class Lines:
    r"""The lines of the claims of a text, and of their keys.

    >>> Lines("[[claim]]\nname = 'a'\nepsilon = -1").of(1, "epsilon (-1) must be at least 0")
    3
    >>> Lines("[[claim]]\nname = 'a'").of(1, "adjacency is missing; there is no default")
    1
    """

    def __init__(self, text: str) -> None:
        self._claims: list[list[Statement]] = []
        for statement in _statements(text):
            if statement.begins_claim:
                self._claims.append([statement])
            elif self._claims:
                self._claims[-1].append(statement)

    def of(self, place: int, refusal: str = "") -> int | None:
        """The line, counted from 1, of the key that a ``refusal`` of claim ``place`` begins with.

        That of the claim's header where it names no key of the claim; None where no line can be told, as for
        claims within a list.
        """
        if len(self._claims) < place:
            return None
        header, *rest = self._claims[place - 1]
        named = SUBJECT.match(refusal)
        key = None if named is None else named.group(1)
        return next((one.line for one in rest if _says(one.holds, key)), header.line)


def _says(held: dict[str, Any], key: str | None) -> bool:
    """Whether a statement gives ``key`` its value, in the claim or in a table of it."""
    inner = held.get("claim", held)  # [claim.parameters], but no key of that name
    held = inner if isinstance(inner, dict) else held
    return key in held or any(isinstance(table, dict) and key in table for table in held.values())
