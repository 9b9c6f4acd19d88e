"""Files that are replaced completely or not at all, and JSON text of data that may hold infinite numbers."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces ``path`` once it is complete and on the disk.

    After an error the partial file is removed, and ``path`` is unchanged.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a")) as stream:
    ...         _ = stream.write(b"whole")
    ...     [(path.name, path.read_text()) for path in Path(folder).iterdir()]
    [('a', 'whole')]

    Args:
        path: the file that is written or replaced.
        private: whether only the owner of the file may read it.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        if private:
            partial.touch(mode=0o600)
        with partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text file in UTF-8. The file is replaced completely or not at all."""
    with replacing(path, private=private) as stream:
        stream.write(text.encode())


def finite(value: float) -> float | str:
    """Return ``value`` for JSON data: a finite number unchanged, an infinite one as the text "inf" or "-inf".

    >>> finite(0.5), finite(math.inf), finite(-math.inf)
    (0.5, 'inf', '-inf')
    """
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def rounded(value: float, up: bool, digits: int = 7) -> str:
    """Return a number as text with ``digits`` significant digits, rounded up or down.

    >>> rounded(1.63380955, up=True), rounded(1.63380955, up=False), rounded(0.5, up=True)
    ('1.633810', '1.633809', '0.5')
    """
    if not value or not math.isfinite(value):
        return f"{value:g}"
    return f"{Context(digits, ROUND_CEILING if up else ROUND_FLOOR).create_decimal_from_float(value)}"


def plain(value: object) -> object:
    """Return the same data in types that JSON has: mappings, lists, texts, and numbers as from `finite`."""
    match value:
        case Mapping():
            return {name: plain(held) for name, held in value.items()}
        case list() | tuple():
            return [plain(held) for held in value]
        case float():
            return finite(value)
    return value


def json_text(data: object) -> str:
    """Return data as indented JSON text. NaN and infinities are rejected."""
    return json.dumps(data, indent=2, allow_nan=False)
