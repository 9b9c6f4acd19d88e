"""The arms of the experiments: an algorithm, the noise of its counts, and the constants it is run with."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.mechanisms.environments.bandit import heterogeneous_bandit
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, QIAO_WANG_TUNED
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts, Privatizer
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.bandit import PrivateBanditUCB
from dpproof.mechanisms.rl.sdp_pe.constants import (
    BANDIT,
    LITERAL,
    LONG,
    TUNED,
    EliminationConstants,
)
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer

BETA: Final = "1e-6"
"""The beta of (epsilon, beta) in all arms, the baselines' delta with it."""
STATES, ACTIONS, HORIZON, BANDIT_ARMS = 4, 2, 6, 20


class Kind(enum.Enum):
    """What an arm is: algorithm, noise and constants."""

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
    """How much is run: episodes, seeds, the epsilons in RiverSwim and that of the bandit."""

    episodes: int
    seeds: int
    epsilons: tuple[float, ...]
    bandit_epsilon: float = 1.0


@dataclass(frozen=True)
class Arm:
    """One curve: in RiverSwim or the bandit, of a kind, at an epsilon; None without privacy."""

    problem: str
    kind: Kind
    epsilon: float | None
    episodes: int

    @property
    def name(self) -> str:
        """A name that no other arm has."""
        return f"{self.problem}, {self.kind.value}, epsilon {self.epsilon}"


_FREE = (Kind.UCB, Kind.PE)
_PRIVATE = (Kind.LDP, Kind.JDP, Kind.PRINTED, Kind.CALIBRATED)


def arms(size: Size) -> Iterator[Arm]:
    """All arms of the experiments."""
    for kind in (*_FREE, Kind.PE_LITERAL):
        yield Arm("RiverSwim", kind, None, size.episodes)
    for epsilon in size.epsilons:
        for kind in (*_PRIVATE, Kind.LITERAL, Kind.SUMMED):
            yield Arm("RiverSwim", kind, epsilon, size.episodes)
    for kind in (*_FREE, *_PRIVATE):
        yield Arm("bandit", kind, None if kind in _FREE else size.bandit_epsilon, size.episodes)


def learner_of(arm: Arm) -> Any:
    """The algorithm of an arm, on its own counts."""
    return ARMS[arm.kind](arm)


def environment_of(arm: Arm, rng: np.random.Generator) -> TabularMDP:
    """RiverSwim, or a bandit that is drawn."""
    if arm.problem == "RiverSwim":
        return river_swim(STATES, HORIZON)
    return heterogeneous_bandit(rng, BANDIT_ARMS)


def shuffled(arm: Arm) -> ShufflePrivatizer:
    """The shuffle privatizer of an arm: printed noise, also beyond epsilon < 1, or the least."""
    if arm.kind is Kind.PRINTED:
        states, actions, horizon, _ = _sizes(arm)
        return ShufflePrivatizer.printed(horizon, states, actions, str(arm.epsilon), BETA, beyond_proof=True)
    own_visits = arm.kind is not Kind.SUMMED
    return ShufflePrivatizer.calibrated(str(arm.epsilon), BETA, own_visits=own_visits)


def _sizes(arm: Arm) -> tuple[int, int, int, int]:
    """S, A, H, K."""
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
    """A trusted curator's running counts, Gaussian noise through the square root of their matrix."""
    unit = CentralCountsParameters(
        *sizes, noise=NoiseLaw.GAUSSIAN.value, counter="square-root", visits="summed"
    )
    return CentralPrivatizer.meeting(unit, Adjacency.REPLACE, epsilon, BETA)


@lru_cache
def _local(sizes: tuple[int, int, int, int], epsilon: float) -> LocalPrivatizer:
    unit = LocalCountsParameters(*sizes, noise=NoiseLaw.GAUSSIAN.value, visits="summed")
    return LocalPrivatizer.meeting(unit, Adjacency.REPLACE, epsilon, BETA)


ARMS: Final[dict[Kind, Callable[[Arm], Any]]] = {
    Kind.PE: lambda arm: SDPPE(NoPrivacy(), arm.episodes, _tuned(arm)),
    Kind.PE_LITERAL: lambda arm: SDPPE(NoPrivacy(), arm.episodes, LITERAL),
    Kind.UCB: lambda arm: _optimist(arm, ExactCounts(*_sizes(arm))),
    Kind.JDP: lambda arm: _optimist(arm, _central(_sizes(arm), arm.epsilon or 0.0)),
    Kind.LDP: lambda arm: _optimist(arm, _local(_sizes(arm), arm.epsilon or 0.0)),
    Kind.PRINTED: lambda arm: SDPPE(shuffled(arm), arm.episodes, _tuned(arm)),
    Kind.CALIBRATED: lambda arm: SDPPE(shuffled(arm), arm.episodes, _tuned(arm)),
    Kind.SUMMED: lambda arm: SDPPE(shuffled(arm), arm.episodes, LONG),
    Kind.LITERAL: lambda arm: SDPPE(shuffled(arm), arm.episodes, LITERAL),
}
