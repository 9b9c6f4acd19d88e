"""Thousands of different experts: a few trained networks, and a separate last layer for each expert.

An expert is one of the trained networks with a slightly disturbed last layer. There are A actions. The preferred
action has probability 1 - (A - 1) pmin, and every other action has probability pmin. The trained networks come
with the package (`tools/train_experts.py` trains them again). The effect of the disturbances on the experts'
returns is measured, not assumed.

Source: Sharma et al. (2024), Appendix B.1 for pmin and the softening. The paper trains every expert.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.rl.expert.problems import PMIN, Problem

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
_CHUNK = 2_000_000
"""Largest number of entries in a block of last layers that are multiplied at once."""


@dataclass(frozen=True, eq=False)
class Bases:
    """The K trained networks from which experts are made. They have the same shape, with ReLU between layers.

    Attributes:
        sizes: the numbers of inputs, of units of each hidden layer, and of outputs.
        theta: float32 (K, parameters), one row for each network. A row holds the weights (outputs, inputs) of the
            first layer, its biases, the weights of the second layer, and so on.
    """

    sizes: tuple[int, ...]
    theta: Singles

    def hidden(self, which: int, seen: Singles) -> Singles:
        """Return the inputs of the last layer of network ``which``, an array (n, units + 1).

        ``seen`` holds n inputs of the network, and ``units`` is the size of the last hidden layer. The last column is
        1, for the bias.
        """
        for weights, biases in self._layers(which)[:-1]:
            seen = np.maximum(seen @ weights.T + biases, 0)
        return np.column_stack([seen, np.ones(len(seen), np.float32)])

    def last(self, which: int) -> Singles:
        """Return the last layer of network ``which`` (units + 1, outputs), with its biases in the last row."""
        weights, biases = self._layers(which)[-1]
        return np.vstack([weights.T, biases])

    def _layers(self, which: int) -> list[tuple[Singles, Singles]]:
        flat, found, at = self.theta[which], [], 0
        for inputs, outputs in pairwise(self.sizes):
            end = at + inputs * outputs
            found.append((flat[at:end].reshape(outputs, inputs), flat[end : end + outputs]))
            at = end + outputs
        return found

    def save(self, path: Path) -> None:
        """Write the networks as an NPZ file in half precision. The rounding does not make the experts worse."""
        with path.open("wb") as stream:
            np.savez_compressed(stream, sizes=np.array(self.sizes), theta=self.theta.astype(np.float16))

    @classmethod
    def load(cls, path: Path) -> Bases:
        """Read networks that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(tuple(int(n) for n in stored["sizes"]), stored["theta"].astype(np.float32))

    @classmethod
    def of(cls, problem: Problem) -> Bases:
        """Return the trained networks for this problem that come with the package."""
        with as_file(files("dpproof.mechanisms.rl.expert") / "networks" / f"{problem.name}.npz") as path:
            return cls.load(path)


