"""Transitions that are found: what is counted and released, replays, refusals, and learning end to end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from dpproof import PassportError, agent, load_agent
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters, squared_counts
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.counters import Counting
from dpproof.mechanisms.agents.found import FoundCounters, Openings
from dpproof.mechanisms.agents.learner import Ints, Path, Paths
from dpproof.mechanisms.agents.making import SwampedWarning
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import LatticeSums, PlainSums

ignored = pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")


def silent(count: int) -> Ints:
    return np.zeros(count, np.int64)


def counters(
    threshold: int = 3, period: int = 1, cap: int = 2, draw: Any = silent, pooled: bool = True
) -> FoundCounters:
    """Return counters for 5 states, 2 actions and 4 steps, whose counters have no noise."""
    task = Task(
        FiniteSpace.of("observation", 5), FiniteSpace.of("action", 2), 4, 100, 0.0, 1.0, None, found=True
    )
    counting = Counting(1, None, 10, 9, cap, pooled, 1.0, 1.0)
    tables = 1 if pooled else 4
    moves = LatticeSums([2, 1, 1, 1, 1, 1, 1, 1, 1], 0, 1000, silent)
    return FoundCounters(
        task, counting, PlainSums(10 * tables), moves, Openings(Fraction(1), threshold, period), draw
    )


def path(*states: int) -> Paths:
    n = len(states) - 1
    return Paths.of(Path(np.array(states), np.zeros(n, np.int64), np.ones(n)))


def test_a_pair_is_opened_at_the_threshold_and_counts_from_the_next_batch() -> None:
    found = counters()
    for _ in range(2):
        found.count(path(0, 1, 4))
    gains, moves = found.release()
    assert found.possible == 0
    assert not gains.any()
    assert not moves.any()
    for _ in range(3):
        found.count(path(0, 1))
    found.count(path(1, 4))
    _, moves = found.release()
    assert found.after[0].tolist() == [1]
    assert moves.sum() == 0
    found.count(path(0, 1, 4))
    gains, moves = found.release()
    assert moves[0, 0, 0] == pytest.approx(1)
    assert gains.sum() == 1, "rewards of pairs without a counter are not counted"


def test_counts_of_a_period_are_added_up_and_those_of_two_periods_are_not() -> None:
    for period, opened in ((1, 0), (3, 1)):
        found = counters(period=period)
        for _ in range(3):
            found.count(path(0, 1))
            found.release()
        assert found.possible == opened


@pytest.mark.parametrize("pooled", [True, False])
def test_a_user_moves_counters_and_openings_together_at_most_as_far_as_one_table(pooled: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        found = counters(threshold=1, pooled=pooled)
        for _ in range(3):
            found.count(path(*rng.integers(0, 3, 5)))
        found.release()
        found.count(path(*rng.integers(0, 3, 5)))
        moved, gains = found._moves._leaf, found._gains._leaf
        waiting = np.array([*found._waiting.values(), 0])
        assert (moved**2).sum() + (waiting**2).sum() <= (squared_counts(5, 2, 4, 2) if pooled else 4)
        visits = np.zeros(gains.size)
        np.add.at(visits, [t * 10 + c for t, c, _ in found._where], moved)
        assert (gains <= visits).all(), "rewards of a cell are at most its counted visits"


def test_only_pairs_that_were_seen_get_noise_and_the_order_is_that_of_the_pairs() -> None:
    drawn: list[int] = []

    def draw(count: int) -> Ints:
        drawn.append(count)
        return np.array([100, -100, 100][:count], np.int64)

    found = counters(draw=draw)
    found.count(path(2, 1))
    found.count(path(0, 4))
    found.count(path(0, 3))
    found.release()
    assert drawn == [3]
    assert found._where == [(0, 0, 0), (0, 4, 0)]
    assert (found.after[0, 0], found.after[4, 0]) == (3, 1)


def test_streams_that_begin_later_are_decoded_like_streams_that_were_0_before() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(-9, 9, (6, 2))
    noise[:3, 1] = 0
    rows = iter(noise)
    late = LatticeSums([4, 2, 2, 1, 1, 1], 1, 100, lambda n: next(rows)[:n])
    early_rows = iter(noise)
    early = LatticeSums([4, 2, 2, 1, 1, 1], 2, 100, lambda n: next(early_rows)[:n])
    for t in range(6):
        if t == 3:
            late.grow(1)
        amounts = [t, t if t >= 3 else 0]
        early.add([0, 1], amounts)
        late.add(range(late.running.size), amounts[: late.running.size])
        assert late.close().tolist() == early.close()[: late.running.size].tolist()
        assert late.running == pytest.approx(early.running[: late.running.size])


def small(algorithm: str = "private-ucb-vi", **more: Any) -> Agent:
    given: dict[str, Any] = {
        "observations": 3, "actions": 2, "episodes": 3000, "horizon": 2, "epsilon": 5, "delta": "1e-5",
        "adjacency": "replace", "reward_range": (0, 1), "support": "found",
    }  # fmt: skip
    return agent(algorithm, **{**given, **more})


def serve(one: Agent, users: int) -> None:
    """Let users play in a ring of three states. Action 1 moves by two states and pays in state 2 only."""
    for _ in range(users):
        with one.user() as user:
            state = 0
            while not user.done:
                action = user.act(state)
                reward = float(action == 1 and state == 2)
                state = (state + 1 + action) % 3
                user.observe(reward, state)


@ignored
@pytest.mark.parametrize("algorithm", ["private-ucb-vi", "private-ucb-po", "dp-ucbvi"])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_an_agent_finds_the_transitions_and_learns(algorithm: str, relation: str) -> None:
    one = small(algorithm, adjacency=relation, seed=0)
    serve(one, 3000)
    weights = one.policy.weights
    assert weights[0, 0, 1] > 0.9
    assert weights[1, 2, 1] > 0.9
    counts = one._learner._counters
    assert counts.after.max() < 3, "an end that never happened is not opened"


@ignored
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_an_agent_with_found_transitions_keeps_its_budget(relation: str, tmp_path: FilePath) -> None:
    one = small(adjacency=relation)
    serve(one, 300)
    assert one.result.epsilon("1e-5").upper <= 5
    assert one.result.covers_released_bits
    one.save(tmp_path / "found.npz")
    loaded = load_agent(tmp_path / "found.npz")
    assert loaded.result is not None
    assert loaded.result.epsilon("1e-5").upper <= 5


@ignored
def test_a_passport_with_a_lower_threshold_is_refused(tmp_path: FilePath) -> None:
    one = small()
    release = one.promise.releases[0]
    assert isinstance(release, BatchedCountsParameters)
    one._promise = replace(one.promise, releases=(replace(release, threshold=1),))
    one.save(tmp_path / "forged.npz")
    with pytest.raises(PassportError, match="must be at least"):
        load_agent(tmp_path / "forged.npz")


@pytest.mark.slow
@ignored
def test_a_run_from_its_journal_opens_the_same_pairs(tmp_path: FilePath) -> None:
    given = {"episodes": 400, "epsilon": 20, "journal": tmp_path / "users.sqlite"}
    one = small(**given)
    serve(one, 300)
    first = one._learner._counters
    one.close()
    again = small(**given)
    second = again._learner._counters
    assert first.possible > 0
    assert first._where == second._where
    assert first._moves.running.tolist() == second._moves.running.tolist()
    assert first._waiting == second._waiting
    again.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"adjacency": "rewards-only"}, "left out under rewards-only"),
        ({"delta": 0}, "needs a delta above 0"),
        ({"privatizer": "local"}, r"privatizer \('local'\)"),
        ({"privatizer": "tree"}, r"privatizer \('tree'\)"),
        ({"support": "guess"}, r"support \('guess'\) must be 'found'"),
        ({"algorithm": "sdp-pe"}, r"algorithm \('sdp-pe'\)"),
        (
            {"support": None, "privatizer": BatchedCountsParameters(
                3, 2, 2, 3000, 5.0, every=100, bits=8, grains=1024, opening_sigma=3.0, threshold=40
            )},
            "unless support is 'found'",
        ),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**given)


@ignored
def test_given_parameters_keep_their_threshold() -> None:
    chosen = BatchedCountsParameters(
        3, 2, 2, 3000, 5.0, every=100, bits=8, grains=1024, opening_sigma=3.0, threshold=40
    )
    release = small(privatizer=chosen).promise.releases[0].as_json()
    assert (release["threshold"], release["opening_sigma"]) == (40, 3.0)


def test_a_threshold_that_an_average_transition_never_reaches_is_warned_about() -> None:
    with pytest.warns(SwampedWarning, match="Learning needs about"):
        small(observations=200, episodes=2000, epsilon=1)


@ignored
def test_memory_grows_with_the_pairs_that_are_seen() -> None:
    one = small(observations=20_000, episodes=200, epsilon=50)
    serve(one, 200)
    counts = one._learner._counters
    assert counts.after.shape[1] <= 2
