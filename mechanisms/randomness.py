"""Randomness: where random numbers come from, and whether a guarantee may be reported of what they drew.

What is released is drawn from the operating system's entropy. A seed, or a generator that was given, makes a
*simulation*: whoever has it can compute the noise and subtract it, so no guarantee holds. `guaranteed` is the
one place that decides.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from accountant.accounted import Accounted

__all__ = ["SIMULATION", "Entropy", "Randomness", "SimulationError", "Source", "guaranteed"]

Source: TypeAlias = "int | Sequence[int] | np.random.SeedSequence | np.random.Generator | Randomness | None"
"""None for the operating system's entropy; a seed or a generator for a simulation."""
SIMULATION = "simulation: drawn from a fixed seed or a given generator, so no guarantee holds"
_KEY_BITS = 256


class SimulationError(ValueError):
    """A guarantee was asked of a simulation."""


class Entropy(np.random.Generator):
    """A generator of the operating system's entropy: integers directly, all else from a key of 256 bits.

    Exact samplers draw integers only, and so read nothing but `os.urandom`. Floating-point draws come from
    numpy's PCG64DXSM under a fresh key. It cannot be pickled, so that no state of it is ever saved.

    >>> Entropy().integers(0, 6, 4).shape
    (4,)
    """

    def __init__(self) -> None:
        fresh = np.random.SeedSequence(secrets.randbits(_KEY_BITS), pool_size=_KEY_BITS // 32)
        super().__init__(np.random.PCG64DXSM(fresh))

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return so many others, each of entropy of its own."""
        return [Entropy() for _ in range(n_children)]

    def integers(self, low: Any, high: Any = None, size: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Return uniform integers from `low` to below `high`; ends that are arrays are numpy's business."""
        if options or not (_whole(low) and (high is None or _whole(high))):
            return super().integers(low, high, size, **options)
        first, end = (0, int(low)) if high is None else (int(low), int(high))
        if not 0 < end - first <= 1 << 63:
            return super().integers(low, high, size)
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        found = first + _below(end - first, math.prod(shape)).reshape(shape)
        return found if size is not None else np.int64(found)

    def __reduce__(self) -> Any:
        """Refuse to be saved.

        Raises:
            TypeError: always.
        """
        raise TypeError("a generator of entropy must not be saved: its state gives the noise away")


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer))


def _below(span: int, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Uniform integers from 0 to below `span`, at most 2^63: words of as many bits, those too large again."""
    mask = np.uint64((1 << (span - 1).bit_length()) - 1)
    found = np.frombuffer(os.urandom(8 * count), np.uint64) & mask
    while (large := np.flatnonzero(found >= span)).size:
        found[large] = np.frombuffer(os.urandom(8 * large.size), np.uint64) & mask
    return found.astype(np.int64)


@dataclass(frozen=True)
class Randomness:
    """A generator, and whether what it draws is a simulation.

    >>> Randomness.of(None).simulated, Randomness.of(0).simulated
    (False, True)
    >>> Randomness.of(0)
    Randomness(simulated=True)
    """

    simulated: bool
    generator: np.random.Generator = field(repr=False, compare=False)

    @classmethod
    def of(cls, source: Source = None) -> Randomness:
        """Return the randomness of a source: entropy for None, else a simulation.

        Raises:
            ValueError: a seed that is negative or no whole number.
        """
        if isinstance(source, Randomness):
            return source
        if source is None:
            return cls(False, Entropy())
        if isinstance(source, Entropy):
            return cls(False, source)
        if isinstance(source, np.random.Generator):
            return cls(True, source)
        try:
            return cls(True, np.random.default_rng(source))
        except (TypeError, ValueError) as error:
            rule = "must be whole, at least 0, or a numpy generator; leave it out for a release"
            raise ValueError(f"seed ({source!r}) {rule}") from error

    def spawn(self, count: int) -> list[Randomness]:
        """Return independent randomness of the same kind; a generator that was given is split."""
        return [Randomness(self.simulated, each) for each in self.generator.spawn(count)]


def guaranteed(simulated: bool, guarantee: Callable[[], Accounted]) -> Accounted:
    """Return the guarantee of what was drawn.

    Raises:
        SimulationError: a fixed seed or a given generator drew it.

    >>> guaranteed(True, lambda: None)
    Traceback (most recent call last):
    mechanisms.randomness.SimulationError: a simulation has no guarantee: ...
    """
    if simulated:
        rule = "whoever has the seed or the generator can subtract the noise; leave both out for a release"
        raise SimulationError(f"a simulation has no guarantee: {rule}")
    return guarantee()
