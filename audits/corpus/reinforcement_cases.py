"""Test cases of PRIVATE-UCB's noisy counts: with the noise that the paper prints, and with faults of published code.

The claim is epsilon 1 when one user is replaced. The problems are small: with many counters, each counter reveals so
little that no feasible number of samples shows a violation.

A privatizer is the object that adds the noise to counts. Each fault is one change in the code of
`mechanisms.rl.private_ucb.privatizers_paper`. A fault in the noise scale needs no class here: its case is the real
privatizer with the wrong scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.laplace_cases import stated
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.protocol import Projection
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.private_ucb import central_counts, local_counts
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, differ_in_one_user, released
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import (
    RELEASE_DRAWS,
    CentralPrivatizer,
    LocalPrivatizer,
)
from dpproof.mechanisms.rl.trajectories import Trajectories

PLACE = 7
PAPER = "private-ucb"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreshNoise(CentralPrivatizer):
    """Fault: running counts get fresh noise in every episode, not a tree's noise, so averages have little noise."""

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Floats:
        """Return independent noise for every release of every count."""
        return RELEASE_DRAWS[self.parameters.noise](rng, (runs, users, counters))


@dataclass(frozen=True)
class SharedNoise(LocalPrivatizer):
    """Fault: all counters of a user have the same noise, so their differences are exact."""

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Floats:
        """Return one noise value per user, repeated for all counters."""
        return np.repeat(super().release_noise(runs, users, 1, rng), counters, axis=2)


@dataclass(frozen=True)
class OneNoiseForTwoFamilies(LocalPrivatizer):
    """Fault: counts of costs and of visits have the same noise, so their difference is exact.

    The published code estimates costs and transitions as quotients. Both denominators have the same noise.
    """

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Floats:
        """Return noise in which the noise of visits is copied to the costs."""
        noise = super().release_noise(runs, users, counters, rng)
        cells = self.parameters.tables * self.parameters.states * self.parameters.actions
        noise[..., cells : 2 * cells] = noise[..., :cells]
        return noise


def short_levels(episodes: int) -> int:
    """Return a wrong depth of the tree for K episodes: floor(ln K) + 1. The correct logarithm is binary."""
    return math.floor(math.log(episodes)) + 1


PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
REPLACE = Adjacency.REPLACE
CLAIM = PureDP(1)
CELLS = CentralCountsParameters(2, 1, 1, 2)
"""Parameters for two states, one action, one step and two users, of whom the first is counted."""
SENT = LocalCountsParameters(2, 1, 1, 1)
ONE_CELL = CentralCountsParameters(1, 1, 1, 5, scale=3.0, visits="summed")
"""Parameters with one counter, that of costs, and four releases; three nodes of the tree contain the first user."""
LONG = replace(ONE_CELL, episodes=65)


def _case(
    name: str,
    privatizer: CentralPrivatizer | LocalPrivatizer,
    pair: Neighbours,
    expected: Finding,
    truth: Callable[[], Bound] | None,
    reason: str,
    **more: Any,
) -> Case:
    usual: dict[str, Any] = {"pair": pair, "claim": CLAIM, "expected": expected, "budget": 20_000}
    sampler = _Released(privatizer)
    return Case(name=f"counts, {name}", mechanism=sampler, truth=truth, reason=reason, **(usual | more))


def _truth(privatizer: CentralPrivatizer | LocalPrivatizer, delta: float = 0.0) -> Bound:
    """Return the exact epsilon of the privatizer, which its worst pair attains."""
    return privatizer.account(REPLACE).guarantee.epsilon(delta)


class _Released:
    """A mechanism on `CountedUsers` that runs a privatizer."""

    def __init__(self, privatizer: CentralPrivatizer | LocalPrivatizer) -> None:
        self.privatizer = privatizer

    def sample(self, data: CountedUsers, n: int, rng: np.random.Generator) -> Any:
        """Return the released counts of ``n`` runs."""
        return released(self.privatizer, data, n, rng)


def _central(name: str, privatizer: CentralPrivatizer, expected: Finding, reason: str, **more: Any) -> Case:
    pair = central_counts.TARGET.pair(privatizer.parameters, REPLACE)
    usual: dict[str, Any] = {"scores": central_counts.TARGET.scores(privatizer.parameters, pair, 2)}
    truth = partial(_truth, privatizer, more.get("delta", 0.0))
    return _case(name, privatizer, pair, expected, truth, reason, **(usual | more))


