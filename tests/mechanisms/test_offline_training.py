"""Offline training at expert level.

References: torch.func.vmap of the gradient by autograd, one example at a time (clipping, the loss); counts
and moments with stated alphas (batches, coins, noise); a run that was never interrupted (checkpoints).
"""

import json
import math
import os
import pickle

import numpy as np
import pytest
from scipy import stats

from tests.rows import rows, tiered

torch = pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")

from dpproof.accountant.claims.adjacency import Adjacency  # noqa: E402 (after the skip)
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account  # noqa: E402
from dpproof.mechanisms.randomness import SimulationError  # noqa: E402
from dpproof.mechanisms.rl.expert.offline.checkpoints import publish, steps_begun, train  # noqa: E402
from dpproof.mechanisms.rl.expert.offline.cql import CQL  # noqa: E402
from dpproof.mechanisms.rl.expert.offline.network import (  # noqa: E402
    SGD,
    Adam,
    Layers,
)
from dpproof.mechanisms.rl.expert.offline.training import COINS, Training, TrainingSettings, noisy_steps_begun  # noqa: E402  # noqa: E402
from dpproof.mechanisms.rl.expert.offline.transitions import (  # noqa: E402
    BATCHES,
    Transitions,
    batch_rate,
    check_one_each,
)

ALPHA = 1e-6
"""False alarms of each statistical test here, per run; seeds are fixed."""


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _batch(sizes, count, dtype, seed=0):
    made = torch.Generator().manual_seed(seed)
    x = torch.randn(count, sizes[0], dtype=dtype, generator=made)
    actions = torch.randint(sizes[-1], (count,), generator=made)
    return x, actions, 3 * torch.randn(count, dtype=dtype, generator=made)


def _each_gradient(layers, theta, loss, x, actions, targets):
    """Every example's gradient (n, parameters), by autograd on the flat parameters."""

    def one(theta, x, action, target):
        values = x
        views, at = [], 0
        for inputs, outputs in zip(layers.sizes, layers.sizes[1:], strict=False):
            end = at + inputs * outputs
            views.append((theta[at:end].view(outputs, inputs), theta[end : end + outputs]))
            at = end + outputs
        for number, (weights, biases) in enumerate(views):
            values = weights @ values + biases
            values = torch.relu(values) if number < len(views) - 1 else values
        return loss.losses(values[None], action[None], target[None])[0]

    return torch.func.vmap(torch.func.grad(one), (None, 0, 0, 0))(theta, x, actions, targets)


