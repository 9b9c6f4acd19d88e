"""Sources of randomness, and the rule that decides whether a random draw has a privacy guarantee.

A release is drawn from the operating system's entropy. A draw from a seed or from a given generator is a
*simulation*: anyone who has the seed can compute the noise and subtract it, so no guarantee holds. Only
`guaranteed` decides this.
"""

from __future__ import annotations

import math
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult

Source: TypeAlias = "int | Sequence[int] | np.random.SeedSequence | np.random.Generator | Randomness | None"
"""Where random draws come from: None for the operating system's entropy, a seed or a generator for a simulation."""
Words: TypeAlias = NDArray[np.uint64]
WordSource: TypeAlias = Callable[[int], Words]
"""Function that returns the given number of independent, uniform 64-bit words."""
SIMULATION = "simulation: drawn from a fixed seed or a given generator, so no guarantee holds"
_KEY_BITS = 256


class SimulationError(ValueError):
    """Raised when the guarantee of a simulation is requested."""


class RecordedWordsError(ValueError):
    """Raised when recorded random words would be used for other noise than the first time."""


def system_words(count: int) -> Words:
    """Return words from the entropy source of the operating system (`os.urandom`).

    >>> system_words(3).shape
    (3,)
    """
    return np.frombuffer(os.urandom(8 * count), np.uint64)


class RecordedWords:
    """A source of random 64-bit words of the operating system, which notes each word before it returns it.

    Args:
        note: function that writes words where they are kept.
        recorded: words that were noted earlier, one array for each request. They are returned first, in the same order,
            and not noted again. They must come from an earlier object of this class: with words from elsewhere no
            guarantee holds.

    >>> noted = []
    >>> words = RecordedWords(noted.append, [np.zeros(1, np.uint64)])
    >>> len(words(1)), len(words(3)), len(noted[0]), words.left
    (1, 3, 3, 0)
    """

    def __init__(self, note: Callable[[Words], None], recorded: Iterable[Words] = ()) -> None:
        self._note = note
        self._held = deque(recorded)

    @property
    def left(self) -> int:
        """The number of recorded words that have not been returned again."""
        return sum(map(len, self._held))

    def __call__(self, count: int) -> Words:
        """Return ``count`` words.

        Raises:
            RecordedWordsError: the recorded words were requested in another number, so they were used for other noise.
        """
        if not count:
            return np.empty(0, np.uint64)
        if not self._held:
            new = system_words(count)
            self._note(new)
            return new
        if len(self._held[0]) != count:
            raise RecordedWordsError(
                f"{count} random words are needed, but the next recorded ones are {len(self._held[0])}. They must be "
                "used for the same noise again. Go on with the same version on the same machine."
            )
        return self._held.popleft()


class Entropy(np.random.Generator):
    """A numpy generator whose randomness comes from the operating system.

    Integers are made from random words of `os.urandom` directly. Exact samplers draw only integers. Floating-point
    numbers come from numpy's PCG64DXSM with a fresh key of 256 bits. The generator cannot be pickled, so its state is
    never saved.

    Args:
        recorded: a source that notes the words of the operating system.

    Raises:
        TypeError: ``recorded`` is another source of words. Draws from it would be a simulation.

    >>> Entropy().integers(0, 6, 4).shape
    (4,)
    """

    def __init__(self, recorded: RecordedWords | None = None) -> None:
        if recorded is not None and type(recorded) is not RecordedWords:
            raise TypeError(
                f"recorded ({recorded!r:.80}) must be RecordedWords. Draws from a seed are a simulation."
            )
        self._recorded = recorded
        fresh = np.random.SeedSequence(secrets.randbits(_KEY_BITS), pool_size=_KEY_BITS // 32)
        super().__init__(np.random.PCG64DXSM(fresh))

    @property
    def words(self) -> WordSource:
        """The source of random 64-bit words. It cannot be changed."""
        return self._recorded or system_words

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return ``n_children`` new generators, each with its own entropy."""
        return [Entropy(self._recorded) for _ in range(n_children)]

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Return uniform integers in [low, high). If a bound is an array, numpy's generator draws the integers."""
        if not (_whole(low) and (high is None or _whole(high))) or dtype is int:
            return super().integers(low, high, size, dtype, endpoint)
        first, end = (0, int(low)) if high is None else (int(low), int(high))
        span = end + bool(endpoint) - first
        limits = np.iinfo(dtype)
        if not 0 < span <= 1 << 64 or first < limits.min or first + span - 1 > limits.max:
            return super().integers(low, high, size, dtype, endpoint)
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        drawn = _below(span, math.prod(shape), self.words) + np.uint64(first % (1 << 64))
        found = drawn.astype(dtype).reshape(shape)
        return found if size is not None else found[()]

    def __reduce__(self) -> Any:
        """Refuse to be saved.

        Raises:
            TypeError: always.
        """
        raise TypeError("A generator of entropy must not be saved, because its state would reveal the noise.")


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer))


