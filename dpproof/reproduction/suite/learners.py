"""How the learners of the benchmark are made ready for a problem and an epsilon: noise, constants, certified epsilon.

Constants are those that a paper prints, or presets that were chosen on other problems
(`dpproof.mechanisms.agents.presets`).
"""

from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, Protocol

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.accountant.rl.rlsvi.rlsvi import ACCOUNTANT as RLSVI_ACCOUNTANT
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson.thompson import ACCOUNTANT as THOMPSON_ACCOUNTANT
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.agents import making
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.learner import Floats
from dpproof.mechanisms.agents.playing import regrets
from dpproof.mechanisms.agents.presets import MIRRORED, OPTIMISTIC
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.constants import Constants, Projection
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, VarianceConstants
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts, Privatizer
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.constants import BANDIT, TUNED
from dpproof.mechanisms.rl.sdp_pe.policies import MOST_POLICIES
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.mechanisms.rl.thompson.thompson import Thompson
from dpproof.reproduction.suite.problems import Problem

DELTA: Final = "1e-6"
"""The delta of every guarantee with Gaussian noise."""


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


_Planner = Callable[[Privatizer], Any]
"""A function that returns the learner which plans from counts."""


def sizes_of(problem: Problem) -> tuple[int, int, int, int]:
    """Return the numbers of states, actions, steps and episodes of a problem."""
    facts = problem.facts
    return facts.states, facts.actions, facts.steps, problem.episodes


def _running(
    learner: Any, problem: Problem, certified: float | None = None, delta: float | None = None
) -> Ready:
    """Return a learner that runs in a known process."""

    def play(seed: np.random.SeedSequence) -> Floats:
        found: Floats = learner.run(problem.mdp, np.random.default_rng(seed)).regrets
        return found

    return Ready(certified, delta, play)


OWN: Final = replace(OPTIMISTIC, projection=Projection.THRESHOLD, rewards=True)
"""Constants of value iteration that were chosen on other problems."""
OWN_PO: Final = replace(MIRRORED, projection=Projection.THRESHOLD, rewards=True)
"""Constants of policy optimisation that were chosen on other problems."""
_VARIANCE: Final = VarianceConstants(width=OPTIMISTIC.width, around=0.0, error=0.0, margin=0.0)


def vi(counts: Privatizer, constants: Constants = OWN) -> PrivateUCBVI:
    """Return PRIVATE-UCB-VI on given counts."""
    return PrivateUCBVI(counts, constants)


def po(counts: Privatizer, constants: Constants = OWN_PO) -> PrivateUCBPO:
    """Return PRIVATE-UCB-PO on given counts."""
    return PrivateUCBPO(counts, constants)


def variance(counts: Privatizer) -> DPUCBVI:
    """Return DP-UCBVI on given counts."""
    return DPUCBVI(counts, _VARIANCE)


def exact(planner: _Planner, *, pooled: bool = True) -> Make:
    """Return a learner without privacy, which plans from exact counts: for all steps together, or for each step."""
    return lambda problem, _: _running(planner(ExactCounts(*sizes_of(problem), pooled)), problem)


def baseline(learner: Callable[[int, int, int, int], Any]) -> Make:
    """Return a learner without privacy that is made from the sizes of a problem."""
    return lambda problem, _: _running(learner(*sizes_of(problem)), problem)


class Scale(enum.Enum):
    """How the scale of the noise follows from the promised epsilon."""

    LEAST = "least certified noise"
    PRINTED = "printed noise"
    CODE = "noise of the published code's scale, 1/epsilon"


@dataclass(frozen=True)
class Noise:
    """A privatizer of PRIVATE-UCB's paper.

    Attributes:
        parameters: the class of its parameters.
        privatizer: the class that draws the noise.
        gaussian: whether the noise is Gaussian noise, with counts of visits that are sums; Laplace noise otherwise.
        pooled: whether all steps share their counters.
    """

    parameters: Any
    privatizer: Any
    gaussian: bool = False
    pooled: bool = False

    def ready(self, planner: _Planner, problem: Problem, epsilon: float, scale: Scale) -> Ready:
        """Return a learner on private counts."""
        delta = DELTA if self.gaussian else "0"
        unit = self.parameters(*sizes_of(problem), pooled=self.pooled, **self._law)
        if scale is Scale.LEAST:
            privatizer = self.privatizer.meeting(unit, Adjacency.REPLACE, epsilon, delta)
        elif scale is Scale.PRINTED:
            privatizer = self.privatizer(replace(unit, printed_epsilon=epsilon))
        else:
            privatizer = self.privatizer(unit.with_scale(1 / epsilon))
        certified = privatizer.account(Adjacency.REPLACE).guarantee.epsilon(delta).upper
        return _running(planner(privatizer), problem, certified, float(delta))

    @property
    def _law(self) -> dict[str, str]:
        if not self.gaussian:
            return {}
        root = {"counter": "square-root"} if self.parameters is CentralCountsParameters else {}
        return {"noise": NoiseLaw.GAUSSIAN.value, "visits": "summed", **root}


