"""Neighbouring relations: which two data sets are neighbours. Every claim about users names one."""

from __future__ import annotations

import enum

from dpproof.accountant.claims.spelling import word


class Adjacency(enum.Enum):
    """A neighbouring relation, under the spelling of the command line and of claim files.

    >>> Adjacency.of("rewards-only") is Adjacency.REWARDS_ONLY
    True
    """

    ADD_REMOVE = "add-remove"
    """One data set has one user more than the other."""
    REPLACE = "replace"
    """One user's data are replaced by another's."""
    REWARDS_ONLY = "rewards-only"
    """The rewards of one user's trajectory are replaced; its states and actions stay."""
    EXPERT = "expert"
    """One data set has one expert, with all of that expert's trajectories, more than the other."""
    BY_SENSITIVITY = "by-sensitivity"
    """Two inputs whose answers differ by at most a sensitivity: the relation of a noise primitive, which
    knows no users. The documentation of `sensitivity` defines which data sets are neighbours."""

    @classmethod
    def of(cls, name: str | Adjacency) -> Adjacency:
        """The relation of that name, or the relation itself.

        Raises:
            ValueError: for an unknown name, listing the known ones.
        """
        return word(cls, "adjacency", name)


class UnprovedAdjacencyError(ValueError):
    """Raised for a guarantee under a neighbouring relation for which none is proved."""

    def __init__(self, mechanism: str, adjacency: Adjacency, why: str) -> None:
        self.mechanism, self.adjacency, self.why = mechanism, adjacency, why
        super().__init__(f"adjacency ({adjacency.value!r}) has no proved guarantee for {mechanism}. {why}")
