"""Agents' own counters against their accountant: all pairs of episodes of small tasks, released without noise.

Every episode is counted by the code that agents run, as the only user of a batch. The released numbers are divided by
the scale of the noise that the same code would add. So the distance between the releases of two neighbours is the mu of
Gaussian noise, or the epsilon of Laplace noise, that they need. The accountant's number must be at least the largest
distance. The tests also state how much larger it may be.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpproof import Adjacency, agent
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.mechanisms.agents import algorithms, plans
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.counted import LocalLearner
from dpproof.mechanisms.agents.counters import Counters
from dpproof.mechanisms.agents.first_visits import FirstVisitLearner
from dpproof.mechanisms.agents.learner import Floats, Path, Paths
from dpproof.mechanisms.agents.presets import OPTIMISTIC
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import TreeSums
from tests.rows import tiered

BATCHES = 3
GAINS = (0.0, 0.3, 1.0)
RELATIONS = (Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY)


@dataclass
class Silent:
    """A law of noise that draws zeros, and remembers its scale."""

    scale: Any

    def draw(self, count: int, source: Any = None) -> Any:
        return np.zeros(count, np.int64)


class WatchedTree(TreeSums):
    """A tree that keeps the true sums of its nodes, in the order in which they are released."""

    def _noisy(self, true: Floats) -> Floats:
        self.__dict__.setdefault("nodes", []).append(true)
        return super()._noisy(true)


@pytest.fixture(autouse=True)
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RoundedNormal", "RoundedLaplace"):
        monkeypatch.setattr(plans, name, Silent)
    monkeypatch.setattr(plans, "TreeSums", WatchedTree)


def task(states: int, actions: int, horizon: int, **more: Any) -> Task:
    spaces = FiniteSpace.of("observation", states), FiniteSpace.of("action", actions)
    return Task(*spaces, horizon, BATCHES + 1, 0.0, 1.0, **more)


def paths(of: Task) -> Iterator[Path]:
    """Yield every episode of 1, ..., H steps that ends, is cut off, or has H steps."""
    S, A = of.states, of.actions.size
    moves = list(itertools.product(range(A), range(S + 1), GAINS))
    for n in range(1, of.horizon + 1):
        for first, steps in itertools.product(range(S), itertools.product(moves, repeat=n)):
            actions, after, gains = zip(*steps, strict=True)
            if S not in after[:-1]:
                yield Path(np.array([first, *after]), np.array(actions), np.array(gains))


def released(counters: Counters, path: Path | None, batch: int) -> Floats:
    """Return all numbers of a run in which this user is alone in a batch, in units of their noise."""
    for number in range(counters.counting.releases):
        if path is not None and number == batch:
            counters.count(Paths.of(path))
        counters.release()
    found = []
    for sums in (counters._gains, counters._transitions, counters._steps):
        if sums is not None:
            values = sums.nodes if isinstance(sums, WatchedTree) else sums._released
            found.append(np.array(values).ravel() / float(sums._draw.func.__self__.scale))
    return np.concatenate(found)


def largest(of: Task, wish: plans.Wish, batch: int) -> tuple[float, Any]:
    """Return the largest distance between the releases of neighbours, and the accountant's guarantee."""
    plan = plans.central_plan(of, wish)
    counting = plans.counting_of(of, plan, OPTIMISTIC)
    users = list(paths(of))
    rows = np.array([
        released(plans.counters_of(of, plan, counting, lambda n: np.zeros(n, np.uint64)), path, batch)
        for path in users
    ])  # fmt: skip
    norm = "cityblock" if plan.laplace else "euclidean"
    found = accountant_for("batched-counts").account(plan.parameters, wish.adjacency).guarantee
    proved = found.epsilon(0).upper if plan.laplace else found.mu.upper
    if wish.adjacency is Adjacency.ADD_REMOVE:
        return float(cdist(rows, np.zeros_like(rows[:1]), norm).max()), proved
    together: dict[Any, list[int]] = {}
    for number, path in enumerate(users):
        same = (tuple(path.states), tuple(path.actions)) if wish.adjacency is Adjacency.REWARDS_ONLY else ()
        together.setdefault(same, []).append(number)
    return max(float(cdist(rows[some], rows[some], norm).max()) for some in together.values()), proved


