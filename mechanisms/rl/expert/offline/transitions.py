"""Transitions grouped by expert, and batches with at most one transition of each expert."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from dpproof.mechanisms import _checks

Integers = NDArray[np.int64]


class Transitions:
    """Transitions of experts: observations, actions, rewards and next observations, sorted by expert.

    Args:
        observations, following: (n, d), the observations before and after each action.
        actions: (n,) integers from 0 on.
        rewards: (n,) the rewards as the learner sees them.
        terminal: (n,) whether the episode ended by itself after the step.
        expert: (n,) the number of the expert of each step, one of 0, ..., experts - 1.
        experts: a bound, above the numbers of all experts. Some numbers below it may have no transitions. The bound
            does not change the distribution of what is released.

    Raises:
        ValueError: shapes that do not fit, no transition, a number that is not finite, an expert or action
            outside its range.

    >>> one = Transitions([[0.0], [1.0]], [[1.0], [2.0]], [0, 1], [1.0, 0.0], [False, True], [2, 0], 3)
    >>> one.counts
    array([1, 0, 1])
    """

    def __init__(
        self, observations: Any, following: Any, actions: Any, rewards: Any, terminal: Any, expert: Any,
        experts: int,
    ) -> None:  # fmt: skip
        self.experts = _checks.at_least("experts", experts, 1)
        owner = _checks.indices("expert", expert, self.experts)
        order = np.argsort(owner, kind="stable")
        self.expert: Integers = owner[order]
        given: dict[str, NDArray[Any]] = {
            "observations": _finite("observations", observations),
            "following": _finite("following", following),
            "actions": _checks.indices("actions", actions, np.iinfo(np.int64).max),
            "rewards": _finite("rewards", rewards),
            "terminal": np.asarray(terminal, bool),
        }
        self._check_shapes(given)
        sorted_arrays = {name: np.ascontiguousarray(array[order]) for name, array in given.items()}
        self.digest = _digest([*sorted_arrays.values(), self.expert, np.array([self.experts])])
        tensors = {name: torch.from_numpy(array) for name, array in sorted_arrays.items()}
        self.observations, self.following = tensors["observations"], tensors["following"]
        self.actions, self.rewards = tensors["actions"], tensors["rewards"]
        self.terminal = tensors["terminal"]
        self.counts: Integers = np.bincount(self.expert, minlength=self.experts)
        self.present: Integers = np.flatnonzero(self.counts)
        self._starts = np.cumsum(self.counts) - self.counts

    def __len__(self) -> int:
        return len(self.expert)

    @classmethod
    def joined(cls, first: Transitions, second: Transitions) -> Transitions:
        """Return the transitions of two sets together. Expert i must be the same expert in both sets.

        Raises:
            ValueError: the sets have different bounds `experts`, or observations of different lengths.
        """
        if first.experts != second.experts:
            raise ValueError(f"experts ({second.experts}) must be {first.experts}, as in the first set")
        names = ("observations", "following", "actions", "rewards", "terminal")
        parts = {n: np.concatenate([getattr(first, n).numpy(), getattr(second, n).numpy()]) for n in names}
        return cls(**parts, expert=np.concatenate([first.expert, second.expert]), experts=first.experts)

    def _check_shapes(self, given: Mapping[str, NDArray[Any]]) -> None:
        steps = len(self.expert)
        if steps == 0:
            raise ValueError("there must be at least one transition")
        wide = given["observations"].shape
        if len(wide) != 2:
            raise ValueError(f"observations (shape {wide}) must be a matrix with one row for each transition")
        for name, array in given.items():
            shape = (
                wide if name == "following" else (steps, *wide[1:]) if name == "observations" else (steps,)
            )
            if array.shape != shape:
                raise ValueError(f"the shape of {name} {array.shape} must be {shape}")

    def one_each(self, chosen: Integers, rng: np.random.Generator) -> Integers:
        """Return the index of one random transition of each chosen expert who has transitions."""
        held = chosen[self.counts[chosen] > 0]
        return self._starts[held] + (rng.random(len(held)) * self.counts[held]).astype(np.int64)

    def uniform(self, size: int, rng: np.random.Generator) -> Integers:
        """Return the indices of `size` random transitions, drawn uniformly and independently from all."""
        return rng.integers(len(self), size=size)


def _poisson(data: Transitions, rate: float, size: int, rng: np.random.Generator) -> Integers:
    """Sample each expert by an independent coin.

    ``size`` is not used. It is the expected number of experts for the public numbers, not for the data.
    """
    return data.one_each(np.flatnonzero(rng.random(data.experts) < rate), rng)


def _exact(data: Transitions, rate: float, size: int, rng: np.random.Generator) -> Integers:
    """Sample exactly ``size`` of the experts that have transitions.

    Drawing from places some of which are empty is another mechanism, for which nothing is proved here
    (docs/notes/expert_accounting.md, section 2).
    """
    return data.one_each(rng.choice(data.present, size, replace=False), rng)


BATCHES: Final[Mapping[str, Callable[[Transitions, float, int, np.random.Generator], Integers]]] = {
    "poisson": _poisson,
    "exact": _exact,
}
"""Functions that draw a private batch from the data, the sampling rate, the batch size and a generator.

They return indices of transitions. The keys are the values of the accountant's parameter ``batch``.
"""


def batch_rate(size: int, experts: int) -> float:
    """Return the sampling rate ``size``/``experts``, rounded up. So the accounted rate is at least the true one.

    Choose both numbers before the data are seen. With exact batches, ``experts`` must be at most the number of
    experts in the data and in all neighbours. With Poisson batches any number is allowed.

    >>> batch_rate(256, 3000)
    0.08533333333333334

    Raises:
        ValueError: unless 1 <= size <= experts.
    """
    if not 1 <= size <= experts:
        raise ValueError(f"size ({size!r}) must be in [1, {experts}], the number of experts")
    near = size / experts
    return near if Fraction(near) * experts >= size else math.nextafter(near, 1.0)


def check_one_each(experts: Integers) -> None:
    """Check that no expert has two transitions in a batch, because the accounting does not cover that.

    >>> check_one_each(np.array([3, 1, 3]))
    Traceback (most recent call last):
    ValueError: expert (3) has 2 transitions in a batch. The guarantee allows 1.

    Raises:
        ValueError: naming the expert.
    """
    found, counts = np.unique(experts, return_counts=True)
    if len(found) < len(experts):
        worst = counts.argmax()
        raise ValueError(
            f"expert ({found[worst]}) has {counts[worst]} transitions in a batch. The guarantee allows 1."
        )


def _finite(name: str, values: Any) -> NDArray[np.float32]:
    array = np.asarray(values, np.float32)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers")
    return array


def _digest(arrays: list[NDArray[Any]]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(str(array.shape).encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
