"""Reading of words from a fixed list, on the command line and in claim files."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Collection, Iterable
from typing import TypeVar

MANY = 20
"""The largest number of known names that an error lists beside a similar one."""
Word = TypeVar("Word", bound=enum.Enum)


def word(kind: type[Word], label: str, name: str | Word) -> Word:
    """Return the member of the enumeration ``kind`` that equals ``name``, or whose value is ``name``.

    Raises:
        ValueError: for an unknown name. The message calls it ``label`` and lists the known names.
    """
    for member in kind:
        if name in (member, member.value):
            return member
    known = [member.value for member in kind]
    raise ValueError(f"{label} ({name!r}) {one_of(name, known)}")


def one_of(name: object, known: Collection[str]) -> str:
    """Return the part of an error message that lists the known names, and a similar one if there is one.

    If there are more than ``MANY`` known names and one of them is similar, the part gives their number
    instead of the list.

    >>> one_of("replase", ["add-remove", "replace"])
    "must be one of: add-remove, replace; did you mean 'replace'?"
    """
    close = nearest(name, known)
    listed = f" {len(known)} names" if close and len(known) > MANY else f": {', '.join(known)}"
    return f"must be one of{listed}{close}"


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name: a similar known name, or the empty text.

    >>> nearest("replase", ["add-remove", "replace"]), nearest("users", ["add-remove", "replace"])
    ("; did you mean 'replace'?", '')
    """
    close = difflib.get_close_matches(name.replace("_", "-"), known, n=1) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""