@rows(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@rows("sizes", [(3, 2), (4, 16, 3), (8, 64, 64, 4), (6, 5, 7, 9, 2)])
@rows("clip", [0.05, 1.0, 1e6])
def test_the_clipped_sum_is_that_of_clipped_gradients(sizes, dtype, tolerance, clip):
    layers, loss = Layers(sizes), CQL(0.9, 0.7)
    theta = layers.initial(np.random.default_rng(1), dtype)
    x, actions, targets = _batch(sizes, 32, dtype)
    each = _each_gradient(layers, theta, loss, x, actions, targets)
    norms = each.norm(dim=1)
    expected = (each * (clip / norms.clamp_min(clip))[:, None]).sum(0)
    here = layers.forward(theta, x)
    signal = loss.signal(here.outputs, actions, targets)
    found = here.clipped_sum(signal, clip)
    assert float((found - expected).norm()) <= tolerance * float(expected.norm())
    square = here.square_norms(here.signals(signal))
    torch.testing.assert_close(square.sqrt(), norms.double(), rtol=10 * tolerance, atol=0)


def test_an_example_alone_is_never_longer_than_the_clip():
    layers, loss = Layers((8, 256, 256, 4)), CQL()
    theta = 3 * layers.initial(np.random.default_rng(1))
    x, actions, targets = _batch(layers.sizes, 64, torch.float32)
    for i in range(64):
        here = layers.forward(theta, 100 * x[i : i + 1])
        signal = loss.signal(here.outputs, actions[i : i + 1], targets[i : i + 1])
        assert float(here.clipped_sum(signal, 0.5).double().norm()) <= 0.5 * (1 + 1e-5)


@pytest.mark.parametrize("clip", [1e-9, 1e-4, 0.01, 1.0])
@pytest.mark.parametrize(("seen", "signal"), [(1.8e19, 2.6e-23), (1e18, 1e-20), (1.0, 1e-22), (1e19, 1e15)])
def test_no_small_signal_hides_a_long_gradient(clip, seen, signal):
    """The square of 2.6e-23 is 0 in single precision; 4096 such signals of a large input are 0.03 long."""
    layers = Layers((1, 4096))
    here = layers.forward(torch.zeros(layers.count), torch.full((1, 1), seen))
    found = here.clipped_sum(torch.full((1, 4096), signal), clip).double().norm()
    assert float(found) <= clip * (1 + 1e-5)


def test_a_gradient_of_zero_stays_zero():
    layers = Layers((2, 3, 2))
    here = layers.forward(torch.zeros(layers.count), torch.zeros(4, 2))
    assert not here.clipped_sum(torch.zeros(4, 2), 1.0).isnan().any()


def test_the_signal_is_the_losss_derivative_and_targets_are_double_dqns():
    loss = CQL(0.9, 0.3)
    values, actions, targets = torch.randn(50, 4, dtype=torch.float64), torch.arange(50) % 4, torch.randn(50)
    values.requires_grad_()
    (expected,) = torch.autograd.grad(loss.losses(values, actions, targets.double()).sum(), values)
    torch.testing.assert_close(loss.signal(values.detach(), actions, targets.double()), expected)
    online, slow = torch.tensor([[1.0, 2.0], [5.0, 0.0]]), torch.tensor([[10.0, 20.0], [30.0, 40.0]])
    found = loss.targets(torch.tensor([1.0, 1.0]), torch.tensor([False, True]), online, slow)
    torch.testing.assert_close(found, torch.tensor([1 + 0.9 * 20.0, 1.0]))


def test_adam_is_torchs():
    theta, slots = torch.randn(7, dtype=torch.float64), torch.zeros(2, 7, dtype=torch.float64)
    peer = torch.nn.Parameter(theta.clone())
    optimizer = torch.optim.Adam([peer], lr=0.01)
    for step in range(1, 6):
        gradient = torch.randn(7, dtype=torch.float64)
        peer.grad = gradient.clone()
        optimizer.step()
        Adam(0.01).update(theta, gradient, slots, step)
    torch.testing.assert_close(theta, peer.detach(), rtol=1e-10, atol=0)


def _data(experts=40, each=5, width=3, actions=2, seed=0, without=()):
    rng = np.random.default_rng(seed)
    owner = np.repeat([i for i in range(experts) if i not in without], each)
    n = len(owner)
    return Transitions(
        rng.normal(size=(n, width)), rng.normal(size=(n, width)), rng.integers(actions, size=n),
        rng.normal(size=n), rng.random(n) < 0.1, rng.permutation(owner), experts,
    )  # fmt: skip


def test_a_batch_has_at_most_one_transition_of_an_expert_each_as_likely():
    data, rng = _data(without=(7,)), np.random.default_rng(1)
    taken, times, rounds = np.zeros(len(data)), np.zeros(data.experts), 4000
    for _ in range(rounds):
        rows = BATCHES["poisson"](data, 0.3, 12, rng)
        check_one_each(data.expert[rows])
        taken[rows] += 1
        times[data.expert[rows]] += 1
    assert times[7] == 0
    others = np.delete(times, 7)
    assert stats.binomtest(int(others.sum()), rounds * 39, 0.3).pvalue > ALPHA
    assert stats.chisquare(taken).pvalue > ALPHA
    spread = others.var() / (rounds * 0.3 * 0.7)
    assert 0.3 < spread < 2.5


def test_a_missing_expert_moves_a_step_by_its_clipped_gradient_only():
    """Of two neighbours one lacks expert 7; on batches of everybody sums differ by one clipped gradient."""
    data = _data(each=1)
    names = ("observations", "following", "actions", "rewards", "terminal")
    kept = data.expert != 7
    rest = [getattr(data, name).numpy()[kept] for name in names]
    fewer = Transitions(*rest, data.expert[kept], data.experts)
    budget = SelectiveDPSGDParameters(1.0, 1.0, 2e-4, 5)
    settings = TrainingSettings(budget, Layers((3, 16, 2)), batch=40, clip=0.01, optimizer=SGD(100.0))
    one, other = (Training(settings, each, None, 3) for each in (data, fewer))
    start = one.theta.clone()
    one.advance(1)
    other.advance(1)
    apart = float((one.theta - other.theta).norm()) * 40 / 100.0
    assert 0.9 * 0.01 < apart <= 0.01 * (1 + 1e-3)
    assert float((one.theta - start).norm()) > 0


@pytest.mark.parametrize("without", [(), (7,), (0, 39)])
def test_an_exact_batch_has_exactly_so_many_experts_whatever_their_number(without):
    data, rng = _data(without=without), np.random.default_rng(1)
    batches = [data.expert[BATCHES["exact"](data, 0.5, 13, rng)] for _ in range(2000)]
    assert {len(set(batch)) for batch in batches} == {13}
    times = np.bincount(np.concatenate(batches), minlength=40)
    assert all(times[expert] == 0 for expert in without)
    assert stats.chisquare(np.delete(times, without)).pvalue > ALPHA
    for size in range(1, 3001, 7):
        assert math.floor(batch_rate(size, 3000) * 3000 + 0.5) == size


def test_an_exact_batch_is_no_larger_share_than_is_accounted_for():
    budget = SelectiveDPSGDParameters(batch_rate(10, 40), 1.0, 1.0, 5, batch="exact")
    settings = TrainingSettings(budget, Layers((3, 2)), batch=10)
    Training(settings, _data(), None, 0)
    with pytest.raises(ValueError, match=r"sampling_rate \(0.25\) must be at least 10/39"):
        Training(settings, _data(without=(7,)), None, 0)


def _alike(experts):
    """Experts of one transition each, all the same: every sum of gradients is a multiple of one."""
    ones = np.ones((experts, 3))
    zeros = np.zeros(experts, int)
    return Transitions(ones, ones, zeros, 5.0 + zeros, zeros == 0, np.arange(experts), experts)


def _of_forty(batch, layers=(3, 64, 64, 2)):
    """Settings whose public numbers are 10 of 39; the data are of 40 or of 39 experts."""
    budget = SelectiveDPSGDParameters(batch_rate(10, 39), 1.0, 10.0, 1, batch=batch)
    return TrainingSettings(budget, Layers(layers), batch=10, optimizer=SGD(1.0))


@pytest.mark.parametrize("batch", ["poisson", "exact"])
def test_what_a_step_divides_by_does_not_show_the_number_of_experts(batch, monkeypatch):
    """With nobody drawn and the noise the same, one expert less moves a step by nothing: exactly equal."""
    nobody = {batch: lambda data, rate, size, rng: np.zeros(0, np.int64)}
    monkeypatch.setattr("dpproof.mechanisms.rl.expert.offline.training.BATCHES", nobody)
    more, fewer = (Training(_of_forty(batch), _alike(experts), None, 5) for experts in (40, 39))
    start = more.theta.clone()
    more.advance(1)
    fewer.advance(1)
    assert torch.equal(more.theta, fewer.theta)
    assert not torch.equal(more.theta, start)


@pytest.mark.parametrize("batch", ["poisson", "exact"])
def test_the_size_of_a_step_does_not_tell_40_experts_from_39(batch):
    """Root mean squares of one step, 150 runs each; the same, were 40 and 39 divided by, are told apart."""

    def sizes(experts, first):
        found = []
        for seed in range(first, first + 150):
            training = Training(_of_forty(batch), _alike(experts), None, seed)
            start = training.theta.clone()
            training.advance(1)
            found.append(float((start - training.theta).double().square().mean().sqrt()))
        return np.array(found)

    more, fewer = sizes(40, 0), sizes(39, 1000)
    assert stats.ks_2samp(more, fewer).pvalue > ALPHA
    assert stats.ks_2samp(more, fewer * 40 / 39).pvalue < ALPHA


def test_two_transitions_of_an_expert_in_a_batch_are_refused(monkeypatch):
    data = _data()
    twice = {"poisson": lambda data, rate, size, rng: np.array([0, 1, 2])}
    monkeypatch.setattr("dpproof.mechanisms.rl.expert.offline.training.BATCHES", twice)
    settings = TrainingSettings(SelectiveDPSGDParameters(0.3, 1.0, 1.0, 5), Layers((3, 4, 2)), batch=12)
    with pytest.raises(
        ValueError, match=r"expert \(0\) has 3 transitions in a batch. The guarantee allows 1"
    ):
        Training(settings, data, None, 0).advance(1)


@pytest.mark.parametrize("coin", COINS)
def test_the_coin_falls_as_often_as_is_accounted_for(coin):
    budget = SelectiveDPSGDParameters(0.2, 0.3, 1.0, 2000, coin=coin)
    rng = np.random.default_rng(0)
    branches = [COINS[coin](budget, step, rng) for step in range(2000)]
    private = sum(branch.private for branch in branches)
    assert all(branch.noisy for branch in branches if branch.private)
    if coin == "independent":
        assert {(b.private, b.rate, b.noisy) for b in branches} == {(True, 0.3, True)}
    elif coin == "fixed":
        assert private == budget.noisy_steps == 600
        assert max(np.diff([noisy_steps_begun(budget, n) for n in range(2001)])) == 1
    else:
        assert stats.binomtest(private, 2000, 0.3).pvalue > ALPHA
        assert all(branch.noisy for branch in branches) == (coin == "hidden")


def test_the_noise_of_a_step_is_what_is_accounted_for_and_not_a_percent_less():
    """What a step moved, times b, less the clipped sum of the same batch computed beside it."""
    data = _data()
    layers = Layers((3, 64, 64, 2))
    budget = SelectiveDPSGDParameters(0.25, 1.0, 7.0, 4)
    settings = TrainingSettings(budget, layers, batch=10, clip=2.0, optimizer=SGD(1.0))
    training, noise = Training(settings, data, None, 5), []
    for step in range(4):
        before, quiet = training.theta.clone(), Training(settings, data, None, 5)
        quiet.theta, quiet.target, quiet._step = before.clone(), training.target, step
        rows = BATCHES["poisson"](data, 0.25, 10, _after_coin(training, budget, step))
        clipped = quiet._sum(data, rows, 2.0)
        training.advance(1)
        noise.append(((before - training.theta) * 10 - clipped).double().numpy())
    flat = np.concatenate(noise)
    variance = stats.chi2(len(flat))
    assert ALPHA < variance.cdf((flat**2).sum() / 14.0**2) < 1 - ALPHA
    assert variance.cdf((flat**2).sum() / (0.97 * 14.0) ** 2) > 1 - ALPHA
    assert stats.kstest(flat / 14.0, "norm").pvalue > ALPHA


def _after_coin(training, budget, step):
    rng = training._rng(step + 1)
    COINS[budget.coin](budget, step, rng)
    return rng


def test_a_plain_step_reads_released_data_only_and_adds_no_noise():
    private, released = _data(seed=1), _data(seed=2)
    settings = TrainingSettings(SelectiveDPSGDParameters(0.3, 0.0, 1.0, 20), Layers((3, 8, 2)), batch=12)
    one = Training(settings, private, released, 3)
    other = Training(settings, _data(seed=9), released, 3)
    one.advance(20)
    other.advance(20)
    assert torch.equal(one.theta, other.theta)


@pytest.mark.parametrize("coin", tiered(COINS, fast=1))
@pytest.mark.parametrize("batch", ["poisson", "exact"])
def test_every_variant_trains_and_names_its_budget(coin, batch):
    if (coin, batch) == ("independent", "exact"):
        pytest.skip("nothing is proved of it, and its parameters are refused")
    budget = SelectiveDPSGDParameters(batch_rate(10, 40), 0.5, 2.0, 30, coin=coin, batch=batch)
    settings = TrainingSettings(budget, Layers((3, 8, 2)), batch=10)
    training = Training(settings, _data(), _data(seed=1), 0)
    start = training.theta.clone()
    training.advance(100)
    assert training.step == 30
    assert not torch.equal(start, training.theta)
    whole = account(settings.spent(30), Adjacency.EXPERT).guarantee.epsilon("1e-3").upper
    half = account(settings.spent(15), Adjacency.EXPERT).guarantee.epsilon("1e-3").upper
    assert 0 < half < whole
    assert whole == pytest.approx(account(budget, Adjacency.EXPERT).guarantee.epsilon("1e-3").upper, rel=1e-6)


def test_it_learns_what_to_do():
    """Action 1 pays where the first number is positive, action 0 elsewhere; 9 in 10 are right."""
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(4000, 2))
    right = (seen[:, 0] > 0).astype(int)
    actions = np.where(rng.random(4000) < 0.9, right, 1 - right)
    paid, over, owner = 1.0 * (actions == right), np.ones(4000, bool), np.arange(4000) % 200
    data = Transitions(seen, seen, actions, paid, over, owner, 200)
    budget = SelectiveDPSGDParameters(0.5, 1.0, 1.0, 300)
    settings = TrainingSettings(budget, Layers((2, 16, 2)), batch=100, optimizer=SGD(0.3))
    training = Training(settings, data, None, 0)
    training.advance(300)
    best = settings.layers.outputs(training.theta, data.observations).argmax(1).numpy()
    assert (best == (data.observations[:, 0] > 0).numpy()).mean() > 0.95


