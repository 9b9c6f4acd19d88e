"""Interfaces of mechanisms that have a guarantee or can be sampled, and the catalogue's mechanisms as objects.

An audit needs only a mechanism that can be sampled. The privacy claim may come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import CATALOGUE, accountant_for, leaf_of
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.mechanisms.randomness import Randomness, Source

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult

AdjacencyT_contra = TypeVar("AdjacencyT_contra", contravariant=True)
GuaranteeT_co = TypeVar("GuaranteeT_co", covariant=True)
DataT_contra = TypeVar("DataT_contra", contravariant=True)


@runtime_checkable
class HasGuarantee(Protocol[AdjacencyT_contra, GuaranteeT_co]):
    """A mechanism that can return the privacy guarantee of one of its runs."""

    def account(self, adjacency: AdjacencyT_contra) -> GuaranteeT_co:
        """Return the guarantee of one run under this neighbouring relation, with the statement that proves it.

        Raises an error if no proof is known.
        """
        ...


@runtime_checkable
class Samples(Protocol[DataT_contra]):
    """A mechanism whose output can be sampled independently and any number of times."""

    def sample(self, data: DataT_contra, n: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[Any]]:
        """Return `n` independent outputs on `data`, one in each row of an array.

        All randomness comes from `rng`. Two generators in the same state give the same array.
        """
        ...


def sampled() -> tuple[str, ...]:
    """Return the command-line names of the catalogue's mechanisms that have a sampler (it draws random outputs)."""
    return tuple(name for name in CATALOGUE if accountant_for(name).unsampled is None)


def sampler_for(name: str) -> Callable[..., NDArray[Any]]:
    """Return the function ``sampler(parameters, data, n, rng)`` that draws ``n`` outputs of the named mechanism.

    Raises:
        ValueError: for a name that has no sampler.
    """
    if name not in CATALOGUE or accountant_for(name).unsampled is not None:
        raise ValueError(f"primitive ({name!r}) must be one of: {', '.join(sampled())}")
    found: Callable[..., NDArray[Any]] = leaf_of("dpproof.mechanisms", name).sample
    return found


@dataclass(frozen=True)
class Primitive:
    """A mechanism of the catalogue with its parameters, which can be sampled and has a guarantee.

    >>> import numpy as np
    >>> from dpproof.accountant.noise.laplace import LaplaceParameters
    >>> once = Primitive("laplace", LaplaceParameters(scale=2.0))
    >>> once.sample([0.0], 3, np.random.default_rng(0)).shape
    (3, 1)

    Raises:
        ValueError: for a name that has no sampler.
    """

    name: str
    parameters: Any

    def __post_init__(self) -> None:
        sampler_for(self.name)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of one run under this neighbouring relation.

        The guarantee covers rounding errors of the released numbers only if `sample` is an exact sampler.
        """
        found = accountant_for(self.name).account(self.parameters, Adjacency.of(adjacency))
        sampler = sampler_for(self.name)
        drawn_here = found.exact_sampler == f"{sampler.__module__}.{sampler.__qualname__}"
        return found if drawn_here else replace(found, exact_sampler=None)

    def sample(self, data: Any, n: int, rng: Source = None) -> NDArray[Any]:
        """Return ``n`` independent releases on ``data``, which has the form that this mechanism's sampler expects.

        If ``rng`` is a seed or a generator, the result is a simulation, and no guarantee holds.
        """
        return sampler_for(self.name)(self.parameters, data, n, Randomness.of(rng).generator)
