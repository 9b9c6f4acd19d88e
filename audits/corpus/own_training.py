"""Training functions as a user may write them: Opacus, a loop of torch, and loops with one fault each.

Each is called as ``train(model, dataset, seed)``, as `audits.training.own_training` asks. torch is an extra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.training.torch_model import TorchModel, mean_loss
from dpproof.audits.training.watching import Records


@dataclass(frozen=True)
class Planned:
    """What all of these trainings plan: the claim, the clipping norm and the learning rate."""

    claim: DPSGDParameters
    clip: float = 1.0
    learning_rate: float = 0.5

    def divisor(self, records: int) -> float:
        """Return the expected number of records in a batch."""
        return max(1.0, records * self.claim.sampling_rate)


@dataclass(frozen=True)
class OpacusTraining(Planned):
    """A training with Opacus's engine and its data loader; one epoch has 1 / sampling_rate steps."""

    def __call__(self, model: Any, dataset: Any, seed: int) -> Any:
        """Train the model in place, and return the engine."""
        import torch
        from opacus import PrivacyEngine

        torch.manual_seed(seed)
        engine = PrivacyEngine()
        private, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=self.learning_rate),
            data_loader=torch.utils.data.DataLoader(dataset, batch_size=self.batch(len(dataset))),
            noise_multiplier=self.claim.noise_multiplier * self.noise,
            max_grad_norm=self.clip,
        )
        for _ in range(max(1, round(self.claim.steps * self.claim.sampling_rate))):
            for inputs, targets in loader:
                optimizer.zero_grad()
                mean_loss(private(inputs), targets).backward()
                optimizer.step()
        return engine

    def batch(self, records: int) -> int:
        """Return the batch size of the data loader."""
        return max(1, round(records * self.claim.sampling_rate))

    noise = 1.0
    """The noise, as a multiple of the planned noise."""


class OpacusHalfNoise(OpacusTraining):
    """Fault: Opacus's engine gets half of the planned noise multiplier."""

    noise = 0.5


@dataclass(frozen=True)
class LoopTraining(Planned):
    """A loop that samples, clips each gradient, sums, adds noise, and takes a step of torch's optimizer."""

    def __call__(self, model: Any, dataset: Any, seed: int) -> None:
        """Train the model in place."""
        import torch

        rng = torch.Generator().manual_seed(seed)
        optimizer = torch.optim.SGD(model.parameters(), lr=self.learning_rate)
        records = dataset.tensors
        for _ in range(self.claim.steps):
            drawn = torch.rand(len(dataset), generator=rng) < self.claim.sampling_rate
            total = self.clipped_sum(model, *(one[drawn] for one in records))
            noise = torch.randn(total.shape, generator=rng) * self.claim.noise_multiplier * self.clip
            row = (total + self.noise * noise) / self.divisor(len(dataset))
            sizes = [one.numel() for one in model.parameters()]
            for weight, piece in zip(model.parameters(), row.split(sizes), strict=True):
                weight.grad = piece.view_as(weight)
            optimizer.step()

    def clipped_sum(self, model: Any, inputs: Any, targets: Any) -> Any:
        """Return the sum of the clipped gradients."""
        rows = self.rows(model, inputs, targets)
        return (rows * (self.clip / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)).clamp(max=1.0)).sum(
            dim=0
        )

    def rows(self, model: Any, inputs: Any, targets: Any) -> Any:
        """Return the gradient of each record."""
        import torch

        at = TorchModel(model)
        if not len(inputs):
            return torch.zeros(1, len(at.weights))
        return torch.from_numpy(at.gradients(at.weights, Records.of((inputs, targets))))

    noise = 1.0
    """The noise, as a multiple of the planned noise."""


class LoopHalfNoise(LoopTraining):
    """Fault: half of the planned noise."""

    noise = 0.5


class NoNoise(LoopTraining):
    """Fault: no noise."""

    noise = 0.0


class BatchClipping(LoopTraining):
    """Fault: the mean gradient of the batch is clipped, and not the gradient of each record."""

    def clipped_sum(self, model: Any, inputs: Any, targets: Any) -> Any:
        """Return the clipped mean gradient times the number of records."""
        rows = self.rows(model, inputs, targets)
        mean = rows.mean(dim=0)
        return len(rows) * mean * (self.clip / mean.norm().clamp(min=1e-12)).clamp(max=1.0)


SOUND: tuple[type[Planned], ...] = (OpacusTraining, LoopTraining)
FAULTY: tuple[type[Planned], ...] = (OpacusHalfNoise, LoopHalfNoise, NoNoise, BatchClipping)
"""The trainings that keep their claim under ``replace``, and those that do not."""
