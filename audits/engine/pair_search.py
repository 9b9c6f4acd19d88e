"""The search among candidate pairs: successive halving on samples of its own.

A bad search costs power, never soundness: it only chooses (docs/notes/audit_pairs.md, Theorem 4).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.checks.probing import look
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import Mechanism, MechanismError
from dpproof.audits.engine.sampling.calls import SEARCH
from dpproof.audits.engine.scores import Score, only_bits
from dpproof.audits.engine.scores.tails import LEVELS

__all__ = ["Hunt", "child_seed"]

FEWEST = 64
"""A round draws at least so many samples on each pair left, besides those that scores learn from."""


def child_seed(seed: int, *place: int) -> int:
    """A seed of 128 bits for a place in the tree of the audit's seed."""
    state = np.random.SeedSequence(seed, spawn_key=place).generate_state(2, np.uint64)
    return (int(state[0]) << 64) | int(state[1])


@dataclass(frozen=True)
class Hunt:
    """What all rounds of a search share."""

    made: Mechanism
    scores: tuple[Score | str, ...] | None
    seed: int
    executor: Executor | None

    def best(
        self, pairs: Sequence[Neighbours], points: tuple[CurvePoint, ...], budget: int
    ) -> tuple[int, int]:
        """The place of the pair that is left in the end, and how many samples that took."""
        left = list(range(len(pairs)))
        rounds, spent = math.ceil(math.log2(len(pairs))), 0
        if not rounds:
            return 0, 0
        streams = [
            _Stream(self, pair, points, child_seed(self.seed, SEARCH, i)) for i, pair in enumerate(pairs)
        ]
        needed = rounds * len(pairs) * (FEWEST + max(stream.training for stream in streams))
        if budget < needed:
            raise ValueError(
                f"budget: the search's share ({budget}) must be at least {needed} for {len(pairs)} pairs"
            )
        for step in range(rounds):
            size = budget // (rounds * len(left))
            for place in left:
                streams[place].extend(step, size)
                spent += size
            ranked = sorted(left, key=lambda place: -_evidence(streams[place].counts, points))
            left = ranked[: (len(left) + 1) // 2]
        return left[0], spent


class _Stream:
    """The samples that a search has spent on one pair."""

    def __init__(self, hunt: Hunt, pair: Neighbours, points: tuple[CurvePoint, ...], seed: int) -> None:
        self._hunt, self._pair, self._points, self._seed = hunt, pair, points, seed
        with self._naming():
            self._layout = look(hunt.made, pair, seed)
        scores = self._layout.chosen(hunt.scores)
        self._scores = tuple(score for score in scores if not only_bits(score))
        self.training = max(score.training for score in self._scores)
        self.counts: NDArray[np.int64] = np.zeros((len(self._scores), LEVELS.size, 3, 3), np.int64)

    def extend(self, step: int, size: int) -> None:
        """Bet on ``size`` fresh samples and add up the counts."""
        hunt, seed = self._hunt, child_seed(self._seed, step)
        blocks = draw_blocks(hunt.made, self._pair, seed, size, hunt.executor, self._layout)
        with self._naming():
            self.counts += run_trial(self._points, blocks, self._scores, 0.5, sharpen=True).counts

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except MechanismError as failure:
            raise MechanismError(f"{failure} (pair: {self._pair.description})") from failure


def _evidence(counts: NDArray[np.int64], points: tuple[CurvePoint, ...]) -> float:
    """The largest excess of any tail over what the claim allows, in estimated standard deviations.

    Scores may differ in number between pairs, not in meaning: the largest over all of them is taken.
    """
    won, lost = counts[..., 0].astype(float), counts[..., 1].astype(float)
    sampled = counts.sum(axis=-1)
    paid = np.array([0.5, 0.5, 1.0]) * sampled
    excess = [
        (won - math.exp(p.epsilon) * lost - p.delta * paid)
        / np.sqrt(won + math.exp(2 * p.epsilon) * lost + 1)
        for p in points
    ]
    return float(np.max(excess))
