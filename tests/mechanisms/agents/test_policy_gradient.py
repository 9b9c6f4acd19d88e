"""Policy gradients: the clipping in exact integers, the gradient, the guarantee, resuming, and passports.

References: torch for the gradient, fractions for norms, and the Gaussian mechanism's account for the number.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from itertools import product
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from dpproof import (
    BudgetSpentError,
    PassportError,
    SimulationError,
    UserSeenError,
    account,
    agent,
    load_agent,
)
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.audits.corpus.gradient_cases import CASES, GradientRuns
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.gradient_constants import GradientConstants
from dpproof.mechanisms.agents.gradient_sums import ONE, GradientSums, clipped, least_noise
from dpproof.mechanisms.agents.gradients import gains_to_come, trajectory_gradient
from dpproof.mechanisms.agents.journal import JournalError
from dpproof.mechanisms.agents.learner import Path
from dpproof.mechanisms.agents.making import SwampedWarning
from dpproof.mechanisms.agents.network import Network, first_numbers, size_of, split
from dpproof.mechanisms.release.words import seeded_words
from dpproof.mechanisms.rl.private_ucb.constants import THEORY
from tests.rows import rows

pytestmark = pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
QUICK = GradientConstants(hidden=(4,), batches=10, learning_rate=0.3, discount=0.5)


def small(**more: Any) -> Agent:
    """Return an agent that sees one number and has two actions, in episodes of two steps."""
    given: dict[str, Any] = {
        "observations": ([-1], [1]), "actions": 2, "episodes": 40, "horizon": 2, "epsilon": 8, "delta": "1e-5",
        "adjacency": "replace", "reward_range": (0, 1), "constants": QUICK,
    }  # fmt: skip
    return agent("policy-gradient", **{**given, **more})


def serve(one: Agent, users: int, rng: np.random.Generator | None = None) -> None:
    """Let users play. The action that pays is 1 for observations above 0, otherwise 0."""
    rng = rng or np.random.default_rng(0)
    for _ in range(users):
        with one.user() as user:
            seen = rng.uniform(-1, 1)
            while not user.done:
                action = user.act([seen])
                after = rng.uniform(-1, 1)
                user.observe(float(action == (seen > 0)), [after])
                seen = after


def numbers(of: Agent) -> Any:
    return of._learner.weights.numbers


def some_path(rng: np.random.Generator, steps: int, *, ended: bool) -> Path:
    states = rng.uniform(-1, 1, (steps + 1, 3))
    states[-1] = np.nan if ended else states[-1]
    return Path(states, rng.integers(0, 4, steps), rng.random(steps))


WILD = [1e-300, 1.0, 1.0 + 2.0**-52, 1e3, 1e200, 1e308]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_norm_of_a_clipped_vector_is_at_most_1_in_exact_arithmetic(size: int) -> None:
    rng = np.random.default_rng(size)
    for scale in WILD:
        for _ in range(50):
            vector = rng.standard_normal(size)
            vector = vector / np.linalg.norm(vector) * scale
            found = clipped(vector)
            square = sum(Fraction(one) ** 2 for one in found.tolist()) / ONE**2
            assert square <= 1
            if 1 <= scale < 1e200:
                assert square >= (1 - Fraction(2 * size**0.5 + 2) / ONE) ** 2


def test_a_norm_that_floating_point_would_leave_above_1_is_lowered() -> None:
    """(3, 4)/5 is exact on the grid 2^-20 only after rounding, and vectors of equal entries round to norm 1."""
    for size in (1, 4, 16, 64, 256):
        found = clipped(np.full(size, 1e9))
        assert int(found @ found) <= ONE * ONE
        assert abs(found - ONE / size**0.5).max() <= 1


def test_a_norm_above_1_after_rounding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a norm that is computed too small by a share of 1e-5, the integers alone keep the limit."""
    norm = np.linalg.norm
    monkeypatch.setattr(np.linalg, "norm", lambda vector: norm(vector) * (1 - 1e-5))
    found = clipped(np.array([3.0, -4.0, 0.0]))
    assert int(found @ found) <= ONE * ONE
    assert found[2] == 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_adds_nothing(wrong: float) -> None:
    assert not clipped(np.array([1.0, wrong])).any()