def _settings(**changes):
    budget = SelectiveDPSGDParameters(0.3, 0.5, 1.0, 60)
    return TrainingSettings(
        budget, Layers((3, 8, 2)), **({"batch": 12, "optimizer": Adam(0.01), "target_every": 7} | changes)
    )


def test_what_a_training_has_spent_is_not_taken_back():
    training = Training(_settings(), _data(), _data(seed=1))
    training.advance(2)
    for name, value in (("step", 0), ("settings", _settings(clip=2.0))):
        with pytest.raises(AttributeError):
            setattr(training, name, value)
    assert training.step == 2


def test_an_interrupted_run_is_the_same_run_and_spends_once(tmp_path):
    whole = Training(_settings(), _data(), _data(seed=1), 11)
    whole.advance(60)

    def stop_at(limit):
        def progress(done, _):
            if done >= limit:
                raise KeyboardInterrupt

        return progress

    for limit in (10, 20, 30):
        with pytest.raises(KeyboardInterrupt):
            train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 10, stop_at(limit))
        assert steps_begun(tmp_path) == limit
    seen = []
    done = train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 10, lambda *x: seen.append(x))
    assert seen == [(40, 60), (50, 60), (60, 60)]
    assert torch.equal(done.theta, whole.theta)
    assert steps_begun(tmp_path) == 60
    again = train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 10)
    assert torch.equal(again.theta, whole.theta)
    assert steps_begun(tmp_path) == 60


