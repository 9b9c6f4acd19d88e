"""The arms of the experiments of SDP-PE, and their runs. An arm is a learner with its noise, shown as one curve.

The i-th run of every arm uses the i-th child of the seed.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view
from dpproof.accountant.shuffling.view import BinomialView
from dpproof.mechanisms.environments.bandit import heterogeneous_bandit
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, QIAO_WANG_TUNED
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts, Privatizer
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE, StageReport
from dpproof.mechanisms.rl.sdp_pe.bandit import PrivateBanditUCB
from dpproof.mechanisms.rl.sdp_pe.batches import schedule
from dpproof.mechanisms.rl.sdp_pe.constants import (
    BANDIT,
    LITERAL,
    LONG,
    TUNED,
    EliminationConstants,
)
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.reproduction.curves import kept

BETA: Final = "1e-6"
"""The delta of the guarantees. The paper calls this number beta."""
STATES, ACTIONS, HORIZON, BANDIT_ARMS = 4, 2, 6, 20


class Kind(enum.Enum):
    """The algorithm, noise and constants of an arm (one curve)."""

    PE = "PE, no privacy"
    PE_LITERAL = "PE, no privacy, literal constants"
    UCB = "UCB-VI, no privacy"
    JDP = "UCB-VI, JDP"
    LDP = "UCB-VI, LDP"
    PRINTED = "SDP-PE, printed noise"
    CALIBRATED = "SDP-PE, calibrated noise"
    SUMMED = "SDP-PE, calibrated noise, visits summed, long stages"
    LITERAL = "SDP-PE, calibrated noise, literal constants"


@dataclass(frozen=True)
class Size:
    """The settings that say how much is run.

    They are the number of episodes, the number of runs, the epsilons in RiverSwim, and the epsilon in the bandit.
    """

    episodes: int
    seeds: int
    epsilons: tuple[float, ...]
    bandit_epsilon: float = 1.0


@dataclass(frozen=True)
class Arm:
    """A learner with its noise, in RiverSwim or in the bandit, which is one curve of a figure.

    ``epsilon`` is None without privacy.
    """

    problem: str
    kind: Kind
    epsilon: float | None
    episodes: int

    @property
    def name(self) -> str:
        """A name that no other arm (learner with its noise) has."""
        return f"{self.problem}, {self.kind.value}, epsilon {self.epsilon}"


_FREE = (Kind.UCB, Kind.PE)
_PRIVATE = (Kind.LDP, Kind.JDP, Kind.PRINTED, Kind.CALIBRATED)


def arms(size: Size) -> Iterator[Arm]:
    """Yield all arms of the experiments. An arm is a learner with its noise."""
    for kind in (*_FREE, Kind.PE_LITERAL):
        yield Arm("RiverSwim", kind, None, size.episodes)
    for epsilon in size.epsilons:
        for kind in (*_PRIVATE, Kind.LITERAL, Kind.SUMMED):
            yield Arm("RiverSwim", kind, epsilon, size.episodes)
    for kind in (*_FREE, *_PRIVATE):
        yield Arm("bandit", kind, None if kind in _FREE else size.bandit_epsilon, size.episodes)


def learner_of(arm: Arm) -> Any:
    """Return the learner of an arm, with the object that adds noise to its counts."""
    return ARMS[arm.kind](arm)


def environment_of(arm: Arm, rng: np.random.Generator) -> TabularMDP:
    """Return the environment in which an arm (a learner with its noise) runs: RiverSwim, or a random bandit."""
    if arm.problem == "RiverSwim":
        return river_swim(STATES, HORIZON)
    return heterogeneous_bandit(rng, BANDIT_ARMS)


def shuffled(arm: Arm) -> ShufflePrivatizer:
    """Return the object that shuffles users' messages and adds noise for an arm: as printed, or least noise.

    The printed noise is also used for epsilon >= 1, where the paper's proof does not hold.
    """
    if arm.kind is Kind.PRINTED:
        states, actions, horizon, _ = _sizes(arm)
        return ShufflePrivatizer.printed(horizon, states, actions, str(arm.epsilon), BETA, beyond_proof=True)
    own_visits = arm.kind is not Kind.SUMMED
    return ShufflePrivatizer.calibrated(str(arm.epsilon), BETA, own_visits=own_visits)


def _sizes(arm: Arm) -> tuple[int, int, int, int]:
    """Return S, A, H, K."""
    if arm.problem == "RiverSwim":
        return STATES, ACTIONS, HORIZON, arm.episodes
    return 1, BANDIT_ARMS, 1, arm.episodes


def _tuned(arm: Arm) -> EliminationConstants:
    return TUNED if arm.problem == "RiverSwim" else BANDIT


def _optimist(arm: Arm, privatizer: Privatizer) -> Any:
    if arm.problem == "RiverSwim":
        return DPUCBVI(privatizer, QIAO_WANG_TUNED)
    return PrivateBanditUCB(privatizer)


@lru_cache
def _central(sizes: tuple[int, int, int, int], epsilon: float) -> CentralPrivatizer:
    """Return a trusted curator's running counts with Gaussian noise, by the square root of their matrix."""
    unit = CentralCountsParameters(
        *sizes, noise=NoiseLaw.GAUSSIAN.value, counter="square-root", visits="summed"
    )
    return CentralPrivatizer.meeting(unit, Adjacency.REPLACE, epsilon, BETA)


