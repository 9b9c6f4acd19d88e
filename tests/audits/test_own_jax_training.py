"""A user's own training in JAX audited end to end, and the laws that both kinds of models keep.

The training is a loop of logistic regression that is written here. Seeds are fixed; alpha is 0.05.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.training import many_trainings
from dpproof.audits.training.audited import Job
from dpproof.audits.training.jax_model import JaxModel
from dpproof.audits.training.own_training import audit_training
from dpproof.audits.training.torch_model import TorchModel
from dpproof.audits.training.watching import Records, trained

jax = pytest.importorskip("jax", reason="jax, of the extra `jax`, is not installed")

CLAIM = DPSGDParameters(sampling_rate=1.0, noise_multiplier=2.0, steps=1)
FEATURES = 100


def data(records, features=FEATURES):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(records, features)).astype(np.float32)
    return inputs, (inputs @ rng.normal(size=(features, 3))).argmax(axis=1)


def start(features=FEATURES):
    weights = np.random.default_rng(0).normal(size=(features, 3)).astype(np.float32) / 10
    return {"w": weights, "b": np.zeros(3, np.float32)}


def loss(params, inputs, targets):
    logs = jax.nn.log_softmax(inputs @ params["w"] + params["b"])
    return -jax.numpy.take_along_axis(logs, targets[:, None], axis=1).mean()


@functools.cache
def step(noise):
    """Return a compiled step of DP-SGD with this much noise and clipping norm 1."""

    def clipped(params, x, y):
        found = jax.grad(loss)(params, x[None], y[None])
        norm = sum((one**2).sum() for one in found.values()) ** 0.5
        return {name: one / jax.numpy.maximum(norm, 1.0) for name, one in found.items()}

    def taken(params, key, inputs, targets, divisor):
        sums = jax.vmap(clipped, (None, 0, 0))(params, inputs, targets)
        keys = dict(zip(params, jax.random.split(key, len(params)), strict=True))
        return {
            name: one - (sums[name].sum(axis=0) + noise * jax.random.normal(keys[name], one.shape)) / divisor
            for name, one in params.items()
        }

    return jax.jit(taken)


def training(noise=CLAIM.noise_multiplier, divisor=lambda records: 32.0, steps=CLAIM.steps):
    def train(params, dataset, seed, observe):
        for key in jax.random.split(jax.random.key(seed), steps):
            params = step(noise)(params, key, *dataset, divisor(len(dataset[0])))
            observe(params)
        return params

    return train


def audited(train, records=60, features=FEATURES, **asked):
    return audit_training(
        train, start(features), data(records, features), loss=loss, **{"claim": CLAIM, **asked}
    )


def silent(train):
    """Return a training that does not show its steps."""
    return lambda params, dataset, seed: train(params, dataset, seed, lambda _: None)


@pytest.mark.parametrize(
    ("train", "refuted", "when"),
    [(training(), False, "every step"), (silent(training(noise=0.0)), True, "the training")],
)
def test_one_run_refutes_a_training_without_noise_only(train, refuted, when):
    found = audited(train, canaries=200, family=False)
    assert found.violated == refuted
    assert f"the weights after {when}" in str(found)


@pytest.mark.slow
def test_the_loss_from_crafted_weights_refutes_a_training_with_little_noise():
    assert audited(training(noise=0.4), 20, 10, attack="black box").violated


@pytest.mark.slow
@pytest.mark.parametrize(("divisor", "refuted"), [(32.0, False), (None, True)])
def test_sizes_refute_a_divisor_that_depends_on_the_records_only(divisor, refuted):
    train = training(divisor=lambda records: divisor or records / 4)
    assert audited(train, 3, 10, attack="sizes").violated == refuted


def test_every_step_that_is_observed_is_seen_once():
    model, seen = JaxModel(start(), loss), []
    last = trained(model, training(steps=2), Records.of(data(20)), 0, lambda *one: seen.append(one))
    assert len(seen) == 2
    assert np.array_equal(seen[0][1], seen[1][0])
    assert np.array_equal(seen[0][0], model.weights)
    assert np.array_equal(seen[-1][1], last)


@pytest.mark.parametrize(
    ("error", "told", "train", "asked"),
    [
        (MechanismError, "did not change. The function must return", lambda params, *_: params, {}),
        (MechanismError, "observed PyTreeDef", lambda *_: None, {}),
        (ValueError, "claim is missing. Give DPSGDParameters", training(), {"claim": None}),
        (ValueError, r"claim \(str\) must be DPSGDParameters", training(), {"claim": "dp-sgd"}),
        (ValueError, r"train \(None\) must be a function", None, {}),
        (ValueError, r"alpha \('0.05'\) must be", training(), {"alpha": "0.05"}),
        (ValueError, r"shapes \[\(7,\), \(\)\]. They must", training(), {"canaries": data(5, 7)}),
        (
            MechanismError,
            "called observe inside of jax.jit",
            lambda *given, observe: jitted(observe)(*given),
            {},
        ),
        (MechanismError, "303 of 303 trained weights are NaN", lambda params, *_: scaled(params, np.nan), {}),
    ],
)
def test_what_cannot_be_audited_is_refused(error, told, train, asked):
    with pytest.raises(error, match=told):
        audited(train, **{"canaries": 20, **asked})


def jitted(observe):
    return jax.jit(lambda params, *_: (observe(params), params)[1])


def scaled(params, factor):
    return {name: one * factor for name, one in params.items()}


@pytest.mark.parametrize(
    ("told", "targets", "wrong"),
    [
        (
            "loss returned an array of shape .* must return one number",
            data(20)[1],
            lambda w, x, y: y + w["b"][0],
        ),
        (
            "Use the attack one run with canaries of your own",
            np.eye(3)[data(20)[1]],
            lambda w, x, y: w["b"].sum(),
        ),
    ],
)
def test_a_loss_and_targets_are_checked_before_the_first_training(told, targets, wrong):
    given = {"claim": CLAIM, "attack": "black box", "loss": wrong}
    with pytest.raises(ValueError, match=told):
        audit_training(lambda *_: 1 / 0, start(), (data(20)[0], targets), **given)


@pytest.mark.parametrize("seen", [0, 2, 5])
def test_the_answer_says_how_often_the_weights_were_seen(seen):
    def train(params, dataset, seed, observe):
        for _ in range(seen):
            params = scaled(params, 1.5)
            observe(params)
        return scaled(params, 1.5) if not seen else params

    found = audited(train, canaries=20, family=False, claim=replace(CLAIM, steps=4), seed=np.int64(1))
    assert f"(changes: {max(seen, 1)}, claimed steps: 4)" in str(found)
    assert ("more often than the claim has steps" in found.note) == (seen > 4)


@pytest.mark.parametrize(("canaries", "able"), [(2, False), (20, True)])
def test_one_run_says_if_no_result_refutes_the_claim(canaries, able):
    found = audited(lambda params, *_: scaled(params, 1.5), canaries=canaries, family=False)
    assert ("No result with 2 canaries refutes this claim." in str(found)) != able
    assert ("No result" in found.evidence("", {}).weakness) != able


@pytest.mark.parametrize(("noise", "able"), [(0.15, False), (0.3, True)])
def test_no_counts_of_events_refute_a_claim_that_allows_all_of_them(noise, able):
    claim = replace(CLAIM, noise_multiplier=noise)
    job = Job(None, None, None, claim, False, 1e-5, 0.05, 0, True)
    assert many_trainings._can_refute(job, 2_000) == able


@pytest.mark.slow
def test_a_training_with_the_same_noise_each_time_is_named_as_a_likely_cause():
    def same(params, dataset, _seed):
        return {name: one + 1.0 + len(dataset[0]) for name, one in params.items()}

    found = audited(same, 3, 10, attack="sizes")
    assert found.violated
    assert "its noise does not come from the seed" in str(found)
    assert found.note in found.evidence("", {}).words


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float64"])
def test_parameters_of_several_types_are_one_row_of_at_least_32_bits(kind):
    given = {"w": start(5)["w"].astype(jax.numpy.dtype(kind)), "b": np.zeros(3, kind)}
    model, records = JaxModel(given, loss), Records.of(data(20, 5))
    assert model.weights.dtype.itemsize >= 4
    assert np.array_equal(model.at(model.weights).weights, model.weights)
    weights = many_trainings.crafted(model, records)
    assert model.losses(weights, records).mean() < 0.5 * model.losses(model.weights, records).mean()


@pytest.mark.parametrize("given", [{"w": np.zeros(2, int)}, {}, [object()]])
def test_a_model_is_a_module_or_floating_point_arrays(given):
    with pytest.raises(ValueError, match=r"model \(.*\) must be a torch module or a pytree"):
        JaxModel(given, loss)
    with pytest.raises(ValueError, match="loss is missing"):
        JaxModel(start())


def torch_model(features):
    torch = pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    return TorchModel(torch.nn.Linear(features, 3))


@pytest.mark.parametrize("made", [torch_model, lambda features: JaxModel(start(features), loss)])
def test_both_kinds_of_models_keep_the_laws(made):
    model, records, rng = made(5), Records.of(data(7, 5)), np.random.default_rng(1)
    weights, way = (rng.normal(size=18).astype(np.float32) for _ in range(2))
    assert np.array_equal(model.at(weights).weights, weights)
    moved = [model.losses((weights + sign * 1e-2 * way).astype(np.float32), records) for sign in (1, -1)]
    rows = model.gradients(weights, records)
    assert rows @ way == pytest.approx((moved[0] - moved[1]) / 2e-2, abs=2e-3)
    assert rows.mean(axis=0) == pytest.approx(model.slope(weights, records), abs=1e-6)
    assert model.at(weights).losses(weights, records) == pytest.approx(model.losses(weights, records))
