"""The arms of the benchmark. An arm is a learner with its noise and its constants, for any problem and any epsilon.

No arm knows which transitions are possible, unless its note says so.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.spelling import one_of
from dpproof.mechanisms.rl.private_ucb.baselines import oppo, ucb_vi
from dpproof.mechanisms.rl.private_ucb.constants import THEORY
from dpproof.reproduction.suite import learners as ready
from dpproof.reproduction.suite import outside
from dpproof.reproduction.suite.learners import JOINT, LOCAL, Make, Scale, sizes_of
from dpproof.reproduction.suite.problems import Problem

EPSILONS: Final = (0.1, 1.0, 10.0, 100.0)
"""The promised epsilons of the full benchmark."""


class Promise(enum.Enum):
    """What an arm promises: whom its users trust, and how neighbours differ."""

    NONE = "no privacy"
    REPLACE = "replace, trusted server"
    SHUFFLE = "replace, trusted shuffler"
    LOCAL = "replace, nobody trusted"
    REWARDS = "rewards-only, trusted server"


MOST: Final = 4e7
"""The largest number of noisy numbers that a run of an arm may draw."""


@dataclass(frozen=True)
class Arm:
    """A learner with its noise and its constants.

    Attributes:
        name: the name in tables and on the command line.
        promise: what it promises.
        make: a function that makes it ready for a problem and an epsilon.
        note: constants, source, and what the arm knows.
        size: how large a run is. The arm runs only where this is at most `MOST`.
        leader: whether the arm also runs on large problems.
        fixed: whether the noise does not depend on the promised epsilon. The arm then runs at an infinite one.
    """

    name: str
    promise: Promise
    make: Make
    note: str
    size: Callable[[Problem], float] = lambda _: 0.0
    leader: bool = False
    fixed: bool = False

    def epsilons(self, given: Sequence[float]) -> Sequence[float]:
        """Return the promised epsilons at which the arm runs, out of those given."""
        return (math.inf,) if self.fixed or self.promise is Promise.NONE else given

    def fits(self, problem: Problem) -> bool:
        """Return whether the arm runs on a problem."""
        if problem.arms is not None:
            return self.name in problem.arms
        return self.size(problem) <= MOST and (self.leader or not problem.large)


def _per_step(problem: Problem) -> float:
    """Return the number of noisy counts, if each step has its own counters and all of them change in each episode."""
    S, A, H, K = sizes_of(problem)
    return float(K * H * S * A * (S + 2))


def _pooled(problem: Problem) -> float:
    """Return the number of noisy counts, if all steps share their counters; infinite if there is one step only."""
    S, A, H, K = sizes_of(problem)
    return float(K * S * A * (S + 2)) if H > 1 else math.inf


def _tables(problem: Problem) -> float:
    """Return the size of the tables of policy elimination, times the number of passes over them."""
    S, A, H, _ = sizes_of(problem)
    return float(H * S * A * S) * 1e4


def _planning(problem: Problem) -> float:
    """Return the number of products of a probability and a value, if each episode is planned, over a hundred."""
    S, A, H, K = sizes_of(problem)
    return float(K * H * S * A * S) / 100


def _bandit(problem: Problem) -> float:
    S, _, H, _ = sizes_of(problem)
    return 0.0 if H == S == 1 else math.inf


_CHOSEN = "constants chosen on other problems"
_PRINTED = "printed constants"
_KNOWS = "constants tuned on RiverSwim with 4 states and on a bandit; knows the possible transitions"
_POOLED_JOINT, _POOLED_LOCAL = replace(JOINT, pooled=True), replace(LOCAL, pooled=True)
_GAUSSIAN_JOINT, _GAUSSIAN_LOCAL = replace(JOINT, gaussian=True), replace(LOCAL, gaussian=True)
_THEORY_VI, _THEORY_PO = partial(ready.vi, constants=THEORY), partial(ready.po, constants=THEORY)
_TRUST: Final = (
    ("joint", Promise.REPLACE, JOINT, _POOLED_JOINT), ("local", Promise.LOCAL, LOCAL, _POOLED_LOCAL),
)  # fmt: skip
_PLANNERS: Final = (("VI", ready.vi, _THEORY_VI), ("PO", ready.po, _THEORY_PO))


def _river_swim(problem: Problem) -> float:
    return 0.0 if problem.name == "river-swim" else math.inf


def _free(name: str, make: Make, note: str, *, leader: bool = False) -> Arm:
    return Arm(name, Promise.NONE, make, note, leader=leader)


def _steps(name: str, promise: Promise, make: Make, note: str) -> Arm:
    return Arm(name, promise, make, note, _per_step)


def _figure() -> Iterator[Arm]:
    """Yield further arms of PRIVATE-UCB's Figure 2, for its own problem."""
    for name, own, theory in _PLANNERS:
        for trust, promise, noise, pooled in _TRUST:
            title = f"PRIVATE-UCB-{name}, {trust}"
            if trust == "local":  # with a trusted server these run on all problems
                make = ready.counted(theory, noise, Scale.PRINTED)
                yield Arm(f"{title}, printed", promise, make, f"printed noise, {_PRINTED}", _river_swim)
            if name == "PO":  # value iteration runs on all problems
                told = f"least noise for all steps together, {_CHOSEN}"
                yield Arm(f"{title}, pooled", promise, ready.counted(own, pooled), told, _river_swim)
            make = ready.counted(own, noise, Scale.PRINTED)
            yield Arm(f"{title}, printed noise", promise, make, f"printed noise, {_CHOSEN}", _river_swim)
            make = ready.counted(own, pooled, Scale.CODE)
            told = f"noise of the published code's scale, 1/epsilon, {_CHOSEN}"
            yield Arm(f"{title}, pooled, published code", promise, make, told, _river_swim)


