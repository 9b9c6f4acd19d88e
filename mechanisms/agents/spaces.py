"""Finite sets of observations and actions, numbered from 0, made from Gymnasium spaces or from lists of values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FiniteSpace:
    """A finite set of values, numbered 0, 1, 2, ...

    Attributes:
        name: what the values are, for error messages: ``observation`` or ``action``.
        values: the values in order. Arrays are stored as tuples.

    >>> space = FiniteSpace.of("observation", ["empty", "full"])
    >>> space.number("full"), space.value(0), space.size
    (1, 'empty', 2)

    Raises:
        ValueError: the set is empty, or a value occurs twice.
    """

    name: str
    values: tuple[Hashable, ...]
    _numbers: dict[Hashable, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers.update({value: place for place, value in enumerate(self.values)})
        if not self.values or len(self._numbers) < len(self.values):
            raise ValueError(
                f"{self.name}s ({len(self.values)} values) must be at least one value, each listed once"
            )

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def end(self) -> int:
        """What stands for the end of an episode: the number after the last value."""
        return self.size

    @classmethod
    def of(cls, name: str, given: Any) -> FiniteSpace:
        """Return the finite set that ``given`` describes.

        Args:
            name: ``observation`` or ``action``.
            given: a Gymnasium space that is ``Discrete``, ``MultiBinary`` or ``MultiDiscrete``, or a ``Tuple`` of
                such spaces; a number n for 0, ..., n-1; or a list of values.

        Raises:
            ValueError: for a space that is not finite, with the remedy.
        """
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            return cls(name, tuple(range(int(given))))
        if hasattr(given, "sample"):
            return cls(name, tuple(_values(name, given)))
        if isinstance(given, Iterable) and not isinstance(given, str):
            return cls(name, tuple(map(hashable, given)))
        raise ValueError(
            f"{name}s ({given!r:.80}) must be a finite Gymnasium space, a number of values or a list of them"
        )

    def number(self, value: Any) -> int:
        """Return the number of a value.

        Raises:
            ValueError: the value is not in the set.
        """
        try:
            found = self._numbers.get(hashable(value))
        except TypeError:  # such as a dictionary
            found = None
        if found is None:
            rule = f"must be one of the {self.size} declared {self.name}s"
            raise ValueError(
                f"{self.name} ({value!r:.80}) {rule}. Declare every {self.name} when the agent is made."
            )
        return found

    def value(self, number: int) -> Any:
        """Return the value with this number. An array is returned as a tuple."""
        return self.values[number]

    def fits(self, space: Any) -> bool:
        """Return whether a Gymnasium space has these values. Spaces that are not ``Discrete`` are not compared."""
        return not hasattr(space, "n") or FiniteSpace.of(self.name, space).values == self.values

    def as_json(self) -> int | list[Any]:
        """Return the set as JSON data: its size if the values are 0, ..., n-1, otherwise the list of values."""
        return self.size if self.values == tuple(range(self.size)) else list(self.values)

    @classmethod
    def from_json(cls, name: str, given: Any) -> FiniteSpace:
        """Return the set that ``as_json`` described."""
        return cls.of(name, given if isinstance(given, int) else [_untangled(value) for value in given])


def hashable(value: Any) -> Hashable:
    """Return an observation or action as a value that can be compared and hashed: arrays become tuples.

    >>> hashable(np.int64(3)), hashable(np.array([1, 2]))
    (3, (1, 2))
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value


def _untangled(value: Any) -> Any:
    return tuple(map(_untangled, value)) if isinstance(value, list) else value


_MOST = 10_000_000


def _values(name: str, space: Any) -> list[Hashable]:
    """Return all values of a Gymnasium space."""
    from gymnasium import spaces  # an extra

    match space:
        case spaces.Discrete():
            count, found = int(space.n), range(int(space.start), int(space.start) + int(space.n))
            return list(found[: _checked(name, space, count)])
        case spaces.MultiDiscrete():
            starts = getattr(space, "start", np.zeros_like(space.nvec))
            parts = [
                range(a, a + n)
                for a, n in zip(starts.ravel().tolist(), space.nvec.ravel().tolist(), strict=True)
            ]
        case spaces.MultiBinary():
            parts = [range(2)] * int(np.prod(space.shape))
        case spaces.Tuple():
            parts = [_values(name, part) for part in space.spaces]  # type: ignore[misc] # ranges and lists
        case _:
            raise ValueError(
                f"the {name} space ({space!r:.80}) must be finite: Discrete, MultiDiscrete, MultiBinary or a Tuple of "
                f"these. Wrap the environment, or declare the {name}s as a list."
            )
    _checked(name, space, int(np.prod([float(len(part)) for part in parts])))
    return _products(parts)


def _checked(name: str, space: Any, count: int) -> int:
    if count > _MOST:
        raise ValueError(
            f"the {name} space ({space!r:.80}) has {count} values, but at most {_MOST} are possible"
        )
    return count


def _products(parts: Any) -> list[Hashable]:
    from itertools import product

    return list(product(*parts))
