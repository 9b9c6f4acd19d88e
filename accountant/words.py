"""Words of the field as enumerations, read from the text of command lines and claim files."""

from __future__ import annotations

import enum
from typing import TypeVar

__all__ = ["word"]

Word = TypeVar("Word", bound=enum.Enum)


def word(kind: type[Word], label: str, name: str) -> Word:
    """The member of ``kind`` whose value is ``name``.

    Raises:
        ValueError: for an unknown name, calling it ``label`` and listing the known ones.
    """
    for member in kind:
        if member.value == name:
            return member
    raise ValueError(f"{label} ({name!r}) must be one of: {', '.join(member.value for member in kind)}")
