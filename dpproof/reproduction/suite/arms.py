"""The arms of the benchmark. An arm is a learner with its noise and its constants, for any problem and any epsilon.

Constants are those that a paper prints, or presets that were chosen on other problems
(`dpproof.mechanisms.agents.presets`). No arm knows which transitions are possible, unless its note says so.
"""

from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.accountant.rl.rlsvi import rlsvi as rlsvi_accounting
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson import thompson as thompson_accounting
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.agents.learner import Floats
from dpproof.mechanisms.agents.making import agent
from dpproof.mechanisms.agents.playing import regrets
from dpproof.mechanisms.agents.presets import MIRRORED, OPTIMISTIC
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.constants import OPPO, THEORY, Constants, Projection, ucb_vi
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, VarianceConstants
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts, Privatizer
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.sdp_pe import constants as elimination
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.policies import MOST_POLICIES
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.mechanisms.rl.thompson.thompson import Thompson
from dpproof.reproduction.suite.problems import Problem

DELTA: Final = "1e-6"
"""The delta of every guarantee with Gaussian noise."""
EPSILONS: Final = (0.1, 1.0, 10.0, 100.0)
"""The promised epsilons of the full benchmark."""


class Promise(enum.Enum):
    """What an arm promises: whom its users trust, and how neighbours differ."""

    NONE = "no privacy"
    REPLACE = "replace, trusted server"
    SHUFFLE = "replace, trusted shuffler"
    LOCAL = "replace, nobody trusted"
    REWARDS = "rewards-only, trusted server"


@dataclass(frozen=True)
class Ready:
    """An arm that is ready for one problem and one epsilon.

    Attributes:
        certified: the certified epsilon of a whole run at `delta`; None without privacy.
        delta: the delta of the guarantee; None without privacy.
        play: a function that runs the learner once, from a seed, and returns the regret of every episode.
    """

    certified: float | None
    delta: float | None
    play: Callable[[np.random.SeedSequence], Floats]


class Make(Protocol):
    """Interface of a function that makes an arm ready."""

    def __call__(self, problem: Problem, epsilon: float, /) -> Ready:
        """Return the arm for a problem and a promised epsilon, which is infinite without privacy."""
        ...


@dataclass(frozen=True)
class Arm:
    """A learner with its noise and its constants.

    Attributes:
        name: the name in tables and on the command line.
        promise: what it promises.
        make: a function that makes it ready for a problem and an epsilon.
        note: constants, source, and what the arm knows.
        cost: the number of noisy numbers of a run for a problem; an arm runs only where it is at most `MOST`.
        leader: whether the arm also runs on large problems.
    """

    name: str
    promise: Promise
    make: Make
    note: str
    cost: Callable[[Problem], float] = lambda _: 0.0
    leader: bool = False

    def fits(self, problem: Problem) -> bool:
        """Return whether the arm runs on a problem."""
        return self.cost(problem) <= MOST and (self.leader or not problem.large)


MOST: Final = 4e7
"""The largest number of noisy numbers in a run of an arm."""


def _sizes(problem: Problem) -> tuple[int, int, int, int]:
    mdp = problem.mdp
    return mdp.states, mdp.actions, mdp.horizon, problem.episodes


def _learner(learner: Any, problem: Problem, certified: float | None, delta: float | None) -> Ready:
    """Return a learner that runs in a known process."""

    def play(seed: np.random.SeedSequence) -> Floats:
        found: Floats = learner.run(problem.mdp, np.random.default_rng(seed)).regrets
        return found

    return Ready(certified, delta, play)


def _exact(make: Callable[[Privatizer], Any], *, pooled: bool) -> Make:
    """Return an arm without privacy, which plans from exact counts."""
    return lambda problem, _: _learner(make(ExactCounts(*_sizes(problem), pooled)), problem, None, None)


_Planner = Callable[[Privatizer], Any]


_OWN: Final = replace(OPTIMISTIC, projection=Projection.THRESHOLD, rewards=True)
_OWN_PO: Final = replace(MIRRORED, projection=Projection.THRESHOLD, rewards=True)


