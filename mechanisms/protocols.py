"""The two things a mechanism may offer: a proved guarantee, and samples of its output.

The mechanisms of this package offer both. A callable that somebody wants audited need only offer the
second: its claim comes from elsewhere.
"""

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

AdjacencyT_contra = TypeVar("AdjacencyT_contra", contravariant=True)
GuaranteeT_co = TypeVar("GuaranteeT_co", covariant=True)
DataT_contra = TypeVar("DataT_contra", contravariant=True)


@runtime_checkable
class HasGuarantee(Protocol[AdjacencyT_contra, GuaranteeT_co]):
    """A mechanism that knows how private one run of it is."""

    def account(self, adjacency: AdjacencyT_contra) -> GuaranteeT_co:
        """Return the proved guarantee of one run under this neighbouring relation.

        Raises an error where no proof is known: a guarantee is never guessed.
        """
        ...


@runtime_checkable
class Samples(Protocol[DataT_contra]):
    """A mechanism whose released output can be drawn, independently and as often as asked."""

    def sample(self, data: DataT_contra, n: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[Any]]:
        """Draw `n` independent outputs on `data`, one per row of the array returned.

        All randomness comes from `rng`: an equal generator gives an equal array.
        """
        ...
