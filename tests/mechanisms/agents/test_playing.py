"""Fast simulations of agents agree with one user after another, bit for bit, and their regret with exact values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof import agent
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.learner import Floats, Path
from dpproof.mechanisms.agents.playing import FiniteMDP, best_value, regrets, value, world_of
from dpproof.mechanisms.environments.changing import ChangingMDP
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from tests.rows import rows

pytestmark = pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")


def goal() -> TabularMDP:
    """Return a process with an end: state 2 is a goal that is never left, and state 0 can lead there."""
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0], transitions[0, 1] = (0.5, 0.5, 0), (0, 0.3, 0.7)
    transitions[1, :, 0], transitions[2, :, 2] = 1, 1
    return TabularMDP(transitions, [[0.25, 0.0], [1.0, 0.5], [0.0, 0.0]], 5)


def changing(seed: int = 3) -> ChangingMDP:
    """Return a random process of 4 steps, 3 states and 2 actions whose laws differ from step to step."""
    rng = np.random.default_rng(seed)
    return ChangingMDP(rng.dirichlet(np.ones(3), (4, 3, 2)), rng.random((4, 3, 2)))


def made(algorithm: str, mdp: FiniteMDP, episodes: int = 130, **more: Any) -> Agent:
    states, actions = mdp.rewards.shape[-2:]
    given: dict[str, Any] = {"epsilon": 5, "delta": "1e-5", "adjacency": "replace", "seed": 1}
    return agent(
        algorithm, observations=states, actions=actions, episodes=episodes, horizon=mdp.horizon, reward_range=(0, 1),
        **{**given, **more},
    )  # fmt: skip


def one_by_one(one: Agent, mdp: FiniteMDP, rng: np.random.Generator, ends: tuple[int, ...]) -> Floats:
    """Return the regret of every episode. Users play one after another, by code that shares nothing with `playing`."""
    H, (S, A) = mdp.horizon, mdp.rewards.shape[-2:]
    transitions = np.broadcast_to(mdp.transitions, (H, S, A, S))
    rewards = np.broadcast_to(mdp.rewards, (H, S, A))
    found, best = np.zeros(one.task.episodes), worth(transitions, rewards, None)[mdp.start]
    for k in range(one.task.episodes):
        one._begin()
        weights = one._learner.for_user().astype(np.float64)
        found[k] = best - worth(transitions, rewards, weights / weights.sum(axis=2, keepdims=True))[mdp.start]
        states, actions, gains = [mdp.start], [], []
        for h in range(H):
            s = states[-1]
            if s == S:
                break
            sums = weights[h, s].cumsum()
            u = rng.random() * sums[-1]
            actions.append(min(int((sums <= u).sum()), A - 1))
            chances = transitions[h, s, actions[-1]]
            last = int(np.flatnonzero(chances).max())
            after = min(int((chances.cumsum() <= rng.random()).sum()), last)
            gains.append(rewards[h, s, actions[-1]])
            states.append(S if after in ends else after)
        one._learner.see(one._learner.sent(Path(np.array(states), np.array(actions), np.array(gains))))
    return found


def worth(transitions: Floats, rewards: Floats, weights: Floats | None) -> Floats:
    """Return the values of all states at the first step, of the best policy if `weights` is None."""
    values = np.zeros(transitions.shape[1])
    for h in range(len(rewards) - 1, -1, -1):
        table = rewards[h] + transitions[h] @ values
        values = table.max(axis=1) if weights is None else (weights[h] * table).sum(axis=1)
    return values


@pytest.mark.slow
@rows(
    "algorithm, mdp, ends, more",
    [
        ("dp-ucbvi", goal(), (2,), {}),
        ("private-ucb-vi", changing(), (), {"adjacency": "add-remove"}),
        ("private-ucb-po", goal(), (2,), {}),
        ("private-ucb-vi", goal(), (2,), {"adjacency": "rewards-only"}),
        ("dp-ucbvi", goal(), (), {"delta": 0}),
        ("dp-ucbvi", goal(), (2,), {"most_reward": 1.5}),
        ("dp-ucbvi", goal(), (2,), {"support": "found", "epsilon": 50}),
        ("private-ucb-po", goal(), (2,), {"privatizer": "local"}),
        ("rlsvi", goal(), (2,), {"adjacency": "rewards-only"}),
        ("sdp-pe", goal(), (), {"starts": [0]}),
    ],
)
def test_users_who_play_together_teach_the_same(
    algorithm: str, mdp: FiniteMDP, ends: tuple[int, ...], more: dict[str, Any]
) -> None:
    fast, slow = made(algorithm, mdp, **more), made(algorithm, mdp, **more)
    if algorithm == "sdp-pe":  # its users draw bits of their own
        for one in (fast, slow):
            one._learner._bits = np.random.default_rng(5)  # type: ignore[attr-defined] # of this learner
    found = regrets(fast, mdp, np.random.default_rng(2), ends)
    expected = one_by_one(slow, mdp, np.random.default_rng(2), ends)
    assert fast.users == fast.task.episodes
    assert (fast._learner.weights == slow._learner.weights).all()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_last_counts_are_equal_and_those_of_other_users_are_not() -> None:
    mdp = river_swim(horizon=8)
    fast, slow, other = (made("dp-ucbvi", mdp, 300) for _ in range(3))
    regrets(fast, mdp, np.random.default_rng(2))
    one_by_one(slow, mdp, np.random.default_rng(2), ())
    regrets(other, mdp, np.random.default_rng(3))
    first, second, third = (one._learner._counters._transitions for one in (fast, slow, other))  # type: ignore[attr-defined] # of this learner
    assert (first._released == second._released).all()
    assert (first._leaf == second._leaf).all()
    assert (first._released != third._released).any()


def test_values_are_those_of_the_process() -> None:
    mdp, rng = river_swim(), np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(2), (20, 6)).astype(np.float32)
    table = weights.astype(np.float64)
    exact = mdp.policy_values(table / table.sum(axis=2, keepdims=True))[0, 0]
    world = world_of(mdp)
    assert value(world, weights, np.zeros((21, 6))) == pytest.approx(exact, abs=1e-13)
    assert best_value(world) == pytest.approx(mdp.optimal_values()[0, 0], abs=1e-13)


def test_agents_that_cannot_be_simulated_are_rejected() -> None:
    mdp, rng = goal(), np.random.default_rng(0)
    with pytest.raises(ValueError, match="must be a simulation"):
        regrets(made("dp-ucbvi", mdp, seed=None), mdp, rng)
    with pytest.raises(ValueError, match="must be made for 6 observations"):
        regrets(made("dp-ucbvi", mdp), river_swim(), rng)
    with pytest.raises(ValueError, match=r"ends \(\[0\]\) must be states that pay nothing"):
        regrets(made("dp-ucbvi", mdp), mdp, rng, ends=(0,))
    used = made("dp-ucbvi", mdp)
    with used.user():
        pass
    with pytest.raises(ValueError, match="must be new"):
        regrets(used, mdp, rng)


def test_a_process_with_a_wrong_shape_is_rejected() -> None:
    with pytest.raises(ValueError, match="the shape of rewards"):
        ChangingMDP(np.ones((1, 1, 1)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="the shape of transitions"):
        ChangingMDP(np.ones((1, 1, 1)), np.ones((1, 1, 1)))
