"""A user's own training audited end to end: sound ones stand, one fault each is refuted, at alpha = 0.05.

The trainings are those of `audits.corpus.own_training`: Opacus's engine and a loop of torch. Seeds are fixed. Sound
trainings are audited 60 times; at level 0.05 more than 9 alarms have probability below 0.001.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.training import many_trainings
from dpproof.audits.training.torch_model import TorchModel
from dpproof.audits.training.watching import Alignment, Records, trained
from tests.rows import tiered

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from dpproof.audits.corpus.own_training import (  # noqa: E402  # after the check for torch
    BatchClipping,
    LoopHalfNoise,
    LoopTraining,
    NoNoise,
    OpacusHalfNoise,
    OpacusTraining,
)
from dpproof.audits.training.own_training import audit_training  # noqa: E402

ONE_STEP = DPSGDParameters(sampling_rate=1.0, noise_multiplier=1.0, steps=1)
FOUR = DPSGDParameters(sampling_rate=1.0, noise_multiplier=4.0, steps=4)


def data(records, features):
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(records, features, generator=rng)
    return inputs, (inputs @ torch.randn(features, 4, generator=rng)).argmax(dim=1)


def network(features, hidden=8):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, last = torch.nn.Linear(features, hidden), torch.nn.Linear(hidden, 4)
    return torch.nn.Sequential(first, torch.nn.Tanh(), last)


def one_run(kind, claim, canaries, features, seed, family=False):
    training, start = kind(claim), network(features)
    return audit_training(
        training, start, data(60, features), claim=claim, canaries=canaries, seed=seed, family=family
    )


@pytest.mark.parametrize("kind", tiered([NoNoise, BatchClipping], fast=2))
def test_one_run_refutes_a_training_without_noise_or_without_clipping_of_records(kind):
    found = one_run(kind, FOUR, 300, 400, seed=0)
    assert found.violated
    assert found.lower > found.claimed


def test_one_run_of_a_sound_training_stands_and_says_what_it_covers():
    found = one_run(OpacusTraining, FOUR, 300, 400, seed=0, family=True)
    told = str(found)
    assert not found.violated
    assert found.lower <= found.claimed
    assert found.given_family <= found.claimed
    for part in (
        "not refuted",
        "if each training has new randomness",
        "attack: one run; the weights after every step",
        "not covered",
    ):
        assert part in told


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LoopTraining, OpacusTraining])
def test_sound_trainings_are_rarely_refuted(kind):
    found = [one_run(kind, FOUR, 200, 100, seed) for seed in range(30)]
    assert sum(one.violated or one.lower > one.claimed for one in found) <= 9 / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "refuted"), [(OpacusHalfNoise, True), (LoopHalfNoise, True), (OpacusTraining, False)]
)
def test_one_run_with_many_canaries_refutes_half_of_the_noise(kind, refuted):
    assert one_run(kind, ONE_STEP, 2_000, 1_000, seed=0).violated == refuted


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "refuted"), [(LoopHalfNoise, True), (LoopTraining, False)])
def test_the_loss_from_crafted_weights_refutes_half_of_the_noise(kind, refuted):
    claim = replace(ONE_STEP, noise_multiplier=2.0)
    found = audit_training(kind(claim), network(20), data(40, 20), attack="black box", claim=claim)
    assert found.violated == refuted
    assert found.lower < found.claimed or refuted
    assert 0.4 * found.claimed < found.given_family


@pytest.mark.slow
def test_the_engine_divides_by_a_number_that_depends_on_the_records():
    found = audit_training(Pairs(), network(20), data(8, 20), attack="sizes", stepwise=False)
    assert found.violated
    assert found.lower > found.claimed


class Pairs(OpacusTraining):
    """Opacus with batches of two, for one epoch."""

    def __init__(self):
        super().__init__(DPSGDParameters(sampling_rate=0.25, noise_multiplier=4.0, steps=4))

    def batch(self, _records):
        return 2


def test_every_step_of_the_users_optimizer_is_seen_once():
    seen = []
    start = network(10)
    last = trained(
        TorchModel(start), OpacusTraining(FOUR), Records.of(data(20, 10)), 0, lambda *step: seen.append(step)
    )
    assert len(seen) == FOUR.steps
    assert all(np.array_equal(one[1], other[0]) for one, other in pairwise(seen))
    assert np.array_equal(seen[0][0], torch.cat([one.detach().reshape(-1) for one in start.parameters()]))
    assert np.array_equal(seen[-1][1], last)


def test_a_training_without_an_optimizer_is_one_step():
    def descend(model, dataset, _seed):
        with torch.no_grad():
            for _ in range(3):
                for weight in model.parameters():
                    weight -= 0.1

    seen = []
    trained(TorchModel(network(10)), descend, Records.of(data(20, 10)), 0, lambda *step: seen.append(step))
    assert len(seen) == 1


class NoiseAfterTheStep(LoopTraining):
    """A sound loop, which adds the noise to the weights after the step of the optimizer."""

    def __call__(self, model, dataset, seed):
        rng, unit = torch.Generator().manual_seed(seed), self.learning_rate / self.divisor(len(dataset))
        optimizer = torch.optim.SGD(model.parameters(), lr=unit)
        for _ in range(self.claim.steps):
            total = self.clipped_sum(model, *dataset.tensors)
            sizes = [one.numel() for one in model.parameters()]
            for weight, piece in zip(model.parameters(), total.split(sizes), strict=True):
                weight.grad = piece.view_as(weight)
            optimizer.step()
            with torch.no_grad():
                for weight in model.parameters():
                    noise = torch.randn(weight.shape, generator=rng)
                    weight += noise * self.claim.noise_multiplier * self.clip * unit


def test_noise_may_be_added_after_the_step_of_the_optimizer():
    found = one_run(NoiseAfterTheStep, FOUR, 300, 400, seed=0)
    assert not found.violated
    assert "the weights after every step" in found.observed


def test_a_training_that_does_not_use_the_seed_has_new_noise_each_time():
    def noisy(model, _dataset, _seed):
        with torch.no_grad():
            for weight in model.parameters():
                weight += torch.randn(weight.shape)

    start, records = TorchModel(network(10)), Records.of(data(20, 10))
    ends = [trained(start, noisy, records, seed, lambda *_: None) for seed in (0, 1, 1)]
    assert not np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[1], ends[2])


def test_without_observed_steps_the_answer_says_how_many_changes_were_seen():
    def noisy(model, _dataset, seed):
        rng = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in model.parameters():
                weight += torch.randn(weight.shape, generator=rng)

    found = audit_training(noisy, network(20), data(20, 20), claim=FOUR, canaries=20, family=False)
    assert "(changes: 1, claimed steps: 4)" in str(found)


def test_the_black_box_reads_the_claim_on_the_records_that_it_trains_on(monkeypatch):
    """Batches of 20: one batch for 19 or 20 records. All 38 records have two batches, and a claim that is stronger."""

    class SeenError(Exception):
        pass

    def stop(job, *_):
        raise SeenError(job.claim)

    class Twenty(OpacusTraining):
        def batch(self, _records):
            return 20

    monkeypatch.setattr(many_trainings, "crafted", lambda start, _: start.weights)
    monkeypatch.setattr(many_trainings, "_bracketed", stop)
    with pytest.raises(SeenError) as seen:
        audit_training(Twenty(ONE_STEP), network(20), data(38, 20), attack="black box")
    assert seen.value.args == (ONE_STEP,)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_parameters_of_several_types_are_one_row(kind):
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(5, 3).to(kind), torch.nn.Linear(3, 4)

        def forward(self, inputs):
            return self.last(torch.tanh(self.first(inputs.to(kind))).float())

    model, records = TorchModel(Mixed()), Records.of(data(7, 5))
    weights = model.weights
    assert np.array_equal(model.at(weights).weights, weights)
    rows = model.gradients(weights, records)
    assert rows.shape == (7, 34)
    assert rows.mean(axis=0) == pytest.approx(model.slope(weights, records), abs=1e-2)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        (r"alpha \(1.5\) must be above 0", {"alpha": 1.5, "attack": "black box"}),
        (r"delta \(0\) must be above 0", {"delta": 0}),
        (r"seed \(-1\) must be a whole number", {"seed": -1, "attack": "sizes"}),
        (r"trainings \(10\) must be a whole number, at least 2000", {"trainings": 10, "attack": "sizes"}),
        (r"number of canaries \(1\) must be", {"canaries": 1}),
        (r"number of records \(1\) must be", {"records": data(1, 20), "attack": "sizes"}),
        (r"records \(str\) must be a pair", {"records": "abc"}),
        (r"Its epsilon .* is 0. It must be", {"claim": replace(FOUR, sampling_rate=0.0), "attack": "sizes"}),
        (r"model \(Tanh\) must have at least one parameter", {"model": torch.nn.Tanh()}),
    ],
)
def test_wrong_numbers_are_refused_before_the_first_training(told, asked):
    def never(*_):
        raise AssertionError("a training began")

    given = {"model": network(20), "records": data(40, 20), "claim": FOUR, **asked}
    with pytest.raises(ValueError, match=told):
        audit_training(never, **given)


def test_a_training_that_raises_runs_once():
    runs = []

    def broken(_model, _dataset, seed):
        runs.append(seed)
        raise RuntimeError("no such layer")

    with pytest.raises(MechanismError, match=r"train raised RuntimeError \(no such layer\)"):
        audit_training(broken, network(20), data(20, 20), claim=FOUR, canaries=20)
    assert len(runs) == 1


def test_a_function_that_trains_a_copy_is_refused():
    with pytest.raises(MechanismError, match="in place"):
        audit_training(
            lambda model, dataset, seed: LoopTraining(FOUR)(copy.deepcopy(model), dataset, seed),
            network(10),
            data(20, 10),
            claim=FOUR,
            canaries=10,
        )


def test_without_a_claim_the_engine_must_state_one():
    with pytest.raises(ValueError, match=r"claim: The training returned NoneType .* Give the claim"):
        audit_training(LoopTraining(FOUR), network(10), data(20, 10), canaries=10)
    found = audit_training(OpacusTraining(FOUR), network(10), data(20, 10), canaries=10, family=False)
    assert found.claim == FOUR


def test_the_scores_tell_who_took_part_if_there_is_little_noise():
    claim = DPSGDParameters(sampling_rate=1.0, noise_multiplier=0.1, steps=2)
    known, canaries, start = (
        Records.of(data(30, 200)),
        Records.of(data(90, 200))[30:],
        TorchModel(network(200)),
    )
    scores = Alignment(start, canaries, known, claim, stepwise=True)
    coins = np.arange(60) % 3 == 0
    trained(start, LoopTraining(claim), known.and_(canaries[coins]), 0, scores)
    there, absent = scores.scores[coins], scores.scores[~coins]
    assert np.median(there) > np.quantile(absent, 0.95)
