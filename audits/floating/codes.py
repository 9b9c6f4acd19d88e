"""Noise as its own code computes it, on random words that are chosen instead of drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.floating.lines import Line
from dpproof.audits.floating.sums import Floating, needed

Ranges = tuple[tuple[int, int], ...]
Words = NDArray[np.int64]
Release = Callable[[float, Words], Floating]

ELEMENTARY = 2.0**-49
"""The relative error of noise that is computed by one elementary function of an exact argument and one product.

It assumes that the elementary function errs by at most 4 units in the last place."""
MOST_WORDS = 1 << 14
"""The largest number of words on which an exact audit runs the code for one output."""
ALL_WORDS = 1 << 24
"""The largest number of words of a code whose whole distribution is enumerated."""


@dataclass(frozen=True, kw_only=True)
class FloatCode:
    """A mechanism that adds noise to a value in one floating-point addition, run on chosen random words.

    Attributes:
        release: the mechanism's own code. It takes the value and an int64 array of words, and returns one output for
            each word.
        drawn: ranges of words, as pairs (first, end), that the generator can give. Words are integers in [0, 2^62).
        probability: a lower bound on the probability of each word of ``drawn``; 0 if none is known.
        pieces: ranges of words. On each of them the noise is monotone up to the error. They contain all words that
            give noise of size less than ``reach``. Empty if no such ranges are known.
        error: the relative error with which the computed noise follows a monotone real function of the word: 0, or a
            number from 2^-49 to 2^-4.
        reach: noise of at least this size may also come in other ways than from the pieces.
        lines: the noise on ranges of words, as straight lines with an error; it takes the distance of points in which
            the lines are used (`audits.floating.lines`). None if there are none.

    Raises:
        ValueError: a field is outside its range.

    >>> code = FloatCode(
    ...     release=lambda value, words: value + words / 4, drawn=((0, 8),), pieces=((0, 8),), error=0
    ... )
    >>> code.giving(1.0, 2.5).tolist()
    [6]
    """

    release: Release
    drawn: Ranges
    probability: Fraction = Fraction(0)
    pieces: Ranges = ()
    error: float = ELEMENTARY
    reach: float = math.inf
    lines: Callable[[Fraction], Iterator[Line]] | None = None

    def __post_init__(self) -> None:
        """Refuse fields outside their ranges."""
        if self.error and not ELEMENTARY <= self.error <= 2.0**-4:
            raise ValueError(f"error ({self.error!r}) must be 0 or in [2^-49, 2^-4]")
        if not 0 <= self.probability * self.words <= 1:
            raise ValueError(f"probability ({self.probability}) times words ({self.words}) must be at most 1")
        if not self.drawn or not all(
            0 <= first < end <= 1 << 62 for first, end in (*self.drawn, *self.pieces)
        ):
            raise ValueError(
                f"drawn ({self.drawn!r:.40}) and pieces ({self.pieces!r:.40}) must be nonempty ranges in [0, 2^62)"
            )

    @property
    def words(self) -> int:
        """The number of words in ``drawn``.

        >>> FloatCode(release=lambda value, words: value + words, drawn=((0, 8), (10, 12))).words
        10
        """
        return sum(end - first for first, end in self.drawn)

    @property
    def enumerable(self) -> bool:
        """Whether few enough words exist to run the code on all of them, and their probabilities add up to 1.

        >>> FloatCode(release=lambda value, words: value + words, drawn=((0, 8),)).enumerable
        False
        """
        return self.words <= ALL_WORDS and self.words * self.probability == 1

    def at(self, places: Sequence[int]) -> Words:
        """Return the words at the given places of ``drawn``, which are integers in [0, ``words``).

        >>> FloatCode(release=lambda value, words: value + words, drawn=((0, 8), (10, 12))).at([0, 8]).tolist()
        [0, 10]
        """
        sizes = np.cumsum([0, *(end - first for first, end in self.drawn)])
        part = np.searchsorted(sizes, np.asarray(places, np.int64), side="right") - 1
        firsts = np.array([first for first, _ in self.drawn], np.int64)
        words: Words = firsts[part] + (np.asarray(places, np.int64) - sizes[part])
        return words

    def giving(self, value: float, output: float) -> Words | None:
        """Return all words whose output on ``value`` is ``output``; None if they cannot be listed.

        They cannot be listed if no pieces are known, if the noise would be of size ``reach`` or more, or if more than
        `MOST_WORDS` words have to be tried. docs/notes/reachable_doubles.md proves that no other word gives the
        output.

        Raises:
            ValueError: the code is not an addition of noise in doubles, on a word that was tried.
        """
        window = self.window(value, output)
        if window is None or sum(end - first for first, end in window) > MOST_WORDS:
            return None
        tried = np.concatenate([np.arange(first, end) for first, end in window])
        found = self.release(value, tried)
        self.check(value, tried, found)
        giving: Words = tried[found == output]
        return giving

    def check(self, value: float, words: Words, outputs: Floating) -> None:
        """Raise an error if the outputs on a value are not the rounded sums of the value and the noise on 0.

        Raises:
            ValueError: they are not, or they are not doubles.
        """
        if outputs.dtype != np.float64 or (outputs != value + self.release(0.0, words)).any():
            raise ValueError(
                f"release ({self.release!r:.60}) must add the same double to every value, on every word"
            )

    def window(self, value: float, output: float) -> Ranges | None:
        """Return a range of each piece that contains all of its words whose output on ``value`` is ``output``.

        None if no pieces are known, or if the noise would be of size ``reach`` or more.

        >>> code = FloatCode(
        ...     release=lambda value, words: value + words / 4, drawn=((0, 8),), pieces=((0, 8),), error=0
        ... )
        >>> code.window(1.0, 2.5)
        ((6, 7),)
        """
        low, high = needed(value, output)
        if not self.pieces or max(abs(low), abs(high)) >= self.reach:
            return None
        first, end = (np.array(one, np.int64) for one in zip(*self.pieces, strict=True))
        rising = self._noise(first) <= self._noise(end - 1)
        below, above = _double(low, -math.inf), _double(high, math.inf)
        sign = np.where(rising, 1.0, -1.0)
        least, most = np.where(rising, below, -above), np.where(rising, above, -below)
        begin = self._last(first, end, lambda noise: sign * noise + self._margin(noise) < least) + 1
        stop = self._last(first, end, lambda noise: sign * noise - self._margin(noise) <= most) + 1
        return tuple(zip(begin.tolist(), np.maximum(begin, stop).tolist(), strict=True))

    def _last(self, first: Words, end: Words, holds: Callable[[Any], NDArray[np.bool_]]) -> Words:
        """Return by bisection, in each piece, a word after which the condition fails, or the word before the piece."""
        low, high = first - 1, end.copy()
        while (high - low > 1).any():
            middle = np.where(high - low > 1, (low + high) // 2, np.maximum(low, first))
            met = holds(self._noise(middle))
            open_ = high - low > 1
            low, high = np.where(open_ & met, middle, low), np.where(open_ & ~met, middle, high)
        return low

    def _margin(self, noise: Any) -> Any:
        return 8 * self.error * np.abs(noise)

    def _noise(self, words: Words) -> NDArray[np.float64]:
        noise = self.release(0.0, words).astype(np.float64)
        if ((np.abs(noise) < 2.0**-900) & (noise != 0)).any():
            raise ValueError("noise must be 0 or of size at least 2^-900, so that its error is relative")
        return noise


def _double(number: Fraction, towards: float) -> float:
    """Return a double that is not beyond ``number`` on the other side than ``towards``."""
    nearest = float(number)
    return nearest if Fraction(nearest) == number else math.nextafter(nearest, towards)