def _local(name: str, privatizer: LocalPrivatizer, expected: Finding, reason: str, **more: object) -> Case:
    pair = local_counts.TARGET.pair(privatizer.parameters, REPLACE)
    usual: dict[str, Any] = {"scores": local_counts.TARGET.scores(privatizer.parameters, pair, 2)}
    return _case(name, privatizer, pair, expected, partial(_truth, privatizer), reason, **(usual | more))


def _paid() -> Neighbours:
    """Return the pair of one user in one cell, with cost 1 or 0; the audit uses all counters."""
    first, second = (
        CountedUsers(
            Trajectories(np.zeros((1, 2), np.int64), np.zeros((1, 1), np.int64), np.full((1, 1), cost)),
            False,
            np.arange(SENT.counters),
        )
        for cost in (1.0, 0.0)
    )
    return Neighbours(first, second, REPLACE, "one user in one cell, with cost 1 or 0", differ_in_one_user)


FRESH = FreshNoise(LONG)
AVERAGE = Projection(tuple(np.full(LONG.leaves, -1.0 / LONG.leaves)))
"""The score that detects fresh noise: minus the mean of all releases."""
ANY_GAUSSIAN = CentralCountsParameters(2, 1, 1, 8, scale=6.0, noise="gaussian", start="any")
ROOT = CentralPrivatizer(replace(ANY_GAUSSIAN, counter="square-root"))

CASES: tuple[Case, ...] = (
    _central("tree", CentralPrivatizer.meeting(CELLS, REPLACE, 1, 0), PASS, "the least noise for epsilon 1"),
    _central(
        "tree of three levels", CentralPrivatizer(ONE_CELL), PASS, "one counter, noise for three nodes"
    ),
    _central(
        "printed noise",
        CentralPrivatizer(CELLS),
        FAIL,
        "3H ln K: the log of 2 is below the one node there is",
    ),
    _central(
        "printed noise, binary logarithm",
        CentralPrivatizer(replace(CELLS, log_base="binary", start="any")),
        FAIL,
        "3H changes counted, replacement makes 6H",
    ),
    _central(
        "tree, noise for one node",
        CentralPrivatizer(ONE_CELL.with_scale(1.0)),
        FAIL,
        "scale 1/epsilon on three nodes",
    ),
    _central(
        "tree, depth by the natural logarithm",
        CentralPrivatizer(ONE_CELL.with_scale(float(short_levels(ONE_CELL.episodes)))),
        FAIL,
        "floor(ln 5) + 1 = 2 levels counted, three there",
        budget=50_000,
    ),
    _central(
        "square root, one-sided count",
        ROOT,
        FAIL,
        "Gaussian noise for a user left out; replacement moves twice the squares",
        claim=ROOT.account(Adjacency.ADD_REMOVE).guarantee,
        delta=1e-3,
        budget=50_000,
    ),
    _case(
        "fresh noise every episode",
        FRESH,
        central_counts.TARGET.pair(LONG, REPLACE),
        FAIL,
        partial(stated, f"{LONG.leaves}/3"),
        "the same running count released 64 times",
        scores=(AVERAGE,),
    ),
    _local("local", LocalPrivatizer.meeting(SENT, REPLACE, 1, 0), PASS, "the least noise for epsilon 1"),
    _local(
        "local, scale 1/epsilon", LocalPrivatizer(SENT.with_scale(1.0)), FAIL, "as if a user were one count"
    ),
    _local("local, printed noise", LocalPrivatizer(SENT), FAIL, "3H changes counted, two users differ in 6H"),
    _case(
        "local, shared noise",
        SharedNoise(SENT.with_scale(6.0)),
        local_counts.TARGET.pair(SENT, REPLACE),
        FAIL,
        None,
        "differences of counters are exact: no finite epsilon",
    ),
    _case(
        "local, one noise for two families",
        OneNoiseForTwoFamilies(SENT.with_scale(6.0)),
        _paid(),
        FAIL,
        None,
        "costs less visits are exact: no finite epsilon",
    ),
)  # fmt: skip