def test_noise_depends_on_more_than_32_bits(monkeypatch):
    # Seeds that agree in 32 bits made torch repeat itself: noise came again within a run.
    training = Training(_settings(), _data(), _data(seed=1), 0)

    class Narrow(np.random.Generator):
        def integers(self, *_args, **_options):
            return 7

    noises = [training._noise(Narrow(np.random.PCG64(seed))) for seed in (1, 2)]
    assert not torch.equal(*noises)
    assert noises[0].dtype == torch.float32


@pytest.mark.parametrize("clip", [0.5, 2.0])
def test_an_example_too_large_for_single_precision_counts_as_nothing(clip):
    layers, loss = Layers((4, 64, 64, 2)), CQL()
    theta = layers.initial(np.random.default_rng(0))
    x, actions, targets = _batch(layers.sizes, 6, torch.float32)
    x[2], targets[4] = 3.4e38, float("nan")
    kept = [0, 1, 3, 5]

    def clipped(rows):
        here = layers.forward(theta, x[rows])
        return here.clipped_sum(loss.signal(here.outputs, actions[rows], targets[rows]), clip)

    found = clipped(list(range(6)))
    assert found.isfinite().all()
    torch.testing.assert_close(found, clipped(kept))
    assert not clipped([2]).any()


def test_a_folder_is_of_one_set_of_experts_and_one_kind_of_training(tmp_path):
    train(Training(_settings(), _data(), _data(seed=1), 3), tmp_path / "one", every=5)
    more = _data()
    more = Transitions(
        more.observations, more.following, more.actions, more.rewards, more.terminal, more.expert, 50
    )
    with pytest.raises(ValueError, match=r"another configuration\. private"):
        train(Training(_settings(), more, _data(seed=1), 3), tmp_path / "one")

    class Other(Training):
        pass

    with pytest.raises(ValueError, match=r"another configuration\. training"):
        train(Other(_settings(), _data(), _data(seed=1), 3), tmp_path / "one")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("PRIVATE-configuration.json", "{", "PRIVATE-configuration.json cannot be read"),
        ("PRIVATE-configuration.json", "[]", "PRIVATE-configuration.json cannot be read"),
        ("spent.json", "{", "spent.json must be a file that holds the number of started steps"),
        ("PRIVATE-state.npz", "PK", "PRIVATE-state.npz must be an NPZ archive"),
    ],
)
def test_torn_files_are_named(tmp_path, name, text, message):
    folder = tmp_path / "run"
    train(Training(_settings(), _data(), _data(seed=1), 3), folder, every=5)
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"run: {message}"):
        train(Training(_settings(), _data(), _data(seed=1), 3), folder)


