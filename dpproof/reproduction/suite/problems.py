"""The problems of the benchmark, whose models are known, so that regret is exact."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import numpy as np

from dpproof.mechanisms.environments.bandit import bandit
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP


@dataclass(frozen=True)
class Facts:
    """What a decision process is worth.

    Attributes:
        states, actions, steps: its sizes.
        best: the value of the best policy.
        uniform: the value of the uniform policy.
    """

    states: int
    actions: int
    steps: int
    best: float
    uniform: float

    @classmethod
    def of(cls, mdp: TabularMDP) -> Facts:
        """Return the facts of a decision process."""
        uniform = np.full((mdp.horizon, mdp.states, mdp.actions), 1 / mdp.actions)
        values = (mdp.optimal_values()[0, mdp.start], mdp.policy_values(uniform)[0, mdp.start])
        return cls(mdp.states, mdp.actions, mdp.horizon, *map(float, values))


@dataclass(frozen=True)
class Problem:
    """A decision process that learners do not know, and how long they learn in it.

    Attributes:
        name: the name in tables and on the command line.
        about: what the problem is, in one sentence.
        make: a function that returns the decision process.
        episodes: the number K of episodes of a run.
        runs: the number of runs of each arm at each epsilon.
        large: whether only the best arms run, because a run takes long.
        arms: the arms that run, if the problem serves one question only.
        known: the facts of the process, if an extra is needed to make it. Pages are written without extras.
    """

    name: str
    about: str
    make: Callable[[], TabularMDP]
    episodes: int
    runs: int = 100
    large: bool = False
    arms: frozenset[str] | None = None
    known: Facts | None = None

    @property
    def mdp(self) -> TabularMDP:
        """The decision process."""
        return _made(self.name)

    @property
    def facts(self) -> Facts:
        """The facts of the decision process."""
        return self.known or Facts.of(self.mdp)

    @property
    def never(self) -> float:
        """The regret of the uniform policy in all episodes, which is the regret without learning."""
        facts = self.facts
        return (facts.best - facts.uniform) * self.episodes


def _frozen_lake(horizon: int) -> TabularMDP:
    return _toy_text("FrozenLake-v1", horizon, (0.0, 1.0))


def _toy_text(name: str, horizon: int, reward_range: tuple[float, float]) -> TabularMDP:
    import gymnasium

    from dpproof.mechanisms.environments.toy_text import toy_text

    return toy_text(gymnasium.make(name), horizon, reward_range)


def corridor(states: int = 10, horizon: int = 12, slip: float = 0.1) -> TabularMDP:
    """Return a chain: action 1 leads to the right unless it slips, action 0 to the left, and pays 0.02 there.

    The right end pays 1.

    >>> corridor().optimal_values()[0, 0].round(2)
    np.float64(1.46)
    """
    transitions, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for s in range(states):
        left, right = max(s - 1, 0), min(s + 1, states - 1)
        transitions[s, 0, left] = 1.0
        transitions[s, 1, right] += 1 - slip
        transitions[s, 1, left] += slip
    rewards[0, 0], rewards[-1, 1] = 0.02, 1.0
    return TabularMDP(transitions, rewards, horizon)


def admission(places: int = 8, horizon: int = 20) -> TabularMDP:
    """Return a queue that admits or rejects customers of two kinds, who pay 1 or 0.4; waiting costs.

    A state is the number of waiting customers and the kind at the door: none, cheap or dear.

    >>> admission().states
    27
    """
    kinds, served = (0.3, 0.45, 0.25), 0.35
    pays = (0.0, 0.4, 1.0)
    count = (places + 1) * len(kinds)
    transitions, rewards = np.zeros((count, 2, count)), np.zeros((count, 2))
    for waiting, kind, action in itertools.product(range(places + 1), range(len(kinds)), range(2)):
        s = waiting * len(kinds) + kind
        enters = bool(action and kind and waiting < places)
        rewards[s, action] = 0.5 + 0.5 * pays[kind] * enters - 0.5 * waiting / places
        for leaves, chance in ((1, served), (0, 1 - served)):
            after = max(waiting + enters - leaves, 0) * len(kinds)
            transitions[s, action, after : after + len(kinds)] += chance * np.array(kinds)
    return TabularMDP(transitions, rewards, horizon)


def garnet(states: int, actions: int, branches: int, horizon: int, seed: int) -> TabularMDP:
    """Return a random decision process in which each state and action has some random next states.

    One in five pairs of a state and an action pays, a uniform reward in [0, 1].
    """
    rng = np.random.default_rng(seed)
    transitions = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        transitions[s, a, rng.choice(states, branches, replace=False)] = rng.dirichlet(np.ones(branches))
    rewards = np.where(rng.random((states, actions)) < 0.2, rng.random((states, actions)), 0.0)
    return TabularMDP(transitions, rewards, horizon)


_TABLE: Final = (
    Problem("river-swim", "RiverSwim with 6 states, as in PRIVATE-UCB's Figure 2", river_swim, 20_000),
    Problem(
        "river-swim-4", "RiverSwim with 4 states, as in SDP-PE's Figure 6", partial(river_swim, 4, 6), 20_000
    ),
    Problem("chain", "a corridor of 10 states whose reward is at its end", corridor, 10_000),
    Problem("queue", "admission of two kinds of customers to a queue", admission, 10_000),
    Problem("random-small", "a random process: 6 states, 3 actions", partial(garnet, 6, 3, 3, 10, 61), 10_000),
    Problem("random-large", "a random process: 25 states, 4 actions", partial(garnet, 25, 4, 4, 15, 62), 10_000),
    Problem("bandit", "ten arms with evenly spaced mean rewards", partial(bandit, np.linspace(0.1, 0.9, 10)), 20_000),
    Problem(
        "frozen-lake",
        "FrozenLake of Gymnasium, 4 by 4, slippery",
        partial(_frozen_lake, 40),
        10_000,
        known=Facts(17, 4, 40, 0.461600887248552, 0.013907852268990425),
    ),
    Problem(
        "cliff-walking",
        "CliffWalking of Gymnasium",
        partial(_toy_text, "CliffWalking-v1", 30, (-100.0, 0.0)),
        10_000,
        20,
        large=True,
        known=Facts(49, 4, 30, 29.86999999999998, 26.235204473315907),
    ),
    Problem(
        "taxi",
        "Taxi of Gymnasium",
        partial(_toy_text, "Taxi-v4", 30, (-10.0, 20.0)),
        20_000,
        20,
        large=True,
        known=Facts(502, 6, 31, 10.59766666666667, 6.395804460884816),
    ),
)  # fmt: skip
_GROWING: Final = frozenset(
    ("PRIVATE-UCB-VI, no noise", "PRIVATE-UCB-VI, joint, pooled", "PRIVATE-UCB-VI, local, pooled")
)
_LONGER: Final = tuple(
    Problem(f"river-swim, K = {K}", "RiverSwim with other numbers of episodes", river_swim, K, arms=_GROWING)
    for K in (5_000, 80_000)
)
PROBLEMS: Final[Mapping[str, Problem]] = {problem.name: problem for problem in (*_TABLE, *_LONGER)}
"""All problems, by name."""


@cache
def _made(name: str) -> TabularMDP:
    return PROBLEMS[name].make()
