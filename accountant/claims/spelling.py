"""Terms of the field as enumerations, read from text on the command line and in claim files."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable
from typing import TypeVar

Word = TypeVar("Word", bound=enum.Enum)


def word(kind: type[Word], label: str, name: str | Word) -> Word:
    """Return the member of ``kind`` that ``name`` is, or whose value is ``name``.

    Raises:
        ValueError: for an unknown name, calling it ``label`` and listing the known ones.
    """
    for member in kind:
        if name in (member, member.value):
            return member
    known = [member.value for member in kind]
    raise ValueError(f"{label} ({name!r}) must be one of: {', '.join(known)}{nearest(name, known)}")


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the last part of an error about an unknown name: a similar known name, if there is one.

    >>> nearest("replase", ["add-remove", "replace"]), nearest("users", ["add-remove", "replace"])
    ("; did you mean 'replace'?", '')
    """
    close = difflib.get_close_matches(name.replace("_", "-"), known, n=1) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""