def _vi(counts: Privatizer, constants: Constants = _OWN) -> PrivateUCBVI:
    return PrivateUCBVI(counts, constants)


def _po(counts: Privatizer, constants: Constants = _OWN_PO) -> PrivateUCBPO:
    return PrivateUCBPO(counts, constants)


def _joint(planner: _Planner, *, printed: bool, pooled: bool = False) -> Make:
    """Return PRIVATE-UCB with the paper's CENTRAL-PRIVATIZER: its printed noise, or the least noise certified."""

    def make(problem: Problem, epsilon: float) -> Ready:
        sizes = CentralCountsParameters(*_sizes(problem), printed_epsilon=epsilon, pooled=pooled)
        if printed:
            privatizer = CentralPrivatizer(sizes)
        else:
            privatizer = CentralPrivatizer.meeting(sizes, Adjacency.REPLACE, epsilon, 0)
        return _counted(planner, privatizer, problem, "0")

    return make


def _local(planner: _Planner, *, printed: bool, pooled: bool = False) -> Make:
    """Return PRIVATE-UCB with the paper's LOCAL-PRIVATIZER: its printed noise, or the least noise certified."""

    def make(problem: Problem, epsilon: float) -> Ready:
        sizes = LocalCountsParameters(*_sizes(problem), printed_epsilon=epsilon, pooled=pooled)
        if printed:
            privatizer = LocalPrivatizer(sizes)
        else:
            privatizer = LocalPrivatizer.meeting(sizes, Adjacency.REPLACE, epsilon, 0)
        return _counted(planner, privatizer, problem, "0")

    return make


def _central_gaussian(problem: Problem, epsilon: float) -> Ready:
    """Return DP-UCBVI with a trusted server's per-step counters and Gaussian noise, as SDP-PE's authors compare."""
    unit = CentralCountsParameters(
        *_sizes(problem), noise=NoiseLaw.GAUSSIAN.value, counter="square-root", visits="summed"
    )
    privatizer = CentralPrivatizer.meeting(unit, Adjacency.REPLACE, epsilon, DELTA)
    return _counted(lambda counts: DPUCBVI(counts, _VARIANCE), privatizer, problem, DELTA)


def _local_gaussian(problem: Problem, epsilon: float) -> Ready:
    """Return DP-UCBVI on the users' own per-step counts with Gaussian noise."""
    unit = LocalCountsParameters(*_sizes(problem), noise=NoiseLaw.GAUSSIAN.value, visits="summed")
    privatizer = LocalPrivatizer.meeting(unit, Adjacency.REPLACE, epsilon, DELTA)
    return _counted(lambda counts: DPUCBVI(counts, _VARIANCE), privatizer, problem, DELTA)


_VARIANCE: Final = VarianceConstants(width=OPTIMISTIC.width, around=0.0, error=0.0, margin=0.0)


def _counted(planner: _Planner, privatizer: Any, problem: Problem, delta: str) -> Ready:
    certified = privatizer.account(Adjacency.REPLACE).guarantee.epsilon(delta).upper
    return _learner(planner(privatizer), problem, certified, float(delta))


def _rlsvi(problem: Problem, epsilon: float) -> Ready:
    sizes = RLSVIParameters(*_sizes(problem))
    parameters, _ = rlsvi_accounting.ACCOUNTANT.least_noise(sizes, Adjacency.REWARDS_ONLY, epsilon, DELTA)
    certified = rlsvi_accounting.account(parameters, Adjacency.REWARDS_ONLY).guarantee.epsilon(DELTA).upper
    return _learner(RLSVI(parameters), problem, certified, float(DELTA))


def _rlsvi_printed(problem: Problem, _epsilon: float) -> Ready:
    parameters = RLSVIParameters(*_sizes(problem))
    certified = rlsvi_accounting.account(parameters, Adjacency.REWARDS_ONLY).guarantee.epsilon(DELTA).upper
    return _learner(RLSVI(parameters), problem, certified, float(DELTA))