def local(arm: Arm) -> LocalPrivatizer:
    """Return the object that adds Gaussian noise to each user's own counts for an arm."""
    return _local(_sizes(arm), arm.epsilon or 0.0)


@lru_cache
def _local(sizes: tuple[int, int, int, int], epsilon: float) -> LocalPrivatizer:
    unit = LocalCountsParameters(*sizes, noise=NoiseLaw.GAUSSIAN.value, visits="summed")
    return LocalPrivatizer.meeting(unit, Adjacency.REPLACE, epsilon, BETA)


ARMS: Final[dict[Kind, Callable[[Arm], Any]]] = {
    Kind.PE: lambda arm: SDPPE(NoPrivacy(), arm.episodes, _tuned(arm)),
    Kind.PE_LITERAL: lambda arm: SDPPE(NoPrivacy(), arm.episodes, LITERAL),
    Kind.UCB: lambda arm: _optimist(arm, ExactCounts(*_sizes(arm))),
    Kind.JDP: lambda arm: _optimist(arm, _central(_sizes(arm), arm.epsilon or 0.0)),
    Kind.LDP: lambda arm: _optimist(arm, local(arm)),
    Kind.PRINTED: lambda arm: SDPPE(shuffled(arm), arm.episodes, _tuned(arm)),
    Kind.CALIBRATED: lambda arm: SDPPE(shuffled(arm), arm.episodes, _tuned(arm)),
    Kind.SUMMED: lambda arm: SDPPE(shuffled(arm), arm.episodes, LONG),
    Kind.LITERAL: lambda arm: SDPPE(shuffled(arm), arm.episodes, LITERAL),
}


@dataclass(frozen=True, eq=False)
class Found:
    """The results of all runs of one arm (a learner with its noise).

    Attributes:
        curves: cumulative regrets (runs, points).
        switches: the number of policy changes in each run. An optimistic learner (UCB) does not count them. For
            it this is the number of changes of the regret, which is at most the number of policy changes.
        stages: for each run, statistics of each stage of policy elimination; empty for an optimistic learner.
        noise: standard deviation of the noise of a counter in the release with the most users. It is None if the
            learner is not SDP-PE or if it has no privacy.
        certified: certified epsilon of all releases together at delta `BETA`. It is None in the same cases.
    """

    curves: NDArray[np.float64]
    switches: tuple[int, ...]
    stages: tuple[tuple[StageReport, ...], ...]
    noise: float | None
    certified: float | None


def run_arms(chosen: Sequence[Arm], seeds: int, seed: int, executor: Executor | None) -> dict[str, Found]:
    """Run arms (learners with their noise), and return the results by name.

    Arms with the same problem and the same epsilon are one task of the executor. Only `Kind.SUMMED` is a separate task.
    """
    groups: dict[tuple[str, float, bool], list[Arm]] = {}
    for arm in chosen:
        groups.setdefault((arm.problem, arm.epsilon or 0.0, arm.kind is Kind.SUMMED), []).append(arm)
    # the least noise of rare bits takes longest to find, and it is needed where epsilon is large
    order = sorted(groups, key=lambda key: -key[1])
    tasks = [(groups[key], seeds, seed) for key in order]
    parts = map(_run_group, tasks) if executor is None else executor.map(_run_group, tasks)
    found = {
        arm.name: result
        for key, part in zip(order, parts, strict=True)
        for arm, result in zip(groups[key], part, strict=True)
    }
    return {arm.name: found[arm.name] for arm in chosen}


def _run_group(task: tuple[Sequence[Arm], int, int]) -> list[Found]:
    return [_run_arm(arm, *task[1:]) for arm in task[0]]


