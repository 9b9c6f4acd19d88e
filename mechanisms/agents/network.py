"""A small network as a policy: it turns an observation into probabilities of actions, with numpy alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.agents.learner import Floats
from dpproof.mechanisms.release.rounded_noise import RoundedNormal
from dpproof.mechanisms.release.words import WordSource

Numbers = NDArray[np.float32]
LARGEST = 1 << 20
"""The largest number of numbers in a network."""
_FINE = 1 << 20


@dataclass(frozen=True, eq=False)
class Network:
    """A policy that is the same at every step: layers with tanh between them, and a softmax over actions at the end.

    The last layer has one more output, an estimate of the gains to come. It does not affect the actions.

    Attributes:
        widths: the numbers of inputs, of units of each hidden layer, and of actions.
        numbers: float32 array (d,): for each layer its matrix (inputs, outputs) in row order, and then its offsets.
        horizon: the number of steps of an episode.

    >>> policy = Network((2, 3, 2), np.zeros(21, np.float32), horizon=5)
    >>> policy[0, (0.5, -1.0)].tolist(), len(policy)
    ([0.5, 0.5], 5)

    Raises:
        ValueError: the array does not have the size that the widths imply.
    """

    widths: tuple[int, ...]
    numbers: Numbers
    horizon: int

    def __post_init__(self) -> None:
        wanted = size_of(self.widths)
        if self.numbers.shape != (wanted,):
            raise ValueError(
                f"the shape of the network {self.numbers.shape} must be {(wanted,)} for widths {self.widths}"
            )

    def __len__(self) -> int:
        return self.horizon

    def __getitem__(self, place: tuple[int, Any]) -> Floats:
        """Return the probabilities of the actions at a step, counted from 0, for a scaled observation."""
        return softmax(self.outputs(np.asarray(place[1]))[:-1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the numbers of the network."""
        return np.array(self.numbers, dtype)

    @cached_property
    def layers(self) -> list[tuple[Floats, Floats]]:
        """The matrix and the offsets of each layer."""
        return list(split(self.numbers.astype(np.float64), self.widths))

    def outputs(self, seen: Floats) -> Floats:
        """Return the last layer (..., actions + 1) for scaled observations (..., inputs)."""
        *hidden, (matrix, offsets) = self.layers
        for weights, shifts in hidden:
            seen = np.tanh(seen @ weights + shifts)
        return seen @ matrix + offsets


def hidden_of(policy: Any) -> list[int] | None:
    """Return the widths of the hidden layers of a network; None for a policy that is a table."""
    return list(policy.widths[1:-1]) if isinstance(policy, Network) else None


def softmax(scores: Floats) -> Floats:
    """Return probabilities that are proportional to exp(score), along the last axis."""
    sizes = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Floats = sizes / sizes.sum(axis=-1, keepdims=True)
    return found


def shapes(widths: Sequence[int]) -> list[tuple[int, int]]:
    """Return the shape of the matrix of each layer. The last layer has one output more than there are actions."""
    return list(pairwise([*widths[:-1], widths[-1] + 1]))


def size_of(widths: Sequence[int]) -> int:
    """Return the number of numbers of a network.

    >>> size_of((4, 16, 2))
    131
    """
    return sum((inputs + 1) * outputs for inputs, outputs in shapes(widths))


def split(numbers: NDArray[Any], widths: Sequence[int]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the matrix and the offsets of each layer, as views of one vector."""
    place = 0
    for inputs, outputs in shapes(widths):
        middle = place + inputs * outputs
        yield numbers[place:middle].reshape(inputs, outputs), numbers[middle : middle + outputs]
        place = middle + outputs


def first_numbers(widths: Sequence[int], words: WordSource) -> Floats:
    """Return the numbers of a new network, which takes every action with the same probability.

    Matrices of hidden layers are random, with variance 1/inputs. The last layer and all offsets are 0. The random words
    are those of a journal, so that a run that goes on begins with the same network.

    >>> from dpproof.mechanisms.release.words import seeded_words
    >>> first_numbers((4, 16, 2), seeded_words(np.random.default_rng(0))).shape
    (131,)
    """
    drawn = RoundedNormal(Fraction(_FINE)).draw(size_of(widths), words) / _FINE
    found = np.zeros(size_of(widths))
    for (matrix, _), (normal, _) in list(zip(split(found, widths), split(drawn, widths), strict=True))[:-1]:
        matrix[:] = normal / np.sqrt(matrix.shape[0])
    return found
