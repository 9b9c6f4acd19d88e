"""Views of texts, nested collections and images: columns that show where in an output something has changed.

`bag` counts the parts of an output: its words, characters, values and entries, each with the path to it, and averages
the numbers at each path. `tiles` describes parts of an image. Both depend on one output alone, and are fixed before the
first bet. So a score of these columns is as valid as one of the output itself. Parts may share a column, which costs
power only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.canonical import Kind, canonical_text, content_kind, plain
from dpproof.audits.engine.scores.protocol import Floats

COLUMNS = 256
"""The number of columns of `bag`. A power of two, because columns are chosen by the low bits of a hash."""
PATHS = 64
"""The number of columns of `bag` for the mean numbers at the paths."""
MOST = 512
"""The largest number of parts of an output that are counted. Further ones are left out."""
CHARACTERS = 64
"""The number of characters, at each end of a text, that are counted, alone and in pairs."""
PLACES = 8
"""The number of first elements of a sequence that have a path of their own."""
SMALL = 1 << 20
"""Whole numbers below this count as values, like words."""
LARGEST = 1e300

Part = tuple[int, float | None]
"""A part of an output: the hash of its path and its value or word, and the number at this path if it is one."""


def parts(value: object, path: int = 0) -> Iterator[Part]:
    """Generate the parts of an output: a hash for each part, with its number if the part is a number.

    >>> len(list(parts({"name": "ab", "sizes": [1.5, 2.5]}))), list(parts("ab")) == list(parts("ab"))
    (13, True)
    """
    value = plain(value)
    return _PARTS[content_kind(value)](value, path)


def _number_parts(value: Any, path: int) -> Iterator[Part]:
    yield path, float(min(max(value, -LARGEST), LARGEST)) if value == value else None
    if value == value and abs(value) < SMALL and value == int(value):
        yield _under(path, f"={int(value)}"), None


def _text_parts(value: str, path: int) -> Iterator[Part]:
    yield path, float(len(value))
    yield _under(path, f"={value}"), None
    ends = value if len(value) <= 2 * CHARACTERS else value[:CHARACTERS] + value[-CHARACTERS:]
    pairs = map("".join, pairwise(f"\0{ends}\0"))
    yield from ((_under(path, some), None) for some in chain(ends, pairs))
    words = value.split()
    if len(words) > 1:
        yield from ((_under(path, f"w{word}"), None) for word in words)
        yield from ((_under(path, f"{one} {two}"), None) for one, two in pairwise(words))


def _sequence_parts(value: Any, path: int) -> Iterator[Part]:
    yield path, float(len(value))
    every = _under(path, "[]")
    for place, element in enumerate(value):
        yield from parts(element, every)
        if place < PLACES:
            yield from parts(element, _under(path, f"[{place}]"))


def _table_parts(value: Mapping[object, object], path: int) -> Iterator[Part]:
    yield path, float(len(value))
    for name, element in value.items():
        yield from parts(element, _under(path, name if type(name) is str else canonical_text(name)))


def _record_parts(value: Any, path: int) -> Iterator[Part]:
    yield _under(path, type(value).__name__), None
    for field in fields(value):
        yield from parts(getattr(value, field.name), _under(path, field.name))


def _other_parts(value: object, path: int) -> Iterator[Part]:
    yield _under(path, f"={canonical_text(value)}"), None


_PARTS: Mapping[Kind, Callable[[Any, int], Iterator[Part]]] = {
    Kind.NUMBER: _number_parts,
    Kind.TEXT: _text_parts,
    Kind.SEQUENCE: _sequence_parts,
    Kind.GROUP: lambda value, path: _sequence_parts(sorted(value, key=canonical_text), path),
    Kind.TABLE: _table_parts,
    Kind.RECORD: _record_parts,
    **dict.fromkeys((Kind.NOTHING, Kind.COMPLEX, Kind.BYTES, Kind.MEMBER, Kind.OTHER), _other_parts),
}


@lru_cache(maxsize=1 << 16)
def _under(path: int, name: str) -> int:
    """Return the hash of a path that is continued by a name."""
    return crc32(name.encode("utf-8", "surrogatepass"), path)


def bag(outputs: NDArray[np.generic]) -> Floats:
    """Return how often each part occurs in an output, as columns, and then the mean number at each path.

    Returns:
        An array (n, `COLUMNS` + `PATHS`). The first columns are counts of at most 255. A column of the others is the
        mean of the numbers at its paths; 0 if there is none.

    >>> found = bag(np.array(["ab", "ba"], dtype=object))
    >>> found.shape, bool((found[0] != found[1]).any())
    ((2, 320), True)
    """
    counts = np.zeros((len(outputs), COLUMNS))
    totals, numbers = np.zeros((len(outputs), PATHS)), np.zeros((len(outputs), PATHS))
    for row, output in enumerate(outputs):
        found = list(islice(parts(output), MOST))
        codes = np.array([code for code, _ in found], np.int64)
        counts[row] = np.bincount(codes & (COLUMNS - 1), minlength=COLUMNS)
        for code, number in found:
            if number is not None:
                totals[row, code % PATHS] += number / MOST
                numbers[row, code % PATHS] += 1
    means = totals / np.maximum(numbers, 1) * MOST
    return np.hstack([np.minimum(counts, 255), means])


def tiles(outputs: NDArray[np.generic]) -> Floats:
    """Return the means, variances and roughness of the parts of images, as columns.

    An image is cut into at most 4 x 4 tiles. For each tile there are four columns: the mean, the variance, and the mean
    square of the difference of two pixels that are neighbours in a row, and in a column.

    Args:
        outputs: an array ``(n, rows, columns, ...)``; both are at least 4.

    >>> tiles(np.zeros((3, 8, 8))).shape
    (3, 64)
    """
    images = np.clip(outputs.astype(np.float64).reshape(*outputs.shape[:3], -1), -1e100, 1e100)
    found = []
    for rows in np.array_split(np.arange(images.shape[1]), min(4, images.shape[1] // 2)):
        for columns in np.array_split(np.arange(images.shape[2]), min(4, images.shape[2] // 2)):
            tile = images[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            mean = tile.mean(axis=(1, 2, 3))
            found += [mean, ((tile - mean[:, None, None, None]) ** 2).mean(axis=(1, 2, 3))]
            found += [(np.diff(tile, axis=axis) ** 2).mean(axis=(1, 2, 3)) for axis in (1, 2)]
    return np.stack(found, axis=1)
