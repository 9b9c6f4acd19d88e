"""Learning from first visits: what is counted, the check of the pooled laws, guarantees, restarts and learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from dpproof import UnprovedAdjacencyError, agent, load_agent
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.mechanisms.agents import first_visit_plans
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.first_visits import FirstVisitLearner, Noise, Trust, TrustPlanner
from dpproof.mechanisms.agents.journal import JournalError
from dpproof.mechanisms.agents.learner import Path, Paths
from dpproof.mechanisms.agents.playing import FiniteMDP, regrets
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.environments.changing import ChangingMDP
from dpproof.mechanisms.environments.tabular import TabularMDP
from tests.rows import rows

pytestmark = pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")


def lock(turn: int, horizon: int = 8) -> ChangingMDP:
    """Return a lock of three states whose good actions change at a step."""
    transitions, rewards = np.zeros((horizon, 3, 2, 3)), np.zeros((horizon, 3, 2))
    for h, s in np.ndindex(horizon, 3):
        good = (s + (h >= turn)) % 2
        transitions[h, s, good, min(s + 1, 2)] += 0.9
        transitions[h, s, good, 0] += 0.1
        transitions[h, s, 1 - good, 0] = 1
        rewards[h, s, good] = s == 2
    return ChangingMDP(transitions, rewards)


def made(mdp: FiniteMDP, episodes: int = 4000, **more: Any) -> Agent:
    states, actions = mdp.rewards.shape[-2:]
    given: dict[str, Any] = {"epsilon": 5, "delta": "1e-6", "adjacency": "replace", "seed": 1}
    return agent(
        "first-visit-vi", observations=states, actions=actions, episodes=episodes, horizon=mdp.horizon,
        reward_range=(0, 1), **{**given, **more},
    )  # fmt: skip


def test_an_episode_counts_first_visits_and_every_step() -> None:
    counters = made(lock(4))._learner._counters  # type: ignore[attr-defined] # of this learner
    actions, gains = np.zeros(4, np.int64), np.ones(4)
    counters.count(Paths.of(Path(np.array([0, 1, 0, 0, 3]), actions, gains)))
    moves = counters._transitions._leaf.reshape(6, 4)
    steps = counters._steps._leaf.reshape(8, 6, 4)
    assert {tuple(place) for place in np.argwhere(moves)} == {(0, 1), (2, 0)}
    assert {tuple(place) for place in np.argwhere(steps)} == {(0, 0, 1), (1, 2, 0), (2, 0, 0), (3, 0, 3)}
    assert counters._gains._leaf.sum() == 2 * 1024


@pytest.mark.parametrize("seed", range(3))
def test_laws_that_change_are_refuted_and_then_learnt(seed: int) -> None:
    mdp = lock(4)
    one = made(mdp, 20_000, seed=seed)
    found = regrets(one, mdp, np.random.default_rng(seed))
    assert not one._learner.pooled  # type: ignore[attr-defined] # of this learner
    assert found[-1000:].mean() < 0.3 * found[0]
    unchecked = made(mdp, 20_000, seed=seed)
    unchecked._learner._again = None  # type: ignore[attr-defined] # pooled for ever, the control
    pooled = regrets(unchecked, mdp, np.random.default_rng(seed))
    assert pooled[-1000:].mean() > 0.4 * pooled[0]


@pytest.mark.slow
def test_laws_that_stay_are_not_refuted() -> None:
    """A correct learner fails with probability below 1e-3: 20 runs, each with a test at 6 standard deviations."""
    mdp = lock(8)
    for seed in range(20):
        one = made(mdp, seed=seed)
        found = regrets(one, mdp, np.random.default_rng(seed))
        assert one._learner.pooled  # type: ignore[attr-defined] # of this learner
        assert found[-100:].mean() < 0.2 * found[0]


def test_both_kinds_of_tables_meet_the_guarantee() -> None:
    one = made(lock(4), seed=None)
    first, second = one.promise.releases
    assert isinstance(first, BatchedCountsParameters)
    assert isinstance(second, BatchedCountsParameters)
    assert first.step_sigma is not None
    assert (first.pooled, second.pooled) == (True, False)
    for parameters in (first, second):
        found = accountant_for("batched-counts").account(parameters, "replace").epsilon("1e-6")
        assert found.upper == pytest.approx(5, rel=1e-6)
        assert found.upper <= 5 * (1 + 1e-12)
    assert one.result.epsilon("1e-6").upper == pytest.approx(5, rel=1e-6)


def test_the_check_costs_its_share() -> None:
    one = made(lock(4)).promise.releases[0]
    assert isinstance(one, BatchedCountsParameters)
    alone = accountant_for("batched-counts").least_noise(replace(one, step_sigma=None), "replace", 5, "1e-6")[
        0
    ]
    squares = (alone.sigma / one.sigma) ** 2  # what is left of the squared budget for the other counts
    assert squares == pytest.approx(1 - first_visit_plans.CHECK, abs=1e-6)


def test_a_limit_on_gains_moves_budget_to_transitions() -> None:
    free = made(lock(4)).promise.releases[0]
    limited = made(lock(4), most_reward=1).promise.releases[0]
    assert isinstance(free, BatchedCountsParameters)
    assert isinstance(limited, BatchedCountsParameters)
    assert free.cost_factor == 1.2
    assert limited.cost_factor == pytest.approx(1.2 * (1 / 6) ** 0.25, abs=1e-3)  # six cells, one gain
    assert limited.sigma * limited.cost_factor < free.sigma * free.cost_factor


def test_a_passport_names_both_kinds_of_tables(tmp_path: FilePath) -> None:
    one = made(lock(4), 50, seed=None)
    one.save(tmp_path / "agent.npz")
    held = load_agent(tmp_path / "agent.npz")
    assert held.result is not None
    assert held.result.epsilon("1e-6").upper == pytest.approx(5, rel=1e-6)
    assert len(held.told["releases"]) == 2


def test_a_run_goes_on_from_its_journal(tmp_path: FilePath) -> None:
    mdp, file = lock(2, 2), tmp_path / "journal.db"

    def serve(users: int) -> Any:
        one = made(mdp, 200, seed=None, journal=file)
        for number in range(users):
            with one.user() as user:
                for _ in range(2):
                    user.act(0)
                    user.observe(float(number % 2), 0)
        policy, batches = one.policy.weights, one._learner.releases  # type: ignore[attr-defined] # of this learner
        one.close()
        return policy, batches

    first, again = serve(60), serve(0)
    assert first[1] == again[1] > 0
    assert (first[0] == again[0]).all()


@pytest.mark.parametrize("before", [False, True])
def test_a_journal_whose_check_comes_out_otherwise_is_refused(
    before: bool, tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check may end differently where rounding differs. Then recorded noise must not be used again."""
    mdp, file = lock(2, 2), tmp_path / "journal.db"
    monkeypatch.setattr(FirstVisitLearner, "_refuted", lambda *_: before)
    one = made(mdp, 40, seed=None, journal=file)
    for _ in range(20):
        one.user().abort()
    one.close()
    made(mdp, 40, seed=None, journal=file).close()
    monkeypatch.setattr(FirstVisitLearner, "_refuted", lambda *_: not before)
    with pytest.raises(JournalError, match="same noise again"):
        made(mdp, 40, seed=None, journal=file)


