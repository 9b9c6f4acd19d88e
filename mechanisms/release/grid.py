"""Releases on a public grid: each released number is an integer times a public power of two.

The class of the drawn numbers, `Released` or `Simulated`, says whether they have a guarantee.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.mechanisms.randomness import SIMULATION, Randomness, guaranteed

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult

GRID = -20
"""Default exponent of the grid: released numbers are multiples of 2^-20."""
REWARD_BITS = 30
"""Rewards are rounded to multiples of 2^-30."""
_FINEST, _COARSEST = -200, 60


def checked_exponent(exponent: int) -> int:
    """Return the exponent of a grid after checking it.

    Raises:
        ValueError: it is no integer in [-200, 60].
    """
    if type(exponent) is not int or not _FINEST <= exponent <= _COARSEST:
        raise ValueError(f"exponent ({exponent!r}) must be an integer in [{_FINEST}, {_COARSEST}]")
    return exponent


def grains(rewards: ArrayLike) -> NDArray[np.int64]:
    """Return rewards in [0, 1] in units of 2^-30, each rounded to the nearest whole number.

    >>> grains([0.0, 0.5, 1.0]).tolist()
    [0, 536870912, 1073741824]
    """
    return np.rint(np.ldexp(np.asarray(rewards, np.float64), REWARD_BITS)).astype(np.int64)


def doubles(integers: Any, exponent: int) -> NDArray[np.float64]:
    """Return 2^exponent times integers of any size, as the nearest doubles.

    >>> doubles([[1, -3]], -1).tolist()
    [[0.5, -1.5]]
    """
    return np.ldexp(np.array(integers, dtype=object).astype(np.float64), exponent)


def how_released(simulated: bool) -> str:
    """Return the words that say in a `repr` and in JSON how exact noise was drawn."""
    return SIMULATION if simulated else "drawn from entropy, every released bit covered"


class _Fixed:
    """Base class of objects whose attributes cannot be set, so type and mechanism cannot be changed."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} cannot be changed after the draw")


@dataclass(frozen=True, repr=False)
class OnGrid(_Fixed):
    """Integers drawn by a mechanism, with its public parameters. Released numbers are integers times 2^exponent.

    The class (`Released` or `Simulated`) decides whether a guarantee holds. The fields do not decide this.

    Attributes:
        parameters: the public parameters of the mechanism.
        integers: the drawn integers, as nested tuples.
        exponent: released numbers are multiples of 2^exponent. The exponent does not depend on the data.

    Args:
        randomness: the source from which the integers were drawn. It is not stored.

    Raises:
        ValueError: a `Released` got the randomness of a simulation, or a `Simulated` got entropy.
    """

    parameters: Any
    integers: tuple[Any, ...]
    exponent: int
    randomness: InitVar[Randomness]
    mechanism: ClassVar[str]
    """Command-line name of the mechanism that has the guarantee."""

    def __post_init__(self, randomness: Randomness) -> None:
        """Refuse a release that a seed or a given generator drew, and a simulation that entropy drew."""
        if randomness.simulated != self.simulated:
            rule = f"must come from {'a seed or a generator' if self.simulated else 'entropy'} for an object of type"
            raise ValueError(f"randomness ({randomness!r}) {rule} {type(self).__name__}")

    @property
    def simulated(self) -> bool:
        """Whether a seed or a given generator drew the integers. If so, no guarantee holds."""
        return not isinstance(self, Released)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of these integers, which holds for everything that is computed from them alone.

        Raises:
            SimulationError: a seed or a generator was given.
            UnprovedAdjacencyError: nothing is proved under this adjacency.
        """
        account = accountant_for(self.mechanism).account
        return guaranteed(self.simulated, lambda: account(self.parameters, Adjacency.of(adjacency)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.integers)} rows; {how_released(self.simulated)}>"

    def as_json(self) -> dict[str, Any]:
        """Return the integers and their description as JSON data, without the state of the generator."""
        return {
            "parameters": self.parameters.as_json(),
            "integers": _lists(self.integers),
            "exponent": self.exponent,
            "simulated": self.simulated,
            "covers_released_bits": not self.simulated,
            "released_bits": how_released(self.simulated),
        }


class Released(OnGrid):
    """Integers drawn from the operating system's entropy. The guarantee covers every bit of them."""


class Simulated(OnGrid):
    """Integers drawn from a seed or a given generator. They have no guarantee."""


def _lists(nested: Any) -> Any:
    return [_lists(each) for each in nested] if isinstance(nested, tuple) else nested
