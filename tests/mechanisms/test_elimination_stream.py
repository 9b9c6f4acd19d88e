"""SDP-PE with users who arrive one after another: what it counts, releases, refuses and promises."""

import pickle

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import UnprovedAdjacencyError
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, batch_loss
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.randomness import SimulationError
from dpproof.mechanisms.rl.sdp_pe.constants import TUNED
from dpproof.mechanisms.rl.sdp_pe.elimination import Elimination
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.mechanisms.rl.sdp_pe.stream import EliminationStream, ReleasedBatch

SILENT = ShufflePrivatizer(lambda shape, users: 1e-12)
"""A privatizer whose noise bits are 1 with a probability below 1e-12."""
NOISY = ShufflePrivatizer.calibrated(1.0, 1e-6)
SMALL = PublicModel(np.ones((2, 2, 2), bool), horizon=2)


def episode(stream, environment, rng):
    """One user's data, as the environment answers the stream's policy."""
    policy, x = stream.policy(), environment.start
    states, actions, rewards = [x], [], []
    for h in range(environment.horizon):
        actions.append(int(policy[h, x]))
        rewards.append(float(environment.rewards[x, actions[-1]]))
        x = int(rng.choice(environment.states, p=environment.transitions[x, actions[-1]]))
        states.append(x)
    return states, actions, rewards


def run(stream, environment, rng, until=None):
    while not stream.over and stream.seen != until:
        stream.see(*episode(stream, environment, rng))
    return stream


def test_a_batch_holds_the_counts_of_its_users():
    stream, rng = EliminationStream(SMALL, SILENT, 30, seed=0), np.random.default_rng(1)
    counted, done = [np.zeros((2, 2, 2, 2), int), np.zeros((2, 2, 2), int)], 0
    while not stream.over:
        policy = stream.policy()
        assert (policy == stream.policy()).all()
        states = [0, *rng.integers(0, 2, 2).tolist()]
        actions, rewards = [policy[h, states[h]] for h in range(2)], rng.integers(0, 2, 2)
        for h in range(2):
            counted[0][h, states[h], actions[h], states[h + 1]] += 1
            counted[1][h, states[h], actions[h]] += rewards[h]
        stream.see(states, actions, rewards)
        if len(stream.releases) > done:
            found, done = stream.releases[-1].counts, done + 1
            steps = (
                slice(None)
                if found.rewards is not None
                else slice(_layer(stream, done), _layer(stream, done) + 1)
            )
            assert (found.transitions == counted[0][steps]).all()
            assert (found.visits == counted[0][steps].sum(axis=-1)).all()
            assert found.rewards is None or (found.rewards == counted[1]).all()
            counted = [np.zeros_like(each) for each in counted]
    assert stream.seen == 30
    assert stream.stages[-1].active >= 1


def _layer(stream, number):
    """The step of the crude batch with this number: the batches of a stage are two layers and a fine one."""
    return (number - 1) % 3


def test_users_one_at_a_time_and_whole_batches_are_the_same_process():
    """The counts of the stream's batches, given to `Elimination` at once, lead to the same batches and estimates."""
    environment = river_swim(3, 3)
    model = PublicModel.of(environment)
    stream = EliminationStream(model, SILENT, 400, seed=0, policies="enumerated")
    run(stream, environment, np.random.default_rng(0))
    from dpproof.mechanisms.rl.sdp_pe.active_sets import EnumeratedSet
    from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace

    active = EnumeratedSet(PolicySpace.of(environment), scored=TUNED.scored)
    whole = Elimination(model, active, 400, TUNED, None)
    for release in stream.releases:
        users, failure = whole.batch.users, SILENT.failure
        counts = release.counts
        assert release.parameters.users == users
        whole.go_on(SILENT.estimates(counts, users), SILENT.level(counts.shape, users, failure))
    assert whole.batch is None
    assert [stage.active for stage in whole.stages] == [stage.active for stage in stream.stages]
    assert (active.best() == stream.best_policy()).all()


def test_without_noise_the_stream_finds_the_best_policy():
    environment = river_swim(3, 4)
    stream = run(
        EliminationStream(PublicModel.of(environment), SILENT, 4000, seed=0),
        environment,
        np.random.default_rng(0),
    )
    value = environment.policy_values(stream.best_policy())[0, 0]
    assert value == pytest.approx(environment.optimal_values()[0, 0])


def test_an_absent_user_uses_a_slot_and_adds_nothing():
    stream = EliminationStream(SMALL, SILENT, 12, seed=0)
    while not stream.over:
        stream.skip()
    assert stream.seen == 12
    assert all(sum(release.integers) == 0 for release in stream.releases)


def test_terminal_states_end_an_episode_and_what_follows_is_left_out():
    model = PublicModel(np.ones((2, 1, 2), bool), horizon=3, terminal=(1,))
    stream = EliminationStream(model, SILENT, 9, seed=0)
    for _ in range(3):
        stream.see([0, 1, 1, 0], [0, 0, 0], [1.0, 1.0, 1.0])
        stream.see([0, 1], [0], [1.0])
        stream.see([0, 0, 0, 1], [0, 0, 0], [0.0, 0.0, 0.0])
    fine = [release.counts for release in stream.releases if release.parameters.release == "fine"]
    visits = sum(counts.visits for counts in fine)  # users 4 to 9 without the seventh
    assert visits[:, 1].sum() == 0
    assert visits[:, 0, 0].tolist() == [6, 3, 3]
    assert sum(counts.rewards for counts in fine)[0, 0, 0] == 3
    with pytest.raises(ValueError, match="3 steps, or fewer if a terminal state follows"):
        EliminationStream(model, SILENT, 9, seed=0).see([0, 0], [0], [1.0])