def planner(trust: Trust, noise: float) -> TrustPlanner:
    """Return a planner for one state, two actions and one step."""
    task = Task(FiniteSpace.of("observation", 1), FiniteSpace.of("action", 2), 1, 100, 0.0, 1.0)
    spread = np.full(3, noise)
    return TrustPlanner(task, trust, Noise(spread, spread, np.zeros(3)))


@rows(
    "trust, noise, gains, visits, best",
    [
        (Trust(), 1.0, (50.0, 80.0), (100.0, 100.0), (0, 1)),
        (Trust(prior=1.0), 1.0, (99.0, 0.0), (100.0, 0.0), (0, 1)),  # nothing is known of action 1
        (Trust(prior=0.0), 1.0, (99.0, 0.0), (100.0, 0.0), (1, 0)),
        (Trust(), 60.0, (100.0, 100.0), (100.0, 100.0), (0.5, 0.5)),  # both counts are below the threshold
        (Trust(shrink=0.0, bonus=0.0, prior=0.0), 0.0, (50.0, 80.0), (100.0, 200.0), (1, 0)),
    ],
)
def test_a_cell_is_trusted_as_far_as_the_noise_allows(
    trust: Trust, noise: float, gains: Any, visits: Any, best: Any
) -> None:
    one = planner(trust, noise)
    one.read(np.array([[0], [0]]), np.array([gains]), np.array([visits]).reshape(1, 2, 1), noisy=True)
    assert one.weights[0, 0].tolist() == list(best)


def test_with_the_constants_of_the_theory_values_are_optimistic() -> None:
    """With prior 1, no thresholds and a bonus above the largest error of the noise, no cell costs more than it does."""
    rng = np.random.default_rng(0)
    S, A, H, users = 3, 2, 4, 5000
    law, cost = rng.dirichlet(np.ones(S), (S, A)), rng.random((S, A))
    true = np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        true[h] = (cost + law @ true[h + 1]).min(axis=1)
    task = Task(FiniteSpace.of("observation", S), FiniteSpace.of("action", A), H, users, 0.0, 1.0)
    counts = np.concatenate([law * users, np.zeros((S, A, 1))], axis=2).reshape(1, S * A, S + 1)
    gains = ((1 - cost) * users).reshape(1, S * A)
    for trust, holds in ((Trust(1.0, 0.0, 12.0, 0.0, 0.0), True), (Trust(0.0, 9.0, 0.0, 2.0, 2.0), False)):
        worst = -np.inf
        for _ in range(20):
            one = TrustPlanner(task, trust, Noise(np.full(1, 100.0), np.full(1, 100.0), np.zeros(1)))
            noise = rng.normal(0, 100, counts.shape), rng.normal(0, 100, gains.shape)
            one.read(np.tile(np.arange(S + 1), (S * A, 1)), gains + noise[1], counts + noise[0], noisy=True)
            worst = max(worst, float((one._values[:, :S] - true).max()))
        assert (worst <= 1e-9) is holds


@rows(
    "more, error, message",
    [
        ({"delta": 0}, ValueError, "must be above 0 for first-visit-vi"),
        ({"adjacency": "rewards-only"}, UnprovedAdjacencyError, "Use dp-ucbvi there"),
        ({"privatizer": "tree"}, ValueError, "must be 'auto'"),
        ({"support": "found"}, ValueError, "must be one of"),
        ({"episodes": 1}, ValueError, "must be at least 2"),
    ],
)
def test_what_the_learner_cannot_do_is_rejected(more: Any, error: Any, message: str) -> None:
    given = {"mdp": TabularMDP([[[1.0]]], [[1.0]], 3), **more}
    with pytest.raises(error, match=message):
        made(**given)


def test_constants_outside_their_range_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"prior \(2"):
        Trust(prior=2)
    with pytest.raises(ValueError, match=r"shrink \(-1"):
        Trust(shrink=-1)
