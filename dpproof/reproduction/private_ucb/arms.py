"""The arms of the experiment: an algorithm, a privatizer, and the constants both are run with."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.batched_privatizer import BatchedCounts
from dpproof.mechanisms.rl.private_ucb.constants import CONSISTENT, SPARSE, THEORY, TUNED
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, QIAO_WANG_TUNED
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts, Privatizer
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer

DELTA: Final = "1e-6"
"""The delta of the arms with Gaussian noise."""
STATES, ACTIONS, HORIZON = 6, 2, 20
ALGORITHMS: Final = {"VI": PrivateUCBVI, "PO": PrivateUCBPO, "DP-UCBVI": DPUCBVI}
_PAPER: Final[tuple[tuple[str, Any, Any], ...]] = (
    ("joint", CentralCountsParameters, CentralPrivatizer),
    ("local", LocalCountsParameters, LocalPrivatizer),
)
"""The paper's privatizers: who is trusted, the parameters, the class."""


class Group(enum.Enum):
    """What a group of arms is there to show."""

    EXACT = "without privacy"
    THEORY = "constants as printed"
    CODE = "the published code's scale, 1/epsilon"
    PRINTED = "printed noise"
    HONEST = "honest"
    POOLED = "honest, counters pooled"
    ROOT = "pooled, Gaussian square root"
    BEST = "pooled, capped, in batches"


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        episodes: K.
        seeds: runs of an arm.
        epsilons: those of every group.
        per_step: runs of an arm with noise on counters of every step, at most `seeds`. These take longest.
    """

    episodes: int
    seeds: int
    epsilons: tuple[float, ...]
    per_step: int = 20

    def runs(self, arm: Arm) -> int:
        """How often an arm is run."""
        slow = arm.paths in ("joint False", "local False")
        return min(self.seeds, self.per_step) if slow else self.seeds


@dataclass(frozen=True)
class Arm:
    """One curve of the figure.

    Attributes:
        group: what it shows.
        trust: joint, local or none.
        algorithm: a key of `ALGORITHMS`.
        epsilon: what it is labelled by; infinite without privacy.
        privatizer: with its noise.
        constants: of the algorithm.
        paths: arms of equal `paths` differ in the noise's scale only, and share its draws.

    """

    group: Group
    trust: str
    algorithm: str
    epsilon: float
    privatizer: Privatizer
    constants: Any
    paths: str

    @property
    def name(self) -> str:
        """A name that no other arm has."""
        return f"{self.algorithm}, {self.trust}, {self.group.value}, epsilon {self.epsilon:g}"

    def learner(self, privatizer: Privatizer) -> Any:
        """The algorithm on `privatizer`, which stands for this arm's own."""
        return ALGORITHMS[self.algorithm](privatizer, self.constants)

    def true_epsilon(self) -> float | None:
        """The certified epsilon when one user is replaced, at `delta`; none without privacy."""
        if not np.isfinite(self.epsilon):
            return None
        return self.privatizer.account(Adjacency.REPLACE).guarantee.epsilon(self.delta).upper

    @property
    def delta(self) -> str:
        """At which delta the epsilon is meant: 0 for Laplace noise."""
        return DELTA if self.group in (Group.ROOT, Group.BEST) else "0"


def arms(size: Size) -> Iterator[Arm]:
    """All arms of the experiment."""
    for algorithm in ALGORITHMS:
        yield from _exact(size, algorithm)
    for algorithm in ("VI", "PO"):
        yield from _as_printed(size, algorithm)
    for epsilon in size.epsilons:
        for algorithm in ("VI", "PO"):
            yield from _paper(size, algorithm, epsilon)
            yield _best(size, algorithm, epsilon)
        yield replace(_root(size, "VI", epsilon), algorithm="DP-UCBVI", constants=QIAO_WANG_TUNED)


def _exact(size: Size, algorithm: str) -> Iterator[Arm]:
    constants: Any = QIAO_WANG_TUNED if algorithm == "DP-UCBVI" else TUNED
    for pooled in (False, True):
        counts = ExactCounts(STATES, ACTIONS, HORIZON, size.episodes, pooled)
        trust = "pooled" if pooled else "per step"
        yield Arm(Group.EXACT, trust, algorithm, float("inf"), counts, constants, f"exact {pooled}")


def _as_printed(size: Size, algorithm: str) -> Iterator[Arm]:
    """The constants of Theorems 3.2 and 4.2: on exact counts, and with the printed noise."""
    for arm in _exact(size, algorithm):
        yield replace(arm, group=Group.THEORY, constants=THEORY)
    for epsilon in size.epsilons:
        for trust, found in _privatizers(size, epsilon):
            privatizer = found[Group.PRINTED]
            yield Arm(Group.THEORY, trust, algorithm, epsilon, privatizer, THEORY, f"{trust} False")


def _paper(size: Size, algorithm: str, epsilon: float) -> Iterator[Arm]:
    """Both privatizers, by the printed scale, by an honest one, and with pooled counters."""
    for trust, found in _privatizers(size, epsilon):
        for group, privatizer in found.items():
            constants = CONSISTENT if group is Group.POOLED else TUNED
            paths = f"{trust} {privatizer.parameters.pooled}"
            yield Arm(group, trust, algorithm, epsilon, privatizer, constants, paths)
    yield _root(size, algorithm, epsilon)


def _privatizers(size: Size, epsilon: float) -> Iterator[tuple[str, dict[Group, Privatizer]]]:
    """Joint and local counts with the paper's privatizers."""
    for trust, parameters, privatizer in _PAPER:
        unit = parameters(STATES, ACTIONS, HORIZON, size.episodes, printed_epsilon=epsilon)
        pooled = replace(unit, pooled=True)
        yield (
            trust,
            {
                Group.CODE: privatizer(pooled.with_scale(1 / epsilon)),
                Group.PRINTED: privatizer(unit),
                Group.HONEST: privatizer.meeting(unit, Adjacency.REPLACE, epsilon, 0),
                Group.POOLED: privatizer.meeting(pooled, Adjacency.REPLACE, epsilon, 0),
            },
        )


def _root(size: Size, algorithm: str, epsilon: float) -> Arm:
    parameters = CentralCountsParameters(
        STATES,
        ACTIONS,
        HORIZON,
        size.episodes,
        noise=NoiseLaw.GAUSSIAN.value,
        counter="square-root",
        visits="summed",
        pooled=True,
    )
    privatizer = CentralPrivatizer.meeting(parameters, Adjacency.REPLACE, epsilon, DELTA)
    return Arm(Group.ROOT, "joint", algorithm, epsilon, privatizer, SPARSE, "root")


def _best(size: Size, algorithm: str, epsilon: float) -> Arm:
    unit = BatchedCounts(
        STATES,
        ACTIONS,
        HORIZON,
        size.episodes,
        sigma=1.0,
        cost_factor=2.0,
        cap=7,
        every=max(1, size.episodes // 200),
        until=size.episodes // 2,
    )
    privatizer = unit.meeting(Adjacency.REPLACE, epsilon, DELTA)
    return Arm(Group.BEST, "joint", algorithm, epsilon, privatizer, SPARSE, "best")
