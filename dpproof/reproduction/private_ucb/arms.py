"""The arms of the experiment of PRIVATE-UCB, and their runs. An arm is a learner with its noise, shown as one curve.

Arms whose noise differs only in scale use the same random draws. A privatizer adds the noise to counts.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.executors import journaled
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.batched_privatizer import BatchedCounts
from dpproof.mechanisms.rl.private_ucb.constants import CONSISTENT, SPARSE, THEORY, TUNED
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, QIAO_WANG_TUNED
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, ExactCounts, Levels, Privatizer
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.reproduction.curves import Curves, kept

DELTA: Final = "1e-6"
"""The delta of the guarantee of arms with Gaussian noise."""
STATES, ACTIONS, HORIZON = 6, 2, 20
ALGORITHMS: Final = {"VI": PrivateUCBVI, "PO": PrivateUCBPO, "DP-UCBVI": DPUCBVI}
_PAPER: Final[tuple[tuple[str, Any, Any], ...]] = (
    ("joint", CentralCountsParameters, CentralPrivatizer),
    ("local", LocalCountsParameters, LocalPrivatizer),
)
"""The paper's privatizers (they add noise to counts): trust model, parameters, class."""


class Group(enum.Enum):
    """The purpose of a group of arms (curves)."""

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
    """The settings that say how much is run.

    Attributes:
        episodes: number of episodes of a run.
        seeds: number of runs of an arm (curve).
        epsilons: the values of epsilon.
        per_step: largest number of runs of an arm that has separate noisy counters for every step. Such an arm is
            the slowest.
    """

    episodes: int
    seeds: int
    epsilons: tuple[float, ...]
    per_step: int = 20

    def runs(self, arm: Arm) -> int:
        """Return the number of runs of an arm (a learner with its noise)."""
        slow = arm.paths in ("joint False", "local False")
        return min(self.seeds, self.per_step) if slow else self.seeds


@dataclass(frozen=True)
class Arm:
    """A learner with its noise, which is one curve of the figure.

    Attributes:
        group: the purpose of the curve.
        trust: "joint" if a trusted server adds the noise, "local" if the users add it. Exact counts have no noise:
            here it is "pooled" or "per step", which says whether all steps share their counters.
        algorithm: a key of `ALGORITHMS`.
        epsilon: the epsilon in the label; infinite without privacy.
        privatizer: the object that adds noise to the learner's counts.
        constants: the constants of the algorithm.
        paths: name of a group of arms. The arms of a group get the same random noise, each with its own scale.
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
        """A name that no other arm (learner with its noise) has."""
        return f"{self.algorithm}, {self.trust}, {self.group.value}, epsilon {self.epsilon:g}"

    def learner(self, privatizer: Privatizer) -> Any:
        """Return the learner of this arm, with `privatizer` instead of the arm's own."""
        return ALGORITHMS[self.algorithm](privatizer, self.constants)

    def true_epsilon(self) -> float | None:
        """Return the certified epsilon at `delta` if one user is replaced, or None without privacy."""
        if not np.isfinite(self.epsilon):
            return None
        return self.privatizer.account(Adjacency.REPLACE).guarantee.epsilon(self.delta).upper

    @property
    def delta(self) -> str:
        """The delta of the guarantee, which is 0 for Laplace noise."""
        return DELTA if self.group in (Group.ROOT, Group.BEST) else "0"


def arms(size: Size) -> Iterator[Arm]:
    """Yield all arms of the experiment. An arm is a learner with its noise."""
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
    """Yield arms with the constants of Theorems 3.2 and 4.2, on exact counts and with the printed noise."""
    for arm in _exact(size, algorithm):
        yield replace(arm, group=Group.THEORY, constants=THEORY)
    for epsilon in size.epsilons:
        for trust, found in _privatizers(size, epsilon):
            privatizer = found[Group.PRINTED]
            yield Arm(Group.THEORY, trust, algorithm, epsilon, privatizer, THEORY, f"{trust} False")


def _paper(size: Size, algorithm: str, epsilon: float) -> Iterator[Arm]:
    """Yield both privatizers with the printed scale, with a calibrated scale, and with pooled counters."""
    for trust, found in _privatizers(size, epsilon):
        for group, privatizer in found.items():
            constants = CONSISTENT if group is Group.POOLED else TUNED
            paths = f"{trust} {privatizer.parameters.pooled}"
            yield Arm(group, trust, algorithm, epsilon, privatizer, constants, paths)
    yield _root(size, algorithm, epsilon)


