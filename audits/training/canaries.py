"""Canaries: test records, users or trajectories. For each canary, a fair coin decides whether it takes part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import Auditable, generator, outputs

Coins = NDArray[np.bool_]
CANARIES = 16
"""The number of the random stream for the coins of canaries."""
CHECKED = 4
"""In every run, this many coins are flipped, one at a time, to check that the two inputs are neighbours."""


@dataclass(frozen=True)
class Canaries:
    """The canaries of an audit in one run: test records that take part if their fair coins decide so.

    Attributes:
        count: the number of canaries, at least 2.
        input_of: a function from the coins, a bool array ``(count,)``, to the input; each coin decides on its own
            canary.
        score: a function from an output to one number per canary ``(count,)``; a high number indicates that the
            canary took part. The function may use the output and prior knowledge, but never the coins.
        adjacency: the relation between inputs that differ in one coin.
        description: a description of the canaries.
        validator: a function that is called with two inputs that differ in one coin; raises ValueError unless they
            are neighbours. dpproof also checks the stated relation, as for `dpproof.Neighbours`.

    Raises:
        ValueError: there are fewer than 2 canaries.
    """

    count: int
    input_of: Callable[[Coins], Any]
    score: Callable[[Any], NDArray[np.float64]]
    adjacency: Adjacency | str
    description: str
    validator: Callable[[Any, Any], object] | None = None

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"count ({self.count!r}) must be at least 2")


def record_canaries(
    canaries: Sequence[object], others: Sequence[object], score: Callable[[Any], NDArray[np.float64]]
) -> Canaries:
    """Return canaries (test records) that are added to a list of records, or left out, as their coins decide.

    Args:
        canaries: the records, users or trajectories that take part only if their coin decides so.
        others: the records that always take part.
        score: as in `Canaries`.

    >>> canaries = record_canaries(["x", "y"], ["a"], lambda output: np.zeros(2))
    >>> canaries.input_of(np.array([False, True]))
    ['a', 'y']
    """

    def input_of(coins: Coins) -> list[Any]:
        return [*others, *(one for one, coin in zip(canaries, coins, strict=True) if coin)]

    return Canaries(
        len(canaries),
        input_of,
        score,
        Adjacency.ADD_REMOVE,
        f"{len(canaries)} records, each there or not, besides {len(others)} others",
        _one_record_more,
    )


def _one_record_more(one: Sequence[object], other: Sequence[object]) -> None:
    """Raise ValueError unless one list has one record more; records are compared in order, which canaries keep."""
    few, many = sorted((list(one), list(other)), key=len)
    if len(many) - len(few) != 1:
        raise ValueError(
            f"The inputs have {len(one)} and {len(other)} records. One must have exactly one more."
        )
    at = next((i for i, record in enumerate(few) if not _same(record, many[i])), len(few))
    if not all(_same(a, b) for a, b in zip(few[at:], many[at + 1 :], strict=True)):
        raise ValueError(
            f"The inputs must be equal except for one added record. They first differ at index {at}, and also later."
        )


def _same(one: object, other: object) -> bool:
    return one is other or bool(np.array_equal(np.asarray(one), np.asarray(other)))


def played(
    canaries: Canaries, mechanism: Auditable, seed: int, run: int
) -> tuple[Coins, NDArray[np.float64], Neighbours]:
    """Return the coins of the canaries in one run, their scores, and two neighbouring inputs.

    A canary is a test record that takes part if its coin decides so. The function throws the coins and runs the
    mechanism once. The coins and the scores are arrays ``(count,)``. The two inputs are the input of the run and one
    of its neighbours.

    Raises:
        InvalidNeighboursError: flipping one coin does not lead to a neighbour.
        MechanismError: the mechanism raises, does not return exactly one output, or returns NaN that is not allowed.
        ValueError: the scores are not one number per canary.
    """
    coins = generator(seed, CANARIES, run, 0).random(canaries.count) < 0.5
    pair = _checked_pair(canaries, coins, generator(seed, CANARIES, run, 1))
    (output,) = outputs(mechanism, pair, 0, 1, generator(seed, CANARIES, run, 2))
    scores = np.asarray(canaries.score(output), dtype=np.float64)
    if scores.shape != (canaries.count,) or np.isnan(scores).any():
        raise ValueError(
            f"score returned an array of shape {scores.shape} with {int(np.isnan(scores).sum())} NaN. "
            f"It must return {canaries.count} numbers, one for each canary, without NaN."
        )
    return coins, scores, pair


def _checked_pair(canaries: Canaries, coins: Coins, rng: np.random.Generator) -> Neighbours:
    """Check some neighbours of the input, and return the input with one of them."""
    data = canaries.input_of(coins)
    chosen = rng.choice(canaries.count, min(CHECKED, canaries.count), replace=False)
    for turned in chosen:
        flipped = coins.copy()
        flipped[turned] ^= True
        pair = Neighbours(
            data,
            canaries.input_of(flipped),
            canaries.adjacency,
            canaries.description,
            canaries.validator,
        )
    return pair
