"""Learners of other people on the benchmark: a class with two methods, named by its module."""

from __future__ import annotations

import importlib
import inspect
import math
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.result import PrivacyResult
from dpproof.mechanisms.agents.learner import Floats
from dpproof.mechanisms.agents.playing import best_value, play, value, world_of
from dpproof.reproduction.suite.learners import DELTA, Ready, sizes_of
from dpproof.reproduction.suite.problems import Problem


class Sizes(NamedTuple):
    """What a learner is told of a problem. All rewards are in [0, 1]."""

    states: int
    actions: int
    horizon: int
    episodes: int


class Outside(Protocol):
    """Interface of a learner. Its class is called with `Sizes`, an epsilon and a `numpy.random.Generator`.

    The epsilon is infinite where no privacy is asked for. The class may have two more attributes. ``promise`` is the
    value of a `Promise`, such as "replace, trusted server" (the default). ``account(sizes, epsilon)`` returns what
    `dpproof.account` returns for a whole run. Without it nothing is certified, and the learner never leads.
    """

    def policy(self) -> ArrayLike:
        """Return the policy of the next user: actions (H, S), or probabilities of actions (H, S, A)."""
        ...

    def see(self, states: NDArray[np.int64], actions: NDArray[np.int64], rewards: Floats) -> None:
        """Learn from one user's episode: states (H + 1), actions (H) and rewards (H)."""
        ...


def loaded(name: str) -> Any:
    """Return the class of a learner.

    Args:
        name: ``module:class``. The module must be importable.

    Raises:
        ValueError: there is no such module or class, or the class lacks one of the two methods.
    """
    module, _, inner = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), inner)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"learner ({name!r}) must be module:class of a learner that can be imported: {error}"
        ) from error
    lacking = [method for method in ("policy", "see") if not callable(getattr(found, method, None))]
    if lacking or not inspect.isclass(found):
        raise ValueError(f"learner ({name!r}) must be a class with the methods policy and see")
    return found


def ready(name: str, problem: Problem, epsilon: float) -> Ready:
    """Return another person's learner, ready for a problem and an epsilon.

    The certified epsilon is that of its ``account``, at delta 1e-6. Without one nothing is certified.
    """
    kind, sizes = loaded(name), Sizes(*sizes_of(problem))
    account = getattr(kind, "account", None)
    if epsilon == math.inf:
        return Ready(None, None, partial(_played, kind, problem, epsilon))
    certified = None if account is None else _certified(name, account(sizes, epsilon))
    return Ready(certified, float(DELTA), partial(_played, kind, problem, epsilon))


def _certified(name: str, result: Any) -> float:
    if not isinstance(result, PrivacyResult):
        raise ValueError(
            f"account of {name!r} returned {result!r}, but it must return what dpproof.account returns"
        )
    return result.epsilon(DELTA).upper


def _played(kind: Any, problem: Problem, epsilon: float, seed: np.random.SeedSequence) -> Floats:
    """Return the regret of every episode of a run."""
    noise, users = seed.spawn(2)
    learner: Outside = kind(Sizes(*sizes_of(problem)), epsilon, np.random.default_rng(noise))
    mdp, rng, world = problem.mdp, np.random.default_rng(users), world_of(problem.mdp)
    values, best = np.zeros((mdp.horizon + 1, mdp.states)), best_value(world)
    states, actions = np.empty((1, mdp.horizon + 1), np.int64), np.empty((1, mdp.horizon), np.int64)
    regrets, only, last = np.empty(problem.episodes), np.zeros(1, np.int64), b""
    policy, earned = np.empty(0, np.float32), 0.0
    for number in range(problem.episodes):
        given = np.asarray(learner.policy())
        if given.tobytes() != last:
            policy, last = _policy(given, problem), given.tobytes()
            earned = value(world, policy, values)
        play(world, policy[None], only, rng, states, actions)
        learner.see(states[0].copy(), actions[0].copy(), mdp.rewards[states[0, :-1], actions[0]])
        regrets[number] = best - earned
    return regrets


def _policy(given: NDArray[Any], problem: Problem) -> NDArray[np.float32]:
    """Return a policy as probabilities (H, S, A).

    Raises:
        ValueError: another shape, an action that does not exist, or numbers that are no probabilities.
    """
    S, A, H, _ = sizes_of(problem)
    if given.shape == (H, S) and given.dtype.kind in "iu":
        if given.min() < 0 or given.max() >= A:
            raise ValueError(f"the policy must hold actions 0 to {A - 1} on {problem.name}")
        chances: NDArray[np.float32] = (given[..., None] == np.arange(A)).astype(np.float32)
        return chances
    if given.shape != (H, S, A) or not ((given >= 0).all() and np.allclose(given.sum(axis=2), 1)):
        raise ValueError(
            f"the policy (shape {given.shape}) must hold integer actions ({H}, {S}) or probabilities ({H}, {S}, {A}) "
            f"on {problem.name}"
        )
    return given.astype(np.float32)
