"""What Opacus itself releases on the pairs of `private_sizes`, one number for each training.

Each function makes a model private with Opacus's ``PrivacyEngine``, trains it on one of the two datasets of a pair, and
computes the number that the pair's event is about. Opacus draws the batches, computes and clips the gradients, adds
noise and divides. The randomness comes from torch's seeded generators. So these runs are simulations.

Opacus is an extra (``opacus``) and is imported when a run begins.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from dpproof.audits.training.dp_sgd import one_thread
from dpproof.audits.training.opacus import quiet
from dpproof.audits.training.private_pair import PrivatePair
from dpproof.audits.training.private_sizes import (
    AdaptiveNorm,
    DatasetSize,
    RandomBatch,
    SampleRate,
    SkippedStep,
    WeightedMean,
)

Loss = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Released:
    """A mechanism that trains with Opacus on one dataset of a pair, and returns the number of the pair's event.

    Attributes:
        pair: the pair of datasets, with the configuration of Opacus.
    """

    pair: PrivatePair

    def __call__(self, data: bool, rng: np.random.Generator) -> float:
        """Return the number of one training on the first dataset if ``data`` is True, else on the second.

        Raises:
            ModuleNotFoundError: Opacus is not installed.
        """
        with one_thread(), quiet():
            return RUNS[type(self.pair)](self.pair, data, int(rng.integers(1 << 62)))


class _Training:
    """A linear model without bias and with weights 0, which Opacus made private.

    Args:
        inputs: the records ``(n, features)``.
        labels: their labels.
        batch_size: the batch size of the data loader that Opacus gets.
        seed: the seed of all randomness.
        outputs: the number of outputs of the model.
        asked: further arguments of ``make_private``.
    """

    def __init__(
        self, inputs: Any, labels: Any, batch_size: int, seed: int, outputs: int = 1, **asked: Any
    ) -> None:
        import torch
        from opacus import PrivacyEngine

        bits, *seeds = (int(one) for one in np.random.SeedSequence(seed).generate_state(3, np.uint64) >> 1)
        draws, noise = (torch.Generator().manual_seed(one) for one in seeds)
        torch.default_generator.manual_seed(bits)  # of random batches
        self.model = torch.nn.Linear(inputs.shape[1], outputs, bias=False)
        torch.nn.init.zeros_(self.model.weight)
        data = torch.utils.data.TensorDataset(inputs, labels)
        self.engine = PrivacyEngine()
        self.private, self.optimizer, self.loader = self.engine.make_private(
            module=self.model,
            optimizer=torch.optim.SGD(self.model.parameters(), lr=1.0),
            data_loader=torch.utils.data.DataLoader(data, batch_size=batch_size, generator=draws),
            noise_generator=noise,
            **asked,
        )

    def batches(self, steps: int) -> Iterator[Any]:
        """Return the batches of this many steps."""
        return islice(chain.from_iterable(repeat(self.loader)), steps)

    def step(self, batch: Any, loss: Loss) -> Any:
        """Take one step of SGD at learning rate 1, and return the change of the weights."""
        before = self.model.weight.detach().clone()
        self.optimizer.zero_grad()
        loss(self.private(batch[0]), batch[1]).backward()
        self.optimizer.step()
        return self.model.weight.detach() - before


def _nothing(outputs: Any, _labels: Any) -> Any:
    """Return the mean output. The gradient of a record is its input."""
    return outputs.mean()


def _total(outputs: Any, _labels: Any) -> Any:
    """Return the sum of the outputs. The gradient of a record is its input."""
    return outputs.sum()


def _constant(records: int, features: int, value: float) -> tuple[Any, Any]:
    """Return records whose features all have this value, and labels 0."""
    import torch

    return torch.full((records, features), value), torch.zeros(records)


def _dataset_size(pair: DatasetSize, first: bool, seed: int) -> float:
    records = _constant(pair.records if first else pair.records - 1, pair.weights, 0.0)
    made = _Training(
        *records, pair.batch_size, seed, noise_multiplier=pair.noise_multiplier, max_grad_norm=1.0
    )
    changes = [made.step(batch, _nothing) for batch in made.batches(pair.steps)]
    return sum(float((change**2).sum()) for change in changes) / pair.noise_multiplier**2


def _adaptive_norm(pair: AdaptiveNorm, first: bool, seed: int) -> float:
    """Read the unclipped fractions from the clipping norms, which are multiplied by exp(rate * (1/2 - fraction))."""
    rate, records = 1e-3, pair.records if first else pair.records - 1
    made = _Training(
        *_constant(records, 1, 0.0),
        pair.records,
        seed,
        noise_multiplier=pair.noise_multiplier,
        max_grad_norm=1.0,
        clipping="adaptive",
        target_unclipped_quantile=0.5,
        clipbound_learning_rate=rate,
        max_clipbound=1e6,
        min_clipbound=1e-6,
        unclipped_num_std=pair.count_noise,
    )
    norms = [1.0]
    for batch in made.batches(pair.steps):
        made.step(batch, _nothing)
        norms.append(float(made.optimizer.max_grad_norm))
    fractions = 0.5 - np.diff(np.log(norms)) / rate
    return float(((fractions - 1) ** 2).sum()) / pair.count_noise**2


def _weighted_mean(pair: WeightedMean, first: bool, seed: int) -> float:
    import torch

    records = pair.records + first
    labels = torch.zeros(records, dtype=torch.long)
    labels[pair.records :] = 1
    made = _Training(
        torch.ones(records, 1),
        labels,
        pair.batch_size,
        seed,
        outputs=2,
        noise_multiplier=pair.noise_multiplier,
        max_grad_norm=pair.clip,
    )
    loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, float(pair.weight)]))
    change = made.step(next(made.batches(1)), loss)
    towards = float(change[0] - change[1]) / math.sqrt(2)  # a step goes against the gradient
    return towards * float(made.optimizer.expected_batch_size) / pair.clip


def _random_batch(pair: RandomBatch, first: bool, seed: int) -> float:
    import torch

    inputs = torch.zeros(3 + first, 1)
    inputs[3:] = -1.0
    made = _Training(
        inputs,
        torch.zeros(len(inputs)),
        2,
        seed,
        noise_multiplier=pair.noise_multiplier,
        max_grad_norm=1.0,
        loss_reduction="sum",
        rand_on_empty=True,
    )
    return -sum(float(made.step(batch, _total)) for batch in made.batches(pair.steps))


def _sample_rate(pair: SampleRate, first: bool, seed: int) -> float:
    records = _constant(pair.batch_size + (not first), 1, 1.0)
    made = _Training(
        *records,
        pair.batch_size,
        seed,
        noise_multiplier=pair.noise_multiplier,
        max_grad_norm=1.0,
        loss_reduction="sum",
    )
    return -float(made.step(next(made.batches(1)), _total))


def _skipped_step(pair: SkippedStep, first: bool, seed: int) -> float:
    """Count the batches that the loader of a distributed training does not give."""
    import torch
    from opacus.data_loader import DPDataLoader

    data = torch.utils.data.TensorDataset(*_constant(3 if first else 4, 1, 0.0))
    plain = torch.utils.data.DataLoader(data, batch_size=2, generator=torch.Generator().manual_seed(seed))
    with _one_process():
        loader = DPDataLoader.from_data_loader(plain, distributed=True)
        epochs = pair.draws // len(loader)
        return float(pair.draws - sum(sum(1 for _ in loader) for _ in range(epochs)))


@contextmanager
def _one_process() -> Iterator[None]:
    """Provide torch's group of one process, as a distributed training has it."""
    from torch import distributed

    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group(
            "gloo", init_method=Path(folder, "group").as_uri(), rank=0, world_size=1
        )
        try:
            yield
        finally:
            distributed.destroy_process_group()


RUNS: Mapping[type[PrivatePair], Callable[[Any, bool, int], float]] = {
    DatasetSize: _dataset_size,
    AdaptiveNorm: _adaptive_norm,
    WeightedMean: _weighted_mean,
    RandomBatch: _random_batch,
    SkippedStep: _skipped_step,
    SampleRate: _sample_rate,
}
"""How each kind of pair is run."""