def _agent(
    name: str, promise: Promise, adjacency: Adjacency, kind: str | None = None, *, leader: bool = False
) -> Arm:
    """Return an agent of the front door, with its own choice of counters or one kind of them."""
    label = ", ".join([f"agent {name}", *([kind] if kind else [])])
    options = {"privatizer": kind} if kind else {}
    return Arm(label, promise, ready.agent(name, adjacency, **options), _CHOSEN, leader=leader)


_TABLE: Final = (
    _free("UCB-VI", ready.baseline(ucb_vi), f"Azar et al. 2017, Bernstein bonus, {_PRINTED}"),
    _free("OPPO", ready.baseline(oppo), f"Efroni et al. 2020, {_PRINTED}, as PRIVATE-UCB's paper gives them"),
    _free("PRIVATE-UCB-VI, no noise, printed", ready.exact(_THEORY_VI, pooled=False), _PRINTED),
    _free("PRIVATE-UCB-PO, no noise, printed", ready.exact(_THEORY_PO, pooled=False), _PRINTED),
    _free("PRIVATE-UCB-VI, no noise, per step", ready.exact(ready.vi, pooled=False), _CHOSEN),
    _free("PRIVATE-UCB-PO, no noise, per step", ready.exact(ready.po, pooled=False), _CHOSEN),
    _free("greedy", ready.exact(partial(ready.vi, constants=replace(ready.OWN, width=0.0))), "no bonus"),
    _free("PRIVATE-UCB-VI, no noise", ready.exact(ready.vi), _CHOSEN),
    _free("PRIVATE-UCB-PO, no noise", ready.exact(ready.po), _CHOSEN),
    Arm("DP-UCBVI, no noise", Promise.NONE, ready.exact(ready.variance), _CHOSEN, _planning, leader=True),
    _free(
        "agent dp-ucbvi, almost no noise", ready.without_promise(ready.agent("dp-ucbvi", Adjacency.REPLACE), 1e3),
        f"noise of epsilon 1000, {_CHOSEN}", leader=True,
    ),
    Arm("PE, no noise", Promise.NONE, ready.elimination, _KNOWS, _tables),
    _steps(
        "PRIVATE-UCB-VI, joint, printed", Promise.REPLACE, ready.counted(_THEORY_VI, JOINT, Scale.PRINTED),
        f"printed noise, {_PRINTED}",
    ),
    _steps(
        "PRIVATE-UCB-PO, joint, printed", Promise.REPLACE, ready.counted(_THEORY_PO, JOINT, Scale.PRINTED),
        f"printed noise, {_PRINTED}",
    ),
    _steps("PRIVATE-UCB-VI, joint", Promise.REPLACE, ready.counted(ready.vi, JOINT), f"trees, {_CHOSEN}"),
    _steps("PRIVATE-UCB-PO, joint", Promise.REPLACE, ready.counted(ready.po, JOINT), f"trees, {_CHOSEN}"),
    _steps("PRIVATE-UCB-VI, local", Promise.LOCAL, ready.counted(ready.vi, LOCAL), f"Laplace noise, {_CHOSEN}"),
    _steps("PRIVATE-UCB-PO, local", Promise.LOCAL, ready.counted(ready.po, LOCAL), f"Laplace noise, {_CHOSEN}"),
    Arm(
        "PRIVATE-UCB-VI, joint, pooled", Promise.REPLACE, ready.counted(ready.vi, _POOLED_JOINT),
        f"trees for all steps together, {_CHOSEN}", _pooled,
    ),
    Arm(
        "PRIVATE-UCB-VI, local, pooled", Promise.LOCAL, ready.counted(ready.vi, _POOLED_LOCAL),
        f"Laplace noise for all steps together, {_CHOSEN}", _pooled,
    ),
    *_figure(),
    _steps(
        "UCB-VI, JDP", Promise.REPLACE, ready.counted(ready.variance, _GAUSSIAN_JOINT),
        f"SDP-PE's first rival: DP-UCBVI, square-root counters, {_CHOSEN}",
    ),
    _steps(
        "UCB-VI, LDP", Promise.LOCAL, ready.counted(ready.variance, _GAUSSIAN_LOCAL),
        f"SDP-PE's second rival: DP-UCBVI, Gaussian noise, {_CHOSEN}",
    ),
    Arm("SDP-PE", Promise.SHUFFLE, ready.elimination, f"least noise, {_KNOWS}", _tables),
    Arm("RLSVI", Promise.REWARDS, ready.rlsvi, "noise scaled to the promise"),
    Arm("RLSVI, printed", Promise.REWARDS, ready.rlsvi_with(1.0), "printed noise", fixed=True),
    _free("RLSVI, no noise", ready.without_promise(ready.rlsvi_with(1e-12), math.inf), "printed noise times 1e-6"),
    Arm("Thompson", Promise.REWARDS, ready.thompson, "for bandits; noise scaled to the promise", _bandit),
    *(
        replace(_agent(name, Promise.REWARDS, Adjacency.REWARDS_ONLY), name=f"agent {name}, rewards-only")
        for name in ("private-ucb-vi", "private-ucb-po", "dp-ucbvi")
    ),
    _agent("private-ucb-vi", Promise.REPLACE, Adjacency.REPLACE),
    _agent("private-ucb-po", Promise.REPLACE, Adjacency.REPLACE),
    _agent("dp-ucbvi", Promise.REPLACE, Adjacency.REPLACE, leader=True),
    _agent("first-visit-vi", Promise.REPLACE, Adjacency.REPLACE),
    *(_agent("dp-ucbvi", Promise.REPLACE, Adjacency.REPLACE, kind) for kind in ("tree", "square-root", "banded")),
    replace(_agent("dp-ucbvi", Promise.LOCAL, Adjacency.REPLACE, "local"), size=_pooled),
)  # fmt: skip
ARMS: Final[Mapping[str, Arm]] = {arm.name: arm for arm in _TABLE}
"""All arms, by name."""


def arm_of(name: str) -> Arm:
    """Return the arm of a name, or another person's learner that is named as ``module:class``.

    Raises:
        ValueError: there is no arm or learner of this name, or its promise is unknown.
    """
    if name in ARMS:
        return ARMS[name]
    if ":" not in name:
        raise ValueError(f"arm ({name!r}) {one_of(name, ARMS)}")
    promise = getattr(outside.loaded(name), "promise", Promise.REPLACE.value)
    known = [one.value for one in Promise]
    if promise not in known:
        raise ValueError(f"promise ({promise!r}) of {name!r} {one_of(promise, known)}")
    return Arm(name, Promise(promise), partial(outside.ready, name), "its authors' own", leader=True)