def test_short_vectors_are_not_stretched() -> None:
    assert clipped(np.array([0.25, -0.5])).tolist() == [ONE // 4, -ONE // 2]


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("widths", [(3, 4), (3, 5, 4), (3, 5, 6, 4)])
def test_the_gradient_is_that_of_torch(widths: tuple[int, ...], ended: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    rng = np.random.default_rng(3)
    path, given = some_path(rng, 9, ended=ended), rng.standard_normal(size_of(widths))
    leaf = torch.tensor(given, requires_grad=True)
    *hidden, (matrix, offsets) = split(leaf, widths)  # type: ignore[arg-type] # tensors have views, too
    seen = torch.tensor(np.nan_to_num(path.states))
    for weights, shifts in hidden:
        seen = torch.tanh(seen @ weights + shifts)
    outputs = seen @ matrix + offsets
    rest = 0.0 if ended else float(outputs[-1, -1].detach())
    came = torch.tensor(gains_to_come(path.gains, rest, 0.9))
    missed = came - outputs[:-1, -1]
    chances = torch.log_softmax(outputs[:-1, :-1], 1)[torch.arange(9), torch.tensor(path.actions)]
    (0.15 * missed**2 - chances * missed.detach()).mean().backward()
    assert trajectory_gradient(given, widths, path, 0.9, 0.3) == pytest.approx(leaf.grad.numpy(), abs=1e-12)


def test_the_gradient_of_an_estimate_is_a_difference_quotient() -> None:
    """The derivative with respect to an offset of the last layer, without torch."""
    widths, rng = (3, 5, 4), np.random.default_rng(1)
    path, given = some_path(rng, 6, ended=True), rng.standard_normal(size_of(widths))
    came = gains_to_come(path.gains, 0.0, 0.9)

    def loss(shift: float) -> float:
        moved = given.copy()
        moved[-1] += shift
        estimate = Network(widths, given.astype(np.float32), 1)
        object.__setattr__(estimate, "layers", list(split(moved, widths)))
        return float((0.3 / 2 * (came - estimate.outputs(path.states[:-1])[:, -1]) ** 2).mean())

    quotient = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert trajectory_gradient(given, widths, path, 0.9, 0.3)[-1] == pytest.approx(quotient, rel=1e-6)


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_the_guarantee_is_that_of_one_gaussian_release(relation: str) -> None:
    one = small(adjacency=relation, epsilon=1)
    release = one.promise.releases[0]
    moved = 2 if relation == "replace" else 1
    found = account("gaussian", sigma=release.sigma, sensitivity=moved, adjacency=relation)
    assert one.result.epsilon("1e-5").upper == found.epsilon("1e-5").upper <= 1
    assert one.result.epsilon("1e-5").upper > 0.999
    assert one.result.covers_released_bits
    assert one.result.joint_statement == "rlsvi.lemma9"


def test_more_batches_need_no_more_noise() -> None:
    found = {
        small(constants=GradientConstants(batches=batches)).promise.releases[0].sigma for batches in (2, 40)
    }
    assert len(found) == 1


def test_a_relation_without_a_proof_is_refused() -> None:
    with pytest.raises(UnprovedAdjacencyError, match="Use replace or add-remove"):
        small(adjacency="rewards-only")


class Recorder(GradientSums):
    """Sums without noise, which keeps what was released."""

    def __init__(self, size: int) -> None:
        super().__init__(size, lambda count: np.zeros(count, np.int64))
        self.found: list[Any] = []

    def close(self) -> Any:
        self.found.append(super().close())
        return self.found[-1]


def sums_of(events: list[Any]) -> Any:
    """Return the sums that a learner releases. An event is the end of a user with a vector; None begins a user."""
    one = small(episodes=6, constants=GradientConstants(hidden=(), batches=3), seed=1)
    learner: Any = one._learner
    learner._sums = Recorder(size_of((1, 2)))
    for event in [*events, None, None, None]:
        learner.begin() if event is None else learner.see({"gradient": event})
    learner._sums.close()
    return np.array(learner._sums.found) / ONE


VECTORS = [clipped(9 * np.array(one)) for one in ([0, 0, 0, 0, 3, 4], [0, 0, 0, 0, -3, -4], [1] * 6, [0] * 6)]


@pytest.mark.parametrize("absent", [False, True])
def test_one_user_moves_all_sums_together_by_at_most_2(absent: bool) -> None:
    """Every moment of ending in both worlds, among events of others; 2 is attained, and 1 if the user is absent."""
    other = VECTORS[2]
    events = [None, None, other, None, other, None]
    found = []
    for first, second in product(range(1, 7), repeat=2):
        for one, two in product(VECTORS[:3], [VECTORS[3]] if absent else VECTORS):
            worlds = [
                sums_of([*events[:place], vector, *events[place:]])
                for place, vector in ((first, one), (second, two))
            ]
            found.append(float(((worlds[0] - worlds[1]) ** 2).sum()))
    most = 1 if absent else 4
    assert most * (1 - 1e-5) < max(found) <= most


def test_every_user_is_in_one_sum() -> None:
    """Twice counted would be found: each user's vector has an entry of its own."""
    vectors = [clipped(np.eye(6)[number]) for number in range(4)]
    sums = sums_of([None, vectors[0], None, None, vectors[1], vectors[2], None, vectors[3]])
    assert sums.sum(axis=0).tolist() == [1, 1, 1, 1, 0, 0]
    assert np.count_nonzero(sums) == 4
    assert np.argmax(sums, axis=0)[:4].tolist() == [0, 1, 1, 1]


def test_noise_is_exact_and_has_the_scale_of_the_claim() -> None:
    """Standard deviations of 4,000 runs within 6%, which is more than five standard errors."""
    parameters = least_noise(Adjacency.REPLACE, 3, "1e-5")
    found = GradientRuns(parameters).sample(((0.0, 0.0),), 4000, np.random.default_rng(1))
    assert found.std(axis=0) == pytest.approx(np.full(4, parameters.sigma), rel=0.06)
    assert np.array_equal(found * ONE, np.rint(found * ONE))


def test_an_agent_releases_what_the_audit_samples_from_the_same_words() -> None:
    one = small(seed=5, constants=GradientConstants(hidden=(), batches=10), episodes=20)
    learner: Any = one._learner
    words = np.random.default_rng(5)
    first_numbers((1, 2), seeded_words(words))
    gradient = (0.3, 0.2, -0.1, 0.0, 0.5, -0.9)
    with one.user() as user:
        user.act([0])
        user.observe(0.0, [0], terminated=True)
    learner._sums._sum = clipped(np.array(gradient))
    one.user().abort()
    shown, close = [], learner._sums.close
    learner._sums.close = lambda: shown.append(close()) or shown[-1]
    one.user().abort()
    runs = GradientRuns(one.promise.releases[0])  # type: ignore[arg-type] # policy gradients release by one
    found = runs.sample((gradient,), 1, words)[0, :6]
    assert np.array_equal(shown[0] / ONE, found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_audit_comes_out_as_expected(case: Any) -> None:
    """With a false claim, an honest audit is wrong with probability at most its alpha of 0.05."""
    found = case.audit(seed=7)
    assert found.verdict is case.expected
    truth = None if case.truth is None else case.truth()
    assert truth is None or found.epsilon_lower <= truth.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [one for one in CASES if one.expected.value == "violation"], ids=lambda x: x.name
)
def test_a_fault_is_found_at_nearly_every_seed(case: Any) -> None:
    """29 seeds without a miss reject "a share of 10% is missed" at level 0.05."""
    assert all(case.audit(seed=seed).verdict.value == "violation" for seed in range(100, 129))


def test_an_agent_learns_which_action_pays() -> None:
    one = small(episodes=600, seed=1)
    serve(one, 600)
    chances = [one.policy.weights[0, one.task.observations.number([seen])] for seen in (-0.8, 0.8)]
    assert chances[0][0] > 0.9
    assert chances[1][1] > 0.9


def test_the_same_noise_without_learning_gives_another_policy() -> None:
    """The control of the test above: users whose rewards do not depend on their actions."""
    one = small(episodes=600, seed=1)
    for _ in range(600):
        with one.user() as user:
            user.act([0.8])
            user.observe(0.5, [0.8], terminated=True)
    chances = [one.policy.weights[0, one.task.observations.number([seen])] for seen in (-0.8, 0.8)]
    assert not (chances[0][0] > 0.9 and chances[1][1] > 0.9)


def test_a_simulation_has_no_guarantee_and_equal_seeds_give_equal_policies() -> None:
    with pytest.raises(SimulationError):
        _ = small(seed=1).result
    found = []
    for seed in (3, 3, 4, None):
        one = small(seed=seed)
        serve(one, 20)
        found.append(numbers(one).tolist())
    assert found[0] == found[1]
    assert found[2] not in (found[0], found[3])


def test_an_aborted_user_adds_nothing_and_a_person_comes_once() -> None:
    one = small(episodes=3)
    with pytest.raises(RuntimeError, match="gone"), one.user("Ann") as user:  # noqa: PT012 (an episode)
        user.act([0.5])
        user.observe(1.0, [0.2])
        raise RuntimeError("gone")
    learner: Any = one._learner
    assert not learner._sums._sum.any()
    with pytest.raises(UserSeenError):
        one.user("Ann")
    serve(one, 2)
    with pytest.raises(BudgetSpentError, match=r"episodes \(3\) are over"):
        one.user()
    assert one.act([0.3], 1) in (0, 1)


@rows("seen", [[np.nan], [0.1, 0.2], [[0.1]], "0.1", ["0.1"], None, {}, [1j], [None], np.array(0.1)])
def test_a_crafted_observation_is_rejected(seen: Any) -> None:
    user = small().user()
    with pytest.raises(ValueError, match="must be a vector of 1 real numbers"):
        user.act(seen)
    user.act([0.5])
    with pytest.raises(ValueError, match="must be a vector of 1 real numbers"):
        user.observe(1.0, seen)
    assert user.step == 0


@rows("seen", [[7], [np.inf], [1e308], np.array([3], np.int8)])
def test_numbers_beyond_their_limits_are_cut(seen: Any) -> None:
    box = small().task.observations
    assert box.number(seen) == box.number([1])
    assert box.number([-np.inf]) == box.number([-1])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_users_data_decide_about_a_warning() -> None:
    wide = small(observations=([-8e307], [8e307]), constants=GradientConstants(clip_norm=1e-310, batches=2))
    assert wide.task.observations.number([1.7e308]) == wide.task.observations.number([8e307])
    with wide.user() as user:
        user.act([1.7e308])
        user.observe(1.0, [-1.7e308], terminated=True)
    assert wide.users == 1


def test_the_observation_must_be_the_last_one() -> None:
    user = small().user()
    user.act([0.5])
    user.observe(1.0, [0.25])
    with pytest.raises(ValueError, match="must be the last one"):
        user.act([0.5])
    assert user.act([0.25]) in (0, 1)


@rows(
    ("more", "message"),
    [
        ({"observations": 3}, "must be a Gymnasium Box of one dimension"),
        ({"observations": ([0, 0], [1])}, "must be a Gymnasium Box of one dimension"),
        ({"observations": ([[0]], [[1]])}, "must be a Gymnasium Box of one dimension"),
        ({"observations": ([], [])}, "at least one"),
        ({"observations": ([0], [np.inf])}, r"limits of number 0 of observations .* must be finite"),
        ({"observations": ([1], [1])}, "the lower one first"),
        ({"support": {}}, "support must be left out for policy-gradient"),
        ({"most_reward": 1}, "most_reward must be left out"),
        ({"starts": [0]}, "starts must be left out"),
        ({"privatizer": "tree"}, "privatizer must be left out"),
        ({"constants": THEORY}, "must be GradientConstants for policy-gradient"),
        ({"constants": GradientConstants(hidden=(2000, 2000))}, "makes a network of 4012003 numbers"),
        ({"observations": (["-1"], ["1"])}, "must be a Gymnasium Box of one dimension"),
        ({"observations": ([-1j], [1j])}, "must be a Gymnasium Box of one dimension"),
        ({"observations": ([-(10**400)], [1])}, "must be a Gymnasium Box of one dimension"),
        ({"episodes": 1}, r"episodes \(1\) must be at least 2"),
        ({"epsilon": "1e-9", "delta": "1e-12"}, "Use a larger epsilon"),
        ({"delta": 0}, "delta"),
    ],
)
def test_bad_arguments_are_rejected(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**more)


@rows(
    ("name", "value"),
    [("hidden", (0,)), ("hidden", 5), ("batches", 0), ("batches", 1), ("clip_norm", 0.0), ("clip_norm", "0.1"),
     ("learning_rate", np.inf), ("learning_rate", 1e39), ("value_weight", np.nan), ("momentum", 1.0),
     ("discount", 1.0)],
)  # fmt: skip
def test_constants_outside_their_domain_are_rejected(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name} \("):
        GradientConstants(**{name: value})


def test_there_are_at_most_as_many_batches_as_declared() -> None:
    for episodes, batches in product(range(2, 60), (2, 7, 50)):
        every = GradientConstants(batches=batches).every(episodes)
        assert 1 <= every < episodes
        assert -(-episodes // every) <= batches


def test_numbers_of_numpy_are_constants_that_a_journal_holds(tmp_path: FilePath) -> None:
    given = {"hidden": (np.int64(4),), "batches": np.int64(10), "clip_norm": np.float32(0.5)}
    small(journal=tmp_path / "run.sqlite", constants=GradientConstants(**given)).close()  # type: ignore[arg-type]
    same = GradientConstants(hidden=(4,), batches=10, clip_norm=0.5)
    small(journal=tmp_path / "run.sqlite", constants=same).close()


@pytest.mark.parametrize("error", [FloatingPointError, RuntimeWarning, KeyboardInterrupt])
def test_a_user_whose_gradient_fails_is_absent(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    one: Any = small()

    def fail(_: Path) -> Any:
        raise error

    monkeypatch.setattr(one._learner, "vector", fail)
    user = one.user("Ann")
    user.act([0.5])
    user.observe(1.0, [0.2], terminated=True)
    with pytest.raises(error):
        user.finish()
    with pytest.raises(UserSeenError):
        one.user("Ann")


def test_tables_refuse_vectors() -> None:
    with pytest.raises(ValueError, match="GradientConstants"):
        agent(
            "dp-ucbvi", observations=2, actions=2, episodes=9, horizon=2, epsilon=1, delta="1e-5",
            adjacency="replace", reward_range=(0, 1), constants=QUICK,
        )  # fmt: skip


def test_noise_that_hides_everything_is_announced_before_training() -> None:
    with pytest.warns(SwampedWarning, match="the noise of all sums of gradients together"):
        small(epsilon=0.01)


def test_a_run_goes_on_from_its_journal_with_the_same_noise(tmp_path: FilePath) -> None:
    file = tmp_path / "run.sqlite"
    one = small(journal=file)
    with one.user("Ann") as user:
        user.act([0.5])
        user.observe(1.0, [0.1], terminated=True)
    serve(one, 21)
    one.close()
    again = small(journal=file)
    assert again.users == 22
    assert np.array_equal(numbers(again), numbers(one))
    assert np.array_equal(again._learner._sums._sum, one._learner._sums._sum)
    with pytest.raises(UserSeenError):
        again.user("Ann")
    serve(again, 18)
    with pytest.raises(BudgetSpentError):
        again.user()
    again.close()


def test_overlapping_sessions_are_replayed_in_the_order_in_which_they_ended(tmp_path: FilePath) -> None:
    """Users end in batches after the one in which they began, and a fifth of them are absent."""
    file, rng = tmp_path / "run.sqlite", np.random.default_rng(0)
    one = small(journal=file, episodes=60)
    early = [one.user(f"user {number}") for number in range(20)]
    for user in rng.permutation(np.array(early, object)):
        user.act([rng.uniform(-1, 1)])
        user.observe(float(rng.random() < 0.5), [0], terminated=True)
        user.abort() if rng.random() < 0.2 else user.finish()
        one.user()
    shown = numbers(one)
    one.close()
    again = small(journal=file, episodes=60)
    assert again.users == 40
    assert np.array_equal(numbers(again), shown)
    assert again._learner.releases == 6
    assert np.array_equal(again._learner._sums._sum, one._learner._sums._sum)
    assert again._randomness.generator.words.left == 0
    again.close()


@pytest.mark.parametrize("back", [False, True])
def test_a_crash_does_not_move_the_places_of_others(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    """Ann has ended when the run stops, or is under way. The others change signs, so another place is seen at once."""
    shown, close = [], GradientSums.close

    def noted(sums: GradientSums) -> Any:
        shown.append(sums._sum / ONE)
        return close(sums)

    monkeypatch.setattr(GradientSums, "close", noted)
    for ended in (True, False):
        given = {
            "journal": tmp_path / f"{ended}.sqlite",
            "constants": GradientConstants(hidden=(), batches=10),
        }
        one = small(**given)
        add(one, 1.0)
        add(one, 1.0, "Ann", ended=ended)
        one.close()
        one = small(**given)
        if back and not ended:
            add(one, -1.0, "Ann")
        if back or ended:
            with pytest.raises(UserSeenError):
                one.user("Ann")
        for number in range(38):
            add(one, 1.0 if number // 4 % 2 else -1.0)
        with pytest.raises(BudgetSpentError):
            one.user()
        one.close()
    assert len(shown) == 2 * 9
    moved = (np.array(shown[:9]) - shown[9:]) ** 2
    assert moved.sum() == pytest.approx(4 if back else 1, abs=1e-5)


def add(one: Agent, sign: float, person: str | None = None, *, ended: bool = True) -> None:
    """Let a user add a unit vector, or leave the user under way."""
    learner: Any = one._learner
    learner.vector = lambda _: clipped(9 * sign * np.eye(6)[0])
    user = one.user(person)
    user.act([0.5])
    user.observe(0.0, [0.0], terminated=True)
    if ended:
        user.finish()


@rows(
    "constants", [GradientConstants(hidden=(4,)), GradientConstants(hidden=(4,), batches=10, clip_norm=1.0)]
)
def test_a_journal_fits_only_the_constants_that_it_began_with(tmp_path: FilePath, constants: Any) -> None:
    """Batches of other sizes would get the same noise, and the difference of their sums has no noise."""
    small(journal=tmp_path / "run.sqlite").close()
    with pytest.raises(JournalError, match="belongs to another agent"):
        small(journal=tmp_path / "run.sqlite", constants=constants)


def test_a_journal_holds_clipped_vectors_and_no_trajectory(tmp_path: FilePath) -> None:
    one = small(journal=tmp_path / "run.sqlite")
    serve(one, 3)
    one.close()
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as base:
        held = [row[0] for row in base.execute("select record from events where ended = 1")]
    heads = [json.loads(record.partition(b"\n")[0]) for record in held]
    assert heads == 3 * [{"gradient": ["<i8", [size_of((1, 4, 2))]]}]


KILLED = """
import os, signal, sys
import numpy as np
from tests.mechanisms.agents.test_policy_gradient import numbers, serve, small
one = small(journal=sys.argv[1], epsilon=1)
print(numbers(one).tolist(), flush=True)
serve(one, int(sys.argv[2]), np.random.default_rng(int(sys.argv[2])))
user = one.user()
user.act([0.5])
print(numbers(one).tolist(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_and_draws_nothing_twice(tmp_path: FilePath) -> None:
    """The policy that was shown before each kill is the one that the journal gives. A batch has 4 users.

    The first kill comes after a release that the user who is lost has caused.
    """
    file, shown = tmp_path / "run.sqlite", []
    for more in (8, 11):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", KILLED, str(file), str(more)],
            capture_output=True, text=True, check=False, env={**os.environ},
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, done.stderr
        shown += [json.loads(line) for line in done.stdout.splitlines()]
    again = small(journal=file, epsilon=1)
    assert shown[1] == shown[2] != shown[3] == numbers(again).tolist()
    assert again.users == 8 + 11 + 2
    assert again._randomness.generator.words.left == 0
    again.close()


def test_a_passport_gives_the_same_policy_and_the_number_again(tmp_path: FilePath) -> None:
    one = small()
    serve(one, 20)
    one.save(tmp_path / "a.npz")
    found = load_agent(tmp_path / "a.npz")
    assert found.result == one.result
    assert np.array_equal(found.policy.weights.numbers, numbers(one))  # type: ignore[attr-defined]
    for seen in ([-0.4], [0.9], [3.0]):
        assert found.policy.best(seen) == one.policy.best(seen)


FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "sensitivity": lambda told: {"releases": [{**told["releases"][0], "sensitivity": 1.0}]},
    "sensitivity in another form": lambda told: {"releases": [{**told["releases"][0], "sensitivity": 2}]},
    "sigma": lambda told: {"releases": [{**told["releases"][0], "sigma": 100.0}]},
    "compositions": lambda told: {"releases": [{**told["releases"][0], "compositions": 0}]},
    "a second release": lambda told: {"releases": 2 * told["releases"]},
    "relation": lambda told: {"adjacency": "add-remove"},
    "relation without proof": lambda told: {"adjacency": "rewards-only"},
    "epsilon": lambda told: {"asked": {**told["asked"], "epsilon": "7"}},
    "no hidden layer": lambda told: {"hidden": []},
    "a table": lambda told: {"hidden": None},
    "another algorithm": lambda told: {"algorithm": "dp-ucbvi"},
    "limits": lambda told: {"observations": {"low": [-1.0, -1.0], "high": [1.0, 1.0]}},
    "limits that are not finite": lambda told: {"observations": {"low": [0.0], "high": [1e999]}},
    "actions": lambda told: {"actions": 3},
    "horizon": lambda told: {"horizon": "2"},
    "no step": lambda told: {"horizon": 0},
    "fewer steps than none": lambda told: {"horizon": -3},
    "a horizon beyond 64 bits": lambda told: {"horizon": 10**30},
    "nobody": lambda told: {"users": 0, "episodes": 0},
    "limits that are texts": lambda told: {"observations": {"low": ["-1"], "high": ["1"]}},
    "hidden layers with as many numbers": lambda told: {"hidden": [3, 2]},
    "statement": lambda told: {"statement": "classic.gaussian"},
    "notes": lambda told: {"notes": []},
}


@rows("name", FORGED)
def test_a_forged_passport_is_refused(tmp_path: FilePath, name: str) -> None:
    small().save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as held:
        policy, told = held["policy"], json.loads(str(held["passport"]))
    forged = {**told, **FORGED[name](told)}
    np.savez_compressed(tmp_path / "b.npz", policy=policy, passport=np.array(json.dumps(forged)))
    with pytest.raises(PassportError):
        load_agent(tmp_path / "b.npz")


@rows("change", [lambda x: x + 1, lambda x: x[:-1], lambda x: x * np.nan, lambda x: x.astype(np.float64)])
def test_other_weights_are_refused(tmp_path: FilePath, change: Any) -> None:
    small().save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as held:
        policy, text = change(held["policy"]), held["passport"]
    np.savez_compressed(tmp_path / "b.npz", policy=policy, passport=text)
    with pytest.raises(PassportError):
        load_agent(tmp_path / "b.npz")


def test_a_gymnasium_environment_must_fit() -> None:
    gymnasium = pytest.importorskip("gymnasium", reason="gymnasium, of the extra `rl`, is not installed")
    cart = gymnasium.make("CartPole-v1")
    with pytest.raises(ValueError, match="limits of number 1 of observations"):
        small(env=cart, observations=None, horizon=500)
    with pytest.raises(ValueError, match="must be the declared one with 1 numbers"):
        small(env=cart, horizon=500)
    limits = np.array([2.4, 3, 0.21, 3.5], np.float32)
    box = gymnasium.spaces.Box(-limits, limits)
    one = small(env=cart, observations=box, actions=None, horizon=500, episodes=3)
    assert (one.train(cart, seed=1) > 5).all()