def _privatizers(size: Size, epsilon: float) -> Iterator[tuple[str, dict[Group, Privatizer]]]:
    """Yield joint and local counts with the paper's privatizers."""
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


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """A privatizer (it adds noise to counts) that uses given blocks of noise, multiplied by the factor `scale`."""

    privatizer: Privatizer
    blocks: Sequence[CountNoise]
    scale: float

    @property
    def parameters(self) -> Any:
        """The parameters of `privatizer`, such as the number of states."""
        return self.privatizer.parameters

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield the given blocks of noise, multiplied by `scale`. `rng` and `block` are not used."""
        scale = np.float32(self.scale)
        for first, *families in self.blocks:
            yield CountNoise(first, *(family * scale for family in families))

    def levels(self, delta: float) -> Levels:
        """Return the certified bounds of `privatizer` on the errors of the counts."""
        return self.privatizer.levels(delta)

    def printed_levels(self, delta: float) -> Levels:
        """Return the bounds that the paper prints for the errors of the counts of `privatizer`."""
        return self.privatizer.printed_levels(delta)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the privacy guarantee of `privatizer`."""
        return self.privatizer.account(adjacency)


def run_arms(
    environment: TabularMDP, arms: Sequence[Arm], size: Size, seed: int, workers: int
) -> dict[str, NDArray[np.float64]]:
    """Run all arms (curves), and return the cumulative regrets of each arm by its name.

    The regrets of an arm are an array (runs, points). The last point is the total regret of a run.
    Run i uses child i of `SeedSequence(seed)`, so the result does not depend on the number of workers.
    """
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(arm.paths, []).append(arm)
    children = np.random.SeedSequence(seed).spawn(size.seeds)
    tasks = [(group, child) for group in groups.values() for child in children[: size.runs(group[0])]]
    with ThreadPoolExecutor(workers) as pool:
        executor = journaled(pool) or pool
        found = list(executor.map(partial(_run_group, environment), *zip(*tasks, strict=True)))
    curves: dict[str, list[NDArray[np.float64]]] = {}
    for part in found:
        for name, curve in part.items():
            curves.setdefault(name, []).append(curve)
    return {name: np.array(rows) for name, rows in curves.items()}


def _run_group(
    environment: TabularMDP, arms: Sequence[Arm], child: np.random.SeedSequence
) -> dict[str, NDArray[np.float64]]:
    """Run every arm once, with the same draws."""
    unit = arms[0].privatizer
    drawn = unit.noise(_generator(child))
    blocks = [CountNoise(first, *(np.array(family) for family in rest)) for first, *rest in drawn]
    curves = {}
    for arm in arms:
        shared = SharedNoise(arm.privatizer, blocks, _scale(arm.privatizer) / _scale(unit))
        regrets = arm.learner(shared).run(environment, _generator(child)).regrets
        curves[arm.name] = kept(regrets)
    return curves


def _generator(child: np.random.SeedSequence) -> np.random.Generator:
    """Return a generator from a copy of the seed.

    A learner spawns from the generator, and a seed counts its children.
    """
    return np.random.default_rng(np.random.SeedSequence(child.entropy, spawn_key=child.spawn_key))


def _scale(privatizer: Any) -> float:
    """Return the scale of a privatizer's noise, in a unit that all arms with equal paths share."""
    p = privatizer.parameters
    if hasattr(p, "used_scale"):
        return float(p.used_scale())
    return float(getattr(p, "sigma", 1.0))


FAILED: Final = 0.25
"""A run counts as failed if its regret exceeds this share of the regret without learning."""


def rows(arms: Sequence[Arm], curves: Curves, never: float, seed: int) -> list[dict[str, Any]]:
    """Return a row for each arm (learner with noise): settings, certified epsilon, and statistics of total regret.

    `never` is the regret without learning, and `seed` is the seed from which the runs derive.
    """
    found = []
    for arm in arms:
        totals = curves[arm.name][:, -1]
        found.append(
            {
                "algorithm": arm.algorithm,
                "counts": arm.trust,
                "group": arm.group.value,
                "epsilon": arm.epsilon if np.isfinite(arm.epsilon) else None,
                "certified_epsilon": arm.true_epsilon(),
                "delta": float(arm.delta) if np.isfinite(arm.epsilon) else None,
                **_law(totals, never),
                "seeds": len(totals),
                "root": seed,
            }
        )
    return found


def _law(totals: NDArray[np.float64], never: float) -> dict[str, float]:
    """Return mean, standard error, deviation, quantiles, maximum and share of failures of total regrets."""
    deviation = float(totals.std(ddof=1)) if len(totals) > 1 else 0.0
    low, median, high = map(float, np.quantile(totals, [0.1, 0.5, 0.9]))
    return {
        "regret": float(totals.mean()),
        "standard_error": deviation / math.sqrt(len(totals)),
        "deviation": deviation,
        "low": low,
        "median": median,
        "high": high,
        "worst": float(totals.max()),
        "failed": float((totals > FAILED * never).mean()),
    }