def test_a_model_without_all_of_its_arrays_is_refused(tmp_path):
    train(Training(_settings(), _data(), _data(seed=1), 3), tmp_path, every=5)
    np.savez(tmp_path / "PRIVATE-state.npz", step=5, theta=np.zeros(3))
    with pytest.raises(ValueError, match=r"PRIVATE-state\.npz must hold slots, target"):
        train(Training(_settings(), _data(), _data(seed=1), 3), tmp_path)


def test_a_run_that_lost_its_record_is_refused(tmp_path):
    train(Training(_settings(), _data(), _data(seed=1), 3), tmp_path, every=5)
    for name in ("spent.json", "PRIVATE-state.npz"):
        (tmp_path / name).unlink()
    with pytest.raises(ValueError, match="must be a file that holds the number of started steps"):
        train(Training(_settings(), _data(), _data(seed=1), 3), tmp_path)


def test_what_was_begun_counts_even_if_the_model_was_lost(tmp_path, monkeypatch):
    def broken(self, steps):
        raise RuntimeError("power cut")

    monkeypatch.setattr(Training, "advance", broken)
    with pytest.raises(RuntimeError, match="power cut"):
        train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 25)
    assert steps_begun(tmp_path) == 25
    assert not (tmp_path / "PRIVATE-state.npz").exists()
    monkeypatch.undo()
    train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 10)
    assert steps_begun(tmp_path) == 60


