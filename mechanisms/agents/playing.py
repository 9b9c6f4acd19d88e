"""Fast simulations of agents: the exact regret of every episode in a finite Markov decision process.

`dpproof.mechanisms.agents.agent.Agent.train` plays real users, one after another. Here users whose policies do not
depend on each other are played in one compiled loop and counted at once. What an agent learns is the same, bit for bit.
Regret is exact: the policy of every episode is evaluated in the true model. Agents are simulations here, and so they
have no guarantee.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.learner import Floats, Ints, Learner, Paths, Weights
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.compiled import njit

Tables = NDArray[np.float32]


class FiniteMDP(Protocol):
    """Interface of a finite decision process, such as `TabularMDP` and `ChangingMDP`.

    The arrays have the shapes (S, A, S) and (S, A). If laws depend on the step, an axis for the step comes first.
    """

    @property
    def transitions(self) -> Floats:
        """The probabilities of the next states."""
        ...

    @property
    def rewards(self) -> Floats:
        """The rewards."""
        ...

    @property
    def horizon(self) -> int:
        """The number of steps H of an episode."""
        ...

    @property
    def start(self) -> int:
        """The state in which every episode begins."""
        ...


class World(NamedTuple):
    """A decision process as arrays for compiled code. G is the number of tables: H, or 1 if all steps share one.

    `rewards` (G, S, A) are those of a step. The other arrays have the shape (G, S, A, b). `after` holds the possible
    next states, `chances` their probabilities, and `sums` the cumulative sums of the probabilities. A state of
    probability 0 that fills up a row is never drawn. An episode ends in a state whose entry of `ends` (S,) is true.
    """

    rewards: Floats
    after: Ints
    chances: Floats
    sums: Floats
    ends: NDArray[np.bool_]
    horizon: int
    start: int


def world_of(mdp: FiniteMDP, ends: Collection[int] = ()) -> World:
    """Return a decision process for compiled code.

    Args:
        mdp: the process.
        ends: the states in which an episode ends. They pay nothing, and no action is taken in them.

    Raises:
        ValueError: a state in which an episode ends pays a reward or can be left, or an episode begins in it.
    """
    transitions = mdp.transitions.reshape(-1, *mdp.transitions.shape[-3:])
    rewards = mdp.rewards.reshape(-1, *mdp.rewards.shape[-2:])
    over = np.zeros(transitions.shape[-1], np.bool_)
    over[list(ends)] = True
    if (
        rewards[:, over].any()
        or not (transitions[:, over][..., over].sum(axis=-1) == 1).all()
        or over[mdp.start]
    ):
        raise ValueError(
            f"ends ({sorted(ends)}) must be states that pay nothing and are never left, and no episode may begin there"
        )
    possible = transitions > 0
    width = int(possible.sum(axis=-1).max())
    after = np.argsort(~possible, axis=-1, kind="stable")[..., :width]
    chances = np.take_along_axis(transitions, after, axis=-1)
    sums = chances.cumsum(axis=-1)
    sums[chances == 0] = np.inf  # the last possible state takes what rounding leaves
    last = possible.sum(axis=-1, keepdims=True) - 1
    np.put_along_axis(sums, last, np.inf, axis=-1)
    return World(rewards, after, chances, sums, over, mdp.horizon, mdp.start)


@njit
def play(
    world: World, policies: Tables, which: Ints, rng: np.random.Generator, states: Ints, actions: Ints
) -> None:  # pragma: no cover - compiled
    """Play one episode of each user, and fill in `states` (n, H + 1) and `actions` (n, H).

    Users number i acts by the policy number ``which[i]``. After the end of an episode, states are S and actions -1.
    """
    G, S, A, _ = world.after.shape
    for user in range(which.size):
        p, s = which[user], world.start
        states[user, 0] = s
        for h in range(world.horizon):
            if s == S:
                actions[user, h], states[user, h + 1] = -1, S
                continue
            total = 0.0
            for a in range(A):
                total += np.float64(policies[p, h, s, a])
            u, a = rng.random() * total, 0
            part = np.float64(policies[p, h, s, 0])
            while a < A - 1 and u >= part:
                a += 1
                part += np.float64(policies[p, h, s, a])
            u, j, g = rng.random(), 0, min(h, G - 1)
            while u >= world.sums[g, s, a, j]:
                j += 1
            actions[user, h] = a
            s = world.after[g, s, a, j]
            s = S if world.ends[s] else s
            states[user, h + 1] = s


@njit
def value(world: World, policy: Tables, values: Floats) -> float:  # pragma: no cover - compiled
    """Return the exact value of a policy (H, S, A) from the start. `values` (H + 1, S) is scratch, the last row 0."""
    G, S, A, b = world.after.shape
    for h in range(world.horizon - 1, -1, -1):
        g = min(h, G - 1)
        for s in range(S):
            total, mean = 0.0, 0.0
            for a in range(A):
                weight = np.float64(policy[h, s, a])
                if weight > 0.0:
                    to_come = world.rewards[g, s, a]
                    for j in range(b):
                        to_come += world.chances[g, s, a, j] * values[h + 1, world.after[g, s, a, j]]
                    total += weight
                    mean += weight * to_come
            values[h, s] = mean / total
    return values[0, world.start]  # type: ignore[no-any-return] # an array entry


@njit
def best_value(world: World) -> float:  # pragma: no cover - compiled
    """Return the value of the best policy from the start."""
    G, S, A, b = world.after.shape
    values = np.zeros((world.horizon + 1, S))
    for h in range(world.horizon - 1, -1, -1):
        g = min(h, G - 1)
        for s in range(S):
            values[h, s] = -np.inf
            for a in range(A):
                to_come = world.rewards[g, s, a]
                for j in range(b):
                    to_come += world.chances[g, s, a, j] * values[h + 1, world.after[g, s, a, j]]
                values[h, s] = max(values[h, s], to_come)
    return values[0, world.start]  # type: ignore[no-any-return] # an array entry


def regrets(agent: Agent, mdp: FiniteMDP, rng: np.random.Generator, ends: Collection[int] = ()) -> Floats:
    """Return the regret of every episode of an agent's whole run, an array (K,).

    The regret of an episode is the best expected sum of rewards minus that of the policy that the user acted by.

    Args:
        agent: a new agent that is a simulation, for observations 0, ..., S-1 and actions 0, ..., A-1.
        mdp: the process that users live in.
        rng: the source of randomness of the users.
        ends: the states in which an episode ends.

    Raises:
        ValueError: the agent is no simulation, has seen users, or was made for other sizes.

    >>> from dpproof.mechanisms.agents.making import agent
    >>> from dpproof.mechanisms.environments.tabular import TabularMDP
    >>> bandit = TabularMDP([[[1.0], [1.0]]], [[0.0, 1.0]], horizon=1)
    >>> one = agent("dp-ucbvi", observations=1, actions=2, episodes=1000, horizon=1, epsilon=1, delta="1e-6",
    ...             adjacency="replace", reward_range=(0, 1), seed=0)
    >>> found = regrets(one, bandit, np.random.default_rng(0))
    >>> found.shape, found[0], found[-1]
    ((1000,), np.float64(0.5), np.float64(0.0))
    """
    world, task = world_of(mdp, ends), agent.task
    _check(agent, world)
    pay = np.vectorize(task.gain, otypes=[np.float64])(world.rewards)
    values, best = np.zeros((world.horizon + 1, task.states)), best_value(world)
    found = np.empty(task.episodes)
    last: tuple[Weights | None, float] = None, 0.0
    while agent.users < task.episodes:
        first, policies, which = agent.users, *_policies(agent)
        paths = _played(world, pay, np.stack(policies), which, rng)
        agent._learner.see_all(paths)
        earned = []
        for policy in policies:
            last = last if policy is last[0] else (policy, value(world, policy, values))
            earned.append(last[1])
        found[first : agent.users] = best - np.array(earned)[which]
    return found


def _check(agent: Agent, world: World) -> None:
    """Raise an error unless an agent is a new simulation for a decision process of these sizes."""
    task, (_, S, A) = agent.task, world.rewards.shape
    if not agent.simulated:
        raise ValueError("agent must be a simulation, because its users are. Make it with a seed.")
    if not isinstance(task.observations, FiniteSpace):
        raise ValueError(
            "agent must have finitely many observations, because the process has finitely many states"
        )
    if agent.users:
        raise ValueError(f"agent must be new, but {agent.users} users have begun")
    if (task.states, task.actions.size, task.horizon) != (S, A, world.horizon):
        raise ValueError(
            f"agent must be made for {S} observations, {A} actions and horizon {world.horizon}, not for {task.states}, "
            f"{task.actions.size} and {task.horizon}"
        )


def _policies(agent: Agent) -> tuple[list[Weights], Ints]:
    """Let users begin whose policies do not depend on each other. Return the policies, and which one each has."""
    learner: Learner = agent._learner
    policies: list[Weights] = []
    which: list[int] = []
    for _ in range(min(learner.together, agent.task.episodes - agent.users)):
        agent._begin()
        weights = np.asarray(learner.for_user())  # no copy of a table
        if not policies or weights is not policies[-1]:
            policies.append(weights)
        which.append(len(policies) - 1)
    return policies, np.array(which)


def _played(world: World, pay: Floats, policies: Tables, which: Ints, rng: np.random.Generator) -> Paths:
    """Return the episodes of users who act by these policies. `pay` (G, S, A) are the gains."""
    users, H = which.size, world.horizon
    states, actions = np.empty((users, H + 1), np.int64), np.empty((users, H), np.int64)
    play(world, policies, which, rng, states, actions)
    steps = np.minimum(np.arange(H), len(pay) - 1)
    inside = np.minimum(states[:, :-1], pay.shape[1] - 1)
    return Paths(states, actions, np.where(actions >= 0, pay[steps, inside, actions], 0.0))