def test_several_start_states_are_a_step_before_the_first():
    support = np.ones((3, 2, 3), bool)
    model = PublicModel(support, horizon=2, starts=(0, 2))
    assert (model.steps, model.states, model.start) == (3, 4, 3)
    stream = EliminationStream(model, SILENT, 9, seed=0)
    assert stream.policy().shape == (2, 3)
    assert stream.best_policy().shape == (2, 3)
    with pytest.raises(ValueError, match=r"start states \(0, 2\), not 1"):
        stream.see([1, 0, 0], stream.policy()[[0, 1], [1, 0]], [0.0, 0.0])
    while not stream.over:
        start = stream.seen % 2 * 2
        policy = stream.policy()
        stream.see([start, 0, 0], [policy[0, start], policy[1, 0]], [0.0, 1.0])
    fine = [release.counts for release in stream.releases if release.parameters.release == "fine"]
    assert sum(counts.transitions for counts in fine)[0, 3].sum(axis=0).tolist() == [3, 0, 3, 0]
    assert sum(counts.rewards for counts in fine)[2].sum() == 6


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (([0, 0, 0], [0, 0], [0.0, 1.5]), "rewards"),
        (([0, 0, 0], [0, 0], [0.0, np.nan]), "rewards"),
        (([0, 0, 2], [0, 0], [0.0, 0.0]), "states"),
        (([1, 0, 0], [0, 0], [0.0, 0.0]), "start states"),
        (([0, 0, 0], [0, 2], [0.0, 0.0]), "actions"),
        (([0, 0, 0], [0], [0.0, 0.0]), "lengths"),
        (([0, 0, 0, 0], [0, 0, 0], [0.0, 0.0, 0.0]), "must have 2 steps"),
        (([0, 1, 0], [0, 0], [0.0, 0.0]), "public support"),
        (([0, 0, 0], [1, 1], [0.0, 0.0]), "those of the user's policy"),
    ],
)
def test_bad_data_are_refused_and_the_slot_stays_free(data, words):
    support = np.ones((2, 2, 2), bool)
    support[0, 0, 1] = False
    stream = EliminationStream(PublicModel(support, horizon=2), SILENT, 9, seed=3)
    while stream.policy()[:, 0].tolist() != [0, 0]:
        stream.skip()
    before = stream.seen, len(stream.releases)
    with pytest.raises(ValueError, match=words):
        stream.see(*data)
    assert (stream.seen, len(stream.releases)) == before
    stream.see([0, 0, 0], [0, 0], [0.0, 1.0])
    assert stream.seen == before[0] + 1


@pytest.mark.slow
def test_the_guarantee_is_that_of_the_weakest_batch_of_the_whole_run():
    stream = EliminationStream(SMALL, NOISY, 60)
    found = stream.account("replace")
    crude, fine = ReleaseShape(1, 2, 2, rewards=False), ReleaseShape(2, 2, 2)
    sizes = {crude: {1, 2, 4, 5, 8, 3}, fine: {4, 8, 16, 12}}
    losses = [
        batch_loss(shape, n, NOISY.threshold(shape, n)) for shape, users in sizes.items() for n in users
    ]
    assert found.delta(1).upper <= 1e-6
    assert found.delta("0.5").upper == max(loss.delta("0.5").upper for loss in losses)
    assert found.covers_released_bits
    while not stream.over:
        stream.skip()
    assert all(type(release) is ReleasedBatch for release in stream.releases)
    assert all(release.account("replace").delta(1).upper <= 1e-6 for release in stream.releases)
    with pytest.raises(UnprovedAdjacencyError):
        stream.account("add-remove")


def test_a_simulation_has_no_guarantee_and_nothing_is_pickled():
    stream = EliminationStream(SMALL, NOISY, 9, seed=0)
    with pytest.raises(SimulationError):
        stream.account("replace")
    for held in (stream, EliminationStream(SMALL, NOISY, 9)):
        with pytest.raises(TypeError, match=r"pickle|saved"):
            pickle.dumps(held)


def test_an_interrupted_run_goes_on_after_its_last_release():
    environment = river_swim(3, 3)
    model, rng = PublicModel.of(environment), np.random.default_rng(0)
    first = run(EliminationStream(model, NOISY, 90), environment, rng, until=50)
    again = EliminationStream(model, NOISY, 90, past=first.releases)
    assert again.seen <= first.seen
    assert again.releases == first.releases
    assert [stage.active for stage in again.stages] == [stage.active for stage in first.stages]
    run(again, environment, rng)
    assert again.over
    assert again.seen == 90
    with pytest.raises(ValueError, match="must be a simulation"):
        EliminationStream(model, NOISY, 90, past=first.releases, seed=0)
    with pytest.raises(ValueError, match="must be a release with the parameters"):
        EliminationStream(model, NOISY, 90, past=first.releases[1:])


def test_refusals():
    stream = EliminationStream(SMALL, SILENT, 3, seed=0)
    for _ in range(3):
        stream.skip()
    for call in (stream.policy, stream.skip, lambda: stream.see([0, 0, 0], [0, 0], [0.0, 0.0])):
        with pytest.raises(ValueError, match="All users of this run"):
            call()
    with pytest.raises(ValueError, match="episodes"):
        EliminationStream(SMALL, SILENT, 2)
    with pytest.raises(ValueError, match="policies"):
        EliminationStream(SMALL, SILENT, 9, policies="some")
    with pytest.raises(ValueError, match="shape of support"):
        PublicModel(np.ones((2, 2)), horizon=1)
    with pytest.raises(ValueError, match="none of terminal"):
        PublicModel(np.ones((2, 1, 2)), horizon=1, terminal=(0,))
    with pytest.raises(ValueError, match="next state for state 0, action 0"):
        PublicModel(np.zeros((2, 1, 2)), horizon=1)