@dataclass(frozen=True, eq=False)
class Population:
    """The policies of m experts. Each expert has one of the trained networks, with a last layer of its own.

    Attributes:
        problem: the problem in which the experts act.
        bases: the trained networks.
        base: int64 (m,), the number of the network of each expert.
        last: float32 (m, units + 1, A), the last layer of each expert, for A actions.
        pmin: the least probability of an action, in (0, 1/A).

    Raises:
        ValueError: pmin outside its range.
    """

    problem: Problem
    bases: Bases
    base: Integers
    last: Singles
    pmin: float = PMIN

    def __post_init__(self) -> None:
        """Check pmin."""
        if not 0 < self.pmin < 1 / self.actions:
            raise ValueError(f"pmin ({self.pmin!r}) must be in (0, 1/{self.actions})")

    @property
    def count(self) -> int:
        """Number of experts."""
        return len(self.base)

    @property
    def actions(self) -> int:
        """Number of actions."""
        return self.bases.sizes[-1]

    def greedy(self, observations: Singles, experts: Integers) -> Integers:
        """Return preferred actions (n,). Entry i is for expert ``experts[i]`` in state ``observations[i]``."""
        seen, found = self.problem.scaled(observations), np.empty(len(experts), np.int64)
        for which in np.unique(self.base[experts]):
            rows = np.flatnonzero(self.base[experts] == which)
            for part in _parts(rows, self.last[0].size):
                hidden = self.bases.hidden(int(which), seen[part])
                values = np.matmul(hidden[:, None], self.last[experts[part]])[:, 0]
                found[part] = values.argmax(axis=1)
        return found

    def play(self, observations: Singles, experts: Integers, rng: np.random.Generator) -> Integers:
        """Return random actions (n,). Expert ``experts[i]`` draws entry i in state ``observations[i]``."""
        best = self.greedy(observations, experts)
        other = rng.random(len(best)) < (self.actions - 1) * self.pmin
        shift = rng.integers(1, self.actions, len(best)) if self.actions > 1 else 0
        return np.where(other, (best + shift) % self.actions, best)

    def likes(self, observations: Singles) -> NDArray[np.uint8]:
        """Return the preferred action of each of m experts in each of n states, an array (m, n)."""
        seen, found = self.problem.scaled(observations), np.empty((self.count, len(observations)), np.uint8)
        for which in np.unique(self.base):
            rows = np.flatnonzero(self.base == which)
            hidden = self.bases.hidden(int(which), seen)
            for part in _parts(rows, len(seen) * self.actions):
                found[part] = np.matmul(hidden, self.last[part]).argmax(axis=2)
        return found

    def probabilities(self, states: Singles) -> NDArray[np.float64]:
        """Return the probabilities with which m experts take each of A actions in n states, an array (m, n, A).

        >>> from dpproof.mechanisms.rl.expert.problems import problem_for
        >>> few = population(problem_for("cartpole"), 5, np.random.default_rng(0))
        >>> sorted({float(chance) for chance in few.probabilities(np.zeros((1, 4), np.float32)).ravel()})
        [0.02, 0.98]
        """
        found = np.full((self.count, len(states), self.actions), self.pmin)
        best = 1 - (self.actions - 1) * self.pmin
        np.put_along_axis(found, self.likes(states)[:, :, None].astype(np.int64), best, axis=2)
        return found


def _parts(rows: Integers, each: int) -> Iterator[Integers]:
    """Return the rows in blocks that are small enough for memory."""
    size = max(1, _CHUNK // each)
    return (rows[at : at + size] for at in range(0, len(rows), size))


def population(
    problem: Problem, count: int, rng: np.random.Generator, disturbance: float = 0.005, common: float = 0.0,
    bases: Bases | None = None, pmin: float = PMIN,
) -> Population:  # fmt: skip
    """Return `count` random experts, each made from a trained network by adding noise to its last layer.

    Each expert uses the first network with probability `common`, and otherwise a random network. The noise is
    normal. Its standard deviation is the product of `disturbance`, a uniform number in [0, 1] drawn for each expert,
    and the root mean square of the network's last layer.

    Raises:
        ValueError: no expert, a disturbance that is no finite number at least 0, a share outside [0, 1].
    """
    _checks.at_least("count", count, 1)
    if not 0 <= disturbance < float("inf"):
        raise ValueError(f"disturbance ({disturbance!r}) must be a finite number at least 0")
    if not 0 <= common <= 1:
        raise ValueError(f"common ({common!r}) must be in [0, 1]")
    held = Bases.of(problem) if bases is None else bases
    base = np.where(rng.random(count) < common, 0, rng.integers(len(held.theta), size=count))
    lasts = np.array([held.last(which) for which in range(len(held.theta))])
    sizes: Any = np.sqrt(np.square(lasts).mean(axis=(1, 2)))[base] * disturbance * rng.random(count)
    noise = rng.standard_normal((count, *lasts.shape[1:]), dtype=np.float32)
    last = (lasts[base] + sizes[:, None, None] * noise).astype(np.float32)
    return Population(problem, held, base, last, pmin)