JOINT: Final = Noise(CentralCountsParameters, CentralPrivatizer)
LOCAL: Final = Noise(LocalCountsParameters, LocalPrivatizer)


def counted(planner: _Planner, noise: Noise, scale: Scale = Scale.LEAST) -> Make:
    """Return a learner on the private counts of PRIVATE-UCB's paper."""
    return lambda problem, epsilon: noise.ready(planner, problem, epsilon, scale)


def rlsvi(problem: Problem, epsilon: float) -> Ready:
    """Return RLSVI with the noise that keeps the promise."""
    sizes = RLSVIParameters(*sizes_of(problem))
    return _rlsvi(problem, RLSVI_ACCOUNTANT.least_noise(sizes, Adjacency.REWARDS_ONLY, epsilon, DELTA)[0])


def rlsvi_with(scale: float) -> Make:
    """Return RLSVI with the printed variance times a factor, whatever it promises."""
    return lambda problem, _: _rlsvi(problem, RLSVIParameters(*sizes_of(problem), beta_scale=scale))


def _rlsvi(problem: Problem, parameters: RLSVIParameters) -> Ready:
    certified = RLSVI_ACCOUNTANT.account(parameters, Adjacency.REWARDS_ONLY).guarantee.epsilon(DELTA).upper
    return _running(RLSVI(parameters), problem, certified, float(DELTA))


def elimination(problem: Problem, epsilon: float) -> Ready:
    """Return policy elimination in the shuffle model, with the least noise that keeps the promise.

    Policies are listed where they are few enough. It knows which transitions are possible.
    """
    constants = BANDIT if problem.mdp.horizon == 1 else TUNED
    stored: Literal["enumerated", "product"] = "enumerated" if _listed(problem) else "product"
    if epsilon == math.inf:
        return _running(SDPPE(NoPrivacy(), problem.episodes, constants, stored), problem)
    privatizer = ShufflePrivatizer.calibrated(str(epsilon), DELTA, own_visits=False)
    return _running(SDPPE(privatizer, problem.episodes, constants, stored), problem, epsilon, float(DELTA))


def _listed(problem: Problem) -> bool:
    """Return whether the policies that differ on reachable states are few enough to be listed."""
    decisions = int(PublicModel.of(problem.mdp).reachable.sum())
    return decisions * math.log2(problem.mdp.actions) <= math.log2(MOST_POLICIES)


def thompson(problem: Problem, epsilon: float) -> Ready:
    """Return Thompson sampling with the noise that keeps the promise, for bandits. It sees a reward as a bit.

    It begins with one pull of each arm, whose rewards it does not use.
    """
    means = problem.mdp.rewards[0]
    sizes = ThompsonParameters(arms=means.size, rounds=problem.episodes - means.size)
    parameters, _ = THOMPSON_ACCOUNTANT.least_noise(sizes, Adjacency.REWARDS_ONLY, epsilon, DELTA)
    certified = THOMPSON_ACCOUNTANT.account(parameters, Adjacency.REWARDS_ONLY).guarantee.epsilon(DELTA).upper

    def play(seed: np.random.SeedSequence) -> Floats:
        pulled = Thompson(parameters).learn(means, 1, np.random.default_rng(seed)).arms[0]
        found: Floats = means.max() - means[np.append(np.arange(means.size), pulled)]
        return found

    return Ready(certified, float(DELTA), play)


def agent(name: str, adjacency: Adjacency, **options: Any) -> Make:
    """Return an agent of `dpproof.agent`, which counts users, adds exact noise and plans after every batch.

    It does not know which transitions are possible. On large problems it finds them.
    """

    def make(problem: Problem, epsilon: float) -> Ready:
        S, A, H, K = sizes_of(problem)
        one = partial(
            making.agent, name, observations=S, actions=A, episodes=K, horizon=H, epsilon=epsilon, delta=DELTA,
            adjacency=adjacency, reward_range=(0, 1), support="found" if problem.large else None, **options,
        )  # fmt: skip

        def play(seed: np.random.SeedSequence) -> Floats:
            noise, users = seed.spawn(2)
            return regrets(_quiet(one, noise), problem.mdp, np.random.default_rng(users))

        return Ready(_quiet(one, 0).promise.result().epsilon(DELTA).upper, float(DELTA), play)

    return make


def _quiet(one: Callable[..., Agent], seed: int | np.random.SeedSequence) -> Agent:
    """Return an agent without the warning that the noise hides what it could learn. Its regret shows that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", making.SwampedWarning)
        return one(seed=seed)


def without_promise(make: Make, epsilon: float) -> Make:
    """Return an arm with the noise of this epsilon at every promised epsilon, which promises nothing."""
    return lambda problem, _: replace(make(problem, epsilon), certified=None, delta=None)