SHAPES: dict[str, dict[str, Any]] = {
    "square root, pooled, cap 1": {"cap": 1},
    "square root, pooled, cap H": {"cap": 2},
    "square root, a table for each step": {"pooled": False},
    "banded": {"cap": 2, "bands": 2},
    "batches that grow": {"cap": 1, "growth": 0.5},
    "transitions of each step as well": {"cap": 1, "step_sigma": 9.0},
    "transitions of each step on a tree": {"cap": 2, "counter": "tree", "step_sigma": 9.0},
    "tree": {"cap": 2, "counter": "tree"},
    "tree, a table for each step": {"counter": "tree", "pooled": False},
    "tree, Laplace, cap 1": {"cap": 1, "counter": "tree", "noise": "laplace"},
    "tree, Laplace, cap H": {"cap": 2, "counter": "tree", "noise": "laplace"},
    "tree, Laplace, a table for each step": {"counter": "tree", "noise": "laplace", "pooled": False},
}


@pytest.mark.parametrize("most", [None, 0.75])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_pair_of_episodes_is_further_apart_than_the_accountant_says(
    shape: str, relation: Adjacency, most: float | None
) -> None:
    if relation is Adjacency.REWARDS_ONLY and "step_sigma" in SHAPES[shape]:
        return  # transitions are public
    of = task(2, 2, 2, most_gain=most)
    chosen = BatchedCountsParameters(
        2, 2, 2, BATCHES + 1, 1.0, cost_factor=1.5, bits=6, grains=1024, most_payoff=most,
        public_transitions=relation is Adjacency.REWARDS_ONLY, **SHAPES[shape],
    )  # fmt: skip
    wish = plans.Wish(relation, 2.0, 0 if chosen.noise == "laplace" else "1e-5", OPTIMISTIC, chosen)
    for batch in (0, BATCHES - 1) if most is None else (0,):
        apart, proved = largest(of, wish, batch)
        assert apart <= proved * (1 + 1e-12)
        if most is None and batch == 0:  # the first batch is in the most nodes, and all visits are possible
            least = 1 if relation is not Adjacency.REPLACE else 0.8
            assert apart >= proved * least * (1 - 1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sizes", [(1, 1, 3), (1, 2, 3), (2, 1, 3)])
def test_the_chosen_counters_keep_their_sensitivity(sizes: tuple[int, int, int], relation: Adjacency) -> None:
    of = task(*sizes)
    for delta in ("1e-5", 0):
        wish = plans.Wish(relation, 2.0, delta, OPTIMISTIC)
        apart, proved = largest(of, wish, 0)
        assert 0.5 * proved < apart <= proved * (1 + 1e-12)


@pytest.mark.parametrize("delta", [0, "1e-5"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sizes", [(1, 1, 2), (1, 1, 3), (2, 1, 2), (1, 2, 2), (2, 2, 2)])
def test_what_a_local_user_sends_is_no_further_apart_than_the_accountant_says(
    sizes: tuple[int, int, int], relation: Adjacency, delta: Any
) -> None:
    of = task(*sizes)
    plan = plans.local_plan(of, plans.Wish(relation, 2.0, delta, OPTIMISTIC, "local"))
    noise = [plan.noise(scale, units, lambda n: np.zeros(n, np.uint64)) for scale, units in plan.families]
    counters = plans.counters_of(of, plan, plans.counting_of(of, plan, OPTIMISTIC), noise[0])
    learner = LocalLearner(counters, None, *noise)  # type: ignore[arg-type] # nothing is planned
    scales = [float(draw.func.__self__.scale) for draw in noise]  # type: ignore[attr-defined]
    users = list(paths(of))
    sent = [learner.sent(path) for path in users]
    rows = np.array(
        [np.concatenate([one["gains"] / scales[0], one["transitions"] / scales[1]]) for one in sent]
    )
    found = accountant_for("local-counts").account(plan.parameters, relation).guarantee
    norm, proved = ("cityblock", found.epsilon(0)) if plan.laplace else ("euclidean", found.mu)
    together: dict[Any, list[int]] = {}
    for number, path in enumerate(users):
        same = (tuple(path.states), tuple(path.actions)) if relation is Adjacency.REWARDS_ONLY else ()
        together.setdefault(same, []).append(number)
    others = np.zeros_like(rows[:1]) if relation is Adjacency.ADD_REMOVE else None
    apart = max(
        float(cdist(rows[some], rows[some] if others is None else others, norm).max())
        for some in together.values()
    )
    assert apart <= proved.upper * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("late", [0, 1, 2, 17, 31])
def test_how_long_a_user_takes_moves_nobody_else(relation: str, late: int) -> None:
    """One user ends at once, or is another one who ends while user number ``late`` is taking part.

    Batches end when users begin. So the other users stay in their batches, and the releases are not further apart than
    the guarantee says. With places in the order in which sessions end, all users after the first would move.
    """
    users = 32
    given = BatchedCountsParameters(2, 1, 1, users + 2, 1.0, bits=16, grains=1024)
    rows = []
    for changed in (False, True):
        one = agent(
            "private-ucb-vi", observations=2, actions=1, episodes=users + 2, horizon=1, epsilon=2, delta="1e-5",
            adjacency=relation, reward_range=(0, 1), privatizer=given,
        )  # fmt: skip
        first = one.user()
        seen = int(changed)
        first.act(seen)
        first.observe(1.0, seen)
        if not changed:
            first.finish()
        for number in range(users):
            with one.user() as user:
                user.act(number % 2)
                user.observe(1.0, number % 2)
                if number == late and changed:
                    first.abort() if relation == "add-remove" else first.finish()
        one.user()  # the last batch is released
        sums = (one._learner._counters._gains, one._learner._counters._transitions)
        rows.append([np.array(x._released) / float(x._draw.func.__self__.scale) for x in sums])
    apart = np.sqrt(sum(np.square(a - b).sum() for a, b in zip(*rows, strict=True)))
    proved: Any = one.promise.result().guarantee
    assert 0.4 * proved.mu.upper < apart <= proved.mu.upper


def ended_late(of: Agent, path: Path | None, late: int) -> Floats:
    """Return all numbers of a run of `first-visit-vi` in units of their noise, if a user ends after user ``late``.

    The user begins first. All others do the same in every run. The user is absent if there is no path.
    """
    learner: Any = of._learner
    both, first = [learner._counters], of.user()
    for number in range(of.task.episodes):
        if number:
            with of.user() as user:
                user.act(0)
                user.observe(0.3, 0, action=0)
        if number == late and path is not None:
            of._finish(None, path)
        elif number == late:
            first.abort()
    if learner._counters is not both[0]:
        both.append(learner._counters)
    sums = [x for one in both for x in (one._gains, one._transitions, one._steps) if x is not None]
    return np.concatenate(
        [np.array(x._released[: x.time]).ravel() / float(x._draw.func.__self__.scale) for x in sums]
    )


@pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
@pytest.mark.parametrize("most", [None, 0.75])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("restart", tiered([1, 2], fast=1))
def test_a_user_of_both_kinds_of_tables_is_no_further_apart_than_the_accountant_says(
    restart: int, relation: str, most: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user ends before the learner begins again, or after it. All pairs of episodes and of ends are compared."""
    monkeypatch.setattr(FirstVisitLearner, "_refuted", lambda self, *_: self.releases == restart)
    counts = algorithms.first_visit_counts
    monkeypatch.setattr(algorithms, "first_visit_counts", lru_cache(counts))
    rows, proved = [], 0.0
    for late, path in itertools.product((0, restart, 5), (None, *paths(task(1, 1, 2)))):
        one = agent(
            "first-visit-vi", observations=1, actions=1, episodes=7, horizon=2, epsilon=2, delta="1e-5",
            adjacency=relation, reward_range=(0, 1), most_reward=most,
        )  # fmt: skip
        rows.append(ended_late(one, path, late))
        found: Any = one.promise.result().guarantee
        proved = max(each.mu.upper for each in found.cases)
    apart = float(cdist(rows, rows if relation == "replace" else rows[:1]).max())
    assert 0.85 * proved < apart <= proved * (1 + 1e-12)