def _below(span: int, count: int, words: WordSource) -> Words:
    """Draw uniform integers in [0, span) by rejection; `span` is at most 2^64."""
    mask, most = np.uint64((1 << (span - 1).bit_length()) - 1), np.uint64(span - 1)
    found = words(count) & mask
    while (large := np.flatnonzero(found > most)).size:
        found[large] = words(large.size) & mask
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Randomness:
    """A source of random draws that knows whether the draws are a simulation, which has no privacy guarantee.

    >>> Randomness.of(None).simulated, Randomness.of(0).simulated
    (False, True)
    >>> Randomness.of(0)
    Randomness(simulated=True)
    """

    generator: np.random.Generator

    @property
    def simulated(self) -> bool:
        """Whether draws are a simulation, which means that the generator is not `Entropy`."""
        return type(self.generator) is not Entropy

    def __repr__(self) -> str:
        return f"Randomness(simulated={self.simulated})"

    def __reduce__(self) -> Any:
        """Refuse to be saved.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "Randomness must not be saved, because the state of its generator would reveal the noise."
        )

    @classmethod
    def of(cls, source: Source = None) -> Randomness:
        """Return an object that draws from a source: entropy for None, a simulation for a seed or a generator.

        Raises:
            ValueError: a seed that is negative or no whole number.
        """
        match source:
            case Randomness():
                return source
            case None:
                return cls(Entropy())
            case np.random.Generator():
                return cls(source)
        try:
            return cls(np.random.default_rng(source))
        except (TypeError, ValueError) as error:
            rule = "must be an integer of at least 0 or a numpy generator. Leave it out for a release."
            raise ValueError(f"seed ({source!r}) {rule}") from error

    def spawn(self, count: int) -> list[Randomness]:
        """Return ``count`` independent objects of the same kind: all entropy, or all simulations."""
        return [Randomness(each) for each in self.generator.spawn(count)]


def how_drawn(simulated: bool) -> str:
    """Return the words with which a `repr` states how floating-point noise was drawn.

    >>> how_drawn(False)
    'drawn from entropy, in real arithmetic; the released doubles are not covered'
    """
    return SIMULATION if simulated else f"drawn from entropy, {IN_REAL_ARITHMETIC}"


def guaranteed(simulated: bool, guarantee: Callable[[], PrivacyResult]) -> PrivacyResult:
    """Return ``guarantee()``, the privacy guarantee of a draw. A simulation has none, so this raises an error.

    Raises:
        SimulationError: a fixed seed or a given generator drew it.

    >>> guaranteed(True, lambda: None)
    Traceback (most recent call last):
    dpproof.mechanisms.randomness.SimulationError: A simulation has no guarantee, ...
    """
    if simulated:
        rule = "because whoever has the seed or the generator can subtract the noise. Leave out both."
        raise SimulationError(f"A simulation has no guarantee, {rule}")
    return guarantee()