def _elimination(constants: Callable[[Problem], Any]) -> Make:
    """Return policy elimination in the shuffle model. Its noise is the least that keeps the promise."""

    def make(problem: Problem, epsilon: float) -> Ready:
        if epsilon == np.inf:
            privatizer, certified, delta = NoPrivacy(), None, None
        else:
            privatizer = ShufflePrivatizer.calibrated(str(epsilon), DELTA, own_visits=False)
            certified, delta = epsilon, float(DELTA)
        stored = "enumerated" if _listed(problem) else "product"
        learner = SDPPE(privatizer, problem.episodes, constants(problem), stored)
        return _learner(learner, problem, certified, delta)

    return make


def _agent(name: str, adjacency: Adjacency, **options: Any) -> Make:
    """Return an agent of the front door, which counts users, adds exact noise and plans after every batch."""

    def make(problem: Problem, epsilon: float) -> Ready:
        S, A, H, K = _sizes(problem)
        one = partial(
            agent, name, observations=S, actions=A, episodes=K, horizon=H, epsilon=epsilon, delta=DELTA,
            adjacency=adjacency, reward_range=(0, 1), **({"support": "found"} if problem.large else {}), **options,
        )  # fmt: skip

        def play(seed: np.random.SeedSequence) -> Floats:
            noise, users = seed.spawn(2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the figure shows it
                made = one(seed=noise)
            return regrets(made, problem.mdp, np.random.default_rng(users))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certified = one(seed=0).promise.result().epsilon(DELTA).upper
        return Ready(certified, float(DELTA), play)

    return make


def _per_step(problem: Problem) -> float:
    S, A, H, K = _sizes(problem)
    return float(K * H * S * A * (S + 2))


def _pooled(problem: Problem) -> float:
    S, A, _, K = _sizes(problem)
    return float(K * S * A * (S + 2))


def _eliminating(problem: Problem) -> float:
    """Return the cost of policy elimination: 0 if policies can be listed, else the size of its tables."""
    S, A, H, _ = _sizes(problem)
    return 0.0 if _listed(problem) else float(H * S * A * S) * 1e4


def _listed(problem: Problem) -> bool:
    """Return whether the policies that differ on reachable states are few enough to be listed."""
    mdp = problem.mdp
    decisions = int(PublicModel.of(mdp).reachable.sum())
    return decisions * math.log2(mdp.actions) <= math.log2(MOST_POLICIES)


def _thompson(problem: Problem, epsilon: float) -> Ready:
    """Return Thompson sampling, for bandits. A reward is 0 or 1."""
    sizes = ThompsonParameters(arms=problem.mdp.actions, rounds=problem.episodes - problem.mdp.actions)
    parameters, _ = thompson_accounting.ACCOUNTANT.least_noise(sizes, Adjacency.REWARDS_ONLY, epsilon, DELTA)
    certified = thompson_accounting.account(parameters, Adjacency.REWARDS_ONLY).guarantee.epsilon(DELTA).upper
    means = problem.mdp.rewards[0]

    def play(seed: np.random.SeedSequence) -> Floats:
        pulled = Thompson(parameters).learn(means, 1, np.random.default_rng(seed)).arms[0]
        found: Floats = means.max() - means[pulled]
        return found

    return Ready(certified, float(DELTA), play)


def _one_step(problem: Problem) -> float:
    return 0.0 if problem.mdp.horizon == problem.mdp.states == 1 else np.inf


def _azar(counts: Privatizer) -> PrivateUCBVI:
    p = counts.parameters
    return PrivateUCBVI(counts, ucb_vi(p.states, p.actions, p.horizon, p.episodes))


def _tuned_elimination(problem: Problem) -> elimination.EliminationConstants:
    return elimination.BANDIT if problem.mdp.horizon == 1 else elimination.TUNED


_PRESET = "constants chosen on other problems"
_PRINTED = "printed constants"
_TABLE: Final = (
    Arm("UCB-VI", Promise.NONE, _exact(_azar, pooled=True), f"Azar et al. 2017, {_PRINTED}"),
    Arm("OPPO", Promise.NONE, _exact(partial(_po, constants=OPPO), pooled=False), f"Efroni et al. 2020, {_PRINTED}"),
    Arm(
        "PRIVATE-UCB-VI, no noise, printed", Promise.NONE, _exact(partial(_vi, constants=THEORY), pooled=False), _PRINTED
    ),
    Arm("PRIVATE-UCB-VI, no noise", Promise.NONE, _exact(_vi, pooled=True), _PRESET),
    Arm("PRIVATE-UCB-PO, no noise", Promise.NONE, _exact(_po, pooled=True), _PRESET),
    Arm(
        "DP-UCBVI, no noise", Promise.NONE, _exact(lambda counts: DPUCBVI(counts, _VARIANCE), pooled=True), _PRESET,
        leader=True,
    ),
    Arm(
        "PE, no noise", Promise.NONE, _elimination(_tuned_elimination),
        "constants tuned on RiverSwim with 4 states; the possible transitions are known", cost=_eliminating,
    ),
    Arm(
        "PRIVATE-UCB-VI, printed", Promise.REPLACE, _joint(partial(_vi, constants=THEORY), printed=True),
        f"printed noise, {_PRINTED}", cost=_per_step,
    ),
    Arm(
        "PRIVATE-UCB-VI, joint", Promise.REPLACE, _joint(_vi, printed=False), f"the paper's trees, {_PRESET}", cost=_per_step
    ),
    Arm(
        "PRIVATE-UCB-PO, joint", Promise.REPLACE, _joint(_po, printed=False), f"the paper's trees, {_PRESET}", cost=_per_step
    ),
    Arm(
        "PRIVATE-UCB-VI, local", Promise.LOCAL, _local(_vi, printed=False), f"the paper's local noise, {_PRESET}",
        cost=_per_step,
    ),
    Arm(
        "PRIVATE-UCB-PO, local", Promise.LOCAL, _local(_po, printed=False), f"the paper's local noise, {_PRESET}",
        cost=_per_step,
    ),
    Arm(
        "PRIVATE-UCB-VI, joint, pooled", Promise.REPLACE, _joint(_vi, printed=False, pooled=True),
        f"the paper's trees for all steps together, {_PRESET}", cost=_pooled,
    ),
    Arm(
        "PRIVATE-UCB-VI, local, pooled", Promise.LOCAL, _local(_vi, printed=False, pooled=True),
        f"the paper's local noise for all steps together, {_PRESET}", cost=_pooled,
    ),
    Arm("UCB-VI, JDP", Promise.REPLACE, _central_gaussian, f"SDP-PE's first rival, {_PRESET}", cost=_per_step),
    Arm("UCB-VI, LDP", Promise.LOCAL, _local_gaussian, f"SDP-PE's second rival, {_PRESET}", cost=_per_step),
    Arm(
        "SDP-PE", Promise.SHUFFLE, _elimination(_tuned_elimination),
        "least noise, constants tuned on RiverSwim with 4 states; the possible transitions are known", cost=_eliminating,
    ),
    Arm("RLSVI", Promise.REWARDS, _rlsvi, "noise scaled to the promise"),
    Arm("Thompson", Promise.REWARDS, _thompson, "for bandits; noise scaled to the promise", cost=_one_step),
    *(
        Arm(f"agent {name}, rewards-only", Promise.REWARDS, _agent(name, Adjacency.REWARDS_ONLY), _PRESET)
        for name in ("private-ucb-vi", "private-ucb-po", "dp-ucbvi")
    ),
    *(
        Arm(f"agent {name}", Promise.REPLACE, _agent(name, Adjacency.REPLACE), _PRESET, leader=name == "dp-ucbvi")
        for name in ("private-ucb-vi", "private-ucb-po", "dp-ucbvi")
    ),
    *(
        Arm(
            f"agent dp-ucbvi, {kind}", Promise.REPLACE, _agent("dp-ucbvi", Adjacency.REPLACE, privatizer=kind), _PRESET
        )
        for kind in ("tree", "square-root", "banded")
    ),
    Arm(
        "agent dp-ucbvi, local", Promise.LOCAL, _agent("dp-ucbvi", Adjacency.REPLACE, privatizer="local"), _PRESET,
        cost=_pooled,
    ),
)  # fmt: skip
ARMS: Final[Mapping[str, Arm]] = {arm.name: arm for arm in _TABLE}
"""All arms, by name."""
