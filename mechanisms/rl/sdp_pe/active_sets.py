"""Sets of active policies: those that policy elimination has not yet dropped.

`Elimination` asks a set which policies explore best, and tells it which estimates a stage has found. `EnumeratedSet`
lists every policy, so only tiny problems can be run.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.coverage import EmptyActiveSetError, cover, start_of
from dpproof.mechanisms.rl.sdp_pe.mixtures import Mixture, RandomPolicy
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Covering(NamedTuple):
    """A random policy that covers the active policies, and how far it is from the best one (`Coverage.gap`)."""

    policy: RandomPolicy
    gap: float


class Spread(NamedTuple):
    """The largest and the smallest value of an active policy."""

    most: float
    least: float


class ActiveSet(Protocol):
    """Interface of a set of active policies for H steps, X states and A actions.

    Estimated tables are arrays (H, X, A, X) of transitions, whose rows may sum to less than 1, and (H, X, A) of mean
    rewards. The missing probability pays nothing.
    """

    @property
    def count(self) -> int:
        """Number of active policies."""
        ...

    @property
    def policies(self) -> int:
        """Number of all policies, active or not."""
        ...

    def layer(self, h: int, transitions: Floats) -> Ints:
        """Return the policies (n, H, X) that explore step h, for estimates of the transitions of earlier steps.

        For each state and action there is one: the policy that visits this pair most often at this step. Call it for
        h = 0, 1, ..., H - 1.
        """
        ...

    def covering(self, transitions: Floats) -> Covering:
        """Return a random policy that covers all active policies. Call it after `layer`."""
        ...

    def eliminate(self, transitions: Floats, rewards: Floats, threshold: float) -> None:
        """Drop policies that are too far below the best estimated value.

        Raises:
            EmptyActiveSetError: no policy would remain.
        """
        ...

    def best(self) -> Ints:
        """Return the active policy (H, X) of the largest value by the last estimates."""
        ...

    def spread(self, transitions: Floats, rewards: Floats) -> Spread:
        """Return the largest and the smallest value of an active policy by the given tables."""
        ...


class EnumeratedSet:
    """Active policies as a list: one bit for each policy of a small problem.

    >>> active = EnumeratedSet(PolicySpace(np.array([[True]]), actions=2), scored=True)
    >>> active.eliminate(np.zeros((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), threshold=0.5)
    >>> active.count, active.best().tolist()
    (1, [[1]])

    Args:
        space: the policies. At first all are active.
        scored: which policy explores if several visit a state and action equally often: the one with the best last
            estimate (True), or the first one by number (False).
    """

    def __init__(self, space: PolicySpace, *, scored: bool) -> None:
        self.space = space
        self.active: Bools = np.ones(space.count, np.bool_)
        self._scored = scored
        self._values: Floats = np.zeros(space.count)
        self._tables: Floats = np.empty(int(space.layout.offsets[-1]))
        self._heads: list[Ints] = []
        self._passed: Floats = np.empty((0, 0))

    @property
    def count(self) -> int:
        """Number of active policies."""
        return int(self.active.sum())

    @property
    def policies(self) -> int:
        """Number of all policies, active or not."""
        return self.space.count

    @property
    def _guide(self) -> Floats:
        """The scores that decide between policies that explore equally well."""
        return self._values if self._scored else np.zeros(self.space.count)

    def layer(self, h: int, transitions: Floats) -> Ints:
        """Return the policies (n, H, X) that explore step h. See `ActiveSet.layer`."""
        if h == 0:
            self._heads = kernels.heads(self.space.layout, self.active, self._guide)
            self._passed = start_of(self.space)
        else:
            law = self.space.reduced(transitions)
            self._passed = kernels.advance(self.space.layout, h - 1, self._passed, law)
        chosen, _ = kernels.explore(self.space.layout, h, self._passed, self._heads[h], self._guide)
        return self.space.policies(chosen[chosen >= 0])

    def covering(self, transitions: Floats) -> Covering:
        """Return a mixture that covers all active policies. See `dpproof.mechanisms.rl.sdp_pe.coverage`."""
        law = self.space.reduced(transitions)
        found = cover(self.space, law, self.active, heads=self._heads, scores=self._guide)
        return Covering(Mixture(self.space.policies(found.numbers), found.weights), found.gap)

    def eliminate(self, transitions: Floats, rewards: Floats, threshold: float) -> None:
        """Drop each policy whose estimated value is at least `threshold` below that of the best active policy.

        Raises:
            EmptyActiveSetError: no policy would remain.
        """
        values = self._evaluate(transitions, rewards)
        top = kernels.best(values, self.active)
        if top < 0 or kernels.drop(values, self.active, values[top], threshold) == 0:
            rule = "must be above 0, and at least one policy must be active. Otherwise no policy remains."
            raise EmptyActiveSetError(f"threshold ({threshold!r}) {rule}")
        self._values = values

    def best(self) -> Ints:
        """Return the active policy (H, X) of the largest value by the last estimates."""
        found: Ints = self.space.policies([kernels.best(self._values, self.active)])[0]
        return found

    def spread(self, transitions: Floats, rewards: Floats) -> Spread:
        """Return the largest and the smallest value of an active policy by the given tables."""
        values = self._evaluate(transitions, rewards)[self.active]
        return Spread(float(values.max()), float(values.min()))

    def _evaluate(self, transitions: Floats, rewards: Floats) -> Floats:
        """Return the values of all policies."""
        law, paid = self.space.reduced(transitions), self.space.reduced(rewards)
        kernels.all_values(self.space.layout, law, paid, self._tables)
        return self._tables[: self.space.count].copy()