@pytest.mark.parametrize(
    ("training", "name"),
    [
        (lambda: Training(_settings(clip=2.0), _data(), _data(seed=1), 11), "settings"),
        (lambda: Training(_settings(), _data(seed=5), _data(seed=1), 11), "private"),
        (lambda: Training(_settings(), _data(), _data(seed=6), 11), "released"),
        (lambda: Training(_settings(), _data(), _data(seed=1), 12), "key differs"),
    ],
)
def test_a_checkpoint_of_another_configuration_is_refused(tmp_path, training, name):
    train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 30)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"the checkpoint has another configuration. {name}"):
        train(training(), tmp_path, 30)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_record_that_says_less_than_the_model_is_refused(tmp_path):
    train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 30)
    (tmp_path / "spent.json").write_text(json.dumps({"steps": 5}))
    with pytest.raises(ValueError, match=r"spent.json counts 5 steps, fewer than the 60 steps in"):
        train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 30)
    (tmp_path / "spent.json").unlink()
    with pytest.raises(ValueError, match="must be a file that holds the number of started steps"):
        train(Training(_settings(), _data(), _data(seed=1), 11), tmp_path, 30)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": [[np.nan]]}, "observations must be finite"),
        ({"observations": [[0.0], [1.0]]}, r"the shape of observations \(2, 1\) must be \(1, 1\)"),
        ({"expert": [2]}, r"expert at \(0,\) \(2\) must be one of 0, ..., 1"),
        ({"actions": [-1]}, "actions at"),
        ({"actions": [0.5]}, "the dtype of actions"),
    ],
)
def test_malformed_transitions_are_refused(change, message):
    sound = {
        "observations": [[0.0]], "following": [[0.0]], "actions": [0], "rewards": [0.0],
        "terminal": [False], "expert": [0], "experts": 2,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        Transitions(**(sound | change))


def test_a_training_refuses_what_has_no_meaning():
    budget = SelectiveDPSGDParameters(0.3, 0.5, 1.0, 10)
    with pytest.raises(ValueError, match=r"released transitions are missing"):
        Training(TrainingSettings(budget, Layers((3, 2)), batch=12), _data(), None, 0)
    with pytest.raises(ValueError, match=r"private transitions are missing"):
        Training(TrainingSettings(budget, Layers((3, 2)), batch=12), None, _data(), 0)
    with pytest.raises(ValueError, match=r"each observation \(3 numbers\) must have 4"):
        Training(TrainingSettings(budget, Layers((4, 2)), batch=12), _data(), _data(), 0)
    with pytest.raises(ValueError, match=r"action \(1\) must be one of 0, ..., 0"):
        Training(TrainingSettings(budget, Layers((3, 1)), batch=12), _data(), _data(), 0)
    with pytest.raises(ValueError, match=r"clip \(0\) must be"):
        TrainingSettings(budget, Layers((3, 2)), batch=12, clip=0)
    with pytest.raises(ValueError, match=r"batch \(0\) must be"):
        TrainingSettings(budget, Layers((3, 2)), batch=0)


def _from_entropy():
    return Training(_settings(), _data(), _data(seed=1))


def test_a_training_draws_from_entropy_and_only_then_has_a_guarantee():
    one, other = _from_entropy(), _from_entropy()
    assert not torch.equal(one.theta, other.theta)
    one.advance(4)
    found = one.account(Adjacency.EXPERT)
    spent = SelectiveDPSGDParameters(0.3, 0.5, 1.0, 4)
    assert found.guarantee == account(spent, Adjacency.EXPERT).guarantee
    assert not found.covers_released_bits
    assert "the released doubles are not covered" in repr(one)
    simulated = Training(_settings(), _data(), _data(seed=1), 0)
    assert "simulation" in repr(simulated)
    with pytest.raises(SimulationError, match="no guarantee"):
        simulated.account(Adjacency.EXPERT)


def test_a_run_from_entropy_goes_on_under_the_key_of_its_folder(tmp_path):
    def stop(done, _):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(_from_entropy(), tmp_path, 10, stop)
    key = int(json.loads((tmp_path / "PRIVATE-configuration.json").read_text())["key"])
    assert key.bit_length() > 64
    done = train(_from_entropy(), tmp_path, 10)
    assert not done.simulated
    whole = Training(_settings(), _data(), _data(seed=1), key)
    whole.advance(60)
    assert torch.equal(done.theta, whole.theta)
    with pytest.raises(ValueError, match=r"another configuration\. simulated"):
        train(Training(_settings(), _data(), _data(seed=1), key), tmp_path, 10)


def _forms(key):
    """A key as it might stand in a file: digits, and words of 4 bytes or the whole, in both orders."""
    whole = (key.bit_length() + 7) // 8
    words = [key >> shift & 0xFFFFFFFF for shift in range(0, key.bit_length(), 32)]
    yield from (str(key).encode(), f"{key:x}".encode(), f"{key:X}".encode())
    for order in ("little", "big"):
        yield key.to_bytes(whole, order)
        yield from (word.to_bytes(4, order) for word in words)


def test_the_published_model_holds_neither_key_nor_state(tmp_path):
    training = train(_from_entropy(), tmp_path / "run", 20)
    publish(training, tmp_path / "model.npz")
    private = [path.read_bytes() for path in sorted((tmp_path / "run").glob("PRIVATE-*"))]
    key = int(json.loads(private[0])["key"])
    published = (tmp_path / "model.npz").read_bytes()
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        about, theta = json.loads(str(stored["about"])), stored["theta"]
        assert sorted(stored) == ["about", "theta"]
        raw = published + b"".join(stored[name].tobytes() for name in stored)
    raw += json.dumps(about).encode()
    assert not [form for form in _forms(key) if form in raw]
    assert str(key).encode() in private[0]  # the same search finds it where it is
    states = [np.random.SeedSequence(key, spawn_key=(n,)).generate_state(4, np.uint64) for n in range(61)]
    assert not [state for state in states if state.tobytes() in raw or str(state[0]).encode() in raw]
    assert np.array_equal(theta, training.theta.numpy())
    assert about["accounted"]["steps"] == 60
    assert about["covers_released_bits"] is False
    assert "released doubles are not covered" in about["released_bits"]
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(training)


def test_the_published_model_of_a_simulation_names_no_guarantee(tmp_path):
    publish(Training(_settings(), _data(), _data(seed=1), 5), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
    assert about["simulated"]
    assert about["accounted"] is None
    assert about["released_bits"].startswith("simulation")


def test_private_files_say_so_and_are_their_owners_alone(tmp_path):
    train(_from_entropy(), tmp_path, 60)
    held = json.loads((tmp_path / "PRIVATE-configuration.json").read_text())
    assert "never to be published" in held["notice"]
    if os.name == "posix":
        assert {path.stat().st_mode & 0o077 for path in tmp_path.glob("PRIVATE-*")} == {0}


def test_a_run_on_other_data_never_takes_over_the_key_of_a_folder(tmp_path):
    """With the same noise on both, the difference of two models would show the data."""
    train(_from_entropy(), tmp_path, 30)
    for other, named in (
        (Training(_settings(), _data(seed=5), _data(seed=1)), "private"),
        (Training(_settings(batch=13), _data(), _data(seed=1)), "settings"),
    ):
        key = other._key
        with pytest.raises(ValueError, match=f"another configuration. {named} "):
            train(other, tmp_path, 30)
        assert other._key == key
    assert not hasattr(other, "begin")  # nobody sets a key by hand
