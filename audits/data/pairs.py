"""Pairs of neighbouring inputs, which are validated before anything is sampled.

With two inputs that are not neighbours, an audit would refute correct claims. So such a pair raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.data.episode_relations import EPISODE_CHECKS
from dpproof.audits.data.handed import Handed
from dpproof.audits.data.relations import Standing, standing_of
from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user

NUMBERS = "biufcmM"
"""The numpy kinds of arrays that hold numbers or times."""
WORDS = tuple(relation.value for relation in Adjacency)


class InvalidNeighboursError(ValueError):
    """Raised when two inputs are not neighbours; the message shows the difference."""


@dataclass(frozen=True)
class Neighbours:
    """Two inputs that are neighbours under the claimed relation.

    Attributes:
        first: the input from which samples with label 0 are drawn.
        second: the input from which samples with label 1 are drawn.
        adjacency: the relation: an `Adjacency`, its word, or a description of another relation.
        description: a description of the two inputs.
        validator: a function that is called with the two inputs and raises ValueError unless they are neighbours.
            dpproof also checks the stated relation as far as it can (`dpproof.audits.data.relations`).
        standing: tells whether dpproof checked the relation or assumes it, and why.

    Raises:
        InvalidNeighboursError: the inputs are not neighbours, or the validator rejects them.

    >>> Neighbours([1, 2, 3], [1, 2], "replace", "two lists")
    Traceback (most recent call last):
    dpproof.audits.data.pairs.InvalidNeighboursError: pair (two lists) is not a pair of neighbours (replace): ...

    >>> def at_most_one_apart(a, b):
    ...     if abs(a - b) > 1:
    ...         raise ValueError(f"{a} and {b} differ by more than 1")
    >>> Neighbours(0.0, 3.0, "differ by at most 1", "numbers", at_most_one_apart)
    Traceback (most recent call last):
    dpproof.audits.data.pairs.InvalidNeighboursError: pair (numbers) is not a pair of neighbours ...
    """

    first: Any
    second: Any
    adjacency: Adjacency | str
    description: str
    validator: Callable[[Any, Any], object] | None = None
    standing: Standing = field(init=False, compare=False, repr=False)
    _handed: dict[int, Handed] = field(init=False, compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.adjacency, str) and _word(self.adjacency) in WORDS:
            object.__setattr__(self, "adjacency", Adjacency.of(_word(self.adjacency)))
        try:
            if self.validator is not None:
                self.validator(self.first, self.second)
            found = standing_of(self.first, self.second, self.adjacency, self.validator)
            object.__setattr__(self, "standing", found)
        except ValueError as refused:
            raise InvalidNeighboursError(
                f"pair ({self.description}) is not a pair of neighbours ({self._relation}): {refused}"
            ) from refused

    @property
    def _relation(self) -> str:
        """The word of an `Adjacency`, or the description of the relation."""
        return str(getattr(self.adjacency, "value", self.adjacency))

    def handed(self, label: int) -> Handed:
        """Return the copy of input ``label`` (0 or 1) for the audited function; the first call makes the copy."""
        if label not in self._handed:
            self._handed[label] = Handed((self.first, self.second)[label])
        return self._handed[label]

    @property
    def changed(self) -> bool:
        """Whether the audited function has changed its copy of an input."""
        return any(one.changed for one in self._handed.values())

    def as_json(self) -> dict[str, str]:
        """Return the description, the relation, and whether the relation was checked, as JSON data."""
        told = {"status": self.standing.word, "why": self.standing.why}
        return {"description": self.description, "relation": self._relation, **told}


def _word(relation: str) -> str:
    """Normalise the name of a relation, so that "Add_Remove" is not taken for a description in words."""
    return relation.strip().lower().replace("_", "-").replace(" ", "-").replace("/", "-")


def check_pair(pair: Neighbours, adjacency: Adjacency) -> None:
    """Raise an error if the pair has another relation than ``adjacency``, or if its two inputs are equal.

    Raises:
        InvalidNeighboursError: the relations differ, or the inputs are equal. The message names the pair.
    """
    if isinstance(pair.adjacency, Adjacency) and pair.adjacency is not adjacency:
        raise InvalidNeighboursError(
            f"pair ({pair.description}) consists of {pair.adjacency.value} neighbours,"
            f" but the claim is about {adjacency.value} neighbours"
        )
    if _plainly_equal(pair.first, pair.second):
        raise InvalidNeighboursError(f"pair ({pair.description}) must contain two different inputs")


def _plainly_equal(first: object, second: object) -> bool:
    """Whether two inputs have equal contents; if they cannot be compared, whether they are the same object."""
    try:
        arrays = np.asarray(first), np.asarray(second)
        if all(array.dtype.kind in NUMBERS for array in arrays):
            return bool(np.array_equal(*arrays))
        return bool(first == second)  # as arrays, texts lose their ends and numbers beside texts are texts
    except Exception:  # whatever a user's inputs do when they are compared
        return first is second


def episodes_pair(first: Episodes, second: Episodes, adjacency: Adjacency, description: str) -> Neighbours:
    """Return two batches of trajectories as a validated pair.

    Raises:
        InvalidNeighboursError: the batches are not neighbours under the relation; the message shows the difference.
        ValueError: the relation is not defined for episodes.
    """
    if adjacency not in EPISODE_CHECKS:
        known = ", ".join(known.value for known in EPISODE_CHECKS)
        raise ValueError(f"adjacency ({adjacency.value!r}) must be one of: {known}")
    return Neighbours(first, second, adjacency, description, EPISODE_CHECKS[adjacency])


def rlsvi_pair(parameters: RLSVIParameters) -> Neighbours:
    """Return two neighbouring inputs that are hard for RLSVI: user 0 has reward 0 at every step, or reward 1.

    The inputs are neighbours under rewards-only adjacency. A cell is a state and an action at one of the H steps. With
    one state, all users visit the same cells. Then the noise of the next table is the smallest possible. With more
    states, only user 0 leaves the start state. So only user 0 visits cells of the last state at steps 2, ..., H. In all
    later tables these cells have one visit, so each of these tables reveals the reward again.
    """
    K, H, S, A = parameters.episodes, parameters.horizon, parameters.states, parameters.actions
    next_states = np.zeros((K, H, S, A), np.int64)
    next_states[0] = S - 1
    quiet = Users(next_states, np.zeros((K, H, S, A)))
    return Neighbours(
        quiet,
        quiet.with_rewards(0, 1.0),
        Adjacency.REWARDS_ONLY,
        "user 0 earns 0 everywhere, or 1 everywhere"
        + ("" if S == 1 else "; it alone leaves state 0, for the last state"),
        differ_only_in_rewards_of_one_user,
    )