def _run_arm(arm: Arm, seeds: int, seed: int) -> Found:
    learner = learner_of(arm)
    runs = []
    for child in np.random.SeedSequence(seed).spawn(seeds):
        problem, play = child.spawn(2)
        environment = environment_of(arm, np.random.default_rng(problem))
        runs.append(learner.run(environment, np.random.default_rng(play)))
    curves = np.array([kept(run.regrets) for run in runs])
    switches = tuple(getattr(run, "switches", _changes(run.regrets)) for run in runs)
    stages = tuple(getattr(run, "stages", ()) for run in runs)
    return Found(curves, switches, stages, *_promised(arm, learner))


def _changes(regrets: NDArray[np.float64]) -> int:
    return int((np.diff(regrets) != 0).sum())


def _promised(arm: Arm, learner: Any) -> tuple[float | None, float | None]:
    """Return the noise of the longest fine release, and an epsilon that all releases of a run satisfy."""
    if arm.epsilon is None or not arm.kind.value.startswith("SDP-PE"):
        return None, None
    environment = environment_of(arm, np.random.default_rng(0))
    H, X, A = environment.horizon, environment.states, environment.actions
    stages = schedule(arm.episodes, H, learner.constants.first)
    fine, crude = ReleaseShape(H, X, A), ReleaseShape(1, X, A, rewards=False)
    users = {fine: {stage.fine + stage.auxiliary for stage in stages}}
    users[crude] = {n for stage in stages for n in stage.layers if n > 0}
    privatizer = learner.privatizer
    noise = deviation(privatizer, fine, max(users[fine]))
    if arm.kind is not Kind.PRINTED:
        return noise, arm.epsilon
    weakest = [pair for shape, sizes in users.items() for pair in _weakest(privatizer, shape, sizes)]
    return noise, max(privatizer.account(*pair).epsilon(BETA).upper for pair in weakest)


def deviation(privatizer: ShufflePrivatizer, shape: ReleaseShape, users: int) -> float:
    """Return the standard deviation of the noise of one counter, in a release with this number of users."""
    found = _noise(privatizer, shape, users)
    chance = float(found.probability)
    return math.sqrt(found.trials * chance * (1 - chance))


def _noise(privatizer: ShufflePrivatizer, shape: ReleaseShape, users: int) -> BinomialView:
    return view(ShuffledCountParameters(users, privatizer.threshold(shape, users), "bits"))


def _weakest(
    privatizer: ShufflePrivatizer, shape: ReleaseShape, sizes: set[int]
) -> list[tuple[ReleaseShape, int]]:
    """Return the releases that may have the weakest guarantee.

    Among those with fair bits this is the one of fewest bits. All others are included.
    """
    noise = {users: _noise(privatizer, shape, users) for users in sizes}
    fair = [users for users in sizes if noise[users].probability == Fraction(1, 2)]
    least = sorted(fair, key=lambda users: noise[users].trials)[:1]
    return [(shape, users) for users in [*least, *sorted(sizes - set(fair))]]


def rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """Return a row for each arm (learner with noise): mean regret, mean number of policy changes, and more."""
    return [_row(arm, found[arm.name]) for arm in arms]


def _row(arm: Arm, runs: Found) -> dict[str, Any]:
    totals = runs.curves[:, -1]
    kept = [stages[-1].optimal_stays for stages in runs.stages if stages]
    return {
        "problem": arm.problem,
        "algorithm": arm.kind.value,
        "epsilon": arm.epsilon,
        "certified_epsilon": arm.epsilon if runs.certified is None else runs.certified,
        "delta": None if arm.epsilon is None else float(BETA),
        "noise": runs.noise,
        "regret": float(totals.mean()),
        "deviation": float(totals.std(ddof=1)) if len(totals) > 1 else 0.0,
        "worst": float(totals.max()),
        "switches": float(np.mean(runs.switches)),
        "stages": len(runs.stages[0]) or None,
        "optimal_stays": float(np.mean(kept)) if kept else None,
        "seeds": len(totals),
    }


def stage_rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """Return a table of the stages of policy elimination, with one row for each stage of each arm (learner).

    Each number is the mean over the runs, except the coverage gap, which is the maximum over the runs.
    """
    return [
        {
            "problem": arm.problem,
            "algorithm": arm.kind.value,
            "epsilon": arm.epsilon,
            "stage": number + 1,
            "length": reports[0].length,
            "level": float(np.mean([report.level for report in reports])),
            "infrequent": float(np.mean([report.infrequent for report in reports])),
            "coverage_gap": max(report.coverage_gap for report in reports),
            "threshold": float(np.mean([report.threshold for report in reports])),
            "active": float(np.mean([report.active for report in reports])),
            "optimal_stays": float(np.mean([report.optimal_stays for report in reports])),
            "worst_regret": float(np.mean([report.worst_regret for report in reports])),
        }
        for arm in arms
        for number, reports in enumerate(zip(*found[arm.name].stages, strict=True))
    ]
